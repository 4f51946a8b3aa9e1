"""Campaigns over hosts that no batch engine gave: reached by real ssh, with all that can be wrong on the way."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shakedown.hosts.access import Result
from shakedown.records import Measurement
from shakedown.rehearsal_cluster import RehearsalCluster
from shakedown.results.run_directory import RunDirectory
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.slow]

EACH = """
name = "each"
title = "On every host"

[[run]]
workload = "empty"
params = {{ seconds = {seconds} }}
sweep = {{ tag = [{tags}] }}
nodes = "each"
"""
#: The harness, relays, and what they run; not what makes a node.
WORK = "[e]mpty [0-9]"
PROGRAMS = f"[-]m shakedown|multihost[.]agent|{WORK}"
OVER_ALL = """
[[run]]
workload = "pingpong"
params = { ranks = "hosts", sizes = "8", kernels = "latency", pairs = "all", rounds = "tournament", samples = 5 }
nodes = "all"
"""


@pytest.fixture
def hosts(lab: RehearsalCluster) -> RehearsalCluster:
    """The cluster, where its nodes have servers of ssh."""
    if not lab.settings.ssh:
        pytest.skip("needs sshd: sudo apt-get install openssh-server")
    return lab


@pytest.fixture
def login(hosts: RehearsalCluster) -> Iterator[Path]:
    """What bash reads on a node when root comes in by ssh: root has a home of the cluster's meanwhile."""
    home, passwd = hosts.directory / "home" / "root", hosts.directory / "etc" / "passwd"
    home.mkdir()
    before = passwd.read_text()
    passwd.write_text(re.sub(r"(?m)^(root:x:0:0:[^:]*):[^:]*:", rf"\1:{home}:", before))  # in place: it is mounted
    yield home / ".bashrc"
    passwd.write_text(before)
    shutil.rmtree(home)


def words(lab: RehearsalCluster, name: str, hosts: str, text: str) -> tuple[str, ...]:
    file = lab.shared / f"{name}.toml"
    file.write_text(text)
    start = (sys.executable, "-m", "shakedown", "run", str(file), "--hosts", hosts, "--no-report")
    return (*start, "--directory", str(lab.shared / name))


def shakedown(lab: RehearsalCluster, name: str, hosts: str, text: str, start_s: float = 120.0) -> Result:
    """`shakedown run --hosts` on node1, which is the first of them."""
    environment = {"SHAKEDOWN_START_S": str(start_s)}
    return lab.run(words(lab, name, hosts, text), node="node1", env=environment, limit_s=600)


def results(lab: RehearsalCluster, name: str) -> list[Measurement]:
    return RunDirectory.open(lab.shared / name).load().measurements


def relays(lab: RehearsalCluster, node: str) -> list[int]:
    """The relays on a node, oldest first, as the node counts processes."""
    return [int(word) for word in lab.run(["pgrep", "-f", "multihost[.]agent"], node=node).out.split()]


def test_relays_and_ranks_of_mpi_go_over_ssh(hosts: RehearsalCluster) -> None:
    ran = shakedown(hosts, "ssh", "node[1-3]", EACH.format(seconds=0.2, tags="1, 2") + OVER_ALL)
    assert ran.code == 0, ran.err
    found = results(hosts, "ssh")
    copies = {(one.host, one.params["tag"]) for one in found if one.workload == "empty" and one.state == "ok"}
    assert copies == {(node, tag) for node in ("node1", "node2", "node3") for tag in (1, 2)}
    (job,) = (one for one in found if one.workload == "pingpong")
    assert job.provenance["facts"]["world_size"] == 3
    assert {rank["host"] for rank in job.provenance["facts"]["ranks"]} == {"node1", "node2", "node3"}
    log = (hosts.directory / "log" / "sshd@node3.out").read_text()
    assert log.count("Accepted publickey for root") == 2, "one relay for all tests, one helper of mpirun"
    assert "Accepted" not in (hosts.directory / "log" / "sshd@node1.out").read_text(), "no ssh to oneself"
    assert not relays(hosts, "node2") and not relays(hosts, "node1")


def test_each_host_that_is_not_reached_is_named_with_what_to_do(hosts: RehearsalCluster, login: Path) -> None:
    """An unknown key, a host that is down, and one that hangs in its login: one error names all three."""
    known = hosts.directory / "etc" / "ssh" / "known_hosts"
    before = known.read_text()
    login.write_text('[ "$(hostname)" = node4 ] && sleep 600\n')
    try:
        node1 = next(line.split()[-1] for line in before.splitlines() if line.startswith("node1,"))
        known.write_text(re.sub(r"(?m)^(node2,\S+ \S+) .*$", rf"\1 {node1}", before))
        hosts.fail("node3")
        ran = shakedown(hosts, "unreached", "node[1-4]", EACH.format(seconds=0.1, tags="1"), start_s=20)
    finally:
        known.write_text(before)
    assert ran.code == 3 and "3 of 4 hosts do not answer" in ran.err, ran.err
    assert re.search(r"node2 its host key is not known here.*\n *next: ssh node2 once by hand", ran.err), ran.err
    assert re.search(r"node3 (is not reached by ssh|does not answer within 20 s)", ran.err), ran.err
    assert "node4 does not answer within 20 s" in ran.err
    assert not relays(hosts, "node1") and "--resume" not in ran.err
    # mended, the same directory is gone on with; nothing stands in the way
    login.unlink()
    hosts.start("node3")
    again = shakedown(hosts, "reached", "node[1-4]", EACH.format(seconds=0.1, tags="1"))
    assert again.code == 0 and len(results(hosts, "reached")) == 4, again.err


