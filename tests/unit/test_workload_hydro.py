"""The gas in a box: which sizes, ranks and threads, what does not fit, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.programs import events
from shakedown.records import Params, Value
from shakedown.workloads import hydro
from support.machines import host, machine
from support.workloads import installed, options, params_of

WORKLOAD = hydro.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "hydro")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(4), given)


def test_a_command_names_every_parameter_once(built: Path) -> None:
    command = WORKLOAD.command(resolve(n="100, 2000", ranks=1, threads=2, problem="checkers"), host(4))
    assert command.argv[0] == str(built / "hydro")
    words = options(command.argv)
    assert (words["--n"], words["--threads"], words["--problem"]) == ("100,2000", "2", "checkers")
    assert set(words) == {f"--{name.replace('_', '-')}" for name in WORKLOAD.params} - {"--cpus", "--ranks"}
    assert command.ranks == 0  # one rank is started without MPI


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"n": "3"}, "not a number from 4"),
        ({"n": "2k"}, "'2k'"),
        ({"n": "1000000"}, "are free on"),
        ({"n": ""}, "'' is not a number"),
        ({"problem": "kelvin"}, "problem"),
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


def test_the_time_grows_with_cells_steps_and_the_load_asked_for() -> None:
    one, two = (WORKLOAD.estimate_s(resolve(n=n, ranks=1), host(4)) for n in ("8000", "16000"))
    assert 3.5 < two / one < 4.5
    assert WORKLOAD.estimate_s(resolve(n="8000", ranks=1, steps=100), host(4)) > 10 * one
    assert WORKLOAD.estimate_s(resolve(n="8000", seconds=100.0, ranks=1), host(4)) > 100


def test_a_step_of_all_cells_is_as_many_updates(recordings: Path) -> None:
    found = events.parse((recordings / "native/hydro-avx2.jsonl").read_bytes())
    assert [case.work["cell_steps"] for case in found.cases] == [
        int(case.params["n"]) ** 2 * case.work["steps"] for case in found.cases
    ]
