"""Fourier transforms: which shapes, which library, how much memory, and what is refused."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from shakedown import programs
from shakedown.errors import BadInput
from shakedown.records import Params, Software
from shakedown.workloads import check_params, fft
from support.machines import machine
from support.workloads import options, params_of


def resolve(given: Params, software: tuple[Software, ...] = (), cores: int = 4) -> tuple[Params, ...]:
    return fft.WORKLOAD.resolve(check_params(fft.WORKLOAD, given), machine(cores, software=software))


def words(params: Params, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(programs, "path", lambda name: f"/bin/{name}")
    found = machine(4)
    argv = fft.WORKLOAD.command(params_of(fft.WORKLOAD, found, params), found.hosts[0]).argv
    assert argv[0] == "/bin/fft"
    return options(argv)


def test_shapes() -> None:
    assert fft.shapes({"sizes": "256, 64x64,8x8x8,256"}) == ((256,), (64, 64), (8, 8, 8))
    for bad in ("", "x", "1", "0", "4x", "2x2x2x2", "1e6", "-4", "4,,4", "٣"):
        with pytest.raises(BadInput, match="not a valid shape of a transform"):
            fft.shapes({"sizes": bad})
    for large in ("4000000000", "9" * 30, "1048576x1048577", "65536x65536x65536"):
        with pytest.raises(BadInput, match="too large for a transform") as caught:
            fft.shapes({"sizes": large})
        assert "2147483647" in caught.value.hint and "2^40" in caught.value.hint
    assert fft.shapes({"sizes": "1048576x1048576"}) == ((2**20, 2**20),)


@pytest.mark.parametrize(
    ("name", "bad"), [("precision", "q"), ("batch", "alone"), ("data", "hot"), ("library", "fftww"), ("threads", "9")]
)
def test_words_that_are_none_are_refused(name: str, bad: str) -> None:
    with pytest.raises(BadInput):
        resolve({name: bad})


def test_both_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    found = words({"precision": "both", "batch": "both", "data": "warm,both"}, monkeypatch)
    assert (found["--precision"], found["--batch"], found["--data"]) == ("d,s", "together,each", "warm,cold")
    with pytest.raises(BadInput) as caught:
        resolve({"precision": "q"})
    assert "both" in caught.value.hint


def test_wisdom_that_cannot_be_read_is_refused_on_the_host_that_would_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, missing = tmp_path / "wisdom", str(tmp_path / "missing")
    there.write_text("")
    monkeypatch.setattr(platform, "node", lambda: machine(4).hosts[0].name)
    with pytest.raises(BadInput, match="cannot read") as caught:
        resolve({"wisdom": missing})
    assert missing in caught.value.what and "fftw-wisdom" in caught.value.hint
    assert resolve({"wisdom": str(there)})[0]["wisdom"] == str(there)
    monkeypatch.setattr(platform, "node", lambda: "the-login-node")
    assert resolve({"wisdom": missing})[0]["wisdom"] == missing, "another host's files are not to be seen from here"


def test_each_library_is_a_run_of_its_own() -> None:
    assert [run["library"] for run in resolve({"library": "fftw,mkl"})] == ["fftw", "mkl"]
    assert [run["library"] for run in resolve({"library": "/opt/lib/libfftw3.so.3"})] == ["/opt/lib/libfftw3.so.3"]


def test_mkl_is_taken_from_where_its_blas_was_found() -> None:
    mkl = Software(kind="blas", name="mkl", version="2024.1", path="/opt/mkl/libmkl_rt.so.2", facts={"source": "site"})
    assert resolve({"library": "mkl"}, (mkl,))[0]["library"] == "/opt/mkl/libmkl_rt.so.2"


def test_arrays_beyond_the_memory_are_refused_before_anything_runs() -> None:
    with pytest.raises(BadInput, match="are free"):
        resolve({"sizes": "8192x8192x8192"})
    with pytest.raises(BadInput, match="batch = together"):
        room = machine(4).hosts[0].memory.total_bytes
        resolve({"sizes": str(room // 64), "batch": "each", "threads": "4"})


def test_the_program_is_told_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given: Params = {"sizes": "64x64", "precision": "d,s", "batch": "each", "data": "cold", "plan_limit": 5.0}
    found = words(given, monkeypatch)
    assert (found["--sizes"], found["--precision"], found["--batch"], found["--data"]) == (
        "64x64",
        "d,s",
        "each",
        "cold",
    )
    assert found["--threads"] == "4" and found["--library"] == "auto" and found["--plan-limit"] == "5.0"
    assert "--label" not in found and "--wisdom" not in found


def test_the_estimate_grows_with_the_work() -> None:
    host = machine(4).hosts[0]

    def estimate(**given: object) -> float:
        (params,) = resolve(given)  # type: ignore[arg-type]
        return fft.WORKLOAD.estimate_s(params, host)

    assert 0 < estimate(sizes="256") < estimate(sizes="1048576") < estimate(sizes="1048576", precision="d,s")
    assert (
        estimate(sizes="1048576", plan="estimate")
        < estimate(sizes="1048576")
        < estimate(sizes="1048576", plan="patient")
    )
    assert estimate(sizes="1048576", plan="patient", plan_limit=1.0) < estimate(sizes="1048576", plan="patient")


def test_the_published_figures_have_our_name() -> None:
    from shakedown import published

    ours = {metric.name for metric in fft.WORKLOAD.metrics}
    found = {
        one.id: value.value
        for one in published.systems()
        for value in one.values
        if value.metric == "euroben.mod2f.rate"
    }
    assert "euroben.mod2f.rate" in ours
    assert found["lrz-coolmuc"] == pytest.approx(11e9) and found["uio-numa"] == pytest.approx(90e6)
