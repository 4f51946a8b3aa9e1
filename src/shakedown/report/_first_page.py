"""The first page: what was asked, met or not and why, whether the measurement counts, and one table a workload. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis import causes, summary
from ..analysis.advice import NO_FIGURE
from ..analysis.power.case_values import OF_OTHER_WORK
from ..analysis.values import is_figure, is_headline, is_share
from ..document.model import Alert, Block, Column, Section, Table, Text
from ..document.tables import table
from ..document.text import better, count, interval_of, listed, params_of, value_with_interval
from ..records import SCORED, Analysis, Finding, Metric, Verdict
from ..units import show
from . import _choose

#: Rows of a workload's table on the first page, and of the causes: what is beyond is folded or in the workload's section.
MOST_RESULTS, MOST_TO_FIX = 3, 5


def lead(analysis: Analysis) -> tuple[str, ...]:
    """What was asked, what came out and why, and whether it counts: one sentence or two each."""
    hosts = sorted({one.host for one in analysis.outcomes}) or [one.name for one in analysis.machine.hosts]
    names = listed(dict.fromkeys(one.workload for one in analysis.outcomes))
    runs = count(len(analysis.outcomes), "run")
    asked = (
        f"{count(len(analysis.verdicts), 'requirement')}, {runs}" if analysis.verdicts else f"{runs}, nothing required"
    )
    sentences = [f"Asked: {asked}{f' of {names}' if names else ''} on {listed(hosts, 3) or 'no host'}."]
    sentences += [_result(one) for one in analysis.verdicts if one.state == "not met"][:3]
    undecided = [one for one in analysis.verdicts if one.state in ("undecided", "not measured")]
    sentences += [f"{one.state.capitalize()}: {summary.asked(one)}: {one.evidence}." for one in undecided[:3]]
    if analysis.verdicts and all(one.state == "met" for one in analysis.verdicts):
        sentences.append("Every requirement is met.")
    if not analysis.findings:
        sentences.append("Nothing was measured.")
    lost = [one for one in analysis.outcomes if one.state not in SCORED]
    if lost:
        named = listed(dict.fromkeys(f"{one.label} ({one.state})" for one in lost), 3)
        which = f"{len(lost)} of {count(len(analysis.outcomes), 'run')}"
        sentences.append(f"{which} {'has' if len(lost) == 1 else 'have'} no result: {named}.")
    marks = [f"{one.text}." for one in analysis.notices if one.code in (NO_FIGURE, "imported", "slow-host")]
    counts = summary.whether_it_counts(analysis)
    if counts:
        counts = f"Whether it counts: {counts}"
    elif analysis.outcomes:
        counts = "Whether it counts: no run was seen to be disturbed."
    return (*sentences, *marks, *([counts] if counts else []))


def _result(verdict: Verdict) -> str:
    return f"Not met: {summary.missed(verdict)}. {summary.why(verdict)}"


def section(analysis: Analysis, findings: Sequence[Finding]) -> Section:
    """Requirements with their causes, what to fix first, and the results of each workload."""
    blocks: list[Block] = [Alert(text=f"{one.text}.") for one in analysis.notices if one.code == NO_FIGURE]
    if analysis.verdicts:
        blocks.append(_requirements(analysis.verdicts))
    else:
        blocks.append(Text(text="The campaign sets no requirement, so nothing was judged."))
    blocks += _results(analysis, findings)
    blocks += _to_fix(analysis)
    return Section(id="verdict", title="Verdicts and results", short="Verdicts", blocks=tuple(blocks))


def _requirements(verdicts: Sequence[Verdict]) -> Table:
    return table(
        "Requirements",
        verdicts,
        (
            ("Requirement", "text", lambda one: one.requirement),
            ("Verdict", "state", lambda one: one.state),
            ("Value", "text", _value),
            ("Evidence, and why", "text", _evidence),
        ),
    )


def _value(one: Verdict) -> str:
    return f"{value_with_interval(one.finding)}, {one.finding.host}" if one.finding else "no value"


def _evidence(one: Verdict) -> str:
    return "\n".join(filter(None, (one.evidence, summary.why(one) if one.state == "not met" else "")))


def _to_fix(analysis: Analysis) -> list[Block]:
    found = causes.to_fix(analysis.notices, analysis.outcomes, analysis.findings, analysis.machine.hosts)
    columns = (Column("What was seen"), Column("What to do"), Column("Can take", "number"))
    rows = [
        (one.text, one.advice or "nothing is known", f"{100 * one.cost:.0f} %" if one.cost else "") for one in found
    ]
    caption = (
        "The most costly first. Its cost is an estimate, for the order alone: of what disturbed the runs the most of "
        "the CPU time that was seen, of the rest an order of magnitude; empty where it is nothing here or not known."
    )
    blocks: list[Block] = []
    if rows:
        first = tuple(rows[:MOST_TO_FIX])
        blocks.append(Table(title="To fix first", columns=columns, rows=first, caption=caption))
    if rows[MOST_TO_FIX:]:
        rest = tuple(rows[MOST_TO_FIX:])
        blocks.append(Table(title="To fix afterwards", columns=columns, rows=rest, folded=True))
    return blocks


def _results(analysis: Analysis, findings: Sequence[Finding]) -> list[Block]:
    """A table for each workload: its configurations with rate, share of the peak, power, efficiency and the command."""
    metrics = {metric.name: metric for metric in analysis.metrics}
    again = {one.run: one.command for one in analysis.outcomes}
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        metric = metrics.get(one.metric)
        if one.value is not None and metric is not None and is_figure(metric, one.params) and not is_share(metric):
            groups.setdefault(one.workload, []).append(one)
    tables: list[Block] = []
    for workload, group in groups.items():
        if chosen := _chosen(group, metrics):
            tables.append(_table(workload, chosen, group, metrics, again))
    return tables


def _chosen(group: Sequence[Finding], metrics: Mapping[str, Metric]) -> list[Finding]:
    """The best configuration of each run in the workload's headline metrics; then the best of its other metrics."""
    rates = [one for one in group if not _is_of_power(one, group)]
    heads = [one for one in rates if is_headline(metrics[one.metric], one.params)] or rates
    if not heads:
        return []
    first = [one for one in heads if metrics[one.metric].headline]
    first = first or [one for one in heads if one.metric == heads[0].metric]
    by_run: dict[tuple[str, ...], list[Finding]] = {}
    for one in first:
        by_run.setdefault((one.metric, *one.runs), []).append(one)
    chosen = [better(same) for same in by_run.values()]
    others: dict[str, list[Finding]] = {}
    for one in heads:
        if one.metric not in {best.metric for best in chosen}:
            others.setdefault(one.metric, []).append(one)
    return [*chosen, *(better(same) for same in others.values())][:MOST_RESULTS]


