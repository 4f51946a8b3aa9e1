"""A report in words and tables, the same for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...times import minute, stamp
from .rates import words
from .records import AvailabilityReport, Window

#: Rows of a table on a terminal, and on the page.
FEW, MANY = 15, 30
Rows = list[tuple[str, ...]]
Told = Iterator[tuple[str, ...]]


def percent(value: float | None, digits: int = 3) -> str:
    return "not known" if value is None else f"{100 * value:.{digits}f} %"


def lead(told: AvailabilityReport) -> list[str]:
    """The verdict in sentences."""
    zone = told.zone
    reasons = "; ".join(told.reasons)
    out = [f"{told.title}: {told.verdict}. {reasons[:1].upper()}{reasons[1:]}" + "." * bool(reasons)]
    sliding = told.kind == "sliding"
    if sliding and told.certain_first_met_s is not None:
        out.append(f"A window met availability first at {stamp(told.certain_first_met_s, zone)}.")
    elif sliding and told.first_met_s is not None:
        first = stamp(told.first_met_s, zone)
        out.append(f"A window may have met it first at {first}, if what was not observed was up.")
    gap = told.missing
    if gap and gap.short_h > 0:
        if gap.fewest:
            worst = gap.ranked[: min(3, gap.fewest)]
            first = ", ".join(f"{one.nodes} ({one.kind}, {one.alone_h:,.1f} h)" for one in worst)
            which = "costliest incident" if gap.fewest == 1 else f"{gap.fewest} costliest incidents"
            out.append(f"It would have met without its {which}: {first}{' and others' if gap.fewest > 3 else ''}.")
        else:
            out.append("No set of the listed incidents, absent, would have met it.")
    if told.level_with_delay and told.judged and told.level_with_delay[0] < (told.judged.level or 0):
        low, high = told.level_with_delay
        late = f"with the delay estimated, the level is {percent(low)} to {percent(high)}"
        out.append(f"Outages are stamped when they are noticed: {late}.")
    return out


def tables(told: AvailabilityReport, most: int = FEW) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Every table: title, headings, rows."""
    unit = {"system": "system", "gpus": "GPU", "nodes": "node"}.get(told.counting, "processor")
    sums = (f"scheduled {unit} h", f"lost {unit} h", f"not observed {unit} h")
    window = ("window", "from", "to", "level", "bounds", *sums)
    taken_out = f"not scheduled {'processor' if told.counting == 'system' else unit} h"
    forgiven = f"forgiven {'processor' if told.counting == 'system' else unit} h"
    ranked = ("rank", "from", "nodes", "kind", "what", "back h", "back so far h", "meets")
    failed = ("whose", "how it ended", "jobs", "share of those that ended", "per 1000 node-hours")
    listed: list[tuple[str, tuple[str, ...], Iterable[tuple[str, ...]]]] = [
        ("Windows", window, _windows(told)),
        ("Months", window, (_window(stamp(one.begin_s, told.zone)[:7], one, told.zone) for one in told.months)),
        ("Attempts", ("attempt", "from", "to", "how it ended"), _attempts(told)),
        ("Full use", ("required", "in use", "is", "basis"), _use(told)),
        ("Exclusions", ("rule", "what", "nodes", "from", "to", taken_out, forgiven, "how"), _exclusions(told, most)),
        ("Lost by cause", ("kind", "lost h", "share", "outages of nodes", "scheduled"), _causes(told)),
        ("What would have met it", ranked, _missing(told, most)),
        ("Greatest incidents", ("from", "to", "nodes", "kind", "what", "lost h"), _incidents(told, most)),
        ("Mean times", ("mean time", "value", "events", "exposure h", "is"), _rates(told)),
        ("How late outages were noticed", ("outages", "number", "late by", "under-counted h", "basis"), _delays(told)),
        ("Definitions", ("definition", "value", "formula", "numbers", "source", "note"), _definitions(told)),
        ("Jobs that failed", failed, _jobs(told)),
        ("Nodes on which more jobs fail", ("node", "failed", "expected from the others", "p (Holm)"), _killers(told)),
        ("Down time beside sreport", ("what", "processor-seconds"), _beside(told)),
        ("Sources", ("source", "kind", "records", "from", "to"), _sources(told)),
    ]
    return [(title, heads, list(rows)) for title, heads, rows in listed]


def _window(name: str, one: Window, zone: str) -> tuple[str, ...]:
    bounds = f"{percent(one.low)} to {percent(one.high)}" if one.unobserved > 0 else "all was observed"
    hours = (f"{seconds / 3600:,.2f}" for seconds in (one.scheduled, one.lost, one.unobserved))
    return (name, stamp(one.begin_s, zone), stamp(one.end_s, zone), percent(one.level, 4), bounds, *hours)


def _windows(told: AvailabilityReport) -> Told:
    named = {"judged": told.judged, "best": told.best, "worst": told.worst, "last": told.last, "all": told.whole}
    return (_window(name, one, told.zone) for name, one in named.items() if one is not None)


def _attempts(told: AvailabilityReport) -> Told:
    for number, one in enumerate(told.attempts, start=1):
        begin, end = minute(one.begin_s, told.zone), minute(one.end_s, told.zone)
        yield str(number), begin, end, "met" if one.met else one.why


