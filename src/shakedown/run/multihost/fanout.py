"""The same thing on every host of an allocation, side by side: what the host is, or a copy of a run.

    harness  -- an order to the agent on each host -->  machine
                                                        run ID REPEAT

Each agent (``agent``, held by ``client``) is a harness of its own for one step: it watches its own host, keeps its own
output and writes its own files into the run directory, which all hosts share. What a host left is read from there, and a
host that left nothing has no result, with the reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...errors import CannotMeasure, StoreFailed
from ...files.atomic import failed, read_record, write_record
from ...records import Host, Job, Machine, Measurement, State
from ...results.run_directory import RunDirectory, hosts_in
from ...schedulers import Allocation
from .. import fallback_store
from ..fallback_store import ResultSaved
from ..single import without
from . import client
from .agent import ALLOCATION, me

if TYPE_CHECKING:
    from ...hosts.access import HostAccess
    from ..schedule import Step

_MACHINE_S = 60.0
#: How long a file that an agent says it has written may take to be seen here, on a shared disk that caches.
_SEEN_S = 15.0


class HostsDoNotAnswer(CannotMeasure):
    """Some hosts of an allocation do not answer: ``hosts``."""

    def __init__(self, hosts: Sequence[str], what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.hosts = tuple(hosts)


def run(
    directory: RunDirectory,
    step: Step,
    machine: Machine,
    allocation: Allocation,
    hosts: Sequence[str],
    door: HostAccess,
    advance: Callable[[float | None, str], None],
) -> list[Measurement]:
    """One step on every one of ``hosts`` at the same time; a measurement of each, in their order."""
    begin_ns = door.now_ns()
    if allocation_of(directory.path) != allocation:
        remember(directory.path, allocation)
    team = client.held(directory.path, machine.hosts[0], allocation)
    words = ("run", step.run.id, str(step.repeat))
    told = team.do(words, hosts, step.run.limit_s, step.run.estimate_s, advance)
    _refused(directory, step, told)
    found = []
    for name in hosts:
        path = directory.folder(step.run.id, step.repeat, name) / "measurement.json"
        record = _left(path, told[name].state == "done")
        if record is None:
            state: State = "timeout" if told[name].state == "timeout" else "failed"
            reason = f"{name} left no result" + (f": {told[name].text}" if told[name].text else "")
            job = Job(
                run=step.run.id,
                repeat=step.repeat,
                argv=(),
                host=name,
                beside=True,
                begin_ns=begin_ns,
                end_ns=door.now_ns(),
                timed_out=state == "timeout",
            )
            record = without(step.run, job, state, reason)
            _keep(directory, job, record)
        found.append(record)
    return found


def _refused(directory: RunDirectory, step: Step, told: Mapping[str, client.Outcome]) -> None:
    """Raise ResultSaved where the run directory refused a host's result: that is no failure of the host, and no run after it
    could be kept either."""
    parts = [one.unsaved for one in told.values() if one.unsaved]
    if parts:
        folder = directory.folder(step.run.id, step.repeat)
        raise ResultSaved(fallback_store.together(parts, str(folder.parent)))


def _keep(directory: RunDirectory, job: Job, record: Measurement) -> None:
    """Write down that a host has no result."""
    folder = directory.folder_of(job)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise failed(error, folder, "create the folder of a run") from None
    directory.finish(job, record)


def _left(path: Path, written: bool) -> Measurement | None:
    """What a host left; None where it left nothing. Of what was ``written`` some time is granted to be seen here."""
    until = time.monotonic() + (_SEEN_S if written else 0.0)
    while True:
        try:
            return read_record(path, Measurement)
        except StoreFailed:
            if time.monotonic() >= until:
                return None
        time.sleep(0.05)


def machines(path: Path, first: Host, allocation: Allocation) -> tuple[Host, ...]:
    """What every host of the allocation is, in its order; asked of those that have not told yet.

    ``first`` is the host that this runs on. Raises HostsDoNotAnswer, which names those.
    """
    mine = me(allocation.hosts, os.environ, first.name)
    (path / "hosts").mkdir(parents=True, exist_ok=True)
    remember(path, allocation)
    write_record(path / "hosts" / f"{mine}.json", msgspec.structs.replace(first, name=mine))
    known = {host.name: host for host in hosts_in(path)}
    silent = [name for name in allocation.hosts if name not in known]
    if silent:
        team = client.held(path, first, allocation)
        told = team.do(("machine",), silent, _MACHINE_S, 5.0, lambda fraction, text: None)
        until = time.monotonic() + _SEEN_S
        while any(told[name].state == "done" and name not in known for name in silent) and time.monotonic() < until:
            known = {host.name: host for host in hosts_in(path)}
        if missing := [name for name in silent if name not in known]:
            every = [f"{name} {told[name].text or told[name].state}" for name in missing[:8]]
            more = [f"and {len(missing) - 8} more"] if len(missing) > 8 else []
            client.close()
            raise HostsDoNotAnswer(
                missing,
                f"{len(missing)} of {len(allocation.hosts)} hosts do not answer:\n  " + "\n  ".join(every + more),
                where=str(path),
                hint="fix these, or leave them out; shakedown must be able to run on each of them, and to see this folder",
            )
    return tuple(known[name] for name in allocation.hosts)


def remember(path: Path, allocation: Allocation) -> None:
    """Leave the allocation in a run directory, for the copies on each host: they need not ask the engine again."""
    write_record(path / ALLOCATION, allocation)


def allocation_of(path: Path) -> Allocation | None:
    """The allocation of the harness that is or was last at work in a run directory; None where it had one host."""
    return read_record(path / ALLOCATION, Allocation) if (path / ALLOCATION).exists() else None
