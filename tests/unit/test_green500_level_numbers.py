"""The numbers behind a level: power of the whole system, its uncertainty, and what must not change them."""

from __future__ import annotations

import copy
import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy.green500 import levels, measured, rules, submission
from shakedown.metering.meters import Status
from shakedown.metering.trace import Trace, trace
from support.sites import (
    BOUND,
    NODE,
    SECOND,
    T0,
    Meters,
    as_power,
    assessed,
    downstream,
    put_together,
    site,
)

# --------------------------------------------------------------------------------------------------------------- numbers


def test_level_three_power_is_the_counters_energy_over_their_own_time() -> None:
    """Counters of 5 s whose phase is 2 s off: the window is that between the readings inside, by the meters' stamps."""
    raw, meters = site(), Meters()
    meters.step_s, meters.phase_s = 5.0, 2.0
    found = assessed(raw, meters)
    assert found.level == 3
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    assert found.core.value == pytest.approx(nodes * NODE.mean_w(2.0, 597.0), rel=1e-12)
    assert found.efficiency is not None and found.efficiency.value == pytest.approx(
        200e12 / found.core.value, rel=1e-12
    )
    assert found.full_run is not None and found.full_run.value == pytest.approx(nodes * NODE.mean_w(-58.0, 637.0))


def test_lower_levels_take_the_mean_of_the_readings_that_lie_wholly_inside() -> None:
    raw, meters = site(), Meters()
    as_power(raw, meters)
    meters.step_s, meters.phase_s = 7.0, 3.0
    found = assessed(raw, meters)
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    assert found.core.value == pytest.approx(nodes * NODE.mean_w(3.0, 598.0), rel=1e-9)


def test_the_draft_may_weigh_readings_at_the_edges() -> None:
    """Readings that lie partly inside count for the part inside: at the begin (-4, 3] and at the end (598, 605]."""
    raw, meters = site(), Meters()
    as_power(raw, meters)
    meters.step_s, meters.phase_s = 7.0, 3.0
    found = assessed(raw, meters, "eehpcwg-3.0-draft")
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    whole = 595 * NODE.mean_w(3.0, 598.0) + 3 * NODE.mean_w(-4.0, 3.0) + 2 * NODE.mean_w(598.0, 605.0)
    assert found.core.value == pytest.approx(nodes * whole / 600, rel=1e-9)


def test_extrapolation_multiplies_each_set_and_adds_subsystems_and_bounds() -> None:
    """P = 3 x (16 of 48 nodes) + 2 x (8 of 16) + switches + an upper bound, by hand."""
    raw, meters = site(), Meters()
    raw["sets"] = [{"name": "cpu", "nodes": 48}, {"name": "gpu", "nodes": 16}]
    raw["feeds"] = [raw["feeds"][0], raw["feeds"][1], raw["feeds"][4]]
    for feed, of, count in zip(raw["feeds"][:2], ("cpu", "gpu"), (16, 8), strict=True):
        feed.pop("nodes")
        feed |= {"of": of, "node_count": count}
    raw["subsystems"].append({"name": "head", "kind": "head", "state": "estimated", **BOUND})
    raw["selection"] = {"how": "random"}
    given_ = put_together(raw, meters)
    found = levels.assess(given_, rules.load())
    mean = NODE.mean_w(0.0, 600.0)
    by_hand = 3 * 16 * 0.985 * mean + 2 * 16 * 0.995 * mean + 16 * 0.5 * mean + 4000
    assert found.core.value == pytest.approx(by_hand, rel=1e-9)
    assert found.level == 2
    assert {one.code for one in found.core.notices} == {"spread-unknown", "upper-bound"}


