"""What a document's rows come to: theirs and ours of each, on one axis, with the comparison of what is alike. Pure but for
reading the run directories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from .. import published
from ..analysis import build, circumstances, published_comparison
from ..document.text import count, listed
from ..records import Analysis, Finding, Metric, Overhead, PublishedComparison, Value
from ..results.run_directory import RunDirectory
from ..units import show
from . import choosing, costs
from .lines import Cell, Line, apart
from .model import NEEDS, Evaluation, Row, Theirs, metrics_of, peak, values

State = Literal["answered", "answered in part", "failed", "not run", "needs", "by command", "nothing to measure"]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A row as far as it is answered."""

    row: Row
    state: State
    reason: str = ""  # why it is not answered, or not wholly
    next: str = ""  # the command that answers it
    lines: tuple[Line, ...] = ()
    comparisons: tuple[PublishedComparison, ...] = ()
    best: str = ""  # of a search over the axis: ours, in words
    axis: str = ""


class Kept(NamedTuple):
    """A run directory of this document, read once."""

    analysis: Analysis
    rows: Mapping[str, choosing.Planned]  # as planned on its machine
    planned: frozenset[str]  # ids of the runs that it has


def keep(evaluation: Evaluation, directory: RunDirectory) -> Kept:
    """A run directory with its analysis. Raises StoreFailed where it cannot be read."""
    analysis, _ = build.analyse(directory)
    rows = choosing.planned(evaluation, analysis.machine, version=analysis.version)
    return Kept(analysis, {one.row.id: one for one in rows}, frozenset(run.id for run in directory.plan().runs))


def machine_of(kept: Sequence[Kept]) -> str:
    """What was measured on, in a few words; "not looked at" without a run directory."""
    hosts = [host for one in kept for host in one.analysis.machine.hosts]
    if not hosts:
        return "not measured"
    words = dict.fromkeys(
        ", ".join(
            [host.cpu.model, count(len(host.cpu.cores), "core"), *([count(len(host.gpus), "GPU")] if host.gpus else [])]
        )
        for host in hosts
    )
    return f"{count(len({host.name for host in hosts}), 'host')}: {listed(words, 3)}"


def answers(
    evaluation: Evaluation,
    kept: Sequence[Kept],
    left_out: Mapping[str, str] | None = None,
    here: Mapping[str, choosing.Planned] | None = None,
) -> tuple[Answer, ...]:
    """Every row, answered from the first directory that has something of it. ``left_out``: why rows were not run;
    ``here``: the rows as planned on this machine, where no directory is."""
    return tuple(_answer(evaluation, row, kept, left_out or {}, here or {}) for row in evaluation.rows)


def _answer(
    evaluation: Evaluation,
    row: Row,
    kept: Sequence[Kept],
    left_out: Mapping[str, str],
    here: Mapping[str, choosing.Planned],
) -> Answer:
    theirs = tuple(line for one in row.theirs for line in theirs_of(row, one))
    bare = Answer(row=row, state="nothing to measure", reason=row.nothing, lines=theirs, axis=row.axis)
    if row.nothing:
        return bare
    if not row.runs:
        needs = "; ".join(NEEDS[one] for one in row.needs)
        return _with(bare, "by command" if row.command else "needs", needs, row.command)
    for one in kept:
        if row.overheads:
            if pairs := costs.of_row(row, one.analysis):
                return _answered_in_pairs(bare, one, pairs)
        elif found := _findings(row, one):
            return _answered(row, theirs, one, found)
    return _unanswered(evaluation, bare, kept, left_out, here)


def _findings(row: Row, kept: Kept) -> list[Finding]:
    """What the row's own runs gave in its metrics."""
    runs = {run.id for run in kept.rows[row.id].runs}
    return [
        one
        for one in kept.analysis.findings
        if one.metric in row.metrics and one.value is not None and runs & set(one.runs)
    ]


