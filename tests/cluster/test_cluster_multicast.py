"""Multicast, dual stack and the shared file system over the nodes of a real Slurm, whole and with faults put in."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shakedown.hosts.access import Result
from shakedown.records import Case, Measurement
from shakedown.rehearsal_cluster import RehearsalCluster
from shakedown.results.run_directory import RunDirectory

pytestmark = [pytest.mark.system, pytest.mark.slow]

NODES = ["node1", "node2", "node3", "node4"]
WHOLE = """
name = "whole"
title = "Multicast, dual stack and file system"

[[run]]
workload = "multicast"
params = { family = "ipv4,ipv6", kernels = "join,latency,rate", rate = 500.0, seconds = 0.2, samples = 2, echoes = 10 }
nodes = "all"

[[run]]
workload = "dualstack"
nodes = "all"

[[run]]
workload = "filesystem"
params = { kernels = "features,write,metadata", size = 4194304, files = 50, samples = 1 }
nodes = "all"
"""
LOSS = """
name = "loss"
title = "Multicast over a link that loses frames"

[[run]]
workload = "multicast"
params = { kernels = "rate", pattern = "one-to-many", sizes = "4", rate = 1000.0, seconds = 0.2, samples = 25, segments = 1 }
nodes = "all"
"""
DUAL = """
name = "dual"
title = "IPv4 and IPv6"

[[run]]
workload = "dualstack"
nodes = "all"
"""
DEAF = (
    DUAL
    + """
