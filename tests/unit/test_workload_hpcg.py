"""HPCG of our own: which points, ranks and threads, what does not fit, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.programs import events
from shakedown.records import Params, Value
from shakedown.workloads import hpcg
from support.machines import host, machine
from support.workloads import installed, options, params_of

WORKLOAD = hpcg.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "hpcg")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(4), given)


def test_a_command_names_every_parameter_once(built: Path) -> None:
    command = WORKLOAD.command(resolve(nx=64, nz=32, ranks=1, threads=2), host(4))
    assert command.argv[0] == str(built / "hpcg")
    words = options(command.argv)
    assert (words["--nx"], words["--ny"], words["--nz"], words["--threads"]) == ("64", "64", "32", "2")
    assert set(words) == {f"--{name.replace('_', '-')}" for name in WORKLOAD.params} - {"--cpus", "--ranks"}
    assert command.ranks == 0  # one rank is started without MPI


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"nx": 8}, "nx"),
        ({"nx": 20}, "hpcg.nx: 20 is not a multiple of 8"),
        ({"ny": 8}, "hpcg.ny: 8 is not a multiple of 8 from 16 on"),
        ({"nz": 100}, "hpcg.nz: 100 is not a multiple of 8"),
        ({"nx": 1024}, "are free on"),
        ({"isa": "sse"}, "isa"),
        ({"threads": 0}, "threads"),
        ({"ranks": 1, "threads": 5}, "may use 4"),
        ({"samples": 0}, "samples"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_is(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve(**given)
    assert part in error.value.what


def test_the_time_grows_with_points_and_the_load_asked_for() -> None:
    one, two = (WORKLOAD.estimate_s(resolve(nx=64, nz=nz, ranks=1), host(4)) for nz in (512, 1024))
    assert 1.8 < two / one < 2.1
    assert WORKLOAD.estimate_s(resolve(nx=16, seconds=100.0, ranks=1), host(4)) > 100


def test_operations_are_those_of_the_formulas(recordings: Path) -> None:
    found = events.parse((recordings / "native/hpcg-avx512.jsonl").read_bytes())
    cases = {case.kernel: case for case in found.cases}
    *grids, coarsest = [(3 * edge - 2) ** 3 for edge in (64, 32, 16, 8)]
    flop = 2 * 151 * 2 * 64**3 + 51 * 2 * grids[0] + 50 * (10 * sum(grids) + 4 * coarsest)
    assert cases["cg"].work["flop"] == cases["reference"].work["flop"] == flop
    assert cases["spmv"].work["flop"] % (2 * grids[0]) == 0
    # By the rules each set is charged with a tenth of setting up and optimising.
    problem = found.provenance["facts"]["problem"]
    charged = (problem["setup_s"] + problem["optimisation_s"]) / 10
    assert cases["hpcg"].seconds == pytest.approx([one + charged for one in cases["cg"].seconds])
