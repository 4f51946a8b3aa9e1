"""The firmware's distances of NUMA nodes (SLIT) beside the latencies that were measured between them. Pure.

A distance is relative: 10 is a node's own memory (ACPI 6.5, section 5.2.17), so that 16 reads "60 % more". It is the
firmware's word and no measurement; the ratio of measured latencies is what a load that misses all caches pays.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from ..analysis.statistics import median_interval
from ..records import Case, Host, Measurement, Record
from ..units import whole_number

_LOCAL = 10


class NodePair(Record, frozen=True, kw_only=True):
    """CPUs of one NUMA node that load from another's memory."""

    host: str
    cpu_node: int
    memory_node: int
    distance: int | None  # None: the firmware does not say
    latency_s: float
    ratio: float | None  # to the CPUs' own node; None: that was not measured
    low: float | None = None
    high: float | None = None


def pairs(measurements: Iterable[Measurement], hosts: Sequence[Host]) -> tuple[NodePair, ...]:
    """Every pair of nodes that ``latency`` measured in memory, those of one node first."""
    times: dict[tuple[str, int, int], list[float]] = {}
    for one in measurements:
        if one.workload != "latency" or one.state not in ("ok", "partial"):
            continue
        for case in one.cases:
            nodes = _nodes(case)
            loads = case.work.get("loads")
            if nodes is not None and loads:
                times.setdefault((one.host, *nodes), []).extend(seconds / loads for seconds in case.seconds)
    return tuple(_pair(key, times, hosts) for key in sorted(times) if times[key])


def _nodes(case: Case) -> tuple[int, int] | None:
    """The node of the CPU and that of the memory; None for a case within caches."""
    cpu, where = case.params.get("cpu_node"), str(case.params.get("placement", "local"))
    if case.params.get("level") != "memory" or isinstance(cpu, bool) or not isinstance(cpu, int):
        return None
    if where == "local":
        return cpu, cpu
    number = whole_number(where.removeprefix("node:"))
    return None if number is None else (cpu, number)


def _pair(key: tuple[str, int, int], times: dict[tuple[str, int, int], list[float]], hosts: Sequence[Host]) -> NodePair:
    host, cpu, memory = key
    here, near = times[key], times.get((host, cpu, cpu))
    found = NodePair(
        host=host,
        cpu_node=cpu,
        memory_node=memory,
        distance=_distance(hosts, host, cpu, memory),
        latency_s=statistics.median(here),
        ratio=None,
    )
    if not near or cpu == memory:
        return found
    far, own = median_interval(here), median_interval(near)
    return NodePair(
        host=host,
        cpu_node=cpu,
        memory_node=memory,
        distance=found.distance,
        latency_s=found.latency_s,
        ratio=found.latency_s / statistics.median(near),
        low=far.low / own.high,
        high=far.high / own.low,
    )


def _distance(hosts: Sequence[Host], name: str, cpu: int, memory: int) -> int | None:
    host = next((one for one in hosts if one.name == name), None)
    numbers = [node.id for node in host.numa] if host else []
    if host is None or cpu not in numbers or memory not in numbers:
        return None
    row = host.numa[numbers.index(cpu)].distances
    place = numbers.index(memory)
    return row[place] if place < len(row) else None


def words(one: NodePair) -> str:
    """``CPUs of node 0, memory of node 1: distance 16 reads 60 % more than its own; measured 38 % more (36 to 41)``."""
    where = f"CPUs of node {one.cpu_node}, memory of node {one.memory_node} on {one.host}: {1e9 * one.latency_s:.0f} ns"
    if one.cpu_node == one.memory_node:
        return where
    said = (
        "the firmware states no distance"
        if one.distance is None
        else f"distance {one.distance} reads {100 * (one.distance / _LOCAL - 1):.0f} % more than its own memory"
    )
    if one.ratio is None or one.low is None or one.high is None:
        return f"{where}; {said}; its own memory was not measured"
    more, least, most = (f"{100 * (ratio - 1):.0f}" for ratio in (one.ratio, one.low, one.high))
    return f"{where}; {said}; measured {more} % more ({least} to {most})"
