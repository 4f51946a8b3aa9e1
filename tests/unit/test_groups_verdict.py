"""The verdict over groups: planted parts are named with their effects, others are not, and what cannot be known is said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shakedown.analysis import groups
from shakedown.analysis.groups import GroupTests, GroupVerdict, evidence, fit, parts, simulate
from shakedown.analysis.groups.data import Topology
from shakedown.analysis.groups.simulate import GroupFleet
from shakedown.records import Metric


def campaign(fleet: GroupFleet, seed: int, *, known: bool = True) -> tuple[GroupTests, GroupVerdict]:
    """All the rounds that there are, without looking in between."""
    leaves = simulate.leaves(fleet) if known else []
    rounds = groups.first_rounds(fleet.places, seed, count=groups.most_rounds(fleet.places), leaves=leaves)
    tests = simulate.measure(fleet, rounds, seed)
    return tests, groups.verdict(tests, topology=simulate.topology(fleet) if known else None)


def named(verdict: GroupVerdict) -> set[tuple[str, str]]:
    return {(one.kind, one.name) for one in verdict.slow}


@pytest.mark.parametrize(
    "faults",
    [
        {"slow_places": {3: 0.05, 77: 0.05, 120: 0.05, 121: 0.2}},
        {"slow_leaves": {2: 0.08}},
        {"slow_uplinks": {5: 0.08}},
        {"slow_paths": {(1, 6): 0.2}},
        {"slow_rails": {1: 0.06}, "rails": 2},
        {"slow_leaves": {2: 0.05}, "slow_places": {2 * 16 + 5: 0.2, 100: 0.06}},
        {"slow_uplinks": {0: 0.1}, "slow_places": {60: 0.1}, "slow_rails": {3: 0.05}, "rails": 4},
    ],
)
def test_every_kind_of_part_is_named_and_nothing_else(faults: dict[str, Any]) -> None:
    fleet = GroupFleet(places=128, leaf=16, **faults)
    _, verdict = campaign(fleet, 4)
    assert named(verdict) == set(simulate.truth(fleet))
    for one in verdict.slow:
        share = simulate.truth(fleet)[one.kind, one.name]
        slower = share / (1 - share)  # of a time
        assert abs(one.effect.slower - slower) < max(0.35 * slower, 0.01)
        assert one.effect.low < one.effect.slower < one.effect.high
        assert one.tests >= parts.FEWEST_TESTS
        assert one.p < 0.01


def test_gpus_and_their_nodes_are_told_apart() -> None:
    fleet = GroupFleet(places=128, gpus=4, slow_places={17: 0.08}, slow_hosts={20: 0.08}, metric=simulate.RATE)
    _, verdict = campaign(fleet, 1)
    assert named(verdict) == {("gpu", "n5:1"), ("node", "n21")}
    (gpu,) = (one for one in verdict.slow if one.kind == "gpu")
    assert abs(gpu.effect.slower - 0.08) < 0.02  # of a rate the share that is missing


def test_a_healthy_fleet_has_nothing_named_whatever_its_vices() -> None:
    vices: list[dict[str, Any]] = [
        {},
        {"tail": 3},
        {"strays": 0.02},
        {"drift": 0.03},
        {"tick": 0.02},
        {"member_noise": 0.01},
        {"spread": 0.003},
    ]
    found = [campaign(GroupFleet(places=64, **vice), seed)[1] for vice in vices for seed in range(3)]
    assert sum(len(one.slow) for one in found) <= 1
    assert all(one.state != "fine" or (one.smallest or 1) <= 0.05 for one in found)


def test_dead_places_are_named_and_the_others_still_judged() -> None:
    fleet = GroupFleet(places=64, dead_places=(5,), slow_places={40: 0.1})
    tests, verdict = campaign(fleet, 2)
    assert [one.place for one in verdict.failed] == ["n6"]
    assert named(verdict) == {("node", "n41")}
    assert verdict.tests == int(np.isfinite(tests.values).sum())
    assert verdict.failed[0].why == "no answer"


def test_what_the_same_groups_would_show_is_named_as_alternatives() -> None:
    """One node behind each switch: a slow node is its switch, and the way up from it."""
    fleet = GroupFleet(places=32, leaf=1, slow_places={7: 0.1})
    _, verdict = campaign(fleet, 3)
    (slow,) = verdict.slow
    assert (slow.kind, slow.name) == ("node", "n8")
    assert {"switch leaf8", "uplink of leaf8"} <= set(slow.alternatives)


def test_too_little_is_undecided_and_says_why() -> None:
    few = simulate.measure(GroupFleet(places=4), [[[0, 1], [2, 3]]] * 10, 1)
    assert (groups.verdict(few).state, groups.verdict(few).slow) == ("undecided", ())
    short = simulate.measure(GroupFleet(places=16), groups.first_rounds(16, 1, count=1), 1)
    verdict = groups.verdict(short)
    assert verdict.state == "undecided" and "12 are the fewest" in verdict.notices[0].text
    loud = simulate.measure(GroupFleet(places=16, noise=0.3), groups.first_rounds(16, 1, count=8), 1)
    verdict = groups.verdict(loud)
    assert verdict.state == "undecided" and verdict.smallest is not None and verdict.smallest > 0.05
    assert [one.code for one in verdict.notices] == ["weak-groups", "few-places"]


def test_what_all_groups_share_is_not_judged() -> None:
    fleet = GroupFleet(places=64, leaf=4)
    _, verdict = campaign(fleet, 5)
    tree = parts.of(campaign(fleet, 5)[0], simulate.topology(fleet))
    assert "core" not in tree.names or tree.counts[tree.names.index("core")] < 0.9 * verdict.tests
    everywhere = groups.first_rounds(64, 5, count=12)
    verdict = groups.verdict(simulate.measure(fleet, everywhere, 5), topology=simulate.topology(fleet))
    assert verdict.unjudged.get("switch", 0) >= 1
    assert "parts-not-judged" in [one.code for one in verdict.notices]


def test_two_faults_of_very_different_size_do_not_hide_each_other() -> None:
    fleet = GroupFleet(places=64, slow_places={1: 0.6, 2: 0.04, 3: 0.05}, noise=0.01)
    assert named(campaign(fleet, 6)[1]) == set(simulate.truth(fleet))


def test_which_parts_a_group_uses() -> None:
    """Two leaves of two nodes below one spine, a third leaf below another, and both below the core."""
    tree = Topology(
        {"a": "l1", "b": "l1", "c": "l2", "d": "l2", "e": "l3", "f": "l3", "l1": "s1", "l2": "s1", "l3": "s2"}
        | {"s1": "core", "s2": "core"}
    )
    places = ("a", "b", "c", "d", "e", "f")
    shapes = {"ab": (0, 1), "ac": (0, 2), "ae": (0, 4), "ef": (4, 5), "abcd": (0, 1, 2, 3)}
    rows = [members for members in shapes.values() for _ in range(4)]
    tests = GroupTests(
        metric=simulate.TIME,
        params={},
        places=places,
        hosts=places,
        test=np.repeat(np.arange(len(rows)), [len(one) for one in rows]),
        member=np.array([place for one in rows for place in one], np.int64),
        values=np.ones(len(rows)),
        round=np.full(len(rows), -1, np.int64),
        rail=np.full(len(rows), -1, np.int64),
    )
    found = parts.of(tests, tree)
    uses: dict[str, set[str]] = {}
    for index, (kind, name) in enumerate(zip(found.kinds, found.names, strict=True)):
        mine = {list(shapes)[test // 4] for test in fit.tests_of(found, index).tolist()}
        for one in (parts.label(kind, name), *found.alike[index]):
            uses[one] = mine
    assert uses["switch l1"] == {"ab", "ac", "ae", "abcd"}
    assert uses["uplink of l1"] == {"ac", "ae", "abcd"}
    assert uses["switch s1"] == {"ac", "ae", "abcd"}
    assert uses["uplink of s1"] == uses["switch core"] == uses["uplink of l3"] == uses["path l1 - l3"] == {"ae"}
    assert uses["path l1 - l2"] == {"ac", "abcd"}
    assert uses["switch l3"] == {"ae", "ef"}
    assert "uplink of core" not in uses


def test_chance_of_a_healthy_place_is_uniform_in_its_tail() -> None:
    """Of places that differ, drawn and measured, as many pass a level as the level says."""
    rng = np.random.default_rng(8)
    size, spread, u, count = 4, 1.0, 0.3, 200_000
    slowness = rng.normal(0, spread, count)
    fellows = rng.normal(0, spread, (count, size - 1)).max(axis=1)
    pooled = np.array([np.maximum(x, fellows[:400]).mean() for x in slowness[:10_000]])
    effects = pooled - np.median(pooled) + rng.normal(0, u, len(pooled))
    p = evidence.chance(effects, np.full(len(effects), u), spread, 200, size, 1000)
    for level in (0.1, 0.01, 0.001):
        expected = level * len(p)
        assert abs((p < level).sum() - expected) < 5 * math.sqrt(expected) + 0.35 * expected


def test_rounds_are_disjoint_groups_of_one_size_that_meet_seldom() -> None:
    for places in (5, 13, 64, 300):
        size = groups.group_size(places)
        met = np.zeros((places, places), int)
        for one in groups.first_rounds(places, 1, count=groups.most_rounds(places)):
            members = [place for group in one for place in group]
            assert len(members) == len(set(members)) and {len(group) for group in one} == {size}
            assert len(members) > places - size
            for group in one:
                met[np.ix_(group, group)] += 1
        tests = np.diag(met)
        assert tests.max() - tests.min() <= 2
        assert np.triu(met, 1).max() <= 3


def test_doubtful_places_stay_apart_and_local_rounds_stay_behind_one_switch() -> None:
    leaves = [place // 8 for place in range(64)]
    rounds = groups.next_rounds(64, 1, 6, 4, apart=(0, 1, 2, 3), leaves=leaves)
    local = [all(len({leaves[place] for place in group}) == 1 for group in one) for one in rounds]
    assert local == [False, True, False, False]
    for one, is_local in zip(rounds, local, strict=True):
        if not is_local:
            assert max(len({0, 1, 2, 3} & set(group)) for group in one) == 1


def test_a_rate_and_a_time_say_the_same() -> None:
    fleet = GroupFleet(places=64, slow_places={9: 0.1})
    seconds, verdict = campaign(fleet, 7)
    metric = Metric(name="x.rate", title="Rate", unit="B/s", better="higher", per="bytes/s")
    other = groups.verdict(seconds._replace(metric=metric, values=1 / seconds.values))
    assert [one.name for one in other.slow] == [one.name for one in verdict.slow] == ["n10"]
    assert math.isclose(1 / (1 - other.slow[0].effect.slower), 1 + verdict.slow[0].effect.slower, rel_tol=1e-9)
