"""Published systems: what others measured on their machines, read strictly from TOML. The format is in README.md.

    systems() / system(id) / load(path) -> System    check(system) -> problems    recompute(system) -> derived cells

A file that cannot be understood (an unknown key, an unknown unit, a row with a cell too few) raises BadInput. What can
be understood but is not right (an unknown metric, a stale erratum, a wrong derived number) is left to ``check``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

Param = int | float | str

#: The parameters that all files share. A name that is nearly one of these is taken for a slip.
PARAMETERS = (
    "nodes",
    "cores",
    "threads",
    "ranks",
    "gpus",
    "n",
    "nb",
    "p",
    "q",
    "bytes",
    "precision",
    "device",
    "library",
    "binding",
    "placement",
    "application",
    "clock",
    "case",
)

#: Metrics that need no definition, with their SI unit.
BUILT_IN = {"peak.flops.*": "flop/s", "peak.*.bandwidth": "B/s"}

_FORMAT = "the format is in the README of the published systems"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base: a key that is not named here is an error."""


# ---------------------------------------------------------------------------------------------- the file, key for key


class Document(_Strict, frozen=True, kw_only=True):
    id: str
    title: str
    authors: str
    date: str  # as precise as the document; empty where it prints none
    file: str


class Hardware(_Strict, frozen=True, kw_only=True):
    nodes: int | None = None
    node: str = ""
    sockets_per_node: int | None = None
    cpu: str = ""
    cores_per_node: int | None = None
    clock: str = ""
    memory_per_node: str = ""
    accelerators_per_node: int | None = None
    accelerator: str = ""
    interconnect: str = ""
    storage: str = ""
    software: str = ""
    cooling: str = ""
    notes: str = ""


class StatedPeak(_Strict, frozen=True, kw_only=True):
    metric: str
    scope: Literal["core", "socket", "node", "gpu", "system"]
    value: str
    unit: str
    basis: str
    where: str


class StatedValue(_Strict, frozen=True, kw_only=True):
    metric: str
    value: str
    unit: str
    where: str
    params: dict[str, Param] = {}
    note: str = ""


class Column(_Strict, frozen=True, kw_only=True):
    """A parameter of the rows (``param``) or a value (``metric`` and ``unit``)."""

    name: str
    param: str = ""
    metric: str = ""
    unit: str = ""
    params: dict[str, Param] = {}
    derived: str = ""


class Table(_Strict, frozen=True, kw_only=True):
    where: str
    columns: tuple[Column, ...]
    rows: str
    title: str = ""
    params: dict[str, Param] = {}
    note: str = ""


class Erratum(_Strict, frozen=True, kw_only=True):
    where: str
    row: int
    column: str
    note: str


class MetricDef(_Strict, frozen=True, kw_only=True):
    name: str
    title: str
    unit: str
    better: Literal["lower", "higher", "none"]
    source: str


class Record(_Strict, frozen=True, kw_only=True):
    """One file as it stands."""

    id: str
    name: str
    site: str
    country: str
    year: int
    summary: str
    document: Document
    hardware: Hardware = Hardware()
    stated_peaks: tuple[StatedPeak, ...] = msgspec.field(default=(), name="peak")
    stated_values: tuple[StatedValue, ...] = msgspec.field(default=(), name="value")
    tables: tuple[Table, ...] = msgspec.field(default=(), name="table")
    errata: tuple[Erratum, ...] = msgspec.field(default=(), name="erratum")
    metric_defs: tuple[MetricDef, ...] = msgspec.field(default=(), name="metric")


class _MetricsFile(_Strict, frozen=True, kw_only=True):
    metric: tuple[MetricDef, ...] = ()


# ------------------------------------------------------------------------------------------------------ what it becomes


class PublishedValue(_Strict, frozen=True, kw_only=True):
    """One printed number: ``value`` in ``unit`` (SI), give or take ``half_width``, half a unit in its last place."""

    metric: str
    value: float
    unit: str
    half_width: float
    printed: str
    printed_unit: str
    params: dict[str, Param] = {}
    where: str
    document: str
    note: str = ""


