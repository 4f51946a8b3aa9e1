"""The records that pass between the stages: frozen, strict, and the same in memory, in JSON and in Parquet.

    discover -> Machine    plan -> Plan (Runs)    execute -> Job    measure -> Measurement    analyse -> Finding -> Verdict

Units are SI and stand in the name where it is not obvious (``_bytes``, ``_hz``, ``_s``, ``_ns``). None means "not known"
or "not measured"; it is never zero and never a pass. Times named ``_ns`` are Unix time (CLOCK_REALTIME) in nanoseconds,
the clock that meters on the same host share.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .machine import (
    Absent,
    Cache,
    Core,
    Cpu,
    Gpu,
    Host,
    HostNames,
    Machine,
    Memory,
    MemoryModule,
    Name,
    Network,
    NumaNode,
    Params,
    Peak,
    Record,
    Setting,
    Software,
    Value,
)

#: Found here with the other records; what they are stands in machine.py.
__all__ = [
    "Absent",
    "Cache",
    "Core",
    "Cpu",
    "Gpu",
    "Host",
    "HostNames",
    "Machine",
    "Memory",
    "MemoryModule",
    "Name",
    "Network",
    "NumaNode",
    "Params",
    "Peak",
    "Record",
    "Setting",
    "Software",
    "Value",
]


# ---------------------------------------------------------------------------------------------------------------- plan


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


# ------------------------------------------------------------------------------------------------------------- measure


class Residual(Record, frozen=True, kw_only=True):
    """The check of a result: it passes when ``value`` is a number and at most ``limit``."""

    value: float | None
    limit: float
    kind: str

    @property
    def passed(self) -> bool:
        return self.value is not None and self.value <= self.limit  # false for NaN


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


# ------------------------------------------------------------------------------------------------------------- analyse


class Only(Record, frozen=True, kw_only=True):
    """What a parameter of a case must be for the case to give a metric's figure; a case without the parameter does.

    Without ``why`` a case with another value stands beside the figure: it is shown, it heads nothing, and a limit speaks of
    it where it names the parameter. With ``why`` it measures nothing of the metric at all, for this reason, and nothing is
    decided by it.
    """

    value: Value
    why: str = ""  # "made on the host backend, which measures no GPU"


class Metric(Record, frozen=True, kw_only=True):
    """What a number means. ``per`` says how a sample becomes a value (see analysis.derive)."""

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower", "none"]
    kernel: str = ""  # the case's kernel that it comes from
    # "bytes/s": work bytes over seconds; "s/messages": seconds over work; "s": seconds; "bytes": work itself;
    # "hpl.rate/flops.fp64": one metric over another, or over a peak
    per: str = ""
    limit: str = ""  # the peak that bounds it; "{level}.bandwidth" takes the case's parameter `level`
    measures: str = ""  # the peak that this metric is a measurement of (its best value over the run), same braces
    headline: bool = False  # named in the summary even when its workload is named already
    match: tuple[str, ...] = ()  # parameters that must agree before two values of it can be laid side by side
    # Circumstances that must be alike before two values of it are ranked: fields of Circumstances, "extent" (the cores or
    # devices that worked), or parameters.
    ranked_by: tuple[str, ...] = ("device", "nodes", "extent", "virtual")
    published_as: str = ""  # the metric in which documents publish what accelerators reach of it: "hpl.rate"
    exact: bool = False  # a count or a size by definition: it has no interval, and two are equal or they are not
    # Parameters of cases -> with which value a case gives its figure.
    only: dict[str, Only] = msgspec.field(default_factory=dict)
    # What parameters are beside this metric: {"n": "order of the matrix"}.
    titles: dict[str, str] = msgspec.field(default_factory=dict)
    source: str = ""  # document and equation


class Fraction(Record, frozen=True, kw_only=True):
    """A value against its limit."""

    limit: str
    kind: str  # derived | measured | stated
    value: float  # of the limit, SI
    fraction: float
    basis: str = ""


class Finding(Record, frozen=True, kw_only=True):
    """A derived value with its interval, its limit and what to think of it."""

    metric: str
    unit: str
    better: str
    workload: str
    params: Params
    host: str
    value: float | None  # None: not measured, with the reason among the notices
    low: float | None = None
    high: float | None = None
    n_samples: int = 0
    n_runs: int = 0
    best: float | None = None
    fractions: tuple[Fraction, ...] = ()
    notices: tuple[Notice, ...] = ()
    outliers: int = 0  # samples beyond 3.5 robust deviations: flagged, never dropped
    runs: tuple[str, ...] = ()


class Cause(Record, frozen=True, kw_only=True):
    """Why a value is low, and what to do about it."""

    text: str
    advice: str = ""
    cost: float | None = None  # estimated share of the rate that it takes, for the order of causes; None: not known


class Verdict(Record, frozen=True, kw_only=True):
    """Requirement -> test -> evidence."""

    requirement: str
    state: Literal["met", "not met", "undecided", "not measured"]
    evidence: str
    finding: Finding | None = None
    causes: tuple[Cause, ...] = ()  # known ones of a requirement that is not met, the dearest first


# --------------------------------------------------------------------------------------------------------------- power


class Term(Record, frozen=True, kw_only=True):
    """One source of uncertainty. ``u`` is signed where it is shared: how far the value moves by one deviation of it."""

    name: str  # "meter class", "window", "noise"...
    u: float  # standard uncertainty, in the value's unit
    dof: float | None = None  # degrees of freedom; None: known (infinitely many)
    common: str = ""  # what it is shared through: "gain of node7:ipmi/power", "clock of pdu3"
    text: str = ""  # how it was found, with its numbers
    remedy: str = ""  # what would make it smaller: "read every second"


class Quantity(Record, frozen=True, kw_only=True):
    """A value (None: not known, with the reason among the notices), its standard uncertainty and where it comes from."""

    name: str
    unit: str
    value: float | None
    u: float | None = None  # combined standard uncertainty
    k: float | None = None  # coverage factor for 95 %
    dof: float | None = None  # effective, Welch-Satterthwaite; None: infinitely many
    terms: tuple[Term, ...] = ()
    method: str = ""  # which integration, in words
    seen: float | None = None  # share of the window that readings cover
    notices: tuple[Notice, ...] = ()

    @property
    def expanded(self) -> float | None:
        """U = k u: the half width of the 95 % interval."""
        return None if self.u is None or self.k is None else self.u * self.k

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval."""
        if self.value is None or self.expanded is None:
            return None
        return self.value - self.expanded, self.value + self.expanded


