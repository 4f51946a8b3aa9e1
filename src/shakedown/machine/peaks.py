"""How fast a host could be: derived from what its hardware is, each number with its whole calculation in words. Pure.

    flops             cores x flop/cycle x clock; flop/cycle = units x lanes x (2 for a fused multiply-add)
    memory.bandwidth  channels x transfers/s x bytes of a transfer

They are for the cores that this process may use: affinity and the control group's quota count. What cannot be derived
is absent with its reason, never zero. ``with_measured`` adds what native probes reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from ..host import format_cpu_list
from ..records import Absent, Core, Cpu, Host, Memory, Peak
from . import microarchitecture
from .accelerators import gpu_peaks, peak_units
from .microarchitecture import OR_NEWER, Microarchitecture

_Found = tuple[tuple[Peak, ...], tuple[Absent, ...]]


def peaks(host: Host) -> _Found:
    """All peaks that can be derived for this host, and why the others cannot."""
    entry = microarchitecture.by_name(host.cpu.microarchitecture, host.cpu.model, host.cpu.threads_per_core)
    if host.cpu.clock_hz is None:
        flops: _Found = (), (Absent(what="peak of flop/s", why="neither a base clock nor any other can be read"),)
    else:
        flops = flop_peaks(host, host.cpu.clock_hz, host.cpu.clock_basis)
    parts = (flops, memory_peaks(host, entry), gpu_peaks(host.gpus))
    return tuple(peak for part in parts for peak in part[0]), tuple(item for part in parts for item in part[1])


def units() -> dict[str, str]:
    """The peaks that can be derived for some host, each with its unit."""
    return {"flops.fp64": "flop/s", "flops.fp32": "flop/s", "memory.bandwidth": "B/s", **peak_units()}


# ---------------------------------------------------------------------------------------------------------------- flops


class _Rate(NamedTuple):
    """Flop per cycle of one set of units, in words, and the cores that share the set."""

    flop: float
    words: str
    shared_by: int


def rate(cpu: Cpu, entry: Microarchitecture, bits: int) -> _Rate:
    """What one core does in a cycle with numbers of ``bits`` (64 or 32), no wider than the instruction set shown."""
    width, flop, doubts = entry.bits, entry.flop, ""
    if cpu.architecture in ("x86_64", "i686"):
        seen = 512 if "avx512f" in cpu.isa else 256 if "avx" in cpu.isa else 128
        if seen < width:
            width, doubts = seen, f", no more than {seen} bits wide as the instruction set shown has nothing wider"
        if flop == 2 and not {"fma", "fma4", "avx512f"} & set(cpu.isa):
            flop, doubts = 1, doubts + ", without the fused multiply-add that the instruction set does not show"
    lanes = width // bits
    every = entry.fp64_every if bits == 64 else 1
    total = entry.units * lanes * flop / every
    units = "FMA units" if flop == 2 and entry.units > 1 else "FMA unit" if flop == 2 else "units, add and multiply,"
    words = (
        f"{total:g} flop/cycle ({entry.units} {units} x {lanes} lane{'s' * (lanes > 1)}"
        f"{f' x {flop}' if flop == 2 else ''}{f' / {every} cycles' if every > 1 else ''}{doubts})"
    )
    return _Rate(total, words, entry.shared_by)


def flop_peaks(host: Host, clock_hz: float, clock_basis: str) -> _Found:
    """Flop/s of a core, a socket and the node at one clock (Hz), in double and single precision."""
    cpu = host.cpu
    entry = microarchitecture.by_name(cpu.microarchitecture, cpu.model, cpu.threads_per_core)
    what = "peak of flop/s"
    if entry is None:
        return (), (Absent(what=what, why=f"the microarchitecture of {cpu.model!r} is not known"),)
    if any(item.what == "one kind of core" for item in host.absent):
        return (), (Absent(what=what, why="the cores are of more than one kind"),)
    cores = usable_cores(host)
    if not cores:
        return (), (Absent(what=what, why="no core that this process may use is known"),)
    notes = [entry.note, "" if clock_basis.startswith(_AT_MEASURED) else entry.clock]
    if cpu.microarchitecture.endswith(OR_NEWER):
        notes.append(f"{cpu.microarchitecture} by the instruction set")
    clock = "; ".join([f"{clock_hz / 1e9:.2f} GHz {clock_basis}", *filter(None, notes)])
    by_socket: dict[int, list[Core]] = {}
    for core in cores:
        by_socket.setdefault(core.socket, []).append(core)
    largest = max(by_socket.values(), key=len)
    found: list[Peak] = []
    for name, bits in (("flops.fp64", 64), ("flops.fp32", 32)):
        per_core = rate(cpu, entry, bits)
        for scope, members in (("core", cores[:1]), ("socket", largest), ("node", list(cores))):
            count, words = _count(host, members, per_core.shared_by, scope)
            found.append(
                Peak(
                    name=name,
                    scope=scope,
                    value=count * per_core.flop * clock_hz,
                    unit="flop/s",
                    kind="derived",
                    basis=f"{words} x {per_core.words} x {clock}",
                )
            )
    return tuple(found), ()


def usable_cores(host: Host) -> tuple[Core, ...]:
    """The cores with at least one logical CPU that this process may use."""
    usable = set(host.usable_cpus)
    return tuple(core for core in host.cpu.cores if not usable or usable & set(core.cpus))


def _count(host: Host, members: Sequence[Core], shared_by: int, scope: str) -> tuple[float, str]:
    """How many sets of floating-point units the cores have, in words."""
    cores, total = len(members), len(host.cpu.cores)
    words = _sockets(members) if scope == "node" else f"{cores} core{'s' * (cores > 1)}"
    count = float(cores)
    if shared_by > 1 and scope == "core":
        words += f" alone on the units that {shared_by} cores share"
    elif shared_by > 1:
        sets = _shared_sets(host.cpu, members, shared_by)
        words, count = f"{sets} modules of {shared_by} cores ({words})", float(sets)
    if scope != "core":
        if scope == "node" and cores < total:
            words += f" (of {total}; this process may use CPUs {format_cpu_list(host.usable_cpus)})"
        if host.cpu_quota is not None and host.cpu_quota < count:
            words, count = f"{host.cpu_quota:g} CPUs of time that the control group grants (of {words})", host.cpu_quota
    return count, words


def _sockets(members: Sequence[Core]) -> str:
    """``2 sockets x 12 cores`` where all have the same, else the total."""
    counts: dict[int, int] = {}
    for core in members:
        counts[core.socket] = counts.get(core.socket, 0) + 1
    sizes = set(counts.values())
    if len(counts) > 1 and len(sizes) == 1:
        size = sizes.pop()
        return f"{len(counts)} sockets x {size} core{'s' * (size > 1)}" if size > 1 else f"{len(counts)} cores"
    return f"{len(members)} core{'s' * (len(members) > 1)}"


def _shared_sets(cpu: Cpu, members: Sequence[Core], shared_by: int) -> int:
    """How many sets of units that several cores share these cores have: a set goes with its level-2 cache."""
    groups = [set(group) for entry in cpu.caches if entry.level == 2 for group in entry.groups]
    used = {index for core in members for index, group in enumerate(groups) if group & set(core.cpus)}
    return len(used) if used else -(-len(members) // shared_by)


# --------------------------------------------------------------------------------------------------------------- memory


def memory_peaks(host: Host, entry: Microarchitecture | None) -> _Found:
    """Memory bandwidth in B/s of a socket and of the node; "at most" where the modules themselves could not be read."""
    memory, cpu = host.memory, host.cpu
    sockets = cpu.sockets or 1
    if memory.channels and memory.speed_mts:
        bus = memory.bus_bytes or 8
        return _memory(sockets, memory.channels, memory.speed_mts, bus, "as read from the memory modules"), ()
    why = _why_no_table(host, entry)
    if why or entry is None or entry.channels is None or entry.speed_mts is None:
        return (), (Absent(what="peak of memory bandwidth", why=why or "not known"),)
    channels, words = _channels(memory, entry, sockets)
    speed, speed_words = (
        (memory.speed_mts, "the modules' speed")
        if memory.speed_mts
        else (entry.speed_mts, f"the most that {entry.name} takes")
    )
    note = f"at most: {words}, {speed_words}; what is fitted could not be read"
    return _memory(sockets, channels, speed, entry.bus_bytes, note), ()


def _why_no_table(host: Host, entry: Microarchitecture | None) -> str:
    if host.virtualisation and any(item.what == "physical cores" for item in host.absent):
        return "a virtual machine hides the memory channels, and has an unknown part of them; measure it"
    if entry is None or entry.channels is None or entry.speed_mts is None:
        return f"channels and speed cannot be read, and the table has none for {host.cpu.microarchitecture}"
    return ""


def _channels(memory: Memory, entry: Microarchitecture, sockets: int) -> tuple[int, str]:
    if memory.channels:
        return memory.channels, "the channels that hold modules"
    return sockets * (entry.channels or 0), f"all {entry.channels} channels of each socket that {entry.name} has"


def _memory(sockets: int, channels: int, speed_mts: float, bus: int, note: str) -> tuple[Peak, ...]:
    def peak(scope: str, count: int, words: str) -> Peak:
        return Peak(
            name="memory.bandwidth",
            scope=scope,
            value=count * speed_mts * 1e6 * bus,
            unit="B/s",
            kind="derived",
            basis=f"{words} x {speed_mts:g} MT/s x {bus} B ({note})",
        )

    if sockets > 1 and channels % sockets == 0:
        each = channels // sockets
        return (
            peak("socket", each, f"{each} channels"),
            peak("node", channels, f"{sockets} sockets x {each} channels"),
        )
    scopes = ("socket", "node") if sockets == 1 else ("node",)
    return tuple(peak(scope, channels, f"{channels} channel{'s' * (channels > 1)}") for scope in scopes)


# ------------------------------------------------------------------------------------------------------------- measured


def with_measured(host: Host, measured: Iterable[Peak]) -> Host:
    """The host with peaks that native probes reached, each in the place of an older measurement of the same.

    A ``clock.vector`` (Hz, the clock under vector load) among them, on the scope of a core or the node, adds flop/s
    derived at that clock beside those at the base clock. Raises ValueError for a peak whose kind is not "measured".
    """
    new = {(peak.name, peak.scope): peak for peak in measured}
    wrong = [peak.name for peak in new.values() if peak.kind != "measured"]
    if wrong:
        raise ValueError(f"not measured: {', '.join(wrong)}")
    kept = [peak for peak in host.peaks if not (peak.kind == "measured" and (peak.name, peak.scope) in new)]
    clock = next((new[key] for key in (("clock.vector", "node"), ("clock.vector", "core")) if key in new), None)
    derived: tuple[Peak, ...] = ()
    if clock is not None:
        kept = [peak for peak in kept if _AT_MEASURED not in peak.basis]
        derived, _ = flop_peaks(host, clock.value, f"{_AT_MEASURED} ({clock.basis})")
    return msgspec.structs.replace(host, peaks=(*kept, *derived, *new.values()))


def is_at_measured_clock(basis: str) -> bool:
    """Whether a derived peak's basis has the clock that a probe measured, rather than the base clock."""
    return _AT_MEASURED in basis


_AT_MEASURED = "clock measured under vector load"
