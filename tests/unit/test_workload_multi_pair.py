"""The multi_pair workload: what is refused, what words become, and what is started."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Value
from shakedown.workloads import multi_pair
from support.machines import OPEN_MPI, host, machine
from support.workloads import installed, options, params_of

WORKLOAD = multi_pair.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "multi_pair")


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4, software=(OPEN_MPI,)), given)


def test_the_default_is_all_kernels_by_one_rank_on_each_core() -> None:
    params = resolve()
    assert params["ranks"] == 4 and params["placements"] == "halves"
    assert WORKLOAD.label and WORKLOAD.label(params) == "multi_pair all, 1 B to 1 MiB, 4 ranks"
    named = resolve(kernels="bandwidth", placements="cache,hosts", sizes="8")
    assert WORKLOAD.label(named) == "multi_pair bandwidth, 8 B, 4 ranks, cache+hosts"


@pytest.mark.parametrize(
    "given",
    [
        *({"ranks": ranks} for ranks in (1, 5)),
        *({"sizes": sizes} for sizes in ("", "2147483648")),
        {"pairs": "3"},
        {"kernels": "bandwith"},
        {"placements": "node"},
        {"window": 0},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_one_cpu_is_too_few_and_between_hosts_there_must_be_two() -> None:
    with pytest.raises(Unavailable, match="two CPUs"):
        resolve(machine(1, software=(OPEN_MPI,)))
    with pytest.raises(Unavailable, match="between hosts needs two, and there is one"):
        resolve(ranks="hosts")
    three = msgspec.structs.replace(host(1, software=(OPEN_MPI,)), count=3)
    assert resolve(msgspec.structs.replace(machine(1), hosts=(three,)), ranks="hosts")["ranks"] == 3
    assert resolve(ranks=64, pairs="32", allow_oversubscribe=True)["ranks"] == 64


def test_the_command_line_says_all_that_was_resolved_and_how_many_ranks_there_must_be(built: Path) -> None:
    params = resolve(kernels="random_ring", pairs="1,2", sizes="8", orders=7)
    command = WORKLOAD.command(params, host(4, software=(OPEN_MPI,)))
    assert command.ranks == 4 and command.argv[0] == str(built / "multi_pair")
    assert "--allow-oversubscribe" not in command.argv
    told = options(list(command.argv))
    assert (told["--kernels"], told["--pairs"], told["--orders"], told["--world-size"]) == (
        *("random_ring", "1,2", "7", "4"),
    )


def test_the_estimate_grows_with_what_is_measured() -> None:
    here = host(4)
    short, default = resolve(kernels="latency", sizes="8"), resolve()
    assert 0 < WORKLOAD.estimate_s(short, here) < WORKLOAD.estimate_s(default, here) < 120
    assert WORKLOAD.estimate_s(default, here) < WORKLOAD.estimate_s(resolve(placements="all"), here)
