"""Tables as the OSU micro-benchmarks print them, versions 2 to 7: a title, a line of headings, a row for each size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from .. import Garbage
from .printed import is_whole

_TITLE = re.compile(
    r"#?\s*OSU (?P<title>[^#]{2,120}?)\s+(?:v(?P<version>\d[\w.-]{0,20})|\(Version (?P<older>[\d.]{1,20})\))"
    r"|#\s*OSU (?P<bare>[^#]{2,120}?) Test\s*$"  # built without its version
)
_DEVICE = re.compile(r"-(CUDA|ROCM|OPENACC|CXL)(?: MANAGED)?\b")
#: What a heading can say; OSU parts them by spaces, and they hold spaces.
_HEADING = re.compile(
    r"Million ops/s|Messages/s|Transmit Size|Size|Operation|Iterations|Validation"
    r"|P\d{1,2} Tail (?:Lat|BW) ?\((?:us|MB/s)\)|(?:Avg |Min |Max )?Latency ?\(us\)"
    r"|(?:Overall|Compute|Coll\. Init|MPI_Test|MPI_Wait|Pure Comm\.|Min Comm\.|Max Comm\.) ?\(us\)"
    r"|Overlap ?\(%\)|Bandwidth ?\(MB/s\)|MB/s"
)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,6})?")
_SIDE = re.compile(
    r"(?:Send Buffer|Rank 0 Memory) on \S+ \((\w+)\) and (?:Receive Buffer|Rank 1 Memory) on \S+ \((\w+)\)"
)
#: A rank that finds itself alone, or not in the number that the test needs.
_ALONE = re.compile(r"^.{0,40}This (?:test|benchmark) requires [^\n]{4,120}", re.MULTILINE)


#: Of each figure that OSU prints.
_DECIMALS = 2


class Row(NamedTuple):
    key: str  # the size in bytes, or the operation; empty where the test has neither
    cells: dict[str, str]  # heading, in small letters and without spaces -> number or word
    line: int


class Table(NamedTuple):
    title: str  # in small letters, without "test", the version and the device: "mpi latency"
    version: str
    device: str  # "CUDA", "ROCM"; empty: memory of the host
    sides: str  # where messages start and arrive, "dd"; empty where it is not said
    notes: dict[str, str]  # "window creation" -> "MPI_Win_allocate"
    headings: tuple[str, ...]
    rows: tuple[Row, ...]


class _Open:
    """A table that is being read."""

    def __init__(self, title: str, version: str, line: int) -> None:
        found = _DEVICE.search(title)
        cleaned = re.sub(r"\s+", " ", _DEVICE.sub("", title)).strip().lower().removesuffix(" test")
        self.title, self.version, self.device = cleaned, version, found[1] if found else ""
        self.line = line
        self.sides = ""
        self.notes: dict[str, str] = {}
        self.headings: tuple[str, ...] = ()
        self.rows: list[Row] = []


def tables(text: str) -> tuple[Table, ...]:
    """All tables of a text, each with rows. Raises Garbage."""
    found = list(_opened(text))
    if not found:
        alone = _ALONE.search(text)
        if alone:
            raise Garbage(
                f"OSU measured nothing: {alone[0].strip()!r}; where the ranks were given, the program was started by the "
                "launcher of another MPI than its own, and each rank ran alone"
            )
        raise Garbage("this is not output of the OSU micro-benchmarks: there is no line '# OSU ... Test v...'")
    for first, second in pairwise(found):
        if not first.rows and first.title == second.title:
            raise Garbage(
                f"lines {first.line} and {second.line} begin the same test: copies of the program ran side by side, each "
                "alone, in place of the ranks of one job (the launcher of another MPI than the program's)"
            )
    for one in found:
        if not one.rows:
            raise Garbage(f"the table of {one.title!r} (line {one.line}) has no row")
    return tuple(_closed(one, text) for one in found)


def _opened(text: str) -> Iterator[_Open]:
    now: _Open | None = None
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        title = _TITLE.match(line)
        if title:
            if now:
                yield now
            name = title["title"] or title["bare"]
            now = _Open(name, title["version"] or title["older"] or "", number)
        elif now is not None and line:
            _read(now, line, number)
    if now:
        yield now


def _read(now: _Open, line: str, number: int) -> None:
    """One line below a title: a note, the headings, a row, or what a launcher said in between."""
    headings = tuple(re.sub(r"\s", "", word).lower() for word in _HEADING.findall(line))
    if headings and not now.rows and not _HEADING.sub("", line).strip("# \t|"):
        now.headings = headings
        return
    if line.startswith("#"):
        sides = _SIDE.search(line)
        if sides:
            now.sides = f"{sides[1][0]}{sides[2][0]}".lower()
        name, colon, value = line.strip("#[] \t.").partition(":")
        if colon:
            now.notes[name.strip().lower()] = value.strip(" .")
        pairs = re.search(r"\[ pairs: (\d{1,9}) \] \[ window size: (\d{1,9}) \]", line)
        if pairs:
            now.notes |= {"pairs": pairs[1], "window": pairs[2]}
        return
    if not (line[0] in "0123456789" or line.startswith("shmem_")):
        return
    now.rows.append(_row(now, line.split(), number))


def _row(now: _Open, words: list[str], number: int) -> Row:
    if not now.headings:
        raise Garbage(f"line {number}: a row of {now.title!r} before its headings")
    if len(words) != len(now.headings):
        raise Garbage(f"line {number}: {len(words)} words below the {len(now.headings)} headings of {now.title!r}")
    cells = dict(zip(now.headings, words, strict=True))
    for name, word in cells.items():
        if name not in ("operation", "validation") and not _NUMBER.fullmatch(word):
            raise Garbage(f"line {number}: {word[:40]!r} is not a number ({name})")
    key = cells.get("size", cells.get("operation", ""))
    if "size" in cells and not is_whole(key):
        raise Garbage(f"line {number}: {key[:40]!r} is not a size in bytes")
    last = now.rows[-1].key if now.rows else ""
    if now.rows and (not key or (is_whole(key) and int(key) <= int(last))):
        raise Garbage(
            f"line {number}: size {key or '-'} after {last or '-'}: rows of several copies of the program, or of several "
            "tests without their titles, are mixed"
        )
    return Row(key, cells, number)


def _closed(one: _Open, text: str) -> Table:
    """A table whose last row is whole: it has as many decimals as the others. Raises Garbage."""
    last = one.rows[-1]
    ended = last.line < len(text.splitlines()) or text.endswith("\n")
    final = one.headings[-1]
    if not ended and (final in ("iterations", "size") or len(last.cells[final].partition(".")[2]) < _DECIMALS):
        raise Garbage(f"the text ends within line {last.line}, a row of {one.title!r}")
    return Table(one.title, one.version, one.device, one.sides, one.notes, one.headings, tuple(one.rows))
