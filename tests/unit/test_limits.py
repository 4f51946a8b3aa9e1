"""Limits: which peak bounds a value, what fraction it reaches, and what the contract's bound makes of its interval."""

from __future__ import annotations

import functools

import pytest

from shakedown.analysis import advice, limits
from shakedown.records import Disturbance, Finding, Limit, Metric, Peak
from support import findings

METRIC = Metric(
    name="m", title="M", unit="B/s", better="higher", limit="{level}.bandwidth", measures="{level}.bandwidth"
)
METRICS = {"m": METRIC}


finding = functools.partial(findings.finding, METRIC)


def peak(value: float, scope: str = "node", kind: str = "derived", basis: str = "2 x 2.6 GHz base clock") -> Peak:
    return Peak(name="memory.bandwidth", scope=scope, value=value, unit="B/s", kind=kind, basis=basis)  # type: ignore[arg-type]


def test_the_level_of_the_case_chooses_the_limit() -> None:
    got = limits.fractions(finding(50, level="memory"), METRIC, [peak(100), peak(80, kind="measured", basis="x")])
    assert {(part.kind, part.fraction) for part in got} == {("derived", 0.5), ("measured", 0.625)}
    assert limits.fractions(finding(50, level="l1"), METRIC, [peak(100)]) == ()
    assert limits.fractions(finding(50), METRIC, [peak(100)]) == ()


def test_few_threads_are_held_to_as_many_cores() -> None:
    peaks = [peak(100), peak(10, scope="core")]
    assert limits.fractions(finding(5, level="memory", threads=1), METRIC, peaks)[0].fraction == 0.5
    assert limits.fractions(finding(15, level="memory", threads=3), METRIC, peaks)[0].fraction == 0.5
    assert limits.fractions(finding(50, level="memory", threads=64), METRIC, peaks)[0].fraction == 0.5


def test_a_value_above_its_derived_peak_doubts_the_peak() -> None:
    done = limits.with_fractions(
        [finding(110, level="memory"), finding(101, level="memory")], METRICS, {"node1": [peak(100)]}
    )
    assert [one.code for one in done[0].notices] == ["above-peak"]
    assert not done[1].notices


def test_measured_peaks_are_the_best_value_for_one_thread_and_for_all() -> None:
    found = [
        finding(10, level="memory", threads=1),
        finding(12, level="memory", threads=1),
        finding(20, level="memory", threads=2),
        finding(99, level="l2", threads=2),
    ]
    got = {(one.name, one.scope): one.value for one in limits.measured_peaks(found, METRICS)["node1"]}
    assert got == {("memory.bandwidth", "core"): 12, ("memory.bandwidth", "node"): 20, ("l2.bandwidth", "node"): 99}


@pytest.mark.parametrize(
    ("one", "state"),
    [
        (finding(50, 45, 55), "met"),
        (finding(35, 30, 39), "not met"),
        (finding(41, 38, 44), "undecided"),
        (finding(41), "met"),
        (finding(39), "not met"),
        (finding(None), "not measured"),
    ],
)
def test_the_interval_decides(one: Finding, state: str) -> None:
    assert limits.verdicts([Limit(metric="m", at_least=40)], [one], METRICS, {})[0].state == state


def test_a_fraction_of_a_peak_needs_the_peak() -> None:
    bound = Limit(metric="m", at_least=0.5, of="memory.bandwidth")
    assert limits.verdicts([bound], [finding(60, 55, 65)], METRICS, {"node1": (peak(100),)})[0].state == "met"
    got = limits.verdicts([bound], [finding(60, 55, 65)], METRICS, {})[0]
    assert got.state == "undecided" and "not known" in got.evidence


def test_what_was_never_measured_is_not_met_silently() -> None:
    got = limits.verdicts([Limit(metric="m", at_least=1)], [], METRICS, {})
    assert [one.state for one in got] == ["not measured"]


def test_a_disturbed_run_is_warned_of_with_advice() -> None:
    notices = advice.disturbed(
        Disturbance(load_before=3.0, steal_fraction=0.2, other_cpu_fraction=0.3, throttle_events=2, swap_pages=5),
        cpus=2,
    )
    assert [one.code for one in notices] == ["load", "steal", "other-work", "throttling", "swap"]
    assert all(one.advice for one in notices)
    own_load = Disturbance(load_before=2.0, other_cpu_fraction=0.01)  # of the run before: nothing else ran
    assert advice.disturbed(own_load, cpus=2) == ()
    assert advice.disturbed(Disturbance(load_before=0.1, steal_fraction=0.0, other_cpu_fraction=0.01), cpus=2) == ()
    assert advice.disturbed(Disturbance(), cpus=2) == ()


def test_a_measured_latency_is_the_least() -> None:
    metric = Metric(name="m", title="L", unit="s", better="lower", measures="core_to_core.latency")
    found = [
        Finding(metric="m", unit="s", better="lower", workload="w", params={"bytes": size}, host="n", value=value)
        for size, value in ((8, 3e-7), (0, 2e-7), (64, 4e-7))
    ]
    (got,) = limits.measured_peaks(found, {"m": metric})["n"]
    assert (got.name, got.value, got.scope) == ("core_to_core.latency", 2e-7, "node") and "0 B" in got.basis


def test_what_ran_on_gpus_is_not_laid_over_the_peak_of_the_cores() -> None:
    metric = Metric(name="m", title="M", unit="flop/s", better="higher", limit="flops.fp64")
    node = Peak(name="flops.fp64", scope="node", value=8e11, unit="flop/s", kind="derived", basis="8 cores x 2 GHz")
    core = Peak(name="flops.fp64", scope="core", value=1e11, unit="flop/s", kind="derived", basis="1 core x 2 GHz")

    def share(**params: int) -> list[float]:
        finding = Finding(
            metric="m", unit="flop/s", better="higher", workload="w", params={**params}, host="h", value=2e11
        )
        return [one.fraction for one in limits.fractions(finding, metric, (core, node))]

    assert share(gpus=8, threads=1) == []
    assert share(threads=4) == [0.5]
    assert share(threads=2, ranks=2) == [0.5]
    assert share(ranks=2) == [0.25]
