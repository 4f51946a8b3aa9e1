"""Limits on this process and on what it may observe: ulimits, control groups, counters, energy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..hosts.access import HostAccess, format_cpu_list
from ..records import Cpu, Setting
from ..units import show_bytes
from . import cgroup
from .kernel import parse_meminfo, read_word
from .settings_common import State, from_number, setting


def ulimits(door: HostAccess) -> dict[str, tuple[int | None, int | None]]:
    """``/proc/self/limits``: name -> soft and hard limit, None for unlimited."""
    found: dict[str, tuple[int | None, int | None]] = {}
    for line in (door.read("/proc/self/limits") or "").splitlines():
        match = re.match(r"(Max [a-z ]+?)\s{2,}(\d+|unlimited)\s+(\d+|unlimited)", line)
        if match:
            soft, hard = (None if word == "unlimited" else int(word) for word in match.groups()[1:])
            found[match[1]] = (soft, hard)
    return found


class _Limit(NamedTuple):
    """A limit of this process that large runs need."""

    name: str
    key: str  # in /proc/self/limits
    enough: int
    effect: str
    advice: str
    shown: Callable[[int], str] = show_bytes
    state: State = "info"  # below what is enough


_LOCKED = _Limit(
    "ulimit -l (locked memory)",
    "Max locked memory",
    1 << 30,
    "InfiniBand and GPU drivers pin buffers: too little makes MPI fail or fall back to sockets",
    "memlock unlimited in limits.conf, and in the scheduler's service",
)
_STACK = _Limit(
    "ulimit -s (stack)",
    "Max stack size",
    1 << 26,
    "Fortran programs with arrays on the stack crash where it is small",
    "ulimit -s unlimited",
)
_FILES = _Limit(
    "ulimit -n (open files)",
    "Max open files",
    4096,
    "each connection of an MPI rank takes one",
    "nofile 65536 in limits.conf",
    str,
    "warn",
)


def process_limits(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Locked memory, stack, open files, core files."""
    limits = ulimits(door)
    fabric = bool(door.list("/sys/class/infiniband"))
    found: list[Setting] = []
    for one in (_LOCKED._replace(state="warn") if fabric else _LOCKED, _STACK, _FILES):
        if one.key not in limits:
            found.append(setting(one.name, None, "unknown", one.effect))
            continue
        soft, _ = limits[one.key]
        good = soft is None or soft >= one.enough
        value = "unlimited" if soft is None else one.shown(soft)
        found.append(setting(one.name, value, "good" if good else one.state, one.effect, "" if good else one.advice))
    soft = limits.get("Max core file size", (0, 0))[0]
    if "Max core file size" in limits:
        found.append(
            setting(
                "ulimit -c (core files)",
                "unlimited" if soft is None else show_bytes(soft),
                "info",
                "above 0 a crash writes the memory of every rank to the disk",
                "ulimit -c 0 for large runs" if soft != 0 else "",
            )
        )
    return tuple(found)


def control_group(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The CPU time, CPUs and memory that the control group grants."""
    limits = cgroup.limits(door)
    total = parse_meminfo(door.read("/proc/meminfo") or "").get("MemTotal")
    online = {number for core in cpu.cores for number in core.cpus}
    state: State = "good" if limits.seen else "unknown"
    found = []
    quota_effect = "past its quota every thread stops until the period (100 ms) is over: bursts of standstill"
    if limits.cpu_quota is None:
        found.append(setting("control group CPU time", "no limit" if limits.seen else None, state, quota_effect))
    else:
        found.append(
            setting(
                "control group CPU time",
                f"{limits.cpu_quota:g} CPUs",
                "warn",
                quota_effect,
                "bind CPUs (cpuset, --cpuset-cpus) instead of granting a share of time",
            )
        )
    memory_effect = "past it the kernel reclaims pages, then kills"
    if limits.memory_bytes is None or (total and limits.memory_bytes >= total):
        found.append(setting("control group memory", "no limit" if limits.seen else None, state, memory_effect))
    else:
        found.append(
            setting(
                "control group memory",
                show_bytes(limits.memory_bytes),
                "info",
                memory_effect,
                "problem sizes must fit this, not the memory of the machine",
            )
        )
    usable = set(door.affinity())
    if usable and usable < online:
        found.append(
            setting(
                "usable CPUs",
                f"{format_cpu_list(sorted(usable))} of {format_cpu_list(sorted(online))}",
                "info",
                "this process may use only a part of the machine: peaks are those of that part",
                "ask the scheduler for the whole node to measure all of it",
            )
        )
    return tuple(found)


def counters(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether performance counters can be read without root."""
    path = "/proc/sys/kernel/perf_event_paranoid"
    return from_number(
        door,
        "perf_event_paranoid",
        path,
        {
            -1: ("good", ""),
            0: ("good", ""),
            1: ("good", ""),
            2: ("info", "for memory counters: sysctl kernel.perf_event_paranoid=0"),
        },
        "2: only one's own processes and no uncore; above: no counters without root",
        other=("warn", "sysctl kernel.perf_event_paranoid=1"),
    )


def energy(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether the energy counters of the processor (RAPL) can be read."""
    effect = "the energy of a run comes from them where no other meter is there"
    folder = "/sys/class/powercap"
    zones = [name for name in door.list(folder) if re.fullmatch(r"(intel|amd)-rapl:\d+", name)]
    if not zones:
        return (
            setting(
                "energy counters (RAPL)",
                None,
                "unknown",
                effect,
                "the kernel shows none: a virtual machine, or the module intel_rapl_common is not loaded",
            ),
        )
    readable = [zone for zone in zones if read_word(door, f"{folder}/{zone}/energy_uj") is not None]
    if len(readable) == len(zones):
        return (setting("energy counters (RAPL)", f"{len(zones)} readable", "good", effect),)
    return (
        setting(
            "energy counters (RAPL)",
            f"{len(readable)} of {len(zones)} readable",
            "warn",
            effect,
            f"root only since kernel 5.10: chmod a+r {folder}/*/energy_uj (udev rule)",
        ),
    )


CHECKS: tuple[Callable[[HostAccess, Cpu], tuple[Setting, ...]], ...] = (process_limits, control_group, counters, energy)
