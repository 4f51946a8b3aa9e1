"""The Lennard-Jones fluid on GPUs: what is refused, what is started, how long it may take, what it is laid beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import published, workloads
from shakedown.analysis import published_comparison
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Finding, Params, Value
from shakedown.workloads import gpu_lj, lj
from support.machines import with_gpus
from support.workloads import installed, options, params_of

WORKLOAD = gpu_lj.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "gpu_lj")


def resolve(count: int = 4, **given: Value) -> Params:
    return params_of(WORKLOAD, with_gpus(count), given)


def test_the_default_is_comets_fluid_and_a_larger_one() -> None:
    params = resolve()
    assert (params["particles"], params["density"], params["cutoff"]) == ("64000,1000000", 0.382, 3.0)


def test_a_command_names_every_parameter_once(built: Path) -> None:
    command = WORKLOAD.command(resolve(particles="4000, 64000,4000", seconds=5.0, devices="0,1"), with_gpus(4).hosts[0])
    assert command.argv[0] == str(built / "gpu_lj") and command.ranks == 0
    words = options(command.argv)
    assert (words["--particles"], words["--precision"], words["--seconds"]) == ("4000,64000", "mixed,fp64", "5.0")
    assert set(words) == {f"--{name}" for name in WORKLOAD.params}


def test_what_both_programs_take_is_said_alike() -> None:
    same = set(WORKLOAD.params) & set(lj.WORKLOAD.params)
    assert same >= {"particles", "precision", "density", "cutoff", "dt", "skin", "steps", "seed", "start"}
    for name in same - {"samples", "particles", "seconds"}:
        assert WORKLOAD.params[name] == lj.WORKLOAD.params[name], name


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"particles": "99"}, "not a number from 100"),
        ({"particles": "64k"}, "'64k'"),
        ({"particles": "200"}, "gpu_lj.particles: 200 particles"),
        ({"particles": str(2**31 + 1)}, "not a number"),
        ({"precision": "fp32"}, "fp32"),
        ({"precision": ""}, "precision"),
        ({"lanes": "3"}, "lanes"),
        ({"density": 2.0}, "density"),
        ({"start": "cubic"}, "start"),
        ({"dt": 0.05}, "gpu_lj.dt: a step must be above 0 and at most 0.00956"),
        ({"devices": "first"}, "names no devices"),
        ({"backend": "hip"}, "not known"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_is(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve(**given)
    assert part in error.value.what and error.value.hint


def test_without_a_gpu_it_is_unavailable_but_for_the_host_backend() -> None:
    with pytest.raises(Unavailable) as caught:
        resolve(0)
    assert "gpu_lj needs an NVIDIA GPU" in caught.value.what and "--gres" in caught.value.hint
    assert resolve(0, backend="host")["backend"] == "host"


def test_the_estimate_grows_with_what_is_asked() -> None:
    host = with_gpus(2).hosts[0]

    def estimate(**given: Value) -> float:
        return WORKLOAD.estimate_s(resolve(2, **given), host)

    base = estimate(devices="0", particles="64000", precision="mixed")
    assert base < 10, "seconds on a GPU"
    assert estimate(devices="0", particles="64000,1000000", precision="mixed") > base
    assert estimate(devices="0", particles="64000", precision="mixed,fp64") > base
    assert estimate(devices="0,1", particles="64000", precision="mixed") > 1.5 * base
    assert estimate(devices="0", particles="64000", precision="mixed", seconds=60) > 60
    assert estimate(devices="0", particles="64000", precision="mixed", skin=0.4, lanes="4") < base
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve()) == "Lennard-Jones fluid of 64000 to 1000000 particles on GPUs, mixed fp64"


@pytest.mark.parametrize("name", ["gpu_lj", "lj"])
def test_it_stands_beside_comets_fluid_and_no_other(name: str) -> None:
    metrics = {one.name: one for one in workloads.get(name).metrics}

    def laid(**params: Value) -> list[tuple[str, str]]:
        found = Finding(
            metric=f"{name}.rate",
            unit="update/s",
            better="higher",
            workload=name,
            params={"n": 64000, "precision": "mixed", "density": 0.382, "cutoff": 3.0, **params},
            host="node",
            value=1.6078e9,
            low=1.6e9,
            high=1.61e9,
        )
        systems = published.systems()
        return [(one.system, one.verdict) for one in published_comparison.beside((found,), metrics, systems)]

    assert laid() == [("comet", "other circumstances")], "two or four GPUs there, and one or none here"
    assert laid(n=1_000_000) == [] and laid(cutoff=2.5) == [] and laid(precision="fp64") == []
