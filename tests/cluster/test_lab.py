"""The rehearsal cluster, on the real Slurm and the real Grid Engine: what it can do, what can be broken, what it leaves."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from shakedown import cluster
from shakedown.cluster import fence, namespaces, needs
from shakedown.errors import BadInput, CannotMeasure, Unavailable

pytestmark = pytest.mark.system

COMMAND = (sys.executable, "-c", "from shakedown.cli.cluster import app; app()")
HELLO = r"""
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(int count, char** words) {
  int rank, size, sum;
  char host[256];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d on %s sum %d\n", rank, size, host, sum);
  if (count > 1 && rank == 0) sleep(2);
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  MPI_Finalize();
  clock_gettime(CLOCK_MONOTONIC, &b);
  if (count > 1) printf("rank %d left after %.3f s\n", rank, b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec));
}
"""


def until(holds: Callable[[], object], limit_s: float = 90.0) -> object:
    """What ``holds`` gives once it is true; fails where it never is."""
    deadline = time.monotonic() + limit_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(0.2)
    return found


def submit(lab: cluster.Lab, script: str, *options: str, user: str | None = None) -> str:
    done = lab.run(["sbatch", "--parsable", *options, "--wrap", script], user=user, cwd=lab.shared)
    assert done.ok, done.err
    return done.out.strip()


def rows(lab: cluster.Lab, job: str, fields: str) -> list[list[str]]:
    """What the accounting says of all attempts of a job."""
    out = lab.run(["sacct", "-D", "-X", "-P", "-n", "-j", job, "-o", fields]).out
    return [line.split("|") for line in out.splitlines()]


def ended(lab: cluster.Lab, job: str) -> str:
    return str(until(lambda: [state for (state,) in rows(lab, job, "state") if state not in ("PENDING", "RUNNING")])[0])


def ranks(text: str) -> list[tuple[int, int, str, int]]:
    found = re.findall(r"rank (\d+) of (\d+) on (\S+) sum (\d+)", text)
    return sorted((int(rank), int(size), host, int(total)) for rank, size, host, total in found)


def compiled(folder: Path) -> str:
    if shutil.which("mpicc") is None:
        pytest.skip("needs mpicc: sudo apt-get install libopenmpi-dev")
    (folder / "hello.c").write_text(HELLO)
    subprocess.run(["mpicc", "-o", folder / "hello", folder / "hello.c"], check=True)
    return str(folder / "hello")


# ------------------------------------------------------------------------------------------------------- what it can do


def test_a_node_has_a_name_and_addresses_of_its_own(lab: cluster.Lab) -> None:
    status = lab.status()
    assert status.up and all(status.daemons.values())
    assert [(one.name, one.state) for one in status.nodes] == [(f"node{i}", "idle") for i in (1, 2, 3, 4)]
    if not lab.namespaced:
        pytest.skip("this machine allows no namespaces: the nodes share its name and network")
    for node in lab.nodes:
        assert lab.run(["hostname"], node).out.strip() == node
        shown = lab.run(["ip", "-br", "addr", "show", "eth0"], node).out
        assert f"{lab.address(node)}/24" in shown and f"{lab.address(node, 6)}/64" in shown
        lab.run(["sh", "-c", "echo $HOSTNAME > /dev/shm/mine"], node, env={"HOSTNAME": node})
    assert lab.run(["cat", "/dev/shm/mine"], "node3").out == "node3\n"
    assert not Path("/dev/shm/mine").exists()
    for node in lab.nodes:
        lab.run(["rm", "/dev/shm/mine"], node)


def test_an_ordinary_user_submits_and_the_accounting_knows_it(lab: cluster.Lab) -> None:
    job = submit(lab, "srun hostname", "-N2", "-o", "out.%j", user=lab.user)
    assert ended(lab, job) == "COMPLETED"
    assert rows(lab, job, "user,account,nnodes,exitcode") == [[lab.user, "accept", "2", "0:0"]]
    if lab.namespaced:
        assert len(set((lab.shared / f"out.{job}").read_text().split())) == 2
    job = submit(lab, "exit 7")
    assert ended(lab, job) == "FAILED"
    assert rows(lab, job, "exitcode") == [["7:0"]]


def test_mpi_runs_across_the_nodes_under_srun_and_under_mpirun(lab: cluster.Lab) -> None:
    hello = compiled(lab.shared)
    if not lab.namespaced:
        pytest.skip("this machine allows no namespaces: the nodes share its name")
    wanted = [(rank, 4, 6) for rank in range(4)]
    done = lab.run(["srun", "--mpi=pmix", "-N4", "-n4", hello])
    found = ranks(done.out)
    assert [(rank, size, total) for rank, size, _, total in found] == wanted, done
    assert {host for _, _, host, _ in found} == set(lab.nodes)
    job = submit(lab, f"mpirun {hello}", "-N4", "-n4", "-o", "mpi.%j", user=lab.user)
    assert ended(lab, job) == "COMPLETED"
    found = ranks((lab.shared / f"mpi.{job}").read_text())
    assert [(rank, size, total) for rank, size, _, total in found] == wanted
    assert {host for _, _, host, _ in found} == set(lab.nodes)


def test_ranks_below_srun_wait_for_each_other(lab: cluster.Lab) -> None:
    """What Slurm 22.05.8 does without the cluster's mpi.conf: PMIx's barrier of several nodes holds back no one. Open MPI
    has one at the end of MPI_Init, where it then crashes now and then, and one in MPI_Finalize, where it can be seen."""
    hello = compiled(lab.shared)
    if not lab.namespaced:
        pytest.skip("this machine allows no namespaces: the nodes share its name")
    done = lab.run(["srun", "--mpi=pmix", "-N4", "-n4", hello, "late"])
    left = {int(rank): float(seconds) for rank, seconds in re.findall(r"rank (\d) left after ([\d.]+) s", done.out)}
    assert set(left) == {0, 1, 2, 3}, done
    assert all(left[rank] > 1.5 for rank in (1, 2, 3)), "rank 0 came two seconds late, and all waited for it"


def test_each_job_is_given_gpus_of_its_own(lab: cluster.Lab) -> None:
    show = ["srun", "-w", "node1", "--gres=gpu:2", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 3"]
    with subprocess.Popen(lab.argv(show), stdout=subprocess.PIPE, text=True) as first:
        until(lambda: lab.run(["squeue", "-h", "-t", "R"]).out)
        second = lab.run([*show[:-1], "echo $CUDA_VISIBLE_DEVICES"])
        assert first.stdout is not None
        given = first.stdout.read().split() + second.out.split()
    assert sorted(given) == ["0,1", "2,3"]
    refused = lab.run(["srun", "--gres=gpu:5", "true"])
    assert not refused.ok and "not available" in refused.err


def test_drain_and_resume(lab: cluster.Lab) -> None:
    lab.run(["scontrol", "update", "NodeName=node3", "State=DRAIN", "Reason=acceptance"])
    assert lab.slurm_nodes()["node3"] == ("drained", "acceptance")
    assert not lab.run(["srun", "-w", "node3", "--immediate=1", "true"]).ok
    lab.run(["scontrol", "update", "NodeName=node3", "State=RESUME"])
    until(lambda: lab.slurm_nodes()["node3"][0] == "idle")
    assert lab.run(["srun", "-w", "node3", "true"]).ok


def test_a_hook_that_fails_drains_the_node_until_it_passes(lab: cluster.Lab) -> None:
    hook = lab.hooks("healthcheck") / "10-disk"
    hook.write_text("#!/bin/sh\necho disk is full\nexit 1\n")
    hook.chmod(0o755)
    check = [str(lab.directory / "bin" / "healthcheck")]
    try:
        # as slurmd starts it: with the node's name and nothing else
        assert lab.run(["env", "-i", "SLURMD_NODENAME=node4", *check], "node4").ok
        assert lab.slurm_nodes()["node4"][1] == "HC: 10-disk: disk is full"
    finally:
        hook.unlink()
    lab.run(["env", "-i", "SLURMD_NODENAME=node4", *check], "node4")
    until(lambda: lab.slurm_nodes()["node4"][0] == "idle")
    lab.run(["scontrol", "update", "NodeName=node4", "State=DRAIN", "Reason=by a person"])
    lab.run(["env", "-i", "SLURMD_NODENAME=node4", *check], "node4")
    assert lab.slurm_nodes()["node4"] == ("drained", "by a person")


def test_prolog_and_epilog_run_on_the_node_of_a_job(lab: cluster.Lab) -> None:
    for kind in ("prolog", "epilog"):
        hook = lab.hooks(kind) / "note"  # type: ignore[arg-type]
        hook.write_text(f"#!/bin/sh\necho {kind} $SLURMD_NODENAME >> {lab.shared}/notes.$SLURM_JOB_ID\n")
        hook.chmod(0o755)
    try:
        job = submit(lab, "true", "-w", "node2")
        notes = lab.shared / f"notes.{job}"
        until(lambda: notes.exists() and "epilog" in notes.read_text())
        assert notes.read_text() == "prolog node2\nepilog node2\n"
    finally:
        for kind in ("prolog", "epilog"):
            (lab.hooks(kind) / "note").unlink()  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- the network

RECEIVE = """
import socket, struct, sys
group, port, family = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
one = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
one.bind(("", port))
if family == 4:
    one.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton("0.0.0.0"))
