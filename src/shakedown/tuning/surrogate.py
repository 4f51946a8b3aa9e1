"""What a configuration that was not run should take: the model's word, corrected by what was measured of its like.

A Gaussian process on log(measured / predicted). Its covariance says what is believed of HPL: each value of each axis
shifts the time by its own factor (an additive part), two values together by a smaller one (an interaction), and every
configuration by a little of its own; values of NB near each other are alike. Runs of one block share a shift, as in
paired.py, and a run far from what its like took weighs less. Between configurations that differ in one axis this is the
paired comparison; beyond that every run says something of every value that it had, which is what makes a few dozen
runs enough for thousands of configurations. Standard formulas: Rasmussen and Williams, Gaussian Processes for Machine
Learning, equations 2.23 to 2.26 and 2.30.

This module and the model use numpy; both run between the measured processes, never beside one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .paired import DRIFT, HUBER
from .records import Point
from .space import PRIMARY, Space

_COMMON = 1.0  # deviation of the model's common factor: anything
_PRIMARY, _OTHER = 0.05, 0.03  # of the factor of one value
_PRIMARY_PAIRS, _PAIRS = 0.025, 0.012  # of the factor of two values together
_OWN = 0.006  # of a configuration by itself
_NB_REACH = 0.8  # in powers of two: how far one NB says something of another
_SCALES = (0.4, 1.0, 2.0)  # of all those together, and of the noise: the likeliest pair is taken
_NOISES = (0.6, 1.0, 1.7)
_PASSES = 3


class Run(NamedTuple):
    """One run: its configuration, block, and log(seconds / predicted seconds)."""

    point: Point
    block: str
    log_ratio: float
    weight: float = 1.0
    drift: float = DRIFT


class Posterior:
    """Of log(seconds / predicted) without noise and drift, for the points asked for: ``mean``, ``variance``, and any
    column of the covariance."""

    def __init__(self, mean: Any, variance: Any, column: Callable[[int], Any]) -> None:
        self.mean, self.variance, self.column = mean, variance, column


class Surrogate:
    """Fitted to runs; ``noise`` is the standard deviation of one run's logarithm."""

    def __init__(self, space: Space, runs: Sequence[Run], noise: float) -> None:
        self._space = space
        self._axes = [name for name, values in space.axes.items() if len(values) > 1]
        self._codes = self._encode([run.point for run in runs])
        values = np.array([run.log_ratio for run in runs])
        names = {name: index for index, name in enumerate(dict.fromkeys(run.block for run in runs))}
        block = np.array([names[run.block] for run in runs])
        drift = np.array([run.drift for run in runs])
        together = np.outer(drift, drift) * (block[:, None] == block[None, :])
        given = np.array([run.weight for run in runs])
        signal = self._kernel(self._codes, self._codes)
        fits = [
            (self._fit(_COMMON**2 + scale**2 * signal + together, values, noise * times, given), scale, noise * times)
            for scale in _SCALES
            for times in _NOISES
        ]
        (self._factor, self._weights, _), self._scale, self.noise = max(fits, key=lambda fit: fit[0][2])

    def _encode(self, points: Sequence[Point]) -> Any:
        """Each axis as a number: NB as its power of two, others as the index of the value."""
        place = {name: {value: i for i, value in enumerate(self._space.axes[name])} for name in self._axes}
        return np.array(
            [
                [
                    math.log2(int(point[name])) if name == "nb" else place[name].get(point[name], -1)
                    for name in self._axes
                ]
                for point in points
            ]
        ).reshape(len(points), len(self._axes))

    def _kernel(self, one: Any, other: Any) -> Any:
        shape = (len(one), len(other))
        total, squares, single = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        first, first_squares = np.zeros(shape), np.zeros(shape)
        same = np.ones(shape, dtype=bool)
        for index, name in enumerate(self._axes):
            apart = one[:, index][:, None] - other[:, index][None, :]
            alike = np.exp(-0.5 * (apart / _NB_REACH) ** 2) if name == "nb" else (apart == 0).astype(float)
            same &= apart == 0
            total += alike
            squares += alike**2
            single += alike * (_PRIMARY**2 if name in PRIMARY else _OTHER**2)
            if name in PRIMARY:
                first += alike
                first_squares += alike**2
        pairs = _PAIRS**2 * (total**2 - squares) / 2  # of all; those of two primary axes weigh more
        pairs += (_PRIMARY_PAIRS**2 - _PAIRS**2) * (first**2 - first_squares) / 2
        return single + pairs + _OWN**2 * same

    def _fit(self, expected: Any, values: Any, noise: float, given: Any) -> tuple[Any, Any, float]:
        """Cholesky factor, weights and log-likelihood, with less trust in runs that lie far off."""
        trust = given
        for _ in range(_PASSES):
            factor = np.linalg.cholesky(expected + np.diag(noise**2 / trust))
            weights = _solve(factor, values)
            rest = np.abs(noise**2 / trust * weights)  # what neither configuration nor block explains
            trust = given * np.minimum(1.0, HUBER * noise / np.sqrt(given) / np.maximum(rest, 1e-12))
        likelihood = -0.5 * float(values @ weights) - float(np.log(np.diag(factor)).sum())
        return factor, weights, likelihood

    def posterior(self, points: Sequence[Point]) -> Posterior:
        """What is believed of these configurations."""
        codes = self._encode(points)

        def kernel(one: Any, other: Any) -> Any:
            return _COMMON**2 + self._scale**2 * self._kernel(one, other)

        cross = kernel(self._codes, codes)
        half = np.linalg.solve(self._factor, cross)
        own = kernel(codes[:1], codes[:1])[0, 0]  # the same for every configuration

        def column(index: int) -> Any:
            return kernel(codes, codes[index : index + 1])[:, 0] - half.T @ half[:, index]

        return Posterior(cross.T @ self._weights, own - (half**2).sum(axis=0), column)


