"""The clock of a meter that stamps its own readings, against the host's, from the edges of the runs beside it.

A controller, a lab instrument or a database keeps its own time. A run gives edges for nothing: idle, load, idle, and the
phases that the programs mark, all by the host's clock. Where a step of the power shows in the readings, the offset with
which the meter's own model explains them best (align.from_edges) is the clock's; several groups of edges give its drift as
the slope of the line through them (host_clock.line_through). It is taken out of the stamps where it differs from nothing by
more than ``SIGNIFICANT`` standard uncertainties, and what is left of it is one term of every energy of that meter, shared
between phases. Where the edges do not tell it, the clock is assumed to be right to within ``ASSUMED_S``: a uniform prior.

Meters whose readings carry the host's stamps have no clock of their own: how late they are is their delay (docs/energy.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from ...errors import BadInput, CannotMeasure
from ...metering.character import Character
from ...metering.trace import Floats, Ints, Trace
from ...units import show, show_seconds
from .. import deduplicate, integrate
from ..characterise.basis import Recording
from ..response import Response, cadence_s, has_own_stamps, response_of
from ..simulate import Load
from . import load_edges
from .align import MeterClock, from_edges
from .host_clock import HostClock, Sitting, line_through

#: Half width of what is assumed of a clock that the edges do not tell: a device that keeps time by NTP and stamps in whole
#: seconds is within it. As a standard uncertainty it is ASSUMED_S / sqrt(3).
ASSUMED_S = 1.0
#: How far a clock is looked for, unless the readings average for longer than that.
REACH_S = 60.0
SIGNIFICANT = 2.0
#: A load that explains less than this of what the meter said tells nothing of its clock.
EXPLAINED = 0.5
#: One that explains so much of many readings steps where its marks say: a ramp would leave more. Edges closer together than
#: the meter averages can only be judged so.
EXACT = 0.999
_MANY = 50
_MOST_EDGES = 16  # in the search over the whole reach
_GROUPS = 8  # for the drift
_FEWEST_EDGES = 2
_MOST_READINGS, _FEWEST_READINGS = 800, 8
_LEAST_U = 1e-3  # of the time between readings: no clock is claimed to be known better, however well a model fits
_NEAR = 4.0  # times what the first search leaves open: so near the edges lie the readings that tell it exactly
_NEAR_S = 3.0  # the least reach of a group of edges, for a clock that drifts
_DRIFT = 2e-3  # of the time between two groups: clocks that run worse than this are broken


class Clock(NamedTuple):
    """``how``: the host's own stamps; estimated and taken out; estimated and no different from the host's; taken out by
    when the readings were read alone; or assumed."""

    how: Literal["host", "estimated", "agrees", "read", "assumed"]
    u_s: float = 0.0  # standard uncertainty of what the stamps are after ``corrected``
    line: HostClock | None = None  # what was found, where something was
    edges: int = 0
    why: str = ""  # it is assumed

    def text(self) -> str:
        """In words, for the report; empty where there is nothing to say."""
        if self.how == "host":
            return ""
        if self.line is None:
            return (
                f"its own clock is not checked ({self.why}): it is taken to be within {ASSUMED_S:g} s of this host's "
                f"(u = {self.u_s:.2g} s)"
            )
        ahead, u = self.line.offset_s.value, self.u_s
        if self.how == "read":
            return (
                f"its stamps are {_signed(ahead)} clock when they are read (u = {show(u, 's', 2)}): taken out of them; the "
                f"edges of the runs do not say more ({self.why})"
            )
        found = f"the {self.edges} edges of the runs put its clock {_signed(ahead)}"
        if self.how == "agrees":
            return f"{found}, which is no more than that is uncertain: nothing is taken out (u = {show(u, 's', 2)})"
        drift = f", drifting by {self.line.drift.value * 1e6:+.0f} ppm" if self.line.drift else ""
        return f"{found}{drift} (u = {show(u, 's', 2)}): taken out of its stamps"


def _signed(ahead_s: float) -> str:
    return f"{show(abs(ahead_s), 's', 3)} {'ahead of' if ahead_s >= 0 else 'behind'} this host's"


def assumed(why: str) -> Clock:
    """What holds where nothing else is known."""
    return Clock("assumed", ASSUMED_S / math.sqrt(3), why=why)


def corrected(trace: Trace, clock: Clock) -> Trace:
    """The trace on the host's clock."""
    if clock.how not in ("estimated", "read") or clock.line is None:
        return trace
    line = clock.line
    drift = line.drift.value if line.drift else 0.0
    ahead_s = line.offset_s.value + drift * (trace.t_ns - line.at_ns).astype(np.float64) * 1e-9
    return replace(trace, t_ns=trace.t_ns - np.round(ahead_s * 1e9).astype(np.int64))


