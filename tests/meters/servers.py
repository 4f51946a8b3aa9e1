"""Real protocol servers on loopback that all answer for one moving load.

    with Drive(square(200.0, 400.0, 2.0, 60.0), seconds=60.0) as drive:
        power = drive.device(Truth(refresh_s=0.5, window_s=1.0, resolution=1.0))
        energy = drive.device(Truth(refresh_s=0.5, resolution=3600.0), "energy")
        with snmp(tmp_path, power, energy) as target:
            source = meters.get("snmp").open(meters.parse_target(target), DOOR)

Each server is a context manager that yields the target to open, or a record that has it and lets faults in. It takes the
``Device``s of load.py (refresh, window, delay, gain, noise, resolution, modulus of each are free), so one Drive can feed all
of them at once, each through a meter of its own: ``everything`` does that. They listen on free ports of 127.0.0.1 and are
gone when the block ends. ``DOOR`` is this machine with the passwords that the servers want.

What a server adds to its device: ipmi_sim polls its sensor's file every 200 ms; Prometheus scrapes every ``scrape_s``; the
files of the sensor and of the static Redfish server are replaced at a refresh, which is late by what a busy machine makes
of it. The others are exact. What it cannot show: IPMI's sensor has steps of 4 W, DCMI of 1 W, and
SNMP those of its column (apc: 10 W and 0.1 kWh; raritan: 1 W and 1 Wh), whatever the device's own resolution.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shakedown.energy.simulate import Truth
from shakedown.hosts.access import LocalHost
from support.ports import free_port
from support.waiting import until

from .load import Device, Drive, replace, square
from .modbus_server import modbus
from .processes import answers, listens, program, running
from .redfish_server import RedfishServer, tree

__all__ = [
    "DOOR",
    "Device",
    "Drive",
    "RedfishServer",
    "Truth",
    "everything",
    "free_port",
    "ipmi",
    "modbus",
    "prometheus",
    "redfish",
    "redfish_static",
    "snmp",
    "square",
]

HERE = Path(__file__).parent
PASSWORD = "long-secret"
USER = "meter"


class KeyedHost(LocalHost):
    """This machine, with the passwords of the servers in its environment."""

    def env(self, name: str) -> str | None:
        return PASSWORD if name.startswith("SHAKEDOWN_") and name.endswith("_PASSWORD") else super().env(name)


class OpenHost(LocalHost):
    """This machine, without any password."""

    def env(self, name: str) -> str | None:
        return None if name.startswith("SHAKEDOWN_") else super().env(name)


DOOR = KeyedHost()
OPEN_DOOR = OpenHost()


# ---------------------------------------------------------------------------------------------------------------- IPMI


class Ipmi:
    """ipmi_sim under way."""

    def __init__(self, target: str, folder: Path, child: Any, again: Callable[[], Any]) -> None:
        self.target = target
        self.child = child
        self._folder = folder
        self._again = again
        self.set()

    def set(self, *, active: bool = True, code: int = 0) -> None:
        """Whether it measures, and a completion code that it answers with instead."""
        replace(self._folder / "state", f"{int(active)} {code}\n")

    def restart(self) -> None:
        """Kill it and start it anew: its sessions are lost."""
        self.child.kill()
        self.child.wait(60)
        self.child = self._again()


def full_sensor_record(number: int, name: str, m: int) -> bytes:
    """A full sensor record of watts, m watts a step, unsigned (IPMI 2.0, table 43-1)."""
    body = bytes([0x20, 0, number, 0x13, 1, 0x7F, 0x68, 0x0B, 1, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, m & 0xFF, m >> 8 << 6])
    body += bytes([0, 0, 0, 0, 7, 0, 0, 0, 255, 0, *[0] * 6, 0, 0, 0, 0, 0, 0xC0 | len(name)]) + name.encode()
    return bytes([1, 0, 0x51, 1, len(body)]) + body


def dcmi_module(folder: Path) -> Path:
    """The DCMI handler for ipmi_sim, compiled; skipped where the compiler or the headers are not here."""
    program("ipmi_sim", "apt-get install openipmi")
    compiler = program("cc", "apt-get install gcc")
    module = folder / "dcmi.so"
    argv = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
    argv += ["-isystem", "/usr/include", "-o", str(module), str(HERE / "dcmi.c")]
    done = subprocess.run(argv, capture_output=True, text=True)
    if "OpenIPMI" in done.stderr and "No such file" in done.stderr:
        pytest.skip("needs OpenIPMI's headers: apt-get install libopenipmi-dev")
    assert done.returncode == 0, done.stderr
    return module


@contextlib.contextmanager
def ipmi(folder: Path, drive: Drive, power: Device, sensor: Device | None = None) -> Iterator[Ipmi]:
    """A BMC: DCMI's current power is ``power`` (so is its rolling average), and a sensor of 4 W steps shows ``sensor``."""
    folder = folder / "ipmi"
    folder.mkdir()
    module = dcmi_module(folder)
    simulator = program("ipmi_sim", "apt-get install openipmi")
    port = free_port(socket.SOCK_DGRAM)
    auth = "\n".join(f"allowed_auths_{who} none md2 md5 straight" for who in ("callback", "user", "operator", "admin"))
    lan = f'name "bmc"\nset_working_mc 0x20\nstartlan 1\naddr 127.0.0.1 {port}\npriv_limit admin\n{auth}\n'
    lan += (
        f'guid a123456789abcdefa123456789abcdef\nendlan\nuser 2 true "{USER}" "{PASSWORD}" admin 10 none md5 straight\n'
    )
    lan += f'loadlib "{module}" "{folder}"\n'
    record = " ".join(f"0x{byte:02x}" for byte in full_sensor_record(1, "PWR Total", 4))
    bits = "000000000000000"
    commands = "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nsel_enable 0x20 100 0x0a\n"
    commands += f'sensor_add 0x20 0 1 0x0b 0x01 poll 200 file "{folder}/sensor" div=4\n'
    commands += f"sensor_set_event_support 0x20 0 1 enable scanning per-state {bits} {bits} {bits} {bits}\n"
    commands += f"main_sdr_add 0x20 {record}\nmc_enable 0x20\n"
    (folder / "lan.conf").write_text(lan)
    (folder / "commands").write_text(commands)
    (folder / "kept").mkdir()
    power.write(folder / "power")
    argv = [simulator, "-c", "lan.conf", "-f", "commands", "-s", "kept", "-n", "-p"]

    def ready() -> bool:  # an RMCP ping is answered with a pong
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(0.1)
            try:
                one.sendto(bytes.fromhex("0600ff06000011be80000000"), ("127.0.0.1", port))
                return bool(one.recv(100))
            except OSError:
                return False

    with contextlib.ExitStack() as stack:

        def start() -> Any:
            return stack.enter_context(running(argv, folder, ready))

        bmc = Ipmi(f"ipmi://{USER}@127.0.0.1:{port}", folder, None, start)
        drive.follow(sensor or power, lambda watts: replace(folder / "sensor", f"{round(watts)}\n"))
        bmc.child = start()
        yield bmc


