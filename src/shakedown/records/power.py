"""Values with their uncertainty, and what meters saw over a run directory."""

from __future__ import annotations

from typing import Literal

from .machine import Record
from .run import Notice


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
