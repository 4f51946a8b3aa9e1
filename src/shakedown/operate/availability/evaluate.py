"""A history against a contract -> AvailabilityReport. Pure: everything was read before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from ...document.text import count
from ...records import Notice
from ...schedulers import JobRecord
from . import (
    contract_verdict,
    definitions,
    detection_latency,
    exclusions,
    explain,
    incidents,
    published_comparison,
    rates,
    utilisation,
)
from . import cumulative_downtime as course
from . import jobs as jobs_
from . import segments as kernel
from .contract import Contract, seconds_of
from .cumulative_downtime import CumulativeDowntime, Edges, Sliding
from .history import STATE_CODE, History, distinct
from .records import (
    AvailabilityReport,
    CauseHours,
    Definition,
    Incident,
    Jobs,
    PublishedAvailability,
    Rate,
    Use,
    Verdict,
    Window,
    notice,
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What stands between a history and its report; the page draws from it too."""

    history: History
    contract: Contract
    kinds: tuple[str, ...]
    told: exclusions.Lines
    segments: kernel.Segments
    excluded: kernel.Bools
    forgiven: kernel.Bools
    edges: Edges
    course: CumulativeDowntime
    sliding: Sliding
    outages: incidents.Outages
    scheduled: kernel.Bools  # of records

    @property
    def counts(self) -> kernel.Bools:
        return ~self.excluded & ~self.forgiven


def prepare(history: History, contract: Contract, begin_s: int, end_s: int) -> Evaluation:
    """Lay a history out under a contract."""
    history = _as_agreed(history, contract)
    kinds = exclusions.kinds_of(history, contract)
    told = exclusions.lines(history, contract, kinds, begin_s, end_s)
    found = kernel.segments(history, contract, begin_s, end_s, told.claims)
    excluded, forgiven = exclusions.flags(found, told)
    at = contract.system_at if contract.counting == "system" else None
    edges = course.edges(found)
    own = course.of_segments(found, excluded, forgiven, system_at=at, own=edges)
    together = seconds_of(contract.incidents.together, "incidents, together")
    return Evaluation(
        history=history,
        contract=contract,
        kinds=kinds,
        told=told,
        segments=found,
        excluded=excluded,
        forgiven=forgiven,
        edges=edges,
        course=own,
        sliding=course.slide(own, contract.window_s),
        outages=incidents.outages(found, history, together),
        scheduled=exclusions.scheduled_rows(history, contract, kinds),
    )


def _as_agreed(history: History, contract: Contract) -> History:
    """Records as the contract wants them: begun when a node was last seen well, the controller's absence as it says."""
    events = history.events
    if contract.down.begins == "when last seen well":
        events = replace(events, begin=events.begin - np.maximum(events.late, 0))
    if contract.down.controller != "not observed":
        away = np.array([one.kind == "controller" for one in history.causes], bool)
        rows = away[events.cause] if len(events) else np.zeros(0, bool)
        state = STATE_CODE["down" if contract.down.controller == "down" else "up"]
        events = replace(events, state=np.where(rows, state, events.state).astype(np.uint8))
    return replace(history, events=events)


def evaluate(
    history: History,
    contract: Contract,
    begin_s: int,
    end_s: int,
    *,
    records: Sequence[JobRecord] | None = None,
    jobs_source: str = "",
    jobs_unread: Sequence[str] = (),
    explained: bool = False,
    compared: bool = False,
) -> tuple[AvailabilityReport, Evaluation]:
    """The whole report of a stretch, and what it was made of."""
    found = prepare(history, contract, begin_s, end_s)
    level = contract_verdict.judge(found.course, found.sliding, contract)
    judged, use = utilisation.judged(found, level, records)
    verdict, reasons = _together(found.course, level, judged, use, contract)
    whole = course.window(found.course, begin_s, end_s)
    jobs = None
    if records is not None:
        table = jobs_.JobTable(tuple(records), jobs_source, tuple(jobs_unread))
        jobs = jobs_.judged(table, history, found.outages, begin_s, end_s)
    side_by_side, system = _definitions(found, whole, jobs)
    delays, with_delay = detection_latency.delays(found, judged)
    report = AvailabilityReport(
        **_agreed(contract, level),
        begin_s=begin_s,
        end_s=end_s,
        verdict=verdict,
        reasons=reasons,
        nodes=len(distinct(found.segments.node.astype(np.int64))),
        processors=int(_processors(history)),
        observed=1 - whole.unobserved / whole.scheduled if whole.scheduled > 0 else 0.0,
        judged=judged,
        whole=whole,
        course=course.points(found.sliding),
        use=use,
        exclusions=exclusions.moved(found.segments, found.told),
        missing=contract_verdict.missing(found, judged) if judged else None,
        incidents=_greatest(found, begin_s, end_s),
        causes=_causes(found),
        rates=_rates(found, system),
        definitions=side_by_side,
        delays=delays,
        level_with_delay=with_delay,
        jobs=jobs,
        beside=published_comparison.compare(history, contract, begin_s, end_s) if compared else None,
        explained=explain.explain(found, judged or whole) if explained else None,
        sources=history.sources,
        notices=(*history.notices, *_notices(found, whole)),
    )
    return report, found


