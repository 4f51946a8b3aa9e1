"""How often a meter makes a new value, from readings that repeat.

``refresh`` finds the period exactly, from a load that was driven so that the value changes; ``spacing_s`` is what any trace
tells of it at a glance, and says nothing where the load alone may have made the changes.

A new value lies between the last reading without it and the first with it. The model is t_n = phase + n x period; a refresh
that brings the same value again is no change, and is absorbed by n. The period that all brackets allow is found by linear
programming: its interval holds the truth for certain where the device keeps time, and is statistical where it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..metering.character import Estimate
from ..metering.meters import Status
from ..metering.trace import Floats, Ints, Trace
from ..records import Notice
from .steps import FEWEST, STOOD

_MOST_CHANGES = 20_000  # taken into the fit
_TWICE = 1.96


class Refresh(NamedTuple):
    """``how``: from changes between readings, from the device's own stamps, or only bounded by how fast it was read."""

    period_s: Estimate | None
    phase_ns: int  # Unix time of one refresh
    how: Literal["changes", "stamps", "bounded", "unknown"]
    changes: int
    jitter_s: float = 0.0  # standard deviation of the device's own timing, where it does not keep time
    phase_half_s: float = 0.0  # how far the phase may be off, at the middle of what was read
    span_s: float = 0.0  # of what was read
    notices: tuple[Notice, ...] = ()

    @property
    def stretch_s(self) -> float:
        """How far the first and the last refresh may be off, with opposite signs, because the period is not known better."""
        if self.period_s is None or self.period_s.value <= 0:
            return 0.0
        return (self.period_s.high - self.period_s.low) / 4 * self.span_s / self.period_s.value


class _Brackets(NamedTuple):
    """Seconds after an origin between which each new value came."""

    low: Floats
    high: Floats

    @property
    def mid(self) -> Floats:
        return (self.low + self.high) / 2

    @property
    def width(self) -> float:
        return float(np.median(self.high - self.low))


def refresh(*traces: Trace, stamped: bool = False) -> Refresh:
    """The refresh period of a channel that was read while its value changed: one trace, or several of one device whose
    clock ran on in between.

    ``stamped``: the stamps are the device's own, one for each new value; it is seen without being told where stamps repeat.
    """
    parts = [part for one in traces if len(part := one.take(one.ok)) > 1]
    readings = sum(len(part) for part in parts)
    if readings < FEWEST:
        return _unknown(f"{readings} readings are too few")
    if stamped or all(repeats(part) for part in parts):
        return _from_stamps(np.concatenate([part.t_ns for part in parts]))
    origin = int(parts[0].t_ns[0])
    steps = sum(len(part) - 1 for part in parts)
    poll = float(np.median(np.concatenate([np.diff(part.t_ns) for part in parts]))) * 1e-9
    brackets, count, seconds = _changes(parts, origin)
    if count < FEWEST or len(brackets.low) < FEWEST:
        return _unknown(f"the value changed {count} times in {seconds:.0f} s of {readings} readings")
    if count > 0.6 * steps:
        return _bounded(origin, count / steps, count, poll, seconds / count)
    return _from_changes(origin, brackets, poll)


def repeats(trace: Trace) -> bool:
    """Whether the stamps are the device's own: some stand twice, where it was read again before it refreshed."""
    return len(trace) > 1 and bool((np.diff(trace.t_ns) == 0).mean() > 0.05)


def _changes(parts: Sequence[Trace], origin: int) -> tuple[_Brackets, int, float]:
    """Where the value changed, how often, and in how many seconds of reading. A change across a gap tells nothing."""
    low, high, count, seconds = [], [], 0, 0.0
    for part in parts:
        t, half = part.seconds(origin), part.half_ns * 1e-9
        gap = 3 * float(np.median(np.diff(t)))
        changed = changes(part)[1:]
        close = changed[t[changed] - t[changed - 1] <= gap]
        low.append(t[close - 1] - half[close - 1])
        high.append(t[close] + half[close])
        count += len(changed)
        seconds += float(np.minimum(np.diff(t), gap).sum())
    return _Brackets(np.concatenate(low), np.concatenate(high)), count, seconds