def _by_reading(ahead_s: float, refresh_s: float, at_ns: int, why: str) -> Clock:
    """Where the edges tell nothing: a device whose stamps lie further from the host's time when they are read than what is
    assumed is off by that, and by half a refresh, the mean age of a value."""
    if abs(ahead_s) <= ASSUMED_S + 2 * refresh_s:
        return assumed(why)
    u = math.hypot(ASSUMED_S / math.sqrt(3), refresh_s / math.sqrt(12))
    return Clock("read", u, line_through(at_ns, [Sitting(0.0, ahead_s + refresh_s / 2, u)]), why=why)


def swing(trace: Trace, character: Character | None = None) -> float:
    """How plainly a channel shows what is on and off: the spread of its power over its usual difference from one reading to
    the next. Of several channels of one device, the one with the most tells their common clock best."""
    try:
        seen = _seen(trace, response_of(trace, character))
    except CannotMeasure:
        return 0.0
    if len(seen.w) < 3:
        return 0.0
    usual = float(np.median(np.abs(np.diff(seen.w))))
    return float(np.ptp(seen.w)) / max(usual, 1e-3 * float(np.abs(seen.w).max()), 1e-12)


def estimate(
    trace: Trace, marks_ns: Sequence[int], character: Character | None = None, *, ahead_s: float | None = None
) -> Clock:
    """The clock of a channel against the marks: when runs, and what they say of themselves, began and ended (Unix ns, by
    the host's clock, in any order). ``ahead_s``: how far the stamps were ahead of the host's clock when they were read
    (collect.ahead_s), about which the clock is looked for. Never raises for what the readings are like: then it is assumed,
    with the reason."""
    if not has_own_stamps(trace):
        return Clock("host")
    response = response_of(trace, character)
    found = _by_edges(trace, marks_ns, response, ahead_s or 0.0)
    if found.how == "assumed" and ahead_s is not None:
        return _by_reading(ahead_s, response.refresh_s, int(trace.t_ns[0]), found.why)
    return found