class PublishedPeak(_Strict, frozen=True, kw_only=True):
    """A theoretical peak as the document prints or implies it."""

    metric: str
    scope: Literal["core", "socket", "node", "gpu", "system"]
    value: float
    unit: str
    half_width: float
    printed: str
    printed_unit: str
    basis: str
    where: str
    document: str


class System(Record, frozen=True, kw_only=True):
    """The record, and every number in it in SI: those of the text first, then those of the tables, row by row."""

    values: tuple[PublishedValue, ...] = ()
    peaks: tuple[PublishedPeak, ...] = ()


class Recomputed(_Strict, frozen=True, kw_only=True):
    """A derived cell against its formula. Any result agrees (``-inf`` to ``inf``) where the divisor may be zero."""

    where: str
    row: int  # from 1
    column: str
    formula: str
    printed: str
    low: float
    high: float
    agrees: bool


class HasUnit(Protocol):
    """Any definition of a metric, here or in a workload."""

    @property
    def unit(self) -> str: ...


class _Problem(NamedTuple):
    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" ({self.hint})" if self.hint else "")


# -------------------------------------------------------------------------------------------------------------- reading


@functools.cache
def systems() -> tuple[System, ...]:
    """All published systems, by id."""
    from importlib import resources

    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml"))
    return tuple(
        parse(file.read_text(encoding="utf-8"), file.name)
        for file in sorted(files, key=lambda file: file.name)
        if file.name != "metrics.toml"
    )


def system(id: str) -> System:
    """The published system of that id. Raises BadInput."""
    from shakedown import errors

    for one in systems():
        if one.id == id:
            return one
    raise errors.unknown("published system", id, [one.id for one in systems()])


def load(path: Path) -> System:
    """A user's own file in the same format. Raises BadInput."""
    from shakedown import strict

    return parse(strict.read_text(path, hint="give the path of a TOML file"), path.name)


def parse(text: str, file: str) -> System:
    """A system from the text of its file; ``file`` is the file's name, which its id must equal. Raises BadInput."""
    from shakedown import strict
    from shakedown.errors import BadInput

    record = strict.convert(strict.read_toml(text, file), Record, file, hint=_FORMAT)
    if f"{record.id}.toml" != file:
        raise BadInput(f"id {record.id!r} is not the name of the file", where=file, hint=f"expected {file[:-5]!r}")
    values, peaks, problems = _flatten(record)
    if problems:
        where, what, hint = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadInput(f"{what}{more}", where=f"{file}: {where}", hint=hint)
    fields = {name: getattr(record, name) for name in Record.__struct_fields__}
    return System(**fields, values=tuple(values), peaks=tuple(peaks))


def metrics(known: Mapping[str, HasUnit] | None = None) -> dict[str, MetricDef]:
    """The metrics that published systems define, by name. Raises BadInput where one is defined twice.

    A metric that is also among ``known``, those of our workloads, is defined twice too.
    """
    from shakedown.errors import BadInput

    found = _shipped_metrics()
    for name in sorted(set(found) & set(known or ())):
        raise BadInput(
            f"metric {name!r} is defined by a workload too",
            where="published metrics",
            hint="remove the definition among the published ones",
        )
    return dict(found)


@functools.cache
def _shipped_metrics() -> dict[str, MetricDef]:
    from shakedown.errors import BadInput

    found: dict[str, MetricDef] = {}
    homes: dict[str, str] = {}
    places = [("metrics.toml", _shared_metrics()), *((f"{one.id}.toml", one.metric_defs) for one in systems())]
    for place, definitions in places:
        for definition in definitions:
            name = definition.name
            if name in found:
                raise BadInput(
                    f"metric {name!r} is already defined in {homes[name]}",
                    where=place,
                    hint="define it once; in metrics.toml where several systems need it",
                )
            found[name], homes[name] = definition, place
    return found


