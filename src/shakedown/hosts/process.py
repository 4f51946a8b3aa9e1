"""One child process: started in a group of its own, its output kept as it comes, ended whole at its limit."""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ..programs import events
from ..units import whole_number
from .access import inherited

#: Output past this is read and dropped: a program that prints without end must not fill memory or the disk.
OUTPUT_LIMIT_BYTES = 256 * 2**20
_GRACE_S = 2.0
_ENDS_S = 5.0  # after SIGKILL: only a call of the kernel that does not return takes longer


class Exit(NamedTuple):
    code: int | None  # None when it was ended by a signal or never started
    signal: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    wall_s: float
    cpu_s: float  # user and system time of the process and its waited-for children
    lost: str  # why output could not be written to its file; empty when it was
    stuck: str = ""  # why it has not ended, though it was killed; empty when it has


class Process:
    """A child under way. Its output goes to ``stdout`` and ``stderr`` in ``folder`` as it comes, and stays in memory. It
    runs in ``folder``, or in ``cwd`` where one is given."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], folder: Path, stdin: str = "", cwd: Path | None = None
    ) -> None:
        self._begun = time.monotonic()
        self._start_error = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._kept: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        self._size = {"stdout": 0, "stderr": 0}
        self._lost = ""
        self._files: dict[str, IO[bytes]] = {}
        for name in self._kept:
            try:
                self._files[name] = open(folder / name, "wb", buffering=0)  # noqa: SIM115 - closed when it ended
            except OSError as error:
                self._lost = str(error)
        # A crashed rank would leave an image of its memory in the run directory. srun passes this limit on.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        try:
            self._child = subprocess.Popen(
                list(argv),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd or folder,
                env=inherited(env),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )
            if stdin and self._child.stdin:
                self._child.stdin.write(stdin.encode())
                self._child.stdin.close()
        except OSError as error:
            self._start_error = f"could not be started: {error}"
        self.start_ticks = start_ticks(self.pid) if self.pid is not None else None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    def wait(self, limit_s: float, estimate_s: float, advance: Callable[[float | None, str], None]) -> Exit:
        """Wait until it ends or ``limit_s`` has passed; then its whole group is ended."""
        child = self._child
        if child is None:
            self._keep("stderr", self._start_error.encode())
            return self._exit(None, None, False, 0.0)
        assert child.stdout is not None and child.stderr is not None
        with selectors.DefaultSelector() as selector:
            for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, name)
            end = os.pidfd_open(child.pid)
            selector.register(end, selectors.EVENT_READ, "exit")
            try:
                timed_out = self._listen(selector, limit_s, estimate_s, advance)
            finally:
                os.close(end)
        if timed_out:
            kill_group(child.pid)
        self._drain(child)
        ended = _reaped(child)
        kill_group(child.pid, grace_s=0)  # what it left running must not disturb the next run
        if ended is None:
            stuck = f"process {child.pid} waits in the kernel for what does not answer, and cannot be ended"
            return self._exit(None, None, timed_out, 0.0)._replace(stuck=stuck)
        code, cpu_s = ended
        return self._exit(code if code >= 0 else None, -code if code < 0 else None, timed_out, cpu_s)

    def kill(self) -> None:
        """End it and its group at once."""
        if self._child is not None and self._child.returncode is None:
            kill_group(self._child.pid)
            _reaped(self._child)
        self._close()

    def _listen(
        self,
        selector: selectors.BaseSelector,
        limit_s: float,
        estimate_s: float,
        advance: Callable[[float | None, str], None],
    ) -> bool:
        deadline = self._begun + limit_s
        while True:
            now = time.monotonic()
            if now >= deadline:
                return True
            for key, _ in selector.select(min(deadline - now, 0.25)):
                if key.data == "exit":
                    return False
                data = os.read(key.fd, 1 << 20)
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                self._keep(key.data, data)
                if key.data == "stdout":
                    _tell(data, advance)
            passed = time.monotonic() - self._begun
            advance(min(passed / estimate_s, 0.99) if estimate_s > 0 else None, "")

    def _drain(self, child: subprocess.Popen[bytes]) -> None:
        """Read what is still in the pipes. A grandchild that holds them open is not waited for."""
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            assert pipe is not None
            try:
                while data := os.read(pipe.fileno(), 1 << 20):
                    self._keep(name, data)
            except BlockingIOError:
                pass
            pipe.close()

    def _keep(self, name: str, data: bytes) -> None:
        room = OUTPUT_LIMIT_BYTES - self._size[name]
        if room <= 0:
            self._lost = f"more than {OUTPUT_LIMIT_BYTES >> 20} MiB of {name}"
            return
        self._size[name] += len(data)
        self._kept[name].append(data[:room])
        if name in self._files:
            try:
                self._files[name].write(data[:room])
            except OSError as error:
                self._lost = str(error)

    def _close(self) -> None:
        for file in self._files.values():
            file.close()

    def _exit(self, code: int | None, by_signal: int | None, timed_out: bool, cpu_s: float) -> Exit:
        self._close()
        if self._start_error:
            code = 127
        return Exit(
            code,
            by_signal,
            b"".join(self._kept["stdout"]),
            b"".join(self._kept["stderr"]),
            timed_out,
            time.monotonic() - self._begun,
            cpu_s,
            self._lost,
        )


def _reaped(child: subprocess.Popen[bytes]) -> tuple[int, float] | None:
    """How a child that ended or was killed did: its exit code (a signal is negative) and its seconds of processor. None
    where it does not end: a process in a call to storage that hangs is not killed before that answers."""
    deadline = time.monotonic() + _ENDS_S
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage.ru_utime + usage.ru_stime
        if time.monotonic() >= deadline:
            child.returncode = -signal.SIGKILL  # nobody waits for it any more
            return None
        time.sleep(0.01)


def _tell(data: bytes, advance: Callable[[float | None, str], None]) -> None:
    """Pass on the last progress event in what was just read."""
    for line in reversed(data.splitlines()):
        if b'"event":"progress"' in line and (event := events.parse_line(line)):
            advance(event.get("done"), str(event.get("text", "")))
            return


def start_ticks(pid: int) -> int | None:
    """When a process began, in clock ticks since boot (field 22 of /proc/PID/stat); None where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def alive(pid: int, start: int) -> bool:
    """Whether that very process still runs: the id and its start agree, and it is not a zombie."""
    if start_ticks(pid) != start:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def kill_group(pid: int, grace_s: float = _GRACE_S) -> None:
    """Ask a process group to end, and end it after the grace. Silent where it has ended already."""
    try:
        if grace_s > 0:
            os.killpg(pid, signal.SIGTERM)
            deadline = time.monotonic() + grace_s
            while time.monotonic() < deadline and group_alive(pid):
                time.sleep(0.01)
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def group_alive(group: int) -> bool:
    """Whether the leader of the group still runs (a zombie does not)."""
    try:
        return Path(f"/proc/{group}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def pids() -> list[int]:
    """All processes, as this host counts them."""
    return [pid for name in os.listdir("/proc") if (pid := whole_number(name)) is not None]


def facts_of(pid: int, name: str) -> bytes:
    """A file of ``/proc`` about a process; empty where it has ended or may not be looked at."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def innermost_id(pid: int) -> int:
    """The number that a process has in its own process namespace; 0 where it has ended."""
    for line in facts_of(pid, "status").splitlines():
        if line.startswith(b"NSpid:"):
            return int(line.split()[-1])
    return 0
