"""How fast a host could be: derived from what its hardware is, each number with its whole calculation in words. Pure.

    flops             cores x flop/cycle x clock; flop/cycle = units x lanes x (2 for a fused multiply-add)
    memory.bandwidth  channels x transfers/s x bytes of a transfer

They are for the cores that this process may use: affinity and the control group's quota count. What cannot be derived
is absent with its reason, never zero. ``with_measured`` adds what native probes reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from ..hosts.access import format_cpu_list
from ..records import Absent, Core, Cpu, Host, Memory, Peak
from . import gpu_collectives, microarchitecture
from .accelerators import gpu_peaks, peak_units
from .core_kinds import ONE_KIND
from .microarchitecture import OR_NEWER, Microarchitecture

_Found = tuple[tuple[Peak, ...], tuple[Absent, ...]]


def peaks(host: Host) -> _Found:
    """All peaks that can be derived for this host, and why the others cannot."""
    entry = microarchitecture.by_name(host.cpu.microarchitecture, host.cpu.model, host.cpu.threads_per_core)
    if host.cpu.clock_hz is None:
        flops: _Found = (), (Absent(what="peak of flop/s", why="neither a base clock nor any other can be read"),)
    else:
        flops = flop_peaks(host, host.cpu.clock_hz, host.cpu.clock_basis)
    collectives: _Found = gpu_collectives.node_peaks(host.gpus, host.networks), ()
    parts = (flops, memory_peaks(host, entry), gpu_peaks(host.gpus), collectives)
    return tuple(peak for part in parts for peak in part[0]), tuple(item for part in parts for item in part[1])


def units() -> dict[str, str]:
    """The peaks that can be derived for some host, each with its unit."""
    return {
        "flops.fp64": "flop/s",
        "flops.fp32": "flop/s",
        "memory.bandwidth": "B/s",
        **peak_units(),
        **gpu_collectives.UNITS,
    }


# ---------------------------------------------------------------------------------------------------------------- flops


class _Rate(NamedTuple):
    """Flop per cycle of one set of units, in words, and the cores that share the set."""

    flop: float
    words: str
    shared_by: int


#: The widest vectors that the instruction set shows, in bits, by its extensions; the first that is shown counts.
_WIDTHS = {
    "x86_64": (("avx512f", 512), ("avx", 256), ("", 128)),
    "i686": (("avx512f", 512), ("avx", 256), ("", 128)),
    "loongarch64": (("lasx", 256), ("lsx", 128), ("", 64)),
}


def rate(cpu: Cpu, entry: Microarchitecture, bits: int) -> _Rate | None:
    """What one core does in a cycle with numbers of ``bits`` (64 or 32), no wider than the instruction set shown.

    None where the table does not hold what the units of this microarchitecture are.
    """
    if entry.units is None or entry.bits is None or entry.flop is None:
        return None
    width, flop, doubts = entry.bits, entry.flop, ""
    seen = next((wide for name, wide in _WIDTHS.get(cpu.architecture, ()) if not name or name in cpu.isa), width)
    if seen < width:
        width, doubts = seen, f", no more than {seen} bits wide as the instruction set shown has nothing wider"
    if cpu.architecture in ("x86_64", "i686") and flop == 2 and not {"fma", "fma4", "avx512f"} & set(cpu.isa):
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


class _Kind(NamedTuple):
    """Cores that are alike: what one does in a cycle, and their clock in Hz and in words."""

    name: str  # empty where all cores are of one kind
    rate: _Rate
    clock_hz: float
    clock: str
    cores: list[Core]


def flop_peaks(host: Host, clock_hz: float, clock_basis: str) -> _Found:
    """Flop/s of a core, a socket and the node at one clock (Hz), in double and single precision.

    Where cores are of several kinds or clocks, each counts with its own, and the core is the fastest; the socket is left
    out where it is not known which cores are in one.
    """
    what = "peak of flop/s"
    why = _why_no_flops(host, clock_basis)
    if why:
        return (), (Absent(what=what, why=why),)
    found: list[Peak] = []
    for name, bits in (("flops.fp64", 64), ("flops.fp32", 32)):
        try:
            kinds = _kinds(host, bits, clock_hz, clock_basis)
        except LookupError as error:
            return (), (Absent(what=what, why=str(error.args[0])),)
        scopes = {"core": [kinds[0]._replace(cores=kinds[0].cores[:1])]}
        if host.cpu.sockets is not None:
            scopes["socket"] = _fastest_socket(kinds)
        for scope, parts in {**scopes, "node": kinds}.items():
            value, basis = _sum(host, parts, scope)
            found.append(Peak(name=name, scope=scope, value=value, unit="flop/s", kind="derived", basis=basis))
    missing = (Absent(what=f"{what} of a socket", why="which cores are in one socket is not known"),)
    return tuple(found), missing if host.cpu.sockets is None else ()


def _why_no_flops(host: Host, clock_basis: str) -> str:
    cpu = host.cpu
    if microarchitecture.by_name(cpu.microarchitecture) is None and not _differ(cpu.cores):
        return f"the microarchitecture of {cpu.model!r} is not known"
    undecided = next((item.why for item in host.absent if item.what == ONE_KIND), "")
    if undecided:
        return f"the cores are of more than one kind: {undecided}"
    if not usable_cores(host):
        return "no core that this process may use is known"
    if _differ(cpu.cores) and clock_basis.startswith(_AT_MEASURED):
        return "the cores differ in kind or clock, and the clock was measured on one"
    return ""


def _differ(cores: Iterable[Core]) -> bool:
    return any(core.microarchitecture or core.clock_hz for core in cores)


def _kinds(host: Host, bits: int, clock_hz: float, clock_basis: str) -> list[_Kind]:
    """The usable cores by kind and clock, the fastest first. Raises LookupError where what a kind does is not known."""
    cpu = host.cpu
    groups: dict[tuple[str, float | None], list[Core]] = {}
    for core in usable_cores(host):
        groups.setdefault((core.microarchitecture, core.clock_hz), []).append(core)
    found = []
    for (own, own_hz), members in groups.items():
        name = own or cpu.microarchitecture
        entry = microarchitecture.by_name(name, cpu.model, cpu.threads_per_core)
        per_core = rate(cpu, entry, bits) if entry else None
        if entry is None or per_core is None:
            raise LookupError(f"how much a core of {name} does in a cycle is not in the table: measure it")
        notes = [entry.note, "" if clock_basis.startswith(_AT_MEASURED) else entry.clock]
        if entry.unverified:
            notes.append("its units are not verified")
        if name.endswith(OR_NEWER):
            notes.append(f"{name} by the instruction set")
        hz = own_hz or clock_hz
        basis = (
            clock_basis if own_hz in (None, clock_hz) else re.sub(r"^(base|highest) clock.*", r"\1 clock", clock_basis)
        )
        clock = "; ".join([f"{hz / 1e9:.2f} GHz {basis}", *filter(None, notes)])
        found.append(_Kind(own, per_core, hz, clock, members))
    return sorted(found, key=lambda kind: -kind.rate.flop * kind.clock_hz)


def _fastest_socket(kinds: Sequence[_Kind]) -> list[_Kind]:
    def of(socket: int | None) -> list[_Kind]:
        parts = [kind._replace(cores=[core for core in kind.cores if core.socket == socket]) for kind in kinds]
        return [part for part in parts if part.cores]

    def size(parts: Sequence[_Kind]) -> float:
        return sum(len(part.cores) * part.rate.flop * part.clock_hz for part in parts)

    return max((of(socket) for socket in dict.fromkeys(core.socket for kind in kinds for core in kind.cores)), key=size)


def _sum(host: Host, parts: Sequence[_Kind], scope: str) -> tuple[float, str]:
    """Flop/s of all parts together, and the calculation. A quota of CPU time goes to the fastest first."""
    total, words = 0.0, []
    quota = host.cpu_quota
    for part in parts:
        count, text = _count(host, part, scope, quota, alone=len(parts) == 1)
        quota = None if quota is None else max(0.0, quota - count)
        total += count * part.rate.flop * part.clock_hz
        words.append(f"{text} x {part.rate.words} x {part.clock}")
    return total, " + ".join(words)


def usable_cores(host: Host) -> tuple[Core, ...]:
    """The cores with at least one logical CPU that this process may use."""
    usable = set(host.usable_cpus)
    return tuple(core for core in host.cpu.cores if not usable or usable & set(core.cpus))


def _count(host: Host, part: _Kind, scope: str, quota: float | None, *, alone: bool) -> tuple[float, str]:
    """How many sets of floating-point units the cores of a kind have, in words."""
    members, shared_by = part.cores, part.rate.shared_by
    cores, total = len(members), len(host.cpu.cores)
    words = _sockets(members) if scope == "node" and alone else f"{cores} core{'s' * (cores > 1)}"
    words += f" of {part.name}" if part.name else ""
    count = float(cores)
    if shared_by > 1 and scope == "core":
        words += f" alone on the units that {shared_by} cores share"
    elif shared_by > 1:
        sets = _shared_sets(host.cpu, members, shared_by)
        words, count = f"{sets} modules of {shared_by} cores ({words})", float(sets)
    if scope != "core":
        if scope == "node" and alone and cores < total:
            words += f" (of {total}; this process may use CPUs {format_cpu_list(host.usable_cpus)})"
        if quota is not None and quota < count:
            words, count = f"{quota:g} CPUs of time that the control group grants (of {words})", quota
    return count, words


def _sockets(members: Sequence[Core]) -> str:
    """``2 sockets x 12 cores`` where all have the same, else the total."""
    counts: dict[int | None, int] = {}
    for core in members:
        counts[core.socket] = counts.get(core.socket, 0) + 1
    sizes = set(counts.values())
    if None not in counts and len(counts) > 1 and len(sizes) == 1:
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
    sockets = cpu.sockets
    if memory.channels and memory.speed_mts:
        bus = memory.bus_bytes or 8
        return _memory(sockets, memory.channels, memory.speed_mts, bus, "as read from the memory modules"), ()
    why = _why_no_table(host, entry)
    if sockets is None and not memory.channels:
        why = why or "the number of sockets is not known, nor so that of the memory channels"
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


def _channels(memory: Memory, entry: Microarchitecture, sockets: int | None) -> tuple[int, str]:
    if memory.channels:
        return memory.channels, "the channels that hold modules"
    return (sockets or 0) * (entry.channels or 0), f"all {entry.channels} channels of each socket that {entry.name} has"


def _memory(sockets: int | None, channels: int, speed_mts: float, bus: int, note: str) -> tuple[Peak, ...]:
    def peak(scope: str, count: int, words: str) -> Peak:
        return Peak(
            name="memory.bandwidth",
            scope=scope,
            value=count * speed_mts * 1e6 * bus,
            unit="B/s",
            kind="derived",
            basis=f"{words} x {speed_mts:g} MT/s x {bus} B ({note})",
        )

    if sockets is not None and sockets > 1 and channels % sockets == 0:
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
