"""Several probes at once, each in a thread of its own, none waited for beyond a common limit.

A file of a driver that is stuck blocks whoever reads it, without a way to break off: the thread is left behind (a
daemon, so it does not keep the program alive) and its probe counts as not answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from ..errors import ShakedownError

T = TypeVar("T")

#: What a probe may meet on a machine that is not as it expected. Anything else is a fault of the program and is raised.
FAILURES = (OSError, ValueError, LookupError, ShakedownError)


class Answer(NamedTuple, Generic[T]):
    """What a task gave, or None and why not."""

    value: T | None
    why: str = ""


def _reason(error: Exception) -> str:
    """Why, in words: what Python calls the error tells a reader nothing."""
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename, error.strerror or "cannot be read") if part)
    if isinstance(error, LookupError):
        return "something that was looked for in what the system gave is not in it"
    return str(error) or "what the system gave could not be understood"


def together(tasks: Mapping[str, Callable[[], T]], limit_s: float) -> dict[str, Answer[T]]:
    """Run all tasks; each has its answer, at the latest after ``limit_s`` seconds.

    An exception of ``FAILURES`` becomes the answer's ``why``; any other is raised here.
    """
    answers: dict[str, Answer[T]] = {}
    raised: list[BaseException] = []

    def work(name: str, task: Callable[[], T]) -> None:
        try:
            answers[name] = Answer(task())
        except FAILURES as error:
            answers[name] = Answer(None, _reason(error))
        except BaseException as error:  # handed to the caller, who raises it
            raised.append(error)

    workers = [threading.Thread(target=work, args=item, daemon=True) for item in tasks.items()]
    deadline = time.monotonic() + limit_s
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
    if raised:
        raise raised[0]
    late = Answer[T](None, f"no answer within {limit_s:g} s: a driver or a file system may be stuck")
    return {name: answers.get(name, late) for name in tasks}
