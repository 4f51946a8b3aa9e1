"""Recordings of machines: every file, folder, link and command that the probes ask for, kept so that they can be replayed.

A recording is a folder: ``root/`` holds the files as they lay, and ``machine.json`` the name, architecture, affinity,
environment and the transcripts of commands. A name that was listed but whose file was not or could not be read is an
empty folder, so that replaying it reads nothing either. What is a person's or a site's own affair is left out: the words
behind ``--`` of the kernel's command line (they are the first program's), and the paths of the process's control group
except where a limit stands.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ..host import Door, RecordedHost, Result
from .gpus import NVML

#: Written in the place of what differs from one installation of Shakedown to the next.
_PYTHON, _NVML = "{python}", "{nvml}"


class Transcript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One command and what it left."""

    argv: tuple[str, ...]
    code: int | None
    out: str = ""
    err: str = ""


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``machine.json``."""

    name: str
    architecture: str
    affinity: tuple[int, ...]
    environment: dict[str, str] = {}
    commands: tuple[Transcript, ...] = ()


class RecordingDoor:
    """A door that keeps all that comes through it."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._lock = threading.Lock()
        self._files: dict[str, bytes | None] = {}
        self._lists: dict[str, list[str]] = {}
        self._links: dict[str, str | None] = {}
        self._commands: dict[tuple[str, ...], Result] = {}
        self._programs: set[str] = set()
        self._environment: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str) -> bytes | None:
        data = self._door.read_bytes(path)
        with self._lock:
            self._files[path] = data
        return data

    def list(self, path: str) -> list[str]:
        names = self._door.list(path)
        with self._lock:
            self._lists[path] = names
        return names

    def link(self, path: str) -> str | None:
        target = self._door.link(path)
        with self._lock:
            self._links[path] = target
        return target

    def run(self, argv: Sequence[str], *, limit_s: float = 10.0, env: Mapping[str, str] | None = None) -> Result:
        result = self._door.run(argv, limit_s=limit_s, env=env)
        with self._lock:
            self._commands[tuple(argv)] = result
        return result

    def which(self, name: str) -> str | None:
        found = self._door.which(name)
        if found is not None:
            with self._lock:
                self._programs.add(name)
        return found

    def env(self, name: str) -> str | None:
        value = self._door.env(name)
        if value is not None:
            with self._lock:
                self._environment[name] = value
        return value

    def now_ns(self) -> int:
        return self._door.now_ns()

    def name(self) -> str:
        return self._door.name()

    def architecture(self) -> str:
        return self._door.architecture()

    def affinity(self) -> tuple[int, ...]:
        return self._door.affinity()

    def save(self, folder: Path) -> None:
        """Write the recording into ``folder``, which must not exist. Raises OSError where it cannot be written."""
        root = folder / "root"
        root.mkdir(parents=True)
        for path, target in sorted(self._links.items()):
            if target is not None and not target.startswith("/"):
                _link(root, path, target)
        for path, names in sorted(self._lists.items()):
            for name in names or ():
                _make_folder(root, f"{path.rstrip('/')}/{name}", self._files)
        for path, data in sorted(self._files.items()):
            if data is not None:
                _write(root, path, _without_private(path, data))
        asked = {argv[0] for argv in self._commands}
        transcripts = [Transcript(_portable(argv), result.code, result.out, result.err)
                       for argv, result in sorted(self._commands.items())]
        transcripts += [Transcript((name,), None, "", "not asked") for name in sorted(self._programs - asked)]
        index = Index(self.name(), self.architecture(), self.affinity(), self._environment, tuple(transcripts))
        (folder / "machine.json").write_bytes(msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n")


def replay(folder: Path) -> RecordedHost:
    """The machine that was recorded into ``folder``. Raises OSError or msgspec.DecodeError where there is none."""
    index = msgspec.json.decode((folder / "machine.json").read_bytes(), type=Index)
    commands = {_local(entry.argv): Result(entry.code, entry.out, entry.err) for entry in index.commands}
    return RecordedHost(folder / "root", name=index.name, architecture=index.architecture, commands=commands,
                        affinity=index.affinity, environment=index.environment)


def _portable(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({sys.executable: _PYTHON, NVML[-1]: _NVML}.get(word, word) for word in argv)


def _local(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({_PYTHON: sys.executable, _NVML: NVML[-1]}.get(word, word) for word in argv)


def _without_private(path: str, data: bytes) -> bytes:
    if path == "/proc/cmdline":
        return re.sub(rb"\s+(rdinit|init)=\S+", b"", re.sub(rb"\s--\s.*", b"", data)).rstrip() + b"\n"
    return data


def _at(root: Path, path: str) -> Path:
    """Where a path lies below ``root``, through the links that were recorded."""
    where = Path(os.path.realpath(root / path.lstrip("/")))
    if not where.is_relative_to(root.resolve()):
        raise ValueError(f"{path} leads out of the recording")
    return where


def _link(root: Path, path: str, target: str) -> None:
    place = root / path.lstrip("/")
    parent = _at(root, os.path.dirname(path))
    parent.mkdir(parents=True, exist_ok=True)
    place = parent / os.path.basename(path)
    if not place.is_symlink():
        place.symlink_to(target)


def _make_folder(root: Path, path: str, files: Mapping[str, bytes | None]) -> None:
    place = _at(root, os.path.dirname(path)) / os.path.basename(path)
    if files.get(path) is None and not place.is_symlink() and not place.exists():
        place.mkdir(parents=True)


def _write(root: Path, path: str, data: bytes) -> None:
    place = _at(root, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.is_dir():
        place.write_bytes(data)