@functools.cache
def _shared_metrics() -> tuple[MetricDef, ...]:
    from importlib import resources

    from shakedown import strict
    from shakedown.errors import BadInput

    file = "metrics.toml"
    text = resources.files(__name__).joinpath(file).read_text(encoding="utf-8")
    definitions = strict.convert(strict.read_toml(text, file), _MetricsFile, file, hint=_FORMAT).metric
    for where, what, hint in _metric_problems(definitions):
        raise BadInput(what, where=f"{file}: {where}", hint=hint)
    return definitions


# ----------------------------------------------------------------------------------------------------------- flattening


def _flatten(record: Record) -> tuple[list[PublishedValue], list[PublishedPeak], list[_Problem]]:
    """Every number of the record in SI, and what keeps the record from being understood."""
    values: list[PublishedValue] = []
    peaks: list[PublishedPeak] = []
    problems: list[_Problem] = []
    document = record.document.id
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
                    note=stated.note,
                )
            )
    for table in record.tables:
        flaws = list(_table_problems(table))
        problems += flaws
        if not flaws:
            values += _table_values(table, document, problems)
    return values, peaks, problems


def _table_values(table: Table, document: str, problems: list[_Problem]) -> Iterator[PublishedValue]:
    for row, cells in enumerate(_cells(table), start=1):
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
                )


class _Number(NamedTuple):
    value: float
    unit: str
    half_width: float


def _number(text: str, unit: str, where: str, problems: list[_Problem]) -> _Number | None:
    from shakedown import units
    from shakedown.published import intervals

    try:
        value, half = intervals.value_of(text), intervals.half_width(text)
        si, factor = units.si(unit)
    except intervals.BadNumber as error:
        problems.append(_Problem(where, str(error), 'write what is printed as a number; "-" in a table for nothing'))
    except units.UnknownUnit as error:
        problems.append(_Problem(where, str(error), "units are written as in GB/s, MiB/s, Gflop/s, us, kW, %"))
    else:
        return _Number(float(value) * factor, si, float(half) * factor)
    return None


def _cells(table: Table) -> list[list[str]]:
    lines = (line for line in table.rows.splitlines() if line.strip())
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def _param(cell: str) -> Param:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _table_problems(table: Table) -> Iterator[_Problem]:
    """What keeps the table from being read: its columns, their formulas, and the number of cells in each row."""
    from shakedown import errors
    from shakedown.published import intervals

    place = f"table {table.where!r}"
    names = [column.name for column in table.columns]
    of_rows = [column.param for column in table.columns if column.param]
    for column in table.columns:
        where = f"{place}, column {column.name!r}"
        if not column.name.isidentifier() or column.name in intervals.FUNCTIONS:
            yield _Problem(where, "the name cannot stand in a formula", "letters, digits and _; neither first nor sqrt")
        if names.count(column.name) > 1:
            yield _Problem(where, "two columns have this name")
        if bool(column.param) == bool(column.metric):
            yield _Problem(where, "a column holds a param or a metric", "give exactly one of the two")
        elif column.param and (column.unit or column.params):
            yield _Problem(where, "a parameter has neither unit nor params", "bytes are bytes, clocks are as printed")
        elif column.metric and not column.unit:
            yield _Problem(where, "the unit is missing")
        for name in sorted(set(column.params) & {*table.params, *of_rows}):
            yield _Problem(where, f"the parameter {name!r} is given twice")
        if column.derived:
            try:
                own, first = intervals.names_in(column.derived)
            except intervals.BadFormula as error:
                yield _Problem(where, str(error))
                continue
            for name in sorted((own | first) - set(names)):
                near = errors.nearest(name, names)
                hint = f"did you mean {near!r}?" if near else ""
                yield _Problem(where, f"the formula names no column: {name!r}", hint)
    for name in sorted({name for name in of_rows if name in table.params or of_rows.count(name) > 1}):
        yield _Problem(place, f"the parameter {name!r} is given twice")
    rows = _cells(table)
    if not rows:
        yield _Problem(place, "the table has no rows")
    used = {name for column in table.columns if column.derived for name in _names(column.derived)}
    for number, cells in enumerate(rows, start=1):
        where = f"{place}, row {number}"
        if len(cells) != len(names):
            yield _Problem(
                where,
                f"{len(cells)} cells for {len(names)} columns: {' | '.join(cells)}",
                'every row has a cell for every column; "-" where the document prints nothing',
            )
            continue
        for column, cell in zip(table.columns, cells, strict=True):
            if not cell:
                yield _Problem(f"{where}, column {column.name!r}", "the cell is empty", 'write "-" for nothing')
            elif column.param and cell != "-" and (column.name in used or column.derived):
                try:
                    intervals.value_of(cell)
                except intervals.BadNumber as error:
                    yield _Problem(f"{where}, column {column.name!r}", str(error), "a formula uses it")


