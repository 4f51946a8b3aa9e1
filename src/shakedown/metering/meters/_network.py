"""What the meters behind a network share: options, addresses, libraries that may be absent, and a source that keeps time.

A device that is slow must not hold the sampler up: every question runs in a thread of its own (``Bounded``), and past the
target's time limit the reading is a GAP, whatever the device still does. After a lost connection the pauses between tries
grow (``Pauses``); while one lasts, a reading costs nothing and is a GAP.
"""

from __future__ import annotations

import contextlib
import importlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from ...errors import BadInput, Unavailable, unknown
from ...hosts.access import HostAccess
from . import PLACES, Channel, Place, Reading, Status, Target

_T = TypeVar("_T")

OPTIONS = {
    "timeout": "seconds that one reading may take",
    "host": "the node, rack or outlet that it measures; default: the address",
    "place": "where in the power path it sits: " + ", ".join(PLACES),
}


class Lost(Exception):
    """No usable answer: ``status`` says what that makes of the reading, ``wait_s`` for how long not to ask again.

    ``broken`` is false where the device answered well and had nothing to give: then nothing speaks against asking again.
    """

    def __init__(self, why: str, status: Status = Status.GAP, *, wait_s: float = 0.0, broken: bool = True) -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.wait_s = wait_s
        self.broken = broken


def library(module: str, package: str) -> Any:
    """An outside library, imported now. Raises Unavailable with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unavailable(f"the library {package} is not here ({error})", hint=f"pip install {package}") from None


def number(target: Target, name: str, default: float, *, least: float = 0.0) -> float:
    """An option as a number. Raises BadInput where it is none, or below ``least``."""
    text = target.options.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not value >= least:
        raise BadInput(f"{name}={text} is not a number of at least {least:g}", where=str(target), hint="fix the option")
    return value


def choice(target: Target, name: str, allowed: Sequence[str], default: str) -> str:
    """An option that is one of a few words. Raises BadInput, naming the nearest."""
    word = target.options.get(name, default)
    if word not in allowed:
        raise unknown(name, word, allowed, where=str(target))
    return word


def switch(target: Target, name: str, default: bool = False) -> bool:
    """An option that is 1 or 0 (or yes, no, true, false)."""
    words = {"1": True, "yes": True, "true": True, "": True, "0": False, "no": False, "false": False}
    text = target.options.get(name)
    if text is None:
        return default
    if text.lower() not in words:
        raise BadInput(f"{name}={text} is neither 1 nor 0", where=str(target), hint=f"write {name}=1 or {name}=0")
    return words[text.lower()]


def limit_s(target: Target, default: float) -> float:
    """How long one reading may take."""
    return number(target, "timeout", default, least=0.001)


def place(target: Target, default: Place) -> Place:
    """Where in the power path, as the user says or as the meter assumes."""
    return cast(Place, choice(target, "place", PLACES, default))


def endpoint(target: Target, port: int) -> tuple[str, int]:
    """The host and port of a target. Raises BadInput where there is none."""
    parts = urlsplit(f"//{target.address}")
    try:
        found = parts.port or port
    except ValueError:
        raise BadInput("the port is not a number from 1 to 65535", where=str(target), hint="fix it") from None
    if not parts.hostname:
        raise BadInput(f"the meter {target.meter} needs an address", hint=f"{target.meter}://HOST")
    return parts.hostname, found


def measured(target: Target, port: int) -> str:
    """The name for ``Channel.host``: the user's, else the address, with its port where that is not the usual one."""
    host, found = endpoint(target, port)
    return target.options.get("host") or (host if found == port else f"{host}:{found}")


