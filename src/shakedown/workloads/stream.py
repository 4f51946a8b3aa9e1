"""Bandwidth of memory and caches by McCalpin's kernels: copy, scale, add and triad, and read and write as limits.

Each kernel runs over arrays of doubles with pinned threads that touched their own parts first. ``bandwidth`` counts as
STREAM does, 16 or 24 bytes an element; ``traffic`` counts the bytes that really move, which with ordinary stores
(``cached``) includes the fetch of each line before it is written, wherever the arrays exceed the last-level cache;
stores past the caches (``nt``) need no fetch. A sample is one pass, or as many as last 2 ms, from a barrier to the last
thread's end. The loop is the fastest of several in a short trial; the program names it. Every element is checked
against its closed form, which is exact in a double, after NaN was put where results go. See native/stream/README.md.

``sizes = "memory"`` follows STREAM's rule, each array at least four times the last-level caches in use (a cache before the
memory, such as MCDRAM or HBM in cache mode, is one), as long as the three arrays stay below 60 % of the memory that is
free. A virtual machine often shows the caches of its whole host; there the array is 1 GiB where the rule asks for more, and
the program says so. ``sizes = "sweep"`` doubles from 4 KiB a thread to that size. The level that a case's arrays lie in (l1,
l2, l3, memory) is the program's judgement from the cache sizes; between levels there is none, and no limit to stand beside.

Sources: J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", IEEE TCCA
Newsletter, December 1995; STREAM, https://www.cs.virginia.edu/stream/ref.html (kernels, counting, rule for the size).
"""

from __future__ import annotations

import re

from .. import units
from ..errors import BadInput, Unavailable, unknown
from ..machine.virtualisation import is_virtual
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of
from .common.threads import counts

TABLE = table_of(__file__)

#: Of the memory that is free, what the three arrays may take when the size is ours to choose, and when it is asked for.
_SHARE, _MOST = 0.6, 0.95
_VIRTUAL_BYTES = 2**30
_SMALLEST_BYTES = 2**26  # of an array in memory, where no cache is known
_SWEEP_FROM_BYTES = 4096  # of each array, for each thread


def _last_level(host: Host) -> list[int]:
    """The bytes of each last-level cache that serves the usable CPUs: of the processors', or of those before the memory of
    these CPUs' nodes (MCDRAM or HBM in cache mode), whichever are more together. Empty where none is known."""
    caches = [cache for cache in host.cpu.caches if cache.kind != "instruction"]
    level = max((cache.level for cache in caches), default=0)
    usable = set(host.usable_cpus)
    ours = [
        cache.size_bytes
        for cache in caches
        if cache.level == level
        for _ in range(max(1, sum(1 for group in cache.groups if not usable or usable & set(group))))
    ]
    side = [
        max(cache.size_bytes for cache in node.side_caches)
        for node in host.numa
        if node.side_caches and (not usable or usable & set(node.cpus))
    ]
    return max(ours, side, key=sum)


def last_level_bytes(host: Host, threads: int | None = None) -> int:
    """The bytes of all last-level caches that serve the usable CPUs, of as many as ``threads`` can use; 0 where none is
    known."""
    return sum(sorted(_last_level(host), reverse=True)[:threads])


def rule_bytes(host: Host, threads: int | None = None) -> int:
    """STREAM's rule: the bytes that each array has at least, four times the last-level caches in use; 0 where no cache is
    known. ``threads`` use as many of the caches at most. A virtual machine is asked for no more than 1 GiB."""
    rule = 4 * last_level_bytes(host, threads)
    return min(rule, _VIRTUAL_BYTES) if is_virtual(host.virtualisation) else rule