# ------------------------------------------------------------------------------------------------------------- Redfish


@contextlib.contextmanager
def redfish(power: Device, energy: Device | None = None, **options: Any) -> Iterator[RedfishServer]:
    """A Redfish service of our own with sessions, that slows, refuses, throttles and breaks on demand."""
    with RedfishServer(power, energy, USER, PASSWORD, **options) as server:
        yield server


@contextlib.contextmanager
def redfish_static(folder: Path, drive: Drive, power: Device, energy: Device | None = None) -> Iterator[str]:
    """sushy-tools' static server over a tree of files, which are replaced at every refresh."""
    folder = folder / "redfish"
    script = program("sushy-static", "pip install sushy-tools")

    def write(_: float) -> None:
        for path, body in tree(power.latest(), energy.latest() if energy else None).items():
            at = folder / path.strip("/") / "index.json"
            at.parent.mkdir(parents=True, exist_ok=True)
            replace(at, json.dumps(body))

    drive.follow(power, write)
    if energy:
        drive.follow(energy, write)
    port = free_port()
    with running(
        [script, "-i", "127.0.0.1", "-p", str(port), "-m", f"{folder}/redfish/v1"],
        folder,
        lambda: answers(f"http://127.0.0.1:{port}/redfish/v1/Chassis"),
    ):
        yield f"redfish://127.0.0.1:{port}?plain=1"


# ---------------------------------------------------------------------------------------------------------------- SNMP

#: Vendor -> sysObjectID, rows of power and energy (OID, type, what one step is), and rows that do not move.
AGENTS: dict[str, tuple[str, tuple[str, str, float], tuple[str, str, float], tuple[str, ...]]] = {
    "apc": (
        "1.3.6.1.4.1.318.1.3.4.5",
        ("1.3.6.1.4.1.318.1.1.26.4.3.1.5.1", "integer", 10.0),
        ("1.3.6.1.4.1.318.1.1.26.4.3.1.9.1", "integer", 360_000.0),
        ("1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.1 integer 77", "1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.2 integer -1"),
    ),
    "raritan": (
        "1.3.6.1.4.1.13742.6",
        ("1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5", "gauge", 1.0),
        ("1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.8", "gauge", 360.0),
        (
            "1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.1 gauge 19",
            "1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.1 gauge 1",
            "1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5 gauge 0",
            "1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.8 gauge 1",
        ),
    ),
}


class Snmp:
    """snmpd under way."""

    def __init__(self, target: str, folder: Path, vendor: str) -> None:
        self.target = target
        self._folder = folder
        _, power, energy, self._fixed = AGENTS[vendor]
        self._moving = [
            f"{oid} {kind} {step!r} {name}" for (oid, kind, step), name in ((power, "power"), (energy, "energy"))
        ]
        self.set()

    def set(self, *, gone: bool = False) -> None:
        """Whether power and energy are not there."""
        replace(self._folder / "rows", "\n".join([*self._fixed, *([] if gone else self._moving)]) + "\n")


