"""From a choice of rows to a figure: axes, lines, limits and published values, in SI units. All of it is pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from ..document import heat_map
from ..document.model import Axis, Dots, Figures, Heat, Histogram, Lines, Mark, Point, Region, Rule, Series
from ..document.text import natural, params_of, ranges, title_of, value_of, value_with_interval
from ..records import Curve, Finding, Metric, PublishedComparison, Value
from ..units import scale_for, show
from . import _choose
from ._choose import Choice, Row

LOG_FROM = 12.0  # a ratio of the greatest to the least value from which a logarithmic scale shows more
MOST_MARKS = 6
MOST_SERIES = 8  # lines that a drawing has colours and shapes for, published ones among them

Cell = tuple[int, int, float, str]  # row, column, value in SI units, words


Figure = Lines | Heat | Histogram | Dots


def of_workload(
    findings: Sequence[Finding],
    metrics: Mapping[str, Metric],
    beside: Sequence[PublishedComparison],
    curves: Sequence[Curve] = (),
) -> Figures | None:
    """The figures of one workload, or None where its findings call for none."""

    def figure(choice: Choice) -> Figure | None:
        if choice.shape == "lines":
            return lines(choice, beside, curves)
        return _matrix(choice) if choice.shape == "heat" else _dots(choice)

    made = [(choice, figure(choice)) for choice in _choose.choose(findings, metrics)]
    figures = _told_apart([(choice, figure) for choice, figure in made if figure is not None])
    return Figures(figures=figures) if figures else None


def _told_apart(made: Sequence[tuple[Choice, Figure]]) -> tuple[Figure, ...]:
    """The figures; of those of one title each says in it what it alone is made with: ``..., precision double``."""
    groups: dict[str, list[Choice]] = {}
    for choice, figure in made:
        groups.setdefault(figure.title, []).append(choice)
    told = []
    for choice, figure in made:
        alike = groups[figure.title]
        own = [name for name, value in choice.fixed.items() if any(one.fixed.get(name) != value for one in alike)]
        words = params_of({name: choice.fixed[name] for name in own})
        told.append(msgspec.structs.replace(figure, title=f"{figure.title}, {words}") if words else figure)
    return tuple(told)


# --------------------------------------------------------------------------------------------------------------- lines


def lines(choice: Choice, beside: Sequence[PublishedComparison], curves: Sequence[Curve]) -> Lines | None:
    """The figure of lines over one axis; None where fewer than two points have a value."""
    metric = choice.metrics[0]
    groups = {
        key: sorted((row for row in rows if _usable(row, choice.axis)), key=lambda row: float(row.dims[choice.axis]))
        for key, rows in _choose.series_of(choice).items()
    }
    rows = [row for group in groups.values() for row in group]
    xs = sorted({float(row.dims[choice.axis]) for row in rows})
    if len(xs) < 2:
        return None
    by = _by(choice.axis, metric)
    axis = _axis(choice.axis, xs, by)
    values = [row.finding.value for row in rows if row.finding.value is not None]
    log = min(values) > 0 and max(values) / min(values) > LOG_FROM
    names = {key: _series_name(choice, key) for key in groups}
    published, drawn, told = _published(choice, curves, axis, MOST_SERIES - len(groups), log)
    marks, beyond = _marks(
        choice, [one for one in beside if (one.system, one.metric) not in drawn], axis, max(values), log
    )
    rules, above = _rules(rows, choice.axis, axis, max(values), log)
    y_title = " · ".join(one.title for one in choice.metrics)
    return Lines(
        title=f"{y_title} by {by}",
        caption=_caption(choice, told + beyond + above),
        summary=_summary(names, groups, choice.axis),
        x=axis,
        unit=metric.unit,
        y_title=y_title,
        series=tuple(
            Series(names[key], tuple(_point(row, choice.axis, axis, names[key]) for row in group))
            for key, group in groups.items()
        )
        + published,
        rules=rules,
        marks=marks,
        regions=_regions(rows, choice, axis),
        log=log,
    )


def _usable(row: Row, axis: str) -> bool:
    value = row.dims.get(axis)
    return isinstance(value, (int, float)) and (row.finding.value is not None) and math.isfinite(row.finding.value)


def _by(name: str, metric: Metric) -> str:
    """What a parameter is beside the metric, in words."""
    return metric.titles.get(name) or title_of(name)


def _axis(name: str, xs: list[float], title: str) -> Axis:
    """Logarithmic where the values above zero span a factor of 16; marked at values that were measured."""
    above = [x for x in xs if x > 0]
    log = xs[0] >= 0 and len(above) > 1 and above[-1] / above[0] >= 16
    zero = above[0] / 2 if log and xs[0] == 0 else None
    step = max(1, math.ceil(len(xs) / 7))
    shown = xs[::-1][::step][::-1]
    if zero is not None and xs[0] not in shown:
        shown = [xs[0], *(shown if len(shown) < 7 else shown[1:])]
    if not log:
        gap = (xs[-1] - xs[0]) / 12
        shown = [x for index, x in enumerate(shown) if index == len(shown) - 1 or shown[-1] - x >= gap]
    labels = {zero if x == 0 and zero else x: value_of(name, int(x) if x.is_integer() else x) for x in shown}
    edge = 0.04 * (xs[-1] - xs[0])
    low, high = ((zero or xs[0]) / 1.25, xs[-1] * 1.25) if log else (xs[0] - edge, xs[-1] + edge)
    return Axis(title=title, labels=labels, low=low, high=high, log=log, zero=zero)


def _at(axis: Axis, value: Value) -> float:
    """Where a value of the parameter stands on the axis."""
    x = float(value)
    return axis.zero if x == 0 and axis.zero is not None else x


def _series_name(choice: Choice, key: tuple[Value, ...]) -> str:
    """What tells this line from the others: values that speak for themselves stand without their parameter's name."""
    vary = _choose.varying(choice.rows)
    words = []
    if len(choice.metrics) > 1:
        words.append(next(metric.title for metric in choice.metrics if metric.name == key[0]))
    for name, value in zip(choice.series, key[1:], strict=True):
        if name in vary:
            words.append(value if isinstance(value, str) and value else params_of({name: value}))
    return ", ".join(words) or choice.metrics[0].title


