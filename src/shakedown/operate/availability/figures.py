"""The figures of the page: the level of the sliding window, the hours by cause, and the map of nodes over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...document import axes, charts
from ...document.axes import time_axis
from ...document.model import Axis, Bar, Bars, Lines, Point, Rule, Series
from ...document.text import count, natural
from ...times import stamp
from .records import AvailabilityReport

if TYPE_CHECKING:
    from .evaluate import Evaluation

#: Where the map goes; nothing that a report says looks like it.
MAP_MARK = "map-of-nodes-goes-here"
MOST_ROWS, COLUMNS = 48, 180
WIDTH = 900
DAY_S = 86400
#: What is no loss stands back; a loss is the darker the more it is.
_OPACITY = {"unseen": 0.35, "excluded": 0.6, "absent": 1.0}
_LOOKS = (
    ("lost", "series2", "down"),
    ("unseen", "series8", "not observed"),
    ("excluded", "series3", "excluded by the contract"),
    ("absent", "grid", "not there"),
)


def course(told: AvailabilityReport, clock: str) -> Lines | None:
    """The level of every window by its end, with the contract's line."""
    known = [one for one in told.course if one.level is not None]
    if len(known) < 2:
        return None
    blind = any(one.low is not None and one.high is not None and one.high - one.low > 1e-9 for one in known)
    points = tuple(
        Point(
            one.end_s,
            one.level or 0.0,
            one.low if blind else None,
            one.high if blind else None,
            f"window to {stamp(one.end_s, clock)}: {100 * (one.level or 0):.3f} %",
        )
        for one in known
    )
    axis = time_axis(known[0].end_s, known[-1].end_s, clock)
    levels = [one.level or 0.0 for one in known]
    days = told.window_s / DAY_S
    first = told.certain_first_met_s
    met = f"first met at {stamp(first, clock)}" if first is not None else "no window met for certain"
    return Lines(
        title=f"Level of the window of {days:g} days that ends then",
        caption=f"Band: what was not observed as lost and as up. {met[0].upper()}{met[1:]}."
        if blind
        else f"{met[0].upper()}{met[1:]}.",
        summary=f"from {100 * min(levels):.3f} to {100 * max(levels):.3f} %; {met}",
        x=axis,
        unit="%",
        y_title="level, %",
        series=(Series("level", points),),
        rules=(
            Rule(name=f"stated: {100 * told.target:g} % of the contract", y=told.target, begin=axis.low, end=axis.high),
        ),
        from_zero=False,
    )


def causes(told: AvailabilityReport) -> Bars | None:
    """Hours by kind of cause beside what the contract allows."""
    total = sum(one.lost_h for one in told.causes)
    if total <= 0:
        return None
    bars = tuple(
        Bar(
            title=one.kind,
            detail=count(one.outages, "outage of a node", "outages of nodes")
            + (", scheduled" if one.scheduled else ""),
            value=f"{one.lost_h:,.1f} h",
            fractions=(("of what was lost", one.lost_h / total),),
        )
        for one in told.causes
        if one.lost_h > 0
    )
    return Bars(
        title="Hours lost by cause",
        bars=bars,
        caption="Over the whole history, after exclusions; by the reason of each record.",
    )


# ------------------------------------------------------------------------------------------------------------- the map


