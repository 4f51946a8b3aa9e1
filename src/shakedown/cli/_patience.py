"""What a person is told who waits for an engine that does not answer: for what, since when, how to look; soon, then rarely.

An engine's command may itself hang until its limit, so this speaks from a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from .. import times
from ..units import show_seconds

#: Seconds of silence after which it is said what is waited for; after the last, every so many seconds again.
SAY_S = (10.0, 60.0, 600.0)
AGAIN_S = 3600.0


def due_s(said: int) -> float:
    """After how many seconds of silence the next word is due, so many having been said. Pure."""
    return SAY_S[said] if said < len(SAY_S) else SAY_S[-1] + AGAIN_S * (said - len(SAY_S) + 1)


def words(job: str, title: str, what: str, look: Sequence[str], begun_s: float, silent_s: float) -> str:
    """What is said: ``begun_s`` is the Unix time since when there is no answer. Pure but for the time zone."""
    since = times.here(begun_s, "%H:%M:%S")
    return (
        f"  {job} waits for {title} since {since} ({show_seconds(silent_s)}): {what or 'no answer yet'}\n"
        f"    look: {', or '.join(look)}; Ctrl-C leaves the job as it is"
    )


class WaitReporter:
    """Speaks while nothing is heard. ``hear`` is told of every look at the job."""

    def __init__(self, job: str, title: str, look: Sequence[str], say: Callable[[str], None]) -> None:
        self._job, self._title, self._look, self._say = job, title, look, say
        self._changed = threading.Condition()
        self._ended = False
        self._since, self._since_s = time.monotonic(), time.time()
        self._what, self._said = "", 0
        self._thread = threading.Thread(target=self._speak, name="patience", daemon=True)

    def __enter__(self) -> WaitReporter:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def hear(self, missing: str) -> None:
        """A look at the job has ended: ``missing`` is what did not answer; empty where all did."""
        with self._changed:
            self._what = missing
            if not missing:
                self._since, self._since_s, self._said = time.monotonic(), time.time(), 0
            self._changed.notify()

    def _speak(self) -> None:
        with self._changed:
            while not self._ended:
                silent_s = time.monotonic() - self._since
                if silent_s >= due_s(self._said):
                    self._said += 1
                    self._say(words(self._job, self._title, self._what, self._look, self._since_s, silent_s))
                else:
                    self._changed.wait(due_s(self._said) - silent_s)