def test_the_finite_population_term_by_hand() -> None:
    """Four feeds of 16 nodes out of 128: u = 8 sqrt((1 - 1/2) s^2 / 4) for the feeds' spread s; nothing when all are
    measured; and the stated spread where there is one."""
    raw, meters = site(), Meters()
    raw["sets"][0] |= {"nodes": 128, "names": [], "chassis": 1}
    for feed in raw["feeds"][:4]:
        feed.pop("nodes")
        feed["node_count"] = 16
    raw["selection"] = {"how": "random"}
    found = assessed(raw, meters)
    mean = NODE.mean_w(0.0, 600.0)
    feeds = [16 * mean * (1.0 + 0.01 * (i - 1.5)) for i in range(4)]
    term = next(one for one in found.core.terms if "not measured" in one.name)
    assert term.u == pytest.approx(8 * math.sqrt(0.5 * np.var(feeds, ddof=1) / 4), rel=1e-9)
    assert term.dof == 3
    raw["sets"][0]["spread"] = 0.03
    term = next(one for one in assessed(raw, meters).core.terms if "not measured" in one.name)
    assert term.u == pytest.approx(128 * math.sqrt(0.5 / 64) * 0.03 * np.mean(feeds) / 16, rel=1e-9)
    assert not [one for one in assessed(site(), Meters()).core.terms if "not measured" in one.name]


def test_meters_of_one_model_share_what_is_stated_of_them() -> None:
    """Five devices at 0.5 % as a bound: with correlation 1 the shares add, with 0 in quadrature, between: both parts."""
    sizes = [1.0 + 0.01 * (i - 1.5) for i in range(4)] + [0.5]
    each = [16 * NODE.mean_w(0.0, 600.0) * one * 0.005 / math.sqrt(3) for one in sizes]
    for rho in (0.0, 0.5, 1.0):
        raw = site() | {"correlation": rho}
        terms = [one.u for one in assessed(raw, Meters()).core.terms if one.name.startswith("meter class")]
        want = rho * sum(each) ** 2 + (1 - rho) * sum(u**2 for u in each)
        assert sum(u**2 for u in terms) == pytest.approx(want, rel=1e-9)


def test_whole_second_stamps_widen_the_window_term() -> None:
    raw = site()
    assert not [one for one in assessed(raw, Meters()).core.terms if one.name == "window"]
    raw["phases"]["core"]["resolution_s"] = 1.0
    term = next(one for one in assessed(raw, Meters()).core.terms if one.name == "window")
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    early, late = (nodes * (NODE.mean_w(at, at + 1) - NODE.mean_w(0.0, 600.0)) for at in (0.0, 599.0))
    want = math.hypot(math.hypot(early, late) / math.sqrt(12), (late - early) / 2) / 600
    assert term.u == pytest.approx(want, rel=0.2)  # by moving the window, whose ends the readings bound


