"""What a check reads of the machine, below a root that may be a recording.

Unlike ``HostAccess`` it tells "not there" (None) from "refused" (an OSError), since the second is never fine; and it notes
what it is about to touch, so that whoever watches a child that hangs can say on what.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...units import whole_number

if TYPE_CHECKING:
    from ...hosts.access import Result

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO)


class Space(NamedTuple):
    """Of a file system."""

    total_bytes: int
    free_bytes: int  # what an ordinary user may still take
    files: int
    free_files: int
    used_bytes: int | None = None  # without the blocks that are kept for root; None: not told

    @property
    def used_ratio(self) -> float:
        """The share in use as df shows it: used / (used + what an ordinary user may still take). Blocks that are kept back
        (root's share, a quota of the file system) are neither."""
        used = self.total_bytes - self.free_bytes if self.used_bytes is None else self.used_bytes
        return used / (used + self.free_bytes) if used + self.free_bytes > 0 else 0.0


class Timex(NamedTuple):
    """Of adjtimex(2)."""

    status: int
    state: int  # what the call returned: 5 is TIME_ERROR
    offset_s: float
    maximum_error_s: float
    estimated_error_s: float


#: Of a file's number, in characters: the kernel's have 64 bits.
_LONGEST_NUMBER = 40


class NodeAccess:
    """This machine, or what lies below ``root``."""

    def __init__(self, root: str = "", note: Callable[[str], None] = lambda what: None) -> None:
        self.root = root.rstrip("/")
        self.note = note

    def at(self, path: str) -> str:
        """Where a path of the machine lies."""
        return self.root + path

    def text(self, path: str) -> str | None:
        """A file's text; None where it is not there. Raises OSError where it cannot be read."""
        self.note(f"reading {path}")
        try:
            descriptor = os.open(self.root + path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                parts = []
                while part := os.read(descriptor, 1 << 16):
                    parts.append(part)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise
        return b"".join(parts).decode("utf-8", "replace")

    def word(self, path: str) -> str | None:
        """A file's text without the space around it; None where it is not there or empty. Raises OSError."""
        text = self.text(path)
        return text.strip() or None if text is not None else None

    def number(self, path: str) -> int | None:
        """A file's whole number; None where it is not there. Raises OSError, and ValueError for what is none."""
        word = self.word(path)
        if word is not None and len(word) > _LONGEST_NUMBER:
            raise ValueError(f"{word[:40]!r} is not a whole number")
        return None if word is None else int(word, 0)

    def names(self, path: str) -> list[str]:
        """The sorted names in a folder; empty where it is not there. Raises OSError."""
        self.note(f"listing {path}")
        try:
            return sorted(os.listdir(self.root + path))
        except OSError as error:
            if error.errno in _ABSENT:
                return []
            raise

    def there(self, path: str) -> bool:
        """Whether there is such a file."""
        self.note(f"looking for {path}")
        return os.path.lexists(self.root + path)

    def owner(self, path: str) -> int | None:
        """The user id of a file; None where it is gone."""
        try:
            return os.stat(self.root + path).st_uid
        except OSError:
            return None

    def space(self, path: str) -> Space:
        """Of the file system at this path. Raises OSError."""
        self.note(f"statvfs {path}")
        found = os.statvfs(self.root + path)
        size = found.f_frsize
        used = size * (found.f_blocks - found.f_bfree)
        return Space(size * found.f_blocks, size * found.f_bavail, found.f_files, found.f_favail, used)

    def write_through(self, folder: str, word: str) -> None:
        """Write a small new file, read it back, take it away again. Raises OSError, ValueError where it reads otherwise."""
        path = f"{self.root}{folder.rstrip('/')}/.shakedown-health-{word}-{os.getpid()}"
        self.note(f"writing to {folder}")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            data = os.urandom(64)
            os.write(descriptor, data)
            os.fsync(descriptor)
            if os.pread(descriptor, 128, 0) != data:
                raise ValueError("what was written reads otherwise")
        finally:
            os.close(descriptor)
            os.unlink(path)

    def run(self, argv: Sequence[str], limit_s: float | None = None) -> Result:
        """Run a command, as ``access.LocalHost.run``, but in the process group of this child: what hangs there is found, and
        told of, by who watches it (children.py). Without a limit it is only that one that ends it. Never raises."""
        import subprocess

        from ...hosts.access import Result

        self.note(f"running {' '.join(argv)}")
        try:
            done = subprocess.run(
                list(argv),
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=limit_s,
            )
        except subprocess.TimeoutExpired:
            return Result(None, "", f"no answer within {limit_s:g} s")
        except OSError as error:
            return Result(None, "", str(error))
        return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def which(self, name: str) -> str | None:
        """The path of a program, or None."""
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        paths = (os.path.join(folder, name) for folder in folders if folder)
        return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), None)

    def connect(self, path: str) -> str:
        """Empty where a server accepts on this Unix socket, else why not."""
        import socket

        self.note(f"connecting to {path}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.settimeout(2.0)
            try:
                one.connect(self.root + path)
            except OSError as error:
                return error.strerror or str(error)
        return ""

    def kernel_log(self) -> list[str] | None:
        """The records of /dev/kmsg, oldest first; None where there is none. Raises OSError where it is refused."""
        self.note("reading /dev/kmsg")
        try:
            descriptor = os.open(self.root + "/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise
        records: list[str] = []
        try:
            while True:
                try:
                    data = os.read(descriptor, 1 << 16)
                except BlockingIOError:
                    break
                except BrokenPipeError:  # the oldest was overwritten meanwhile; the next read goes on behind it
                    continue
                if not data:
                    break  # a recording ends
                records += data.decode("utf-8", "replace").splitlines()
        finally:
            os.close(descriptor)
        return records

    def timex(self) -> Timex:
        """The kernel's clock discipline. Raises OSError where it may not be asked."""
        from ._adjtimex import adjtimex

        self.note("adjtimex")
        return Timex(*adjtimex())

    def nvml(self) -> Any:
        """NVIDIA's management library, not yet started; None where it is not installed."""
        self.note("loading nvidia-ml-py")
        from ...hosts import nvidia

        try:
            return nvidia.library()
        except ImportError:
            return None


#: More than any kernel is built for.
_MOST_CPUS = 1 << 16


def cpu_list(text: str) -> tuple[int, ...]:
    """As ``access.parse_cpu_list``, whose module takes longer to import than a check takes. Raises ValueError."""
    cpus: list[int] = []
    for part in text.strip().split(",") if text.strip() else ():
        first, _, last = part.partition("-")
        low, high = whole_number(first, most=_MOST_CPUS), whole_number(last or first, most=_MOST_CPUS)
        if low is None or high is None:
            raise ValueError(f"{text[:40]!r} is not a list of CPUs such as 0-3,8")
        cpus.extend(range(low, high + 1))
    return tuple(cpus)


class Replay(NodeAccess):
    """A recording: files below ``root``, and in ``senses.json`` there what is no file.

    ``{"commands": {"nvidia-smi -q -x": "smi.xml"}, "space": {"/": [total, free, files, free_files, used]},
    "sockets": {path: why}, "timex": [...]}``; a string for a space is the error that it gives.
    """

    def __init__(self, root: str, note: Callable[[str], None] = lambda what: None) -> None:
        super().__init__(root, note)
        import msgspec

        text = self.text("/senses.json")
        self._said: dict[str, Any] = msgspec.json.decode(text) if text else {}

    def space(self, path: str) -> Space:
        found = self._said.get("space", {}).get(path)
        if found is None:
            raise OSError(errno.ENOSYS, "the recording has no answer")
        if isinstance(found, str):
            number = getattr(errno, found)
            raise OSError(number, os.strerror(number))
        return Space(*found)

    def write_through(self, folder: str, word: str) -> None:
        why = self._said.get("write", {}).get(folder, "ENOSYS")
        if why:
            number = getattr(errno, why)
            raise OSError(number, os.strerror(number))

    def run(self, argv: Sequence[str], limit_s: float | None = None) -> Result:
        from ...hosts.access import Result

        file = self._said.get("commands", {}).get(" ".join(argv))
        if file is None:
            return Result(None, "", f"{argv[0]}: not recorded")
        return Result(0, self.text(f"/{file}") or "", "")

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if any(one.split()[0] == name for one in self._said.get("commands", {})) else None

    def connect(self, path: str) -> str:
        return str(self._said.get("sockets", {}).get(path, "No such file or directory"))

    def timex(self) -> Timex:
        if "timex" not in self._said:
            raise OSError(errno.ENOSYS, "the recording has no answer")
        return Timex(*self._said["timex"])

    def nvml(self) -> Any:
        return None
