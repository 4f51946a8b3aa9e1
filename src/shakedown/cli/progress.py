"""Live progress of a campaign on standard error: a line for each run that ended, and below it what is under way.

On a terminal the last line is drawn anew (rich); elsewhere there is a line a run and nothing moves.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType

from ..errors import plain
from ..records import Measurement
from ..run.observer import line, not_begun
from ..run.schedule import Step
from ..units import show_seconds


class Live:
    """Implements run.loop.Progress."""

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
        self._line(line(step.run, record))

    def stop(self, step: Step, why: str) -> None:
        self._line(not_begun(step, why))

    def _line(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)