class PowerLine(Record, frozen=True, kw_only=True):
    """One channel over the run, in segments of equal length for the eye; one without a reading is left out."""

    channel: str  # host:id
    title: str
    host: str
    place: str  # facility | rack | node | board | component
    unit: str
    t_s: tuple[float, ...]  # the middle of each stretch, after ``begin_ns`` of the view
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class PowerSpan(Record, frozen=True, kw_only=True):
    """What happened when: a run, or idleness between runs."""

    name: str
    kind: Literal["run", "idle"]
    begin_s: float
    end_s: float


class MeterSeen(Record, frozen=True, kw_only=True):
    """One channel that was read: what it stands for, and how well it answered."""

    channel: str
    title: str
    place: str
    stands_for: str  # "mean of the 1 s before its stamp"
    readings: int
    missing: int
    refresh_s: float | None = None
    characterised: bool = False
    note: str = ""


class PowerPart(Record, frozen=True, kw_only=True):
    """Where the power of one case goes: a channel's mean, or the rest of a feed that none of its parts accounts for."""

    case: str
    part: str  # a channel's key, or "rest of ..."
    within: str  # the feed that contains it
    power: Quantity
    over_idle_w: float | None = None  # what it draws more than in idleness


class SteadyWindow(Record, frozen=True, kw_only=True):
    """Where the power of one run was steady on one channel, or why nowhere. Seconds after ``begin_ns`` of the view."""

    channel: str
    run: str
    begin_s: float
    end_s: float
    steady: bool
    power: Quantity  # the mean of the window; of the whole run, or what it would settle to, where it is not steady
    why: str


class PhaseShown(Record, frozen=True, kw_only=True):
    """One phase that a program marked."""

    run: str
    channel: str
    name: str
    seconds: float
    power: Quantity | None  # None: refused
    energy: Quantity | None
    state: Literal["told", "refused"]
    why: str = ""


class MeterFit(Record, frozen=True, kw_only=True):
    """Readings beside what the characterised meter would have said of the load that explains them best: constant power in
    every stretch between two edges. Times in seconds after ``begin_ns`` of the view, powers in W."""

    channel: str
    title: str
    t_s: tuple[float, ...]  # stamps, on the host's clock
    readings: tuple[float, ...]  # with gain and offset taken out
    model: tuple[float, ...]
    edges_s: tuple[float, ...]  # of the load: one more than powers
    load: tuple[float, ...]
    residual_w: float
    expected_w: float | None  # what the meter's noise and resolution would leave


class PowerView(Record, frozen=True, kw_only=True):
    """What the meters saw over a run directory."""

    begin_ns: int
    lines: tuple[PowerLine, ...] = ()
    spans: tuple[PowerSpan, ...] = ()
    meters: tuple[MeterSeen, ...] = ()
    parts: tuple[PowerPart, ...] = ()
    steady: tuple[SteadyWindow, ...] = ()
    phases: tuple[PhaseShown, ...] = ()
    fits: tuple[MeterFit, ...] = ()
    budgets: tuple[Quantity, ...] = ()  # of the values that matter most, each with its terms
    notices: tuple[Notice, ...] = ()


# -------------------------------------------------------------------------------------------------------------- report


