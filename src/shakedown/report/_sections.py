"""From an Analysis to the Document that every page format renders. All of it is pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ..records import Analysis, Beside, Finding, Metric, Outcome
from ..units import round_to, show
from . import _choose, _figures, _fleet, _machine, _pairs, _power
from ._document import Bar, Bars, Block, Column, Document, Facts, Log, Logs, Section, Table, Text
from ._text import (
    better,
    count,
    day,
    interval_of,
    kinds_of,
    limit_title,
    listed,
    natural,
    params_of,
    ranked,
    title_of,
    value_of,
    value_with_interval,
    why_not,
    with_half,
)

FOLD_FROM = 24  # rows from which a table is shown when asked for
MOST_ROWS = 400  # of runs on a page; CSV and JSON hold all
MOST_LOGS = 50


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
    sections = [_verdicts(analysis), _machine.section(analysis)]
    if fleet:
        sections.append(_fleet.section(fleet, metrics))
    workloads: dict[str, list[Finding]] = {}
    for finding in findings:
        workloads.setdefault(finding.workload, []).append(finding)
    for name, group in workloads.items():
        sections.append(_workload(name, analysis, group, metrics, fleet))
    if pairs := _pairs.section(analysis):
        sections.append(pairs)
    if power := _power.section(analysis):
        sections.append(power)
    sections += [_failures(analysis), _methods(analysis), _provenance(analysis)]
    state, counts = _state(analysis)
    hosts = _fleet.hosts_of(analysis)
    where = hosts[0] if len(hosts) == 1 else count(len(hosts), "host")
    return Document(
        title=analysis.title or analysis.name,
        subtitle=f"{where} · campaign {analysis.campaign} · {day(analysis.created_ns)}",
        state=state,
        counts=counts,
        lead=analysis.summary or ("No summary was recorded.",),
        sections=tuple(sections),
        footer=f"Made by Shakedown {analysis.version} from the run directory {analysis.name}.",
    )


def _state(analysis: Analysis) -> tuple[str, tuple[tuple[str, int], ...]]:
    counts = {
        state: sum(verdict.state == state for verdict in analysis.verdicts)
        for state in ("met", "not met", "undecided", "not measured")
    }
    worst_first = ("not met", "undecided", "not measured", "met")
    whole = next((state for state in worst_first if counts[state]), "nothing required")
    return whole, tuple((state, number) for state, number in counts.items() if number)


def _verdicts(analysis: Analysis) -> Section:
    blocks: list[Block] = []
    if analysis.verdicts:
        rows = tuple(
            (
                one.requirement,
                one.state,
                one.evidence,
                f"{value_with_interval(one.finding)}, {one.finding.host}" if one.finding else "no value",
            )
            for one in analysis.verdicts
        )
        blocks.append(
            Table(
                title="Requirements",
                rows=rows,
                columns=(Column("Requirement"), Column("Verdict", "state"), Column("Evidence"), Column("Value")),
            )
        )
    else:
        blocks.append(Text(text="The campaign sets no requirement, so nothing was judged."))
    if analysis.notices:
        blocks.append(
            Table(
                title="To mend first",
                columns=(Column("What was seen"), Column("What to do")),
                rows=tuple((notice.text, notice.advice or "nothing is known to help") for notice in analysis.notices),
            )
        )
    return Section(id="verdict", title="Requirements and verdicts", short="Verdicts", blocks=tuple(blocks))


# ----------------------------------------------------------------------------------------------------------- workloads


def _workload(
    name: str, analysis: Analysis, findings: list[Finding], metrics: dict[str, Metric], fleet: _fleet.Fleet | None
) -> Section:
    beside = [one for one in analysis.beside if one.ours.workload == name]
    blocks: list[Block] = []
    bars = _headline(findings, metrics, many=fleet is not None)
    if bars:
        blocks.append(bars)
    figures = _figures.of_workload(findings, metrics, beside)
    if figures:
        blocks.append(figures)
    if beside:
        blocks.append(_beside(beside, findings, metrics))
    blocks.append(_fleet.spread(fleet, name, metrics, FOLD_FROM) if fleet else _values(findings, metrics))
    title = analysis.workload_titles.get(name, "")
    return Section(
        id=f"workload-{_slug(name)}", title=f"{name}: {title}" if title else name, short=name, blocks=tuple(blocks)
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


def _title(metric: str, metrics: dict[str, Metric]) -> str:
    return metrics[metric].title if metric in metrics else metric


def _headline(findings: list[Finding], metrics: dict[str, Metric], *, many: bool) -> Bars | None:
    """The best value of each metric, for each place where its limit differs (cache levels, memory)."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    vary: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.value is not None:
            places = sorted(_choose.placed_by(metrics[finding.metric])) if finding.metric in metrics else []
            key = (finding.metric, *(str(finding.params.get(place, "")) for place in places))
            groups.setdefault(key, []).append(finding)
            vary.setdefault(finding.metric, []).append(finding)
    names = {metric: list(_choose.varying(_choose.rows_of(group))) for metric, group in vary.items()}
    placed = {key[0] for key in groups if all(key[1:]) and len(key) > 1}
    bars = []
    for key, group in groups.items():
        if key[0] in placed and not all(key[1:]):
            continue  # not of one level, so it heads none
        best = better(group)
        detail = params_of(
            best.params,
            [name for name in names[best.metric] if name in best.params and str(best.params[name]) not in key[1:]],
        )
        where = "" if many or len({one.host for one in findings}) == 1 else best.host
        bars.append(
            Bar(
                title=", ".join([_title(key[0], metrics), *(word for word in key[1:] if word)]),
                detail=", ".join(part for part in (detail, where) if part),
                value=show(best.value, best.unit),
                interval=interval_of(best),
                fractions=tuple(
                    (f"of {one.kind} {one.limit}, {show(one.value, best.unit)}", one.fraction) for one in best.fractions
                ),
            )
        )
    if not bars:
        return None
    words = "Median over hosts at the best setting; in brackets the 5th to the 95th percentile of hosts."
    return Bars(title="Best values", bars=tuple(bars), caption=words if many else "")


