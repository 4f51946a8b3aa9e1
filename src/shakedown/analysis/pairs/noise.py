"""From residuals to probabilities: how the noise is distributed, and which pairs it does not explain.

Sigma is robust (fit.scale). The tail is that of Student's t, with degrees of freedom chosen so that the quantile far out
is the one seen: a little heavier than normal noise for few pairs, where nothing can be seen of tails, and what the data
say for many. Of the two sides of the residuals the lighter one counts: on the slow side slow links make a tail, on the fast
side pairs that are nearer than others; noise makes both.

Names are given at a false-discovery rate by the procedure of Benjamini and Hochberg (1995, "Controlling the false discovery
rate"): of all that is named, at most this share is wrong in the mean over many fleets. It holds for the dependence that a
common fit brings (Benjamini and Yekutieli 2001, positive regression dependence).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..table import Floats

MOST_DOF = 200.0  # as good as normal
FEW_DOF = 8.0  # where there are too few pairs to see a tail: on the safe side of normal
_TAIL_COUNT = 20  # residuals beyond the quantile that the tail is judged by
_LEAST_TAIL = 5e-4
_CHOICES = np.array([2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 14.0, 20.0, 30.0, 50.0, 100.0, MOST_DOF])
_BULK = 0.8413447460685429  # one deviation of a normal distribution


class Tail(NamedTuple):
    dof: float
    slow: float  # the scale of the slow side over the common one: at least 1


def tail(z: Floats, mirrored: Floats) -> Tail:
    """The tail of standardised residuals: those of the slow side, and those of the fast side as if they were slow."""
    from scipy.special import ndtri, stdtrit

    slow_scale = 1.0
    if len(z) >= 50:
        slow_scale = max(1.0, float(np.quantile(z, _BULK) - np.median(z)))
        slow_scale = 1.0 if slow_scale < 1.0 + 2.5 / np.sqrt(len(z)) else slow_scale
    share = max(_TAIL_COUNT / len(z), _LEAST_TAIL)
    if share > 0.05:
        return Tail(FEW_DOF, slow_scale)
    # the distance of the far quantile in units of the near one, which is free of sigma
    bulk = stdtrit(_CHOICES, _BULK)
    expected = -stdtrit(_CHOICES, share) / bulk
    seen = []
    for side in (z, mirrored):
        near = float(np.quantile(side, _BULK))
        seen.append(float(np.quantile(side, 1 - share)) / max(near, 1e-12))
    lighter = min(seen)
    # of a tail as light as a normal one the estimate itself is uncertain: what lies within two of its deviations is normal
    normal = float(-ndtri(share))
    if lighter <= normal * (1 + 2 * _relative_error(share, len(z))):
        return Tail(MOST_DOF, slow_scale)
    return Tail(float(np.interp(-lighter, -expected, _CHOICES)), slow_scale)


def _relative_error(share: float, count: int) -> float:
    """The relative standard error of a normal sample's upper quantile: sqrt(p (1 - p) / n) / density / quantile."""
    from scipy.special import ndtri

    quantile = float(-ndtri(share))
    density = float(np.exp(-(quantile**2) / 2) / np.sqrt(2 * np.pi))
    return float(np.sqrt(share * (1 - share) / count)) / density / quantile


def one_sided(z: Floats, dof: float) -> Floats:
    """P(noise alone is as slow as this or slower)."""
    from scipy.special import stdtr

    found: Floats = np.asarray(stdtr(dof, -z), float)
    return found


def quantile(p: float, dof: float) -> float:
    """The z that noise passes with probability ``p``."""
    from scipy.special import stdtrit

    return float(-stdtrit(dof, p))


def farther_than_fast(slow: Floats, fast: Floats, rate: float) -> float:
    """The least z from which at most this share of the slow side is what noise puts on the fast side as well.

    Nothing but noise makes a pair faster than its nodes explain, so as many pairs as lie beyond -z on the fast side
    are noise beyond z on the slow one (the counting of Barber and Candes 2015, equation 5, without its constant). Infinite
    where there is no such z.
    """
    ordered = np.sort(slow)
    slow_counts = np.arange(len(ordered), 0, -1)
    fast_counts = len(fast) - np.searchsorted(np.sort(fast), ordered, side="left")
    good = np.flatnonzero(fast_counts <= rate * slow_counts)
    return float(ordered[good[0]]) if len(good) else float("inf")


def discovery_rates(p: Floats, tests: int) -> Floats:
    """The false-discovery rate at which each is just named (adjusted p-values of Benjamini and Hochberg).

    ``tests`` is how many were tested; ``p`` may hold the least of them only: all that could be named.
    """
    order = np.argsort(p)
    ranked = p[order] * tests / np.arange(1, len(p) + 1)
    adjusted = np.minimum.accumulate(ranked[::-1])[::-1]
    found = np.empty(len(p))
    found[order] = np.minimum(adjusted, 1.0)
    return found
