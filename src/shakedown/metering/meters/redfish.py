"""Redfish: what a BMC, chassis or PDU reports of its power over HTTPS.

    redfish://USER@BMC[/redfish/v1/Chassis/ID]     a live service; without a chassis, all that report power
    redfish:FOLDER, redfish:FILE.json              a recorded tree, or one saved answer

Read are, of each chassis: Power (PowerControl[].PowerConsumedWatts and its PowerMetrics average), EnvironmentMetrics
(PowerWatts, EnergykWh), the sensors that these name (DataSourceUri) and, with ?sensors=, any sensor of watts or energy; with
?report=ID a report of the TelemetryService, which may hold many values, each with its stamp.

A Sensor gives the most: ReadingTime is the device's stamp, SensingInterval how often it refreshes, AveragingInterval over
how long AverageReading averages, Accuracy in percent, LifetimeReading an energy
counter (DSP0268, schema Sensor 1.7). PowerConsumedWatts says none of this: its window is unknown until characterised, and
PowerMetrics averages whole minutes. EnergykWh has few decimals: 0.001 kWh is 3.6 kJ, which is too coarse for a short run.

One session is kept; when it runs out (401) it is opened again, once per reading. 429 and 503 are obeyed (Retry-After). An
answer that is not valid JSON is a GAP.
"""

from __future__ import annotations

import fnmatch
import math
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from ...errors import UNREADABLE, BadInput
from ...hosts.access import HostAccess
from . import Channel, Meter, Reading, Sample, Source, Status, Target, secret
from ._http import OPTIONS as HTTP_OPTIONS
from ._http import Answer, Http, HttpLost
from ._network import OPTIONS, Bounded, Lost, Polled, connect, limit_s, measured, place, switch
from ._redfish import (
    Spot,
    device_ns,
    dicts,
    found_in_chassis,
    new_values,
    number,
    report_spots,
    sensor_spots,
    status_of,
)

ROOT = "/redfish/v1"


class _Service:
    """A live service with its session."""

    def __init__(self, target: Target, door: HostAccess) -> None:
        plain = switch(target, "plain")
        self._http = Http(target, 80 if plain else 443, tls=not plain)
        self._user = target.user
        self._password = secret(target, door)
        self._token: dict[str, str] = {}
        self._session = ""

    def get(self, path: str, limit: float) -> Any:
        """A resource, logging in (again) once where that is asked for. Raises Lost."""
        deadline = time.monotonic() + limit
        if self._user and not self._token:
            self._log_in(limit)
        try:
            return self._send(path, deadline).body
        except HttpLost as lost:
            if lost.code != 401 or not self._user:
                raise
        self._token = {}
        self._log_in(deadline - time.monotonic())
        return self._send(path, deadline).body

    def _send(self, path: str, deadline: float) -> Answer:
        return self._http.send(path, max(0.01, deadline - time.monotonic()), headers=self._token)

    def _log_in(self, limit: float) -> None:
        body = {"UserName": self._user, "Password": self._password}
        try:
            said = self._http.send(f"{ROOT}/SessionService/Sessions", max(0.01, limit), method="POST", body=body)
        except HttpLost as lost:
            if lost.code in (404, 405, 501):  # a service without sessions: HTTP Basic
                import base64

                pair = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
                self._token = {"Authorization": f"Basic {pair}"}
                return
            if lost.code in (400, 401, 403):  # never hammer at an account: it would be locked
                raise Lost(f"the log-in of {self._user!r} is refused", Status.REFUSED, wait_s=60.0) from None
            raise
        self._token = {"X-Auth-Token": said.headers.get("x-auth-token", "")}
        where = said.headers.get("location", "")
        self._session = "/" + where.split("/", 3)[3] if "://" in where else where

    def close(self) -> None:
        """Delete the session: a BMC has few."""
        try:
            if self._session:
                self._http.send(self._session, 2.0, method="DELETE", headers=self._token)
        except Lost:
            pass  # it runs out by itself
        finally:
            self._session = ""
            self._token = {}
            self._http.close()


