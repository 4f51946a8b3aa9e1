"""Path loss of all pairs on GPUs: what is refused, what is started, how long it may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Params, Value
from shakedown.workloads import gpu_path_loss, path_loss
from support.machines import with_gpus
from support.workloads import installed, options, params_of

WORKLOAD = gpu_path_loss.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "gpu_path_loss")


def resolve(count: int = 4, **given: Value) -> Params:
    return params_of(WORKLOAD, with_gpus(count), given)


def test_the_default_is_thufirs_load() -> None:
    params = resolve()
    assert (params["radios"], params["points"], params["precision"]) == ("5000", "500", "fp32")


def test_a_command_names_every_parameter_once(built: Path) -> None:
    command = WORKLOAD.command(resolve(radios="100, 50,100", moved="0,5", seconds=5.0), with_gpus(4).hosts[0])
    assert command.argv[0] == str(built / "gpu_path_loss") and command.ranks == 0
    words = options(command.argv)
    assert (words["--radios"], words["--moved"], words["--seconds"]) == ("100,50", "0,5", "5.0")
    assert set(words) == {f"--{name}" for name in WORKLOAD.params}


def test_what_both_programs_take_is_said_alike() -> None:
    same = set(WORKLOAD.params) & set(path_loss.WORKLOAD.params)
    assert same >= {"radios", "points", "moved", "precision", "heights", "frequency-mhz", "side", "seed"}
    for name in same - {"samples", "seconds", "radios", "precision"}:
        assert WORKLOAD.params[name] == path_loss.WORKLOAD.params[name], name


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"radios": "1"}, "not a number from 2"),
        ({"radios": "5k"}, "'5k'"),
        ({"points": "1"}, "not a number"),
        ({"moved": "6", "radios": "5"}, "6 of 5 radios cannot move"),
        ({"precision": "mixed"}, "mixed"),
        ({"precision": ""}, "precision"),
        ({"heights": "int8"}, "heights"),
        ({"climate": 8}, "climate"),
        ({"devices": "first"}, "names no devices"),
        ({"backend": "hip"}, "not known"),
    ],
)
def test_what_cannot_be_is_refused_with_what_it_is(given: dict[str, Value], part: str) -> None:
    with pytest.raises(BadInput) as error:
        params_of(WORKLOAD, with_gpus(4), given)
    assert part in error.value.what and error.value.hint


def test_without_a_gpu_it_is_unavailable_but_for_the_host_backend() -> None:
    with pytest.raises(Unavailable) as caught:
        resolve(0)
    assert "gpu_path_loss needs an NVIDIA GPU" in caught.value.what and "--gres" in caught.value.hint
    assert resolve(0, backend="host")["backend"] == "host"


def test_the_estimate_grows_with_what_is_asked() -> None:
    host = with_gpus(2).hosts[0]

    def estimate(**given: Value) -> float:
        return WORKLOAD.estimate_s(resolve(2, **given), host)

    base = estimate(devices="0")
    assert base < 30, "seconds on a GPU"
    assert estimate(devices="0", radios="5000,20000") > base
    assert estimate(devices="0", points="500,1000") > base
    assert estimate(devices="0", precision="fp32,fp64") > base
    assert base < estimate(devices="0", moved="0,50") < 2 * base
    assert estimate(devices="0,1") > base + 1
    assert estimate(devices="0", seconds=60) > 60
    assert estimate(devices="0", backend="host", radios="1000", samples=1) > estimate(devices="0", samples=1)
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve(points="100,500")) == "path loss of 5000 radios on GPUs, 100 to 500 points, fp32"
