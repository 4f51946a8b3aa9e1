"""One look at the machine: clocks, heat, power, error counters, the kernel's log, through the readers of the health checks.

Each part is read by a child that may hang (a driver can hold whoever asks it): what gives no answer in time is missing,
and says so. A child that cannot be killed is not joined by another: that part stays missing until it is gone.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from typing import Any

import msgspec

from ...hosts.gpu_state import GpuState
from ...records import Record
from ..health import children, faults, kernellines
from ..health.checks import ecc, kernellog, mce
from ..health.checks import gpus as gpu_check
from ..health.children import Gone, Task
from ..health.kernellines import Cursor
from ..health.node_access import NodeAccess
from ..health.records import Occasion

LIMIT_S = 4.0
_CPU, _HWMON, _EDAC = "/sys/devices/system/cpu", "/sys/class/hwmon", "/sys/devices/system/edac/mc"


class Snapshot(Record, frozen=True, kw_only=True):
    """What was seen. A part that could not be looked at is empty and named in ``missing``."""

    at_s: float = 0.0
    gpus: tuple[GpuState, ...] = ()
    gpu_hz: dict[int, float] = msgspec.field(default_factory=dict)
    cpu_hz: dict[int, float] = msgspec.field(default_factory=dict)
    heat_c: dict[str, float] = msgspec.field(default_factory=dict)  # sensors of the node
    throttles: dict[int, int] = msgspec.field(default_factory=dict)  # logical CPU -> how often its core was slowed
    memory: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)  # module -> corrected, uncorrected
    machine_checks: dict[str, int] = msgspec.field(default_factory=dict)
    watts: dict[str, float] = msgspec.field(default_factory=dict)  # meters of the node
    faults: tuple[Occasion, ...] = ()  # new lines of the kernel's log that tell of one
    cursor: Cursor = Cursor()
    missing: dict[str, str] = msgspec.field(default_factory=dict)  # part -> why


def has_gpus(senses: NodeAccess) -> bool:
    """Whether there is anything to ask about GPUs."""
    on_bus = bool(gpu_check.bus(senses)) or senses.there("/proc/driver/nvidia/version")
    return on_bus or senses.which("nvidia-smi") is not None


class Monitor:
    """Looks again and again; remembers up to where the kernel's log was read, and who is stuck."""

    def __init__(self, senses: NodeAccess, limit_s: float = LIMIT_S) -> None:
        self._senses, self._limit_s = senses, limit_s
        self._cursor: Cursor | None = None
        self._stuck: dict[str, Gone] = {}

    def close(self) -> None:
        """Wait for children that have answered, but not long: one may hang in its very end."""
        deadline = time.monotonic() + 1.0
        while children.reap() and time.monotonic() < deadline:
            time.sleep(0.01)

    def look(self, now_s: float) -> Snapshot:
        """At all parts, within the limit. The first look reads the kernel's log only to know where it ends."""
        for part, gone in list(self._stuck.items()):
            if children.started(gone.pid) != gone.started:
                del self._stuck[part]
        missing = {part: f"{gone.why}, while {gone.touched}; it cannot be killed" for part, gone in self._stuck.items()}
        tasks = [Task(part) for part in _PARTS if part not in self._stuck]

        def work(task: Task, note: Callable[[str], None]) -> bytes:
            self._senses.note = note
            try:
                return msgspec.msgpack.encode(_PARTS[task.check](self._senses, self._cursor, now_s))
            except (OSError, ValueError) as error:
                return msgspec.msgpack.encode(Snapshot(missing={task.check: str(error)}))

        seen = Snapshot(at_s=now_s)
        for task, answer in children.run(tasks, work, self._limit_s).items():
            if isinstance(answer, Gone):
                missing[task.check] = f"{answer.why}, while {answer.touched or 'it began'}"
                if answer.pid and answer.started:
                    self._stuck[task.check] = answer
                continue
            told = msgspec.msgpack.decode(answer, type=Snapshot)
            missing.update(told.missing)
            seen = _merged(seen, told)
        if "kernel" not in missing:
            self._cursor = seen.cursor
        return msgspec.structs.replace(seen, missing=missing)


def _merged(one: Snapshot, other: Snapshot) -> Snapshot:
    empty = Snapshot()
    changes = {
        name: getattr(other, name)
        for name in Snapshot.__struct_fields__
        if name not in ("at_s", "missing") and getattr(other, name) != getattr(empty, name)
    }
    return msgspec.structs.replace(one, **changes)


def _gpus(senses: NodeAccess, cursor: Cursor | None, now_s: float) -> Snapshot:
    if not has_gpus(senses):
        return Snapshot()
    found, why = gpu_check.ask(senses)
    if found is None:
        return Snapshot(missing={"gpus": why})
    clocks = {one.index: one.sm_mhz * 1e6 for one in found if one.sm_mhz is not None}
    return Snapshot(gpus=found, gpu_hz=clocks)


