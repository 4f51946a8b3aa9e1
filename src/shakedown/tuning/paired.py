"""Comparing configurations that were run in blocks: what each one costs, and how sure that is.

The logarithm of a run's seconds is taken as its configuration's effect plus its block's plus noise. Blocks are rounds
of runs made right after each other, so that a drift of the machine shifts a whole block and cancels in every comparison
within it; a block's shift is a random effect of known size (``DRIFT``), so that configurations which never met in one
block can still be compared, less surely (recovery of inter-block information: Yates 1940). A run that was disturbed
lies far from its neighbours and weighs less (Huber 1964, k = 2). Noise is pooled over all configurations, with a prior
that stands for a few runs, so that it is never zero after the first round.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from .records import Interval

DRIFT = 0.05  # standard deviation of a block's shift, relative
NOISE = 0.02  # of one run, before anything is known
NOISE_RUNS = 4  # so many runs' worth is that assumption
HUBER = 2.0
_PASSES = 12
_MOST_LOG = 20.0
#: Two-sided 95 % quantiles of Student's t by degrees of freedom.
_T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}


class Observation(NamedTuple):
    """One run: which configuration, in which block, and the logarithm of its seconds."""

    item: Hashable
    block: Hashable
    log_s: float
    weight: float = 1.0  # below 1: less is thought of it from the start
    drift: float = DRIFT  # of its block


class Comparison(NamedTuple):
    """``effect`` is the logarithm of each configuration's seconds; ``covariance`` belongs to it, in the same order."""

    items: tuple[Hashable, ...]
    effect: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    noise: float  # standard deviation of the logarithm of one run; far runs count for less, with a prior of NOISE
    dof: float
    seen_noise: float = NOISE  # the same without either: every run as far off as it was, nothing assumed
    seen_dof: float = 0.0

    def order(self) -> list[Hashable]:
        """The configurations, the fastest first."""
        return [item for _, item in sorted(zip(self.effect, self.items, strict=True), key=lambda pair: pair[0])]

    def difference(self, one: Hashable, other: Hashable) -> tuple[float, float]:
        """log(seconds of one / seconds of other) and its standard error."""
        i, j = self.items.index(one), self.items.index(other)
        variance = self.covariance[i][i] + self.covariance[j][j] - 2 * self.covariance[i][j]
        return self.effect[i] - self.effect[j], math.sqrt(max(variance, 0.0))

    def interval(self, one: Hashable, other: Hashable) -> Interval:
        """How much slower one is than the other, with the 95 % interval."""
        difference, error = self.difference(one, other)
        return ratio_interval(difference, error, self.dof)

    def seconds(self, item: Hashable) -> tuple[float, float, float]:
        """The seconds of a configuration and the 95 % interval, in the machine's usual state."""
        i = self.items.index(item)
        half = t95(self.dof) * math.sqrt(max(self.covariance[i][i], 0.0))
        return math.exp(self.effect[i]), math.exp(self.effect[i] - half), math.exp(self.effect[i] + half)


def t95(dof: float) -> float:
    """The two-sided 95 % quantile of Student's t; between the table and infinity by Fisher's expansion to 1/dof^2."""
    if dof < 1:
        return _T95[1]
    if dof <= 10:
        return _T95[int(dof)]
    z = 1.959964
    return z + (z**3 + z) / (4 * dof) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * dof**2)


def ratio_interval(difference: float, error: float, dof: float) -> Interval:
    """The interval of a ratio less one from the difference of logarithms and its standard error."""
    return interval_of(difference, t95(dof) * error)


def interval_of(difference: float, half: float) -> Interval:
    """A ratio less one from the difference of logarithms and half the width of its interval. Beyond a factor of e^20 the
    ends are cut: nothing is known there."""
    low, high = max(difference - half, -_MOST_LOG), min(difference + half, _MOST_LOG)
    return Interval(value=math.expm1(difference), low=math.expm1(low), high=math.expm1(high))


def joint_factor(found: Comparison, comparisons: int, level: float = 0.95) -> float:
    """Times a standard error of ``found``: the half-width of intervals that hold all ``comparisons`` at once with that
    probability (Bonferroni; Student's t). The noise is what was seen where that is larger than what was assumed, and only
    runs that were seen count as degrees of freedom; infinite without any.
    """
    if found.seen_dof < 1 or comparisons < 1:
        return math.inf
    from scipy.special import stdtrit

    quantile = float(-stdtrit(found.seen_dof, (1 - level) / 2 / comparisons))
    return quantile * max(1.0, found.seen_noise / found.noise)


