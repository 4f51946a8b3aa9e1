"""Maps: the ground in the light, what is laid over it, lines, links and radios with their names, a scale of kilometres.

The map is equirectangular about its middle: a degree of longitude is as long as it is there. Distances in tables are
geodesics.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...document import axes, png
from ...document.model import Drawing
from ...document.palette import FONT

if TYPE_CHECKING:
    from ...document.png import Pixels

#: The largest plot, in pixels: the width of a page.
WIDEST, HIGHEST = 690, 620
#: Ink on a map, whose ground is light on any page: no colour of the palette, which a page turns dark.
INK, HALO = "#11161c", "#fffffe"
_METRES_A_DEGREE = 111_195.0  # of a sphere of 6,371 km: for the scale of a drawing
_LETTER, _LINE = 6.4, 13.0
#: Radios that are named at most.
MOST_NAMES = 60


class Extent(NamedTuple):
    """What a map shows, in degrees."""

    south: float
    west: float
    north: float
    east: float

    @property
    def metres_wide(self) -> float:
        middle = math.radians((self.south + self.north) / 2)
        return (self.east - self.west) * _METRES_A_DEGREE * math.cos(middle)

    @property
    def metres_high(self) -> float:
        return (self.north - self.south) * _METRES_A_DEGREE

    def widened(self, share: float, within: Extent) -> Extent:
        """So much more on every side, as a share of the longer one, but not beyond ``within``."""
        middle = math.cos(math.radians((self.south + self.north) / 2))
        more = share * max(self.north - self.south, (self.east - self.west) * middle, 0.01)
        return Extent(
            max(within.south, self.south - more),
            max(within.west, self.west - more / middle),
            min(within.north, self.north + more),
            min(within.east, self.east + more / middle),
        )


class Spot(NamedTuple):
    """A radio on the map."""

    longitude: float
    latitude: float
    name: str
    says: str
    colour: str = INK
    ring: str = ""  # the colour of a ring around it; empty: none
    hollow: bool = False


class Stroke(NamedTuple):
    """A line from place to place."""

    points: tuple[tuple[float, float], ...]  # (longitude, latitude)
    colour: str
    width: float
    says: str = ""
    dash: tuple[int, ...] = ()


def drawing(
    extent: Extent,
    ground: Pixels,
    *,
    title: str,
    caption: str,
    summary: str,
    strokes: Sequence[Stroke] = (),
    spots: Sequence[Spot] = (),
    keys: Sequence[tuple[str, str, str]] = (),
) -> Drawing:
    """The map as a figure; ``ground`` are the pixels under all, north above."""
    width, high = size(extent)
    layers = [
        {
            "data": {"values": [{}]},
            "mark": {"type": "image", "width": width, "height": high, "aspect": False, "aria": False},
            "encoding": {"x": {"value": width / 2}, "y": {"value": high / 2}, "url": {"value": png.as_url(ground)}},
        },
        *_strokes(extent, strokes),
        *_spots(extent, spots),
        *_names(extent, spots, width, high),
        *_scale(extent, width, high),
    ]
    layout = {"layer": layers, "width": width, "height": high, "autosize": {"type": "pad"}}
    layout["resolve"] = {"scale": {"fill": "independent", "stroke": "independent"}}
    return Drawing(title=title, caption=caption, summary=summary, layout=layout, keys=tuple(keys))


def size(extent: Extent) -> tuple[int, int]:
    """The plot's width and height in pixels."""
    ratio = extent.metres_wide / extent.metres_high
    width = min(WIDEST, HIGHEST * ratio)
    return max(120, round(width)), max(120, round(width / ratio))


# --------------------------------------------------------------------------------------------------------------- layers


def _place(extent: Extent) -> tuple[dict[str, Any], dict[str, Any]]:
    """The channels of longitude and latitude."""

    def channel(field: str, low: float, high: float, letters: str) -> dict[str, Any]:
        step = axes.step_of((high - low) / 5)
        first = math.ceil(low / step - 1e-9)
        ticks = [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]
        digits = max(0, -math.floor(math.log10(step)) + (1 if f"{step:e}".startswith("2.5") else 0))
        labels = {tick: f"{abs(tick):.{digits}f}° {letters[tick < 0]}" for tick in ticks}
        axis = {
            "title": None,
            "values": ticks,
            "labelExpr": axes.words(labels, False) if labels else "''",
            "grid": False,
            "domain": False,
        }
        return {
            "field": field,
            "type": "quantitative",
            "scale": {"domain": [low, high], "nice": False, "zero": False},
            "axis": axis,
        }

    return channel("x", extent.west, extent.east, "EW"), channel("y", extent.south, extent.north, "NS")


def _strokes(extent: Extent, strokes: Sequence[Stroke]) -> list[dict[str, Any]]:
    """Straight lines as rules, longer ones as lines; one layer for all that look alike."""
    x, y = _place(extent)
    layers: list[dict[str, Any]] = []
    looks = dict.fromkeys((one.colour, one.width, one.dash, len(one.points) > 2) for one in strokes)
    for colour, width, dash, bent in looks:
        alike = [
            one
            for one in strokes
            if (one.colour, one.width, one.dash, len(one.points) > 2) == (colour, width, dash, bent)
        ]
        mark: dict[str, Any] = {"type": "line" if bent else "rule", "strokeWidth": width, "clip": True}
        mark |= {"strokeDash": list(dash)} if dash else {}
        if bent:
            rows = [
                {"x": lon, "y": lat, "s": number, "o": at, "d": one.says}
                for number, one in enumerate(alike)
                for at, (lon, lat) in enumerate(one.points)
            ]
            channels = {"x": x, "y": y, "detail": {"field": "s"}, "order": {"field": "o"}}
            mark |= {"color": colour, "aria": False}
        else:
            rows = [
                {
                    "x": one.points[0][0],
                    "y": one.points[0][1],
                    "x2": one.points[1][0],
                    "y2": one.points[1][1],
                    "d": one.says,
                }
                for one in alike
            ]
            channels = {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}, "description": {"field": "d"}}
            mark |= {"color": colour}
        layers.append({"data": {"values": rows}, "mark": mark, "encoding": channels})
    return layers


