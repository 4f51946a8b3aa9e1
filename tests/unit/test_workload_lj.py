"""The Lennard-Jones fluid: which sizes and precisions, boxes that are too small, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.programs import events
from shakedown.records import Params, Value
from shakedown.workloads import lj
from support.machines import host, machine
from support.workloads import installed, options, params_of

WORKLOAD = lj.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "lj")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(4), given)


def test_the_default_is_comets_fluid() -> None:
    params = resolve()
    assert (params["particles"], params["density"], params["cutoff"]) == ("64000", 0.382, 3.0)


def test_a_command_names_every_parameter_once(built: Path) -> None:
    command = WORKLOAD.command(resolve(particles="4000, 64000", precision="mixed", threads="1,2"), host(4))
    assert command.argv[0] == str(built / "lj")
    words = options(command.argv)
    assert (words["--particles"], words["--precision"], words["--threads"]) == ("4000,64000", "mixed", "1,2")
    assert set(words) == {f"--{name}" for name in WORKLOAD.params} - {"--cpus"}  # which is empty


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"particles": "99"}, "not a number from 100"),
        ({"particles": "64k"}, "'64k'"),
        ({"particles": "200"}, "too small for a cutoff of 3"),
        ({"particles": "2000000000"}, "are free on"),
        ({"precision": "fp32"}, "fp32"),
        ({"precision": ""}, "names none"),
        ({"threads": "0"}, "threads"),
        ({"density": 2.0}, "density"),
        ({"start": "cubic"}, "start"),
        ({"dt": 0.02}, "at most 0.00956 at temperature 1.2"),
        ({"dt": 0}, "above 0"),
        ({"temperature": 100.0}, "at most 0.00102 at temperature 100"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_is(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve(**given)
    assert part in error.value.what


def test_the_fewest_particles_that_the_hint_names_are_enough() -> None:
    with pytest.raises(BadInput) as error:
        resolve(particles="100")
    fewest = error.value.hint.split("at least ")[1].split(" ")[0]
    resolve(particles=fewest)
    with pytest.raises(BadInput):
        resolve(particles=str(int(fewest) - 1))


def test_the_time_grows_with_particles_and_with_the_load_asked_for() -> None:
    one, two = (WORKLOAD.estimate_s(resolve(particles=n, precision="mixed"), host(4)) for n in ("1000000", "2000000"))
    assert 1.8 < two / one < 2.2
    assert WORKLOAD.estimate_s(resolve(seconds=100.0), host(4)) > 200


def test_a_step_of_all_particles_is_as_many_updates(recordings: Path) -> None:
    found = events.parse((recordings / "native/lj-avx512.jsonl").read_bytes())
    assert {case.params["precision"] for case in found.cases} == {"mixed", "fp64"}
    for case in found.cases:
        assert case.work["particle_steps"] == float(case.params["n"]) * case.work["steps"]
        assert case.residual is not None and case.residual.passed


def test_labels_say_what_is_run() -> None:
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve(precision="mixed")) == "lj 64000 particles, mixed, 4 threads"