def _values(findings: list[Finding], metrics: dict[str, Metric]) -> Table:
    """Every value with what stands beside it; a column that would be empty throughout is left out."""
    vary = list(_choose.varying([_choose.Row(dict(one.params), one) for one in findings]))
    same = {name: value for name, value in findings[0].params.items() if name not in vary}
    kinds = kinds_of(findings)
    noted = _Notes(findings)
    columns = [
        Column("Metric"),
        *([Column("Host", "code")] if len({one.host for one in findings}) > 1 else []),
        *(Column(title_of(name), "number" if _numeric(name, findings) else "text") for name in vary),
        Column("Value", "number"),
        Column("Interval", "number"),
        *(Column(limit_title(kind), "number") for kind in kinds),
        *(Column(title, "number") for title in ("Samples", "Runs", "Outliers")),
        Column("Notes", "note"),
    ]
    rows = []
    for one in findings:
        shares = {kind: show(share.fraction, "%") for kind, share in ranked(one.fractions).items()}
        missing = "" if one.value is None else "no interval"
        rows.append(
            (
                _title(one.metric, metrics),
                *([one.host] if columns[1].title == "Host" else []),
                *(value_of(name, one.params[name]) if name in one.params else "" for name in vary),
                show(one.value, one.unit),
                interval_of(one) or missing,
                *(shares.get(kind, "") for kind in kinds),
                f"{one.n_samples:,}",
                f"{one.n_runs:,}",
                f"{one.outliers:,}" if one.outliers else "",
                noted.cell(one),
            )
        )
    one_metric = len({one.metric for one in findings}) == 1 and len(columns) > 2
    title = f"All values: {rows[0][0]}" if one_metric else "All values"
    kept = [index for index in range(one_metric, len(columns)) if any(row[index] for row in rows)]
    conditions = params_of(same)
    return Table(
        title=title,
        columns=tuple(columns[index] for index in kept),
        folded=len(rows) > FOLD_FROM,
        rows=tuple(tuple(row[index] for index in kept) for row in rows),
        notes=noted.texts,
        caption=f"The same for all: {conditions}." if conditions else "",
    )


def _numeric(name: str, findings: list[Finding]) -> bool:
    return all(isinstance(one.params.get(name, 0), (int, float)) for one in findings)