else:
    index = struct.pack("I", socket.if_nametoindex("eth0"))
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, group) + index)
print("joined", flush=True)
one.settimeout(20)
print(sorted(one.recv(100).decode() for _ in range(10)))
"""
SEND = """
import socket, sys
group, port, family = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
one = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
if family == 6:
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("eth0"))
for index in range(10):
    one.sendto(str(index).encode(), (group, port))
"""


def python(*words: str) -> list[str]:
    return [namespaces.python(), "-I", "-S", "-c", *words]


def needs_namespaces(lab: cluster.Lab) -> None:
    if not lab.namespaced:
        pytest.skip(f"the nodes share this machine's network: {lab.description.layout_reason}")


@pytest.mark.parametrize(("group", "family"), [("239.1.2.3", "4"), ("ff15::77", "6")])
def test_multicast_reaches_every_other_node(lab: cluster.Lab, group: str, family: str) -> None:
    needs_namespaces(lab)
    receive = python(RECEIVE, group, "7777", family)
    readers = [
        subprocess.Popen(lab.argv(receive, node=node), stdout=subprocess.PIPE, text=True) for node in lab.nodes[1:]
    ]
    for one in readers:
        assert one.stdout is not None and one.stdout.readline() == "joined\n"
    assert lab.run(python(SEND, group, "7777", family), "node1").ok
    assert [one.communicate()[0].strip() for one in readers] == [str([str(i) for i in range(10)])] * 3


ECHO = """
import socket
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
one.bind(("::", 7778))
print("ready", flush=True)
while True:
    data, sender = one.recvfrom(2000)
    one.sendto(data, sender)
