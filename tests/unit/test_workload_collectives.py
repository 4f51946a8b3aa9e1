"""The collectives workload: what is refused, what words become, and what is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Value
from shakedown.workloads import collectives
from support.machines import OPEN_MPI, host, machine
from support.workloads import installed, options, params_of

WORKLOAD = collectives.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "collectives")


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4, software=(OPEN_MPI,)), given)


def test_the_default_is_all_operations_by_one_rank_on_each_core() -> None:
    params = resolve()
    assert params["ranks"] == 4 and len(str(params["operations"]).split(",")) == 12
    assert WORKLOAD.label and WORKLOAD.label(params) == "collectives all, 8 B to 1 MiB, 4 ranks"


@pytest.mark.parametrize(
    "given",
    [{"ranks": 1}, {"ranks": 5}, {"sizes": "12"}, {"sizes": ""}, {"sizes": "0"}, {"operations": "allreduc"}],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_one_cpu_is_too_few_and_more_ranks_than_cpus_must_be_allowed() -> None:
    with pytest.raises(Unavailable, match="two CPUs"):
        resolve(machine(1, software=(OPEN_MPI,)))
    assert resolve(ranks=64, allow_oversubscribe=True)["ranks"] == 64


def test_the_command_line_says_all_that_was_resolved_and_how_many_ranks_there_must_be(built: Path) -> None:
    params = resolve(operations="bcast", sizes="8", ranks=3, groups="2,3", mock_ups=False, in_place=True)
    command = WORKLOAD.command(params, host(4, software=(OPEN_MPI,)))
    assert command.ranks == 3 and command.argv[0] == str(built / "collectives")
    told = options([word for word in command.argv if word not in ("--in-place", "--no-mock-ups")])
    assert (told["--operations"], told["--sizes"], told["--groups"], told["--world-size"]) == ("bcast", "8", "2,3", "3")
    assert "--in-place" in command.argv and "--no-mock-ups" in command.argv
    assert "--no-point-to-point" not in command.argv and "--allow-oversubscribe" not in command.argv


def test_the_estimate_grows_with_what_is_measured() -> None:
    here = host(4)
    short, default = resolve(operations="bcast", sizes="8"), resolve()
    assert 0 < WORKLOAD.estimate_s(short, here) < WORKLOAD.estimate_s(default, here) < 120
