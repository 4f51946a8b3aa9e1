"""Disks that are full: the one that all nodes share, and a node's own, where its slurmd keeps what it works with."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shakedown.hosts.access import Result
from shakedown.records import Measurement
from shakedown.rehearsal_cluster import RehearsalCluster
from shakedown.results.run_directory import RunDirectory
from shakedown.run.batch import submission
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.slow]

EACH = """
name = "each"
title = "On every host"

[[run]]
workload = "empty"
params = {{ seconds = {seconds} }}
sweep = {{ tag = [1, 2, 3] }}
{nodes}
"""


def command(lab: RehearsalCluster, *words: str | Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "shakedown", "run", "--no-report", *map(str, words))


def campaign(lab: RehearsalCluster, seconds: float, *, each: bool = True) -> Path:
    file = lab.shared / "full.toml"
    file.write_text(EACH.format(seconds=seconds, nodes='nodes = "each"' if each else ""))
    return file


def whole(path: Path) -> set[tuple[object, str]]:
    """Which tests have a good result on which hosts."""
    return {(one.params["tag"], one.host) for one in RunDirectory.open(path).load().measurements if one.state == "ok"}


@pytest.fixture
def small(lab: RehearsalCluster) -> Iterator[Path]:
    """A file system of 8 MiB that all hosts of the cluster share: one device, mounted on each."""
    if lab.description.layout != "root":
        pytest.skip("needs root: sudo make test")
    image, place = lab.directory / "small.img", lab.shared / "small"
    with image.open("wb") as file:
        file.truncate(8 << 20)
    place.mkdir()
    made = subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image], capture_output=True, check=False)
    held = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
    device = held.stdout.strip()
    try:
        if made.returncode or held.returncode:
            pytest.skip(f"no file system in a file here: {made.stderr!r} {held.stderr}")
        for node in (None, *lab.nodes):
            mounted = lab.run(["mount", "-o", "nodelalloc", device, str(place)], node=node)
            if not mounted.ok:
                pytest.skip(f"it cannot be mounted: {mounted.err}")
        yield place
    finally:
        for node in (None, *lab.nodes):
            lab.run(["umount", str(place)], node=node)
        if device:
            subprocess.run(["losetup", "--detach", device], check=False)
        image.unlink()
        place.rmdir()


def fill(lab: RehearsalCluster, place: Path, node: str | None = None) -> None:
    lab.run(["sh", "-c", f"cat /dev/zero > {place}/fill; dd if=/dev/zero of={place}/fill2 bs=1k; sync"], node=node)


def empty(lab: RehearsalCluster, place: Path) -> None:
    lab.run(["rm", "-f", f"{place}/fill", f"{place}/fill2"])


def cut_short(
    lab: RehearsalCluster, path: Path, *words: str | Path, node: str | None, env: dict[str, str] | None = None
) -> Result:
    """A run whose disk is full from the middle of its second test on. Without a home the nodes' own disks are left."""
    argv = lab.argv(command(lab, *words, "--directory", path), node=node, env={"HOME": "/nonexistent", **(env or {})})
    harness = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until(lambda: _seen(lab, path), every_s=0.05)
    time.sleep(1.0)
    fill(lab, path.parent)
    _, err = harness.communicate(timeout=600)
    return Result(harness.returncode, "", err)


def _seen(lab: RehearsalCluster, path: Path) -> list[str]:
    return lab.run(["sh", "-c", f"ls {path}/runs/*/1*/measurement.json"]).out.split()


def said_saved(lab: RehearsalCluster, text: str) -> list[Measurement]:
    """What was saved on the own disks of two nodes; each is named in the message with its host and its place there."""
    found = []
    for node in ("node1", "node2"):
        (file,) = (lab.directory / "nodes" / node / "scratch").glob("shakedown-rescue-*-measurement.json")
        assert f"{node}:{lab.directory}/scratch/{file.name}" in text, text
        found.append(msgspec.json.decode(file.read_bytes(), type=Measurement))
        assert (found[-1].host, found[-1].state) == (node, "ok")
    return found


def brought_in(lab: RehearsalCluster, path: Path, kept: list[Measurement], node: str | None = None) -> bool:
    """Whether these very results are in the run directory now, and nothing lies elsewhere any more."""
    ends = lab.run([sys.executable, "-c", _ENDS, str(path)], node=node).out.split()
    left = list((lab.directory / "nodes").glob("*/scratch/shakedown-rescue-*"))
    return not left and {str(one.end_ns) for one in kept} <= set(ends)


def test_a_shared_disk_that_fills_costs_no_measurement(lab: RehearsalCluster, small: Path) -> None:
    if not lab.settings.ssh:
        pytest.skip("needs sshd: sudo apt-get install openssh-server")
    path = small / "ssh"
    ran = cut_short(lab, path, campaign(lab, 6.0), "--hosts", "node[1-2]", node="node1")
    assert ran.code == 3 and "No space left on device" in ran.err and "Traceback" not in ran.err, ran.err
    assert "free some space, then go on" in ran.err and "mv " in ran.err
    kept = said_saved(lab, ran.err)
    empty(lab, small)
    again = lab.run(command(lab, "--resume", path), node="node1", limit_s=600)
    assert again.code == 0, again.err
    records = lab.run([sys.executable, "-c", _COUNT, str(path)], node="node1")
    assert records.out.strip() == "6 ok", records
    assert brought_in(lab, path, kept, node="node1")