"""
ROUND_TRIPS = """
import socket, sys, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.connect((sys.argv[1], 7778))
one.settimeout(float(sys.argv[3]))
times, lost = [], 0
for index in range(int(sys.argv[2])):
    begun = time.monotonic()
    one.send(str(index).encode())
    try:
        while one.recv(100) != str(index).encode():
            pass
        times.append(time.monotonic() - begun)
    except TimeoutError:
        lost += 1
print(min(times), lost)
"""
SINK = """
import socket, time
server = socket.create_server(("", 7779))
print("ready", flush=True)
one = server.accept()[0]
begun, total = time.monotonic(), 0
while data := one.recv(1 << 20):
    total += len(data)
print(8 * total / (time.monotonic() - begun))
"""
POUR = """
import socket, sys, time
one = socket.create_connection((sys.argv[1], 7779))
data, end = bytes(1 << 16), time.monotonic() + 2
while time.monotonic() < end:
    one.sendall(data)
"""


@pytest.fixture
def echo(lab: cluster.Lab) -> Iterator[None]:
    needs_namespaces(lab)
    child = subprocess.Popen(
        lab.argv(python(ECHO), node="node1"), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    yield
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def round_trips(lab: cluster.Lab, count: int, limit_s: float = 0.5) -> tuple[float, int]:
    """The shortest round trip from node2 to node1 in s, and how many took longer than the limit, or for ever."""
    words = python(ROUND_TRIPS, lab.address("node1"), str(count), str(limit_s))
    shortest_s, lost = lab.run(words, "node2", limit_s=90).out.split()
    return float(shortest_s), int(lost)


def test_a_link_has_the_delay_and_the_loss_that_it_was_given(lab: cluster.Lab, echo: None) -> None:
    quick_s, lost = round_trips(lab, 100)
    assert quick_s < 0.005 and lost == 0
    assert lab.slow("node2", delay_s=0.02) in ("netem", "tap")
    slow_s, _ = round_trips(lab, 10)
    assert 0.04 <= slow_s < 0.045 + quick_s  # the link is passed twice
    lab.slow("node2", loss=0.2)
    _, lost = round_trips(lab, 200, 0.05)
    assert 30 <= lost <= 120  # a round trip is lost with 0.36: 72 of 200 +- 6.8; the bounds are beyond six of these
    lab.mend("node2")
    again_s, lost = round_trips(lab, 100)
    assert again_s < 0.005 and lost == 0


@pytest.mark.parametrize("delay_s", [0.0, 0.001])
def test_a_link_has_the_rate_that_it_was_given(lab: cluster.Lab, delay_s: float) -> None:
    needs_namespaces(lab)
    lab.slow("node3", rate_bit_s=50e6, delay_s=delay_s)
    with subprocess.Popen(lab.argv(python(SINK), node="node1"), stdout=subprocess.PIPE, text=True) as sink:
        assert sink.stdout is not None and sink.stdout.readline() == "ready\n"
        assert lab.run(python(POUR, lab.address("node1")), "node3").ok
        rate = float(sink.stdout.read())
    assert 25e6 < rate < 51e6  # never above it; below by headers, and by what a busy machine takes away


def test_a_cut_link_carries_nothing_and_the_node_lives_on(lab: cluster.Lab, echo: None) -> None:
    lab.cut("node2")
    assert {one.name: one.link.cut for one in lab.status().nodes}["node2"]
    assert not lab.run(python(ROUND_TRIPS, lab.address("node1"), "1", "0.5"), "node2").ok
    assert lab.run(["hostname"], "node2").out == "node2\n"
    lab.mend("node2")
    assert round_trips(lab, 5)[1] < 5


# ------------------------------------------------------------------------------------------------------- faults


def test_a_dead_node_and_a_cut_one_fail_their_jobs_and_come_back(lab: cluster.Lab) -> None:
    requeued = submit(lab, "sleep 300", "-w", "node2", "--requeue")
    lost = submit(lab, "sleep 300", "-w", "node3", "--no-requeue")
    until(lambda: lab.run(["squeue", "-h", "-t", "R", "-o", "%A"]).out.split() == [requeued, lost] or None)
    lab.fail("node2")
    with pytest.raises(CannotMeasure, match="node2 is off"):
        lab.run(["true"], "node2")
    if lab.namespaced:
        lab.cut("node3")
    else:
        lab.fail("node3")
    until(lambda: "NODE_FAIL" in {state for (state,) in rows(lab, requeued, "state")})
    until(lambda: rows(lab, lost, "state") == [["NODE_FAIL"]])
    # the second attempt of the same id is seen beside the first, and only with -D
    until(lambda: [state for (state,) in rows(lab, requeued, "state")] == ["NODE_FAIL", "PENDING"])
    assert all(lab.slurm_nodes()[node][0].startswith("down") for node in ("node2", "node3"))
    lab.start("node2")
    lab.mend("node3") if lab.namespaced else lab.start("node3")
    until(lambda: all(lab.slurm_nodes()[node][0] in ("idle", "mixed", "allocated") for node in ("node2", "node3")))
    assert lab.run(["srun", "-N1", "-w", "node3", "true"]).ok


def test_a_job_outlives_the_controller(lab: cluster.Lab) -> None:
    job = submit(lab, "sleep 4; exit 5")
    until(lambda: lab.run(["squeue", "-h", "-t", "R"]).out)
    lab.daemon("slurmctld", "stop")  # one that is killed forgets what came in the last five seconds
    assert lab.status().daemons["slurmctld"] is None
    lab.daemon("slurmctld", "start")
    assert ended(lab, job) == "FAILED"
    assert rows(lab, job, "exitcode") == [["5:0"]]


def test_rows_of_the_accounting_arrive_when_it_is_back(lab: cluster.Lab) -> None:
    lab.daemon("slurmdbd", "stop")
    job = submit(lab, "true")
    until(lambda: not lab.run(["squeue", "-h"]).out)
    assert not lab.run(["sacct", "-n", "-j", job]).ok
    lab.daemon("slurmdbd", "start")
    assert ended(lab, job) == "COMPLETED"


def test_words_that_name_nothing_are_refused(lab: cluster.Lab) -> None:
    with pytest.raises(BadInput, match="node9"):
        lab.fail("node9")
    with pytest.raises(BadInput, match="which slurmd"):
        lab.daemon("slurmd", "stop")
    with pytest.raises(BadInput, match="slurmcltd"):
        lab.daemon("slurmcltd", "stop")
    with pytest.raises(BadInput, match="mallory"):
        lab.run(["true"], user="mallory")
    with pytest.raises(BadInput, match="up here already"):
        cluster.up(lab.directory)


# ------------------------------------------------------------------------------------------------------- the command


def test_exec_hands_the_exit_code_through(lab: cluster.Lab) -> None:
    where = ("--directory", str(lab.directory))
    done = subprocess.run(
        [*COMMAND, "exec", *where, "--node", "node2", "--", "sh", "-c", "hostname; exit 7"], capture_output=True
    )
    assert done.returncode == 7
    if lab.namespaced:
        assert done.stdout == b"node2\n"
    done = subprocess.run([*COMMAND, "status", *where, "--json"], capture_output=True)
    assert done.returncode == 0
    assert msgspec.json.decode(done.stdout, type=cluster.Status).nodes[3].state == "idle"


def test_exec_at_a_terminal_gives_a_shell_with_job_control(lab: cluster.Lab) -> None:
    needs_namespaces(lab)
    words = [*COMMAND, "exec", "--directory", str(lab.directory), "--node", "node2", "--", "bash", "--norc", "-i"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    os.write(terminal, b"sleep 100 & jobs; hostname; kill %1; exit 9\n")
    shown = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert b"no job control" not in shown
    assert re.search(rb"\[1\]\+ +Running +sleep 100", shown), shown
    assert b"\nnode2\r" in shown


# ------------------------------------------------------------------------------------------------------- up and down


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path where a cluster may lie; ended after the test, whatever it did."""
    parent = Path(tempfile.mkdtemp(prefix="sd-", dir="/tmp"))
    parent.chmod(0o755)
    yield parent / "lab"
    if (parent / "lab").exists():
        cluster.stopping.down(parent / "lab", hard=True, keep=False)
    shutil.rmtree(parent)


