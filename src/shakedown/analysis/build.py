"""Run directories -> one Analysis: everything that a report shows, and the same each time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from .. import published, strict, workloads
from ..errors import StoreFailed, plain
from ..files.atomic import write
from ..machine.span import span
from ..metering import campaign_meters
from ..records import (
    Absent,
    Analysis,
    Finding,
    Host,
    Machine,
    Measurement,
    Metric,
    Notice,
    Outcome,
    Peak,
    Plan,
    Run,
    Verdict,
)
from ..results.run_directory import RunDirectory
from . import (
    advice,
    case_stream,
    causes,
    checks,
    circumstances,
    commands,
    curves,
    days,
    derive,
    limits,
    mpis,
    overheads,
    published_comparison,
    rails,
    ratios,
    scaling,
    sizes,
    stragglers,
    summary,
    table,
)
from .collectives import findings as collectives
from .pairs import pair_matrix

if TYPE_CHECKING:
    from .power import Power

TAIL_LINES = 12
PACKED, OUTCOMES = table.PACKED, "outcomes.json"


def analyse(directory: RunDirectory) -> tuple[Analysis, list[Absent]]:
    """The analysis of one run directory, and what in it is damaged. Raises StoreFailed where it cannot be read."""
    return from_part(directory, read(directory))


def from_part(directory: RunDirectory, part: Part) -> tuple[Analysis, list[Absent]]:
    """The same, of a directory that was read already."""
    analysis = build(
        _name(directory, part.imported),
        part.plan,
        part.machine,
        part.cases,
        part.outcomes,
        part.created_ns,
        part.version,
        power=part.power,
        notices=(
            *origin_notices([directory.path.name] if part.imported else []),
            *(Notice(code="damaged", text=f"{one.what}: {one.why}") for one in part.damaged),
        ),
    )
    return analysis, part.damaged


def _name(directory: RunDirectory, imported: bool) -> str:
    """What an analysis is called, wherever it stands beside others."""
    return directory.path.name + " (imported)" * imported


def origin_notices(imported: Sequence[str]) -> tuple[Notice, ...]:
    """The mark of what was made of logs that a user had."""
    if not imported:
        return ()
    return (
        Notice(
            code="imported",
            text=f"What is of {', '.join(imported)} was imported from logs and not measured by shakedown: the machine, exit "
            "codes and what disturbed it are not known",
            advice="shakedown run measures it on the machine itself",
        ),
    )


class Part(NamedTuple):
    """What one run directory brings to an analysis."""

    plan: Plan
    machine: Machine
    created_ns: int
    version: str
    cases: table.Cases
    outcomes: tuple[Outcome, ...]
    damaged: list[Absent]
    power: Power | None = None
    imported: bool = False
    measurements: Sequence[Measurement] = ()  # where they were asked for


def read(directory: RunDirectory, *, whole: bool = False) -> Part:
    """All of a run directory from its own files, each read once; with the measurements as records where ``whole``."""
    plan, machine, manifest = directory.plan(), directory.machine(), directory.manifest()
    labels = {run.id: run.label for run in plan.runs}
    again = {} if manifest.imported else {run.id: commands.of_run(run) for run in plan.runs}
    place = {run.id: index for index, run in enumerate(plan.runs)}  # the report follows the campaign's order
    metered = bool(campaign_meters.folders(directory.path))

    def told(found: list[case_stream.CaseStream]) -> tuple[table.Cases, tuple[Outcome, ...], list[Measurement]]:
        records = [one.whole() for one in found] if whole or metered else []
        found.sort(key=lambda one: (place.get(one.run, len(place)), one.repeat))
        cases = table.from_measurements(found)  # goes through the cases, whose checks are counted on the way
        return cases, tuple(_outcome(directory, one, labels, machine, again.get(one.run, "")) for one in found), records

    (cases, outcomes, records), damaged = case_stream.read(directory, told)
    power, broken = _power(directory, labels, records) if metered else (None, [])
    return Part(
        plan,
        machine,
        manifest.created_ns,
        manifest.version,
        cases,
        outcomes,
        [*damaged, *broken],
        power,
        manifest.imported,
        records if whole else [],
    )


def _power(
    directory: RunDirectory, labels: dict[str, str], measurements: list[Measurement]
) -> tuple[Power | None, list[Absent]]:
    """What the meters saw. Readings that are damaged cost the energy, not the rest."""
    from . import power  # scipy: only where there is power

    metrics = {name: workloads.get(name).metrics for name in {one.workload for one in measurements}}
    try:
        return power.read(directory, measurements, metrics, labels), []
    except StoreFailed as error:
        return None, [Absent(what=error.where or str(directory.path), why=error.what)]


def pack(directory: RunDirectory, part: Part) -> None:
    """Leave the measurements as Parquet and the outcomes as JSON: for other tools, and for reports over many runs."""
    table.pack(part.cases, directory.path / PACKED)
    write(directory.path / OUTCOMES, msgspec.json.encode(part.outcomes))


def is_packed(directory: RunDirectory) -> bool:
    """Whether what was packed holds every measurement of the directory."""
    path = directory.path
    if not (path / PACKED).exists() or not (path / OUTCOMES).exists():
        return False
    packed_ns = (path / OUTCOMES).stat().st_mtime_ns
    return all(
        not (folder / "measurement.json").exists() or (folder / "measurement.json").stat().st_mtime_ns <= packed_ns
        for _, _, folder in directory.repeats()
    )


def build(
    name: str,
    plan: Plan,
    machine: Machine,
    cases: table.Cases,
    outcomes: tuple[Outcome, ...],
    created_ns: int,
    version: str,
    *,
    power: Power | None = None,
    notices: tuple[Notice, ...] = (),
) -> Analysis:
    """Everything from the cases on: findings, limits, verdicts, the published beside, the summary. Pure."""
    used = {str(workload) for workload in set(cases.workload)} | {one.workload for one in outcomes}
    by_workload = {workload: workloads.get(workload).metrics for workload in sorted(used)}
    metrics = {metric.name: metric for group in by_workload.values() for metric in group}
    begun = {one.run for one in outcomes}
    waiting = [run for run in plan.runs if run.id not in begun]
    cases, many_pairs = pair_matrix.split(cases)
    found = pair_matrix.with_notices(derive.findings(cases, by_workload), many_pairs)
    found = rails.judged(collectives.judged(sizes.by_rule(found, metrics, machine.hosts), cases))
    machine = _with_measured(machine, limits.measured_peaks(found, metrics))
    peaks = _peaks(machine, {one.host for one in found})
    found = ratios.ratios(limits.with_fractions(found, metrics, peaks), by_workload)
    slow = stragglers.behind(found, metrics)
    found = [_warned(one, metrics[one.metric]) for one in stragglers.with_notices(found, slow)]
    titles = {workload: workloads.get(workload).title for workload in by_workload}
    if power is not None:
        metrics |= {metric.name: metric for group in power.metrics.values() for metric in group}
        measured = sizes.by_rule(power.findings, metrics, machine.hosts)
        found += [_noticed(one, advice.stands_in(one, metrics[one.metric])) for one in measured]
        titles |= {name: "Between the runs" for name in power.metrics if name not in titles}
    verdicts = _verdicts(plan, waiting, found, metrics, peaks, outcomes, machine.hosts)
    systems = [one for one in published.systems() if not plan.compare_with or one.id in plan.compare_with]
    disturbances = advice.common([one.notices for one in outcomes])
    analysis = Analysis(
        name=name,
        campaign=plan.campaign,
        title=plan.title,
        created_ns=created_ns,
        version=version,
        machine=machine,
        findings=tuple(found),
        metrics=tuple(metrics.values()),
        workload_titles=titles,
        verdicts=verdicts,
        outcomes=outcomes,
        curves=curves.curves(systems, {one.metric: metrics[one.metric] for one in found}),
        scaling=scaling.of_report(cases, [] if power is None else power.findings),
        mpis=mpis.comparisons(cases, by_workload),
        overheads=overheads.overheads(cases, by_workload),
        power=None if power is None else power.view,
        skipped=plan.skipped,
        not_begun=tuple(run.label for run in waiting),
        checks=checks.worst_of(outcomes),
        notices=(*advice.stand_ins(found), *notices, *stragglers.notices(slow, metrics), *disturbances),
    )
    laid = published_comparison.beside(found, metrics, systems, circumstances.setting_of(analysis))
    analysis = msgspec.structs.replace(analysis, beside=laid, summary=summary.summarise(analysis, plan))
    return pair_matrix.with_pairs(analysis, many_pairs)


def _verdicts(
    plan: Plan,
    waiting: Sequence[Run],
    found: Sequence[Finding],
    metrics: dict[str, Metric],
    peaks: dict[str, tuple[Peak, ...]],
    outcomes: Sequence[Outcome],
    hosts: Sequence[Host],
) -> tuple[Verdict, ...]:
    """Each limit of the plan against the findings, with known causes where it is not met; ``waiting``: not begun."""
    partial = {(one.workload, one.host): one.reason for one in outcomes if one.state == "partial"}
    to_come = {metric.name for name in {run.workload for run in waiting} for metric in workloads.get(name).metrics}
    return tuple(
        msgspec.structs.replace(one, causes=causes.of_verdict(one, outcomes, hosts))
        for one in limits.verdicts(plan.limits, found, _limited(plan, metrics), peaks, partial, to_come)
    )


def _limited(plan: Plan, metrics: dict[str, Metric]) -> dict[str, Metric]:
    """The metrics, with those of limits that nothing was run of: what a machine cannot run is limited all the same."""
    found, wanted = dict(metrics), {one.metric for one in plan.limits}
    for name in workloads.names():
        if wanted <= found.keys():
            break
        found |= {metric.name: metric for metric in workloads.get(name).metrics if metric.name in wanted}
    return found


def _peaks(machine: Machine, names: set[str]) -> dict[str, tuple[Peak, ...]]:
    """The peaks of every host that findings name."""
    if len(machine.hosts) == 1:  # a host that is unknown to the machine is of its one kind
        return dict.fromkeys({"", *names}, machine.hosts[0].peaks)
    known = {host.name: host.peaks for host in machine.hosts}
    return known | peaks_of_jobs(names - known.keys(), machine)


def peaks_of_jobs(names: Iterable[str], machine: Machine) -> dict[str, tuple[Peak, ...]]:
    """The peaks of jobs over several hosts, by the folded list that names them."""
    known = {host.name: host for host in machine.hosts}
    found = {}
    for name in names:
        members = days.members(name)
        if len(members) > 1 and all(one in known for one in members):
            found[name] = span([known[one] for one in members], name).peaks
    return found


def _warned(finding: Finding, metric: Metric) -> Finding:
    return _noticed(finding, (*advice.stands_in(finding, metric), *advice.weak(finding)))


def _noticed(finding: Finding, extra: tuple[Notice, ...]) -> Finding:
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


def _outcome(
    directory: RunDirectory, one: case_stream.CaseStream, labels: dict[str, str], machine: Machine, command: str
) -> Outcome:
    record: Measurement = one.record
    folder = directory.folder_with(record)
    cpus = len(machine.hosts[0].usable_cpus) or 1
    notices = (*record.notices, *advice.disturbed(record.disturbance, cpus))
    return Outcome(
        run=record.run,
        repeat=record.repeat,
        workload=record.workload,
        label=labels.get(record.run, record.workload),
        host=record.host,
        state=record.state,
        reason=record.reason,
        seconds=(record.end_ns - record.begin_ns) * 1e-9,
        log=str(folder.relative_to(directory.path)),
        tail="" if record.state == "ok" else _tail(folder),
        command=command,
        notices=notices,
        checks=one.checks,
        disturbance=record.disturbance,
        provenance=record.provenance,
    )


def _tail(folder: Path) -> str:
    """The last lines that a program printed: of standard error, else of standard output."""
    for name in ("stderr", "stdout"):
        try:
            text = (folder / name).read_bytes()[-8192:].decode("utf-8", "replace").strip()
        except OSError:
            continue
        if text:
            return "\n".join(plain(text).splitlines()[-TAIL_LINES:])
    return ""


def read_analysis(path: Path) -> Analysis:
    """An analysis that a report wrote as JSON. Raises StoreFailed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Analysis)
    except OSError as error:
        raise StoreFailed(f"cannot be read: {error.strerror}", where=str(path)) from None
    except strict.UNREADABLE as error:
        raise StoreFailed(f"is damaged: {error}", where=str(path), hint="make it again: shakedown report RUN") from None
