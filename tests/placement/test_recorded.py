"""What runs of our own programs recorded: ranks on one CPU or core, NUMA distances beside measured latencies."""

from __future__ import annotations

from typing import Any

import pytest

from shakedown.placement import node_latency, recorded
from shakedown.records import Case, Core, Cpu, Host, Measurement, Memory, NumaNode

CORES = tuple(Core(cpus=(n, n + 2), core_id=n, socket=0, numa_node=n) for n in range(2))
NODES = (NumaNode(id=0, cpus=(0, 2), distances=(10, 16)), NumaNode(id=1, cpus=(1, 3), distances=(16, 10)))
HOST = Host(
    name="n1",
    cpu=Cpu(model="m", vendor="v", architecture="x86_64", microarchitecture="u", cores=CORES),
    memory=Memory(total_bytes=2**30),
    numa=NODES,
)


def measurement(workload: str = "pingpong", **more: Any) -> Measurement:
    given = {"run": "r", "repeat": 1, "params": {}, "host": "n1", "state": "ok", "begin_ns": 0, "end_ns": 1}
    return Measurement(workload=workload, **{**given, **more})


def ranks(*cpus: int) -> Measurement:
    rows = [{"rank": n, "host": "n1", "cpu": cpu, "pid": 1} for n, cpu in enumerate(cpus)]
    return measurement(provenance={"facts": {"ranks": rows}})


@pytest.mark.parametrize(("cpus", "kinds"), [((0, 1), []), ((0, 0), ["shared-cpu"]), ((0, 2), ["shared-core"])])
def test_ranks_on_one_cpu_or_core_are_named(cpus: tuple[int, ...], kinds: list[str]) -> None:
    found = recorded.diagnose(ranks(*cpus), [HOST])
    assert found is not None and [one.kind for one in found.symptoms] == kinds
    assert found.ranks == 2 and found.unknown


def test_threads_of_ranks_are_read_and_what_is_no_rank_is_left_out() -> None:
    rows = [{"rank": 0, "host": "n1", "threads": "0 1"}, {"rank": 1, "host": "n1", "threads": "1 3"}, {"rank": "x"}, 7]
    found = recorded.diagnose(measurement(provenance={"facts": {"ranks": 2, "places": rows}}), [])
    assert found is not None and [(one.kind, one.ranks) for one in found.symptoms] == [("shared-cpu", (0, 1))]
    assert any("cores of n1" in gap.what for gap in found.unknown)
    assert recorded.diagnose(measurement(provenance={"facts": {"threads": 2}}), [HOST]) is None
    assert recorded.diagnose(measurement(), [HOST]) is None


def latency(cpu_node: int, where: str, *seconds: float, level: str = "memory") -> Case:
    params = {"cpu_node": cpu_node, "placement": where, "level": level}
    return Case(kernel="load", params=params, work={"loads": 100.0}, seconds=seconds)


def test_a_distance_stands_beside_the_latency_that_was_measured() -> None:
    cases = (
        latency(0, "local", 1e-5, 1.01e-5, 0.99e-5),
        latency(0, "node:1", 1.4e-5, 1.42e-5, 1.38e-5),
        latency(0, "node:1", 1e-9, level="l1"),
        latency(1, "node:0", 1.4e-5),
    )
    own, far, alone = node_latency.pairs([measurement("latency", cases=cases)], [HOST])
    assert (own.cpu_node, own.memory_node, own.ratio, own.distance) == (0, 0, None, 10)
    assert far.distance == 16 and far.ratio == pytest.approx(1.4)
    assert far.low is not None and far.high is not None
    assert far.low == pytest.approx(1.38 / 1.01) and far.high == pytest.approx(1.42 / 0.99)
    assert "distance 16 reads 60 % more" in node_latency.words(far) and "measured 40 % more" in node_latency.words(far)
    assert alone.ratio is None and "was not measured" in node_latency.words(alone)
    (unknown, *_) = node_latency.pairs([measurement("latency", cases=cases[1:2])], [])
    assert unknown.distance is None and "states no distance" in node_latency.words(unknown)