def _solve(factor: Any, values: Any) -> Any:
    return np.linalg.solve(factor.T, np.linalg.solve(factor, values))


def against(found: Posterior, leader: int) -> Any:
    """The variance of each configuration's difference to the leader."""
    column = found.column(leader)
    return np.maximum(found.variance - 2 * column + column[leader], 0.0)


def batch(found: Posterior, leader: int, count: int, noise: float, first: Sequence[int] = ()) -> list[int]:
    """``count`` of the configurations to run next: ``first``, then the least mean less its deviation, each as if those
    before it had been run already (Desautels and others 2014, GP-BUCB). The deviation is that of the difference to the
    leader, which is not among them."""
    variance = against(found, leader)
    to_leader = found.column(leader)
    learnt: list[Any] = []
    chosen: list[int] = []
    wanted = list(first)
    while len(chosen) < min(count, len(found.mean) - 1):
        score = np.round(found.mean - np.sqrt(np.maximum(variance, 0.0)), 9)
        score[[leader, *chosen]] = np.inf
        pick = wanted.pop(0) if wanted else int(np.argmin(score))
        chosen.append(pick)
        column = found.column(pick)
        relative = column - column[leader] - to_leader + to_leader[leader]
        for earlier in learnt:
            relative = relative - earlier * earlier[pick]
        learnt.append(relative / math.sqrt(max(float(variance[pick]), 0.0) + noise**2))
        variance = variance - learnt[-1] ** 2
    return chosen


def expected_gain(found: Posterior, leader: int) -> float:
    """The most that any configuration is expected to gain on the leader, as a share of the time (expected improvement:
    Mockus 1978)."""
    deviation = np.sqrt(against(found, leader) + 1e-12)
    ahead = (found.mean[leader] - found.mean) / deviation
    density = np.exp(-0.5 * ahead**2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in ahead])
    gain = deviation * (ahead * below + density)
    gain[leader] = 0.0
    return float(gain.max())
