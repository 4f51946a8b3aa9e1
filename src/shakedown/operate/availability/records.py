"""What passes between the stages and what the report says; also its JSON. Times are Unix seconds, hours are processor-hours
unless they are named otherwise, availabilities are fractions; None is "not known"."""

from __future__ import annotations

from typing import Literal

from ...records import Notice, Record

Verdict = Literal["met", "not met", "undecided"]


class Window(Record, frozen=True, kw_only=True):
    """One window: what was scheduled, lost and not observed in it, in weighted seconds (processor-seconds, node-seconds or
    seconds of the system, as the contract counts).

    ``level`` is 1 - lost/(scheduled - not observed); ``low`` counts what was not observed as lost, ``high`` as up.
    """

    begin_s: int
    end_s: int
    scheduled: float
    lost: float
    unobserved: float = 0.0
    level: float | None = None
    low: float | None = None
    high: float | None = None


class Attempt(Record, frozen=True, kw_only=True):
    """One attempt at a window that begins anew when it cannot be met any more."""

    begin_s: int
    end_s: int
    met: bool
    why: str = ""


class Moved(Record, frozen=True, kw_only=True):
    """One exclusion as it was applied, or why it was not."""

    rule: str
    what: str
    nodes: str = ""  # folded
    begin_s: int = 0
    end_s: int = 0
    treat: str = "not scheduled"
    scheduled_h: float = 0.0  # taken out of the scheduled hours
    forgiven_h: float = 0.0  # of them (or of up time) that had been lost
    refused: str = ""  # why it does not hold
    records: int = 1


class Incident(Record, frozen=True, kw_only=True):
    """Outages of nodes that began together for one reason."""

    begin_s: int
    end_s: int | None = None  # None: not over
    nodes: str
    count: int
    kind: str
    what: str
    lost_h: float  # in the window, what is charged to it
    alone_h: float = 0.0  # what its absence would bring back
    would_meet: bool = False  # its absence alone
    scheduled: bool = False
    delay_s: tuple[float, float] | None = None  # how late it was noticed, from and to


class Missing(Record, frozen=True, kw_only=True):
    """What would have met the contract."""

    window: Window
    short_h: float  # lost beyond what the contract allows; below 0: to spare
    allowed_h: float
    fewest: int | None = (
        None  # so many incidents, the greatest first, would have to be absent; None: no number would do
    )
    ranked: tuple[Incident, ...] = ()


class Rate(Record, frozen=True):
    """A mean time with its interval. Zero events leave a bound and no value."""

    name: str
    title: str
    value_h: float | None
    low_h: float | None
    high_h: float | None
    events: int
    exposure_h: float
    censored: int = 0
    level: float = 0.95
    formula: str = ""
    source: str = ""


class Definition(Record, frozen=True):
    """One definition of availability with the numbers put in."""

    name: str
    formula: str
    numbers: str
    value: float | None
    unit: str = "%"  # "%": the value is a fraction; else h
    source: str = ""
    note: str = ""


class CauseHours(Record, frozen=True, kw_only=True):
    kind: str
    lost_h: float
    outages: int
    scheduled: bool = False


class DetectionLatency(Record, frozen=True, kw_only=True):
    """How late outages of one class were noticed, and by how much they are under-counted."""

    name: str
    outages: int
    low_s: float
    high_s: float
    hours_low: float
    hours_high: float
    basis: str
    measured: bool = False
    median_s: float | None = None


class JobCause(Record, frozen=True):
    """Jobs that ended in one way, as a share of all and per node-hour, with intervals."""

    cause: str  # system, user, unknown
    state: str
    jobs: int
    share: float
    share_low: float
    share_high: float
    per_knh: float | None = None  # per 1000 node-hours
    per_knh_low: float | None = None
    per_knh_high: float | None = None


