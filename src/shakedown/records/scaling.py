"""What a scaling series is, and what is made of it."""

from __future__ import annotations

from typing import Literal

from .machine import Params, Record
from .run import Notice

ScalingKind = Literal["strong", "weak"]


class ScalingPoint(Record, frozen=True, kw_only=True):
    """One count of workers. ``seconds``: the time of the work, one entry a launch (the median of its samples)."""

    count: int
    seconds: tuple[float, ...]
    energy_j: float | None = None  # energy to solution
    energy_half_j: float | None = None  # half of its 95 % interval


class ScalingSeries(Record, frozen=True, kw_only=True):
    """The same work (strong) or the same work a worker (weak) at several counts, in their order."""

    workload: str
    title: str  # of the metric whose work it is
    kind: ScalingKind
    over: str  # what is counted: "ranks", "threads", "nodes", "gpus", "cores"
    params: Params  # common to all points
    host: str = ""
    source: str = ""  # the run directories, or the published table
    cores_per_count: int | None = None  # None: not known, so that there are no core hours
    points: tuple[ScalingPoint, ...] = ()
    within_launch: bool = False  # one launch at each count: ``seconds`` are its samples


class Speedup(Record, frozen=True, kw_only=True):
    """One count beside the smallest, which is the reference. Intervals: 95 %; None where nothing shows the spread.

    Strong scaling: ``speedup`` is T(p0)/T(p) and ``efficiency`` that times p0/p. Weak: ``efficiency`` is T(p0)/T(p) and
    ``speedup``, the scaled one, that times p/p0.
    """

    count: int
    seconds: float
    seconds_low: float | None
    seconds_high: float | None
    speedup: float
    efficiency: float
    efficiency_low: float | None
    efficiency_high: float | None
    karp_flatt: float | None  # strong scaling alone, and not for the reference
    karp_flatt_low: float | None
    karp_flatt_high: float | None
    core_hours: float | None
    energy_j: float | None
    superlinear: bool  # surely more than proportional


class ScalingLaw(Record, frozen=True, kw_only=True):
    """A law as it fits. ``parameter`` in [low, high] (95 %, as far as the law is true)."""

    name: str  # "Amdahl", "universal", "Gustafson", "linear overhead"
    parameter_name: str
    parameter: float
    low: float | None
    high: float | None
    misfit_probability: float | None  # of a misfit at least so large, were the law true; None: it cannot be checked
    state: Literal["holds", "does not hold", "cannot be checked"]
    overhead: float | None = None  # the universal law's second parameter
    seconds: tuple[float, ...] = ()  # at the points


class BestCount(Record, frozen=True, kw_only=True):
    """The count that is best by one figure, and those that cannot be told apart from it."""

    what: str  # "fastest", "cheapest", "most frugal", "least energy-delay product"
    count: int
    value: float
    unit: str
    with_it: tuple[int, ...] = ()
    told: bool = True  # False: nothing shows the spread, so that any other may be as good


class TimeAt(Record, frozen=True, kw_only=True):
    """The time at a count that was not measured."""

    count: int
    seconds: float
    low: float
    high: float
    basis: str


class Scaling(Record, frozen=True, kw_only=True):
    """A series and all that is said of it."""

    series: ScalingSeries
    spread: float | None  # relative standard deviation of one launch; None: not known
    speedups: tuple[Speedup, ...]
    laws: tuple[ScalingLaw, ...]
    best: tuple[BestCount, ...]
    between: tuple[TimeAt, ...] = ()
    notices: tuple[Notice, ...] = ()
