"""The level checker: a table of submissions with the level and the rule that each must get, and the numbers behind them."""

from __future__ import annotations

import copy
import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy import bundle, draw, levels, measured, rules, submission
from shakedown.energy.levels import Assessment
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.energy.submission import Description, Submission
from shakedown.energy.trace import Trace, trace
from shakedown.errors import BadInput
from shakedown.meters import Channel, Status, channel_key

T0 = 1_780_000_000_000_000_000  # Unix ns
CORE, RUN, IDLE = (0.0, 600.0), (-60.0, 640.0), (-500.0, -300.0)
SECOND = 10**9

#: Idle, full power, HPL's fall within the core phase, back to idle, in steps of a second: W of one node.
_T = np.arange(-2000.0, 2000.0)
NODE = Load(_T, np.interp(_T, [-60, -59, 0, 1, 300, 599, 600, 640], [100, 300, 300, 710, 690, 620, 250, 100]))
Raw = dict[str, Any]


def site() -> Raw:
    """A submission that reaches Level 3: 64 nodes behind four racks, and a feed of switches, all on energy counters."""
    return {
        "title": "Test system",
        "traces": ["power.parquet"],
        "sets": [{"name": "cpu", "nodes": 64, "names": ["cn[01-64]"], "chassis": 4, "watts_per_node": 670.0}],
        "meters": [
            {
                "name": "pdu",
                "accuracy": {"reading": 0.005, "kind": "bound", "source": "data sheet"},
                "samples_hz": 10.0,
                "waveform_hz": 8000.0,
                "integrates": True,
            }
        ],
        "feeds": [
            *(
                {
                    "name": f"rack{i}",
                    "channel": f"pdu{i}:snmp/energy",
                    "of": "cpu",
                    "nodes": [f"cn[{16 * i + 1:02}-{16 * i + 16:02}]"],
                    "meter": "pdu",
                }
                for i in range(4)
            ),
            {"name": "switches", "channel": "pdu4:snmp/energy", "of": "fabric", "meter": "pdu"},
        ],
        "subsystems": [
            {"name": "fabric", "kind": "interconnect", "state": "measured"},
            {"name": "lustre", "kind": "storage", "state": "not participating"},
        ],
        "phases": {
            "core": stamps(CORE),
            "full_run": stamps(RUN),
            "idle": stamps(IDLE),
        },
        "performance": {"rmax": "200 Tflop/s"},
    }


def stamps(seconds: tuple[float, float]) -> Raw:
    return {"begin_ns": T0 + round(seconds[0] * SECOND), "end_ns": T0 + round(seconds[1] * SECOND)}


class Meters:
    """How the feeds are read; each case turns one screw."""

    def __init__(self) -> None:
        self.step_s = 1.0
        self.poll_s: float | None = None
        self.quantity = "energy"
        self.scope = "last"
        self.place = "rack"
        self.begin_s, self.end_s = -520.0, 660.0
        self.scale = {4: 0.5}  # of feed i, in racks
        self.refresh_s: float | None = None
        self.spoil: Callable[[Trace], Trace] = lambda one: one
        self.phase_s = 0.0

    def traces(self) -> dict[str, Trace]:
        out = {}
        for i in range(5):
            load = Load(NODE.t_s, NODE.w * 16 * self.scale.get(i, 1.0 + 0.01 * (i - 1.5)))
            channel = Channel(
                id=f"snmp/{'energy' if self.quantity == 'energy' else 'power'}",
                title="rack",
                host=f"pdu{i}",
                quantity=self.quantity,  # type: ignore[arg-type]
                unit="J" if self.quantity == "energy" else "W",
                scope="counter" if self.quantity == "energy" else self.scope,  # type: ignore[arg-type]
                place=self.place,  # type: ignore[arg-type]
                refresh_s=self.refresh_s,
                most_w=50e3,
            )
            truth = Truth(
                refresh_s=self.step_s,
                window_s=0.0 if self.scope == "point" or self.quantity == "energy" else self.step_s,
                phase_s=self.phase_s,
            )
            one = observe(load, truth, channel, self.begin_s, self.end_s, poll_s=self.poll_s, origin_ns=T0)
            out[channel_key(channel)] = self.spoil(one)
        return out


