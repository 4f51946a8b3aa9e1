"""From readings to the energy of [t0, t1]: one representation, stretches with a power each, and one integral.

    step         each reading stands for the stretch before its stamp, right-closed        interval averages
    trapezoid    straight lines between readings                                           readings at a point
    counter      the difference of a counter, straight lines between its readings          counters
    inside-mean  mean of the readings that lie wholly inside, times T                      the rule of the EE HPC WG

Stamps are moved back so that each stretch lies around what its reading saw (response.lag_s). A stretch without a reading
is missing: it is found, filled in between what its neighbours allow, and told; it is never a zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CannotMeasure
from ..metering.meters import Status
from ..metering.trace import Floats, Ints, Trace
from . import edges
from .deduplicate import ordered, refreshed
from .response import GAP, OFTEN, SETTLED_TAUS, Response, cadence_s
from .steps import STOOD

if TYPE_CHECKING:
    from .counters import Unrolled

Method = Literal["counter", "step", "trapezoid", "inside-mean", "padded"]


#: A reading that averages stands for no more than this many of the usual intervals: of a longer one a part was not read.
HOLE = 1.5


class Tiles(NamedTuple):
    """Stretches of time in order, that do not overlap, over which the power goes from ``left_w`` to ``right_w``."""

    begin_ns: Ints
    end_ns: Ints
    left_w: Floats
    right_w: Floats
    cadence_s: float
    covered: float = 1.0  # share of the time that readings see
    points: bool = False  # straight lines between readings at a point: no stretch has a mean of its own


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
    ends_u_j: float  # of the stretches that the two ends cut, which err alike
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
    long_ns, ns = round(HOLE * cadence * 1e9), round(cadence * 1e9)
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
    begin_ns, end_ns = trace.t_ns[:-1][keep] + shift, trace.t_ns[1:][keep] + shift
    return Tiles(begin_ns, end_ns, w[:-1][keep], w[1:][keep], cadence, points=True)


class Counted(NamedTuple):
    """A counter as stretches of constant power. Where it may have wrapped unseen, the power is the middle of what is
    possible and ``spread_w`` its half width."""

    tiles: Tiles
    spread_w: Floats
    unrolled: Unrolled


def counted(trace: Trace, response: Response, *, second: Trace | None = None) -> Counted:
    """The mean power between two readings of a counter that belong together, by energy/counters.py, which knows wraps and
    resets. A failed read between them loses nothing: the counter still holds the energy. Of values that are read several
    times over only the first counts, at the time when it came (``_where_it_moved``). Raises CannotMeasure for fewer than
    two readings that join."""
    from .counters import Step, unroll

    trace = ordered(trace)
    found = unroll(trace, second=second)
    good = found.good
    t, low, high = found.t_ns[good], found.least_j[good], found.most_j[good]
    broken = np.cumsum((found.step[good] & Step.RESET) > 0)
    poll_ns = float(np.median(np.diff(trace.t_ns))) if len(trace) > 1 else 0.0
    if len(t) > 2:
        often = poll_ns * 1e-9 <= OFTEN * response.refresh_s
        refresh_ns = response.refresh_s * 1e9
        t, kept = _where_it_moved(t, low, broken, poll_ns if often else 0.0, refresh_ns, response.resolution)
        t, low, high, broken = t[kept], low[kept], high[kept], broken[kept]
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


def _where_it_moved(
    t: Ints, joules: Floats, broken: NDArray[np.bool_], poll_ns: float, refresh_ns: float, step_j: float
) -> tuple[Ints, NDArray[np.bool_]]:
    """Stamps of when a counter had just what it shows, and at which readings it had moved.

    Between two steps it says nothing: straight lines from step to step are nearer than standing still. Of a rise by k steps
    since the reading before, the last came within the last k-th part of the time between them, and its middle is taken, if
    the counter is so coarse that it stands still at times. Read more often than it refreshes (``poll_ns``), the refresh
    lies in the middle between two readings, and what rose did so since the refresh before. The last reading stays where it
    stood still for long.
    """
    rise = np.diff(joules)
    moved = np.concatenate([[True], (rise != 0) | (np.diff(broken) > 0)])
    coarse = np.mean(rise == 0) > STOOD
    part = np.clip(step_j / (2 * np.maximum(rise, 1e-9)), 0.0, 0.5) * (rise > 0) * coarse
    if poll_ns > 0:
        back: Floats = np.concatenate([[0.0], poll_ns / 2 + part * refresh_ns])
        return t - np.round(back).astype(np.int64), moved
    back = np.concatenate([[0.0], part * np.diff(t)])
    last = int(np.flatnonzero(moved)[-1])
    usual = float(np.median(np.diff(t[moved]))) if np.count_nonzero(moved) > 1 else 0.0
    moved[-1] = moved[-1] or float(t[-1] - t[last]) > GAP * usual
    return t - np.round(back).astype(np.int64), moved


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

    Stretches that lie wholly inside count as they are. Those that a mark cuts, and those without a reading, lie between
    bounds (``edges``): their middle is taken. Gaps at a mark err together with it, those inside each by itself."""
    seen_j, seen_ns = energy_of_tiles(tiles, begin_ns, end_ns)
    if seen_ns == 0:
        return None
    seconds = (end_ns - begin_ns) * 1e-9
    joules, ends = seen_j, []
    cuts = [edges.cut_stretch(tiles, at) for at in (begin_ns, end_ns)]
    for index in cuts[:1] if cuts[0] == cuts[1] else cuts:
        if index is not None:
            bounds = edges.cut(tiles, index, begin_ns, end_ns)
            whole = tiles.begin_ns[index], tiles.end_ns[index]
            joules += (
                bounds.middle_j - energy_of_tiles(tiles, max(begin_ns, int(whole[0])), min(end_ns, int(whole[1])))[0]
            )
            ends.append(bounds.u_j)
    gaps = gaps_of(tiles, begin_ns, end_ns)
    together, alone = 0.0, 0.0
    for gap in gaps:
        bounds = edges.gap(tiles, gap)
        joules += bounds.middle_j
        if gap.begin_ns == begin_ns or gap.end_ns == end_ns:
            together += bounds.u_j
        else:
            alone += bounds.u_j**2
    first = int(np.searchsorted(tiles.end_ns, begin_ns, side="right"))
    last = int(np.searchsorted(tiles.begin_ns, end_ns, side="left"))
    return Integral(
        joules=joules,
        seconds=seconds,
        seen=max(0.0, 1 - math.fsum(gap.seconds for gap in gaps) / seconds),
        gaps=gaps,
        gap_u_j=math.hypot(together, math.sqrt(alone)),
        ends_u_j=math.fsum(ends),
        readings=last - first,
    )


def window_energy(tiles: Tiles, begin_ns: int, end_ns: int) -> float:
    """The energy of a window; 0 where nothing is known of it. For moving the window a little."""
    found = integrate(tiles, begin_ns, end_ns) if end_ns > begin_ns else None
    return found.joules if found else 0.0


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