def compare(observations: Sequence[Observation]) -> Comparison:
    """The effects of all configurations that were observed. Raises ValueError for no observation."""
    if not observations:
        raise ValueError("no observations")
    items = tuple(dict.fromkeys(one.item for one in observations))
    place = {item: index for index, item in enumerate(items)}
    blocks = {block: index for index, block in enumerate(dict.fromkeys(one.block for one in observations))}
    drift = [0.0] * len(blocks)
    for one in observations:
        drift[blocks[one.block]] = max(drift[blocks[one.block]], one.drift)
    rows = [(place[one.item], blocks[one.block], one.log_s) for one in observations]
    given = [one.weight for one in observations]
    weights = given
    noise = NOISE
    effect: list[float] = []
    inverse: list[list[float]] = []
    dof = 0.0
    for _ in range(_PASSES):
        effect, inverse, shift = _solve(rows, weights, len(items), noise, drift)
        left = [log_s - effect[item] - shift[block] for item, block, log_s in rows]
        dof = max(0.0, sum(weights) - len(items) - 0.5 * (len(blocks) - 1))
        # Huber's second proposal: a run that is far off adds its bounded influence, not its square.
        squares = sum(own * (weight / own * rest) ** 2 for own, weight, rest in zip(given, weights, left, strict=True))
        noise = math.sqrt((NOISE_RUNS * NOISE**2 + squares) / (NOISE_RUNS + dof))
        weights = [
            weight * min(1.0, HUBER * noise / abs(rest) / math.sqrt(weight)) if rest else weight
            for weight, rest in zip(given, left, strict=True)
        ]
    covariance = tuple(tuple(noise**2 * value for value in row) for row in inverse)
    seen_dof = max(0.0, sum(given) - len(items) - _block_dof(rows, given, noise, drift))
    seen = math.sqrt(sum(own * rest**2 for own, rest in zip(given, left, strict=True)) / max(seen_dof, 1.0))
    return Comparison(items, tuple(effect), covariance, noise, NOISE_RUNS + dof, seen, seen_dof)


def _block_dof(
    rows: Sequence[tuple[int, int, float]], weights: Sequence[float], noise: float, drift: Sequence[float]
) -> float:
    """Degrees of freedom that the blocks' shifts take: nearly one each where the drift is larger than the noise."""
    weight = [0.0] * len(drift)
    for (_, block, _), own in zip(rows, weights, strict=True):
        weight[block] += own
    ratios = [(one / noise) ** 2 for one in drift]
    return max(0.0, sum(ratio * own / (1 + ratio * own) for ratio, own in zip(ratios, weight, strict=True)) - 1)


def _solve(
    rows: Sequence[tuple[int, int, float]],
    weights: Sequence[float],
    items: int,
    noise: float,
    drift: Sequence[float],
) -> tuple[list[float], list[list[float]], list[float]]:
    """Generalised least squares of fixed items and random blocks: effects, their covariance over noise^2, and shifts."""
    blocks = len(drift)
    ratios = [(one / noise) ** 2 for one in drift]
    in_block: list[dict[int, float]] = [{} for _ in range(blocks)]
    sums = [0.0] * blocks
    matrix = [[0.0] * items for _ in range(items)]
    right = [0.0] * items
    for (item, block, value), weight in zip(rows, weights, strict=True):
        in_block[block][item] = in_block[block].get(item, 0.0) + weight
        sums[block] += weight * value
        matrix[item][item] += weight
        right[item] += weight * value
    shrink = [ratio / (1 + ratio * sum(found.values())) for ratio, found in zip(ratios, in_block, strict=True)]
    for block, found in enumerate(in_block):
        for i, weight_i in found.items():
            right[i] -= shrink[block] * weight_i * sums[block]
            for j, weight_j in found.items():
                matrix[i][j] -= shrink[block] * weight_i * weight_j
    inverse = np.linalg.inv(np.array(matrix))
    effect = [float(value) for value in inverse @ np.array(right)]
    shift = [
        shrink[block] * (sums[block] - sum(weight * effect[item] for item, weight in found.items()))
        for block, found in enumerate(in_block)
    ]
    return effect, inverse.tolist(), shift
