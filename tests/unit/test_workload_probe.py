"""The probe: threads, refusals and what its figures mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.records import Params
from shakedown.workloads import check_params, probe
from support.machines import machine


def resolve(given: Params, cores: int = 4) -> Params:
    (params,) = probe.WORKLOAD.resolve(check_params(probe.WORKLOAD, given), machine(cores))
    return params


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
