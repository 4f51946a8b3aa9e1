"""Meters that are dead, frozen, copied or in another unit reach no level, and are named with reason and effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shakedown.energy.anomalies import copied
from shakedown.energy.green500 import level_budget, submission_package
from shakedown.energy.green500.levels import Assessment
from shakedown.energy.green500.soundness import dead
from shakedown.errors import BadInput
from shakedown.metering.trace import trace
from support import fleets


def named(found: Assessment) -> dict[str, str]:
    return {one.feed: one.code for one in found.unsound}


def spoiled(rack: int, what: str) -> Any:
    def spoil(number: int, t: Any, w: Any) -> Any:
        if number != rack:
            return w
        if what == "dead":
            return np.zeros(len(w))
        if what == "frozen late":
            return np.where(t > 430, 0.0, w)  # of a counter: it stands still
        return np.where(t > -300, w[t <= -300][-1], w)  # of a power: the last value for ever

    return spoil


@pytest.mark.parametrize("quantity", ["energy", "power"])
@pytest.mark.parametrize("racks", [1, 2, 3, 4, 12, 30])
def test_sound_fleets_reach_their_level(quantity: str, racks: int) -> None:
    found = fleets.fleet(racks, quantity=quantity)
    assert not found.unsound and not found.doubt
    assert found.level == (3 if quantity == "energy" else 2)
    assert found.core.value == pytest.approx(fleets.true_w(racks), rel=6e-3)
    assert found.efficiency is not None


@pytest.mark.parametrize("step", [0.0, 3600.0, 36e3, 360e3])
def test_coarse_counters_are_neither_frozen_nor_copies(step: float) -> None:
    found = fleets.fleet(24, step=step or 1e-3)
    assert not found.unsound


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"spoil": spoiled(5, "dead")}, "dead"),
        ({"spoil": spoiled(5, "dead"), "quantity": "power"}, "dead"),
        ({"spoil": spoiled(5, "frozen late")}, "frozen"),
        ({"spoil": spoiled(5, "frozen for ever"), "quantity": "power"}, "frozen"),
        ({"copies": {5: 2}}, "copy"),
        ({"copies": {5: 2}, "quantity": "power"}, "copy"),
        ({"scale": {5: 1e-3}, "step": 3.6}, "scale"),
        ({"scale": {5: 1e3}}, "scale"),
        ({"scale": {5: 1 / 3}, "quantity": "power"}, "scale"),
        ({"scale": {5: 3600.0}, "quantity": "power"}, "scale"),
        ({"scale": {5: -1.0}, "quantity": "power"}, "negative"),
    ],
)
def test_one_bad_meter_among_like_ones_is_named_and_no_level_is_reached(told: dict[str, Any], code: str) -> None:
    found = fleets.fleet(24, **told)
    assert named(found) == {"rack005": code}
    one = found.unsound[0]
    assert one.reason and one.effect
    assert found.level == 0 and found.efficiency is None and "aspect 0" in found.doubt
    assert any("rack005" in sentence and one.reason in sentence for sentence in found.next)


def test_a_rack_at_2_9_w_among_250() -> None:
    found = fleets.fleet(250, quantity="power", scale={77: 2e-4}, every_s=20.0, step=0.1)
    assert named(found) == {"rack077": "scale"} and found.level == 0
    assert found.unsound[0].reason.startswith("2.86 W") and "too little, 0.4% of the total" in found.unsound[0].effect


def test_many_equal_findings_are_one_line() -> None:
    found = fleets.fleet(50, quantity="power", spoil=lambda rack, t, w: w * (rack % 4 != 1))
    assert len(found.unsound) == 13 and {one.code for one in found.unsound} == {"dead"}
    lines = [one for one in found.next if "readings are 0 W" in one]
    assert len(lines) == 1 and "and 10 more" in lines[0]
    assert all(one.feed in submission_package._evidence(found) for one in found.unsound)


def test_a_dead_meter_alone_is_told_too() -> None:
    for quantity in ("energy", "power"):
        found = fleets.fleet(1, quantity=quantity, spoil=lambda rack, t, w: 0 * w)
        assert named(found) == {"rack000": "dead"} and found.level == 0


def test_of_two_racks_a_factor_of_a_thousand_names_both() -> None:
    found = fleets.fleet(2, scale={1: 1e-3}, step=3.6)
    assert found.level == 0 and "rack001" in named(found)
    assert "kWh" in next(one.reason for one in found.unsound if one.feed == "rack001")


@pytest.mark.parametrize("quantity", ["energy", "power"])
@pytest.mark.parametrize("racks", [2, 3])
@pytest.mark.parametrize("share", [0.5, 0.62])
def test_a_rack_without_its_b_feed_among_two_or_three(quantity: str, racks: int, share: float) -> None:
    """Its A feed alone reads a half or less; of two not which is wrong, unless what a node draws is stated."""
    found = fleets.fleet(racks, quantity=quantity, scale={1: share})
    assert found.level == 0 and found.efficiency is None
    assert named(found) == dict.fromkeys(["rack001"] if racks == 3 else ["rack000", "rack001"], "scale")
    one = found.unsound[-1]
    assert "one feed of two?" in one.reason and "too little" in one.effect
    stated = fleets.fleet(racks, quantity=quantity, scale={1: share}, watts_per_node=590.0)
    assert named(stated) == {"rack001": "scale"}


@pytest.mark.parametrize("racks", [2, 3, 12])
def test_a_rack_with_one_feed_where_its_likes_have_two(racks: int) -> None:
    """Even where the A feeds carry most: 0.8 of what the likes draw."""

    def without_b(rack: int, side: str) -> dict[str, Any]:
        return {"of": ""} if (rack, side) == (1, "B") else {}

    found = fleets.fleet(racks, two_feeds=0.8, step=360.0, feed_words=without_b)
    assert named(found) == {"rack001A": "scale"} and found.level == 0
    assert "it has 1 feed where its likes have 2" in found.unsound[0].reason
    assert not fleets.fleet(racks, two_feeds=0.8, step=360.0).unsound


@pytest.mark.parametrize("quantity", ["energy", "power"])
@pytest.mark.parametrize("factor", [1.031, 0.97])
@pytest.mark.parametrize("racks", [2, 24])
def test_a_copy_times_a_factor(quantity: str, factor: float, racks: int) -> None:
    found = fleets.fleet(racks, quantity=quantity, copies={1: 0}, scale={1: factor}, step=2.0)
    assert named(found) == {"rack001": "copy"} and found.level == 0
    assert "those of 'rack000' times" in found.unsound[0].reason
    told = float(found.unsound[0].reason.split(" times ")[1].split(":")[0])
    assert told == pytest.approx(factor, rel=2e-3)


def test_a_counter_that_stalls_and_catches_up_is_sound() -> None:
    """A collector that answers from its memory for a minute, amid the core phase: no energy is lost."""

    def late(rack: int, t: Any, w: Any) -> Any:
        if rack != 3:
            return w
        stalled = (t >= 200) & (t < 260)
        out = np.where(stalled, 0.0, w)
        out[t == 260] += w[stalled].sum()
        return out

    found = fleets.fleet(8, spoil=late)
    assert not found.unsound and found.level == 3


# ------------------------------------------------------------------------------------------------- several feeds of a load


@pytest.mark.parametrize("share", [0.5, 0.62, 1.0])
def test_two_feeds_of_a_rack_count_its_nodes_once(share: float) -> None:
    """Even, uneven, and the B feed in reserve."""
    found = fleets.fleet(12, two_feeds=share, step=360.0)
    assert not found.unsound and found.level == 3
    assert found.core.value == pytest.approx(fleets.true_w(12), rel=6e-3)
    one = found.sets[0]
    assert (one.measured_nodes, one.feeds, one.loads) == (12 * fleets.PER_RACK, 24, 12)
    assert one.total_w == pytest.approx(one.measured_w)
    assert found.efficiency is not None and found.efficiency.value == pytest.approx(1e15 / fleets.true_w(12), rel=6e-3)


@pytest.mark.parametrize("words", ["names", "counts", "one tells"])
def test_half_of_the_racks_behind_two_feeds_each_are_extrapolated_once(words: str) -> None:
    def feed_words(rack: int, side: str) -> dict[str, Any]:
        if words == "names":
            return {}
        return {"nodes": [], "node_count": fleets.PER_RACK} if words == "counts" or side == "A" else {"nodes": []}

    def halved(rack: int, side: str) -> dict[str, Any]:
        return {**feed_words(rack, side), **({} if rack < 6 else {"of": ""})}

    whole = fleets.fleet(12, two_feeds=0.6, step=360.0, feed_words=feed_words)
    half = fleets.fleet(12, two_feeds=0.6, step=360.0, feed_words=halved)
    assert whole.core.value is not None and half.core.value == pytest.approx(whole.core.value, rel=0.03)
    assert half.sets[0].measured_nodes == 6 * fleets.PER_RACK
    assert half.sets[0].extrapolation_u_w is not None and half.sets[0].extrapolation_u_w > 0


def test_a_feed_of_a_pair_that_dies_is_named() -> None:
    def kill_b(rack: int, side: str) -> dict[str, Any]:
        return {}

    found = fleets.fleet(12, two_feeds=0.55, step=360.0, feed_words=kill_b, spoil=lambda r, t, w: w * (r != 4))
    assert set(named(found)) == {"rack004A", "rack004B"}


def test_nodes_behind_two_feeds_without_a_common_load_are_refused() -> None:
    with pytest.raises(BadInput, match=r"both name the node n00001.*load = "):
        fleets.fleet(3, two_feeds=0.5, feed_words=lambda rack, side: {"load": ""})
    with pytest.raises(BadInput, match="do not state the same nodes"):
        fleets.fleet(
            3, two_feeds=0.5, feed_words=lambda rack, side: {"nodes": [], "node_count": 24 if side == "A" else 12}
        )


def test_a_feed_of_a_load_without_a_meter_leaves_it_measured_in_part() -> None:
    def unmetered(rack: int, side: str) -> dict[str, Any]:
        return {"channel": "", "meter": ""} if (rack, side) == (2, "B") else {}

    found = fleets.fleet(4, two_feeds=0.6, feed_words=unmetered)
    failed = {one.rule for aspect in found.aspects for one in aspect.failed}
    assert "2.load" in failed and found.level == 0 and found.efficiency is None


def test_more_nodes_than_the_set_has_give_no_efficiency_and_no_factor_below_one() -> None:
    found = fleets.fleet(4, feed_words=lambda rack, side: {"nodes": [], "node_count": 48})
    assert found.level == 0 and found.efficiency is None and "aspect 2" in found.doubt
    assert found.sets[0].total_w == pytest.approx(found.sets[0].measured_w)
    assert found.core.value == pytest.approx(fleets.true_w(4), rel=6e-3)


def test_nodes_of_a_load() -> None:
    found = level_budget.loads(())
    assert found == ()


# ---------------------------------------------------------------------------------------------------------------- pieces


def test_dead_needs_three_readings_and_no_change() -> None:
    channel = fleets.metered("x", np.arange(10.0), np.ones(10), "power", 1.0, 1.0, 0).channel
    t = np.arange(5) * fleets.SECOND
    assert dead(trace(channel, t, np.zeros(5)), 0, 10 * fleets.SECOND)
    assert not dead(trace(channel, t, np.array([0, 0, 0, 1.0, 0])), 0, 10 * fleets.SECOND)
    assert not dead(trace(channel, t, np.zeros(5)), 0, fleets.SECOND)


def test_independent_meters_are_no_copies_and_copies_at_other_times_are() -> None:
    random = np.random.default_rng(3)
    t = np.arange(0.0, 900.0)
    load = np.interp(t, [0, 100, 800, 900], [15e3, 15e3, 12e3, 3e3])
    for step in (1.0, 10.0, 100.0, 1000.0):
        noisy = {f"m{i}": load + random.normal(0, 60, len(t)) for i in range(20)}
        traces = {
            name: trace(fleets.metered(name, t, w, "power", 1.0, 1.0, 0).channel, (t * 1e9).astype(np.int64),
                        np.round(w / step) * step)
            for name, w in noisy.items()
        }  # fmt: skip
        assert not list(copied.pairs(traces))
        if step <= 10:
            late = traces["m4"]
            twin = {**traces, "twin": trace(late.channel, late.t_ns[7:] + 3, late.value[7:])}
            assert list(copied.pairs(twin)) == [("m4", "twin")]
