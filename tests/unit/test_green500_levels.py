"""The level checker: a table of submissions with the level and the rule that each must get."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from shakedown.energy.green500.levels import Assessment
from support.sites import (
    BOUND,
    Change,
    Meters,
    Raw,
    accuracy,
    as_power,
    assessed,
    both,
    downstream,
    gap,
    meter,
    put,
    reset,
    site,
    stamps,
    subset,
    three_heterogeneous,
    without_fabric_meter,
)

S = subset
TABLE: list[tuple[str, Change, str, int, str]] = [
    # name, what is changed, rule set, level, the rule that keeps it from the next level ("" at Level 3)
    ("all as it should be", both(), "2.0", 3, ""),
    ("all as it should be, draft", both(), "3.0-draft", 3, ""),
    ("mean power instead of energy", as_power, "2.0", 2, "1a.integrated"),
    ("mean power each second, draft", as_power, "3.0-draft", 3, ""),
    ("does not integrate", put("meters.0.integrates", False), "2.0", 2, "1a.integrated"),
    ("slow waveform sampling", put("meters.0.waveform_hz", 1000.0), "2.0", 2, "1a.waveform"),
    ("slow waveform sampling, draft", put("meters.0.waveform_hz", 1000.0), "3.0-draft", 3, ""),
    ("DC meter at 120 Hz", both(put("meters.0.waveform_hz", 120.0), put("meters.0.current", "dc")), "2.0", 3, ""),
    ("samples each 5 s inside", both(as_power, put("meters.0.samples_hz", 0.2)), "2.0", 0, "1a.sampling"),
    ("point readings each 10 s", both(as_power, meter(scope="point", step_s=10.0), put("meters.0.samples_hz", None)),
     "2.0", 0, "1a.sampling"),
    ("points each 10 s, draft", both(as_power, meter(scope="point", step_s=10.0)), "3.0-draft", 1, "1b.interval"),
    ("short core phase", put("phases.core", stamps((0.0, 50.0))), "2.0", 0, "1b.core-length"),
    ("core of exactly a minute", put("phases.core", stamps((0.0, 60.0))), "2.0", 3, ""),
    ("counter each 50 s, phase off", meter(step_s=50.0, phase_s=20.0), "2.0", 2, "1b.edges"),
    ("counter each 50 s at the edge", meter(step_s=50.0, phase_s=2.0), "2.0", 2, "1b.edges"),
    ("interval of a fifth", both(as_power, meter(step_s=120.0, begin_s=-1e3, end_s=1e3)), "2.0", 0, "1b.interval"),
    ("60 s interval, ten readings, draft", both(as_power, meter(step_s=60.0, begin_s=-1e3, end_s=1e3)), "3.0-draft", 1,
     "1b.interval"),
    ("75 s interval, draft", both(as_power, meter(step_s=75.0, begin_s=-1e3, end_s=1e3)), "3.0-draft", 0, "1b.interval"),
    ("counter each 100 s, 95 s from the end, draft", meter(step_s=100.0, phase_s=5.0, begin_s=-995.0, end_s=1e3),
     "3.0-draft", 0, "1b.interval"),
    ("counter each 99 s, 3 s from both ends, draft", meter(step_s=99.0, phase_s=3.0, begin_s=-995.0, end_s=1e3),
     "3.0-draft", 1, "1b.interval"),
    ("10 s meter polled each second", both(as_power, meter(step_s=10.0, poll_s=1.0)), "2.0", 2, "1a.integrated"),
    ("10 s meter polled each second, draft", both(as_power, meter(step_s=10.0, poll_s=1.0)), "3.0-draft", 1,
     "1b.interval"),
    ("readings begin late", meter(begin_s=30.0), "2.0", 0, "1b.coverage"),
    ("readings end with the core", meter(end_s=605.0), "2.0", 1, "1b.coverage"),
    ("no full run", put("phases.full_run", None), "2.0", 1, "1b.full-run"),
    ("no idle", put("phases.idle", None), "2.0", 1, "1c.idle"),
    ("idle asleep", put("phases.idle.ready", False), "2.0", 1, "1c.idle"),
    ("idle without readings", put("phases.idle", stamps((-5000.0, -4000.0))), "2.0", 1, "1c.idle"),
    ("5 % of mean power missing", both(as_power, meter(spoil=gap(0.05))), "2.0", 0, "1b.gaps"),
    ("half a percent missing", both(as_power, meter(spoil=gap(0.005))), "2.0", 2, "1a.integrated"),
    ("counter with failed readings", meter(spoil=gap(0.005)), "2.0", 3, ""),
    ("counter reset in the core", meter(spoil=reset), "2.0", 1, "1c.full-run"),
    ("half the racks", lambda raw, m: S(raw, 2), "2.0", 2, "2.fraction"),
    ("one rack of four", lambda raw, m: S(raw, 1), "2.0", 2, "2.fraction"),
    ("not drawn at random", lambda raw, m: S(raw, 2, random=False), "2.0", 0, "2.random"),
    ("drawn, but others measured", both(lambda raw, m: S(raw, 2), put("selection.seed", 8)), "2.0", 0, "2.random"),
    ("a chassis torn", both(lambda raw, m: S(raw, 2), lambda raw, m: raw["feeds"][0]["nodes"].pop(0)), "2.0", 0,
     "2.chassis"),
    ("the workload on fewer nodes", put("performance.nodes", 60), "2.0", 0, "2.workload"),
    ("a set hardly measured", three_heterogeneous(1), "2.0", 0, "2.sets"),
    ("a set measured by an eighth", three_heterogeneous(2), "2.0", 2, "2.fraction"),
    ("interconnect estimated", lambda raw, m: without_fabric_meter(raw, **BOUND), "2.0", 2, "3.interconnect"),
    ("typical instead of maximum", lambda raw, m: without_fabric_meter(raw, **BOUND, basis="typical"), "2.0", 0,
     "3.bound"),
    ("estimate without formula", lambda raw, m: without_fabric_meter(raw, upper_bound_w=4e3), "2.0", 0, "3.estimate"),
    ("nothing of the interconnect", lambda raw, m: without_fabric_meter(raw, **BOUND) or raw["subsystems"].pop(0), "2.0",
     0, "3.interconnect"),
    ("storage estimated", put("subsystems.1", {"name": "lustre", "kind": "storage", "state": "estimated", **BOUND}),
     "2.0", 2, "3.storage"),
    ("storage estimated badly", put("subsystems.1", {"name": "lustre", "kind": "storage", "state": "estimated"}), "2.0", 1,
     "3.estimate"),
    ("idle GPUs subtracted", put("subtracted", [{"what": "GPUs", "watts": 900.0}]), "2.0", 0, "3.subtracted"),
    ("downstream, no model", meter(place="board"), "2.0", 0, "4a.loss"),
    ("downstream, maker's data", downstream("maker"), "2.0", 1, "4a.loss"),
    ("downstream, measured offline", downstream("offline"), "2.0", 2, "4a.loss"),
    ("offline at one load", downstream("offline", efficiency=[[400.0, 0.94]]), "2.0", 1, "4a.load"),
    ("offline beyond its loads", downstream("offline", efficiency=[[10.0, 0.9], [50.0, 0.92]]), "2.0", 0, "4a.load"),
    ("simultaneous each minute", downstream("simultaneous", every_s=60.0), "2.0", 3, ""),
    ("simultaneous each ten minutes", downstream("simultaneous", every_s=600.0), "2.0", 2, "4a.loss-interval"),
    ("1.5 % meters", lambda raw, m: accuracy(raw, 0.015), "2.0", 2, "4b.accuracy"),
    ("1.5 % meters, revenue grade", both(lambda raw, m: accuracy(raw, 0.015), put("meters.0.standard", "ansi-c12.20")),
     "2.0", 3, ""),
    ("IEC class is not in 2.0", both(lambda raw, m: accuracy(raw, 0.015), put("meters.0.standard", "iec-62053-21-1")),
     "2.0", 2, "4b.accuracy"),
    ("IEC class, draft", both(lambda raw, m: accuracy(raw, 0.015), put("meters.0.standard", "iec-62053-21-1")),
     "3.0-draft", 3, ""),
    ("3 % meters, unequal shares", lambda raw, m: accuracy(raw, 0.03), "2.0", 1, "4b.accuracy"),
    ("6 % meters", lambda raw, m: accuracy(raw, 0.06), "2.0", 0, "4b.accuracy"),
    ("four 2 % meters of equal shares", both(lambda raw, m: accuracy(raw, 0.02), lambda raw, m: raw["feeds"].pop(4),
     put("feeds.0.includes", ["fabric"])), "2.0", 3, ""),
    ("accuracy without a source", put("meters.0.accuracy.source", ""), "2.0", 0, "4b.documented"),
    ("accuracy of full scale", both(put("meters.0.accuracy.full_scale", 0.01), put("meters.0.range_w", 20e3)), "2.0", 1,
     "4b.accuracy"),
    ("accuracy of a full scale that is not given", put("meters.0.accuracy.full_scale", 0.01), "2.0", 0, "4b.documented"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "which", "level", "rule"), TABLE, ids=[row[0] for row in TABLE])
def test_each_submission_gets_its_level_and_its_rule(
    name: str, change: Change, which: str, level: int, rule: str
) -> None:
    raw, meters = site(), Meters()
    change(raw, meters)
    found = assessed(raw, meters, f"eehpcwg-{which}")
    failed = {one.rule for aspect in found.aspects for one in aspect.failed if one.level == level + 1}
    assert found.level == level, [one for aspect in found.aspects for one in aspect.failed]
    assert found.level == min(one.level for one in found.aspects)
    if rule:
        assert rule in failed
        assert any("needs" in sentence for sentence in found.next)
    else:
        assert not found.next
        assert not any(one.failed for one in found.aspects)


def test_what_holds_for_many_feeds_is_said_once() -> None:
    raw, meters = site(), Meters()
    as_power(raw, meters)
    meters.step_s = 120.0
    aspect = next(one for one in assessed(raw, meters).aspects if one.id == "1b")
    assert any(text.startswith("rack0, rack1, rack2 and 2 more: ") for text in aspect.evidence)
    failed = [one for one in aspect.failed if one.rule == "1b.interval" and one.level == 1]
    assert len(failed) == 3 and failed[-1].text.endswith("(and 2 more like it)")


def test_small_subsets_fail_by_count_watts_and_share() -> None:
    """A large system: ten nodes of 64 are too few of fifteen; 1/10 of 640 is more than one rack; 40 kW suffice alone."""
    raw, meters = site(), Meters()
    raw["sets"][0] |= {"nodes": 640, "names": [], "chassis": 1}
    raw["feeds"] = [{**raw["feeds"][0], "nodes": [], "node_count": 16}, raw["feeds"][4]]
    raw["feeds"][0].pop("nodes")
    raw["selection"] = {"how": "random"}
    found = assessed(raw, meters)
    aspect = next(one for one in found.aspects if one.id == "2")
    assert {one.rule for one in aspect.failed if one.level == 1} == {"2.fraction"}
    assert "64 nodes" in aspect.failed[0].needs
    raw["feeds"][0]["node_count"] = 10
    aspect = next(one for one in assessed(raw, meters).aspects if one.id == "2")
    assert {one.rule for one in aspect.failed if one.level == 1} == {"2.fraction", "2.nodes"}
    meters.scale = {0: 4.0, 4: 0.5}  # one feed of more than 40 kW
    aspect = next(one for one in assessed(raw, meters).aspects if one.id == "2")
    assert aspect.level == 1


# --------------------------------------------------------------------------------------------- what the next level needs


def switches_estimated(raw: Raw, meters: Meters) -> None:
    raw["feeds"] = [feed for feed in raw["feeds"] if feed["name"] != "switches"]
    raw["subsystems"][0] = {"name": "fabric", "kind": "interconnect", "state": "estimated", **BOUND}


#: What is wrong, at which level that leaves the site, and for each fault what the advice must say. The faults are those of
#: submissions as they are made: a first try; a careful Level 1; a Level 2 from rack meters of 2 %.
ADVISED: dict[str, tuple[int, dict[str, tuple[Change, str]]]] = {
    "a first try": (
        0,
        {
            "short run": (put("phases.core", stamps((0.0, 50.0))), "Level 1 needs a core phase of at least 60 s"),
            "chosen by hand": (
                lambda raw, m: S(raw, 2, random=False),
                "Level 1 needs nodes drawn at random (shakedown energy draw)",
            ),
            "no switches": (
                lambda raw, m: raw["subsystems"].pop(0) and raw["feeds"].pop(),
                'Level 1 needs a subsystem of kind "interconnect", measured or estimated',
            ),
        },
    ),
    "a careful Level 1": (
        1,
        {
            "no idle": (put("phases.idle", None), "Level 2 needs the phase idle with its readings"),
            "maker's loss": (
                downstream("maker"),
                "Level 2 needs a meter upstream, or the loss by a measurement of one supply or a second meter",
            ),
            "5 % meters": (lambda raw, m: accuracy(raw, 0.05), "Level 2 needs 2% or better"),
        },
    ),
    "a Level 2 from rack meters": (
        2,
        {
            "mean powers": (as_power, "Level 3 needs an energy counter that integrates without a break on every feed"),
            "half the racks": (lambda raw, m: S(raw, 2), "Level 3 needs all 64"),
            "2 % meters": (
                lambda raw, m: accuracy(raw, 0.02),
                "Level 3 needs 1% or better, or 4 meters of equal shares",
            ),
            "switches estimated": (
                switches_estimated,
                "Level 3 needs a meter on 'fabric'",
            ),
        },
    ),
}


def spoiled(changes: Iterable[Change]) -> Assessment:
    raw, meters = site(), Meters()
    for change in changes:
        change(raw, meters)
    return assessed(raw, meters)


@pytest.mark.parametrize("name", ADVISED)
def test_who_follows_the_advice_for_the_next_level_reaches_it_and_who_leaves_one_out_does_not(name: str) -> None:
    level, faults = ADVISED[name]
    found = spoiled(change for change, _ in faults.values())
    assert found.level == level
    for fault, (_, needs) in faults.items():
        assert any(needs in one for one in found.next), (fault, found.next)
    assert spoiled([]).level > level
    for fault, (
        change,
        needs,
    ) in faults.items():  # each fault alone holds the level back, and its advice alone is given
        alone = spoiled([change])
        assert alone.level == level, fault
        assert any(needs in one for one in alone.next), (fault, alone.next)
        others = [words for other, (_, words) in faults.items() if other != fault]
        assert not [one for one in alone.next if any(words in one for words in others)], fault


def test_at_level_three_there_is_no_next_level() -> None:
    assert spoiled([]).next == ()
