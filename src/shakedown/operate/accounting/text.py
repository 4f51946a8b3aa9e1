"""A file of delimited rows -> pieces of whole rows, whatever the names in it hold.

Blocks are looked at as bytes, all at once (those that are no UTF-8 come through as they are); only what is broken is taken
out and mended line by line (``delimited``). Memory is bounded by the block.

A job's name that holds a whole forged row cannot be distinguished from a row: ask for the JSON, or without names, where
users may not be trusted. What cannot be mended is counted and shown, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...files.packed import opened
from ...schedulers.common.delimited import UNIT, Form, Mended, aligned, mend

BLOCK_BYTES = 4 << 20  # small enough for its arrays to stay in the cache
_MENDS_BYTES = 32 << 20
#: A broken stretch longer than this is no name: the rest of it is given up.
_LONGEST_BYTES = 4 << 20
_LINE, _RETURN = 10, 13


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Rows in UTF-8, each ending in a line feed, of as many fields as there are columns."""

    parts: tuple[memoryview | bytes, ...]
    delimiter: str
    rows: int


def first_lines(path: Path, size: int = 65536) -> str:
    """The beginning of a file, for finding out what it is."""
    with opened(path) as file:
        return file.read(size).decode("utf-8", "replace").removeprefix("\ufeff")


# --------------------------------------------------------------------------------------------------------------- pieces


def pieces(path: Path, form: Form, mended: Mended) -> Iterator[Piece]:
    """The rows of a file, in order but for the mended ones, which come last."""
    delimiter = form.delimiter.encode()
    own = UNIT if len(delimiter) > 1 else form.delimiter
    held, mends = b"", _Mends()
    with opened(path) as file:
        if form.head:
            file.readline()
        while True:
            read = file.read(BLOCK_BYTES)
            block = held + read
            if read:
                cut = _cut(block, form)
                block, held = block[:cut], block[cut:]
            elif block and not block.endswith(b"\n"):
                block += b"\n"
            if block:
                yield from _block(block, form, own, delimiter, mended, mends)
            if mends.rows and (not read or mends.bytes > _MENDS_BYTES):
                yield Piece(parts=tuple(mends.texts), delimiter=UNIT, rows=mends.rows)
                mends = _Mends()
            if not read:
                return


class _Mends:
    """Mended rows that wait until there are enough of them."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.rows = self.bytes = 0

    def add(self, rows: list[list[str]], within: str) -> None:
        text = "".join(UNIT.join(field.replace(UNIT, within) for field in row) + "\n" for row in rows).encode()
        self.texts.append(text)
        self.rows += len(rows)
        self.bytes += len(text)


def _cut(block: bytes, form: Form) -> int:
    """Where a block can be parted: before the last line that is a whole row, so that no broken row is."""
    end = block.rfind(b"\n") + 1
    at = end
    while at and end - at < _LONGEST_BYTES:
        begin = block.rfind(b"\n", 0, at - 1) + 1
        if aligned(block[begin : at - 1].decode("utf-8", "replace"), form):
            return begin
        at = begin
    return end if at else 0  # all of it is one broken stretch: wait for more, or give it up where it is too long


def _block(block: bytes, form: Form, own: str, delimiter: bytes, mended: Mended, mends: _Mends) -> Iterator[Piece]:
    if len(delimiter) > 1:
        block = block.replace(UNIT.encode(), b" ").replace(delimiter, UNIT.encode())
        form = msgspec.structs.replace(form, delimiter=UNIT)
    if b"\r\n" in block[:65536] and block.count(b"\r\n") == block.count(b"\n"):
        block = block.replace(b"\r\n", b"\n")
    array = np.frombuffer(block, np.uint8)
    marks = np.flatnonzero((array == ord(own)) | (array == _LINE))
    lines = np.flatnonzero(array[marks] == _LINE)
    ends = marks[lines]
    begins = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    bad = np.diff(lines, prepend=-1) != len(form.columns)  # too few or too many fields
    if form.numbered:
        bad |= (array[begins] < ord("0")) | (array[begins] > ord("9"))
    _odd(block, array, ends, bad)
    spoilt = bad.copy()
    if len(ends) and form.free and form.free[0] == len(form.columns) - 1:
        bad[:-1] |= bad[1:]  # its last field, a name, may go on in the broken line
    rows = np.flatnonzero(bad)
    view, parts, at = memoryview(block), [], 0
    for row in rows.tolist():
        if begins[row] > at:
            parts.append(view[at : int(begins[row])])
        at = int(ends[row]) + 1
    if at < len(block):
        parts.append(view[at:])
    mended.rows += len(ends) - len(rows)
    if len(ends) > len(rows):
        yield Piece(parts=tuple(parts), delimiter=own, rows=len(ends) - len(rows))
    if len(rows):
        whole = _mend(block, begins, ends, spoilt, rows, form, mended)
        mends.add(whole, " " if len(delimiter) == 1 else delimiter.decode())


def _odd(block: bytes, array: NDArray[np.uint8], ends: NDArray[np.int64], bad: NDArray[np.bool_]) -> None:
    """Mark the lines with a carriage return or a zero within, or that are no UTF-8."""
    for odd in (_RETURN, 0):
        if bytes([odd]) in block:
            bad[np.searchsorted(ends, np.flatnonzero(array == odd))] = True
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError:
            for line in np.unique(np.searchsorted(ends, np.flatnonzero(array >= 128))).tolist():
                begin = int(ends[line - 1]) + 1 if line else 0
                bad[line] |= not _is_utf8(block[begin : int(ends[line])])


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _mend(
    block: bytes,
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    spoilt: NDArray[np.bool_],
    rows: NDArray[np.int64],
    form: Form,
    mended: Mended,
) -> list[list[str]]:
    """The rows that the broken lines come to."""
    whole: list[list[str]] = []
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        lines = [block[int(begins[row]) : int(ends[row])].decode("utf-8", "replace") for row in run.tolist()]
        found = mend(lines, form, mended)
        # A row that was taken along because the next line might have been its own is not counted as mended.
        good = {line for line, of in zip(lines, spoilt[run].tolist(), strict=True) if not of}
        mended.mended += sum(1 for row in found if form.delimiter.join(row) not in good)
        whole += found
    mended.rows += len(whole)
    return whole
