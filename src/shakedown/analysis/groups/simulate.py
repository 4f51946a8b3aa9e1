"""Fleets whose slow parts are known: what the verdict over groups is measured with.

It knows nothing of how verdicts are made. A member's rate is what its node, its switch, the way out of it and its rail
allow; every two members exchange data, and the group takes as long as the slowest exchange. Then come the machine's
vices: noise of each group, noise of each member, which the slowest one passes on, drift, far-off values, a clock of
coarse ticks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...records import Metric
from ..table import Floats
from .data import GroupTests, Topology
from .design import Round

TIME = Metric(name="collectives.group.time", title="Collective of a group", unit="s", better="lower", per="s")
RATE = Metric(
    name="gpu_collectives.group.bandwidth", title="Bandwidth of a group", unit="B/s", better="higher", per="bytes/s"
)
_TYPICAL = 1.3e-3  # seconds of a healthy group of two


class GroupFleet(NamedTuple):
    """Faults are shares of speed lost, by place, host, switch, two switches, rail. Noises are relative standard deviations.

    ``tail``: degrees of freedom of Student's t that the noise follows, scaled to ``noise``; 0: normal.
    """

    places: int
    gpus: int = 1  # places of each host
    leaf: int = 0  # hosts behind one switch; 0: one switch for all
    spine: int = 0  # leaf switches behind one spine switch; 0: all behind one
    rails: int = 0
    slow_places: Mapping[int, float] = {}
    slow_hosts: Mapping[int, float] = {}
    slow_leaves: Mapping[int, float] = {}
    slow_uplinks: Mapping[int, float] = {}
    slow_paths: Mapping[tuple[int, int], float] = {}
    slow_rails: Mapping[int, float] = {}
    dead_places: Collection[int] = ()
    noise: float = 0.02
    tail: float = 0.0
    member_noise: float = 0.0  # of each member in each test
    spread: float = 0.0  # between healthy places
    drift: float = 0.0  # from the first round to the last, and half as much up and down meanwhile
    strays: float = 0.0  # share of tests that are slower by up to half
    tick: float = 0.0  # values are whole multiples of this share of a typical one
    metric: Metric = TIME

    @property
    def hosts(self) -> int:
        return self.places // self.gpus


def place_name(fleet: GroupFleet, place: int) -> str:
    host = f"n{place // fleet.gpus + 1}"
    return f"{host}:{place % fleet.gpus}" if fleet.gpus > 1 else host


def topology(fleet: GroupFleet) -> Topology:
    """What hangs on what, as a file would say."""
    parent: dict[str, str] = {}
    if fleet.leaf:
        for host in range(fleet.hosts):
            leaf = host // fleet.leaf
            parent[f"n{host + 1}"] = f"leaf{leaf + 1}"
            parent[f"leaf{leaf + 1}"] = f"spine{leaf // fleet.spine + 1}" if fleet.spine else "core"
            if fleet.spine:
                parent[f"spine{leaf // fleet.spine + 1}"] = "core"
    return Topology(parent)


def leaves(fleet: GroupFleet) -> list[int]:
    """The switch of each place."""
    return [place // fleet.gpus // fleet.leaf for place in range(fleet.places)] if fleet.leaf else []


def truth(fleet: GroupFleet) -> dict[tuple[str, str], float]:
    """(kind, name) of each fault, as verdicts name parts, and its share."""
    lowest = "gpu" if fleet.gpus > 1 else "node"
    return {
        **{(lowest, place_name(fleet, place)): share for place, share in fleet.slow_places.items()},
        **{("node", f"n{host + 1}"): share for host, share in fleet.slow_hosts.items()},
        **{("switch", f"leaf{leaf + 1}"): share for leaf, share in fleet.slow_leaves.items()},
        **{("uplink", f"leaf{leaf + 1}"): share for leaf, share in fleet.slow_uplinks.items()},
        **{("path", f"leaf{a + 1} - leaf{b + 1}"): share for (a, b), share in fleet.slow_paths.items()},
        **{("rail", f"rail{rail}"): share for rail, share in fleet.slow_rails.items()},
    }


def measure(fleet: GroupFleet, rounds: Sequence[Round], seed: int, begin: int = 0) -> GroupTests:
    """What the rounds would give; ``begin`` is the number of the first. Rails take turns among the groups of a round."""
    rng = np.random.default_rng((seed, begin))
    healthy = np.random.default_rng((seed, 10**6)).normal(0.0, fleet.spread, fleet.places)
    test, member, number, rail = list[int](), list[int](), list[int](), list[int]()
    values: list[float] = []
    for index, groups in enumerate(rounds, begin):
        for turn, group in enumerate(groups):
            test += [len(values)] * len(group)
            member += group
            rail.append((turn + index) % fleet.rails if fleet.rails else -1)
            number.append(index)
            values.append(_seconds(fleet, group, rail[-1], index, healthy, rng))
    names = tuple(place_name(fleet, place) for place in range(fleet.places))
    seconds = np.array(values)
    return GroupTests(
        metric=fleet.metric,
        params={"operation": "alltoall", "bytes": 2**20},
        places=names,
        hosts=tuple(name.partition(":")[0] for name in names),
        test=np.array(test, np.int64),
        member=np.array(member, np.int64),
        values=seconds if fleet.metric.better == "lower" else 1e8 / seconds,
        round=np.array(number, np.int64),
        rail=np.array(rail, np.int64),
        rails=tuple(f"rail{one}" for one in range(fleet.rails)),
        why=tuple("no answer" if math.isnan(one) else "" for one in values),
    )


def _seconds(
    fleet: GroupFleet, group: Sequence[int], rail: int, number: int, healthy: Floats, rng: np.random.Generator
) -> float:
    noise = rng.normal() if not fleet.tail else rng.standard_t(fleet.tail) / math.sqrt(fleet.tail / (fleet.tail - 2))
    of_members = rng.normal(0.0, fleet.member_noise, len(group)) if fleet.member_noise else np.zeros(len(group))
    stray = rng.uniform(0.0, 0.7) if rng.random() < fleet.strays else 0.0
    if any(place in fleet.dead_places for place in group):
        return math.nan
    speeds = [
        (1 - fleet.slow_places.get(place, 0.0))
        * (1 - fleet.slow_hosts.get(place // fleet.gpus, 0.0))
        * math.exp(-healthy[place] - of_members[index])
        for index, place in enumerate(group)
    ]
    slowest = min(min(speeds), *_fabric(fleet, group)) * (1 - fleet.slow_rails.get(rail, 0.0))
    near = 1.0 if _within_leaf(fleet, group) else 1.3
    wave = fleet.drift * (number / 10 + 0.5 * math.sin(number))
    found = _TYPICAL * near * (len(group) - 1) ** 0.9 / slowest * math.exp(fleet.noise * noise + wave + stray)
    tick = fleet.tick * _TYPICAL * (len(group) - 1) ** 0.9
    return float(round(found / tick) * tick if tick else found)


def _fabric(fleet: GroupFleet, group: Sequence[int]) -> list[float]:
    """What the switches between members leave of their speed."""
    if not fleet.leaf:
        return [1.0]
    used = sorted({place // fleet.gpus // fleet.leaf for place in group})
    found = [1 - fleet.slow_leaves.get(leaf, 0.0) for leaf in used]
    if len(used) > 1:
        found += [1 - fleet.slow_uplinks.get(leaf, 0.0) for leaf in used]
        found += [1 - fleet.slow_paths.get((a, b), 0.0) for a in used for b in used if a < b]
    return found


def _within_leaf(fleet: GroupFleet, group: Sequence[int]) -> bool:
    return not fleet.leaf or len({place // fleet.gpus // fleet.leaf for place in group}) == 1


def joined(first: GroupTests, second: GroupTests) -> GroupTests:
    """Both as one set of tests of the same places."""
    return first._replace(
        test=np.concatenate([first.test, second.test + len(first.values)]),
        member=np.concatenate([first.member, second.member]),
        values=np.concatenate([first.values, second.values]),
        round=np.concatenate([first.round, second.round]),
        rail=np.concatenate([first.rail, second.rail]),
        why=(*first.why, *second.why),
    )