def as_power(raw: Raw, meters: Meters) -> None:
    """The same meters read as mean power instead of energy."""
    meters.quantity = "power"
    for feed in raw["feeds"]:
        feed["channel"] = feed["channel"].replace("energy", "power")


def assessed(raw: Raw, meters: Meters, name: str = "eehpcwg-2.0") -> Assessment:
    return levels.assess(put_together(raw, meters), rules.load(name))


def put_together(raw: Raw, meters: Meters) -> Submission:
    return submission.assemble(submission.describe(raw, "test.toml"), meters.traces())


# ---------------------------------------------------------------------------------------------------------------- the table


def subset(raw: Raw, keep: int, *, random: bool = True) -> None:
    """Only ``keep`` racks' nodes are measured: as many groups as the seed 7 draws, behind so many feeds."""
    one = raw["sets"][0]
    found = submission.describe(raw, "test.toml")
    chosen = draw.shuffled(found.sets[0], 7)[: keep * 4]
    raw["feeds"] = [*raw["feeds"][:keep], raw["feeds"][4]]
    for i in range(keep):
        raw["feeds"][i]["nodes"] = [name for group in chosen[4 * i : 4 * i + 4] for name in group]
    if random:
        raw["selection"] = {"how": "random", "seed": 7, "groups": {one["name"]: keep * 4}}


def accuracy(raw: Raw, reading: float) -> None:
    raw["meters"][0]["accuracy"]["reading"] = reading


def without_fabric_meter(raw: Raw, **told: Any) -> None:
    raw["feeds"] = raw["feeds"][:4]
    raw["subsystems"][0] = {"name": "fabric", "kind": "interconnect", "state": "estimated", **told}


BOUND = {"upper_bound_w": 4000.0, "formula": "8 switches x 500 W", "specification": "data sheet, maximum"}


def gap(share: float) -> Callable[[Trace], Trace]:
    def spoil(one: Trace) -> Trace:
        status = one.status.copy()
        at = np.flatnonzero(one.t_ns > T0 + 100 * SECOND)
        status[at[: round(share * 600)]] = Status.GAP
        return trace(one.channel, one.t_ns, np.where(status == 0, one.value, np.nan), status=status)

    return spoil


def reset(one: Trace) -> Trace:
    late = one.t_ns > T0 + 300 * SECOND
    return trace(one.channel, one.t_ns, np.where(late, one.value - one.value[late][0], one.value))


Change = Callable[[Raw, Meters], None]


def both(*changes: Change) -> Change:
    def change(raw: Raw, meters: Meters) -> None:
        for one in changes:
            one(raw, meters)

    return change


def put(path: str, value: Any) -> Change:
    """Sets one entry: ``meters.0.samples_hz``; None removes it."""

    def change(raw: Raw, meters: Meters) -> None:
        *keys, last = path.split(".")
        at: Any = raw
        for key in keys:
            at = at[int(key)] if key.isdigit() else at.setdefault(key, {})
        if value is None:
            at.pop(last, None)
        else:
            at[int(last) if last.isdigit() else last] = value

    return change


def meter(**told: Any) -> Change:
    def change(raw: Raw, meters: Meters) -> None:
        for name, value in told.items():
            setattr(meters, name, value)

    return change


def downstream(kind: str, **told: Any) -> Change:
    def change(raw: Raw, meters: Meters) -> None:
        meters.place = "board"
        raw["losses"] = [
            {
                "name": "psu",
                "kind": kind,
                "source": "report",
                "efficiency": [[100.0, 0.90], [400.0, 0.94], [900.0, 0.92]],
                **told,
            }
        ]
        for feed in raw["feeds"]:
            feed["loss"] = "psu"
            feed["supplies"] = 16

    return change