def traces(place: Path) -> dict[str, object]:
    """What a cluster there could leave behind on this machine."""
    groups = [str(path) for name in fence.HIERARCHIES for path in (fence.ROOT / name).glob(f"{fence.group(place)}*")]
    return {
        "processes": sorted(pid for pid in namespaces.pids() if str(place) in _command(pid)),
        "marked": namespaces.marked(place),
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(place) in line],
        "groups": groups,
        # others on this machine make such things as well: those count that bear a name of a host of ours
        "shm": sorted(name for name in os.listdir("/dev/shm") if re.search(r"\b(node\d|ctl\b)", name)),
        "links": sorted(name for name in os.listdir("/sys/class/net") if re.match(r"[vlab]node\d", name)),
        "files": place.exists(),
    }


def _command(pid: int) -> str:
    return " ".join(namespaces.words_of(pid))


def names_of(pids: list[int]) -> set[str]:
    return {namespaces.command_name(pid) for pid in pids}


def skip_without(*engines: cluster.settings.Engine) -> None:
    if absent := needs.missing(engines, network=True):
        pytest.skip(f"needs {' '.join(sorted(set(absent.values())))}")


def test_a_killed_cluster_comes_up_with_its_history_and_goes_without_a_trace(place: Path) -> None:
    skip_without("slurm")
    before = traces(place)
    with_fence = os.access(fence.ROOT / "freezer" / "tasks", os.W_OK) and os.geteuid() == 0
    lab = cluster.up(place, nodes=2, fence=with_fence)
    job = submit(lab, "true")
    assert ended(lab, job) == "COMPLETED"
    if with_fence:  # a device that was not granted cannot be opened: EPERM; one that was has no driver: ENXIO
        opened = "for i in 0 1; do head -c1 $0/dev/nvidia$i 2>&1; done"
        said = lab.run(["srun", "--gres=gpu:1", "sh", "-c", opened, str(place)]).out
        assert "nvidia0' for reading: No such device" in said and "nvidia1' for reading: Operation not perm" in said
    os.kill(lab.description.init_pid, signal.SIGKILL) if lab.namespaced else lab.down(hard=True, keep=True)
    until(lambda: not lab.status().up)
    with pytest.raises(BadInput, match="no cluster is up"):
        cluster.open_(place)
    lab = cluster.up(place)
    assert lab.settings.nodes == 2
    assert rows(lab, job, "state") == [["COMPLETED"]]
    lab.down(keep=True)
    assert namespaces.marked(place) == [] and place.exists()
    cluster.stopping.down(place, hard=False, keep=False)
    assert traces(place) == before


