"""Ending a cluster, whatever state it is in, and clearing the jobs of one that stays."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from ..errors import BadInput, CannotMeasure
from . import daemons, fence, hosts, namespaces, starting, status
from .settings import Description, load


def down(directory: Path, *, hard: bool, keep: bool) -> None:
    """End the cluster in a directory: one that is up, one that crashed, one whose start was cut short. Raises BadInput where
    there is none, CannotMeasure with what would not end."""
    description = load(directory)
    if description is None and not _looks_like_ours(directory):
        raise BadInput("there is no cluster here", where=str(directory), hint="name its --directory")
    with starting.locked(directory):
        _end(directory, description, hard=hard, keep=keep)


def _end(directory: Path, description: Description | None, *, hard: bool, keep: bool) -> None:
    if keep and not hard and description and status.is_up(directory, description):
        _shut_down(directory, description)
    if rest := hosts.kill_all(directory, description):
        raise CannotMeasure(
            f"processes that do not end: {', '.join(f'{pid} ({namespaces.command_name(pid)})' for pid in rest)}",
            where=str(directory),
            hint="they hang in the kernel; see /proc/PID/stack",
        )
    if held := fence.remove(directory):
        raise CannotMeasure(f"control groups that stay: {', '.join(held)}", hint="see tasks in each")
    if not keep:
        shutil.rmtree(directory)


def _looks_like_ours(directory: Path) -> bool:
    """A start that was killed before it wrote cluster.json has left no more than its lock."""
    found = {one.name for one in directory.iterdir()} if directory.is_dir() else set()
    return "lock" in found and found <= {"lock", "cluster.json.new"}


def _shut_down(directory: Path, description: Description) -> None:
    """Let the daemons write what they hold: those that tell others first."""
    running = daemons.running(directory, description)
    for kinds in (("slurmd", "sge_execd"), ("slurmctld", "sge_qmaster"), ("slurmdbd",), ("mariadbd",)):
        pids = [pid for name, pid in running.items() if name.partition("@")[0] in kinds]
        for pid in pids:
            _ask(pid)
        daemons.until(lambda pids=pids: not any(map(namespaces.alive, pids)), 60, 0.02)  # type: ignore[misc]


def _ask(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def kill_plain_node(directory: Path, node: str) -> None:
    """End everything of one node of layout plain: its slurmd, the step daemons of that node, and what they started."""
    doomed = [pid for pid in namespaces.marked(directory) if _of_node(directory, pid, node)]
    for pid in doomed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    daemons.until(lambda: not any(map(namespaces.alive, doomed)), 60, 0.02)


def _of_node(directory: Path, pid: int, node: str) -> bool:
    name = namespaces.command_name(pid)
    if name == "slurmd":
        words = namespaces.words_of(pid)
        return "-N" in words[:-1] and words[words.index("-N") + 1] == node
    if name == "slurmstepd":
        return f"{directory}/log/slurmd.{node}.log" in namespaces.open_files(pid)
    return namespaces.variable(pid, "SLURMD_NODENAME") == node


def clear_engines(directory: Path, description: Description, limit_s: float) -> None:
    """Cancel all jobs, wait until they are gone, resume all nodes."""
    if "slurm" in description.settings.engines:
        _clear_slurm(directory, description, limit_s)
    if "gridengine" in description.settings.engines:
        _clear_gridengine(directory, description, limit_s)


def _clear_slurm(directory: Path, description: Description, limit_s: float) -> None:
    def ask(*argv: str) -> str:
        return status.in_cluster(directory, description, argv, 120).out

    deadline = time.monotonic() + limit_s
    while (left := ask("squeue", "-h", "-o", "%A").split()) and time.monotonic() < deadline:
        ask("scancel", *sorted(set(left)))
        time.sleep(0.3)
    for node, (state, _) in status.slurm_nodes(directory, description).items():
        if state.startswith(("drain", "down", "fail")):
            ask("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def rested() -> bool:
        states = status.slurm_nodes(directory, description)
        return bool(states) and all(state == "idle" for state, _ in states.values())

    if not daemons.until(rested, max(1.0, deadline - time.monotonic()), 0.2):
        raise CannotMeasure(
            f"after {limit_s:g} s not all nodes are idle: {status.slurm_nodes(directory, description)}",
            where=str(directory),
        )


def _clear_gridengine(directory: Path, description: Description, limit_s: float) -> None:
    def ask(*argv: str) -> str:
        return status.in_cluster(directory, description, argv, 120).out

    def empty() -> bool:
        return not ask("qstat", "-u", "*").strip()

    if not daemons.until(empty, 1, 0.2):  # a job that has just ended is shown for a moment
        ask("qdel", "-u", "*")
        if not daemons.until(empty, limit_s / 2, 0.3):
            ask("qdel", "-f", "-u", "*")  # one whose host is gone: nobody is left to say that it has ended
    ask("qmod", "-e", "*")
    ask("qmod", "-cq", "*")
    if not daemons.until(empty, limit_s / 2, 0.3):
        raise CannotMeasure(f"jobs that do not end: {ask('qstat', '-u', '*')}", where=str(directory / "ge"))
