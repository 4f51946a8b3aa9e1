"""The memory: how much, what limits it, and its channels and speed where they can be read.

Channels and speed come from ``dmidecode`` (needs root) or, without the speed, from the kernel's EDAC driver. Where both
are silent they stay None: ``peaks`` then falls back on what the microarchitecture takes at most, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..hosts.access import HostAccess, parse_cpu_list
from ..records import Absent, Memory, MemoryModule
from . import cgroup
from .kernel import parse_meminfo, read_int, read_word

_EDAC = "/sys/devices/system/edac/mc"
_NODES = "/sys/devices/system/node"

#: The channel of a module by the names that boards give to its slot. The first two groups are socket and channel.
_SLOTS = (
    r"P(?:ROC|CPU)?_?(\d+).*?CH(?:ANNEL|N)?[ _]?([A-Z]|\d+)(?![A-Z])",  # "P0_Node1_Channel3_Dimm0", "P0 CHANNEL A"
    r"(?:CPU|PROC|SOCKET|NODE)[ _]?(\d+).*?CH(?:ANNEL|N)?[ _]?([A-Z]|\d+)(?![A-Z])",
    r"(?:P|CPU|PROC)_?(\d+)[-_ ]+DIMM[-_ ]?([A-Z])\d",  # "P1-DIMMA1", "CPU1_DIMM_A1"
    r"()CH(?:ANNEL|N)?[ _-]?([A-Z]|\d+)(?![A-Z])",  # "ChannelA-DIMM0"
)


def memory(door: HostAccess) -> tuple[Memory, tuple[Absent, ...]]:
    """The memory of this host. Raises ValueError where ``/proc/meminfo`` cannot be read."""
    meminfo = parse_meminfo(door.read("/proc/meminfo") or "")
    if "MemTotal" not in meminfo:
        raise ValueError("/proc/meminfo does not give MemTotal")
    modules, absent = _modules(door)
    channels = channel_count(modules)
    speeds = {module.speed_mts for module in modules if module.speed_mts}
    return Memory(
        total_bytes=meminfo["MemTotal"],
        available_bytes=meminfo.get("MemAvailable"),
        limit_bytes=cgroup.limits(door).memory_bytes,
        near_bytes=near_bytes(door),
        swap_bytes=meminfo.get("SwapTotal"),
        modules=modules,
        channels=channels,
        speed_mts=min(speeds, default=None),  # the slowest sets the pace of its channel
        bus_bytes=8 if modules and all(module.kind.startswith("DDR") for module in modules) else None,
    ), absent


#: Of a node's memory, what programs can have without swapping: free, and page cache that can be dropped.
_AVAILABLE = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")


def near_bytes(door: HostAccess) -> int | None:
    """What is free on the NUMA nodes that have CPUs and that this process may use (cpuset.mems); None where those are all
    nodes with memory, or where the kernel does not tell. Memory of GPUs and of CXL devices is that of nodes without CPUs:
    the kernel counts it as available, and a program that fills it is no longer measured on this machine's memory."""
    allowed = _list(re.search(r"^Mems_allowed_list:\s*(\S+)", door.read("/proc/self/status") or "", re.MULTILINE))
    free: dict[int, int] = {}
    usable: set[int] = set()
    for name in door.list(_NODES):
        if (found := re.fullmatch(r"node(\d+)", name)) is None:
            continue
        lines = parse_meminfo(door.read(f"{_NODES}/{name}/meminfo") or "")
        if not lines.get("MemTotal"):
            continue
        node = int(found[1])
        free[node] = sum(lines.get(word, 0) for word in _AVAILABLE)
        if read_word(door, f"{_NODES}/{name}/cpulist") and (allowed is None or node in allowed):
            usable.add(node)
    return None if not usable or usable == free.keys() else sum(free[node] for node in usable)


def _list(found: re.Match[str] | None) -> tuple[int, ...] | None:
    try:
        return parse_cpu_list(found[1]) if found else None
    except ValueError:
        return None


