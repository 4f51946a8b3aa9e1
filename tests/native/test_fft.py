"""The native fft with the site's FFTW: what it prints is whole, verified, and told apart by its parameters."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from shakedown.programs.events import Events
from support import natives


def run(*words: str) -> tuple[int, Events, str]:
    return natives.run("fft", *words).told()


@pytest.fixture
def fftw() -> str:
    """FFTW in double and single precision."""
    code, _, err = run(
        "--library", "fftw", "--sizes", "8", "--threads", "1", "--precision", "d,s", "--sample-flop", "1"
    )
    if code == 3:
        pytest.skip(f"needs FFTW: sudo apt-get install libfftw3-double3 libfftw3-single3 ({err.splitlines()[0]})")
    return "fftw"


@pytest.mark.system
@pytest.mark.parametrize(
    ("sizes", "precisions", "batches", "data"),
    [
        ("64,100,3x5x7,16x16", "d,s", "together,each", "warm"),
        # Each case on cold data goes through a second of memory larger than the caches: each shape once, and each word.
        ("64,100,3x5x7,16x16", "d", "together", "cold"),
        ("100", "s", "each", "cold"),
    ],
)
def test_every_shape_precision_batch_and_data_is_verified(
    fftw: str, sizes: str, precisions: str, batches: str, data: str
) -> None:
    code, found, err = run(
        *("--library", fftw, "--sizes", sizes, "--threads", "1", "--precision", precisions, "--batch", batches),
        *("--data", data, "--plan", "estimate", "--samples", "1", "--sample-flop", "1e4", "--pages", "base"),
    )
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    timed = [case for case in found.cases if case.kernel in ("mod2f", "fft")]
    assert len(timed) == math.prod(1 + words.count(",") for words in (sizes, precisions, batches, data))
    for case in timed:
        assert case.residual is not None and case.residual.passed and case.residual.value is not None
        assert case.residual.value < 2, "far below the limit, as rounding is"
        n = int(case.params["n"])
        assert case.work["flop"] == pytest.approx(case.work["transforms"] * 5 * n * math.log2(n))
    shapes = {str(case.params["shape"]) for case in timed if case.kernel == "mod2f"}
    assert shapes == ({"64", "100"} if "d" in precisions else set()), "EuroBen's is of double precision"
    assert all(str(case.params["library"]).startswith("fftw ") for case in timed)


@pytest.mark.system
def test_planning_stands_apart_and_plans_are_kept(fftw: str, tmp_path: Path) -> None:
    wisdom = tmp_path / "wisdom"
    words = ("--library", fftw, "--sizes", "1000", "--threads", "1", "--samples", "1", "--sample-flop", "1")
    code, first, err = run(*words, "--save-wisdom", str(wisdom))
    assert code == 0 and wisdom.stat().st_size > 0, err
    code, second, err = run(*words, "--wisdom", str(wisdom))
    assert code == 0 and not {"fft-wisdom"} & {notice.code for notice in second.notices}, err
    plans = [next(case for case in one.cases if case.kernel == "fft_plan") for one in (first, second)]
    assert all(len(case.seconds) == 1 and case.work == {"plans": 1} for case in plans)
    wisdom.write_text("nonsense")
    code, third, err = run(*words, "--wisdom", str(wisdom))
    assert code == 0 and "fft-wisdom" in {notice.code for notice in third.notices}, err


def test_an_absent_library_says_what_to_install() -> None:
    code, found, err = run("--library", "/nowhere/libfftw3.so.3", "--sizes", "8")
    assert code == 3 and not found.started and "libfftw3-double3" in err and "/nowhere" in err
