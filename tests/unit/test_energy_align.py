"""Clocks: a load and a meter, hours and zones."""

from __future__ import annotations

import numpy as np
import pytest

from shakedown.energy.characterise.identify import Recording
from shakedown.energy.clocks.align import from_edges, markers, meter_clock
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.errors import BadInput
from support.characters import METER


@pytest.mark.parametrize(
    ("truth", "scale", "within"),
    [
        (Truth(refresh_s=1, window_s=1, resolution=0.1, noise=1), 1.0, 0.004),
        (Truth(refresh_s=1, window_s=40, resolution=1, noise=2), 1.0, 0.1),
        (Truth(refresh_s=10, window_s=40, resolution=1, noise=2), 1.0, 0.3),
        (Truth(refresh_s=60, window_s=60, resolution=10, noise=2), 2.0, 1.0),
        (Truth(refresh_s=5, window_s=0, resolution=1, noise=2), 1.0, 0.6),
        (Truth(refresh_s=0.1, window_s=0.025, resolution=0.01, noise=1), 0.05, 0.0004),
        (Truth(refresh_s=0.5, tau_s=2.0, resolution=0.1, noise=1), 0.5, 0.01),
    ],
    ids=["1 s", "40 s by 1 s", "40 s by 10 s", "60 s, 10 W", "points of 5 s", "A100", "lag of 2 s"],
)
def test_the_markers_give_the_clock_through_the_meters_window(truth: Truth, scale: float, within: float) -> None:
    load, end = markers(scale, low=100, high=400)
    inside, width = 0, []
    for seed in range(20):
        random = np.random.default_rng(seed)
        ahead = float(random.uniform(-3, 3)) * min(1.0, truth.refresh_s)
        meter = truth._replace(
            clock_s=ahead, gain=0.97, offset=2, delay_s=0.3, phase_s=float(random.uniform(0, truth.refresh_s))
        )
        seen = observe(load, meter, METER, -20 * scale, end + 100 * scale, seed=seed)
        found = meter_clock(
            Recording("marks", load, seen.seconds(0), seen.value),
            window_s=truth.window_s,
            tau_s=truth.tau_s,
            delay_s=0.3,
            period_s=truth.refresh_s,
            reach_s=5 * truth.refresh_s + 3,
        )
        inside += found.offset_s.low <= ahead <= found.offset_s.high
        width.append(found.offset_s.high - found.offset_s.low)
    assert inside >= 17 and float(np.median(width)) < within


def test_a_regular_pattern_on_points_leaves_the_clock_open_and_says_how_far() -> None:
    """A period of the load that is a whole number of refreshes: every edge falls into the same part of one."""
    edges = np.arange(0, 600, 20.0)
    load = Load(edges, np.where(np.arange(len(edges)) % 2, 400.0, 100.0))
    seen = observe(load, Truth(refresh_s=10, clock_s=1.0, noise=2, phase_s=3.0), METER, 0, 620, seed=1)
    regular = meter_clock(Recording("regular", load, seen.seconds(0), seen.value), period_s=10, reach_s=9)
    assert regular.offset_s.high - regular.offset_s.low > 8 and regular.offset_s.low <= 1 <= regular.offset_s.high
    load, end = markers(1.0, low=100, high=400)
    seen = observe(load, Truth(refresh_s=10, clock_s=1.0, noise=2, phase_s=3.0), METER, 0, end, seed=1)
    irregular = meter_clock(Recording("marks", load, seen.seconds(0), seen.value), period_s=10, reach_s=9)
    assert irregular.offset_s.high - irregular.offset_s.low < 2


def test_many_periods_of_a_wave_leave_several_offsets() -> None:
    edges = np.arange(0, 60, 0.5)
    load = Load(edges, np.where(np.arange(len(edges)) % 2, 400.0, 100.0))
    seen = observe(load, Truth(refresh_s=0.1, window_s=0.1, noise=20), METER, 10, 50, seed=1)
    found = meter_clock(Recording("wave", load, seen.seconds(0), seen.value), window_s=0.1, period_s=0.1, reach_s=5)
    assert "several-offsets" in [one.code for one in found.notices]


@pytest.mark.parametrize("hours", [1.0, -1.0, 5.5, 9.0])
def test_a_shift_by_a_time_zone_is_found_and_named(hours: float) -> None:
    load, end = markers(1.0, low=100, high=400)
    meter = Truth(refresh_s=1, window_s=1, clock_s=3600 * hours + 0.7, noise=1)
    seen = observe(load, meter, METER, -100, end + 100, seed=1)
    marks = Recording("marks", load, seen.seconds(0), seen.value)
    found = meter_clock(marks, window_s=1, period_s=1, zones=True)
    assert found.offset_s.value == pytest.approx(3600 * hours + 0.7, abs=0.01)
    assert [one.code for one in found.notices] == ["time-zone"] and f"{abs(hours):g} h" in found.notices[0].text
    with pytest.raises(BadInput, match="too few to align"):
        meter_clock(marks, window_s=1, period_s=1)


def test_a_runs_own_edges_check_the_clock() -> None:
    load = Load(np.array([0, 60.0, 300.0, 310.0]), np.array([100.0, 400.0, 380.0, 105.0]))
    for ahead, said in ((0.0, False), (2.7, True), (-4.0, True)):
        seen = observe(load, Truth(refresh_s=1, window_s=1, clock_s=ahead, noise=1), METER, 0, 370, seed=1)
        blind = Recording("run", load._replace(w=np.zeros(4)), seen.seconds(0), seen.value)
        found = from_edges(blind, window_s=1, period_s=1, expected_u_s=0.05)
        assert found.offset_s.value == pytest.approx(ahead, abs=0.05)
        assert ("clock-disagrees" in [one.code for one in found.notices]) == said


def test_another_load_does_not_align() -> None:
    load, end = markers(1.0, low=100, high=400)
    random = np.random.default_rng(1)
    t = np.arange(0, end, 1.0)
    found = meter_clock(Recording("other", load, t, random.normal(200, 5, len(t))), window_s=1, period_s=1)
    assert "poor-fit" in [one.code for one in found.notices]
