"""From a figure to its drawing: a Vega-Lite description, and the SVG that vl-convert makes of it.

The SVG is made once, in the light palette, and a page turns it dark by rules on the colours (``dark_rules``), so that
one drawing serves the screen, paper and readers without scripts. Every mark carries its words in ``aria-label``; the
page shows them beside the pointer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..units import round_to, scale_for, show
from ._document import Axis, Dots, Heat, Histogram, Lines, Region

Drawn = Lines | Heat | Histogram | Dots
Spec = dict[str, Any]

WIDTH, HEIGHT = 440, 270
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

#: Each colour by its use, light and dark. No two are equal: a page finds a mark by its colour.
PALETTE: dict[str, tuple[str, str]] = {
    "ink": ("#1b2027", "#e4e8ee"),
    "muted": ("#58636f", "#9ba8b7"),
    "grid": ("#e2e6eb", "#2c343e"),
    "region": ("#eef1f5", "#1d242c"),
    "limit": ("#59616b", "#a3adb8"),
    "published": ("#6b3fb8", "#bda4ff"),
    "series1": ("#0b63c4", "#6ab0ff"),
    "series2": ("#c2500a", "#ffa25e"),
    "series3": ("#0a7d6b", "#45d1b9"),
    "series4": ("#b5286f", "#ff8ac0"),
    "series5": ("#8a6a00", "#e3c04a"),
    "series6": ("#3c7a1a", "#93d15f"),
    "series7": ("#b3261e", "#ff8d84"),
    "series8": ("#3f5468", "#b3c4d6"),
    "heat1": ("#e6f0fa", "#12283f"),
    "heat2": ("#c6def2", "#163a5e"),
    "heat3": ("#9cc6e6", "#1c4f80"),
    "heat4": ("#6aa8d6", "#2867a4"),
    "heat5": ("#3c86bf", "#3f83c6"),
    "heat6": ("#1c639e", "#6aa6df"),
    "heat7": ("#0b3f6f", "#a5cdf3"),
    "heat-ink1": ("#1b2028", "#e4e8ef"),
    "heat-ink2": ("#fdfeff", "#0c1116"),
}
#: Points in a line from which they are not drawn one by one.
CROWDED = 80
SHAPES = ("circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left", "wedge")
DASHES = {"derived": [1, 0], "measured": [6, 3], "stated": [2, 3]}
ANYWHERE = [1, 3]  # the dash of a published value that is not told at which x it was taken


def colour(name: str) -> str:
    """The light colour of that use."""
    return PALETTE[name][0]


class Key(NamedTuple):
    """One entry of a legend."""

    name: str
    colour: str
    look: str  # a shape of SHAPES, or "derived", "measured", "stated", "published", "published anywhere"


def legend(figure: Drawn) -> list[Key]:
    """What a page writes below the figure; empty where one line needs no telling apart."""
    if not isinstance(figure, Lines):
        return []
    keys = [Key(one.name, colour(f"series{index + 1}"), SHAPES[index]) for index, one in enumerate(figure.series)]
    if len(keys) == 1:
        keys = []
    looks = dict.fromkeys(rule.name.split()[0] for rule in figure.rules)
    for look in looks:
        names = list(dict.fromkeys(rule.name for rule in figure.rules if rule.name.startswith(look)))
        keys.append(Key(names[0] if len(names) == 1 else f"{look} limits", colour("limit"), look))
    keys += [
        Key(mark.name, colour("published"), "published" if mark.x is not None else "published anywhere")
        for mark in figure.marks
    ]
    return keys


def heat_key(figure: Heat) -> tuple[str, str]:
    """The words at the two ends of the scale of colours."""
    values = [cell[2] for cell in figure.cells]
    return show(min(values), figure.unit), show(max(values), figure.unit)


def dark_rules(scope: str) -> str:
    """The CSS that turns the drawings below ``scope`` dark."""
    rules = []
    for light, dark in PALETTE.values():
        rules.append(f'{scope} [fill="{light}"]{{fill:{dark}}}{scope} [stroke="{light}"]{{stroke:{dark}}}')
    return "\n".join(rules)


def svg(figure: Drawn, *, standalone: bool = False) -> str:
    """The drawing as SVG; ``standalone`` adds the legend and a white ground, for a file of its own."""
    import vl_convert

    text = str(vl_convert.vegalite_to_svg(spec(figure, standalone=standalone)))
    text = re.sub(r'<path class="(?:foreground|background)"[^>]* d="(?:M0,0h0v0h0Z)?"[^>]*/>', "", text)
    text = re.sub(r' (?:aria-hidden|pointer-events|aria-roledescription|role)="[^"]*"| opacity="1"', "", text)
    return text


def spec(figure: Drawn, *, standalone: bool = False) -> Spec:
    """The Vega-Lite description of a figure."""
    makers = {Lines: _lines, Heat: _heat, Histogram: _histogram, Dots: _dots}
    made = makers[type(figure)](figure, standalone)  # type: ignore[operator]
    axis = {
        "labelColor": colour("muted"),
        "titleColor": colour("muted"),
        "domainColor": colour("muted"),
        "tickColor": colour("muted"),
        "gridColor": colour("grid"),
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelFont": FONT,
        "titleFont": FONT,
        "tickSize": 4,
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": f"{figure.title}. {figure.summary}",
        "width": WIDTH,
        "height": HEIGHT,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": "#ffffff" if standalone else "transparent",
        "padding": 10 if standalone else 4,
        **(
            {"title": {"text": figure.title, "anchor": "start", "fontSize": 13, "font": FONT, "color": colour("ink")}}
            if standalone
            else {}
        ),
        "config": {
            "view": {"stroke": None},
            "axis": axis,
            "font": FONT,
            "text": {"font": FONT, "fontSize": 11},
            "legend": {
                "orient": "bottom",
                "direction": "vertical",
                "labelLimit": 380,
                "title": None,
                "labelColor": colour("ink"),
                "labelFont": FONT,
                "symbolStrokeWidth": 2,
                "symbolOpacity": 1,
            },
        },
        **made,
    }


# ---------------------------------------------------------------------------------------------------------------- axes


def _labels(labels: Mapping[float, str], log: bool) -> str:
    """A Vega expression that gives the words for the nearest of the marked values; the words are quoted."""
    ordered = sorted(labels.items())
    expression = _quoted(ordered[-1][1])
    for (low, words), (high, _) in reversed(list(pairwise(ordered))):
        middle = math.sqrt(low * high) if log else (low + high) / 2
        expression = f"datum.value < {middle!r} ? {_quoted(words)} : {expression}"
    return expression


def _quoted(text: str) -> str:
    return "'" + re.sub(r"[^\w .,:%/µ-]", "", text) + "'"


def _x(axis: Axis) -> Spec:
    # The marked values of sizes are powers of two; a base of two keeps Vega from rounding them.
    scale: Spec = {"domain": [axis.low, axis.high], "nice": False, "zero": False}
    if axis.log:
        scale |= {"type": "log", "base": 2}
    return {
        "field": "x",
        "type": "quantitative",
        "scale": scale,
        "axis": {
            "title": axis.title,
            "values": sorted(axis.labels),
            "labelExpr": _labels(axis.labels, axis.log),
            "grid": False,
            "labelOverlap": True,
            "labelFlush": False,
        },
    }


class _Scale(NamedTuple):
    """How values are drawn: divided by ``factor``, from ``low`` to ``high``, marked at ``ticks``."""

    factor: float
    unit: str
    low: float
    high: float
    ticks: dict[float, str]
    log: bool


def _scale(values: Sequence[float], unit: str, log: bool, headroom: float = 0.06, *, from_zero: bool = True) -> _Scale:
    """``headroom`` is kept free above the greatest value, as a share of the height."""
    top, bottom = max(values), min(values)
    factor, name = (0.01, "%") if unit == "%" else scale_for(top, unit)
    if log:
        low = bottom / factor / 1.35
        high = top / factor * (top / factor / low) ** headroom
        ticks = {tick: show(tick * factor, unit, 1) for tick in _log_ticks(low, high)}
        return _Scale(factor, "", low, high, ticks, True)
    high = (top if top > 0 else 1.0) / factor * (1 + headroom)
    low = min(0.0, bottom / factor * 1.06)
    if not from_zero and top > bottom > 0:
        low = max(low, (bottom - (top - bottom) * 0.15) / factor)
        high = (top + (top - bottom) * max(headroom, 0.1)) / factor
    step = _step((high - low) / 5)
    digits = max(0, -math.floor(math.log10(step)) + (1 if f"{step:e}".startswith("2.5") else 0))
    ticks = {index * step: f"{index * step:.{digits}f}" for index in range(math.ceil(low / step), int(high / step) + 1)}
    return _Scale(factor, name, low, high, ticks, False)


def _log_ticks(low: float, high: float) -> list[float]:
    """The finest of 1-2-5, 1-3 and whole powers of ten that gives at most eight."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [
        [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        for steps in ((1, 2, 5), (1, 3), (1,))
    ]
    found = next((ticks for ticks in choices if len(ticks) <= 8), choices[-1])
    return found[:: math.ceil(len(found) / 8) or 1]


