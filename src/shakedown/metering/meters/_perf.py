"""Energy counters as perf events: ``perf_event_open`` by ctypes on the PMU ``power``, scale and unit from sysfs.

The kernel reads the counter before it can wrap and adds to a sum of 64 bits that starts at zero when the event is opened
(Linux, arch/x86/events/rapl.c). One read is one system call and no file of /sys.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import re
import struct
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import CannotMeasure, Unavailable
from ...hosts.access import HostAccess, LocalHost, parse_cpu_list
from . import Channel, Reading, Status
from ._local import Facts, number, status_of, text

FOLDER = "/sys/bus/event_source/devices"
_PMU = "power"
_CALL = {"x86_64": 298, "i686": 336, "aarch64": 241, "ppc64le": 319, "riscv64": 241}
_ATTRIBUTES = 64  # bytes of struct perf_event_attr in its first version, which every kernel takes
_CLOEXEC = 8
#: Event -> the zone that powercap calls it, and the zone that it is a part of.
_ZONES = {"pkg": ("package", ""), "cores": ("core", "package"), "gpu": ("uncore", "package"), "ram": ("dram", "")}


class Event(NamedTuple):
    """One energy event of the PMU."""

    name: str  # pkg, cores, gpu, ram, psys
    config: int
    joules: float  # per count


def events(door: HostAccess, folder: str) -> tuple[int, tuple[int, ...], tuple[Event, ...]]:
    """The PMU's type, the CPUs that it is counted on (one a package or die) and its energy events; type -1 where it is
    not there. An event in another unit than joules, or without a scale, is left out."""
    pmu = f"{folder}/{_PMU}"
    kind = number(door, f"{pmu}/type")
    if kind is None:
        return -1, (), ()
    found = []
    for name in door.list(f"{pmu}/events"):
        at = f"{pmu}/events/{name}"
        spec = re.search(r"\b(?:event|config)=(0x[0-9a-fA-F]+|\d+)", text(door, at))
        if name.startswith("energy-") and "." not in name and spec and text(door, f"{at}.unit") == "Joules":
            with contextlib.suppress(ValueError):
                found.append(Event(name.removeprefix("energy-"), int(spec[1], 0), float(text(door, f"{at}.scale"))))
    try:
        return kind, parse_cpu_list(text(door, f"{pmu}/cpumask")), tuple(found)
    except ValueError:
        return kind, (), tuple(found)


def perf_event_open(kind: int, config: int, cpu: int) -> int:
    """A file descriptor that counts one event on one CPU for all processes. Raises OSError."""
    attributes = (ctypes.c_char * _ATTRIBUTES)()
    struct.pack_into("IIQ", attributes, 0, kind, _ATTRIBUTES, config)
    call = _CALL.get(platform.machine())
    if call is None:
        raise OSError(errno.ENOSYS, "the number of perf_event_open is not known for this processor")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(
        ctypes.c_long(call), attributes, ctypes.c_int(-1), ctypes.c_int(cpu), ctypes.c_int(-1), ctypes.c_ulong(_CLOEXEC)
    )
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(fd)


def allowed(door: HostAccess, folder: str) -> bool:
    """Whether this process may count the PMU's events. Quick, never raises."""
    kind, cpus, found = events(door, folder)
    if not cpus or not found:
        return False
    try:
        os.close(perf_event_open(kind, found[0].config, cpus[0]))
    except OSError:
        return False
    return True


class _Counters:
    """The open events."""

    def __init__(self, door: HostAccess, channels: Sequence[Channel], counters: Sequence[tuple[int, float]]) -> None:
        self.channels = tuple(channels)
        self._now = door.now_ns
        self._counters = list(counters)

    def read(self) -> list[Reading]:
        """Each counter once."""
        out: list[Reading] = []
        for index, (fd, joules) in enumerate(self._counters):
            before = self._now()
            value: float | None = None
            status = Status.OK
            try:
                value = int.from_bytes(os.read(fd, 8), "little") * joules
            except OSError as error:
                status = status_of(error)
            out.append(Reading(index, before, self._now(), None, value, status))
        if not self._counters:  # closed
            out = [Reading(index, 0, 0, None, None, Status.GAP) for index in range(len(self.channels))]
        return out

    def close(self) -> None:
        """End the counting."""
        for fd, _ in self._counters:
            os.close(fd)
        self._counters = []


def open_(door: HostAccess, folder: str, meter: str, facts: Facts) -> _Counters:
    """The energy events of every package. Raises Unavailable where there are none, CannotMeasure where refused."""
    kind, cpus, found = events(door, folder)
    if kind < 0 or not found or not cpus:
        raise Unavailable(
            f"no energy events in {folder}/{_PMU}",
            where=meter,
            hint="modprobe rapl; a virtual machine shows none",
        )
    if not isinstance(door, LocalHost):
        raise Unavailable("perf events count on the machine itself, not on a recording", where=meter, hint="rapl")
    channels: list[Channel] = []
    counters: list[tuple[int, float]] = []
    try:
        for cpu in _one_a_counter(door, cpus, facts):
            for event in found:
                counters.append((perf_event_open(kind, event.config, cpu), event.joules))
                channels.append(_channel(door, meter, event, cpu, {one.name for one in found}, facts))
    except OSError as error:
        for fd, _ in counters:
            os.close(fd)
        raise CannotMeasure(
            f"the kernel refuses the energy events: {error.strerror}",
            where=meter,
            hint="run as root, give the program CAP_PERFMON (sudo setcap cap_perfmon=ep PYTHON), or "
            "sudo sysctl kernel.perf_event_paranoid=0",
        ) from None
    return _Counters(door, channels, counters)


def _one_a_counter(door: HostAccess, cpus: Sequence[int], facts: Facts) -> list[int]:
    """One CPU for each counter: on AMD's parts of several dies each die shows that of the whole socket."""
    if "AMD" not in facts.device:
        return list(cpus)
    first: dict[int, int] = {}
    for cpu in cpus:
        first.setdefault(number(door, f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id") or 0, cpu)
    return list(first.values())


def _channel(door: HostAccess, meter: str, event: Event, cpu: int, beside: set[str], facts: Facts) -> Channel:
    at = f"/sys/devices/system/cpu/cpu{cpu}/topology"
    package, die = number(door, f"{at}/physical_package_id") or 0, number(door, f"{at}/die_id") or 0
    where = f"package-{package}" + (f"-die-{die}" if die else "")
    zone, part_of = _ZONES.get(event.name, (event.name, ""))
    board = f"{meter}/psys" if "psys" in beside else ""
    names = {"package": f"{meter}/{where}", "psys": f"{meter}/psys" + (f"@{where}" if package or die else "")}
    return Channel(
        id=names.get(zone, f"{meter}/{where}-{zone}"),
        title=f"RAPL {zone} of {where}, by perf events",
        quantity="energy",
        unit="J",
        scope="counter",
        place="board" if zone == "psys" else "component",
        within=f"{meter}/{where}" if part_of and "pkg" in beside else board if zone in ("package", "dram") else "",
        modulus=2.0**64 * event.joules,
        refresh_s=1e-3,
        note=f"perf event {_PMU}/energy-{event.name}/ on cpu {cpu}; starts at zero when it is opened",
        device=facts.device,
        firmware=facts.firmware,
        driver=facts.driver,
    )
