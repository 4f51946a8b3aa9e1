"""All that pages show, with what several of them need: the state of each node and why, where reports lie. Pure."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from ..analysis.trend.judge import FEWEST
from ..document.text import params_of, ranges
from ..records import PublishedComparison, RunTrouble, TrendSeries
from ..times import DAY_S
from ..units import show
from .fleet import Figure, Fleet, Floats, SiteRun
from .judge import Judged, Slow, troubles
from .layout import Cell, figure_id, metric_path, node_path, signed
from .others import SiteAcceptance, SiteHealth

#: The states of a node, the worst first, and what each means.
STATES = {
    "failed": "something in its newest run did not end well",
    "not met": "its newest run does not meet what was asked of it",
    "critical": "its newest health record has a critical finding",
    "worse": "a figure is worse than it was",
    "slow": "slower than the nodes of its kind",
    "silent": "no run for a long time, by the pace of its runs before",
    "good": "nothing of the above",
}
#: A node is silent from so many of the pauses between its runs, and so many days.
_PAUSES, _QUIET_DAYS = 5, 7


class NodeState(NamedTuple):
    state: str
    reasons: tuple[str, ...]


class View:
    """``output`` is the absolute folder of the site."""

    def __init__(
        self,
        title: str,
        fleet: Fleet,
        judged: Judged,
        acceptances: Sequence[SiteAcceptance],
        health: dict[str, SiteHealth],
        beside: Sequence[PublishedComparison],
        output: str,
    ) -> None:
        self.title, self.fleet, self.judged = title, fleet, judged
        self.acceptances, self.health, self.beside, self.output = acceptances, health, beside, output
        self.slow: dict[int, list[Slow]] = {}
        for one in judged.slow:
            self.slow.setdefault(one.node, []).append(one)
        self.worse: dict[int, list[TrendSeries]] = {}
        for node, series in judged.standing:
            self.worse.setdefault(node, []).append(series)
        first = {(one.key.workload, one.key.metric) for one in fleet.figures if one.metric.headline}
        for found in self.worse.values():
            found.sort(key=lambda one: (one.workload, one.metric) not in first)
        self._figure_cells: dict[int, Cell] = {}
        self.hosts = {host for run in fleet.runs for host in run.hosts}

    @cached_property
    def span_s(self) -> tuple[float, float]:
        """From the first run to the newest, Unix seconds."""
        runs = self.fleet.runs
        return (runs[0].at_ns * 1e-9, runs[-1].at_ns * 1e-9) if runs else (0.0, 0.0)

    @cached_property
    def times(self) -> Floats:
        """When each run began, Unix seconds."""
        return np.array([one.at_ns for one in self.fleet.runs]) * 1e-9

    @cached_property
    def by_node(self) -> list[list[tuple[int, int]]]:
        """Of each node its figures: the number of each, and the node's place in it."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.fleet.nodes]
        for at, one in enumerate(self.fleet.figures):
            for place, node in enumerate(one.nodes.tolist()):
                found[node].append((at, place))
        return found

    @cached_property
    def runs_of(self) -> list[list[int]]:
        """Of each node its runs, by time."""
        place = {name: at for at, name in enumerate(self.fleet.nodes)}
        found: list[set[int]] = [set() for _ in self.fleet.nodes]
        for at, run in enumerate(self.fleet.runs):
            for host in run.hosts:
                found[place[host]].add(at)
        for node, figures in enumerate(self.by_node):
            if self.fleet.nodes[node] not in self.hosts:  # a job over several hosts
                for figure, at in figures:
                    one = self.fleet.figures[figure]
                    found[node].update(one.runs[one.of(at)].tolist())
        return [sorted(one) for one in found]

    @cached_property
    def states(self) -> list[NodeState]:
        return [self._state(node) for node in range(len(self.fleet.nodes))]

    def _state(self, node: int) -> NodeState:
        name = self.fleet.nodes[node]
        found: list[tuple[str, str]] = [
            (
                "not met" if one.state == "not met" else "failed",
                f"{one.what}: {one.state}{f' ({one.why})' if one.why else ''}",
            )
            for one in troubles(self.fleet, name)
        ]
        health = self.health.get(name)
        if health is not None and health.severity == "CRITICAL":
            worst = [
                f"{item}: {what}" if what else item
                for severity, item, what, _ in health.findings
                if severity == "CRITICAL"
            ]
            found.append(("critical", f"health: {'; '.join(worst)}"))
        for series in self.worse.get(node, ()):
            change = (series.against_best or 1.0) - 1
            found.append(("worse", f"{series.title}{_params(series)}: {signed(change)} against the level that it had"))
        for one in self.slow.get(node, ()):
            figure = self.fleet.figures[one.figure]
            words = f"{show(one.share, '%', 2)} behind the median of {one.of} nodes"
            found.append(("slow", f"{figure_title(figure)}: {words}"))
        if self._silent(node):
            last = self.fleet.runs[self.fleet.newest[name]].at_ns * 1e-9
            found.append(
                (
                    "silent",
                    f"its newest run is {round((self.span_s[1] - last) / DAY_S)} days older than the newest of all",
                )
            )
        order = list(STATES)
        found.sort(key=lambda one: order.index(one[0]))
        return NodeState(found[0][0] if found else "good", tuple(words for _, words in found))

    @cached_property
    def together(self) -> list[tuple[SiteRun, RunTrouble]]:
        """What did not end well in the newest runs and is of no node that has a page: jobs over several hosts, of which
        nobody knows which one it was."""
        known = set(self.fleet.nodes)
        runs = [self.fleet.runs[at] for at in sorted(set(self.fleet.newest.values()), reverse=True)]
        return [(run, one) for run in runs if len(run.hosts) > 1 for one in run.troubles if one.host not in known]

    def _silent(self, node: int) -> bool:
        times = [self.fleet.runs[at].at_ns * 1e-9 for at in self.runs_of[node]]
        if len(times) < FEWEST:
            return False
        pause = statistics.median(b - a for a, b in pairwise(times))
        return self.span_s[1] - times[-1] > max(_PAUSES * pause, _QUIET_DAYS * DAY_S)

    def report_of(self, run: SiteRun, page: str) -> str:
        """The way from a page to the report of a run; empty where there is none."""
        return self.away(f"{run.path}/report.html", page) if run.has_report else ""

    def away(self, path: str, page: str) -> str:
        """The way from a page to a file that is not of the site."""
        folder = Path(self.output, page).parent
        return quote(os.fsencode(os.path.relpath(os.path.abspath(path), folder)), safe="/._-~")

    def node_cell(self, node: int) -> Cell:
        name = self.fleet.nodes[node]
        return Cell(shown(name), link=node_path(name), key=float(node))

    def figure_cell(self, at: int) -> Cell:
        if at in self._figure_cells:
            return self._figure_cells[at]
        one = self.fleet.figures[at]
        anchor = figure_id(one.key.params, one.key.circumstances)
        path = metric_path(one.key.workload, one.key.metric)
        cell = Cell(one.metric.title, small=params_of(one.params), link=f"{path}#{anchor}", key=float(at))
        return self._figure_cells.setdefault(at, cell)


def shown(name: str) -> str:
    """A node's name for a person: the hosts of a job folded, and no more than fits."""
    if not name:
        return "host not known"
    folded = ranges(name.split(",")) if "," in name and "[" not in name else name
    return folded if len(folded) <= 80 else f"{folded[:79]}\N{HORIZONTAL ELLIPSIS}"


def figure_title(one: Figure) -> str:
    """``STREAM triad, 2 threads, 1 GiB``."""
    words = params_of(one.params)
    return f"{one.metric.title}{f', {words}' if words else ''}"


def _params(series: TrendSeries) -> str:
    words = params_of(series.params)
    return f", {words}" if words else ""
