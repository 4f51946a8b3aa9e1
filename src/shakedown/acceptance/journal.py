"""The journal of an acceptance: append-only, one JSON object a line, each with the SHA-256 of the line before it.

An entry that is changed, removed or moved breaks the chain behind it. ``journal.head`` holds how many entries there are
and the hash of the last, so that entries missing at the end show as well; who rewrites both leaves evidence that no entry
names (sealing.py), and a head that differs from the one on the signed report.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import msgspec

from .. import strict
from ..errors import NOT_MET, CannotMeasure, ShakedownError
from ..files import atomic
from ..files import journal as appended

JOURNAL, HEAD = "journal.jsonl", "journal.head"
_START = "0" * 64


class Tampered(ShakedownError):
    """The record of an acceptance was changed after it was written: nothing that rests on it counts as shown."""

    exit_code: ClassVar[int] = NOT_MET


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file that a verdict rests on. ``path`` is relative to the acceptance directory."""

    path: str
    sha256: str
    bytes: int


class _Entry(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"
):
    """Base of all entries. ``number`` counts from 1; ``previous`` is the hash of the line before."""

    number: int = 0
    previous: str = ""
    time_ns: int = 0
    account: str = ""  # the user and host that wrote it, as the system knows them


class Begun(_Entry, frozen=True, kw_only=True, tag="begun"):
    """The first entry: what is accepted, from whom, by which plan."""

    system: str
    parties: dict[str, str] = {}  # role -> who
    plan: str
    plan_sha256: str
    plan_source: str = ""  # "thufir", or the file it was read from
    version: str
    files: tuple[File, ...] = ()  # what the plan refers to: contracts, and the figures at an earlier acceptance
    against: str = ""  # the acceptance that this one repeats: its directory, as it was named


class Amended(_Entry, frozen=True, kw_only=True, tag="amended"):
    """The plan was changed: from here on another file of the directory is the plan, and the tests that it changed begin
    anew. Both plans are sealed here."""

    by: str
    reason: str
    plan: str  # the new one's file, relative to the directory
    plan_sha256: str
    replaced_sha256: str
    plan_source: str = ""
    tests: tuple[str, ...] = ()  # that are otherwise: what they had shown counts no more
    files: tuple[File, ...] = ()


class Session(_Entry, frozen=True, kw_only=True, tag="session"):
    """Runs were begun together in one run directory; what comes of them is sealed later."""

    folder: str
    tests: tuple[str, ...]


class Sealed(_Entry, frozen=True, kw_only=True, tag="sealed"):
    """A session has ended: the files of its run directory that all of its tests share."""

    folder: str
    files: tuple[File, ...]


class Abandoned(_Entry, frozen=True, kw_only=True, tag="abandoned"):
    """A session that nothing came of, and why."""

    folder: str
    reason: str
    runs: int = 0  # that had a result by then
    files: tuple[File, ...] = ()  # of all that lay there: given up is not hidden


class Attempt(_Entry, frozen=True, kw_only=True, tag="attempt"):
    """A test was done once."""

    test: str
    folder: str  # the run directory, or the folder of its own
    by: str = ""
    witness: str = ""
    subject: str = ""
    begin_ns: int
    end_ns: int
    runs: tuple[str, ...] = ()  # ids of a run's repeats that belong to it
    files: tuple[File, ...] = ()


class Again(_Entry, frozen=True, kw_only=True, tag="again"):
    """A test is done anew: attempts before this stay in the record, and the verdict rests on those behind it."""

    test: str
    by: str
    reason: str


class Waived(_Entry, frozen=True, kw_only=True, tag="waived"):
    requirement: str
    by: str
    reason: str
    withdrawn: bool = False  # takes an earlier waiver back


FailureClass = Literal["system", "application", "user", "test bug"]


class Classified(_Entry, frozen=True, kw_only=True, tag="classified"):
    """Whose failure an attempt was, in the judgement of a person. Those of users and of the test do not count."""

    test: str
    attempt: int  # the entry's number
    failure: FailureClass
    by: str
    reason: str


class Reported(_Entry, frozen=True, kw_only=True, tag="reported"):
    """A report was made of everything before this entry."""

    files: tuple[File, ...]
    content_sha256: str


Entry: TypeAlias = Begun | Amended | Session | Sealed | Abandoned | Attempt | Again | Waived | Classified | Reported
_DECODER: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the journal ends."""

    entries: int
    sha256: str


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A journal whose chain holds."""

    entries: tuple[Entry, ...]
    hashes: tuple[str, ...]  # of each line
    cut: bool = False  # an entry behind these was cut short while it was written

    @property
    def head(self) -> Head:
        return Head(entries=len(self.entries), sha256=self.hashes[-1] if self.hashes else _START)

    @property
    def begun(self) -> Begun:
        first = self.entries[0]
        assert isinstance(first, Begun)
        return first


