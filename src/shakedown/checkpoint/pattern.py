"""The exact expected time of nested checkpoint levels, and the intervals that make it least. Pure; numpy; seconds.

A pattern is ``counts[L-1]`` blocks of level L-1, each of ``counts[L-2]`` blocks of level L-2, and so on down to segments
of ``work`` useful seconds. A block of level i ends with a checkpoint of level i, the last block of a greater one with that
one's. A failure that needs level i goes back to the last checkpoint of level i or above, restarts, which a failure may
strike too, and repeats. Failures are Poisson, so a block has two numbers alone: the chance that a failure of a class above
its own ends it, and the expected time until it ends either way. Those of a block follow from its parts' by geometric sums;
the topmost has no class above it, and its time over its work is the answer, at any MTTI. For one level that is Daly's
T = M e^(R/M) (e^((tau + d)/M) - 1).

A checkpoint that drains while the work goes on blocks for ``a``, slows the next ``D`` seconds by the share ``s`` and
protects once drained. For one level that is exactly a checkpoint that blocks for a + s D with a restart of R + (1 - s) D:
the expectations are equal term by term. For several it is close (``docs/checkpoint.md`` says how close). One helper
drains: the next checkpoint is not made before the drain is over, while work goes on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput
from .interval import checked

Floats = NDArray[np.float64]


class Scheme(NamedTuple):
    """What levels cost, the lowest first, in seconds; failures a second that need each."""

    blocked: tuple[float, ...]  # while a checkpoint of the level is taken
    drain: tuple[float, ...]  # after it; 0 where it protects at once
    restart: tuple[float, ...]
    rates: tuple[float, ...]
    slowdown: float = 0.0  # share of its speed that the application loses during a drain

    @property
    def costs(self) -> tuple[float, ...]:
        """What a checkpoint takes from the application: blocked time, and time lost during its drain."""
        return tuple(a + self.slowdown * d for a, d in zip(self.blocked, self.drain, strict=True))


class Optimum(NamedTuple):
    """Segments of ``work`` seconds; every ``counts[i]`` checkpoints of the level below one of level ``kept[i]``."""

    kept: tuple[int, ...]  # indexes of the scheme's levels that are used
    work: float
    counts: tuple[int, ...]  # counts[0] is 1
    waste: float


class _Block(NamedTuple):
    """A block's chance to be done, its chance to be ended by a failure of a class above its own, its expected time."""

    kept: Any
    lost: Any
    time: Any