def _unknown(why: str) -> Refresh:
    text = f"no refresh period: {why}"
    advice = "read for longer, faster, and while the load changes"
    return Refresh(None, 0, "unknown", 0, notices=(Notice(code="refresh-unknown", text=text, advice=advice),))


def _bounded(origin: int, share: float, changes: int, poll: float, spacing: float) -> Refresh:
    """Nearly every reading is new: it refreshes about as often as it was read, or more often."""
    text = f"{share:.0%} of the readings, one every {poll:.3g} s, brought a new value: it refreshes at least about as often"
    notice = Notice(code="refresh-bounded", text=text, advice="read faster, if the meter allows it")
    low = 0.0 if share > 0.95 else poll
    return Refresh(Estimate(value=spacing, low=low, high=spacing * 1.05), origin, "bounded", changes, notices=(notice,))


# ------------------------------------------------------------------------------------------------------------ at a glance


#: Changes of the value from which their rhythm is believed to be the meter's and not the load's.
FEWEST_CHANGES = 20
#: A host that reads a meter of which nothing is known is taken to see values late by up to this many of its refreshes, and
#: by a second at least.
LATE_REFRESHES, LATE_S = 2.0, 1.0


def spacing_s(trace: Trace) -> float:
    """How often the value is new: the usual time between changes where most readings repeat the one before and the changes
    keep one rhythm, else the median time between readings. 0 for fewer than two.

    A value that stays may be new all the same: a quiet load on a meter with coarse steps changes when the load does. Few
    changes, or times between them that differ, say nothing of the meter, which is then believed to be as fast as it is read.
    """
    if len(trace) < 2:
        return 0.0
    spacing = float(np.median(np.diff(trace.t_ns))) * 1e-9
    good = trace.take(trace.ok)
    changed = changes(good)
    if FEWEST_CHANGES <= len(changed) < 0.6 * len(good):
        between = np.diff(good.t_ns[changed]) * 1e-9
        # Equal values in a row make some of the times two or three refreshes long; the shortest tell the period.
        usual = float(between[between <= 1.5 * np.quantile(between, 0.1)].mean())
        if np.median(between) <= 1.5 * usual:
            return max(spacing, usual)
    return spacing


def counter_spacing_s(trace: Trace) -> float:
    """How seldom a counter may be new: where it stands still at some readings, the shortest usual time between its moves,
    since it moves only at a refresh; no longer than LATE_REFRESHES readings or LATE_S. Else ``spacing_s``."""
    good = trace.take(trace.ok)
    moved = changes(good)[1:]
    spacing = spacing_s(trace)
    if len(moved) < 3 or len(moved) > (1 - STOOD) * (len(good) - 1):
        return spacing
    between = np.diff(good.t_ns[moved]) * 1e-9
    usual = float(between[between <= 1.5 * np.quantile(between, 0.1)].mean())
    return max(spacing, min(usual, max(LATE_S, LATE_REFRESHES * spacing)))


def changes(good: Trace) -> Ints:
    """Where the value differs from the one before; the first counts."""
    if not len(good):
        return np.empty(0, np.int64)
    out: Ints = np.concatenate([[0], np.flatnonzero(np.diff(good.value) != 0) + 1]).astype(np.int64)
    return out


# ------------------------------------------------------------------------------------------------------------ from stamps


def _from_stamps(t_ns: Ints) -> Refresh:
    """Least squares through the device's own stamps, each counted once."""
    stamps = np.unique(t_ns)
    if len(stamps) < FEWEST:
        return _unknown(f"{len(stamps)} different stamps are too few")
    t = (stamps - stamps[0]).astype(np.float64) * 1e-9
    period, phase = _line(t, np.round(t / np.median(np.diff(t))))
    n = np.round((t - phase) / period)
    period, phase = _line(t, n)
    apart = t - phase - period * n
    u = float(apart.std(ddof=2)) / float(np.sqrt(((n - n.mean()) ** 2).sum()))
    bounds = Estimate(value=period, low=period - _TWICE * u, high=period + _TWICE * u)
    at = int(stamps[0]) + round(phase * 1e9)
    return Refresh(bounds, at, "stamps", len(stamps), float(apart.std()), span_s=float(t[-1]))


