"""The one door to the outside: read a file, list a folder, run a command, read the clock.

Everything that looks at a machine takes a Host door, so that a recording (a folder that holds a copy of ``/proc`` and
``/sys`` and transcripts of commands) replays any machine without having it. See docs on recordings in CONTRIBUTING.md.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

#: Meters' passwords: what measures power reads them, and nothing else inherits them.
_SECRET = re.compile(r"SHAKEDOWN_\w+_PASSWORD")


def inherited(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a program that is measured: ours without meters' passwords, and ``more``. (An engine's submit
    command does get them: the job that it starts reads the meters.)"""
    return {name: value for name, value in os.environ.items() if not _SECRET.fullmatch(name)} | dict(more or {})


class Result(NamedTuple):
    """What a command left. ``code`` is None where it could not be started or ran past its limit; ``err`` says why."""

    code: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0


class HostAccess(Protocol):
    """What a probe may do with the machine."""

    def read(self, path: str) -> str | None:
        """The text of a file, or None where it is absent or refused."""

    def read_bytes(self, path: str) -> bytes | None:
        """The bytes of a file, or None."""

    def list(self, path: str) -> list[str]:
        """The sorted names in a folder; empty where there is none."""

    def link(self, path: str) -> str | None:
        """Where a symbolic link points, as written, or None."""

    def run(self, argv: Sequence[str], *, limit_s: float = 10.0, env: Mapping[str, str] | None = None) -> Result:
        """Run a command and keep what it prints. Never raises."""

    def which(self, name: str) -> str | None:
        """The path of a program, or None."""

    def env(self, name: str) -> str | None:
        """An environment variable."""

    def now_ns(self) -> int:
        """Unix time in nanoseconds."""

    def name(self) -> str:
        """The host's name."""

    def architecture(self) -> str:
        """As ``uname -m`` prints it."""

    def affinity(self) -> tuple[int, ...]:
        """The logical CPUs that this process may use."""


class LocalHost:
    """This machine."""

    def read(self, path: str) -> str | None:
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes | None:
        try:
            return Path(path).read_bytes()
        except OSError:
            return None

    def list(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        try:
            return os.readlink(path)
        except OSError:
            return None

    def run(self, argv: Sequence[str], *, limit_s: float = 10.0, env: Mapping[str, str] | None = None) -> Result:
        try:
            child = subprocess.Popen(
                list(argv),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C", **(env or {})},
            )
        except OSError as error:
            return Result(None, "", str(error))
        try:
            out, err = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            _abandon(child)
            return Result(None, "", f"no answer within {limit_s:g} s")
        return Result(child.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def which(self, name: str) -> str | None:
        return shutil.which(name)

    def env(self, name: str) -> str | None:
        return os.environ.get(name)

    def now_ns(self) -> int:
        return time.time_ns()

    def name(self) -> str:
        return platform.node()

    def architecture(self) -> str:
        return platform.machine()

    def affinity(self) -> tuple[int, ...]:
        return tuple(sorted(os.sched_getaffinity(0)))


def _abandon(child: subprocess.Popen[bytes]) -> None:
    """End a child and its children. One that a driver holds in the kernel does not die: it is not waited for."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(1)
    for pipe in (child.stdout, child.stderr):
        if pipe:
            pipe.close()


class ReplayHost:
    """A machine that is replayed from a folder.

    ``root`` holds the files as they lay on the machine (``root/proc/cpuinfo``...). ``commands`` maps the words of a
    command to what it printed; a command that is not recorded is one that the machine does not have.
    """

    def __init__(
        self,
        root: Path,
        *,
        name: str = "recorded",
        architecture: str = "x86_64",
        commands: Mapping[tuple[str, ...], Result | str] | None = None,
        affinity: tuple[int, ...] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._root = root
        self._name = name
        self._architecture = architecture
        self._commands = dict(commands or {})
        self._affinity = affinity
        self._environment = dict(environment or {})

    def _at(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def read(self, path: str) -> str | None:
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes | None:
        try:
            return self._at(path).read_bytes()
        except OSError:
            return None

    def list(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._at(path)))
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        try:
            return os.readlink(self._at(path))
        except OSError:
            return None

    def run(self, argv: Sequence[str], *, limit_s: float = 10.0, env: Mapping[str, str] | None = None) -> Result:
        found = self._commands.get(tuple(argv))
        if found is None:
            return Result(None, "", f"{argv[0]}: not recorded")
        return Result(0, found, "") if isinstance(found, str) else found

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if any(words[0] == name for words in self._commands) else None

    def env(self, name: str) -> str | None:
        return self._environment.get(name)

    def now_ns(self) -> int:
        return 0

    def name(self) -> str:
        return self._name

    def architecture(self) -> str:
        return self._architecture

    def affinity(self) -> tuple[int, ...]:
        if self._affinity is not None:
            return self._affinity
        try:
            return parse_cpu_list(self.read("/sys/devices/system/cpu/online") or "0")
        except ValueError:  # which CPUs this process might use is then not known
            return ()


#: More logical CPUs than any kernel is built for (CONFIG_NR_CPUS is at most 8192 on x86, 4096 on Arm).
_MOST_CPUS = 1 << 16


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """The CPUs of a kernel list such as ``0-3,8,10-11``; empty for an empty text. A NUL at its end is no part of it.

    Raises ValueError, in words, for all else.
    """
    cpus: list[int] = []
    for part in filter(None, (word.strip() for word in text.strip(" \t\r\n\0").split(","))):
        match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high < _MOST_CPUS:
            raise ValueError(f"{text[:40]!r} is not a list of CPUs such as 0-3,8")
        cpus.extend(range(low, high + 1))
    return tuple(dict.fromkeys(cpus))


def format_cpu_list(cpus: Sequence[int]) -> str:
    """The kernel's way to write a set of CPUs: ``0-3,8``."""
    parts: list[str] = []
    ordered = sorted(set(cpus))
    start = 0
    for index, cpu in enumerate(ordered):
        if index + 1 == len(ordered) or ordered[index + 1] != cpu + 1:
            first = ordered[start]
            parts.append(str(first) if first == cpu else f"{first}-{cpu}")
            start = index + 1
    return ",".join(parts)