def kept_levels(scheme: Scheme, kept: Sequence[int]) -> Scheme:
    """The scheme of these levels alone: failures that need one that is left out need the next above."""
    rates, at = [0.0] * len(kept), 0
    for level, rate in enumerate(scheme.rates):
        while at < len(kept) - 1 and kept[at] < level:
            at += 1
        rates[at] += rate

    def of(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(values[level] for level in kept)

    return Scheme(of(scheme.blocked), of(scheme.drain), of(scheme.restart), tuple(rates), scheme.slowdown)


def waste(scheme: Scheme, work: Any, counts: Sequence[Any]) -> Any:
    """T/Ts - 1 of a pattern, exactly; infinite where it never ends. ``work`` and each of ``counts`` may be arrays that
    broadcast. Raises BadInput for negative costs."""
    for blocked, drain, restart in zip(scheme.blocked, scheme.drain, scheme.restart, strict=True):
        checked(1.0, blocked, restart)
        checked(1.0, drain)
    top, rate = len(scheme.rates) - 1, sum(scheme.rates)
    segments, often = _segments(scheme, work), _how_often(counts)
    useful = sum(number * segment for number, segment in zip(often, segments, strict=True))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if not rate:
            return sum(number * cost for number, cost in zip(often, scheme.costs, strict=True)) / useful
        openings = range(top + 1) if any(scheme.drain) else (top,)
        blocks = {
            (opened, closed): _segment(
                segments[opened] + scheme.slowdown * scheme.drain[opened] + scheme.blocked[closed], rate
            )
            for opened in openings
            for closed in range(top + 1)
        }
        for level in range(top + 1):
            blocks = {
                (opened, closed): _retried(scheme, level, _pass(counts[level], blocks, level - 1, opened, closed))
                for opened in openings
                if opened >= level or len(openings) == 1
                for closed in range(level, top + 1)
            }
        found = blocks[top, top].time / useful - 1
    return np.where(np.isnan(found), np.inf, found)[()]


def intervals(scheme: Scheme, work: float, counts: Sequence[int]) -> tuple[float, ...]:
    """Useful seconds between two checkpoints of each level or above, in the mean over a pattern: the work after a
    checkpoint that drains lasts as long as the drain at least."""
    often, segments = _how_often(counts), _segments(scheme, work)
    useful = sum(number * float(segment) for number, segment in zip(often, segments, strict=True))
    return tuple(useful / sum(often[level:]) for level in range(len(counts)))


def _segments(scheme: Scheme, work: Any) -> list[Any]:
    """The useful seconds after a checkpoint of each level."""
    return [np.maximum(work, (1 - scheme.slowdown) * drain) for drain in scheme.drain]


def _how_often(counts: Sequence[Any]) -> list[Any]:
    """How many checkpoints of exactly each level a pattern has."""
    at_least: list[Any] = [1.0]
    for count in reversed(counts[1:]):
        at_least.insert(0, at_least[0] * count)
    return [one - above for one, above in itertools.pairwise([*at_least, 0.0])]


def _segment(seconds: Any, rate: float) -> _Block:
    """Work and the checkpoint at its end: any failure ends it."""
    lost = -np.expm1(-rate * seconds)
    return _Block(np.exp(-rate * seconds), lost, lost / rate)


def _pass(count: Any, parts: dict[tuple[int, int], _Block], below: int, opened: int, closed: int) -> _Block:
    """``count`` parts one after the other: the first follows a checkpoint of ``opened``, the last ends with one of
    ``closed``, those between with one of the level ``below``."""
    if below < 0:
        return parts[opened, closed]
    alone = parts[opened, closed]
    # Where nothing drains, what a block follows does not matter, and only one opening is kept.
    between = below if (below, below) in parts else opened
    first, middle, last = parts[opened, below], parts[between, below], parts[between, closed]
    inner = np.maximum(np.asarray(count, dtype=np.float64) - 2, 0)
    log_inner = inner * np.log1p(-middle.lost)  # of the chance that all inner parts succeed
    repeats = np.where(middle.lost > 0, -np.expm1(log_inner) / np.where(middle.lost > 0, middle.lost, 1.0), inner)
    time = first.time + first.kept * (repeats * middle.time + np.exp(log_inner) * last.time)
    lost = -np.expm1(np.log1p(-first.lost) + log_inner + np.log1p(-last.lost))
    kept = first.kept * np.exp(log_inner) * last.kept
    single = np.asarray(count) <= 1
    pairs = ((alone.kept, kept), (alone.lost, lost), (alone.time, time))
    return _Block(*(np.where(single, one, several) for one, several in pairs))


def _retried(scheme: Scheme, level: int, one: _Block) -> _Block:
    """A block that failures of its own class bring back to its begin, until it is done or a failure of a class above ends
    it. A restart is tried again after a failure of its class or below."""
    rate, own, above = sum(scheme.rates), scheme.rates[level], sum(scheme.rates[level + 1 :])
    own, above = (own / (own + above), above / (own + above)) if own + above > 0 else (1.0, 0.0)
    # What was done while the lost checkpoint drained is done once more, too.
    seconds = scheme.restart[level] + (1 - scheme.slowdown) * scheme.drain[level]
    through, fails = math.exp(-rate * seconds), -math.expm1(-rate * seconds)
    beyond = fails * (sum(scheme.rates[level + 1 :]) / rate)  # the chance that a try ends by a failure of a class above
    if through + beyond <= 0:
        return _Block(np.zeros_like(one.kept), np.zeros_like(one.lost), np.full_like(one.time, np.inf))
    given_up = beyond / (through + beyond)
    # Chances are added, never taken from one: a job that hardly ever ends keeps its digits.
    ends = one.kept + one.lost * (above + own * given_up)
    spent = one.time + one.lost * own * (fails / rate / (through + beyond))
    return _Block(one.kept / ends, one.lost * (above + own * given_up) / ends, spent / ends)


# ---------------------------------------------------------------------------------------------------------------- optimum

#: How wide the intervals around those of first order are searched, by how many points, and how often the search zooms in.
_WIDE, _POINTS, _ZOOMS = 8.0, 17, 4
#: How many choices of levels, the best by their start, are searched further; by how many steps.
_CHOICES, _MOST_MOVES = 2, 40


def optimum(scheme: Scheme) -> Optimum:
    """The levels, segment and counts of least expected waste. Levels that cost more than they save are not used.

    Starts from the intervals of first order of every choice of levels, searches around them, and moves the counts while
    that helps. Where nothing ever fails, or no checkpoint costs anything, there is no optimum to find: raises BadInput.
    """
    needed = max((level for level, rate in enumerate(scheme.rates) if rate > 0), default=-1)
    if needed < 0 or not max(scheme.costs) > 0:
        raise BadInput(
            "no interval is better than another where nothing fails or checkpoints are free",
            where="checkpoint plan",
            hint="give an MTTI, and a time or a rate for each level",
        )
    starts = sorted(
        (
            _started(kept_levels(scheme, (*lower, needed)), (*lower, needed))
            for size in range(needed + 1)
            for lower in itertools.combinations(range(needed), size)
        ),
        key=lambda one: one.waste,
    )
    return min((_moved(scheme, one) for one in starts[:_CHOICES]), key=lambda one: one.waste)


def _started(scheme: Scheme, kept: tuple[int, ...]) -> Optimum:
    """A pattern of all levels of a scheme, near the intervals of first order."""
    costs = [max(cost, 1e-6 * max(scheme.costs)) for cost in itertools.accumulate(scheme.costs, max)]
    added = np.maximum(np.diff([0.0, *costs]), 1e-9 * costs[-1])
    wanted = np.sqrt(2 * added / np.maximum(scheme.rates, 1e-9 * sum(scheme.rates)))
    counts = [1] + [max(1, round(above / below)) for below, above in itertools.pairwise(wanted)]
    return _best_work(scheme, kept, counts, wanted[0] / _WIDE, max(wanted[0] * _WIDE, 2 * max(scheme.drain)))


def _moved(whole: Scheme, found: Optimum) -> Optimum:
    """The best pattern of the same levels that single steps of the counts lead to."""
    scheme = kept_levels(whole, found.kept)
    for _ in range(_MOST_MOVES):
        tried = [
            _best_work(scheme, found.kept, (*found.counts[:level], count, *found.counts[level + 1 :]), low, high)
            for level in range(1, len(found.counts))
            for count in {max(1, found.counts[level] // 2), found.counts[level] - 1, found.counts[level] + 1}
            if count >= 1 and count != found.counts[level]
            for low, high in [(found.work / 3, found.work * 3)]
        ]
        better = min(tried, key=lambda one: one.waste, default=found)
        if not better.waste < found.waste * (1 - 1e-6):
            break
        found = better
    return found


def _best_work(scheme: Scheme, kept: tuple[int, ...], counts: Sequence[int], low: float, high: float) -> Optimum:
    """The best segment for given counts between two ends, by zooming in on the least of a row of points."""
    at, least = low, math.inf
    for _ in range(_ZOOMS):
        works = np.geomspace(low, high, _POINTS)
        wastes = waste(scheme, works, counts)
        index = int(np.argmin(wastes))
        at, least = float(works[index]), float(wastes[index])
        low, high = float(works[max(index - 1, 0)]), float(works[min(index + 1, _POINTS - 1)])
    return Optimum(kept, at, tuple(counts), least)
