"""What the control groups grant this process: CPUs, CPU time, memory. Both versions, and both at once.

A limit of any group above binds too, so the least of all levels counts. Inside a container with a cgroup namespace the
levels above cannot be seen; what is mounted is then its own level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..hosts.access import HostAccess
from ..records import Absent
from .kernel import Reader, read_word

#: Version 1 writes "no limit" as the largest multiple of the page size below 2^63.
_NO_LIMIT = 1 << 60


class Limits(NamedTuple):
    """None where there is no limit. ``seen`` says whether any control group could be read at all."""

    seen: bool = False
    cpu_quota: float | None = None  # CPUs' worth of time per period
    cpus: tuple[int, ...] | None = None
    memory_bytes: int | None = None
    swap_bytes: int | None = None
    absent: tuple[Absent, ...] = ()  # limits that are there and could not be understood


def limits(door: HostAccess) -> Limits:
    """The limits on the calling process."""
    mounts = _mounts(door.read("/proc/self/mounts") or door.read("/proc/mounts") or "")
    reader = Reader(door)
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
                quotas += _quota(reader, folder, files)
                memory += _number(reader, folder, files, ("memory.max", "memory.limit_in_bytes"))
                swap += _number(reader, folder, files, ("memory.swap.max",))
                if cpus is None:
                    cpus = _cpus(reader, folder, files)
    return Limits(
        seen, min(quotas, default=None), cpus, min(memory, default=None), min(swap, default=None), reader.absent
    )


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


def _quota(reader: Reader, folder: str, files: set[str]) -> list[float]:
    if "cpu.max" in files:
        text = read_word(reader.door, f"{folder}/cpu.max") or "max"
        match = re.fullmatch(r"(max|[1-9][0-9]{0,17})(?:\s+([1-9][0-9]{0,17}))?", text)
        if match is None:
            reader.odd(f"{folder}/cpu.max", f"cannot be understood: {text[:40]!r} is not a quota and a period")
        return [int(match[1]) / int(match[2] or 100_000)] if match and match[1] != "max" else []
    if "cpu.cfs_quota_us" not in files:
        return []
    quota = reader.number(f"{folder}/cpu.cfs_quota_us", -1, _NO_LIMIT)  # -1: none
    period = reader.number(f"{folder}/cpu.cfs_period_us", 1, _NO_LIMIT)
    return [quota / period] if quota and period and quota > 0 else []


def _number(reader: Reader, folder: str, files: set[str], names: tuple[str, ...]) -> list[int]:
    for name in names:
        if name in files and read_word(reader.door, f"{folder}/{name}") not in (None, "max"):
            value = reader.number(f"{folder}/{name}", -1, (1 << 64) - 1)  # -1: none, in version 1
            return [value] if value is not None and 0 <= value < _NO_LIMIT else []
    return []


def _cpus(reader: Reader, folder: str, files: set[str]) -> tuple[int, ...] | None:
    for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
        cpus = reader.cpus(f"{folder}/{name}") if name in files else None
        if cpus:
            return cpus
    return None
