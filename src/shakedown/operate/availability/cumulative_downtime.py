"""Segments -> what is scheduled, lost and not observed, added up over time, and the window that slides over it. Pure; exact.

The sums are integers (weighted seconds in ``parts`` of a node), linear between the times at which anything changes. So the
level of every window there could be follows from its values at those times and a window's length after them, and the moment
at which a window first meets the contract is the root of a linear function, rounded up to the next second.

EL = 100 x operational use time / scheduled use time, in processor hours: ARL-TR-7085, section 3.4, equation 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .history import Ints, distinct
from .records import Attempt, Point, Window, level
from .segments import Bools, Segments

#: Sums up to here fit into 64 bits with room for one addition; above, Python's own integers are taken.
_FITS = float(1 << 61)


@dataclass(frozen=True, slots=True)
class CumulativeDowntime:
    """Cumulated from ``at[0]``: scheduled, lost, not observed, in weighted seconds x parts."""

    at: Ints
    scheduled: NDArray[Any]
    lost: NDArray[Any]
    unobserved: NDArray[Any]
    rates: tuple[Ints, Ints, Ints]  # of the three, between the times
    parts: int

    @property
    def begin_s(self) -> int:
        return int(self.at[0])

    @property
    def end_s(self) -> int:
        return int(self.at[-1])


def of_segments(
    found: Segments,
    excluded: Bools,
    forgiven: Bools,
    *,
    system_at: Fraction | None = None,
    own: Edges | None = None,
) -> CumulativeDowntime:
    """The course of a history. ``excluded`` segments are not scheduled, ``forgiven`` ones count as up. With
    ``system_at`` the system counts as one: it is out while at least that share of what is scheduled is lost, and not
    scheduled while at least that share is excluded."""
    full = found.weight * found.parts
    gone = found.weight * found.lost
    none = np.zeros_like(full)
    own = edges(found) if own is None else own
    rates = timeline(
        own,
        np.where(excluded, none, full),
        np.where(excluded | forgiven, none, gone),
        np.where(found.seen | excluded | forgiven, none, full - gone),
        np.where(excluded, full, none),
    )
    parts = found.parts
    if system_at is not None:
        rates, parts = _system(rates[:3], rates[3], system_at), 1
    return added_up(own.at, rates[:3], parts)


def added_up(at: Ints, rates: Sequence[Ints], parts: int) -> CumulativeDowntime:
    """What is scheduled, lost and not observed in each second between the times, as sums over time."""
    largest = max(float(one.max(initial=0)) for one in rates) * float(at[-1] - at[0])
    kind = object if largest > _FITS else np.int64
    length = np.diff(at).astype(kind)
    sums = [np.concatenate((np.zeros(1, kind), np.cumsum(one.astype(kind) * length))) for one in rates]
    return CumulativeDowntime(at, sums[0], sums[1], sums[2], (rates[0], rates[1], rates[2]), parts)


class Edges(NamedTuple):
    """The times at which anything changes, and of each segment the places of its begin and end among them."""

    at: Ints
    low: Ints
    high: Ints


def edges(found: Segments) -> Edges:
    """Sorted once for all that is added up."""
    every = np.concatenate((found.begin, found.end, [found.begin_s, found.end_s]))
    at, place = np.unique(every, return_inverse=True)
    size = len(found.begin)
    return Edges(at, place[:size], place[size : 2 * size])


def timeline(own: Edges, *amounts: Ints) -> list[Ints]:
    """The sum of each amount of the segments between the edges."""
    rates = []
    for amount in amounts:
        change = np.zeros(len(own.at), np.int64)
        np.add.at(change, own.low, amount)
        np.subtract.at(change, own.high, amount)
        rates.append(np.cumsum(change)[:-1])
    return rates


def _system(rates: list[Ints], excluded: Ints, at: Fraction) -> list[Ints]:
    """The rates of the system as one thing that is there, out or not observed."""
    scheduled, lost, unseen = rates
    there = (scheduled > 0) & (excluded * at.denominator < (scheduled + excluded) * at.numerator)
    out = there & (lost * at.denominator >= scheduled * at.numerator)
    maybe = there & ~out & ((lost + unseen) * at.denominator >= scheduled * at.numerator) & (unseen > 0)
    return [there.astype(np.int64), out.astype(np.int64), maybe.astype(np.int64)]


def at_times(course: CumulativeDowntime, times: Ints) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The three sums at any times within the course."""
    place = np.clip(np.searchsorted(course.at, times, "right") - 1, 0, max(0, len(course.at) - 2))
    since = times - course.at[place]
    found = []
    for amount, rate in zip((course.scheduled, course.lost, course.unobserved), course.rates, strict=True):
        if not len(rate) or (rate[0] == rate).all():  # as it is of most machines: nothing to look up
            found.append((times - course.at[0]).astype(amount.dtype) * (int(rate[0]) if len(rate) else 0))
        else:
            found.append(amount[place] + rate[place].astype(amount.dtype, copy=False) * since)
    return found[0], found[1], found[2]