@contextlib.contextmanager
def snmp(folder: Path, power: Device, energy: Device, vendor: str = "apc") -> Iterator[Snmp]:
    """net-snmp's agent as a PDU of some maker, v2c (community as in DOOR, and "public") and v3."""
    folder = folder / f"snmp-{vendor}"
    folder.mkdir()
    daemon = program("snmpd", "apt-get install snmpd")
    port = free_port(socket.SOCK_DGRAM)
    whose, (first, _, _), _, _ = AGENTS[vendor]
    root = ".".join(first.split(".")[:8])
    config = f'rocommunity public 127.0.0.1\nrocommunity "{PASSWORD}" 127.0.0.1\nsysObjectID {whose}\nsysDescr a PDU\n'
    config += f'createUser {USER} SHA-256 "{PASSWORD}" AES "{PASSWORD}"\nrouser {USER} authpriv\n'
    config += f"pass_persist .{root} {sys.executable} -S -E {HERE / 'pass_persist.py'} {folder}\n"
    (folder / "snmpd.conf").write_text(config)
    agent = Snmp(f"snmp://127.0.0.1:{port}", folder, vendor)
    power.write(folder / "power")
    energy.write(folder / "energy")
    argv = [daemon, "-f", "-Lo", "-C", "-c", "snmpd.conf", "-I", "-smux", f"udp:127.0.0.1:{port}"]

    def ready() -> bool:
        return "NET-SNMP version" in (folder / "log").read_text()

    with running(argv, folder, ready, {"SNMP_PERSISTENT_DIR": str(folder / "kept"), "MIBS": ""}):
        yield agent


# ---------------------------------------------------------------------------------------------------------- Prometheus


class Prometheus:
    """A server that scrapes an exporter. ``exporting`` false makes the exporter leave its metrics out."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.exporting = True
        self.scrapes = 0
        self.added_j = 0.0  # onto the counter; set it below zero for a reset

    def wait(self) -> Prometheus:
        """Until it has scraped: it takes five seconds before it begins."""
        until(lambda: self.scrapes >= 3, what="Prometheus scrapes", every_s=0.05)
        return self

    def target(self, query: str, rest: str = "") -> str:
        """The target for a selector."""
        return f"prometheus://{self.address}?query={query}{rest}"


@contextlib.contextmanager
def prometheus(folder: Path, power: Device, energy: Device, *, scrape_s: float = 0.2) -> Iterator[Prometheus]:
    """Prometheus, scraping node_power_watts and node_energy_joules_total from an exporter every ``scrape_s``; it begins
    five seconds after its start: ``wait`` for it."""
    client = pytest.importorskip("prometheus_client")
    core = pytest.importorskip("prometheus_client.core")
    binary = program("prometheus", "apt-get install prometheus")
    folder = folder / "prometheus"
    folder.mkdir()
    ports = free_port(), free_port()
    server = Prometheus(f"127.0.0.1:{ports[0]}")

    class Meters:
        def collect(self) -> Iterator[Any]:
            server.scrapes += 1
            if server.exporting:
                watts = core.GaugeMetricFamily("node_power_watts", "power", labels=["feed"])
                watts.add_metric(["a"], power.value())
                yield watts
                yield core.CounterMetricFamily("node_energy_joules", "energy", value=energy.value() + server.added_j)

    registry = client.CollectorRegistry(auto_describe=False)
    registry.register(Meters())
    httpd, thread = client.start_http_server(ports[1], addr="127.0.0.1", registry=registry)
    config = f"global:\n  scrape_interval: {round(scrape_s * 1000)}ms\n  scrape_timeout: {round(scrape_s * 1000)}ms\n"
    config += f"scrape_configs:\n- job_name: power\n  static_configs:\n  - targets: ['127.0.0.1:{ports[1]}']\n"
    (folder / "prometheus.yml").write_text(config)
    argv = [binary, "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{ports[0]}", "--log.level=warn"]
    argv += [f"--storage.tsdb.path={folder / 'data'}", "--scrape.discovery-reload-interval=100ms"]
    try:
        with running(argv, folder, lambda: listens(ports[0])):
            yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join(60)


# ---------------------------------------------------------------------------------------------------------- all at once


@contextlib.contextmanager
def everything(folder: Path, devices: Callable[[str], tuple[Device, Device]], drive: Drive) -> Iterator[dict[str, str]]:
    """All servers at once on one load: name -> target. ``devices(name)`` gives each its devices of power and energy, so that
    each may have another window, delay, noise and step. Names: ipmi, redfish, redfish-static, snmp, modbus, prometheus,
    prometheus-energy."""
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        watched = enter(prometheus(folder, *devices("prometheus"))).wait()
        yield {
            "ipmi": enter(ipmi(folder, drive, devices("ipmi")[0])).target,
            "redfish": enter(redfish(*devices("redfish"))).target,
            "redfish-static": enter(redfish_static(folder, drive, *devices("redfish-static"))),
            "snmp": enter(snmp(folder, *devices("snmp"), vendor="raritan")).target,
            "modbus": enter(modbus(*devices("modbus"))).target,
            "prometheus": watched.target("node_power_watts"),
            "prometheus-energy": watched.target("node_energy_joules_total"),
        }
