"""Run a plan: what comes next is decided by a pure function; a thin loop acts.

Every run happens once before any is repeated, so that repeats of one run are spread over the whole campaign and a
disturbance hits them unalike. Repeats end when the interval of their medians is narrow enough, when they reach their
number, or when the budget is spent.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from .. import launchers, workloads
from ..analysis.statistics import relative_width
from ..errors import CannotMeasure, ShakedownError, StoreFailed
from ..hosts import hostlist
from ..hosts.access import Door
from ..hosts.disturbance import Watch
from ..hosts.process import Exit, Process, alive, kill_group
from ..machine.span import span
from ..records import SCORED, Host, Job, Machine, Measurement, Notice, Plan, Run, State
from ..results.outcome import measurement, result_of
from ..results.run_directory import RunDirectory
from ..schedulers import Allocation
from . import fallback_store
from .multihost import fanout

#: The clock was set during a run when its seconds differ from the monotonic clock's by so much, and by 1 %.
JUMP_S = 1.0
#: What a harness needs before its job's end: to end the run under way, write it down, and stop.
END_S = 15.0


class Done(NamedTuple):
    """What the next step needs to know of a repeat that is whole."""

    state: State
    medians: tuple[float, ...]  # seconds, one per case


class Step(NamedTuple):
    run: Run
    repeat: int


History = Mapping[tuple[str, int], Done]


def next_step(plan: Plan, done: History, spent_s: float) -> Step | None:
    """What to run now, or None when the plan is fulfilled. Pure.

    First every run's first repeat, in order; then, round by round, those whose repeats are not yet enough.
    """
    rounds = max((run.repeat_max for run in plan.runs), default=0)
    for repeat in range(1, rounds + 1):
        for run in plan.runs:
            if (run.id, repeat) not in done and wants(run, repeat, done, plan.budget_s, spent_s):
                return Step(run, repeat)
    return None


def wants(run: Run, repeat: int, done: History, budget_s: float | None, spent_s: float) -> bool:
    """Whether this repeat of a run is still worth its time."""
    earlier = [done[run.id, number] for number in range(1, repeat) if (run.id, number) in done]
    if len(earlier) < repeat - 1 or any(one.state not in SCORED for one in earlier):
        return False  # a run that failed would fail again: it is repeated when somebody asks for it
    if repeat <= run.repeat_min:
        return True
    if repeat > run.repeat_max or (budget_s is not None and spent_s + run.estimate_s > budget_s):
        return False
    return run.repeat_interval is not None and not settled(earlier, run.repeat_interval)


def settled(repeats: list[Done], interval: float) -> bool:
    """Whether the repeats agree: over the cases, the middle of the relative widths of their intervals is narrow enough."""
    widths = [
        width
        for series in zip(*(one.medians for one in repeats), strict=False)
        if (width := relative_width(series)) is not None
    ]
    return bool(widths) and statistics.median(widths) <= interval


def summary(record: Measurement) -> Done:
    """What next_step needs of a measurement."""
    return Done(record.state, tuple(statistics.median(case.seconds) for case in record.cases if case.seconds))


class Progress(Protocol):
    """What a person is told while the plan runs. All calls return at once."""

    def begin(self, step: Step, index: int, total: int, left_s: float) -> None: ...
    def advance(self, fraction: float | None, text: str) -> None: ...
    def end(self, step: Step, record: Measurement) -> None: ...
    def stop(self, step: Step) -> None:
        """The rest, from this step on, does not fit before the allocation ends."""


class Silent:
    """Tells nobody."""

    def begin(self, step: Step, index: int, total: int, left_s: float) -> None:
        pass

    def advance(self, fraction: float | None, text: str) -> None:
        pass

    def end(self, step: Step, record: Measurement) -> None:
        pass

    def stop(self, step: Step) -> None:
        pass


def left_s(plan: Plan, done: History, spent_s: float) -> float:
    """Seconds that the rest of the plan is expected to take: what must run, and repeats as far as the budget goes."""
    must = may = 0.0
    for run in plan.runs:
        count = sum((run.id, number) in done for number in range(1, run.repeat_max + 1))
        left = range(count + 1, run.repeat_max + 1)
        if not left or not wants(run, left[0], done, None, 0):
            continue
        must += run.estimate_s * sum(number <= run.repeat_min for number in left)
        may += run.estimate_s * sum(number > run.repeat_min for number in left)
    return must + may if plan.budget_s is None else max(must, min(must + may, plan.budget_s - spent_s))


def execute(
    directory: RunDirectory,
    plan: Plan,
    machine: Machine,
    door: Door,
    progress: Progress | None = None,
    *,
    retry_failed: bool = False,
    rest: Callable[[], None] | None = None,
    allocation: Allocation | None = None,
) -> list[Measurement]:
    """Do what is left of the plan in a run directory, and return all its measurements.

    ``rest`` is called before the first run and after each: meters need the machine idle there. In an ``allocation`` runs
    may go over several of its hosts, or side by side on each.

    A run that fails is recorded and does not stop the rest. Raises StoreFailed when a result cannot be kept (after
    saving it elsewhere), CannotMeasure when another harness is at work in the directory. On KeyboardInterrupt the run
    under way is ended and not kept; what is whole stays.
    """
    progress = progress or Silent()
    clear_leftovers(directory)
    records = directory.load().measurements
    if retry_failed:
        records = [record for record in records if record.state == "ok"]
    hosts = allocation.hosts if allocation else ()
    spent_s = spent(records)
    rested = rest is None
    while step := next_step(plan, done := history(plan, records, hosts), spent_s):
        begun = time.monotonic()
        if allocation and allocation.end_s and allocation.end_s - door.now_ns() * 1e-9 < step.run.estimate_s + END_S:
            progress.stop(step)
            break
        if rest and not rested:
            rest()
            rested = True
        total = len(plan.runs) if step.repeat == 1 else sum(run.repeat_max >= step.repeat for run in plan.runs)
        progress.begin(step, plan.runs.index(step.run) + 1, total, left_s(plan, done, spent_s))
        if step.run.each and allocation:
            whole = {one.host for one in records if (one.run, one.repeat) == step_key(step)}
            left = tuple(host for host in hosts if host not in whole)
            found = fanout.run(directory, step, machine, allocation, left, door, progress.advance)
        else:
            found = [run_once(directory, step, machine, door, progress.advance, allocation=allocation)]
        records += found
        for record in found:
            progress.end(step, record)
        if rest:
            rest()
        spent_s += time.monotonic() - begun
    return records


def step_key(step: Step) -> tuple[str, int]:
    """What names a step in a history."""
    return step.run.id, step.repeat


def spent(records: Iterable[Measurement]) -> float:
    """Seconds that runs took; copies that ran side by side took theirs once."""
    longest: dict[tuple[str, int], float] = {}
    for one in records:
        key = (one.run, one.repeat)
        longest[key] = max(longest.get(key, 0.0), (one.end_ns - one.begin_ns) * 1e-9)
    return sum(longest.values())


def history(plan: Plan, records: Iterable[Measurement], hosts: Sequence[str] = ()) -> dict[tuple[str, int], Done]:
    """What is whole. A run on each host is so when it is on every one of ``hosts``, and is repeated while any is ok."""
    each = {run.id for run in plan.runs if run.each}
    copies: dict[tuple[str, int], list[Measurement]] = {}
    done: dict[tuple[str, int], Done] = {}
    for one in records:
        if one.run in each and hosts:
            copies.setdefault((one.run, one.repeat), []).append(one)
        else:
            done[one.run, one.repeat] = summary(one)
    for key, group in copies.items():
        if {one.host for one in group} >= set(hosts):
            parts = [summary(one) for one in group if one.host in hosts]
            good = [part for part in parts if part.state in SCORED]
            medians = tuple(median for part in good for median in part.medians)
            done[key] = Done(good[0].state, medians) if good else parts[0]
    return done


def clear_leftovers(directory: RunDirectory) -> None:
    """End what an earlier harness left running here. Raises CannotMeasure when that harness itself is still at work."""
    for job in directory.jobs_left():
        if job.pid is None or job.host != os.uname().nodename:
            continue
        owner = job.env.get("SHAKEDOWN_HARNESS", "")
        pid, _, start = owner.partition(":")
        if pid.isdigit() and int(pid) != os.getpid() and alive(int(pid), int(start or 0)):
            raise CannotMeasure(
                f"another harness (process {pid}) is at work in this run directory",
                where=str(directory.path),
                hint="wait for it, or end it and resume",
            )
        if alive(job.pid, job.pid_start or 0):
            kill_group(job.pid)


def run_once(
    directory: RunDirectory,
    step: Step,
    machine: Machine,
    door: Door,
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
        command = workloads.get(run.workload).command(run.params, where.host)
        hosts = () if command.starts_itself else where.hosts or where.alone
        argv, env = launchers.wrap(command, where.host, allocation=allocation, hosts=hosts)
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
    watch = Watch.begin(door)
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
        text = f"the host's clock was set by {jump_s:+.1f} s during the run; its end is told by the monotonic clock"
        advice = "let the clock be slewed, not stepped (chrony); energies of this run are not to be trusted"
        notices.append(Notice(code="clock-jump", text=text, advice=advice))
    if ended.lost:
        text = f"the program's output could not be kept: {ended.lost}"
        advice = "free some space; the measurement itself was kept in memory"
        notices.append(Notice(code="output-lost", text=text, advice=advice))
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