class _Notes:
    """Numbers the notices of a table. Where those of one code differ (in a figure), each cell says its own text."""

    def __init__(self, findings: list[Finding]) -> None:
        texts: dict[str, set[str]] = {}
        for notice in (notice for one in findings for notice in one.notices):
            texts.setdefault(notice.code, set()).add(notice.text)
        self._differ = {code for code, found in texts.items() if len(found) > 1}
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    def _number(self, text: str) -> str:
        return f"[{self._numbers.setdefault(text, len(self._numbers) + 1)}]"

    def cell(self, finding: Finding) -> str:
        words = []
        for notice in finding.notices:
            if notice.code in self._differ:
                words.append(f"{notice.text} {self._number(notice.advice)}" if notice.advice else notice.text)
            else:
                words.append(self._number(f"{notice.text}: {notice.advice}" if notice.advice else notice.text))
        if finding.value is None and not words:
            words.append(self._number(why_not(finding)))
        return ", ".join(words)


def _beside(beside: list[Beside], findings: list[Finding], metrics: dict[str, Metric]) -> Table:
    vary = list(_choose.varying([_choose.Row(dict(one.params), one) for one in findings]))
    rows = []
    for one in beside:
        ratio = round_to(one.ratio, 3) if one.ratio is not None else "not defined"
        here = params_of(one.ours.params, vary)
        theirs = params_of(one.theirs_params) or "conditions not stated"
        system = f"{one.system_name}{f' ({one.year})' if one.year else ''}"
        rows.append(
            (
                _title(one.metric, metrics),
                f"{value_with_interval(one.ours)}\n{here}",
                system,
                f"{with_half(one.theirs, one.theirs_half, one.unit)}\n{theirs}",
                ratio,
                one.verdict,
                one.where,
            )
        )
    return Table(
        title="Beside published systems",
        rows=tuple(rows),
        columns=(
            Column("Metric"),
            Column("Here"),
            Column("Published system"),
            Column("Published"),
            Column("Here / published", "number"),
            Column("Here is", "state"),
            Column("Where it stands"),
        ),
    )


# ------------------------------------------------------------------------------------- failures, methods and provenance


def _failures(analysis: Analysis) -> Section:
    bad = [one for one in analysis.outcomes if one.state != "ok"]
    ended = count(len(analysis.outcomes), "run")
    blocks: list[Block] = []
    if not analysis.outcomes:
        blocks.append(Text(text="No run was recorded."))
    elif not bad:
        several = len(analysis.outcomes) > 1
        blocks.append(Text(text=f"All {ended} ended well." if several else "The one run ended well."))
    else:
        blocks.append(Text(text=f"{len(bad):,} of {ended} did not end well; they have no values above."))
        rows = tuple(
            (one.label, one.state, one.reason or "no reason was recorded", one.host, show(one.seconds, "s"), one.log)
            for one in bad[:MOST_ROWS]
        )
        blocks.append(
            Table(
                title="Runs that did not end well",
                rows=rows,
                folded=len(rows) > FOLD_FROM,
                columns=(
                    Column("Run"),
                    Column("State", "state"),
                    Column("Reason"),
                    Column("Host", "code"),
                    Column("Time", "number"),
                    Column("Output", "code"),
                ),
                caption=_rest(len(bad), MOST_ROWS, "run"),
            )
        )
        logs = tuple(Log(title=f"{one.label} ({one.host})", state=one.state, text=one.tail) for one in bad if one.tail)
        if logs:
            blocks.append(Logs(title="What they printed last", logs=logs[:MOST_LOGS]))
    if analysis.skipped:
        blocks.append(
            Table(
                title="Asked for and not possible here",
                columns=(Column("What"), Column("Why")),
                rows=tuple((one.what, one.why) for one in analysis.skipped),
            )
        )
    return Section(id="failures", title="Runs that failed or were not possible", short="Failures", blocks=tuple(blocks))


def _rest(total: int, most: int, what: str) -> str:
    return f"{count(total - most, f'further {what}')}: see the CSV and JSON files." if total > most else ""


_FORMULA = {"s": "seconds of a sample", "bytes": "bytes", "flop": "floating-point operations", "messages": "messages"}


def formula(metric: Metric) -> str:
    """``bytes/s`` in words: "bytes / seconds of a sample"."""
    return " / ".join(_FORMULA.get(part, part) for part in metric.per.split("/")) if metric.per else "not stated"


