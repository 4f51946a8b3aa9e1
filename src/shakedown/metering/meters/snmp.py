"""SNMP: rack PDUs and other devices that answer for power or energy at an object identifier.

    snmp://PDU[:161]                        v2c; the vendor is found by sysObjectID, its columns by snmp_oids.toml
    snmp://USER@PDU?auth=sha256&priv=aes    v3
    snmp://HOST?oid=1.3.6.1...&scale=10&quantity=power

The community of v2c, or the authentication password of v3, is SHAKEDOWN_SNMP_PASSWORD (else "public"); the privacy password
of v3 is SHAKEDOWN_SNMP_PRIV_PASSWORD, else the same. All values are requested in one GET, so power and energy belong
together. What the device says it has not (noSuchObject, noSuchInstance, -1) is UNSUPPORTED.

Scales differ: the same column of one maker is hundredths of kilowatts (steps of 10 W), of another watts. Energy counters go
in steps of 1 Wh (3.6 kJ) to 0.1 kWh (360 kJ), and most can be set back by a user: a short run on a lone node is below the
step. How often a PDU refreshes (1 to 10 s) is in no definition.
"""

from __future__ import annotations

import fnmatch
from typing import Any, cast

import msgspec

from ...errors import BadInput
from ...hosts.access import HostAccess
from ...units import whole_number
from . import Channel, Meter, Quantity, Reading, Source, Status, Target
from ._network import OPTIONS, Bounded, Lost, Polled, choice, connect, limit_s, measured, place, switch
from ._snmp import MISSING, MODULI, PORT, Agent, Column, Oid, Spot, Vendor, parse_oid, table, value_of

_SYS_OBJECT_ID = (1, 3, 6, 1, 2, 1, 1, 2, 0)
_SYS_DESCRIPTION = (1, 3, 6, 1, 2, 1, 1, 1, 0)


class _Pdu:
    """What is asked of one device, in the order of the channels."""

    def __init__(self, agent: Agent, target: Target, door: HostAccess) -> None:
        self.agent = agent
        self._target = target
        self._door = door
        self._spots: list[Spot] = []

    def discover(self) -> list[Channel]:
        """The channels of this device. Raises Lost, or BadInput for options that cannot be."""
        target = self._target
        about, whose = self.agent.get([_SYS_DESCRIPTION, _SYS_OBJECT_ID])
        common: dict[str, Any] = {
            "host": measured(target, PORT),
            "place": place(target, "rack"),
            "device": "" if type(about).__name__ in MISSING else str(about.prettyPrint())[:120],
        }
        if "oid" in target.options:
            return self._given(common)
        vendor = self._vendor(str(whose.prettyPrint()))
        channels = [channel for column in vendor.column for channel in self._column(vendor, column, common)]
        channels = _nested(channels)
        if not channels:
            raise Lost(
                f"the device has none of {vendor.name}'s columns of power (with ?outlets=1 it may)", broken=False
            )
        return channels

    def _vendor(self, whose: str) -> Vendor:
        known = {vendor.name: vendor for vendor in table().vendor}
        if "vendor" in self._target.options:
            return known[choice(self._target, "vendor", tuple(known), "")]
        found = [vendor for vendor in known.values() if f"{whose}.".startswith(f"{vendor.enterprise}.")]
        if not found:
            raise Lost(
                f"no table for the maker of sysObjectID {whose}: give ?vendor= ({', '.join(known)}) or ?oid=",
                broken=False,
            )
        return max(found, key=lambda vendor: len(vendor.enterprise))

    def _column(self, vendor: Vendor, column: Column, common: dict[str, Any]) -> list[Channel]:
        pattern = self._target.options.get("only", "*")
        if pattern == "*" and column.level == "outlet" and not switch(self._target, "outlets"):
            return []
        if pattern == "*" and column.level == "phase" and not switch(self._target, "phases"):
            return []
        root = parse_oid(column.oid)
        rows = self._rows(column, root)
        digits = dict(self.agent.walk(parse_oid(column.digits))) if column.digits and rows else {}
        channels = []
        for oid, raw in rows:
            rest = oid[len(root) :]
            name = ".".join(map(str, rest[:-1] if column.last is not None else rest))
            decimal = digits.get((*parse_oid(column.digits), *rest)) if column.digits else None
            spot = Spot(oid, column.scale / 10.0 ** int(decimal or 0), column.absent, column.quantity == "power")
            if value_of(raw, spot)[1] != Status.OK:
                continue  # a column that this model does not have
            identity = f"snmp/{vendor.name}-{column.level}-{name}/{column.quantity}"
            if fnmatch.fnmatch(identity, pattern):
                note = column.source + ("" if column.sure else "; not checked against the maker's own definition")
                self._spots.append(spot)
                channels.append(_channel(identity, f"{column.title}.{name}", raw, spot, common, note, column.modulus))
        return channels

    def _rows(self, column: Column, root: Oid) -> list[tuple[Oid, Any]]:
        """The instances of a column that are what it says."""
        rows = [(oid, raw) for oid, raw in self.agent.walk(root) if column.last is None or oid[-1] == column.last]
        if column.where is None or not rows:
            return rows
        other = parse_oid(column.where.oid)
        kinds = {oid[len(other) :]: raw for oid, raw in self.agent.walk(other)}
        return [
            row
            for row in rows
            if row[0][len(root) :] in kinds and int(kinds[row[0][len(root) :]]) in column.where.values
        ]

    def _given(self, common: dict[str, Any]) -> list[Channel]:
        """The objects of ?oid=, with lists in ?scale= and ?quantity= where they differ."""
        options = self._target.options
        oids = [parse_oid(text) for text in options["oid"].split(",")]
        kinds = _each(options.get("quantity", "power"), len(oids), "quantity", self._target)
        scales = _each(options.get("scale", "1"), len(oids), "scale", self._target)
        stated = (whole_number(word, -(2**63)) for word in options.get("absent", "-1").split(","))
        absent = tuple(number for number in stated if number is not None)
        for oid, kind, scale in zip(oids, kinds, scales, strict=True):
            if kind not in _UNITS:
                raise BadInput(
                    f"quantity={kind} is none of {', '.join(_UNITS)}", where=str(self._target), hint="fix it"
                )
            try:
                factor = float(scale)
            except ValueError:
                raise BadInput(f"scale={scale} is not a number", where=str(self._target), hint="scale=10") from None
            self._spots.append(Spot(oid, factor, absent, kind == "power"))
        values = self.agent.get(oids)
        return [
            _channel(f"snmp/{'.'.join(map(str, spot.oid))}", "object of ?oid=", raw, spot, common, "", None, kind)
            for spot, raw, kind in zip(self._spots, values, kinds, strict=True)
        ]

    def ask(self, out: list[Reading]) -> None:
        """One GET for all."""
        before = self._door.now_ns()
        values = self.agent.get([spot.oid for spot in self._spots])
        after = self._door.now_ns()
        for index, (spot, raw) in enumerate(zip(self._spots, values, strict=True)):
            value, status = value_of(raw, spot)
            out.append(Reading(index, before, after, None, value, status))


