"""Limits: which peak bounds a value, what fraction it reaches, and what the contract's bound makes of its interval."""

from __future__ import annotations

import functools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.analysis import advice, limits, sizes
from shakedown.records import Disturbance, Finding, Limit, Metric, Peak
from shakedown.units import show_apart
from shakedown.workloads.stream import TABLE, memory_bytes, rule_bytes
from support import findings
from support.machines import host

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


def test_what_was_measured_is_no_limit_for_itself() -> None:
    bound = Limit(metric="m", at_least=0.7, of="memory.bandwidth")
    measured = peak(61, kind="measured", basis="STREAM read, 2 threads")
    (got,) = limits.verdicts([bound], [finding(60, 59, 61, level="memory")], METRICS, {"node1": (measured,)})
    assert got.state == "undecided" and "a measurement is not judged by itself" in got.evidence
    assert "known only as measured here: 61.0 B/s" in got.requirement and "measured 60.0 B/s" in got.evidence


def test_of_two_peaks_the_verdict_says_which_and_why() -> None:
    bound = Limit(metric="m", at_least=0.7, of="memory.bandwidth")
    clock = peak(120, basis="2 x 3.1 GHz clock measured under vector load (probe)")
    peaks = (peak(100), clock, peak(61, kind="measured", basis="x"))
    (got,) = limits.verdicts([bound], [finding(60, 59, 61, level="memory")], METRICS, {"node1": peaks})
    assert got.state == "not met"
    assert "100 B/s, derived at the base clock; it would be 120 B/s at the clock that was measured" in got.requirement
    assert "not the 61.0 B/s that was measured here" in got.requirement


def test_no_value_is_a_fraction_of_itself() -> None:
    bandwidth = Metric(name="s.b", title="B", unit="B/s", better="higher", kernel="triad", limit="memory.bandwidth")
    traffic = msgspec.structs.replace(bandwidth, name="s.t", measures="memory.bandwidth")
    read = msgspec.structs.replace(traffic, name="s.r", kernel="read")
    metrics = {one.name: one for one in (bandwidth, traffic, read)}

    def shares(measured_by: str) -> list[int]:
        own = msgspec.structs.replace(peak(60, kind="measured"), measured_by=measured_by)
        return [len(limits.fractions(findings.finding(one, 60), one, [own], metrics)) for one in metrics.values()]

    assert shares("s.t") == [0, 0, 1], "triad's traffic is triad"
    assert shares("s.r") == [1, 1, 0]


@pytest.mark.parametrize(
    ("value", "words"),
    [(39.99996e9, "measured 39.99996 GB/s"), (40e9, "measured 40.0 GB/s"), (35e9, "measured 35.0 GB/s")],
)
def test_a_value_just_below_its_bound_does_not_look_as_if_it_met_it(value: float, words: str) -> None:
    (got,) = limits.verdicts([Limit(metric="m", at_least=40e9)], [finding(value)], METRICS, {})
    assert got.evidence == words and got.state == ("met" if value >= 40e9 else "not met")


@given(st.floats(0.01, 1e15), st.floats(-1e-12, 1e-12))
def test_values_that_differ_are_shown_apart(value: float, by: float) -> None:
    other = value * (1 + by)
    one, two = show_apart(value, other, "B/s")
    assert (one == two) == (value == other)


def test_a_disturbed_run_is_warned_of_with_advice() -> None:
    seen = Disturbance(load_before=3.0, steal_fraction=0.2, other_cpu_fraction=0.3, throttle_events=2, swap_pages=5)
    notices = list(advice.disturbed(seen, cpus=2))
    assert [one.code for one in notices] == ["load", "steal", "other-work", "throttling", "swap"]
    assert all(one.advice for one in notices)
    own_load = Disturbance(load_before=2.0, other_cpu_fraction=0.01)  # of the run before: nothing else ran
    little = Disturbance(load_before=0.1, steal_fraction=0.0, other_cpu_fraction=0.01)
    for quiet in (own_load, little, Disturbance()):
        assert not list(advice.disturbed(quiet, cpus=2))


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


# ------------------------------------------------------------------------------------------------------- STREAM's rule

MIB = 2**20
TRIAD = Metric(
    name="stream.triad.bandwidth",
    title="Triad",
    unit="B/s",
    better="higher",
    limit="{level}.bandwidth",
    measures="{level}.bandwidth",
    ranked_by=TABLE.metrics[0].ranked_by,
)


def sized(mib: int, value: float) -> Finding:
    return findings.finding(TRIAD, value, value, value, bytes=mib * MIB, threads=2, level="memory")


def test_arrays_beside_a_cache_as_large_stand_for_nothing_in_memory() -> None:
    """32 MiB of level 3: arrays have 128 MiB at least."""
    metrics = {TRIAD.name: TRIAD}
    found = sizes.by_rule([sized(32, 90e9), sized(127, 70e9), sized(128, 40e9)], metrics, [host(2)])
    assert [one.params.get("level") for one in found] == [None, None, "memory"]
    assert "STREAM's rule asks for 128 MiB" in found[0].notices[0].text
    (limit,) = limits.measured_peaks(found, metrics)["node1"]
    assert limit.value == 40e9, "memory.bandwidth is what memory gives"
    for params in ({}, {"level": "memory"}):
        bound = Limit(metric=TRIAD.name, at_least=50e9, params=params)  # type: ignore[arg-type]
        assert limits.verdicts([bound], found, metrics, {})[0].state == "not met"
        (got,) = limits.verdicts([bound], found[:2], metrics, {})
        assert got.state == "not measured" and "STREAM's rule" in got.evidence


def test_the_rule_is_that_of_the_caches_in_use() -> None:
    here = host(2)
    assert rule_bytes(here) == 128 * MIB == memory_bytes(here)
    (large,) = [one for one in here.cpu.caches if one.level == 3]
    many = msgspec.structs.replace(large, groups=((0,), (1,)))
    caches = (*here.cpu.caches[:2], many)
    parted = msgspec.structs.replace(here, cpu=msgspec.structs.replace(here.cpu, caches=caches))
    assert (rule_bytes(parted), rule_bytes(parted, 1), rule_bytes(parted, 2)) == (256 * MIB, 128 * MIB, 256 * MIB)
    huge = msgspec.structs.replace(large, size_bytes=300 * MIB)
    shown = msgspec.structs.replace(here.cpu, caches=(*here.cpu.caches[:2], huge))
    for layers, mib in (("kvm", 1024), ("docker", 1200), ("", 1200)):
        assert rule_bytes(msgspec.structs.replace(here, cpu=shown, virtualisation=layers)) == mib * MIB
