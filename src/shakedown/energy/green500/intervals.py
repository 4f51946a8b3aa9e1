"""Readings as they stand, each with the stretch of time that it speaks for: the common ground of feeds and of the level
rules, which count readings. ``integrate`` has the arithmetic, and stretches that know what a meter does to the truth.

A reading of scope "last" stands for the time since the one before it, "next" for the time until the next, a point for half
the way to either side, and two readings of a counter for the time between them. A hole in the trace, a failed reading, a
reset and a counter that may have wrapped unseen leave time without a stretch: it is missing, not zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...metering.trace import Floats, Ints, Trace
from ..counters import Step, unroll
from ..integrate import HOLE, Tiles, energies_of_tiles
from ..refresh import spacing_s


class Intervals(NamedTuple):
    """Columns of equal length, ordered by time and without overlap. ``stamp_ns`` is the reading's own stamp."""

    begin_ns: Ints
    end_ns: Ints
    stamp_ns: Ints
    w: Floats
    scope: str

    def __len__(self) -> int:
        return len(self.w)

    def take(self, chosen: NDArray[np.bool_]) -> Intervals:
        """Some stretches, in order."""
        return Intervals(self.begin_ns[chosen], self.end_ns[chosen], self.stamp_ns[chosen], self.w[chosen], self.scope)

    @property
    def seconds(self) -> Floats:
        """How long each is."""
        out: Floats = (self.end_ns - self.begin_ns).astype(np.float64) * 1e-9
        return out


def usual_ns(trace: Trace) -> int:
    """The usual time between two entries, failed ones included; the channel's refresh where there are fewer than two."""
    steps = np.diff(trace.t_ns)
    steps = steps[steps > 0]
    if len(steps):
        return int(np.median(steps))
    return round((trace.channel.refresh_s or trace.channel.window_s or 0.0) * 1e9)


def refresh_s(trace: Trace) -> float:
    """How often the meter really makes a value, in s: what its channel says, else what the changes of the value tell
    (refresh.spacing_s); never less than how often it was read."""
    usual = usual_ns(trace) * 1e-9
    return max(usual, trace.channel.refresh_s if trace.channel.refresh_s is not None else spacing_s(trace))


def of(trace: Trace) -> Intervals:
    """The segments of a channel of power (W) or energy (J)."""
    if trace.channel.quantity == "energy":
        return _of_counter(trace)
    usual = usual_ns(trace)
    t = trace.t_ns
    most = int(HOLE * usual)
    step = np.diff(t)
    near = np.where(step <= most, step, usual)  # a stretch beside a hole has the usual length
    first = np.concatenate([[usual], near]).astype(np.int64)[: len(t)]
    after = np.concatenate([near, [usual]]).astype(np.int64)[: len(t)]
    if trace.channel.scope == "next":
        begin, end = t, t + after
    elif trace.channel.scope == "point":
        begin, end = t - first // 2, t + (after - after // 2)
    else:
        begin, end = t - first, t
    whole = Intervals(begin, end, t, trace.value, trace.channel.scope)
    return whole.take(trace.ok & (end > begin))


def _of_counter(trace: Trace) -> Intervals:
    """The mean power between good readings of a counter; failed ones between them lose nothing. Where it began anew, or
    may have wrapped unseen, there is no stretch."""
    found = unroll(trace)
    t, joules, step = found.t_ns[found.good], found.least_j[found.good], found.step[found.good]
    begin, end = t[:-1], t[1:]
    seconds = (end - begin).astype(np.float64) * 1e-9
    with np.errstate(divide="ignore", invalid="ignore"):
        w: Floats = np.diff(joules) / seconds
    known = (step[1:] & (Step.AMBIGUOUS | Step.RESET)) == 0
    return Intervals(begin, end, end, w, "counter").take(known & (seconds > 0))


def inside(stretches: Intervals, begin_ns: int, end_ns: int) -> NDArray[np.bool_]:
    """Which readings lie wholly inside a window: their stretch does, or a point's own stamp."""
    if stretches.scope == "point":
        return (stretches.stamp_ns >= begin_ns) & (stretches.stamp_ns <= end_ns)
    return (stretches.begin_ns >= begin_ns) & (stretches.end_ns <= end_ns)


def overlap_s(stretches: Intervals, begin_ns: int, end_ns: int) -> Floats:
    """How much of each stretch lies in a window, in seconds."""
    part = np.minimum(stretches.end_ns, end_ns) - np.maximum(stretches.begin_ns, begin_ns)
    out: Floats = np.maximum(part, 0).astype(np.float64) * 1e-9
    return out


def between(stretches: Intervals, begin_ns: Ints, end_ns: Ints) -> tuple[Floats, Floats]:
    """The mean power (W) over each of some windows and the share of it that is covered, by interpolating energy and
    covered time, not power. NaN where nothing is covered."""
    begin, end = np.asarray(begin_ns, np.int64), np.asarray(end_ns, np.int64)
    tiles = Tiles(stretches.begin_ns, stretches.end_ns, stretches.w, stretches.w, 0.0)
    joules, covered = energies_of_tiles(tiles, begin, end)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(covered / (end - begin), 0.0, 1.0)
        return np.where(covered > 0, joules / (covered * 1e-9), np.nan), share