def _answered(row: Row, theirs: tuple[Line, ...], kept: Kept, found: list[Finding]) -> Answer:
    metrics = metrics_of(row)
    setting = circumstances.setting_of(kept.analysis)
    compared = tuple(
        one
        for system, chosen in _systems(row).items()
        for one in published_comparison.beside(
            found,
            metrics,
            [msgspec.structs.replace(published.system(system), values=chosen)],
            setting,
        )
    )
    ours = tuple(line for name in row.metrics for line in _ours(row, metrics[name], found, setting))
    lacking = _lacking(row, kept, metrics, found)
    return Answer(
        row=row,
        state="answered in part" if lacking else "answered",
        reason=lacking,
        lines=(*theirs, *ours),
        comparisons=compared,
        best=_best(row, ours) if row.best else "",
        axis=row.axis,
    )


def _answered_in_pairs(bare: Answer, kept: Kept, found: Sequence[Overhead]) -> Answer:
    row = bare.row
    lines = costs.lines(row, found, {line.metric: line.title for line in bare.lines})
    lacking = _lacking(row, kept, {}, ())
    state: State = "answered in part" if lacking else "answered"
    return msgspec.structs.replace(bare, state=state, reason=lacking, lines=(*bare.lines, *lines))


def _systems(row: Row) -> dict[str, tuple[published.PublishedValue, ...]]:
    found: dict[str, tuple[published.PublishedValue, ...]] = {}
    for one in row.theirs:
        found[one.system] = (*found.get(one.system, ()), *values(one))
    return found


def _lacking(row: Row, kept: Kept, metrics: Mapping[str, Metric], found: Sequence[Finding]) -> str:
    """What of the row was not answered, and why."""
    have = {one.metric for one in found}
    covered = (
        have
        | set(row.overheads.values())
        | {metrics[name].published_as for name in have}
        | {row.stands.get(name, "") for name in have}
    )
    printed = {value.metric for one in row.theirs for value in values(one) if not value.metric.startswith("peak.")}
    parts = [f"not measured here: {listed(sorted(printed - covered), 8)}"] if printed - covered else []
    parts += [f"needs {NEEDS[one]}" for one in row.needs]
    parts += list(kept.rows[row.id].missing)
    parts += [f"{one.label}: {one.reason or one.state}" for one in _failed(row, kept)]
    return "; ".join(parts)


class _Failed(NamedTuple):
    label: str
    state: str
    reason: str


def _failed(row: Row, kept: Kept) -> list[_Failed]:
    runs = {run.id for run in kept.rows[row.id].runs}
    bad = [one for one in kept.analysis.outcomes if one.run in runs and one.state != "ok"]
    return [_Failed(*each) for each in dict.fromkeys((one.label, one.state, one.reason) for one in bad)]


def _with(answer: Answer, state: State, reason: str, command: str) -> Answer:
    return msgspec.structs.replace(answer, state=state, reason=reason, next=command)


def _unanswered(
    evaluation: Evaluation,
    bare: Answer,
    kept: Sequence[Kept],
    left_out: Mapping[str, str],
    here: Mapping[str, choosing.Planned],
) -> Answer:
    row = bare.row
    again = f"shakedown reproduce {evaluation.name} --only {row.id}"
    for one in kept:
        if failed := _failed(row, one):
            words = "; ".join(f"{each.label}: {each.state}{f', {each.reason}' * bool(each.reason)}" for each in failed)
            return _with(bare, "failed", words, again)
    planned = [one.rows[row.id] for one in kept] or [here[name] for name in (row.id,) if name in here]
    if planned and not any(one.runs for one in planned):
        why = [word for one in planned for word in one.missing]
        why += [NEEDS[one] for one in row.needs]
        return _with(bare, "needs", "; ".join(dict.fromkeys(why)), again)
    if row.id in left_out:
        return _with(bare, "not run", left_out[row.id], again)
    begun = any(run.id in one.planned for one in kept for run in one.rows[row.id].runs)
    reason = "planned, and not run yet: --resume continues with it" if begun else "not among the rows that were run"
    return _with(bare, "not run", reason, again)


# ---------------------------------------------------------------------------------------------------------------- lines


