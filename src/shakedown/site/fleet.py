"""All values of all runs as columns, by figure and by node. Pure.

A figure is what a history is made of (``analysis.trend``): one metric of one workload, with the same parameters under the
same circumstances. A node is a host, or the hosts of one job together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..records import Absent, Host, Metric, Params, RunTrouble

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Runs whose median is what a node gives now.
RECENT = 5


class FigureKey(NamedTuple):
    workload: str
    metric: str
    params: str
    circumstances: str


class SiteRun(NamedTuple):
    """One run directory."""

    path: str  # as it was found
    name: str
    at_ns: int
    campaign: str
    version: str
    hosts: tuple[str, ...]
    has_report: bool
    requirements: dict[str, int]
    troubles: tuple[RunTrouble, ...]
    warnings: tuple[str, ...]


class Figure(NamedTuple):
    """The values of one figure, by node and then by time: of ``nodes[i]`` those from ``starts[i]`` to ``starts[i + 1]``."""

    key: FigureKey
    metric: Metric
    params: Params
    nodes: Ints
    starts: Ints
    runs: Ints
    values: Floats

    def of(self, place: int) -> slice:
        """The values of the node at a place of ``nodes``."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def now(self) -> Floats:
        """What each node gives now: the median of its newest runs."""
        return np.array(
            [np.median(self.values[max(a, b - RECENT) : b]) for a, b in zip(self.starts, self.starts[1:], strict=False)]
        )


class Fleet(NamedTuple):
    """``runs`` in the order of their times; ``hosts`` by the name of a node, as its newest run saw it."""

    runs: list[SiteRun]
    nodes: list[str]
    figures: list[Figure]
    hosts: dict[str, Host]
    newest: dict[str, int]  # node -> its newest run
    left_out: list[Absent]


def figures(
    keys: list[tuple[FigureKey, Metric, Params]], nodes: Ints, figure: Ints, run: Ints, values: Floats
) -> list[Figure]:
    """Columns of one entry a value, with runs numbered by time, as figures. Figures without a value are left out."""
    order = np.argsort(figure, kind="stable")
    ends = np.searchsorted(figure[order], np.arange(len(keys) + 1))
    found = []
    for at, (key, metric, params) in enumerate(keys):
        rows = order[ends[at] : ends[at + 1]]
        if not len(rows):
            continue
        rows = rows[np.lexsort((run[rows], nodes[rows]))]
        of_rows = nodes[rows]
        unique, starts = np.unique(of_rows, return_index=True)
        found.append(
            Figure(
                key,
                metric,
                params,
                unique.astype(np.int64),
                np.append(starts, len(rows)),
                run[rows].astype(np.int64),
                values[rows],
            )
        )
    return found
