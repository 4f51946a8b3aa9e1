"""A limit that is a fraction of a peak: a peak that no machine can have is refused when campaign or plan is read."""

from __future__ import annotations

import string

import pytest

from shakedown import campaign, workloads
from shakedown.acceptance import checking
from shakedown.campaign import plan
from shakedown.errors import BadInput
from shakedown.machine import accelerators
from shakedown.machine.peaks import units
from support.machines import machine

CAMPAIGN = """
name = "c"
title = "C"
[[run]]
workload = "nbody"
[[run]]
workload = "stream"
[[limit]]
metric = "METRIC"
at_least = 0.5
of = "PEAK"
"""
ACCEPTANCE = """
name = "p"
title = "P"
[[requirement]]
id = "r"
clause = "1"
text = "fast"
[[test]]
id = "t"
kind = "run"
requirements = ["r"]
workload = "WORKLOAD"
time_limit = "5 min"
[[test.limit]]
metric = "METRIC"
at_least = 0.5
of = "PEAK"
"""


def planned(metric: str, peak: str) -> None:
    text = CAMPAIGN.replace("METRIC", metric).replace("PEAK", peak)
    plan.make(campaign.parse(text, "test"), machine(2), where="test", version="0")


def accepted(metric: str, peak: str) -> None:
    text = ACCEPTANCE.replace("METRIC", metric).replace("PEAK", peak).replace("WORKLOAD", metric.partition(".")[0])
    checking.checked(text, "test")


@pytest.mark.parametrize("read", [planned, accepted])
@pytest.mark.parametrize(
    ("metric", "peak", "near"),
    [
        ("nbody.rate", "flops.fp63", "flops.fp64"),
        ("nbody.rate", "gpu.flops.fp31", "gpu.flops.fp32"),
        ("stream.triad.bandwidth", "l4.bandwidth", "l"),
        ("stream.triad.bandwidth", "memory.bandwith", "memory.bandwidth"),
    ],
)
def test_a_misspelt_peak_is_refused_with_the_nearest(read: object, metric: str, peak: str, near: str) -> None:
    assert callable(read)
    with pytest.raises(BadInput) as refused:
        read(metric, peak)
    assert f"unknown peak {peak!r}" in refused.value.what and f"did you mean '{near}" in refused.value.hint
    assert "limit 1" in f"{refused.value.where} {refused.value.what}"


@pytest.mark.parametrize("read", [planned, accepted])
def test_a_peak_in_another_unit_is_no_limit(read: object) -> None:
    assert callable(read)
    with pytest.raises(BadInput, match="flop/s"):
        read("stream.triad.bandwidth", "flops.fp64")
    for metric, peak in (("nbody.rate", "flops.fp32"), ("stream.triad.bandwidth", "memory.bandwidth")):
        read(metric, peak)
    if read is planned:
        planned("stream.triad.bandwidth", "l2.bandwidth")  # measured by stream itself


def test_every_peak_that_bounds_a_metric_is_known_at_its_levels_and_precisions() -> None:
    known = campaign.peaks()
    values = {"level": campaign.LEVELS, "precision": ("fp32", "fp64")}
    metrics = [metric for name in workloads.names() for metric in workloads.get(name).metrics]
    measured = {metric.measures for metric in metrics}
    for metric in metrics:
        for template in filter(None, (metric.limit, metric.measures)):
            if (
                "{directory}" in template
            ):  # of a storage there are as many as a user has directories: known once measured
                assert template in measured, f"{metric.name} is bounded by {template}, which no workload measures"
                continue
            names = [field for _, field, _, _ in string.Formatter().parse(template) if field]
            assert set(names) <= set(values), f"{metric.name}: {names} name no words that are known"
            made = {template.format(**dict.fromkeys(names, word)) for word in values.get("".join(names), ("",))}
            assert made & set(known), f"{metric.name} is bounded by {template}, and no machine has such a peak"


def test_the_peaks_of_accelerators_are_those_that_are_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    from shakedown.records import Gpu

    facts = {
        "compute_capability": "9.0",
        "multiprocessors": 132,
        "max_sm_mhz": 1980,
        "max_memory_mhz": 2619,
        "memory_bus_bits": 5120,
        "pcie_generation_max": 5,
        "pcie_width": 16,
        "nvlinks": 18,
    }
    gpu = Gpu(index=0, name="NVIDIA H100 80GB HBM3", vendor="NVIDIA", facts=facts)
    found, _ = accelerators.gpu_peaks((gpu,))
    assert {one.name: one.unit for one in found}.items() <= units().items()
    assert len(found) > 8