def _methods(analysis: Analysis) -> Section:
    direction = {"higher": "higher is better", "lower": "lower is better", "none": "neither is better"}
    rows = tuple(
        (
            f"{metric.title}\n{metric.name}",
            metric.unit,
            direction[metric.better],
            f"{formula(metric)}\n{f'of the kernel {metric.kernel}' if metric.kernel else 'of all kernels'}",
            metric.limit or "none is known",
            metric.source or "not stated",
        )
        for metric in analysis.metrics
    )
    return Section(
        id="methods",
        title="How each number was made",
        short="Methods",
        blocks=(
            Text(
                text="The programs record the seconds of every sample and the work that was done in it; every rate is "
                "derived from those by the formula below. A value stands with its interval, the number of its "
                "samples and of the runs that they come from. Its fraction is the value over its limit, or the limit "
                "over the value where lower is better. A value that was not measured says so; it is never "
                "zero and never a pass."
            ),
            Table(
                title="Metrics",
                rows=rows,
                columns=(
                    Column("Metric"),
                    Column("Unit", "code"),
                    Column("Direction"),
                    Column("Formula"),
                    Column("Limit"),
                    Column("Source"),
                ),
            ),
        ),
    )


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested provenance as one level: ``libraries.libc.so.6`` -> text."""
    flat: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            flat |= _flat(item, f"{prefix}{key}.")
        elif isinstance(item, (list, tuple)):
            flat[f"{prefix}{key}"] = ", ".join(map(str, item))
        else:
            flat[f"{prefix}{key}"] = "not known" if item is None else str(item)
    return flat


def _provenance(analysis: Analysis) -> Section:
    distinct: dict[bytes, tuple[dict[str, Any], list[Outcome]]] = {}
    for one in analysis.outcomes:
        if one.provenance:
            key = msgspec.json.encode(one.provenance, order="deterministic")
            distinct.setdefault(key, (one.provenance, []))[1].append(one)
    values: dict[str, dict[str, list[Outcome]]] = {}
    for provenance, outcomes in distinct.values():
        for name, text in _flat(provenance).items():
            values.setdefault(name, {}).setdefault(text, []).extend(outcomes)
    total = sum(len(outcomes) for _, outcomes in distinct.values())
    rows = []
    for name, texts in values.items():
        for index, (text, outcomes) in enumerate(texts.items()):
            if index == 4:
                rows.append((name, f"and {len(texts) - 4:,} other values", "see the JSON file"))
                break
            workloads = sorted({one.workload for one in outcomes}, key=natural)
            rows.append(
                (
                    name,
                    text,
                    "all runs" if len(outcomes) == total else f"{count(len(outcomes), 'run')} of {listed(workloads)}",
                )
            )
    blocks: list[Block] = [
        Facts(
            pairs=(
                ("Run directory", analysis.name),
                ("Campaign", analysis.campaign),
                ("Shakedown", analysis.version),
                (
                    "Machine described by",
                    f"Shakedown {analysis.machine.version}, {day(analysis.machine.discovered_ns)}",
                ),
                ("Analysed", day(analysis.created_ns)),
                ("Runs", f"{len(analysis.outcomes):,}"),
            )
        )
    ]
    if rows:
        blocks.append(
            Table(
                title="Programs and libraries",
                rows=tuple(rows),
                columns=(Column("What", "code"), Column("Value", "code"), Column("Of")),
            )
        )
    if analysis.outcomes:
        blocks.append(_runs(analysis.outcomes))
    return Section(id="provenance", title="Provenance", blocks=tuple(blocks))


def _runs(outcomes: Sequence[Outcome]) -> Table:
    rows = []
    for one in outcomes[:MOST_ROWS]:
        seen = one.disturbance
        rows.append(
            (
                one.run,
                f"{one.repeat}",
                one.workload,
                one.label,
                one.host,
                one.state,
                show(one.seconds, "s"),
                "not known" if seen.load_before is None else f"{seen.load_before:.2f}",
                show(seen.steal_fraction, "%"),
                one.log,
            )
        )
    return Table(
        title="Runs",
        rows=tuple(rows),
        folded=True,
        caption=_rest(len(outcomes), MOST_ROWS, "run"),
        columns=(
            Column("Run", "code"),
            Column("Repeat", "number"),
            Column("Workload"),
            Column("Label"),
            Column("Host", "code"),
            Column("State", "state"),
            Column("Time", "number"),
            Column("Load before", "number"),
            Column("Stolen", "number"),
            Column("Output", "code"),
        ),
    )
