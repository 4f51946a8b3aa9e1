"""From readings to the energy of [t0, t1]: one representation, stretches with a power each, and one integral.

    step         each reading stands for the stretch before its stamp, right-closed        interval averages
    trapezoid    straight lines between readings                                           readings at a point
    counter      the difference of a counter, straight lines between its readings          counters
    inside-mean  mean of the readings that lie wholly inside, times T                      the rule of the EE HPC WG

Stamps are moved back so that each stretch lies around what its reading saw (response.lag_s). A stretch without a reading
is missing: it is found, filled with the mean of its neighbours, and told; it is never a zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ..errors import CannotMeasure
from ..meters import Status
from .pace import ordered, refreshed
from .response import GAP, OFTEN, SETTLED_TAUS, Response, cadence_s
from .trace import Floats, Ints, Trace

if TYPE_CHECKING:
    from .counters import Unrolled

Method = Literal["counter", "step", "trapezoid", "inside-mean", "padded"]


class Tiles(NamedTuple):
    """Stretches of time in order, that do not overlap, over which the power goes from ``left_w`` to ``right_w``."""

    begin_ns: Ints
    end_ns: Ints
    left_w: Floats
    right_w: Floats
    cadence_s: float
    covered: float = 1.0  # share of the time that readings see


class Gap(NamedTuple):
    """A stretch of the window that no reading stands for."""

    begin_ns: int
    end_ns: int
    where: Literal["inside", "before the trace", "after the trace"]

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) * 1e-9


class Integral(NamedTuple):
    """The energy of a window, missing stretches filled, and what its uncertainty needs."""

    joules: float
    seconds: float
    seen: float  # share of the window that readings stand for
    gaps: tuple[Gap, ...]
    gap_u_j: float  # standard uncertainty of what was filled in
    ends_u_j: tuple[float, float]  # of cutting the stretches at the two ends
    readings: int

    @property
    def watts(self) -> float:
        return self.joules / self.seconds


# ----------------------------------------------------------------------------------------------- readings to stretches


def watts(trace: Trace, response: Response) -> Floats:
    """The readings corrected by the calibration."""
    out: Floats = (trace.value - response.offset) / response.gain
    return out


def step_tiles(trace: Trace, response: Response, *, moved: bool = True) -> Tiles:
    """Each good reading over the stretch since the entry before it, or over one cadence where that lies too far back.
    Without ``moved`` the stretches end at the stamps themselves."""
    cadence = cadence_s(trace, response)
    long_ns, ns = round(GAP * cadence * 1e9), round(cadence * 1e9)
    t = trace.t_ns
    if response.scope == "next" and len(t):
        t = np.append(t[1:], t[-1] + ns)
        t = np.minimum(t, trace.t_ns + long_ns)
    before = np.concatenate([[t[0] - ns], t[:-1]]) if len(t) else t
    begin = np.where(t - before <= long_ns, before, t - ns)
    if response.scope == "next":
        begin = trace.t_ns
    keep = trace.ok & (t > begin)
    shift = -round((response.lag_s - _own_lag(response, cadence)) * 1e9) if moved else 0
    w = watts(trace, response)[keep]
    return Tiles(
        begin[keep] + shift, t[keep] + shift, w, w, cadence, min(1.0, response.covered * response.refresh_s / cadence)
    )


def _own_lag(response: Response, cadence: float) -> float:
    """How far the middle of a step lies before the stamp: half a cadence, behind it for ``next``."""
    return -cadence / 2 if response.scope == "next" else cadence / 2


def trapezoid_tiles(trace: Trace, response: Response) -> Tiles:
    """A straight line between two good readings that follow one another closely."""
    cadence = cadence_s(trace, response)
    dt = np.diff(trace.t_ns)
    keep = trace.ok[:-1] & trace.ok[1:] & (dt > 0) & (dt <= round(GAP * cadence * 1e9))
    shift = -round(response.lag_s * 1e9)
    w = watts(trace, response)
    return Tiles(trace.t_ns[:-1][keep] + shift, trace.t_ns[1:][keep] + shift, w[:-1][keep], w[1:][keep], cadence)


class Counted(NamedTuple):
    """A counter as stretches of constant power. Where it may have wrapped unseen, the power is the middle of what is
    possible and ``spread_w`` its half width."""

    tiles: Tiles
    spread_w: Floats
    unrolled: Unrolled


def counted(trace: Trace, response: Response, *, most_w: float | None = None, second: Trace | None = None) -> Counted:
    """The mean power between two readings of a counter that belong together, by energy/counters.py, which knows wraps and
    resets. A failed read between them loses nothing: the counter still holds the energy. Of values that are read several
    times over only the first counts, moved back by half a reading. Raises CannotMeasure for fewer than two readings that
    join."""
    from .counters import Step, unroll

    trace = ordered(trace)
    found = unroll(trace, most_w=most_w, second=second)
    good = found.good
    t, low, high = found.t_ns[good], found.least_j[good], found.most_j[good]
    broken = np.cumsum((found.step[good] & Step.RESET) > 0)
    poll_ns = float(np.median(np.diff(trace.t_ns))) if len(trace) > 1 else 0.0
    if len(t) > 2 and poll_ns * 1e-9 <= OFTEN * response.refresh_s:
        # Between two steps the counter says nothing: straight lines from step to step are nearer than standing still.
        kept = np.concatenate([[True], (np.diff(low) != 0) | (np.diff(broken) > 0)])
        t = np.where(np.arange(len(t)) > 0, t - round(poll_ns / 2), t)[kept]
        low, high, broken = low[kept], high[kept], broken[kept]
    joined = (np.diff(t) > 0) & (np.diff(broken) == 0)
    if not np.any(joined):
        raise CannotMeasure(
            "the counter has no two readings that join",
            where=response.key,
            hint="read it before and after the phase, and at least three times between two wraps",
        )
    seconds = np.diff(t)[joined] * 1e-9
    w_low, w_high = np.diff(low)[joined] / seconds, np.diff(high)[joined] / seconds
    w = ((w_low + w_high) / 2 - response.offset) / response.gain
    shift = -round(response.delay_s * 1e9)
    cadence = max(response.refresh_s, poll_ns * 1e-9)
    tiles = Tiles(t[:-1][joined] + shift, t[1:][joined] + shift, w, w, cadence)
    return Counted(tiles, (w_high - w_low) / 2 / abs(response.gain), found)


def tiles_of(trace: Trace, response: Response, method: str) -> Tiles:
    """The stretches that a method integrates."""
    if method == "counter":
        return counted(trace, response).tiles
    kept = refreshed(ordered(trace), response)
    if method == "trapezoid":
        return trapezoid_tiles(kept, response)
    return step_tiles(kept, response)


# -------------------------------------------------------------------------------------------------------- the integral


def energy_of_tiles(tiles: Tiles, begin_ns: int, end_ns: int) -> tuple[float, int]:
    """The energy in J that the stretches hold between two times, and how many ns of it they cover."""
    first = int(np.searchsorted(tiles.end_ns, begin_ns, side="right"))
    last = int(np.searchsorted(tiles.begin_ns, end_ns, side="left"))
    if last <= first:
        return 0.0, 0
    part = slice(first, last)
    cut = tiles._replace(
        begin_ns=tiles.begin_ns[part], end_ns=tiles.end_ns[part], left_w=tiles.left_w[part], right_w=tiles.right_w[part]
    )
    joules, covered = energies_of_tiles(cut, np.array([begin_ns], np.int64), np.array([end_ns], np.int64))
    return float(joules[0]), int(covered[0])


def energies_of_tiles(tiles: Tiles, begin_ns: Ints, end_ns: Ints) -> tuple[Floats, Ints]:
    """The same for many windows, by what the stretches hold up to a time. Exact for straight lines: the power in the middle
    of each piece times its length."""
    if not len(tiles.begin_ns):
        return np.zeros(len(begin_ns)), np.zeros(len(begin_ns), np.int64)
    lengths = tiles.end_ns - tiles.begin_ns
    joules = np.concatenate([[0.0], np.cumsum((tiles.left_w + tiles.right_w) / 2 * lengths * 1e-9)])
    covered = np.concatenate([[0], np.cumsum(lengths)])

    def until(at_ns: Ints) -> tuple[Floats, Ints]:
        whole = np.searchsorted(tiles.end_ns, at_ns, side="right")
        cut = np.minimum(whole, len(lengths) - 1)
        into = np.where(whole < len(lengths), np.maximum(at_ns - tiles.begin_ns[cut], 0), 0)
        slope = (tiles.right_w[cut] - tiles.left_w[cut]) / lengths[cut]
        return joules[whole] + (tiles.left_w[cut] + slope * into / 2) * into * 1e-9, covered[whole] + into

    (low_j, low_ns), (high_j, high_ns) = until(np.asarray(begin_ns)), until(np.asarray(end_ns))
    return high_j - low_j, high_ns - low_ns


def gaps_of(tiles: Tiles, begin_ns: int, end_ns: int) -> tuple[Gap, ...]:
    """Where the window is not covered; slivers below a thousandth of a cadence (rounding) do not count."""
    if not len(tiles.begin_ns):
        return (Gap(begin_ns, end_ns, "inside"),)
    sliver = max(1, round(tiles.cadence_s * 1e6))
    found: list[Gap] = []
    if begin_ns < tiles.begin_ns[0]:
        found.append(Gap(begin_ns, min(end_ns, int(tiles.begin_ns[0])), "before the trace"))
    first = max(0, int(np.searchsorted(tiles.end_ns, begin_ns, side="right")) - 1)
    last = min(int(np.searchsorted(tiles.begin_ns, end_ns, side="left")) + 1, len(tiles.begin_ns))
    holes = first + np.flatnonzero(tiles.begin_ns[first + 1 : last] - tiles.end_ns[first : last - 1] > sliver)
    for hole in holes:
        low, high = max(begin_ns, int(tiles.end_ns[hole])), min(end_ns, int(tiles.begin_ns[hole + 1]))
        if high > low:
            found.append(Gap(low, high, "inside"))
    if end_ns > tiles.end_ns[-1]:
        found.append(Gap(max(begin_ns, int(tiles.end_ns[-1])), end_ns, "after the trace"))
    return tuple(gap for gap in found if gap.end_ns - gap.begin_ns > sliver)


def integrate(tiles: Tiles, begin_ns: int, end_ns: int) -> Integral | None:
    """The energy of a window; None where not one reading stands for any of it.

    Missing stretches are filled with the mean of the power on both sides (inside) or over what was seen (beyond the trace's
    ends). What was filled in may be off by the range of the power: u = missing time x (most - least) / sqrt(12), the range
    taken over the window, or over the whole trace for what lies beyond it. Stretches cut by an end: see ``_cut``.
    """
    seen_j, seen_ns = energy_of_tiles(tiles, begin_ns, end_ns)
    if seen_ns == 0:
        return None
    seconds = (end_ns - begin_ns) * 1e-9
    gaps = gaps_of(tiles, begin_ns, end_ns)
    mean = seen_j / (seen_ns * 1e-9)
    filled = math.fsum(gap.seconds * _beside(tiles, gap, mean) for gap in gaps)
    inside = _range(tiles, begin_ns, end_ns)
    outside = _range(tiles, None, None)
    unknown_j = math.fsum(gap.seconds * (inside if gap.where == "inside" else outside) for gap in gaps)
    missing_s = math.fsum(gap.seconds for gap in gaps)
    first = int(np.searchsorted(tiles.end_ns, begin_ns, side="right"))
    last = int(np.searchsorted(tiles.begin_ns, end_ns, side="left"))
    cuts = [_cut(tiles, at, is_begin, last - first > 2) for at, is_begin in ((begin_ns, True), (end_ns, False))]
    return Integral(
        joules=seen_j + filled + cuts[0][0] + cuts[1][0],
        seconds=seconds,
        seen=max(0.0, 1 - missing_s / seconds),
        gaps=gaps,
        gap_u_j=unknown_j / math.sqrt(12),
        ends_u_j=(cuts[0][1], cuts[1][1]),
        readings=last - first,
    )


def window_energy(tiles: Tiles, begin_ns: int, end_ns: int) -> float:
    """The energy of a window; 0 where nothing is known of it. For moving the window a little."""
    found = integrate(tiles, begin_ns, end_ns) if end_ns > begin_ns else None
    return found.joules if found else 0.0


def _beside(tiles: Tiles, gap: Gap, mean: float) -> float:
    if gap.where != "inside" or not len(tiles.begin_ns):
        return mean
    after = int(np.searchsorted(tiles.begin_ns, gap.end_ns, side="left"))
    return float((tiles.right_w[after - 1] + tiles.left_w[min(after, len(tiles.begin_ns) - 1)]) / 2) if after else mean


def _range(tiles: Tiles, begin_ns: int | None, end_ns: int | None) -> float:
    part = slice(None)
    if begin_ns is not None and end_ns is not None:
        first = int(np.searchsorted(tiles.end_ns, begin_ns, side="right"))
        last = int(np.searchsorted(tiles.begin_ns, end_ns, side="left"))
        part = slice(max(0, first - 1), last + 1)
    power = np.concatenate([tiles.left_w[part], tiles.right_w[part]])
    return float(np.ptp(power)) if len(power) else 0.0


def _cut(tiles: Tiles, at_ns: int, is_begin: bool, long: bool) -> tuple[float, float]:
    """What an end that cuts a stretch adds to the plain integral, in J, and its standard uncertainty.

    A stretch of length D, of which the share g lies inside, has the mean r; its neighbours inside and outside have a and b.
    Phases begin and end where the load steps, so g a + (1 - g) b should be r. What is left, d = r - g a - (1 - g) b, lies
    inside (the load stepped late) or outside (early): it is shared as least squares would, w = g^2 / (g^2 + (1 - g)^2), so
    that the two phases at a mark add up to what was measured; u = D |d| sqrt(w (1 - w) / 3). Where readings see only the
    share f of the time, r is no mean: d counts by f, and g D (1 - f) |r - a| / sqrt(12) is added.
    Straight lines have no mean of their own: a step at the mark adds g^2 / 2 D (a - b) to them. Half of it is added; that it
    was all or nothing makes the half / sqrt(2) (a U-shaped distribution).
    Where a neighbour is missing, or the window too short to have one of its own (``long``), nothing is added, and u is that
    of a step anywhere: g (1 - g) D R / sqrt(3), R the range of the power.
    """
    index = int(np.searchsorted(tiles.end_ns, at_ns, side="left"))
    if index >= len(tiles.begin_ns) or tiles.begin_ns[index] >= at_ns or tiles.end_ns[index] == at_ns:
        return 0.0, 0.0
    length_ns = int(tiles.end_ns[index] - tiles.begin_ns[index])
    length = length_ns * 1e-9
    ahead = float(at_ns - tiles.begin_ns[index]) / length_ns
    g = 1 - ahead if is_begin else ahead
    left, right = float(tiles.left_w[index]), float(tiles.right_w[index])
    if left != right:
        step = (right - left if is_begin else left - right) * g**2 / 2 * length
        return step / 2, abs(step) / math.sqrt(8)
    whole = 0 < index < len(tiles.begin_ns) - 1 and long
    if (
        not whole
        or tiles.end_ns[index - 1] != tiles.begin_ns[index]
        or tiles.begin_ns[index + 1] != tiles.end_ns[index]
    ):
        near = slice(max(0, index - 1), index + 2)
        return 0.0, g * (1 - g) * length * float(np.ptp(tiles.left_w[near])) / math.sqrt(3)
    before, after = float(tiles.right_w[index - 1]), float(tiles.left_w[index + 1])
    a, b = (after, before) if is_begin else (before, after)
    d = (left - g * a - (1 - g) * b) * tiles.covered
    w = g**2 / (g**2 + (1 - g) ** 2)
    unseen = g * (1 - tiles.covered) * abs(left - a) / math.sqrt(12)
    return length * (g * a + w * d - g * left), length * math.hypot(d * math.sqrt(w * (1 - w) / 3), unseen)


# --------------------------------------------------------------------------------------------------------- inside mean


def inside(trace: Trace, response: Response, begin_ns: int, end_ns: int) -> tuple[Trace, Floats]:
    """The good readings whose own stretch lies wholly inside a window, and the weight of each in seconds (the interval that
    it stands for). The stretch of a reading at t is (t - delay - W - 7 tau, t - delay], W at least the interval to the
    reading before it unless it is a reading at a point."""
    kept = refreshed(ordered(trace), response)
    cadence = cadence_s(kept, response)
    good = kept.take(kept.ok)
    t = good.t_ns
    if response.scope == "next" and response.window_s is None:
        low, high = t, t + round(cadence * 1e9)
    else:
        high = t - round(response.delay_s * 1e9)
        own = response.boxcar_s + SETTLED_TAUS * response.tau_s
        interval = 0.0 if response.scope == "point" or response.window_s is not None else cadence
        low = high - round(max(own, interval) * 1e9)
    chosen = (low >= begin_ns) & (high <= end_ns)
    between = np.diff(t, prepend=t[0] - round(cadence * 1e9)) * 1e-9 if len(t) else np.empty(0)
    weight = np.clip(between, 1e-9, GAP * cadence)
    return good.take(chosen), weight[chosen]


def inside_mean(trace: Trace, response: Response, begin_ns: int, end_ns: int) -> tuple[float, float, int] | None:
    """Mean power of the readings wholly inside (weighted by their intervals: EE HPC WG 2.0, level 1), the share of the
    window that they stand for, and how many they are. None for none."""
    readings, weight = inside(trace, response, begin_ns, end_ns)
    if not len(readings):
        return None
    mean = float(np.average(watts(readings, response), weights=weight))
    return mean, min(1.0, float(weight.sum()) / ((end_ns - begin_ns) * 1e-9)), len(readings)


def lost(trace: Trace, begin_ns: int, end_ns: int) -> dict[Status, int]:
    """How many entries between two times have no value, by status."""
    part = trace.take((trace.t_ns >= begin_ns) & (trace.t_ns <= end_ns) & ~trace.ok)
    states, counts = np.unique(part.status, return_counts=True)
    return {Status(int(state)): int(count) for state, count in zip(states, counts, strict=True)}
