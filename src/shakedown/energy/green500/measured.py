"""The numbers of a submission: how each feed was read in each phase, and the power of the whole system with its budget.

    coverage(submission, feed, window)       how many readings, how often, how near the ends
    power(submission, window, counter=...)   P = sum over sets N/n sum p + measured subsystems + upper bounds

Parallel meters are summed at one instant, then averaged (EE HPC WG, aspect 4); the instants are the readings of the slowest
meter. ``level_budget.py`` has the terms of the uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ...metering.trace import Trace
from ...records import Notice, Record
from ..integrate import HOLE
from ..uncertainty.quantity import Quantity, Term, power_law, quantity
from ..uncertainty.quantity import unknown as not_known
from . import intervals
from . import level_budget as budget
from .rules import Rules
from .stamps import Window
from .submission import MeteredFeed, NodeSet, Submission


class Coverage(Record, frozen=True, kw_only=True):
    """How one feed was read in one window. Times in seconds; a reading counts where it lies wholly inside."""

    feed: str
    window: str
    readings: int  # inside; of a counter: its values
    fresh: int  # those that the meter really made
    interval_s: float  # usual
    longest_s: float
    refresh_s: float
    unequal: float  # largest departure of a stretch from the usual, as a share, holes left out
    missing: float  # share of the window, between its first and last reading, without one
    lead_s: float  # from the window's begin to the first whole reading
    tail_s: float
    first_s: float  # from the window's begin to the first stamp inside
    last_s: float
    counter: bool


class SetPower(Record, frozen=True, kw_only=True):
    """One set of nodes."""

    name: str
    nodes: int
    measured_nodes: int
    feeds: int
    loads: int  # what these feeds supply: two supplies of one rack are one load
    measured_w: float | None
    total_w: float | None  # measured x nodes / measured nodes
    extrapolation_u_w: float | None  # None: the spread between nodes is not known


class Total(Record, frozen=True, kw_only=True):
    """The whole system in one window."""

    window: str
    value: Quantity
    sets: tuple[SetPower, ...]
    subsystems: dict[str, float]  # measured or bounded, W
    feeds: dict[str, float]  # mean power of each, upstream, W
    efficiencies: dict[str, float]  # of the conversion above each
    begin_ns: int | None  # of the first reading that counts
    end_ns: int | None

    def metered_w(self, feed: str) -> float:
        """What a feed's meter itself read on average, in W; 0 where it read nothing."""
        return self.feeds.get(feed, 0.0) * self.efficiencies.get(feed, 1.0)


def window_of(submission: Submission, name: str, rules: Rules) -> Window | None:
    """A phase, moved by half the resolution of its stamps where the rules allow it and the site asks for it."""
    window = submission.windows.get(name)
    if window is None or not (rules.readings.half_second and submission.description.phases.half_second):
        return window
    shift = round(window.resolution_s * 0.5e9)
    return msgspec.structs.replace(window, begin_ns=window.begin_ns + shift, end_ns=window.end_ns + shift)


def counted(submission: Submission) -> tuple[MeteredFeed, ...]:
    """The feeds that make up the total: metered, serving something, and no second meter on a load."""
    return tuple(one for one in submission.description.feeds if one.channel and one.of and not one.same_as)


def coverage(submission: Submission, feed: MeteredFeed, window: Window) -> Coverage:
    """How a feed was read in a window."""
    trace = submission.traces[feed.channel]
    stretches = intervals.of(trace)
    within = stretches.take(intervals.inside(stretches, window.begin_ns, window.end_ns))
    counter = trace.channel.quantity == "energy"
    stamps = trace.t_ns[trace.ok]
    stamps = stamps[(stamps >= window.begin_ns) & (stamps <= window.end_ns)]
    count = len(stamps) if counter else len(within)
    refresh, usual = intervals.refresh_s(trace), intervals.usual_ns(trace) * 1e-9
    whole = float(within.end_ns[-1] - within.begin_ns[0]) * 1e-9 if len(within) else 0.0
    holes = 1 - float(within.seconds.sum()) / whole if whole > 0 else 0.0
    lengths = within.seconds
    usual_length = float(np.median(lengths)) if len(lengths) else usual
    near = lengths[lengths <= HOLE * usual_length]
    span = float(stamps[-1] - stamps[0]) * 1e-9 if len(stamps) else 0.0
    fresh = min(count, int(span / refresh * (1 + 1e-9)) + 1) if refresh > 0 and count else count

    def distance(late: int, early: int) -> float:
        return max(0.0, (late - early) * 1e-9)

    return Coverage(
        feed=feed.name,
        window=window.name,
        readings=count,
        fresh=fresh,
        interval_s=usual_length,
        longest_s=float(lengths.max()) if len(lengths) else math.inf,
        refresh_s=refresh,
        unequal=float(np.max(np.abs(near / usual_length - 1))) if len(near) else 0.0,
        missing=max(0.0, holes),
        lead_s=distance(int(within.begin_ns[0]), window.begin_ns) if len(within) else window.seconds,
        tail_s=distance(window.end_ns, int(within.end_ns[-1])) if len(within) else window.seconds,
        first_s=distance(int(stamps[0]), window.begin_ns) if len(stamps) else window.seconds,
        last_s=distance(window.end_ns, int(stamps[-1])) if len(stamps) else window.seconds,
        counter=counter,
    )


