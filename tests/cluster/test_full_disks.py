"""Disks that are full: the one that all nodes share, and a node's own, where its slurmd keeps what it works with."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shakedown import dispatch
from shakedown.cluster import Lab
from shakedown.host import Result
from shakedown.records import Measurement
from shakedown.store import RunDirectory

pytestmark = [pytest.mark.system, pytest.mark.slow]

EACH = """
name = "each"
title = "On every host"

[[run]]
workload = "empty"
params = {{ seconds = {seconds} }}
sweep = {{ tag = [1, 2, 3] }}
nodes = "each"
"""


def command(lab: Lab, *words: str | Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "shakedown", "run", "--no-report", *map(str, words))


def campaign(lab: Lab, seconds: float) -> Path:
    file = lab.shared / "full.toml"
    file.write_text(EACH.format(seconds=seconds))
    return file


def whole(path: Path) -> set[tuple[object, str]]:
    """Which tests have a good result on which hosts."""
    return {(one.params["tag"], one.host) for one in RunDirectory.open(path).load().measurements if one.state == "ok"}


@pytest.fixture
def small(lab: Lab) -> Iterator[Path]:
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


def fill(lab: Lab, place: Path, node: str | None = None) -> None:
    lab.run(["sh", "-c", f"cat /dev/zero > {place}/fill; dd if=/dev/zero of={place}/fill2 bs=1k; sync"], node=node)


def empty(lab: Lab, place: Path) -> None:
    lab.run(["rm", "-f", f"{place}/fill", f"{place}/fill2"])


def cut_short(lab: Lab, path: Path, *words: str | Path, node: str | None) -> Result:
    """A run whose disk is full from the middle of its second test on."""
    argv = lab.argv(command(lab, campaign(lab, 4.0), "--directory", path, *words), node=node)
    harness = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + 60
    while len(list(_seen(lab, path))) < 2 and time.monotonic() < until:
        time.sleep(0.2)
    time.sleep(1.5)
    fill(lab, path.parent)
    _, err = harness.communicate(timeout=120)
    return Result(harness.returncode, "", err)


def _seen(lab: Lab, path: Path) -> list[str]:
    return lab.run(["sh", "-c", f"ls {path}/runs/*/1@*/measurement.json"]).out.split()


def rescued(lab: Lab, node: str) -> list[Measurement]:
    """What was saved on a node's own disk."""
    found = lab.directory / "nodes" / node / "scratch"
    files = sorted(found.glob("shakedown-rescue-*-measurement.json"))
    records = [msgspec.json.decode(file.read_bytes(), type=Measurement) for file in files]
    for file in files:
        file.unlink()
    return records


def test_a_shared_disk_that_fills_costs_no_measurement(lab: Lab, small: Path) -> None:
    if not lab.settings.ssh:
        pytest.skip("needs sshd: sudo apt-get install openssh-server")
    path = small / "ssh"
    ran = cut_short(lab, path, "--hosts", "node[1-2]", node="node1")
    assert ran.code == 3 and "No space left on device" in ran.err and "Traceback" not in ran.err, ran.err
    assert "free some space, then go on with --resume" in ran.err
    for node in ("node1", "node2"):
        assert f"{node}: " in ran.err
        (saved,) = rescued(lab, node)
        assert (saved.host, saved.state) == (node, "ok") and f"shakedown-rescue-{saved.run}-1" in ran.err
    empty(lab, small)
    again = lab.run(command(lab, "--resume", path), node="node1", limit_s=90)
    assert again.code == 0, again.err
    records = lab.run([sys.executable, "-c", _COUNT, str(path)], node="node1")
    assert records.out.strip() == "6 ok", records


#: Reads a run directory where it is mounted.
_COUNT = (
    "import sys; from pathlib import Path; from shakedown.store import RunDirectory\n"
    "found = RunDirectory.open(Path(sys.argv[1])).load().measurements\n"
    "print(len(found), *sorted({one.state for one in found}))"
)


def test_a_job_whose_shared_disk_fills_keeps_what_is_whole(lab: Lab, small: Path) -> None:
    path = small / "slurm"
    ran = cut_short(lab, path, "--on", "slurm", "--hosts", "node[1-2]", node=None)
    assert ran.code == 3 and "No space left on device" in ran.err and "Traceback" not in ran.err, ran.err
    assert all([one.state for one in rescued(lab, node)] == ["ok"] for node in ("node1", "node2"))
    empty(lab, small)
    for _ in range(2):  # the first tells what became of the job before, which could not be written down
        again = lab.run(command(lab, "--resume", path, "--on", "slurm", "--hosts", "node[1-2]"), limit_s=90)
    assert again.code == 0, again.err
    assert lab.run([sys.executable, "-c", _COUNT, str(path)]).out.strip() == "6 ok"


@pytest.fixture
def full_spool(lab: Lab) -> Iterator[str]:
    """A node whose slurmd can write nothing more: its spool is 64 KiB, and full."""
    if lab.description.layout != "root":
        pytest.skip("needs root: sudo make test")
    spool = lab.directory / "spool" / "node2"
    mounted = lab.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(spool)], node="node2")
    assert mounted.ok, mounted.err
    fill(lab, spool, "node2")
    yield "node2"
    lab.run(["umount", str(spool)], node="node2")


def test_a_job_that_a_full_spool_refuses_says_so_and_costs_nothing(lab: Lab, full_spool: str) -> None:
    """Its first node cannot keep the batch script: Slurm cancels the job, and drains the node with the reason."""
    path = lab.shared / "refused-by-spool"
    words = (campaign(lab, 0.2), "--on", "slurm", "--directory", path)
    ran = lab.run(command(lab, *words, "--hosts", full_spool), limit_s=90)
    assert ran.code == 3 and "before it had made its plan" in ran.err and full_spool in ran.err, ran.err
    (record,) = dispatch.ended(dispatch.folders(path)[0])
    assert record.state in ("cancelled", "failed", "node_fail") and record.hosts == (full_spool,)
    drained = [lab.slurm_nodes()[full_spool]]
    until = time.monotonic() + 20
    while drained[-1][1] != "SlurmdSpoolDir is full" and time.monotonic() < until:
        drained.append(lab.slurm_nodes()[full_spool])
        time.sleep(0.2)
    assert drained[-1][0].startswith("drain") and drained[-1][1] == "SlurmdSpoolDir is full"
    again = lab.run(command(lab, "--resume", path, "--on", "slurm", "--hosts", "node3"), limit_s=90)
    assert again.code == 0, again.err
    assert whole(path) == {(tag, "node3") for tag in (1, 2, 3)}


def test_a_spool_that_is_full_beside_the_harness_loses_no_result(lab: Lab, full_spool: str) -> None:
    """On another node than the first: steps need little of the spool, and what is measured does not lie there."""
    path = lab.shared / "beside-spool"
    words = (campaign(lab, 0.2), "--on", "slurm", "--directory", path, "--hosts", f"node1,{full_spool}")
    ran = lab.run(command(lab, *words), limit_s=90)
    found = RunDirectory.open(path).load().measurements if (path / "manifest.json").exists() else []
    good = {(one.params["tag"], one.host) for one in found if one.state == "ok"}
    if ran.code == 0:
        assert good == {(tag, node) for tag in (1, 2, 3) for node in ("node1", full_spool)}
    else:
        assert ran.code == 3 and full_spool in ran.err and {host for _, host in good} <= {"node1", full_spool}, ran.err
        assert all(full_spool in one.reason for one in found if one.state != "ok")
