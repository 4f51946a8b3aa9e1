"""Asking a cluster how it is: whether it lives, what its engines say, whether a daemon answers."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

from ..errors import CannotMeasure
from ..hosts.access import LocalHost, Result
from . import daemons, entering, namespaces, slurm
from .settings import CONTROLLER, Description

#: How long a daemon may take to answer. Wide: on a starved machine MariaDB alone took 20 s.
LIMIT_S = 300.0


def is_up(directory: Path, description: Description) -> bool:
    """Whether a cluster lives there."""
    if description.layout == "plain":
        return bool(daemons.running(directory, description))
    return bool(entering.host_pid(directory, description, CONTROLLER))


def registered_s(directory: Path, description: Description) -> dict[str, int]:
    """Node -> when the slurmd began that slurmctld knows of, Unix time in whole seconds."""
    argv = ("env", "SLURM_TIME_FORMAT=%s", "scontrol", "-o", "show", "nodes")
    out = in_cluster(directory, description, argv, 20).out
    return {
        name: int(began) for name, began in re.findall(r"^NodeName=(\S+) .*SlurmdStartTime=(\d+)", out, re.MULTILINE)
    }


def wait_for_nodes(
    directory: Path, description: Description, since_s: float, nodes: tuple[str, ...], limit_s: float = LIMIT_S
) -> None:
    """Wait until slurmctld hears the slurmd of each of these nodes that began after ``since_s``: of one that came back
    before it was missed, slurmctld may still believe the old. Raises CannotMeasure with what it says of the others."""
    silent: dict[str, str] = {}

    def heard() -> bool:
        states, known = slurm_nodes(directory, description), registered_s(directory, description)
        silent.clear()
        for node in nodes:
            state, reason = states.get(node, ("not known", ""))
            if known.get(node, 0) < int(since_s) or not slurm.answering(state):
                silent[node] = f"{node} ({state}{', ' if reason else ''}{reason})"
        return not silent

    if not daemons.until(heard, limit_s, 0.1):
        raise CannotMeasure(
            f"after {limit_s:g} s slurmctld does not hear {', '.join(silent.values())}",
            where=str(directory / "log"),
            hint=f"slurmctld says: {daemons.last_lines(directory, 'slurmctld.log')}",
        )


def slurm_nodes(directory: Path, description: Description) -> dict[str, tuple[str, str]]:
    """Node -> (state, reason) as slurmctld says; empty where it does not answer."""
    done = in_cluster(directory, description, ("sinfo", "-h", "-N", "-o", "%N|%T|%E"), 20)
    return slurm.parse_nodes(done.out) if done.ok else {}


def in_cluster(directory: Path, description: Description, argv: tuple[str, ...], limit_s: float) -> Result:
    """Run an administrator's command on the controller."""
    words = entering.words(directory, description, argv, folder=str(directory))
    return LocalHost().run(words, limit_s=limit_s, env={"PATH": namespaces.search_path()})


def until_answers(directory: Path, name: str, holds: Callable[[], bool]) -> None:
    """Wait until a daemon answers. Raises CannotMeasure with the end of its logs."""
    if not daemons.until(holds, LIMIT_S, 0.05):
        logs = " | ".join(daemons.last_lines(directory, f"{name}.{kind}") for kind in ("out", "log"))
        raise CannotMeasure(f"{name} does not answer within {LIMIT_S:g} s: {logs}", where=str(directory / "log"))


def answers_unix(path: Path) -> bool:
    """Whether someone takes calls at a Unix socket."""
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(str(path))
        except OSError:
            return False
    return True


def listens(directory: Path, description: Description, port: int, host: str = CONTROLLER) -> bool:
    """Whether something listens at that TCP port of a host, read from the kernel's table: a connection that says
    nothing would stand in the daemon's log as an error."""
    pid = entering.host_pid(directory, description, host) or os.getpid()
    wanted = f":{port:04X}"
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        if any(words[1].endswith(wanted) and words[3] == "0A" for words in map(str.split, lines)):
            return True
    return False
