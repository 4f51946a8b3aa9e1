"""Shelly's metering plugs and meters (second generation and later): a node's or an outlet's power at the wall.

    shelly://PLUG?host=n7
    shelly://admin@METER             where a password is set: SHAKEDOWN_SHELLY_PASSWORD or ?password_file=PATH

One request to /rpc/Shelly.GetStatus reads every measuring part of the device at the same time: switches and their meters
(``switch:0``, ``pm1:0``), three-phase meters (``em:0`` with the counter ``emdata:0``) and their single clamps (``em1:0``,
``em1data:0``). Power is active power in watts, the device's own average over a time that it does not report; energy counts
in watt-hours with three decimals, 3.6 J a step. The status has no stamp of the measurement, so the reader's clock counts.

A counter that falls was set back by a user, or the device lost power before it had saved it: RESET. A part that reports a
value out of its range is OVERRANGE, one without a number is a GAP. The password is never sent: the device asks for HTTP's
digest of it (SHA-256); the readings themselves are not encrypted. A meter for billing it is not: no accuracy is stated.

Source: Shelly Gen2+ device API, components Switch, PM1, EM, EMData, EM1 and EM1Data; authentication.
"""

from __future__ import annotations

import re
from typing import Any

from ...errors import Unavailable
from ...hosts.access import HostAccess
from . import Channel, Meter, Reading, Source, Status, Target, secret
from ._http import Http
from ._network import OPTIONS, Bounded, Lost, Polled, connect, limit_s, measured, place

PORT = 80
_J_PER_WH = 3600.0
_COUNTER_STEP_J = 3.6
_MOST = 1e12  # watts or watt-hours: what is more is no measurement
#: Part -> the keys that lead to its power in watts, and to its energy in watt-hours.
_PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "switch": (("apower",), ("aenergy", "total")),
    "pm1": (("apower",), ("aenergy", "total")),
    "em": (("total_act_power",), ()),
    "emdata": ((), ("total_act",)),
    "em1": (("act_power",), ()),
    "em1data": ((), ("total_act_energy",)),
}

Value = float | Status


def parse(body: Any) -> dict[str, Value]:
    """What a status shows: ``switch0/power`` -> watts, ``em1data0/energy`` -> joules, or why there is none. Raises Lost."""
    if not isinstance(body, dict):
        raise Lost("/rpc/Shelly.GetStatus: sent no object", broken=False)
    found: dict[str, Value] = {}
    for name in sorted(body):
        part = re.fullmatch(r"([a-z]+1?[a-z]*):(\d{1,3})", name)
        if part is None or part[1] not in _PARTS or not isinstance(body[name], dict):
            continue
        for quantity, keys, factor in zip(("power", "energy"), _PARTS[part[1]], (1.0, _J_PER_WH), strict=True):
            if keys and keys[0] in body[name]:
                dot = "." if re.search(r"\d$", part[1]) else ""
                found[f"{part[1]}{dot}{part[2]}/{quantity}"] = _value(body[name], keys, factor)
    return found


def _value(part: dict[str, Any], keys: tuple[str, ...], factor: float) -> Value:
    errors = [str(word) for key, words in part.items() if key.endswith("errors") for word in words or ()]
    if any(word.startswith("out_of_range") for word in errors):
        return Status.OVERRANGE
    value: Any = part
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _MOST:
        return Status.GAP
    return float(value) * factor


class _Device:
    """One device."""

    def __init__(self, target: Target, door: HostAccess, limit: float) -> None:
        self._target, self._door, self._limit = target, door, limit
        password = secret(target, door)
        self.http = Http(target, PORT, tls=False, digest=(target.user or "admin", password) if password else None)
        self.channels: tuple[Channel, ...] = ()
        self._last: dict[str, float] = {}

    def _get(self, method: str) -> Any:
        return self.http.send(f"/rpc/{method}", self._limit).body

    def discover(self) -> tuple[Channel, ...]:
        """The channels that the device has. Raises Lost."""
        about = self._get("Shelly.GetDeviceInfo")
        about = about if isinstance(about, dict) else {}
        self.channels = tuple(self._channel(name, about) for name in parse(self._get("Shelly.GetStatus")))
        if not self.channels:
            raise Unavailable(
                "the device measures no power", where=str(self._target), hint="give a plug or meter with power metering"
            )
        return self.channels

    def _channel(self, name: str, about: dict[str, Any]) -> Channel:
        part, _, quantity = name.partition("/")
        energy = quantity == "energy"
        return Channel(
            id=f"shelly/{name}",
            title=f"{quantity} of {part}",
            quantity="energy" if energy else "power",
            unit="J" if energy else "W",
            scope="counter" if energy else "last",
            place=place(self._target, "node"),
            host=measured(self._target, PORT),
            resolution=_COUNTER_STEP_J if energy else None,
            device=f"Shelly {about.get('app', '')} {about.get('model', '')} {about.get('id', '')}".strip(),
            firmware=str(about.get("ver", "")),
            note="" if energy else "the device's own average over a time that it does not report",
        )

    def ask(self, out: list[Reading]) -> None:
        """All channels, from one answer. Raises Lost."""
        before = self._door.now_ns()
        found = parse(self._get("Shelly.GetStatus"))
        after = self._door.now_ns()
        for index, channel in enumerate(self.channels):
            value = found.get(channel.id.partition("/")[2], Status.GAP)
            if not isinstance(value, Status) and channel.scope == "counter":
                fell = value < self._last.get(channel.id, value)
                self._last[channel.id] = value
                value = Status.RESET if fell else value
            status = value if isinstance(value, Status) else Status.OK
            out.append(Reading(index, before, after, None, None if isinstance(value, Status) else value, status))


def _open(target: Target, door: HostAccess) -> Source:
    limit = limit_s(target, 5.0)
    device = _Device(target, door, limit)
    thread = Bounded(f"shelly {target.address}")
    channels = connect(target, thread, device.discover, device.http.close, limit)
    return Polled(channels, device.ask, device.http.close, door=door, limit=limit, thread=thread)


METER = Meter(
    name="shelly",
    title="Shelly plugs and meters (second generation and later)",
    address="shelly://[USER@]HOST[:80]",
    open=_open,
    options=OPTIONS,
    poll_s=1.0,
    least_poll_s=0.2,
)
