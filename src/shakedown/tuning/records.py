"""The records of a tuning run: what is asked of the machine, what came of it, and what was concluded."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from ..records import Notice, Params, Record, Residual

#: A configuration: axis -> value (see space.py). ``grid`` is "PxQ", ``layout`` is "RxT", ranks a host and threads a rank.
Point = Params
Kind = Literal["whole", "windows", "hosts"]


def name_of(point: Point) -> str:
    """The short name of a configuration: the hash of its axes and values, whatever their order."""
    content = msgspec.json.encode(dict(sorted(point.items())))
    return hashlib.sha256(content).hexdigest()[:12]


class Request(Record, frozen=True, kw_only=True):
    """One run that the search asks for. ``repeat`` counts the runs of the same kind of this configuration, from 1.

    ``block``: runs of one block are made right after each other, and only they are compared directly.
    """

    point: Point
    n: int
    kind: Kind = "whole"
    shares: tuple[float, ...] = ()  # of n: the orders of the windows
    panels: int = 0  # of each window
    repeat: int = 1
    stage: str
    block: str
    estimate_s: float  # of the whole process, start-up included
    cap_s: float  # it is ended after so long: it could no longer be among the best
    reserve_s: float = 0.0  # of the budget that must be left after it, for what is still to come

    @property
    def level(self) -> str:
        """What was run of which system: only times of the same level are compared."""
        windows = "" if self.kind != "windows" else f"-{','.join(f'{one:g}' for one in self.shares)}"
        return f"{self.kind}-{self.n}{windows}"

    @property
    def key(self) -> str:
        """What makes a run the same run: it is never measured twice."""
        return f"{name_of(self.point)}-{self.level}-{self.panels}-{self.repeat}"


class Window(Record, frozen=True, kw_only=True):
    """The first ``panels`` panels of a matrix of that order."""

    order: int
    panels: int
    seconds: float


class Trial(Record, frozen=True, kw_only=True):
    """One run that was made. ``seconds`` is what is compared: the solution of the whole system, measured or integrated
    from windows; None where the run gave no result that counts, and ``reason`` says why."""

    key: str
    level: str
    session: int  # of this folder, from 1
    stage: str
    block: str
    point: Point
    n: int
    kind: Kind
    repeat: int
    state: str  # of Measurement: ok, failed, crashed, timeout, garbage, wrong, unavailable
    reason: str = ""
    seconds: float | None = None
    samples: tuple[float, ...] = ()
    windows: tuple[Window, ...] = ()
    hosts: dict[str, float] = msgspec.field(
        default_factory=dict
    )  # seconds of each host, where each solved a system of its own
    residual: Residual | None = None
    phases: dict[str, float] = msgspec.field(
        default_factory=dict
    )  # update, panel ...: shares of the thread-seconds of the run
    ceiling: float | None = None  # flop/s of DGEMM with k = NB on all threads at once, as the program measured it
    params: Params = msgspec.field(default_factory=dict)  # of the workload, as they were asked for
    ran: Params = msgspec.field(default_factory=dict)  # as the program says that it ran, its own choices included
    disturbed: float = 0.0  # share of the machine's CPU time that others took meanwhile
    cost_s: float  # of the whole process, start-up included
    begin_ns: int = 0

    @property
    def ok(self) -> bool:
        return self.state == "ok" and self.seconds is not None and self.seconds > 0


class Interval(Record, frozen=True, kw_only=True):
    """A ratio of times less one, with its 95 % interval: 0.03 reads "3 % slower"."""

    value: float
    low: float
    high: float

    @property
    def bounded(self) -> bool:
        """Whether it says anything: within a factor of 100 both ways."""
        return self.low > -0.99 and self.high < 99


class Level(Record, frozen=True, kw_only=True):
    """What one value of one parameter costs against the chosen value, everything else equal. The intervals of all values
    of all parameters hold at once with 95 %."""

    value: str
    slower: Interval
    runs: int
    as_chosen: bool = True  # it was run with everything else as chosen; false: in other configurations only


class Effect(Record, frozen=True, kw_only=True):
    """How much a parameter mattered: its values against the chosen one, the best first."""

    axis: str
    chosen: str
    levels: tuple[Level, ...]
    spread: Interval  # the slowest value against the fastest, by the same intervals

    @property
    def matters(self) -> bool:
        """Whether its values are told apart: the interval of the slowest against the fastest excludes zero."""
        return self.spread.low > 0


class Interaction(Record, frozen=True, kw_only=True):
    """Two parameters whose effects do not add: together they cost ``extra`` more than each by itself."""

    axes: tuple[str, str]
    values: tuple[str, str]
    against: tuple[str, str]
    extra: Interval


class Candidate(Record, frozen=True, kw_only=True):
    """A configuration with what is known of it."""

    point: Point
    seconds: float
    low_s: float
    high_s: float
    runs: int
    kind: Kind
    behind: Interval | None = None  # against the chosen one
    predicted_s: float | None = None


class Failure(Record, frozen=True, kw_only=True):
    """A configuration that gave no valid result."""

    point: Point
    state: str
    reason: str


class SizePoint(Record, frozen=True, kw_only=True):
    """The chosen configuration at another order N."""

    n: int
    seconds: float
    flops: float


class Result(Record, frozen=True, kw_only=True):
    """What tuning came to. ``chosen`` is None where no configuration gave a valid result."""

    n: int
    n_reason: str
    searched: tuple[str, ...] = ()  # the axes that varied, with NB, layout and grid
    final_n: int | None = None  # for the real run: n rounded to whole blocks of the chosen grid
    chosen: Candidate | None = None
    others: tuple[Candidate, ...] = ()
    effects: tuple[Effect, ...] = ()
    comparisons: int = 0  # of values with one another, over all effects: what their intervals are corrected for
    interactions: tuple[Interaction, ...] = ()
    failures: tuple[Failure, ...] = ()
    sizes: tuple[SizePoint, ...] = ()
    slow_hosts: dict[str, float] = msgspec.field(default_factory=dict)  # host -> how much slower than the median host
    window_error: Interval | None = None  # integrated from windows against measured whole
    model_error: float | None = None  # median of |measured / predicted - 1|
    noise: float | None = None  # of one run: relative standard deviation
    disturbed_runs: int = 0  # in which other processes took CPU time
    finished: bool = False  # false: the budget ended the search
    runs: int = 0
    spent_s: float = 0.0
    budget_s: float | None = None
    launch: tuple[str, ...] = ()  # command lines that run the chosen configuration
    notices: tuple[Notice, ...] = ()
    explanation: tuple[str, ...] = ()
    version: str = ""
