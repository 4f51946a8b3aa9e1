"""The door: choice of method, honest uncertainties, what is lost, what is refused."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from shakedown.energy import phase, simulate
from shakedown.energy.green500 import feed_power
from shakedown.energy.simulate import Load, Truth
from shakedown.energy.uncertainty import budget, quantity
from shakedown.errors import BadInput
from shakedown.metering import trace
from shakedown.metering.character import Character, Estimate
from shakedown.metering.meters import Accuracy, Status
from shakedown.metering.trace import Trace
from shakedown.records import Phase
from support.energies import COUNTER, ORIGIN, SECOND, channel, constant, joules
from support.phases import dgemm, noisy, term

# ---------------------------------------------------------------------------------------------------------- both effects


def marks(seconds: float) -> list[Phase]:
    return [Phase(name="dgemm", begin_ns=ORIGIN, end_ns=ORIGIN + round(seconds * 1e9))]


def test_40_s_averaging_and_the_warm_up_are_seen_and_named() -> None:
    found = {one.code: one.text for one in phase.warnings_of(dgemm(3600, window=40, refresh=5), marks(3600))}
    assert set(found) == {"averaging", "warm-up"}
    seconds = re.search(r"averages over about (\d+) s", found["averaging"])
    assert seconds is not None and 37 <= int(seconds[1]) <= 43
    told = re.search(
        r"rises by about ([\d.]+) W .* constant of ([\d.]+) s, so for about ([\d.]+) minutes", found["warm-up"]
    )
    assert told is not None
    assert float(told[1]) == pytest.approx(50, abs=3)
    assert float(told[2]) == pytest.approx(200, abs=15)
    assert float(told[3]) == pytest.approx(10, abs=1)


def test_either_effect_alone_is_told_alone() -> None:
    slow = phase.warnings_of(dgemm(1200, window=40, refresh=5, rise=0), marks(1200))
    assert {one.code for one in slow} == {"averaging"}
    warm = phase.warnings_of(dgemm(3600, window=1, refresh=1), marks(3600))
    assert {one.code for one in warm} == {"warm-up"}
    assert phase.warnings_of(dgemm(1200, window=1, refresh=1, rise=0), marks(1200)) == ()


@pytest.mark.parametrize("seconds", [30.0, 60.0, 120.0])
def test_averaging_is_seen_at_runs_that_are_shorter_or_little_longer_than_it(seconds: float) -> None:
    (found,) = phase.warnings_of(dgemm(seconds, window=40, refresh=5, rise=0, seed=2), marks(seconds))
    told = re.search(r"averages over about (\d+) s", found.text)
    assert told is not None and 37 <= int(told[1]) <= 43


def codes(one: Trace, phases: list[Phase] | None = None) -> set[str]:
    return {found.code for found in phase.warnings_of(one, phases or [])}


def test_faults_of_a_trace_are_named() -> None:
    one = noisy()
    assert codes(one) == set()
    jumped = replace(one, t_ns=one.t_ns + np.where(np.arange(600) > 300, 3600 * SECOND, 0))
    assert codes(jumped) == {"clock-jump"}
    again = np.where(np.arange(600) > 450, one.t_ns - 100 * SECOND, one.t_ns)
    assert "clock-back" in codes(replace(one, t_ns=again))
    assert "clock-overlap" in codes(trace.trace(one.channel, again + np.arange(600), one.value))
    frozen = np.where((np.arange(600) > 200) & (np.arange(600) < 400), 401.0, one.value)
    assert codes(trace.trace(one.channel, one.t_ns, frozen)) == {"frozen"}
    repeated = trace.trace(one.channel, one.t_ns, np.repeat(one.value[:60], 10))
    assert codes(repeated) == {"repeated"}
    milli = next(found for found in phase.warnings_of(trace.trace(one.channel, one.t_ns, one.value * 1e3)))
    assert milli.code == "unit" and "milliwatts" in milli.text
    swapped = np.where(np.arange(600) == 77, 9.99e37, one.value)
    assert codes(trace.trace(one.channel, one.t_ns, swapped)) == {"wild"}
    assert codes(trace.trace(one.channel, one.t_ns, -one.value)) == {"negative"}
    assert codes(noisy(full_scale=250.0)) == {"above-range"}


def test_a_steady_and_coarse_value_is_no_slow_meter() -> None:
    rng = np.random.default_rng(3)
    coarse = trace.trace(channel(), noisy().t_ns, np.round(400.2 + 0.15 * rng.standard_normal(600)))
    assert codes(coarse) == set()


def test_a_meter_that_died_and_phases_in_another_zone_are_named() -> None:
    one = noisy()
    late = [Phase(name="run", begin_ns=ORIGIN + 100 * SECOND, end_ns=ORIGIN + 900 * SECOND)]
    died = next(found for found in phase.warnings_of(one, late) if found.code == "died")
    assert "300 s before 'run' ends: 37.5%" in died.text
    hour = 3600 * SECOND
    zoned = [Phase(name="run", begin_ns=ORIGIN + hour + 100 * SECOND, end_ns=ORIGIN + hour + 500 * SECOND)]
    (outside,) = phase.warnings_of(one, zoned)
    assert outside.code == "phase-outside" and "-1 h would put all of them into it" in outside.text


# -------------------------------------------------------------------------------------------------------------- choosing


def test_the_method_is_chosen_by_what_the_channel_is_and_named() -> None:
    end = ORIGIN + 600 * SECOND
    whole = ORIGIN, end - SECOND
    counts = trace.trace(channel(**COUNTER, refresh_s=1.0), ORIGIN + np.arange(601) * SECOND, np.arange(601) * 400.0)
    assert phase.energy_of(counts, *whole).method.startswith("counter: difference of the counter")
    assert phase.energy_of(noisy(scope="point"), *whole).method.startswith("trapezoid")
    step = phase.energy_of(noisy(), *whole)
    assert step.method.startswith("step") and "an interval (scope 'last')" in step.method
    slow = phase.energy_of(noisy(window_s=40.0, refresh_s=1.0), *whole)
    assert slow.method.startswith("inside-mean") and "average over 40 s and the load is steady" in slow.method
    for method in ("step", "trapezoid", "inside-mean"):
        found = phase.energy_of(noisy(), *whole, method=method)
        assert found.value == pytest.approx(400 * 599, rel=1e-3)
        assert found.method.startswith(method) and "chosen" not in found.method


def test_bad_requests_are_refused() -> None:
    one = noisy()
    with pytest.raises(BadInput, match="'steps'"):
        phase.energy_of(one, ORIGIN, ORIGIN + SECOND, method="steps")
    with pytest.raises(BadInput, match="ends before it begins"):
        phase.energy_of(one, ORIGIN + SECOND, ORIGIN)
    with pytest.raises(BadInput, match="not an energy counter"):
        phase.energy_of(one, ORIGIN, ORIGIN + SECOND, method="counter")
    with pytest.raises(BadInput, match="needs idle time"):
        phase.energy_of(one, ORIGIN, ORIGIN + SECOND, method="padded")
    with pytest.raises(BadInput, match="temperature"):
        phase.energy_of(noisy(quantity="temperature", unit="degC"), ORIGIN, ORIGIN + SECOND)


def test_what_lies_outside_is_told_or_refused() -> None:
    one = noisy()
    away = phase.energy_of(one, ORIGIN + 700 * SECOND, ORIGIN + 800 * SECOND)
    assert away.value is None and away.notices[0].code == "outside"
    assert "1 min 40 s after the trace ends" in away.notices[0].text
    mostly = phase.energy_of(one, ORIGIN + 500 * SECOND, ORIGIN + 800 * SECOND)
    assert mostly.value is None and mostly.notices[0].code == "too-little-seen"
    partly = phase.energy_of(one, ORIGIN + 500 * SECOND, ORIGIN + 620 * SECOND)
    assert partly.value == pytest.approx(400 * 120, rel=1e-3)
    assert partly.seen == pytest.approx(100 / 120)
    told = next(notice for notice in partly.notices if notice.code == "gap")
    assert "20 s of 120 s (16.7%)" in told.text and "after the trace" in told.text
    assert partly.terms[0].name == "gap"


def test_refusals_and_over_range_are_told_by_name() -> None:
    one = noisy()
    status = np.zeros(600, np.uint8)
    status[100:110], status[200:205] = Status.REFUSED, Status.OVERRANGE
    found = phase.energy_of(trace.trace(one.channel, one.t_ns, one.value, status=status), ORIGIN, ORIGIN + 599 * SECOND)
    texts = {notice.code: notice.text for notice in found.notices}
    assert texts["readings-refused"] == "10 of 599 readings: permission denied"
    assert "true energy is higher" in texts["readings-overrange"]
    assert found.value == pytest.approx(400 * 599, rel=1e-3)


def test_a_run_too_short_for_its_meter_is_refused_unless_idle_is_known() -> None:
    load = Load(np.array([-1000.0, 0.0, 10.0]), np.array([20.0, 400.0, 20.0]))
    what = channel(refresh_s=10.0, window_s=40.0)
    one = simulate.observe(load, Truth(refresh_s=10, window_s=40), what, -200, 200, origin_ns=ORIGIN)
    end = ORIGIN + 10 * SECOND
    refused = phase.energy_of(one, ORIGIN, end)
    assert refused.value is None and refused.notices[0].code == "too-short"
    assert "idle" in refused.notices[0].advice
    found = phase.energy_of(one, ORIGIN, end, idle=((ORIGIN - 200 * SECOND, ORIGIN), (end, end + 190 * SECOND)))
    assert found.value == pytest.approx(4000, rel=1e-6)


# ----------------------------------------------------------------------------------------------------------- uncertainty

CASES: dict[str, tuple[dict[str, object], Truth, float | None]] = {
    "1 s averages": (
        {"refresh_s": 1.0, "window_s": 1.0, "resolution": 1.0},
        Truth(1.0, 1.0, noise=2, resolution=1),
        None,
    ),
    "10 s averages": ({"refresh_s": 10.0}, Truth(10.0, 10.0, noise=2), None),
    "points": ({"scope": "point", "refresh_s": 1.0}, Truth(1.0, noise=2), None),
    "a quarter seen": ({"refresh_s": 0.1, "window_s": 0.025}, Truth(0.1, 0.025, noise=2), None),
    "polled, refresh not known": ({}, Truth(1.0, 1.0, noise=2), 0.1),
    "averages of 10 s every second": (
        {"refresh_s": 1.0, "window_s": 10.0, "delay_s": 1.5},
        Truth(1.0, 10.0, delay_s=1.5, noise=2),
        None,
    ),
    "a quarter seen, since read seldom": ({"refresh_s": 0.5}, Truth(0.5, 0.5, noise=2), 2.0),
    "wrapping counter": (
        {**COUNTER, "refresh_s": 0.001, "resolution": 6e-5, "modulus": 65536.0, "most_w": 600.0},
        Truth(0.001, modulus=65536.0, resolution=6e-5),
        1.0,
    ),
    "counter of 0.1 s": ({**COUNTER, "refresh_s": 0.1, "resolution": 1e-3}, Truth(0.1, resolution=1e-3), 0.02),
    "PDU counter of 1 Wh": ({**COUNTER, "refresh_s": 5.0, "resolution": 3600.0}, Truth(5.0, resolution=3600.0), 1.0),
}


@pytest.mark.parametrize("case", CASES)
def test_truth_lies_in_our_intervals(case: str) -> None:
    """Piecewise constant loads of random steps that begin and end with the phase: at least 85 of 100, 95 expected."""
    changed, truth, poll_s = CASES[case]
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cuts = np.sort(rng.uniform(0, 200, rng.integers(1, 5)))
        load = Load(
            np.concatenate([[-1000.0, 0.0], cuts, [200.0]]),
            np.concatenate([[150.0], rng.uniform(200, 450, len(cuts) + 1), [150.0]]),
        )
        phase_s = rng.uniform(0, truth.refresh_s)
        one = simulate.observe(
            load,
            truth._replace(phase_s=phase_s),
            channel(**changed),
            -30,
            230,
            origin_ns=ORIGIN,
            poll_s=poll_s,
            seed=seed,
        )
        found = phase.energy_of(one, ORIGIN, ORIGIN + 200 * SECOND)
        assert found.interval is not None
        hits += found.interval[0] <= load.mean_w(0, 200) * 200 <= found.interval[1]
    assert hits >= 85


def test_the_makers_class_by_its_kind() -> None:
    for kind, divisor in (("bound", math.sqrt(3)), ("sigma", 1.0), ("fwhm", 2.3548)):
        accuracy = Accuracy(reading=0.001, full_scale=0.001, kind=kind)  # type: ignore[arg-type]
        found = joules(400.0, 100.0, accuracy=accuracy, full_scale=1000.0)
        assert term(found, "meter class").u == pytest.approx((0.001 * 40_000 + 0.001 * 1000 * 100) / divisor, rel=1e-4)
    assert "class-unknown" in {notice.code for notice in joules(400.0, 100.0).notices}
    of_no_range = joules(400.0, 100.0, accuracy=Accuracy(reading=0.001, full_scale=0.001))
    assert "range-unknown" in {notice.code for notice in of_no_range.notices}
    assert "meter class" not in {one.name for one in of_no_range.terms}, "a range that is not known is not one of 0 W"


def test_one_meters_gain_cancels_in_a_ratio_of_its_readings() -> None:
    accuracy = Accuracy(reading=0.02)
    low, high = (joules(watts, 100.0, accuracy=accuracy, resolution=1e-12) for watts in (200.0, 400.0))
    check = feed_power.cross_check(high, low)
    assert low.u == pytest.approx(0.02 / math.sqrt(3) * 20_000)
    assert check.ratio.value == pytest.approx(2)
    assert check.ratio.u == pytest.approx(0, abs=1e-12)
    other = joules(200.0, 100.0, accuracy=accuracy, resolution=1e-12, host="n2")
    apart = feed_power.cross_check(high, other).ratio
    assert apart.u == pytest.approx(2 * 0.02 * math.sqrt(2 / 3), rel=1e-6)


def test_gain_and_offset_are_corrected_with_their_covariance() -> None:
    def estimate(value: float, u: float) -> Estimate:
        return Estimate(value=value, low=value - 1.96 * u, high=value + 1.96 * u)

    known = Character(
        channel=channel(),
        made_ns=0,
        kernel="point",
        gain=estimate(0.954, 0.002),
        offset=estimate(-1.2, 0.5),
        gain_offset_covariance=-0.0008,
        reference="lab:wt230",
        noise=0.0,
    )
    shown = constant(0.954 * 400 - 1.2, 100.0)
    found = phase.energy_of(shown, ORIGIN, ORIGIN + 100 * SECOND, character=known)
    assert found.value == pytest.approx(40_000)
    both = math.hypot(term(found, "gain").u, term(found, "offset").u)
    expected = math.sqrt((40_000 * 0.002) ** 2 + (100 * 0.5) ** 2 + 2 * 40_000 * 100 * -0.0008) / 0.954
    assert both == pytest.approx(expected, rel=1e-9)
    assert "lab:wt230" in next(notice.text for notice in found.notices if notice.code == "reference-class")
    better = channel(id="wt230", host="lab", accuracy=Accuracy(reading=0.002))
    whole = phase.energy_of(shown, ORIGIN, ORIGIN + 100 * SECOND, character=known, reference=better)
    assert term(whole, "meter class").common == "gain of lab:wt230"
    assert not any(notice.code == "reference-class" for notice in whole.notices)


def test_marks_and_clocks_count_by_what_moving_the_window_does() -> None:
    load = Load(np.array([-100.0, 0.0, 100.0]), np.array([150.0, 400.0, 150.0]))
    what = channel(refresh_s=0.1, window_s=0.1)
    one = simulate.observe(load, Truth(0.1, 0.1), what, -20, 120, origin_ns=ORIGIN)
    end = ORIGIN + 100 * SECOND
    u = 1 / math.sqrt(12)
    found = phase.energy_of(one, ORIGIN, end, window_u_s=u)
    assert term(found, "window").u == pytest.approx(400 * u * math.sqrt(2), rel=1e-3)
    shifted = phase.energy_of(one, ORIGIN, end, clock_u_s=1.0)
    assert abs(term(shifted, "clock").u) == pytest.approx(250, rel=1e-3)
    flat = phase.power_of(one, ORIGIN + 20 * SECOND, ORIGIN + 80 * SECOND, window_u_s=u, clock_u_s=1.0)
    assert all(one.u < 1e-6 for one in flat.terms if one.name in ("window", "clock"))
    power = phase.power_of(one, ORIGIN, end, window_u_s=1.0)
    assert term(power, "window").u == pytest.approx(250 / 101 * math.sqrt(2), rel=0.01)


def test_energy_delay_product_knows_that_energy_and_time_share_their_marks() -> None:
    one = constant(400.0, 100.0, resolution=1e-9)
    end = ORIGIN + 100 * SECOND
    energy = phase.energy_of(one, ORIGIN, end, window_u_s=0.3)
    time = phase.duration(ORIGIN, end, window_u_s=0.3)
    product = phase.edp(energy, time)
    relative = math.sqrt(2) * 0.3 / 100
    assert product.value == pytest.approx(40_000 * 100)
    assert product.unit == "J s"
    assert product.u == pytest.approx(product.value * 2 * relative, rel=1e-6)
    squared = phase.edp(energy, time, 2.0)
    assert squared.u == pytest.approx(squared.value * 3 * relative, rel=1e-6)
    plain = phase.edp(energy, 100.0)
    assert plain.u == pytest.approx(plain.value * relative, rel=1e-6)


def test_a_counter_and_the_power_beside_it_agree_or_not() -> None:
    rng = np.random.default_rng(2)
    load = Load(np.array([-100.0, 0.0, 300.0]), np.array([80.0, 300.0, 80.0]))
    counter = simulate.observe(
        load, Truth(0.1, resolution=1e-3), channel(**COUNTER, refresh_s=0.1), -20, 320, origin_ns=ORIGIN, poll_s=0.02
    )
    end = ORIGIN + 300 * SECOND
    counted = phase.energy_of(counter, ORIGIN, end, name="counter")
    for gain, agrees in ((1.0, True), (1.05, False)):
        power = simulate.observe(
            load, Truth(1.0, 1.0, gain=gain, noise=1.0), channel(refresh_s=1.0), -20, 320, origin_ns=ORIGIN,
            seed=int(rng.integers(99)),
        )  # fmt: skip
        check = feed_power.cross_check(counted, phase.energy_of(power, ORIGIN, end, name="integrated power"))
        assert check.agree is agrees
        assert ("they agree" in check.text) is agrees
    missing = quantity.unknown("x", "J", phase.warnings_of(noisy(2))[0])
    assert feed_power.cross_check(counted, missing).agree is None


def test_every_term_says_how_it_was_found_and_what_would_shrink_it() -> None:
    load = Load(np.array([-100.0, 0.0, 90.0]), np.array([150.0, 400.0, 150.0]))
    what = channel(refresh_s=0.1, window_s=0.025, resolution=1.0, accuracy=Accuracy(reading=0.05, source="NVML"))
    one = simulate.observe(load, Truth(0.1, 0.025, noise=2.0), what, -20, 120, origin_ns=ORIGIN, seed=1)
    holed = one.take(np.r_[0:400, 430 : len(one)])
    found = phase.energy_of(holed, ORIGIN, ORIGIN + 90 * SECOND, window_u_s=0.3, clock_u_s=0.1)
    names = {one.name for one in found.terms}
    assert {"meter class", "noise", "coverage", "quantisation", "window", "gap"} <= names
    assert all(one.text and one.remedy for one in found.terms)
    assert quantity.advice(found).startswith("meter class makes 9")
    assert sum(share for _, share in quantity.shares(found)) == pytest.approx(1)
    assert budget.divisor(Accuracy(kind="sigma")) == 1.0