class Killer(Record, frozen=True, kw_only=True):
    """A node on which more jobs fail than elsewhere."""

    node: str
    jobs: int
    failed: int
    expected: float
    p: float  # after Holm's correction for the number of nodes


class Jobs(Record, frozen=True, kw_only=True):
    source: str
    jobs: int
    ended: int
    causes: tuple[JobCause, ...] = ()
    killers: tuple[Killer, ...] = ()
    used_h: float = 0.0
    notices: tuple[Notice, ...] = ()


class Use(Record, frozen=True, kw_only=True):
    """Whether the system was in full use, where the contract asks for it."""

    at_least: float
    value: float | None
    state: Verdict
    used_h: float | None = None
    of_h: float | None = None
    basis: str = ""


class PublishedAvailability(Record, frozen=True, kw_only=True):
    """Our down time beside sreport's, and every difference in definition. Seconds of processors."""

    begin_s: int
    end_s: int
    ours: int
    sreport: int | None  # what the engine printed; None: not asked
    planned: int | None = None
    expected: int = 0  # what its rules make of the same events
    expected_planned: int = 0
    steps: tuple[tuple[str, int], ...] = ()  # from ours to the expected
    unexplained: int | None = None


class Source(Record, frozen=True):
    name: str
    kind: str
    records: int
    begin_s: int | None = None
    end_s: int | None = None


class Line(Record, frozen=True, kw_only=True):
    """One line of the arithmetic: weighted seconds, and the sum so far."""

    text: str
    begin_s: int | None = None
    end_s: int | None = None
    amount: float = 0.0
    sum: float = 0.0


class Explained(Record, frozen=True, kw_only=True):
    window: Window
    weight: str  # processors, nodes, gpus
    scheduled: tuple[Line, ...]
    excluded: tuple[Line, ...]
    lost: tuple[Line, ...]
    unobserved: tuple[Line, ...]
    result: str


class Point(Record, frozen=True, kw_only=True):
    """The level of the window that ends here."""

    end_s: int
    level: float | None
    low: float | None
    high: float | None


class AvailabilityReport(Record, frozen=True, kw_only=True):
    contract: str
    title: str
    source: str
    counting: str
    kind: str  # of the window: sliding, restarting, months
    target: float
    window_s: int
    zone: str
    begin_s: int
    end_s: int
    verdict: Verdict
    reasons: tuple[str, ...]
    nodes: int
    processors: int
    observed: float
    judged: Window | None = None
    first_met_s: int | None = None
    certain_first_met_s: int | None = None
    last: Window | None = None
    best: Window | None = None
    worst: Window | None = None
    whole: Window | None = None
    months: tuple[Window, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    course: tuple[Point, ...] = ()
    use: Use | None = None
    exclusions: tuple[Moved, ...] = ()
    missing: Missing | None = None
    incidents: tuple[Incident, ...] = ()
    causes: tuple[CauseHours, ...] = ()
    rates: tuple[Rate, ...] = ()
    definitions: tuple[Definition, ...] = ()
    delays: tuple[DetectionLatency, ...] = ()
    level_with_delay: tuple[float, float] | None = None  # of the judged window, from and to
    jobs: Jobs | None = None
    beside: PublishedAvailability | None = None
    explained: Explained | None = None
    sources: tuple[Source, ...] = ()
    notices: tuple[Notice, ...] = ()


def level(scheduled: float, lost: float, unobserved: float) -> tuple[float | None, float | None, float | None]:
    """EL of what was observed, and its bounds with what was not as lost and as up; fractions. None where nothing was
    scheduled (or seen)."""
    if scheduled <= 0:
        return None, None, None
    seen = scheduled - unobserved
    worst, best = (scheduled - lost - unobserved) / scheduled, (scheduled - lost) / scheduled
    return ((seen - lost) / seen if seen > 0 else None), worst, best


def notice(code: str, text: str, advice: str = "") -> Notice:
    return Notice(code=code, text=text, advice=advice)
