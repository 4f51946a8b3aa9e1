"""The journal of a burn-in: a plan, and one line for each thing that matters, on disk before anything follows from it.

    DIR/plan.json        what was asked for
    DIR/journal.jsonl    entries, only ever added to
    DIR/workers/*.err    what the workers wrote to standard error
    DIR/report.json      the verdict, made anew from the two above at any time

A line that a crash cut short is left out when the journal is read, and closed when it is added to.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ...errors import UNREADABLE, BadInput, CannotMeasure
from .records import Entry, Plan

PLAN, ENTRIES = "plan.json", "journal.jsonl"
_decoder = msgspec.json.Decoder(Entry)


def create(folder: Path, plan: Plan) -> None:
    """Begin a journal in a new or empty folder. Raises BadInput where it holds something, CannotMeasure."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BadInput(
                "is not empty", where=str(folder), hint="name a new folder; `burnin resume` goes on with one"
            )
        (folder / "workers").mkdir()
        write(folder / PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=1))
    except OSError as error:
        raise CannotMeasure(
            f"cannot be written: {error.strerror}", where=str(folder), hint="name another folder"
        ) from None


def write(path: Path, data: bytes) -> None:
    """A whole file, or none: written beside, flushed, renamed. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(beside, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def read_plan(folder: Path) -> Plan:
    """What was asked for. Raises BadInput where the folder holds no burn-in."""
    try:
        return msgspec.json.decode((folder / PLAN).read_bytes(), type=Plan)
    except (OSError, *UNREADABLE) as error:
        raise BadInput(
            f"is no burn-in: {error}", where=str(folder), hint="name the folder that `burnin run` made"
        ) from None


def entries(folder: Path) -> Iterator[Entry]:
    """Everything that was kept, in order, one line in memory at a time. Raises BadInput for a line that is no entry."""
    path = folder / ENTRIES
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return  # cut short by a crash
                if not line.strip():
                    continue
                try:
                    yield _decoder.decode(line)
                except UNREADABLE as error:
                    if line.endswith(b"\x00\n") or not line.startswith(b"{"):
                        continue  # the torn end of an earlier session, closed by the next
                    raise BadInput(
                        f"line {number} is no entry: {error}", where=str(path), hint="restore the file from a copy"
                    ) from None
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), hint="see its owner and mode") from None


def in_use(folder: Path) -> bool:
    """Whether a burn-in writes this journal now, as its lock tells."""
    try:
        with open(folder / ENTRIES, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no journal yet, or a file system without locks: its entries tell what they can
        return False
    return False


class Journal:
    """Open to be added to, by one process only. Raises CannotMeasure."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ENTRIES
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._close_torn_line()
        except BlockingIOError:
            raise CannotMeasure(
                "another process burns in here", where=str(folder), hint="wait for it, or stop it"
            ) from None
        except OSError as error:
            raise CannotMeasure(f"cannot be written: {error.strerror}", where=str(self.path)) from None

    def _close_torn_line(self) -> None:
        """Cut off what a crash left of a line, so that the next one begins at its own beginning."""
        end = size = os.fstat(self._file).st_size
        while end:
            begin = max(0, end - 65536)
            block = os.pread(self._file, end - begin, begin)
            at = block.rfind(b"\n")
            if at >= 0:
                end = begin + at + 1
                break
            end = begin
        if end != size:
            os.ftruncate(self._file, end)

    def add(self, entry: Entry) -> None:
        """Kept when this returns. Raises CannotMeasure: what cannot be kept is not to be believed later."""
        data = msgspec.json.encode(entry) + b"\n"
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fdatasync(self._file)
        except OSError as error:
            hint = "make room, then `burnin resume` goes on"
            raise CannotMeasure(f"cannot be written: {error.strerror}", where=str(self.path), hint=hint) from None

    def close(self) -> None:
        os.close(self._file)
