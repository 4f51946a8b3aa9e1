"""How well slow nodes and slow links are told apart, on simulated fleets whose truth is known.

    python scripts/bench/pairs.py [--seeds 50] [--nodes 1024]       the goal: all found, at most one false, below 10 s
    python scripts/bench/pairs.py --power [--nodes 64] [--seeds 40] how many rounds a 10 % slow node or link needs

Every fleet has 5 slow nodes (5 to 20 % slower) and 10 slow links (15 to 50 %), at places and by amounts that change with the
seed; each pair is measured once (n - 1 rounds), 20 samples with 5 % of jitter each, and healthy nodes differ by 0.3 %. The
harder lines add what real fleets have. A node counts as found when it is named as slow to everybody, a link as found when it
is named; anything else that is named is false. Seconds and memory are of the verdict alone, in a process of its own.
The verbs `pairs` and `report` over a tournament: `paired.py tournament`.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from common import Option

from shakedown.analysis import pairs
from shakedown.analysis.pairs import simulate
from shakedown.analysis.pairs.simulate import LATENCY, Fleet

SLOW_NODES, SLOW_LINKS = 5, 10

#: What each line of the table adds to the plain fleet.
HARDER: dict[str, Mapping[str, Any]] = {
    "plain": {},
    "latency": {"metric": LATENCY},
    "two slow nodes cost as the slower": {"bottleneck": True},
    "healthy nodes differ by 1 %": {"node": 0.01},
    "3 % of jitter of each pair": {"pair": 0.03},
    "5 % of jitter of each pair": {"pair": 0.05},
    "the same, 3 passes": {"pair": 0.05, "passes": 3},
    "16 nodes a switch, 30 % nearer": {"leaf": 16, "far": 0.3, "metric": LATENCY},
    "two rounds disturbed": {"disturbed": {5: 0.3, 17: 0.1}},
    "0.1 % strays (Cauchy), 2 passes": {"strays": 0.001, "passes": 2},
    "0.1 % strays to the slow side, 2 passes": {"strays": 0.001, "passes": 2, "skewed": True},
    "1 % strays (Cauchy), 3 passes": {"strays": 0.01, "passes": 3},
}


class Score(NamedTuple):
    nodes_found: int
    links_found: int
    false: int
    seconds: float
    more_memory_bytes: int  # the peak during the verdict beyond what was there before, numpy and scipy included


def fleet(nodes: int, seed: int, **more: Any) -> Fleet:
    """A fleet with slow nodes and links at random places."""
    rng = np.random.default_rng(10_000 + seed)
    slow_nodes = {
        int(place): float(share)
        for place, share in zip(
            rng.choice(nodes, SLOW_NODES, replace=False), rng.uniform(0.05, 0.2, SLOW_NODES), strict=True
        )
    }
    slow_links: dict[tuple[int, int], float] = {}
    while len(slow_links) < SLOW_LINKS:
        one, other = sorted(rng.choice(nodes, 2, replace=False).tolist())
        slow_links[one, other] = float(rng.uniform(0.15, 0.5))
    return Fleet(nodes=nodes, slow_nodes=slow_nodes, slow_links=slow_links, **more)


def memory(what: str) -> int:
    """A figure of /proc/self/status in bytes."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def score(truth: Fleet, seed: int) -> Score:
    measured = simulate.pairs(truth, seed)
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew (man 5 proc)
    begin = time.perf_counter()
    verdict = pairs.verdict(measured)
    seconds = time.perf_counter() - begin
    grown = memory("VmHWM") - before
    nodes = {f"n{place + 1}" for place in truth.slow_nodes}
    links = {frozenset((f"n{a + 1}", f"n{b + 1}")) for a, b in truth.slow_links}
    named_nodes = {one.node for one in verdict.slow_nodes if one.share == 1}
    named_links = {frozenset((one.a, one.b)) for one in verdict.slow_links}
    others = sum(one.share < 1 for one in verdict.slow_nodes) + len(verdict.slow_groups)
    return Score(
        len(nodes & named_nodes),
        len(links & named_links),
        len(named_nodes - nodes) + len(named_links - links) + others,
        seconds,
        grown,
    )