def _step(about: float) -> float:
    power = 10.0 ** math.floor(math.log10(about))
    return next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= about * 0.999)


def _y(scale: _Scale, title: str = "") -> Spec:
    kind: Spec = {"domain": [scale.low, scale.high], "nice": False, "zero": False}
    if scale.log:
        kind |= {"type": "log"}
    return {
        "field": "y",
        "type": "quantitative",
        "scale": kind,
        "axis": {
            "title": title or scale.unit or None,
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "end",
            "titleX": -30,
            "titleY": -9,
            "values": sorted(scale.ticks),
            "labelExpr": _labels(scale.ticks, scale.log),
            "domain": False,
            "ticks": False,
            "gridOpacity": 1,
        },
    }


# --------------------------------------------------------------------------------------------------------------- lines


def _lines(figure: Lines, standalone: bool) -> Spec:
    points = [point for one in figure.series for point in one.points]
    extent = [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    extent += [rule.y for rule in figure.rules] + [mark.y for mark in figure.marks]
    if figure.log:
        extent = [value for value in extent if value > 0]
    headroom = 0.12 if figure.regions else 0.06  # regions are named at the top
    scale = _scale(extent, figure.unit, figure.log, headroom, from_zero=figure.from_zero)
    floor = scale.low if figure.log else None
    rows = [
        {
            "x": point.x,
            "y": point.y / scale.factor,
            "s": one.name,
            "d": point.says,
            "lo": None if point.low is None else max(point.low / scale.factor, floor or -math.inf),
            "hi": None if point.high is None else point.high / scale.factor,
        }
        for one in figure.series
        for point in one.points
    ]
    names = [one.name for one in figure.series]
    tell = len(names) > 1
    crowded = max((len(one.points) for one in figure.series), default=0) > CROWDED
    guide = {"legend": {"columns": 2, "symbolLimit": 20} if standalone and tell else None}
    hue = {
        "field": "s",
        "type": "nominal",
        **guide,
        "scale": {"domain": names, "range": [colour(f"series{index + 1}") for index in range(len(names))]},
    }
    shape = {"field": "s", "type": "nominal", **guide, "scale": {"domain": names, "range": list(SHAPES[: len(names)])}}
    x, y = _x(figure.x), _y(scale)
    layers: list[Spec] = [*_regions(figure.regions, figure.x)]
    layers += _rules(figure, scale)
    layers.append(
        {
            "data": {"values": [row for row in rows if row["lo"] is not None and row["hi"] is not None]},
            "mark": {"type": "area", "opacity": 0.2, "aria": False},
            "encoding": {"x": x, "y": {**y, "field": "lo"}, "y2": {"field": "hi"}, "color": hue},
        }
    )
    layers.append(
        {
            "data": {"values": rows},
            "mark": {"type": "line", "strokeWidth": 1.8, "aria": False},
            "encoding": {"x": x, "y": y, "color": hue},
        }
    )
    layers.append(
        {
            "data": {"values": rows},
            # Points that would run into each other stay there for the pointer, unseen.
            "mark": {"type": "point", "filled": True, "size": 34, "opacity": 0 if crowded else 1},
            "encoding": {"x": x, "y": y, "color": hue, "shape": shape, "description": {"field": "d"}},
        }
    )
    layers += _marks(figure, scale)
    return {"layer": layers, "resolve": {"legend": {"color": "shared", "shape": "shared"}}}


def _regions(regions: Sequence[Region], axis: Axis) -> list[Spec]:
    """Every second stretch is tinted; a name is written where it fits."""

    def place(x: float) -> float:
        low, high, at = (math.log(axis.low), math.log(axis.high), math.log(x)) if axis.log else (axis.low, axis.high, x)
        return (at - low) / (high - low) * (WIDTH - 60)

    x = _x(axis)
    layers: list[Spec] = []
    for index, region in enumerate(regions):
        at = {"x": {**x, "datum": region.begin}, "x2": {"datum": region.end}}
        at["x"].pop("field")
        if index % 2 == 0:
            layers.append(
                {
                    "data": {"values": [{}]},
                    "encoding": at,
                    "mark": {"type": "rect", "color": colour("region"), "opacity": 1, "aria": False},
                }
            )
        width = place(region.end) - place(region.begin)
        if width > 5.8 * len(region.name) + 4:
            layers.append(
                {
                    "data": {"values": [{}]},
                    "encoding": {"x": at["x"], "y": {"value": 9}},
                    "mark": {
                        "type": "text",
                        "text": region.name,
                        "align": "left",
                        "dx": 4,
                        "fontSize": 10,
                        "color": colour("muted"),
                        "aria": False,
                    },
                }
            )
    return layers


def _rules(figure: Lines, scale: _Scale) -> list[Spec]:
    x, y = _x(figure.x), _y(scale)
    layers = []
    for look, dash in DASHES.items():
        rows = [
            {"x": rule.begin, "x2": rule.end, "y": rule.y / scale.factor, "d": rule.name}
            for rule in figure.rules
            if rule.name.startswith(look)
        ]
        if rows:
            layers.append(
                {
                    "data": {"values": rows},
                    "mark": {"type": "rule", "strokeDash": dash, "strokeWidth": 1.4, "color": colour("limit")},
                    "encoding": {"x": x, "x2": {"field": "x2"}, "y": y, "description": {"field": "d"}},
                }
            )
    return layers


def _marks(figure: Lines, scale: _Scale) -> list[Spec]:
    """Published values: a hollow diamond where x is known, else a dotted rule over the whole width."""
    x, y = _x(figure.x), _y(scale)
    known = [{"x": mark.x, "y": mark.y / scale.factor, "d": mark.says} for mark in figure.marks if mark.x is not None]
    wide = [
        {"x": figure.x.low, "x2": figure.x.high, "y": mark.y / scale.factor, "d": mark.says, "n": mark.name}
        for mark in figure.marks
        if mark.x is None
    ]
    layers: list[Spec] = []
    if wide:
        layers.append(
            {
                "data": {"values": wide},
                "mark": {"type": "rule", "strokeDash": ANYWHERE, "strokeWidth": 1.6, "color": colour("published")},
                "encoding": {"x": x, "x2": {"field": "x2"}, "y": y, "description": {"field": "d"}},
            }
        )
    if known:
        layers.append(
            {
                "data": {"values": known},
                "mark": {
                    "type": "point",
                    "shape": "diamond",
                    "filled": False,
                    "size": 90,
                    "strokeWidth": 2,
                    "opacity": 1,
                    "color": colour("published"),
                },
                "encoding": {"x": x, "y": y, "description": {"field": "d"}},
            }
        )
    return layers


# ------------------------------------------------------------------------------------------ heat maps, histograms, dots


def _heat(figure: Heat, standalone: bool) -> Spec:
    values = [cell[2] for cell in figure.cells]
    low, high = min(values), max(values)
    factor, _ = scale_for(high, figure.unit)
    rows = []
    for row, column, value, says in figure.cells:
        step = min(6, int((value - low) / (high - low) * 7)) if high > low else 3
        rows.append(
            {
                "r": row,
                "c": column,
                "d": says,
                "t": round_to(value / factor, 3),
                "f": colour(f"heat{step + 1}"),
                "i": colour("heat-ink1" if step < 4 else "heat-ink2"),
            }
        )
    order = list(range(len(figure.labels)))
    every = max(1, math.ceil(len(order) / 24))
    expression = _labels({float(index): figure.labels[index] for index in order}, False)
    axis = {"labelExpr": expression, "values": order[::every], "domain": False, "ticks": False, "labelAngle": 0}
    encoding = {
        "x": {
            "field": "c",
            "type": "ordinal",
            "scale": {"domain": order, "paddingInner": 0.04},
            "axis": {**axis, "title": figure.column_title},
        },
        "y": {
            "field": "r",
            "type": "ordinal",
            "scale": {"domain": order, "paddingInner": 0.04},
            "axis": {**axis, "title": figure.row_title},
        },
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "rect"},
            "encoding": {
                "color": {"field": "f", "type": "nominal", "scale": None, "legend": None},
                "description": {"field": "d"},
            },
        }
    ]
    if len(order) <= 12:
        layers.append(
            {
                "mark": {"type": "text", "fontSize": 10, "aria": False},
                "encoding": {
                    "text": {"field": "t", "type": "nominal"},
                    "color": {"field": "i", "type": "nominal", "scale": None, "legend": None},
                },
            }
        )
    return {"data": {"values": rows}, "encoding": encoding, "layer": layers, "height": 380}


