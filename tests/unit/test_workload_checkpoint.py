"""The cost of checkpoints: which levels, sizes and ranks, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Params, Value
from shakedown.workloads import checkpoint
from support.machines import host, machine
from support.workloads import installed, options, params_of

WORKLOAD = checkpoint.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "hydro")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(4), given)


def test_one_rank_has_the_levels_of_one_node(built: Path) -> None:
    found = resolve(ranks=1)
    assert (found["levels"], found["threads"]) == ("1,4", 4)
    command = WORKLOAD.command(found, host(4))
    words = options(command.argv)
    assert command.argv[0] == str(built / "hydro") and command.ranks == 0
    assert (words["--levels"], words["--problem"], words["--interval"]) == ("1,4", "checkers", "0")
    assert "--ranks" not in words and "--local-directory" not in words


def test_the_size_follows_memory_and_ranks() -> None:
    n = int(resolve(ranks=1)["n"])
    room = host(4).memory.room_bytes
    assert 32 * n**2 <= min(room / 64, 128 << 20) < 32 * (n + 1) ** 2
    assert resolve(ranks=1, n=100)["n"] == 100


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"ranks": 1, "levels": "2"}, "level 2 needs two nodes"),
        ({"ranks": 1, "levels": "5"}, "unknown word of checkpoint.levels '5'"),
        ({"ranks": 1, "n": 3}, "is below 4"),
        ({"ranks": 1, "n": 1000000}, "are free on"),
        ({"ranks": 1, "threads": 5}, "may use 4"),
        ({"pairs": 0}, "pairs"),
        ({"interval": -1.0}, "interval"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_is(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve(**given)
    assert part in error.value.what


def test_several_ranks_need_an_mpi() -> None:
    with pytest.raises(Unavailable):
        resolve(ranks=2)


def test_the_time_grows_with_levels_pairs_and_the_interval() -> None:
    def estimate(**given: Value) -> float:
        return WORKLOAD.estimate_s(resolve(ranks=1, **given), host(4))

    assert estimate(levels="1") < estimate(levels="1,4") < 120
    assert estimate(levels="1", pairs=10) > 1.5 * estimate(levels="1")
    assert estimate(levels="1", interval=360.0, pairs=2) > 1440
