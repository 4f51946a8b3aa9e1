"""Definitions of availability side by side: each formula with the numbers put in and its source. Pure; numpy.

T is the period, S time of scheduled outages, U of unscheduled ones, Ns and Nu their numbers. The definitions of DOE's
leadership facilities and of HECToR are of the system as a whole, which counts as out while at least a contract's share
of it is; beside them stand the same formulas with every node's hours added up. A scheduled outage is what the contract
excludes and what it calls scheduled.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .contract import Contract
from .cumulative_downtime import Edges, timeline
from .records import Definition, Window
from .segments import Bools, Segments

DOE = "DOE leadership computing facilities, annual operational assessments; common targets 95 % scheduled, 90 % overall"
HECTOR = "HECToR monthly and annual reports (EPCC, Cray): serviceability, failures a month"
SEMI = "SEMI E10 as applied to HPC by Stearley (Sandia): total = nonscheduled + operations; operations = uptime + downtimes"
ARL = "ARL-TR-7085, section 3.4, equation 1"
#: A mean month in hours, as HECToR's reports divide it.
MONTH_H = 732.0


class Hours(NamedTuple):
    """Weighted hours of nodes: there, scheduled outages, unscheduled outages, not observed."""

    total: float
    scheduled: float
    unscheduled: float
    unseen: float


class SystemHours(NamedTuple):
    """Hours and numbers of outages of the system as one thing."""

    total: float
    scheduled: float
    unscheduled: float
    scheduled_outages: int
    unscheduled_outages: int


def hours(found: Segments, scheduled: Bools, excluded: Bools) -> Hours:
    """``scheduled`` says of each segment whether what is lost in it is a scheduled outage."""
    full = found.weight * found.seconds / 3600
    lost = full * (found.lost / found.parts)
    planned = np.where(excluded, full, np.where(scheduled, lost, 0.0))
    other = np.where(excluded | scheduled, 0.0, lost)
    unseen = np.where(found.seen | excluded, 0.0, full - lost)
    return Hours(*(float(one.sum()) for one in (full, planned, other, unseen)))


def of_system(found: Segments, own: Edges, scheduled: Bools, excluded: Bools, at_share: Fraction) -> SystemHours:
    """When the system as a whole was out, told by the greater part of what was lost."""
    full = found.weight * found.parts
    lost = found.weight * found.lost
    none = np.zeros_like(full)
    planned = np.where(excluded, full, np.where(scheduled, lost, none))
    other = np.where(excluded | scheduled, none, lost)
    there, by_plan, by_failure = timeline(own, full, planned, other)
    out = (there > 0) & ((by_plan + by_failure) * at_share.denominator >= there * at_share.numerator)
    failed = out & (by_failure >= by_plan)
    length = np.diff(own.at) / 3600
    return SystemHours(
        total=float(length[there > 0].sum()),
        scheduled=float(length[out & ~failed].sum()),
        unscheduled=float(length[failed].sum()),
        scheduled_outages=_runs(out & ~failed),
        unscheduled_outages=_runs(failed),
    )


def _runs(holds: Bools) -> int:
    """How many stretches hold without a break."""
    return int(np.count_nonzero(holds[1:] & ~holds[:-1])) + int(bool(len(holds)) and bool(holds[0]))


def side_by_side(
    whole: Window | None, weighted: Hours, system: SystemHours, weight: str, contract: Contract, used_h: float | None
) -> tuple[Definition, ...]:
    """All definitions over one period."""
    note = f"the system is out while at least {contract.down.system_at} of it is"
    return (
        *_effectiveness(whole, "system" if contract.counting == "system" else weight),
        *_doe("system", *system[:3], note),
        *_times(system, note),
        *_doe(f"{weight}-hours", *weighted[:3], "every node by itself"),
        *_hector(system, note),
        *_semi(weighted, weight, used_h),
    )


def _ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def _effectiveness(whole: Window | None, unit: str) -> Iterator[Definition]:
    if whole is not None:
        seen = (whole.scheduled - whole.unobserved) / 3600
        numbers = f"({seen:,.2f} h - {whole.lost / 3600:,.2f} h) / {seen:,.2f} h, in {unit}-hours"
        formula = "operational use time / scheduled use time"
        note = "over the whole period; the verdict slides a window over it"
        yield Definition("effectiveness level EL", formula, numbers, whole.level, source=ARL, note=note)


def _up_of_planned(total: float, planned: float, failed: float) -> tuple[str, float | None]:
    """(T - S - U) / (T - S): the numbers put in, and the value."""
    numbers = f"({total:,.2f} - {planned:,.2f} - {failed:,.2f}) / ({total:,.2f} - {planned:,.2f})"
    return numbers, _ratio(total - planned - failed, total - planned)


def _doe(of: str, total: float, planned: float, failed: float, note: str) -> Iterator[Definition]:
    scheduled = _up_of_planned(total, planned, failed)
    yield Definition(f"scheduled availability, {of}", "(T - S - U) / (T - S)", *scheduled, source=DOE, note=note)
    numbers = f"({total:,.2f} - {planned:,.2f} - {failed:,.2f}) / {total:,.2f}"
    overall = _ratio(total - planned - failed, total)
    yield Definition(f"overall availability, {of}", "(T - S - U) / T", numbers, overall, source=DOE, note=note)


def _times(system: SystemHours, note: str) -> Iterator[Definition]:
    total, planned, failed, planned_count, failures = system
    up, count = total - planned - failed, planned_count + failures + 1
    numbers = f"{up:,.2f} / ({planned_count} + {failures} + 1)"
    finite = f"{note}; the + 1 keeps it finite without an outage"
    yield Definition("MTTI, system", "(T - S - U) / (Ns + Nu + 1)", numbers, up / count, "h", DOE, finite)
    numbers = f"({total:,.2f} - {failed:,.2f}) / ({failures} + 1)"
    yield Definition("MTTF, system", "(T - U) / (Nu + 1)", numbers, (total - failed) / (failures + 1), "h", DOE, note)


def _hector(system: SystemHours, note: str) -> Iterator[Definition]:
    failures, months = system.unscheduled_outages, system.total / MONTH_H
    severity = f"{note}; HECToR counts severity 1 only: single nodes are severity 3 and no outage"
    up = _up_of_planned(*system[:3])
    yield Definition("serviceability", "(WCT - SDT - UDT) / (WCT - SDT)", *up, source=HECTOR, note=severity)
    numbers = f"732 / ({failures} / {months:.3f} months)"
    between = MONTH_H * months / failures if failures else None
    bound = "HECToR prints infinity for no failure; an honest bound is under MTBF with its interval"
    formula = "732 h / failures in a month"
    yield Definition("MTBF of 732 h months", formula, numbers, between, "h", HECTOR, bound)


def _semi(weighted: Hours, weight: str, used_h: float | None) -> Iterator[Definition]:
    """The tree, from the top: what is not scheduled is what the contract excludes; the rest is operations."""
    operations = weighted.total - weighted.unseen
    up = operations - weighted.scheduled - weighted.unscheduled
    productive = "not known" if used_h is None else f"{used_h:,.2f}"
    rest = "" if used_h is None else f" {max(0.0, up - used_h):,.2f}"
    tree = (
        f"total {weighted.total:,.2f} = not observed {weighted.unseen:,.2f} + operations {operations:,.2f}; "
        f"operations = uptime {up:,.2f} + scheduled downtime {weighted.scheduled:,.2f} + unscheduled downtime "
        f"{weighted.unscheduled:,.2f}; uptime = productive {productive} + standby and engineering{rest}"
    )
    numbers = f"{up:,.2f} / {operations:,.2f} {weight}-hours"
    uptime = _ratio(up, operations)
    yield Definition("operational uptime", "uptime / operations time", numbers, uptime, source=SEMI, note=tree)
    if used_h is not None:
        numbers, used = f"{used_h:,.2f} / {operations:,.2f}", _ratio(used_h, operations)
        formula, note = "productive time / operations time", "productive: processors that jobs held"
        yield Definition("operational utilisation", formula, numbers, used, source=SEMI, note=note)


def charged(found: Segments, scheduled_records: Bools) -> Bools:
    """Of each segment, whether what is lost in it is charged to a scheduled outage."""
    out = np.zeros(len(found.node), bool)
    owned = found.owner >= 0
    out[owned] = scheduled_records[found.owner[owned]]
    return out