def three_heterogeneous(measured_gpu: int) -> Change:
    """48 nodes of one kind, 16 of another; all of the first and some of the second are measured."""

    def change(raw: Raw, meters: Meters) -> None:
        raw["sets"] = [{"name": "cpu", "nodes": 48, "chassis": 1}, {"name": "gpu", "nodes": 16, "chassis": 1}]
        for i, feed in enumerate(raw["feeds"][:4]):
            feed.pop("nodes")
            feed |= {"of": "gpu" if i == 3 else "cpu", "node_count": measured_gpu if i == 3 else 16}
        raw["selection"] = {"how": "random"}

    return change


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


# --------------------------------------------------------------------------------------------------------------- numbers


def test_level_three_power_is_the_counters_energy_over_their_own_time() -> None:
    """Counters of 5 s whose phase is 2 s off: the window is that between the readings inside, by the meters' stamps."""
    raw, meters = site(), Meters()
    meters.step_s, meters.phase_s = 5.0, 2.0
    found = assessed(raw, meters)
    assert found.level == 3
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    assert found.core.value == pytest.approx(nodes * NODE.mean_w(2.0, 597.0), rel=1e-12)
    assert found.efficiency is not None and found.efficiency.value == pytest.approx(
        200e12 / found.core.value, rel=1e-12
    )
    assert found.full_run is not None and found.full_run.value == pytest.approx(nodes * NODE.mean_w(-58.0, 637.0))


def test_lower_levels_take_the_mean_of_the_readings_that_lie_wholly_inside() -> None:
    raw, meters = site(), Meters()
    as_power(raw, meters)
    meters.step_s, meters.phase_s = 7.0, 3.0
    found = assessed(raw, meters)
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    assert found.core.value == pytest.approx(nodes * NODE.mean_w(3.0, 598.0), rel=1e-9)


def test_the_draft_may_weigh_readings_at_the_edges() -> None:
    """Readings that lie partly inside count for the part inside: at the begin (-4, 3] and at the end (598, 605]."""
    raw, meters = site(), Meters()
    as_power(raw, meters)
    meters.step_s, meters.phase_s = 7.0, 3.0
    found = assessed(raw, meters, "eehpcwg-3.0-draft")
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    whole = 595 * NODE.mean_w(3.0, 598.0) + 3 * NODE.mean_w(-4.0, 3.0) + 2 * NODE.mean_w(598.0, 605.0)
    assert found.core.value == pytest.approx(nodes * whole / 600, rel=1e-9)


def test_extrapolation_multiplies_each_set_and_adds_subsystems_and_bounds() -> None:
    """P = 3 x (16 of 48 nodes) + 2 x (8 of 16) + switches + an upper bound, by hand."""
    raw, meters = site(), Meters()
    raw["sets"] = [{"name": "cpu", "nodes": 48}, {"name": "gpu", "nodes": 16}]
    raw["feeds"] = [raw["feeds"][0], raw["feeds"][1], raw["feeds"][4]]
    for feed, of, count in zip(raw["feeds"][:2], ("cpu", "gpu"), (16, 8), strict=True):
        feed.pop("nodes")
        feed |= {"of": of, "node_count": count}
    raw["subsystems"].append({"name": "head", "kind": "head", "state": "estimated", **BOUND})
    raw["selection"] = {"how": "random"}
    given_ = put_together(raw, meters)
    found = levels.assess(given_, rules.load())
    mean = NODE.mean_w(0.0, 600.0)
    by_hand = 3 * 16 * 0.985 * mean + 2 * 16 * 0.995 * mean + 16 * 0.5 * mean + 4000
    assert found.core.value == pytest.approx(by_hand, rel=1e-9)
    assert found.level == 2
    assert {one.code for one in found.core.notices} == {"spread-unknown", "upper-bound"}