def line_hash(line: bytes) -> str:
    """The SHA-256 of a line, without its end of line."""
    return hashlib.sha256(line).hexdigest()


def read(folder: Path) -> Read:
    """The journal of an acceptance directory. Raises Tampered where its chain is broken, StoreFailed where there is none."""
    path = folder / JOURNAL
    try:
        found = _chain(appended.rows(path, _DECODER), str(path))
    except OSError as error:
        raise atomic.failed(error, path, "read the journal") from None
    head = _read_head(folder)
    if head is not None:
        _against_head(found.head, found.hashes, head, str(path))
    return found


def _chain(rows: Iterator[appended.Row[Entry]], where: str) -> Read:
    """The entries of whole lines. Raises Tampered naming the first entry that does not follow from the one before."""
    entries: list[Entry] = []
    hashes: list[str] = []
    previous = _START
    cut = False
    for row in rows:
        if row.torn:
            cut = True
            break
        number, entry = row.number, row.record
        if entry is None:
            raise _broken(f"entry {number} cannot be read: {row.error}", where)
        if entry.number != number or entry.previous != previous:
            raise _broken(
                f"entry {number} does not follow from the one before it: entries were changed, removed or moved", where
            )
        if isinstance(entry, Begun) != (number == 1):
            raise _broken(f"entry {number} is a {type(entry).__name__}: only the first begins", where)
        previous = line_hash(row.line)
        entries.append(entry)
        hashes.append(previous)
    if not entries:
        raise _broken("it is empty", where)
    return Read(entries=tuple(entries), hashes=tuple(hashes), cut=cut)


def _broken(what: str, where: str) -> Tampered:
    return Tampered(what, where=where, hint="restore the journal from a copy; no verdict can be given without it")


def _read_head(folder: Path) -> Head | None:
    path = folder / HEAD
    try:
        return msgspec.json.decode(path.read_bytes(), type=Head)
    except FileNotFoundError:
        raise Tampered("it is missing", where=str(path), hint="restore it from a copy of the directory") from None
    except (OSError, *strict.UNREADABLE) as error:
        raise Tampered(f"cannot be read: {error}", where=str(path), hint="restore it from a copy") from None


def _against_head(head: Head, hashes: tuple[str, ...], kept: Head, where: str) -> None:
    """The journal may be one entry ahead of its head file: a crash between writing the two."""
    if kept.entries > head.entries:
        raise _broken(f"entries {head.entries + 1} to {kept.entries} are missing", where)
    if kept.entries < head.entries - 1 or (kept.entries and hashes[kept.entries - 1] != kept.sha256):
        raise _broken(f"its entry {min(kept.entries, head.entries)} is not the one that {HEAD} names", where)


class Journal:
    """A journal that is open for writing, by one process at a time."""

    def __init__(self, folder: Path, file: appended.Appender, found: Read | None) -> None:
        self.folder = folder
        self._file = file
        self.entries: tuple[Entry, ...] = found.entries if found else ()
        self._head = found.head if found else Head(entries=0, sha256=_START)

    def append(self, entry: Entry, now_ns: int) -> Entry:
        """Add an entry, flushed to the disk before this returns. Raises StoreFailed."""
        whole = msgspec.structs.replace(
            entry, number=self._head.entries + 1, previous=self._head.sha256, time_ns=now_ns, account=_account()
        )
        try:
            line = self._file.append(whole)
        except OSError as error:
            raise atomic.failed(error, self.folder / JOURNAL, "write the journal") from None
        self._head = Head(entries=whole.number, sha256=line_hash(line))
        atomic.write_record(self.folder / HEAD, self._head, folder=True)
        self.entries = (*self.entries, whole)
        return whole


@contextmanager
def writing(folder: Path, *, new: bool = False) -> Iterator[Journal]:
    """The journal, open for writing. Raises CannotMeasure when another process has it open, Tampered as ``read``."""
    path = folder / JOURNAL
    try:
        file = appended.Appender(path, create="new" if new else "never")
    except BlockingIOError:
        raise CannotMeasure(
            "another shakedown accept is at work in this directory", where=str(folder), hint="wait for it"
        ) from None
    except OSError as error:
        raise atomic.failed(error, path, "open the journal") from None
    with closing(file):
        yield Journal(folder, file, None if new else read(folder))


def _account() -> str:
    """Who writes, as the system knows it: user@host."""
    import getpass

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    return f"{user}@{os.uname().nodename}"
