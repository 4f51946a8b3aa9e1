"""The journal of a burn-in: a plan, and one line for each thing that matters, on disk before anything follows from it.

    DIR/plan.json        what was asked for
    DIR/journal.jsonl    entries, only ever added to
    DIR/workers/*.err    what the workers wrote to standard error
    DIR/report.json      the verdict, made anew from the two above at any time

A line that a crash cut short is left out when the journal is read, and closed when it is added to.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ...errors import UNREADABLE, BadInput, CannotMeasure
from ...files import atomic, locks
from ...files import journal as appended
from .records import BurninPlan, Entry

PLAN, ENTRIES = "plan.json", "journal.jsonl"
_decoder = msgspec.json.Decoder(Entry)


def create(folder: Path, plan: BurninPlan) -> None:
    """Begin a journal in a new or empty folder. Raises BadInput where it holds something, CannotMeasure."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BadInput("is not empty", where=str(folder), hint="name a new folder; `burnin resume` continues one")
        (folder / "workers").mkdir()
        atomic.replace(folder / PLAN, atomic.as_json(plan), folder=True)
    except OSError as error:
        raise CannotMeasure(
            f"cannot be written: {error.strerror}", where=str(folder), hint="name another folder"
        ) from None


def read_plan(folder: Path) -> BurninPlan:
    """What was asked for. Raises BadInput where the folder holds no burn-in."""
    try:
        return msgspec.json.decode((folder / PLAN).read_bytes(), type=BurninPlan)
    except (OSError, *UNREADABLE) as error:
        raise BadInput(
            f"is not a burn-in: {error}", where=str(folder), hint="name the folder that `burnin run` made"
        ) from None


def entries(folder: Path) -> Iterator[Entry]:
    """Everything that was kept, in order, one line in memory at a time. Raises BadInput for a line that is no entry."""
    path = folder / ENTRIES
    try:
        for row in appended.rows(path, _decoder):
            if row.torn:
                return  # cut short by a crash
            if row.record is not None:
                yield row.record
            elif row.line.startswith(b"{") and not row.line.endswith(b"\x00"):
                raise BadInput(
                    f"line {row.number} is not a valid entry: {row.error}",
                    where=str(path),
                    hint="restore the file from a copy",
                )  # else the torn end of an earlier session, closed by the next
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), hint="see its owner and mode") from None


def in_use(folder: Path) -> bool:
    """Whether a burn-in writes this journal now, as its lock tells."""
    return locks.taken(folder / ENTRIES)


class Journal:
    """Open to be added to, by one process only. Raises CannotMeasure."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ENTRIES
        try:
            self._file = appended.Appender(self.path, mode=0o644)
        except BlockingIOError:
            raise CannotMeasure(
                "another process burns in here", where=str(folder), hint="wait for it, or stop it"
            ) from None
        except OSError as error:
            raise CannotMeasure(f"cannot be written: {error.strerror}", where=str(self.path)) from None
        self.close = self._file.close

    def add(self, entry: Entry) -> None:
        """Kept when this returns. Raises CannotMeasure: what cannot be kept is not to be believed later."""
        try:
            self._file.append(entry)
        except OSError as error:
            hint = "make room, then `burnin resume` goes on"
            raise CannotMeasure(f"cannot be written: {error.strerror}", where=str(self.path), hint=hint) from None
