"""Who is told how a run goes on: a person, through whatever shows it. The modules of this room print nothing themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from .. import workloads
from ..analysis.values import best, told, void
from ..campaign.plan import label_on
from ..errors import plain
from ..records import SCORED, Measurement, Run
from ..schedulers import Scheduler
from ..units import show, show_seconds
from .loop import Progress
from .schedule import Step


class Observer(Protocol):
    """What a session tells. All calls return at once."""

    def say(self, text: str) -> None:
        """A message to a person."""

    def live(self) -> AbstractContextManager[Progress]:
        """Around the runs of a plan: who is told of each."""

    def waiting(self, engine: Scheduler, job: str) -> AbstractContextManager[Callable[[str], None]]:
        """Around the watching of a job: whom to tell, after every look at it, what did not answer; "" where all did."""


class Lines:
    """Observer and Progress: a line for every message and every run that ended, and nothing that moves."""

    def __init__(self, say: Callable[[str], None] = lambda text: None) -> None:
        self.say = say

    def live(self) -> AbstractContextManager[Progress]:
        return contextlib.nullcontext(self)

    @contextlib.contextmanager
    def waiting(self, engine: Scheduler, job: str) -> Iterator[Callable[[str], None]]:
        yield lambda missing: None

    def begin(self, step: Step, index: int, total: int, left_s: float) -> None:
        pass

    def advance(self, fraction: float | None, text: str) -> None:
        pass

    def end(self, step: Step, record: Measurement) -> None:
        self.say(line(step.run, record))

    def stop(self, step: Step, why: str) -> None:
        self.say(not_begun(step, why))


def line(run: Run | None, record: Measurement) -> str:
    """One line of a run that ended: its state, what it was, how long it took, what it gave."""
    took = show_seconds((record.end_ns - record.begin_ns) * 1e-9)
    again = f", repeat {record.repeat}" if record.repeat > 1 else ""
    label = label_on(run, record.host) if run else record.workload
    return plain(f"  {record.state:<11} {label}{again} ({took})  {outcome(record)}").rstrip()


def not_begun(step: Step, why: str) -> str:
    """The line of a run for which no time is left."""
    again = f", repeat {step.repeat}" if step.repeat > 1 else ""
    return plain(f"  not begun   {step.run.label}{again}: {why}")


def outcome(record: Measurement) -> str:
    """What a run gave, in a few words: its first metric at its best, or why there is none."""
    if record.state not in SCORED:
        return record.reason
    found = best(workloads.get(record.workload).metrics, record.cases)
    if found is None:
        return _no_figure(record)
    metric, case, value = found
    words = f"{metric.title}: {show(value, metric.unit)}{told(metric, case.params)}"
    return words if record.state == "ok" else f"{words}; {record.reason}"


def _no_figure(record: Measurement) -> str:
    """Why nothing that a run gave measures what its metrics are of."""
    metrics = workloads.get(record.workload).metrics
    whys = (void(metric, case.params) for case in record.cases for metric in metrics if metric.kernel == case.kernel)
    return next(filter(None, whys), "")
