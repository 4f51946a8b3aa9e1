"""Robust statistics of samples: median, its interval, outliers; proportions. Deterministic; imports no numpy.

The harness uses this module while it measures, so it imports nothing heavy; analysis.derive applies the same ranks to
whole columns.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple


class Interval(NamedTuple):
    low: float
    high: float


@lru_cache(maxsize=4096)
def median_ranks(n: int, level: float = 0.95) -> tuple[int, int]:
    """The ranks (from 0) of the order statistics between which the median of what n samples were drawn from lies with at
    least ``level``, however that is distributed: x_(k+1) to x_(n-k) miss it with 2 P(Binomial(n, 1/2) <= k) (H. David and H.
    Nagaraja, "Order Statistics", 2003, section 7.1). The bootstrap's ranks
    hold it with 87 % in seven samples only.

    Where not even the whole range is so sure, it is returned: see ``range_coverage``. Raises ValueError for no samples.
    """
    if n < 1:
        raise ValueError("no samples")
    if n > _MOST_EXACT:  # the normal approximation, a rank further out
        deviations = statistics.NormalDist().inv_cdf((1 + level) / 2)
        low = max(0, math.floor(n / 2 - deviations * math.sqrt(n) / 2) - 1)
        return low, n - 1 - low
    low, below, ways = 0, 0, 1
    for rank in range(n // 2):
        below += ways
        if 2 * below / 2**n > 1 - level:
            break
        low = rank
        ways = ways * (n - rank) // (rank + 1)
    return low, n - 1 - low


#: Samples up to which the binomial distribution is summed.
_MOST_EXACT = 2000


def range_coverage(n: int) -> float:
    """How surely the median lies between the least and the largest of n samples: 75 % of 3, 88 % of 4, 94 % of 5."""
    return 1 - 2.0 ** (1 - n)


def median_interval(samples: Sequence[float], level: float = 0.95) -> Interval:
    """The interval of the median, of fewer than six samples their range. Raises ValueError for no samples."""
    ordered = sorted(samples)
    low, high = median_ranks(len(ordered), level)
    return Interval(ordered[low], ordered[high])


class PairedFactor(NamedTuple):
    """The median ratio of pairs of neighbours, and the interval that holds it with ``level``."""

    pairs: int
    factor: float
    low: float
    high: float
    level: float  # as it was requested, or less where the pairs are too few for that
    wanted: float = 0.95

    @property
    def side(self) -> Side:
        """On which side of 1 it lies, where its interval leaves 1 out. Of too few pairs nothing is claimed: all of five
        lie on one side in 1 of 16 series of equals."""
        if self.level < self.wanted:
            return "too few pairs"
        return "above" if self.low > 1 else "below" if self.high < 1 else "not told apart"

    @property
    def within(self) -> float | None:
        """The least share x for which the whole interval lies between 1 / (1 + x) and 1 + x: what it is equivalent within.
        None for too few pairs, and where an end is not known."""
        if self.level < self.wanted or self.low <= 0 or math.isinf(self.high):
            return None
        return max(self.high, 1 / self.low) - 1


Side = Literal["above", "below", "not told apart", "too few pairs"]


def paired_factor(ratios: Sequence[float], most: Sequence[float] | None = None, level: float = 0.95) -> PairedFactor:
    """The factor between two things that were measured in pairs, one right after the other: the median of the ratios
    within a pair, which what drifts from pair to pair does not reach, with the interval of ``median_ranks``, which supposes
    nothing of how ratios scatter. With ``most`` each ratio is known to lie between ``ratios`` and that (of a launch that
    did not end), and the interval holds the median for all such values.

    Raises ValueError for no pairs.
    """
    least, largest = sorted(ratios), sorted(most if most is not None else ratios)
    low, high = median_ranks(len(least), level)
    sure = min(level, range_coverage(len(least)))
    return PairedFactor(len(least), statistics.median(least), least[low], largest[high], sure, level)


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