def _use(told: AvailabilityReport) -> Told:
    if one := told.use:
        hours = "" if one.used_h is None else f" ({one.used_h:,.1f} of {one.of_h:,.1f} h)"
        yield percent(one.at_least, 1), percent(one.value, 2) + hours, one.state, one.basis


def _exclusions(told: AvailabilityReport, most: int) -> Told:
    for one in told.exclusions[:most]:
        span = (minute(one.begin_s, told.zone), minute(one.end_s, told.zone))
        how = f"not applied: {one.refused}" if one.refused else one.treat
        yield one.rule, one.what[:60], one.nodes[:40], *span, f"{one.scheduled_h:,.2f}", f"{one.forgiven_h:,.2f}", how
    if rest := told.exclusions[most:]:
        sums = (f"{sum(one.scheduled_h for one in rest):,.2f}", f"{sum(one.forgiven_h for one in rest):,.2f}")
        yield f"and {len(rest):,} more", "", "", "", "", *sums, "--json has them"


def _causes(told: AvailabilityReport) -> Told:
    total = sum(one.lost_h for one in told.causes) or 1.0
    for one in told.causes:
        share = f"{100 * one.lost_h / total:.1f} %"
        yield one.kind, f"{one.lost_h:,.2f}", share, f"{one.outages:,}", "yes" if one.scheduled else "no"


def _incidents(told: AvailabilityReport, most: int) -> Told:
    for one in told.incidents[:most]:
        end = "not over" if one.end_s is None else minute(one.end_s, told.zone)
        begin = minute(one.begin_s, told.zone)
        yield begin, end, one.nodes[:40], one.kind, one.what[:60], f"{one.lost_h:,.2f}"


def _missing(told: AvailabilityReport, most: int) -> Told:
    gap = told.missing
    if gap is None or gap.short_h <= 0:
        return
    so_far = 0.0
    needed = most if gap.fewest is None else min(most, gap.fewest + 3)
    for rank, one in enumerate(gap.ranked[:needed], start=1):
        so_far += one.alone_h
        back = f"{so_far:,.2f}" + ("" if told.counting == "system" else f" of {gap.short_h:,.2f}")
        meets = "alone" if one.would_meet else "with those above" if gap.fewest and rank >= gap.fewest else "no"
        begin = minute(one.begin_s, told.zone)
        yield str(rank), begin, one.nodes[:40], one.kind, one.what[:60], f"{one.alone_h:,.2f}", back, meets


def _rates(told: AvailabilityReport) -> Told:
    for one in told.rates:
        means = one.formula + (f"; {one.censored} not over" if one.censored else "")
        yield one.name, words(one), str(one.events), f"{one.exposure_h:,.1f}", means


def _delays(told: AvailabilityReport) -> Told:
    for one in told.delays:
        late = f"{one.low_s:,.0f} to {one.high_s:,.0f} s"
        if one.measured and one.median_s is not None:
            late += f", median {one.median_s:,.0f} s, measured"
        missing = "counted already" if one.measured else f"{one.hours_low:,.2f} to {one.hours_high:,.2f}"
        yield one.name, str(one.outages), late, missing, one.basis


def _definitions(told: AvailabilityReport) -> Told:
    for one in told.definitions:
        value = percent(one.value) if one.unit == "%" else "none" if one.value is None else f"{one.value:,.2f} h"
        yield one.name, value, one.formula, one.numbers, one.source, one.note


def _jobs(told: AvailabilityReport) -> Told:
    for one in told.jobs.causes if told.jobs else ():
        share = f"{percent(one.share, 2)} [{percent(one.share_low, 2)}, {percent(one.share_high, 2)}]"
        per = "not known"
        if one.per_knh is not None:
            per = f"{one.per_knh:.3g} [{one.per_knh_low:.3g}, {one.per_knh_high:.3g}]"
        yield one.cause, one.state, f"{one.jobs:,}", share, per


def _killers(told: AvailabilityReport) -> Told:
    for one in told.jobs.killers if told.jobs else ():
        yield one.node, f"{one.failed} of {one.jobs}", f"{one.expected:.2f}", f"{one.p:.2g}"


def _beside(told: AvailabilityReport) -> Told:
    if one := told.beside:
        yield f"ours, {minute(one.begin_s, told.zone)} to {minute(one.end_s, told.zone)}", f"{one.ours:,}"
        yield from ((name, f"{amount:+,}") for name, amount in one.steps)
        yield "by sreport's rules: Down", f"{one.expected:,}"
        yield "by sreport's rules: planned down", f"{one.expected_planned:,}"
        if one.sreport is not None:
            yield "sreport says: Down", f"{one.sreport:,}"
            yield "sreport says: planned down", f"{one.planned:,}"
            yield "not explained", f"{one.unexplained:+,}"


def _sources(told: AvailabilityReport) -> Told:
    for one in told.sources:
        span = (minute(at_s, told.zone) if at_s else "" for at_s in (one.begin_s, one.end_s))
        yield one.name, one.kind, f"{one.records:,}", *span