def test_the_finite_population_term_by_hand() -> None:
    """Four feeds of 16 nodes out of 128: u = 8 sqrt((1 - 1/2) s^2 / 4) for the feeds' spread s; nothing when all are
    measured; and the stated spread where there is one."""
    raw, meters = site(), Meters()
    raw["sets"][0] |= {"nodes": 128, "names": [], "chassis": 1}
    for feed in raw["feeds"][:4]:
        feed.pop("nodes")
        feed["node_count"] = 16
    raw["selection"] = {"how": "random"}
    found = assessed(raw, meters)
    mean = NODE.mean_w(0.0, 600.0)
    feeds = [16 * mean * (1.0 + 0.01 * (i - 1.5)) for i in range(4)]
    term = next(one for one in found.core.terms if "not measured" in one.name)
    assert term.u == pytest.approx(8 * math.sqrt(0.5 * np.var(feeds, ddof=1) / 4), rel=1e-9)
    assert term.dof == 3
    raw["sets"][0]["spread"] = 0.03
    term = next(one for one in assessed(raw, meters).core.terms if "not measured" in one.name)
    assert term.u == pytest.approx(128 * math.sqrt(0.5 / 64) * 0.03 * np.mean(feeds) / 16, rel=1e-9)
    assert not [one for one in assessed(site(), Meters()).core.terms if "not measured" in one.name]


def test_meters_of_one_model_share_what_is_stated_of_them() -> None:
    """Five devices at 0.5 % as a bound: with correlation 1 the shares add, with 0 in quadrature, between: both parts."""
    sizes = [1.0 + 0.01 * (i - 1.5) for i in range(4)] + [0.5]
    each = [16 * NODE.mean_w(0.0, 600.0) * one * 0.005 / math.sqrt(3) for one in sizes]
    for rho in (0.0, 0.5, 1.0):
        raw = site() | {"correlation": rho}
        terms = [one.u for one in assessed(raw, Meters()).core.terms if one.name.startswith("meter class")]
        want = rho * sum(each) ** 2 + (1 - rho) * sum(u**2 for u in each)
        assert sum(u**2 for u in terms) == pytest.approx(want, rel=1e-9)


def test_whole_second_stamps_widen_the_window_term() -> None:
    raw = site()
    assert not [one for one in assessed(raw, Meters()).core.terms if one.name == "window"]
    raw["phases"]["core"]["resolution_s"] = 1.0
    term = next(one for one in assessed(raw, Meters()).core.terms if one.name == "window")
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    early, late = (nodes * (NODE.mean_w(at, at + 1) - NODE.mean_w(0.0, 600.0)) for at in (0.0, 599.0))
    want = math.hypot(math.hypot(early, late) / math.sqrt(12), (late - early) / 2) / 600
    assert term.u == pytest.approx(want, rel=1e-9)


