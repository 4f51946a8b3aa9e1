"""Every number of a published system in SI, and what keeps a file from being understood."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from .model import Param, Problem, PublishedPeak, PublishedValue, Record, Table

#: What a value is worth that is no plain cell of a table (PublishedValue.doubt).
PROSE, MISPRINTED = 1, 2


def flatten(record: Record) -> tuple[list[PublishedValue], list[PublishedPeak], list[Problem]]:
    """Every number of the record in SI, and what keeps the record from being understood."""
    values: list[PublishedValue] = []
    peaks: list[PublishedPeak] = []
    problems: list[Problem] = []
    document = record.document.id
    wrong = {(one.where, one.row, one.column) for one in record.errata}
    for peak in record.stated_peaks:
        where = f"peak {peak.metric!r} in {peak.where!r}"
        if number := _number(peak.value, peak.unit, where, problems):
            peaks.append(
                PublishedPeak(
                    metric=peak.metric,
                    scope=peak.scope,
                    value=number.value,
                    unit=number.unit,
                    half_width=number.half_width,
                    printed=peak.value,
                    printed_unit=peak.unit,
                    basis=peak.basis,
                    where=peak.where,
                    document=document,
                )
            )
    for stated in record.stated_values:
        where = f"value {stated.metric!r} in {stated.where!r}"
        if number := _number(stated.value, stated.unit, where, problems):
            values.append(
                PublishedValue(
                    metric=stated.metric,
                    value=number.value,
                    unit=number.unit,
                    half_width=number.half_width,
                    printed=stated.value,
                    printed_unit=stated.unit,
                    params=stated.params,
                    where=stated.where,
                    document=document,
                    required=stated.required,
                    note=stated.note,
                    doubt=PROSE,
                )
            )
    for table in record.tables:
        flaws = list(table_problems(table))
        problems += flaws
        if not flaws:
            values += _table_values(table, document, problems, wrong)
    return values, peaks, problems


def _table_values(
    table: Table, document: str, problems: list[Problem], wrong: set[tuple[str, int, str]]
) -> Iterator[PublishedValue]:
    for row, cells in enumerate(cells_of(table), start=1):
        in_row = {
            column.param: _param(cell)
            for column, cell in zip(table.columns, cells, strict=True)
            if column.param and cell != "-"
        }
        for column, cell in zip(table.columns, cells, strict=True):
            if column.param or cell == "-":
                continue
            where = f"table {table.where!r}, row {row}, column {column.name!r}"
            if number := _number(cell, column.unit, where, problems):
                yield PublishedValue(
                    metric=column.metric,
                    value=number.value,
                    unit=number.unit,
                    half_width=number.half_width,
                    printed=cell,
                    printed_unit=column.unit,
                    params={**table.params, **in_row, **column.params},
                    where=f"{table.where}, row {row}",
                    document=document,
                    note=table.note,
                    doubt=MISPRINTED if (table.where, row, column.name) in wrong else PROSE if table.prose else 0,
                )


class _Number(NamedTuple):
    value: float
    unit: str
    half_width: float


def _number(text: str, unit: str, where: str, problems: list[Problem]) -> _Number | None:
    from shakedown import units
    from shakedown.published import intervals

    try:
        value, half = intervals.value_of(text), intervals.half_width(text)
        si, factor = units.si(unit)
    except intervals.BadNumber as error:
        problems.append(Problem(where, str(error), 'write what is printed as a number; "-" in a table for nothing'))
    except units.UnknownUnit as error:
        problems.append(Problem(where, str(error), "units are written as in GB/s, MiB/s, Gflop/s, us, kW, %"))
    else:
        with contextlib.suppress(OverflowError):
            return _Number(float(value) * factor, si, float(half) * factor)
        problems.append(Problem(where, f"{text[:40]!r} is too large a number", "write it as it is printed"))
    return None


def cells_of(table: Table) -> list[list[str]]:
    lines = (line for line in table.rows.splitlines() if line.strip())
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def _param(cell: str) -> Param:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def table_problems(table: Table) -> Iterator[Problem]:
    """What keeps the table from being read: its columns, their formulas, and the number of cells in each row."""
    from shakedown import errors
    from shakedown.published import intervals

    place = f"table {table.where!r}"
    names = [column.name for column in table.columns]
    of_rows = [column.param for column in table.columns if column.param]
    for column in table.columns:
        where = f"{place}, column {column.name!r}"
        if not column.name.isidentifier() or column.name in intervals.FUNCTIONS:
            yield Problem(where, "the name cannot stand in a formula", "letters, digits and _; neither first nor sqrt")
        if names.count(column.name) > 1:
            yield Problem(where, "two columns have this name")
        if bool(column.param) == bool(column.metric):
            yield Problem(where, "a column holds a param or a metric", "give exactly one of the two")
        elif column.param and (column.unit or column.params):
            yield Problem(where, "a parameter has neither unit nor params", "bytes are bytes, clocks are as printed")
        elif column.metric and not column.unit:
            yield Problem(where, "the unit is missing")
        for name in sorted(set(column.params) & {*table.params, *of_rows}):
            yield Problem(where, f"the parameter {name!r} is given twice")
        if column.derived:
            try:
                own, first = intervals.names_in(column.derived)
            except intervals.BadFormula as error:
                yield Problem(where, str(error))
                continue
            for name in sorted((own | first) - set(names)):
                near = errors.nearest(name, names)
                hint = f"did you mean {near!r}?" if near else ""
                yield Problem(where, f"the formula names no column: {name!r}", hint)
    for name in sorted({name for name in of_rows if name in table.params or of_rows.count(name) > 1}):
        yield Problem(place, f"the parameter {name!r} is given twice")
    rows = cells_of(table)
    if not rows:
        yield Problem(place, "the table has no rows")
    used = {name for column in table.columns if column.derived for name in formula_names(column.derived)}
    for number, cells in enumerate(rows, start=1):
        where = f"{place}, row {number}"
        if len(cells) != len(names):
            yield Problem(
                where,
                f"{len(cells)} cells for {len(names)} columns: {' | '.join(cells)}",
                'every row has a cell for every column; "-" where the document prints nothing',
            )
            continue
        for column, cell in zip(table.columns, cells, strict=True):
            if not cell:
                yield Problem(f"{where}, column {column.name!r}", "the cell is empty", 'write "-" for nothing')
            elif column.param and cell != "-" and (column.name in used or column.derived):
                try:
                    intervals.value_of(cell)
                except intervals.BadNumber as error:
                    yield Problem(f"{where}, column {column.name!r}", str(error), "a formula uses it")


def formula_names(formula: str) -> frozenset[str]:
    from shakedown.published import intervals

    try:
        own, first = intervals.names_in(formula)
    except intervals.BadFormula:
        return frozenset()  # reported where the column is checked
    return own | first
