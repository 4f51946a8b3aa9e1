"""When a level changed: a control chart by ranks, which needs no known mean, spread or kind of noise.

After each run, every split of the runs since the last change is looked at: U_k is the sum of the signs of all differences
between a run after the split k and one before, over its standard deviation sqrt(k (n - k) (n + 1) / 3) for n runs (Mann and
Whitney, "On a test of whether one of two random variables is stochastically larger than the other", Annals of Mathematical
Statistics 18, 1947, 50-60). The largest of them is held against a limit h(n), such that a series without a change passes it
with the chosen probability at each run, given that it did not before (Hawkins and Deng, "A nonparametric change-point
control chart", Journal of Quality Technology 42, 2010, 165-173). Ranks of independent runs are the same whatever their
distribution, so that the limits hold from the first runs on, for heavy tails and for two modes alike; equal values are
ordered at random, by numbers that are the same each time. The limits stand in ``limits.toml``.

Runs that resemble the one before are not independent. How much so is estimated about the levels on both sides of the split,
and the statistic is divided by sqrt((1 + r) / (1 - r)), by which the spread of a mean grows where the correlation of
neighbours is r (Bartlett, "Some aspects of the time-correlation problem", Journal of the Royal Statistical Society 98, 1935,
536-543). That is an approximation, and is said beside the series.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import strict
from ..statistics import MAD_TO_SIGMA

Floats = NDArray[np.float64]

#: Runs that are looked back on: older ones no longer count for where the level lies.
WINDOW = 256
#: The limits reach to one false alarm in so many runs.
LEAST_HAZARD = 1 / 9000
#: Fewer runs tell nothing.
FEWEST = 4
#: Residuals are taken as at most so many robust deviations.
CLIP = 3.0
#: A correlation of neighbours is one from so many of its standard errors, 1/sqrt(n).
CORRELATED_FROM = 1.64
#: Above it the level wanders, and no rate of false alarms can be held.
WANDERING = 0.8


class Alarm(NamedTuple):
    """``first``: the run from which the level is another; ``told``: the run after which that was known."""

    first: int
    told: int


@cache
def _limits() -> tuple[Floats, Floats, Floats]:
    """Runs, the logarithms of probabilities, and the limits of each."""
    text = resources.files(__package__).joinpath("limits.toml").read_text("utf-8")
    table = strict.read_toml(text, "limits.toml")
    rows = table["limit"]
    return (
        np.array(table["runs"], float),
        np.array([math.log(1 / one["one_in"]) for one in rows]),
        np.array([one["values"] for one in rows], float),
    )


@cache
def limits(hazard: float) -> Floats:
    """h(n) for n from 0 to WINDOW: the probability to pass it at a run is ``hazard``, without a change. Infinite where so
    few runs cannot tell. Between the rows of the table by the logarithm of the probability; outside it as at its end."""
    runs, logs, values = _limits()
    at = min(max(math.log(hazard), float(logs[-1])), float(logs[0]))
    row = np.array([np.interp(-at, -logs, column) for column in values.T])
    found: Floats = np.interp(np.arange(WINDOW + 1), runs, row)
    found[: int(runs[0])] = math.inf
    return found


def alarms(values: Floats, hazard: float) -> list[Alarm]:
    """The changes of a series in the order in which they were told, as if it had been looked at after each run.

    After one the chart begins anew with the next run: those since the change were chosen for being extreme, so that what
    follows a false alarm would look like a second change.
    """
    ranks = np.argsort(np.lexsort((np.random.default_rng(1).random(len(values)), values))).astype(float)
    found: list[Alarm] = []
    while (one := _next(values, ranks, found, limits(hazard))) is not None:
        found.append(one)
    return found


def alarming(values: Floats, hazard: float) -> NDArray[np.bool_]:
    """Of many series of one length, a row each: which of them ``alarms`` may find anything in. Those that it leaves out have
    no alarm; it is hundreds of times as fast as that, and does not look at how runs resemble the one before."""
    rows, runs = values.shape
    order = np.random.default_rng(1).random(runs)
    ranks = np.argsort(np.lexsort((np.broadcast_to(order, values.shape), values), axis=1), axis=1).astype(np.int32)
    bound = limits(hazard)
    sums = np.zeros((rows, runs), np.int32)
    found = np.zeros(rows, bool)
    for now in range(1, runs):
        begin = max(0, now + 1 - WINDOW)
        if begin:
            signs = np.sign(ranks[:, begin:now] - ranks[:, begin - 1 : begin])
            sums[:, begin : now - 1] -= np.cumsum(signs[:, ::-1], axis=1)[:, ::-1][:, 1:]
        sums[:, begin:now] += np.cumsum(np.sign(ranks[:, now : now + 1] - ranks[:, begin:now]), axis=1, dtype=np.int32)
        n = now + 1 - begin
        if n >= FEWEST and math.isfinite(bound[n]):
            before = np.arange(1, n)
            most = bound[n] * np.sqrt(before * (n - before) * (n + 1) / 3)
            found |= (np.abs(sums[:, begin:now]) > most).any(axis=1)
    return found


def _next(values: Floats, ranks: Floats, found: list[Alarm], bound: Floats) -> Alarm | None:
    """The first alarm among the runs after those that were told."""
    start = found[-1].told + 1 if found else 0
    firsts = tuple(one.first for one in found)
    sums = np.zeros(0)
    for now in range(start, len(ranks)):
        begin = max(start, now + 1 - WINDOW)
        if begin > start:  # the oldest leaves: what it gave to each split goes with it
            signs = np.sign(ranks[begin:now] - ranks[begin - 1])
            sums = sums[1:] - np.cumsum(signs[::-1])[::-1][1:]
        sums = np.append(sums, 0.0)[: now - begin] + np.cumsum(np.sign(ranks[now] - ranks[begin:now]))
        n = now + 1 - begin
        if n < FEWEST:
            continue
        before = np.arange(1, n)
        z = np.abs(sums) / np.sqrt(before * (n - before) * (n + 1) / 3)
        best = int(np.argmax(z))
        if z[best] <= bound[n] + 1e-9:
            continue
        first = begin + best + 1
        r = correlation(values[: now + 1], (*firsts, first))
        if r < WANDERING and z[best] / inflation(r) > bound[n] + 1e-9:
            return Alarm(first, now)
    return None


def residuals(values: Floats, firsts: tuple[int, ...]) -> Floats:
    """What is left of the values about the medians of their levels, each of which begins at one of ``firsts``, in robust
    deviations of all and at most CLIP of them."""
    parts = np.split(values, firsts)
    left = np.concatenate([part - np.median(part) for part in parts if len(part)])
    sigma = spread(left)
    if sigma <= 0:
        return np.zeros(len(left))
    clipped: Floats = np.clip(left / sigma, -CLIP, CLIP)
    return clipped


def spread(left: Floats) -> float:
    """The robust standard deviation of residuals; of values of which most are equal, the usual one."""
    sigma = MAD_TO_SIGMA * float(np.median(np.abs(left)))
    return sigma if sigma > 0 else float(np.std(left))


def correlation(values: Floats, firsts: tuple[int, ...]) -> float:
    """Of a run with the one before, about their levels; 0 where it cannot be told from none. Levels that were fitted take
    some away, which is added again."""
    n = len(values)
    left = residuals(values, firsts)
    power = float(left @ left)
    if power <= 0:
        return 0.0
    r = float(left[1:] @ left[:-1]) / power + (2 + len(firsts)) / n
    return min(r, 0.99) if r * math.sqrt(n) > CORRELATED_FROM else 0.0


def inflation(r: float) -> float:
    """By how much the spread of a mean is larger than that of independent runs."""
    return math.sqrt((1 + r) / (1 - r))
