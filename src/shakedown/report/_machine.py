"""The machine in a report: what it is, its peaks with their basis, its settings, what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ..document.model import Block, Column, Facts, Section, Table, Text
from ..document.text import count, listed, ranges
from ..hosts.access import format_cpu_list
from ..records import Analysis, Host, Peak, Setting
from ..units import show, show_bytes

ORDER = {"warn": 0, "unknown": 1, "info": 2, "good": 3}
ASKING = ("warn",)


def section(analysis: Analysis) -> Section:
    """All hosts, those of one kind together."""
    kinds: dict[bytes, list[Host]] = {}
    for host in analysis.machine.hosts:
        kinds.setdefault(_kind(host), []).append(host)
    blocks: list[Block] = []
    if len(kinds) > 1:
        blocks.append(Text(text=f"{count(len(analysis.machine.hosts), 'host')} of {count(len(kinds), 'kind')}."))
    if not kinds:
        blocks.append(Text(text="No machine description was recorded."))
    for hosts in kinds.values():
        blocks += _of_kind(hosts, several=len(kinds) > 1)
    return Section(id="machine", title="The machine", short="Machine", blocks=tuple(blocks))


def _kind(host: Host) -> bytes:
    """What makes two hosts alike: their hardware, and not their names or what was measured on them."""
    cpu = host.cpu
    derived = [(peak.name, peak.scope, peak.value) for peak in host.peaks if peak.kind == "derived"]
    gib = round(host.memory.total_bytes / 2**30)
    gpus = [gpu.name for gpu in host.gpus]
    return msgspec.json.encode((cpu.model, cpu.sockets, len(cpu.cores), cpu.threads_per_core, gib, gpus, derived))


def _of_kind(hosts: list[Host], *, several: bool) -> list[Block]:
    names = ranges(host.name for host in hosts)
    title = f"{count(len(hosts), 'host')}: {names}" if several or len(hosts) > 1 else names
    blocks: list[Block] = [Facts(title=title, pairs=tuple(_facts(hosts)))]
    blocks.append(_peaks(hosts))
    blocks += _settings(hosts)
    software = _rows(hosts, lambda host: [(x.kind, x.name, x.version or "not known", x.path) for x in host.software])
    if software:
        columns = (Column("Kind"), Column("Name"), Column("Version", "code"), Column("Path", "code"))
        blocks.append(
            Table(title="Software found", folded=True, rows=software, columns=(*columns, *_hosts_column(hosts)))
        )
    absent = _rows(hosts, lambda host: [(gap.what, gap.why) for gap in host.absent])
    if absent:
        what = (Column("What"), Column("Why"), *_hosts_column(hosts))
        blocks.append(Table(title="Could not be read", folded=True, rows=absent, columns=what))
    return blocks


def _hosts_column(hosts: Sequence[Host]) -> tuple[Column, ...]:
    return (Column("Hosts"),) if len(hosts) > 1 else ()


def _rows(hosts: Sequence[Host], of: Callable[[Host], list[tuple[str, ...]]]) -> tuple[tuple[str, ...], ...]:
    """What hosts have, once; with the hosts that have it where there are several."""
    found: dict[tuple[str, ...], set[str]] = {}
    for host in hosts:
        for row in of(host):
            found.setdefault(row, set()).add(host.name)
    if len(hosts) == 1:
        return tuple(found)
    return tuple(
        (*row, "all" if len(where) == len(hosts) else f"{len(where):,}: {listed(ranges(where).split(', '))}")
        for row, where in found.items()
    )


def _facts(hosts: list[Host]) -> list[tuple[str, str]]:
    host = hosts[0]
    cpu, memory = host.cpu, host.memory
    cores = f"{count(cpu.sockets, 'socket')}, " if cpu.sockets else ""
    cores += count(len(cpu.cores), "core") if cpu.cores else "number of cores not known"
    if cpu.threads_per_core:
        cores += f", {count(cpu.threads_per_core, 'thread')} each"
    clock = ", ".join(f"{show(hz, 'Hz')} {name}" for hz, name in ((cpu.base_hz, "base"), (cpu.max_hz, "at most")) if hz)
    if not clock and cpu.clock_hz:
        clock = f"{show(cpu.clock_hz, 'Hz')} ({cpu.clock_basis})"
    caches = ", ".join(
        f"L{cache.level}{'' if cache.kind == 'unified' else cache.kind[0]} {show_bytes(cache.size_bytes)}"
        for cache in cpu.caches
    )
    rows = [
        ("Processor", f"{cpu.model} ({cpu.microarchitecture}, {cpu.architecture})"),
        ("Cores", cores),
        ("Clock", clock or "not known"),
        ("Vector extensions", ", ".join(cpu.isa) or "not known"),
        ("Caches", caches or "not known"),
        ("Memory", _memory(host)),
        ("NUMA nodes", f"{len(host.numa)}" if host.numa else "not known"),
        ("GPUs", _gpus(host)),
        ("Network", _networks(host)),
        ("Usable CPUs", format_cpu_list(host.usable_cpus) or "not known"),
        ("System", ", ".join(_distinct(hosts, "os")) or "not known"),
        ("Kernel", ", ".join(_distinct(hosts, "kernel")) or "not known"),
        ("Virtualisation", ", ".join(_distinct(hosts, "virtualisation")) or "none seen"),
    ]
    if memory.limit_bytes is not None and memory.limit_bytes < memory.total_bytes:
        rows.insert(6, ("Memory limit", f"{show_bytes(memory.limit_bytes)} (control group)"))
    return rows


def _distinct(hosts: list[Host], field: str) -> list[str]:
    return [str(value) for value in dict.fromkeys(getattr(host, field) for host in hosts) if value]


def _memory(host: Host) -> str:
    memory = host.memory
    words = [show_bytes(memory.total_bytes)]
    kinds = {module.kind for module in memory.modules if module.kind}
    if memory.channels:
        words.append(count(memory.channels, "channel"))
    if memory.speed_mts:
        words.append(f"{'/'.join(sorted(kinds))} {memory.speed_mts:g} MT/s".strip())
    return ", ".join(words)


def _gpus(host: Host) -> str:
    names: dict[str, int] = {}
    for gpu in host.gpus:
        name = f"{gpu.name} ({show_bytes(gpu.memory_bytes)})" if gpu.memory_bytes else gpu.name
        names[name] = names.get(name, 0) + 1
    return ", ".join(f"{number} x {name}" for name, number in names.items()) or "none found"


def _networks(host: Host) -> str:
    words = []
    for one in host.networks:
        if one.kind not in ("loopback", "virtual"):
            rate = f", {show(one.rate_bit_s, 'bit/s')}" if one.rate_bit_s else ""
            words.append(f"{one.name} ({one.kind}{rate})")
    return ", ".join(words) or "none found"


def _peaks(hosts: list[Host]) -> Table:
    # A host may have two peaks of one name (at the base clock, at the measured one): the first stands with the others'
    # first, the second with their second.
    groups: dict[tuple[str, str, str, str, int], list[Peak]] = {}
    for host in hosts:
        met: dict[tuple[str, str, str, str], int] = {}
        for peak in host.peaks:
            if peak.scope == "socket" and host.cpu.sockets == 1:
                continue  # the node's says the same
            key = (peak.name, peak.scope, peak.kind, peak.unit)
            met[key] = met.get(key, 0) + 1
            groups.setdefault((*key, met[key]), []).append(peak)
    rows = []
    for (name, scope, kind, unit, _), peaks in groups.items():
        values = sorted(peak.value for peak in peaks)
        value = show(values[len(values) // 2], unit)
        if values[0] != values[-1]:
            value += f" ({show(values[0], unit)} to {show(values[-1], unit)})"
        rows.append((name, value, scope, kind, listed(dict.fromkeys(peak.basis for peak in peaks), 2)))
    caption = "Where hosts differ: the median, and the least and the most." if len(hosts) > 1 else ""
    if not rows:
        caption = "No peak was derived or measured."
    return Table(
        title="Peaks and what they rest on",
        folded=True,
        rows=tuple(rows),
        caption=caption,
        columns=(Column("Peak", "code"), Column("Value", "number"), Column("Of one"), Column("Kind"), Column("Basis")),
    )


def _settings(hosts: list[Host]) -> list[Block]:
    """Those that ask for attention, and the others folded."""
    rows = _rows(hosts, lambda host: [_setting(one) for one in host.settings])
    columns = (
        Column("Setting"),
        Column("Value", "code"),
        Column("State", "state"),
        Column("Effect, and what to do"),
        *_hosts_column(hosts),
    )
    ordered = sorted(rows, key=lambda row: ORDER.get(row[2], 9))
    ask = tuple(row for row in ordered if row[2] in ASKING)
    rest = tuple(row for row in ordered if row[2] not in ASKING)  # also what could not be read: not known to be wrong
    caption = "" if ask else "None requires attention." if rows else "No setting was read."
    blocks: list[Block] = [Table(title="Settings that matter", caption=caption, rows=ask, columns=columns)]
    if rest:
        blocks.append(Table(title="Other settings", rows=rest, columns=columns, folded=True))
    return blocks


def _setting(one: Setting) -> tuple[str, ...]:
    value = one.value if one.value is not None else "could not be read"
    return (one.name, value, one.state, f"{one.effect}\n{one.advice}" if one.advice else one.effect)