class _Recorded:
    """A tree of files as the mock-up creator of the DMTF leaves it, or one file that answers for everything."""

    def __init__(self, target: Target, door: HostAccess) -> None:
        self._door = door
        self._at = target.address.rstrip("/")
        self.single = self._at.endswith(".json")

    def get(self, path: str, limit: float) -> Any:
        short = path.removeprefix(ROOT)
        names = [self._at] if self.single else [f"{self._at}{path}/index.json", f"{self._at}{short}/index.json"]
        for name in names:
            data = self._door.read_bytes(name)
            if data is not None:
                try:
                    return msgspec.json.decode(data)
                except UNREADABLE as error:
                    raise Lost(f"{name}: no valid JSON ({error})", broken=False) from None
        raise Lost(f"{names[0]} is not there", Status.UNSUPPORTED, broken=False)

    def close(self) -> None:
        pass


class _Meter:
    """What is asked of one service, resource by resource, in the order of the channels."""

    def __init__(self, service: _Service | _Recorded, target: Target, door: HostAccess, limit: float) -> None:
        self._service = service
        self._target = target
        self._door = door
        self._limit = limit
        self._spots: list[Spot] = []
        self._tops: dict[str, str] = {}  # chassis -> id of its first channel of power
        self._latest: dict[int, Reading] = {}

    def discover(self) -> list[Channel]:
        """The channels of this service. Raises Lost where it tells of no power."""
        wanted = [self._full(self._target.path)] if self._target.path.strip("/") else self._chassis()
        spots: list[Spot] = []
        if isinstance(self._service, _Recorded) and self._service.single:
            spots = self._single()
        else:
            for path in wanted:
                spots += self._of_chassis(path)
            if "report" in self._target.options:
                spots += self._of_report(self._target.options["report"])
        if not spots:
            raise Lost(f"no power is reported at {', '.join(wanted)}", broken=False)
        self._spots = _distinct(spots)
        return [self._finish(spot.channel) for spot in self._spots]

    def _single(self) -> list[Spot]:
        body = self._get("")
        own = str(body.get("@odata.id", "/")).rstrip("/")
        common: dict[str, Any] = {"place": place(self._target, "node")}
        name = own.split("/Chassis/", 1)[-1].split("/", 1)[0] or "chassis"
        return [*found_in_chassis(own, body, name, common), *sensor_spots(own, body, name, common)]

    def _full(self, path: str) -> str:
        path = path.rstrip("/")
        return path if path.startswith(ROOT) else ROOT + path

    def _get(self, path: str) -> Any:
        body = self._service.get(path, self._limit)
        if not isinstance(body, dict):
            raise Lost(f"{path}: not a resource", broken=False)
        return body

    def _try(self, path: str) -> Any:
        """A resource, or an empty one where it is not there."""
        try:
            return self._get(path) if path else {}
        except Lost as lost:
            if lost.status == Status.UNSUPPORTED or not lost.broken:
                return {}
            raise

    def _chassis(self) -> list[str]:
        members = dicts(self._get(f"{ROOT}/Chassis").get("Members"))
        return [str(one["@odata.id"]).rstrip("/") for one in members if "@odata.id" in one]

    def _of_chassis(self, path: str) -> list[Spot]:
        chassis = self._try(path)
        name = path.rsplit("/", 1)[1]
        rack = str(chassis.get("ChassisType", "")) in ("Rack", "RackGroup", "Row", "Pod")
        common: dict[str, Any] = {"place": place(self._target, "rack" if rack else "node")}
        words = (str(chassis.get(key) or "") for key in ("Manufacturer", "Model", "SerialNumber"))
        common["device"] = " ".join(word for word in words if word)
        spots: list[Spot] = []
        for key in ("Power", "EnvironmentMetrics"):
            link = chassis.get(key)
            at = str(link.get("@odata.id", "")) if isinstance(link, dict) else f"{path}/{key}"
            spots += found_in_chassis(at, self._try(at), name, common)
        named = {spot.source for spot in spots if spot.source}
        for uri in sorted(named):
            better = sensor_spots(uri, self._try(uri), name, common, whole=True)
            if better:
                spots = [spot for spot in spots if spot.source != uri] + better
        if "sensors" in self._target.options or not spots:
            spots += self._sensors(path, chassis, name, common, named)
        return self._nested(path, chassis, spots)

    def _nested(self, path: str, chassis: Any, spots: list[Spot]) -> list[Spot]:
        """Other views of a chassis's power are twins of the first by their id; parts of it lie within the first, and all of
        it within the chassis that contains it: whoever adds up must not count them twice."""
        whole = f"redfish/{path.rsplit('/', 1)[1]}"
        tops = [one.channel.id for one in spots if one.channel.id.rpartition("/")[0] == whole]
        links = chassis.get("Links")
        outer = links.get("ContainedBy") if isinstance(links, dict) else None
        above = self._tops.get(str(outer.get("@odata.id", "")).rstrip("/"), "") if isinstance(outer, dict) else ""
        if tops:
            self._tops[path] = tops[0]
        out = []
        for spot in spots:
            within = above if spot.channel.id in tops else tops[0] if tops else above
            out.append(spot._replace(channel=msgspec.structs.replace(spot.channel, within=within)))
        return out

    def _sensors(self, path: str, chassis: Any, name: str, common: dict[str, Any], had: set[str]) -> list[Spot]:
        """Sensors whose name matches ?sensors= or speaks of power or energy; others are not even asked for."""
        link = chassis.get("Sensors")
        at = str(link.get("@odata.id", "")) if isinstance(link, dict) else f"{path}/Sensors"
        pattern = self._target.options.get("sensors", "*").lower()
        spots: list[Spot] = []
        for member in dicts(self._try(at).get("Members")):
            uri = str(member.get("@odata.id", ""))
            word = uri.rsplit("/", 1)[-1].lower()
            speaks = any(part in word for part in ("power", "watt", "pwr", "energy", "kwh"))
            if uri not in had and fnmatch.fnmatch(word, pattern) and (speaks or pattern != "*"):
                body = member if "Reading" in member else self._try(uri)
                spots += sensor_spots(uri, body, name, common)
        return spots

    def _of_report(self, name: str) -> list[Spot]:
        path = f"{ROOT}/TelemetryService/MetricReports/{name}"
        units: dict[str, str] = {}
        report = self._get(path)
        for value in dicts(report.get("MetricValues")):
            metric = str(value.get("MetricId", ""))
            if metric and metric not in units:
                told = self._try(f"{ROOT}/TelemetryService/MetricDefinitions/{metric}")
                units[metric] = str(told.get("Units", ""))
        return report_spots(path, report, units, {"place": place(self._target, "node")})

    def _finish(self, channel: Channel) -> Channel:
        host = self._target.options.get("host", "")
        if isinstance(self._service, _Service):
            host = measured(self._target, 80 if switch(self._target, "plain") else 443)
        return msgspec.structs.replace(channel, host=host)

    def ask(self, out: list[Reading]) -> None:
        """One reading of every channel: each resource is asked for once."""
        deadline = time.monotonic() + self._limit
        for path in dict.fromkeys(spot.path for spot in self._spots):
            before = self._door.now_ns()
            try:
                body = self._service.get(path, max(0.01, deadline - time.monotonic()))
                status = Status.OK
            except Lost as lost:
                if lost.broken or lost.wait_s:
                    raise
                body, status = None, lost.status
            after = self._door.now_ns()
            for index, spot in enumerate(self._spots):
                if spot.path != path:
                    continue
                if status != Status.OK:
                    out.append(Reading(index, before, after, None, None, status))
                elif spot.metric:
                    out += self._from_report(index, spot, body, before, after)
                else:
                    out.append(_reading(index, spot, body, before, after))

    def _from_report(self, index: int, spot: Spot, body: Any, before: int, after: int) -> list[Reading]:
        """The values of a report that are newer than those already given; the latest again where none is."""
        last = self._latest.get(index)
        known = last.device_ns if last is not None and last.device_ns is not None else -1
        fresh = [
            Reading(index, before, after, stamp, value, status)
            for stamp, value, status in new_values(spot, body, known)
        ]
        if not fresh:
            if last is None:
                return [Reading(index, before, after, None, None, Status.UNSUPPORTED)]
            return [last._replace(before_ns=before, after_ns=after)]
        return fresh

    def taken(self, readings: Sequence[Reading]) -> None:
        """Remember the latest value of each metric of a report that was handed out."""
        for reading in readings:
            if self._spots[reading.channel].metric and reading.device_ns is not None:
                self._latest[reading.channel] = reading


