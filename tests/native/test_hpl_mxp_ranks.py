"""hpl_mxp with real ranks on the host backend, whose devices are threads that run the kernels' own source: sweeps of grids,
both ways of messages, both formats, the check against damage, what is told and what is refused."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

import pytest

from shakedown import events, launchers, programs
from shakedown.errors import Unavailable
from shakedown.events import Events
from shakedown.host import RealHost
from shakedown.machine.mpi import mpi
from shakedown.records import Case, Cpu, Host, Memory
from shakedown.workloads import Command, hpl_mxp

LIMIT_S = 300  # far beyond what any of these takes: a test that reaches it hangs


@functools.cache
def _host() -> Host:
    door = RealHost()
    return Host(
        name=door.name(),
        cpu=Cpu(model="", vendor="", architecture="", microarchitecture=""),
        memory=Memory(total_bytes=0),
        usable_cpus=door.affinity(),
        software=mpi(door),
    )


def _raw(ranks: int, *words: str, backend: str = "host", cwd: Path | None = None) -> tuple[int, bytes, str]:
    """Skips, with what to install, where there is no program or no MPI for it. Without mpirun on 0 ranks."""
    try:
        argv = (programs.path("hpl_mxp"), "--backend", backend, *words)
        argv, env = launchers.wrap(Command(argv=argv, ranks=ranks), _host())
    except Unavailable as error:
        pytest.skip(f"needs hpl_mxp and the MPI that it was built with: {error.what}; {error.hint}")
    done = subprocess.run(argv, capture_output=True, env={**os.environ, **env}, timeout=LIMIT_S, check=False, cwd=cwd)
    return done.returncode, done.stdout, done.stderr.decode()


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    code, out, err = _raw(ranks, *words)
    return code, events.parse(out), err


def _solved(found: Events) -> list[Case]:
    return [case for case in found.cases if case.kernel == "hpl_mxp"]


def _sweep(ranks: int, expected: int, *words: str) -> Events:
    """So many systems were solved, and to double precision: single precision alone is beyond the limit by far."""
    code, found, err = _run(ranks, "--no-ceiling", *words)
    assert code == 0, err
    cases = _solved(found)
    assert found.ended and not found.garbage and len(cases) == expected
    for case in cases:
        check = case.residual
        assert check is not None and check.value is not None and check.passed, case.params
        assert 0 < check.value < 1, (check.value, case.params)
    return found


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_one_rank_solves_systems_of_many_orders(precision: str) -> None:
    _sweep(0, 6 * 3, "--n", "2,7,31,33,100,150", "--nb", "8,33,64", "--precision", precision)


def test_a_tail_of_narrower_panels() -> None:
    _sweep(0, 2, "--n", "130,200", "--nb", "96", "--tail-nb", "20", "--tail-share", "0.6")


@pytest.mark.parametrize(("ranks", "p", "q"), [(2, "2,1", "1,2"), (4, "2,1,4", "2,4,1")])
@pytest.mark.parametrize("aware", ["yes", "no"])
def test_every_grid_both_ways_of_messages(ranks: int, p: str, q: str, aware: str) -> None:
    grids = len(p.split(","))
    found = _sweep(ranks, grids * 2 * 2, "--n", "40,101", "--nb", "16,40", "--p", p, "--q", q, "--aware", aware)
    assert {case.params["messages"] for case in _solved(found)} == {"direct" if aware == "yes" else "staged"}
    assert {(case.params["p"], case.params["q"]) for case in _solved(found)} == set(
        zip(map(int, p.split(",")), map(int, q.split(",")), strict=True)
    )


def test_every_broadcast() -> None:
    _sweep(3, 6, "--n", "90", "--nb", "16", "--p", "1", "--q", "3", "--bcast", "0,1,2,3,4,5", "--segment", "1000")


def test_the_events_of_a_run_are_those_of_the_contract() -> None:
    code, found, err = _run(2, "--n", "100", "--nb", "32", "--p", "1", "--q", "2", "--samples", "2")
    assert code == 0, err
    (solved,) = _solved(found)
    assert len(solved.seconds) == 2 and min(solved.seconds) > 0
    assert solved.work == {"flop": 2 / 3 * 100**3 + 1.5 * 100**2}
    assert solved.residual is not None
    assert (solved.residual.limit, solved.residual.kind) == (16, "HPL scaled residual")
    by_kernel = {case.kernel: case for case in found.cases}
    each = by_kernel["each"]
    assert each.work["flop"] == solved.work["flop"] / 2 and each.seconds == solved.seconds
    factors, refining = by_kernel["factorization"], by_kernel["refining"]
    assert each.residual == solved.residual == factors.residual, "a part of a wrong solution has no score"
    for whole, first, then in zip(solved.seconds, factors.seconds, refining.seconds, strict=True):
        assert first + then == pytest.approx(whole), "the refinement is a part of the time"
    shares = {case.kernel: case.work["value"] for case in found.cases if "value" in case.work}
    assert set(shares) == {*hpl_mxp.SHARES, "panel_busy", "steps"}
    assert sum(shares[name] for name in hpl_mxp.SHARES) == pytest.approx(1)
    facts = found.provenance["facts"]
    assert facts["gpu_aware_mpi"] is True and facts["blas"] == "host" and facts["memory_bytes"] > 0
    residuals = facts["residuals"]
    assert len(residuals) == shares["steps"] + 1 and residuals[0] > 16 > 1 > residuals[-1] > 0
    assert {phase.name for phase in found.phases} >= {"init matrix", "measure solution", "verify"}
    assert "hpl" not in by_kernel


@pytest.mark.parametrize("ranks", [0, 4])
@pytest.mark.parametrize("kind", ["entry", "nan", "singular"])
def test_a_damaged_matrix_never_passes(ranks: int, kind: str) -> None:
    code, found, _ = _run(ranks, "--n", "60", "--nb", "16", "--inject", kind)
    assert code == 1
    assert _solved(found) and all(case.residual is not None and not case.residual.passed for case in _solved(found))


def test_without_refinement_it_does_not_pass_and_that_is_told() -> None:
    code, found, _ = _run(0, "--n", "60", "--nb", "16", "--refinements", "0")
    assert code == 1
    assert [notice.code for notice in found.notices].count("not-converged") == 1


def test_what_has_no_meaning_in_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(
        "a\nb\nHPL.out f\n6 d\n1 #\n50 N\n1 #\n16 NB\n0 PMAP\n1 #\n1 P\n1 Q\n16.0 t\n2 #\n0 1 PFACT\n1 #\n4 NBMIN\n"
        "1 #\n2 NDIV\n1 #\n1 RFACT\n1 #\n1 BCAST\n1 #\n0 DEPTH\n2 SWAP\n64 t\n0 L1\n0 U\n1 E\n8 A\n"
    )
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


def test_without_a_driver_it_says_so_and_never_falls_back() -> None:
    code, out, err = _raw(0, "--n", "100", "--driver", "/nowhere/libcuda.so.1", backend="cuda")
    assert code == 3 and "no CUDA driver" in err and "next:" in err
    assert not events.parse(out).cases
