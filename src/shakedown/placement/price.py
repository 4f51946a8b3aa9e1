"""What a placement costs: a factor with an interval, of launches of one command in turn. Pure.

In each round the command is launched as it is and under every arrangement, in an order that is drawn; the ratio of times
within a round is free of what drifts from round to round. The factor and its interval are those of
``statistics.paired_factor``: it holds the median ratio in at least 95 of 100 series of independent rounds. Launches that
did not end within the limit count as at least so long.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

from ..analysis.statistics import Side, paired_factor
from ..records import Record

AS_LAUNCHED = "as-launched"
#: What a launch is compared with, and what that is.
ARRANGEMENTS = {
    "compact": "each rank on cores of its own, neighbours on neighbouring cores",
    "spread": "each rank on cores of its own, in turn over sockets and NUMA nodes",
    "one-node": "all ranks of a host on the CPUs of one NUMA node, unbound within",
}
LEVEL = 0.95
#: Fewer rounds have no interval at 95 %: 2 / 2^5 is more than 5 %.
FEWEST_ROUNDS = 6


class Launched(Record, frozen=True, kw_only=True):
    """One launch: of which arrangement, in which round, how long its slowest rank took."""

    arrangement: str
    round: int
    seconds: float | None  # None: it did not end within the limit
    wrong: str = ""  # why it counts for nothing


Verdict = Literal["costs", "pays", "not distinguished", "too few rounds", "did not end"]
_VERDICTS: dict[Side, Verdict] = {
    "above": "costs",
    "below": "pays",
    "not told apart": "not distinguished",
    "too few pairs": "too few rounds",
}


class Factor(Record, frozen=True, kw_only=True):
    """How many times longer a launch takes as it is than under an arrangement; ``high`` None: no upper end is known."""

    arrangement: str
    rounds: int
    factor: float | None
    low: float | None = None
    high: float | None = None
    verdict: Verdict
    median_s: float | None = None


def order(arrangements: Sequence[str], round_number: int, seed: int = 0) -> tuple[str, ...]:
    """The order of a round: drawn, and the same for the same numbers."""
    names = list(arrangements)
    random.Random(f"{seed} {round_number}").shuffle(names)
    return tuple(names)


def factors(launches: Sequence[Launched], limit_s: float) -> tuple[Factor, ...]:
    """Every arrangement against the launch as it is, the largest factor first."""
    times = {(one.arrangement, one.round): one.seconds for one in launches if not one.wrong}
    found = []
    for name in dict.fromkeys(one.arrangement for one in launches if one.arrangement != AS_LAUNCHED):
        rounds = sorted(number for arrangement, number in times if arrangement == name)
        pairs = [(times[AS_LAUNCHED, one], times[name, one]) for one in rounds if (AS_LAUNCHED, one) in times]
        found.append(_factor(name, pairs, limit_s))
    return tuple(sorted(found, key=lambda one: -(one.factor or 0.0)))


def _factor(name: str, pairs: Sequence[tuple[float | None, float | None]], limit_s: float) -> Factor:
    ended = [other for _, other in pairs if other is not None]
    median_s = statistics.median(ended) if ended else None
    bounds = [_bounds(launched, other, limit_s) for launched, other in pairs]
    if not bounds:
        return Factor(arrangement=name, rounds=0, factor=None, verdict="too few rounds")
    empty = Factor(arrangement=name, rounds=len(bounds), factor=None, verdict="did not end", median_s=median_s)
    if not ended:
        return empty
    found = paired_factor([low for low, _ in bounds], [high for _, high in bounds], LEVEL)
    made = msgspec.structs.replace(empty, factor=found.factor, verdict=_VERDICTS[found.side])
    if found.side == "too few pairs":
        return made
    return msgspec.structs.replace(made, low=found.low, high=None if math.isinf(found.high) else found.high)


def _bounds(launched: float | None, other: float | None, limit_s: float) -> tuple[float, float]:
    """The least and the largest that a ratio can be."""
    if launched is None and other is None:
        return 0.0, math.inf
    if launched is None:
        assert other is not None
        return limit_s / other, math.inf
    return (0.0, launched / limit_s) if other is None else (launched / other, launched / other)
