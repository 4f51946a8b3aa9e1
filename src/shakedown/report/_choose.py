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

import math
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
#: The parameter of a job over several hosts: how many.
NODES = "nodes"

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
    """The findings that have a value, with the host among their parameters where there are several hosts.

    Of jobs over several hosts the number of hosts tells one from another, not which they were.
    """
    several = len({finding.host for finding in findings if NODES not in finding.params}) > 1
    return [
        Row(
            {**finding.params, HOST: finding.host} if several and NODES not in finding.params else {**finding.params},
            finding,
        )
        for finding in findings
        if finding.value is not None
    ]


_PRODUCT = re.compile(r"[1-9]\d*(x[1-9]\d*)*")


def _spelt(rows: list[Row]) -> list[Row]:
    """The rows, where a word of each spells one of its numbers as a product (``64x64`` of 4096), with the number of factors
    in that word's place: it is what makes lines of them. Where two would be the same then, the words stay."""
    for word in dict.fromkeys(name for row in rows for name, value in row.dims.items() if isinstance(value, str)):
        texts = [row.dims.get(word) for row in rows]
        if not all(isinstance(text, str) and _PRODUCT.fullmatch(text) for text in texts):
            continue
        products = [math.prod(map(int, str(text).split("x"))) for text in texts]
        if not any(
            all(row.dims.get(name) == product for row, product in zip(rows, products, strict=True))
            for name in rows[0].dims
            if name != word
        ):
            continue
        made = [
            Row({name: (_dimensions(text) if name == word else value) for name, value in row.dims.items()}, row.finding)
            for row, text in zip(rows, texts, strict=True)
        ]
        if _distinct(made):
            rows = made
    return rows


def _filled(rows: list[Row]) -> list[Row]:
    """The rows, where a number is 1 or as large as what it multiplies leaves room for (a batch of transforms, the smaller
    the more), with a word for each of the two in its place: as numbers they are a line of one point each."""
    size = next((name for name in PREFERRED if rows and all(_is_number(row.dims.get(name, "")) for row in rows)), "")
    for name in [name for name in (rows[0].dims if size else ()) if name != size]:
        values = [row.dims.get(name, "") for row in rows]
        if not all(map(_is_number, values)):
            continue
        products: dict[tuple[str, ...], dict[float, float]] = {}
        for row, value in zip(rows, values, strict=True):
            if _as_number(value) > 1:
                words = tuple(f"{key} {word}" for key, word in row.dims.items() if isinstance(word, str))
                products.setdefault(words, {})[_as_number(value)] = _as_number(value) * _as_number(row.dims[size])
        full = [max(group.values()) < 2 * min(group.values()) for group in products.values()]
        if not full or not all(full) or max(map(len, products.values())) < 3:
            continue
        made = [
            Row({**row.dims, name: f"{name} {value}" if _as_number(value) <= 1 else f"full {name}"}, row.finding)
            for row, value in zip(rows, values, strict=True)
        ]
        if _distinct(made):
            rows = made
    return rows


def _distinct(rows: Sequence[Row]) -> bool:
    return len({tuple(sorted((name, str(value)) for name, value in row.dims.items())) for row in rows}) == len(rows)


_NUMBERS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}


def _dimensions(text: Value | None) -> str:
    number = str(text).count("x") + 1
    return _NUMBERS.get(number, f"{number} dimensions")


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
        found += _of_metric(metric, _filled(_spelt(rows_of(group))))
    rank = {"lines": 0, "heat": 1, "dots": 2}
    found.sort(key=lambda choice: (rank[choice.shape], choice.second, not choice.metrics[0].headline))
    return [part for choice in _merged(found) for part in _split(choice)]