def test_half_a_second_is_moved_only_where_the_rules_allow_it() -> None:
    raw, meters = site(), Meters()
    raw["phases"]["core"]["resolution_s"] = 1.0
    raw["phases"]["half_second"] = True
    given_ = put_together(raw, meters)
    moved = measured.window_of(given_, "core", rules.load("eehpcwg-3.0-draft"))
    kept = measured.window_of(given_, "core", rules.load("eehpcwg-2.0"))
    assert moved is not None and kept is not None
    assert (moved.begin_ns - T0, kept.begin_ns - T0) == (SECOND // 2, 0)
    assert "half-second" in {one.code for one in levels.assess(given_, rules.load()).notices}


def test_the_loss_model_divides_by_the_efficiency_at_the_load_of_one_supply() -> None:
    raw, meters = site(), Meters()
    downstream("offline", efficiency=[[100.0, 0.90], [500.0, 0.94], [900.0, 0.90]], u=0.01)(raw, meters)
    found = assessed(raw, meters)
    mean = NODE.mean_w(0.0, 600.0)
    total = 0.0
    for i in range(5):
        size = 1.0 + 0.01 * (i - 1.5) if i < 4 else 0.5
        total += 16 * size * mean / np.interp(size * mean, [100.0, 500.0, 900.0], [0.90, 0.94, 0.90])
    assert found.core.value == pytest.approx(total, rel=1e-9)
    assert any(one.name == "loss model psu" for one in found.core.terms)


# ------------------------------------------------------------------------------------------------------------- properties


@functools.cache
def unspoilt() -> levels.Assessment:
    """What the site is found to use where nothing is done to it."""
    return assessed(site(), Meters())


@functools.cache
def level_of(step_s: float, which: str) -> int:
    """The level that a site of power meters reaches that are read this often."""
    raw, meters = site(), Meters()
    as_power(raw, meters)
    meters.step_s = step_s
    return assessed(raw, meters, which).level


@given(st.integers(1, 1170), st.booleans())
@settings(max_examples=25, deadline=None)
def test_splitting_a_trace_changes_nothing(at: int, overlap: bool) -> None:
    """Two files that meet, or that share a reading, are one trace."""
    raw, meters = site(), Meters()
    whole = meters.traces()
    halves = [one.take(slice(None, at + overlap)) for one in whole.values()]
    halves += [one.take(slice(at, None)) for one in whole.values()]
    description = submission.describe(raw, "test.toml")
    assert levels.assess(submission.assemble(description, submission.join(halves)), rules.load()) == unspoilt()


@given(st.integers(-2000, 2000))
@settings(max_examples=15, deadline=None)
def test_moving_the_clock_of_everything_changes_no_number(hours: int) -> None:
    raw, meters = site(), Meters()
    shift = hours * 3600 * SECOND
    moved = copy.deepcopy(raw)
    for phase in moved["phases"].values():
        phase |= {key: phase[key] + shift for key in ("begin_ns", "end_ns")}
    traces = {
        key: trace(one.channel, one.t_ns + shift, one.value, status=one.status) for key, one in meters.traces().items()
    }
    here = unspoilt()
    there = levels.assess(submission.assemble(submission.describe(moved, "t"), traces), rules.load())
    assert (here.level, here.core.value) == (there.level, there.core.value)


@given(st.integers(0, 4), st.floats(-500.0, 620.0))
@settings(max_examples=25, deadline=None)
def test_losing_a_reading_of_a_counter_loses_no_joule(feed: int, at: float) -> None:
    """Any one reading within the core phase that fails leaves the Level 3 power as it was."""
    raw, meters = site(), Meters()
    traces = meters.traces()
    key = list(traces)[feed]
    one = traces[key]
    index = int(np.argmin(np.abs(one.t_ns - T0 - at * SECOND)))
    assume_inside = 1.5 < at < 598.5
    status = one.status.copy()
    status[index] = Status.GAP
    traces[key] = trace(one.channel, one.t_ns, np.where(status == 0, one.value, np.nan), status=status)
    found = levels.assess(submission.assemble(submission.describe(raw, "t"), traces), rules.load())
    if assume_inside:
        assert found.level == 3
        assert found.core.value == pytest.approx(unspoilt().core.value, rel=1e-12)


@given(st.sampled_from([1.0, 2.0, 5.0, 10.0, 20.0]), st.sampled_from([2, 4, 5]))
@settings(max_examples=15, deadline=None)
def test_reading_more_often_never_lowers_a_level(step: float, finer: int) -> None:
    for which in rules.names():
        assert level_of(step / finer, which) >= level_of(step, which)


def test_a_second_meter_on_a_load_adds_nothing() -> None:
    raw, meters = site(), Meters()
    alone = assessed(raw, meters)
    traces = meters.traces()
    twin = traces["pdu0:snmp/energy"]
    import msgspec

    channel = msgspec.structs.replace(twin.channel, host="lab")
    traces["lab:snmp/energy"] = twin.of(channel)
    raw["feeds"].append(
        {"name": "lab", "channel": "lab:snmp/energy", "of": "cpu", "node_count": 16, "meter": "pdu", "same_as": "rack0"}
    )
    found = levels.assess(submission.assemble(submission.describe(raw, "t"), traces), rules.load())
    assert (found.level, found.core.value) == (alone.level, alone.core.value)
    assert not found.notices
    traces["lab:snmp/energy"] = Trace(channel, twin.t_ns, twin.half_ns, twin.value * 1.03, twin.status)
    found = levels.assess(submission.assemble(submission.describe(raw, "t"), traces), rules.load())
    assert [one.code for one in found.notices] == ["meters-disagree"] and "lab reads +3.00% against rack0" in str(
        found.notices
    )
