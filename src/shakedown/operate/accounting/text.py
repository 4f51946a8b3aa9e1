"""A file of delimited rows -> pieces of whole rows, whatever the names in it hold.

sacct quotes nothing: a name with a line break makes two lines of one row, one with a delimiter a row of too many fields, and
bytes that are not UTF-8 come through as they are. Blocks are looked at as bytes, all at once; only what is broken is
taken out and mended line by line, by what the fixed columns must look like. Memory is bounded by the block.

A job's name that holds a whole forged row cannot be distinguished from a row: ask for the JSON, or without names, where
users may not be trusted. What cannot be mended is counted and shown, never dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...files.packed import opened

#: Between fields of a mended row: no field holds it.
UNIT = "\x1f"
BLOCK_BYTES = 4 << 20  # small enough for its arrays to stay in the cache
_MENDS_BYTES = 32 << 20
#: A broken stretch longer than this is no name: the rest of it is given up.
_LONGEST_BYTES = 4 << 20
#: Delimiters beyond the columns that are tried in several free columns at once: a name that the command line repeats.
_MOST_SPREAD = 4
_LINE, _RETURN = 10, 13


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What rows look like. ``free`` are the places of columns that hold anybody's words, the likeliest first;
    ``checks`` says what a column must look like (its place -> pattern)."""

    delimiter: str
    columns: tuple[str, ...]
    free: tuple[int, ...] = ()
    checks: dict[int, str] = {}
    numbered: bool = False  # every row begins with a digit
    head: bool = True


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Rows in UTF-8, each ending in a line feed, of as many fields as there are columns."""

    parts: tuple[memoryview | bytes, ...]
    delimiter: str
    rows: int


class Mended(msgspec.Struct, kw_only=True):
    """What was not as it should be: counted while the pieces are taken."""

    rows: int = 0
    mended: int = 0
    lost: int = 0  # lines that belong to no row
    example: str = ""


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


# -------------------------------------------------------------------------------------------------------------- mending


def mend(lines: Sequence[str], form: Form, mended: Mended) -> list[list[str]]:
    """Rows of broken lines; a line break within a field becomes ``\\n``, in two characters."""
    found: list[list[str]] = []
    held: str | None = None
    for line in lines:
        if held is not None and _goes_on(held, line, form):
            held = f"{held.rstrip(chr(_RETURN))}\\n{line}"
            continue
        if held is not None:
            _close(held, form, mended, found)
        held = line
    if held is not None:
        _close(held, form, mended, found)
    return found


def _close(held: str, form: Form, mended: Mended, found: list[list[str]]) -> None:
    row = aligned(held, form)
    if row is not None:
        found.append([field.replace("\r", "").replace("\0", "") for field in row])
    elif held.strip():
        mended.lost += held.count("\\n") + 1
        mended.example = mended.example or held[:120]


def _goes_on(held: str, line: str, form: Form) -> bool:
    if aligned(line, form) is not None:
        return False
    fields = held.count(form.delimiter) + 1
    more = line.count(form.delimiter)
    if fields < len(form.columns):
        return fields + more <= len(form.columns) or aligned(f"{held}\\n{line}", form) is not None
    return bool(form.free) and form.free[0] == len(form.columns) - 1 and not _begins(line, form)


def _begins(line: str, form: Form) -> bool:
    """Whether a short line looks like the beginning of a row: its fields before the first free column are right."""
    fields = line.split(form.delimiter)
    seen = [at for at in form.checks if at < min(len(fields) - 1, min(form.free, default=len(fields)))]
    return bool(seen) and all(re.fullmatch(form.checks[at], fields[at]) for at in seen)


def aligned(text: str, form: Form) -> list[str] | None:
    """The fields of a row, those that a free column holds too many joined again; None where no way of joining makes the
    other columns look as they must."""
    fields = text.split(form.delimiter)
    more = len(fields) - len(form.columns)
    if more < 0:
        return None
    if not more:
        return fields if _fits(fields, form) else None
    for ways in _ways(form.free, more):
        row, at = [], 0
        for place in range(len(form.columns)):
            extra = ways.count(place)
            row.append(form.delimiter.join(fields[at : at + extra + 1]))
            at += extra + 1
        if _fits(row, form):
            return row
    return None


def _fits(row: Sequence[str], form: Form) -> bool:
    return all(re.fullmatch(pattern, row[place]) for place, pattern in form.checks.items())


def _ways(free: Sequence[int], more: int) -> Iterator[tuple[int, ...]]:
    """How so many extra delimiters may lie in the free columns: all in one, then in several."""
    for place in free:
        yield (place,) * more
    if more <= _MOST_SPREAD:
        yield from (ways for ways in combinations_with_replacement(free, more) if len(set(ways)) > 1)


class Told(NamedTuple):
    """What the head of a delimited file says."""

    columns: tuple[str, ...]
    delimiter: str


def told(head: str, known: Sequence[str]) -> Told | None:
    """The columns of a head line and what stands between them, where one of the known columns is among them: the delimiter
    is what follows the first word."""
    line = head.removeprefix("\ufeff").rstrip("\r\n")
    match = re.match(r"(\w+)([^\w\s\"']{1,4}|[\t\x1f ])(?=\w)", line)
    if match is None:
        return None
    columns = line.split(match[2])
    return Told(tuple(columns), match[2]) if len(columns) > 1 and set(columns) & set(known) else None
