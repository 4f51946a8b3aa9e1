"""The figures of a plant's page, and how its numbers are written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...document.axes import time_axis
from ...document.model import Axis, Lines, Mark, Point, Series
from ...times import minute
from ...units import show
from ..uncertainty.quantity import Quantity
from .ratios import Data, Indicator, Window
from .regression import Line
from .trends import CopCourse

DAY_S = 86400.0
#: Indicator -> the metric of a published system that it is laid beside.
PUBLISHED = {"COP": "facility.cop", "pPUE": "facility.ppue", "pERE": "facility.pere"}
#: Indicator -> (name of the published system, value, words).
Means = dict[str, tuple[str, float, str]]


def number(value: Quantity, digits: int = 4) -> str:
    """Value and U (95 %) in its unit."""
    if value.value is None:
        return "not measured"
    if value.unit == "1":
        return f"{value.value:.4g} ± {value.expanded or 0.0:.2g}"
    return f"{show(value.value, value.unit, digits)} ± {show(value.expanded, value.unit, 2)}"


def slope_words(value: Quantity) -> str:
    return "not measured" if value.value is None else f"{value.value:.4g} ± {value.expanded or 0.0:.2g} {value.unit}"


def percent(value: Quantity | None, per: str = "") -> str:
    if value is None or value.value is None:
        return "-"
    return f"{100 * value.value:.3g} ± {100 * (value.expanded or 0.0):.2g} %{per}"


def published_means(system: str) -> Means:
    """Indicator -> (name of the system, value, words) where the plant names a published system."""
    if not system:
        return {}
    from ... import published

    one = published.system(system)
    found = {}
    for name, metric in PUBLISHED.items():
        value = next((value for value in one.values if value.metric == metric and not value.params), None)
        if value is not None:
            found[name] = (one.name, value.value, f"{one.name}, {value.where}: {value.printed}")
    return found


def _mark(name: str, marks: Means) -> tuple[Mark, ...]:
    if name not in marks:
        return ()
    system, value, says = marks[name]
    return (Mark(name=f"{system}, published mean", x=None, y=value, says=says),)


def _time_axis(stamps: Sequence[int], clock: str) -> Axis:
    return time_axis(min(stamps) / 1e9, max(stamps) / 1e9, clock, pad=0.02)


def indicator_figure(one: Indicator, course: Sequence[Window], clock: str, marks: Means) -> Lines | None:
    """An area's ratio, window by window, with its intervals. A COP has a figure of its own."""
    if one.name in ("COP", "ERF", "reuse/IT"):
        return None
    points = []
    for window in course:
        value = next(other.quantity for other in window.indicators if (other.of, other.name) == (one.of, one.name))
        if value.value is not None and value.interval is not None:
            middle = (window.begin_ns + window.end_ns) / 2e9
            says = f"{minute(middle, clock)}: {number(value)}"
            points.append(Point(middle, value.value, *value.interval, says))
    if len(points) < 2:
        return None
    hours = (course[0].end_ns - course[0].begin_ns) / 3.6e12
    values = [point.y for point in points]
    return Lines(
        title=f"{one.of}: {one.name}",
        caption=f"Each point over {hours:g} h, with its interval; over the whole window {number(one.quantity)}.",
        summary=f"from {min(values):.3f} to {max(values):.3f}",
        x=_time_axis([int(point.x * 1e9) for point in points], clock),
        unit="1",
        y_title=one.name,
        series=(Series(one.name, tuple(points)),),
        marks=_mark(one.name, marks),
        from_zero=False,
    )


def cop_figures(cops: Sequence[CopCourse], whole_window: Window, clock: str, marks: Means, data: Data) -> list[Lines]:
    """Each COP over time, and below it the temperatures that it is laid over."""
    figures = []
    for one in cops:
        points = [(ns, cop) for ns, cop in zip(one.middle_ns, one.cop, strict=True) if cop is not None]
        if len(points) < 2:
            continue
        whole = next(other for other in whole_window.indicators if other.of == one.of)
        axis = _time_axis([ns for ns, _ in points], clock)
        each = f"Each point over {one.step_s / 3600:g} h."
        figures.append(
            Lines(
                title=f"COP of {one.of}",
                caption=f"{each} Over the whole window {number(whole.quantity)}: the ratio of integrals.",
                summary=f"from {min(cop for _, cop in points):.3g} to {max(cop for _, cop in points):.3g}",
                x=axis,
                unit="1",
                y_title="COP",
                series=(Series("COP", tuple(_at(ns, cop, f"COP {cop:.3f}", clock) for ns, cop in points)),),
                marks=_mark("COP", marks) if "electric" not in whole.title else (),
                from_zero=False,
            )
        )
        if one.against:
            figures.append(_temperatures(one, each, axis, clock, data))
    return figures


def _temperatures(one: CopCourse, each: str, axis: Axis, clock: str, data: Data) -> Lines:
    series = []
    for name, values in one.against.items():
        title = data.plant.sensors[name].title
        pairs = [(ns, x) for ns, x in zip(one.middle_ns, values, strict=True) if x is not None]
        series.append(Series(title, tuple(_at(ns, x, f"{title} {x:.1f} degC", clock) for ns, x in pairs)))
    means = {each.name: np.mean([point.y for point in each.points]) for each in series if each.points}
    return Lines(
        title=f"Temperatures at {one.of}",
        caption=each,
        summary="means: " + ", ".join(f"{name} {mean:.1f} degC" for name, mean in means.items()),
        x=axis,
        unit="degC",
        y_title="degC",
        series=tuple(series),
    )


