"""The daemons of a cluster: what each is called and started with, where it runs, and how it is found and ended.

A daemon is found among the processes of this machine by its name and by where it runs (the process namespace of its host,
or the mark in its environment), not by a file that names a process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import BadInput, CannotMeasure, unknown
from ..hosts import process
from . import entering, files, namespaces, slurm, ssh
from .settings import CONTROLLER, Description, node_names

_PER_NODE = ("slurmd", "sge_execd", "sshd")
_CENTRAL = {"slurm": ("munged", "mariadbd", "slurmdbd", "slurmctld"), "gridengine": ("sge_qmaster",)}
_ON_NODES = {"slurm": "slurmd", "gridengine": "sge_execd"}


def names(description: Description) -> tuple[str, ...]:
    """All daemons in the order in which they start: ``slurmctld``, ``slurmd@node1`` ..."""
    central = [name for engine in description.settings.engines for name in _CENTRAL[engine]]
    spread = [
        f"{_ON_NODES[engine]}@{node}"
        for engine in description.settings.engines
        for node in node_names(description.settings.nodes)
    ]
    if description.settings.ssh:
        spread += [f"sshd@{node}" for node in node_names(description.settings.nodes)]
    return (*central, *spread)


def host_of(name: str) -> str:
    return name.partition("@")[2] or CONTROLLER


def check(name: str, description: Description) -> None:
    """Raise BadInput for a daemon that the cluster has not."""
    if name in _PER_NODE:
        raise BadInput(f"which {name}?", hint=f"{name}@node1 ... {name}@node{description.settings.nodes}")
    if name not in names(description):
        raise unknown("daemon", name, names(description))


def running(directory: Path, description: Description) -> dict[str, int]:
    """The daemons that run and their process ids, as this machine counts."""
    if description.layout == "plain":
        return _running_plain(directory, description)
    spaces: dict[int, str] = {}
    for host in (CONTROLLER, *node_names(description.settings.nodes)):
        if pid := entering.host_pid(directory, description, host):
            spaces[namespaces.namespace(pid)] = host
    found: dict[str, int] = {}
    known = {name.partition("@")[0] for name in names(description)}
    for pid in process.pids():
        name = namespaces.command_name(pid)  # the kernel keeps 15 bytes of it: all of these
        host = spaces.get(namespaces.namespace(pid), "") if name in known else ""
        if name == "sshd" and "[listener]" not in " ".join(namespaces.words_of(pid)):
            continue  # a session of somebody's
        if host and namespaces.alive(pid):
            found.setdefault(f"{name}@{host}" if name in _PER_NODE else name, pid)
    return found


def _running_plain(directory: Path, description: Description) -> dict[str, int]:
    found: dict[str, int] = {}
    for pid in namespaces.marked(directory):
        name = namespaces.command_name(pid)
        if name == "slurmd":
            words = namespaces.words_of(pid)
            name = f"slurmd@{words[words.index('-N') + 1]}" if "-N" in words[:-1] else ""
        if name in names(description):
            found.setdefault(name, pid)
    return found


def command(directory: Path, description: Description, name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """What starts a daemon of Slurm's, in the foreground, and what it needs in its environment."""
    etc = directory / "etc"
    if name == "munged":
        return (
            "munged", "--foreground", "--force", f"--key-file={etc}/munge.key", f"--socket={directory}/munge/sock",
            f"--pid-file={directory}/munge/pid", f"--log-file={directory}/log/munged.log",
            f"--seed-file={directory}/munge/seed", "--num-threads=4",
        ), {}  # fmt: skip
    if name == "mariadbd":
        return ("mariadbd", f"--defaults-file={etc}/my.cnf"), {}
    if name == "slurmdbd":
        # StorageHost=localhost leads to the socket that the client library was built with, unless this says otherwise.
        return ("slurmdbd", "-D"), {"MYSQL_UNIX_PORT": f"{directory}/mysql/sock"}
    if name == "slurmctld":
        return ("slurmctld", "-D"), {}
    node = host_of(name)
    if name.startswith("sshd@"):
        return ssh.command(directory, node), {}
    return ("slurmd", "-D", *(("-N", node) if description.layout == "plain" else ())), {}


def start(directory: Path, description: Description, name: str) -> None:
    """Start one of Slurm's daemons; it belongs to its host's process 1. Its output goes to ``log/NAME.out``."""
    argv, env = command(directory, description, name)
    launch(directory, description, argv, host=host_of(name), env=env, log=f"{name}.out")


