"""Rows of delimited text that is not quoted, whatever the names in it hold. Pure, without numpy.

sacct quotes nothing: a name with a line break makes two lines of one row, one with a delimiter a row of too many fields.
What is broken is mended by what the fixed columns must look like; what cannot be is counted and shown, never dropped in
silence. A name that holds a whole forged row cannot be told from a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import msgspec

#: Between fields, where a program can be asked for it: no name holds it unless somebody means harm.
UNIT = "\x1f"
#: Delimiters beyond the columns that are tried in several free columns at once: a name that the command line repeats.
_MOST_SPREAD = 4


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What rows look like. ``free`` are the places of columns that hold anybody's words, the likeliest first;
    ``checks`` says what a column must look like (its place -> pattern)."""

    delimiter: str
    columns: tuple[str, ...]
    free: tuple[int, ...] = ()
    checks: dict[int, str] = {}
    numbered: bool = False  # every row begins with a digit
    head: bool = True
    verbatim: bool = False  # fields stay as they are; else ``\\n`` stands for a line break, and no return or zero stays


class Mended(msgspec.Struct, kw_only=True):
    """What was not as it should be: counted while the pieces are taken."""

    rows: int = 0
    mended: int = 0
    lost: int = 0  # lines that belong to no row
    example: str = ""
    odd: list[str] | None = None  # where there is such a list, it gets what belongs to no row


def mend(lines: Sequence[str], form: Form, mended: Mended) -> list[list[str]]:
    """Rows of lines, whole or broken."""
    found: list[list[str]] = []
    held: str | None = None
    row: list[str] | None = None  # of what is held, where that is known
    for line in lines:
        whole = aligned(line, form)
        if held is not None and whole is None and _goes_on(held, line, form):
            held, row = _joined(held, line, form), None
            continue
        if held is not None:
            _close(held, row, form, mended, found)
        held, row = line, whole
    if held is not None:
        _close(held, row, form, mended, found)
    return found


def _joined(held: str, line: str, form: Form) -> str:
    return f"{held}\n{line}" if form.verbatim else held.rstrip("\r") + r"\n" + line


def _close(held: str, row: list[str] | None, form: Form, mended: Mended, found: list[list[str]]) -> None:
    row = row or aligned(held, form)
    if row is not None:
        found.append(row if form.verbatim else [field.replace("\r", "").replace("\0", "") for field in row])
    elif held.strip():
        mended.lost += held.count("\n" if form.verbatim else r"\n") + 1
        if mended.odd is not None:
            mended.odd.append(held)
        mended.example = mended.example or held[:120]


def _goes_on(held: str, line: str, form: Form) -> bool:
    """Of a line that is no row by itself."""
    fields = held.count(form.delimiter) + 1
    more = line.count(form.delimiter)
    if fields < len(form.columns):
        return fields + more <= len(form.columns) or aligned(_joined(held, line, form), form) is not None
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
