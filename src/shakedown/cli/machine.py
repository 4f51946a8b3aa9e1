"""shakedown machine: what this machine is, how fast it could be, what is set wrongly."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal

if TYPE_CHECKING:
    from ..hosts.access import HostAccess
    from ..records import Cache, Host, Machine, Network, Peak, Setting

#: Order of the settings, and the word in front of each: legible without colour.
_STATES = {"warn": "wrong", "unknown": "?", "info": "note", "good": "good"}


def command(
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Show also the settings that are good and the empty interfaces.")
    ] = False,
    probe: Annotated[
        bool, typer.Option(help="Measure the clock under vector load and the FLOP rate (two seconds).")
    ] = True,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure the limits of caches, memory and core to core too (a minute).")
    ] = False,
) -> None:
    """Show what this machine is, how fast it could be, and what is set wrongly."""
    from .. import machine
    from ..hosts.access import LocalHost

    door = LocalHost()
    found = machine.machine(door)
    if measure or probe:
        found = _with_limits(found, door, "limits" if measure else "clock")
    if json:
        terminal.print_json(found)
        return
    width = shutil.get_terminal_size((120, 40)).columns if sys.stdout.isatty() else 120
    print("\n".join(lines(found, width=max(60, width), everything=all_)))


def _with_limits(found: Machine, door: HostAccess, campaign: str) -> Machine:
    """The machine with what it really reaches; what could not be measured is reported, and is not an error here."""
    import msgspec

    from ..errors import ShakedownError
    from ..run.measured_peaks import with_limits
    from .progress import Live

    try:
        with Live() as live:
            found, missing = with_limits(found, campaign, door, live if campaign == "limits" else None)
    except ShakedownError as error:
        terminal.say(f"shakedown: the limits were not measured: {error}")
        return found
    host = found.hosts[0]
    host = msgspec.structs.replace(host, absent=(*host.absent, *missing))
    return msgspec.structs.replace(found, hosts=(host, *found.hosts[1:]))


def lines(machine: Machine, *, width: int = 120, everything: bool = False) -> Iterator[str]:
    """The machine as text, no line longer than ``width`` where words allow."""
    for index, host in enumerate(machine.hosts):
        if index:
            yield ""
        yield from _host(host, width, everything)


def _host(host: Host, width: int, everything: bool) -> Iterator[str]:
    yield " ".join(
        filter(None, (host.name, f"({host.os})" if host.os else "", f"Linux {host.kernel}" if host.kernel else ""))
    )
    yield from _pairs(_facts(host), width)
    yield from _section("Peaks", _peaks(host.peaks, width))
    from ..analysis.causes import by_cost

    order = {state: place for place, state in enumerate(_STATES)}
    shown = [one for one in host.settings if everything or one.state in ("warn", "unknown") or one.advice]
    good = len(host.settings) - len(shown)
    yield from _section("Settings", _settings(by_cost(shown, host, order), width))
    if good:
        yield f"  {good} more need nothing (--all shows them)"
    yield from _section("Software", _software(host))
    yield from _section("Not known", _wrapped([(gap.what, gap.why) for gap in host.absent], width))


def _section(title: str, body: Iterator[str]) -> Iterator[str]:
    rows = list(body)
    if rows:
        yield ""
        yield title
        yield from rows


# --------------------------------------------------------------------------------------------------------- the hardware


def _facts(host: Host) -> Iterator[tuple[str, str]]:
    from ..hosts.access import format_cpu_list
    from ..units import show_bytes

    cpu = host.cpu
    if host.virtualisation:
        yield "virtualisation", host.virtualisation
    numbers = (
        f"family {cpu.family} model {cpu.model_number} stepping {cpu.stepping}" if cpu.model_number is not None else ""
    )
    yield "processor", ", ".join(filter(None, (cpu.model, cpu.microarchitecture, numbers)))
    yield "cores", _cores(host)
    yield "clock", _clock(host)
    yield "vector extensions", " ".join(_vectors(cpu.isa)) or "none known"
    for cache in cpu.caches:
        yield _cache_name(cache), _cache(cache)
    memory = host.memory
    text = show_bytes(memory.total_bytes) if memory.total_bytes else "not known"
    if memory.limit_bytes is not None and memory.limit_bytes < memory.total_bytes:
        text += f", of which the control group grants {show_bytes(memory.limit_bytes)}"
    if memory.modules:
        first = memory.modules[0]
        text += f"; {len(memory.modules)} modules of {first.kind or 'unknown kind'}"
        text += f", {memory.channels} channels" if memory.channels else ""
        text += f" at {memory.speed_mts:g} MT/s" if memory.speed_mts else ""
    yield "memory", text
    for node in host.numa:
        parts = [
            f"CPUs {format_cpu_list(node.cpus) or 'none'}",
            show_bytes(node.memory_bytes) if node.memory_bytes is not None else "memory not known",
        ]
        if len(host.numa) > 1:
            parts.append(f"distances {' '.join(map(str, node.distances))}")
        parts += [f"cache of {show_bytes(cache.size_bytes)} before its memory" for cache in node.side_caches]
        parts += [f"{count} huge pages of {show_bytes(int(size))}" for size, count in node.hugepages.items() if count]
        yield f"NUMA node {node.id}", ", ".join(parts)
    for gpu in host.gpus:
        size = show_bytes(gpu.memory_bytes) if gpu.memory_bytes else "memory not known"
        power = gpu.facts.get("power_limit_w")
        yield (
            f"GPU {gpu.index}",
            ", ".join(
                filter(
                    None,
                    (
                        gpu.name,
                        size,
                        f"PCI {gpu.pci}" if gpu.pci else "",
                        f"driver {gpu.driver}" if gpu.driver else "",
                        f"limit {power:g} W" if isinstance(power, int | float) else "",
                        "MIG on" if gpu.facts.get("mig") else "",
                    ),
                )
            ),
        )
    for network in host.networks:
        if network.kind not in ("virtual", "loopback"):
            yield network.name, _network(network)


def _cores(host: Host) -> str:
    from ..hosts.access import format_cpu_list

    cpu = host.cpu
    if not cpu.cores:
        return "not known"
    sockets = f"{cpu.sockets} socket{'s' * (cpu.sockets != 1)}" if cpu.sockets else "a number of sockets not known"
    threads = sum(len(core.cpus) for core in cpu.cores)
    text = f"{len(cpu.cores)} in {sockets}, {threads} logical CPUs ({cpu.threads_per_core} to a core)"
    kinds = Counter(core.microarchitecture for core in cpu.cores if core.microarchitecture)
    if kinds:
        text += "; " + ", ".join(f"{count} of {name}" for name, count in kinds.items())
    if cpu.offline_cpus:
        text += f"; offline: {format_cpu_list(cpu.offline_cpus)}"
    if host.usable_cpus and len(host.usable_cpus) < threads:
        text += f"; this process may use {format_cpu_list(host.usable_cpus)}"
    if host.cpu_quota is not None:
        text += f"; the control group grants the time of {host.cpu_quota:g}"
    return text


def _clock(host: Host) -> str:
    cpu = host.cpu
    if cpu.clock_hz is None:
        return "not known"
    text = f"{cpu.clock_hz / 1e9:.2f} GHz {cpu.clock_basis}"
    if cpu.max_hz is not None and cpu.max_hz != cpu.clock_hz:
        text += f", {cpu.max_hz / 1e9:.2f} GHz at most"
    return text


def _vectors(isa: Sequence[str]) -> list[str]:
    """The extensions without those that a wider one implies."""
    older = [name for name in ("sse2", "sse3", "pni", "ssse3", "sse4_1", "sse4_2") if name in isa]
    implied = {*older[:-1], "f16c"} | (
        {"sse4_2", "avx512dq", "avx512bw", "avx512vl", "avx512cd"} if "avx512f" in isa else set()
    )
    return [{"pni": "sse3"}.get(name, name) for name in isa if name not in implied]


def _cache_name(cache: Cache) -> str:
    return f"L{cache.level} {'' if cache.kind == 'unified' else cache.kind}".strip()


def _cache(cache: Cache) -> str:
    from ..units import show_bytes

    shared = {len(group) for group in cache.groups}
    text = f"{len(cache.groups)} x {show_bytes(cache.size_bytes)}"
    if shared and max(shared) > 1:
        text += f", each shared by {'-'.join(map(str, sorted(shared)))} logical CPUs"
    return text


def _network(network: Network) -> str:
    rate = f"{network.rate_bit_s / 1e9:g} Gbit/s" if network.rate_bit_s is not None else "rate not known"
    parts = [
        network.kind,
        network.state,
        rate if network.state in ("up", "active", "unknown") else "",
        str(network.facts.get("adapter", "")),
        f"MTU {network.mtu}" if network.mtu else "",
        f"driver {network.driver}" if network.driver else "",
        f"NUMA node {network.numa_node}" if network.numa_node is not None else "",
    ]
    return ", ".join(filter(None, parts))


# ---------------------------------------------------------------------------------------------------- peaks, settings


def _peaks(peaks: Sequence[Peak], width: int) -> Iterator[str]:
    """One line for each peak with the calculation beside it; scopes that say the same as a wider one are left out.

    What stands behind the calculation, mostly the same for all, is given once below.
    """
    from ..units import show

    notes: dict[str, None] = {}
    for index, peak in enumerate(peaks):
        key = (peak.name, peak.kind, peak.basis)
        if any((other.name, other.kind, other.basis) == key for other in peaks[index + 1 :]):
            continue
        basis, *behind = peak.basis.split("; ")
        notes |= dict.fromkeys(behind)
        head = f"  {peak.name:<20} {peak.scope:<7} {show(peak.value, peak.unit, 4):>14}  {peak.kind + ': ':<10}"
        yield from _wrap(head + basis, width, 57)
    for note in notes:
        yield from _wrap(f"    {note}", width, 4)


def _settings(settings: Sequence[Setting], width: int) -> Iterator[str]:
    for one in settings:
        head = f"  {_STATES[one.state]:<6} {one.name}: {one.value if one.value is not None else 'not readable'}"
        yield from _wrap(head, width, 9)
        yield from _wrap(f"{' ' * 9}{one.effect}", width, 9)
        if one.advice:
            yield from _wrap(f"{' ' * 9}-> {one.advice}", width, 12)


def _software(host: Host) -> Iterator[str]:
    if not host.software:
        return
    name_width = max(len(one.name) for one in host.software)
    version_width = max(len(one.version or "?") for one in host.software)
    for one in host.software:
        yield f"  {one.kind:<10} {one.name:<{name_width}}  {one.version or '?':<{version_width}}  {one.path}".rstrip()


# -------------------------------------------------------------------------------------------------------------- layout


def _pairs(pairs: Iterator[tuple[str, str]], width: int) -> Iterator[str]:
    for name, text in pairs:
        yield from textwrap.wrap(
            text,
            width,
            initial_indent=f"  {name:<18} ",
            subsequent_indent=" " * 21,
            break_on_hyphens=False,
            break_long_words=False,
        ) or [f"  {name}"]


def _wrapped(pairs: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    for name, text in pairs:
        yield from _wrap(f"  {name}: {text}", width, 4)


def _wrap(text: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