def _definitions(
    found: Evaluation, whole: Window, jobs: Jobs | None
) -> tuple[tuple[Definition, ...], definitions.SystemHours]:
    """The definitions side by side, and the outages of the system as one that they speak of."""
    contract = found.contract
    scheduled = definitions.charged(found.segments, found.scheduled)
    hours = definitions.hours(found.segments, scheduled, found.excluded)
    system = definitions.of_system(found.segments, found.edges, scheduled, found.excluded, contract.system_at)
    used_h = jobs.used_h if jobs and contract.counting == "processors" else None
    weight = explain.WEIGHTS[contract.counting]
    return definitions.side_by_side(whole, hours, system, weight, contract, used_h), system


def _agreed(contract: Contract, level: contract_verdict.Judged) -> dict[str, Any]:
    """What the report takes over from the contract and the verdict on availability."""
    taken = ("first_met_s", "certain_first_met_s", "last", "best", "worst", "months", "attempts")
    return {
        "contract": contract.name,
        "title": contract.title,
        "source": contract.source,
        "counting": contract.counting,
        "kind": contract.window.kind,
        "target": float(contract.target),
        "window_s": contract.window_s,
        "zone": contract.zone,
        **{name: getattr(level, name) for name in taken},
    }


def _processors(history: History) -> int:
    """The most processors that were there at one time."""
    one = history.presence
    at, place = np.unique(np.concatenate((one.begin, one.end)), return_inverse=True)
    change = np.zeros(len(at), np.int64)
    np.add.at(change, place, np.concatenate((one.cpus, -one.cpus)))
    return int(np.cumsum(change).max(initial=0))


# ----------------------------------------------------------------------------------------------------------- the verdict


def _together(
    own: CumulativeDowntime, level: contract_verdict.Judged, judged: Window | None, use: Use | None, contract: Contract
) -> tuple[Verdict, tuple[str, ...]]:
    """Availability and, where it is asked for, full use."""
    verdict, reasons = level.verdict, level.reasons
    if use is None or verdict == "not met":
        return verdict, reasons
    if use.value is None:
        words = f"whether the system was in full use (at least {100 * use.at_least:g} %) is not known: {use.basis}"
        return "undecided", (*reasons, words)
    if judged is not None and judged != level.judged:  # the first that met and was in use, too
        sure, _ = course.decide(own, judged.begin_s, judged.end_s, contract.target)
        verdict = "met" if sure else "undecided"
        reasons = (contract_verdict.words(judged, contract, "the first window that met in full use"),)
    words = f"in use {100 * use.value:.2f} % of the operational hours, {100 * use.at_least:g} % are required"
    return (use.state if use.state != "met" else verdict), (*reasons, words)


# ------------------------------------------------------------------------------------------------- causes, rates


def _greatest(found: Evaluation, begin_s: int, end_s: int) -> tuple[Incident, ...]:
    own = incidents.costs(found.segments, found.outages, found.counts, begin_s, end_s)
    chosen = np.argsort(-own.charged, kind="stable")[: incidents.MOST_TOLD]
    rows = [int(at) for at in chosen if own.charged[at] > 0]
    return incidents.told(found, own, rows, 0.0)


