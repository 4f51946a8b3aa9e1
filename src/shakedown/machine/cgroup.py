"""What the control groups grant this process: CPUs, CPU time, memory. Both versions, and both at once.

A limit of any group above binds too, so the least of all levels counts. Inside a container with a cgroup namespace the
levels above cannot be seen; what is mounted is then its own level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..host import Door, parse_cpu_list
from .kernel import read_int, read_word

#: Version 1 writes "no limit" as the largest multiple of the page size below 2^63.
_NO_LIMIT = 1 << 60


class Limits(NamedTuple):
    """None where there is no limit. ``seen`` says whether any control group could be read at all."""

    seen: bool = False
    cpu_quota: float | None = None  # CPUs' worth of time per period
    cpus: tuple[int, ...] | None = None
    memory_bytes: int | None = None
    swap_bytes: int | None = None


def limits(door: Door) -> Limits:
    """The limits on the calling process."""
    mounts = _mounts(door.read("/proc/self/mounts") or door.read("/proc/mounts") or "")
    seen = False
    quotas: list[float] = []
    memory: list[int] = []
    swap: list[int] = []
    cpus: tuple[int, ...] | None = None
    for controllers, path in _groups(door.read("/proc/self/cgroup") or ""):
        for controller in controllers:
            mount = mounts.get(controller)
            for folder in _levels(mount, path) if mount else ():
                files = set(door.list(folder))
                seen |= bool(files)
                quotas += _quota(door, folder, files)
                memory += _number(door, folder, files, ("memory.max", "memory.limit_in_bytes"))
                swap += _number(door, folder, files, ("memory.swap.max",))
                if cpus is None:
                    cpus = _cpus(door, folder, files)
    return Limits(seen, min(quotas, default=None), cpus, min(memory, default=None), min(swap, default=None))


def _mounts(text: str) -> dict[str, str]:
    """Controller -> where it is mounted; the unified hierarchy is the empty word."""
    found: dict[str, str] = {}
    for fields in (line.split() for line in text.splitlines()):
        if len(fields) < 4:
            continue
        if fields[2] == "cgroup2":
            found.setdefault("", fields[1])
        elif fields[2] == "cgroup":
            for option in fields[3].split(","):
                found.setdefault(option, fields[1])
    return found


def _groups(text: str) -> Iterator[tuple[list[str], str]]:
    for line in text.splitlines():
        match = re.fullmatch(r"(\d+):([^:]*):(/.*)", line)
        if match:
            wanted = [word for word in match[2].split(",") if word in ("cpu", "cpuset", "memory")]
            if wanted or (match[1] == "0" and not match[2]):
                yield wanted or [""], match[3]


def _levels(mount: str, path: str) -> Iterator[str]:
    """The folders of a group and of all above it, the innermost first. ``/../..`` of a namespace is its root."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for count in range(len(parts), -1, -1):
        yield "/".join([mount.rstrip("/"), *parts[:count]])


def _quota(door: Door, folder: str, files: set[str]) -> list[float]:
    if "cpu.max" in files:
        words = (read_word(door, f"{folder}/cpu.max") or "max").split()
        return [] if words[0] == "max" else [int(words[0]) / int(words[1] if len(words) > 1 else 100_000)]
    quota = read_int(door, f"{folder}/cpu.cfs_quota_us") if "cpu.cfs_quota_us" in files else None
    period = read_int(door, f"{folder}/cpu.cfs_period_us")
    return [quota / period] if quota and period and quota > 0 else []


def _number(door: Door, folder: str, files: set[str], names: tuple[str, ...]) -> list[int]:
    for name in names:
        value = read_int(door, f"{folder}/{name}") if name in files else None
        if value is not None and value < _NO_LIMIT:
            return [value]
    return []


def _cpus(door: Door, folder: str, files: set[str]) -> tuple[int, ...] | None:
    for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
        text = read_word(door, f"{folder}/{name}") if name in files else None
        if text:
            return parse_cpu_list(text)
    return None
