"""The levels of a series between its changes: where each begins and how surely, how large each step is, what has not
lasted."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from . import chart
from .chart import Alarm, Floats

#: Standard normal quantiles of two-sided 95 and 98 %.
_Z95, _Z98 = 1.959964, 2.326348
#: A change is looked for so many runs about where the chart saw it.
_ABOUT = 40
#: Pairs of runs that the size of a step is taken from, at most so many runs a side: the nearest.
_MOST_A_SIDE = 250


class Step(NamedTuple):
    """``first``: the first run of the new level, within [earliest, latest] with 95 %. ``ratio``: the new level over the old
    one, within [low, high]."""

    first: int
    earliest: int
    latest: int
    told: int
    ratio: float
    low: float
    high: float


class Levels(NamedTuple):
    steps: list[Step]
    passed: list[Alarm]  # alarms that later runs did not bear out
    correlation: float  # of a run with the one before
    spread: float  # robust standard deviation of a run about its level, relative


def levels(values: Floats, hazard: float, least: float = 0.0) -> Levels:
    """Of a series of positive values, with one alarm in 1/``hazard`` runs where nothing changes; a change by less than
    ``least``, a share, is none."""
    logs = np.log(values)
    found = chart.alarms(logs, hazard)
    kept, passed = _placed(logs, found), list[Alarm]()
    while kept:
        steps, r = _steps(logs, kept)
        weak = [
            index for index, one in enumerate(steps) if not _stands(logs, kept, index, r) or abs(one.ratio - 1) < least
        ]
        if not weak:
            return Levels(steps, passed, r, _spread(logs, kept))
        least = min(weak, key=lambda index: abs(math.log(steps[index].ratio)))
        passed.append(kept.pop(least))
        kept = _placed(logs, kept)
    return Levels([], sorted(passed), chart.correlation(logs, ()), _spread(logs, []))


def _spread(logs: Floats, found: list[Alarm]) -> float:
    parts = np.split(logs, [one.first for one in found])
    return chart.spread(np.concatenate([part - np.median(part) for part in parts]))


def _placed(logs: Floats, found: list[Alarm]) -> list[Alarm]:
    """The alarms with the first run of each level where it fits best, given its neighbours."""
    firsts = [one.first for one in found]
    for _ in range(2):
        for index in range(len(firsts)):
            begin, end, sigma = _between(logs, firsts, index)
            places, costs = _costs(logs, begin, end, firsts[index], sigma)
            if len(places):
                firsts[index] = int(places[np.argmin(costs)])
    return [Alarm(first, one.told) for first, one in zip(firsts, found, strict=True)]


def _between(logs: Floats, firsts: list[int], index: int) -> tuple[int, int, float]:
    """The runs from the change before to the one after, and the deviation of a run, outliers cut: more than the robust one
    for heavy tails and two modes, so that a likelihood is not surer than it may be."""
    begin = firsts[index - 1] if index else 0
    end = firsts[index + 1] if index + 1 < len(firsts) else len(logs)
    left = np.concatenate([part - np.median(part) for part in np.split(logs, firsts) if len(part)])
    bound = 2 * chart.CLIP * chart.spread(left)
    return begin, end, float(np.sqrt(np.mean(np.clip(left, -bound, bound) ** 2)))


def _costs(logs: Floats, begin: int, end: int, about: int, sigma: float) -> tuple[list[int], Floats]:
    """Twice the negative logarithm of the likelihood of a change at each place, up to a constant; outliers count as CLIP."""
    places = list(range(max(begin + 1, about - _ABOUT), min(end, about + _ABOUT + 1)))
    costs = []
    for place in places:
        cost = 0.0
        for part in (logs[begin:place], logs[place:end]):
            left = np.clip((part - np.median(part)) / max(sigma, 1e-12), -2 * chart.CLIP, 2 * chart.CLIP)
            cost += float(left @ left)
        costs.append(cost)
    return places, np.array(costs)


def _steps(logs: Floats, found: list[Alarm]) -> tuple[list[Step], float]:
    firsts = [one.first for one in found]
    r = chart.correlation(logs, tuple(firsts))
    wider = chart.inflation(r)
    steps = []
    for index, one in enumerate(found):
        begin, end, sigma = _between(logs, firsts, index)
        places, costs = _costs(logs, begin, end, one.first, sigma)
        weights = np.exp(-(costs - costs.min()) / 2 / wider**2)
        order = np.argsort(-weights)
        enough = int(np.searchsorted(np.cumsum(weights[order]) / weights.sum(), 0.95)) + 1
        likely = [places[at] for at in order[:enough]]
        size, low, high = difference(logs[begin : one.first], logs[one.first : end], wider)
        steps.append(Step(one.first, min(likely), max(likely), one.told, math.exp(size), math.exp(low), math.exp(high)))
    return steps, r


def _stands(logs: Floats, found: list[Alarm], index: int, correlation: float) -> bool:
    """Whether the levels on both sides differ, with 98 %: they were chosen for it."""
    begin, end, _ = _between(logs, [one.first for one in found], index)
    first = found[index].first
    _, low, high = difference(logs[begin:first], logs[first:end], chart.inflation(correlation), _Z98)
    return not low <= 0 <= high


def difference(before: Floats, after: Floats, wider: float = 1.0, quantile: float = _Z95) -> tuple[float, float, float]:
    """How far ``after`` lies above ``before``: the median of all differences (Hodges and Lehmann, "Estimates of location
    based on rank tests", Annals of Mathematical Statistics 34, 1963, 598-611) with its interval, 95 % unless told, by the
    normal approximation of the number of positive differences, whose deviation is ``wider`` times that of independent
    runs."""
    before, after = before[-_MOST_A_SIDE:], after[:_MOST_A_SIDE]
    pairs = np.sort((after[:, None] - before[None, :]).ravel())
    m, n = len(before), len(after)
    half = quantile * wider * math.sqrt(m * n * (m + n + 1) / 12)
    rank = math.floor(m * n / 2 - half)
    if rank < 0:
        return float(np.median(pairs)), -math.inf, math.inf
    return float(np.median(pairs)), float(pairs[rank]), float(pairs[-1 - rank])