def _reading(index: int, spot: Spot, body: Any, before: int, after: int) -> Reading:
    status, raw = status_of(body, spot.keys)
    if status != Status.OK:
        return Reading(index, before, after, None, None, status)
    value = number(raw)
    if value is None or math.isnan(value) or (spot.channel.quantity == "power" and spot.never_negative and value < 0):
        return Reading(index, before, after, None, None, Status.UNSUPPORTED)
    if not math.isfinite(value):
        return Reading(index, before, after, None, None, Status.OVERRANGE)
    stamp = device_ns(body.get(spot.stamp)) if spot.stamp else None
    return Reading(index, before, after, stamp, value * spot.scale)


def _distinct(spots: list[Spot]) -> list[Spot]:
    """Each id once: a number is added to those that would be taken twice."""
    seen: dict[str, int] = {}
    out = []
    for spot in spots:
        count = seen[spot.channel.id] = seen.get(spot.channel.id, 0) + 1
        if count > 1:
            spot = spot._replace(channel=msgspec.structs.replace(spot.channel, id=f"{spot.channel.id}-{count}"))
        out.append(spot)
    return out


def _open(target: Target, door: HostAccess) -> Source:
    recorded = "/" in target.address or target.address.endswith(".json")
    limit = limit_s(target, 10.0)
    if not target.address:
        raise BadInput(
            "the meter redfish needs an address", hint="redfish://USER@BMC, or redfish:FOLDER of a recorded tree"
        )
    service: _Service | _Recorded = _Recorded(target, door) if recorded else _Service(target, door)
    asked = _Meter(service, target, door, limit)
    thread = Bounded(f"redfish {target.address}")
    channels = connect(
        target, thread, asked.discover, service.close, 6 * limit
    )  # some twenty answers, each within limit
    return Polled(channels, asked.ask, service.close, door=door, limit=limit, thread=thread, taken=asked.taken)


