"""What is to be run, and what a run left: plan -> job -> measurement."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .machine import Absent, HostNames, Name, Params, Record


class Run(Record, frozen=True, kw_only=True):
    """One run with every parameter resolved. ``id`` is the hash of its content: the same content is the same run."""

    id: Name
    workload: str
    params: Params
    label: str  # for a person: "stream triad, 2 threads"
    estimate_s: float
    limit_s: float  # killed past this
    repeat_min: int = 1
    repeat_max: int = 1
    repeat_interval: float | None = None  # relative width of the 95 % interval at which repeats end
    nodes: int = 0  # one job over so many hosts of the allocation; 0: not asked, the first host alone
    each: bool = False  # a copy on every host of the allocation, side by side
    mpi: str = ""  # with this one of the machine's MPIs, as machine.mpi calls it; empty: that of the programs
    under: str = ""  # the layer that its program is started under, as it was written (layers.asked); empty: not asked
    pair: str = ""  # the label of the layer of the pair that it is one launch of; empty: of none


class Limit(Record, frozen=True, kw_only=True):
    """What a metric must reach: a number in SI units, or a fraction of a peak of the machine."""

    metric: str
    params: Params = msgspec.field(default_factory=dict)
    at_least: float | None = None
    at_most: float | None = None
    of: str = ""  # the name of a peak; empty: absolute
    source: str = ""  # clause or reason


class Plan(Record, frozen=True, kw_only=True):
    campaign: Name
    title: str
    runs: tuple[Run, ...]
    limits: tuple[Limit, ...] = ()
    budget_s: float | None = None
    skipped: tuple[Absent, ...] = ()  # asked for, but not possible here
    compare_with: tuple[str, ...] = ()  # ids of published systems


class Residual(Record, frozen=True, kw_only=True):
    """The check of a result: it passes when ``value`` is a number from 0 to ``limit``. Programs write -1 where they checked
    nothing."""

    value: float | None
    limit: float
    kind: str

    @property
    def passed(self) -> bool:
        return self.value is not None and 0 <= self.value <= self.limit  # false for NaN


class Case(Record, frozen=True, kw_only=True):
    """One series of samples of one kernel with one set of parameters.

    Every sample did the same ``work`` (flop, bytes, bytes_moved, messages ...) in its ``seconds``. ``begin_ns`` and
    ``end_ns`` are those of all samples, in Unix time; ``spans`` are those of each, where other work lies between them.
    """

    kernel: str
    params: Params = msgspec.field(default_factory=dict)
    work: dict[str, float] = msgspec.field(default_factory=dict)
    seconds: tuple[float, ...] = ()
    residual: Residual | None = None
    begin_ns: int | None = None
    end_ns: int | None = None
    spans: tuple[tuple[int, int], ...] = ()


class Phase(Record, frozen=True, kw_only=True):
    name: str
    begin_ns: int
    end_ns: int


class Notice(Record, frozen=True, kw_only=True):
    """A warning with the step that mends it."""

    code: str
    text: str
    advice: str = ""


State = Literal["ok", "partial", "failed", "crashed", "timeout", "garbage", "wrong", "unavailable", "interrupted"]
#: Among the parameters of every case that was imported from a user's log.
IMPORTED: Params = {"origin": "imported"}
SCORED: tuple[State, ...] = ("ok", "partial")  # whose cases count; partial: some devices failed, and are named


class Job(Record, frozen=True, kw_only=True):
    """One run under way or ended: exactly what was started, where, and what became of it."""

    run: Name
    repeat: int
    argv: tuple[str, ...]
    env: dict[str, str] = msgspec.field(default_factory=dict)  # what was set beyond the inherited environment
    hosts: tuple[HostNames, ...] = ()  # that it ran over, where that is more than `host`
    beside: bool = False  # one of the copies that ran side by side on every host
    cwd: str = ""
    output: str = ""  # the file in the run's folder that holds the result, where that is not standard output
    host: HostNames = ""
    pid: int | None = None
    pid_start: int | None = None  # clock ticks since boot, from /proc: tells a reused pid
    begin_ns: int | None = None
    end_ns: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False


class Disturbance(Record, frozen=True, kw_only=True):
    """What else the machine did while the run was under way."""

    load_before: float | None = None
    load_after: float | None = None
    steal_fraction: float | None = None
    other_cpu_fraction: float | None = None  # CPU time of everything that is not this run, of all CPU time
    throttle_events: int | None = None
    swap_pages: int | None = None
    temperature_c: float | None = None  # the hottest processor that the kernel shows, when the run ended


class Measurement(Record, frozen=True, kw_only=True):
    """What one run left: samples, checks, phases, and under which conditions they were taken."""

    run: Name
    repeat: int
    workload: str
    params: Params
    host: HostNames
    state: State
    reason: str = ""
    cases: tuple[Case, ...] = ()
    phases: tuple[Phase, ...] = ()
    notices: tuple[Notice, ...] = ()
    provenance: dict[str, Any] = msgspec.field(default_factory=dict)
    disturbance: Disturbance = Disturbance()
    begin_ns: int
    end_ns: int
    harness_s: float | None = None  # what the harness itself cost around the program
