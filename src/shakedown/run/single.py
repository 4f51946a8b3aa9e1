"""One run: start its program, wait for it within its limit, judge what it left and keep that."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from .. import launchers, workloads
from ..errors import ShakedownError, StoreFailed, Unavailable
from ..hosts import hostlist
from ..hosts.access import HostAccess
from ..hosts.disturbance import DisturbanceWatch
from ..hosts.process import Exit, Process
from ..launchers import Command
from ..layers import asked, start, witness
from ..machine import mpi as mpis
from ..machine.span import span
from ..records import Host, Job, Machine, Measurement, Notice, Run, State
from ..results.outcome import measurement, result_of, under_layer
from ..results.run_directory import RunDirectory
from ..schedulers import Allocation
from . import fallback_store
from .schedule import Step

#: The clock was set during a run when its seconds differ from the monotonic clock's by so much, and by 1 %.
JUMP_S = 1.0


def run_once(
    directory: RunDirectory,
    step: Step,
    machine: Machine,
    door: HostAccess,
    advance: Callable[[float | None, str], None],
    *,
    allocation: Allocation | None = None,
    copy_on: str = "",
) -> Measurement:
    """Start one run, wait for it within its limit, judge it and keep it. ``copy_on``: the host, as the allocation names
    it, that this process is on, for one of the copies that run side by side."""
    entered = time.monotonic()
    run = step.run
    where = place(run, machine, allocation, copy_on or door.name())
    job = Job(run=run.id, repeat=step.repeat, argv=(), host=where.host.name, hosts=where.hosts, beside=bool(copy_on))
    if saved := fallback_store.bring_in(directory, directory.folder_of(job)):
        return saved
    in_job = bool(allocation and allocation.engine)
    try:
        _enough_hosts(run, allocation)
        host = _with_mpi(where.host, run.mpi)
        command = workloads.get(run.workload).command(run.params, host)
        hosts = () if command.starts_itself else where.hosts or where.alone
        command = _under(command, run, directory.folder_of(job), door, where)
        argv, env = launchers.wrap(command, host, allocation=allocation, hosts=hosts)
    except ShakedownError as error:  # what is missing now was there when the plan was made
        now = door.now_ns()
        job = msgspec.structs.replace(job, begin_ns=now, end_ns=now)
        directory.begin(job)
        reason = f"{error.what}. Next: {error.hint}" if error.hint else error.what
        return _keep(directory, job, without(run, job, "unavailable", reason), in_job=in_job)
    job = msgspec.structs.replace(job, argv=argv, env={**env, "SHAKEDOWN_HARNESS": _identity()})
    folder = directory.begin(job)
    for name, text in command.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    job = msgspec.structs.replace(job, cwd=str(folder), output=command.output, begin_ns=door.now_ns())
    watch = DisturbanceWatch.begin(door)
    job, ended = _wait(directory, run, job, env, command.stdin, advance)
    job, notices = _ended(job, ended, door.now_ns())
    record = measurement(
        run,
        job,
        result_of(job, folder, ended.stdout),
        ended.stderr,
        disturbance=watch.end(door, ended.cpu_s),
        harness_s=time.monotonic() - entered - ended.wall_s,
        ranks=command.ranks,
    )
    record = msgspec.structs.replace(record, notices=(*record.notices, *notices))
    if run.under:
        record = under_layer(record, run, witness.read(folder, command.ranks))
    return _keep(directory, job, record, in_job=in_job)


def _wait(
    directory: RunDirectory,
    run: Run,
    job: Job,
    env: Mapping[str, str],
    stdin: str,
    advance: Callable[[float | None, str], None],
) -> tuple[Job, Exit]:
    """Start the job's program and wait for it within the run's limit; whatever ends the waiting early ends the program."""
    process = Process(job.argv, env, Path(job.cwd), stdin)
    try:
        job = msgspec.structs.replace(job, pid=process.pid, pid_start=process.start_ticks)
        if process.pid is not None:
            _note_pid(directory, job)
        return job, process.wait(run.limit_s, run.estimate_s, advance)
    except BaseException:
        process.kill()
        raise


def _ended(job: Job, ended: Exit, now_ns: int) -> tuple[Job, tuple[Notice, ...]]:
    """The job with its end, and what is to be said of that. Where the host's clock was set during the run, the end is told
    by the monotonic clock."""
    begin_ns = job.begin_ns or 0
    jump_s = (now_ns - begin_ns) * 1e-9 - ended.wall_s
    jumped = abs(jump_s) > JUMP_S + 0.01 * ended.wall_s
    end_ns = begin_ns + round(ended.wall_s * 1e9) if jumped else now_ns
    notices = []
    if jumped:
        text = f"the host's clock was set by {jump_s:+.1f} s during the run; its end is that of the monotonic clock"
        advice = "let the clock be slewed, not stepped (chrony); energies of this run are not to be trusted"
        notices.append(Notice(code="clock-jump", text=text, advice=advice))
    if ended.lost:
        text = f"the program's output could not be kept: {ended.lost}"
        advice = "free some space; the measurement itself was kept in memory"
        notices.append(Notice(code="output-lost", text=text, advice=advice))
    if ended.stuck:
        advice = "the storage that it works on is the first to look at (dmesg, its server): it ends once that answers"
        notices.append(Notice(code="process-stuck", text=ended.stuck, advice=advice))
    job = msgspec.structs.replace(
        job, end_ns=end_ns, exit_code=ended.code, signal=ended.signal, timed_out=ended.timed_out
    )
    return job, tuple(notices)


class Place(NamedTuple):
    """Where a run goes."""

    host: Host  # one host, or all of a job as one
    hosts: tuple[str, ...]  # of a job over several
    alone: tuple[str, ...]  # the one host, where an allocation has others that a launcher must leave out


def place(run: Run, machine: Machine, allocation: Allocation | None, here: str) -> Place:
    """The host or hosts of a run: those of the allocation where it is a job over some, else the one that this is."""
    known = {host.name: host for host in machine.hosts}
    if allocation and run.nodes > 1:
        names = allocation.hosts[: run.nodes]
        return Place(span([known[name] for name in names], hostlist.fold(names)), names, ())
    own = known.get(here) or (known[allocation.hosts[0]] if allocation else machine.hosts[0])
    return Place(own, (), (own.name,) if allocation else ())


def _enough_hosts(run: Run, allocation: Allocation | None) -> None:
    """Raises Unavailable where a run over several hosts, which were there when the plan was made, has fewer now: all its
    ranks on those would be measured as if they were on as many as the plan says."""
    here = len(allocation.hosts) if allocation else 1
    if run.nodes > here:
        raise Unavailable(
            f"the run goes over {run.nodes} hosts, and there {'is' if here == 1 else 'are'} {here}",
            hint=f"--resume RUN --retry-failed, with --nodes {run.nodes} in a job, or with --hosts",
        )


def _with_mpi(host: Host, label: str) -> Host:
    """The host as it is with the MPI that a run is asked for with. Raises Unavailable."""
    return msgspec.structs.replace(host, software=mpis.only(host.software, label)) if label else host


def _under(command: Command, run: Run, folder: Path, door: HostAccess, where: Place) -> Command:
    """The command under the layer that the run is asked for under. Raises Unavailable where that cannot be."""
    if not run.under:
        return command
    layer = asked.read(run.under)
    if command.starts_itself and len(where.hosts) > 1:
        raise Unavailable(
            f"{run.workload} starts its parts on other hosts itself, where nothing would put them under {layer.label}",
            hint="on one host it can be under a layer",
        )
    words = start.words(
        layer, command.argv[0], folder.resolve(), door, ranks=command.ranks, hosts=max(1, len(where.hosts))
    )
    env = {**words.env, **command.env}
    return msgspec.structs.replace(command, before=words.before, around=words.around, env=env)


def without(run: Run, job: Job, state: State, reason: str) -> Measurement:
    """The record of a run that has no result, and why."""
    return Measurement(
        run=run.id,
        repeat=job.repeat,
        workload=run.workload,
        params=run.params,
        host=job.host,
        state=state,
        reason=reason,
        begin_ns=job.begin_ns or 0,
        end_ns=job.end_ns or 0,
    )


def _note_pid(directory: RunDirectory, job: Job) -> None:
    """Rewrite job.json with the process id, so that a resume can end what a killed harness left running."""
    from ..files.atomic import write_record

    write_record(directory.folder_of(job) / "job.json", job)


def _identity() -> str:
    """This harness as ``pid:start``; the start tells a reused process id."""
    from ..hosts.process import start_ticks

    return f"{os.getpid()}:{start_ticks(os.getpid()) or 0}"


def _keep(directory: RunDirectory, job: Job, record: Measurement, *, in_job: bool = False) -> Measurement:
    """Write a measurement; where the run directory refuses it, save it elsewhere and say where, so that none is lost."""
    try:
        directory.finish(job, record)
    except StoreFailed as error:
        raise fallback_store.save(error, directory, directory.folder_of(job), record, in_job=in_job) from None
    return record
