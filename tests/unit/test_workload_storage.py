"""The storage workload: what is refused, what is started, and what its cases say beside published figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.records import Params, Value
from shakedown.workloads import storage
from support.machines import host, machine, over_hosts
from support.workloads import installed, options, params_of

WORKLOAD = storage.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "storage")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(4), given)


@pytest.mark.parametrize(
    "given",
    [
        {"kernels": "features"},
        {"blocks": "1000"},
        {"blocks": "1000", "size": 1000000, "cache": "direct"},
        {"segments": 3},
        {"file": "common"},
        {"pattern": "backwards"},
        {"depth": 0},
        {"depth": 8, "sync": "each"},
        {"depth": 8, "engine": "calls"},
        {"api": "mpi-io", "threads": "1,2"},
        {"api": "mpi-io-collective", "depth": 2},
        {"api": "mpi-io", "cache": "direct"},
        {"stonewall": -1.0},
        {"sync": "never"},
        {"steps": "create"},
        {"steps": "stat,tree"},
        {"folders": "none"},
        {"small_bytes": 1 << 30},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_the_command_line_says_all_that_was_resolved(built: Path) -> None:
    given: dict[str, Value] = {"file": "shared", "pattern": "strided", "blocks": "47008", "size": 47008000}
    params = resolve(**given, more_directories="/b,/c", depth=4, ranks=3, stonewall=2.5)
    command = WORKLOAD.command(params, host(4))
    said = options(command.argv)
    assert command.argv[0] == str(built / "storage") and command.ranks == 3
    assert said["--file"] == "shared" and said["--pattern"] == "strided" and said["--blocks"] == "47008"
    assert said["--more-directories"] == "/b,/c" and said["--depth"] == "4" and said["--stonewall"] == "2.5"
    assert "one file, strided" in WORKLOAD.label(params) and "2 more" in WORKLOAD.label(params)  # type: ignore[misc]


def test_a_rank_is_started_on_each_host() -> None:
    many = params_of(WORKLOAD, over_hosts(5), {})
    assert WORKLOAD.command(many, host(4)).ranks == 5
    assert WORKLOAD.command(resolve(), host(4)).ranks == 0, "one needs no launcher"


def test_the_estimate_grows_with_what_is_requested() -> None:
    small = WORKLOAD.estimate_s(resolve(size=1 << 20), host(4))
    assert small < WORKLOAD.estimate_s(resolve(size=1 << 30), host(4))
    assert small < WORKLOAD.estimate_s(resolve(size=1 << 20, threads="1,2,4"), host(4))
