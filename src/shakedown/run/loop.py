"""Run a plan: the schedule says what comes next, and a thin loop does it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Protocol

from ..errors import CannotMeasure
from ..hosts.access import HostAccess
from ..hosts.process import alive, kill_group
from ..records import Machine, Measurement, Plan
from ..results.run_directory import RunDirectory
from ..schedulers import Allocation
from ..units import whole_number
from .multihost import fanout
from .schedule import Step, history, left_s, missing, next_step, spent, split, step_key
from .single import run_once

#: What a harness needs before its job's end: to end the run under way, write it down, and stop.
END_S = 15.0


class Progress(Protocol):
    """What a person is told while the plan runs. All calls return at once."""

    def begin(self, step: Step, index: int, total: int, left_s: float) -> None: ...
    def advance(self, fraction: float | None, text: str) -> None: ...
    def end(self, step: Step, record: Measurement) -> None: ...
    def stop(self, step: Step, why: str) -> None:
        """A step of the plan is not begun: the time that is left is too short for it."""


class Silent:
    """Tells nobody."""

    def begin(self, step: Step, index: int, total: int, left_s: float) -> None:
        pass

    def advance(self, fraction: float | None, text: str) -> None:
        pass

    def end(self, step: Step, record: Measurement) -> None:
        pass

    def stop(self, step: Step, why: str) -> None:
        pass


def execute(
    directory: RunDirectory,
    plan: Plan,
    machine: Machine,
    door: HostAccess,
    progress: Progress | None = None,
    *,
    retry_failed: bool = False,
    rest: Callable[[], None] | None = None,
    allocation: Allocation | None = None,
    time_limit_s: float = math.inf,
) -> list[Measurement]:
    """Do what is left of the plan in a run directory, and return all its measurements.

    ``rest`` is called before the first run and after each: meters need the machine idle there. In an ``allocation`` runs
    may go over several of its hosts, or side by side on each. No run is begun that would, by its estimate, end after the
    allocation or ``time_limit_s`` from now.

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
    again = split(plan, records, hosts)
    records = [record for record in records if (record.run, record.repeat) not in again]
    spent_s = spent(records)
    rested = rest is None
    ends = time.monotonic() + time_limit_s
    while step := next_step(
        plan, done := history(plan, records, hosts), spent_s, _time_left_s(allocation, door, ends)[0]
    ):
        begun = time.monotonic()
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
    for step in missing(plan, done):
        progress.stop(step, _time_left_s(allocation, door, ends)[1])
    return records


def _time_left_s(allocation: Allocation | None, door: HostAccess, ends: float) -> tuple[float, str]:
    """Seconds in which a run must end, infinite where nothing limits them, and what is said of one that would not."""
    of_limit = ends - time.monotonic(), "the time limit ends before it would"
    if allocation is None or not allocation.end_s:
        return of_limit
    return min(of_limit, (allocation.end_s - door.now_ns() * 1e-9 - END_S, "the allocation ends before it would"))


def clear_leftovers(directory: RunDirectory) -> None:
    """End what an earlier harness left running here. Raises CannotMeasure when that harness itself is still at work."""
    for job in directory.jobs_left():
        if job.pid is None or job.host != os.uname().nodename:
            continue
        owner = job.env.get("SHAKEDOWN_HARNESS", "")
        pid, start = (whole_number(word) for word in owner.partition(":")[::2])
        if pid is not None and pid != os.getpid() and alive(pid, start or 0):
            raise CannotMeasure(
                f"another harness (process {pid}) is at work in this run directory",
                where=str(directory.path),
                hint="wait for it, or end it and resume",
            )
        if alive(job.pid, job.pid_start or 0):
            kill_group(job.pid)
