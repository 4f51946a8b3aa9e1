"""Tables as the Intel MPI Benchmarks print them, versions 3 to 2021."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .. import Garbage
from .printed import NUMBER, Span, agreed_s, is_whole, span

_HEAD = re.compile(
    r"^#\s+(?:Intel ?\(R\)|PALLAS) MPI Benchmarks?(?: Suite)? V?([^,\n]{1,40}), ([\w.-]{1,12}) part", re.MULTILINE
)
_END = "# All processes entering MPI_Finalize"
_BLOCK = re.compile(r"^# Benchmarking\s+(\S{1,60})", re.MULTILINE)
_PROCESSES = re.compile(r"^#\s*#processes = (\d{1,9})", re.MULTILINE)
_GROUPS = re.compile(r"^# \(\s*(\d{1,9}) groups of (\d{1,9}) processes each", re.MULTILINE)
_MODE = re.compile(r"MODE: (NON-AGGREGATE|AGGREGATE)")
_FAILURE = re.compile(r"(out-of-mem|int-overflow|time-out)\.;? ?([^\n]*)")
_INVALID = re.compile(r"^# !! Benchmark (.{1,80}?) !!", re.MULTILINE)
#: What tables are of: headings of which all must be there.
_KINDS = (
    {"t[usec]"},
    {"t_min[usec]", "t_max[usec]", "t_avg[usec]"},
    {"mbytes/sec", "msg/sec"},
    {"t_ovrl[usec]", "t_pure[usec]"},
)
_UNITS = (1e6, float(2**20))
#: How many times a message's bytes its rate counts.
_SCALE = {"sendrecv": 2, "sendrecv_replace": 2, "exchange": 4}


class Row(NamedTuple):
    size: int | None
    group: int | None
    cells: dict[str, str]  # heading in small letters -> number; without size, group and repetitions
    failure: str


class Table(NamedTuple):
    name: str  # "pingpong", in small letters, without "multi-"
    version: str
    processes: int  # of each group
    groups: int
    mode: str  # "aggregate", "non-aggregate" of one-sided operations
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    mb: float  # bytes that its MB mean
    scale: int  # messages' bytes that its rate counts


class Log(NamedTuple):
    tables: tuple[Table, ...]
    invalid: tuple[str, ...]  # benchmarks that had too few processes


def log(text: str) -> Log:
    """All tables of a text, of one run or of several. Raises Garbage."""
    heads = list(_HEAD.finditer(text))
    if not heads:
        raise Garbage(
            "this is not output of the Intel MPI Benchmarks: there is no line '# Intel(R) MPI Benchmarks ..., ... part'"
        )
    if text.count(_END) < len(heads):
        raise Garbage(f"the output ends before IMB said {_END.removeprefix('# ')!r}: it is cut, or a rank died")
    tables = []
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        run = text[head.end() : after.start() if after else len(text)]
        tables += list(_tables(run, head[1].strip()))
    return Log(tuple(tables), tuple(_INVALID.findall(text)))


def _tables(run: str, version: str) -> Iterator[Table]:
    blocks = list(_BLOCK.finditer(run))
    if not blocks and not _INVALID.search(run):
        raise Garbage(
            "IMB begins and has no table: it is cut, or copies of the program ran side by side, each alone, in place of the "
            "ranks of one job"
        )
    for block, after in zip(blocks, [*blocks[1:], None], strict=False):
        part = run[block.start() : after.start() if after else len(run)]
        yield _table(block[1].lower(), part, version)


def _table(name: str, part: str, version: str) -> Table:
    processes, groups, mode = _PROCESSES.search(part), _GROUPS.search(part), _MODE.search(part)
    if processes is None and groups is None:
        raise Garbage(f"the table of {name} does not say how many processes it ran on ('#processes = ...')")
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    for line in part.splitlines()[1:]:
        words = line.split()
        if not words:
            continue
        if "#repetitions" in words:
            columns = tuple(word.lower() for word in words)
        elif not line.startswith("#") and is_whole(words[0]) and columns:
            rows.append(_row(name, columns, words, line))
        elif not line.startswith("#") and columns and re.match(r"\s*-?\d", line):
            raise Garbage(f"a row of {name} does not begin with a size: {line.strip()[:60]!r}")
    if not columns or not rows:
        raise Garbage(f"the table of {name} has no row below its headings")
    if not any(kind <= set(columns) for kind in _KINDS):
        raise Garbage(f"the headings of {name} are of no table of IMB: {' '.join(columns)[:120]!r}")
    name = name.removeprefix("multi-")
    sizes = [row.size for row in rows if row.size is not None and not row.group]
    if sizes != sorted(set(sizes)) and "Lengths" not in part and all(row.group is None for row in rows):
        raise Garbage(f"the sizes of {name} do not grow: rows of several copies of the program are mixed")
    scale = _SCALE.get(name, 1)
    count, size = (int(groups[1]), int(groups[2])) if groups else (1, int(processes[1]) if processes else 0)
    return Table(
        name,
        version,
        size,
        count,
        mode[1].lower() if mode else "",
        columns,
        tuple(rows),
        _mb(name, columns, rows, scale),
        scale,
    )


def _row(name: str, columns: tuple[str, ...], words: list[str], line: str) -> Row:
    failure = _FAILURE.search(line)
    if failure:
        numbers = [int(word) for word in words[:2] if is_whole(word)]
        grouped = columns[0] == "group" and len(numbers) > 1
        return Row(numbers[-1] if numbers else None, numbers[0] if grouped else None, {}, failure[0][:160])
    if len(words) != len(columns) or not all(re.fullmatch(NUMBER, word) for word in words):
        raise Garbage(
            f"a row of {name} has not {len(columns)} numbers below its {len(columns)} headings: {line.strip()[:80]!r}"
        )
    cells = dict(zip(columns, words, strict=True))
    if any(float(word) < 0 for word in words):
        raise Garbage(f"a row of {name} has a number below 0: {line.strip()[:80]!r}")
    cells.pop("#repetitions")
    size, group = cells.pop("#bytes", None), cells.pop("group", None)
    if not all(word is None or is_whole(word) for word in (size, group)):
        raise Garbage(f"a row of {name} begins with no size: {line.strip()[:80]!r}")
    low, high, mean = (float(cells.get(f"t_{end}[usec]", "nan")) for end in ("min", "max", "avg"))
    if low > high + 0.011 or mean > high + 0.011 or mean < low - 0.011:
        raise Garbage(f"a row of {name} whose t_avg is not between t_min and t_max: {line.strip()[:80]!r}")
    return Row(int(size) if size else None, int(group) if group else None, cells, "")


def _mb(name: str, columns: tuple[str, ...], rows: list[Row], scale: int) -> float:
    """What the table's MB mean, by its own sizes and times. Raises Garbage where no meaning fits all its rows."""
    if "mbytes/sec" not in columns:
        return _UNITS[0]
    held = [row for row in rows if row.size and not row.failure]
    for unit in _UNITS:
        if all(_fits(row, unit, scale) for row in held):
            return unit
    raise Garbage(f"the rates of {name} are not its sizes over its times, neither in MB of 10^6 bytes nor of 2^20")


def _fits(row: Row, unit: float, scale: int) -> bool:
    rate = span(row.cells["mbytes/sec"], unit)
    size = float(row.size or 0)
    if "msg/sec" in row.cells:
        messages = span(row.cells["msg/sec"])
        return messages.low * size <= rate.high * (1 + 1e-6) and rate.low <= messages.high * size * (1 + 1e-6)
    time = row.cells.get("t[usec]", row.cells.get("t_max[usec]"))
    if time is None or float(time) == 0:
        return True
    return agreed_s(Span(size * scale, size * scale), span(time, 1e-6), rate) is not None