def alone(work: Callable[..., Score], *args: Any) -> Score:
    """In a fresh process: its peak of memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, args)


def table(nodes: int, seeds: int, harder_seeds: int) -> list[dict[str, Any]]:
    rows = []
    for name, more in HARDER.items():
        count = seeds if not more else harder_seeds
        scores = []
        for seed in range(count):
            truth = fleet(nodes, seed, **more)
            scores.append(alone(score, truth, seed) if seed == 0 else score(truth, seed))
        rows.append(
            {
                "fleet": name,
                "seeds": count,
                "all_found": float(
                    np.mean([one.nodes_found == SLOW_NODES and one.links_found == SLOW_LINKS for one in scores])
                ),
                "nodes_found": float(np.mean([one.nodes_found for one in scores]) / SLOW_NODES),
                "links_found": float(np.mean([one.links_found for one in scores]) / SLOW_LINKS),
                "no_false": float(np.mean([one.false == 0 for one in scores])),
                "at_most_one_false": float(np.mean([one.false <= 1 for one in scores])),
                "most_false": max(one.false for one in scores),
                "seconds_median": float(np.median([one.seconds for one in scores])),
                "seconds_most": max(one.seconds for one in scores),
                "memory_bytes": scores[0].more_memory_bytes,
            }
        )
        common.say(f"{name}: {count} fleets")
    return rows


#: What of a fleet of ``power`` is named, as shares of the fleets.
NAMED = ("node_10_percent", "link_10_percent", "link_30_percent", "any_false")


def power(nodes: int, seeds: int) -> list[dict[str, Any]]:
    """How often one node and one link, 10 % slow each, are named, by rounds and by the noise of a pair's value."""
    rows = []
    every = [count for count in (3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512) if count < nodes - 1]
    for noise in (0.01, 0.02, 0.05):
        for rounds in (*every, nodes - 1):
            a, b, _ = simulate.circle(nodes, rounds)
            found = np.zeros(4)
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                weak, strong = ((int(a[row]), int(b[row])) for row in rng.choice(len(a), 2, replace=False))
                node = int(rng.choice([place for place in range(nodes) if place not in (*weak, *strong)]))
                truth = Fleet(
                    nodes=nodes,
                    slow_nodes={node: 0.1},
                    slow_links={weak: 0.1, strong: 0.3},
                    rounds=rounds,
                    jitter=0.0,
                    pair=noise,
                )
                verdict = pairs.verdict(simulate.pairs(truth, seed))
                links = {(one.a, one.b) for one in verdict.slow_links}
                nodes_named = {one.node for one in verdict.slow_nodes if one.share == 1}
                true_links = [tuple(f"n{end + 1}" for end in link) for link in (weak, strong)]
                found += (
                    f"n{node + 1}" in nodes_named,
                    true_links[0] in links,
                    true_links[1] in links,
                    bool(nodes_named - {f"n{node + 1}"} or links - set(true_links) or verdict.slow_groups),
                )
            shares = dict(zip(NAMED, (found / seeds).tolist(), strict=True))
            rows.append({"nodes": nodes, "rounds": rounds, "noise": noise, **shares})
            common.say(f"{rounds} rounds, noise {noise:.0%}: {seeds} fleets")
    return rows


def main() -> None:
    asked = common.arguments(
        __doc__,
        nodes=Option(0, 8, "0: 1,024, and 64 for --power"),
        seeds=Option(0, 1, "0: 50, and 40 for --power"),
        harder_seeds=Option(8, 1),
        power=Option(False, help="how many rounds a 10 % slow node or link needs"),
    )
    if asked.power:
        rows = power(asked.nodes or 64, asked.seeds or 40)
        common.show(asked, power=(rows, {"rounds": "", "noise": ".0%", **dict.fromkeys(NAMED, ".0%")}))
        return
    nodes = asked.nodes or 1024
    common.say(f"{nodes} nodes, {nodes * (nodes - 1) // 2:,} pairs, {os.cpu_count()} CPUs")
    rows = table(nodes, asked.seeds or 50, asked.harder_seeds)
    shares = dict.fromkeys(("nodes_found", "links_found", "no_false", "at_most_one_false"), ".1%")
    formats = {"fleet": "", "seeds": "", "all_found": ".0%", **shares, "most_false": ""}
    common.show(asked, fleets=(rows, {**formats, "seconds_median": ".2f", "seconds_most": ".2f", "memory_bytes": ",d"}))


if __name__ == "__main__":
    main()
