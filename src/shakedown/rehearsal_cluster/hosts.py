"""Switching hosts of the cluster on and off: the controller, and the nodes below it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from ..errors import CannotMeasure
from ..hosts import process
from . import daemons, entering, links, namespaces
from .settings import CONTROLLER, Description


def start_controller(directory: Path, description: Description) -> tuple[int, int]:
    """Make the controller's namespaces; return the process id of its process 1 and when that began."""
    log = directory / "log" / f"{CONTROLLER}.console"
    with log.open("ab") as out:
        child = subprocess.Popen(
            namespaces.make(description.layout, directory, CONTROLLER),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env={"PATH": namespaces.search_path(), "SHAKEDOWN_CLUSTER": str(directory)},
            cwd=directory,
            umask=0o022,
        )
    deadline = time.monotonic() + 120
    while child.poll() is None and time.monotonic() < deadline:
        pid = namespaces.process_1(directory, CONTROLLER)
        start = process.start_ticks(pid) if pid else None
        if start is not None and (directory / "run" / f"{CONTROLLER}.mounted").exists():
            _ORPHANS.append(child)
            return pid, start
        time.sleep(0.01)
    raise CannotMeasure(
        f"the controller's namespaces cannot be made: {daemons.last_lines(directory, log.name)}", where=str(directory)
    )


#: Children that outlive this call by intention; kept, so that Python does not warn that they still run.
_ORPHANS: list[subprocess.Popen[bytes]] = []


def start_node(directory: Path, description: Description, node: str) -> None:
    """Make a node's namespaces below the controller's, and lay its link. Its daemons are not started."""
    mark = directory / "run" / f"{node}.mounted"
    mark.unlink(missing_ok=True)
    daemons.launch(
        directory,
        description,
        namespaces.make(description.layout, directory, node),
        host=CONTROLLER,
        env={},
        log=f"{node}.console",
    )
    if not daemons.until(mark.exists, 120, 0.01):
        raise CannotMeasure(
            f"{node} does not start: {daemons.last_lines(directory, f'{node}.console')}", where=str(directory)
        )
    links.lay(directory, description, node)


def kill_node(directory: Path, description: Description, node: str) -> None:
    """A power failure: everything on the node ends at once, and its link with it."""
    pid = entering.host_pid(directory, description, node)
    if pid and not daemons.end(pid, 60, signal.SIGKILL):
        raise CannotMeasure(f"{node} does not end: a process of it hangs in the kernel", where=str(directory))


def kill_all(directory: Path, description: Description | None) -> list[int]:
    """End every process of the cluster at once; returns those that would not."""
    held = [pid for pid in (namespaces.process_1(directory, CONTROLLER),) if pid]
    if description and description.init_pid and process.alive(description.init_pid, description.init_start):
        held.append(description.init_pid)
    for pid in set(held):
        daemons.end(pid, 60, signal.SIGKILL)
    deadline = time.monotonic() + 60
    # What its namespaces did not hold: all of layout plain, and what a start that was cut short has left.
    while (rest := namespaces.marked(directory)) and time.monotonic() < deadline:
        for pid in rest:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)
    for child in _ORPHANS[:]:
        if child.poll() is not None:
            _ORPHANS.remove(child)
    return rest
