"""What group tests are asked for, and which rounds come next: pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ...analysis import groups
from ...analysis.groups import GroupTests, GroupVerdict
from ...analysis.groups.data import Topology
from ...analysis.groups.search import Settings
from ...strict import to_toml

_MOST_SECONDS = 20  # a case ends after so many times its own, whatever it has (native/collectives/measure.cpp)
_ROUNDS_OF_STAGE = 2  # after the first: few enough that each is planned from what the last showed
_SURE = (
    0.8  # of what must be found: a place that slow is found in 9 of 10 cases, and one as slow as asked nearly always
)

_MEETINGS = 5  # of two GPUs of a host
_FEW_GPUS = 8

Groups = tuple[tuple[str, ...], ...]  # of one round: the members of each by name, or by rank


class GroupPlan(NamedTuple):
    """``hosts``: how they are called where that is known. ``ranks``: so many places of this host. ``gpus``: so many GPUs of
    each host, whose groups are among themselves. 0: as the design has it."""

    hosts: tuple[str, ...] = ()
    places: int = 0
    ranks: int = 0
    gpus: int = 0
    backend: str = "cuda"
    operation: str = "alltoall"
    size_bytes: int = 1 << 20
    samples: int = 20
    seconds: float = 0.2
    group_size: int = 0
    rounds: int = 0
    seed: int = 1
    oversubscribe: bool = False
    topology: Topology | None = None
    settings: Settings = Settings()


def next_rounds(
    plan: GroupPlan, places: int, tests: GroupTests | None, verdict: GroupVerdict | None, gone: Collection[str] = ()
) -> tuple[Groups, ...]:
    """The rounds to measure now; none where nothing is in doubt, or where there were enough. ``gone``: hosts without an
    answer."""
    if plan.gpus:
        return _next_of_gpus(plan, tests, verdict)
    if tests is None or verdict is None:
        named = plan.hosts if len(plan.hosts) == places else ()
        rounds = groups.first_rounds(
            places, plan.seed, size=plan.group_size, count=_first(plan, places), leaves=_leaves(plan, named)
        )
        return _by_name(rounds, [str(place) for place in range(places)])
    failed = {one.place for one in verdict.failed}
    left = [
        place
        for place, host in zip(tests.places, tests.hosts, strict=True)
        if place not in failed and host not in gone and host not in failed
    ]
    count = rounds_more(plan, len(left), verdict)
    if len(left) < groups.FEWEST_PLACES or count <= 0:
        return ()
    number = {place: index for index, place in enumerate(left)}
    host_of = dict(zip(tests.places, tests.hosts, strict=True))
    rounds = groups.next_rounds(
        len(left),
        plan.seed,
        verdict.rounds,
        count,
        apart=[number[place] for place in verdict.doubtful if place in number],
        size=plan.group_size,
        leaves=_leaves(plan, [host_of[place] for place in left]),
    )
    return _by_name(rounds, left)


def _next_of_gpus(plan: GroupPlan, tests: GroupTests | None, verdict: GroupVerdict | None) -> tuple[Groups, ...]:
    """The same rounds on every host, by the numbers of its GPUs."""
    size = plan.group_size or _size_of_gpus(plan.gpus)
    numbers = [str(number) for number in range(plan.gpus)]
    if tests is None or verdict is None:
        return _by_name(groups.first_rounds(plan.gpus, plan.seed, size=size, count=_first(plan, 0)), numbers)
    failed = {one.place for one in verdict.failed}
    well = {place.rpartition(":")[2] for place in tests.places if place not in failed}
    left = [number for number in numbers if number in well]
    count = rounds_more(plan, len(left), verdict)
    if len(left) < 2 or count <= 0:
        return ()
    doubted = {place.rpartition(":")[2] for place in verdict.doubtful}
    apart = [index for index, number in enumerate(left) if number in doubted]
    rounds = groups.next_rounds(len(left), plan.seed, verdict.rounds, count, apart=apart, size=size)
    return _by_name(rounds, left)


def _size_of_gpus(gpus: int) -> int:
    """Pairs, each of which has a link of its own to be judged; of many GPUs groups of four, which hold six."""
    return 2 if gpus <= _FEW_GPUS else 4


def _most(plan: GroupPlan, places: int) -> int:
    """Of GPUs so many that each two of a host meet in some five groups: four are the fewest that a link is judged by."""
    if plan.gpus and not plan.rounds:
        return math.ceil(_MEETINGS * (plan.gpus - 1) / ((plan.group_size or _size_of_gpus(plan.gpus)) - 1))
    return plan.rounds or groups.most_rounds(places)


def _first(plan: GroupPlan, places: int) -> int:
    return math.ceil(_most(plan, places) / 2)


def rounds_more(plan: GroupPlan, places: int, verdict: GroupVerdict) -> int:
    """How many rounds more: the rest of the first half, then two at a time while anything is in doubt."""
    first = _first(plan, places) - verdict.rounds
    if first > 0:
        return first
    blunt = verdict.smallest is None or verdict.smallest > _SURE * plan.settings.wanted
    shared = any(one.alternatives for one in verdict.slow)
    links = plan.gpus > 0 and verdict.unjudged.get("link", 0) > 0
    wanted = bool(verdict.doubtful) or blunt or shared or links
    return min(_ROUNDS_OF_STAGE, _most(plan, places) - verdict.rounds) if wanted else 0


def _leaves(plan: GroupPlan, hosts: Sequence[str]) -> list[int]:
    if plan.topology is None or not hosts:
        return []
    leaves = [plan.topology.above(host)[:1] for host in hosts]
    number = {name: index for index, name in enumerate(dict.fromkeys(leaf[0] for leaf in leaves if leaf))}
    return [number[leaf[0]] if leaf else -1 for leaf in leaves]


def _by_name(rounds: Sequence[list[list[int]]], names: Sequence[str]) -> tuple[Groups, ...]:
    return tuple(tuple(tuple(names[place] for place in group) for group in one) for one in rounds)


def campaign(plan: GroupPlan, rounds: Sequence[Groups]) -> str:
    """The campaign that measures some rounds, as TOML."""
    lines = [
        'name = "groups"',
        'title = "Group tests: who is slow"',
        "repeat = { min = 1, max = 1 }",
        "",
        "[[run]]",
        f"workload = {to_toml('gpu_collectives' if plan.gpus else 'collectives')}",
        "optional = false",
        f'limit = "{120 + len(rounds) * (_MOST_SECONDS * plan.seconds + 5):.0f} s"',
        f"params = {to_toml(_params(plan, rounds))}",
    ]
    nodes = 'nodes = "each"' if plan.gpus else "" if plan.ranks else 'nodes = "all"'
    return "\n".join([*lines, *filter(None, [nodes]), ""])


def _params(plan: GroupPlan, rounds: Sequence[Groups]) -> dict[str, object]:
    common = {
        "operations": plan.operation,
        "sizes": str(plan.size_bytes),
        "rounds": "; ".join(" ".join(map(",".join, one)) for one in rounds),
        "samples": plan.samples,
    }
    if plan.gpus:
        return {**common, "backend": plan.backend, "place": "out", "algorithm_shown": False}
    return {
        **common,
        "ranks": plan.ranks or "hosts",
        "mock_ups": False,
        "point_to_point": False,
        "budget_s": plan.seconds,
        "allow_oversubscribe": plan.oversubscribe,
    }
