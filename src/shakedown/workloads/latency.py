"""Latency of memory and caches: the time of a load that needs the result of the one before it.

The lines of a block of memory are one closed chain in random order, which no prefetcher can foresee; one pinned thread
follows it. A sample is a fixed number of loads, and their time over their number is the latency. The pages are huge ones by
default, so that the caches of page tables are not measured, too; ``pages = "base"`` shows them. The chain's end is checked
against the place where it must be. Chains are as long as the caches (``levels``: half of each, which its level holds for
certain, then memory), or double from 16 KiB to memory (``sweep``). Memory means four times the last-level cache, as STREAM
asks for; in a virtual machine, which may show the caches of its whole host, 1 GiB. ``node = "all"`` gives the latency
between every two NUMA nodes. See native/latency/README.md.

Source: L. McVoy and C. Staelin, "lmbench: Portable Tools for Performance Analysis", USENIX 1996, section 6.2.
"""

from __future__ import annotations

from .. import units
from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of
from .stream import rule_bytes

TABLE = table_of(__file__)

_SWEEP_FROM_BYTES = 2**14
_SMALLEST_BYTES = 2**28  # of memory, where no cache is known
_SHARE = 0.6  # of the free memory, where the size is ours to choose


def _memory_bytes(host: Host) -> int:
    """What is memory for certain to one thread, as far as it fits."""
    return min(max(rule_bytes(host, 1), _SMALLEST_BYTES), int(_SHARE * host.memory.room_bytes) // 2**21 * 2**21)


def _sizes(text: str, host: Host) -> tuple[int, ...]:
    """Bytes of each chain. Raises BadInput for what is not a size, or does not fit."""
    memory = _memory_bytes(host)
    if text == "levels":
        caches = {cache.level: cache.size_bytes for cache in host.cpu.caches if cache.kind != "instruction"}
        return (*(size // 2 for _, size in sorted(caches.items()) if size // 2 < memory), memory)
    if text == "sweep":
        doubled = (_SWEEP_FROM_BYTES << step for step in range(64))
        return (*(size for size in doubled if size < memory), memory)
    try:
        sizes = tuple(dict.fromkeys(units.parse_bytes(word) for word in text.split(",")))
    except ValueError as error:
        hint = "write levels, sweep, or sizes separated by commas: 32 KiB, 1 GiB"
        raise BadInput(f"latency.sizes: {error}", hint=hint) from None
    if min(sizes) < 256 or max(sizes) > host.memory.room_bytes:
        room = show_bytes(host.memory.room_bytes)
        raise BadInput(f"latency.sizes = {text!r} is not from 256 B to the {room} that are free on {host.name}")
    return sizes


def _pairs(params: Params, host: Host) -> list[Params]:
    """Which CPU loads from which node, in each run. Raises BadInput, Unavailable."""
    usable = set(host.usable_cpus)
    if params["cpu"] != "auto" and usable and params["cpu"] not in usable:
        raise BadInput(f"latency.cpu = {params['cpu']}, which this process may not use")
    memories = [node.id for node in host.numa if node.memory_bytes != 0]
    if params["node"] != "all":
        if params["node"] != "local" and params["node"] not in memories:
            known = ", ".join(map(str, memories)) or "not known"
            raise Unavailable(f"{host.name} has no NUMA node {params['node']} with memory", hint=f"nodes: {known}")
        return [{"cpu": params["cpu"], "node": params["node"]}]
    firsts = [min(cpus) for node in host.numa if (cpus := set(node.cpus) & (usable or set(node.cpus)))]
    if not firsts or not memories:
        raise Unavailable(f"the NUMA nodes of {host.name} are not known", hint="use node = local")
    starts = firsts if params["cpu"] == "auto" else [params["cpu"]]
    return [{"cpu": cpu, "node": node} for cpu in starts for node in memories]


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    sizes = lists.text(_sizes(str(params["sizes"]).strip(), host))
    return tuple({**params, **pair, "sizes": sizes} for pair in _pairs(params, host))


def _command(params: Params, host: Host) -> Command:
    return Command(argv=TABLE.argv(params, omit=("auto", "local")))


def _estimate_s(params: Params, host: Host) -> float:
    """Three random writes of a line when a chain is built, and the loads, at 150 ns each beyond the caches."""
    total = 0.1
    for size in map(int, str(params["sizes"]).split(",")):
        load_s = 150e-9 if size > 2**25 else 20e-9
        total += 3 * size / 64 * load_s
        total += max(float(params["seconds"]), (int(params["samples"]) + 1) * int(params["loads"]) * load_s)
    return total


def _label(params: Params) -> str:
    sizes = [show_bytes(int(size)) for size in str(params["sizes"]).split(",")]
    cpu = "" if params["cpu"] == "auto" else f", CPU {params['cpu']}"
    node = "" if params["node"] == "local" else f", node {params['node']}"
    return f"latency {lists.span(sizes)}{cpu}{node}"


WORKLOAD = TABLE.workload(
    title="Latency of memory and caches (dependent loads)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
