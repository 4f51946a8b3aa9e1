"""The latency of loads: sizes from the caches that a host has, pairs of NUMA nodes, refusals and the command line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, NumaNode, Params
from shakedown.workloads import check_params, latency
from support.machines import machine


def resolve(given: Params, on: Machine) -> tuple[Params, ...]:
    return latency.WORKLOAD.resolve(check_params(latency.WORKLOAD, given), on)


@pytest.fixture
def two_nodes() -> Machine:
    one = machine(4)
    nodes = tuple(NumaNode(id=i, cpus=(2 * i, 2 * i + 1), memory_bytes=2**33) for i in range(2))
    memory = (*nodes, NumaNode(id=7, cpus=(), memory_bytes=2**33))
    return msgspec.structs.replace(one, hosts=(msgspec.structs.replace(one.hosts[0], numa=memory),))


def test_levels_are_half_of_each_cache_and_then_memory() -> None:
    (run,) = resolve({}, machine(4))
    sizes = [int(size) for size in str(run["sizes"]).split(",")]
    caches = {c.level: c.size_bytes for c in machine(4).hosts[0].cpu.caches if c.kind != "instruction"}
    assert sizes[:-1] == [caches[level] // 2 for level in sorted(caches)] and sizes[-1] >= 2 * caches[max(caches)]
    (sweep,) = resolve({"sizes": "sweep"}, machine(4))
    doubled = [int(size) for size in str(sweep["sizes"]).split(",")]
    assert doubled[:2] == [2**14, 2**15] and doubled[-1] == sizes[-1] and doubled == sorted(doubled)
    assert resolve({"sizes": "32 KiB, 1 MiB,32768"}, machine(4))[0]["sizes"] == "32768,1048576"


@pytest.mark.parametrize("sizes", ["", "64", "1 EiB", "much", "-1"])
def test_what_is_not_a_size_is_refused(sizes: str) -> None:
    with pytest.raises(BadInput, match=r"latency\.sizes"):
        resolve({"sizes": sizes}, machine(4))


def test_all_nodes_are_every_pair_of_a_cpu_and_a_memory(two_nodes: Machine) -> None:
    runs = resolve({"node": "all"}, two_nodes)
    pairs = [(run["cpu"], run["node"]) for run in runs]
    assert pairs == [(0, 0), (0, 1), (0, 7), (2, 0), (2, 1), (2, 7)]
    assert [run["cpu"] for run in resolve({"node": "all", "cpu": 3}, two_nodes)] == [3, 3, 3]
    assert resolve({"node": 7}, two_nodes)[0]["node"] == 7
    assert latency.WORKLOAD.label is not None and latency.WORKLOAD.label(runs[-1]).endswith("CPU 2, node 7")


def test_a_node_and_a_cpu_that_are_not_there_are_refused(two_nodes: Machine) -> None:
    with pytest.raises(Unavailable, match="no NUMA node 3"):
        resolve({"node": 3}, two_nodes)
    with pytest.raises(BadInput, match="may not use"):
        resolve({"cpu": 99}, two_nodes)


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, two_nodes: Machine) -> None:
    (tmp_path / "latency").write_text("#!/bin/sh\n")
    (tmp_path / "latency").chmod(0o755)
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    (run,) = resolve({"sizes": "4096"}, two_nodes)
    argv = latency.WORKLOAD.command(run, two_nodes.hosts[0]).argv
    assert argv[:4] == (str(tmp_path / "latency"), "--sizes", "4096", "--pages")
    assert "--cpu" not in argv and "--node" not in argv
    remote = latency.WORKLOAD.command({**run, "cpu": 2, "node": 1}, two_nodes.hosts[0]).argv
    assert remote[3:7] == ("--cpu", "2", "--node", "1")
    assert latency.WORKLOAD.estimate_s({**run, "seconds": 10}, two_nodes.hosts[0]) > 10
