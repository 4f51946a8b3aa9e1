"""The probe: threads, refusals and what its figures mean."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.programs import events
from shakedown.records import Params
from shakedown.workloads import probe
from support.machines import machine
from support.workloads import params_of


def resolve(given: Params, cores: int = 4) -> Params:
    return params_of(probe.WORKLOAD, machine(cores), given)


def test_all_is_one_thread_for_each_core() -> None:
    assert resolve({})["threads"] == 4
    assert resolve({"threads": 3})["threads"] == 3


def test_more_threads_than_cpus_and_none_are_refused() -> None:
    for threads in (0, 5):
        with pytest.raises(BadInput):
            resolve({"threads": threads})


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "probe"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    params = resolve({"isa": "avx512,avx2"})
    assert probe.WORKLOAD.command(params, machine(4).hosts[0]).argv == (
        str(program),
        "--threads",
        "4",
        "--isa",
        "avx512,avx2",
        "--samples",
        "9",
        "--seconds",
        "0",
    )
    assert probe.WORKLOAD.label is not None
    assert probe.WORKLOAD.label(params) == "probe, 4 threads, avx512,avx2"


def test_a_run_with_its_defaults_is_estimated_at_less_than_three_seconds() -> None:
    found = machine(4).hosts[0]
    assert 0.1 < probe.WORKLOAD.estimate_s(resolve({}), found) < 3
    assert probe.WORKLOAD.estimate_s(resolve({"seconds": 10}), found) > 60


def test_its_metrics_are_the_peaks_that_others_are_compared_with() -> None:
    assert {metric.name: metric.measures for metric in probe.WORKLOAD.metrics} == {
        "probe.clock.scalar": "clock.scalar",
        "probe.clock.vector": "clock.vector",
        "probe.fma.fp64": "flops.fp64",
        "probe.fma.fp32": "flops.fp32",
    }


def test_the_recorded_machine_has_two_units_of_avx512(recordings: Path) -> None:
    """Multiply-adds over the clock under vector load: 2 x 8 lanes x 2 units in double precision, within two per cent."""
    cases = events.parse((recordings / "native/probe-avx512.jsonl").read_bytes()).cases
    assert all(case.residual is not None and case.residual.value == 0 for case in cases)

    def rate(kernel: str, work: str, threads: int) -> float:
        return statistics.mean(
            case.work[work] / statistics.median(case.seconds)
            for case in cases
            if case.kernel == kernel and case.params["threads"] == threads
        )

    for threads in (1, 2):
        clock = rate("clock_vector", "cycles", threads)
        assert rate("fma_fp64", "flop", threads) / (threads * clock) == pytest.approx(32, rel=0.02)
        assert rate("fma_fp32", "flop", threads) / (threads * clock) == pytest.approx(64, rel=0.02)
        assert clock < rate("clock_scalar", "cycles", threads)
