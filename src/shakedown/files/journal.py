"""Journals: files to which lines are only ever added, each one record as JSON, by one process at a time.

A line is on the disk when ``append`` returns. What a crash or a full disk leaves of a line is dealt with once, here: a
write that fails takes back what it wrote, and who adds to the file next first cuts a torn end off, or closes it. Readers
get every line with its number, decoded strictly or with what is wrong with it, and judge for themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from ..errors import UNREADABLE
from . import atomic, locks

_T = TypeVar("_T")
_BLOCK = 65536


class Row(NamedTuple, Generic[_T]):
    """One line of a journal, as it was read."""

    number: int  # of the line, from 1
    line: bytes  # without its end of line
    record: _T | None  # None: it cannot be read
    error: str = ""  # why
    torn: bool = False  # the last one, and without its end of line: it was being written when something ended it


def rows(path: Path, decoder: msgspec.json.Decoder[_T]) -> Iterator[Row[_T]]:
    """Every line, blank ones too, one in memory at a time. Raises OSError."""
    with open(path, "rb") as file:
        yield from decoded(file, decoder)


def decoded(lines: Iterable[bytes], decoder: msgspec.json.Decoder[_T]) -> Iterator[Row[_T]]:
    """The lines of a journal that is open, whoever unpacked it."""
    for number, whole in enumerate(lines, 1):
        torn = not whole.endswith(b"\n")
        line = whole if torn else whole[:-1]
        try:
            yield Row(number, line, decoder.decode(line), "", torn)
        except UNREADABLE as error:
            yield Row(number, line, None, str(error), torn)


class Appender:
    """A journal that is open to be added to, by this process alone. ``create``: whether it is made, must be new or must be
    there. ``follow``: through links. ``torn``: what becomes of a last line that was cut short, once something is added
    (opening changes nothing): "cut" takes it away, "closed" ends it, so that it stays as evidence.

    Raises BlockingIOError where another process writes it, OSError where it cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: Literal["if absent", "new", "never"] = "if absent",
        follow: bool = True,
        torn: Literal["cut", "closed"] = "cut",
        mode: int = 0o666,
    ) -> None:
        self.path, self._torn, self._ends_whole = path, torn, False
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        flags |= {"if absent": os.O_CREAT, "new": os.O_CREAT | os.O_EXCL, "never": 0}[create]
        made = create == "new" or not path.exists()
        self._file = os.open(path, flags, mode)
        try:
            locks.take(self._file)
        except BaseException:
            os.close(self._file)
            raise
        if made:
            atomic.flush_folder(path.parent)

    def append(self, record: object) -> bytes:
        """Add a record, on the disk when this returns; its line, without the end. Raises OSError: then nothing was added."""
        line = msgspec.json.encode(record)
        before = self._mended()
        data = line + b"\n"
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fdatasync(self._file)
        except OSError:
            self._ends_whole = False
            with suppress(OSError):
                os.ftruncate(self._file, before)
            raise
        return line

    def _mended(self) -> int:
        """The size of the file, which now ends with a whole line."""
        size = os.fstat(self._file).st_size
        if not self._ends_whole:
            end = self._end_of_lines(size)
            if end < size and self._torn == "cut":
                os.ftruncate(self._file, end)
            elif end < size:
                os.write(self._file, b"\n")
            self._ends_whole = True
            size = os.fstat(self._file).st_size
        return size

    def _end_of_lines(self, size: int) -> int:
        """Where the last whole line ends."""
        end = size
        while end:
            begin = max(0, end - _BLOCK)
            at = os.pread(self._file, end - begin, begin).rfind(b"\n")
            if at >= 0:
                return begin + at + 1
            end = begin
        return 0

    def has_its_name(self) -> bool:
        """Whether the file still lies at its path: a rotation takes it away."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except OSError:
            return False

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
