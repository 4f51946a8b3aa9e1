"""Where radios are: ways that are pure functions of time, and a start that stays as it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shakedown.errors import BadInput
from shakedown.radio.mobility import tracks, waypoint
from shakedown.radio.wire.traces import Trace

AREA = waypoint.Area(47.0, 11.0, 47.1, 11.2)


def test_positions_lie_on_straight_lines() -> None:
    trace = Trace(
        np.array([0.0, 0.0, 10.0, 20.0, 20.0]),
        np.array([1, 2, 1, 1, 1]),
        np.array([47.0, 48.0, 47.5, 47.5, 40.0]),
        np.array([11.0, 12.0, 11.0, 12.0, 12.0]),
        np.array([2.0, math.nan, 4.0, 4.0, 4.0]),
        np.full(5, math.nan),
    )
    ways = tracks.of_trace(trace, 2, 3.0)
    for time_s, first in ((-1, (47, 11, 2)), (0, (47, 11, 2)), (5, (47.25, 11, 3)), (10, (47.5, 11, 4)),
                          (15, (47.5, 11.5, 4)), (20, (40, 12, 4)), (99, (40, 12, 4))):  # fmt: skip
        found = tracks.at(ways, time_s)
        assert [float(one[0]) for one in found] == pytest.approx(first), time_s
        assert [float(one[1]) for one in found] == [48.0, 12.0, 3.0]


def test_a_trace_that_does_not_fit_is_refused() -> None:
    def trace(*ids: int) -> Trace:
        count = len(ids)
        return Trace(np.zeros(count), np.array(ids), *(np.zeros(count) for _ in range(4)))

    with pytest.raises(BadInput, match="does not say where radio 2 is"):
        tracks.of_trace(trace(1, 3), 3, 2.0)
    with pytest.raises(BadInput, match="has a radio 3"):
        tracks.of_trace(trace(1, 2, 3), 2, 2.0)


def test_the_same_seed_gives_the_same_ways_and_a_longer_duration_continues_them() -> None:
    short = waypoint.tracks(20, AREA, seed=3, duration_s=500, pause_s=20)
    long = waypoint.tracks(20, AREA, seed=3, duration_s=5000, pause_s=20)
    other = waypoint.tracks(20, AREA, seed=4, duration_s=500, pause_s=20)
    more = waypoint.tracks(30, AREA, seed=3, duration_s=500, pause_s=20)
    for time_s in np.linspace(0, 500, 23):
        here = tracks.at(short, time_s)
        assert all(np.array_equal(a, b) for a, b in zip(here, tracks.at(long, time_s), strict=True))
        assert np.array_equal(here.latitude_deg, tracks.at(more, time_s).latitude_deg[:20])
        assert not np.array_equal(here.latitude_deg, tracks.at(other, time_s).latitude_deg)


def test_radios_stay_in_the_area_and_keep_their_speeds() -> None:
    ways = waypoint.tracks(50, AREA, seed=1, duration_s=3000, speed_m_s=(2.0, 8.0), pause_s=30)
    before = tracks.at(ways, 0.0)
    pairs = np.arange(50)
    for step in range(1, 300):
        now = tracks.at(ways, 10.0 * step)
        assert (now.latitude_deg >= 47.0).all() and (now.latitude_deg <= 47.1).all()
        assert (now.longitude_deg >= 11.0).all() and (now.longitude_deg <= 11.2).all()
        both = tracks.Positions(*(np.concatenate([a, b]) for a, b in zip(before, now, strict=True)))
        assert (tracks.distance_m(both, pairs, pairs + 50) <= 8.0 * 10 * 1.002).all()
        before = now


def test_the_start_is_what_time_leaves_as_it_is() -> None:
    """Share at rest, mean speed and mean distance from the middle at the start are those long after, within 5 deviations."""
    count = 2000
    speed, pause_s = (1.0, 20.0), 300.0
    ways = waypoint.tracks(count, AREA, seed=9, duration_s=9_000, speed_m_s=speed, pause_s=pause_s)
    wide, high = AREA.sides_m

    def looked_at(time_s: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        one, two = tracks.at(ways, time_s), tracks.at(ways, time_s + 0.5)
        both = tracks.Positions(*(np.concatenate([a, b]) for a, b in zip(one, two, strict=True)))
        pairs = np.arange(count)
        moved = tracks.distance_m(both, pairs, pairs + count)
        x = (one.longitude_deg - 11.1) / 0.2 * wide
        y = (one.latitude_deg - 47.05) / 0.1 * high
        return np.stack([moved == 0.0, moved * 2, np.hypot(x, y)])

    start, later = looked_at(0.0), looked_at(8_000.0)
    spread = np.sqrt((start.var(axis=1) + later.var(axis=1)) / count)
    assert (np.abs(start.mean(axis=1) - later.mean(axis=1)) < 5 * spread).all()
    moving_s = waypoint.mean_leg_m(wide, high) * math.log(20) / 19
    resting = pause_s / (pause_s + moving_s)
    assert start[0].mean() == pytest.approx(resting, abs=5 * math.sqrt(resting * (1 - resting) / count))


def test_the_mean_leg_is_that_of_places_at_random() -> None:
    draw = np.random.default_rng(1)
    for wide, high in ((1.0, 1.0), (3.0, 1.0), (2.0, 5.0)):
        x, y = draw.uniform(0, wide, (2, 200_000)), draw.uniform(0, high, (2, 200_000))
        legs = np.hypot(x[0] - x[1], y[0] - y[1])
        assert waypoint.mean_leg_m(wide, high) == pytest.approx(legs.mean(), abs=5 * legs.std() / math.sqrt(200_000))
    assert waypoint.mean_leg_m(1, 1) == pytest.approx(0.5214054331647207, rel=1e-12)  # (2 + sqrt 2 + 5 asinh 1) / 15


@pytest.mark.parametrize(
    "wrong",
    [{"speed_m_s": (0.0, 1.0)}, {"speed_m_s": (2.0, 1.0)}, {"pause_s": -1.0}, {"duration_s": math.inf},
     {"speed_m_s": (math.nan, 1.0)}],
)  # fmt: skip
def test_ways_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        waypoint.tracks(2, AREA, **{"seed": 1, "duration_s": 10.0, **wrong})  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="area"):
        waypoint.tracks(2, waypoint.Area(47, 11, 46, 12), seed=1, duration_s=1)


def test_distances_are_those_of_the_sphere() -> None:
    places = tracks.Positions(np.array([0.0, 0.0, 90.0]), np.array([0.0, 1.0, 50.0]), np.zeros(3))
    found = tracks.distance_m(places, np.array([0, 0]), np.array([1, 2]))
    assert found == pytest.approx([math.radians(1) * tracks.EARTH_M, math.pi / 2 * tracks.EARTH_M])
