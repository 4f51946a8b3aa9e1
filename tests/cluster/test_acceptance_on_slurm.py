"""An acceptance on a real Slurm: one job for all that a plan measures, and a drained node is seen."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import shakedown
from shakedown.hosts.access import Result
from shakedown.rehearsal_cluster import RehearsalCluster

SOURCE = Path(shakedown.__file__).resolve().parent.parent

pytestmark = [pytest.mark.system, pytest.mark.slow]

ON_SLURM = """
name = "lab"
title = "Lab"
[[requirement]]
id = "products"
clause = "1"
text = "Products on every node."
[[requirement]]
id = "network"
clause = "2"
text = "Every pair of nodes."
[[requirement]]
id = "nodes"
clause = "3"
text = "No node is drained."
[[requirement]]
id = "jobs"
clause = "4"
text = "Jobs start."
[[test]]
id = "batch"
requirements = ["jobs"]
kind = "run"
workload = "batch"
outside = true
params = { kinds = "submit,fail", samples = 1, jobs = 2 }
[[test.limit]]
metric = "batch.latency"
at_most = "60 s"
[[test]]
id = "gemm"
requirements = ["products"]
kind = "run"
workload = "gemm"
params = { sizes = "512", threads = "1", precision = "d", samples = 3, library = "auto" }
nodes = "each"
[[test.limit]]
metric = "gemm.dgemm.rate"
at_least = 0.001
of = "fleet median"
[[test]]
id = "pairs"
requirements = ["network"]
kind = "run"
workload = "pingpong"
params = { ranks = "hosts", sizes = "8", kernels = "latency", pairs = "all", rounds = "tournament", samples = 5 }
nodes = "all"
[[test.limit]]
metric = "pingpong.latency"
at_most = "10 s"
[[test]]
id = "no-node-drained"
requirements = ["nodes"]
kind = "command"
command = ["sinfo", "--noheader", "--Node", "--format=%N %T"]
expect = ['''^node4 ''']
refuse = ['''(?i)\\s(down|drain)''']
"""


def test_an_acceptance_on_a_real_slurm_is_one_job_and_sees_a_drained_node(lab: RehearsalCluster) -> None:
    def accept(*words: str | Path) -> Result:
        argv = [sys.executable, "-m", "shakedown", "accept", *map(str, words)]
        return lab.run(argv, env={"PYTHONPATH": str(SOURCE), "SHAKEDOWN_LAUNCHER": "mpirun"}, limit_s=900)

    (lab.shared / "plan.toml").write_text(ON_SLURM)
    root = lab.shared / "A"
    assert accept("begin", lab.shared / "plan.toml", "--directory", root, "--system", "RehearsalCluster").code == 0
    ran = accept("run", root, "--on", "slurm", "--nodes", "4")
    assert ran.code == 0, ran.err
    found = json.loads(accept("status", root, "--json").out)
    assert {one["id"]: one["state"] for one in found["requirements"]} == dict.fromkeys(
        ("products", "network", "nodes", "jobs"), "met"
    )
    tests = {one["id"]: one["attempts"][0] for one in found["tests"]}
    assert len(tests["gemm"]["points"]) == 4, "one for each node"
    assert len(tests["pairs"]["points"]) == 6, "one for each pair"
    assert len(list(root.glob("runs/1/jobs/*"))) == 1, "one job"
    assert tests["batch"]["state"] == "met" and not (root / "runs/2/jobs").exists(), "its jobs beside no job of ours"
    assert accept("verify", root).code == 0
    lab.run(["scontrol", "update", "nodename=node2", "state=drain", "reason=test"])
    again = ("--again", "--by", "Ann", "--reason", "a node was drained")
    assert accept("run", root, "--test", "no-node-drained", *again).code == 1
