"""IPMI: the DCMI power reading and the power sensors of a node's BMC, from the node itself or over the network.

    ipmi                          the BMC of this node: /dev/ipmi0, through ipmitool
    ipmi://USER@BMC[:623]         over RMCP+; pyghmi keeps the session where it is installed, else ipmitool logs in each time

DCMI Get Power Reading (IPMI network function 2Ch, group DCh, command 02h; DCMI specification 1.5, section 6.6.1) gives whole
watts. Its "current" value may itself be an average over tens of seconds, which no field of the answer gives: the window is
unknown until ``shakedown meter characterise`` has found it. Its minimum, maximum and average belong to a statistics period
and are not read. Where the BMC offers rolling averages (section 6.1, parameter 5) the shortest is a channel of its own, with
its window. The stamp has whole seconds and is often local time: the host's clock is used unless ?stamp=bmc.

A sensor has 8 bits: its step and its range come from its data record. Records are read with Get SDR alone and only where
the repository is not empty: "ipmitool sdr list" on an empty one has been seen to erase it.
"""

from __future__ import annotations

import contextlib
import fnmatch
import time
from typing import Any

from ...errors import Unavailable
from ...hosts.access import HostAccess
from ...units import whole_number
from . import Channel, Meter, Place, Reading, Sample, Source, Status, Target, secret
from ._ipmi import (
    APP,
    DCMI,
    GROUP,
    SENSOR,
    Denied,
    Link,
    Power,
    PyghmiLink,
    Sensor,
    ToolLink,
    parse_power,
    parse_sensor,
    records,
)
from ._network import OPTIONS, Bounded, Lost, Polled, choice, connect, endpoint, limit_s, measured, place, switch

PORT = 623
_WALK_S = 30.0  # how long reading the sensors' records may take