def theirs_of(row: Row, one: Theirs) -> list[Line]:
    """The published values as lines: one for each metric and each set of parameters that varies beside the axis."""
    system = published.system(one.system)
    own, titles = peak(one), published.metrics()
    groups: dict[str, list[published.PublishedValue]] = {}
    for value in values(one):
        groups.setdefault(value.metric, []).append(value)
    lines = []
    for metric, group in groups.items():
        known = titles.get(metric)
        ours = metrics_of(row).get(metric) or _known(metric)
        title, better = (
            (ours.title, ours.better) if ours else (known.title, known.better) if known else (metric, "none")
        )
        axis = row.theirs_axis or row.axis
        for label, chosen in apart([dict(value.params) for value in group], axis):
            cells = tuple(
                Cell(
                    x=_scaled(group[at].params.get(axis), row.theirs_factor),
                    value=group[at].value,
                    low=group[at].value - group[at].half_width,
                    high=group[at].value + group[at].half_width,
                    of_peak=group[at].value / own if own else None,
                    limit=one.peak,
                    printed=f"{group[at].printed} {group[at].printed_unit}".removesuffix(" 1"),
                    params=dict(group[at].params),
                )
                for at in chosen
            )
            lines.append(
                Line(
                    whose=f"{system.name}, {system.year}",
                    ours=False,
                    metric=metric,
                    title=title,
                    unit=group[0].unit,
                    better=better,
                    label=label,
                    cells=cells,
                )
            )
    return lines


def _scaled(x: Value | None, factor: float) -> Value | None:
    """A published place on our axis."""
    if factor == 1.0 or not isinstance(x, (int, float)):
        return x
    return int(x * factor) if float(x * factor).is_integer() else x * factor


def _known(metric: str) -> Metric | None:
    """The definition of a metric of any workload."""
    from .. import workloads

    for name in workloads.names():
        for one in workloads.get(name).metrics:
            if one.name == metric:
                return one
    return None


def _ours(row: Row, metric: Metric, found: Sequence[Finding], setting: circumstances.Setting) -> list[Line]:
    axis = row.ours_axis or row.axis
    own = [one for one in found if one.metric == metric.name]
    places = [_place(one, axis, metric, setting) for one in own]
    lines = []
    for label, chosen in apart([{**one.params, axis: x} for one, x in zip(own, places, strict=True)], axis):
        cells = []
        for at in chosen:
            one = own[at]
            fraction = one.fractions[0] if one.fractions else None
            cells.append(
                Cell(
                    x=places[at],
                    value=one.value or 0.0,
                    low=one.low,
                    high=one.high,
                    of_peak=fraction.fraction if fraction else None,
                    limit=fraction.limit if fraction else "",
                    params=one.params,
                )
            )
        lines.append(
            Line(
                whose="this machine",
                ours=True,
                metric=metric.name,
                title=metric.title,
                unit=metric.unit,
                better=metric.better,
                label=label,
                cells=tuple(cells),
            )
        )
    return lines


def _place(one: Finding, axis: str, metric: Metric, setting: circumstances.Setting) -> Value | None:
    """Where a finding lies on the axis; nodes and cores are among its circumstances where no parameter names them."""
    if axis in one.params or axis not in ("nodes", "cores"):
        return one.params.get(axis)
    under = circumstances.of_finding(one, metric, setting)
    return under.nodes if axis == "nodes" else under.cores


def _best(row: Row, ours: Iterable[Line]) -> str:
    """Which setting of the axis is the best of ours, and which others the intervals do not tell from it."""
    words = []
    for line in ours:
        cells = [cell for cell in line.cells if cell.x is not None]
        if len(cells) < 2 or line.better == "none":
            continue
        sign = 1 if line.better == "higher" else -1
        first = max(cells, key=lambda cell: sign * cell.value)
        near = [cell for cell in cells if cell is not first and not _toldapart(first, cell)]
        name = row.ours_axis or row.axis
        text = f"best {name} here: {first.x} ({line.title} {show(first.value, line.unit)})"
        if near:
            text += f", cannot be distinguished from {listed(str(cell.x) for cell in near)}"
        words.append(text)
    return "; ".join(dict.fromkeys(words))


def _toldapart(one: Cell, other: Cell) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or one.high < other.low
