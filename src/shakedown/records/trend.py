"""What a history of runs is, and what is made of it."""

from __future__ import annotations

from typing import Literal

from .machine import Absent, Params, Record
from .run import Notice

Sense = Literal["worse", "better", "other"]
RateHeld = Literal["held", "approximate", "not held"]
TrendState = Literal["as good", "worse", "better", "other", "too few runs"]


class TrendPoint(Record, frozen=True, kw_only=True):
    """A run's value: the median of its repeats; of all runs of a day where a series goes by days."""

    run: str  # the name of the run directory
    at_ns: int
    value: float


class TrendLevel(Record, frozen=True, kw_only=True):
    """A stretch without a change: so many points from ``begin`` on, and their median."""

    begin: int  # index of the first point
    points: int
    value: float


class TrendChange(Record, frozen=True, kw_only=True):
    """One level after another. ``ratio`` is the new one over the old one, within [low, high] with 95 %; the new one begins
    with the point ``first``, within [earliest, latest] with 95 %, and that was known after the point ``told``."""

    first: int
    earliest: int
    latest: int
    told: int
    ratio: float
    low: float
    high: float
    sense: Sense
    returned: bool = False  # it takes back the change before it


class TrendSeries(Record, frozen=True, kw_only=True):
    """One metric of one host with one set of parameters, over the runs, and what is said of it."""

    host: str
    workload: str
    metric: str
    title: str
    unit: str
    better: str
    params: Params
    points: tuple[TrendPoint, ...]
    levels: tuple[TrendLevel, ...] = ()
    changes: tuple[TrendChange, ...] = ()
    passed: tuple[int, ...] = ()  # points at which a change was told that later ones did not bear out
    spread: float | None = None  # robust relative standard deviation of a point about its level
    correlation: float = 0.0  # of a point with the one before
    by_day: bool = False  # runs of one day resemble each other: a point is a day
    points_per_year: float | None = None
    rate: float = 1.0  # false alarms a year that were allowed
    rate_held: RateHeld = "held"
    state: TrendState = "as good"
    against_best: float | None = None  # the level now over the best before it, where it is worse
    same_as: tuple[str, ...] = ()  # metrics that are the same times, and said once
    notices: tuple[Notice, ...] = ()


class FactChange(Record, frozen=True, kw_only=True):
    """What was one thing before a change and another after it. ``without``: it changed the same way elsewhere, and the level
    did not; ``again``: and it did."""

    fact: str
    before: str
    after: str
    again: int = 0
    without: int = 0


class TrendCause(Record, frozen=True, kw_only=True):
    """Facts that changed at the same runs, so that no history tells them apart, and how well they explain the values: the
    share of the likelihood of all that is recorded, and of something that is not."""

    facts: tuple[FactChange, ...]
    share: float


class TrendEvent(Record, frozen=True, kw_only=True):
    """Changes of one host's series at the same time. ``verdict``: one fact alone explains it, several that cannot be told
    apart (the first ``close`` causes), or none that is recorded."""

    host: str
    run: str  # the first after the change
    at_ns: int
    after_run: str  # between these two, with 95 %
    until_run: str
    sense: Sense
    changes: tuple[tuple[int, int], ...]  # series, change of it
    verdict: Literal["one", "not distinguished", "none recorded", "nothing recorded changed"]
    causes: tuple[TrendCause, ...] = ()
    close: int = 0
    unknown_share: float = 0.0  # of the likelihood, for what is not recorded


class Trend(Record, frozen=True, kw_only=True):
    """The histories of a set of run directories."""

    runs: int
    series: tuple[TrendSeries, ...]
    events: tuple[TrendEvent, ...]
    left_out: tuple[Absent, ...] = ()
    notices: tuple[Notice, ...] = ()