def _by_edges(trace: Trace, marks_ns: Sequence[int], response: Response, about_s: float) -> Clock:
    try:
        seen = _seen(trace, response)
    except CannotMeasure as error:
        return assumed(error.what)
    if len(seen.w) < _FEWEST_EDGES + _FEWEST_READINGS:
        return assumed(f"{len(seen.w)} readings are too few")
    least_s = max(response.refresh_s, seen.cadence_s, seen.window_s / 4)
    edges_ns, blur_s = edges_of(marks_ns, round(least_s * 1e9))
    if len(edges_ns) < _FEWEST_EDGES:
        return assumed(f"{len(edges_ns)} edges of the runs, {show_seconds(least_s)} or more apart, are too few")
    reach = max(REACH_S, 2 * seen.window_s)
    middle = max(0, (len(edges_ns) - _MOST_EDGES) // 2)
    try:
        first = _found(seen, edges_ns, middle, middle + _MOST_EDGES, about_s, reach)
    except BadInput as error:
        return assumed(error.what)
    if doubts := _doubts(first):
        return assumed(doubts)
    line = _line(seen, edges_ns, first)
    steps = _steps(seen, edges_ns, line)
    exact = first.explained >= EXACT and len(seen.w) >= _MANY
    if not exact and (doubts := load_edges.doubt(steps, line.offset_s.value)):
        return assumed(doubts)
    ends = [int(edges_ns[0]), int(edges_ns[-1])]
    if line.drift and abs(line.drift.value) <= SIGNIFICANT * line.drift.u:
        line = line._replace(drift=None)
        u = line.offset_s.u
    else:
        u = max(line.u_at(end) for end in ends)
    # A ramp of R after each mark is late by R / 2, which is no clock's.
    u = max(math.hypot(u, blur_s, steps.u_s / math.sqrt(2), steps.ramp_s / math.sqrt(12)), _LEAST_U * seen.cadence_s)
    most = max(abs(line.offset_at(end)) for end in ends)
    if most > SIGNIFICANT * u:
        return Clock("estimated", u, line, len(edges_ns))
    return Clock("agrees", math.hypot(u, most), line, len(edges_ns))


# ---------------------------------------------------------------------------------------------------------------- edges


def edges_of(marks_ns: Sequence[int], least_ns: int) -> tuple[Ints, float]:
    """The marks as edges of a load, in order, and how uncertain each is on average, in s.

    Marks closer together than ``least_ns``, what the meter can tell apart, are one edge in their middle, which may be
    anywhere between the first and the last of them (/ sqrt 12). Where such marks go on for longer (many short cases), only
    the first and the last of the row are edges, and what is between them is one load.
    """
    marks = np.unique(np.asarray(marks_ns, np.int64))
    if not len(marks):
        return marks, 0.0
    rows = np.split(marks, np.flatnonzero(np.diff(marks) >= least_ns) + 1)
    edges: list[int] = []
    widths: list[float] = []
    for row in rows:
        wide = int(row[-1] - row[0])
        if wide < least_ns:
            edges.append(int(row[0]) + wide // 2)
            widths.append(wide * 1e-9)
        else:
            edges += [int(row[0]), int(row[-1])]
            widths += [0.0, 0.0]
    return np.array(edges, np.int64), float(np.mean(widths)) / math.sqrt(12)


# ------------------------------------------------------------------------------------------------------------- the search


class _Seen(NamedTuple):
    """Powers with their stamps, and the kernel through which they see the load."""

    name: str
    t_ns: Ints
    w: Floats
    window_s: float
    tau_s: float
    delay_s: float
    cadence_s: float


def _seen(trace: Trace, response: Response) -> _Seen:
    """Raises CannotMeasure for a counter without two readings that join."""
    cadence = cadence_s(trace, response)
    if trace.channel.quantity == "energy":
        tiles = integrate.counted(trace, response).tiles
        lengths = (tiles.end_ns - tiles.begin_ns) * 1e-9
        window = float(np.median(lengths))
        near = np.abs(lengths - window) <= 0.5 * window
        return _Seen(response.key, tiles.end_ns[near], tiles.right_w[near], window, 0.0, 0.0, max(cadence, window))
    kept = deduplicate.refreshed(deduplicate.ordered(trace), response)
    kept = kept.take(kept.ok)
    window = response.boxcar_s
    delay = response.delay_s - (window if response.scope == "next" and response.window_s is None else 0.0)
    return _Seen(response.key, kept.t_ns, kept.value, window, response.tau_s, delay, cadence)


def _found(seen: _Seen, edges_ns: Ints, low: int, high: int, at_s: float, reach_s: float) -> MeterClock:
    """The offset by the edges from ``low`` to before ``high``, within ``reach_s`` of ``at_s``: first by readings drawn at
    random, where there are many, then by those about the edges. Raises BadInput for too few."""
    part = edges_ns[max(low, 0) : high]
    origin = int(part[0])
    edges_s: Floats = (part - origin).astype(np.float64) * 1e-9
    t_s: Floats = (seen.t_ns - origin).astype(np.float64) * 1e-9 - at_s
    memory = seen.window_s + seen.delay_s + 5 * seen.tau_s
    # Up to the edges that are not among these the load is as it was; how far that is, depends on the offset itself.
    before = (edges_ns[low - 1] - origin) * 1e-9 + reach_s + memory if low > 0 else -math.inf
    after = (edges_ns[high] - origin) * 1e-9 - reach_s if high < len(edges_ns) else math.inf
    wide = reach_s + memory + 20 * seen.cadence_s
    inside = (t_s > max(before, edges_s[0] - wide)) & (t_s < min(after, edges_s[-1] + wide))
    t_s, w = t_s[inside], seen.w[inside]
    if len(t_s) < _FEWEST_READINGS and before >= after:
        raise BadInput(
            f"other runs lie within {show_seconds(reach_s)} of these: by so much the clock may be off, and it is not "
            "clear which edge is whose",
            hint="rest longer between the runs (--rest)",
        )
    if len(t_s) < _FEWEST_READINGS:
        raise BadInput(
            f"{len(t_s)} readings lie within {show_seconds(reach_s)} of the runs", hint="check whether its clock is set"
        )
    some = np.arange(len(t_s))
    thinned = len(t_s) > _MOST_READINGS
    if thinned:
        some = np.sort(np.random.default_rng(1).permutation(len(t_s))[:_MOST_READINGS])
    found = _searched(seen, edges_s, t_s[some], w[some], reach_s)
    if thinned and not _doubts(found):
        spacing = float(t_s[-1] - t_s[0]) / _MOST_READINGS
        about = _NEAR * max(spacing, found.offset_s.high - found.offset_s.low, 2 * seen.cadence_s) + memory
        shifted: Floats = t_s - found.offset_s.value
        away = np.min(np.abs(shifted[:, None] - edges_s[None, :]), axis=1)
        near = np.argsort(away, kind="stable")[: min(_MOST_READINGS, int(np.sum(away <= about)))]
        near = np.sort(near)
        coarse = found.offset_s.value
        found = _moved(_searched(seen, edges_s, shifted[near], w[near], about), coarse)
    return _moved(found, at_s)


def _searched(seen: _Seen, edges_s: Floats, t_s: Floats, w: Floats, reach_s: float) -> MeterClock:
    # The first stretch is the load as it was before all edges.
    load = Load(np.concatenate([[min(edges_s[0], t_s[0]) - 1e4], edges_s]), np.zeros(len(edges_s) + 1))
    return from_edges(
        Recording(seen.name, load, t_s, w),
        window_s=seen.window_s,
        tau_s=seen.tau_s,
        delay_s=seen.delay_s,
        period_s=seen.cadence_s,
        expected_u_s=math.inf,
        reach_s=reach_s,
    )


def _moved(found: MeterClock, by_s: float) -> MeterClock:
    at = found.offset_s
    moved = type(at)(value=at.value + by_s, low=at.low + by_s, high=at.high + by_s)
    return found._replace(offset_s=moved, profile=tuple((x + by_s, y) for x, y in found.profile))


def _doubts(found: MeterClock) -> str:
    """Why an offset is not to be believed; empty where it is. One step alone could be laid on any edge within reach."""
    if found.steps < _FEWEST_EDGES:
        return f"the power steps at {found.steps} of the edges: too few to decide"
    codes = {one.code: one.text for one in found.notices}
    if found.explained < EXPLAINED:
        return f"the runs explain {max(found.explained, 0.0):.0%} of what it reported"
    return next((codes[code] for code in ("several-offsets", "offset-at-limit") if code in codes), "")


def _steps(seen: _Seen, edges_ns: Ints, line: HostClock) -> load_edges.Edges:
    """The steps of the power at the edges with what the fit found taken out of the stamps."""
    origin = int(edges_ns[0])
    drift = line.drift.value if line.drift else 0.0
    ahead_s = line.offset_s.value + drift * (seen.t_ns - line.at_ns).astype(np.float64) * 1e-9
    late_s = seen.delay_s + seen.tau_s + (seen.window_s - seen.cadence_s) / 2
    t_s: Floats = (seen.t_ns - origin).astype(np.float64) * 1e-9 - ahead_s - late_s
    smear_s = seen.window_s + 4 * seen.tau_s
    edges_s: Floats = (edges_ns - origin).astype(np.float64) * 1e-9
    points = seen.window_s <= 0 and seen.tau_s <= 0
    kernel_s2 = seen.window_s**2 / 12 + seen.tau_s**2
    return load_edges.look(t_s, seen.w, edges_s, smear_s, seen.cadence_s, points, kernel_s2)


def _line(seen: _Seen, edges_ns: Ints, first: MeterClock) -> HostClock:
    """The line through what groups of neighbouring edges tell; through the one offset where there is one group."""
    origin = int(edges_ns[0])
    least_u = _LEAST_U * seen.cadence_s
    single = [Sitting(float(np.mean((edges_ns - origin) * 1e-9)), first.offset_s.value, max(first.offset_s.u, least_u))]
    size = max(_FEWEST_EDGES, min(_MOST_EDGES // 2, 2 * math.ceil(len(edges_ns) / (2 * _GROUPS))))
    starts = list(range(0, len(edges_ns) - _FEWEST_EDGES + 1, size))
    if len(starts) > _GROUPS:
        starts = [starts[round(at)] for at in np.linspace(0, len(starts) - 1, _GROUPS)]
    if len(starts) < 2:
        return line_through(origin, single)
    sittings = []
    span_s = float(edges_ns[-1] - edges_ns[0]) * 1e-9
    reach = max(_NEAR_S, 3 * seen.cadence_s + seen.window_s, _DRIFT * span_s)
    for low in starts:
        high = min(low + size, len(edges_ns))
        try:
            found = _found(seen, edges_ns, low, high, first.offset_s.value, reach)
        except BadInput:
            continue
        if not _doubts(found):
            at_s = float(np.mean((edges_ns[low:high] - origin) * 1e-9))
            sittings.append(Sitting(at_s, found.offset_s.value, max(found.offset_s.u, least_u)))
    return line_through(origin, sittings if len(sittings) > 1 else single)