class Check(Record, frozen=True, kw_only=True):
    """How near the cases of one kernel came to the limit of their check: the worst of them."""

    workload: str
    kernel: str
    host: str
    params: Params = msgspec.field(default_factory=dict)  # of the worst
    value: float | None  # None: not a number
    limit: float
    kind: str  # what is compared, in the program's words
    cases: int  # that were checked


class Outcome(Record, frozen=True, kw_only=True):
    """How one run ended, with what a person needs to see why."""

    run: str
    repeat: int
    workload: str
    label: str
    host: str
    state: State
    reason: str = ""
    seconds: float | None = None
    log: str = ""  # the folder with its output, relative to the run directory
    tail: str = ""  # the last lines of its output, for those that did not end well
    command: str = ""  # what measures it again
    notices: tuple[Notice, ...] = ()
    checks: tuple[Check, ...] = ()  # the worst of each kernel
    disturbance: Disturbance = Disturbance()
    provenance: dict[str, Any] = msgspec.field(default_factory=dict)


class Circumstances(Record, frozen=True, kw_only=True):
    """Under which circumstances a value holds, as far as they decide what it may be ranked with. None and "": not told."""

    device: str = ""  # what works, or where messages lie: "cpu", "gpu", or the name of an accelerator
    devices: int | None = None  # how many, where it is no CPU
    nodes: int | None = None
    cores: int | None = None  # that work
    whole: bool | None = None  # whether these are all cores of the nodes
    virtual: bool | None = None  # in a virtual machine
    link: str = ""  # what messages go through: "network" or "shared memory"
    level: str = ""  # of the memory system: "memory", "l1"
    placement: str = ""  # of arrays among NUMA nodes: "local", "interleave", "remote"
    rail: str = ""  # what a power is that of: "facility", "rack", "node", or the name of a part
    params: Params = msgspec.field(default_factory=dict)  # the rest of what the metric is ranked by


class Beside(Record, frozen=True, kw_only=True):
    """One of our values beside one that a document published, in the same metric."""

    metric: str
    unit: str
    better: str
    ours: Finding
    system: str  # id of the published system
    system_name: str
    year: int | None = None
    theirs: float
    theirs_half: float = 0.0  # half a unit of the last printed place, SI
    theirs_params: Params = msgspec.field(default_factory=dict)
    where: str = ""  # document and table
    ratio: float | None = None  # ours over theirs; None under other circumstances, where it means nothing
    verdict: Literal["better", "worse", "equal", "not told apart", "not ranked", "other circumstances"] = "not ranked"
    circumstances: Circumstances = Circumstances()
    theirs_circumstances: Circumstances = Circumstances()
    differences: tuple[str, ...] = ()  # what keeps the two from being ranked, in words


class Curve(Record, frozen=True, kw_only=True):
    """What a document published of one metric over a parameter: one table's rows, whole."""

    metric: str
    unit: str
    system: str
    system_name: str
    year: int | None = None
    where: str
    axis: str  # the parameter that varies
    params: Params  # those that are the same for all points
    x: tuple[float, ...]
    y: tuple[float, ...]
    y_half: tuple[float, ...]  # half a unit of the last printed place, SI


class PairMatrix(Record, frozen=True, kw_only=True):
    """Values of more pairs of nodes than findings are made of, as columns: one entry a pair in ``a``, ``b`` (numbers of
    places) and in what follows them."""

    workload: str
    metric: Metric
    params: Params  # common to all pairs
    places: tuple[str, ...]
    hosts: tuple[str, ...]  # of each place
    a: tuple[int, ...]
    b: tuple[int, ...]
    values: tuple[float, ...]
    spread: tuple[float | None, ...]  # relative standard uncertainty of the value from its own samples
    round: tuple[int, ...]  # of a tournament; -1 where nothing is known of rounds


class Analysis(Record, frozen=True, kw_only=True):
    """Everything that a report shows: made from a run directory alone, and the same each time."""

    name: str  # of the run directory
    campaign: str
    title: str
    created_ns: int
    version: str
    machine: Machine
    findings: tuple[Finding, ...] = ()
    metrics: tuple[Metric, ...] = ()  # definitions of the findings' metrics
    workload_titles: dict[str, str] = msgspec.field(default_factory=dict)  # name of a workload -> its title
    verdicts: tuple[Verdict, ...] = ()
    checks: tuple[Check, ...] = ()  # the worst of each workload and kernel
    outcomes: tuple[Outcome, ...] = ()
    beside: tuple[Beside, ...] = ()
    curves: tuple[Curve, ...] = ()  # published ones of the metrics that were measured
    pairs: tuple[PairMatrix, ...] = ()  # matrices of so many pairs that findings keep the best and the worst alone
    power: PowerView | None = None  # where meters were read during the run
    skipped: tuple[Absent, ...] = ()
    notices: tuple[Notice, ...] = ()
    summary: tuple[str, ...] = ()  # the verdict in a paragraph: one sentence each