def _kernel(senses: NodeAccess, cursor: Cursor | None, now_s: float) -> Snapshot:
    boot_s = kernellog.boot_time_s(senses, now_s)
    lines, why = kernellog.read(senses, boot_s)
    if lines is None:
        return Snapshot(missing={"kernel": f"the kernel's log: {why}"})
    new, after = kernellines.news(lines, cursor or Cursor())
    told = (faults.recognise(line, "", "", now_s) for line in new) if cursor is not None else ()
    return Snapshot(faults=tuple(one for one in told if one is not None), cursor=after)


def _machine(senses: NodeAccess, cursor: Cursor | None, now_s: float) -> Snapshot:
    memory: dict[str, tuple[int, int]] = {}
    for controller in senses.names(_EDAC):
        if re.fullmatch(r"mc\d+", controller):
            with contextlib.suppress(ValueError):
                memory.update(ecc.counters(senses, controller))
    return Snapshot(
        cpu_hz=_clocks(senses),
        heat_c=_heat(senses),
        throttles=_throttles(senses),
        memory=memory,
        machine_checks=mce.interrupts(senses.text("/proc/interrupts") or ""),
    )


def _cpus(senses: NodeAccess) -> list[tuple[int, str]]:
    found = (re.fullmatch(r"cpu(\d+)", name) for name in senses.names(_CPU))
    return [(int(one[1]), f"{_CPU}/{one[0]}") for one in found if one]


def _clocks(senses: NodeAccess) -> dict[int, float]:
    """By cpufreq, else as /proc/cpuinfo has them. A virtual machine's are often those of its start."""
    clocks: dict[int, float] = {}
    for cpu, folder in _cpus(senses):
        khz = senses.number(f"{folder}/cpufreq/scaling_cur_freq")
        if khz:
            clocks[cpu] = khz * 1e3
    if not clocks:
        cpu = -1
        for line in (senses.text("/proc/cpuinfo") or "").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "processor":
                cpu = int(value)
            elif name.strip() == "cpu MHz":
                clocks[cpu] = float(value) * 1e6
    return clocks


def _throttles(senses: NodeAccess) -> dict[int, int]:
    counts: dict[int, int] = {}
    for cpu, folder in _cpus(senses):
        count = senses.number(f"{folder}/thermal_throttle/core_throttle_count")
        if count is not None:
            counts[cpu] = count + (senses.number(f"{folder}/thermal_throttle/package_throttle_count") or 0)
    return counts


def _heat(senses: NodeAccess) -> dict[str, float]:
    """Every temperature of hwmon, by chip, number and label; a sensor that gives an error is left out."""
    heat: dict[str, float] = {}
    for chip in senses.names(_HWMON):
        name = senses.word(f"{_HWMON}/{chip}/name") or chip
        for file in senses.names(f"{_HWMON}/{chip}"):
            if found := re.fullmatch(r"(temp\d+)_input", file):
                with contextlib.suppress(OSError, ValueError):
                    value = senses.number(f"{_HWMON}/{chip}/{file}")
                    label = senses.word(f"{_HWMON}/{chip}/{found[1]}_label") or found[1]
                    if value is not None and -30e3 <= value <= 150e3:
                        heat[f"{name} {chip} {label}"] = value / 1e3
    return heat


_PARTS: dict[str, Callable[[NodeAccess, Cursor | None, float], Snapshot]] = {
    "gpus": _gpus,
    "kernel": _kernel,
    "machine": _machine,
}


class Watts:
    """Power of the node by meters of this package; energy counters become the mean since the last reading."""

    def __init__(self, sources: list[tuple[str, Any]]) -> None:
        self._sources = sources
        self._before: dict[str, tuple[int, float]] = {}

    def read(self) -> dict[str, float]:
        """Channel -> watts, of those that answer."""
        found: dict[str, float] = {}
        for name, source in self._sources:
            for one in source.read():
                channel = source.channels[one.channel]
                if one.value is None or channel.quantity not in ("power", "energy"):
                    continue
                key = channel.id if len(self._sources) == 1 else f"{name} {channel.id}"
                if channel.quantity == "power":
                    found[key] = one.value
                    continue
                at_ns, value = self._before.get(key, (0, 0.0))
                self._before[key] = (one.after_ns, one.value)
                if at_ns and one.value >= value and one.after_ns > at_ns:  # a counter that began anew is left out
                    found[key] = (one.value - value) / ((one.after_ns - at_ns) * 1e-9)
        return found

    def close(self) -> None:
        for _, source in self._sources:
            source.close()


def open_meters(words: tuple[str, ...]) -> Watts:
    """``auto``: what this machine has of its own (RAPL, hwmon), silently none. Raises Unavailable for one that is named."""
    from ...errors import ShakedownError
    from ...hosts.access import LocalHost
    from ...metering import meters

    door = LocalHost()
    sources: list[tuple[str, Any]] = []
    for word in words:
        if word != "auto":
            target = meters.parse_target(word)
            sources.append((word, meters.get(target.meter).open(target, door)))
            continue
        for name in ("rapl", "hwmon"):
            for target in meters.get(name).find(door):
                with contextlib.suppress(ShakedownError):
                    sources.append((name, meters.get(name).open(target, door)))
    return Watts(sources)