class _Bmc:
    """What is asked of one BMC, in the order of the channels."""

    def __init__(self, link: Link, target: Target, door: HostAccess, limit: float) -> None:
        self.link = link
        self._target = target
        self._door = door
        self._limit = limit
        self._bmc_stamps = choice(target, "stamp", ("host", "bmc"), "host") == "bmc"
        self._rolling: int | None = None  # the code of the shortest rolling average
        self._dcmi = False
        self._sensors: list[Sensor] = []
        self._about = b""

    def reach(self) -> None:
        """The first question, which every BMC answers: Get Device ID. Raises Lost."""
        with contextlib.suppress(Denied):
            self._about = self.link.send(APP, 0x01, b"", self._limit)

    def discover(self) -> list[Channel]:
        """What this BMC has. Raises Lost where it has no power reading at all."""
        common = self._common()
        channels: list[Channel] = []
        try:
            power = parse_power(self.link.send(GROUP, 0x02, bytes([DCMI, 1, 0, 0]), self._limit))
        except Denied as denied:
            why = f"DCMI power reading: {denied}"
            if denied.status == Status.REFUSED:
                raise Lost(why, Status.REFUSED) from None
        else:
            why = ""
            self._dcmi = True
            channels += self._dcmi_channels(power, common)
        wanted = self._target.options.get("sensors", "auto")
        if wanted != "none" and (wanted != "auto" or not self._dcmi):
            self._sensors = self._find_sensors("*" if wanted in ("auto", "all") else wanted)
            inside = "ipmi/dcmi/current" if self._dcmi else ""
            channels += [_sensor_channel(sensor, {**common, "within": inside}) for sensor in self._sensors]
        if not channels:
            raise Lost(f"the BMC has no power reading ({why or 'no sensor of that name'}; sensors of watts: none)")
        return channels

    def _common(self) -> dict[str, Any]:
        target = self._target
        common: dict[str, Any] = {"host": target.options.get("host", ""), "place": place(target, "node")}
        if target.address:
            common["host"] = measured(target, PORT)
        about = self._about
        if len(about) >= 11:
            maker = int.from_bytes(about[6:9], "little") & 0xFFFFF
            product = int.from_bytes(about[9:11], "little")
            common["device"] = f"BMC, IANA manufacturer {maker}, product {product}"
            common["firmware"] = f"{about[2] & 0x7F}.{about[3]:02x}"
        return common

    def _dcmi_channels(self, power: Power, common: dict[str, Any]) -> list[Channel]:
        note = "the BMC's own average over a window that it does not report; 1 W steps"
        off_s = power.stamp_s - self._door.now_ns() / 1e9
        if power.stamp_s > 946_684_800 and abs(off_s) > 2:
            note += f"; the BMC's clock was {off_s:+.0f} s off"
        common = {**common, "quantity": "power", "unit": "W", "scope": "last", "resolution": 1.0, "full_scale": 65535.0}
        out = [Channel(id="ipmi/dcmi/current", title="node power, DCMI", note=note, **common)]
        if switch(self._target, "rolling", True):
            self._rolling, window_s = self._shortest_rolling()
            if self._rolling is not None:
                title = f"node power, DCMI, rolling average of {window_s:g} s"
                out.append(Channel(id="ipmi/dcmi/average", title=title, window_s=window_s, **common))
        return out

    def _shortest_rolling(self) -> tuple[int | None, float]:
        """Enhanced statistics: byte 5 counts the periods, each has its unit in two bits and its length in six."""
        try:
            answer = self.link.send(GROUP, 0x01, bytes([DCMI, 5]), self._limit)
        except (Denied, Lost):
            return None, 0.0
        codes = answer[5 : 5 + answer[4]] if len(answer) > 4 else b""
        seconds = {code: (code & 0x3F) * (1, 60, 3600, 86400)[code >> 6] for code in codes if code & 0x3F}
        shortest = min(seconds, key=lambda code: seconds[code], default=None)
        return shortest, float(seconds[shortest]) if shortest is not None else 0.0

    def _find_sensors(self, pattern: str) -> list[Sensor]:
        try:
            found = [parse_sensor(record) for record in records(self.link, _WALK_S)]
        except Denied as denied:
            if denied.status == Status.REFUSED:
                raise Lost(f"sensor records: {denied}", Status.REFUSED) from None
            return []
        return [sensor for sensor in found if sensor and fnmatch.fnmatch(sensor.name.lower(), pattern.lower())]

    def ask(self, out: list[Reading]) -> None:
        """One reading of every channel."""
        deadline = time.monotonic() + self._limit
        if self._dcmi:
            self._ask_dcmi(out, bytes([DCMI, 1, 0, 0]), rolling=False, deadline=deadline)
        if self._rolling is not None:
            self._ask_dcmi(out, bytes([DCMI, 2, self._rolling, 0]), rolling=True, deadline=deadline)
        for sensor in self._sensors:
            self._ask_sensor(out, sensor, deadline)

    def _ask_dcmi(self, out: list[Reading], data: bytes, *, rolling: bool, deadline: float) -> None:
        index, before = len(out), self._door.now_ns()
        try:
            power = parse_power(self.link.send(GROUP, 0x02, data, max(0.01, deadline - time.monotonic())))
        except Denied as denied:
            out.append(Reading(index, before, self._door.now_ns(), None, None, denied.status))
            return
        watts = power.average_w if rolling else power.current_w
        after = self._door.now_ns()
        if not power.active or watts == 0xFFFF:
            out.append(Reading(index, before, after, None, None, Status.UNSUPPORTED))
            return
        stamp = power.stamp_s * 1_000_000_000 if self._bmc_stamps and power.stamp_s else None
        out.append(Reading(index, before, after, stamp, float(watts)))

    def _ask_sensor(self, out: list[Reading], sensor: Sensor, deadline: float) -> None:
        index, before = len(out), self._door.now_ns()
        value, status = None, Status.GAP
        try:
            said = self.link.send(SENSOR, 0x2D, bytes([sensor.number]), max(0.01, deadline - time.monotonic()))
        except Denied as denied:
            status = denied.status
        else:
            if len(said) >= 2 and not said[1] & 0x40:
                status = Status.UNSUPPORTED  # scanning is off
            elif len(said) >= 2 and not said[1] & 0x20:
                status = Status.OVERRANGE if said[0] == sensor.top else Status.OK
                value = sensor.value(said[0]) if status == Status.OK else None
        out.append(Reading(index, before, self._door.now_ns(), None, value, status))


def _sensor_channel(sensor: Sensor, common: dict[str, Any]) -> Channel:
    at: Place = "board" if sensor.entity == 10 and common["place"] == "node" else common["place"]
    return Channel(
        id="ipmi/" + sensor.name.lower().replace(" ", "-"),
        title=f"{sensor.name}, IPMI sensor {sensor.number}",
        quantity="power",
        unit="W",
        scope="point",
        resolution=abs(sensor.m),
        full_scale=sensor.value(sensor.top),
        note="8 bits" + ("; of a power supply: input or output is not reported" if sensor.entity == 10 else ""),
        **{**common, "place": at},
    )


