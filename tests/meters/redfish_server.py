"""A Redfish service for tests: sessions, and every way in which a management controller annoys."""

from __future__ import annotations

import contextlib
import datetime
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .load import Device

ROOT = "/redfish/v1"
CHASSIS = f"{ROOT}/Chassis/1"


def iso(stamp_ns: int) -> str:
    """Unix nanoseconds as Redfish writes them, with microseconds."""
    whole, rest = divmod(stamp_ns, 1_000_000_000)
    return datetime.datetime.fromtimestamp(whole, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest // 1000:06d}Z"


def tree(
    power: tuple[int, float], energy: tuple[int, float] | None, samples: list[tuple[int, float]] | None = None
) -> Any:
    """The resources, path -> body, of a chassis that shows a power and an energy, each a stamp and a value."""
    watts = power[1]
    sensor = f"{CHASSIS}/Sensors/TotalPower"
    environment: dict[str, Any] = {
        "@odata.id": f"{CHASSIS}/EnvironmentMetrics",
        "PowerWatts": {"DataSourceUri": sensor, "Reading": watts},
    }
    if energy is not None:
        environment["EnergykWh"] = {"Reading": round(energy[1] / 3.6e6, 9)}
    chassis = {
        "@odata.id": CHASSIS,
        "ChassisType": "RackMount",
        "Manufacturer": "Nobody",
        "Model": "M1",
        "SerialNumber": "7",
        "Power": {"@odata.id": f"{CHASSIS}/Power"},
        "EnvironmentMetrics": {"@odata.id": f"{CHASSIS}/EnvironmentMetrics"},
        "Sensors": {"@odata.id": f"{CHASSIS}/Sensors"},
    }
    control: dict[str, Any] = {"MemberId": "0", "Name": "Server Power Control", "PowerCapacityWatts": 1600}
    control |= {
        "PowerConsumedWatts": round(watts),
        "PowerMetrics": {"IntervalInMin": 1, "AverageConsumedWatts": round(watts)},
    }
    report = f"{ROOT}/TelemetryService/MetricReports/Power"
    return {
        ROOT: {"@odata.id": ROOT, "RedfishVersion": "1.15.0"},
        f"{ROOT}/Chassis": {"@odata.id": f"{ROOT}/Chassis", "Members": [{"@odata.id": CHASSIS}]},
        CHASSIS: chassis,
        f"{CHASSIS}/Power": {"@odata.id": f"{CHASSIS}/Power", "PowerControl": [control]},
        f"{CHASSIS}/EnvironmentMetrics": environment,
        f"{CHASSIS}/Sensors": {"Members": [{"@odata.id": sensor}, {"@odata.id": f"{CHASSIS}/Sensors/InletTemp"}]},
        sensor: _total(sensor, power),
        report: {"@odata.id": report, "Id": "Power", "MetricValues": _metrics(sensor, samples or [power])},
        f"{ROOT}/TelemetryService/MetricDefinitions/SystemPower": {"Id": "SystemPower", "Units": "W"},
    }


def _total(sensor: str, power: tuple[int, float]) -> dict[str, Any]:
    return {
        "@odata.id": sensor,
        "Id": "TotalPower",
        "Name": "Total power",
        "Reading": power[1],
        "ReadingUnits": "W",
        "ReadingType": "Power",
        "ReadingTime": iso(power[0]),
        "SensingInterval": "PT0.2S",
        "Accuracy": 1.5,
        "ReadingRangeMax": 2000,
        "Status": {"State": "Enabled", "Health": "OK"},
    }


def _metrics(sensor: str, samples: list[tuple[int, float]]) -> list[dict[str, Any]]:
    metric = {"MetricId": "SystemPower", "MetricProperty": f"{sensor}#/Reading"}
    return [{**metric, "MetricValue": f"{value:.10g}", "Timestamp": iso(at)} for at, value in samples]


class RedfishServer:
    """Under way between ``with`` and its end. Set its fields to let faults in; ``gets`` counts the requests by path."""

    def __init__(
        self,
        power: Device,
        energy: Device | None,
        user: str,
        password: str,
        *,
        certificate: Path | None = None,
        port: int = 0,
    ) -> None:
        self.slow_s = 0.0  # before each answer
        self.dribble_s = 0.0  # between the bytes of an answer
        self.refuse = 0  # answer with this status
        self.retry_after = ""
        self.broken = False  # send what is no JSON
        self.basic = False  # no SessionService
        self.changed: dict[str, Any] = {}  # path -> body instead
        self.sessions: set[str] = set()
        self.log_ins = 0
        self.gets: dict[str, int] = {}
        self._power, self._energy = power, energy
        self._user, self._password = user, password
        self._http = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"owner": self}))
        self._http.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._plain = "" if certificate else "?plain=1"
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="redfish server")

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def target(self) -> str:
        return f"redfish://{self._user}@127.0.0.1:{self.port}{self._plain}"

    def expire(self) -> None:
        """End all sessions."""
        self.sessions.clear()

    def __enter__(self) -> RedfishServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        for one in list(self._open):  # those that are kept alive
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def body(self, path: str) -> Any:
        """What a resource says now."""
        if path in self.changed:
            return self.changed[path]
        now = time.time_ns()
        samples = [self._power.latest(now - age * 50_000_000) for age in range(19, -1, -1)]
        return tree(self._power.latest(now), self._energy.latest(now) if self._energy else None, samples).get(path)

    def allows(self, headers: Any) -> bool:
        """Whether a request may see more than the root."""
        if self.basic:
            import base64

            pair = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
            return bool(headers.get("Authorization") == f"Basic {pair}")
        return headers.get("X-Auth-Token") in self.sessions

    def log_in(self, raw: bytes) -> str | None:
        """A new session's token; None for a wrong password."""
        self.log_ins += 1
        said = json.loads(raw)
        if (said.get("UserName"), said.get("Password")) != (self._user, self._password):
            return None
        token = f"token-{self.log_ins}"
        self.sessions.add(token)
        return token


class _Handler(BaseHTTPRequestHandler):
    owner: RedfishServer

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.owner._open.add(self.connection)

    def finish(self) -> None:
        self.owner._open.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, code: int, body: bytes = b"", headers: Iterator[tuple[str, str]] | Any = ()) -> None:
        try:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            if not self.owner.dribble_s:
                self.wfile.write(body)
                return
            for at in range(len(body)):
                self.wfile.write(body[at : at + 1])
                self.wfile.flush()
                time.sleep(self.owner.dribble_s)
        except OSError:  # the client did not wait
            self.close_connection = True

    def do_GET(self) -> None:
        path = self.path.rstrip("/")
        self.owner.gets[path] = self.owner.gets.get(path, 0) + 1
        time.sleep(self.owner.slow_s)
        if self.owner.refuse:
            headers = [("Retry-After", self.owner.retry_after)] if self.owner.retry_after else []
            return self.answer(self.owner.refuse, b"{}", headers)
        if path != ROOT and not self.owner.allows(self.headers):
            return self.answer(401)
        body = self.owner.body(path)
        if body is None:
            return self.answer(404)
        self.answer(200, (b"1\n{\n" if self.owner.broken else b"") + json.dumps(body).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.owner.basic:
            return self.answer(405)
        token = self.owner.log_in(raw)
        if token is None:
            return self.answer(401)
        where = f"{ROOT}/SessionService/Sessions/{token}"
        self.answer(201, b"{}", [("X-Auth-Token", token), ("Location", where)])

    def do_DELETE(self) -> None:
        self.owner.sessions.discard(self.path.rsplit("/", 1)[-1])
        self.answer(204)