# ------------------------------------------------------------------------------------------------------------ the series


def series(
    submission: Submission, feeds: Sequence[MeteredFeed], window: Window, *, overlap: bool = False
) -> budget.Series:
    """The mean power of every feed between the readings of the slowest one that lie wholly inside the window (with
    ``overlap`` those at its edges too, for the part inside). Instants at which a feed is silent are left out."""
    traces = [submission.traces[one.channel] for one in feeds]
    slowest = intervals.of(max(traces, key=intervals.refresh_s))
    if overlap:
        chosen = slowest.take(intervals.overlap_s(slowest, window.begin_ns, window.end_ns) > 0)
        begin, end = np.maximum(chosen.begin_ns, window.begin_ns), np.minimum(chosen.end_ns, window.end_ns)
    else:
        chosen = slowest.take(intervals.inside(slowest, window.begin_ns, window.end_ns))
        begin, end = chosen.begin_ns, chosen.end_ns
    rows, heard = [], np.ones(len(begin), bool)
    for trace in traces:
        watts, share = intervals.between(intervals.of(trace), begin, end)
        rows.append(watts)
        heard &= share >= 0.5
    table = np.vstack(rows)[:, heard] if rows else np.empty((0, 0))
    begin, end = begin[heard], end[heard]
    span = float(end[-1] - begin[0]) if len(begin) else 0.0
    missing = 1 - float((end - begin).sum()) / span if span > 0 else 1.0
    return budget.Series(begin, end, table, max(0.0, missing))


def equal_averages(submission: Submission, core: Window, run: Window, count: int) -> list[tuple[int, int, float]]:
    """Equal averages over the full run, so many of them in the core phase: begin, end (Unix ns), and the power of all
    measured feeds at the meters, by energy. A part that is not covered whole is left out."""
    length = (core.end_ns - core.begin_ns) // count
    before, after = (core.begin_ns - run.begin_ns) // length, max(0, run.end_ns - core.end_ns) // length
    begin = core.begin_ns + length * np.arange(-max(0, before), count + after, dtype=np.int64)
    whole, sure = np.zeros(len(begin)), np.ones(len(begin), bool)
    for feed in counted(submission):
        watts, share = intervals.between(intervals.of(submission.traces[feed.channel]), begin, begin + length)
        whole += watts
        sure &= share >= 0.99
    return [(int(begin[i]), int(begin[i]) + length, float(whole[i])) for i in np.flatnonzero(sure)]


# ------------------------------------------------------------------------------------------------------------- the power


def power(submission: Submission, window: Window, rules: Rules, *, counter: bool = False) -> Total:
    """The whole system's mean power in a window: the mean of the readings inside, or with ``counter`` what each counter
    gained between its first and last reading inside, over the time between these by the meter's own stamps."""
    feeds = counted(submission)
    name = f"power, {window.name}"
    if not feeds:
        return _nothing(window, name, "no feed has a meter")
    found = series(submission, feeds, window, overlap=rules.readings.overlap and not counter)
    if counter:
        means = [_gained(submission.traces[one.channel], window) for one in feeds]
    else:
        length = (found.end_ns - found.begin_ns).astype(np.float64)
        means = [float(np.average(row, weights=length)) if len(row) else None for row in found.w]
    silent = [feed.name for feed, mean in zip(feeds, means, strict=True) if mean is None]
    if silent:
        why = "no counter with two readings in a row" if counter else "no reading wholly inside"
        mute = [one.name for one in feeds if not _heard(submission.traces[one.channel], window)]
        silent = mute or silent
        return _nothing(window, name, f"{', '.join(silent[:5])}: {why} the {window.name}")
    factors = _factors(submission)
    parts = []
    for feed, mean in zip(feeds, means, strict=True):
        share = budget.conversion(submission, feed, mean or 0.0)
        parts.append(budget.Contribution(feed, factors.get(feed.of, 1.0), (mean or 0.0) / share, share))
    sets = tuple(_set_power(submission, one, parts) for one in submission.description.sets)
    subsystems = _subsystem_watts(submission, parts)
    value = math.fsum(part.factor * part.watts for part in parts) + math.fsum(
        one.upper_bound_w or 0.0 for one in submission.description.subsystems if one.state == "estimated"
    )
    terms = [
        *budget.meter_terms(submission, parts),
        *budget.loss_terms(submission, parts),
        *budget.reading_terms(submission, parts, window),
        *budget.window_terms(window, found, parts, rules, submission),
        *(_extrapolation_term(submission, one) for one in sets if one.extrapolation_u_w),
    ]
    method, seen = _method(counter, rules), 1 - found.missing
    return Total(
        window=window.name,
        value=quantity(name, "W", value, terms, method=method, seen=seen, notices=_notices(submission, sets)),
        sets=sets,
        subsystems=subsystems,
        feeds={part.feed.name: part.watts for part in parts},
        efficiencies={part.feed.name: part.efficiency for part in parts},
        begin_ns=int(found.begin_ns[0]) if len(found.begin_ns) else None,
        end_ns=int(found.end_ns[-1]) if len(found.end_ns) else None,
    )


