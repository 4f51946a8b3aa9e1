"""From a figure to its drawing: a Vega-Lite description, and the SVG that vl-convert makes of it.

The SVG is made once, in the light palette, and a page turns it dark by rules on the colours (``dark_rules``), so that
one drawing serves the screen, paper and readers without scripts. Every mark carries its words in ``aria-label``; the
page shows them beside the pointer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..units import show
from . import heat_map
from .axes import Scale, scaled, step_of, words, x_of, y_of
from .model import Axis, Dots, Drawing, Heat, Histogram, Lines, Region
from .palette import FONT, HEIGHT, PALETTE, WIDTH, Spec, colour, dark_rules

__all__ = ["ANYWHERE", "DASHES", "FONT", "PALETTE", "Drawn", "Key", "colour", "dark_rules", "legend", "spec", "svg"]

Drawn = Lines | Heat | Histogram | Dots | Drawing

#: Points in a line from which they are not drawn one by one.
CROWDED = 80
SHAPES = ("circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left", "wedge")
DASHES = {"derived": [1, 0], "measured": [6, 3], "stated": [2, 3]}
ANYWHERE = [1, 3]  # the dash of a published value that is not told at which x it was taken


class Key(NamedTuple):
    """One entry of a legend."""

    name: str
    colour: str
    look: str  # a shape of SHAPES, "area", "dot", "ring", "derived", "measured", "stated", "published", "published anywhere"


def legend(figure: Drawn) -> list[Key]:
    """What a page writes below the figure; empty where one line needs no telling apart."""
    if isinstance(figure, Drawing):
        return [Key(*one) for one in figure.keys]
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


def svg(figure: Drawn, *, standalone: bool = False) -> str:
    """The drawing as SVG; ``standalone`` adds the legend and a white ground, for a file of its own."""
    import vl_convert

    text = str(vl_convert.vegalite_to_svg(spec(figure, standalone=standalone)))
    text = re.sub(r'<path class="(?:foreground|background)"[^>]* d="(?:M0,0h0v0h0Z)?"[^>]*/>', "", text)
    text = re.sub(r' (?:aria-hidden|pointer-events|aria-roledescription|role)="[^"]*"| opacity="1"', "", text)
    return text


def spec(figure: Drawn, *, standalone: bool = False) -> Spec:
    """The Vega-Lite description of a figure."""
    makers = {Lines: _lines, Heat: heat_map.spec, Histogram: _histogram, Dots: _dots, Drawing: _drawing}
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


def _drawing(figure: Drawing, standalone: bool) -> Spec:
    """The room's layout; in a file of its own with the legend beside it."""
    if not standalone or not figure.keys:
        return figure.layout
    names = [name for name, _, _ in figure.keys]
    rows = [{"k": name} for name in names]
    scale = {"domain": names, "range": [hue for _, hue, _ in figure.keys]}
    legend: Spec = {
        "orient": "right",
        "symbolType": "square",
        "symbolSize": 160,
        "symbolStrokeWidth": 0,
        "labelLimit": 260,
    }
    key: Spec = {
        "data": {"values": rows},
        "mark": {"type": "square", "opacity": 0, "aria": False},
        "encoding": {"fill": {"field": "k", "type": "nominal", "scale": scale, "legend": legend}},
    }
    return {**figure.layout, "layer": [*figure.layout["layer"], key]}


# --------------------------------------------------------------------------------------------------------------- lines


def _lines(figure: Lines, standalone: bool) -> Spec:
    points = [point for one in figure.series for point in one.points]
    extent = [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    extent += [rule.y for rule in figure.rules] + [mark.y for mark in figure.marks]
    if figure.log:
        extent = [value for value in extent if value > 0]
    headroom = 0.12 if figure.regions else 0.06  # regions are named at the top
    scale = scaled(extent, figure.unit, figure.log, headroom, from_zero=figure.from_zero)
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
    x, y = x_of(figure.x), y_of(scale)
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

    x = x_of(axis)
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


def _rules(figure: Lines, scale: Scale) -> list[Spec]:
    x, y = x_of(figure.x), y_of(scale)
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


def _marks(figure: Lines, scale: Scale) -> list[Spec]:
    """Published values: a hollow diamond where x is known, else a dotted rule over the whole width."""
    x, y = x_of(figure.x), y_of(scale)
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


# ------------------------------------------------------------------------------------------------------ histograms, dots


def _histogram(figure: Histogram, standalone: bool) -> Spec:
    low = min(*(one[0] for one in figure.bins), *(value for _, value in figure.named), math.inf)
    high = max(one[1] for one in figure.bins)
    span = high - low
    axis = Axis(title=figure.x_title, labels={}, low=low - 0.04 * span, high=high + 0.04 * span)
    step = step_of(span / 5)
    ticks = [index * step for index in range(math.ceil(axis.low / step), int(axis.high / step) + 1)]
    digits = max(0, -math.floor(math.log10(step * 100)) + (1 if f"{step:e}".startswith("2.5") else 0))
    axis = Axis(
        title=axis.title, labels={tick: f"{tick * 100:.{digits}f} %" for tick in ticks}, low=axis.low, high=axis.high
    )
    scale = scaled([float(one[2]) for one in figure.bins] + [0.0], "1", False)
    x, y = x_of(axis), y_of(scale, figure.y_title)
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
    scale = scaled([*values, 0.0], figure.unit, False)
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
    x = {**y_of(scale), "field": "x"}
    x["axis"] = {"title": scale.unit or None, "values": sorted(scale.ticks), "labelExpr": words(scale.ticks, False)}
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
            "labelExpr": words({float(index): figure.names[index] for index in order}, False),
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
