"""No joule lost or invented: wraps, unseen wraps, failed readings and resets of energy counters."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy.counters import Step, unroll
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.errors import BadInput
from shakedown.metering.meters import Channel, Status
from shakedown.metering.trace import Trace, trace

MODULUS = 65536.0  # J: 2^32 x 15.26 uJ
MOST_W = 350.0


def counter(modulus: float | None = MODULUS, most_w: float | None = MOST_W, refresh_s: float | None = 0.0) -> Channel:
    return Channel(
        id="rapl/package-0",
        title="package",
        quantity="energy",
        unit="J",
        scope="counter",
        place="component",
        modulus=modulus,
        most_w=most_w,
        refresh_s=refresh_s,
    )


def power(scope: Literal["point", "last"] = "point") -> Channel:
    return Channel(id="ipmi/power", title="node", quantity="power", unit="W", scope=scope, place="node")


def counted(t_s: list[float], joules: list[float], status: list[int] | None = None, **options: float | None) -> Trace:
    """The trace of a counter that stood at ``joules`` before it was folded."""
    channel = counter(**options)  # type: ignore[arg-type]
    values = np.asarray(joules, float)
    if channel.modulus is not None:
        values = np.mod(values, channel.modulus)
    return trace(channel, (np.asarray(t_s) * 1e9).astype(np.int64), values, status=status)


def test_a_wrap_is_seen_and_counts_in_full() -> None:
    found = unroll(counted([0, 100, 200, 300], [60000, 80000, 100000, 120000 + 20000]))
    assert found.least_j.tolist() == [0, 20000, 40000, 80000]
    assert found.most_j.tolist() == found.least_j.tolist()
    assert found.known and not found.notices()
    assert found.step.tolist() == [Step.OK, Step.WRAP, Step.OK, Step.WRAP]


def test_the_modulus_is_one_unit_more_than_the_range() -> None:
    unit = 2.0**-14
    found = unroll(counted([0, 1], [MODULUS - unit, MODULUS + unit]))
    assert found.between() == (2 * unit, 2 * unit)


def test_readings_that_failed_lose_nothing() -> None:
    status = [Status.OK, Status.GAP, Status.REFUSED, Status.OK, Status.OK]
    found = unroll(counted([0, 1, 2, 3, 4], [0, 100, 200, 300, 400], status=status))
    assert found.between() == (400, 400)
    assert found.step.tolist() == [Step.OK, Step.MISSING, Step.MISSING, Step.BRIDGED, Step.OK]
    assert np.isnan(found.least_j[1]) and found.known


def test_wraps_that_nobody_saw_are_bounds_and_said() -> None:
    found = unroll(counted([0, 1000], [0, 3 * MODULUS + 100]))  # 350 kJ may have flowed: up to five wraps
    assert found.between() == (100, 100 + 5 * MODULUS)
    assert not found.known and found.step[1] & Step.AMBIGUOUS
    (notice,) = found.notices()
    assert notice.code == "wrap-ambiguous" and "62.4 s" in notice.advice


@pytest.mark.parametrize("scope", ["point", "last"])
def test_a_second_sensor_settles_unseen_wraps(scope: Literal["point", "last"]) -> None:
    watts = (3 * MODULUS + 100) / 1000
    beside = trace(power(scope), np.arange(0, 1001, 10) * 10**9, np.full(101, watts * 1.04))
    found = unroll(counted([0, 1000], [0, 3 * MODULUS + 100]), second=beside)
    assert found.between() == (3 * MODULUS + 100, 3 * MODULUS + 100)
    assert found.step.tolist() == [Step.OK, Step.WRAP]
    hole = beside.take((beside.t_ns < 300 * 10**9) | (beside.t_ns > 600 * 10**9))
    assert not unroll(counted([0, 1000], [0, 3 * MODULUS + 100]), second=hole).known
    short = beside.take(beside.t_ns < 900 * 10**9)
    assert not unroll(counted([0, 1000], [0, 3 * MODULUS + 100]), second=short).known


def test_a_second_counter_settles_unseen_wraps() -> None:
    truth = [0, 3 * MODULUS + 100]
    wide = counter(modulus=None, refresh_s=0.0)
    beside = trace(wide, np.array([0, 500, 1000]) * 10**9, [0, 98354, 196708])
    found = unroll(counted([0, 1000], truth), second=beside)
    assert found.between() == (truth[1], truth[1])


def test_a_second_sensor_too_coarse_narrows_and_still_says_so() -> None:
    truth = 3 * MODULUS + 100
    beside = trace(power(), np.arange(0, 1001, 10) * 10**9, np.full(101, truth / 1000))
    found = unroll(counted([0, 1000], [0, truth]), second=beside, second_error=0.4)
    low, high = found.between()
    assert 100 < low <= truth <= high < 100 + 5 * MODULUS and not found.known


def test_a_reset_is_no_wrap() -> None:
    found = unroll(counted([0, 1, 2, 3], [50000, 50300, 200, 500]))
    assert found.step.tolist() == [Step.OK, Step.OK, Step.RESET, Step.OK]
    assert found.least_j.tolist() == [0, 300, 300, 600]
    assert found.most_j.tolist() == pytest.approx([0, 300, 650, 950])
    assert found.notices()[0].code == "counter-reset"
    assert unroll(counted([0, 1, 2], [10, 20, 5], modulus=None)).step.tolist() == [0, 0, Step.RESET]


def test_a_reset_that_the_source_tells_is_taken_at_its_word() -> None:
    status = [Status.OK, Status.RESET, Status.OK]
    found = unroll(counted([0, 1, 2], [100, 0, 300], status=status))
    assert found.step[2] & Step.RESET
    assert found.between() == pytest.approx((0, 2 * MOST_W))


def test_a_wild_reading_invents_no_energy() -> None:
    found = unroll(counted([0, 1, 2, 3, 4], [1000, 1300, 60000, 1900, 2200]))
    assert found.least_j[-1] == 600  # before and after it, and nothing of the leap
    assert (found.step & Step.RESET).astype(bool).tolist() == [False, False, True, True, False]


def test_a_meter_with_coarse_steps_is_no_wild_one() -> None:
    t = np.arange(0.0, 600.0)
    joules = np.floor(t * 3000 / 360e3) * 360e3  # 0.1 kWh at 3 kW, read each second
    found = unroll(counted(t.tolist(), joules.tolist(), modulus=None, most_w=7000.0))
    assert found.known and found.between() == (joules[-1], joules[-1])


def test_a_power_trace_is_no_counter() -> None:
    with pytest.raises(BadInput, match="not a counter"):
        unroll(trace(power(), [0, 1], [1.0, 2.0]))


def test_nothing_read_is_no_energy() -> None:
    found = unroll(counted([0, 1], [0, 1], status=[Status.GAP, Status.GAP]))
    assert np.isnan(found.least_j).all()
    with pytest.raises(BadInput, match="fewer than two"):
        found.between()


def test_a_simulated_meter_gives_the_loads_energy() -> None:
    load = Load(np.array([0.0, 300.0, 900.0]), np.array([80.0, 340.0, 60.0]))
    truth = Truth(refresh_s=0.001, modulus=MODULUS)
    seen = observe(load, truth, counter(refresh_s=0.001), 0.0, 1200.0, poll_s=10.0)
    found = unroll(seen)
    expected = float(load.energy_j(seen.seconds(0)[-1])[0])
    assert found.known and found.between()[0] == pytest.approx(expected, abs=2 * 0.001 * 340)


# -------------------------------------------------------------------------------------------------------- properties

steps = st.lists(
    st.tuples(
        st.floats(0.01, 2000.0),  # seconds to the next reading
        st.floats(0.0, 1.0),  # of the most power
        st.sampled_from([Status.OK, Status.OK, Status.OK, Status.GAP, Status.REFUSED]),
    ),
    min_size=1,
    max_size=40,
)


def drawn(plan: list[tuple[float, float, Status]], begin: float) -> tuple[Trace, np.ndarray]:
    """A counter that started at ``begin``, and what truly flowed until each reading."""
    seconds = np.concatenate([[0.0], np.cumsum([round(one[0], 3) for one in plan])])
    passed = np.diff((seconds * 1e9).astype(np.int64)) * 1e-9
    joules = np.concatenate([[0.0], np.cumsum(passed * [one[1] * MOST_W for one in plan])])
    status = [int(Status.OK), *(int(one[2]) for one in plan)]
    status[-1] = int(Status.OK)
    return counted(seconds.tolist(), (begin + joules).tolist(), status=status), joules


@settings(max_examples=150, deadline=None)
@given(steps, st.floats(0, MODULUS * 0.999))
def test_the_truth_lies_within_the_bounds(plan: list[tuple[float, float, Status]], begin: float) -> None:
    seen, joules = drawn(plan, begin)
    found = unroll(seen)
    good = found.good
    slack = 1e-9 * (MODULUS + joules[-1])
    assert np.all(found.least_j[good] <= joules[good] + slack)
    assert np.all(found.most_j[good] >= joules[good] - slack)
    apart = np.diff(found.most_j[good]) - np.diff(found.least_j[good]) > slack
    assert np.array_equal(apart, (found.step[good][1:] & Step.AMBIGUOUS) > 0), "bounds part exactly where it is flagged"
    if found.known:
        assert np.allclose(found.least_j[good], joules[good], atol=slack, rtol=0)


@settings(max_examples=100, deadline=None)
@given(steps, st.floats(0, MODULUS * 0.999))
def test_read_often_enough_all_is_known(plan: list[tuple[float, float, Status]], begin: float) -> None:
    often = [(seconds % 60 + 0.001, share, Status.OK) for seconds, share, _ in plan]
    seen, joules = drawn(often, begin)
    found = unroll(seen)
    assert found.known and not np.any(found.step & Step.RESET)
    assert np.allclose(found.least_j, joules, atol=1e-9 * (MODULUS + joules[-1]), rtol=0)


@settings(max_examples=100, deadline=None)
@given(steps, st.floats(0, MODULUS * 0.999), st.data())
def test_a_trace_may_be_cut_anywhere(
    plan: list[tuple[float, float, Status]], begin: float, data: st.DataObject
) -> None:
    seen, joules = drawn(plan, begin)
    good = np.flatnonzero(seen.ok)
    cut = int(good[data.draw(st.integers(0, len(good) - 1))])
    whole = unroll(seen)
    first, second = unroll(seen.take(slice(0, cut + 1))), unroll(seen.take(slice(cut, None)))
    slack = 1e-9 * (MODULUS + joules[-1])
    for column in ("least_j", "most_j"):
        head = getattr(first, column)[cut]
        tail = getattr(second, column)[-1]
        assert head + tail == pytest.approx(getattr(whole, column)[-1], abs=slack)


@settings(max_examples=100, deadline=None)
@given(steps, st.floats(0, MODULUS * 0.999), st.data())
def test_failed_readings_removed_change_nothing(
    plan: list[tuple[float, float, Status]], begin: float, data: st.DataObject
) -> None:
    seen, _ = drawn(plan, begin)
    with_all, without = unroll(seen), unroll(seen.take(seen.ok))
    assert np.array_equal(with_all.least_j[with_all.good], without.least_j)
    assert np.array_equal(with_all.most_j[with_all.good], without.most_j)


@settings(max_examples=60, deadline=None)
@given(steps, st.floats(0, MODULUS * 0.999), st.floats(-0.09, 0.09))
def test_a_second_sensor_within_its_error_never_misleads(
    plan: list[tuple[float, float, Status]], begin: float, gain: float
) -> None:
    seen, joules = drawn(plan, begin)
    beside = trace(counter(modulus=None), seen.t_ns, joules * (1 + gain))
    found, alone = unroll(seen, second=beside, second_error=0.1), unroll(seen)
    good = found.good
    slack = 1e-9 * (MODULUS + joules[-1])
    assert np.all(found.least_j[good] <= joules[good] + slack)
    assert np.all(found.most_j[good] >= joules[good] - slack)
    assert np.all(found.most_j[good] - found.least_j[good] <= alone.most_j[good] - alone.least_j[good] + slack)
