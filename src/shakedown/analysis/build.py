"""Run directories -> one Analysis: everything that a report shows, and the same each time."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .. import published, workloads
from ..errors import StoreFailed
from ..records import Absent, Analysis, Finding, Host, Machine, Measurement, Notice, Outcome, Peak, Plan
from ..store import RunDirectory
from ..units import show
from . import advice, beside, derive, limits, table

TAIL_LINES = 12


def analyse(directory: RunDirectory) -> tuple[Analysis, list[Absent]]:
    """The analysis of one run directory, and what in it is damaged. Raises StoreFailed where it cannot be read."""
    plan, machine, manifest = directory.plan(), directory.machine(), directory.manifest()
    loaded = directory.load()
    cases = table.from_measurements(loaded.measurements)
    labels = {run.id: run.label for run in plan.runs}
    outcomes = tuple(_outcome(directory, record, labels, machine) for record in loaded.measurements)
    analysis = build(directory.path.name, plan, machine, cases, outcomes, created_ns=manifest.created_ns,
                     version=manifest.version, notices=tuple(
                         Notice(code="damaged", text=f"{one.what}: {one.why}") for one in loaded.damaged))
    return analysis, loaded.damaged


def analyse_packed(paths: Sequence[Path], plan: Plan, machine: Machine, *, name: str, created_ns: int,
                   version: str) -> Analysis:
    """The analysis of packed measurements of many hosts or runs together."""
    return build(name, plan, machine, table.unpack(paths), (), created_ns=created_ns, version=version)


def build(name: str, plan: Plan, machine: Machine, cases: table.Cases, outcomes: tuple[Outcome, ...], *,
          created_ns: int, version: str, notices: tuple[Notice, ...] = ()) -> Analysis:
    """Everything from the cases on: findings, limits, verdicts, the published beside, the summary. Pure."""
    used = {str(workload) for workload in set(cases.workload)} | {one.workload for one in outcomes}
    by_workload = {workload: workloads.get(workload).metrics for workload in sorted(used)}
    metrics = {metric.name: metric for group in by_workload.values() for metric in group}
    found = derive.findings(cases, by_workload)
    machine = _with_measured(machine, limits.measured_peaks(found, metrics))
    peaks: dict[str, tuple[Peak, ...]] = {host.name: host.peaks for host in machine.hosts}
    if len(machine.hosts) == 1:  # a host that is unknown to the machine is of its one kind
        peaks = collections.defaultdict(lambda: machine.hosts[0].peaks, peaks)
    found = [_warned(one) for one in limits.with_fractions(found, metrics, peaks)]
    verdicts = limits.verdicts(plan.limits, found, metrics, machine.hosts)
    systems = [one for one in published.systems() if not plan.compare_with or one.id in plan.compare_with]
    laid = beside.beside(found, metrics, systems)
    disturbances = advice.common([one.notices for one in outcomes])
    analysis = Analysis(
        name=name, campaign=plan.campaign, title=plan.title, created_ns=created_ns, version=version, machine=machine,
        findings=tuple(found), metrics=tuple(metrics.values()), verdicts=verdicts, outcomes=outcomes, beside=laid,
        skipped=plan.skipped, notices=(*notices, *disturbances))
    return msgspec.structs.replace(analysis, summary=summarise(analysis, plan))


def _warned(finding: Finding) -> Finding:
    extra = advice.weak(finding)
    return msgspec.structs.replace(finding, notices=(*finding.notices, *extra)) if extra else finding


def _with_measured(machine: Machine, peaks: dict[str, list[Peak]]) -> Machine:
    """The machine with what the native programs reached, and with peaks derived at the clock that they measured."""
    from ..machine.peaks import with_measured

    known = {host.name for host in machine.hosts}
    hosts: list[Host] = []
    for host in machine.hosts:
        own = peaks.get(host.name, [])
        if not own and len(known) == 1 and len(peaks) == 1:
            own = next(iter(peaks.values()))
        hosts.append(with_measured(host, tuple(own)) if own else host)
    return msgspec.structs.replace(machine, hosts=tuple(hosts))


def _outcome(directory: RunDirectory, record: Measurement, labels: dict[str, str], machine: Machine) -> Outcome:
    folder = directory.folder(record.run, record.repeat)
    cpus = len(machine.hosts[0].usable_cpus) or 1
    notices = (*record.notices, *advice.disturbed(record.disturbance, cpus))
    return Outcome(run=record.run, repeat=record.repeat, workload=record.workload,
                   label=labels.get(record.run, record.workload), host=record.host, state=record.state,
                   reason=record.reason, seconds=(record.end_ns - record.begin_ns) * 1e-9,
                   log=str(folder.relative_to(directory.path)), tail="" if record.state == "ok" else _tail(folder),
                   notices=notices, disturbance=record.disturbance, provenance=record.provenance)


def _tail(folder: Path) -> str:
    """The last lines that a program printed: of standard error, else of standard output."""
    for name in ("stderr", "stdout"):
        try:
            text = (folder / name).read_bytes()[-8192:].decode("utf-8", "replace").strip()
        except OSError:
            continue
        if text:
            return "\n".join(text.splitlines()[-TAIL_LINES:])
    return ""


def summarise(analysis: Analysis, plan: Plan) -> tuple[str, ...]:
    """The verdict in a paragraph, one sentence each: the limits first, then the values, then what was not measured."""
    sentences = []
    states = collections.Counter(verdict.state for verdict in analysis.verdicts)
    if analysis.verdicts:
        parts = [f"{states[state]} {state}" for state in ("met", "not met", "undecided", "not measured") if states[state]]
        sentences.append(f"Of {len(analysis.verdicts)} requirements: {', '.join(parts)}.")
        missed = [verdict for verdict in analysis.verdicts if verdict.state == "not met"]
        sentences += [f"Not met: {verdict.requirement} ({verdict.evidence})." for verdict in missed[:3]]
    sentences += _headline_sentences(analysis)
    bad = [one for one in analysis.outcomes if one.state != "ok"]
    if bad:
        named = ", ".join(f"{one.label} ({one.state})" for one in bad[:3])
        more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
        sentences.append(f"{len(bad)} of {len(analysis.outcomes)} runs have no result: {named}{more}.")
    if plan.skipped:
        sentences.append(f"Not possible here: {', '.join(sorted({one.what for one in plan.skipped}))}.")
    if not analysis.findings:
        sentences.append("Nothing was measured.")
    disturbed = [one for one in analysis.notices if one.code in ("load", "steal", "other-work", "throttling", "swap")]
    if disturbed:
        sentences.append("The machine was disturbed while it was measured: "
                         + "; ".join(one.text for one in disturbed) + ".")
    return tuple(sentences)


def _headline_sentences(analysis: Analysis) -> list[str]:
    """One sentence for each workload: its first metric at its best, with the fraction of its limit."""
    metrics = {metric.name: metric for metric in analysis.metrics}
    best = beside.headlines(analysis.findings, metrics)
    sentences = []
    seen: set[str] = set()
    for metric in analysis.metrics:
        mine = [one for (name, _), one in best.items() if name == metric.name]
        if not mine or metric.better == "none":
            continue
        one = mine[0]
        for other in mine[1:]:
            if beside.is_better(metric.better, other.value or 0.0, one.value or 0.0):
                one = other
        if one.workload in seen and not metric.headline:
            continue
        seen.add(one.workload)
        text = f"{metric.title}: {show(one.value, one.unit)}"
        parts = [f"{part.fraction:.0%} of the {part.kind} peak" for part in one.fractions
                 if part.kind != "measured" or len(one.fractions) == 1]
        sentences.append(text + (f", {parts[0]}" if parts else "") + ".")
    return sentences


def read_analysis(path: Path) -> Analysis:
    """An analysis that a report wrote as JSON. Raises StoreFailed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Analysis)
    except OSError as error:
        raise StoreFailed(f"cannot be read: {error.strerror}", where=str(path)) from None
    except msgspec.DecodeError as error:
        raise StoreFailed(f"is damaged: {error}", where=str(path), hint="make it again: shakedown report RUN") from None
