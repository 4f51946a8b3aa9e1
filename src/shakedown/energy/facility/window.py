"""A quantity over time and its integral over a window: what is known, and what was bridged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...metering.trace import Floats, Trace
from .plant import Sensor


class Series(NamedTuple):
    """A quantity over time: seconds after the plant's origin; NaN where it is not known. ``gap_s``: stamps further apart
    leave what lies between them unknown. ``scope`` as in meters.Channel."""

    t_s: Floats
    value: Floats
    gap_s: float
    scope: str = "point"


class Pieces(NamedTuple):
    """Stretches of a window with a value at either end; ``known`` where it was measured, else bridged."""

    t0: Floats
    t1: Floats
    v0: Floats
    v1: Floats
    known: Floats  # 1 or 0

    @property
    def integral(self) -> float:
        return float(np.sum((self.v0 + self.v1) / 2 * (self.t1 - self.t0)))

    @property
    def seen(self) -> float:
        """The share of the window that was measured."""
        whole = float(np.sum(self.t1 - self.t0))
        return float(np.sum(self.known * (self.t1 - self.t0))) / whole if whole > 0 else 0.0


def series(trace: Trace, sensor: Sensor, origin_ns: int, *, lag: bool = True) -> Series:
    """A sensor's readings; with ``lag`` a sluggish sensor's stamps are set back by its time constant, which is right to
    first order. A gap is what is longer than the sensor's ``most_gap``, else five times the usual spacing."""
    t = trace.seconds(origin_ns) - (sensor.lag_s if lag else 0.0)
    spacing = float(np.median(np.diff(t))) if len(t) > 1 else 1.0
    return Series(t, trace.value, sensor.most_gap_s or 5 * spacing, sensor.scope)


def at(one: Series, t_s: Floats) -> Floats:
    """Values at other times, by straight lines; NaN beside a gap and beyond the ends."""
    if len(one.t_s) < 2:
        return np.full(np.shape(t_s), np.nan)
    right = np.clip(np.searchsorted(one.t_s, t_s, side="left"), 1, len(one.t_s) - 1)
    left = right - 1
    wide = one.t_s[right] - one.t_s[left]
    share = np.divide(t_s - one.t_s[left], wide, out=np.zeros(np.shape(t_s)), where=wide > 0)
    mixed = one.value[left] + share * (one.value[right] - one.value[left])
    mixed = np.where(share <= 0, one.value[left], np.where(share >= 1, one.value[right], mixed))
    inside = (t_s >= one.t_s[0]) & (t_s <= one.t_s[-1]) & (wide <= one.gap_s)
    out: Floats = np.where(inside, mixed, np.nan)
    return out


def pieces(one: Series, begin_s: float, end_s: float) -> Pieces:
    """The window cut at the stamps, and at its own ends. Unknown stretches are bridged between their neighbours; where
    only one side is known, its value holds. Empty where nothing is known."""
    t, v = one.t_s, one.value
    if len(t) < 2:
        return _empty()
    first = max(0, int(np.searchsorted(t, begin_s, side="right")) - 1)
    last = min(len(t), int(np.searchsorted(t, end_s, side="left")) + 1)
    t, v = t[first:last], v[first:last]
    if len(t) < 2:
        return _empty()
    before, after = v[:-1], v[1:]
    if one.scope == "last":
        before = after
    elif one.scope == "next":
        after = before
    known = (np.diff(t) <= one.gap_s) & np.isfinite(before) & np.isfinite(after) & (np.diff(t) > 0)
    t0, t1 = np.maximum(t[:-1], begin_s), np.minimum(t[1:], end_s)
    known &= t1 > t0
    if not known.any():
        return _empty()
    slope = (after - before)[known] / np.diff(t)[known]
    starts = t[:-1][known]
    v0 = before[known] + slope * (t0[known] - starts)
    v1 = before[known] + slope * (t1[known] - starts)
    return _bridged(t0[known], t1[known], v0, v1, begin_s, end_s)


def _bridged(t0: Floats, t1: Floats, v0: Floats, v1: Floats, begin_s: float, end_s: float) -> Pieces:
    """Known pieces in order, with straight lines in the holes between them."""
    left = np.concatenate([[begin_s], t1])
    right = np.concatenate([t0, [end_s]])
    from_, to = np.concatenate([[v0[0]], v1]), np.concatenate([v0, [v1[-1]]])
    hole = right - left > 1e-9
    return Pieces(
        np.concatenate([t0, left[hole]]),
        np.concatenate([t1, right[hole]]),
        np.concatenate([v0, from_[hole]]),
        np.concatenate([v1, to[hole]]),
        np.concatenate([np.ones(len(t0)), np.zeros(int(hole.sum()))]),
    )


def _empty() -> Pieces:
    none = np.empty(0)
    return Pieces(none, none, none, none, none)
