"""The NUMA nodes: CPUs, memory, distances, huge pages reserved."""

from __future__ import annotations

import re

from ..host import Door, parse_cpu_list
from ..records import Absent, NumaNode
from .kernel import online_cpus, parse_mask, parse_meminfo, read_int

_NODES = "/sys/devices/system/node"


def numa(door: Door) -> tuple[tuple[NumaNode, ...], tuple[Absent, ...]]:
    """The nodes by number. A node may have memory and no CPUs (CXL, HBM) or CPUs and no memory."""
    numbers = sorted(int(name[4:]) for name in door.list(_NODES) if re.fullmatch(r"node\d+", name))
    if not numbers:
        return (), (
            Absent(
                what="NUMA nodes",
                why=f"{_NODES} is not there: the kernel has no NUMA support or the container does not show it",
            ),
        )
    online = set(online_cpus(door)[0])
    nodes = tuple(_node(door, number, online) for number in numbers)
    return nodes, _doubts(door, nodes)


def _node(door: Door, number: int, online: set[int]) -> NumaNode:
    folder = f"{_NODES}/node{number}"
    listed = door.read(f"{folder}/cpulist")
    cpus = parse_cpu_list(listed) if listed is not None else parse_mask(door.read(f"{folder}/cpumap") or "0")
    meminfo = parse_meminfo(door.read(f"{folder}/meminfo") or "")
    running = tuple(
        cpu for cpu in cpus if not online or cpu in online
    )  # the mask of old kernels holds those that do not run too
    return NumaNode(
        id=number,
        cpus=running,
        memory_bytes=meminfo.get("MemTotal"),
        distances=tuple(int(word) for word in (door.read(f"{folder}/distance") or "").split()),
        hugepages=hugepages(door, f"{folder}/hugepages"),
    )


def hugepages(door: Door, folder: str) -> dict[str, int]:
    """Huge pages reserved on a node or on the host (``/sys/kernel/mm/hugepages``), by page size in bytes as text."""
    found: dict[str, int] = {}
    for name in door.list(folder):
        match = re.fullmatch(r"hugepages-(\d+)kB", name)
        count = read_int(door, f"{folder}/{name}/nr_hugepages") if match else None
        if match and count is not None:
            found[str(int(match[1]) * 1024)] = count
    return found


def _doubts(door: Door, nodes: tuple[NumaNode, ...]) -> tuple[Absent, ...]:
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