def _link(target: Target, door: HostAccess, limit: float) -> Link:
    tool = choice(target, "tool", ("auto", "pyghmi", "ipmitool"), "auto")
    if not target.address:
        if door.which("ipmitool") is None:
            raise Unavailable("ipmitool is not here", hint="apt-get install ipmitool, or ask the BMC: ipmi://USER@BMC")
        return ToolLink(door, ("ipmitool",), {})
    host, port = endpoint(target, PORT)
    password = secret(target, door)
    if tool != "ipmitool":
        try:
            return PyghmiLink(host, port, target.user, password)
        except Unavailable:
            if tool == "pyghmi":
                raise
    if door.which("ipmitool") is None:
        raise Unavailable("neither pyghmi nor ipmitool is here", hint="pip install pyghmi, or apt-get install ipmitool")
    cipher = target.options.get("cipher", "3")
    argv = (
        "ipmitool",
        "-I",
        "lanplus",
        "-C",
        cipher,
        "-L",
        "USER",
        "-H",
        host,
        "-p",
        str(port),
        "-U",
        target.user,
        "-E",
    )
    wait = max(1, round(limit / 2))
    env = {"IPMI_PASSWORD": password, "IPMITOOL_PASSWORD": password}
    levels = ("USER", "OPERATOR", "ADMINISTRATOR")
    return ToolLink(door, (*argv, "-N", str(wait), "-R", "1"), env, levels=levels)


def _open(target: Target, door: HostAccess) -> Source:
    limit = limit_s(target, 10.0)
    thread = Bounded(f"ipmi {target.address}")
    link: Link | None = None
    try:
        link = _link(target, door, limit)
        bmc = _Bmc(link, target, door, limit)
    except BaseException:
        thread.close(1.0)
        raise
    connect(target, thread, bmc.reach, link.close, limit)
    channels = connect(target, thread, bmc.discover, link.close, limit + _WALK_S)
    return Polled(channels, bmc.ask, link.close, door=door, limit=limit, thread=thread)


def _find(door: HostAccess) -> tuple[Target, ...]:
    here = any(name.startswith("ipmi") and whole_number(name[4:]) is not None for name in door.list("/dev"))
    return (Target(meter="ipmi"),) if here and door.which("ipmitool") else ()


METER = Meter(
    name="ipmi",
    title="IPMI: DCMI power reading and power sensors of a BMC",
    address="ipmi, or ipmi://USER@BMC[:623]",
    open=_open,
    find=_find,
    options={
        **OPTIONS,
        "sensors": "auto (only where DCMI has no answer), all, none, or a pattern of sensor names",
        "rolling": "0 leaves out the rolling average that some BMCs offer",
        "stamp": "host (the reader's clock) or bmc (whole seconds, often local time)",
        "tool": "auto, pyghmi or ipmitool",
        "cipher": "cipher suite for ipmitool: 3, or 17 where the BMC wants it",
    },
    poll_s=1.0,
    least_poll_s=0.1,
    samples=(
        Sample(
            recording="meters/ipmi",
            target="ipmi?sensors=all",
            expect={"ipmi/dcmi/current": 432.0, "ipmi/pwr-total": 400.0},
            commands={
                "ipmitool raw 0x2c 0x02 0xdc 0x01 0x00 0x00": "power.txt",
                "ipmitool raw 0x06 0x01": "device.txt",
                "ipmitool raw 0x0a 0x20": "repository.txt",
                "ipmitool raw 0x0a 0x23 0x00 0x00 0x00 0x00 0x00 0xff": "record.txt",
                "ipmitool raw 0x04 0x2d 0x01": "sensor.txt",
            },
            source="ipmi_sim 2.0.33 with a DCMI handler, by ipmitool 1.8.19",
        ),
        Sample(
            recording="meters/ipmi",
            target="ipmi",
            expect={"ipmi/dcmi/current": "UNSUPPORTED"},
            commands={
                "ipmitool raw 0x2c 0x02 0xdc 0x01 0x00 0x00": "power-off.txt",
                "ipmitool raw 0x06 0x01": "device.txt",
            },
            source="the same, with its measurement switched off",
        ),
    ),
)