def _spots(extent: Extent, spots: Sequence[Spot]) -> list[dict[str, Any]]:
    x, y = _place(extent)
    area = min(46.0, max(2.0, 5600 / max(1, len(spots))))  # of all of them together, a part of the map
    layers: list[dict[str, Any]] = []
    ringed = [{"x": one.longitude, "y": one.latitude, "c": one.ring, "d": one.says} for one in spots if one.ring]
    hue = {"field": "c", "type": "nominal", "scale": None, "legend": None}
    if ringed:
        mark = {
            "type": "point",
            "filled": False,
            "size": 100 + area,
            "strokeWidth": 2.2,
            "opacity": 1,
            "clip": True,
        }
        channels = {"x": x, "y": y, "stroke": hue, "description": {"field": "d"}}
        layers.append({"data": {"values": ringed}, "mark": mark, "encoding": channels})
    rows = [
        {"x": one.longitude, "y": one.latitude, "c": one.colour, "f": HALO if one.hollow else one.colour, "d": one.says}
        for one in spots
    ]
    mark = {"type": "point", "size": area, "strokeWidth": min(1.4, area / 6), "opacity": 1, "clip": True}
    fill = {"field": "f", "type": "nominal", "scale": None, "legend": None}
    channels = {"x": x, "y": y, "stroke": hue, "fill": fill, "description": {"field": "d"}}
    return [*layers, {"data": {"values": rows}, "mark": mark, "encoding": channels}]


def _names(extent: Extent, spots: Sequence[Spot], width: int, high: int) -> list[dict[str, Any]]:
    """Names where they overlap neither a radio nor another name; the others are said beside the pointer."""
    pixels = [
        (
            (one.longitude - extent.west) / (extent.east - extent.west) * width,
            (extent.north - one.latitude) / (extent.north - extent.south) * high,
        )
        for one in spots
    ]
    if len(spots) > 4 * MOST_NAMES:
        return []
    taken = [(px - 5, py - 5, px + 5, py + 5) for px, py in pixels]
    layers: list[dict[str, Any]] = []
    named = 0
    for at, (one, (px, py)) in enumerate(zip(spots, pixels, strict=True)):
        wide = len(one.name) * _LETTER
        for dx, dy, align in ((9, 0, "left"), (-9, 0, "right"), (0, -13, "center"), (0, 13, "center")):
            left = px + dx - {"left": 0.0, "right": wide, "center": wide / 2}[align]
            box = (left, py + dy - _LINE / 2, left + wide, py + dy + _LINE / 2)
            others = taken[:at] + taken[at + 1 :]
            inside = box[0] > 2 and box[2] < width - 2 and box[1] > 2 and box[3] < high - 2
            if inside and not any(_overlap(box, other) for other in others) and named < MOST_NAMES:
                taken.append(box)
                layers += _text(one.name, px + dx, py + dy, align, 11)
                named += 1
                break
    return layers


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _text(text: str, x: float, y: float, align: str, points: int) -> list[dict[str, Any]]:
    """A text at a pixel, in front of a halo."""
    look = {
        "type": "text",
        "text": text,
        "align": align,
        "baseline": "middle",
        "fontSize": points,
        "font": FONT,
        "aria": False,
    }
    at = {"x": {"value": x}, "y": {"value": y}}
    halo = {**look, "stroke": HALO, "strokeWidth": 3, "strokeJoin": "round", "color": HALO, "opacity": 0.85}
    return [{"data": {"values": [{}]}, "mark": mark, "encoding": at} for mark in (halo, {**look, "color": INK})]


def _scale(extent: Extent, width: int, high: int) -> list[dict[str, Any]]:
    """A bar of a round length below on the left, and where north is."""
    metre = width / extent.metres_wide
    length_m = _round_below(0.24 * extent.metres_wide)
    pixels = length_m * metre
    words = f"{length_m / 1000:g} km" if length_m >= 1000 else f"{length_m:g} m"
    x, y = 16.0, high - 16.0
    layers: list[dict[str, Any]] = []
    for colour, thick, more in ((HALO, 6, 1.5), (INK, 2.4, 0.0)):
        mark = {"type": "rule", "color": colour, "strokeWidth": thick, "strokeCap": "butt", "aria": False}
        at = {"x": {"value": x - more}, "x2": {"value": x + pixels + more}, "y": {"value": y}, "y2": {"value": y}}
        layers.append({"data": {"values": [{}]}, "mark": mark, "encoding": at})
    return [
        *layers,
        *_text(words, x + pixels / 2, y - 11, "center", 11),
        *_text("N ↑", width - 16.0, 16.0, "right", 12),
    ]


def _round_below(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(step * power for step in (1, 2, 5) if step * power <= value * 1.0001)
