"""Which figures a workload's findings call for, decided from their parameters alone.

    a parameter that is a number and varies        the x axis of lines (bytes and n before others, then the most values)
    any further such number (threads)              the x axis of a second figure, at the largest value of the first
    words that vary (library, variant)             one line each
    a pair of parameters x_a, x_b                  a heat map
    nothing but words                              dots, one row each

A parameter that follows from the x axis (the cache level from the size) is no series; a word that does so names regions
of the axis. Thus a new workload gets sensible figures without an edit here. All of it is pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from ..records import Finding, Metric, Value

PREFERRED = ("bytes", "n", "elements", "size")
MOST_SERIES = 6
MOST_LINES = 8  # of one parameter that cannot be split further
HOST = "host"

Dims = dict[str, Value]


class Row(NamedTuple):
    """One finding with everything that tells it from others: its parameters, and the host where there are several."""

    dims: Dims
    finding: Finding


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One figure to be drawn: which rows, over which axis, told apart by what."""

    shape: str  # lines | heat | dots
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    axis: str = ""  # lines: the parameter along x; heat: the stem of the pair
    series: tuple[str, ...] = ()  # parameters that tell one line from another
    fixed: Dims = {}  # what was chosen to be the same for all
    regions: str = ""  # the parameter that names stretches of the axis
    second: bool = False  # over a further parameter, at one value of the first
    left_out: str = ""  # what is not shown, in words


def rows_of(findings: Sequence[Finding]) -> list[Row]:
    """The findings that have a value, with the host among their parameters where there are several hosts."""
    several = len({finding.host for finding in findings}) > 1
    return [Row({**finding.params, HOST: finding.host} if several else dict(finding.params), finding)
            for finding in findings if finding.value is not None]


def varying(rows: Sequence[Row]) -> dict[str, list[Value]]:
    """The parameters that take more than one value, each with its values in order of appearance."""
    values: dict[str, dict[Value, None]] = {}
    for row in rows:
        for name in row.dims:
            values.setdefault(name, {})
    for row in rows:
        for name, seen in values.items():
            seen[row.dims.get(name, "")] = None
    return {name: list(seen) for name, seen in values.items() if len(seen) > 1}


def placed_by(metric: Metric) -> set[str]:
    """The parameters from which the metric's limit is chosen (``{level}.bandwidth``): where a value was taken."""
    return set(re.findall(r"\{(\w+)\}", metric.limit + metric.measures))


def choose(findings: Sequence[Finding], metrics: Mapping[str, Metric]) -> list[Choice]:
    """The figures for the findings of one workload."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.metric, []).append(finding)
    found: list[Choice] = []
    for name, group in groups.items():
        metric = metrics.get(name) or Metric(name=name, title=name, unit=group[0].unit, better="none")
        found += _of_metric(metric, rows_of(group))
    rank = {"lines": 0, "heat": 1, "dots": 2}
    found.sort(key=lambda choice: (rank[choice.shape], choice.second))
    return [part for choice in _merged(found) for part in _split(choice)]


def _of_metric(metric: Metric, rows: list[Row]) -> list[Choice]:
    stem = _pair_stem(varying(rows))
    found = []
    if stem:
        heat, rows = _heat(metric, rows, stem)
        found += heat
    vary = varying(rows)
    numbers = [name for name, values in vary.items() if all(_is_number(value) for value in values)]
    axis = _axis(numbers, vary)
    if axis is None:
        return found + _dots(metric, rows, vary)
    lines, others = _lines(metric, rows, axis)
    found.insert(0, lines)
    end = min if metric.better == "lower" else max
    for other in (name for name in others if name in numbers):
        at: Value = end(vary[axis], key=_as_number)
        slice_rows = [row for row in rows if row.dims.get(axis) == at]
        if len(varying(slice_rows).get(other, ())) > 1:
            second, _ = _lines(metric, slice_rows, other)
            found.append(msgspec.structs.replace(second, fixed={**second.fixed, axis: at}, second=True))
    return found


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _as_number(value: Value) -> float:
    return float(value)


def _axis(numbers: list[str], vary: dict[str, list[Value]]) -> str | None:
    long_enough = [name for name in numbers if len(vary[name]) >= 3] or [
        name for name in numbers if name in ("threads", "ranks", "nodes")]
    preferred = [name for name in PREFERRED if name in long_enough]
    return preferred[0] if preferred else max(long_enough, key=lambda name: len(vary[name]), default=None)


def _lines(metric: Metric, rows: list[Row], axis: str) -> tuple[Choice, list[str]]:
    """The lines over ``axis``, and the parameters that tell them apart."""
    others, regions = [], ""
    for name, values in varying(rows).items():
        if name == axis:
            continue
        follows = _follows(rows, axis, name)
        words = any(isinstance(value, str) for value in values)
        if follows and words and name != HOST and _contiguous(rows, axis, name):
            regions = regions or name
        elif not (follows and not words) and name not in placed_by(metric):
            others.append(name)
    return Choice(shape="lines", metrics=(metric,), rows=tuple(rows), axis=axis, series=tuple(others),
                  regions=regions), others


def _follows(rows: Sequence[Row], axis: str, name: str) -> bool:
    """Whether each value of ``axis`` leaves one value of ``name``."""
    seen: dict[Value, Value] = {}
    values = ((row.dims.get(axis, ""), row.dims.get(name, "")) for row in rows)
    return all(seen.setdefault(at, value) == value for at, value in values)


def _contiguous(rows: Sequence[Row], axis: str, name: str) -> bool:
    """Whether ``name`` keeps each of its values over one stretch of ``axis``."""
    ordered = sorted({(_as_number(row.dims[axis]), str(row.dims.get(name, ""))) for row in rows if axis in row.dims})
    changes = sum(left[1] != right[1] for left, right in pairwise(ordered))
    return changes == len({word for _, word in ordered}) - 1 and len(ordered) > changes + 1


def _pair_stem(vary: dict[str, list[Value]]) -> str:
    """``cpu`` where ``cpu_a`` and ``cpu_b`` are parameters and at least one varies."""
    for name in vary:
        for end, other in (("_a", "_b"), ("_b", "_a")):
            if name.endswith(end) and name.removesuffix(end) + other in vary:
                return name.removesuffix(end)
    return ""


def _heat(metric: Metric, rows: list[Row], stem: str) -> tuple[list[Choice], list[Row]]:
    """The matrix over the pairs, and the rows that are left for lines: those of the pair with the most of them."""
    names = (f"{stem}_a", f"{stem}_b")
    others = [name for name in varying(rows) if name not in names]
    slices: dict[tuple[Value, ...], list[Row]] = {}
    pairs: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        slices.setdefault(tuple(row.dims.get(name, "") for name in others), []).append(row)
        pairs.setdefault(tuple(row.dims.get(name, "") for name in names), []).append(row)
    fullest = max(slices.items(), key=lambda item: len(item[1]))
    left = max(pairs.values(), key=len)
    if len(fullest[1]) < 3:
        return [], left
    choice = Choice(shape="heat", metrics=(metric,), rows=tuple(fullest[1]), axis=stem,
                    fixed=dict(zip(others, fullest[0], strict=True)))
    return [choice], left if len(left) > 1 else []


def _dots(metric: Metric, rows: list[Row], vary: dict[str, list[Value]]) -> list[Choice]:
    if not 2 <= len(rows) <= 40:
        return []
    return [Choice(shape="dots", metrics=(metric,), rows=tuple(rows), series=tuple(vary))]


def series_of(choice: Choice) -> dict[tuple[Value, ...], list[Row]]:
    """The rows of each line, keyed by the metric's name and the values of ``choice.series``."""
    lines: dict[tuple[Value, ...], list[Row]] = {}
    for row in choice.rows:
        key = (row.finding.metric, *(row.dims.get(name, "") for name in choice.series))
        lines.setdefault(key, []).append(row)
    return lines


