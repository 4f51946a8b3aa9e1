"""A meter that reads a load known beforehand, against the wall clock: the shipped fake, for tests and rehearsals.

``simulated:FILE.json`` names a file with the load and what each channel makes of it:

    {"start_ns": 1700000000000000000,            the load's zero; left out: when the source is opened
     "load": {"t_s": [0, 10, 20], "w": [100, 300, 100]},    w[i] from t_s[i] on, the last forever
     "channels": [{"id": "simulated/node", "quantity": "power", "unit": "W", "scope": "last", "place": "node",
                   "truth": {"refresh_s": 1, "window_s": 1, "delay_s": 0.2, "gain": 1.02, "offset": -3,
                             "resolution": 1, "noise": 0.5, "phase_s": 0, "clock_s": 0, "modulus": null}}],
     "stamped": true, "seed": 1,
     "faults": [{"kind": "gap", "begin_s": 5, "end_s": 8}, {"kind": "slow", "begin_s": 10, "end_s": 12, "seconds": 3}]}

The arithmetic is that of metering/meter_model.py (which has the meaning of each word): a reading is
gain x (mean over the window, or the power at a point, delay_s ago) + offset + noise, drawn at each refresh and repeated
until the next; an energy channel counts from its first refresh after the load's zero and wraps at the modulus. Noise belongs
to a refresh and its seed, so that two readers of one file see the same values.

Faults hold between begin_s and end_s (without end: forever), for all channels or for ``channel``: gap, refused,
unsupported, overrange, stale (each answers with that status), reset (counters restart at begin_s), repeat (the value
stands still), slow (an answer takes ``seconds``), raise (the source breaks the contract), jump (the device's clock is
``seconds`` ahead).
"""

from __future__ import annotations

import bisect
import math
import random
import time
from collections.abc import Sequence
from typing import Literal

import msgspec

from ... import strict
from ...errors import BadInput, unknown
from ...hosts.access import HostAccess
from ...records import Record
from ..meter_model import Truth, count_j, mean_w, power_shown, stamp_s, stepped
from . import Channel, Meter, Place, Quantity, Reading, Sample, Scope, Status, Target

_STATES = {
    "gap": Status.GAP,
    "refused": Status.REFUSED,
    "unsupported": Status.UNSUPPORTED,
    "overrange": Status.OVERRANGE,
    "stale": Status.STALE,
}


class _Load(Record, frozen=True, kw_only=True):
    t_s: tuple[float, ...]
    w: tuple[float, ...]


class _Described(Record, frozen=True, kw_only=True):
    """A channel with its truth; what Channel knows beyond this stays unknown, as with a real meter."""

    id: str
    truth: dict[str, float | None]
    title: str = ""
    quantity: Quantity = "power"
    unit: str = "W"
    scope: Scope = "last"
    place: Place = "node"
    host: str = ""
    within: str = ""
    most_w: float | None = None
    note: str = ""
    told: bool = False  # whether the channel states its refresh, window, delay and resolution


class _Fault(Record, frozen=True, kw_only=True):
    kind: Literal["gap", "refused", "unsupported", "overrange", "stale", "reset", "repeat", "slow", "raise", "jump"]
    begin_s: float
    end_s: float = math.inf
    seconds: float = 0.0
    channel: str = ""


class _Script(Record, frozen=True, kw_only=True):
    load: _Load
    channels: tuple[_Described, ...]
    start_ns: int | None = None
    stamped: bool = False  # whether a reading carries the device's own stamp: the refresh it was made at
    seed: int = 0
    faults: tuple[_Fault, ...] = ()


class _Energy:
    """The load's energy from its first edge to a time, exactly."""

    def __init__(self, load: _Load) -> None:
        self._t, self._w = load.t_s, load.w
        self._before = [0.0]
        for begin, end, watts in zip(self._t, self._t[1:], self._w, strict=False):
            self._before.append(self._before[-1] + (end - begin) * watts)

    def _at(self, t_s: float) -> int:
        return max(0, bisect.bisect_right(self._t, t_s) - 1)

    def joules(self, t_s: float) -> float:
        at = self._at(t_s)
        return self._before[at] + (t_s - self._t[at]) * self._w[at]

    def watts(self, t_s: float) -> float:
        return self._w[self._at(t_s)]