def channel_count(modules: Iterable[MemoryModule]) -> int | None:
    """How many channels hold a module; None where a slot's name does not tell its channel."""
    named = [module.channel for module in modules]
    return len(set(named)) if named and all(named) else None


def _modules(door: HostAccess) -> tuple[tuple[MemoryModule, ...], tuple[Absent, ...]]:
    what = "memory channels and speed"
    if door.which("dmidecode"):
        printed = door.run(["dmidecode", "-t", "17"], limit_s=3)
        found = parse_dmidecode(printed.out) if printed.ok else ()
        if found:
            missing = (
                []
                if channel_count(found)
                else [
                    Absent(
                        what="memory channels",
                        why="dmidecode names the slots in a way that does not show their channels: "
                        + ", ".join(module.locator for module in found[:4]),
                    )
                ]
            )
            return found, tuple(missing)
        last = (printed.err or printed.out).strip().splitlines()
        why = f"dmidecode: {last[-1].strip()}" if last else "dmidecode lists no module"
    else:
        why = "dmidecode is not installed (it also needs root)"
    found = _edac(door)
    if found:
        return found, (Absent(what="memory speed", why=f"{why}; EDAC gives the channels, not their speed"),)
    return (), (Absent(what=what, why=f"{why}; the kernel shows no EDAC driver"),)


def parse_dmidecode(text: str) -> tuple[MemoryModule, ...]:
    """The modules in the output of ``dmidecode -t 17``; empty slots are left out."""
    found: list[MemoryModule] = []
    for block in re.split(r"\n\s*\n", text):
        if "Memory Device" not in block.split("\n\t", 1)[0]:
            continue
        fields = {
            key.strip(): value.strip()
            for key, colon, value in (line.partition(":") for line in block.splitlines())
            if colon
        }
        size = re.fullmatch(r"(\d+) (kB|MB|GB|TB)", fields.get("Size", ""))
        if size is None:
            continue
        speed = next(
            (
                float(match[1])
                for key in ("Configured Memory Speed", "Configured Clock Speed", "Speed")
                if (match := re.match(r"(\d+) (?:MT/s|MHz)", fields.get(key, "")))
            ),
            None,
        )
        locator = fields.get("Locator", "")
        found.append(
            MemoryModule(
                locator=locator,
                size_bytes=int(size[1]) << {"kB": 10, "MB": 20, "GB": 30, "TB": 40}[size[2]],
                speed_mts=speed,
                kind=fields.get("Type", ""),
                channel=slot_channel(locator, fields.get("Bank Locator", "")),
            )
        )
    return tuple(found)


def slot_channel(locator: str, bank: str) -> str:
    """The channel of a slot as ``socket/channel``, by the names that boards give; empty where they do not tell."""
    for text in (f"{bank} {locator}", locator, bank):
        for pattern in _SLOTS:
            match = re.search(pattern, text, re.IGNORECASE)
            if match:
                return f"{match[1] or 0}/{match[2].upper()}"
    return ""


def _edac(door: HostAccess) -> tuple[MemoryModule, ...]:
    found: list[MemoryModule] = []
    for controller in (name for name in door.list(_EDAC) if re.fullmatch(r"mc\d+", name)):
        for dimm in (name for name in door.list(f"{_EDAC}/{controller}") if re.fullmatch(r"(dimm|rank)\d+", name)):
            folder = f"{_EDAC}/{controller}/{dimm}"
            megabytes = read_int(door, f"{folder}/size")
            location = read_word(door, f"{folder}/dimm_location") or ""
            channel = re.search(r"channel[ #]?(\d+)", location)
            kind = re.search(r"DDR\d?", read_word(door, f"{folder}/dimm_mem_type") or "")
            if megabytes:
                found.append(
                    MemoryModule(
                        locator=read_word(door, f"{folder}/dimm_label") or f"{controller} {location}",
                        size_bytes=megabytes << 20,
                        kind=kind[0] if kind else "",
                        channel=f"{controller}/{channel[1]}" if channel else "",
                    )
                )
    return tuple(found)
