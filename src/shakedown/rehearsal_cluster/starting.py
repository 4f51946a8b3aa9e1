"""Bringing a cluster up, step by step; each step waits until the one before answers.

What was begun and not finished is ended: by an error, by Ctrl-C, and by SIGTERM, nothing stays.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from .. import __version__
from ..errors import BadInput, CannotMeasure, Unavailable
from ..files import locks
from . import daemons, fence, files, gridengine_start, hosts, links, needs, network, slurm, ssh, status
from .settings import ACCOUNT, Description, Link, Settings, check, load, node_names, save

Say = Callable[[str], None]


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the cluster for a change. Raises CannotMeasure where another command changes it now."""
    try:
        file = (directory / "lock").open("w")
    except OSError as error:
        raise CannotMeasure(f"no cluster can be changed here: {error.strerror}", where=str(directory)) from None
    with file:
        try:
            locks.take(file)
        except BlockingIOError:
            raise CannotMeasure(
                "another command starts, stops or changes this cluster now", where=str(directory), hint="wait for it"
            ) from None
        yield


def up(directory: Path, asked: Settings, say: Say) -> Description:
    """Bring a cluster up in a directory; one that was there before and is down comes up again with its history. Raises
    BadInput where one is up already, Unavailable with what is missing, CannotMeasure with what failed and its log."""
    check(asked, directory)
    layout, reason = needs.layout(asked.layout, asked.engines) if _tools(asked) else ("plain", "")
    needs.check(asked.engines, network=layout != "plain", ssh=asked.ssh)
    check_ssh(asked, layout)
    if asked.fence:
        fence.check(layout)
    files.prepare(directory)
    fresh = not any(one.name != "lock" for one in directory.iterdir())
    with locked(directory):
        earlier = load(directory)
        _refuse(directory, earlier, fresh)
        with _undone(directory, fresh), _umask(0o022):
            hosts.kill_all(directory, earlier)  # what a start that was killed has left
            description = Description(
                version=__version__,
                settings=asked,
                layout=layout,
                layout_reason=reason,
                links=dict.fromkeys(node_names(asked.nodes), asked.link),
                ports=free_ports(asked) if layout == "plain" else {},
                versions=needs.versions(asked.engines),
            )
            save(directory, description)
            return _start(directory, description, _Lap(say))


def check_ssh(asked: Settings, layout: str) -> None:
    """Raise Unavailable where ssh between the nodes was asked for and they are not hosts of their own."""
    if asked.ssh and layout == "plain":
        raise Unavailable(
            "ssh between nodes needs hosts with names and addresses of their own, and layout plain has none",
            hint="as root, or where an ordinary user may make user namespaces",
        )


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    """Files of ours are for all to read, whatever the caller's mask; secrets are made with a mode of their own."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _tools(asked: Settings) -> bool:
    """Complain of missing programs before trying namespaces with them."""
    needs.check(asked.engines, network=False)
    return True


def _refuse(directory: Path, earlier: Description | None, fresh: bool) -> None:
    if earlier is None and not fresh:
        raise BadInput(
            "is not empty, and does not contain a cluster", where=str(directory), hint="--directory with a new path"
        )
    if earlier is not None and status.is_up(directory, earlier) and earlier.ready:
        raise BadInput(
            f"a cluster of {earlier.settings.nodes} nodes is up here already",
            where=str(directory),
            hint="use it (shakedown cluster status), end it (shakedown cluster down), or name another --directory",
        )


@contextmanager
def _undone(directory: Path, fresh: bool) -> Iterator[None]:
    """End what was begun where the start fails. A termination counts as Ctrl-C does."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = _on_term(stop)
    try:
        yield
    except BaseException as error:
        quiet = _on_term(signal.SIG_IGN), _on_int(signal.SIG_IGN)  # a second Ctrl-C must not leave half of it
        hosts.kill_all(directory, load(directory))
        fence.remove(directory)
        if fresh and isinstance(error, KeyboardInterrupt | BadInput | Unavailable):  # else its logs are wanted
            shutil.rmtree(directory, ignore_errors=True)
        _on_term(quiet[0])
        _on_int(quiet[1])
        raise
    finally:
        _on_term(before)


def _on_term(handler: Any) -> Any:
    return _on(signal.SIGTERM, handler)


def _on_int(handler: Any) -> Any:
    return _on(signal.SIGINT, handler)


def _on(number: signal.Signals, handler: Any) -> Any:
    """Set a signal's handler, where this thread may, and return the one before."""
    if handler is None or threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(number, handler)


def free_ports(asked: Settings) -> dict[str, int]:
    """A free TCP port for each daemon of layout plain."""
    wanted = ("slurmctld", "slurmdbd", *(f"slurmd@{node}" for node in node_names(asked.nodes)))
    held: list[socket.socket] = []
    try:
        for _ in wanted:
            held.append(socket.socket())
            held[-1].bind(("127.0.0.1", 0))
        return {name: one.getsockname()[1] for name, one in zip(wanted, held, strict=True)}
    finally:
        for one in held:
            one.close()