def _point(row: Row, name: str, axis: Axis, series: str) -> Point:
    finding = row.finding
    assert finding.value is not None
    where = params_of({name: row.dims[name]})
    says = f"{series}, {where}: {value_with_interval(finding)}"
    shares = "".join(f"; {show(one.fraction, '%')} of {one.kind} {one.limit}" for one in finding.fractions)
    return Point(_at(axis, row.dims[name]), finding.value, finding.low, finding.high, says + shares)


def _caption(choice: Choice, left_out: list[str]) -> str:
    """Under which conditions: what was fixed by choice, and what is the same for every row."""
    first = choice.rows[0].dims
    vary = _choose.varying(choice.rows)
    here = choice.rows[0].finding.host
    same = {
        name: value
        for name, value in first.items()
        if name not in vary and name not in (_choose.HOST, choice.axis) and value != here
    }
    conditions = params_of({**choice.fixed, **same})
    sentences = [f"With {conditions}."] if conditions else []
    return " ".join([*sentences, *([choice.left_out] if choice.left_out else []), *left_out])


def _summary(names: Mapping[tuple[Value, ...], str], lines: Mapping[tuple[Value, ...], list[Row]], axis: str) -> str:
    parts = []
    for key, rows in lines.items():
        if rows:
            first, last = rows[0], rows[-1]
            parts.append(
                f"{names[key]}: {show(first.finding.value, first.finding.unit)} at "
                f"{value_of(axis, first.dims[axis])} to {show(last.finding.value, last.finding.unit)} at "
                f"{value_of(axis, last.dims[axis])}"
            )
    return "; ".join(parts)


def _edges(xs: Sequence[float], index: int, axis: Axis) -> tuple[float, float]:
    """Half way to the neighbours of ``xs[index]``, on the axis' own scale."""

    def middle(a: float, b: float) -> float:
        return math.sqrt(a * b) if axis.log else (a + b) / 2

    return (
        middle(xs[index - 1], xs[index]) if index else axis.low,
        middle(xs[index], xs[index + 1]) if index + 1 < len(xs) else axis.high,
    )