def launch(
    directory: Path,
    description: Description,
    argv: tuple[str, ...],
    *,
    host: str,
    env: dict[str, str],
    log: str,
) -> None:
    """Start something that outlives this process, in a session of its own, without the caller's terminal and pipes."""
    words = entering.words(
        directory, description, ("setsid", "--fork", *argv), host=host, env=env, folder=str(directory), administer=True
    )
    with (directory / "log" / log).open("ab") as out:
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**os.environ, "PATH": namespaces.search_path()},
                umask=0o022,  # whatever the caller's: ordinary users read what daemons make for them
                timeout=300,
            )
        except subprocess.TimeoutExpired:
            raise CannotMeasure(
                f"{argv[0]} could not be started on {host} within 300 s", where=str(directory)
            ) from None
    if done.returncode:
        raise CannotMeasure(
            f"{argv[0]} could not be started on {host}: {last_lines(directory, log)}",
            where=str(directory / "log" / log),
        )


def install_database(directory: Path, description: Description) -> None:
    """Make MariaDB's own tables where there are none. Raises CannotMeasure."""
    if (directory / "mysql" / "data" / "mysql").is_dir():
        return
    method = "socket" if os.geteuid() == 0 else "normal"
    argv = (
        "mariadb-install-db",
        f"--defaults-file={directory}/etc/my.cnf",
        f"--auth-root-authentication-method={method}",
        "--skip-test-db",
    )
    _must(directory, description, argv, "the accounting database cannot be made", limit_s=300)


def open_database(directory: Path, description: Description) -> None:
    """Make the accounting database and its user. The server must answer."""
    password = (directory / "etc" / "database.password").read_text()
    client = ("mariadb", "--no-defaults", "-S", f"{directory}/mysql/sock", "-u", "root")
    _must(
        directory,
        description,
        client,
        "the accounting database cannot be opened",
        limit_s=300,
        given=slurm.grants(password),
    )


def _must(
    directory: Path, description: Description, argv: tuple[str, ...], what: str, *, limit_s: float, given: str = ""
) -> None:
    code, said = _fed(directory, description, argv, given, limit_s)
    if code:
        last = (said.strip().splitlines() or ["no reason given"])[-1]
        raise CannotMeasure(f"{what}: {last}", where=str(directory), hint="see the files below log/ there")


def _fed(
    directory: Path, description: Description, argv: tuple[str, ...], given: str, limit_s: float
) -> tuple[int, str]:
    """The exit code of an administrator's command that is given this text, and all that it said."""
    words = entering.words(directory, description, argv, folder=str(directory))
    try:
        done = subprocess.run(
            words,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            start_new_session=True,
            env={**os.environ, "PATH": namespaces.search_path()},
        )
    except subprocess.TimeoutExpired:
        return 124, f"{argv[0]} gave no answer within {limit_s:g} s"
    return done.returncode, done.stdout


def associate(directory: Path, description: Description, account: str) -> None:
    """Tell the accounting of the cluster, its account and its users, where it does not know them. Raises CannotMeasure."""
    wanted = {(account, name) for name in files.users(description)}
    if wanted <= _associations(directory, description):
        return
    text = slurm.associations(files.users(description), account)
    _, said = _fed(directory, description, ("sacctmgr", "-i"), text, 300)  # it complains of what it knows already
    if not wanted <= _associations(directory, description):
        raise CannotMeasure(
            f"the accounting refuses: {said.strip()[-300:]}", where=str(directory / "log" / "slurmdbd.log")
        )


def _associations(directory: Path, description: Description) -> set[tuple[str, str]]:
    argv = ("sacctmgr", "-n", "-P", "show", "association", "format=account,user")
    code, said = _fed(directory, description, argv, "", 300)
    return {(one, name) for one, _, name in (line.partition("|") for line in said.splitlines()) if not code}


def end(pid: int, limit_s: float = 10.0, by: int = signal.SIGTERM) -> bool:
    """Ask a process to end, and wait; False where it does not."""
    try:
        os.kill(pid, by)
    except ProcessLookupError:
        return True
    return until(lambda: not namespaces.alive(pid), limit_s, 0.02)


def until(holds: Callable[[], bool], limit_s: float, pause_s: float = 0.1) -> bool:
    """Ask until it holds; False once the limit has passed."""
    deadline = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True


def last_lines(directory: Path, log: str, count: int = 3) -> str:
    """The last lines of a log, for an error."""
    try:
        text = (directory / "log" / log).read_bytes()[-4000:].decode("utf-8", "replace")
    except OSError:
        return "no log"
    return " | ".join(text.strip().splitlines()[-count:]) or "its log is empty"