def _of_metric(metric: Metric, rows: list[Row]) -> list[Choice]:
    stems = _pair_stems(varying(rows), rows)
    found = []
    if stems:
        heat, rows = _heat(metric, rows, stems)
        found += heat
    vary = varying(rows)
    numbers = [name for name, values in vary.items() if all(_is_number(value) for value in values)]
    axis = _axis(numbers, vary)
    if axis is None:
        return found + _dots(metric, rows, vary)
    lines, others = _lines(metric, rows, axis)
    found.insert(0, _without_short(lines))
    for other in (name for name in others if name in numbers):
        slice_rows, at = _slice(metric, rows, axis, other)
        if len(varying(slice_rows).get(other, ())) > 1:
            second, _ = _lines(metric, slice_rows, other)
            found.append(msgspec.structs.replace(second, fixed={**second.fixed, axis: at}, second=True))
    return found


def _slice(metric: Metric, rows: list[Row], axis: str, other: str) -> tuple[list[Row], Value]:
    """The rows at the value of ``axis`` at which ``other`` takes the most values; of equals the one that tells most.

    That is the largest size for a bandwidth, and the smallest for a latency.
    """
    sign = -1.0 if metric.better == "lower" else 1.0
    seen: dict[Value, set[Value]] = {}
    for row in rows:
        if axis in row.dims:
            seen.setdefault(row.dims[axis], set()).add(row.dims.get(other, ""))
    at = max(seen, key=lambda value: (len(seen[value]), sign * _as_number(value)))
    return [row for row in rows if row.dims.get(axis) == at], at


def _without_short(choice: Choice) -> Choice:
    """``choice`` less the lines of few points beside long ones: those belong to a figure over something else."""
    lines = series_of(choice)
    longest = max(map(len, lines.values()))
    kept = [row for group in lines.values() if 3 * len(group) >= longest for row in group]
    if len(kept) == len(choice.rows):
        return choice
    return msgspec.structs.replace(choice, rows=tuple(kept), left_out="Lines of few points are left out.")


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _as_number(value: Value) -> float:
    return float(value)


def _axis(numbers: list[str], vary: dict[str, list[Value]]) -> str | None:
    long_enough = [name for name in numbers if len(vary[name]) >= 3] or [
        name for name in numbers if name in ("threads", "ranks", "nodes")
    ]
    preferred = [name for name in PREFERRED if name in long_enough]
    return preferred[0] if preferred else max(long_enough, key=lambda name: len(vary[name]), default=None)


def _lines(metric: Metric, rows: list[Row], axis: str) -> tuple[Choice, list[str]]:
    """The lines over ``axis``, and the parameters that tell them apart.

    A parameter that follows from the axis, or from which the limit is chosen, is left out where the points of a line
    stay apart without it.
    """
    others, regions = [name for name in varying(rows) if name != axis], ""
    for name in list(others):
        follows = _follows(rows, axis, name)
        words = any(isinstance(row.dims.get(name), str) for row in rows)
        named = follows and words and name != HOST and _contiguous(rows, axis, name)
        one_value = len({row.dims[name] for row in rows if name in row.dims}) == 1  # and others lack it
        rest = [other for other in others if other != name]
        follows_or_placed = named or (follows and not words) or one_value or name in placed_by(metric)
        if follows_or_placed and _apart(rows, [axis, *rest]):
            others = rest
            regions = regions or (name if named else "")
    return Choice(
        shape="lines", metrics=(metric,), rows=tuple(rows), axis=axis, series=tuple(others), regions=regions
    ), others


def _apart(rows: Sequence[Row], names: Sequence[str]) -> bool:
    """Whether these parameters tell all rows apart."""
    return len({tuple(row.dims.get(name, "") for name in names) for row in rows}) == len(rows)


def _follows(rows: Sequence[Row], axis: str, name: str) -> bool:
    """Whether each value of ``axis`` leaves one value of ``name``, in the rows that have it."""
    seen: dict[Value, Value] = {}
    values = ((row.dims.get(axis, ""), row.dims[name]) for row in rows if name in row.dims)
    return all(seen.setdefault(at, value) == value for at, value in values)