def _rules(rows: Sequence[Row], name: str, axis: Axis, top: float, log: bool) -> tuple[tuple[Rule, ...], list[str]]:
    """The limits of the rows, each over the stretch where it holds; those far above are said in words."""
    xs = sorted({_at(axis, row.dims[name]) for row in rows})
    holds: dict[tuple[str, str, float], set[float]] = {}
    for row in rows:
        for one in row.finding.fractions:
            holds.setdefault((one.kind, one.limit, one.value), set()).add(_at(axis, row.dims[name]))
    rules: list[Rule] = []
    above: dict[str, None] = {}
    unit = rows[0].finding.unit
    for (kind, limit, value), where in holds.items():
        if value > top * (20 if log else 1.7) or value <= 0:
            above[f"{kind} {limit}, {show(value, unit)}"] = None
            continue
        begin = _edges(xs, xs.index(min(where)), axis)[0]
        end = _edges(xs, xs.index(max(where)), axis)[1]
        rules.append(Rule(name=f"{kind} limit ({limit}): {show(value, unit)}", y=value, begin=begin, end=end))
    words = [f"Beyond the figure: {'; '.join(list(above)[:3])}."] if above else []
    return tuple(rules), words


def _marks(
    choice: Choice, beside: Sequence[PublishedComparison], axis: Axis, top: float, log: bool
) -> tuple[tuple[Mark, ...], list[str]]:
    """Published values in the same metric that are like with like; those far outside, and those that are too many, are said
    in words."""
    marks: list[Mark] = []
    beyond: list[str] = []
    more: list[str] = []
    seen = set()
    for one in beside:
        if one.metric not in {metric.name for metric in choice.metrics} or (one.system, one.theirs) in seen:
            continue
        seen.add((one.system, one.theirs))
        if one.differences:  # a line across ours would compare them: the table of other circumstances has it
            continue
        name = f"{one.system_name}{f' ({one.year})' if one.year else ''}"
        says = f"{name}: {show(one.theirs, one.unit)}, {params_of(one.theirs_params)}; {one.where}".replace(", ;", ";")
        x = one.theirs_params.get(choice.axis)
        at = _at(axis, x) if isinstance(x, (int, float)) and axis.low <= _at(axis, x) <= axis.high else None
        if x is not None and at is None:  # taken at a size or a number of threads that is not here: the table has it
            continue
        if one.theirs > top * (20 if log else 1.7):
            beyond.append(f"{name} {show(one.theirs, one.unit)}")
        elif len(marks) == MOST_MARKS:
            more.append(f"{name} {show(one.theirs, one.unit)}")
        else:
            marks.append(Mark(name=f"{name} {show(one.theirs, one.unit)}", x=at, y=one.theirs, says=says))
    words = [f"Published, beyond the figure: {'; '.join(beyond)}."] if beyond else []
    words += [f"Published, and not drawn: {'; '.join(more)}."] if more else []
    return tuple(marks), [] if choice.second else words


def _published(
    choice: Choice, curves: Sequence[Curve], axis: Axis, room: int, log: bool
) -> tuple[tuple[Series, ...], set[tuple[str, str]], list[str]]:
    """Published curves over the same parameter, whole as far as the axis reaches; (system, metric) of those drawn; and in
    words what is not drawn."""
    metrics = {metric.name for metric in choice.metrics}
    fitting = []
    for one in curves:
        if one.metric in metrics and one.axis == choice.axis:
            points = [
                (x, y)
                for x, y in zip(one.x, one.y, strict=True)
                if axis.low <= _at(axis, x) <= axis.high and (y > 0 or not log)
            ]
            if len(points) > 1:
                fitting.append((one, points))
    fitting.sort(key=lambda pair: -len(pair[1]))
    series: list[Series] = []
    drawn: set[tuple[str, str]] = set()
    told: list[str] = []
    for one, points in fitting:
        year = f" ({one.year})" if one.year else ""
        name = ", ".join(filter(None, (f"{one.system_name}{year}", params_of(one.params), "published")))
        if len(series) >= room:
            told.append(f"{name} is in the table and not drawn.")
            continue
        drawn.add((one.system, one.metric))
        made = (
            Point(_at(axis, x), y, None, None, f"{name}, {params_of({one.axis: _whole(x)})}: {show(y, one.unit)}")
            for x, y in points
        )
        series.append(Series(name, tuple(sorted(made, key=lambda point: point.x))))
        if len(points) < len(one.x):
            told.append(f"{len(one.x) - len(points)} of the {len(one.x)} points of {name} lie beyond the axis.")
    return tuple(series), drawn, told