class _Lap:
    """Says what was reached and when, in seconds since the start."""

    def __init__(self, say: Say) -> None:
        self._say, self._begun = say, time.monotonic()

    def __call__(self, text: str) -> None:
        self._say(f"{time.monotonic() - self._begun:6.1f} s  {text}")


def _start(directory: Path, description: Description, lap: _Lap) -> Description:
    files.write_all(directory, description)
    if description.settings.fence:
        fence.make(directory)
    else:
        (directory / "etc" / "fence").unlink(missing_ok=True)
    if description.layout != "plain":
        pid, start = hosts.start_controller(directory, description)
        description = msgspec.structs.replace(description, init_pid=pid, init_start=start)
        save(directory, description)
        links.batch(description, pid, network.switch())
        lap("switch and controller")
    slurm_here = "slurm" in description.settings.engines
    if slurm_here:
        daemons.start(directory, description, "munged")
        _accounting(directory, description, lap)
        daemons.start(directory, description, "slurmctld")
    began_s = time.time()
    description = _start_nodes(directory, description)
    lap(f"{description.settings.nodes} nodes")
    if slurm_here:
        status.wait_for_nodes(directory, description, began_s, node_names(description.settings.nodes))
        lap("Slurm: all nodes answer")
    if "gridengine" in description.settings.engines:
        gridengine_start.start(directory, description)
        lap("Grid Engine: all hosts answer")
    description = msgspec.structs.replace(description, ready=True)
    save(directory, description)
    return description


def _accounting(directory: Path, description: Description, lap: _Lap) -> None:
    daemons.install_database(directory, description)
    daemons.start(directory, description, "mariadbd")
    status.until_answers(directory, "mariadbd", lambda: status.answers_unix(directory / "mysql" / "sock"))
    daemons.open_database(directory, description)
    lap("database")
    start_slurmdbd(directory, description)
    daemons.associate(directory, description, ACCOUNT)
    lap("accounting")


def start_slurmdbd(directory: Path, description: Description) -> None:
    """Start slurmdbd and wait until it takes calls."""
    daemons.start(directory, description, "slurmdbd")
    port = slurm.dbd_port(description)
    status.until_answers(directory, "slurmdbd", lambda: status.listens(directory, description, port))


def _start_nodes(directory: Path, description: Description) -> Description:
    methods: dict[str, str] = {}
    for node in node_names(description.settings.nodes):
        methods[node] = start_node(directory, description, node)
    return msgspec.structs.replace(description, methods=methods)


def start_node(directory: Path, description: Description, node: str) -> network.Method:
    """Switch a node on, shape its link as the description says, start its slurmd."""
    method: network.Method = "none"
    if description.layout != "plain":
        hosts.start_node(directory, description, node)
        link = description.links.get(node, Link())
        if link.shaped or link.cut:
            method = links.shape(directory, description, node)
    if "slurm" in description.settings.engines:
        daemons.start(directory, description, f"slurmd@{node}")
    if description.settings.ssh:
        start_sshd(directory, description, node)
    return method


def start_sshd(directory: Path, description: Description, node: str) -> None:
    """Start a node's server of ssh and wait until it takes calls."""
    name = f"sshd@{node}"
    daemons.start(directory, description, name)
    status.until_answers(directory, name, lambda: status.listens(directory, description, ssh.PORT, node))


def start_engines(directory: Path, description: Description, node: str) -> None:
    """Start on a node what its ``start_node`` leaves to engines other than Slurm."""
    if "gridengine" in description.settings.engines:
        gridengine_start.start_execd(directory, description, node)


def start_daemon(directory: Path, description: Description, name: str) -> None:
    """Start one daemon alone and wait until it answers."""
    kind = name.partition("@")[0]
    if kind == "slurmdbd":
        return start_slurmdbd(directory, description)
    if kind == "sshd":
        return start_sshd(directory, description, daemons.host_of(name))
    if kind == "sge_qmaster":
        return gridengine_start.start_qmaster(directory, description)
    if kind == "sge_execd":
        return gridengine_start.start_execd(directory, description, daemons.host_of(name))
    began_s = time.time()
    daemons.start(directory, description, name)
    if kind == "slurmctld":

        def answers() -> bool:
            return "is UP" in status.in_cluster(directory, description, ("scontrol", "ping"), 20).out

        status.until_answers(directory, name, answers)
    elif kind in ("mariadbd", "munged"):
        path = directory / ("mysql" if kind == "mariadbd" else "munge") / "sock"
        status.until_answers(directory, name, lambda: status.answers_unix(path))
    elif "slurmctld" in daemons.running(directory, description):
        status.wait_for_nodes(directory, description, began_s, (daemons.host_of(name),))