def _merged(choices: list[Choice]) -> list[Choice]:
    """Lines over the same axis and in the same unit share a figure while they are few."""
    merged: list[Choice] = []
    for choice in choices:
        for index, other in enumerate(merged):
            if _alike(choice, other) and len(series_of(choice)) + len(series_of(other)) <= MOST_SERIES:
                merged[index] = msgspec.structs.replace(
                    other, metrics=other.metrics + choice.metrics, rows=other.rows + choice.rows)
                break
        else:
            merged.append(choice)
    return merged


def _alike(one: Choice, other: Choice) -> bool:
    same: Callable[[Choice], tuple[object, ...]] = lambda choice: (  # noqa: E731
        choice.shape, choice.axis, choice.series, choice.fixed, choice.metrics[0].unit, choice.metrics[0].better)
    return one.shape == "lines" and same(one) == same(other)


def _split(choice: Choice) -> list[Choice]:
    """``choice`` as figures of few lines: numbers are thinned to three values, then words get a figure each."""
    if choice.shape != "lines" or len(series_of(choice)) <= MOST_SERIES:
        return [choice]
    vary = {name: values for name, values in varying(choice.rows).items() if name in choice.series}
    for name, values in vary.items():
        if len(values) > 3 and all(map(_is_number, values)):
            ordered = sorted(values, key=_as_number)
            kept = (ordered[0], ordered[len(ordered) // 2], ordered[-1])
            left_out = f"{choice.left_out} {len(values)} values of {name}, of which three are shown.".strip()
            rows = tuple(row for row in choice.rows if row.dims.get(name, "") in kept)
            return _split(msgspec.structs.replace(choice, rows=rows, left_out=left_out))
    if len(vary) > 1:
        name = min(vary, key=lambda one: (one == HOST, _is_number(vary[one][0]), len(vary[one])))
        return [part for value in vary[name] for part in _split(msgspec.structs.replace(
            choice, rows=tuple(row for row in choice.rows if row.dims.get(name, "") == value),
            series=tuple(one for one in choice.series if one != name), fixed={**choice.fixed, name: value}))]
    return [_best_lines(choice)]


def _best_lines(choice: Choice) -> Choice:
    lines = series_of(choice)
    if len(lines) <= MOST_LINES:
        return choice
    sign = -1.0 if choice.metrics[0].better == "lower" else 1.0
    ranked = sorted(lines, key=lambda key: max(sign * (row.finding.value or 0.0) for row in lines[key]), reverse=True)
    kept = set(ranked[:MOST_LINES])
    rows = tuple(row for key, group in lines.items() if key in kept for row in group)
    return msgspec.structs.replace(choice, rows=rows, left_out=f"The best {MOST_LINES} of {len(lines)} are shown.")