_UNITS = {"power": "W", "energy": "J", "temperature": "degC", "flow": "m3/s", "speed": "Hz", "ratio": "1"}


def _nested(channels: list[Channel]) -> list[Channel]:
    """Phases and outlets lie within the inlet of the same unit, or within the only one there is."""
    inlets = {
        channel.id: _unit(channel.id) for channel in channels if "-inlet-" in channel.id and channel.quantity == "power"
    }
    out = []
    for channel in channels:
        same = [one for one, unit in inlets.items() if unit == _unit(channel.id)]
        above = same or list(inlets)
        if "-inlet-" not in channel.id and len(above) == 1:
            channel = msgspec.structs.replace(channel, within=above[0])
        out.append(channel)
    return out


def _unit(identity: str) -> str:
    """The first number of a channel's instance: the unit of a chain of PDUs."""
    return identity.split("/")[1].rsplit("-", 1)[1].partition(".")[0]


def _each(text: str, count: int, name: str, target: Target) -> list[str]:
    words = text.split(",")
    if len(words) not in (1, count):
        raise BadInput(
            f"{len(words)} of {name} for {count} of oid", where=str(target), hint="give one, or one for each"
        )
    return words * count if len(words) == 1 else words


def _channel(
    identity: str,
    title: str,
    raw: Any,
    spot: Spot,
    common: dict[str, Any],
    note: str,
    modulus: float | None,
    kind: str = "",
) -> Channel:
    kind = kind or ("power" if spot.power else "energy")
    steps = modulus or MODULI.get(type(raw).__name__)
    counter = kind == "energy"
    return Channel(
        id=identity,
        title=title,
        quantity=cast(Quantity, kind),
        unit=_UNITS[kind],
        scope="counter" if counter else "last",
        modulus=steps * spot.scale if counter and steps else None,
        resolution=spot.scale if type(raw).__name__ in MODULI else None,
        note=note,
        **common,
    )


def _open(target: Target, door: HostAccess) -> Source:
    limit = limit_s(target, 5.0)
    agent = Agent(target, door, limit)
    pdu = _Pdu(agent, target, door)
    thread = Bounded(f"snmp {target.address}")
    channels = connect(target, thread, pdu.discover, agent.close, 6 * limit)
    return Polled(channels, pdu.ask, agent.close, door=door, limit=limit, thread=thread)


METER = Meter(
    name="snmp",
    title="SNMP: power and energy of a rack PDU",
    address="snmp://[USER@]PDU[:161]",
    open=_open,
    options={
        **OPTIONS,
        "vendor": "whose columns to read, where sysObjectID does not show it",
        "oid": "objects to read instead, separated by commas",
        "scale": "what one step of each ?oid= is in SI units",
        "quantity": "what each ?oid= is: power, energy, temperature, flow, speed, ratio",
        "absent": "values that mean 'not there' for ?oid=, separated by commas",
        "outlets": "1 reads each outlet too",
        "phases": "1 reads each phase too",
        "only": "pattern of the channels to read",
        "auth": "v3: md5, sha, sha224, sha256, sha384, sha512, none",
        "priv": "v3: des, aes, aes192, aes256, none",
    },
    poll_s=1.0,
    least_poll_s=0.1,
    exposes=lambda target: not target.user,  # the community of v2c
)
