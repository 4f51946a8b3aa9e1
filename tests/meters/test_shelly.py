"""A Shelly over HTTP: a server that answers as the device does, with its digest of the password."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.metering.meters import Status, exposed, parse_target
from shakedown.metering.meters._network import Lost
from shakedown.metering.meters.shelly import parse

from .conftest import Shared
from .helpers import by_id, follows, opened
from .servers import DOOR, OPEN_DOOR, KeyedHost

pytest.importorskip("httpx")


class Plug:
    """What the device shows, and whether it asks for a password."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.address = ""
        self.password = ""
        self.extra: dict[str, Any] = {}
        self.taken_wh = 0.0

    def status(self) -> dict[str, Any]:
        watts, joules = self.shared.power.value(), self.shared.energy.value()
        total = round(joules / 3600 - self.taken_wh, 3)
        part = {
            "id": 0,
            "output": True,
            "apower": watts,
            "aenergy": {"total": total, "by_minute": [0.0], "minute_ts": 1},
        }
        return {"cloud": {"connected": False}, "switch:0": part, "sys": {"uptime": 5}, **self.extra}

    def allows(self, header: str | None, path: str) -> bool:
        said = dict(re.findall(r'(\w+)="?([^",]+)"?', header or ""))

        def digest(text: str) -> str:
            return hashlib.sha256(text.encode()).hexdigest()

        ours = digest(f"admin:plug:{self.password}")
        rest = f"{said.get('nonce')}:{said.get('nc')}:{said.get('cnonce')}:auth:{digest(f'GET:{path}')}"
        return not self.password or said.get("response") == digest(f"{ours}:{rest}")


@contextmanager
def serving(plug: Plug) -> Iterator[Plug]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            about = {"id": "plug-1", "model": "SNPL-00112EU", "gen": 2, "ver": "1.0.8", "app": "PlusPlugS"}
            body_of = plug.status() if self.path == "/rpc/Shelly.GetStatus" else about
            allowed = plug.allows(self.headers["Authorization"], self.path)
            body = json.dumps(body_of).encode() if allowed else b""
            self.send_response(200 if allowed else 401)
            if not allowed:
                ask = 'Digest qop="auth", realm="plug", nonce="17", algorithm=SHA-256'
                self.send_header("WWW-Authenticate", ask)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    plug.address = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield plug
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def plug(shared: Shared) -> Iterator[Plug]:
    with serving(Plug(shared)) as found:
        yield found


def test_power_and_energy_follow_the_load(plug: Plug, shared: Shared) -> None:
    with opened(f"shelly://{plug.address}?host=n7", OPEN_DOOR) as source:
        power, energy = sorted(source.channels, key=lambda one: one.unit, reverse=True)
        assert (power.id, power.place, power.host, power.firmware) == ("shelly/switch0/power", "node", "n7", "1.0.8")
        assert energy.resolution == 3.6 and "PlusPlugS" in energy.device
        follows(source, "shelly/switch0/power", shared.power)
        follows(source, "shelly/switch0/energy", shared.energy, step=1.8)


def test_a_counter_that_was_set_back_is_a_reset_once(plug: Plug) -> None:
    plug.taken_wh = -1000.0
    with opened(f"shelly://{plug.address}", OPEN_DOOR) as source:
        assert by_id(source, source.read())["shelly/switch0/energy"].status is Status.OK
        plug.taken_wh = 0.0
        seen = [by_id(source, source.read())["shelly/switch0/energy"].status for _ in range(2)]
        assert seen == [Status.RESET, Status.OK]


def test_the_password_is_never_sent(plug: Plug) -> None:
    plug.password = KeyedHost().env("SHAKEDOWN_SHELLY_PASSWORD") or ""
    assert plug.password
    with opened(f"shelly://{plug.address}", DOOR) as source:
        assert by_id(source, source.read())["shelly/switch0/power"].status is Status.OK
    assert exposed(parse_target(f"shelly://{plug.address}"), DOOR) == ""
    plug.password = "another"
    for door in (DOOR, OPEN_DOOR):
        with pytest.raises(Unavailable) as error, opened(f"shelly://{plug.address}", door):
            pass
        assert "401" in error.value.what and "SHAKEDOWN_SHELLY_PASSWORD" in error.value.hint


def test_a_device_without_a_meter_and_one_that_is_away(plug: Plug) -> None:
    plug.extra = {"switch:0": {"id": 0, "output": True}}
    with pytest.raises(Unavailable, match="measures no power"), opened(f"shelly://{plug.address}", OPEN_DOOR):
        pass
    with pytest.raises(Unavailable), opened("shelly://127.0.0.1:1?timeout=0.5", OPEN_DOOR):
        pass
    with pytest.raises(BadInput, match="needs an address"), opened("shelly", OPEN_DOOR):
        pass


def test_meters_of_three_phases_and_clamps() -> None:
    found = parse(
        {
            "em:0": {"total_act_power": 300.5, "a_act_power": 100.0},
            "emdata:0": {"total_act": 2.5},
            "em1:1": {"act_power": -3.0},
            "em1data:1": {"total_act_energy": 1},
            "switch:10": {"apower": 1.5},
            "input:0": {"apower": 5},
            "pm1:0": 3,
            "pm1:1": {"apower": 7},
        }
    )
    assert found == {
        "em0/power": 300.5,
        "emdata0/energy": 9000.0,
        "em1.1/power": -3.0,
        "em1data1/energy": 3600.0,
        "pm1.1/power": 7.0,
        "switch10/power": 1.5,
    }


@pytest.mark.parametrize("value", [None, "5", True, float("nan"), {}, []])
def test_what_is_not_a_number_is_a_gap(value: object) -> None:
    assert parse({"switch:0": {"apower": value, "aenergy": {"total": value}}}) == {
        "switch0/power": Status.GAP,
        "switch0/energy": Status.GAP,
    }
    assert parse({"switch:0": {"aenergy": value}}) == {"switch0/energy": Status.GAP}


def test_what_is_out_of_range_is_said() -> None:
    told = {"total_act_power": 5.0, "b_errors": ["out_of_range:active_power"], "errors": None}
    assert parse({"em:0": told}) == {"em0/power": Status.OVERRANGE}
    with pytest.raises(Lost):
        parse([])
