"""hpl_gpu with real ranks on the host backend, whose devices are threads that run the kernels' own source: orders,
exchanges of rows, what is told and what is refused. What it shares with hpl_mxp: test_hpl_on_devices."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.workloads import hpl_gpu
from support.systems import dat, on_devices, solved, sweep_on_devices

SHARES = {metric.kernel for metric in hpl_gpu.TABLE.metrics if ".share." in metric.name}

_raw = functools.partial(on_devices, "hpl_gpu")
_sweep = functools.partial(sweep_on_devices, "hpl_gpu")


def _run(ranks: int, *words: str) -> tuple[int, Events, str]:
    return _raw(ranks, *words).told()


def test_one_rank_solves_systems_of_many_orders() -> None:
    _sweep(0, 8 * 4, "--n", "1,2,7,31,32,33,100,150", "--nb", "8,33,64,200")


@pytest.mark.parametrize(
    "words", [("--swap", "binary"), ("--swap", "long"), ("--split", "0"), ("--split", "1", "--mapping", "column")]
)
def test_every_exchange_of_rows(words: tuple[str, ...]) -> None:
    _sweep(4, 1, "--n", "120", "--nb", "16", "--p", "2", "--q", "2", *words)


def test_the_events_of_a_run_are_those_of_the_contract() -> None:
    code, found, err = _run(2, "--n", "100", "--nb", "32", "--p", "1", "--q", "2", "--samples", "2")
    assert code == 0, err
    (system,) = solved(found)
    assert len(system.seconds) == 2 and min(system.seconds) > 0
    assert system.work == {"flop": 2 / 3 * 100**3 + 1.5 * 100**2}
    assert system.residual is not None
    assert (system.residual.limit, system.residual.kind) == (16, "HPL scaled residual")
    each = next(case for case in found.cases if case.kernel == "each")
    assert each.work["flop"] == system.work["flop"] / 2 and each.seconds == system.seconds
    assert each.residual == system.residual, "a part of a wrong solution has no score"
    shares = {case.kernel: case.work["value"] for case in found.cases if "value" in case.work}
    assert set(shares) == {*SHARES, "panel_busy"}
    assert sum(shares[name] for name in SHARES) == pytest.approx(1)
    facts = found.provenance["facts"]
    assert facts["gpu_aware_mpi"] is True and facts["blas"] == "host" and facts["memory_bytes"] > 0
    assert {phase.name for phase in found.phases} >= {"init matrix", "measure factorization", "verify"}


def test_what_a_device_ignores_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(dat(nb=16, q=1, pfacts=2, pfact="0 1", depth=0))
    code, out, err = _raw(0, "--dat", "HPL.dat", "--netlib", "text", cwd=tmp_path)
    assert code == 0, err
    ignored = [notice.text for notice in events.parse(out).notices if notice.code == "ignored"]
    for word in ("PFACT 0,1", "NBMIN 4", "NDIV 2", "RFACT 1", "DEPTH 0", "L1 ", "U ", "equilibration", "alignment"):
        assert sum(text.startswith(word) for text in ignored) == 1, (word, ignored)
    text = (tmp_path / "text").read_text()
    assert "WR11R2C32" in text, "what was run, not what the file asked for"
    assert text.count("PASSED") == 1 and "1 tests completed and passed" in text


@pytest.mark.parametrize(
    ("ranks", "words", "code", "says"),
    [
        (0, ("--n", "100", "--nb", "4096"), 2, "above 2048"),
        (0, ("--n", "100", "--devices", "3"), 2, "no device"),
        (0, ("--n", "2000000", "--nb", "512"), 3, "are free"),
        (2, ("--n", "100", "--p", "2", "--q", "2"), 2, "needs 4 ranks"),
        (0, ("--aware", "perhaps"), 2, "--aware"),
        (0, ("--block", "3"), 2, "--block"),
        (0, ("--dat", "/nowhere/HPL.dat"), 2, "/nowhere/HPL.dat"),
    ],
)
def test_what_cannot_be_is_refused(ranks: int, words: tuple[str, ...], code: int, says: str) -> None:
    found, out, err = _raw(ranks, *words)
    assert found == code and says in err and "next:" in err
    assert not events.parse(out).cases
