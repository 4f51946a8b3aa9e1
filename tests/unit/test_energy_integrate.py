"""From readings to energy: exact where it can be, missing stretches found and never zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy import integrate, simulate
from shakedown.energy.refresh import spacing_s
from shakedown.energy.response import Response, response_of, step_answer
from shakedown.energy.simulate import Load, Truth
from shakedown.energy.steps import least_step
from shakedown.errors import CannotMeasure
from shakedown.metering.meters import Channel, Status
from shakedown.metering.trace import Floats, Trace, trace

ORIGIN = 1_700_000_000 * 10**9
SECOND = 10**9


def channel(**changed: object) -> Channel:
    known: dict[str, object] = {
        "id": "m/power",
        "title": "power",
        "quantity": "power",
        "unit": "W",
        "scope": "last",
        "place": "node",
        "refresh_s": 1.0,
    }
    return Channel(**{**known, **changed})  # type: ignore[arg-type]


COUNTER = {"quantity": "energy", "unit": "J", "scope": "counter", "id": "m/energy"}


def readings(values: Floats | list[float], what: Channel | None = None, every_s: float = 1.0) -> Trace:
    t_ns = ORIGIN + np.round((np.arange(len(values)) + 1) * every_s * 1e9).astype(np.int64)
    return trace(what or channel(), t_ns, np.asarray(values, float))


def energy(one: Trace, begin_s: float, end_s: float, method: str) -> integrate.Integral:
    tiles = integrate.tiles_of(one, response_of(one), method)
    found = integrate.integrate(tiles, ORIGIN + round(begin_s * 1e9), ORIGIN + round(end_s * 1e9))
    assert found is not None
    return found


def test_step_is_right_closed() -> None:
    one = readings([10.0, 20.0, 30.0, 40.0])  # stamped 1, 2, 3, 4 s: each over the second before
    assert energy(one, 1, 3, "step").joules == pytest.approx(20 + 30)
    assert energy(one, 0, 4, "step").joules == pytest.approx(100)


def test_next_stands_for_what_follows() -> None:
    one = readings([10.0, 20.0, 30.0, 40.0], channel(scope="next"))
    assert energy(one, 1, 3, "step").joules == pytest.approx(10 + 20)


def test_trapezoid_is_exact_on_straight_lines() -> None:
    one = readings(np.arange(1.0, 11.0), channel(scope="point"))  # P(t) = t
    assert energy(one, 2, 9, "trapezoid").joules == pytest.approx((81 - 4) / 2)


def test_all_three_agree_on_linear_power() -> None:
    t = np.arange(1.0, 101.0)
    power = readings(300 + 2 * (t - 0.5))  # averages of the second before
    points = readings(300 + 2 * t, channel(scope="point"))
    counts = readings(300 * t + t**2, channel(**COUNTER))
    truth = 300 * 70 + (90**2 - 20**2)
    assert energy(power, 20, 90, "step").joules == pytest.approx(truth, rel=1e-12)
    assert energy(points, 20, 90, "trapezoid").joules == pytest.approx(truth, rel=1e-12)
    assert energy(counts, 20, 90, "counter").joules == pytest.approx(truth, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.floats(50, 500), min_size=14, max_size=30),
    st.integers(-(10**12), 10**12),
    st.floats(2.1, 5.9),
    st.floats(0.05, 0.95),
)
def test_energy_does_not_depend_on_the_origin_and_adds_up_at_marks(
    values: list[float], shift_ns: int, begin_s: float, share: float
) -> None:
    one = readings(values)
    end_s = len(values) - 2.3
    middle_s = begin_s + 2.5 + share * (end_s - begin_s - 5)
    whole = energy(one, begin_s, end_s, "step").joules
    moved = Trace(one.channel, one.t_ns + shift_ns, one.half_ns, one.value, one.status)
    tiles = integrate.tiles_of(moved, response_of(moved), "step")
    again = integrate.integrate(tiles, ORIGIN + round(begin_s * 1e9) + shift_ns, ORIGIN + round(end_s * 1e9) + shift_ns)
    assert again is not None
    assert again.joules == pytest.approx(whole, rel=1e-9)
    parts = energy(one, begin_s, middle_s, "step").joules + energy(one, middle_s, end_s, "step").joules
    assert parts == pytest.approx(whole, rel=1e-6)


def test_a_step_of_the_load_at_the_mark_lies_within_what_the_ends_leave_open() -> None:
    load = Load(np.array([-100.0, 0.3, 60.7]), np.array([150.0, 400.0, 150.0]))
    what = channel(refresh_s=10.0)
    one = simulate.observe(load, Truth(refresh_s=10.0, window_s=10.0), what, -50, 110, origin_ns=ORIGIN)
    found = energy(one, 0.3, 60.7, "step")
    assert abs(found.joules - 400 * 60.4) <= 1.01 * np.sqrt(2) * found.ends_u_j
    naive, _ = integrate.energy_of_tiles(
        integrate.step_tiles(one, response_of(one)), ORIGIN + round(0.3e9), ORIGIN + round(60.7e9)
    )
    assert abs(found.joules - 400 * 60.4) < 0.7 * abs(naive - 400 * 60.4)


def test_polling_faster_than_the_refresh_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    load = Load(np.concatenate([[-100.0], np.sort(rng.uniform(0, 60, 9))]), rng.uniform(100, 500, 10))
    truth = Truth(refresh_s=2.0, window_s=2.0)
    device = simulate.observe(load, truth, channel(refresh_s=2.0), -20, 80, origin_ns=ORIGIN)
    polled = simulate.observe(load, truth, channel(refresh_s=None), -20, 80, origin_ns=ORIGIN, poll_s=0.1)
    assert spacing_s(polled) == pytest.approx(2.0, rel=0.02)
    assert energy(polled, 5, 55, "step").joules == pytest.approx(energy(device, 5, 55, "step").joules, rel=2e-3)


def test_a_value_is_not_repeated_into_a_stretch_that_was_not_read() -> None:
    one = readings(np.repeat([100.0, 200.0, 300.0, 250.0, 150.0, 350.0], 20), channel(refresh_s=2.0), 0.1)
    holed = one.take(np.concatenate([np.arange(45), np.arange(100, 120)]))
    found = energy(holed, 1, 10, "step")
    assert [gap.where for gap in found.gaps] == ["inside"]
    assert found.seen < 0.75


def test_a_gap_is_found_filled_and_told() -> None:
    one = readings([100.0] * 20 + [200.0] * 20)
    cut = one.take(np.r_[0:15, 25:40])
    found = energy(cut, 5, 35, "step")
    assert found.gaps == (integrate.Gap(ORIGIN + 15 * SECOND, ORIGIN + 25 * SECOND, "inside"),)
    assert found.seen == pytest.approx(2 / 3)
    assert found.joules == pytest.approx(10 * 100 + 10 * 150 + 10 * 200)
    assert found.gap_u_j == pytest.approx(10 * 50 / np.sqrt(2))  # anywhere between, its ends as likely


def test_entries_without_a_value_are_missing_not_zero() -> None:
    one = readings([100.0] * 30)
    status = np.zeros(30, np.uint8)
    status[10:12] = Status.GAP
    status[20] = Status.OVERRANGE
    holed = trace(one.channel, one.t_ns, one.value, status=status)
    found = energy(holed, 5, 25, "step")
    assert found.joules == pytest.approx(2000)
    assert found.seen == pytest.approx(17 / 20)
    assert integrate.lost(holed, int(one.t_ns[0]), int(one.t_ns[-1])) == {Status.GAP: 2, Status.OVERRANGE: 1}


def test_a_window_beyond_the_trace_says_which_part() -> None:
    one = readings([100.0, 110.0] * 10)
    found = energy(one, -5, 25, "step")
    assert {gap.where: round(gap.seconds) for gap in found.gaps} == {"before the trace": 5, "after the trace": 5}
    assert found.gap_u_j == pytest.approx(10 * 5 / np.sqrt(2))  # both ends err alike
    tiles = integrate.tiles_of(one, response_of(one), "step")
    assert integrate.integrate(tiles, ORIGIN + 100 * SECOND, ORIGIN + 110 * SECOND) is None


def test_a_failed_read_of_a_counter_loses_nothing_and_a_reset_is_missing() -> None:
    counts = readings(np.arange(0.0, 4000.0, 100.0), channel(**COUNTER, most_w=500.0))
    status = np.zeros(40, np.uint8)
    status[15:18] = Status.GAP
    holed = trace(counts.channel, counts.t_ns, counts.value, status=status)
    assert energy(holed, 5, 35, "counter").joules == pytest.approx(3000)
    values = np.concatenate([np.arange(20) * 100.0 + 50_000, np.arange(20) * 100.0])
    reset = readings(values, channel(**COUNTER, most_w=500.0))
    found = energy(reset, 5, 35, "counter")
    assert [gap.where for gap in found.gaps] == ["inside"]
    assert found.joules == pytest.approx(3000)  # the second across is filled in
    with pytest.raises(CannotMeasure, match="no two readings that join"):
        integrate.counted(readings([5.0], channel(**COUNTER)), response_of(counts))


def test_a_wrapping_counter_is_unrolled() -> None:
    truth = np.arange(0.0, 12_000.0, 300.0)
    wrapped = readings(np.mod(truth, 1000.0), channel(**COUNTER, modulus=1000.0, most_w=400.0))
    assert energy(wrapped, 5, 35, "counter").joules == pytest.approx(9000)


def test_coarse_counters_run_straight_between_their_steps() -> None:
    t = np.arange(1.0, 601.0)
    coarse = readings(np.floor(350 * t / 3600) * 3600, channel(**COUNTER, refresh_s=5.0, resolution=3600.0))
    assert energy(coarse, 60, 500, "counter").joules == pytest.approx(350 * 440, abs=3600)


def test_only_readings_wholly_inside_count_for_the_mean() -> None:
    one = readings([999.0, 100.0, 100.0, 100.0, 999.0])
    found = integrate.inside_mean(one, response_of(one), ORIGIN + round(0.5e9), ORIGIN + round(4.5e9))
    assert found is not None
    mean, seen, count = found
    assert (mean, seen, count) == (pytest.approx(100), pytest.approx(0.75), 3)
    slow = readings([999.0] * 8 + [100.0] * 4, channel(window_s=8.0))
    found = integrate.inside_mean(slow, response_of(slow), ORIGIN + round(0.5e9), ORIGIN + 12 * SECOND)
    assert found is not None
    assert found[2] == 4  # only those whose 8 s lie inside
    assert integrate.inside_mean(one, response_of(one), ORIGIN, ORIGIN + SECOND // 2) is None


def test_inside_mean_loses_nothing_on_a_constant_load() -> None:
    """300 s on a 10 s meter: step loses at the edges, the mean of the readings inside does not."""
    load = Load(np.array([-100.0, 3.0, 303.0]), np.array([150.0, 400.0, 150.0]))
    one = simulate.observe(load, Truth(refresh_s=10, window_s=10), channel(refresh_s=10.0), -50, 350, origin_ns=ORIGIN)
    found = integrate.inside_mean(one, response_of(one), ORIGIN + 3 * SECOND, ORIGIN + 303 * SECOND)
    assert found is not None
    assert found[0] == pytest.approx(400, rel=1e-12)


def test_unordered_stamps_are_put_in_order() -> None:
    one = readings([10.0, 20.0, 30.0, 40.0])
    mixed = Trace(one.channel, one.t_ns[[2, 0, 3, 1]], one.half_ns, one.value[[2, 0, 3, 1]], one.status)
    assert energy(mixed, 0, 4, "step").joules == pytest.approx(100)


@pytest.mark.parametrize(("window", "tau"), [(0.0, 0.0), (4.0, 0.0), (0.0, 2.0), (4.0, 2.0)])
def test_step_answer_is_what_the_simulated_meter_shows(window: float, tau: float) -> None:
    t = np.linspace(-5, 30, 71) + 0.01
    known: Response = response_of(readings([1.0] * 5, channel(window_s=window)))
    known = known._replace(window_s=window, tau_s=tau, delay_s=0.5, scope="point" if not window else "last")
    shown = simulate.filtered_w(
        Load(np.array([-100.0, 0.0]), np.array([0.0, 1.0])), Truth(1.0, window_s=window, tau_s=tau, delay_s=0.5), t
    )
    assert step_answer(known, t) == pytest.approx(shown, abs=1e-12)


def test_the_least_step_is_seen_in_coarse_readings_only() -> None:
    rng = np.random.default_rng(0)
    values = 300 + 20 * rng.standard_normal(500)
    assert least_step(readings(np.round(values / 4) * 4)) == pytest.approx(4)
    assert least_step(readings(values)) == 0.0
