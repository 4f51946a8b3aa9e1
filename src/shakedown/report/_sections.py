"""From an Analysis to the Document that every page format renders. All of it is pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..document.model import Document
from ..document.text import count, day
from ..records import Analysis, Finding
from . import _failures, _first_page, _fleet, _machine, _methods, _power, _workload
from . import groups as _groups
from . import mpis as _mpis
from . import overheads as _overheads
from . import pairs as _pairs
from . import scaling as _scaling

_made: list[tuple[Analysis, Document]] = []  # the last one: every format of a report asks for the same


def document(analysis: Analysis) -> Document:
    """The report of an analysis, whatever its format."""
    if not _made or _made[0][0] is not analysis:
        _made[:] = [(analysis, _document(analysis))]
    return _made[0][1]


def _document(analysis: Analysis) -> Document:
    """Everything that a page says, in order: verdict, machine, hosts, workloads, failures, methods, provenance."""
    metrics = {metric.name: metric for metric in analysis.metrics}
    fleet = _fleet.fleet(analysis)
    findings: Sequence[Finding] = [group.condensed for group in fleet.groups] if fleet else analysis.findings
    sections = [_first_page.section(analysis, findings), _machine.section(analysis)]
    if fleet:
        sections.append(_fleet.section(fleet, metrics))
    workloads: dict[str, list[Finding]] = {}
    for finding in findings:
        workloads.setdefault(finding.workload, []).append(finding)
    for name, group in workloads.items():
        sections.append(_workload.section(name, analysis, group, metrics, fleet))
    if pairs := _pairs.section(analysis):
        sections.append(pairs)
    if groups := _groups.section(analysis):
        sections.append(groups)
    if mpis := _mpis.section(analysis.mpis):
        sections.append(mpis)
    if overheads := _overheads.section(analysis.overheads, analysis.machine):
        sections.append(overheads)
    if scaling := _scaling.section(analysis.scaling):
        sections.append(scaling)
    if power := _power.section(analysis):
        sections.append(power)
    sections += [_failures.section(analysis), *_methods.sections(analysis)]
    state, counts = _state(analysis)
    hosts = _fleet.hosts_of(analysis)
    where = hosts[0] if len(hosts) == 1 else count(len(hosts), "host")
    return Document(
        title=analysis.title or analysis.name,
        subtitle=f"{where} · campaign {analysis.campaign} · {day(analysis.created_ns)}",
        state=state,
        counts=counts,
        lead=_first_page.lead(analysis),
        sections=tuple(sections),
        footer=f"Made by Shakedown {analysis.version} from the run directory {analysis.name}.",
        rows_in="the CSV and JSON files",
    )


def _state(analysis: Analysis) -> tuple[str, tuple[tuple[str, int], ...]]:
    counts = {
        state: sum(verdict.state == state for verdict in analysis.verdicts)
        for state in ("met", "not met", "undecided", "not measured")
    }
    worst_first = ("not met", "undecided", "not measured", "met")
    whole = next((state for state in worst_first if counts[state]), "nothing required")
    return whole, tuple((state, number) for state, number in counts.items() if number)