def _causes(found: Evaluation) -> tuple[CauseHours, ...]:
    """Lost hours and outages by kind of cause; the greatest first."""
    segments, history = found.segments, found.history
    counted = found.counts & (segments.owner >= 0)
    names = sorted(set(found.kinds))
    number = np.array([names.index(one) for one in found.kinds], np.int64)
    amount = segments.weight * segments.seconds * segments.lost / segments.parts
    cause = number[history.events.cause[segments.owner[counted]]]
    lost = np.bincount(cause, amount[counted], len(names))
    count = np.bincount(number[history.events.cause[found.outages.record]], minlength=len(names))
    planned = np.zeros(len(names), bool)
    if len(history.events):
        planned[number[history.events.cause[found.scheduled]]] = True
    rows = [
        CauseHours(kind=name, lost_h=float(lost[at]) / 3600, outages=int(count[at]), scheduled=bool(planned[at]))
        for at, name in enumerate(names)
        if count[at] or lost[at]
    ]
    return tuple(sorted(rows, key=lambda one: -one.lost_h))


def _failures(found: Evaluation) -> kernel.Bools:
    """Of each outage, whether it is unscheduled and no rule excludes it."""
    own = found.outages
    if not len(own):
        return np.zeros(0, bool)
    failures: kernel.Bools = ~found.scheduled[own.record] & ~detection_latency.claimed(found)
    return failures


def incidents_begun(found: Evaluation) -> tuple[float, list[int]]:
    """The hours that were observed, and of each unscheduled incident that began in them the number of its nodes."""
    own = found.outages
    begun = _failures(found) & ~own.cut
    pairs = np.unique(np.stack((own.incident[begun], own.node[begun].astype(np.int64))), axis=1)
    _, sizes = np.unique(pairs[0], return_counts=True)
    hours = float(sum(high - low for low, high in contract_verdict.seen_within(found))) / 3600
    return hours, [int(size) for size in sizes]


def _rates(found: Evaluation, system: definitions.SystemHours) -> tuple[Rate, ...]:
    """MTBF of a node and of the system, MTTI, MTTF and MTTR with intervals; of unscheduled outages that nothing excludes."""
    own, segments = found.outages, found.segments
    failures = _failures(found)
    begun = failures & ~own.cut
    up = float((segments.seconds * (segments.seen & found.counts & (segments.lost == 0))).sum()) / 3600
    wall, sizes = incidents_begun(found)
    grouped = len(sizes)
    every = system.scheduled_outages + system.unscheduled_outages
    running = system.total - system.scheduled - system.unscheduled
    return (
        rates.between(
            "MTBF, node",
            "mean time between failures of one node",
            up,
            int(begun.sum()),
            formula="node-hours up and observed / unscheduled outages of nodes",
        ),
        rates.between(
            "MTBF, machine",
            "mean time between failures anywhere in the machine",
            wall,
            grouped,
            formula="hours observed / unscheduled incidents (outages that began together count once)",
        ),
        rates.between(
            "MTTI, system",
            "mean time to an interrupt of the system as a whole",
            running,
            every,
            formula="hours in which the system was up / its outages, scheduled or not",
        ),
        rates.between(
            "MTTF, system",
            "mean time to a failure of the system as a whole",
            system.total - system.unscheduled,
            system.unscheduled_outages,
            formula="hours less unscheduled outages of the system / their number",
        ),
        rates.to_mend((own.end - own.begin)[failures], own.open[failures]),
    )


# ---------------------------------------------------------------------------------------------------------------- notices


def _notices(found: Evaluation, whole: Window) -> list[Notice]:
    told = []
    if whole.unobserved > 0:
        share = whole.unobserved / whole.scheduled
        told.append(
            notice(
                "not-observed",
                f"{100 * share:.2f} % of the scheduled hours were not observed: they count neither as up nor as down",
                "the verdict takes them as lost and as up; a watch beside the engine fills gaps",
            )
        )
    if refused := found.told.refused:
        text = f"not excluded though a rule names them: {len(refused)} (the first: {refused[0].refused})"
        told.append(notice("refused", text, "see the exclusions; a watch records when reservations were made"))
    own = found.outages
    if len(own) and bool(own.open.any()):
        told.append(
            notice("open", f"not over at the end: {count(int(own.open.sum()), 'outage of a node', 'outages of nodes')}")
        )
    if len(found.segments.node) == 0:
        told.append(notice("nothing", "no node was there in this time", "look at --begin and --end"))
    return told


def with_beside(report: AvailabilityReport, found: PublishedAvailability | None) -> AvailabilityReport:
    """The report with the comparison with sreport."""
    return msgspec.structs.replace(report, beside=found)