def _contiguous(rows: Sequence[Row], axis: str, name: str) -> bool:
    """Whether ``name`` keeps each of its values over one stretch of ``axis``."""
    ordered = sorted(
        {(_as_number(row.dims[axis]), str(row.dims[name])) for row in rows if axis in row.dims and name in row.dims}
    )
    changes = sum(left[1] != right[1] for left, right in pairwise(ordered))
    return changes == len({word for _, word in ordered}) - 1 and len(ordered) > changes + 1


def _pair_stems(vary: Mapping[str, object], rows: Sequence[Row]) -> list[str]:
    """``cpu`` where ``cpu_a`` and ``cpu_b`` are parameters and one varies; the one that tells most pairs apart first.

    Of several that tell as many, the host says more to a person than the CPU, and that more than the rank.
    """
    known = {name for row in rows[:1] for name in row.dims}
    stems = dict.fromkeys(name[:-2] for name in vary if name[-2:] in ("_a", "_b"))
    found = [stem for stem in stems if stem and {f"{stem}_a", f"{stem}_b"} <= known]
    order = {"host": 0, "cpu": 1, "gpu": 1}

    def pairs(stem: str) -> int:
        return len({(row.dims.get(f"{stem}_a", ""), row.dims.get(f"{stem}_b", "")) for row in rows})

    return sorted(found, key=lambda stem: (-pairs(stem), order.get(stem, 2)))


def _heat(metric: Metric, rows: list[Row], stems: list[str]) -> tuple[list[Choice], list[Row]]:
    """The matrix over the pairs, and the rows that are left for lines: those of the pair with the most of them."""
    sign = -1 if metric.better == "lower" else 1  # of sizes the smallest tells a latency, the largest a bandwidth
    names = (f"{stems[0]}_a", f"{stems[0]}_b")
    ends = {f"{stem}{end}" for stem in stems for end in ("_a", "_b")}
    others = [name for name in varying(rows) if name not in ends]
    slices: dict[tuple[Value, ...], list[Row]] = {}
    pairs: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        slices.setdefault(tuple(row.dims.get(name, "") for name in others), []).append(row)
        pairs.setdefault(tuple(row.dims.get(name, "") for name in names), []).append(row)
    fullest = max(slices.items(), key=lambda item: (len(item[1]), sign * next(filter(_is_number, item[0]), 0)))
    left = max(pairs.values(), key=len)
    if len(fullest[1]) < 3 or not _apart(fullest[1], names):
        return [], left
    choice = Choice(
        shape="heat",
        metrics=(metric,),
        rows=tuple(fullest[1]),
        axis=stems[0],
        fixed=dict(zip(others, fullest[0], strict=True)),
    )
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
    """Lines over the same axis, in the same unit and of the same quantity share a figure while they are few."""
    merged: list[Choice] = []
    for choice in choices:
        for index, other in enumerate(merged):
            if _alike(choice, other) and len(series_of(choice)) + len(series_of(other)) <= MOST_SERIES:
                merged[index] = msgspec.structs.replace(
                    other, metrics=other.metrics + choice.metrics, rows=other.rows + choice.rows
                )
                break
        else:
            merged.append(choice)
    return merged


def _alike(one: Choice, other: Choice) -> bool:
    same: Callable[[Choice], tuple[object, ...]] = lambda choice: (  # noqa: E731
        choice.shape,
        choice.axis,
        choice.series,
        choice.fixed,
        choice.metrics[0].unit,
        choice.metrics[0].better,
        choice.metrics[0].per,  # bytes as STREAM counts them and bytes moved are two figures
    )
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
        return [
            part
            for value in vary[name]
            for part in _split(
                msgspec.structs.replace(
                    choice,
                    rows=tuple(row for row in choice.rows if row.dims.get(name, "") == value),
                    series=tuple(one for one in choice.series if one != name),
                    fixed={**choice.fixed, name: value},
                )
            )
        ]
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