def _names(formula: str) -> frozenset[str]:
    from shakedown.published import intervals

    try:
        own, first = intervals.names_in(formula)
    except intervals.BadFormula:
        return frozenset()  # reported where the column is checked
    return own | first


# ------------------------------------------------------------------------------------------------------------- checking


def recompute(system: Record) -> tuple[Recomputed, ...]:
    """Every derived cell against its formula. A cell that needs one that the document leaves empty is left out."""
    return tuple(one for table in system.tables if not any(_table_problems(table)) for one in _recompute(table))


def _recompute(table: Table) -> Iterator[Recomputed]:
    import math

    from shakedown.published import intervals

    def read(cells: list[str]) -> dict[str, intervals.Interval]:
        pairs = zip(table.columns, cells, strict=True)
        return {
            column.name: intervals.exact(cell) if column.param else intervals.printed(cell)
            for column, cell in pairs
            if cell != "-" and column.name in used
        }

    derived = [column for column in table.columns if column.derived]
    used = {column.name for column in derived}.union(*(_names(column.derived) for column in derived))
    rows = _cells(table)
    numbers = [read(cells) for cells in rows]
    for row, (cells, known) in enumerate(zip(rows, numbers, strict=True), start=1):
        for column, cell in zip(table.columns, cells, strict=True):
            if not column.derived or cell == "-":
                continue
            own, first = intervals.names_in(column.derived)
            if not (own <= set(known) and first <= set(numbers[0])):
                continue
            try:
                result = intervals.evaluate(column.derived, known, numbers[0])
            except intervals.Undefined:
                low, high, agrees = -math.inf, math.inf, True
            else:
                low, high, agrees = float(result.low), float(result.high), result.overlaps(known[column.name])
            yield Recomputed(
                where=table.where,
                row=row,
                column=column.name,
                formula=column.derived,
                printed=cell,
                low=low,
                high=high,
                agrees=agrees,
            )


def discrepancies(system: Record) -> tuple[Recomputed, ...]:
    """The derived cells that do not agree with what they are derived from."""
    return tuple(one for one in recompute(system) if not one.agrees)


def check(system: Record, known: Mapping[str, HasUnit] | None = None) -> list[str]:
    """What is wrong with the system, a line each. ``known`` are the metrics of our workloads."""
    known = known or {}
    problems = _flatten(system)[2]
    problems += _metric_problems(system.metric_defs)
    defined: dict[str, HasUnit] = {one.name: one for one in _shared_metrics()}
    for other in systems():
        if other.id != system.id:
            defined.update({one.name: one for one in other.metric_defs})
    defined.update(known)
    for definition in system.metric_defs:
        if definition.name in defined:
            problems.append(_Problem(f"metric {definition.name!r}", "is already defined elsewhere", "remove this one"))
    defined.update({one.name: one for one in system.metric_defs})
    problems += _use_problems(system, defined)
    problems += _erratum_problems(system)
    return [str(problem) for problem in problems]


def _metric_problems(definitions: Iterable[MetricDef]) -> Iterator[_Problem]:
    from shakedown import units

    seen: set[str] = set()
    for one in definitions:
        where = f"metric {one.name!r}"
        if one.name in seen:
            yield _Problem(where, "is defined twice")
        seen.add(one.name)
        try:
            si, factor = units.si(one.unit)
        except units.UnknownUnit as error:
            yield _Problem(where, str(error))
            continue
        if (si, factor) != (one.unit, 1.0):
            yield _Problem(where, f"its unit {one.unit!r} is not an SI unit without prefix", f"write {si!r}")