def within(course: CumulativeDowntime, begin_s: int, end_s: int) -> tuple[int, int, int]:
    """What is scheduled, lost and not observed in one window. Exact."""
    scheduled, lost, unseen = at_times(course, np.array([begin_s, end_s], np.int64))
    return int(scheduled[1] - scheduled[0]), int(lost[1] - lost[0]), int(unseen[1] - unseen[0])


def window(course: CumulativeDowntime, begin_s: int, end_s: int) -> Window:
    """One window as a record."""
    scheduled, lost, unseen = within(course, begin_s, end_s)
    value, low, high = level(scheduled, lost, unseen)
    return Window(
        begin_s=begin_s,
        end_s=end_s,
        scheduled=scheduled / course.parts,
        lost=lost / course.parts,
        unobserved=unseen / course.parts,
        level=value,
        low=low,
        high=high,
    )


@dataclass(frozen=True, slots=True)
class Sliding:
    """The window at every end at which its level can turn; between them the sums are linear."""

    end: Ints
    scheduled: NDArray[Any]
    lost: NDArray[Any]
    unobserved: NDArray[Any]
    length_s: int


def slide(course: CumulativeDowntime, length_s: int) -> Sliding:
    """Every window that fits; empty where the course is shorter than one."""
    first, last = course.begin_s + length_s, course.end_s
    if last < first:
        empty = np.empty(0, np.int64)
        return Sliding(empty, empty, empty, empty, length_s)
    ends = np.concatenate((course.at, course.at + length_s, [first, last]))
    ends = distinct(ends[(ends >= first) & (ends <= last)])
    high, low = at_times(course, ends), at_times(course, ends - length_s)
    sums = [a - b for a, b in zip(high, low, strict=True)]
    return Sliding(ends, sums[0], sums[1], sums[2], length_s)


def margin(sliding: Sliding, target: Fraction, *, blind_is_lost: bool) -> NDArray[Any]:
    """(1 - target) x scheduled - lost, times the target's denominator: at or above 0 the window meets it. Exact."""
    lost = sliding.lost + sliding.unobserved if blind_is_lost else sliding.lost
    bound = float(sliding.scheduled.max(initial=0)) * target.denominator
    scheduled = sliding.scheduled.astype(object) if bound > _FITS else sliding.scheduled
    lost = lost.astype(object) if bound > _FITS else lost
    found: NDArray[Any] = (target.denominator - target.numerator) * scheduled - target.denominator * lost
    return found


def decide(course: CumulativeDowntime, begin_s: int, end_s: int, target: Fraction) -> tuple[bool, bool]:
    """Whether one window meets the target with what was not observed as lost, and as up. Exact."""
    scheduled, lost, unseen = within(course, begin_s, end_s)
    allowed = (1 - target) * scheduled
    return scheduled > 0 and lost + unseen <= allowed, scheduled > 0 and lost <= allowed


