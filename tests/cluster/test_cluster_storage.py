"""Storage over FUSE, from two hosts of a real Slurm: what one writes the other reads, and a mount that hangs or goes away
ends its run with one error, and no other."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from shakedown.hosts import process
from shakedown.records import Measurement
from shakedown.rehearsal_cluster import RehearsalCluster
from shakedown.results.run_directory import RunDirectory
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.needs("bindfs")]

#: Two hosts in one job, and afterwards a run that wants nothing of the storage.
CAMPAIGN = """
name = "fuse"
title = "One FUSE file system of two hosts"

[[run]]
workload = "storage"
params = {{ directory = "{place}", {params} }}
nodes = "all"
limit = "{limit}"

[[run]]
workload = "empty"
params = {{ tag = 1 }}
nodes = "each"
"""
HOSTS = ("node1", "node2")


class Mount(NamedTuple):
    """One folder behind a FUSE file system, which each of two hosts has mounted for itself."""

    lab: RehearsalCluster
    place: Path
    behind: Path

    def servers(self) -> list[int]:
        """The processes that answer for it."""
        words = f"bindfs\0{self.behind}".encode()
        return [pid for pid in process.pids() if words in process.facts_of(pid, "cmdline")]

    def signal(self, number: int) -> None:
        for pid in self.servers():
            with contextlib.suppress(ProcessLookupError):  # it ends by itself, too, once it is unmounted
                os.kill(pid, number)

    def run(self, params: str, limit: str = "2 min") -> subprocess.Popen[str]:
        file, path = self.lab.shared / "fuse.toml", self.lab.shared / "fuse-run"
        file.write_text(CAMPAIGN.format(place=self.place, params=params, limit=limit))
        words = (sys.executable, "-m", "shakedown", "run", file, "--no-report", "--on", "slurm", "--nodes", 2)
        argv = self.lab.argv([*map(str, words), "--directory", str(path)])
        return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def results(self) -> dict[tuple[str, str], Measurement]:
        found = RunDirectory.open(self.lab.shared / "fuse-run").load().measurements
        return {(one.workload, one.host): one for one in found}

    def begun(self) -> bool:
        """Whether the program has written something."""
        return any(one.stat().st_size for one in self.behind.glob("shakedown-*/data*"))


@pytest.fixture
def mount(lab: RehearsalCluster) -> Iterator[Mount]:
    if lab.description.layout != "root":
        pytest.skip("needs root: sudo make test")
    found = Mount(lab, lab.shared / "fuse", lab.shared / "behind")
    try:
        for folder in (found.place, found.behind):
            folder.mkdir(mode=0o777)
            folder.chmod(0o777)
        for node in HOSTS:
            done = lab.run(["bindfs", str(found.behind), str(found.place)], node=node)
            if not done.ok:
                pytest.skip(f"no FUSE file system can be mounted here: {done.err.strip()}")
        yield found
    finally:
        found.signal(signal.SIGCONT)
        for node in HOSTS:
            lab.run(["umount", "--lazy", str(found.place)], node=node)
        found.signal(signal.SIGKILL)
        for name in ("fuse", "behind", "fuse-run"):
            subprocess.run(["rm", "-rf", str(lab.shared / name)], check=False)


def ended(asked: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = asked.communicate(timeout=600)
    return asked.returncode, err


def test_what_one_host_writes_through_fuse_the_other_reads(mount: Mount) -> None:
    words = 'size = 1048576, blocks = "65536", seconds = 0, files = 50, small_bytes = 100, cache = "dropped"'
    code, err = ended(mount.run(words))
    found = mount.results()[("storage", "node[1-2]")]
    assert code == 0 and found.state == "ok", (err, found.reason)
    facts = found.provenance["facts"]
    assert set(facts["hosts"]) == set(HOSTS) and facts["type"].startswith("fuse")
    over_time = facts["over_time read block=65536 threads=1"]
    assert {one["host"] for one in over_time["slowest"]} == set(HOSTS) and sum(over_time["bytes"]) == 2 << 20
    cases = {case.kernel: case for case in found.cases}
    assert {"write", "rewrite", "read", "create", "stat", "read-small", "rename", "unlink", "mkdir"} <= set(cases)
    assert all(case.residual is not None and case.residual.passed for case in found.cases)
    assert cases["stat"].params["whose"] == "another's"
    assert "storage-cache-not-known" in {one.code for one in found.notices}, "nothing counts what FUSE moves"
    assert list(mount.behind.iterdir()) == []


def test_storage_that_hangs_costs_its_own_run_alone(mount: Mount) -> None:
    asked = mount.run(f'size = {1 << 31}, kernels = "write", cache = "dropped"', limit="20 s")
    until(mount.begun, every_s=0.02)
    mount.signal(signal.SIGSTOP)
    code, err = ended(asked)
    found = mount.results()
    hung = found[("storage", "node[1-2]")]
    assert code == 3 and hung.state == "timeout", (err, hung.reason)
    assert "limit of 20 s" in hung.reason and err.count("limit of 20 s") == 1, err
    assert all(found[("empty", host)].state == "ok" for host in HOSTS), "the rest went on"


def test_storage_that_goes_away_is_one_error_and_what_was_measured_stays(mount: Mount) -> None:
    asked = mount.run(f'size = 1048576, blocks = "65536", kernels = "write,metadata", files = {300_000}')
    until(lambda: any(mount.behind.glob("shakedown-*/files.*/*")), every_s=0.02)
    time.sleep(0.2)
    mount.signal(signal.SIGKILL)
    code, err = ended(asked)
    found = mount.results()
    gone = found[("storage", "node[1-2]")]
    assert code == 3 and gone.state == "unavailable", (err, gone.reason)
    assert "Transport endpoint is not connected" in gone.reason and "next:" in gone.reason
    assert [case.kernel for case in gone.cases] == ["write"], "what was measured before is kept"
    assert all(found[("empty", host)].state == "ok" for host in HOSTS)
