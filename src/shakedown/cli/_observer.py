"""What a person on a terminal is told of a run: lines on standard error, live progress, and who waits for what."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from ..document.terminal import say
from ..run.loop import Progress
from ..schedulers import Scheduler
from ._patience import WaitReporter
from .progress import Live


class Terminal:
    """Implements run.observer.Observer."""

    def say(self, text: str) -> None:
        say(text)

    def live(self) -> AbstractContextManager[Progress]:
        return Live()

    @contextlib.contextmanager
    def waiting(self, engine: Scheduler, job: str) -> Iterator[Callable[[str], None]]:
        with WaitReporter(f"job {job}", engine.title, engine.look(job), say) as patience:
            yield patience.hear