class Pauses:
    """When to try again: at once after the first failure, then after pauses that double up to a minute."""

    def __init__(self, first_s: float = 0.5, most_s: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._clock = clock
        self._failures = 0
        self._until = 0.0

    def over(self) -> bool:
        """Whether to try now."""
        return self._clock() >= self._until

    def failed(self, wait_s: float = 0.0) -> None:
        """A try failed; the device asked for ``wait_s`` of quiet (Retry-After)."""
        pause = 0.0 if not self._failures else min(self._most_s, self._first_s * 2.0 ** (self._failures - 1))
        self._failures = min(self._failures + 1, 30)
        self._until = self._clock() + max(pause, wait_s)

    def worked(self) -> None:
        """A try worked: the next failure is a first one."""
        self._failures = 0
        self._until = 0.0


class Bounded:
    """One thread that runs one call at a time; whoever waits for it waits no longer than a limit."""

    def __init__(self, name: str) -> None:
        self._todo: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._running: Future[Any] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (item := self._todo.get()) is not None:
            what, future = item
            try:
                future.set_result(what())
            except BaseException as error:  # handed to whoever waits
                future.set_exception(error)
            del item, what, future

    def call(self, what: Callable[[], _T], limit: float) -> _T:
        """The result of ``what``. Raises TimeoutError past the limit, or at once while an earlier call still hangs."""
        if self._running is not None and not self._running.done():
            raise TimeoutError("the last question is still unanswered")
        self._running = Future()
        self._todo.put((what, self._running))
        return cast(_T, self._running.result(limit))

    def close(self, limit: float, end: Callable[[], object] = lambda: None) -> None:
        """Run ``end`` and end the thread, once it is idle; one that hangs is left to do so by itself."""
        self._todo.put((end, Future()))
        self._todo.put(None)
        self._thread.join(limit)


class Guarded:
    """A Source over a library whose driver may hang: asked in a thread of its own, with a limit.

    What opens it fills ``channels`` and says how all are read (``_read``) and how the library is let go of (``_shut``).
    """

    def __init__(self, door: HostAccess, thread: Bounded, limit_s: float) -> None:
        self.channels: tuple[Channel, ...] = ()
        self._now, self._thread, self._limit_s = door.now_ns, thread, limit_s
        self._closed = False

    def _read(self) -> list[Reading]:
        raise NotImplementedError

    def _shut(self) -> object:
        raise NotImplementedError

    def read(self) -> list[Reading]:
        """All channels once, or gaps where the driver does not answer in time."""
        before = self._now()
        with contextlib.suppress(TimeoutError):
            if not self._closed:
                return self._thread.call(self._read, self._limit_s)
        after = self._now()
        return [Reading(index, before, after, None, None, Status.GAP) for index in range(len(self.channels))]

    def close(self) -> None:
        """Shut the library down, unless a call hangs in it."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(TimeoutError):
                self._thread.call(self._shut, self._limit_s)
            self._thread.close(0.1)


class Polled:
    """A Source over a question that may fail.

    ``ask`` appends readings to the list it is given and raises Lost where it cannot go on; the channels that it did not
    reach get the status of that. ``end`` gives back sessions and sockets; it runs in the thread that asked. ``taken`` is
    told what is handed out, for whoever must remember it: an answer that came too late to count is not among it.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        ask: Callable[[list[Reading]], None],
        end: Callable[[], None],
        *,
        door: HostAccess,
        limit: float,
        thread: Bounded,
        taken: Callable[[Sequence[Reading]], None] = lambda readings: None,
    ) -> None:
        self.channels = tuple(channels)
        self._taken = taken
        self.trouble = ""  # why the last reading failed; empty where it did not
        self._ask = ask
        self._end: Callable[[], None] | None = end
        self._door = door
        self._limit = limit
        self._thread = thread
        self._pauses = Pauses()

    def read(self) -> Sequence[Reading]:
        """Ask once, all channels, within the limit."""
        got: list[Reading] = []
        before = self._door.now_ns()
        status = self._attempt(got)
        if status is None:
            self._taken(got)
            return got
        after = self._door.now_ns()
        reached = list(got)  # what comes after the limit is not taken: its stamps would be late
        self._taken(reached)
        seen = {reading.channel for reading in reached}
        missed = (index for index in range(len(self.channels)) if index not in seen)
        return [*reached, *(Reading(index, before, after, None, None, status) for index in missed)]

    def _attempt(self, got: list[Reading]) -> Status | None:
        """None where all went well, else the status of what is missing."""
        if self._end is None or not self._pauses.over():
            return Status.GAP
        try:
            self._thread.call(lambda: self._ask(got), self._limit)
        except Lost as lost:
            self.trouble = lost.why
            if lost.broken or lost.wait_s:
                self._pauses.failed(lost.wait_s)
            return lost.status
        except TimeoutError as error:
            self.trouble = str(error) or f"no answer within {self._limit:g} s"
            self._pauses.failed()
            return Status.GAP
        self.trouble = ""
        self._pauses.worked()
        return None

    def close(self) -> None:
        """End the session. May be called twice."""
        end, self._end = self._end, None
        if end is None:
            return
        self._thread.close(self._limit, end)


def connect(target: Target, thread: Bounded, what: Callable[[], _T], end: Callable[[], None], limit: float) -> _T:
    """The first questions of ``open``, within a limit. Raises Unavailable, with the thread ended, where they fail."""
    try:
        return thread.call(what, limit)
    except BaseException as error:
        thread.close(min(limit, 2.0), end)
        if isinstance(error, Lost):
            raise Unavailable(error.why, where=str(target), hint=_hint(target, error.status)) from None
        if isinstance(error, TimeoutError):
            raise Unavailable(
                f"no answer within {limit:g} s", where=str(target), hint="check the address, or give ?timeout= more"
            ) from None
        raise


def _hint(target: Target, status: Status) -> str:
    if status == Status.REFUSED and not target.address:
        return "run it as root, or let this user open the device"
    if status == Status.REFUSED:
        name = f"SHAKEDOWN_{target.meter.upper()}_PASSWORD"
        return f"give the user in the target (USER@HOST) and the password in {name} or ?password_file="
    return "check that the device is on, the address, and what lies between"