def node_map(found: Evaluation, zone: str) -> str:
    """Nodes (rows) over time (columns) as SVG with its legend: in each cell what was worst in it."""
    import vl_convert

    clock = zone
    rows, names, counted = _cells(found)
    low, high = found.segments.begin_s, found.segments.end_s
    if not rows:
        return "<p>No node was down, excluded or unobserved.</p>"
    axis = time_axis(low, high, clock, 10)
    height = max(60, min(22, max(10, 620 // max(1, len(names)))) * len(names) + 40)
    text = str(vl_convert.vegalite_to_svg(_spec(rows, names, axis, height)))
    keys = "".join(
        f'<li data-colour="{charts.colour(colour)}"><svg class="swatch" viewBox="0 0 28 16" aria-hidden="true">'
        f'<path d="M4 2h20v12h-20z" fill="{charts.colour(colour)}" stroke="{charts.colour("muted")}"/></svg>'
        f"<span>{words}</span></li>"
        for name, colour, words in _LOOKS
        if any(row["k"] == name for row in rows)
    )
    title = f"{counted} nodes over time"
    more = "" if len(names) >= counted else f" Shown are the {len(names)} that lost most."
    return (
        f'<figure style="max-width:none"><figcaption>{title}</figcaption>'
        f'<div class="drawing"><svg role="img" aria-label="{title}" style="width:100%;height:auto;max-width:none" '
        f"{text.removeprefix('<svg ')}</div>"
        f'<ul class="legend">{keys}</ul>'
        f'<p class="caption">The darker, the more of the time and of the node.{more}</p></figure>'
    )


def insert_map(page: str, drawing: str) -> str:
    """The page with the map in its place."""
    return page.replace(f"<p>{MAP_MARK}</p>", f'<div class="figures" style="display:block">{drawing}</div>', 1)


def _cells(found: Evaluation) -> tuple[list[dict[str, Any]], list[str], int]:
    """Cells that are not simply up: row, columns from and to, kind, share; names of the rows; how many nodes there were."""
    segments = found.segments
    nodes = np.unique(segments.node)
    lost = np.where(found.counts, segments.lost * segments.seconds / segments.parts, 0.0)
    other = np.where(~segments.seen | ~found.counts, segments.seconds, 0)
    size = len(found.history.names)
    charge = np.bincount(segments.node, lost, size) + 1e-6 * np.bincount(segments.node, other, size)
    charge[found.history.presence.node] += 1e-12
    ranked = nodes[np.argsort(-charge[nodes], kind="stable")]
    chosen = ranked[:MOST_ROWS] if len(ranked) > MOST_ROWS else ranked
    ordered = sorted((found.history.names[at] for at in chosen.tolist()), key=natural)
    index = {found.history.names.index(name): row for row, name in enumerate(ordered)}
    low, high = segments.begin_s, segments.end_s
    edges = np.linspace(low, high, COLUMNS + 1)
    width = (high - low) / COLUMNS
    amounts = {name: np.zeros((len(ordered), COLUMNS)) for name, _, _ in _LOOKS}
    there = np.zeros((len(ordered), COLUMNS))
    for at in np.flatnonzero(np.isin(segments.node, chosen)).tolist():
        row = index[int(segments.node[at])]
        begin, end = int(segments.begin[at]), int(segments.end[at])
        first, last = int((begin - low) / width), min(COLUMNS - 1, int((end - low - 1e-9) / width))
        span = slice(first, last + 1)
        part = np.minimum(edges[first + 1 : last + 2], end) - np.maximum(edges[first : last + 1], begin)
        there[row, span] += part
        if not found.counts[at]:
            amounts["excluded"][row, span] += part
        else:
            amounts["lost"][row, span] += part * int(segments.lost[at]) / segments.parts
            if not segments.seen[at]:
                amounts["unseen"][row, span] += part * (1 - int(segments.lost[at]) / segments.parts)
    amounts["absent"] = np.where(there < 0.5 * width, width - there, 0.0)
    return _drawn(amounts, width, edges, ordered, found.contract.zone), ordered, len(nodes)


def _drawn(amounts: dict[str, Any], width: float, edges: Any, ordered: list[str], clock: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    looks = {name: (colour, words) for name, colour, words in _LOOKS}
    kinds = [name for name, _, _ in _LOOKS]
    table = np.stack([amounts[name] for name in kinds]) / width
    # A node that was down for a moment shows before one that nobody looked at for a while.
    weighed = table * np.array([4.0, 1.0, 1.5, 1.0])[:, None, None]
    best = weighed.argmax(axis=0)
    before: tuple[object, ...] = ()
    for row, column in np.argwhere(table.max(axis=0) > 1e-9).tolist():
        kind = kinds[int(best[row, column])]
        share = float(table[int(best[row, column]), row, column])
        colour, words = looks[kind]
        part = 100 * min(1.0, share)
        opacity = round(_OPACITY.get(kind) or 0.25 + 0.75 * math.sqrt(min(1.0, share)), 2)
        goes_on = before == (row, kind, opacity, column - 1)
        before = (row, kind, opacity, column)
        if goes_on:
            rows[-1]["x2"] = float(edges[column + 1])  # one mark for what goes on
            continue
        rows.append(
            {
                "r": ordered[row],
                "x": float(edges[column]),
                "x2": float(edges[column + 1]),
                "k": kind,
                "f": charts.colour(colour),
                "o": opacity,
                "d": f"{ordered[row]}, from {stamp(int(edges[column]), clock)}: {words}, {part:.3g} % of the time",
            }
        )
    return rows


def _spec(rows: list[dict[str, Any]], names: list[str], axis: Axis, height: int) -> dict[str, Any]:
    muted = charts.colour("muted")
    look = {
        "labelColor": muted,
        "titleColor": muted,
        "domainColor": muted,
        "tickColor": muted,
        "labelFontSize": 11,
        "labelFont": charts.FONT,
        "tickSize": 4,
    }
    every = max(1, math.ceil(len(names) / 48))
    expression = axes.words(axis.labels, False)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": WIDTH,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "background": "transparent",
        "padding": 4,
        "config": {"view": {"stroke": muted, "strokeWidth": 0.5}, "axis": look, "font": charts.FONT},
        "data": {"values": rows},
        "mark": {"type": "rect"},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "scale": {"domain": [axis.low, axis.high], "nice": False, "zero": False},
                "axis": {"title": None, "values": sorted(axis.labels), "labelExpr": expression, "grid": False},
            },
            "x2": {"field": "x2"},
            "y": {
                "field": "r",
                "type": "ordinal",
                "scale": {"domain": names, "paddingInner": 0.12},
                "axis": {"title": None, "domain": False, "ticks": False, "values": names[::every]},
            },
            "color": {"field": "f", "type": "nominal", "scale": None, "legend": None},
            "opacity": {"field": "o", "type": "quantitative", "scale": None, "legend": None},
            "description": {"field": "d"},
        },
    }
