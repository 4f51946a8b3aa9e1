"""How often slow parts are named from group tests, and how often something else is, on simulated fleets of known truth.

    python scripts/bench/groups.py [--fleets 25] [--nodes 1024,1000,13] [--seed 0] [--only TEXT] [--tiny] [--json]

Each fleet has 1 to 8 slow nodes (of 13 nodes one or two), or what a line says, at places that change with the seed; a
group's value scatters by 2 %. Rounds are planned as `shakedown groups` plans them: half of 2 log2 N, then two at a time
with what is in doubt kept apart, to at most 2 log2 N. The simulator knows nothing of the verdict's model. The lines add
what real fleets have. ``found``: of the planted parts, those that are named; ``false``: of all that are named, those
that were not planted (a part that the same groups would explain as well, and that the verdict says so of, counts as
found); ``cpu_s``: the last verdict's own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import common
import numpy as np
from common import Option

from shakedown.analysis import groups
from shakedown.analysis.groups import GroupTests, GroupVerdict, parts, simulate
from shakedown.analysis.groups.simulate import GroupFleet
from shakedown.operate.group_tests.stages import GroupPlan, rounds_more

#: What each line adds to the plain fleet, and how slow its parts are.
LINES: dict[str, tuple[float, Mapping[str, Any]]] = {
    "5 %": (0.05, {}),
    "3 %": (0.03, {}),
    "20 %": (0.2, {}),
    "5 %, rates": (0.05, {"metric": simulate.RATE}),
    "5 %, noise of Student's t, 3 degrees": (0.05, {"tail": 3}),
    "5 %, 2 % of groups up to twice as slow": (0.05, {"strays": 0.02}),
    "5 %, drift of 2 % a tenth round, and waves": (0.05, {"drift": 0.02}),
    "5 %, values in ticks of 2 %": (0.05, {"tick": 0.02}),
    "5 %, 1 % of noise in each member": (0.05, {"member_noise": 0.01}),
    "5 %, healthy nodes differ by 0.5 %": (0.05, {"spread": 0.005}),
    "5 %, healthy nodes differ by 1 %": (0.05, {"spread": 0.01}),
    "20 %, healthy nodes differ by 1 %": (0.2, {"spread": 0.01}),
    "none": (0.0, {}),
    "none, healthy nodes differ by 1 %": (0.0, {"spread": 0.01}),
}
#: Other parts, by the field of the fleet: for fleets of 16 nodes a switch.
KINDS = ("slow_leaves", "slow_uplinks", "slow_paths", "slow_rails", "mixed")


class Score(NamedTuple):
    planted: int
    found: int
    named: int
    false: int
    rounds: int
    cpu_s: float


def fleet(nodes: int, share: float, seed: int, **more: Any) -> GroupFleet:
    """Slow nodes at random places."""
    rng = np.random.default_rng(20_000 + seed)
    number = int(rng.integers(1, 3 if nodes < 64 else 9)) if share else 0
    slow = {int(place): share for place in rng.choice(nodes, number, replace=False)}
    return GroupFleet(places=nodes, slow_places=slow, **more)


def fabric(nodes: int, kind: str, share: float, seed: int) -> GroupFleet:
    """A slow part between the nodes, or with ``mixed`` one of each and two nodes, which do not lie below each other."""
    rng = np.random.default_rng(30_000 + seed)
    leaves = nodes // 16
    a, b, c, d = (int(one) for one in rng.choice(leaves, 4, replace=False))
    every: dict[str, Mapping[Any, float]] = {
        "slow_leaves": {a: share},
        "slow_uplinks": {b: share},
        "slow_paths": {(min(c, d), max(c, d)): 4 * share},
        "slow_rails": {int(rng.integers(4)): share},
    }
    chosen: dict[str, Any] = dict(every) if kind == "mixed" else {kind: every[kind]}
    if kind == "mixed":
        chosen["slow_places"] = {16 * c + 3: share, 16 * d + 5: share}
    return GroupFleet(places=nodes, leaf=16, rails=4, **chosen)


def carried_out(one: GroupFleet, seed: int) -> tuple[GroupTests, GroupVerdict, float]:
    """The rounds and verdicts of one fleet, and the processor time of the last verdict."""
    tree, leaves = simulate.topology(one), simulate.leaves(one)
    plan = GroupPlan(places=one.places, seed=seed)
    rounds = groups.first_rounds(one.places, seed, leaves=leaves)
    tests = simulate.measure(one, rounds, seed)
    while True:
        begin = time.process_time()
        verdict = groups.verdict(tests, topology=tree)
        cpu_s = time.process_time() - begin
        count = rounds_more(plan, one.places, verdict)
        if count <= 0:
            return tests, verdict, cpu_s
        apart = [tests.places.index(place) for place in verdict.doubtful]
        more = groups.next_rounds(one.places, seed, verdict.rounds, count, apart=apart, leaves=leaves)
        tests = simulate.joined(tests, simulate.measure(one, more, seed, verdict.rounds))


def score(one: GroupFleet, seed: int) -> Score:
    _, verdict, cpu_s = carried_out(one, seed)
    planted = {parts.label(kind, name) for kind, name in simulate.truth(one)}  # type: ignore[arg-type]
    explained = [{parts.label(part.kind, part.name), *part.alternatives} for part in verdict.slow]
    found = sum(any(name in names for names in explained) for name in planted)
    false = sum(not planted & names for names in explained)
    return Score(len(planted), found, len(explained), false, verdict.rounds, cpu_s)


def row(nodes: int, name: str, scores: list[Score]) -> dict[str, Any]:
    planted, named = sum(one.planted for one in scores), sum(one.named for one in scores)
    return {
        "nodes": nodes,
        "fleet": name,
        "fleets": len(scores),
        "planted": planted,
        "found": sum(one.found for one in scores) / planted if planted else float("nan"),
        "named": named,
        "false": sum(one.false for one in scores) / named if named else 0.0,
        "fleets_with_a_false_name": sum(one.false > 0 for one in scores),
        "rounds": float(np.mean([one.rounds for one in scores])),
        "most_rounds": max(one.rounds for one in scores),
        "cpu_s_median": float(np.median([one.cpu_s for one in scores])),
        "cpu_s_most": max(one.cpu_s for one in scores),
    }


def main() -> None:
    asked = common.arguments(
        __doc__,
        nodes=Option([1024, 1000, 13], [64]),
        fleets=Option(25, 1, "of each line"),
        seed=Option(0),
        only=Option("", help="the lines with this text"),
    )
    rows = []
    for nodes in asked.nodes:
        for name, (share, more) in LINES.items():
            if asked.only in name:
                seeds = range(asked.seed, asked.seed + asked.fleets)
                rows.append(row(nodes, name, [score(fleet(nodes, share, seed, **more), seed) for seed in seeds]))
                common.say(f"{nodes} nodes, {name}: {asked.fleets} fleets")
        for kind in KINDS if nodes >= 64 and not nodes % 16 else ():
            name = f"5 %, {kind.replace('_', ' ')}"
            if asked.only in name:
                seeds = range(asked.seed, asked.seed + asked.fleets)
                rows.append(row(nodes, name, [score(fabric(nodes, kind, 0.05, seed), seed) for seed in seeds]))
                common.say(f"{nodes} nodes, {name}: {asked.fleets} fleets")
    whole = dict.fromkeys(("nodes", "fleet", "fleets", "planted"), "")
    shares = {"found": ".1%", "named": "", "false": ".2%", "fleets_with_a_false_name": ""}
    times = {"rounds": ".1f", "most_rounds": "", "cpu_s_median": ".2f", "cpu_s_most": ".2f"}
    common.show(asked, fleets=(rows, {**whole, **shares, **times}))


if __name__ == "__main__":
    main()
