"""What stands out in a fleet: nodes that are slower than those of their kind, figures that are worse than they were, runs
that failed or do not meet what was asked.

A node is held against those of the same parts, in the figures by which a report names slow hosts (``analysis.stragglers``).
Changes are those of ``analysis.trend``, at a rate of false alarms that is chosen for all figures together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..analysis import facts, stragglers, trend
from ..analysis.build import OUTCOMES
from ..analysis.trend import Histories, HistoryRun, Key, chart
from ..analysis.trend.judge import FEWEST, MOST_OFTEN
from ..analysis.trend.notices import of_hosts, parts_of
from ..analysis.values import is_headline
from ..errors import StoreFailed
from ..files.atomic import read_record
from ..records import Machine, Notice, Outcome, RunTrouble, Trend, TrendSeries
from ..results.run_directory import RunDirectory
from .fleet import Figure, Fleet, Floats
from .gather import in_processes

_YEAR_S, _LEAST_SPAN_S = 365.25 * 86_400, 30 * 86_400
#: False alarms a year that all figures of a fleet together may have, as far as the limits reach.
ALARMS_A_YEAR = 12.0
#: A change stands out from so many deviations of a run.
_DEVIATIONS = 2.0
#: Nodes of which it is said what else changed, those with the largest change, and the runs on each side that are looked at.
_EXPLAINED, _NEAR = 24, 8


class Slow(NamedTuple):
    """A node behind the median of its kind in one figure; ``share`` of the median's speed."""

    node: int
    figure: int
    share: float
    now: float
    median: float
    of: int


class Peers(NamedTuple):
    """What nodes of one kind give now in one figure: the median, and how it is spread over them."""

    nodes: np.ndarray
    quantiles: tuple[float, float, float, float, float]  # least, 5 %, median, 95 %, most


class Judged(NamedTuple):
    slow: list[Slow]  # the slowest first
    trends: dict[int, Trend]  # nodes with a change
    standing: list[tuple[int, TrendSeries]]  # a node's figure that is worse than it was; the largest change first
    now: list[Floats]  # of each figure, what its nodes give now
    peers: list[list[Peers]]  # of each figure by kind
    notices: tuple[Notice, ...]
    rate: float  # false alarms a year and figure
    explained: frozenset[int]  # nodes of which it was looked at what else changed


class Task(NamedTuple):
    """What other processes know without being told: they are copies of this one."""

    fleet: Fleet
    rate: float
    least: float


_task: list[Task] = []


def judged(fleet: Fleet, processes: int, least: float) -> Judged:
    """``least``: the share below which a change is none."""
    rate = _rate(fleet)
    _task[:] = [Task(fleet, rate, least)]
    try:
        now = [one.now() for one in fleet.figures]
        peers = [_peers(one, fleet, given) for one, given in zip(fleet.figures, now, strict=True)]
        slow = sorted(
            (one for at, group in enumerate(peers) for one in _slow(fleet, at, now[at], group)),
            key=lambda one: -one.share,
        )
        wanted: dict[int, list[int]] = {}
        for figure, nodes in enumerate(in_processes(_screened, range(len(fleet.figures)), processes)):
            for node in nodes:
                wanted.setdefault(node, []).append(figure)
        asked = [(node, tuple(wanted[node]), ()) for node in sorted(wanted)]
        trends = dict(zip((one[0] for one in asked), in_processes(_trend, asked, processes), strict=True))
        trends = {node: one for node, one in trends.items() if one.events}
        standing = _standing(trends)
        first = list(dict.fromkeys(node for node, _ in standing))[:_EXPLAINED]
        again = [(node, tuple(wanted[node]), tuple(one.run for one in trends[node].events)) for node in first]
        trends |= zip(first, in_processes(_trend, again, processes), strict=True)
        return Judged(slow, trends, _standing(trends), now, peers, _renamed(fleet), rate, frozenset(first))
    finally:
        _task.clear()


# ------------------------------------------------------------------------------------------------------------------ kinds


def _peers(one: Figure, fleet: Fleet, now: Floats) -> list[Peers]:
    """What each node gives now, by kind: nodes of which nothing is known are a kind of their own."""
    kinds: dict[object, list[int]] = {}
    for at, node in enumerate(one.nodes):
        host = fleet.hosts.get(fleet.nodes[node])
        kinds.setdefault(None if host is None else parts_of(host), []).append(at)
    return [
        Peers(one.nodes[places], tuple(float(x) for x in np.quantile(now[places], (0, 0.05, 0.5, 0.95, 1))))  # type: ignore[arg-type]
        for places in kinds.values()
    ]


def _slow(fleet: Fleet, at: int, given: Floats, peers: Sequence[Peers]) -> list[Slow]:
    one = fleet.figures[at]
    if one.metric.better == "none" or not one.metric.headline or not is_headline(one.metric, one.params):
        return []
    now = dict(zip(one.nodes.tolist(), given.tolist(), strict=True))
    found = []
    for group in peers:
        if len(group.nodes) < stragglers.FEWEST:
            continue
        values = [now[node] for node in group.nodes.tolist()]
        found += [
            Slow(int(group.nodes[place]), at, share, values[place], group.quantiles[2], len(values))
            for place, share in stragglers.slow(values, one.metric.better)
        ]
    return found


# ---------------------------------------------------------------------------------------------------------------- changes


