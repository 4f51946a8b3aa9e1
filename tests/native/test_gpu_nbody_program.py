"""The native N-body program for GPUs on the host backend, whose devices are threads that run the kernels' own source: one
device after another and all at once, a force that is wrong, refusals."""

from __future__ import annotations

import pytest

from shakedown.programs.events import Events
from support import natives

SMALL = ("--bodies", "600", "--samples", "2", "--steps", "2", "--warm-ms", "0")


def run(*words: str, backend: str = "host") -> tuple[int, Events, str]:
    return natives.run("gpu_nbody", "--backend", backend, *words).told()


@pytest.mark.parametrize("together", [False, True])
def test_every_device_is_whole_and_right(together: bool) -> None:
    code, found, err = run(*SMALL, "--precision", "fp32,fp64", *(["--together"] if together else []), backend="host:2")
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    seen = [(case.params["index"], case.params["precision"]) for case in found.cases]
    assert sorted(map(str, seen)) == sorted(str((i, p)) for i in (0, 1) for p in ("fp32", "fp64"))
    for case in found.cases:
        assert case.params["mode"] == ("together" if together else "alone")
        assert case.work["at_once"] == (2 if together else 1)
        assert case.work["interactions"] == 2 * 600**2 and len(case.seconds) >= 2
        assert case.residual is not None and case.residual.passed
        for word in ("forces", "energy", "momentum"):
            assert word in case.residual.kind


def test_devices_at_once_measure_at_the_same_time() -> None:
    code, found, err = run(*SMALL, "--together", backend="host:3")
    assert code == 0, err
    spans = [(case.begin_ns, case.end_ns) for case in found.cases]
    assert len(spans) == 3
    assert max(begin for begin, _ in spans) < min(end for _, end in spans), "none ends before all have begun"


def test_a_force_that_is_a_tenth_of_a_per_mille_too_large_is_found() -> None:
    code, found, _ = run(*SMALL, "--break-force", "0.0001")
    assert code == 1 and found.ended
    (case,) = found.cases
    assert case.residual is not None and not case.residual.passed


def test_bad_input_is_one_error_with_the_next_step() -> None:
    for words, code, part in (
        (("--bodies", "x"), 2, "whole number"),
        (("--shape", "r7"), 2, "--shape 'r7'"),
        (("--devices", "3"), 2, "no device '3'"),
        (("--driver", "/nowhere/libcuda.so.1"), 3, "no CUDA driver"),
    ):
        got, _, err = run(*words, backend="cuda" if words[0] == "--driver" else "host")
        assert got == code and part in err, err
        assert err.startswith("gpu_nbody: ") and "next:" in err