def test_ctrl_c_while_it_comes_up_leaves_nothing(place: Path) -> None:
    skip_without("slurm")
    child = subprocess.Popen([*COMMAND, "up", "--directory", str(place)], stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    until(lambda: (place / "mysql" / "sock").exists())
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode != 0
    assert traces(place) == {**traces(place), "processes": [], "marked": [], "mounts": [], "groups": [], "files": False}


def test_without_namespaces_several_daemons_on_one_host_do(place: Path) -> None:
    skip_without("slurm")
    lab = cluster.up(place, nodes=2, layout="plain")
    assert "plain was asked for" in lab.status().layout_reason
    assert len(lab.run(["srun", "-N2", "hostname"]).out.split()) == 2
    with pytest.raises(Unavailable, match="share this host's network"):
        lab.cut("node1")
    submit(lab, "srun sleep 300", "-w", "node2")
    until(lambda: {"slurmstepd", "sleep"} <= names_of(namespaces.marked(place)))
    lab.fail("node2")
    assert not {"slurmstepd", "sleep", "srun"} & names_of(namespaces.marked(place))
    assert [one.on for one in lab.status().nodes] == [True, False]
    lab.start("node2")
    lab.restore()
    submit(lab, "srun sleep 300", "-w", "node1")
    until(lambda: {"slurmstepd", "sleep"} <= names_of(namespaces.marked(place)))
    left = namespaces.marked(place)
    lab.down()
    assert not [pid for pid in left if namespaces.alive(pid)] and not place.exists()


def test_grid_engine_needs_hosts_of_their_own(place: Path) -> None:
    skip_without("gridengine")
    with pytest.raises(Unavailable, match="names and addresses of their own"):
        cluster.up(place, engines=("gridengine",), layout="plain")


def test_a_folder_that_holds_something_else_is_refused(place: Path) -> None:
    skip_without("slurm")
    place.mkdir()
    (place / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match="no cluster"):
        cluster.up(place)
    with pytest.raises(BadInput, match="no cluster"):
        cluster.stopping.down(place, hard=True, keep=False)
    (place / "thesis.tex").unlink()
    place.chmod(0o777)
    with pytest.raises(BadInput, match="yours alone"):
        cluster.up(place)


# ------------------------------------------------------------------------------------------------------- Grid Engine


def test_grid_engine_runs_a_batch_job_and_keeps_account(gridengine_lab: cluster.Lab) -> None:
    lab = gridengine_lab
    words = ["qsub", "-sync", "y", "-cwd", "-b", "y", "-shell", "n", "-o", "/dev/null", "-e", "/dev/null"]
    done = lab.run([*words, "sh", "-c", "exit 7"], user=lab.user, cwd=lab.shared)
    assert done.code == 7 and "exited with exit code 7" in done.out + done.err
    job = re.findall(r"job (\d+)", done.out)[0]
    told = ""

    def known() -> bool:
        nonlocal told
        told = lab.run(["qacct", "-j", job]).out
        return "exit_status" in told

    until(known)
    assert re.search(r"^exit_status +7", told, re.MULTILINE) and re.search(rf"^owner +{lab.user}", told, re.MULTILINE)


def test_grid_engine_runs_mpi_across_nodes_with_a_gpu_each(gridengine_lab: cluster.Lab) -> None:
    lab = gridengine_lab
    hello = compiled(lab.shared)
    words = ["qsub", "-sync", "y", "-cwd", "-b", "y", "-shell", "n", "-pe", "mpi", "4", "-l", "gpu=1", "-o", "ge.out"]
    # where mpirun ends before its helpers on the other nodes have, Grid Engine kills them and says that the job failed
    script = f"mpirun {hello} && sleep 2"
    done = lab.run([*words, "-j", "y", "sh", "-c", script], user=lab.user, cwd=lab.shared, limit_s=90)
    assert "exited with exit code 0" in done.out, done
    found = ranks((lab.shared / "ge.out").read_text())
    assert [(rank, size, total) for rank, size, _, total in found] == [(rank, 4, 6) for rank in range(4)]
    assert {host for _, _, host, _ in found} == set(lab.nodes)
    refused = lab.run(["qsub", "-w", "e", "-l", "gpu=5", "-b", "y", "true"], user=lab.user, cwd=lab.shared)
    assert not refused.ok


def test_grid_engine_sees_its_daemon_go_and_come(gridengine_lab: cluster.Lab) -> None:
    lab = gridengine_lab
    lab.daemon("sge_qmaster", "stop")
    assert not lab.run(["qstat"], limit_s=20).ok
    lab.daemon("sge_qmaster", "start")
    lab.fail("node2")
    lab.start("node2")
    assert lab.status().daemons["sge_execd@node2"]
    done = lab.run(["qsub", "-sync", "y", "-cwd", "-b", "y", "-l", "h=node2", "hostname"], cwd=lab.shared)
    assert "exited with exit code 0" in done.out
