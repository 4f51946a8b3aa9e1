"""One simulated load drives all servers at once; they agree with it, and are gone afterwards."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest

from shakedown.energy.green500.feeds import same_load
from shakedown.metering.meters import Reading, Status
from support.waiting import until

from .conftest import Shared
from .helpers import opened
from .load import Device
from .servers import DOOR, OPEN_DOOR, Drive, Truth, ipmi, modbus, redfish, redfish_static, snmp, square


def test_a_device_shows_what_its_truth_says() -> None:
    with Drive(square(100.0, 300.0, 2.0, 10.0), seconds=10.0) as drive:
        late = drive.device(Truth(refresh_s=0.5, window_s=1.0, delay_s=0.5, gain=1.1, offset=3.0, clock_s=2.0))
        at = drive.origin_ns + 2_250_000_000  # refreshed at 2.0: the mean of 0.5 to 1.5, which is half of each
        stamp, value = late.latest(at)
        assert stamp == drive.origin_ns + 4_000_000_000 and value == pytest.approx(1.1 * 200.0 + 3.0)
        counter = drive.device(Truth(refresh_s=0.5, resolution=10.0, modulus=500.0), "energy")
        begin, end = counter.latest(drive.origin_ns + 10)[1], counter.latest(drive.origin_ns + 4_000_000_010)[1]
        assert (end - begin) % 500.0 == pytest.approx(800.0 % 500.0)
        assert drive.energy_j(drive.origin_ns, drive.origin_ns + 4_000_000_000) == pytest.approx(800.0)


def test_all_agree_at_once_and_are_gone_afterwards(tmp_path: Path, shared: Shared) -> None:
    """Each server has a device of its own window and step; the energy that its readings add up to is the device's."""
    drive = shared.drive
    made: dict[str, Device] = {}

    def power(name: str, window_s: float, resolution: float = 1.0) -> Device:
        made[name] = drive.device(Truth(refresh_s=0.1, window_s=window_s, resolution=resolution))
        return made[name]

    threads = threading.active_count()
    with (
        ipmi(tmp_path, drive, power("ipmi/dcmi/current", 0.1)) as bmc,
        redfish(power("redfish/1/power", 0.2), shared.energy) as service,
        redfish_static(tmp_path, drive, power("static", 0.4)) as static,
        snmp(tmp_path, power("snmp/raritan-inlet-1.1/power", 0.5), shared.energy, "raritan") as pdu,
        modbus(power("modbus/meter/power", 0.3), shared.energy) as transducer,
        opened(bmc.target) as one,
        opened(service.target) as two,
        opened(static, OPEN_DOOR) as three,
        opened(pdu.target, DOOR) as four,
        opened(transducer.target) as five,
    ):
        names = ["ipmi/dcmi/current", "redfish/1/power", "static", "snmp/raritan-inlet-1.1/power", "modbus/meter/power"]
        got: dict[str, list[Reading]] = {name: [] for name in names}
        begin = time.monotonic()
        while time.monotonic() - begin < 2.1:  # a period and a half
            for name, source in zip(names, (one, two, three, four, five), strict=True):
                wanted = "redfish/1/power" if name == "static" else name
                index = [channel.id for channel in source.channels].index(wanted)
                got[name] += [reading for reading in source.read() if reading.channel == index]
            time.sleep(0.02)
        for name, readings in got.items():
            assert {reading.status for reading in readings} == {Status.OK}
            joules = true_j = 0.0
            for a, b in itertools.pairwise(readings):
                assert a.value is not None
                seconds = (b.before_ns - a.before_ns) * 1e-9
                joules += a.value * seconds
                true_j += made[name].latest(a.before_ns)[1] * seconds
            assert joules == pytest.approx(true_j, rel=0.03), name
        ports = [int(target.rpartition(":")[2].partition("?")[0]) for target in (bmc.target, pdu.target)]
        streams = [service.port, transducer.port]
    for port, kind in [(one, socket.SOCK_DGRAM) for one in ports] + [(one, socket.SOCK_STREAM) for one in streams]:
        with socket.socket(socket.AF_INET, kind) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, kind == socket.SOCK_STREAM)
            sock.bind(("127.0.0.1", port))
    # pyghmi keeps one thread for the whole process.
    until(lambda: threading.active_count() <= threads + 1, what="the servers' threads end", every_s=0.02)


def test_views_of_one_load_are_known_as_such(tmp_path: Path, shared: Shared) -> None:
    """Whoever adds up feeds must not count a counter, an average and a power of one input as three."""
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        sources = [enter(opened(enter(redfish(shared.power, shared.energy)).target))]
        sources.append(enter(opened(enter(modbus(shared.power, shared.energy)).target)))
        sources.append(enter(opened(enter(snmp(tmp_path, shared.power, shared.energy)).target)))
        if shutil.which("ipmi_sim"):
            sources.append(enter(opened(enter(ipmi(tmp_path, shared.drive, shared.power)).target)))
        for source in sources:
            first, *others = source.channels
            assert others and all(same_load(first, other) for other in others), [one.id for one in source.channels]