def test_half_a_second_is_moved_only_where_the_rules_allow_it() -> None:
    raw, meters = site(), Meters()
    raw["phases"]["core"]["resolution_s"] = 1.0
    raw["phases"]["half_second"] = True
    given_ = put_together(raw, meters)
    moved = measured.window_of(given_, "core", rules.load("eehpcwg-3.0-draft"))
    kept = measured.window_of(given_, "core", rules.load("eehpcwg-2.0"))
    assert moved is not None and kept is not None
    assert (moved.begin_ns - T0, kept.begin_ns - T0) == (SECOND // 2, 0)
    assert "half-second" in {one.code for one in levels.assess(given_, rules.load()).notices}


def test_the_loss_model_divides_by_the_efficiency_at_the_load_of_one_supply() -> None:
    raw, meters = site(), Meters()
    downstream("offline", efficiency=[[100.0, 0.90], [500.0, 0.94], [900.0, 0.90]], u=0.01)(raw, meters)
    found = assessed(raw, meters)
    mean = NODE.mean_w(0.0, 600.0)
    total = 0.0
    for i in range(5):
        size = 1.0 + 0.01 * (i - 1.5) if i < 4 else 0.5
        total += 16 * size * mean / np.interp(size * mean, [100.0, 500.0, 900.0], [0.90, 0.94, 0.90])
    assert found.core.value == pytest.approx(total, rel=1e-9)
    assert any(one.name == "loss model psu" for one in found.core.terms)


# ------------------------------------------------------------------------------------------------------------- properties


@given(st.integers(1, 1170), st.booleans())
@settings(max_examples=25, deadline=None)
def test_splitting_a_trace_changes_nothing(at: int, overlap: bool) -> None:
    """Two files that meet, or that share a reading, are one trace."""
    raw, meters = site(), Meters()
    whole = meters.traces()
    halves = [one.take(slice(None, at + overlap)) for one in whole.values()]
    halves += [one.take(slice(at, None)) for one in whole.values()]
    description = submission.describe(raw, "test.toml")
    one = levels.assess(submission.assemble(description, whole), rules.load())
    two = levels.assess(submission.assemble(description, submission.join(halves)), rules.load())
    assert one == two


@given(st.integers(-2000, 2000))
@settings(max_examples=15, deadline=None)
def test_moving_the_clock_of_everything_changes_no_number(hours: int) -> None:
    raw, meters = site(), Meters()
    shift = hours * 3600 * SECOND
    moved = copy.deepcopy(raw)
    for phase in moved["phases"].values():
        phase |= {key: phase[key] + shift for key in ("begin_ns", "end_ns")}
    traces = {
        key: trace(one.channel, one.t_ns + shift, one.value, status=one.status) for key, one in meters.traces().items()
    }
    here = assessed(raw, meters)
    there = levels.assess(submission.assemble(submission.describe(moved, "t"), traces), rules.load())
    assert (here.level, here.core.value) == (there.level, there.core.value)


@given(st.integers(0, 4), st.floats(-500.0, 620.0))
@settings(max_examples=25, deadline=None)
def test_losing_a_reading_of_a_counter_loses_no_joule(feed: int, at: float) -> None:
    """Any one reading within the core phase that fails leaves the Level 3 power as it was."""
    raw, meters = site(), Meters()
    traces = meters.traces()
    key = list(traces)[feed]
    one = traces[key]
    index = int(np.argmin(np.abs(one.t_ns - T0 - at * SECOND)))
    assume_inside = 1.5 < at < 598.5
    status = one.status.copy()
    status[index] = Status.GAP
    traces[key] = trace(one.channel, one.t_ns, np.where(status == 0, one.value, np.nan), status=status)
    found = levels.assess(submission.assemble(submission.describe(raw, "t"), traces), rules.load())
    if assume_inside:
        assert found.level == 3
        assert found.core.value == pytest.approx(assessed(raw, meters).core.value, rel=1e-12)


@given(st.sampled_from([1.0, 2.0, 5.0, 10.0, 20.0]), st.sampled_from([2, 4, 5]))
@settings(max_examples=15, deadline=None)
def test_reading_more_often_never_lowers_a_level(step: float, finer: int) -> None:
    for which in rules.names():
        raw, meters = site(), Meters()
        as_power(raw, meters)
        meters.step_s = step
        coarse = assessed(raw, meters, which).level
        meters.step_s = step / finer
        assert assessed(raw, meters, which).level >= coarse


def test_a_second_meter_on_a_load_adds_nothing() -> None:
    raw, meters = site(), Meters()
    alone = assessed(raw, meters)
    traces = meters.traces()
    twin = traces["pdu0:snmp/energy"]
    import msgspec

    channel = msgspec.structs.replace(twin.channel, host="lab")
    traces["lab:snmp/energy"] = twin.of(channel)
    raw["feeds"].append(
        {"name": "lab", "channel": "lab:snmp/energy", "of": "cpu", "node_count": 16, "meter": "pdu", "same_as": "rack0"}
    )
    found = levels.assess(submission.assemble(submission.describe(raw, "t"), traces), rules.load())
    assert (found.level, found.core.value) == (alone.level, alone.core.value)
    assert not found.notices
    traces["lab:snmp/energy"] = Trace(channel, twin.t_ns, twin.half_ns, twin.value * 1.03, twin.status)
    found = levels.assess(submission.assemble(submission.describe(raw, "t"), traces), rules.load())
    assert [one.code for one in found.notices] == ["meters-disagree"] and "lab reads +3.00% against rack0" in str(
        found.notices
    )


# ------------------------------------------------------------------------------------------------------------------- draw


def described(**told: Any) -> Description:
    one = {"name": "cpu", "nodes": 632, "names": ["cn[001-632]"], "chassis": 4, "watts_per_node": 700.0, **told}
    return submission.describe({"title": "t", "traces": [], "sets": [one], "feeds": []}, "t")


@pytest.mark.parametrize(
    ("told", "level", "nodes"),
    [
        ({}, 1, 60),  # 1/10 is 64 nodes of 700 W; 40 kW need 58, in chassis of 4: 60
        ({"chassis": 1}, 1, 58),
        ({}, 2, 80),  # 1/8 of 632 is 79
        ({"chassis": 8}, 2, 80),
        ({}, 3, 632),
        ({"nodes": 20, "names": ["cn[01-20]"], "chassis": 1}, 1, 15),
        ({"nodes": 20, "names": ["cn[01-20]"], "chassis": 1, "watts_per_node": 100.0}, 1, 20),  # 2 kW
        ({"nodes": 12, "names": ["cn[01-12]"], "chassis": 1}, 2, 12),  # fewer than 15: all
        ({"nodes": 100, "names": ["cn[001-100]"], "chassis": 1, "watts_per_node": 500.0}, 2, 20),  # 10 kW
    ],
)
def test_the_draw_takes_the_fewest_nodes_that_suffice(told: Raw, level: int, nodes: int) -> None:
    found = draw.draw(described(**told), rules.load(), level, 1)
    assert found.nodes == nodes


def test_the_draw_keeps_chassis_whole_and_is_the_same_again() -> None:
    description = described()
    found = draw.draw(description, rules.load(), 2, 42)
    assert found == draw.draw(description, rules.load(), 2, 42)
    assert found.sets[0].nodes != draw.draw(description, rules.load(), 2, 43).sets[0].nodes
    drawn = set(found.sets[0].nodes)
    for group in draw.groups(description.sets[0]):
        assert len(drawn & set(group)) in (0, 4)


def test_the_recorded_draw_can_be_drawn_again(tmp_path: Path) -> None:
    import tomllib

    import msgspec

    description = described()
    found = draw.draw(description, rules.load(), 2, 42)
    kept = msgspec.convert(tomllib.loads(draw.selection_toml(found))["selection"], submission.Selection)
    again = draw.redraw(msgspec.structs.replace(description, selection=kept))
    assert again == {"cpu": found.sets[0].nodes}


def test_heterogeneous_sets_get_their_share_each() -> None:
    raw = {
        "title": "t",
        "traces": [],
        "feeds": [],
        "sets": [
            {"name": "cpu", "nodes": 100, "names": ["c[001-100]"], "chassis": 4, "watts_per_node": 500.0},
            {"name": "gpu", "nodes": 30, "names": ["g[01-30]"], "chassis": 4, "watts_per_node": 3000.0},
        ],
    }
    found = draw.draw(submission.describe(raw, "t"), rules.load(), 2, 5)
    counts = {one.name: len(one.nodes) for one in found.sets}
    assert counts["cpu"] >= 13 and counts["gpu"] >= 4 and sum(counts.values()) >= 17
    assert found.watts is not None and found.watts >= 10e3


@given(st.integers(0, 2**32), st.integers(2, 9))
@settings(max_examples=20, deadline=None)
def test_every_draw_meets_the_level_that_it_was_drawn_for(seed: int, chassis: int) -> None:
    description = described(nodes=101, names=["n[001-101]"], chassis=chassis)
    found = draw.draw(description, rules.load(), 2, seed)
    assert found.nodes >= 15 and found.nodes >= 101 / 8
    assert found.watts is not None and found.watts >= 10e3


def test_each_node_is_as_likely_as_any_other() -> None:
    """Of 2000 draws of 80 from 632 each chassis is in 1 of 7.9: within five standard deviations."""
    description = described()
    count = dict.fromkeys((group[0] for group in draw.groups(description.sets[0])), 0)
    for seed in range(500):
        for group in draw.shuffled(description.sets[0], seed)[:20]:
            count[group[0]] += 1
    expected = 500 * 20 / 158
    assert max(abs(one - expected) for one in count.values()) < 5 * math.sqrt(expected)


def test_a_draw_without_names_or_watts_says_what_is_missing() -> None:
    with pytest.raises(BadInput, match="no node names"):
        draw.draw(described(names=[]), rules.load(), 1, 1)
    bare = described()
    import msgspec

    one = msgspec.structs.replace(bare.sets[0], watts_per_node=None)
    with pytest.raises(BadInput, match="what a node draws"):
        draw.draw(msgspec.structs.replace(bare, sets=(one,)), rules.load(), 1, 1)


# ----------------------------------------------------------------------------------------------------------------- bundle


def test_the_bundle_is_complete_and_the_same_twice(tmp_path: Path) -> None:
    raw, meters = site(), Meters()
    given_ = put_together(raw, meters)
    found = levels.assess(given_, rules.load())
    contents = bundle.files(given_, found, rules.load(), "title = 1\n")
    for path in (tmp_path / "a.zip", tmp_path / "b"):
        bundle.write(path, contents)
    again = tmp_path / "again"
    again.mkdir()
    bundle.write(again / "a.zip", bundle.files(given_, found, rules.load(), "title = 1\n"))
    assert (tmp_path / "a.zip").read_bytes() == (again / "a.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert {name.removeprefix("a/") for name in archive.namelist()} == set(contents)
    import hashlib

    for line in (tmp_path / "b" / "SHA256SUMS").read_text().splitlines():
        total, name = line.split("  ")
        assert hashlib.sha256((tmp_path / "b" / name).read_bytes()).hexdigest() == total
    assert json.loads(contents["assessment.json"])["level"] == 3
    rows = contents["series/total.csv"].splitlines()
    assert rows[0].startswith("begin_utc,end_utc,total_w,rack0_w") and len(rows) == 1 + 700
    assert "rack0 [pdu, upstream of the conversion] -> cpu, 16 nodes" in contents["schematic.txt"]
    averages = [line.split(",") for line in contents["series/averages.csv"].splitlines()[1:]]
    assert [row[3] for row in averages] == ["full run"] + ["core"] * 10
    nodes = 16 * (sum(1.0 + 0.01 * (i - 1.5) for i in range(4)) + 0.5)
    assert float(averages[1][2]) == pytest.approx(nodes * NODE.mean_w(0.0, 60.0), rel=1e-7)
    with pytest.raises(BadInput, match="not empty"):
        bundle.write(tmp_path / "b", contents)


def test_failed_readings_stand_in_the_bundle_with_their_state_and_no_value() -> None:
    raw, meters = site(), Meters()
    meters.spoil = gap(0.005)
    given_ = put_together(raw, meters)
    text = bundle.files(given_, levels.assess(given_, rules.load()), rules.load())["readings/rack0.csv"]
    assert text.count(",,gap\n") == 3
