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

from ...units import whole_number

#: So many children work at once, beside those that have shown that they wait rather than work.
AT_ONCE = 4
#: A child without an answer after this time no longer counts among them.
WAITING_S = 0.15
#: How long a child that was killed has to go.
GRACE_S = 0.2
#: Children of this process whose exits were not yet taken.
_UNREAPED: set[int] = set()
_NOTE_BYTES = 1024
_LENGTH_BYTES = 8


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
    it must put into its bytes what the parent shall know. Children of earlier calls that have ended since are reaped."""
    reap()
    waiting = list(tasks)
    living: dict[int, _Child] = {}
    done: dict[Task, bytes | Gone] = {}
    poll = select.poll()
    # The collector would touch, and so copy, the pages that children share with us; a large caller may have seen to that.
    frozen = gc.get_freeze_count() > 0
    if not frozen:
        gc.collect()
        gc.freeze()
    deadline = time.monotonic() + limit_s  # of the children alone: a large caller is itself long in collecting
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
                os.close(child.pipe)
                done[child.task] = answer = _answer(child)
                waiting += more(child.task, answer) if isinstance(answer, bytes) else ()
    finally:
        if not frozen:
            gc.unfreeze()
    done.update(_abandoned(list(living.values()), limit_s))
    reap()
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
    _UNREAPED.add(pid)
    os.set_blocking(mine, False)
    return _Child(task, pid, mine, shared, begun)


def _be_child(task: Task, work: Work, pipe: int, shared: mmap.mmap) -> None:
    """Never returns."""
    code = 1
    try:
        gc.disable()
        _UNREAPED.clear()  # they are its parent's
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

        answer = work(task, note)
        data = memoryview(len(answer).to_bytes(_LENGTH_BYTES, "big") + answer)
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


def _answer(child: _Child) -> bytes | Gone:
    """What a child said before it closed its end: all of it, or that it did not come to an end."""
    data = b"".join(child.data)
    if len(data) >= _LENGTH_BYTES and len(data) == _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big"):
        _reaped(child.pid, 0.005)
        return data[_LENGTH_BYTES:]
    return _gone(child, "its child ended without an answer", _reaped(child.pid, GRACE_S))


def _reaped(pid: int, limit_s: float) -> bool:
    """Whether the child is gone by then. Never waits in the kernel: a child may hang in its very end."""
    deadline = time.monotonic() + limit_s
    while not _reap(pid):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.001)
    return True


def _reap(pid: int) -> bool:
    """Take the exit of a child, if it has ended; whether it has."""
    with contextlib.suppress(ChildProcessError):  # whoever else waits for children of this process took it
        if os.waitpid(pid, os.WNOHANG) == (0, 0):
            return False
    _UNREAPED.discard(pid)
    return True


def reap() -> int:
    """Take the exits of all children that have ended by now: those that hung when they were given up, and those that took
    longer to end than to answer. A caller that lives on keeps no zombie of theirs past its next call of this or ``run``.
    Returns how many are still there."""
    for pid in tuple(_UNREAPED):
        _reap(pid)
    return len(_UNREAPED)


def _gone(child: _Child, why: str, ended: bool) -> Gone:
    """What is left of a child: itself, or a program that it started and that cannot be killed either."""
    pid = _left_in(child.pid) if ended else child.pid
    return Gone(why, child.touched(), pid or child.pid, started(pid) or "" if pid else "")


def _left_in(group: int) -> int:
    """A process of a group that is still there; 0 where none is."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return 0
    for word in os.listdir("/proc"):
        pid = whole_number(word)
        if pid is not None and (fields := _stat(pid)) and fields[0] not in "ZX" and fields[2] == str(group):
            return pid
    return 0


def _abandoned(children: list[_Child], limit_s: float) -> dict[Task, bytes | Gone]:
    """Kill what gave no answer, with whatever it started; say which could not be."""
    for one in children:
        os.close(one.pipe)
        for kill in (os.killpg, os.kill):  # the second for one that has not yet got its own session
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(one.pid, signal.SIGKILL)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline and any(started(one.pid) or _left_in(one.pid) for one in children):
        time.sleep(0.01)  # what can be killed is gone by then, programs that children started among it
    return {
        one.task: _gone(one, f"no answer within {limit_s:g} s", _reaped(one.pid, max(0.0, deadline - time.monotonic())))
        for one in children
    }


def started(pid: int) -> str | None:
    """When a process began, in the kernel's ticks: with the pid it names one process. None: it is gone, or a zombie."""
    fields = _stat(pid)
    return None if not fields or fields[0] in "ZX" else fields[19]


def state_of(pid: int) -> str:
    """One letter of /proc/PID/stat; empty for a process that is gone."""
    return (_stat(pid) or [""])[0]


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name: state, parent, group ...; empty for a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def held_at(pid: int) -> str:
    """The function of the kernel that a process waits in; empty where that may not be known."""
    try:
        with open(f"/proc/{pid}/wchan", encoding="utf-8", errors="replace") as file:
            return file.read().strip("0\n ")
    except OSError:
        return ""
