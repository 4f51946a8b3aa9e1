"""Runs and published systems side by side: which is better, as far as they are alike and their intervals tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..machine import mpi as mpis
from ..published import System
from ..records import IMPORTED, Analysis, Circumstances, Finding, Metric, Params, Value
from . import circumstances, facts
from .published_comparison import (
    Printed,
    Rank,
    compare,
    interval,
    is_better,
    is_untold,
    matched,
    printed,
    required,
    word,
)
from .values import is_headline


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One system's value in a row; ``rank`` and ``ratio`` are against the first system that has one, and are None where
    ``apart`` says what keeps the two from being ranked."""

    value: float
    low: float | None = None
    high: float | None = None
    params: Params = {}
    where: str = ""
    circumstances: str = ""
    apart: tuple[str, ...] = ()
    rank: Rank | None = None
    ratio: float | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    metric: str
    title: str
    unit: str
    better: str
    params: str  # those that agree, as text
    cells: tuple[Cell | None, ...]  # one a system; None: it has no such value
    exact: bool = False
    detail: bool = False  # one of many: not shown unless it is asked for


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One column: a run or a published system, each value a finding with its circumstances (none: nothing is known)."""

    name: str
    findings: tuple[Finding, ...]
    circumstances: tuple[Circumstances, ...] = ()
    metrics: tuple[Metric, ...] = ()
    published: bool = False
    required: tuple[Printed, ...] = ()  # what a document requires of its system: requirements.py
    facts: dict[str, Value] = {}  # of a run: what is known of it beside its figures


def from_analysis(analysis: Analysis) -> Entry:
    """A run as a column."""
    setting = circumstances.setting_of(analysis)
    metrics = {one.name: one for one in analysis.metrics}
    return Entry(
        name=analysis.name,
        findings=analysis.findings,
        circumstances=tuple(
            circumstances.of_finding(one, metrics[one.metric], setting) if one.metric in metrics else Circumstances()
            for one in analysis.findings
        ),
        metrics=analysis.metrics,
        facts=facts.merged(list(facts.of_runs(analysis.machine, analysis.outcomes, analysis.version).values())),
    )


def by_mpi(entry: Entry, wanted: Sequence[str]) -> list[Entry]:
    """A run as one column for each of the MPIs that are asked for (``machine.mpi.select``); what was measured without one
    joins none. Raises BadInput."""
    labels = list(dict.fromkeys(str(one.params["mpi"]) for one in entry.findings if "mpi" in one.params))
    made = []
    for label in mpis.select(labels, wanted, where=entry.name):
        told = entry.circumstances or (Circumstances(),) * len(entry.findings)
        kept = [
            (msgspec.structs.replace(one, params={k: v for k, v in one.params.items() if k != "mpi"}), under)
            for one, under in zip(entry.findings, told, strict=True)
            if one.params.get("mpi") == label
        ]
        made.append(
            msgspec.structs.replace(
                entry,
                name=f"{entry.name}, {label}",
                findings=tuple(one for one, _ in kept),
                circumstances=tuple(under for _, under in kept),
                facts={},
            )
        )
    return made


def differences(entries: Sequence[Entry]) -> list[facts.Difference]:
    """What differs between the runs beside their figures; nothing where fewer than two are runs."""
    known = [one.facts for one in entries if one.facts]
    return facts.differences(known) if len(known) > 1 else []


def from_published(system: System, metrics: Mapping[str, Metric]) -> Entry:
    """A published system as a column; the interval of a printed figure is half a unit of its last place."""
    values = printed(system, metrics)
    findings = tuple(
        Finding(
            metric=metric.name,
            unit=one.unit,
            better="none",
            workload="published",
            params=dict(one.params),
            host=one.where,
            value=one.value,
            low=one.value - one.half_width,
            high=one.value + one.half_width,
        )
        for one, metric, _ in values
    )
    told = tuple(one.circumstances for one in values)
    asked = tuple(required(system, metrics))
    return Entry(name=system.id, findings=findings, circumstances=told, published=True, required=asked)


class _Valued(NamedTuple):
    finding: Finding
    circumstances: Circumstances


_Column = list[_Valued]


def names_of(entries: Sequence[Entry]) -> list[str]:
    """What each column is called: its name, numbered where several have the same."""
    names = [one.name for one in entries]
    return [
        f"{name} ({names[: at + 1].count(name)})" if names.count(name) > 1 else name for at, name in enumerate(names)
    ]


def side_by_side(entries: Sequence[Entry], metrics: Mapping[str, Metric]) -> tuple[Row, ...]:
    """The rows in which at least two systems have a value: headlines first, then equal parameters of runs.

    Of a metric that has many headlines (one for each size) the best is no detail, nor are those of equal parameters where
    there is nothing else.
    """
    names = names_of(entries)
    tops = _told_beside([_grouped(entry, metrics, exact=False) for entry in entries], entries, metrics)
    heads = [
        _row(metrics[name], match or "best", [top.get((name, match), []) for top in tops], names)
        for name, match in dict.fromkeys(key for top in tops for key in top)
        if sum((name, match) in top for top in tops) > 1 and not _is_copy((name, match), tops, entries, metrics)
    ]
    heads = _few(_together(heads))
    alike: list[Row] = []
    exact = [_grouped(entry, metrics, exact=True) for entry in entries]
    shown = {(row.metric, tuple(cell and cell.value for cell in row.cells)) for row in heads}
    for name, text in dict.fromkeys(key for values in exact for key in values):
        found = [values.get((name, text), []) for values in exact]
        if sum(bool(one) for one in found) > 1:
            row = _row(metrics[name], text, found, names)
            if (row.metric, tuple(cell and cell.value for cell in row.cells)) not in shown:
                alike.append(msgspec.structs.replace(row, detail=bool(heads)))
    return (*heads, *(_together(alike) if heads else _few(_together(alike))))


def _is_copy(
    key: tuple[str, str],
    tops: Sequence[Mapping[tuple[str, str], _Column]],
    entries: Sequence[Entry],
    metrics: Mapping[str, Metric],
) -> bool:
    """Whether documents alone have a value of a metric of runs, which their own metric shows already: beside one another
    they say no more than what they print (a rate without a direction is no rate of writing)."""
    ours = [one.published for one, top in zip(entries, tops, strict=True) if key in top]
    printed = metrics[key[0]].published_as
    return all(ours) and sum(any(name == printed for name, _ in top) for top in tops) > 1


def _told_beside(
    tops: list[dict[tuple[str, str], _Column]], entries: Sequence[Entry], metrics: Mapping[str, Metric]
) -> list[dict[tuple[str, str], _Column]]:
    """The columns, where a document gives none of the parameters that must agree, and the metric is ranked by them: what it
    prints stands beside the best of a run, under other circumstances (`published_comparison.beside` does the same)."""
    best: dict[str, tuple[str, float]] = {}
    for entry, top in zip(entries, tops, strict=True):
        for (name, match), column in top.items():
            for one in column if not entry.published else []:
                value = one.finding.value or 0.0
                if name not in best or is_better(metrics[name].better, value, best[name][1]):
                    best[name] = match, value
    found: list[dict[tuple[str, str], _Column]] = []
    for entry, top in zip(entries, tops, strict=True):
        moved: dict[tuple[str, str], _Column] = {}
        for (name, match), column in top.items():
            untold = entry.published and name in best and is_untold(metrics[name], match)
            moved.setdefault((name, best[name][0] if untold else match), []).extend(column)
        found.append(moved)
    return found


def _grouped(entry: Entry, metrics: Mapping[str, Metric], *, exact: bool) -> dict[tuple[str, str], _Column]:
    """The values of an entry by metric and parameters: all of these, or the matching ones of what may head its metric."""
    groups: dict[tuple[str, str], _Column] = {}
    told = entry.circumstances or (Circumstances(),) * len(entry.findings)
    for one, under in zip(entry.findings, told, strict=True):
        metric = metrics.get(one.metric)
        if metric is None or one.value is None:
            continue
        if not exact and not entry.published and not is_headline(metric, one.params):
            continue
        key = _text(one.params) if exact else matched(metric, one.params)
        groups.setdefault((one.metric, key), []).append(_Valued(one, under))
    return groups


def _together(rows: Sequence[Row]) -> list[Row]:
    """The rows of one metric after another, in the order in which metrics are met first."""
    order = {name: at for at, name in enumerate(dict.fromkeys(row.metric for row in rows))}
    return sorted(rows, key=lambda row: order[row.metric])


#: Headlines of one metric that are shown unasked.
MOST_SHOWN = 10


def _few(rows: Sequence[Row]) -> list[Row]:
    """The rows; where a metric has many, all are details but the one in which the first system is at its best."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.metric, []).append(row)
    many = {name for name, group in groups.items() if len(group) > MOST_SHOWN}
    best = {name: min(groups[name], key=_rank) for name in many}
    return [msgspec.structs.replace(row, detail=row.metric in many and row is not best[row.metric]) for row in rows]


