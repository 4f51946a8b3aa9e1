"""Configurations of one number of nodes ranked by what they are forecast to reach, and how sure each place is.

All are forecast by the same draws, so that what is not known of the machine shifts them together and cancels in their
ratios. What the model gets wrong between two of them does not: it grows with the doublings of P, Q and N between them, as
between a target and the runs that calibrate, and VARIANT is added where they differ in NB, broadcast or look-ahead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..records import Record
from ..workloads.common.hpl import flop
from .calibration import calibrate, evaluate, quantiles
from .forecast import DRAWS, doublings, model_error
from .inputs import variants
from .priors import Array, draw
from .setup import Row, Setup

#: Relative standard deviation between variants of the algorithm: the model's mean error over 72 variants of one cluster
#: (docs/forecast.md).
VARIANT = 0.04


class Ranked(Record, frozen=True, kw_only=True):
    """One configuration; ``behind`` is its rate over the best one's, less one, with the interval of 80 %."""

    count: int
    n: int
    p: int
    q: int
    variant: str  # NB, broadcast and look-ahead, those that differ among the configurations
    rate: float  # flop/s
    behind: float
    behind_low: float
    behind_high: float
    best_chance: float  # that none of the others is faster


def worth_ranking(rows: Sequence[Row]) -> bool:
    """Whether there are several ways of running on one number of nodes, none of them a run that was made."""
    counts = [row.count for row in rows if row.rate is None]
    return len(counts) > len(set(counts))


def rank(
    setup: Setup, observed: Sequence[Row], candidates: Sequence[Row], *, draws: int = DRAWS, seed: int = 1
) -> tuple[Ranked, ...]:
    """The configurations, by number of nodes, the fastest first. Raises BadInput where the model misses the runs."""
    sample = draw(setup.priors, draws, seed)
    fit, _ = calibrate(setup, observed, sample)
    made: list[Ranked] = []
    for count in sorted({row.count for row in candidates}):
        rows = [row for row in candidates if row.count == count]
        runs = [evaluate(setup, row, sample, fit.dgemm) for row in rows]
        logs = [np.log(flop(row.n) / run.time_s) for row, run in zip(rows, runs, strict=True)]
        made += _ranked(setup, rows, logs, fit.weights, fit.dgemm, seed)
    return tuple(made)


def _ranked(
    setup: Setup, rows: Sequence[Row], logs: Sequence[Array], weights: Array, dgemm: Array, seed: int
) -> list[Ranked]:
    middles = [float(quantiles(one, weights)[1]) for one in logs]
    best = int(np.argmax(middles))
    random = np.random.default_rng(seed)
    moved = []
    for row, one in zip(rows, logs, strict=True):
        overhead = 1 - float(np.sum(weights * np.exp(one) / (dgemm * row.ranks)))
        away = doublings(rows[best], row)
        variant = VARIANT if any(variants([row.config, rows[best].config])) else 0.0
        sigma = math.hypot(model_error(setup, overhead) * math.sqrt(away), variant)
        moved.append(one + sigma * random.standard_normal(len(one)))
    first = np.argmax(np.array(moved), axis=0)
    told = variants([row.config for row in rows])
    made = []
    for index, row in enumerate(rows):
        low, _, high = quantiles(moved[index] - moved[best], weights)
        made.append(
            Ranked(
                count=row.count,
                n=row.n,
                p=row.p,
                q=row.q,
                variant=told[index],
                rate=math.exp(middles[index]),
                behind=math.expm1(middles[index] - middles[best]),
                behind_low=math.expm1(min(float(low), middles[index] - middles[best])),
                behind_high=math.expm1(max(float(high), middles[index] - middles[best])),
                best_chance=float(weights[first == index].sum()),
            )
        )
    return sorted(made, key=lambda one: -one.rate)
