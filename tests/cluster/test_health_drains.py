"""Draining nodes of the real Slurm: on k of n, never what is somebody else's, given back only when asked; and called by
slurmd itself (HealthCheckProgram), which gives no environment."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shakedown
from shakedown import rehearsal_cluster
from shakedown.operate.health import wrapper
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.needs("root")]
SOURCE = str(Path(shakedown.__file__).parent.parent)
# The kernel's log is this machine's: other tests break file systems on its loop devices meanwhile.
ILL = """schema = 1
[[hosts]]
skip = ["clock", "processes", "load", "kernellog"]
[[hosts]]
match = "{}"
[hosts.mounts]
mounts = [{{ path = "/panfs" }}]
"""
WELL = """schema = 1
[[hosts]]
skip = ["clock", "processes", "load", "kernellog", "thermal", "mce", "mounts", "memory"]
"""


class Site:
    """A cluster with a plan and a folder of states."""

    def __init__(self, lab: rehearsal_cluster.RehearsalCluster, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.plan = folder / "health.toml"
        self.state = folder / "state"
        self.state.mkdir(mode=0o755)

    def words(self, *more: str) -> list[str]:
        return ["--plan", str(self.plan), "--state", str(self.state), "--drain", "slurm", *more]

    def call(self, node: str, *more: str) -> dict[str, Any]:
        words = [
            sys.executable,
            "-m",
            "shakedown.operate.health",
            *self.words("--json", "--node", node, "--host", node),
        ]
        done = self.lab.run([*words, *more], node, env={"PYTHONPATH": SOURCE})
        assert done.out, done.err
        found: dict[str, Any] = json.loads(done.out)
        return found

    def drained(self, report: dict[str, Any]) -> str:
        (one,) = (found["what"] for found in report["findings"] if found["check"] == "drain")
        return str(one)

    def now(self, node: str) -> tuple[str, str]:
        state, reason = self.lab.slurm_nodes()[node]
        return state, reason


@pytest.fixture
def site(lab: rehearsal_cluster.RehearsalCluster) -> Iterator[Site]:
    folder = lab.directory / f"health-{time.time_ns()}"  # every node sees it
    folder.mkdir(mode=0o755)
    yield Site(lab, folder)


def test_a_node_is_drained_on_the_second_call_and_given_back_only_when_asked(site: Site) -> None:
    site.plan.write_text(ILL.format("node2"))
    assert "nothing that is confirmed" in site.drained(site.call("node2"))
    assert site.now("node2")[0] == "idle"
    assert "was drained: shakedown: mounts /panfs" in site.drained(site.call("node2"))
    until(lambda: site.now("node2") == ("drained", "shakedown: mounts /panfs"))
    assert "by us already" in site.drained(site.call("node2"))
    for _ in range(3):
        site.call("node1")
    assert site.now("node1")[0] == "idle"  # the plan asks it for no such mount

    site.plan.write_text(WELL)
    for _ in range(3):
        assert "resumed with --resume only" in site.drained(site.call("node2"))
    assert site.now("node2")[0] == "drained"
    assert "was resumed" in site.drained(site.call("node2", "--resume"))
    until(lambda: site.now("node2")[0] == "idle")
    assert "nothing that is confirmed" in site.drained(site.call("node2", "--resume"))


@pytest.mark.parametrize("reason", ["Jan: riser", "NHC: check_fs_mount", "shakedown: of somebody's own hand"])
def test_a_node_that_others_have_drained_stays_theirs(site: Site, reason: str) -> None:
    assert site.lab.run(["scontrol", "update", "NodeName=node3", "State=DRAIN", f"Reason={reason}"]).ok
    until(lambda: site.now("node3") == ("drained", reason))
    site.plan.write_text(ILL.format("node3"))
    for _ in range(3):
        assert "not by us" in site.drained(site.call("node3", "--resume"))
    site.plan.write_text(WELL)
    for _ in range(3):
        assert "not by us" in site.drained(site.call("node3", "--resume"))
    assert site.now("node3") == ("drained", reason)


def test_a_drain_that_a_person_has_taken_over_is_not_given_back(site: Site) -> None:
    site.plan.write_text(ILL.format("node4"))
    site.call("node4")
    site.call("node4")
    until(lambda: site.now("node4")[1] == "shakedown: mounts /panfs")
    theirs = "shakedown: mounts /panfs // Jan is at it"
    assert site.lab.run(["scontrol", "update", "NodeName=node4", "State=DRAIN", f"Reason={theirs}"]).ok
    until(lambda: site.now("node4")[1] == theirs)
    site.plan.write_text(WELL)
    for _ in range(4):
        site.call("node4", "--resume")
    assert site.now("node4") == ("drained", theirs)


def test_an_engine_that_does_not_answer_drains_nothing_and_is_told(site: Site) -> None:
    site.plan.write_text(ILL.format("node2"))
    site.call("node2")
    site.lab.daemon("slurmctld", "kill")
    try:
        report = site.call("node2")
        assert "the engine knows no such node" in site.drained(report)
    finally:
        site.lab.daemon("slurmctld", "start")
    until(lambda: site.now("node2")[0] == "idle")
    assert "was drained" in site.drained(site.call("node2"))


def test_slurmd_calls_the_wrapper_and_the_node_is_drained(site: Site) -> None:
    if not site.lab.namespaced:
        pytest.skip("this machine allows no namespaces: the nodes share its name, and so a state")
    if why := wrapper.writable(sys.executable) or wrapper.writable(SOURCE):
        pytest.skip(f"the wrapper is not made here: {why}")
    site.plan.write_text(ILL.format("node2"))
    program = site.lab.directory / "bin" / "healthcheck"
    before = program.read_bytes(), program.stat().st_mode
    text = wrapper.script(site.words(), str(site.lab.directory / "etc" / "slurm.conf"))
    try:
        _replace(program, text.encode(), 0o755)
        until(lambda: site.now("node2") == ("drained", "shakedown: mounts /panfs"))
        assert {site.now(node)[0] for node in ("node1", "node3", "node4")} == {"idle"}
        until(lambda: {file.stem for file in site.state.glob("*.json")} >= {"node1", "node2", "node3", "node4"})
    finally:
        _replace(program, *before)


def _replace(path: Path, data: bytes, mode: int) -> None:
    """As a whole, since slurmd may start it at any time."""
    other = path.with_name(".healthcheck.new")
    other.write_bytes(data)
    other.chmod(mode)
    os.replace(other, path)
