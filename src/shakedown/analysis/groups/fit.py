"""A group is as slow as its slowest part: which few parts explain the slow groups, robustly.

With y the logarithm of a group's time (or of the inverse of its rate: larger is slower),

    y_g = base(size, span, rail) + drift(round) + max(0, largest effect among the named parts that g uses) + noise

Parts are named one after another, the one with the most evidence first (orthogonal matching pursuit, Pati and others
1993, with a maximum in place of a sum), and after each step all effects, the base and the noise are estimated again. A
part's effect is Huber's M-estimate (1964, bend 1.345) over its groups that no named part explains. So one far value
moves nothing, and a part that only shares groups with a slow one is cleared as soon as that one is named. Of a part all
of whose groups are explained, what counts is what they have beyond the explanation: a node that is slower than its slow
switch.

The base of groups of one size is a median over the groups; over rails the lower median of the rails', since of two rails one
may be slow. Parts in a third of all groups or more shift the median itself: each of them is also tried as the first that is
named, and the start after which the residuals are smallest counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..statistics import MAD_TO_SIGMA
from ..table import Floats, Ints
from .parts import FEWEST_TESTS, Parts

HUBER_BEND = 1.345
_STEPS = 10
_TINY = 1e-9
_ROUND_TESTS = 4  # from which a round has a median worth taking out
_ROUND_DEVIATIONS = 3.0
MOST_NAMED = 64
_LARGE = 0.3  # of the groups: such a part shifts the base
_LARGE_DEVIATIONS = 2.0  # that its groups lie beyond the others
_LARGE_TRIED = 4


class Measured(NamedTuple):
    """The tests that have a value: y is the logarithm of the time, or of the inverse of the rate."""

    y: Floats
    stratum: Ints  # groups of one size and span
    rail: Ints
    round: Ints


class Evidence(NamedTuple):
    """Of each part: its effect beyond what is explained, the standard uncertainty of that, and from how many tests."""

    effect: Floats
    u: Floats
    tests: Ints


class Fit(NamedTuple):
    named: tuple[int, ...]  # parts, in the order of naming
    effects: Floats  # of those
    residuals: Floats  # per test, beyond base, drift and explanation
    explained: Floats  # per test
    sigma: float
    evidence: Evidence  # of every part, with the named ones in place


def sparse(explained: Floats, measured: Measured) -> tuple[Floats, float]:
    """What is left of y beyond an explanation, and its robust scale."""
    rest = measured.y - explained
    rest = rest - _base(rest, measured)
    sigma = scale(rest)
    rest = rest - _drift(rest, measured, sigma)
    return rest, scale(rest)


def scale(values: Floats) -> float:
    """Robust standard deviation about zero."""
    return max(MAD_TO_SIGMA * float(np.median(np.abs(values))), _TINY) if len(values) else _TINY


def _medians(values: Floats, keys: Ints) -> tuple[Floats, Ints]:
    """The median of each key's values, and how many there are."""
    counts = np.bincount(keys)
    order = np.lexsort((values, keys))
    starts = np.cumsum(counts) - counts
    ordered = values[order]
    last = max(len(ordered) - 1, 0)
    low = np.minimum(starts + np.maximum(counts - 1, 0) // 2, last)
    high = np.minimum(starts + counts // 2, last)
    return (ordered[low] + ordered[high]) / 2, counts


def _base(rest: Floats, measured: Measured) -> Floats:
    """Of each stratum the median; where rails are known the lower median of the rails' medians."""
    rails = int(measured.rail.max(initial=-1)) + 2
    cell = measured.stratum * rails + measured.rail + 1
    medians, counts = _medians(rest, cell)
    base = np.zeros(len(rest))
    for stratum in range(int(measured.stratum.max(initial=-1)) + 1):
        cells = np.arange(stratum * rails, min((stratum + 1) * rails, len(counts)))
        cells = cells[counts[cells] > 0]
        if len(cells):
            base[measured.stratum == stratum] = np.sort(medians[cells])[(len(cells) - 1) // 2]
    return base


def _drift(rest: Floats, measured: Measured, sigma: float) -> Floats:
    """What each disturbed round was slower by as a whole, beyond what its rail is: something else used the network.

    A round counts as disturbed when its median lies 3 of its standard errors (1.25 sigma / sqrt(groups)) from zero.
    """
    if (measured.round < 0).any():
        return np.zeros(len(rest))
    by_rail, _ = _medians(rest, measured.rail + 1)
    medians, counts = _medians(rest - by_rail[measured.rail + 1], measured.round)
    error = 1.2533 * sigma / np.sqrt(np.maximum(counts, 1))
    shifted = (np.abs(medians) > _ROUND_DEVIATIONS * error) & (counts >= _ROUND_TESTS)
    return np.where(shifted, medians, 0.0)[measured.round]


def explained_by(named: list[int], effects: Floats, parts: Parts, tests: int) -> Floats:
    """The largest effect among the named parts of each test, and 0 where it has none."""
    found = np.zeros(tests)
    for part, effect in zip(named, effects.tolist(), strict=True):
        mine = tests_of(parts, part)
        found[mine] = np.maximum(found[mine], effect)
    return found


def tests_of(parts: Parts, part: int) -> Ints:
    end = int(parts.counts[: part + 1].sum())
    return parts.test[end - int(parts.counts[part]) : end]


def locations(values: Floats, weights: Floats, part: Ints, parts: int, sigma: float) -> tuple[Floats, Floats]:
    """Huber's estimate for each part over its rows of positive weight, and how many those are."""
    counts: Floats = np.bincount(part, weights, parts).astype(float)
    middle = np.zeros(parts)
    for _ in range(_STEPS):
        off = np.abs(values - middle[part]) / sigma
        bent = weights * np.minimum(1.0, HUBER_BEND / np.maximum(off, HUBER_BEND))
        total = np.bincount(part, bent, parts)
        middle = np.bincount(part, bent * values, parts) / np.maximum(total, _TINY)
    return middle, counts


def inflation(residuals: Floats, sigma: float) -> float:
    """The variance of Huber's estimate times n over sigma^2: E psi^2 / (E psi')^2 (Huber 1964)."""
    z = residuals / sigma
    psi = np.clip(z, -HUBER_BEND, HUBER_BEND)
    inside = float(np.mean(np.abs(z) <= HUBER_BEND))
    return float(np.mean(psi**2)) / max(inside, 0.1) ** 2


def evidence_of(residuals: Floats, explained: Floats, sigma: float, parts: Parts) -> Evidence:
    """Of each part from the tests that nothing named explains; where those are too few, from all of them."""
    number = len(parts.counts)
    free = (explained[parts.test] <= 0).astype(float)
    clean = np.bincount(parts.part, free, number)
    enough = (clean >= FEWEST_TESTS) & (clean >= 0.3 * parts.counts)
    weights = np.where(enough[parts.part], free, 1.0)
    effect, counts = locations(residuals[parts.test], weights, parts.part, number, sigma)
    u = sigma * np.sqrt(inflation(residuals, sigma) / np.maximum(counts, 1.0))
    return Evidence(effect, u, counts.astype(np.int64))


def refined(named: list[int], effects: Floats, measured: Measured, parts: Parts) -> tuple[Floats, Evidence]:
    """The effects of named parts, each over the tests in which it is the slowest, and the evidence of each."""
    tests = len(measured.y)
    for _ in range(3):
        residuals, sigma = sparse(explained_by(named, effects, parts, tests), measured)
        explained = explained_by(named, effects, parts, tests)
        found, u, counts = np.zeros(len(named)), np.zeros(len(named)), np.zeros(len(named), np.int64)
        for index, part in enumerate(named):
            others = explained_by(named[:index] + named[index + 1 :], np.delete(effects, index), parts, tests)
            mine = tests_of(parts, part)
            alone = mine[others[mine] <= 0]
            if len(alone) < max(FEWEST_TESTS, 0.3 * len(mine)):
                alone = mine[others[mine] < effects[index]]
            one = np.zeros(len(alone), np.int64)
            middle, _ = locations(residuals[alone] + explained[alone], np.ones(len(alone)), one, 1, sigma)
            found[index], counts[index] = (float(middle[0]), len(alone)) if len(alone) else (0.0, 0)
            u[index] = sigma * np.sqrt(inflation(residuals, sigma) / max(len(alone), 1))
        effects = np.maximum(found, 0.0)
    return effects, Evidence(found, u, counts)


def large_parts(measured: Measured, parts: Parts) -> list[int]:
    """The few parts in so many groups that they shift the base, and that look slow: the clearest first."""
    tests = len(measured.y)
    residuals, sigma = sparse(np.zeros(tests), measured)
    found = []
    for part in np.flatnonzero(parts.counts >= _LARGE * tests).tolist():
        inside = np.zeros(tests, bool)
        inside[tests_of(parts, part)] = True
        number = int(inside.sum())
        apart = float(np.median(residuals[inside]) - np.median(residuals[~inside]))
        z = apart / sigma / 1.2533 / np.sqrt(1 / number + 1 / (tests - number))
        if z > _LARGE_DEVIATIONS:
            found.append((-z, part))
    return [part for _, part in sorted(found)[:_LARGE_TRIED]]
