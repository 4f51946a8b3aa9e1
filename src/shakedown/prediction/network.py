"""Who shares a link with whom: the flows of a P x Q grid over nodes and edge switches, and the bandwidth that is left.

Bandwidth under contention comes from counting flows (research on 28 process grids of one cluster: this rule alone took
the model's error from 31 % to 6 %; docs/forecast.md). All ranks of one process column exchange rows at the same moment;
different columns do so independently, each for the share ``u`` of its time. Where one column sends F messages out of a
node and C columns do so, the messages that share the node's link are F (1 + (C - 1) u).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: One number, or one for each draw (rows) and each point of the run (columns).
Numbers = Any


class Crossing(NamedTuple):
    """Messages of one kind at one moment. ``flows`` leave the busiest node (0: all stay within nodes), ``columns``
    process columns do so there; ``leaf_flows`` and ``leaf_columns`` likewise for an edge switch; ``within`` stay
    within the busiest node."""

    flows: int
    columns: int
    leaf_flows: int
    leaf_columns: int
    within: int


class Geometry(NamedTuple):
    """The flows of a grid. ``steps`` are those of a column's ranks to the rank 1, 2, 4... rows on, below P; ``pairs``
    those of pairs of ranks whose rows differ in one binary digit."""

    nodes: int
    steps: tuple[Crossing, ...]
    pairs: tuple[Crossing, ...]
    ring_off: float  # share of the hops along a row that leave a node (in any row: rows wait for one another)
    ring: Crossing  # one hop along all rows
    leaves: int


@lru_cache(maxsize=256)
def geometry(p: int, q: int, mapping: str, ranks_per_node: int, leaf_nodes: int) -> Geometry:
    """Count the flows of a P x Q grid whose ranks fill nodes in order, and whose nodes fill edge switches in order.

    ``mapping`` "row": consecutive ranks lie along a row. ``leaf_nodes`` 0: no edge switches.
    """
    rank = np.arange(p * q).reshape(p, q) if mapping == "row" else np.arange(p * q).reshape(q, p).T
    node = rank // ranks_per_node
    leaf = node // leaf_nodes if leaf_nodes else np.zeros_like(node)
    rows = np.arange(p)
    distances = [1 << power for power in range((p - 1).bit_length())]
    steps = tuple(_column_step(node, leaf, (rows + one) % p) for one in distances)
    # Rows beyond the largest power of two have no partner in some steps; they hand over to a row below in one more.
    pairs = tuple(_column_step(node, leaf, np.where(rows ^ one < p, rows ^ one, rows)) for one in distances)
    away = np.roll(node, -1, axis=1) != node if q > 1 else np.zeros_like(node, dtype=bool)
    ring_off = float(away.any(axis=0).mean()) if q > 1 else 0.0
    ring = _ring(node, leaf, away)
    return Geometry(int(node.max()) + 1, steps, pairs, ring_off, ring, int(leaf.max()) + 1)


def _column_step(node: NDArray[np.int64], leaf: NDArray[np.int64], to: NDArray[np.int64]) -> Crossing:
    """Each rank sends to the rank of its own column in the row ``to[row]``."""
    flows, columns = _busiest(node, node[to] != node)
    leaf_flows, leaf_columns = _busiest(leaf, leaf[to] != leaf)
    within, _ = _busiest(node, (node[to] == node) & (to != np.arange(len(to)))[:, None])
    return Crossing(flows, columns, leaf_flows, leaf_columns, within)


def _busiest(place: NDArray[np.int64], leaves_it: NDArray[np.bool_]) -> tuple[int, int]:
    """The most flows of one column out of one place, and the most columns that have flows out of one place."""
    rows, columns = np.nonzero(leaves_it)
    if rows.size == 0:
        return 0, 0
    width = place.shape[1]
    pairs, counts = np.unique(place[rows, columns] * width + columns, return_counts=True)
    return int(counts.max()), int(np.bincount(pairs // width).max())


def _ring(node: NDArray[np.int64], leaf: NDArray[np.int64], away: NDArray[np.bool_]) -> Crossing:
    """One hop along the rows: the ranks of one column send to those of the next at the same moment."""
    flows, _ = _busiest(node, away)
    crosses = np.roll(leaf, -1, axis=1) != leaf
    leaf_flows, _ = _busiest(leaf, crosses)
    within, _ = _busiest(node, ~away)
    return Crossing(flows, 1, leaf_flows, 1, within)


def bandwidth(rates: Any, step: Crossing, busy: Numbers, most: int = 1 << 30) -> Numbers:
    """B/s of one message of ``step``; ``busy`` is the share of its time that a column sends; ``most`` flows at once."""
    if step.flows == 0:
        sharing = min(max(step.within, 1), most)
        return np.minimum(rates.stream_on, rates.node_on / sharing)
    node = rates.node_off / (min(step.flows, most) * (1 + (step.columns - 1) * busy))
    found = np.minimum(rates.stream_off, node)
    if step.leaf_flows:
        shared = min(step.leaf_flows, most) * (1 + (step.leaf_columns - 1) * busy)
        found = np.minimum(found, rates.leaf_off / shared)
    return found


def latency(rates: Any, step: Crossing) -> Numbers:
    """Seconds of one empty message of ``step``."""
    return rates.latency_off_s if step.flows else rates.latency_on_s
