"""Ours beside a peer on a machine whose speed moves: short passes in turn, ratios of neighbours, what they allow to claim.

A machine's speed drifts over minutes and jumps within seconds, so that whole programs one after the other show the
machine and not the programs. Here each pair of passes is a second or two apart, their order alternates (ours, peer, peer,
ours), and only the ratio within a pair counts. What is claimed is what the interval of the median ratio allows.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shakedown.analysis.statistics import median_interval


class Ratio(NamedTuple):
    """Ours over the peer's, of rates: the median over pairs, its 95 % interval (statistics.median_ranks), the pairs."""

    median: float
    low: float
    high: float
    pairs: int

    @property
    def claim(self) -> str:
        """What may be said: only what the interval excludes 1 for. All of fewer than six pairs are on one side of 1 in more
        than 1 of 20 series of equals: of them nothing is claimed."""
        if self.pairs < 6:
            return "too few pairs to tell"
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "not told apart"

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}] in {self.pairs} pairs: {self.claim}"


def ratio(ours: Sequence[float], peer: Sequence[float]) -> Ratio:
    """The ratio of two series of rates, neighbour by neighbour. Raises ValueError where their lengths differ or are 0."""
    each = [a / b for a, b in zip(ours, peer, strict=True)]
    interval = median_interval(each)
    return Ratio(statistics.median(each), interval.low, interval.high, len(each))


def in_turn(ours: Callable[[], float], peer: Callable[[], float], pairs: int) -> tuple[list[float], list[float]]:
    """So many pairs of passes: ours first in every other one."""
    mine: list[float] = []
    theirs: list[float] = []
    for pair in range(pairs):
        for side, found in ((ours, mine), (peer, theirs)) if pair % 2 == 0 else ((peer, theirs), (ours, mine)):
            found.append(side())
    return mine, theirs