#: These read a run directory where it is mounted.
_ENDS = (
    "import sys; from pathlib import Path; from shakedown.results.run_directory import RunDirectory\n"
    "print(*(one.end_ns for one in RunDirectory.open(Path(sys.argv[1])).load().measurements))"
)
_COUNT = (
    "import sys; from pathlib import Path; from shakedown.results.run_directory import RunDirectory\n"
    "found = RunDirectory.open(Path(sys.argv[1])).load().measurements\n"
    "print(len(found), *sorted({one.state for one in found}))"
)


def test_a_job_whose_shared_disk_fills_keeps_what_is_whole(lab: RehearsalCluster, small: Path) -> None:
    path = small / "slurm"
    ran = cut_short(lab, path, campaign(lab, 6.0), "--on", "slurm", "--hosts", "node[1-2]", node=None)
    assert ran.code == 3 and "No space left on device" in ran.err and "Traceback" not in ran.err, ran.err
    assert "free some space, then go on" in ran.err and f"shakedown run --resume {path}" in ran.err
    kept = said_saved(lab, ran.err)
    empty(lab, small)
    again = lab.run(command(lab, "--resume", path, "--on", "slurm", "--hosts", "node[1-2]"), limit_s=600)
    assert again.code == 0, again.err
    assert lab.run([sys.executable, "-c", _COUNT, str(path)]).out.strip() == "6 ok"
    assert brought_in(lab, path, kept)


def test_a_shared_home_takes_what_a_job_could_not_keep_and_any_node_brings_it_in(
    lab: RehearsalCluster, small: Path
) -> None:
    """A job's temporary folder may go with the job: where there is a home, the result lies there, and other nodes see it."""
    path, home = small / "home", lab.shared / "home-of-all"
    home.mkdir()
    words = (campaign(lab, 6.0, each=False), "--on", "slurm", "--hosts", "node1")
    ran = cut_short(lab, path, *words, node=None, env={"HOME": str(home)})
    assert ran.code == 3 and "Traceback" not in ran.err, ran.err
    (saved,) = home.glob("shakedown-rescue-*.json")
    assert f"node1:{saved}" in ran.err
    record = msgspec.json.decode(saved.read_bytes(), type=Measurement)
    empty(lab, small)
    again = lab.run(
        command(lab, "--resume", path, "--on", "slurm", "--hosts", "node2"), limit_s=600, env={"HOME": str(home)}
    )
    assert again.code == 0, again.err
    assert not saved.exists() and brought_in(lab, path, [record])


@pytest.fixture
def full_spool(lab: RehearsalCluster) -> Iterator[str]:
    """A node whose slurmd can write nothing more: its spool is 64 KiB, and full."""
    if lab.description.layout != "root":
        pytest.skip("needs root: sudo make test")
    spool = lab.directory / "spool" / "node2"
    mounted = lab.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(spool)], node="node2")
    assert mounted.ok, mounted.err
    fill(lab, spool, "node2")
    yield "node2"
    lab.run(["umount", str(spool)], node="node2")


def test_a_job_that_a_full_spool_refuses_says_so_and_costs_nothing(lab: RehearsalCluster, full_spool: str) -> None:
    """Its first node cannot keep the batch script: Slurm cancels the job, and drains the node with the reason."""
    path = lab.shared / "refused-by-spool"
    words = (campaign(lab, 0.2), "--on", "slurm", "--directory", path)
    ran = lab.run(command(lab, *words, "--hosts", full_spool), limit_s=600)
    assert ran.code == 3 and "before it had made its plan" in ran.err and full_spool in ran.err, ran.err
    (record,) = submission.ended(submission.folders(path)[0])
    assert record.state in ("cancelled", "failed", "node_fail") and record.hosts == (full_spool,)
    until(lambda: lab.slurm_nodes()[full_spool][1] == "SlurmdSpoolDir is full")
    assert lab.slurm_nodes()[full_spool][0].startswith("drain")
    again = lab.run(command(lab, "--resume", path, "--on", "slurm", "--hosts", "node3"), limit_s=600)
    assert again.code == 0, again.err
    assert whole(path) == {(tag, "node3") for tag in (1, 2, 3)}


def test_a_spool_that_is_full_beside_the_harness_loses_no_result(lab: RehearsalCluster, full_spool: str) -> None:
    """On another node than the first: steps need little of the spool, and what is measured does not lie there."""
    path = lab.shared / "beside-spool"
    words = (campaign(lab, 0.2), "--on", "slurm", "--directory", path, "--hosts", f"node1,{full_spool}")
    ran = lab.run(command(lab, *words), limit_s=600)
    found = RunDirectory.open(path).load().measurements if (path / "manifest.json").exists() else []
    good = {(one.params["tag"], one.host) for one in found if one.state == "ok"}
    if ran.code == 0:
        assert good == {(tag, node) for tag in (1, 2, 3) for node in ("node1", full_spool)}
    else:
        assert ran.code == 3 and full_spool in ran.err and {host for _, host in good} <= {"node1", full_spool}, ran.err
        assert all(full_spool in one.reason for one in found if one.state != "ok")