def memory_bytes(host: Host) -> int:
    """Bytes of each array for a measurement of memory, a multiple of 2 MiB: the rule of the module's docstring."""
    wanted = max(rule_bytes(host), _SMALLEST_BYTES)
    huge = 2**21
    fitting = int(_SHARE * host.memory.room_bytes / 3) // huge * huge
    return max(huge, min(-(-wanted // huge) * huge, fitting))


def parse_bytes(word: str) -> int:
    """ "64 MiB", "1GB" or a plain number of bytes. Raises BadInput."""
    try:
        size = units.parse_bytes(word)
    except ValueError:
        size = 0
    if size < 64:
        raise BadInput(
            f"stream.sizes: {word.strip()!r} is not a valid size of an array",
            hint="write memory, sweep, or sizes of at least 64 B separated by commas: 32 KiB, 1 GiB",
        )
    return size


def _sizes(text: str, host: Host, threads: tuple[int, ...]) -> tuple[int, ...]:
    """Bytes of each array in turn. Raises BadInput for what is no size or does not fit."""
    room = host.memory.room_bytes
    if text in ("memory", "sweep"):
        largest = memory_bytes(host)
        steps = [_SWEEP_FROM_BYTES * max(threads)]
        while steps[-1] * 2 < largest:
            steps.append(steps[-1] * 2)
        sizes = (*(steps if text == "sweep" and steps[0] < largest else ()), largest)
    else:
        sizes = tuple(dict.fromkeys(parse_bytes(word) for word in text.split(",")))
    if 3 * max(sizes) > _MOST * room:
        raise BadInput(
            f"stream.sizes: three arrays of {show_bytes(max(sizes))} need {show_bytes(3 * max(sizes))}, and "
            f"{show_bytes(room)} are free on {host.name}",
            hint=f"at most {show_bytes(int(_MOST * room / 3) // 2**20 * 2**20)} each fit here",
        )
    return sizes


def _check_placement(word: str, host: Host) -> None:
    """Raises BadInput for a word that is none, Unavailable for a node that this machine lacks."""
    nodes = [node.id for node in host.numa if node.memory_bytes != 0] or [0]
    if word in ("local", "interleave"):
        return
    if word == "remote":
        if len(nodes) < 2:
            raise Unavailable(
                f"remote memory cannot be measured: {host.name} has one NUMA node", hint="use placement = local"
            )
        return
    found = re.fullmatch(r"node:(\d+)", word)
    if found is None:
        raise unknown("placement of stream", word, ("local", "interleave", "remote", "node:0"))
    if int(found[1]) not in nodes:
        raise Unavailable(
            f"{host.name} has no NUMA node {found[1]} with memory", hint=f"nodes: {', '.join(map(str, nodes))}"
        )


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    threads = counts(str(params["threads"]), host, where="stream.threads")
    _check_placement(str(params["placement"]), host)
    sizes = _sizes(str(params["sizes"]).strip(), host, threads)
    swept = {"threads": threads, "sizes": sizes, "kernels": TABLE.selection(params, "kernels")}
    return ({**params, **{name: lists.text(values) for name, values in swept.items()}},)


def _estimate_s(params: Params, host: Host) -> float:
    """First touch at 0.8 GB/s a thread; for each case the trial of loops, samples at 10 GB/s a thread, the check."""
    total = 0.2
    variants = 2 if params["variant"] == "both" else 1
    for threads in map(int, str(params["threads"]).split(",")):
        for size in map(int, str(params["sizes"]).split(",")):
            total += 3 * size / (0.8e9 * threads)
            sample_s = max(2e-3, 3 * size / (10e9 * threads))
            trial_s = 0.1 + min(0.6, 100 * sample_s)
            load_s = max(int(params["samples"]) * sample_s, float(params["seconds"]))
            check_s = 8 * size / (4e9 * threads)
            total += (trial_s + load_s + check_s) * variants * len(str(params["kernels"]).split(","))
    return total


def _label(params: Params) -> str:
    sizes = [show_bytes(int(size)) for size in str(params["sizes"]).split(",")]
    words = [f"stream {params['kernels']}", f"{params['threads']} threads", f"{lists.span(sizes)} an array"]
    words += [
        f"{name} {params[name]}"
        for name, usual in (("variant", "auto"), ("isa", "auto"), ("placement", "local"), ("pages", "huge"))
        if params[name] != usual
    ]
    return ", ".join(words)


WORKLOAD = TABLE.workload(
    title="Memory and cache bandwidth (STREAM kernels)",
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