def _histogram(figure: Histogram, standalone: bool) -> Spec:
    low = min(*(one[0] for one in figure.bins), *(value for _, value in figure.named), math.inf)
    high = max(one[1] for one in figure.bins)
    span = high - low
    axis = Axis(title=figure.x_title, labels={}, low=low - 0.04 * span, high=high + 0.04 * span)
    step = _step(span / 5)
    ticks = [index * step for index in range(math.ceil(axis.low / step), int(axis.high / step) + 1)]
    axis = Axis(title=axis.title, labels={tick: show(tick, "%") for tick in ticks}, low=axis.low, high=axis.high)
    scale = _scale([float(one[2]) for one in figure.bins] + [0.0], "1", False)
    x, y = _x(axis), _y(scale, figure.y_title)
    rows = [
        {"x": one[0], "x2": one[1], "y": one[2], "d": f"{show(one[0], '%')} to {show(one[1], '%')}: {one[2]}"}
        for one in figure.bins
        if one[2]
    ]
    layers: list[Spec] = [
        {
            "data": {"values": rows},
            "mark": {"type": "rect", "color": colour("series1")},
            "encoding": {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"datum": 0}, "description": {"field": "d"}},
        }
    ]
    taken: list[float] = []  # up to where each row of names is written
    for name, value in figure.named:
        level = next((one for one, until in enumerate(taken) if value > until), len(taken))
        taken[level : level + 1] = [value + (axis.high - axis.low) * (len(name) * 6.5 + 8) / WIDTH]
        row = {"x": value, "y": 0, "n": name, "d": f"{name}: {show(value, '%')}"}
        layers.append(
            {
                "data": {"values": [row]},
                "encoding": {"x": x, "y": y, "description": {"field": "d"}},
                "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1, "color": colour("series2")},
            }
        )
        layers.append(
            {
                "data": {"values": [row]},
                "encoding": {"x": x, "y": y, "text": {"field": "n", "type": "nominal"}},
                "mark": {
                    "type": "text",
                    "dy": -14 - 15 * level,
                    "align": "left",
                    "color": colour("ink"),
                    "aria": False,
                },
            }
        )
    return {"layer": layers}


