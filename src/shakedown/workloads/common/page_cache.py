"""Whether a figure of storage may be one of the page cache: what the adapters of I/O benchmarks say of each case.

What a program reads soon after it was written comes from memory as long as it fits there: tens of GB/s that no device has.
Every case says in ``cache`` what is known, and one that may be of memory has a ``doubt`` besides: it is shown, it heads
nothing, and nothing is ranked by it (the metrics' ``only``).

| ``cache`` | |
|---|---|
| ``direct`` | O_DIRECT: the host's cache was left out |
| ``exceeded`` | more data on each node than the node has memory |
| ``another node`` | each rank read what a rank of another node wrote |
| ``synced`` | written, with the fsync in the time |
| ``possible`` | the data fit into memory: a rate may be that of the cache |
| ``unknown`` | a log of a machine whose memory is not known |
"""

from __future__ import annotations

from typing import NamedTuple

from ...records import Machine, Notice, Params, Value

#: What a case in doubt has among its parameters, and the metrics in their ``only``.
DOUBT = "doubt"
PAGE_CACHE = "page cache"
TOO_FAST = "above the device's rate"
TOO_SHORT = "shorter than 1 s"


class Moved(NamedTuple):
    """What one case moved, and what its program says of how."""

    direction: str  # read, write
    bytes: float
    seconds: float
    nodes: int = 1
    direct: bool = False
    synced: bool = False  # of writing: until the data were on the device
    elsewhere: bool = False  # of reading: what another node wrote


def resolved(params: Params, machine: Machine) -> Params:
    """The parameters with the memory of the host, in bytes, which `verdict` reads."""
    return {**params, "memory_bytes": machine.hosts[0].memory.total_bytes}


def verdict(moved: Moved, params: Params) -> dict[str, Value]:
    """``cache`` and, where the figure may be that of memory, ``doubt``. ``params`` are those of the run: ``memory_bytes``
    and ``device_rate`` (B/s), each absent or 0 where it is not known."""
    memory, device = float(params.get("memory_bytes", 0)), float(params.get("device_rate", 0))
    found: dict[str, Value] = {"cache": _cache(moved, memory)}
    if found["cache"] == "possible":
        found[DOUBT] = PAGE_CACHE
    if moved.direction == "read" and 0 < device * moved.seconds < moved.bytes:
        found[DOUBT] = TOO_FAST
    return found


def _cache(moved: Moved, memory_bytes: float) -> str:
    if moved.direct:
        return "direct"
    if moved.synced and moved.direction == "write":
        return "synced"
    if moved.elsewhere and moved.direction == "read" and moved.nodes > 1:
        return "another node"
    if memory_bytes <= 0:
        return "unknown"
    return "exceeded" if moved.bytes / max(1, moved.nodes) > memory_bytes else "possible"


_ADVICE = {
    PAGE_CACHE: "move more data than the nodes have memory, or use direct I/O",
    TOO_FAST: "something between the program and the device answered: move more data than it holds, or read on another node",
    TOO_SHORT: "take as many files as keep each phase busy for a second",
}
_WHY = {
    PAGE_CACHE: "may be those of the page cache, which the data fit into",
    TOO_FAST: "are above the rate that the device was given with",
    TOO_SHORT: "are of less than a second",
}


def notices(cases: list[tuple[str, Params]]) -> tuple[Notice, ...]:
    """What is in doubt, a line a reason; ``cases``: kernel and parameters of each."""
    found = []
    for doubt, why in _WHY.items():
        kernels = dict.fromkeys(kernel for kernel, params in cases if params.get(DOUBT) == doubt)
        if kernels:
            text = f"the figures of {', '.join(kernels)} {why}: they are shown, and nothing is ranked by them"
            found.append(Notice(code="in-doubt", text=text, advice=_ADVICE[doubt]))
    return tuple(found)