_OF_POWER = ("power", "energy", "energy_efficiency", "edp")


def _is_of_power(finding: Finding, group: Sequence[Finding]) -> bool:
    word = finding.metric.rpartition(".")[2]
    return "meter" in finding.params and (word in _OF_POWER or word.startswith("part_"))


def _beside(finding: Finding, word: str, group: Sequence[Finding], metrics: Mapping[str, Metric]) -> str:
    """The power or efficiency during a value's own cases, by the meter that sees most of the machine; empty without one.

    An efficiency that is not the rate over the power says why: fewer repeats lasted long enough for the meter, or their
    energy holds other work.
    """
    stem = finding.metric.rpartition(".")[0]
    name, power = f"{stem}.{word}", f"{stem}.power"

    def of(metric: str) -> dict[object, Finding]:
        return {
            one.params["meter"]: one
            for one in group
            if one.metric == metric
            and one.host == finding.host
            and "meter" in one.params
            and finding.params.items() <= one.params.items()
        }

    seen = of(power)
    if not seen:
        return ""
    meter = max(seen, key=lambda one: seen[one].value or 0.0)
    found, efficiency = of(name).get(meter), of(f"{stem}.energy_efficiency").get(meter)
    if found is None or (efficiency and not _same_cases(finding, efficiency.unit, stem, metrics)):
        return ""
    notes = []
    if word == "energy_efficiency":
        if found.n_runs < finding.n_runs:
            notes.append(f"of {found.n_runs} of {finding.n_runs} repeats")
        notes += [one.text.removeprefix("the case's energy ") for one in found.notices if one.code == OF_OTHER_WORK]
    return "\n".join(filter(None, (show(found.value, found.unit), "; ".join(notes))))


def _same_cases(finding: Finding, per_joule: str, stem: str, metrics: Mapping[str, Metric]) -> bool:
    """Whether a value is of the cases whose energy was measured: a latency is not of those that gave the message rate."""
    mine = metrics.get(finding.metric)
    rate = per_joule.removesuffix("/J") + "/s"
    kernels = {one.kernel for one in metrics.values() if one.name.rpartition(".")[0] == stem and one.unit == rate}
    return mine is None or not kernels or mine.kernel in kernels


def _table(
    workload: str,
    chosen: Sequence[Finding],
    group: Sequence[Finding],
    metrics: Mapping[str, Metric],
    again: Mapping[str, str],
) -> Table:
    several = len({one.host for one in chosen}) > 1
    rows = []
    for one in chosen:
        vary = [*_choose.varying(_choose.rows_of([other for other in group if other.metric == one.metric]))]
        names = [name for name in one.params if name in vary or name in ("threads", "ranks", "n")]
        detail = params_of(one.params, [name for name in names if name != "meter"])
        where = one.host if several else ""
        derived = [part for part in one.fractions if part.kind != "measured"]  # its own run's best is no peak
        most = max(derived, key=lambda part: part.value, default=None)
        rows.append(
            (
                "\n".join(filter(None, (metrics[one.metric].title, ", ".join(filter(None, (detail, where)))))),
                "\n".join(filter(None, (show(one.value, one.unit), interval_of(one)))),
                f"{show(most.fraction, '%')}\nof {show(most.value, one.unit)}, {most.kind}" if most else "",
                _beside(one, "power", group, metrics),
                _beside(one, "energy_efficiency", group, metrics),
                next((again[run] for run in one.runs if again.get(run)), ""),
            )
        )
    columns = (
        Column("Configuration"),
        Column("Value", "number"),
        Column("Of the peak", "number"),
        Column("Power", "number"),
        Column("Per joule", "number"),
        Column("Command", "code"),
    )
    for at in range(len(rows) - 1, 0, -1):
        if rows[at][-1] and rows[at][-1] == rows[at - 1][-1]:
            rows[at] = (*rows[at][:-1], "the same")
    kept = [at for at in range(len(columns)) if at in (0, 1, 5) or any(row[at] for row in rows)]
    return Table(
        title=workload,
        columns=tuple(columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in rows),
    )
