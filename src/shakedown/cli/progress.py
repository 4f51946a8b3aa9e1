"""Live progress of a campaign on standard error: a line for each run that ended, and below it what is under way.

On a terminal the last line is drawn anew (rich); elsewhere there is a line a run and nothing moves.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType

from .. import workloads
from ..analysis.values import best, told, void
from ..campaign.plan import label_on
from ..errors import plain
from ..records import SCORED, Measurement
from ..run.loop import Step
from ..units import show, show_seconds


class Live:
    """Implements execute.Progress."""

    def __init__(self, *, terminal: bool | None = None) -> None:
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._bar = None
        self._begun = 0.0
        self._left_s = 0.0
        self._estimate_s = 0.0
        self._last = 0.0
        if self._terminal:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.fields[left]}"),
                console=Console(stderr=True),
                transient=True,
                refresh_per_second=2,
                auto_refresh=False,
            )
            self._task = self._bar.add_task("", total=1.0, left="")

    def __enter__(self) -> Live:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def begin(self, step: Step, index: int, total: int, left_s: float) -> None:
        self._begun, self._left_s, self._estimate_s = time.monotonic(), left_s, step.run.estimate_s
        again = f", repeat {step.repeat}" if step.repeat > 1 else ""
        if self._bar:
            self._bar.update(
                self._task,
                description=plain(f"{step.run.label}{again}"),
                completed=0.0,
                left=f"about {show_seconds(left_s)} left",
            )
            self._bar.refresh()

    def advance(self, fraction: float | None, text: str) -> None:
        now = time.monotonic()
        if not self._bar or now - self._last < 0.5:  # drawing must not disturb what is measured
            return
        self._last = now
        left_s = max(0.0, self._left_s - min(now - self._begun, self._estimate_s))
        self._bar.update(self._task, completed=fraction or 0.0, left=f"about {show_seconds(left_s)} left")
        self._bar.refresh()

    def end(self, step: Step, record: Measurement) -> None:
        took = show_seconds((record.end_ns - record.begin_ns) * 1e-9)
        again = f", repeat {step.repeat}" if step.repeat > 1 else ""
        line = (
            f"  {'ok' if record.state == 'ok' else record.state:<11} {label_on(step.run, record.host)}{again} ({took})"
        )
        line = plain(f"{line}  {outcome(record)}")
        if self._bar:
            self._bar.console.print(line.rstrip(), highlight=False, markup=False, soft_wrap=True)
        else:
            print(line.rstrip(), file=sys.stderr, flush=True)

    def stop(self, step: Step) -> None:
        print(f"  not begun   {step.run.label}: the allocation ends before it would", file=sys.stderr, flush=True)


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
