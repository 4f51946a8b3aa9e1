"""What is printed, for a person or as JSON: tables and sentences that fit a terminal; in a pipe lines stay whole."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import IO, Any

from ..errors import plain

#: A number with its unit or what else follows it: ``44.4 GB/s``, ``< 0.1``, ``-3 %``, ``1,024``, ``12 [11, 13]``. Neither a
#: clause (2.3.1), a range (0-3, 2 to 4), a day (2026-10-01), a time (12:30) nor a device (0000:9b:00).
_NUMBER = re.compile(
    r"[<>~]?\s?[-+\u2212]?\d+(,\d{3})*(\.\d+)?(e[-+]?\d+)?(%|x|[kKMGTPE]i?B?|\s(?!to\s).{1,40})?", re.ASCII
)
_NOTHING = ("", "-", "not measured", "not recorded", "not known", "none")
#: What is counted by numbers and is no amount, whatever stands below.
_NAMES = (
    "clause",
    "id",
    "run",
    "job",
    "day",
    "week",
    "month",
    "year",
    "host",
    "node",
    "name",
    "version",
    "page",
    "plan",
)
#: A column of words is not folded to less than this, nor a word of up to so many characters broken.
_LEAST, _WORD = 10, 24
#: A table of so many rows may be set as pairs.
_STACKED = 12


def columns(stream: IO[str]) -> int | None:
    """How many characters a line of the terminal takes; None where it is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError):
        return None


def is_numeric(heading: str, cells: Sequence[str]) -> bool:
    """Whether a column holds amounts: then its numbers stand below one another from the right."""
    told = [cell for cell in cells if cell not in _NOTHING]
    return bool(told) and heading.lower() not in _NAMES and all(_NUMBER.fullmatch(cell) for cell in told)


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None, spare: Sequence[str] = ()
) -> list[str]:
    """Lines of a table. Where it is wider than ``width``, headings and words are folded, and then columns of ``spare`` left
    out in this order, which the last line says. Where even that is too wide, few rows are set as pairs of words below one
    another, and many stay as they are."""
    chosen = list(range(len(headings)))
    left_out = []
    while True:
        numeric = {i: is_numeric(headings[i], [row[i] for row in rows]) for i in chosen}
        sizes = _sizes(headings, rows, numeric, width)
        if width is None or sum(sizes.values()) + 2 * len(sizes) <= width:
            break
        gone = next((name for name in spare if name in headings and headings.index(name) in chosen), None)
        if gone is None:
            if len(rows) <= _STACKED:
                return _stacked(headings, rows, chosen, width)
            break
        chosen.remove(headings.index(gone))
        left_out.append(gone)
    lines = _row(headings, sizes, numeric)
    lines += _row({i: "-" * size for i, size in sizes.items()}, sizes, numeric)
    for row in rows:
        lines += _row(row, sizes, numeric)
    if left_out:
        lines.append(f"  (too narrow for {', '.join(reversed(left_out))})")
    return lines


def _sizes(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: dict[int, bool], width: int | None
) -> dict[int, int]:
    """The width of every column: as wide as it is, or folded as far as is needed and can be."""
    cells = {i: max((len(row[i]) for row in rows), default=0) for i in numeric}
    sizes = {i: max(cells[i], len(headings[i])) for i in numeric}
    if width is None:
        return sizes
    least = {}
    for i, is_amount in numeric.items():
        words = min(max((_longest(row[i]) for row in rows), default=0), _WORD)
        least[i] = min(sizes[i], max(_longest(headings[i]), cells[i] if is_amount else max(words, _LEAST)))
    while sum(sizes.values()) + 2 * len(sizes) > width:
        widest = max(sizes, key=lambda i: (sizes[i] > least[i], sizes[i]))
        if sizes[widest] == least[widest]:
            break
        sizes[widest] -= 1
    return sizes


def _stacked(headings: Sequence[str], rows: Sequence[Sequence[str]], chosen: Sequence[int], width: int) -> list[str]:
    """Each row as pairs, with a blank line between."""
    size = max(len(headings[i]) for i in chosen)
    lines: list[str] = []
    for row in rows:
        lines += [""] if lines else []
        for i in chosen:
            lines += wrap(row[i], max(width, size + 24), first=f"  {headings[i].ljust(size)}  ", rest=" " * (size + 4))
    return [line.rstrip() for line in lines]


def _longest(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _row(cells: Sequence[str] | dict[int, str], sizes: dict[int, int], numeric: dict[int, bool]) -> list[str]:
    """The lines of one row: each cell folded into its column."""
    folded = {i: wrap(cells[i], size) for i, size in sizes.items()}
    lines = []
    for number in range(max(map(len, folded.values()))):
        parts = []
        for i, size in sizes.items():
            text = folded[i][number] if number < len(folded[i]) else ""
            parts.append(text.rjust(size) if numeric[i] else text.ljust(size))
        lines.append(("  " + "  ".join(parts)).rstrip())
    return lines


def wrap(text: str, width: int, *, first: str = "", rest: str = "", unbroken: bool = False) -> list[str]:
    """Text in lines of at most ``width``; a word longer than that is broken unless it must stay ``unbroken``."""
    if len(first) + len(text) <= width:
        return [first + text]
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=not unbroken,
        break_on_hyphens=False,
    ) or [first]


def sentence(text: str, width: int | None, *, first: str = "", rest: str = "") -> list[str]:
    """A sentence behind ``first``, going on behind ``rest``; whole where there is no ``width``. Commands in it are not
    broken within a word."""
    if width is None:
        return [first + text]
    return wrap(text, max(width, len(rest) + 20), first=first, rest=rest, unbroken=True)


def print_json(value: Any) -> None:
    """Any record as indented JSON on standard output."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")


def print_whole_json(value: Any) -> None:
    """Records as JSON with every field, empty lists and null too, and with the expanded uncertainty U (95 %) of every
    value: who reads it need not know what may be left out."""
    print_json(_whole(value))


def _whole(value: Any) -> Any:
    import msgspec

    from ..records import Quantity

    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        out = {field.encode_name: _whole(getattr(value, field.name)) for field in fields}
        return {**out, "U": value.expanded} if isinstance(value, Quantity) else out
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list | tuple) else value


def say(text: str) -> None:
    """A message to a person: standard error."""
    print(plain(text), file=sys.stderr, flush=True)


def note(text: str) -> None:
    """A message to a person that is a sentence: standard error, folded where that is a"""
    for line in sentence(text, columns(sys.stderr), rest="  "):
        say(line)


def print_sentence(text: str, first: str = "", rest: str = "") -> None:
    """A sentence on standard output behind ``first``, folded behind ``rest`` where that is a"""
    for line in sentence(text, columns(sys.stdout), first=first, rest=rest):
        print(plain(line))


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and what they are on standard output, one below the other."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print_sentence(value, f"  {name.ljust(width)}  ", " " * (width + 4))


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", spare: Sequence[str] = ()
) -> None:
    """A plain table on standard output: columns of numbers set right, all others left, folded where that is a
    ``spare``: headings of columns that a narrow one may go without, the first first."""
    if title:
        print(f"\n{title}")
    if not rows:
        print("  (nothing)")
        return
    words = [[str(cell) for cell in row] for row in rows]
    for line in table(headings, words, columns(sys.stdout), spare):
        print(plain(line))