class SimulatedSource:
    """The channels of one file."""

    def __init__(self, script: _Script, door: HostAccess) -> None:
        self._script, self._door = script, door
        self._truths = [_truth(one) for one in script.channels]
        self._energy = _Energy(script.load)
        self._start_ns = door.now_ns() if script.start_ns is None else script.start_ns
        self.channels = tuple(map(_channel, script.channels, self._truths))

    def read(self) -> Sequence[Reading]:
        before = self._door.now_ns()
        t_s = (before - self._start_ns) * 1e-9
        held = [fault for fault in self._script.faults if fault.begin_s <= t_s < fault.end_s]
        for fault in held:
            if fault.kind == "slow":
                time.sleep(fault.seconds)
            elif fault.kind == "raise":
                raise RuntimeError("the simulated source broke")
        return [
            self._reading(index, one, before, t_s, [f for f in held if f.channel in ("", one.id)])
            for index, one in enumerate(self._script.channels)
        ]

    def _reading(self, index: int, one: _Described, before: int, t_s: float, held: Sequence[_Fault]) -> Reading:
        truth = self._truths[index]
        for fault in held:
            if fault.kind == "repeat":
                t_s = min(t_s, fault.begin_s)
        made_s = truth.phase_s + math.floor((t_s - truth.phase_s) / truth.refresh_s + 1e-9) * truth.refresh_s
        device = None
        if self._script.stamped:
            ahead_s = sum(fault.seconds for fault in held if fault.kind == "jump")
            device = self._start_ns + round((stamp_s(truth, made_s) + ahead_s) * 1e9)
        for fault in held:
            if fault.kind in _STATES:
                return Reading(index, before, self._door.now_ns(), None, None, _STATES[fault.kind])
        value = self._value(one, truth, made_s)
        return Reading(index, before, self._door.now_ns(), device, value, Status.OK)

    def _value(self, one: _Described, truth: Truth, made_s: float) -> float:
        if one.quantity == "energy":
            return stepped(truth, count_j(truth, self._energy.joules, made_s, self._zero_s(one, truth, made_s)))
        noise = 0.0
        if truth.noise:
            refresh = round((made_s - truth.phase_s) / truth.refresh_s)
            noise = random.Random(f"{self._script.seed}/{one.id}/{refresh}").gauss(0.0, 1.0)
        seen_w = mean_w(truth, self._energy.joules, self._energy.watts, made_s)
        return stepped(truth, power_shown(truth, seen_w, noise))

    def _zero_s(self, one: _Described, truth: Truth, made_s: float) -> float:
        """The refresh at which the counter stood at zero: the first after the load's zero, or the last reset."""
        resets = [
            f.begin_s
            for f in self._script.faults
            if f.kind == "reset" and f.channel in ("", one.id) and f.begin_s <= made_s
        ]
        zero = max(resets, default=0.0)
        return truth.phase_s + math.ceil((zero - truth.phase_s) / truth.refresh_s - 1e-9) * truth.refresh_s

    def close(self) -> None:
        pass


def _truth(one: _Described) -> Truth:
    """Raises BadInput for a word that is none, and for what cannot be."""
    known = [name for name in Truth._fields if name != "tau_s"]
    for name in one.truth:
        if name not in known:
            raise unknown("word of a truth", name, known, where=one.id)
    told = {name: value for name, value in one.truth.items() if value is not None}
    if not told.get("refresh_s", 0.0) > 0 or told.get("modulus", 1.0) <= 0 or told.get("window_s", 0.0) < 0:
        raise BadInput(
            f"{one.id}: a truth has a refresh_s and, where it wraps, a modulus above zero, and no window below it",
            hint="fix the file",
        )
    return Truth(**told)


def _channel(one: _Described, truth: Truth) -> Channel:
    return Channel(
        id=one.id,
        title=one.title or one.id.rpartition("/")[2],
        quantity=one.quantity,
        unit=one.unit,
        scope=one.scope,
        place=one.place,
        host=one.host,
        within=one.within,
        modulus=truth.modulus,
        most_w=one.most_w,
        device="simulated",
        note=one.note,
        refresh_s=truth.refresh_s if one.told else None,
        window_s=truth.window_s if one.told else None,
        delay_s=truth.delay_s if one.told else None,
        resolution=(truth.resolution or None) if one.told else None,
    )


def _open(target: Target, door: HostAccess) -> SimulatedSource:
    path = target.address + target.path
    if not path:
        raise BadInput("which simulation?", where=str(target), hint="name its file: simulated:FILE.json")
    text = door.read(path)
    if text is None:
        raise BadInput("cannot be read", where=path, hint="give the path of a file that describes the simulation")
    try:
        script = msgspec.json.decode(text, type=_Script)
    except strict.UNREADABLE as error:
        raise BadInput(
            f"describes no simulation: {error}", where=path, hint="docs/meters.md shows one, under 'simulated'"
        ) from None
    load = script.load
    if len(load.t_s) != len(load.w) or not load.t_s or list(load.t_s) != sorted(load.t_s):
        raise BadInput("load.t_s and load.w must be equally long, t_s rising", where=path, hint="fix the file")
    if len({one.id for one in script.channels}) != len(script.channels) or not script.channels:
        raise BadInput("there must be channels, each with an id of its own", where=path, hint="fix the file")
    return SimulatedSource(script, door)


METER = Meter(
    name="simulated",
    title="A known load, for tests and rehearsals",
    address="simulated:FILE.json",
    open=_open,
    poll_s=0.1,
    least_poll_s=0.001,
    samples=(
        Sample(
            recording="meters/simulated",
            target="simulated:/load.json",
            expect={"simulated/node": 246.0, "simulated/package": 0.0, "simulated/rail": "UNSUPPORTED"},
            source="written by hand: 250 W x 0.98 + 1 W; nothing counted yet at the load's zero",
        ),
    ),
)
