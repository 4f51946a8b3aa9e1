"""What both solvers on GPUs, hpl_gpu and hpl_mxp, do with real ranks on the host backend, whose devices are threads that run
the kernels' own source: every grid, both ways of messages, the check against damage, no driver."""

from __future__ import annotations

import pytest

from shakedown.programs import events
from support.systems import on_devices, solved, sweep_on_devices

pytestmark = pytest.mark.parametrize("program", ["hpl_gpu", "hpl_mxp"])


def test_a_tail_of_narrower_panels(program: str) -> None:
    sweep_on_devices(program, 0, 2, "--n", "130,200", "--nb", "96", "--tail-nb", "20", "--tail-share", "0.6")


@pytest.mark.parametrize(("ranks", "p", "q"), [(2, "2,1", "1,2"), (4, "2,1,4", "2,4,1")])
@pytest.mark.parametrize("aware", ["yes", "no"])
def test_every_grid_both_ways_of_messages(program: str, ranks: int, p: str, q: str, aware: str) -> None:
    grids = set(zip(map(int, p.split(",")), map(int, q.split(",")), strict=True))
    words = ("--n", "40,101", "--nb", "16,40", "--p", p, "--q", q, "--aware", aware)
    cases = solved(sweep_on_devices(program, ranks, len(grids) * 2 * 2, *words), program)
    assert {case.params["messages"] for case in cases} == {"direct" if aware == "yes" else "staged"}
    assert {(case.params["p"], case.params["q"]) for case in cases} == grids


def test_every_broadcast(program: str) -> None:
    words = ("--n", "90", "--nb", "16", "--p", "1", "--q", "3", "--bcast", "0,1,2,3,4,5", "--segment", "1000")
    sweep_on_devices(program, 3, 6, *words)


@pytest.mark.parametrize("ranks", [0, 4])
@pytest.mark.parametrize("kind", ["entry", "nan", "singular"])
def test_a_damaged_matrix_never_passes(program: str, ranks: int, kind: str) -> None:
    code, found, _ = on_devices(program, ranks, "--n", "60", "--nb", "16", "--inject", kind).told()
    assert code == 1
    cases = solved(found, program)
    assert cases and all(case.residual is not None and not case.residual.passed for case in cases)


def test_without_a_driver_it_says_so_and_never_falls_back(program: str) -> None:
    code, out, err = on_devices(program, 0, "--n", "100", "--driver", "/nowhere/libcuda.so.1", backend="cuda")
    assert code == 3 and "no CUDA driver" in err and "next:" in err
    assert not events.parse(out).cases
