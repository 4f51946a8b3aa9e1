"""A submission to the Green500 that reaches Level 3, with meters whose truth is known, for tests to spoil."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shakedown.energy.green500 import levels, node_sample, rules, submission
from shakedown.energy.green500.levels import Assessment
from shakedown.energy.green500.submission import Submission
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.metering.meters import Channel, Status, channel_key
from shakedown.metering.trace import Trace, trace

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


# ---------------------------------------------------------------------------------------------- what may be wrong with it


def subset(raw: Raw, keep: int, *, random: bool = True) -> None:
    """Only ``keep`` racks' nodes are measured: as many groups as the seed 7 draws, behind so many feeds."""
    one = raw["sets"][0]
    found = submission.describe(raw, "test.toml")
    chosen = node_sample.shuffled(found.sets[0], 7)[: keep * 4]
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
