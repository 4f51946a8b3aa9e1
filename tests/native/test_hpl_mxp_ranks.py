"""hpl_mxp with real ranks on the host backend, whose devices are threads that run the kernels' own source: both formats,
the refinement, what is told and what is refused. What it shares with hpl_gpu: test_hpl_on_devices."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.workloads import hpl_mxp
from support.systems import dat, on_devices, solved, sweep_on_devices

SHARES = {metric.kernel for metric in hpl_mxp.TABLE.metrics if ".share." in metric.name}

_raw = functools.partial(on_devices, "hpl_mxp")
_sweep = functools.partial(sweep_on_devices, "hpl_mxp")


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return _raw(ranks, *words).told()


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_one_rank_solves_systems_of_many_orders(precision: str) -> None:
    _sweep(0, 6 * 3, "--n", "2,7,31,33,100,150", "--nb", "8,33,64", "--precision", precision)


def test_the_events_of_a_run_are_those_of_the_contract() -> None:
    code, found, err = _run(2, "--n", "100", "--nb", "32", "--p", "1", "--q", "2", "--samples", "2")
    assert code == 0, err
    (system,) = solved(found, "hpl_mxp")
    assert len(system.seconds) == 2 and min(system.seconds) > 0
    assert system.work == {"flop": 2 / 3 * 100**3 + 1.5 * 100**2}
    assert system.residual is not None
    assert (system.residual.limit, system.residual.kind) == (16, "HPL scaled residual")
    by_kernel = {case.kernel: case for case in found.cases}
    each = by_kernel["each"]
    assert each.work["flop"] == system.work["flop"] / 2 and each.seconds == system.seconds
    factors, refining = by_kernel["factorization"], by_kernel["refining"]
    assert each.residual == system.residual == factors.residual, "a part of a wrong solution has no score"
    for whole, first, then in zip(system.seconds, factors.seconds, refining.seconds, strict=True):
        assert first + then == pytest.approx(whole), "the refinement is a part of the time"
    shares = {case.kernel: case.work["value"] for case in found.cases if "value" in case.work}
    assert set(shares) == {*SHARES, "panel_busy", "steps"}
    assert sum(shares[name] for name in SHARES) == pytest.approx(1)
    facts = found.provenance["facts"]
    assert facts["gpu_aware_mpi"] is True and facts["blas"] == "host" and facts["memory_bytes"] > 0
    residuals = facts["residuals"]
    assert len(residuals) == shares["steps"] + 1 and residuals[0] > 16 > 1 > residuals[-1] > 0
    assert {phase.name for phase in found.phases} >= {"init matrix", "measure solution", "verify"}
    assert "hpl" not in by_kernel


def test_without_refinement_it_does_not_pass_and_that_is_told() -> None:
    code, found, _ = _run(0, "--n", "60", "--nb", "16", "--refinements", "0")
    assert code == 1
    assert [notice.code for notice in found.notices].count("not-converged") == 1


def test_what_has_no_meaning_in_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(dat(nb=16, q=1, pfacts=2, pfact="0 1", depth=0))
    code, out, err = _raw(0, "--dat", "HPL.dat", cwd=tmp_path)
    assert code == 0, err
    ignored = [notice.text for notice in events.parse(out).notices if notice.code == "ignored"]
    for word in (
        "PFACT 0,1",
        "NBMIN 4",
        "NDIV 2",
        "RFACT 1",
        "DEPTH 0",
        "SWAP 2",
        "swapping threshold 64",
        "L1 ",
        "U ",
    ):
        assert sum(text.startswith(word) for text in ignored) == 1, (word, ignored)


@pytest.mark.parametrize(
    ("ranks", "words", "code", "says"),
    [
        (0, ("--n", "100", "--nb", "8192"), 2, "above 4096"),
        (0, ("--n", "1"), 2, "N = 1"),
        (0, ("--n", "100", "--precision", "fp8"), 2, "--precision"),
        (0, ("--n", "100", "--devices", "3"), 2, "no device"),
        (0, ("--n", "2000000", "--nb", "512"), 3, "are free"),
        (2, ("--n", "100", "--p", "2", "--q", "2"), 2, "needs 4 ranks"),
        (0, ("--netlib", "HPL.out"), 2, "--netlib"),
        (0, ("--dat", "/nowhere/HPL.dat"), 2, "/nowhere/HPL.dat"),
    ],
)
def test_what_cannot_be_is_refused(ranks: int, words: tuple[str, ...], code: int, says: str) -> None:
    found, out, err = _raw(ranks, *words)
    assert found == code and says in err and "next:" in err
    assert not events.parse(out).cases
