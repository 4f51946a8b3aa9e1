"""The NUMA nodes: CPUs, memory, distances, huge pages reserved."""

from __future__ import annotations

import re

from ..hosts.access import HostAccess
from ..records import Absent, Cache, NumaNode
from .kernel import Reader, online_cpus, parse_meminfo, read_int

_NODES = "/sys/devices/system/node"
_MOST_BYTES = 1 << 53
#: "255": the firmware's word for a node that cannot be reached (ACPI, System Locality Information Table).
_UNREACHABLE = 255


def numa(door: HostAccess) -> tuple[tuple[NumaNode, ...], tuple[Absent, ...]]:
    """The nodes by number. A node may have memory and no CPUs (CXL, HBM) or CPUs and no memory."""
    reader = Reader(door)
    numbers = node_numbers(door)
    if not numbers:
        return (), (
            Absent(
                what="NUMA nodes",
                why=f"{_NODES} is not there: the kernel has no NUMA support or the container does not show it",
            ),
        )
    online = set(online_cpus(Reader(door))[0])  # what is odd about them is the processor's to say
    nodes = tuple(_node(reader, number, online) for number in numbers)
    return nodes, (*reader.absent, *_doubts(door, nodes))


def node_numbers(door: HostAccess) -> list[int]:
    """The numbers of the nodes, rising."""
    return sorted(int(name[4:]) for name in door.list(_NODES) if re.fullmatch(r"node[0-9]{1,5}", name))


def node_cpus(reader: Reader, number: int) -> tuple[int, ...]:
    """The CPUs of a node by its list, else by its mask, else by the CPUs' own folders."""
    folder = f"{_NODES}/node{number}"
    found = reader.cpus(f"{folder}/cpulist")
    if found is None:
        found = reader.mask(f"{folder}/cpumap")
    if not found:  # a node of memory alone, unless CPUs name it
        cpus = "/sys/devices/system/cpu"
        names = [name for name in reader.door.list(cpus) if re.fullmatch(r"cpu[0-9]{1,5}", name)]
        naming = tuple(sorted(int(name[3:]) for name in names if f"node{number}" in reader.door.list(f"{cpus}/{name}")))
        if found == () and naming:
            reader.odd(f"{folder}/cpulist", "is empty, though CPUs name this node as theirs")
        found = naming
    return found


def distances(reader: Reader, number: int) -> tuple[int, ...]:
    """How far the node is from each, itself included: 10 is near (ACPI); empty where the kernel does not say."""
    return reader.numbers(f"{_NODES}/node{number}/distance", 1, _UNREACHABLE)


def _node(reader: Reader, number: int, online: set[int]) -> NumaNode:
    folder = f"{_NODES}/node{number}"
    # the mask of old kernels holds those that do not run too
    running = tuple(cpu for cpu in node_cpus(reader, number) if not online or cpu in online)
    return NumaNode(
        id=number,
        cpus=running,
        memory_bytes=_memory_bytes(reader, f"{folder}/meminfo"),
        distances=distances(reader, number),
        hugepages=hugepages(reader.door, f"{folder}/hugepages"),
        side_caches=_side_caches(reader, f"{folder}/memory_side_cache"),
    )


def _memory_bytes(reader: Reader, path: str) -> int | None:
    text = reader.door.read(path)
    found = parse_meminfo(text or "").get("MemTotal")
    if text is not None and found is None:
        reader.odd(path, "does not give MemTotal")
        return None
    if found is not None and found > _MOST_BYTES:
        reader.odd(path, f"gives {found} bytes of memory, more than any machine has")
        return None
    return found


def _side_caches(reader: Reader, folder: str) -> tuple[Cache, ...]:
    """The caches before a node's memory (Xeon Phi and Xeon Max in cache mode, persistent memory in memory mode).

    https://docs.kernel.org/admin-guide/mm/numaperf.html, section "NUMA Cache": ``size`` is in bytes.
    """
    found = []
    for name in reader.door.list(folder):
        if match := re.fullmatch(r"index([0-9])", name):
            size = reader.size(f"{folder}/{name}/size", _MOST_BYTES)
            line = reader.number(f"{folder}/{name}/line_size", 0, 1 << 16)
            if size:
                found.append(Cache(level=int(match[1]), kind="unified", size_bytes=size, line_bytes=line or None))
    return tuple(found)


def hugepages(door: HostAccess, folder: str) -> dict[str, int]:
    """Huge pages reserved on a node or on the host (``/sys/kernel/mm/hugepages``), by page size in bytes as text."""
    found: dict[str, int] = {}
    for name in door.list(folder):
        match = re.fullmatch(r"hugepages-([0-9]{1,12})kB", name)
        count = read_int(door, f"{folder}/{name}/nr_hugepages") if match else None
        if match and count is not None:
            found[str(int(match[1]) * 1024)] = count
    return found


def _doubts(door: HostAccess, nodes: tuple[NumaNode, ...]) -> tuple[Absent, ...]:
    total = parse_meminfo(door.read("/proc/meminfo") or "").get("MemTotal")
    known = [node.memory_bytes for node in nodes if node.memory_bytes is not None]
    if total and known and not 0.9 <= sum(known) / total <= 1.1:
        return (
            Absent(
                what="memory of the NUMA nodes",
                why=f"the nodes count {sum(known) / 2**30:.1f} GiB together, "
                f"/proc/meminfo {total / 2**30:.1f} GiB: memory is added as it is needed, or the node's count is "
                "wrong",
            ),
        )
    return ()