def _heard(trace: Trace, window: Window) -> bool:
    return bool(np.any(intervals.inside(intervals.of(trace), window.begin_ns, window.end_ns)))


def _method(counter: bool, rules: Rules) -> str:
    if counter:
        return "energy between each counter's first and last reading inside, over the time between them"
    which = ", those at the edges for the part inside" if rules.readings.overlap else " that lie wholly inside"
    return f"feeds summed at the slowest meter's readings{which}, averaged by their length"


def efficiency(rmax: float, core: Quantity) -> Quantity:
    """Operations for a joule, in flop/J: Rmax over the mean power of the same core phase; the count is exact."""
    return power_law("efficiency", "flop/J", rmax, {"power": (-1, core)})


def _nothing(window: Window, name: str, why: str) -> Total:
    return Total(
        window=window.name,
        value=not_known(name, "W", Notice(code="no-reading", text=why)),
        sets=(),
        subsystems={},
        feeds={},
        efficiencies={},
        begin_ns=None,
        end_ns=None,
    )


def _gained(trace: Trace, window: Window) -> float | None:
    """(E_last - E_first) / (t_last - t_first) of the readings inside; None where there are not two, or the counter
    started anew between them."""
    if trace.channel.quantity != "energy":
        return None
    stretches = intervals.of(trace)
    within = stretches.take(intervals.inside(stretches, window.begin_ns, window.end_ns))
    if not len(within) or np.any(within.begin_ns[1:] != within.end_ns[:-1]):
        return None
    return float((within.w * within.seconds).sum() / within.seconds.sum())


def _factors(submission: Submission) -> dict[str, float]:
    """How often a measured node of each set counts: nodes / measured nodes, never less than once."""
    out = {}
    for one in submission.description.sets:
        count = budget.measured_nodes(submission.feeds_of(one.name))
        out[one.name] = max(1.0, one.nodes / count) if count else 0.0
    return out


def _set_power(submission: Submission, one: NodeSet, parts: Sequence[budget.Contribution]) -> SetPower:
    mine = [part for part in parts if part.feed.of == one.name]
    watts = {part.feed.name: part.watts for part in mine}
    loads = budget.loads([part.feed for part in mine])
    units = [(math.fsum(watts[feed.name] for feed in load), budget.load_nodes(load)) for load in loads]
    count = sum(nodes for _, nodes in units)
    measured = math.fsum(part.watts for part in mine)
    return SetPower(
        name=one.name,
        nodes=one.nodes,
        measured_nodes=count,
        feeds=len(mine),
        loads=len(loads),
        measured_w=measured if mine else None,
        total_w=measured * max(1.0, one.nodes / count) if count else None,
        extrapolation_u_w=budget.extrapolation_u(one, units),
    )


def _extrapolation_term(submission: Submission, one: SetPower) -> Term:
    stated = next(nodes.spread for nodes in submission.description.sets if nodes.name == one.name)
    return Term(
        name=f"nodes of {one.name} not measured",
        u=one.extrapolation_u_w or 0.0,
        dof=None if stated is not None and one.loads < budget.ENOUGH_FEEDS else one.loads - 1,
        text=f"{one.measured_nodes} of {one.nodes} nodes in {one.loads} loads, finite population",
        remedy="measure more nodes",
    )


def _subsystem_watts(submission: Submission, parts: Sequence[budget.Contribution]) -> dict[str, float]:
    out = {}
    for one in submission.description.subsystems:
        mine = [part.watts for part in parts if part.feed.of == one.name]
        if mine:
            out[one.name] = math.fsum(mine)
        elif one.state == "estimated" and one.upper_bound_w is not None:
            out[one.name] = one.upper_bound_w
    return out


def _notices(submission: Submission, sets: Sequence[SetPower]) -> list[Notice]:
    out = [
        Notice(
            code="spread-unknown",
            text=f"the uncertainty leaves out the {one.nodes - one.measured_nodes} nodes of {one.name!r} that were not "
            "measured: one feed alone shows no spread between nodes",
            advice=f"measure the nodes of {one.name!r} in several feeds, or state their spread",
        )
        for one in sets
        if one.extrapolation_u_w is None and one.measured_nodes
    ]
    out += [
        Notice(
            code="upper-bound",
            text=f"{one.name}: {one.upper_bound_w:.4g} W are the most that it can draw, counted whole",
            advice="measure it: the total can only fall",
        )
        for one in submission.description.subsystems
        if one.state == "estimated" and one.upper_bound_w is not None
    ]
    out += [
        Notice(
            code="not-in-total",
            text=f"{one.name}: {one.state}, but without a number: it is not in the total",
            advice="give upper_bound_w" if one.state == "estimated" else "give a feed of it, or one that includes it",
        )
        for one in submission.description.subsystems
        if (one.state == "estimated" and one.upper_bound_w is None)
        or (one.state == "measured" and not submission.measures(one.name))
    ]
    return out
