"""Fleets whose slow nodes and slow links are known: what the verdict is measured with.

A pair's value is that of a healthy pair, times what its nodes, its link, its switches and the round take, times noise. Two
slow nodes may take together what each takes (as latency does) or what the slower takes (``bottleneck``, as bandwidth does).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...records import Metric
from ..table import Floats, Ints
from .read import Pairs

BANDWIDTH = Metric(name="pingpong.bandwidth", title="Message bandwidth", unit="B/s", better="higher", per="bytes/s")
LATENCY = Metric(name="pingpong.latency", title="Message latency", unit="s", better="lower", per="s/messages")
_TYPICAL = {"higher": 2.4e10, "lower": 1.6e-6}


class Fleet(NamedTuple):
    """``slow_nodes``: place -> share of speed lost (0.12: a rate of 0.88, a time of 1 / 0.88); ``slow_links`` likewise.

    Noise, as relative standard deviations: ``jitter`` of each sample (the value is the median of ``samples``), ``pair``
    of each pair in each pass, ``node`` between healthy nodes; ``strays`` of the pairs are Cauchy-distributed by
    ``stray``, ``skewed`` to the slow side only.
    """

    nodes: int
    metric: Metric = BANDWIDTH
    slow_nodes: Mapping[int, float] = {}
    slow_links: Mapping[tuple[int, int], float] = {}
    rounds: int | None = None  # of the tournament; None: all
    passes: int = 1
    jitter: float = 0.05
    samples: int = 20
    pair: float = 0.0
    node: float = 0.003
    strays: float = 0.0
    stray: float = 0.1
    skewed: bool = False
    leaf: int = 0  # nodes behind one switch; 0: all behind one
    far: float = 0.0  # share of speed that the way over two switches costs
    slow_leaves: Mapping[int, float] = {}  # share of speed that an uplink costs the pairs that leave its switch
    disturbed: Mapping[int, float] = {}  # round -> share of speed lost by all
    bottleneck: bool = False


def circle(nodes: int, rounds: int | None = None) -> tuple[Ints, Ints, Ints]:
    """The pairs of a round-robin tournament and their rounds, by the circle method (as native/pingpong/rounds.cpp)."""
    seats = nodes + nodes % 2
    number = min(seats - 1, rounds or seats)
    turns = np.arange(number)[:, None]
    chairs = np.arange(seats // 2)[None, :]

    def sitting(chair: Ints) -> Ints:
        return np.where(chair == 0, 0, 1 + (chair - 1 + turns) % (seats - 1))

    one, other = sitting(chairs), sitting(seats - 1 - chairs)
    a, b = np.minimum(one, other).ravel(), np.maximum(one, other).ravel()
    played = np.repeat(np.arange(number), seats // 2)
    real = b < nodes
    return a[real], b[real], played[real]


def pairs(fleet: Fleet, seed: int) -> Pairs:
    """What a tournament over the fleet would give."""
    rng = np.random.default_rng(seed)
    a, b, played = circle(fleet.nodes, fleet.rounds)
    rows = len(a)
    base = _expected(fleet, a, b, played, rng)
    logs = np.concatenate([base + _noise(fleet, rows, rng) for _ in range(fleet.passes)])
    sign = 1.0 if fleet.metric.better == "lower" else -1.0
    names = tuple(f"n{index + 1}" for index in range(fleet.nodes))
    spread = np.full(rows * fleet.passes, 1.2533 * fleet.jitter / np.sqrt(fleet.samples))
    spread *= np.sqrt(rng.chisquare(fleet.samples - 1, len(spread)) / (fleet.samples - 1)) if fleet.samples > 1 else 1.0
    return Pairs(
        metric=fleet.metric,
        params={"bytes": 2**20 if fleet.metric.better == "higher" else 8, "pattern": "tournament"},
        places=names,
        hosts=names,
        a=np.tile(a, fleet.passes),
        b=np.tile(b, fleet.passes),
        values=_TYPICAL[fleet.metric.better] * np.exp(sign * logs),
        spread=spread,
        round=np.concatenate([played + index * (int(played.max()) + 1) for index in range(fleet.passes)]),
    )


def switches(fleet: Fleet) -> dict[str, str]:
    """Node -> leaf switch, as a topology file would say."""
    return {f"n{index + 1}": f"leaf{index // fleet.leaf + 1}" for index in range(fleet.nodes)} if fleet.leaf else {}


def _expected(fleet: Fleet, a: Ints, b: Ints, played: Ints, rng: np.random.Generator) -> Floats:
    """The logarithm of the time of each pair, without the noise of measuring."""
    nodes = rng.normal(0.0, fleet.node, fleet.nodes)
    slow = np.zeros(fleet.nodes)
    for place, share in fleet.slow_nodes.items():
        slow[place] = -np.log(1 - share)
    found = nodes[a] + nodes[b] + (np.maximum(slow[a], slow[b]) if fleet.bottleneck else slow[a] + slow[b])
    if fleet.slow_links:
        row_of = {(int(x), int(y)): row for row, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
        for (one, other), share in fleet.slow_links.items():
            row = row_of.get((min(one, other), max(one, other)))
            if row is not None:
                found[row] -= np.log(1 - share)
    for number, share in fleet.disturbed.items():
        found[played == number] -= np.log(1 - share)
    if fleet.leaf:
        leaves = np.arange(fleet.nodes) // fleet.leaf
        leaving = leaves[a] != leaves[b]
        found -= np.where(leaving, np.log(1 - fleet.far), 0.0)
        for leaf, share in fleet.slow_leaves.items():
            found -= np.where(leaving & ((leaves[a] == leaf) | (leaves[b] == leaf)), np.log(1 - share), 0.0)
    return found


def _noise(fleet: Fleet, rows: int, rng: np.random.Generator) -> Floats:
    """The median of so many samples has 1.2533 / sqrt(samples) of their deviation."""
    found: Floats = rng.normal(0.0, fleet.jitter * 1.2533 / np.sqrt(fleet.samples), rows)
    if fleet.samples == 1:
        found /= 1.2533
    if fleet.pair:
        found += rng.normal(0.0, fleet.pair, rows)
    if fleet.strays:
        hit = rng.random(rows) < fleet.strays
        strays = np.clip(fleet.stray * rng.standard_cauchy(int(hit.sum())), -3.0, 3.0)
        found[hit] += np.abs(strays) if fleet.skewed else strays
    return found
