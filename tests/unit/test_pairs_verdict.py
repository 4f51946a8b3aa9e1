"""Slow nodes, slow links and what they share are named apart, on fleets whose truth is known."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.analysis import pairs
from shakedown.analysis.pairs import Pairs, PairVerdict, simulate
from shakedown.analysis.pairs.simulate import LATENCY, Fleet
from shakedown.document import heat_map
from shakedown.report import pairs as _pairs


def nodes(verdict: PairVerdict) -> list[str]:
    return sorted(one.node for one in verdict.slow_nodes if one.share == 1)


def links(verdict: PairVerdict) -> list[tuple[str, str]]:
    return sorted((one.a, one.b) for one in verdict.slow_links)


def slowed(measured: Pairs, rows: object, share: float) -> Pairs:
    """The rows with so much less speed."""
    values = measured.values.copy()
    values[rows] *= 1 - share
    return measured._replace(values=values)


FAULTS = {"slow_nodes": {2: 0.1}, "slow_links": {(3, 9): 0.3}}


@pytest.mark.parametrize("count", [10, 17, 64])
@pytest.mark.parametrize("metric", [simulate.BANDWIDTH, LATENCY])
def test_a_slow_node_and_a_slow_link_are_named_apart(count: int, metric: object) -> None:
    for seed in range(3):
        verdict = pairs.verdict(simulate.pairs(Fleet(nodes=count, metric=metric, **FAULTS), seed))  # type: ignore[arg-type]
        assert (verdict.state, nodes(verdict), links(verdict)) == ("slow", ["n3"], [("n4", "n10")])
        (node,), (link,) = verdict.slow_nodes, verdict.slow_links
        # a tenth of the speed lost: 10 % of a rate, 11.1 % more of a time
        truth = 0.1 if verdict.metric.better == "higher" else 1 / 0.9 - 1
        assert node.effect.slower == pytest.approx(truth, abs=0.02)
        assert node.effect.low < node.effect.slower < node.effect.high
        assert link.effect.slower == pytest.approx(0.3 if verdict.metric.better == "higher" else 1 / 0.7 - 1, abs=0.06)
        assert link.passes == 1
        assert node.pairs == count - 1


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    inside = 0
    for seed in range(60):
        fleet = Fleet(nodes=16, slow_nodes={2: 0.1}, slow_links={(3, 9): 0.3}, node=0.0)
        verdict = pairs.verdict(simulate.pairs(fleet, seed))
        for effect, truth in ((verdict.slow_nodes[0].effect, 0.1), (verdict.slow_links[0].effect, 0.3)):
            inside += effect.low <= truth <= effect.high
    assert 106 <= inside <= 119  # of 120, for 95 %


@pytest.mark.parametrize("count", [5, 6, 7, 8, 12, 32, 100])
def test_a_healthy_fleet_names_nothing(count: int) -> None:
    named = 0
    for seed in range(40 if count < 10 else 8):
        verdict = pairs.verdict(simulate.pairs(Fleet(nodes=count), seed))
        assert verdict.state != "undecided"
        named += verdict.state == "slow"
    assert named <= 2 if count < 8 else named == 0


def test_the_whole_goal_once() -> None:
    """1,024 nodes, each pair once: 5 slow nodes and 10 slow links; scripts/bench/pairs.py does it for many seeds."""
    rng = np.random.default_rng(11)
    slow_nodes = {
        int(place): share for place, share in zip(rng.choice(1024, 5, False), (0.05, 0.08, 0.1, 0.15, 0.2), strict=True)
    }
    slow_links = {
        (int(a), int(b)): float(s)
        for a, b, s in zip(range(10), rng.choice(range(500, 1000), 10, False), rng.uniform(0.15, 0.5, 10), strict=True)
    }
    verdict = pairs.verdict(simulate.pairs(Fleet(nodes=1024, slow_nodes=slow_nodes, slow_links=slow_links), 1))
    assert nodes(verdict) == sorted(f"n{place + 1}" for place in slow_nodes)
    assert set(links(verdict)) == {(f"n{a + 1}", f"n{b + 1}") for a, b in slow_links}
    assert (verdict.pairs, verdict.possible, verdict.rounds) == (523776, 523776, 1023)
    assert len(verdict.slow_nodes) == 5
    assert not verdict.slow_groups


def test_two_slow_nodes_may_cost_as_much_as_the_slower_alone() -> None:
    fleet = Fleet(nodes=32, slow_nodes={2: 0.1, 5: 0.2, 9: 0.15, 20: 0.12}, slow_links={(3, 9): 0.4}, bottleneck=True)
    verdict = pairs.verdict(simulate.pairs(fleet, 1))
    assert nodes(verdict) == ["n10", "n21", "n3", "n6"]
    assert links(verdict) == [("n4", "n10")]
    assert not verdict.slow_groups


@pytest.mark.parametrize("passes", [2, 3])
def test_a_disturbance_of_one_pass_is_no_slow_link(passes: int) -> None:
    fleet = Fleet(nodes=32, passes=passes, **FAULTS)  # type: ignore[arg-type]
    measured = simulate.pairs(fleet, 3)
    hit = np.random.default_rng(1).choice(496, 60, replace=False)  # an eighth of one pass
    once = slowed(measured, hit, 0.4)
    verdict = pairs.verdict(once)
    assert (nodes(verdict), links(verdict)) == (["n3"], [("n4", "n10")])
    assert verdict.passes == passes
    assert verdict.slow_links[0].passes == passes


def test_a_second_pass_over_the_suspects_alone_clears_them() -> None:
    fleet = Fleet(nodes=32, slow_links={(3, 9): 0.3})
    measured = simulate.pairs(fleet, 3)
    stray = np.flatnonzero((measured.a == 5) & (measured.b == 6))
    once = slowed(measured, stray, 0.4)
    assert links(pairs.verdict(once)) == [("n4", "n10"), ("n6", "n7")]
    again = np.concatenate([stray, np.flatnonzero((measured.a == 3) & (measured.b == 9))])
    both = once._replace(
        a=np.concatenate([once.a, once.a[again]]),
        b=np.concatenate([once.b, once.b[again]]),
        values=np.concatenate([once.values, measured.values[again]]),
        spread=np.concatenate([once.spread, once.spread[again]]),
        round=np.full(len(once.a) + len(again), -1),
    )
    verdict = pairs.verdict(both)
    assert links(verdict) == [("n4", "n10")]
    assert verdict.slow_links[0].passes == 2


def test_noise_that_is_far_off_on_both_sides_hides_links_rather_than_names_strays() -> None:
    fleet = Fleet(nodes=64, strays=0.02, stray=0.3)
    named = [len(pairs.verdict(simulate.pairs(fleet, seed)).slow_links) for seed in range(10)]
    strays = 0.02 * 2016 / 2 * 0.7  # on the slow side and far off, each time
    assert np.mean(named) < 0.2 * strays
    notices = pairs.verdict(simulate.pairs(fleet, 1)).notices
    assert {one.code for one in notices} & {"strays", "noisy"}


def test_a_disturbed_round_is_taken_out_and_said() -> None:
    fleet = Fleet(nodes=40, disturbed={4: 0.3}, **FAULTS)  # type: ignore[arg-type]
    verdict = pairs.verdict(simulate.pairs(fleet, 5))
    assert (nodes(verdict), links(verdict)) == (["n3"], [("n4", "n10")])
    (notice,) = (one for one in verdict.notices if one.code == "disturbed-rounds")
    assert "round 5" in notice.text


def test_near_pairs_are_no_finding_and_hide_none() -> None:
    fleet = Fleet(nodes=32, leaf=8, far=0.3, metric=LATENCY, **FAULTS)  # type: ignore[arg-type]
    measured = simulate.pairs(fleet, 2)
    found = pairs.verdict(measured)
    given = pairs.verdict(measured, switches=simulate.switches(fleet))
    for verdict, origin in ((found, "values"), (given, "topology")):
        assert (nodes(verdict), links(verdict)) == (["n3"], [("n4", "n10")])
        assert (verdict.groups, verdict.groups_from) == (4, origin)


@pytest.mark.parametrize("count", [16, 48])
def test_a_slow_uplink_is_the_switchs_and_not_its_nodes(count: int) -> None:
    fleet = Fleet(nodes=count, leaf=4, slow_leaves={1: 0.3}, **FAULTS)  # type: ignore[arg-type]
    measured = simulate.pairs(fleet, 2)
    for switches in (None, simulate.switches(fleet)):
        verdict = pairs.verdict(measured, switches=switches)
        (group,) = verdict.slow_groups
        assert group.nodes == ("n5", "n6", "n7", "n8")
        assert group.switch == ("leaf2" if switches else "")
        assert group.effect.slower == pytest.approx(0.3, abs=0.02)
        assert (nodes(verdict), links(verdict)) == (["n3"], [("n4", "n10")])


def test_one_of_several_uplinks_slow() -> None:
    fleet = Fleet(nodes=64, leaf=16)
    measured = simulate.pairs(fleet, 2)
    one, other = measured.a // 16, measured.b // 16
    leaving = (one != other) & ((one == 1) | (other == 1))
    routed = leaving & (np.random.default_rng(1).random(len(one)) < 0.25)
    verdict = pairs.verdict(slowed(measured, routed, 0.2), switches=simulate.switches(fleet))
    (group,) = verdict.slow_groups
    assert group.switch == "leaf2"
    assert set(group.nodes) == {f"n{number}" for number in range(17, 33)}
    assert group.effect.slower == pytest.approx(0.2, abs=0.02)
    assert 0.1 < group.share < 0.3
    assert not verdict.slow_nodes
    assert not verdict.slow_links


@pytest.mark.parametrize(("count", "share"), [(16, 0.5), (16, 0.3), (64, 0.5), (200, 0.3)])
def test_a_node_slow_to_some_is_one_finding_with_its_peers(count: int, share: float) -> None:
    measured = simulate.pairs(Fleet(nodes=count), 1)
    peers = np.random.default_rng(2).permutation([place for place in range(count) if place != 2])[: int(share * count)]
    rows = ((measured.a == 2) & np.isin(measured.b, peers)) | ((measured.b == 2) & np.isin(measured.a, peers))
    verdict = pairs.verdict(slowed(measured, rows, 0.2))
    (node,) = verdict.slow_nodes
    assert (node.node, set(node.peers)) == ("n3", {f"n{place + 1}" for place in peers})
    assert node.effect.slower == pytest.approx(0.2, abs=0.03)
    assert node.share == pytest.approx(len(peers) / (count - 1))
    assert not verdict.slow_links


def both_ways(count: int, seed: int) -> Pairs:
    there, back = (simulate.pairs(Fleet(nodes=count), seed + extra) for extra in (0, 1000))
    return there._replace(
        a=np.concatenate([there.a, back.b]),
        b=np.concatenate([there.b, back.a]),
        values=np.concatenate([there.values, back.values]),
        spread=np.concatenate([there.spread, back.spread]),
        round=np.full(2 * len(there.a), -1),
    )


def test_directions_are_told_apart() -> None:
    measured = both_ways(24, 1)
    a, b = measured.a, measured.b
    measured = slowed(measured, a == 4, 0.15)
    measured = slowed(measured, (a == 9) | (b == 9), 0.1)
    measured = slowed(measured, b == 16, 0.12)
    measured = slowed(measured, (a == 12) & (b == 20), 0.4)
    measured = slowed(measured, ((a == 13) & (b == 21)) | ((a == 21) & (b == 13)), 0.3)
    verdict = pairs.verdict(measured)
    assert {one.node: one.direction for one in verdict.slow_nodes} == {
        "n5": "sending",
        "n10": "both",
        "n17": "receiving",
    }
    assert {(one.a, one.b): one.one_way for one in verdict.slow_links} == {("n13", "n21"): True, ("n14", "n22"): False}
    assert (verdict.pairs, verdict.possible) == (24 * 23, 24 * 23)
    text = " ".join(one.seen for one in _pairs.named(verdict))
    assert "n5: 15 % slower to everybody when it sends" in text or "n5: 14 %" in text
    assert "n13 to n21, this way only" in text


@pytest.mark.parametrize(
    ("fleet", "code"),
    [
        (Fleet(nodes=4), "few-pairs"),
        (Fleet(nodes=20, rounds=2), "few-pairs"),
        (Fleet(nodes=2), "few-pairs"),
    ],
)
def test_too_few_pairs_are_undecided_and_never_clean(fleet: Fleet, code: str) -> None:
    verdict = pairs.verdict(simulate.pairs(fleet, 1))
    assert verdict.state == "undecided"
    assert [one.code for one in verdict.notices if one.code != "groups-decide"] == [code]
    assert verdict.noise is None


def test_a_few_rounds_find_what_is_large() -> None:
    fleet = Fleet(nodes=64, rounds=8, slow_nodes={7: 0.2})
    verdict = pairs.verdict(simulate.pairs(fleet, 2))
    assert nodes(verdict) == ["n8"]
    assert verdict.rounds == 8
    assert verdict.pairs == 8 * 32


def test_what_would_have_been_found_is_found_nine_times_in_ten() -> None:
    base = Fleet(nodes=24, node=0.0, pair=0.03)
    noise = pairs.verdict(simulate.pairs(base, 1)).noise
    assert noise is not None
    found = 0
    for seed in range(60):
        fleet = base._replace(slow_links={(3, 9): noise.smallest_link})
        found += links(pairs.verdict(simulate.pairs(fleet, seed))) == [("n4", "n10")]
    assert 46 <= found <= 60


def test_missing_pairs_cost_nothing_but_their_own_answer() -> None:
    measured = simulate.pairs(Fleet(nodes=32, **FAULTS), 1)  # type: ignore[arg-type]
    kept = np.random.default_rng(1).random(len(measured.a)) > 0.3
    kept |= (measured.a == 3) & (measured.b == 9)
    fewer = measured._replace(
        **{name: getattr(measured, name)[kept] for name in ("a", "b", "values", "spread", "round")}
    )
    verdict = pairs.verdict(fewer)
    assert (nodes(verdict), links(verdict)) == (["n3"], [("n4", "n10")])
    assert verdict.pairs == int(kept.sum()) < verdict.possible


def test_dead_pairs_are_findings_and_a_dead_node_stands_for_its_pairs() -> None:
    measured = simulate.pairs(Fleet(nodes=10), 1)
    gone = (measured.a == 2) | (measured.b == 2) | ((measured.a == 5) & (measured.b == 7))
    dead = tuple(
        pairs.DeadLink(a=measured.places[a], b=measured.places[b], why="no answer in 60 s")
        for a, b in zip(measured.a[gone].tolist(), measured.b[gone].tolist(), strict=True)
    )
    left = measured._replace(
        **{name: getattr(measured, name)[~gone] for name in ("a", "b", "values", "spread", "round")}, dead=dead
    )
    verdict = pairs.verdict(left)
    assert verdict.state == "slow"
    assert [(one.node, one.dead, one.tried) for one in verdict.dead_nodes] == [("n3", 9, 9)]
    assert [(one.a, one.b) for one in verdict.dead_links] == [("n6", "n8")]
    assert not verdict.slow_nodes


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e12])
def test_the_unit_of_the_values_does_not_matter(factor: float) -> None:
    measured = simulate.pairs(Fleet(nodes=20, **FAULTS), 1)  # type: ignore[arg-type]
    one, other = pairs.verdict(measured), pairs.verdict(measured._replace(values=measured.values * factor))
    assert (nodes(one), links(one)) == (nodes(other), links(other))
    assert other.typical == pytest.approx((one.typical or 0) * factor)
    assert other.slow_links[0].effect.slower == pytest.approx(one.slow_links[0].effect.slower)


def test_neither_the_order_of_rows_nor_of_names_matters() -> None:
    measured = simulate.pairs(Fleet(nodes=20, **FAULTS), 1)._replace(round=np.full(190, -1))  # type: ignore[arg-type]
    order = np.random.default_rng(1).permutation(190)
    shuffled = measured._replace(
        **{name: getattr(measured, name)[order] for name in ("a", "b", "values", "spread", "round")}
    )
    turned = measured._replace(a=measured.b, b=measured.a)
    for other in (shuffled, turned):
        verdict = pairs.verdict(other)
        assert (nodes(verdict), links(verdict)) == (["n3"], [("n4", "n10")])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 100_000),
    count=st.integers(2, 14),
    kept=st.floats(0.05, 1),
    wild=st.booleans(),
    ways=st.booleans(),
)
def test_whatever_was_measured_gives_a_verdict(seed: int, count: int, kept: float, wild: bool, ways: bool) -> None:
    rng = np.random.default_rng(seed)
    measured = (
        both_ways(count, seed) if ways else simulate.pairs(Fleet(nodes=count, passes=int(rng.integers(1, 4))), seed)
    )
    rows = np.flatnonzero(rng.random(len(measured.a)) < kept)
    some = measured._replace(
        **{name: getattr(measured, name)[rows] for name in ("a", "b", "values", "spread", "round")}
    )
    if wild:
        values = some.values * np.exp(
            rng.choice([0, 0, 0, 1, 5], len(rows)) * rng.standard_cauchy(len(rows)).clip(-50, 50)
        )
        some = some._replace(values=values, spread=np.where(rng.random(len(rows)) < 0.3, np.nan, some.spread))
    verdict = pairs.verdict(some)
    assert verdict.pairs <= verdict.possible
    assert (verdict.state == "slow") == bool(_pairs.named(verdict))
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=PairVerdict) == verdict


def test_equal_values_are_clean() -> None:
    measured = simulate.pairs(Fleet(nodes=12), 1)
    verdict = pairs.verdict(measured._replace(values=np.full(66, 1e10)))
    assert verdict.state == "clean"
    rounded = pairs.verdict(measured._replace(values=np.round(measured.values, -9)))  # ties: a clock of coarse steps
    assert rounded.state == "clean"


def test_sentences_and_steps_say_what_to_do() -> None:
    verdict = pairs.verdict(
        simulate.pairs(Fleet(nodes=40, slow_nodes={16: 0.12}, slow_links={(2, 8): 0.31}, node=0.0), 4)
    )
    node, link = _pairs.named(verdict)
    assert node.seen.startswith("node n17: 12 % slower to everybody (message bandwidth), 95 % interval 1")
    assert link.seen.startswith("link n3-n9: 3")
    assert "slower than its nodes explain" in link.seen
    assert "another switch port" in node.step
    assert "measure it again before anything is recabled" in link.step
    assert (node.where, link.where) == ("n17", "n3 - n9")
    assert "1 slow node, 1 slow link" in _pairs.summary(verdict)


@pytest.mark.parametrize("count", [12, 300])
def test_the_heat_map_shows_every_pair_or_the_worst_of_each_block(count: int) -> None:
    measured = simulate.pairs(Fleet(nodes=count, slow_links={(2, 8): 0.6}), 4)
    verdict = pairs.verdict(measured)
    figure = _pairs.heat(measured, verdict)
    assert figure is not None
    assert len(figure.labels) <= heat_map.MOST
    assert min(cell[2] for cell in figure.cells) == measured.values.min()
    (worst,) = (cell for cell in figure.cells if cell[2] == measured.values.min())
    assert "n3 to n9" in worst[3]
    if count == 12:
        assert len(figure.cells) == 66
