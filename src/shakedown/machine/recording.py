"""Recordings of machines: the files, folders, links and commands that the probes ask for, kept to be replayed.

A recording is a folder: ``root/`` holds the files as they lay, and ``machine.json`` the name, architecture, affinity,
environment, what folders listed, and the transcripts of commands. It is about the machine, not about what is installed
on it: only the kernel's files and a few of the system's are kept, and only commands that are found by their name. What
is a site's own affair is left out: the words behind ``--`` of the kernel's command line (they are the first program's),
file systems that no probe looks at, and variables that hold paths.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ..hosts.access import HostAccess, ReplayHost, Result
from .gpus import NVML

#: Written in the place of what differs from one installation of Shakedown to the next.
_PYTHON, _NVML = "{python}", "{nvml}"


#: The files and folders that are kept.
_KEPT = re.compile(r"/(proc|sys|dev|run|boot|etc|opt/rocm|usr/local/cuda)/|/\.(dockerenv|singularity\.d)$")


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
    folders: dict[str, tuple[str, ...]] = {}
    commands: tuple[Transcript, ...] = ()


class RecordingDoor:
    """A door that keeps all that comes through it. A file is read once: every probe sees it as the recording will."""

    def __init__(self, door: HostAccess) -> None:
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
        if path not in self._files:
            data = self._door.read_bytes(path)
            with self._lock:
                self._files.setdefault(path, data)
        return self._files[path]

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
            if target is not None and not target.startswith("/") and _KEPT.match(path):
                _link(root, path, target)
        for path, data in sorted(self._files.items()):
            if data is not None and _KEPT.match(path):
                _write(root, path, _without_private(path, data))
        asked = {argv[0] for argv in self._commands}
        transcripts = [
            Transcript(words, result.code, result.out, result.err)
            for argv, result in sorted(self._commands.items())
            if not (words := _portable(argv))[0].startswith("/")
        ]
        transcripts += [Transcript((name,), None, "", "not asked") for name in sorted(self._programs - asked)]
        index = Index(
            self.name(),
            self.architecture(),
            self.affinity(),
            {name: value for name, value in sorted(self._environment.items()) if "/" not in value},
            {
                path: kept
                for path, names in sorted(self._lists.items())
                if _KEPT.match(path + "/") and (kept := _public_names(path, names))
            },
            tuple(transcripts),
        )
        (folder / "machine.json").write_bytes(msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n")


class ReplayedHost(ReplayHost):
    """A recorded machine with the folders as they were listed, those included of which no file was read."""

    def __init__(self, root: Path, index: Index, commands: Mapping[tuple[str, ...], Result]) -> None:
        super().__init__(
            root,
            name=index.name,
            architecture=index.architecture,
            commands=commands,
            affinity=index.affinity,
            environment=index.environment,
        )
        self._folders = index.folders

    def list(self, path: str) -> list[str]:
        return [*self._folders[path]] if path in self._folders else super().list(path)


def replay(folder: Path) -> ReplayedHost:
    """The machine that was recorded into ``folder``. Raises OSError or msgspec.DecodeError where there is none."""
    index = msgspec.json.decode((folder / "machine.json").read_bytes(), type=Index)
    commands = {_local(entry.argv): Result(entry.code, entry.out, entry.err) for entry in index.commands}
    return ReplayedHost(folder / "root", index, commands)


def _portable(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({sys.executable: _PYTHON, NVML[-1]: _NVML}.get(word, word) for word in argv)


def _local(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({_PYTHON: sys.executable, _NVML: NVML[-1]}.get(word, word) for word in argv)


def _public_names(path: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names of a listed folder without those of other people's jobs and of devices that are no accelerators."""
    if path.startswith("/sys/fs/cgroup"):
        return tuple(name for name in names if "." in name)  # files; groups have the names of jobs
    if path == "/dev":
        return tuple(name for name in names if re.match(r"nvidia|kfd|dri$|infiniband$", name))
    return tuple(names)


def _without_private(path: str, data: bytes) -> bytes:
    if path == "/proc/cmdline":
        return re.sub(rb"\s+(rdinit|init)=\S+", b"", re.sub(rb"\s--\s.*", b"", data)).rstrip() + b"\n"
    if path == "/proc/config.gz":
        lines = gzip.decompress(data).splitlines(keepends=True)
        return gzip.compress(b"".join(line for line in lines if re.match(rb"CONFIG_(HZ|NO_HZ|PREEMPT)", line)), mtime=0)
    if path.startswith("/sys/firmware/acpi/tables/"):
        return data[:64]  # the head names the maker
    if path in ("/proc/mounts", "/proc/self/mounts"):
        return b"".join(
            line for line in data.splitlines(keepends=True) if re.search(rb" (/|/dev/shm) | cgroup2? ", line)
        )
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


def _write(root: Path, path: str, data: bytes) -> None:
    place = _at(root, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.is_dir():
        place.write_bytes(data)
