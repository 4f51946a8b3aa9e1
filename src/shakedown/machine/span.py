"""Several hosts seen as one: what a job over them all has in cores, memory and peaks. Pure.

Workloads resolve their parameters against a host (ranks by cores or NUMA nodes, orders by memory). For a job over n hosts
they get this one: its CPUs and NUMA nodes are those of all, numbered on; of memory every host counts as the one with the
least, since a job's parts are equal. Peaks of whole nodes add up; those of a core are the slowest host's.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..records import Core, Host, Memory, Network, NumaNode, Peak, Software

#: Peaks of these units add up over hosts; a latency or a clock does not.
_ADDING = ("flop/s", "B/s")
#: The fact of a network that says how it differs on other hosts.
ELSEWHERE = "elsewhere"


def span(hosts: Sequence[Host], name: str) -> Host:
    """The hosts as one of that name; one alone stays what it is, but for the name."""
    if len(hosts) == 1:
        return msgspec.structs.replace(hosts[0], name=name)
    first = hosts[0]
    cores: list[Core] = []
    numa: list[NumaNode] = []
    usable: list[int] = []
    cpus = nodes = sockets = 0
    known = True
    for host in hosts:
        cores += [
            msgspec.structs.replace(
                core,
                cpus=tuple(cpu + cpus for cpu in core.cpus),
                socket=None if core.socket is None else core.socket + sockets,
                numa_node=None if core.numa_node is None else core.numa_node + nodes,
            )
            for core in host.cpu.cores
        ]
        numa += [
            msgspec.structs.replace(node, id=node.id + nodes, cpus=tuple(cpu + cpus for cpu in node.cpus), distances=())
            for node in host.numa
        ]
        usable += [cpu + cpus for cpu in host.usable_cpus]
        cpus += 1 + max((*host.usable_cpus, *(cpu for core in host.cpu.cores for cpu in core.cpus)), default=-1)
        nodes += 1 + max((node.id for node in host.numa), default=-1)
        sockets += host.cpu.sockets or 0
        known &= host.cpu.sockets is not None
    return msgspec.structs.replace(
        first,
        name=name,
        count=len(hosts),
        cpu=msgspec.structs.replace(
            first.cpu, cores=tuple(cores), sockets=sockets if known else None, offline_cpus=(), caches=()
        ),
        memory=_memory([host.memory for host in hosts]),
        numa=tuple(numa),
        usable_cpus=tuple(usable),
        cpu_quota=None if any(host.cpu_quota is None for host in hosts) else sum(host.cpu_quota or 0 for host in hosts),
        gpus=tuple(gpu for host in hosts for gpu in host.gpus),
        networks=_networks(hosts),
        software=_software(hosts),
        settings=(),
        peaks=_peaks(hosts),
        absent=(),
    )


def _memory(parts: Sequence[Memory]) -> Memory:
    def least(values: Sequence[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return min(known) * len(parts) if len(known) == len(parts) else None

    return Memory(
        total_bytes=least([one.total_bytes for one in parts]) or 0,
        available_bytes=least([one.available_bytes for one in parts]),
        limit_bytes=least([one.limit_bytes for one in parts]),
        near_bytes=_near(parts),
    )


def _near(parts: Sequence[Memory]) -> int | None:
    """Of hosts of which only some have memory far from their CPUs, the others' is near in whole."""
    if all(one.near_bytes is None for one in parts):
        return None
    return min(one.room_bytes for one in parts) * len(parts)


def _networks(hosts: Sequence[Host]) -> tuple[Network, ...]:
    """Those of the first host; of one that another host does not have, or that is in another state there, with that as the
    fact ``ELSEWHERE``: a job over all of them cannot use it."""
    found = []
    for one in hosts[0].networks:
        differs = []
        for host in hosts[1:]:
            twin = next((other for other in host.networks if other.name == one.name), None)
            if twin is None:
                differs.append(f"{host.name} has none")
            elif twin.state != one.state:
                differs.append(f"{twin.state or 'not known'} on {host.name}")
        more = f" and {len(differs) - 3} more" if len(differs) > 3 else ""
        facts = {**one.facts, ELSEWHERE: ", ".join(differs[:3]) + more} if differs else one.facts
        found.append(msgspec.structs.replace(one, facts=facts))
    return tuple(found)


def _software(hosts: Sequence[Host]) -> tuple[Software, ...]:
    """What every host has alike: a job over all of them can be started with nothing else."""
    others = [{msgspec.json.encode(one) for one in host.software} for host in hosts[1:]]
    return tuple(one for one in hosts[0].software if all(msgspec.json.encode(one) in had for had in others))


def _peaks(hosts: Sequence[Host]) -> tuple[Peak, ...]:
    found = []
    for index, peak in enumerate(hosts[0].peaks):
        if peak.unit not in _ADDING or peak.kind == "measured":
            continue
        same = [peak, *(twin for host in hosts[1:] if (twin := _twin(host, peak, index)))]
        if len(same) < len(hosts):
            continue
        if peak.scope != "node":
            found.append(min(same, key=lambda one: one.value))
            continue
        alike = len({one.value for one in same}) == 1
        basis = (
            f"{len(hosts)} hosts x {peak.basis}" if alike else f"sum over {len(hosts)} hosts, the first: {peak.basis}"
        )
        found.append(msgspec.structs.replace(peak, value=sum(one.value for one in same), basis=basis))
    return tuple(found)


def _twin(host: Host, peak: Peak, index: int) -> Peak | None:
    """The same peak of another host: at the same place where the hosts are alike, else the first of its name and scope."""
    candidates = [one for one in host.peaks if (one.name, one.scope, one.kind) == (peak.name, peak.scope, peak.kind)]
    if index < len(host.peaks) and host.peaks[index] in candidates:
        return host.peaks[index]
    return candidates[0] if candidates else None
