"""Work in child processes that nobody waits for: one child a task, a common limit, and what is stuck is left behind.

A thread that a driver holds in the kernel would keep this whole process from ending, and whoever started it (slurmd,
Nagios) would wait with it; a child is inherited by init. A child lets go of all that it was given but its own pipe, so
that no reader of our output waits for it either. What it is about to touch it writes into memory that it shares with its
parent: no system call, and still there when the child hangs.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

#: So many children work at once, beside those that have shown that they wait rather than work.
AT_ONCE = 4
#: A child without an answer after this time no longer counts among them.
WAITING_S = 0.15
#: How long a child that was killed has to go.
GRACE_S = 0.2
_NOTE_BYTES = 1024


class Task(NamedTuple):
    check: str
    part: str = ""


class Gone(NamedTuple):
    """A child that gave no answer."""

    why: str
    touched: str  # what it noted last
    pid: int
    started: str  # empty: it has ended. Otherwise it could not be killed


class _Child:
    def __init__(self, task: Task, pid: int, pipe: int, shared: mmap.mmap, begun: float) -> None:
        self.task, self.pid, self.pipe, self.shared, self.begun = task, pid, pipe, shared, begun
        self.data: list[bytes] = []
        self.whole = False

    def touched(self) -> str:
        return self.shared[:].split(b"\0", 1)[0].decode("utf-8", "replace")


Work = Callable[[Task, Callable[[str], None]], bytes]


def run(
    tasks: Iterable[Task],
    work: Work,
    limit_s: float,
    more: Callable[[Task, bytes], Iterable[Task]] = lambda task, data: (),
) -> dict[Task, bytes | Gone]:
    """The bytes that ``work`` gives for each task, or what became of the child; after ``limit_s`` seconds at the latest,
    and ``GRACE_S``. ``more`` names tasks that an answer brings with it. Nothing that ``work`` raises comes out of a child:
    it must put into its bytes what the parent shall know."""
    waiting = list(tasks)
    living: dict[int, _Child] = {}
    done: dict[Task, bytes | Gone] = {}
    deadline = time.monotonic() + limit_s
    poll = select.poll()
    gc.collect()
    gc.freeze()  # the collector would touch, and so copy, the pages that children share with us
    try:
        while (waiting or living) and (now := time.monotonic()) < deadline:
            busy = sum(now - one.begun < WAITING_S for one in living.values())
            while waiting and busy < AT_ONCE:
                child = _start(waiting.pop(0), work)
                living[child.pipe] = child
                poll.register(child.pipe, select.POLLIN | select.POLLHUP)
                busy += 1
            wait_s = min(deadline - now, WAITING_S if waiting else deadline - now)
            for pipe, _ in poll.poll(max(1.0, wait_s * 1000)):
                child = living[pipe]
                if _read(child):
                    continue
                poll.unregister(pipe)
                del living[pipe]
                _close(child)
                data = b"".join(child.data)
                ended = _reaped(child.pid, GRACE_S if not data else 0.005)
                done[child.task] = data if data else _gone(child, "its child ended without an answer", ended)
                waiting += more(child.task, data) if data else ()
    finally:
        gc.unfreeze()
    done.update(_abandoned(list(living.values()), limit_s))
    for task in waiting:
        done[task] = Gone(f"not begun within {limit_s:g} s: too much else is stuck", "", 0, "")
    return done


def _start(task: Task, work: Work) -> _Child:
    mine, its = os.pipe()
    shared = mmap.mmap(-1, _NOTE_BYTES)
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _be_child(task, work, its, shared)
    os.close(its)
    os.set_blocking(mine, False)
    return _Child(task, pid, mine, shared, begun)


def _be_child(task: Task, work: Work, pipe: int, shared: mmap.mmap) -> None:
    """Never returns."""
    code = 1
    try:
        gc.disable()
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, pipe)
        os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))

        def note(what: str) -> None:
            data = what.encode("utf-8", "replace")[: _NOTE_BYTES - 1] + b"\0"
            shared[: len(data)] = data

        data = memoryview(work(task, note))
        while data:
            data = data[os.write(pipe, data) :]
        code = 0
    finally:
        os._exit(code)


def _read(child: _Child) -> bool:
    """Takes what has come; whether more may."""
    try:
        data = os.read(child.pipe, 1 << 16)
    except BlockingIOError:
        return True
    child.data.append(data)
    return bool(data)


def _close(child: _Child) -> None:
    os.close(child.pipe)


def _reaped(pid: int, limit_s: float) -> bool:
    """Whether the child is gone by then. Never waits in the kernel: a child may hang in its very end."""
    deadline = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.001)
                continue
        return True


def _gone(child: _Child, why: str, ended: bool) -> Gone:
    return Gone(why, child.touched(), child.pid, "" if ended else started(child.pid) or "")


def _abandoned(children: list[_Child], limit_s: float) -> dict[Task, bytes | Gone]:
    """Kill what gave no answer, with whatever it started; say which could not be."""
    for one in children:
        _close(one)
        for kill in (os.killpg, os.kill):  # the second for one that has not yet got its own session
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(one.pid, signal.SIGKILL)
    deadline = time.monotonic() + GRACE_S
    return {
        one.task: _gone(one, f"no answer within {limit_s:g} s", _reaped(one.pid, max(0.0, deadline - time.monotonic())))
        for one in children
    }


def started(pid: int) -> str | None:
    """When a process began, in the kernel's ticks: with the pid it names one process. None: it is gone, or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def held_at(pid: int) -> str:
    """The function of the kernel that a process waits in; empty where that may not be known."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="utf-8", errors="replace") as file:
            return file.read().strip("0\n ")
    except OSError:
        return ""