def _dots(figure: Dots, standalone: bool) -> Spec:
    values = [value for point in figure.rows for value in (point.y, point.low, point.high) if value is not None]
    scale = _scale([*values, 0.0], figure.unit, False)
    rows = [
        {
            "r": int(point.x),
            "x": point.y / scale.factor,
            "d": point.says,
            "lo": point.y / scale.factor if point.low is None else point.low / scale.factor,
            "hi": point.y / scale.factor if point.high is None else point.high / scale.factor,
        }
        for point in figure.rows
    ]
    x = {**_y(scale), "field": "x"}
    x["axis"] = {"title": scale.unit or None, "values": sorted(scale.ticks), "labelExpr": _labels(scale.ticks, False)}
    order = [int(point.x) for point in figure.rows]
    y = {
        "field": "r",
        "type": "ordinal",
        "scale": {"domain": order},
        "axis": {
            "title": None,
            "labelLimit": 220,
            "domain": False,
            "ticks": False,
            "labelExpr": _labels({float(index): figure.names[index] for index in order}, False),
        },
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "color": colour("series1"), "aria": False},
            "encoding": {"x": {**x, "field": "lo"}, "x2": {"field": "hi"}, "y": y},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "color": colour("series1")},
            "encoding": {"x": x, "y": y, "description": {"field": "d"}},
        },
    ]
    return {"data": {"values": rows}, "layer": layers, "height": 60 + 26 * len(order)}
