"""Runs and published systems side by side: which is better, as far as their intervals tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..published import System
from ..records import IMPORTED, Analysis, Finding, Metric, Params
from .beside import Rank, compare, headlines, is_better, is_result, word


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One system's value in a row; ``rank`` and ``ratio`` are against the first system that has one."""

    value: float
    low: float | None = None
    high: float | None = None
    params: Params = {}
    where: str = ""
    rank: Rank | None = None
    ratio: float | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    metric: str
    title: str
    unit: str
    better: str
    params: str  # those that agree, as text
    cells: tuple[Cell | None, ...]  # one a system; None: it has no such value
    detail: bool = False  # one of many: not shown unless it is asked for


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One column: a run or a published system, each value a finding."""

    name: str
    findings: tuple[Finding, ...]
    metrics: tuple[Metric, ...] = ()
    published: bool = False


def from_analysis(analysis: Analysis) -> Entry:
    """A run as a column."""
    return Entry(name=analysis.name, findings=analysis.findings, metrics=analysis.metrics)


def from_published(system: System) -> Entry:
    """A published system as a column; the interval of a printed figure is half a unit of its last place."""
    findings = tuple(
        Finding(
            metric=one.metric,
            unit=one.unit,
            better="none",
            workload="published",
            params=dict(one.params),
            host=one.where,
            value=one.value,
            low=one.value - one.half_width,
            high=one.value + one.half_width,
        )
        for one in system.values
        if is_result(one)
    )
    return Entry(name=system.id, findings=findings, published=True)


def side_by_side(entries: Sequence[Entry], metrics: Mapping[str, Metric]) -> tuple[Row, ...]:
    """The rows in which at least two systems have a value: headlines first, then equal parameters of runs.

    Of a metric that has many headlines (one for each size) the best is no detail, nor are those of equal parameters where
    there is nothing else.
    """
    tops = [
        headlines((one for one in entry.findings if one.metric in metrics), metrics, published=entry.published)
        for entry in entries
    ]
    heads: list[Row] = []
    for name, match in dict.fromkeys(key for top in tops for key in top):
        found = [top.get((name, match)) for top in tops]
        if sum(one is not None for one in found) > 1:
            heads.append(_row(metrics[name], match or "best", found))
    heads = _few(_together(heads))
    alike: list[Row] = []
    exact = [
        {
            (one.metric, _text(one.params)): one
            for one in entry.findings
            if one.metric in metrics and one.value is not None
        }
        for entry in entries
    ]
    shown = {(row.metric, tuple(cell and cell.value for cell in row.cells)) for row in heads}
    for name, text in dict.fromkeys(key for values in exact for key in values):
        found = [values.get((name, text)) for values in exact]
        if sum(one is not None for one in found) > 1:
            row = _row(metrics[name], text, found)
            if (row.metric, tuple(cell and cell.value for cell in row.cells)) not in shown:
                alike.append(msgspec.structs.replace(row, detail=bool(heads)))
    return (*heads, *(_together(alike) if heads else _few(_together(alike))))


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


def _row(metric: Metric, params: str, found: Sequence[Finding | None]) -> Row:
    first = next(one for one in found if one is not None)
    cells: list[Cell | None] = []
    for one in found:
        if one is None or one.value is None:
            cells.append(None)
            continue
        rank = ratio = None
        if one is not first:
            assert first.value is not None
            rank = compare(metric.better, (one.low, one.value, one.high), (first.low, first.value, first.high))
            ratio = one.value / first.value if first.value else None
        cells.append(
            Cell(value=one.value, low=one.low, high=one.high, params=one.params, where=one.host, rank=rank, ratio=ratio)
        )
    return Row(
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        better=metric.better,
        params=params,
        cells=tuple(cells),
    )


def winner(row: Row) -> int | None:
    """The system whose interval is better than every other's in the row; None where the intervals do not tell."""
    cells = [(index, cell) for index, cell in enumerate(row.cells) if cell is not None]
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
