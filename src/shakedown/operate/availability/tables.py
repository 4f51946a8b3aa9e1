"""A report in words and tables, the same for the terminal and the page."""

from __future__ import annotations

from ...times import minute, stamp
from .rates import words
from .records import AvailabilityReport, Incident, Rate, Window

#: Rows of a table on a terminal, and on the page.
FEW, MANY = 15, 30
Rows = list[tuple[str, ...]]


def percent(value: float | None, digits: int = 3) -> str:
    return "not known" if value is None else f"{100 * value:.{digits}f} %"


def lead(told: AvailabilityReport) -> list[str]:
    """The verdict in sentences."""
    clock = told.zone
    reasons = "; ".join(told.reasons)
    out = [f"{told.title}: {told.verdict}. {reasons[:1].upper()}{reasons[1:]}" + "." * bool(reasons)]
    sliding = told.kind == "sliding"
    if sliding and told.certain_first_met_s is not None:
        out.append(f"A window met availability first at {stamp(told.certain_first_met_s, clock)}.")
    elif sliding and told.first_met_s is not None:
        out.append(
            f"A window may have met it first at {stamp(told.first_met_s, clock)}, if what was not observed was up."
        )
    gap = told.missing
    if gap and gap.short_h > 0:
        if gap.fewest:
            first = ", ".join(
                f"{one.nodes} ({one.kind}, {one.alone_h:,.1f} h)" for one in gap.ranked[: min(3, gap.fewest)]
            )
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
    clock = told.zone
    return [
        ("Windows", *_windows(told, clock)),
        ("Months", *_month_rows(told, clock)),
        ("Attempts", *_attempts(told, clock)),
        ("Full use", *_use(told)),
        ("Exclusions", *_exclusions(told, clock, most)),
        ("Lost by cause", *_causes(told)),
        ("What would have met it", *_missing(told, clock, most)),
        ("Greatest incidents", *_incidents(told.incidents[:most], clock)),
        ("Mean times", *_rates(told.rates)),
        ("How late outages were noticed", *_delays(told)),
        ("Definitions", *_definitions(told)),
        ("Jobs that failed", *_jobs(told)),
        ("Nodes on which more jobs fail", *_killers(told)),
        ("Down time beside sreport", *_beside(told, clock)),
        ("Sources", *_sources(told, clock)),
    ]


Told = tuple[tuple[str, ...], Rows]


def _unit(told: AvailabilityReport) -> str:
    return {"system": "system", "gpus": "GPU", "nodes": "node"}.get(told.counting, "processor")


def _window_row(name: str, one: Window, told: AvailabilityReport, clock: str) -> tuple[str, ...]:
    bounds = f"{percent(one.low)} to {percent(one.high)}" if one.unobserved > 0 else "all was observed"
    return (
        name,
        stamp(one.begin_s, clock),
        stamp(one.end_s, clock),
        percent(one.level, 4),
        bounds,
        f"{one.scheduled / 3600:,.2f}",
        f"{one.lost / 3600:,.2f}",
        f"{one.unobserved / 3600:,.2f}",
    )


def _heads(told: AvailabilityReport) -> tuple[str, ...]:
    unit = _unit(told)
    return (
        "window",
        "from",
        "to",
        "level",
        "bounds",
        f"scheduled {unit} h",
        f"lost {unit} h",
        f"not observed {unit} h",
    )


def _windows(told: AvailabilityReport, clock: str) -> Told:
    named = (
        ("judged", told.judged),
        ("best", told.best),
        ("worst", told.worst),
        ("last", told.last),
        ("all", told.whole),
    )
    return _heads(told), [_window_row(name, one, told, clock) for name, one in named if one is not None]


def _month_rows(told: AvailabilityReport, clock: str) -> Told:
    rows: Rows = [_window_row(stamp(one.begin_s, clock)[:7], one, told, clock) for one in told.months]
    return _heads(told), rows


def _attempts(told: AvailabilityReport, clock: str) -> Told:
    rows: Rows = [
        (str(number), minute(one.begin_s, clock), minute(one.end_s, clock), "met" if one.met else one.why)
        for number, one in enumerate(told.attempts, start=1)
    ]
    return ("attempt", "from", "to", "how it ended"), rows


def _use(told: AvailabilityReport) -> Told:
    one = told.use
    if one is None:
        return ("required", "in use", "is", "basis"), []
    hours = "" if one.used_h is None else f" ({one.used_h:,.1f} of {one.of_h:,.1f} h)"
    return (
        ("required", "in use", "is", "basis"),
        [(percent(one.at_least, 1), percent(one.value, 2) + hours, one.state, one.basis)],
    )


def _exclusions(told: AvailabilityReport, clock: str, most: int) -> Told:
    unit = _unit(told) if told.counting != "system" else "processor"
    rows: Rows = [
        (
            one.rule,
            one.what[:60],
            one.nodes[:40],
            minute(one.begin_s, clock),
            minute(one.end_s, clock),
            f"{one.scheduled_h:,.2f}",
            f"{one.forgiven_h:,.2f}",
            f"not applied: {one.refused}" if one.refused else one.treat,
        )
        for one in told.exclusions[:most]
    ]
    if len(told.exclusions) > most:
        rest = told.exclusions[most:]
        sums = (f"{sum(one.scheduled_h for one in rest):,.2f}", f"{sum(one.forgiven_h for one in rest):,.2f}")
        rows.append((f"and {len(rest):,} more", "", "", "", "", *sums, "--json has them"))
    heads = ("rule", "what", "nodes", "from", "to", f"not scheduled {unit} h", f"forgiven {unit} h", "how")
    return heads, rows


