"""Nodes that are slow to some of their peers: one of two uplinks, one rail, one way round a ring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..table import Floats

LEAST_SHARE, MOST_SHARE = 0.1, 0.9
FEWEST = 3  # slow peers and good ones
_OUTSIDE = 0.02  # of a row, explained by neither part: strays
_STEPS = 40
_STILL = 1e-3  # of sigma: a step that moves less is the last
_LEAST_GAIN = 20.0  # in twice the logarithm of the likelihood, beyond what the number of rows tried asks for


class Parts(NamedTuple):
    """A row in two heaps: ``base`` of the good peers, ``shift`` of the slow ones beyond it (in log time)."""

    base: float
    shift: float
    share: float
    slow: Floats  # the probability of each peer to be among the slow
    u: float  # standard uncertainty of the shift
    q: float  # how likely a row of one heap looks like this, among all rows tried


def split(x: Floats, sigma: Floats, rows: int) -> Parts | None:
    """A row's values as two heaps of the known width ``sigma``, or None where one explains them as well.

    Expectation and maximisation from two starts; the likelihoods are compared with a part for strays in both.
    """
    if len(x) < 2 * FEWEST:
        return None
    width = float(np.ptp(x)) + float(np.mean(sigma)) * 4
    floor = _OUTSIDE / width
    single = max(_one(x, sigma, floor, start) for start in (float(np.median(x)), float(np.mean(x))))
    best: tuple[float, Floats, float, float] | None = None
    for quantiles in ((0.25, 0.75), (0.45, 0.92), (0.08, 0.55)):
        low, high = (float(one) for one in np.quantile(x, quantiles))
        found = _two(x, sigma, floor, low, high)
        if best is None or found[0] > best[0]:
            best = found
    assert best is not None
    likelihood, slow, low, high = best
    count = float(slow.sum())
    share = count / len(x)
    gain = 2 * (likelihood - single)
    if gain < least_gain(rows) or not LEAST_SHARE <= share <= MOST_SHARE:
        return None
    if min(count, len(x) - count) < FEWEST - 0.5 or high - low < 1.5 * float(np.median(sigma)):
        return None
    middle = float(np.median(sigma))
    u = middle * float(np.sqrt(1 / max(count, 1) + 1 / max(len(x) - count, 1)))
    q = min(1.0, max(rows, 1) * float(np.exp(-gain / 2)))  # the ratio has two degrees of freedom: place and share
    return Parts(low, high - low, share, slow, u, q)


def least_gain(rows: int) -> float:
    """Twice the gain in the logarithm of the likelihood from which two heaps are believed, of so many rows tried."""
    return _LEAST_GAIN + 2 * float(np.log(max(rows, 1)))


def _density(x: Floats, centre: float, sigma: Floats) -> Floats:
    found: Floats = np.exp(-0.5 * ((x - centre) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    return found


def _one(x: Floats, sigma: Floats, floor: float, centre: float) -> float:
    likelihood = 0.0
    for _ in range(_STEPS):
        density = (1 - _OUTSIDE) * _density(x, centre, sigma)
        likelihood = float(np.log(density + floor).sum())
        weights = density / (density + floor) / sigma**2
        if weights.sum() <= 0:
            break
        previous, centre = centre, float((weights * x).sum() / weights.sum())
        if abs(centre - previous) < _STILL * float(sigma[0]):
            break
    return likelihood


def _two(x: Floats, sigma: Floats, floor: float, low: float, high: float) -> tuple[float, Floats, float, float]:
    share = 0.5
    likelihood = -np.inf
    slow = np.zeros(len(x))
    for _ in range(_STEPS):
        first = (1 - _OUTSIDE) * (1 - share) * _density(x, low, sigma)
        second = (1 - _OUTSIDE) * share * _density(x, high, sigma)
        total = first + second + floor
        likelihood = float(np.log(total).sum())
        one, other = first / total / sigma**2, second / total / sigma**2
        slow = second / np.maximum(first + second, 1e-300)
        if one.sum() <= 0 or other.sum() <= 0:
            break
        previous = low, high
        low, high = float((one * x).sum() / one.sum()), float((other * x).sum() / other.sum())
        if low > high:
            low, high, share = high, low, 1 - share
            continue
        share = float(np.clip((other * sigma**2).sum() / len(x), 1e-3, 1 - 1e-3))
        if max(abs(low - previous[0]), abs(high - previous[1])) < _STILL * float(sigma[0]):
            break
    # a value beyond the slow heap is slow, one before the good heap is good, however far off it lies
    slow = np.where(x >= high, 1.0, np.where(x <= low, 0.0, slow))
    return likelihood, slow, low, high