def attempts(
    course: CumulativeDowntime, length_s: int, target: Fraction, *, blind_is_lost: bool
) -> tuple[Attempt, ...]:
    """A window that begins anew at the moment in which more is lost than a whole window may lose."""
    lost = course.lost + course.unobserved if blind_is_lost else course.lost
    found: list[Attempt] = []
    begin = course.begin_s
    while begin + length_s <= course.end_s:
        end = begin + length_s
        sums = at_times(course, np.array([begin, end], np.int64))
        before = int(sums[1][0]) + (int(sums[2][0]) if blind_is_lost else 0)
        limit = before + int((1 - target) * (int(sums[0][1]) - int(sums[0][0]))) + 1
        place = int(np.searchsorted(lost, limit, "left"))
        broke = None
        if place < len(lost):
            low, high = int(lost[place - 1]), int(lost[place])
            step = int(course.at[place]) - int(course.at[place - 1])
            broke = int(course.at[place - 1]) + -(-step * (limit - low) // (high - low))
        if broke is None or broke > end:
            return (*found, Attempt(begin_s=begin, end_s=end, met=True))
        found.append(Attempt(begin_s=begin, end_s=broke, met=False, why="more was lost than the whole window may lose"))
        begin = broke
    return (*found, Attempt(begin_s=begin, end_s=course.end_s, met=False, why="not over yet"))


def first_met(sliding: Sliding, target: Fraction, *, blind_is_lost: bool) -> int | None:
    """The earliest whole second at which a window ends that meets the target; None where none does."""
    return first_of_all(sliding.end, [margin(sliding, target, blind_is_lost=blind_is_lost)], sliding.scheduled > 0)


def first_of_all(ends: Ints, margins: Sequence[NDArray[Any]], there: Bools) -> int | None:
    """The first whole second at which all margins, linear between the ends, are at or above zero; ``there``: at which ends
    anything was scheduled."""
    good = there.copy()
    maybe = there[:-1] & there[1:]
    for one in margins:
        good &= one >= 0
        maybe &= (one[:-1] >= 0) | (one[1:] >= 0)
    first = int(np.argmax(good)) if good.any() else len(ends)
    for at in np.flatnonzero(maybe[:first]).tolist():
        step = int(ends[at + 1] - ends[at])
        low, high = 0, step
        for one in margins:
            before, after = int(one[at]), int(one[at + 1])
            if before < 0:
                low = max(low, -(-step * -before // (after - before)))
            elif after < 0:
                high = min(high, step * before // (before - after))
        if low <= high:
            return int(ends[at]) + low
    return int(ends[first]) if first < len(ends) else None


def meets_always(sliding: Sliding, target: Fraction, *, blind_is_lost: bool) -> bool:
    """Whether every window meets the target: linear between its ends, so these suffice."""
    return bool((margin(sliding, target, blind_is_lost=blind_is_lost) >= 0).all())


def extreme(sliding: Sliding, course: CumulativeDowntime, *, best: bool) -> Window | None:
    """The best or worst window by the level of what was observed; the earliest of equals. The level is monotone between the
    ends, so it is found at one of them."""
    scheduled = (sliding.scheduled - sliding.unobserved).astype(np.float64)
    usable = scheduled > 0
    if not usable.any():
        return None
    share = np.where(usable, sliding.lost.astype(np.float64) / np.where(usable, scheduled, 1.0), np.nan)
    at = int(np.nanargmin(share) if best else np.nanargmax(share))
    end = int(sliding.end[at])
    return window(course, end - sliding.length_s, end)


def points(sliding: Sliding, most: int = 400) -> tuple[Point, ...]:
    """The course of the level for a figure: of each of ``most`` stretches its first, lowest and highest window."""
    count = len(sliding.end)
    if not count:
        return ()
    scheduled = sliding.scheduled.astype(np.float64)
    lost, unseen = sliding.lost.astype(np.float64), sliding.unobserved.astype(np.float64)
    chosen: Sequence[int] = range(count)
    if count > most:
        share = lost / np.maximum(scheduled, 1.0)
        bins = (sliding.end - sliding.end[0]) * (most // 3) // max(1, int(sliding.end[-1] - sliding.end[0]) + 1)
        starts = np.flatnonzero(np.concatenate(([True], bins[1:] != bins[:-1])))
        stops = [*starts[1:].tolist(), count]
        picked = {count - 1}
        for low, high in zip(starts.tolist(), stops, strict=True):
            picked |= {low, low + int(np.argmin(share[low:high])), low + int(np.argmax(share[low:high]))}
        chosen = sorted(picked)
    found = []
    for at in chosen:
        value, low_level, high_level = level(float(scheduled[at]), float(lost[at]), float(unseen[at]))
        found.append(Point(end_s=int(sliding.end[at]), level=value, low=low_level, high=high_level))
    return tuple(found)