def _rank(row: Row) -> float:
    """Less is better, of the first system that has a value; of a metric without a direction all are alike."""
    first = next(cell for cell in row.cells if cell is not None)
    return {"higher": -first.value, "lower": first.value}.get(row.better, 0.0)


def _text(params: Params) -> str:
    return ", ".join(f"{name}={word(value)}" for name, value in sorted(params.items()) if name not in IMPORTED)


def _row(metric: Metric, params: str, columns: Sequence[_Column], names: Sequence[str]) -> Row:
    """The first system's value that is like most of the others', of whole nodes rather than parts, at its best; beside it
    each other system's that is nearest to its circumstances."""
    columns = [_best_of_each(column, metric) for column in columns]
    at = next(index for index, column in enumerate(columns) if column)

    def likes(one: _Valued) -> int:
        others = [column for column in columns if column is not columns[at]]
        return sum(
            any(circumstances.alike(one.circumstances, other.circumstances, metric) for other in column)
            for column in others
        )

    first = min(
        columns[at], key=lambda one: (-likes(one), not one.circumstances.whole, _worse(metric, one.finding.value))
    )
    cells: list[Cell | None] = []
    for index, column in enumerate(columns):
        if not column:
            cells.append(None)
            continue
        chosen = first if column is columns[at] else min(column, key=lambda one: _far(metric, first, one))
        cells.append(_cell(metric, first, chosen, (f"in {names[at]}", f"in {names[index]}")))
    return Row(
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        better=metric.better,
        params=", ".join(told for told in re.split(r", ?", params) if not told.endswith("=None")),
        cells=tuple(cells),
        exact=metric.exact,
    )


