"""The rehearsal cluster comes up, is entered and goes: what it refuses, what it leaves behind."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shakedown import rehearsal_cluster
from shakedown.errors import BadInput, Unavailable
from shakedown.hosts import process
from shakedown.rehearsal_cluster import fence, namespaces, needs
from support.labs import ended, needs_namespaces, rows, submit
from support.waiting import until

pytestmark = pytest.mark.system

COMMAND = (sys.executable, "-c", "from shakedown.cli.cluster import app; app()")


def test_exec_hands_the_exit_code_through(lab: rehearsal_cluster.RehearsalCluster) -> None:
    where = ("--directory", str(lab.directory))
    done = subprocess.run(
        [*COMMAND, "exec", *where, "--node", "node2", "--", "sh", "-c", "hostname; exit 7"], capture_output=True
    )
    assert done.returncode == 7
    if lab.namespaced:
        assert done.stdout == b"node2\n"
    done = subprocess.run([*COMMAND, "status", *where, "--json"], capture_output=True)
    assert done.returncode == 0
    assert msgspec.json.decode(done.stdout, type=rehearsal_cluster.Status).nodes[3].state == "idle"


def test_exec_at_a_terminal_gives_a_shell_with_job_control(lab: rehearsal_cluster.RehearsalCluster) -> None:
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


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path where a cluster may lie; ended after the test, whatever it did."""
    parent = Path(tempfile.mkdtemp(prefix="sd-", dir="/tmp"))
    parent.chmod(0o755)
    yield parent / "lab"
    if (parent / "lab").exists():
        rehearsal_cluster.stopping.down(parent / "lab", hard=True, keep=False)
    shutil.rmtree(parent)


def traces(place: Path) -> dict[str, object]:
    """What a cluster there could leave behind on this machine."""
    groups = [str(path) for name in fence.HIERARCHIES for path in (fence.ROOT / name).glob(f"{fence.group(place)}*")]
    return {
        "processes": sorted(pid for pid in process.pids() if str(place) in _command(pid)),
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


def skip_without(*engines: rehearsal_cluster.settings.Engine) -> None:
    if absent := needs.missing(engines, network=True):
        pytest.skip(f"needs {' '.join(sorted(set(absent.values())))}")


def test_a_killed_cluster_comes_up_with_its_history_and_goes_without_a_trace(place: Path) -> None:
    skip_without("slurm")
    before = traces(place)
    with_fence = os.access(fence.ROOT / "freezer" / "tasks", os.W_OK) and os.geteuid() == 0
    lab = rehearsal_cluster.up(place, nodes=2, fence=with_fence)
    job = submit(lab, "true")
    assert ended(lab, job) == "COMPLETED"
    if with_fence:  # a device that was not granted cannot be opened: EPERM; one that was has no driver: ENXIO
        opened = "for i in 0 1; do head -c1 $0/dev/nvidia$i 2>&1; done"
        said = lab.run(["srun", "--gres=gpu:1", "sh", "-c", opened, str(place)]).out
        assert "nvidia0' for reading: No such device" in said and "nvidia1' for reading: Operation not perm" in said
    os.kill(lab.description.init_pid, signal.SIGKILL) if lab.namespaced else lab.down(hard=True, keep=True)
    until(lambda: not lab.status().up)
    with pytest.raises(BadInput, match="no cluster is up"):
        rehearsal_cluster.open_(place)
    lab = rehearsal_cluster.up(place)
    assert lab.settings.nodes == 2
    assert rows(lab, job, "state") == [["COMPLETED"]]
    lab.down(keep=True)
    assert namespaces.marked(place) == [] and place.exists()
    rehearsal_cluster.stopping.down(place, hard=False, keep=False)
    assert traces(place) == before


def test_ctrl_c_while_it_comes_up_leaves_nothing(place: Path) -> None:
    skip_without("slurm")
    child = subprocess.Popen([*COMMAND, "up", "--directory", str(place)], stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    until(lambda: (place / "mysql" / "sock").exists())
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=300)
    assert child.returncode != 0
    assert traces(place) == {**traces(place), "processes": [], "marked": [], "mounts": [], "groups": [], "files": False}


def test_without_namespaces_several_daemons_on_one_host_do(place: Path) -> None:
    skip_without("slurm")
    lab = rehearsal_cluster.up(place, nodes=2, layout="plain")
    assert "plain was requested" in lab.status().layout_reason
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
        rehearsal_cluster.up(place, engines=("gridengine",), layout="plain")


def test_a_folder_that_holds_something_else_is_refused(place: Path) -> None:
    skip_without("slurm")
    place.mkdir()
    (place / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match="does not contain a cluster"):
        rehearsal_cluster.up(place)
    with pytest.raises(BadInput, match="no cluster"):
        rehearsal_cluster.stopping.down(place, hard=True, keep=False)
    (place / "thesis.tex").unlink()
    place.chmod(0o777)
    with pytest.raises(BadInput, match="yours alone"):
        rehearsal_cluster.up(place)
