"""The native N-body program: whole runs in every instruction set of this machine, a force that is wrong, refusals."""

from __future__ import annotations

import pytest

from shakedown.programs.events import Events
from support import natives

SMALL = ("--bodies", "700", "--threads", "1", "--samples", "2", "--steps", "4")


def run(*words: str) -> tuple[int, Events, str]:
    return natives.run("nbody", *words).told()


@pytest.mark.parametrize("isa", ["auto", "plain"])
def test_a_run_is_whole_and_right(isa: str) -> None:
    code, found, err = run(*SMALL, "--precision", "fp32,fp64", "--isa", isa)
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    assert [case.params["precision"] for case in found.cases] == ["fp32", "fp64"]
    for case in found.cases:
        assert case.work["interactions"] == 4 * 700**2 and len(case.seconds) >= 2
        assert case.residual is not None and case.residual.passed
        for word in ("forces", "energy", "momentum"):
            assert word in case.residual.kind


def test_a_force_that_is_a_tenth_of_a_per_mille_too_large_is_found() -> None:
    code, found, _ = run(*SMALL, "--break-force", "0.0001")
    assert code == 1 and found.ended
    (case,) = found.cases
    assert case.residual is not None and not case.residual.passed


def test_a_load_lasts_as_long_as_asked() -> None:
    code, found, err = run("--bodies", "256", "--threads", "1", "--samples", "1", "--seconds", "0.4")
    assert code == 0, err
    assert sum(found.cases[0].seconds) > 0.3


def test_bad_input_is_one_error_with_the_next_step() -> None:
    for words, code, part in (
        (("--bodies", "x"), 2, "whole number"),
        (("--threads", "4096"), 2, "threads requested"),
        (("--isa", "sve", "--bodies", "100"), 3, "was built in"),
    ):
        got, _, err = run(*words)
        if words[0] == "--isa" and got == 0:
            continue  # an Arm machine with SVE
        assert got == code and part in err, err
        assert err.startswith("nbody: ")
