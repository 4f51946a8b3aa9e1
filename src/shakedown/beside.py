"""The same thing on every host of an allocation, side by side: what the host is, or a copy of a run.

    harness  -- one start of the launcher, a task a host -->  python -m shakedown.beside RUN machine
                                                              python -m shakedown.beside RUN run ID REPEAT

Each task is a harness of its own for one step: it watches its own host, keeps its own output and writes its own files
into the run directory, which all hosts share. Nothing is sent back; what a host left is read from there, and a host that
left nothing has no result, with the reason.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import msgspec

from .errors import BadInput, CannotMeasure, ShakedownError, StoreFailed
from .measure import last_line
from .process import Exit, Process
from .records import Host, Machine, Measurement
from .schedulers import Allocation
from .store import RunDirectory, hosts_in, read_record, write_record

if TYPE_CHECKING:
    from .execute import Step
    from .host import Door

#: The hosts of the harness that is at work in a run directory, or was last.
ALLOCATION = "allocation.json"
#: Beyond the limit of what is run: the launcher's start on many hosts, Python's, and files that a shared disk shows late.
START_S = 60.0
_MACHINE_S = 60.0


def run(
    directory: RunDirectory,
    step: Step,
    machine: Machine,
    allocation: Allocation,
    hosts: Sequence[str],
    door: Door,
    advance: Callable[[float | None, str], None],
) -> list[Measurement]:
    """One step on every one of ``hosts`` at the same time; a measurement of each, in their order."""
    from .execute import without

    begin_ns = door.now_ns()
    words = ("run", step.run.id, str(step.repeat))
    ended = _everywhere(
        directory.path, words, machine.hosts[0], allocation, hosts, step.run.limit_s, step.run.estimate_s, advance
    )
    found = []
    for name in hosts:
        path = directory.folder(step.run.id, step.repeat, name) / "measurement.json"
        try:
            found.append(read_record(path, Measurement))
        except StoreFailed:
            from .records import Job

            said = last_line(ended.stderr)
            reason = f"{name} left no result" + (f": {said}" if said else "")
            job = Job(
                run=step.run.id,
                repeat=step.repeat,
                argv=(),
                host=name,
                beside=True,
                begin_ns=begin_ns,
                end_ns=door.now_ns(),
                exit_code=ended.code,
                signal=ended.signal,
                timed_out=ended.timed_out,
            )
            record = without(step.run, job, "timeout" if ended.timed_out else "failed", reason)
            path.parent.mkdir(parents=True, exist_ok=True)
            directory.finish(job, record)
            found.append(record)
    return found


def machines(path: Path, first: Host, allocation: Allocation) -> tuple[Host, ...]:
    """What every host of the allocation is, in its order; asked of those that have not told yet.

    ``first`` is the host that this runs on. Raises CannotMeasure naming the hosts that do not answer.
    """
    (path / "hosts").mkdir(parents=True, exist_ok=True)
    remember(path, allocation)
    mine = me(allocation.hosts, os.environ, first.name)
    write_record(path / "hosts" / f"{mine}.json", msgspec.structs.replace(first, name=mine))
    known = {host.name: host for host in hosts_in(path)}
    silent = [name for name in allocation.hosts if name not in known]
    if silent:
        ended = _everywhere(path, ("machine",), first, allocation, silent, _MACHINE_S, 5.0, lambda fraction, text: None)
        known = {host.name: host for host in hosts_in(path)}
        if missing := [name for name in allocation.hosts if name not in known]:
            said = last_line(ended.stderr)
            raise CannotMeasure(
                f"{len(missing)} of {len(allocation.hosts)} hosts do not answer: {', '.join(missing[:8])}"
                + (f" ({said})" if said else ""),
                where=str(path),
                hint="each host must see this folder and this Python; try there: "
                f"{sys.executable} -m shakedown machine",
            )
    return tuple(known[name] for name in allocation.hosts)


def remember(path: Path, allocation: Allocation) -> None:
    """Leave the allocation in a run directory, for the copies on each host: they need not ask the engine again."""
    write_record(path / ALLOCATION, allocation)


def allocation_of(path: Path) -> Allocation | None:
    """The allocation of the harness that is or was last at work in a run directory; None where it had one host."""
    return read_record(path / ALLOCATION, Allocation) if (path / ALLOCATION).exists() else None


def me(hosts: Sequence[str], environment: Mapping[str, str], name: str) -> str:
    """Which of an allocation's hosts this one is: as the engine tells, else by its own name, with a domain or without.

    Raises CannotMeasure where it is none of them.
    """
    told = environment.get("SLURMD_NODENAME", "")
    for own in (told, name, name.split(".")[0]):
        if own in hosts:
            return own
    short = [host for host in hosts if host.split(".")[0] == name.split(".")[0]]
    if len(short) == 1:
        return short[0]
    raise CannotMeasure(
        f"this host, {name}, is none of the allocation's: {', '.join(hosts[:8])}",
        hint="run shakedown on a node of the allocation: `shakedown run ... --on` does",
    )


def _everywhere(
    path: Path,
    words: Sequence[str],
    first: Host,
    allocation: Allocation,
    hosts: Sequence[str],
    limit_s: float,
    estimate_s: float,
    advance: Callable[[float | None, str], None],
) -> Exit:
    """Start this module once on each host by the launcher, and wait for all."""
    from . import launchers
    from .workloads import Command

    command = Command(
        argv=(sys.executable, "-m", "shakedown.beside", str(path.resolve()), *words), ranks=len(hosts), site_mpi=True
    )
    argv, env = launchers.wrap(command, first, allocation=allocation, hosts=tuple(hosts), whole=True)
    with tempfile.TemporaryDirectory(prefix="shakedown-") as scratch:
        process = Process(argv, env, Path(scratch))
        try:
            return process.wait(limit_s + START_S, estimate_s, advance)
        except BaseException:
            process.kill()
            raise


# ------------------------------------------------------------------------------------------------------- on each host


def _task(path: Path, words: Sequence[str]) -> None:
    from . import execute
    from .host import RealHost

    door = RealHost()
    allocation = allocation_of(path)
    if words[0] == "machine":
        from . import machine

        name = me(allocation.hosts, os.environ, door.name()) if allocation else door.name()
        found = machine.discover(door)
        write_record(path / "hosts" / f"{name}.json", msgspec.structs.replace(found, name=name))
        return
    directory = RunDirectory.open(path)
    found_machine = directory.machine()
    name = me([host.name for host in found_machine.hosts], os.environ, door.name())
    run_id, repeat = words[1], int(words[2])
    run = next(one for one in directory.plan().runs if one.id == run_id)
    execute.run_once(
        directory,
        execute.Step(run, repeat),
        found_machine,
        door,
        lambda fraction, text: None,
        allocation=allocation and msgspec.structs.replace(allocation, hosts=(name,), cpus=(), gpus=()),
        copy_on=name,
    )


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(words: Sequence[str]) -> int:
    """Exit code 0 also where the run failed: what became of it stands in its files."""
    signal.signal(signal.SIGTERM, _stop)  # ends the program under way, and keeps nothing of it
    if len(words) < 2:
        raise BadInput("usage: python -m shakedown.beside RUN machine | RUN run ID REPEAT")
    try:
        _task(Path(words[0]), words[1:])
    except ShakedownError as error:
        print(f"shakedown on {os.uname().nodename}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
