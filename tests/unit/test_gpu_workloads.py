"""The workloads on GPUs: what is refused, what is started, where cuBLAS is looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Absent, Machine, Params, Value
from shakedown.workloads.common import gpu
from support.machines import OPEN_MPI, with_gpus
from support.workloads import installed, options, params_of

NAMES = ("gpu_stream", "gpu_copy", "gpu_gemm", "gpu_pingpong", "gpu_collectives")


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, *NAMES)


def gpus(count: int) -> Machine:
    return with_gpus(count, software=(OPEN_MPI,))


def resolve(name: str, where: Machine, **given: Value) -> Params:
    return params_of(workloads.get(name), where, given)


def words(name: str, where: Machine, **given: Value) -> dict[str, str]:
    return options(workloads.get(name).command(resolve(name, where, **given), where.hosts[0]).argv)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_gpu_it_is_unavailable_with_the_reason(name: str) -> None:
    none = gpus(0)
    gap = Absent(what="NVIDIA GPU 0000:01:00.0", why="there is a GPU, but no driver has taken it")
    none = msgspec.structs.replace(none, hosts=(msgspec.structs.replace(none.hosts[0], absent=(gap,)),))
    with pytest.raises(Unavailable) as caught:
        resolve(name, none)
    assert "no driver has taken it" in caught.value.what and "--gres" in caught.value.hint
    assert resolve(name, none, backend="host:2"), "the host backend needs none"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *((name, {"backend": "hip"}) for name in NAMES),
        *((name, {"devices": "0;1"}) for name in NAMES),
        *((name, {"sizes": "1e6"}) for name in NAMES),
        ("gpu_stream", {"kernels": "copy,tirad"}),
        ("gpu_stream", {"sizes": "8"}),
        ("gpu_stream", {"shape": "u3"}),
        ("gpu_copy", {"memory": "pined"}),
        ("gpu_copy", {"blocks": "0"}),
        ("gpu_copy", {"placement": "far"}),
        ("gpu_gemm", {"formats": "fp64"}),
        ("gpu_gemm", {"data": "twos"}),
        ("gpu_gemm", {"sizes": "0"}),
        ("gpu_pingpong", {"sides": "gg"}),
        ("gpu_pingpong", {"aware": "maybe"}),
    ],
)
def test_what_cannot_be_is_refused(name: str, given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(name, gpus(1), **given)
    assert caught.value.hint


def test_what_is_started() -> None:
    stream = words("gpu_stream", gpus(2), sizes="1024, 2048", kernels="triad", seconds=5.0)
    assert (stream["--sizes"], stream["--kernels"], stream["--seconds"]) == ("1024,2048", "triad", "5.0")
    assert stream["--backend"] == "cuda" and "--seconds" not in words("gpu_stream", gpus(2))
    copy = words("gpu_copy", gpus(2), devices="1", memory="pinned")
    assert (copy["--devices"], copy["--memory"], copy["--placement"]) == ("1", "pinned", "near")
    gemm = words("gpu_gemm", gpus(1), formats="f64,f8", cublas="/opt/libcublas.so.13")
    assert (gemm["--formats"], gemm["--data"], gemm["--cublas"]) == ("f64,f8", "random,ones", "/opt/libcublas.so.13")
    where = gpus(2)
    command = workloads.get("gpu_pingpong").command(resolve("gpu_pingpong", where), where.hosts[0])
    assert command.ranks == 2 and "--seconds" not in command.argv


@pytest.mark.parametrize("name", NAMES)
def test_estimates_grow_with_what_is_asked_for(name: str) -> None:
    one = workloads.get(name)
    small, large = (
        (one.estimate_s(resolve(name, gpus(2), sizes=sizes), gpus(2).hosts[0]) for sizes in ("1024", "1024,16777216"))
        if name != "gpu_gemm"
        else (one.estimate_s(resolve(name, gpus(2), sizes=sizes), gpus(2).hosts[0]) for sizes in ("1024", "1024,16384"))
    )
    assert 0 < small < large
    assert "GPU" in (one.label(resolve(name, gpus(2))) if one.label else "GPU")


def test_devices_are_counted() -> None:
    host = gpus(4).hosts[0]
    assert gpu.count({"devices": "all", "backend": "cuda"}, host) == 4
    assert gpu.count({"devices": "0,3", "backend": "cuda"}, host) == 2
    assert gpu.count({"devices": "all", "backend": "host:3"}, host) == 3
    assert gpu.count({"devices": "all", "backend": "host"}, host) == 1


def test_cublas_of_a_wheel_serves_where_the_loader_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params: Params = {"cublas": "auto", "backend": "cuda"}
    monkeypatch.setattr(gpu, "_loader_has", lambda name: False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert gpu.library(params, "cublas") == "auto", "the program then says that there is none"
    wheel = tmp_path / "nvidia/cu13/lib/libcublas.so.13"
    wheel.parent.mkdir(parents=True)
    wheel.touch()
    assert gpu.library(params, "cublas") == str(wheel)
    assert (
        gpu.library({**params, "cublas": "/opt/x.so"}, "cublas") == "/opt/x.so"
        and gpu.library({**params, "backend": "host"}, "cublas") == "auto"
    )
    monkeypatch.setattr(gpu, "_loader_has", lambda name: True)
    assert gpu.library(params, "cublas") == "auto", "the site's comes first"


def test_the_loader_is_asked_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{tmp_path}")
    assert not gpu._loader_has("libnothing-of-the-kind.so")
    (tmp_path / "libnothing-of-the-kind.so.13").touch()
    assert gpu._loader_has("libnothing-of-the-kind.so")
