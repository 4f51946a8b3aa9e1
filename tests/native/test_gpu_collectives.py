"""gpu_collectives on the host backend: every case there and right, its work that of nccl-tests, what is refused."""

from __future__ import annotations

import pytest

from shakedown.programs.events import Events
from shakedown.workloads import nccl_tests
from support.natives import run

BLOCKS = {"all_gather", "reduce_scatter", "alltoall", "gather", "scatter"}


def _run(gpus: int, *words: str) -> tuple[int, Events, str]:
    small = ("--samples", "2", "--sample-ms", "0", "--warm-ups", "1", "--backend", f"host:{gpus}")
    return run("gpu_collectives", *small, *words).told()


@pytest.mark.parametrize("gpus", [2, 3])
@pytest.mark.parametrize("kind", ["float", "uint64"])
def test_every_operation_is_measured_and_right(gpus: int, kind: str) -> None:
    code, found, err = _run(gpus, "--sizes", "96,70000", "--type", kind)
    assert code == 0 and found.ended, err
    cases = {(case.params["operation"], case.params["bytes"], case.params["in_place"]): case for case in found.cases}
    assert len(cases) == len(found.cases) == 28
    for (operation, size, _), case in cases.items():
        assert case.residual is not None and case.residual.value == 0
        assert case.params["gpus"] == gpus and len(case.seconds) == 2 and min(case.seconds) > 0
        assert isinstance(size, int) and case.work["bytes"] == size * case.work["op"]
        scale = nccl_tests.factor(str(operation), gpus)
        assert case.work["bus_bytes"] == pytest.approx(case.work["bytes"] * (scale or 0.0)), "as nccl-tests counts"
        assert operation not in BLOCKS or size % (16 * gpus) == 0, "blocks of 16 bytes"


def test_a_damaged_bit_fails_and_is_named() -> None:
    code, found, err = _run(3, "--spoil", "--sizes", "3000", "--operations", "all_reduce,alltoall", "--place", "out")
    assert code == 1 and len(found.cases) == 2, err
    assert all(case.residual is not None and not case.residual.passed for case in found.cases)
    (first, second) = (one.text for one in found.notices)
    assert "rank 2 (GPU 2" in first and "wrong element 250," in first and "(bits 0x20)" in first
    assert "alltoall" in second


def test_one_gpu_has_no_bus() -> None:
    code, found, _ = _run(1, "--sizes", "4096", "--operations", "all_reduce")
    assert code == 0 and [one.code for one in found.notices] == ["gpu-collective-alone"]
    assert all("bus_bytes" not in case.work for case in found.cases)