def _whole(x: float) -> Value:
    return int(x) if x.is_integer() else x


def _regions(rows: Sequence[Row], choice: Choice, axis: Axis) -> tuple[Region, ...]:
    if not choice.regions:
        return ()
    xs = sorted({_at(axis, row.dims[choice.axis]) for row in rows})
    words = {
        _at(axis, row.dims[choice.axis]): value_of(choice.regions, row.dims[choice.regions])
        .removesuffix(" cache")
        .rpartition(".")[2]
        for row in rows
        if choice.regions in row.dims
    }
    regions: list[Region] = []
    for index, x in enumerate(xs):
        begin, end = _edges(xs, index, axis)
        name = words.get(x, "").removesuffix(" cache").rpartition(".")[2]
        if regions and regions[-1].name == name:
            regions[-1] = Region(name=name, begin=regions[-1].begin, end=end)
        else:
            regions.append(Region(name=name, begin=begin, end=end))
    return tuple(regions)


# --------------------------------------------------------------------------------------------------- heat maps and dots


def _matrix(choice: Choice) -> Heat | None:
    metric = choice.metrics[0]
    names = (f"{choice.axis}_a", f"{choice.axis}_b")
    keys = {row.dims[name] for row in choice.rows for name in names}
    labels = sorted(keys, key=lambda value: natural(str(value)))
    index = {value: position for position, value in enumerate(labels)}
    what = title_of(choice.axis)
    cells = []
    for row in choice.rows:
        a, b = (row.dims[name] for name in names)
        if row.finding.value is not None:
            says = f"{what} {a} to {b}: {value_with_interval(row.finding)}"
            cells.append((index[a], index[b], row.finding.value, says))
    values = sorted(cell[2] for cell in cells)
    words = tuple(value_of(choice.axis, value) for value in labels)
    block = ""
    if len(labels) > heat_map.MOST:
        words, cells, block = _in_blocks(words, cells, metric.better, what)
    conditions = _caption(choice, [])
    return Heat(
        title=f"{metric.title} between {what}s ({scale_for(values[-1], metric.unit)[1]})",
        caption=f"{conditions}{block}".strip(),
        summary=f"{len(choice.rows):,} pairs: {show(values[0], metric.unit)} to {show(values[-1], metric.unit)}, "
        f"median {show(values[len(values) // 2], metric.unit)}",
        unit=metric.unit,
        better=metric.better,
        row_title=f"{what} a",
        column_title=f"{what} b",
        labels=words,
        cells=tuple(cells),
    )


def _in_blocks(
    labels: Sequence[str], cells: list[Cell], better: str, what: str
) -> tuple[tuple[str, ...], list[Cell], str]:
    """More names than a figure holds: the worst pair of each block, and a sentence that says so."""
    import numpy as np

    a, b, values = (np.array([cell[at] for cell in cells]) for at in range(3))
    size, kept = heat_map.worst(a, b, values.astype(float), better, len(labels))
    chosen = [cells[row] for row in kept.tolist()]
    return (
        tuple(ranges(labels[begin : begin + size]) for begin in range(0, len(labels), size)),
        [(a // size, b // size, value, says) for a, b, value, says in chosen],
        f" Each cell is the worst pair of {size} by {size} {what}s.",
    )


def _dots(choice: Choice) -> Dots | None:
    metric = choice.metrics[0]
    names = tuple(
        ", ".join(
            str(row.dims.get(name, ""))
            if isinstance(row.dims.get(name, ""), str)
            else params_of({name: row.dims[name]})
            for name in choice.series
        )
        for row in choice.rows
    )
    points = tuple(
        Point(
            index,
            row.finding.value,
            row.finding.low,
            row.finding.high,
            f"{names[index]}: {value_with_interval(row.finding)}",
        )
        for index, row in enumerate(choice.rows)
        if row.finding.value is not None
    )
    if len(points) < 2:
        return None
    return Dots(
        title=metric.title,
        caption=_caption(choice, []),
        summary="; ".join(point.says for point in points),
        unit=metric.unit,
        y_title=metric.title,
        rows=points,
        names=names,
    )
