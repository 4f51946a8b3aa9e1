"""N-body: which sizes, precisions and threads, what is refused, and what a run is expected to take."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.programs import events
from shakedown.records import Params, Value
from shakedown.workloads import nbody
from support.machines import host, machine
from support.workloads import installed, options, params_of

WORKLOAD = nbody.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "nbody")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(4), given)


def test_a_command_names_every_parameter_once(built: Path) -> None:
    command = WORKLOAD.command(resolve(bodies="1000, 2000,1000", precision="fp64"), host(4))
    assert command.argv[0] == str(built / "nbody") and command.ranks == 0
    words = options(command.argv)
    assert words["--bodies"] == "1000,2000" and words["--precision"] == "fp64" and words["--threads"] == "4"
    assert set(words) == {f"--{name}" for name in WORKLOAD.params} - {"--cpus"}  # which is empty


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"bodies": "1"}, "not a number from 2"),
        ({"bodies": "1e6"}, "'1e6'"),
        ({"bodies": ""}, "''"),
        ({"bodies": "٣"}, "not a number"),
        ({"bodies": str(2**30)}, "are free on"),
        ({"precision": "fp16"}, "fp16"),
        ({"precision": ","}, "names none"),
        ({"threads": "9"}, "threads"),
        ({"softening": 0}, "softening"),
        ({"isa": "avx"}, "isa"),
        ({"dt": 1.0}, "above 0.112, an eighth of the shortest orbit of 65536 bodies"),
        ({"bodies": "600,65536", "dt": 0.1}, "above 0.0833, an eighth of the shortest orbit of 600 bodies"),
        ({"bodies": "4096", "softening": 1e-4}, "an eighth of the shortest orbit"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_is(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve(**given)
    assert part in error.value.what


def test_the_time_grows_with_the_square_of_the_bodies_and_with_the_load_asked_for() -> None:
    one, two = (WORKLOAD.estimate_s(resolve(bodies=n, precision="fp32"), host(4)) for n in ("500000", "1000000"))
    assert 3.5 < two / one < 4.1
    assert WORKLOAD.estimate_s(resolve(seconds=100.0, precision="fp32,fp64"), host(4)) > 200


def test_twenty_operations_an_interaction_and_n_squared_of_them(recordings: Path) -> None:
    found = events.parse((recordings / "native/nbody-avx512.jsonl").read_bytes())
    for case in found.cases:
        n, steps = float(case.params["n"]), case.work["steps"]
        assert case.work["interactions"] == n**2 * steps and case.work["flop"] == 20 * n**2 * steps
        assert case.residual is not None and case.residual.passed


def test_labels_say_what_is_run() -> None:
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve(bodies="4096,65536")) == "nbody 4096 to 65536 bodies, fp32,fp64, 4 threads"
    assert WORKLOAD.label(resolve(isa="neon", precision="fp32")) == "nbody 65536 bodies, fp32, 4 threads, neon"
