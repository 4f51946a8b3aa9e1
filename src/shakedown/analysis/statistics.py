"""Robust statistics of samples: median, its bootstrap interval, outliers; proportions. Deterministic; imports no numpy.

The harness uses this module while it measures, so it imports nothing heavy; analysis.derive applies the same ranks to
whole columns.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class Interval(NamedTuple):
    low: float
    high: float


@lru_cache(maxsize=4096)
def median_ranks(n: int, level: float = 0.95) -> tuple[int, int]:
    """The ranks (from 0) of the order statistics that bound the bootstrap percentile interval of the median of n samples.

    This is the bootstrap with infinitely many resamples, which for a median needs no resampling: for odd n = 2 m + 1,
    P(median* <= x_(k)) = P(Binomial(n, k/n) >= m + 1) (Efron 1979, "Bootstrap methods: another look at the jackknife",
    section 3). For even n the same with m = n/2 for the lower and m + 1 for the upper of the two middle values; the
    interval takes the lower end of the one and the upper end of the other, which is never too narrow.

    For n < 3 the whole range is returned.
    """
    if n < 1:
        raise ValueError("no samples")
    if n < 3:
        return 0, n - 1
    tail = (1 - level) / 2
    low_needs = (n + 1) // 2  # as many resampled values at or below x_(k) as put the (lower) median there
    high_needs = n // 2 + 1
    low = _first(n, low_needs, tail)
    high = _first(n, high_needs, 1 - tail)
    return low - 1, high - 1


def _first(n: int, needs: int, probability: float) -> int:
    """The smallest k from 1 to n with P(Binomial(n, k/n) >= needs) >= probability; it grows with k."""
    low, high = 1, n
    while low < high:
        middle = (low + high) // 2
        if _binomial_at_least(n, middle / n, needs) >= probability:
            high = middle
        else:
            low = middle + 1
    return low


def _binomial_at_least(n: int, p: float, needs: int) -> float:
    if p >= 1:
        return 1.0
    if n > 300:  # normal approximation with continuity correction: the ranks differ by at most one there
        deviation = math.sqrt(n * p * (1 - p))
        return 0.5 * math.erfc((needs - 0.5 - n * p) / (deviation * math.sqrt(2)))
    return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(needs, n + 1))


def median_interval(samples: Sequence[float], level: float = 0.95) -> Interval:
    """The bootstrap percentile interval of the median. Raises ValueError for no samples."""
    ordered = sorted(samples)
    low, high = median_ranks(len(ordered), level)
    return Interval(ordered[low], ordered[high])


def proportion_interval(share: float, count: float, level: float = 0.95) -> Interval:
    """The interval of a proportion of which ``share`` was found among ``count`` things, each of which is counted or not on
    its own: the exact one of Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial" (Biometrika 26, 1934, 404-413), by quantiles of the beta distribution. It covers at least ``level``.

    Raises ValueError for no things, and for a share that is none.
    """
    from scipy.special import betaincinv

    if count <= 0 or not 0 <= share <= 1:
        raise ValueError(f"{share} of {count} is not a proportion")
    found, tail = share * count, (1 - level) / 2
    low = 0.0 if found <= 0 else float(betaincinv(found, count - found + 1, tail))
    high = 1.0 if found >= count else float(betaincinv(found + 1, count - found, 1 - tail))
    return Interval(low, high)


def relative_width(samples: Sequence[float], level: float = 0.95) -> float | None:
    """Half the width of the median's interval over the median: 0.02 reads "give or take 2 %". None for fewer than two."""
    if len(samples) < 2:
        return None
    interval = median_interval(samples, level)
    middle = statistics.median(samples)
    return (interval.high - interval.low) / 2 / abs(middle) if middle else None


#: 1 / Phi^-1(3/4): makes the median absolute deviation estimate sigma for normal samples.
MAD_TO_SIGMA = 1.4826
#: Samples farther from the median than this many robust deviations are flagged (Iglewicz and Hoaglin 1993).
OUTLIER_DEVIATIONS = 3.5


def outliers(samples: Sequence[float]) -> tuple[int, ...]:
    """The indices of samples beyond 3.5 robust deviations of the median. Flagged, never dropped.

    Where more than half of the samples are equal the deviation is zero and every other value is flagged.
    """
    if len(samples) < 3:
        return ()
    middle = statistics.median(samples)
    deviation = MAD_TO_SIGMA * statistics.median(abs(value - middle) for value in samples)
    return tuple(index for index, value in enumerate(samples) if abs(value - middle) > OUTLIER_DEVIATIONS * deviation)
