"""The clock of a meter that stamps its own readings, from the edges of the runs beside it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from shakedown.energy.clocks import meter_clock
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Trace
from support.characters import METER, ORIGIN_NS

LAST = msgspec.structs.replace(METER, scope="last")
COUNTER = msgspec.structs.replace(METER, quantity="energy", unit="J", scope="counter")
SLOW = msgspec.structs.replace(LAST, window_s=40.0)
#: Idle, load, idle, another load, idle.
TWO_RUNS = Load(np.array([0.0, 10, 70, 77, 140]), np.array([100.0, 300, 100, 310, 100]))


def many_runs(count: int, seed: int, length_s: float = 60.0) -> Load:
    """Runs of unequal length and power with rests of 5 to 6 s."""
    random = np.random.default_rng(seed)
    edges, watts = [0.0], [100.0]
    for _ in range(count):
        edges.append(edges[-1] + float(random.uniform(5, 6)))
        watts.append(float(random.uniform(250, 400)))
        edges.append(edges[-1] + length_s * float(random.uniform(1, 1.3)))
        watts.append(100.0)
    return Load(np.array(edges), np.array(watts))


def marks(load: Load) -> list[int]:
    return [ORIGIN_NS + round(float(edge) * 1e9) for edge in load.t_s[1:]]


def seen(load: Load, truth: Truth, channel: Channel = LAST, seed: int = 1) -> Trace:
    end = float(load.t_s[-1]) + max(30.0, 3 * truth.window_s)
    return observe(load, truth, channel, -max(20.0, 2 * truth.window_s), end, origin_ns=ORIGIN_NS, seed=seed)


@pytest.mark.parametrize("ahead", [0.3, -0.3, 2.0, -2.0, 20.0, -20.0])
@pytest.mark.parametrize(
    ("truth", "channel"),
    [
        (Truth(refresh_s=1.0, window_s=1.0, noise=1.0, resolution=1.0), LAST),
        (Truth(refresh_s=0.1, window_s=0.1, noise=1.0), LAST),
        (Truth(refresh_s=1.0, noise=1.0), METER),
        (Truth(refresh_s=1.0, resolution=1.0), COUNTER),
    ],
    ids=["1 s", "0.1 s", "points", "counter"],
)
def test_a_clock_that_is_off_is_found_and_taken_out(truth: Truth, channel: Channel, ahead: float) -> None:
    trace = seen(TWO_RUNS, truth._replace(clock_s=ahead, phase_s=0.37), channel)
    found = meter_clock.estimate(trace, marks(TWO_RUNS))
    if channel is METER and abs(ahead) < 1:
        # Points a second apart place an edge to a second: what cannot be told apart from nothing stays where it is.
        assert found.how in ("estimated", "agrees") and found.u_s < 0.6
    else:
        assert found.how == "estimated" and found.line is not None
    left = meter_clock.corrected(trace, found).t_ns - seen(TWO_RUNS, truth._replace(phase_s=0.37), channel).t_ns
    assert np.abs(left).max() * 1e-9 <= 3 * found.u_s + 1e-6


def test_the_stated_uncertainty_of_the_clock_holds() -> None:
    inside, total = 0, 60
    for seed in range(total):
        random = np.random.default_rng(seed)
        refresh = float(random.uniform(0.5, 2.0))
        truth = Truth(
            refresh_s=refresh,
            window_s=refresh,
            noise=1.0,
            resolution=1.0,
            clock_s=float(random.uniform(-5, 5)),
            phase_s=float(random.uniform(0, refresh)),
        )
        load = many_runs(2, seed)
        found = meter_clock.estimate(seen(load, truth, seed=seed), marks(load))
        assert found.how in ("estimated", "agrees") and found.line is not None
        inside += abs(found.line.offset_s.value - truth.clock_s) <= 1.96 * found.u_s
    assert inside >= 0.88 * total


@pytest.mark.parametrize("drift", [1e-4, -1e-3])
def test_a_clock_that_drifts_is_set_right_from_begin_to_end(drift: float) -> None:
    load = many_runs(12, 3)
    truth = Truth(refresh_s=1.0, window_s=1.0, noise=1.0, clock_s=2.0, drift=drift)
    trace, right = seen(load, truth), seen(load, truth._replace(clock_s=0.0, drift=0.0))
    found = meter_clock.estimate(trace, marks(load))
    assert found.how == "estimated" and found.line is not None and found.line.drift is not None
    assert found.line.drift.low <= drift <= found.line.drift.high and "ppm" in found.text()
    left_s = (meter_clock.corrected(trace, found).t_ns - right.t_ns) * 1e-9
    assert np.abs(left_s).max() <= 3 * found.u_s
    assert np.abs((trace.t_ns - right.t_ns) * 1e-9).max() > 20 * found.u_s


def test_a_slow_meter_far_off_is_found_through_its_window() -> None:
    load = Load(np.array([0.0, 60, 400, 470, 800]), np.array([100.0, 300, 100, 310, 100]))
    found = meter_clock.estimate(seen(load, Truth(refresh_s=10, window_s=40, noise=1, clock_s=20.0), SLOW), marks(load))
    assert found.how == "estimated" and found.line is not None
    assert found.line.offset_s.value == pytest.approx(20.0, abs=3 * found.u_s) and found.u_s < 0.5


def test_a_clock_that_is_right_is_left_alone_and_its_uncertainty_is_known() -> None:
    trace = seen(TWO_RUNS, Truth(refresh_s=1.0, window_s=1.0, noise=1.0))
    found = meter_clock.estimate(trace, marks(TWO_RUNS))
    assert found.how == "agrees" and 0 < found.u_s < 0.05
    assert meter_clock.corrected(trace, found) is trace and "nothing is taken out" in found.text()


def test_where_the_edges_are_too_few_or_do_not_show_the_prior_stays() -> None:
    truth = Truth(refresh_s=1.0, window_s=1.0, noise=1.0, clock_s=2.0)
    one_edge = Load(np.array([0.0, 10.0]), np.array([100.0, 300.0]))
    flat = Load(TWO_RUNS.t_s, np.full(5, 200.0))
    short = Load(np.array([0.0, 10.0, 10.4]), np.array([100.0, 300.0, 100.0]))
    for load, word in ((one_edge, "too few"), (flat, "steps at 0"), (short, "too few")):
        trace = seen(load, truth)
        found = meter_clock.estimate(trace, marks(load))
        assert found.how == "assumed" and found.line is None, load
        assert found.u_s == pytest.approx(meter_clock.ASSUMED_S / np.sqrt(3)) and word in found.why
        assert meter_clock.corrected(trace, found) is trace and "not checked" in found.text()
    still = seen(flat, truth._replace(noise=0.0))
    assert "the same value all the time" in meter_clock.estimate(still, marks(flat)).why
    gone = still.take(slice(0, 4))
    assert meter_clock.estimate(gone, marks(flat)).why == "4 readings are too few"


def test_a_clock_that_is_minutes_off_is_looked_for_where_the_readings_were_read() -> None:
    truth = Truth(refresh_s=1.0, window_s=1.0, noise=1.0, clock_s=300.0)
    trace = seen(TWO_RUNS, truth)
    found = meter_clock.estimate(trace, marks(TWO_RUNS), ahead_s=299.2)
    assert found.how == "estimated" and found.line is not None and found.u_s < 0.05
    assert found.line.offset_s.value == pytest.approx(300.0, abs=3 * found.u_s)
    assert meter_clock.estimate(trace, marks(TWO_RUNS)).how == "assumed"
    flat = seen(Load(TWO_RUNS.t_s, np.full(5, 200.0)), truth)
    by_reading = meter_clock.estimate(flat, marks(TWO_RUNS), ahead_s=299.2)
    assert by_reading.how == "read" and "when they are read" in by_reading.text()
    right = meter_clock.corrected(flat, by_reading).t_ns - flat.t_ns
    assert np.abs(right * 1e-9 + 300.0).max() <= 2 * by_reading.u_s
    assert meter_clock.estimate(flat, marks(TWO_RUNS), ahead_s=-1.5).how == "assumed"  # no more than the age of a value


def test_runs_alike_in_a_row_that_fit_one_run_later_are_not_believed() -> None:
    """A regular pattern whose ends lie outside the readings fits as well one period later."""
    edges = np.arange(0, 400, 10.0)
    load = Load(edges, np.where(np.arange(len(edges)) % 2, 300.0, 100.0))
    whole = seen(load, Truth(refresh_s=1.0, window_s=1.0, noise=3.0, clock_s=0.0))
    part = whole.take((whole.t_ns > ORIGIN_NS + 100 * 10**9) & (whole.t_ns < ORIGIN_NS + 300 * 10**9))
    found = meter_clock.estimate(part, marks(load))
    assert found.how == "assumed" and "fit about as well" in found.why


def test_a_host_s_stamps_are_on_the_host_s_clock() -> None:
    trace = seen(TWO_RUNS, Truth(refresh_s=1.0, window_s=1.0, clock_s=2.0))
    hosted = replace(trace, half_ns=np.full(len(trace), 10**6))
    assert meter_clock.estimate(hosted, marks(TWO_RUNS)) == meter_clock.Clock("host")
    assert meter_clock.estimate(replace(trace.take(slice(0, 0))), []) == meter_clock.Clock("host")


def test_marks_close_together_are_one_edge_and_rows_of_them_one_load() -> None:
    second = 10**9
    edges, blur = meter_clock.edges_of([0, 10 * second, 10 * second + second // 2, 20 * second], second)
    assert edges.tolist() == [0, 10 * second + second // 4, 20 * second]
    assert blur == pytest.approx(0.5 / 3 / np.sqrt(12))
    row = [0, *(10 * second + index * second // 2 for index in range(20)), 40 * second]
    edges, blur = meter_clock.edges_of(row, second)
    assert edges.tolist() == [0, 10 * second, 10 * second + 19 * second // 2, 40 * second] and blur == 0.0
    assert meter_clock.edges_of([], second)[0].tolist() == []
