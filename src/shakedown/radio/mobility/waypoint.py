"""Random waypoints: a radio goes straight to a place at random, at a speed at random, rests, and goes on.

The start is stationary: drawn from the distribution that the model has after a long time, so that the first minutes are
like all others. (Started at uniform places, radios gather in the middle and grow slow for a long while.) A radio rests
with probability P / (P + E[L] E[1/v]); else it is on a leg, whose ends are drawn with a density that rises with its
length, anywhere along it, at a speed with a density that falls as 1/v. Source: W. Navidi, T. Camp, "Stationary
distributions for the random waypoint mobility model", IEEE Transactions on Mobile Computing 3 (2004) 99-108.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from .tracks import EARTH_M, Tracks


class Area(NamedTuple):
    """Bounds in degrees. Ways are straight in a plane that touches it: for areas of some 100 km at most."""

    south_deg: float
    west_deg: float
    north_deg: float
    east_deg: float

    @property
    def sides_m(self) -> tuple[float, float]:
        """East to west, along the middle, and south to north."""
        middle = math.radians((self.south_deg + self.north_deg) / 2)
        wide = math.radians(self.east_deg - self.west_deg) * EARTH_M * math.cos(middle)
        return wide, math.radians(self.north_deg - self.south_deg) * EARTH_M


def mean_leg_m(wide: float, high: float) -> float:
    """The mean distance between two places at random in a rectangle (B. Ghosh, "Random distances within a rectangle and
    between two rectangles", Bulletin of the Calcutta Mathematical Society 43 (1951) 17-24)."""
    a, b, d = wide, high, math.hypot(wide, high)
    corners = a**3 / b**2 + b**3 / a**2 + d * (3 - a**2 / b**2 - b**2 / a**2)
    return (corners + 2.5 * (b**2 / a * math.log((a + d) / b) + a**2 / b * math.log((b + d) / a))) / 15


def tracks(
    radios: int,
    area: Area,
    *,
    seed: int,
    duration_s: float,
    speed_m_s: tuple[float, float] = (1.0, 10.0),
    pause_s: float = 0.0,
    height_m: float = 2.0,
) -> Tracks:
    """Ways of at least ``duration_s``. A longer duration continues the same ways. Raises BadInput for what cannot be."""
    slow, fast = speed_m_s
    if not 0 < slow <= fast < math.inf:
        raise BadInput(f"speeds of {slow:g} to {fast:g} m/s", hint="the slowest above 0, the fastest at least as fast")
    if not (0 <= pause_s < math.inf and 0 <= duration_s < math.inf):
        raise BadInput(f"a pause of {pause_s:g} s, a duration of {duration_s:g} s", hint="give 0 or more")
    wide, high = area.sides_m
    if not (wide > 0 and high > 0):
        raise BadInput(f"an area of {wide:g} x {high:g} m", hint="south below north, west below east")
    ways = [_way(np.random.Generator(np.random.Philox(key=[seed, radio])), (wide, high), speed_m_s, pause_s, duration_s)
            for radio in range(1, radios + 1)]  # fmt: skip
    corners = np.concatenate(ways)
    return Tracks(
        np.concatenate([[0], np.cumsum([len(way) for way in ways])]).astype(np.int64),
        corners[:, 0],
        area.south_deg + corners[:, 2] / high * (area.north_deg - area.south_deg),
        area.west_deg + corners[:, 1] / wide * (area.east_deg - area.west_deg),
        np.full(len(corners), height_m),
    )


def _way(
    draw: np.random.Generator,
    sides: tuple[float, float],
    speed_m_s: tuple[float, float],
    pause_s: float,
    duration_s: float,
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Rows of time, x and y of one radio's corners, in metres."""
    slow, fast = speed_m_s
    inverse = math.log(fast / slow) / (fast - slow) if fast > slow else 1 / slow  # E[1/v] of a uniform speed
    moving_s = mean_leg_m(*sides) * inverse

    def place() -> tuple[float, float]:
        return float(draw.uniform(0, sides[0])), float(draw.uniform(0, sides[1]))

    time_s = 0.0
    if draw.uniform() < pause_s / (pause_s + moving_s):
        here = place()
        rows = [(0.0, *here)]
        time_s = float(draw.uniform(0, pause_s))
    else:
        here, there = place(), place()
        while draw.uniform() * math.hypot(*sides) > math.dist(here, there):
            here, there = place(), place()
        share = float(draw.uniform())
        start = (here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1]))
        rows = [(0.0, *start)]
        time_s = math.dist(start, there) / (slow * (fast / slow) ** float(draw.uniform()))
        here = there
        rows.append((time_s, *here))
        time_s += pause_s
    while rows[-1][0] < duration_s:
        rows.append((time_s, *here))
        there = place()
        time_s += math.dist(here, there) / float(draw.uniform(slow, fast))
        here = there
        rows.append((time_s, *here))
        time_s += pause_s
    return np.array(rows, np.float64).reshape(-1, 3)
