"""Which operations are slower than their mock-ups, beyond what noise makes. Pure.

An operation and its mock-ups are measured in turn, so that each repetition of one has a partner of the other taken beside
it: the ratios of partners are judged, not the two medians, and what disturbs both for a while cancels. A sign test asks
whether the median ratio is above `MARGIN`; over all pairs of a table its levels are Holm's (S. Holm, "A simple sequentially
rejective multiple test procedure", Scandinavian J. of Statistics 6, 1979), so that one false verdict in a whole table has a
probability of at most `LEVEL`. In every launch by itself the median ratio must be above the margin, too.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from ..statistics import Interval, paired_factor

MARGIN = 1.05
LEVEL = 0.05
FEWEST_PAIRS = 6


class Verdict(NamedTuple):
    """How many times slower than the mock-up; ``slower``: not by chance."""

    factor: float
    interval: Interval
    pairs: int
    launches: int
    slower: bool


def judge(table: Mapping[Hashable, Sequence[Sequence[float]]]) -> dict[Hashable, Verdict]:
    """Of each pair of an operation and a mock-up: ``table`` has the ratios of their times, launch by launch."""
    found: dict[Hashable, Verdict] = {}
    chances: dict[Hashable, float] = {}
    for key, launches in table.items():
        ratios = [ratio for launch in launches for ratio in launch]
        if not ratios:
            continue
        above = all(statistics.median(launch) > MARGIN for launch in launches if launch)
        factor = paired_factor(ratios)
        found[key] = Verdict(factor.factor, Interval(factor.low, factor.high), factor.pairs, len(launches), above)
        chances[key] = _chance(sum(ratio > MARGIN for ratio in ratios), len(ratios))
    rejected = _holm(chances)
    return {
        key: one._replace(slower=one.slower and key in rejected and one.pairs >= FEWEST_PAIRS)
        for key, one in found.items()
    }


def _chance(above: int, count: int) -> float:
    """The probability that so many or more of ``count`` ratios are above the margin where their median is at it: the sign
    test, by the binomial distribution; beyond 1,000 its normal limit with a correction for continuity."""
    if count > 1000:
        return 0.5 * math.erfc((above - 0.5 - count / 2) / math.sqrt(count / 2))
    return float(sum(math.comb(count, k) for k in range(above, count + 1)) / 2**count)


def _holm(chances: Mapping[Hashable, float]) -> set[Hashable]:
    rejected: set[Hashable] = set()
    for rank, (key, chance) in enumerate(sorted(chances.items(), key=lambda item: item[1])):
        if chance > LEVEL / (len(chances) - rank):
            break
        rejected.add(key)
    return rejected
