"""What a verdict over groups consists of. Shares are fractions: 0.12 is 12 %."""

from __future__ import annotations

from typing import Literal

from ...records import Metric, Notice, Params, Record
from ..pairs.records import Effect

Kind = Literal["gpu", "node", "link", "switch", "uplink", "path", "rail"]


class SlowPart(Record, frozen=True, kw_only=True):
    """A part that makes every group slow that uses it."""

    kind: Kind
    name: str
    effect: Effect
    tests: int  # groups that show it: they used it, and nothing slower
    p: float  # the probability that chance alone makes it look this slow
    alternatives: tuple[str, ...] = ()  # parts that would explain the same groups as well


class FailedPlace(Record, frozen=True, kw_only=True):
    """A place most of whose groups (two at least) gave no value or a wrong one."""

    place: str
    failed: int
    tried: int
    why: str


class GroupVerdict(Record, frozen=True, kw_only=True):
    """Everything that one value of one size over all groups says of the parts of a fleet."""

    metric: Metric
    params: Params
    places: int
    tests: int  # groups with a value
    rounds: int
    group_size: int  # of most groups
    judged: dict[str, int]  # of each kind, how many parts have groups enough to be judged
    unjudged: dict[str, int]  # and how many have not
    typical: float | None  # of the metric, in its unit
    sigma: float | None  # the scatter of a group's value, relative
    spread: float | None  # between healthy places, relative
    smallest: float | None  # a place this much slower would have been named with a probability of 90 %
    rate: float  # the false-discovery rate that parts are named at
    state: Literal["fine", "slow", "undecided"]
    slow: tuple[SlowPart, ...] = ()
    failed: tuple[FailedPlace, ...] = ()
    doubtful: tuple[str, ...] = ()  # places that more rounds would decide about
    notices: tuple[Notice, ...] = ()