def _use_problems(system: Record, defined: Mapping[str, HasUnit]) -> Iterator[_Problem]:
    """Places, metrics and their dimensions, and the names of parameters."""
    for peak in system.stated_peaks:
        where = f"peak {peak.metric!r} in {peak.where!r}"
        yield from _place_and_metric(peak.where, peak.metric, peak.unit, where, defined)
    for value in system.stated_values:
        where = f"value {value.metric!r} in {value.where!r}"
        yield from _place_and_metric(value.where, value.metric, value.unit, where, defined)
        yield from _param_problems(value.params, where)
    for table in system.tables:
        where = f"table {table.where!r}"
        yield from _param_problems([*table.params, *(column.param for column in table.columns if column.param)], where)
        for column in table.columns:
            if column.metric:
                there = f"{where}, column {column.name!r}"
                yield from _place_and_metric(table.where, column.metric, column.unit, there, defined)
                yield from _param_problems(column.params, there)


def _place_and_metric(
    place: str, metric: str, unit: str, where: str, defined: Mapping[str, HasUnit]
) -> Iterator[_Problem]:
    from shakedown import errors, units

    if not place.strip():
        yield _Problem(where, "the place in the document is missing", "give its table, section or page")
    wanted = defined[metric].unit if metric in defined else None
    if wanted is None:
        wanted = next((si for pattern, si in BUILT_IN.items() if fnmatchcase(metric, pattern)), None)
    if wanted is None:
        near = errors.nearest(metric, defined)
        hint = f"nearest: {near!r}; or define it with [[metric]]" if near else "define it with [[metric]]"
        yield _Problem(where, f"unknown metric {metric!r}", hint)
        return
    try:
        si = units.si(unit)[0]
    except units.UnknownUnit:
        return  # reported with the number
    if si != wanted:
        yield _Problem(where, f"{unit!r} is {si!r}, but the metric {metric!r} is {wanted!r}")


def _param_problems(names: Iterable[str], where: str) -> Iterator[_Problem]:
    import difflib

    for name in names:
        near = difflib.get_close_matches(name, PARAMETERS, 1, 0.8)
        if near and name not in PARAMETERS:
            hint = "use the shared name, or another word"
            yield _Problem(where, f"the parameter {name!r} is nearly {near[0]!r}", hint)


def _erratum_problems(system: Record) -> Iterator[_Problem]:
    """Every derived cell that disagrees has its erratum, and every erratum has a cell that disagrees."""
    cells: dict[tuple[str, int, str], Recomputed] = {}
    for one in recompute(system):
        key = (one.where, one.row, one.column)
        if key in cells:
            yield _Problem(
                f"table {one.where!r}",
                f"two tables have this place and a column {one.column!r}",
                "name the places apart",
            )
        cells[key] = one
    listed: set[tuple[str, int, str]] = set()
    for erratum in system.errata:
        key = (erratum.where, erratum.row, erratum.column)
        where = f"erratum {erratum.where!r}, row {erratum.row}, column {erratum.column!r}"
        if key in listed:
            yield _Problem(where, "is listed twice")
        listed.add(key)
        if not erratum.note.strip():
            yield _Problem(where, "the note is missing", "say what may have happened")
        if key not in cells:
            yield _Problem(where, "there is no such derived cell")
        elif cells[key].agrees:
            yield _Problem(where, f"is stale: {_shown(cells[key])} agree")
    for key, one in cells.items():
        if not one.agrees and key not in listed:
            yield _Problem(
                f"table {one.where!r}, row {one.row}, column {one.column!r}",
                f"{_shown(one)} disagree",
                "mend the transcription, or list an [[erratum]]",
            )


def _shown(one: Recomputed) -> str:
    return f"printed {one.printed} and recomputed {one.low:.6g} to {one.high:.6g}, {one.formula},"
