"""Everything that a report shows, made from a run directory alone."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .finding import Finding, Metric, Verdict
from .machine import Absent, Machine, Params, Record
from .power import PowerView
from .run import Disturbance, Notice, State
from .scaling import Scaling


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
    # Of arrays among NUMA nodes: "local", "interleave", "remote"; or what ranks share: "cache", "socket", "host", "hosts".
    placement: str = ""
    rail: str = ""  # what a power is that of: "facility", "rack", "node", or the name of a part
    params: Params = msgspec.field(default_factory=dict)  # the rest of what the metric is ranked by


class PublishedComparison(Record, frozen=True, kw_only=True):
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


class WithMpi(Record, frozen=True, kw_only=True):
    """What one MPI gave in a case that was measured with several, and that over the reference's."""

    mpi: str
    value: float  # median over its launches
    launches: int
    ratio: float | None = None  # median over the rounds of its value over the reference's; None: no round in common
    low: float | None = None
    high: float | None = None
    level: float | None = None  # how surely the ratio's median lies between these, whatever its distribution


class MpiComparison(Record, frozen=True, kw_only=True):
    """One case with several MPIs; the first one is the reference."""

    workload: str
    metric: str
    title: str
    unit: str
    better: str
    host: str
    params: Params  # without the MPI
    values: tuple[WithMpi, ...]


class Overhead(Record, frozen=True, kw_only=True):
    """What a layer costs in one case: how many times worse its value is than the native one of the same pair.

    ``factor`` is above 1 where the layer costs something: a time over the native time, the native rate over a rate.
    """

    workload: str
    metric: str
    title: str
    unit: str
    better: str
    host: str
    params: Params  # without the layer
    under: str  # the layer's label
    pairs: int
    native: float  # median over its launches in these pairs
    value: float  # the same under the layer
    factor: float
    low: float
    high: float
    level: float  # how surely the factor lies between these
    side: Literal["above", "below", "not told apart", "too few pairs"]
    within: float | None = None  # the least share within which it is equivalent to native; None: not known


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
    beside: tuple[PublishedComparison, ...] = ()
    curves: tuple[Curve, ...] = ()  # published ones of the metrics that were measured
    pairs: tuple[PairMatrix, ...] = ()  # matrices of so many pairs that findings keep the best and the worst alone
    scaling: tuple[Scaling, ...] = ()  # where the same work was measured at three counts of workers or more
    mpis: tuple[MpiComparison, ...] = ()  # where the same was measured with several MPIs
    overheads: tuple[Overhead, ...] = ()  # where the same was measured natively and under a layer, in pairs
    power: PowerView | None = None  # where meters were read during the run
    skipped: tuple[Absent, ...] = ()
    not_begun: tuple[str, ...] = ()  # labels of the plan's runs that were not begun: interrupted, or no time was left
    notices: tuple[Notice, ...] = ()
    summary: tuple[str, ...] = ()  # the verdict in a paragraph: one sentence each
