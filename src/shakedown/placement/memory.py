"""Memory on other NUMA nodes, limits of control groups, code that two cores evict from one cache. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from ..records import Absent
from ..units import whole_number
from .records import Rank, Symptom
from .sharing import busy, home

#: A rank with more of its pages on other nodes than this has remote memory.
REMOTE = 0.1
#: Fewer pages than this in the sample say nothing.
FEWEST_PAGES = 16
#: Of the time that a rank took, more held back by its control group than this is named.
THROTTLED = 0.01
#: Bits 14 to 12 of the address of a page of code: AMD, "Shared Level-1 Instruction-Cache Performance on AMD Family 15h
#: CPUs" (December 2011): two cores of a compute unit evict each other's lines of one physical page where these differ.
_ALIAS_BITS = 0x7
_BULLDOZER = ("AuthenticAMD", 0x15)


def remote(ranks: Sequence[Rank]) -> tuple[list[Symptom], list[Absent]]:
    """Ranks whose pages lie on other nodes than they ran on, and why that is not known of the others."""
    node = {place[0]: place[3] for rank in ranks for place in rank.places}
    nodes = {*node.values(), *(number for rank in ranks for number in rank.pages.nodes)}
    if len(nodes) < 2:
        return [], [Absent(what="remote memory", why=f"{ranks[0].host} has one NUMA node: all memory is near")]
    found, absent = [], []
    for rank in ranks:
        if why := _no_pages(rank):
            absent.append(Absent(what=f"remote memory of {rank.name}", why=why))
        elif (symptom := _remote(rank, node)) is not None:
            found.append(symptom)
    return found, absent


def _no_pages(rank: Rank) -> str:
    if rank.pages.absent:
        return rank.pages.absent
    seen = sum(rank.pages.nodes.values())
    if seen < FEWEST_PAGES:
        return f"{seen} of its pages were seen: it ended within a quarter of a second, or has hardly any memory"
    return ""


def _remote(rank: Rank, node: Mapping[int, int]) -> Symptom | None:
    ran: dict[int, int] = {}
    for thread in rank.busy or rank.threads:
        for cpu, samples in thread.cpus.items():
            if cpu in node:
                ran[node[cpu]] = ran.get(node[cpu], 0) + samples
    total, pages = sum(ran.values()), sum(rank.pages.nodes.values())
    if not total:
        return None
    # a page is near for the share of the time in which the rank was on its node
    near = sum(ran.get(number, 0) / total * on for number, on in rank.pages.nodes.items()) / pages
    if 1 - near <= REMOTE:
        return None
    where = ", ".join(f"{100 * on / pages:.0f} % on node {number}" for number, on in sorted(rank.pages.nodes.items()))
    at = ", ".join(f"{100 * times / total:.0f} % on node {number}" for number, times in sorted(ran.items()))
    return Symptom(
        kind="remote-memory",
        ranks=(rank.rank,),
        host=rank.host,
        text=f"{rank.name} has {100 * (1 - near):.0f} % of its memory on other NUMA nodes: it ran {at}, "
        f"its pages lie {where}",
        advice="bind before memory is first touched (--bind-to core, numactl --localalloc), and touch data by the thread "
        "that uses it; see what the nodes' latencies are: shakedown run latency -p node=all",
    )


def limited(ranks: Sequence[Rank]) -> list[Symptom]:
    """Ranks that a control group held back."""
    found = []
    threads = len(busy(ranks))
    for rank in ranks:
        if rank.quota_cpus is None:
            continue
        held = rank.throttled_s or 0.0
        if rank.quota_cpus < threads or (rank.wall_s and held > THROTTLED * rank.wall_s):
            since = f", which has held it back for {held:.1f} s so far" if held else ""
            found.append(
                Symptom(
                    kind="throttled",
                    ranks=tuple(sorted(one.rank for one in ranks if one.quota_cpus == rank.quota_cpus)),
                    host=rank.host,
                    text=f"a control group grants the time of {rank.quota_cpus:g} CPUs for {threads} busy threads{since}",
                    advice="ask the batch engine or the container for more CPUs (cpu.max), or start fewer threads",
                )
            )
            break
    return found


def aliasing(ranks: Sequence[Rank]) -> tuple[list[Symptom], list[Absent]]:
    """Pairs of ranks whose code two cores of an AMD module evict from the instruction cache that they share."""
    first = ranks[0]
    if (first.vendor, whole_number(first.family)) != _BULLDOZER:
        why = f"only modules of AMD's family 15h have it; this is {first.vendor or 'unknown'} family {first.family or '?'}"
        return [], [Absent(what="aliasing in the instruction cache", why=why)]
    cache = {place[0]: place[4] for rank in ranks for place in rank.places}
    units: dict[int, list[Rank]] = {}
    for rank in ranks:
        at = next((cpu for one in rank.busy if (cpu := home(one)) is not None), None)
        if at in cache:
            units.setdefault(cache[at], []).append(rank)
    found = []
    for group in units.values():
        for place, one in enumerate(group):
            for other in group[place + 1 :]:
                if files := _aliases(one, other):
                    found.append(_alias(one, other, files))
    return found, []


def _aliases(one: Rank, other: Rank) -> list[str]:
    """The files whose code both have at addresses that differ in bits 14 to 12."""
    there = {(code.path, code.offset): code.address for code in other.code}
    return [
        code.path
        for code in one.code
        if (address := there.get((code.path, code.offset))) is not None
        and (address >> 12) & _ALIAS_BITS != (code.address >> 12) & _ALIAS_BITS
    ]


def _alias(one: Rank, other: Rank, files: Sequence[str]) -> Symptom:
    names = ", ".join(posixpath.basename(path) for path in files[:3])
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return Symptom(
        kind="aliasing",
        ranks=(one.rank, other.rank),
        host=one.host,
        text=f"{one.name} and {other.name} share a module, and the code of {names}{more} lies at addresses that differ in "
        "bits 14 to 12: each evicts the other's instructions",
        advice="compare with a launch under setarch -R; then kernel 3.2 or later, or kernel.randomize_va_space = 0",
    )