_FOLDER = "meters/redfish"
METER = Meter(
    name="redfish",
    title="Redfish: power and energy of a chassis, from its management controller",
    address="redfish://USER@BMC[/redfish/v1/Chassis/ID]",
    open=_open,
    options={
        **OPTIONS,
        **HTTP_OPTIONS,
        "sensors": "pattern of further sensors to read: *, *power*",
        "report": "a MetricReport of the TelemetryService",
    },
    poll_s=2.0,
    least_poll_s=0.1,
    exposes=lambda target: bool(target.user) and switch(target, "plain"),
    samples=(
        Sample(
            recording=_FOLDER,
            target="redfish:/dell-power.json",
            expect={"redfish/System.Embedded.1/power": 429.0, "redfish/System.Embedded.1/average": 426.0},
            source="a Dell iDRAC 9",
        ),
        Sample(
            recording=_FOLDER,
            target="redfish:/hp-power.json",
            expect={"redfish/1/power": 221.0, "redfish/1/average": 221.0},
            source="an HPE iLO 5",
        ),
        Sample(
            recording=_FOLDER,
            target="redfish:/tree",
            expect={"redfish/1/power": 344.0, "redfish/1/power-totalpower": 344.2, "redfish/1/energy": 325_675_800.0},
            source="made by hand after DSP2043",
        ),
    ),
)
