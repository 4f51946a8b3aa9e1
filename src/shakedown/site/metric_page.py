"""The page of a metric: how it lies over the nodes, its history, each of its figures, what is published of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..analysis.values import is_headline
from ..document.axes import time_axis
from ..document.model import Block, Facts, Figures, Histogram, Lines, Mark, Point, Series, Text
from ..document.text import count, params_of, value_with_interval, with_half
from ..records import PublishedComparison
from ..times import utc_day
from ..units import round_to, show
from .fleet import Figure
from .judge import Peers
from .layout import Cell, Part, SitePage, SiteTable, figure_id, metric_path, signed, system_path
from .view import View, figure_title, shown

#: Figures that are drawn, and whose nodes are listed; points of a history; bins of a distribution; named nodes of it.
_DRAWN, _BINS_OF_TIME, _BINS, _NAMED = 2, 60, 30, 4
#: A published value is drawn into a history where it lies within so many times of what is measured.
_NEAR = 1.5
_DIRECTION = {"higher": "more is better", "lower": "less is better", "none": "neither direction is better"}


def by_metric(view: View) -> dict[tuple[str, str], list[int]]:
    """The figures of each metric of a workload."""
    found: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(view.fleet.figures):
        found.setdefault((one.key.workload, one.key.metric), []).append(at)
    return found


def metric_page(view: View, figures: Sequence[int]) -> SitePage:
    """``figures``: those of one metric of one workload."""
    first = view.fleet.figures[figures[0]]
    ranked = sorted(figures, key=lambda at: _rank(view, at))
    drawn = ranked[:_DRAWN]
    parts = [
        Part(id="nodes", title="Over the nodes", blocks=_drawings(view, drawn)),
        Part(id="figures", title="Figures", blocks=(_table(view, figures),)),
        Part(id="by-node", title="By node", blocks=tuple(_nodes(view, at) for at in drawn)),
        Part(id="published", title="Published systems", blocks=_published(view, first.key.metric, figures)),
    ]
    pairs = (
        ("metric", f"{first.key.metric}, of the workload {first.key.workload}"),
        ("unit", first.metric.unit),
        ("source", first.metric.source),
    )
    parts.append(
        Part(id="definition", title="Definition", blocks=(Facts(pairs=tuple(pair for pair in pairs if pair[1])),))
    )
    return SitePage(
        path=metric_path(first.key.workload, first.key.metric),
        kind="Metric",
        title=first.metric.title,
        subtitle=f"{first.key.workload}; {count(len(figures), 'figure')}; {_DIRECTION[first.metric.better]}",
        parts=tuple(parts),
    )


def _rank(view: View, at: int) -> tuple[bool, int, float]:
    """What says most first: figures that can stand for the metric, of many nodes, with the best values."""
    one = view.fleet.figures[at]
    median = _largest(view.judged.peers[at]).quantiles[2]
    return not is_headline(one.metric, one.params), -len(one.nodes), median if one.metric.better == "lower" else -median


def _largest(peers: Sequence[Peers]) -> Peers:
    return max(peers, key=lambda group: len(group.nodes))


# --------------------------------------------------------------------------------------------------------------- drawings


def _drawings(view: View, drawn: Sequence[int]) -> tuple[Block, ...]:
    figures: list[Lines | Histogram] = []
    for at in drawn:
        if (line := _history(view, at)) is not None:
            figures.append(line)
        if (bars := _distribution(view, at)) is not None:
            figures.append(bars)
    if not figures:
        return (Text(text="Too few runs and nodes for a drawing."),)
    return (Figures(figures=tuple(figures)),)


def _history(view: View, at: int) -> Lines | None:
    """The median over the nodes with 5 to 95 % of them, over time; and the slowest node, where one is."""
    one = view.fleet.figures[at]
    times = view.times[one.runs]
    begin, end = float(times.min()), float(times.max())
    if len(times) < 2 or end <= begin:
        return None
    drawn = [
        Series("median of the nodes, and 5 to 95 % of them", _points(times, one.values, begin, end, one.metric.unit))
    ]
    slow = next((found for found in view.judged.slow if found.figure == at), None)
    if slow is not None:
        rows = one.of(int(np.searchsorted(one.nodes, slow.node)))
        name = shown(view.fleet.nodes[slow.node])
        own = _points(times[rows], one.values[rows], begin, end, one.metric.unit)
        drawn.append(
            Series(f"{name}, the slowest", tuple(Point(p.x, p.y, None, None, f"{name}, {p.says}") for p in own))
        )
    marks = tuple(_marks(view, one))
    return Lines(
        title=figure_title(one),
        caption="Each point is the median of the runs of its segment of time.",
        summary=f"{show(drawn[0].points[-1].y, one.metric.unit)} in the middle at the end",
        x=time_axis(begin, end, "UTC", most=5, pad=0.02),
        unit=one.metric.unit,
        y_title="",
        series=tuple(drawn),
        marks=marks,
        from_zero=False,
    )


def _points(times: np.ndarray, values: np.ndarray, begin: float, end: float, unit: str) -> tuple[Point, ...]:
    place = np.minimum(((times - begin) / (end - begin) * _BINS_OF_TIME).astype(int), _BINS_OF_TIME - 1)
    order = np.argsort(place, kind="stable")
    found = []
    for rows in np.split(order, np.flatnonzero(np.diff(place[order])) + 1):
        low, middle, high = (float(x) for x in np.quantile(values[rows], (0.05, 0.5, 0.95)))
        x = float(np.median(times[rows]))
        says = f"{utc_day(x)}: {show(middle, unit)} (5 to 95 %: {show(low, unit)} to {show(high, unit)})"
        found.append(Point(x, middle, low, high, says))
    return tuple(found)


def _marks(view: View, one: Figure) -> list[Mark]:
    low, high = float(one.values.min()) / _NEAR, float(one.values.max()) * _NEAR
    found = [
        Mark(
            name=f"{beside.system_name}, published",
            x=None,
            y=beside.theirs,
            says=f"{beside.system_name}: {with_half(beside.theirs, beside.theirs_half, beside.unit)} ({beside.where})",
        )
        for beside in view.beside
        if beside.metric == one.key.metric
        and beside.ours.params == one.params
        and not beside.differences
        and low < beside.theirs < high
    ]
    return found[:3]


def _distribution(view: View, at: int) -> Histogram | None:
    """Of what the nodes of the largest kind give now, over their median."""
    one = view.fleet.figures[at]
    group = _largest(view.judged.peers[at])
    if len(group.nodes) < 4:
        return None
    now = dict(zip(one.nodes.tolist(), view.judged.now[at].tolist(), strict=True))
    median = group.quantiles[2]
    shares = np.array([now[node] / median for node in group.nodes.tolist()])
    low, high = float(shares.min()), float(shares.max())
    if high - low < 0.01:
        low, high = (low + high) / 2 - 0.005, (low + high) / 2 + 0.005
    counts, edges = np.histogram(shares, min(_BINS, max(8, round(2 * len(shares) ** 0.5))), (low, high))
    slow = [found for found in view.judged.slow if found.figure == at][:_NAMED]
    return Histogram(
        title=f"{figure_title(one)}: {len(shares)} nodes",
        caption=f"What each node of the most frequent kind gives now, over their median, {show(median, one.metric.unit)}.",
        summary=f"from {show(low, '%')} to {show(high, '%')} of the median",
        x_title="of the median",
        y_title="nodes",
        bins=tuple((float(a), float(b), int(n)) for a, b, n in zip(edges, edges[1:], counts, strict=False)),
        named=tuple((shown(view.fleet.nodes[found.node]), found.now / median) for found in slow),
    )


# ----------------------------------------------------------------------------------------------------------------- tables


def _table(view: View, figures: Sequence[int]) -> SiteTable:
    columns = (
        ("parameters", "text"),
        ("nodes", "number"),
        ("median", "number"),
        ("5 to 95 % of nodes", "number"),
        ("slowest", "text"),
        ("kinds", "number"),
    )
    rows, ids = [], []
    for at in figures:
        one = view.fleet.figures[at]
        group = _largest(view.judged.peers[at])
        unit, quantiles = one.metric.unit, group.quantiles
        slow = next((found for found in view.judged.slow if found.figure == at), None)
        slowest = (
            Cell()
            if slow is None
            else Cell(
                shown(view.fleet.nodes[slow.node]),
                small=f"{show(slow.share, '%', 2)} behind",
                link=view.node_cell(slow.node).link,
            )
        )
        rows.append(
            (
                Cell(params_of(one.params) or "none"),
                Cell(f"{len(one.nodes):,}", key=float(len(one.nodes))),
                Cell(show(quantiles[2], unit), key=quantiles[2]),
                Cell(
                    f"{show(quantiles[1], unit)} to {show(quantiles[3], unit)}",
                    key=quantiles[3] / quantiles[1] if quantiles[1] else 0.0,
                ),
                slowest,
                Cell(str(len(view.judged.peers[at])), key=float(len(view.judged.peers[at]))),
            )
        )
        ids.append(figure_id(one.key.params, one.key.circumstances))
    return SiteTable(
        title="Each set of parameters",
        columns=columns,
        rows=tuple(rows),
        ids=tuple(ids),
        caption="Of the most frequent kind of node.",
    )


def _nodes(view: View, at: int) -> SiteTable:
    one = view.fleet.figures[at]
    now = view.judged.now[at].tolist()
    medians = {node: group.quantiles[2] for group in view.judged.peers[at] for node in group.nodes.tolist()}
    slow = {found.node for found in view.judged.slow if found.figure == at}
    sign = -1 if one.metric.better == "lower" else 1
    rows = []
    for place, node in sorted(enumerate(one.nodes.tolist()), key=lambda pair: sign * now[pair[0]] / medians[pair[1]]):
        apart = now[place] / medians[node] - 1
        runs = one.of(place)
        rows.append(
            (
                view.node_cell(node),
                Cell(show(now[place], one.metric.unit), key=now[place]),
                Cell(
                    signed(apart), small="slow" if node in slow else "", tone="bad" if node in slow else "", key=apart
                ),
                Cell(str(runs.stop - runs.start), key=float(runs.stop - runs.start)),
            )
        )
    columns = (("node", "text"), ("now", "number"), ("to the median of its kind", "number"), ("runs", "number"))
    return SiteTable(
        title=figure_title(one), columns=columns, rows=tuple(rows), caption="The worst first.", folded=len(rows) > 60
    )


def _published(view: View, metric: str, figures: Sequence[int]) -> tuple[Block, ...]:
    workloads = {view.fleet.figures[at].key.workload for at in figures}
    found = [one for one in view.beside if one.metric == metric and one.ours.workload in workloads]
    if not found:
        return (Text(text="No published system that is shipped has this metric."),)
    return (published_table("Like with like, and what is not", found, by_system=True),)


def published_table(title: str, found: Sequence[PublishedComparison], *, by_system: bool) -> SiteTable:
    """Ours beside theirs: ranked where they are like with like, and otherwise why not."""
    rows = []
    for one in sorted(found, key=lambda one: (bool(one.differences), one.metric, one.system)):
        first = (
            Cell(
                f"{one.system_name}{f' ({one.year})' if one.year else ''}",
                small=one.where,
                link=system_path(one.system),
            )
            if by_system
            else Cell(one.metric, small=one.where, link=metric_path(one.ours.workload, one.metric))
        )
        rows.append(
            (
                first,
                Cell(
                    with_half(one.theirs, one.theirs_half, one.unit), small=params_of(one.theirs_params), key=one.theirs
                ),
                Cell(
                    value_with_interval(one.ours),
                    small=f"{shown(one.ours.host)}, {params_of(one.ours.params)}",
                    key=one.ours.value,
                ),
                Cell("" if one.ratio is None else round_to(one.ratio, 3), key=one.ratio),
                Cell(one.verdict),
                Cell("; ".join(one.differences)),
            )
        )
    head = "system" if by_system else "metric"
    columns = (
        (head, "text"),
        ("theirs", "number"),
        ("our best node", "number"),
        ("ours over theirs", "number"),
        ("verdict", "state"),
        ("what differs", "text"),
    )
    return SiteTable(title=title, columns=columns, rows=tuple(rows))
