"""What can be understood but is not right: unknown metrics, wrong derived columns, stale errata; and the metrics."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from .flatten import cells_of, flatten, formula_names, table_problems
from .model import BUILT_IN, FORMAT, PARAMETERS, HasUnit, MetricDef, MetricsFile, Problem, Recomputed, Record, Table


@functools.cache
def shared_metrics() -> tuple[MetricDef, ...]:
    from importlib import resources

    from shakedown import strict
    from shakedown.errors import BadInput

    file = "metrics.toml"
    text = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
    definitions = strict.convert(strict.read_toml(text, file), MetricsFile, file, hint=FORMAT).metric
    for where, what, hint in metric_problems(definitions):
        raise BadInput(what, where=f"{file}: {where}", hint=hint)
    return definitions


def recompute(system: Record) -> tuple[Recomputed, ...]:
    """Every derived cell against its formula. A cell that needs one that the document leaves empty is left out."""
    return tuple(one for table in system.tables if not any(table_problems(table)) for one in _recompute(table))


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
    used = {column.name for column in derived}.union(*(formula_names(column.derived) for column in derived))
    rows = cells_of(table)
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


def problems_of(system: Record, others: Iterable[Record], known: Mapping[str, HasUnit]) -> list[str]:
    """What is wrong with the system, a line each, beside the ``others`` and the ``known`` metrics of our workloads."""
    problems = flatten(system)[2]
    problems += metric_problems(system.metric_defs)
    defined: dict[str, HasUnit] = {one.name: one for one in shared_metrics()}
    for other in others:
        if other.id != system.id:
            defined.update({one.name: one for one in other.metric_defs})
    defined.update(known)
    for definition in system.metric_defs:
        if definition.name in defined:
            problems.append(Problem(f"metric {definition.name!r}", "is already defined elsewhere", "remove this one"))
    defined.update({one.name: one for one in system.metric_defs})
    problems += _use_problems(system, defined)
    problems += _erratum_problems(system)
    return [str(problem) for problem in problems]


def metric_problems(definitions: Iterable[MetricDef]) -> Iterator[Problem]:
    from shakedown import units

    seen: set[str] = set()
    for one in definitions:
        where = f"metric {one.name!r}"
        if one.name in seen:
            yield Problem(where, "is defined twice")
        seen.add(one.name)
        try:
            si, factor = units.si(one.unit)
        except units.UnknownUnit as error:
            yield Problem(where, str(error))
            continue
        if (si, factor) != (one.unit, 1.0):
            yield Problem(where, f"its unit {one.unit!r} is not an SI unit without prefix", f"write {si!r}")


def _use_problems(system: Record, defined: Mapping[str, HasUnit]) -> Iterator[Problem]:
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
) -> Iterator[Problem]:
    from shakedown import errors, units

    if not place.strip():
        yield Problem(where, "the place in the document is missing", "give its table, section or page")
    wanted = defined[metric].unit if metric in defined else None
    if wanted is None:
        wanted = next((si for pattern, si in BUILT_IN.items() if fnmatchcase(metric, pattern)), None)
    if wanted is None:
        near = errors.nearest(metric, defined)
        hint = f"nearest: {near!r}; or define it with [[metric]]" if near else "define it with [[metric]]"
        yield Problem(where, f"unknown metric {metric!r}", hint)
        return
    try:
        si = units.si(unit)[0]
    except units.UnknownUnit:
        return  # reported with the number
    if si != wanted:
        yield Problem(where, f"{unit!r} is {si!r}, but the metric {metric!r} is {wanted!r}")


def _param_problems(names: Iterable[str], where: str) -> Iterator[Problem]:
    import difflib

    for name in names:
        near = difflib.get_close_matches(name, PARAMETERS, 1, 0.8)
        if near and name not in PARAMETERS:
            hint = "use the shared name, or another name"
            yield Problem(where, f"the parameter {name!r} is nearly {near[0]!r}", hint)


def _erratum_problems(system: Record) -> Iterator[Problem]:
    """Every derived cell that disagrees has its erratum, and every erratum has a cell that disagrees."""
    cells: dict[tuple[str, int, str], Recomputed] = {}
    for one in recompute(system):
        key = (one.where, one.row, one.column)
        if key in cells:
            yield Problem(
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
            yield Problem(where, "is listed twice")
        listed.add(key)
        if not erratum.note.strip():
            yield Problem(where, "the note is missing", "say what may have happened")
        if key not in cells:
            yield Problem(where, "there is no such derived cell")
        elif cells[key].agrees:
            yield Problem(where, f"is stale: {_shown(cells[key])} agree")
    for key, one in cells.items():
        if not one.agrees and key not in listed:
            yield Problem(
                f"table {one.where!r}, row {one.row}, column {one.column!r}",
                f"{_shown(one)} disagree",
                "correct the transcription, or list an [[erratum]]",
            )


def _shown(one: Recomputed) -> str:
    return f"printed {one.printed} and recomputed {one.low:.6g} to {one.high:.6g}, {one.formula},"