def _rate(fleet: Fleet) -> float:
    """False alarms a year and figure: as few as the limits reach, or so few that all figures together have a handful."""
    series = sum(len(one.nodes) for one in fleet.figures)
    if not series or not fleet.runs:
        return 1.0
    longest = max(int(np.diff(one.starts).max()) for one in fleet.figures)
    span_s = (fleet.runs[-1].at_ns - fleet.runs[0].at_ns) * 1e-9
    per_year = longest / max(span_s, _LEAST_SPAN_S) * _YEAR_S
    return min(1.0, max(ALARMS_A_YEAR / series, 1.01 * per_year * chart.LEAST_HAZARD))


def _screened(at: int) -> list[int]:
    """The nodes whose history of a figure may hold a change."""
    fleet, rate, _ = _task[0]
    one = fleet.figures[at]
    lengths = np.diff(one.starts)
    found: list[int] = []
    for length in np.unique(lengths[lengths >= FEWEST]).tolist():
        places = np.flatnonzero(lengths == length).tolist()
        rows = np.stack([one.values[one.of(place)] for place in places])
        spans = [_span_s(fleet, one, place) for place in places]
        per_year = max((length - 1) / max(min(spans), _LEAST_SPAN_S) * _YEAR_S, 1e-9)
        least_per_year = max((length - 1) / max(max(spans), _LEAST_SPAN_S) * _YEAR_S, 1e-9)
        hazard = min(max(rate / per_year, rate / least_per_year), MOST_OFTEN)
        found += one.nodes[np.array(places)[chart.alarming(rows, hazard)]].tolist()
    return found


def _span_s(fleet: Fleet, one: Figure, place: int) -> float:
    runs = one.runs[one.of(place)]
    return (fleet.runs[int(runs[-1])].at_ns - fleet.runs[int(runs[0])].at_ns) * 1e-9


def _trend(asked: tuple[int, tuple[int, ...], tuple[str, ...]]) -> Trend:
    """What changed in some figures of a node; what else changed about these runs, where any are named."""
    node, chosen, near = asked
    fleet, rate, least = _task[0]
    values: dict[int, dict[Key, float]] = {}
    metrics = {}
    for at in chosen:
        one = fleet.figures[at]
        metrics[one.key.workload, one.key.metric] = one.metric
        key = Key(fleet.nodes[node], one.key.workload, one.key.metric, one.key.params, one.key.circumstances.encode())
        rows = one.of(int(np.searchsorted(one.nodes, node)))
        for run, value in zip(one.runs[rows].tolist(), one.values[rows].tolist(), strict=True):
            values.setdefault(run, {})[key] = value
    order = sorted(values)
    told = {fleet.runs[run].name: place for place, run in enumerate(order)}
    looked = {place for name in near if name in told for place in range(told[name] - _NEAR, told[name] + _NEAR)}
    runs = [
        HistoryRun(
            fleet.runs[run].name,
            fleet.runs[run].at_ns,
            values[run],
            _facts(fleet.runs[run].path) if place in looked else {},
            Machine(hosts=(), discovered_ns=0, version=""),
            frozenset((key.host, key.workload) for key in values[run]),
        )
        for place, run in enumerate(order)
    ]
    return trend.judged(Histories(runs, metrics, []), rate, least)


def _facts(path: str) -> dict[str, facts.Facts]:
    """What was known of a run's hosts; nothing where it cannot be read any more."""
    directory = RunDirectory(Path(path))
    try:
        outcomes = read_record(directory.path / OUTCOMES, list[Outcome])
    except StoreFailed:
        outcomes = []
    try:
        return facts.of_runs(directory.machine(), outcomes, directory.manifest().version)
    except StoreFailed:
        return {}


def _standing(trends: dict[int, Trend]) -> list[tuple[int, TrendSeries]]:
    """Figures that are worse than they were, by more than what a run scatters."""
    found = [
        (node, one)
        for node, trended in trends.items()
        for one in trended.series
        if one.state == "worse" and one.against_best is not None and _size(one) >= _DEVIATIONS * (one.spread or 0.0)
    ]
    return sorted(found, key=lambda pair: -_size(pair[1]))


def _size(one: TrendSeries) -> float:
    return abs(float(np.log(one.against_best or 1.0)))


def _renamed(fleet: Fleet) -> tuple[Notice, ...]:
    """Hosts that may be one under two names."""
    spans: dict[str, list[int]] = {}
    for at, one in enumerate(fleet.runs):
        for host in one.hosts:
            spans.setdefault(host, [at, at])[1] = at
    marks: dict[int, list[str]] = {}
    for host, ends in spans.items():
        for at in set(ends):
            marks.setdefault(at, []).append(host)
    runs = [
        HistoryRun(
            fleet.runs[at].name,
            fleet.runs[at].at_ns,
            {Key(host, "", "", "", b""): 1.0 for host in marks[at]},
            {},
            Machine(
                hosts=tuple(fleet.hosts[host] for host in marks[at] if host in fleet.hosts), discovered_ns=0, version=""
            ),
        )
        for at in sorted(marks)
    ]
    return of_hosts(runs)


# ----------------------------------------------------------------------------------------------------------------- troubles


def troubles(fleet: Fleet, node: str) -> tuple[RunTrouble, ...]:
    """What the newest run of a node says of it: that a requirement is not met, or that something did not end well."""
    if node not in fleet.newest:
        return ()
    run = fleet.runs[fleet.newest[node]]
    alone = len(run.hosts) <= 1
    return tuple(one for one in run.troubles if one.host == node or (alone and not one.host))
