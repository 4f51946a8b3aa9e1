"""How a host of the cluster is made from Linux namespaces, found again, and entered: words of ``unshare`` and ``nsenter``.

The controller's namespaces hold those of the nodes, so that the end of its process 1 is the end of everything. Nothing
is found by a file with a process id in it, which may lie: process 1 of a host is the one that runs ``init.py`` with the
cluster's directory and the host's name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..hosts import process
from ..hosts.access import LocalHost
from .settings import CONTROLLER, Layout

INIT = Path(__file__).parent / "init.py"
ENTER = Path(__file__).parent / "enter.py"
#: Where system programs lie that an ordinary user's PATH may leave out.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KINDS = ("--mount", "--net", "--uts", "--ipc", "--pid")
_USER = ("--user", "--map-current-user", "--keep-caps")


def python() -> str:
    """This interpreter, by a path that holds inside as well."""
    return os.path.realpath(sys.executable) if not os.access(sys.executable, os.X_OK) else sys.executable


def probe(layout: Layout) -> str:
    """Why namespaces of this layout cannot be made here; empty where they can. A bridge is tried in them as well."""
    words = ["unshare", *(_USER if layout == "user" else ()), *_KINDS, "--fork", "--kill-child", "--mount-proc"]
    done = LocalHost().run(
        [*words, "--propagation", "private", "ip", "link", "add", "br0", "type", "bridge"],
        env={"PATH": search_path()},
    )
    return "" if done.ok else (done.err.strip().splitlines() or ["unshare failed"])[-1]


def search_path() -> str:
    """PATH with the folders of system programs behind it."""
    return os.environ.get("PATH", "") + ":" + SYSTEM_PATH


def make(layout: Layout, directory: Path, host: str) -> tuple[str, ...]:
    """The words that make a host's namespaces and run its process 1."""
    user = _USER if layout == "user" and host == CONTROLLER else ()
    return (
        "unshare", *user, *_KINDS, "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
        python(), "-I", "-S", str(INIT), str(directory), host,
    )  # fmt: skip


def enter(layout: Layout, pid: int, *, only: Sequence[str] = (), administer: bool = False) -> tuple[str, ...]:
    """The words before a command that is to run in the namespaces of that process: all of them, or ``only`` some
    (``net``). An ordinary user's command may administer these namespaces only where this is asked for; root's always
    may."""
    if layout == "user":
        kinds = ",".join(only or ("mnt", "net", "uts", "ipc", "pid"))
        return (python(), "-I", "-S", str(ENTER), str(pid), kinds, str(int(administer)))
    options = [f"--{one}" for one in only] or list(_KINDS)
    return ("nsenter", "--target", str(pid), *options, "--")


def process_1(directory: Path, host: str) -> int:
    """The process id, as this host counts, of a host's process 1; 0 where it does not run."""
    wanted = [os.fsencode(one) for one in (INIT, directory, host)]
    for pid in process.pids():
        words = process.facts_of(pid, "cmdline").split(b"\0")
        if words[-4:-1] == wanted and words[0] != b"unshare" and process.innermost_id(pid) == 1:
            return pid
    return 0


def namespace(pid: int, kind: str = "pid") -> int:
    """The number of a process's namespace; 0 where it is gone or not ours to look at."""
    try:
        return os.stat(f"/proc/{pid}/ns/{kind}").st_ino
    except OSError:
        return 0


def command_name(pid: int) -> str:
    return process.facts_of(pid, "comm").decode("utf-8", "replace").strip()


def words_of(pid: int) -> list[str]:
    """The command line of a process."""
    return process.facts_of(pid, "cmdline").decode("utf-8", "replace").split("\0")[:-1]


def marked(directory: Path) -> list[int]:
    """The processes, this one apart, that belong to this cluster."""
    return [pid for pid in process.pids() if pid != os.getpid() and _belongs(pid, directory) and alive(pid)]


def _belongs(pid: int, directory: Path) -> bool:
    """Whether the environment says so; two daemons hide theirs. munged lets no one read it: its command line tells. A step
    daemon of Slurm's writes its title over it: the log that it holds open tells."""
    if os.fsencode(f"SHAKEDOWN_CLUSTER={directory}") in process.facts_of(pid, "environ").split(b"\0"):
        return True
    name = command_name(pid)
    if name == "munged":
        return f"--socket={directory}/munge/sock" in words_of(pid)
    return name == "slurmstepd" and any(path.startswith(f"{directory}/log/slurmd.") for path in open_files(pid))


def open_files(pid: int) -> list[str]:
    """The paths of the files that a process holds open, as far as we may see them."""
    found: list[str] = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}").removesuffix(" (deleted)"))
    except OSError:
        pass  # it has ended meanwhile, or is another user's
    return found


def variable(pid: int, name: str) -> str:
    """A variable of the environment that a process was started with; empty where it has none or does not show it."""
    for one in process.facts_of(pid, "environ").split(b"\0"):
        if one.startswith(name.encode() + b"="):
            return one.partition(b"=")[2].decode("utf-8", "replace")
    return ""


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    return process.group_alive(pid)


def environment(values: Mapping[str, str], folder: str) -> tuple[str, ...]:
    """The words that start a command in this folder with these and no other environment variables."""
    return ("env", "-i", f"--chdir={folder}", *(f"{name}={value}" for name, value in values.items()))