def _at(ns: int, y: float, words: str, clock: str) -> Point:
    return Point(ns / 1e9, y, None, None, f"{minute(ns // 10**9, clock)}: {words}")


def sheet(one: CopCourse, data: Data) -> Lines | None:
    """As on a chiller's data sheet: COP over the first temperature, a line for each third of the second."""
    names = list(one.against)
    if not names:
        return None
    second = one.against[names[1]] if len(names) > 1 else tuple(0.0 for _ in one.cop)
    columns = zip(one.against[names[0]], second, one.cop, strict=True)
    rows = [(x, other, cop) for x, other, cop in columns if x is not None and other is not None and cop is not None]
    if len(rows) < 24:
        return None
    groups = np.quantile([row[1] for row in rows], [0, 1 / 3, 2 / 3, 1]) if len(names) > 1 else np.array([0.0, 0.0])
    series = []
    for low, high in pairwise(groups):
        own = sorted((x, cop) for x, other, cop in rows if low <= other <= high)
        binned = [own[at : at + max(4, len(own) // 8)] for at in range(0, len(own), max(4, len(own) // 8))]
        points = [_binned(part) for part in binned if len(part) >= 3]
        name = f"{data.plant.sensors[names[1]].title} {low:.1f} to {high:.1f} degC" if len(names) > 1 else "COP"
        series.append(Series(name, tuple(points)))
    xs = [point.x for one in series for point in one.points]
    x_title = f"{data.plant.sensors[names[0]].title}, degC"
    return Lines(
        title=f"COP of {one.of} over temperature",
        caption="Means of steady segments, with the standard error of each mean, twice.",
        summary=f"{len(rows)} segments of {one.step_s / 3600:g} h",
        x=_axis(xs, x_title),
        unit="1",
        y_title="COP",
        series=tuple(one for one in series if one.points),
        from_zero=False,
    )


def _binned(part: Sequence[tuple[float, float]]) -> Point:
    x, y = (float(np.mean([one[at] for one in part])) for at in (0, 1))
    error = 2 * float(np.std([one[1] for one in part], ddof=1)) / len(part) ** 0.5
    return Point(x, y, y - error, y + error, f"{x:.1f} degC: COP {y:.3f} ± {error:.3f}, of {len(part)} segments")


def _axis(xs: Sequence[float], title: str) -> Axis:
    low, high = min(xs), max(xs)
    pad = (high - low) * 0.04 or 1.0
    step = next(step for step in (0.2, 0.5, 1, 2, 5, 10, 20, 50) if (high - low) / step <= 8)
    ticks = np.arange(np.ceil(low / step) * step, high + step / 2, step)
    return Axis(title=title, labels={float(at): f"{at:g}" for at in np.round(ticks, 6)}, low=low - pad, high=high + pad)


def regression_figure(line: Line, cloud: Sequence[tuple[float, float]]) -> Lines | None:
    if not line.curve or not cloud:
        return None
    grouped: dict[float, list[float]] = {}
    for x, y in cloud:
        grouped.setdefault(round(x, 1), []).append(y)
    measured = [(x, float(np.mean(ys)), len(ys)) for x, ys in sorted(grouped.items())]
    while len(measured) > 120:
        measured = measured[::2]
    points = tuple(
        Point(x, y, None, None, f"{x:.1f} degC: {show(y, 'W', 4)}, of {count} averages") for x, y, count in measured
    )
    curve = tuple(
        Point(x, y, low, high, f"{x:.1f} degC: {show(y, 'W', 4)} by the line") for x, y, low, high in line.curve
    )
    words = (
        f"{slope_words(line.slope)}; {percent(line.relative, '/K')} of the value at {line.reference:g} degC"
        if line.reference
        else slope_words(line.slope)
    )
    return Lines(
        title=line.name,
        caption=f"{words}.",
        summary=f"{line.points} averages from {line.low:.1f} to {line.high:.1f} degC",
        x=_axis([point.x for point in curve], "degC"),
        unit="W",
        y_title="power",
        series=(Series("line and its interval", curve), Series("measured", points)),
        from_zero=False,
    )


def power_figure(title: str, rows: Sequence[tuple[str, Sequence[tuple[int, float]]]], clock: str) -> Lines:
    series = tuple(
        Series(name, tuple(_at(ns, w, f"{name} {show(w, 'W')}", clock) for ns, w in points))
        for name, points in rows
        if points
    )
    means = [f"{one.name} {show(float(np.mean([point.y for point in one.points])), 'W')}" for one in series]
    stamps = [ns for _, points in rows for ns, _ in points]
    return Lines(
        title=title,
        caption="Means over segments of the page's length.",
        summary="means: " + ", ".join(means),
        x=_time_axis(stamps, clock),
        unit="W",
        y_title="power",
        series=series,
    )