def test_a_key_that_is_not_taken_asks_no_question(hosts: RehearsalCluster) -> None:
    keys = hosts.directory / "etc" / "ssh" / "authorized_root"
    before = keys.read_text()
    keys.write_text("")
    try:
        ran = shakedown(hosts, "refused", "node[1-2]", EACH.format(seconds=0.1, tags="1"))
    finally:
        keys.write_text(before)
    assert ran.code == 3 and "node2 does not let this user in without a password" in ran.err, ran.err
    assert "Permission denied (publickey" in ran.err and "ssh-copy-id node2" in ran.err


def test_a_host_that_sees_other_disks_says_which(hosts: RehearsalCluster) -> None:
    """shakedown lies elsewhere on one host, and another does not see the run directory."""
    hidden = {"node2": str(Path(sys.executable).parent), "node3": str(hosts.shared)}
    for node, place in hidden.items():
        assert hosts.run(["mount", "-t", "tmpfs", "tmpfs", place], node=node).ok
    try:
        ran = shakedown(hosts, "elsewhere", "node[1-3]", EACH.format(seconds=0.1, tags="1"))
    finally:
        for node, place in hidden.items():
            hosts.run(["umount", place], node=node)
    assert ran.code == 3 and "2 of 3 hosts do not answer" in ran.err, ran.err
    assert "node2 has no shakedown where it lies here (env: " in ran.err, ran.err
    assert f"install it there under the same path, {sys.executable}" in ran.err
    assert f"node3 does not see {hosts.shared}/elsewhere" in ran.err and "file system that they share" in ran.err


def test_what_a_login_prints_disturbs_nothing(hosts: RehearsalCluster, login: Path) -> None:
    login.write_text(
        "echo 'Welcome to $(hostname)'; echo warning: quota >&2; module load x\nprintf 'no end of line> '\n"
        f"cd {hosts.shared}\n"
    )
    (hosts.shared / "msgspec.py").write_text("raise SystemExit('a file of the user in the way')\n")
    try:
        ran = shakedown(hosts, "noisy", "node[1-3]", EACH.format(seconds=0.2, tags="1") + OVER_ALL)
    finally:
        (hosts.shared / "msgspec.py").unlink()
    assert ran.code == 0, ran.err
    assert [one.state for one in results(hosts, "noisy")] == ["ok"] * 4


@pytest.mark.parametrize("where", ["ssh", "slurm"])
def test_a_relay_that_is_killed_costs_its_own_copy_alone(hosts: RehearsalCluster, where: str) -> None:
    name, text = f"killed-{where}", EACH.format(seconds=8.0, tags="1, 2")
    argv = words(hosts, name, "node[1-3]", text)
    if where == "slurm":
        argv = (*argv, "--on", "slurm")
    harness = subprocess.Popen(hosts.argv(argv, node="node1"), stderr=subprocess.PIPE, start_new_session=True)
    until(lambda: len(list((hosts.shared / name).glob("runs/*/1@*/job.json"))) >= 3, every_s=0.1)
    until(lambda: hosts.run(["pgrep", "-f", WORK], node="node2").out.split(), what="node2 works", every_s=0.1)
    oldest = relays(hosts, "node2")[0]
    begun = time.monotonic()
    assert hosts.run(["kill", "-9", str(oldest)], node="node2").ok
    _, err = harness.communicate(timeout=600)
    assert time.monotonic() - begun < 40, "its end was noticed, not waited for"
    assert harness.returncode == 3, err
    found = {(one.params["tag"], one.host): one for one in results(hosts, name)}
    states = {key: one.state for key, one in found.items()}
    assert states == {(tag, node): "ok" for tag in (1, 2) for node in ("node1", "node2", "node3")} | {
        (1, "node2"): "failed"
    }, "the next test has its relay again"
    assert "node2 left no result: its agent has ended" in found[1, "node2"].reason
    assert not hosts.run(["pgrep", "-f", PROGRAMS], node="node2").out.split()


def test_a_harness_that_is_killed_leaves_nothing_running(hosts: RehearsalCluster) -> None:
    argv = words(hosts, "orphans", "node[1-2]", EACH.format(seconds=600.0, tags="1"))
    harness = subprocess.Popen(hosts.argv(argv, node="node1"), stderr=subprocess.DEVNULL, start_new_session=True)
    until(lambda: len(list((hosts.shared / "orphans").glob("runs/*/1@*/job.json"))) >= 2, every_s=0.1)
    until(lambda: hosts.run(["pgrep", "-f", WORK], node="node2").out.split(), what="node2 works", every_s=0.1)
    assert relays(hosts, "node2")
    inside = hosts.run(["pgrep", "-o", "-f", "shakedown run"], node="node1").out.split()
    assert hosts.run(["kill", "-9", *inside], node="node1").ok
    harness.wait(300)

    def left() -> list[str]:
        return [
            word for node in ("node1", "node2") for word in hosts.run(["pgrep", "-f", PROGRAMS], node=node).out.split()
        ]

    until(lambda: not left())


def test_a_node_is_reached_by_its_users_with_what_the_cluster_sets(hosts: RehearsalCluster) -> None:
    told = hosts.run(["ssh", "node2", "echo $SLURM_CONF; whoami; hostname"], node="node1", user=hosts.user)
    assert told.out.split() == [str(hosts.directory / "etc" / "slurm.conf"), hosts.user, "node2"], told.err
    hosts.daemon("sshd@node2", "kill")
    assert hosts.run(["ssh", "node2", "true"], node="node1").code == 255
    assert hosts.status().daemons["sshd@node2"] is None
    hosts.daemon("sshd@node2", "start")
    assert hosts.run(["ssh", "node2", "true"], node="node1").ok
