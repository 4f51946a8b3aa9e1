"""Which kind each core is of, where a processor has several: performance and efficient cores, big and little ones.

On Arm every logical CPU states its part. On x86 all state the same model, so the kinds are told by the lists of the
kernel's performance counters, else by what differs between the cores: caches, base clocks. Where a processor is of a
family with several kinds and nothing tells them apart, that is said, and no peak is derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ..hosts.access import format_cpu_list
from ..records import Absent, Cache, Core
from . import microarchitecture
from .clocks import base_hz, highest_hz
from .kernel import Reader
from .microarchitecture import OR_NEWER, Microarchitecture

#: Marks in ``Host.absent`` that no peak can be derived because the cores are not all of one known kind and clock.
ONE_KIND = "one kind of core"


class Kinds(NamedTuple):
    """The cores with their kinds and clocks where they differ; ``leading`` is a logical CPU of the largest kind."""

    cores: tuple[Core, ...]
    absent: tuple[Absent, ...] = ()
    leading: int | None = None


def kinds(
    reader: Reader, cores: tuple[Core, ...], caches: Sequence[Cache], names: Sequence[str], *, hidden: bool
) -> Kinds:
    """``names`` has each core's microarchitecture as its own numbers tell it; ``hidden``: a hypervisor stands between."""
    if len(set(names)) > 1:
        return _named(reader, cores, names)
    entry = microarchitecture.by_name(names[0]) if names else None
    listed = _by_counters(reader, cores)
    ranks = listed or _by_caches(cores, caches)
    if entry is None or not entry.efficient:
        if listed or (ranks and len(set(ranks)) > 1):
            return _undecided(
                cores, "the cores differ in their caches or counters, and which kinds they are is not known"
            )
        if names and names[0].endswith(OR_NEWER) and len({base_hz(reader, core.cpus[0])[0] for core in cores}) > 1:
            return _undecided(cores, "the cores differ in their base clocks, and which kinds they are is not known")
        return _clocked(reader, cores)
    if hidden:
        return _undecided(
            cores, f"{entry.name} has cores of more than one kind, which a hypervisor does not distinguish"
        )
    ranks = ranks or _by_base_clock(reader, cores)
    if ranks is None:
        why = "nothing distinguishes them: neither counters, caches nor base clocks are shown for each core"
        return _undecided(cores, f"{entry.name} has cores of more than one kind, and {why}")
    return _named(reader, cores, [_kind(entry, rank) for rank in ranks], entry.name)


def _undecided(cores: tuple[Core, ...], why: str) -> Kinds:
    return Kinds(cores, (Absent(what=ONE_KIND, why=f"{why}: no peak is derived"),))


def _named(reader: Reader, cores: tuple[Core, ...], names: Sequence[str], usual: str = "") -> Kinds:
    """``usual`` is the kind that need not be said where all cores are of it."""
    unknown = next((core for core, name in zip(cores, names, strict=True) if name == "unknown"), None)
    if unknown is not None:
        why = f"the cores are of more than one kind, and that of CPUs {format_cpu_list(unknown.cpus)} is not known"
        return _undecided(cores, why)
    if set(names) != {usual}:
        cores = tuple(
            msgspec.structs.replace(core, microarchitecture=name) for core, name in zip(cores, names, strict=True)
        )
    leading = cores[names.index(max(names, key=_flop_per_cycle))].cpus[0]
    return _clocked(reader, cores)._replace(leading=leading)


def _flop_per_cycle(name: str) -> float:
    entry = microarchitecture.by_name(name)
    return (entry.units or 0) * (entry.bits or 0) * (entry.flop or 0) if entry else 0


def _clocked(reader: Reader, cores: tuple[Core, ...]) -> Kinds:
    """The cores with their clocks, where these are not all the same or the kinds are several."""
    several = len({core.microarchitecture for core in cores}) > 1
    base = _of_kind(cores, [base_hz(reader, core.cpus[0])[0] for core in cores])
    if not several and (len(set(base)) == 1 or None in base):
        return Kinds(cores)
    clocks = base if None not in base else _of_kind(cores, [highest_hz(reader, core.cpus[0]) for core in cores])
    if None in clocks:
        return _undecided(cores, "the cores are of more than one kind, and the kernel does not show the clock of each")
    return Kinds(tuple(msgspec.structs.replace(core, clock_hz=hz) for core, hz in zip(cores, clocks, strict=True)))


def _of_kind(cores: Sequence[Core], clocks: Sequence[float | None]) -> list[float | None]:
    """The clocks, one that could not be read taken from the other cores of its kind where these agree."""
    known: dict[str, set[float]] = {}
    for core, hz in zip(cores, clocks, strict=True):
        if hz is not None:
            known.setdefault(core.microarchitecture, set()).add(hz)

    def fill(core: Core, hz: float | None) -> float | None:
        others = known.get(core.microarchitecture, set())
        return hz if hz is not None else next(iter(others)) if len(others) == 1 else None

    return [fill(core, hz) for core, hz in zip(cores, clocks, strict=True)]


# ------------------------------------------------------------------------- ranks: 0 performance, 1 efficient, 2 low power


def _kind(entry: Microarchitecture, rank: int) -> str:
    return (entry.name, entry.efficient, entry.low_power or entry.efficient)[rank]


def _by_counters(reader: Reader, cores: Sequence[Core]) -> list[int] | None:
    """By the CPUs of each kind's performance counters (/sys/devices/cpu_core, cpu_atom and cpu_lowpower, files ``cpus``)."""
    lists = [reader.cpus(f"/sys/devices/{name}/cpus") or () for name in ("cpu_core", "cpu_atom", "cpu_lowpower")]
    if not any(lists[1:]):
        return None
    found = []
    for core in cores:
        mine = [rank for rank, cpus in enumerate(lists) if core.cpus[0] in cpus]
        if not mine:
            return None
        found.append(mine[-1])
    return found


def _by_caches(cores: Sequence[Core], caches: Sequence[Cache]) -> list[int] | None:
    """By the level-1 data cache, smaller in efficient cores; those of low power stand outside the level-3 cache.

    Intel 64 and IA-32 Architectures Optimization Reference Manual, volume 1: 48 KiB in Golden, Redwood and Lion Cove, 32 KiB
    in Gracemont, Crestmont and Skymont. None where the caches of some core are not shown.
    """
    first = {
        cpu: cache.size_bytes for cache in caches if (cache.level, cache.kind) == (1, "data") for cpu in _all(cache)
    }
    third = {cpu for cache in caches if cache.level == 3 for cpu in _all(cache)}
    sizes = [first.get(core.cpus[0]) for core in cores]
    if not sizes or None in sizes:
        return None
    largest = max(
        _LARGE_BYTES if all(size in (32 << 10, _LARGE_BYTES) for size in sizes) else 0, *(filter(None, sizes))
    )
    return [
        0 if size == largest else 2 if third and core.cpus[0] not in third else 1
        for core, size in zip(cores, sizes, strict=True)
    ]


_LARGE_BYTES = 48 << 10


def _all(cache: Cache) -> list[int]:
    return [cpu for group in cache.groups for cpu in group]


def _by_base_clock(reader: Reader, cores: Sequence[Core]) -> list[int] | None:
    """By the base clock, higher in performance cores; None where it is not shown of each, or is the same."""
    clocks = [base_hz(reader, core.cpus[0])[0] for core in cores]
    known = [hz for hz in clocks if hz is not None]
    if len(known) < len(cores) or len(set(known)) < 2:
        return None
    return [0 if hz == max(known) else 1 for hz in known]