def _line(t: Floats, n: Floats) -> tuple[float, float]:
    slope, start = np.polyfit(n, t, 1)
    return float(slope), float(start)


# ----------------------------------------------------------------------------------------------------------- from changes


def _from_changes(origin: int, brackets: _Brackets, poll: float) -> Refresh:
    """A first period from the spacing of the changes, then all brackets at once."""
    if len(brackets.low) > _MOST_CHANGES:
        brackets = _Brackets(brackets.low[:_MOST_CHANGES], brackets.high[:_MOST_CHANGES])
    period, phase = _coarse(brackets)
    n = np.round((brackets.mid - phase) / period)
    found = _allowed(brackets, n)
    if found is None:
        return _by_spread(origin, brackets, n, period, phase)
    bounds, phase, half = found
    span = float(brackets.high[-1] - brackets.low[0])
    notices: tuple[Notice, ...] = ()
    if brackets.width > 0.5 * bounds.value:
        text = f"it was read every {poll:.3g} s, which hardly distinguishes refreshes every {bounds.value:.3g} s"
        notices = (Notice(code="read-slowly", text=text, advice="read at least five times as often as it refreshes"),)
    return Refresh(bounds, origin + round(phase * 1e9), "changes", len(n), 0.0, half, span, notices)


def _coarse(brackets: _Brackets) -> tuple[float, float]:
    """The longest period whose refreshes fall into the brackets, by how sharply the changes' phases agree: on the first
    changes, then on twice as many each time, so that n never slips."""
    mid, width = brackets.mid, brackets.width
    gaps = np.diff(mid)
    longest = 1.25 * (float(np.quantile(gaps, 0.02)) + width)  # a quarter for what the device does not keep time
    shortest = min(
        max(longest / 6, 2.5 * width), longest
    )  # brackets lie on the grid of the readings, which is no refresh
    count = min(len(mid), 24)
    span = float(mid[count - 1] - mid[0])
    step = 1 / (6 * max(span, longest))
    f = np.arange(1 / longest - step, 1 / shortest + step, step)
    agree = _agreement(mid[:count], f)
    sharp = np.flatnonzero(agree >= 0.9 * np.sinc(width * f))  # as sharp as brackets so wide can make it
    f_best = float(f[sharp[0] if len(sharp) else int(np.argmax(agree))])
    while True:
        near = f_best + np.linspace(-2, 2, 161) * step
        f_best = float(near[int(np.argmax(_agreement(mid[:count], near)))])
        if count == len(mid):
            break
        count = min(len(mid), 2 * count)
        step = 1 / (6 * float(mid[count - 1] - mid[0]))
    phase = float(np.angle(np.exp(2j * np.pi * f_best * mid).mean())) / (2 * np.pi * f_best)
    return 1 / f_best, phase


def _agreement(t: Floats, f: Floats) -> Floats:
    """Length of the mean of the unit vectors at the phases of ``t``: 1 where all agree."""
    out = np.empty(len(f))
    for begin in range(0, len(f), 4096):
        part = f[begin : begin + 4096]
        out[begin : begin + 4096] = np.abs(np.exp(2j * np.pi * np.outer(part, t)).mean(axis=1))
    return out


