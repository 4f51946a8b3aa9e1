"""The plan of a town with the paths of rays between two radios, and the table of these paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...document import axes
from ...document.model import Axis, Block, Column, Drawing, Figures, Table
from ...document.palette import FONT, Spec, colour
from ...units import show

#: Pixels of the longer side of the plan.
LONGEST = 640
#: Paths that are listed and drawn: the strongest.
MOST = 40
_KINDS = (("direct", "series1"), ("reflected", "series2"), ("corner", "series3"), ("roof", "series4"))
_WORDS = {
    "direct": "line of sight",
    "reflected": "by walls",
    "corner": "round a corner",
    "roof": "over roofs",
}


def plan(said: dict[str, Any], names: tuple[str, str]) -> tuple[Block, ...] | None:
    """The blocks of a section; None where the link was not found by rays. ``said``: what the engine explains, of which
    ``paths`` (kind, ground, loss_db, length_m, delay_ns, stops) and ``buildings`` (rings of x, y in metres) are used."""
    paths = sorted(said.get("paths") or (), key=lambda one: one["loss_db"])
    if not paths:
        return None
    return (Figures(figures=(drawing(paths, said.get("buildings") or (), names),)), table(paths))


def in_words(paths: Sequence[dict[str, Any]], names: tuple[str, str]) -> str:
    """How many paths there are, whether the straight one is free, and which is the strongest."""
    free = any(one["kind"] == "direct" and not one.get("ground") for one in paths)
    strongest = min(paths, key=lambda one: one["loss_db"])
    kind = _WORDS.get(strongest["kind"], strongest["kind"]) + (" and the ground" if strongest.get("ground") else "")
    return (
        f"{len(paths):,} path{'s lead' if len(paths) > 1 else ' leads'} from {names[0]} to {names[1]}; "
        f"{'the line of sight is free' if free else 'buildings stand in the line of sight'}. The strongest is {kind}, with "
        f"{strongest['loss_db']:.1f} dB."
    )


def table(paths: Sequence[dict[str, Any]]) -> Table:
    """The strongest paths, one a row."""
    rows = []
    for one in paths[:MOST]:
        ways = [stop["kind"] for stop in one["stops"][1:-1]]
        rows.append(
            (
                _WORDS.get(one["kind"], one["kind"]) + (", ground" if one.get("ground") else ""),
                f"{one['loss_db']:.2f}",
                f"{one['length_m']:,.1f}",
                f"{one['delay_ns']:,.1f}",
                f"{one.get('departure_azimuth_deg', math.nan):.1f}°",
                f"{one.get('arrival_azimuth_deg', math.nan):.1f}°",
                " > ".join(ways) or "none",
            )
        )
    heads = ("path", "loss, dB", "length, m", "delay, ns", "leaves at", "arrives from", "turns")
    return Table(
        title="Paths",
        columns=tuple(Column(head, "text" if at in (0, 6) else "number") for at, head in enumerate(heads)),
        rows=tuple(rows),
        caption=f"{len(paths) - MOST:,} weaker paths are left out." if len(paths) > MOST else "",
    )


def drawing(paths: Sequence[dict[str, Any]], buildings: Sequence[Any], names: tuple[str, str]) -> Drawing:
    """The plan, north above: outlines, and each path with its turns."""
    corners = [(stop["x_m"], stop["y_m"]) for one in paths[:MOST] for stop in one["stops"]]
    x, y, width, high = _frame(corners)
    layers = [*_outlines(buildings, x, y), *_rays(paths[:MOST], x, y), *_ends(paths[0]["stops"], x, y, names)]
    present = [(kind, hue) for kind, hue in _KINDS if any(one["kind"] == kind for one in paths[:MOST])]
    return Drawing(
        title=f"Paths from {names[0]} to {names[1]}",
        caption=f"The fainter a path, the weaker it is; {min(len(paths), MOST)} are drawn, dashed if the ground reflects.",
        summary=f"{len(paths)} paths, the strongest {_WORDS.get(paths[0]['kind'], '')} with {paths[0]['loss_db']:.1f} dB",
        layout={"layer": layers, "width": width, "height": high, "autosize": {"type": "pad"}},
        keys=tuple((_WORDS[kind], colour(hue), "derived") for kind, hue in present),
    )


def _frame(corners: Sequence[tuple[float, float]]) -> tuple[Spec, Spec, int, int]:
    """The channels of both axes, as long a metre one way as the other, and the plot's size."""
    xs, ys = [one[0] for one in corners], [one[1] for one in corners]
    margin = 0.12 * max(max(xs) - min(xs), max(ys) - min(ys), 20.0)
    low = min(xs) - margin, min(ys) - margin
    span = max(xs) + margin - low[0], max(ys) + margin - low[1]
    metre = LONGEST / max(span)
    step = axes.step_of(max(span) / 6)

    def axis(begin: float, length: float, title: str) -> Axis:
        first = math.ceil(begin / step)
        ticks = {at * step: f"{at * step:g}" for at in range(first, int((begin + length) // step) + 1)}
        return Axis(title=title, labels=ticks or {begin: f"{begin:g}"}, low=begin, high=begin + length)

    x = axes.x_of(axis(low[0], span[0], "east, m"))
    y = {**axes.x_of(axis(low[1], span[1], "north, m")), "field": "y"}
    return x, y, max(120, round(span[0] * metre)), max(120, round(span[1] * metre))


def _outlines(buildings: Sequence[Any], x: Spec, y: Spec) -> list[Spec]:
    """Walls as lines; what lies off the frame is cut away."""
    rows = []
    for number, one in enumerate(buildings):
        rings = one.get("rings", ()) if isinstance(one, dict) else one
        for ring_number, ring in enumerate(rings):
            closed = [*ring, ring[0]] if ring and ring[0] != ring[-1] else ring
            rows += [
                {"x": at[0], "y": at[1], "s": f"{number}.{ring_number}", "o": order} for order, at in enumerate(closed)
            ]
    if not rows:
        return []
    mark = {"type": "line", "color": colour("muted"), "strokeWidth": 1.1, "clip": True, "aria": False}
    channels = {"x": x, "y": y, "detail": {"field": "s"}, "order": {"field": "o"}}
    return [{"data": {"values": rows}, "mark": mark, "encoding": channels}]


def _rays(paths: Sequence[dict[str, Any]], x: Spec, y: Spec) -> list[Spec]:
    hues = dict(_KINDS)
    layers: list[Spec] = []
    strongest = paths[0]["loss_db"]
    for one in reversed(paths):
        hue = colour(hues.get(one["kind"], "series8"))
        opacity = round(max(0.18, 1 - (one["loss_db"] - strongest) / 40), 2)
        kind, length = _WORDS.get(one["kind"], one["kind"]), show(one["length_m"], "m")
        says = f"{kind}: {one['loss_db']:.1f} dB, {length}, {one['delay_ns']:.1f} ns"
        stops = one["stops"]
        rows = [{"x": a["x_m"], "y": a["y_m"], "x2": b["x_m"], "y2": b["y_m"], "d": says} for a, b in pairwise(stops)]
        mark: Spec = {"type": "rule", "color": hue, "strokeWidth": 1.6, "opacity": opacity, "clip": True}
        mark |= {"strokeDash": [4, 3]} if one.get("ground") else {}
        channels = {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}, "description": {"field": "d"}}
        layers.append({"data": {"values": rows}, "mark": mark, "encoding": channels})
    return layers


def _ends(stops: Sequence[dict[str, Any]], x: Spec, y: Spec, names: tuple[str, str]) -> list[Spec]:
    layers: list[Spec] = []
    for stop, name in ((stops[0], names[0]), (stops[-1], names[1])):
        row = {"x": stop["x_m"], "y": stop["y_m"], "d": f"{name}, {stop['z_m']:.1f} m above the town's datum"}
        point = {"type": "point", "filled": True, "size": 60, "opacity": 1, "color": colour("ink")}
        text = {"type": "text", "text": name, "dx": 8, "dy": -9, "align": "left", "fontSize": 12, "fontWeight": "bold"}
        text |= {"font": FONT, "color": colour("ink"), "aria": False}
        place = {"x": x, "y": y}
        layers.append({"data": {"values": [row]}, "mark": point, "encoding": {**place, "description": {"field": "d"}}})
        layers.append({"data": {"values": [row]}, "mark": text, "encoding": place})
    return layers