[[run]]
workload = "multicast"
params = { kernels = "rate", sizes = "4", rate = 500.0, seconds = 0.2, samples = 1 }
nodes = "all"
"""
)


def run(lab: RehearsalCluster, name: str, text: str) -> tuple[Result, dict[str, Measurement]]:
    """A campaign in a job over four nodes: what the command said, and the measurement of each workload."""
    campaign = lab.shared / f"{name}.toml"
    campaign.write_text(text)
    path: Path = lab.shared / name
    words = ["run", str(campaign), "--on", "slurm", "--nodes", "4", "--directory", str(path), "--no-report"]
    said = lab.run([sys.executable, "-m", "shakedown", *words], limit_s=600)
    return said, {one.workload: one for one in RunDirectory.open(path).load().measurements}


def cases(found: Measurement, kernel: str) -> list[Case]:
    return [case for case in found.cases if case.kernel == kernel]


def test_what_works_over_four_nodes(lab: RehearsalCluster) -> None:
    said, found = run(lab, "whole", WHOLE)
    states = {name: (one.state, one.reason) for name, one in found.items()}
    assert said.code == 0 and {one[0] for one in states.values()} == {"ok"}, (states, said.err)

    multicast = found["multicast"]
    facts = multicast.provenance["facts"]
    assert facts["world_size"] == 4 and facts["hosts"] == NODES
    assert facts["order"] == [0, 1, 2, 3] and len({one["host"] for one in facts["ranks"]}) == 4
    assert {one["interface"] for network in facts["networks"] for one in network["by_rank"]} == {"eth0"}
    assert facts["ttl"] == 1
    for family in ("ipv4", "ipv6"):
        for ranks in (2, 4):
            for pattern in ("one-to-many", "many-to-many"):
                loss = [
                    case
                    for case in cases(multicast, "loss")
                    if (case.params["family"], case.params["ranks"], case.params["pattern"]) == (family, ranks, pattern)
                ]
                senders = 1 if pattern == "one-to-many" else ranks
                assert [case.work["expected"] for case in loss] == [2 * 100 * senders * (ranks - 1)]
                assert loss[0].work["loss_network"] == 0, "a switch without load loses nothing"
        latencies = [case for case in cases(multicast, "latency") if case.params["family"] == family]
        assert [len(case.seconds) for case in latencies] == [10, 30]

    dual = found["dualstack"]
    assert dual.provenance["facts"]["hosts"] == NODES
    checks = dual.provenance["facts"]["checks"]
    assert checks["tcp ipv6"]["passed"] == 12 and checks["multicast ipv6"]["passed"] == 4
    assert all(one["failed"] == 0 for one in checks.values())

    files = found["filesystem"]
    features = {one["feature"]: one["state"] for one in files.provenance["facts"]["features"]}
    assert features["shared-open"] == features["shared-exclusive"] == features["shared-listing"] == "holds"
    assert files.provenance["facts"]["hosts"] == NODES
    (write,) = cases(files, "write")
    assert write.work["bytes"] == 4 * 4194304 and write.params["ranks"] == 4


@contextlib.contextmanager
def filtered(lab: RehearsalCluster, node: str, rule: str) -> Iterator[None]:
    """A node whose kernel treats what comes in as the rule says. Skips where there is no nft."""
    rules = ("add table inet test", "add chain inet test in { type filter hook input priority 0 ; }")
    try:
        for words in (*rules, f"add rule inet test in {rule}"):
            done = lab.run(["nft", *words.split()], node=node)
            if not done.ok:
                pytest.skip(f"no nft in a node: {done.err}")
        yield
    finally:
        lab.run(["nft", "delete", "table", "inet", "test"], node=node)


def test_the_loss_of_a_node_is_measured_and_named(lab: RehearsalCluster) -> None:
    """Of multicast alone: over a link that loses every twentieth frame Open MPI 4.1.4 ends by a signal in MPI_Init."""
    lost = 0.05
    with filtered(lab, "node3", "ip daddr 224.0.0.0/4 udp length > 200 numgen random mod 100 < 5 drop"):
        said, found = run(lab, "loss", LOSS)
    multicast = found["multicast"]
    assert multicast.state == "ok", (multicast.reason, said.err)
    (loss,) = cases(multicast, "loss")
    packets = loss.work["expected"] / 3  # to each of three listeners
    assert packets == 5000
    # Five standard deviations of a binomial count; the others lose nothing.
    width = 5 * math.sqrt(lost * (1 - lost) / packets)
    assert abs(loss.work["loss_worst"] - lost) < width
    elsewhere = loss.work["lost"] - loss.work["loss_worst"] * packets
    assert elsewhere <= 0.01 * packets
    assert loss.work["loss_network"] == pytest.approx(loss.work["loss"] - loss.work["loss_receivers"])
    assert any(one.code == "multicast-lost" and "node3" in one.text for one in multicast.notices)


def test_a_node_that_multicast_does_not_reach_is_named(lab: RehearsalCluster) -> None:
    with filtered(lab, "node3", "ip daddr 224.0.0.0/4 drop"):
        said, found = run(lab, "deaf", DEAF)
    assert said.code != 0
    multicast, dual = found["multicast"], found["dualstack"]
    assert multicast.state == "wrong" and "nothing passed" in multicast.reason, multicast.reason
    deaf = [one.text for one in multicast.notices if one.code == "multicast-unheard"]
    assert deaf and all("node3 (rank 2)" in text for text in deaf)
    assert dual.state == "wrong" and "failed checks" in dual.reason, dual.reason
    assert [one.text.split(":")[0] for one in dual.notices] == ["multicast over ipv4 at node3"]
    assert dual.provenance["facts"]["checks"]["multicast ipv6"]["failed"] == 0


def test_a_node_without_ipv6_is_named(lab: RehearsalCluster) -> None:
    six = f"{lab.address('node2', 6)}/64"
    assert lab.run(["ip", "-6", "address", "del", six, "dev", "eth0"], node="node2").ok
    try:
        said, found = run(lab, "without", DUAL)
    finally:
        lab.run(["ip", "-6", "address", "add", six, "dev", "eth0", "nodad"], node="node2")
    dual = found["dualstack"]
    assert said.code != 0 and dual.state == "wrong" and "failed checks" in dual.reason, dual.reason
    failed = {one.text.split(":")[0] for one in dual.notices}
    assert "names over ipv6 at node1 to node2" in failed and "address over ipv6 at node2" in failed
    checks = dual.provenance["facts"]["checks"]
    assert not any(one["failed"] for name, one in checks.items() if name.endswith("ipv4"))