def _allowed(brackets: _Brackets, n: Floats) -> tuple[Estimate, float, float] | None:
    """The periods that some phase brings into every bracket; the phase for the middle one, and by how much it may be off
    to either side. None where there is none."""
    from scipy.optimize import linprog

    ones = np.ones_like(n)
    above = np.column_stack([np.concatenate([-n, n]), np.concatenate([-ones, ones])])
    limit = np.concatenate([-brackets.low, brackets.high])
    ends = []
    for sign in (1.0, -1.0):
        solved = linprog([sign, 0.0], A_ub=above, b_ub=limit, bounds=[(0, None), (None, None)], method="highs")
        if not solved.success:
            return None
        ends.append(float(solved.x[0]))
    low, high = min(ends), max(ends)
    middle = (low + high) / 2
    least, most = float(np.max(brackets.low - n * middle)), float(np.min(brackets.high - n * middle))
    return Estimate(value=middle, low=low, high=high), (least + most) / 2, max(0.0, most - least) / 2


def _by_spread(origin: int, brackets: _Brackets, n: Floats, period: float, phase: float) -> Refresh:
    """The device does not keep time to within the brackets: least squares, twice, without those far off."""
    mid = brackets.mid
    apart = mid - phase - period * n
    for _ in range(2):
        keep = np.abs(apart) <= 3 * max(float(np.median(np.abs(apart))) * 1.4826, 1e-12) + brackets.width / 2
        period, phase = _line(mid[keep], n[keep])
        n = np.round((mid - phase) / period)
        apart = mid - phase - period * n
    kept = apart[keep]
    u = float(kept.std(ddof=2)) / float(np.sqrt(((n[keep] - n[keep].mean()) ** 2).sum()))
    jitter = float(np.sqrt(max(0.0, kept.var() - brackets.width**2 / 12)))
    notices: tuple[Notice, ...] = ()
    if float(apart.std()) > 0.2 * period:
        text = f"the changes do not lie on one period: {period:.3g} s fits them to {apart.std():.2g} s"
        notices = (
            Notice(code="refresh-irregular", text=text, advice="read faster; other readers may disturb the meter"),
        )
    bounds = Estimate(value=period, low=period - _TWICE * u, high=period + _TWICE * u)
    half = _TWICE * float(kept.std()) / float(np.sqrt(len(kept)))
    span = float(mid[-1] - mid[0])
    return Refresh(bounds, origin + round(phase * 1e9), "changes", len(n), jitter, half, span, notices)


# -------------------------------------------------------------------------------------------------- what refreshes brought


def updates(trace: Trace, found: Refresh) -> Trace:
    """One entry for each refresh that was read, at the time of the refresh; repeats by a new reading of the same value
    stay. Without a known period: one entry for each change. Entries without a value are left out."""
    ok = trace.take(trace.ok)
    if found.how in ("stamps", "bounded") or len(ok) < 2:
        first = np.concatenate([[True], np.diff(ok.t_ns) > 0]) if len(ok) else np.zeros(0, bool)
        return ok.take(first)
    if found.period_s is None:
        return ok.take(changes(ok))
    period = found.period_s.value
    t = ok.seconds(found.phase_ns)
    if (
        found.jitter_s > 0.02 * period
    ):  # the refreshes do not lie on the grid: each change is stamped by its own bracket
        changed = changes(ok)[1:]
        kept = ok.take(changed)
        middle = (ok.t_ns[changed - 1] + ok.t_ns[changed]) // 2
        half = (ok.t_ns[changed] - ok.t_ns[changed - 1]) // 2
        return Trace(kept.channel, middle, half, kept.value, kept.status)
    n = np.floor(t / period).astype(np.int64)
    within = t - n * period
    # A reading close to a refresh may have come before it or after: the one nearest the middle tells what it brought.
    margin = min(found.phase_half_s + 0.5 * (found.period_s.high - found.period_s.low), 0.25 * period)
    sure = np.flatnonzero((within >= margin) & (within <= period - margin))
    order = sure[np.lexsort((np.abs(within[sure] - 0.5 * period), n[sure]))]
    chosen = order[np.unique(n[order], return_index=True)[1]]
    kept = ok.take(chosen)
    at = found.phase_ns + np.round(n[chosen] * period * 1e9).astype(np.int64)
    return Trace(kept.channel, at, np.zeros_like(at), kept.value, np.full(len(at), Status.OK, np.uint8))
