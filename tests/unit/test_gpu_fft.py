"""The workload gpu_fft: what is refused, what is started, what the recorded transcript counts."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Value
from shakedown.workloads import gpu_fft
from shakedown.workloads.common import gpu
from support.machines import with_gpus
from support.workloads import installed, options, params_of

ONE = workloads.get("gpu_fft")


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "gpu_fft")


def resolve(where: Machine, **given: Value) -> Params:
    return params_of(ONE, where, given)


def words(**given: Value) -> dict[str, str]:
    where = with_gpus(2)
    return options(ONE.command(resolve(where, **given), where.hosts[0]).argv)


@pytest.mark.parametrize(
    "given",
    [
        {"sizes": "1"},
        {"sizes": "4x4x4x4"},
        {"sizes": "1e6"},
        {"sizes": "4000000000"},
        {"batch": "0"},
        {"batch": "some"},
        {"batch": "1,,2"},
        {"precision": "h"},
        {"backend": "hip"},
        {"devices": "first"},
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(with_gpus(1), **given)
    assert "gpu_fft" in caught.value.what and caught.value.hint


def test_without_a_gpu_it_is_unavailable_and_the_host_backend_is_not() -> None:
    with pytest.raises(Unavailable, match="needs an NVIDIA GPU"):
        resolve(with_gpus(0))
    assert resolve(with_gpus(0), backend="host:2")


def test_what_is_started() -> None:
    given = words(
        sizes="1024, 64x64", batch="1, 7,auto", precision="d", bytes=2**30, cufft="/opt/libcufft.so.12", seconds=2.0
    )
    assert given["--sizes"] == "1024,64x64" and given["--batch"] == "1,7,auto" and given["--precision"] == "d"
    assert given["--bytes"] == str(2**30) and given["--cufft"] == "/opt/libcufft.so.12" and given["--seconds"] == "2.0"
    assert words(precision="both")["--precision"] == "d,s"
    plain = words(devices="1")
    assert plain["--devices"] == "1" and "--seconds" not in plain and plain["--batch"] == "1,auto"


def test_cufft_of_a_wheel_serves_where_the_loader_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_loader_has", lambda name: False)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert words()["--cufft"] == "auto", "the program then says that there is none"
    for name in ("libcufft.so.12", "libcufftw.so.12", "libcublas.so.13"):
        wheel = tmp_path / "nvidia/cu13/lib" / name
        wheel.parent.mkdir(parents=True, exist_ok=True)
        wheel.touch()
    assert words()["--cufft"] == str(tmp_path / "nvidia/cu13/lib/libcufft.so.12")
    monkeypatch.setattr(gpu, "_loader_has", lambda name: True)
    assert words()["--cufft"] == "auto", "the site's comes first"


def test_estimates_grow_with_what_is_asked_for() -> None:
    host = with_gpus(2).hosts[0]
    base = ONE.estimate_s(resolve(with_gpus(2), sizes="1024"), host)
    assert 0 < base < ONE.estimate_s(resolve(with_gpus(2), sizes="1024", bytes=2**33), host)
    assert base < ONE.estimate_s(resolve(with_gpus(2), sizes="1024,256x256x256"), host)
    assert base < ONE.estimate_s(resolve(with_gpus(2), sizes="1024", seconds=60.0), host)
    assert (
        ONE.label is not None and ONE.label(resolve(with_gpus(2), sizes="1024,64x64")) == "FFT on GPUs, 1024 to 64x64"
    )


def test_the_transcript_counts_operations_and_bytes_by_the_formula(recordings: Path) -> None:
    cases = [json.loads(line) for line in (recordings / "gpu/gpu-fft-host.jsonl").read_text().splitlines()]
    cases = [one for one in cases if one["event"] == "case" and one["kernel"] != "fft_plan"]
    assert {one["kernel"] for one in cases} == {"mod2f", "fft"} and {one["params"]["index"] for one in cases} == {0, 1}
    for one in cases:
        params, work = one["params"], one["work"]
        points = math.prod(int(length) for length in params["shape"].split("x"))
        transforms = params["batch"] * work["calls"]
        assert params["n"] == points and work["transforms"] == transforms
        assert work["flop"] == 5 * points * math.log2(points) * transforms
        assert work["bytes"] == 2 * points * transforms * {"double": 16, "single": 8}[params["precision"]]
        assert one["residual"]["value"] < 1 and one["residual"]["limit"] == 16
        plain = params["batch"] == 1 and params["precision"] == "double" and "x" not in params["shape"]
        assert (one["kernel"] == "mod2f") == plain


def test_batches_are_words_each_once() -> None:
    assert gpu_fft.batches({"batch": "auto, 4,4"}) == ("auto", "4")