def _causes(told: AvailabilityReport) -> Told:
    total = sum(one.lost_h for one in told.causes) or 1.0
    rows: Rows = [
        (
            one.kind,
            f"{one.lost_h:,.2f}",
            f"{100 * one.lost_h / total:.1f} %",
            f"{one.outages:,}",
            "yes" if one.scheduled else "no",
        )
        for one in told.causes
    ]
    return ("kind", "lost h", "share", "outages of nodes", "scheduled"), rows


def _incidents(rows: tuple[Incident, ...], clock: str) -> Told:
    found: Rows = [
        (
            minute(one.begin_s, clock),
            "not over" if one.end_s is None else minute(one.end_s, clock),
            one.nodes[:40],
            one.kind,
            one.what[:60],
            f"{one.lost_h:,.2f}",
        )
        for one in rows
    ]
    return ("from", "to", "nodes", "kind", "what", "lost h"), found


def _missing(told: AvailabilityReport, clock: str, most: int) -> Told:
    heads = ("rank", "from", "nodes", "kind", "what", "back h", "back so far h", "meets")
    gap = told.missing
    if gap is None or gap.short_h <= 0:
        return heads, []
    rows: Rows = []
    so_far = 0.0
    needed = most if gap.fewest is None else min(most, gap.fewest + 3)
    for rank, one in enumerate(gap.ranked[:needed], start=1):
        so_far += one.alone_h
        meets = "alone" if one.would_meet else "with those above" if gap.fewest and rank >= gap.fewest else "no"
        rows.append(
            (
                str(rank),
                minute(one.begin_s, clock),
                one.nodes[:40],
                one.kind,
                one.what[:60],
                f"{one.alone_h:,.2f}",
                f"{so_far:,.2f}" + ("" if told.counting == "system" else f" of {gap.short_h:,.2f}"),
                meets,
            )
        )
    return heads, rows


def _rates(rates: tuple[Rate, ...]) -> Told:
    rows: Rows = [
        (
            one.name,
            words(one),
            str(one.events),
            f"{one.exposure_h:,.1f}",
            one.formula + (f"; {one.censored} not over" if one.censored else ""),
        )
        for one in rates
    ]
    return ("mean time", "value", "events", "exposure h", "is"), rows


def _delays(told: AvailabilityReport) -> Told:
    rows: Rows = []
    for one in told.delays:
        late = f"{one.low_s:,.0f} to {one.high_s:,.0f} s"
        if one.measured and one.median_s is not None:
            late += f", median {one.median_s:,.0f} s, measured"
        missing = "counted already" if one.measured else f"{one.hours_low:,.2f} to {one.hours_high:,.2f}"
        rows.append((one.name, str(one.outages), late, missing, one.basis))
    return ("outages", "number", "late by", "under-counted h", "basis"), rows


def _definitions(told: AvailabilityReport) -> Told:
    rows: Rows = []
    for one in told.definitions:
        value = percent(one.value) if one.unit == "%" else "none" if one.value is None else f"{one.value:,.2f} h"
        rows.append((one.name, value, one.formula, one.numbers, one.source, one.note))
    return ("definition", "value", "formula", "numbers", "source", "note"), rows


def _jobs(told: AvailabilityReport) -> Told:
    heads = ("whose", "how it ended", "jobs", "share of those that ended", "per 1000 node-hours")
    if told.jobs is None:
        return heads, []
    rows: Rows = []
    for one in told.jobs.causes:
        share = f"{percent(one.share, 2)} [{percent(one.share_low, 2)}, {percent(one.share_high, 2)}]"
        per = (
            "not known" if one.per_knh is None else f"{one.per_knh:.3g} [{one.per_knh_low:.3g}, {one.per_knh_high:.3g}]"
        )
        rows.append((one.cause, one.state, f"{one.jobs:,}", share, per))
    return heads, rows


def _killers(told: AvailabilityReport) -> Told:
    rows: Rows = []
    for one in told.jobs.killers if told.jobs else ():
        rows.append((one.node, f"{one.failed} of {one.jobs}", f"{one.expected:.2f}", f"{one.p:.2g}"))
    return ("node", "failed", "expected from the others", "p (Holm)"), rows


def _beside(told: AvailabilityReport, clock: str) -> Told:
    one = told.beside
    if one is None:
        return ("what", "processor-seconds"), []
    rows: Rows = [(f"ours, {minute(one.begin_s, clock)} to {minute(one.end_s, clock)}", f"{one.ours:,}")]
    rows += [(name, f"{amount:+,}") for name, amount in one.steps]
    rows.append(("by sreport's rules: Down", f"{one.expected:,}"))
    rows.append(("by sreport's rules: planned down", f"{one.expected_planned:,}"))
    if one.sreport is not None:
        rows.append(("sreport says: Down", f"{one.sreport:,}"))
        rows.append(("sreport says: planned down", f"{one.planned:,}"))
        rows.append(("not explained", f"{one.unexplained:+,}"))
    return ("what", "processor-seconds"), rows


def _sources(told: AvailabilityReport, clock: str) -> Told:
    rows: Rows = [
        (
            one.name,
            one.kind,
            f"{one.records:,}",
            minute(one.begin_s, clock) if one.begin_s else "",
            minute(one.end_s, clock) if one.end_s else "",
        )
        for one in told.sources
    ]
    return ("source", "kind", "records", "from", "to"), rows