def _best_of_each(column: _Column, metric: Metric) -> _Column:
    """The best value under each of the circumstances."""
    best: dict[bytes, _Valued] = {}
    for one in column:
        kind = circumstances.key(one.circumstances)
        if kind not in best or _worse(metric, one.finding.value) < _worse(metric, best[kind].finding.value):
            best[kind] = one
    return list(best.values())


def _worse(metric: Metric, value: float | None) -> float:
    return (value or 0.0) * (1 if metric.better == "lower" else -1)


def _far(metric: Metric, first: _Valued, one: _Valued) -> tuple[object, ...]:
    apart = circumstances.distance(first.circumstances, one.circumstances, metric)
    return apart, not one.circumstances.whole, _worse(metric, one.finding.value)


def _cell(metric: Metric, first: _Valued, one: _Valued, where: tuple[str, str]) -> Cell:
    finding = one.finding
    assert finding.value is not None and first.finding.value is not None
    low, _, high = interval(finding, metric)
    apart: tuple[str, ...] = ()
    rank = ratio = None
    if one is not first:
        apart = circumstances.differences(first.circumstances, one.circumstances, metric, where)
        if not apart:
            rank = compare(metric.better, interval(finding, metric), interval(first.finding, metric))
            ratio = finding.value / first.finding.value if first.finding.value else None
    return Cell(
        value=finding.value,
        low=low,
        high=high,
        params=finding.params,
        where=finding.host,
        circumstances=circumstances.words(one.circumstances, metric),
        apart=apart,
        rank=rank,
        ratio=ratio,
    )


def ranked(row: Row) -> list[tuple[int, Cell]]:
    """The cells that are like the first with like, with the numbers of their systems."""
    return [(index, cell) for index, cell in enumerate(row.cells) if cell is not None and not cell.apart]


def winner(row: Row) -> int | None:
    """The system whose interval is better than every other's of those that are like it; None where the intervals do not
    tell, or no two are alike."""
    cells = ranked(row)
    if len(cells) < 2:
        return None
    best_index, best = cells[0]
    for index, cell in cells[1:]:
        if is_better(row.better, cell.value, best.value):
            best_index, best = index, cell
    for index, cell in cells:
        if (
            index != best_index
            and compare(row.better, (best.low, best.value, best.high), (cell.low, cell.value, cell.high)) != "better"
        ):
            return None
    return best_index


def verdict(row: Row, names: Sequence[str]) -> str:
    """What the row shows, in words: the better system, or why none is."""
    apart = ["; ".join(cell.apart) for cell in row.cells if cell is not None and cell.apart]
    others = f"other circumstances ({'. '.join(apart)})" if apart else ""
    cells = ranked(row)
    if len(cells) < 2:
        return others
    return "; ".join(filter(None, (_verdict(row, cells, names), others)))


def _verdict(row: Row, cells: Sequence[tuple[int, Cell]], names: Sequence[str]) -> str:
    if row.exact and len({cell.value for _, cell in cells}) == 1:
        return "equal"
    if row.better == "none":
        return "no better or worse"
    bare = [names[index] for index, cell in cells if cell.low is None or cell.high is None]
    if bare:
        return f"not ranked: no interval for {' and '.join(bare)}"
    best = winner(row)
    return f"{names[best]} is better" if best is not None else "not distinguished by the intervals"
