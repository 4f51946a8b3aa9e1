"""What an archive of readings holds and how it lies: files, columns, row groups with their statistics, slices to read."""

from __future__ import annotations

import datetime
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import times
from ...errors import BadInput
from . import columns
from .columns import Stamps, Values

_NONE = datetime.timedelta()

#: Rows that are in memory at one time: 8 + 8 bytes each, and about as much again for what is made of them.
CHUNK = 8_000_000
NODE, TIME, VALUE = (
    ("node", "host", "hostname", "channel"),
    ("t_ns", "time_ns", "time", "timestamp", "t"),
    (
        "value",
        "power",
        "watts",
        "w",
        "power_w",
        "kw",
        "power_kw",
        "energy_j",
        "joules",
        "energy",
        "energy_wh",
        "energy_kwh",
        "kwh",
    ),
)


class Group(NamedTuple):
    """One row group: between which names its nodes lie, and when."""

    file: str
    rows: int
    least: str
    most: str
    begin_ns: int
    end_ns: int


class Archive(NamedTuple):
    """An archive, looked at: its files, what its columns mean, its row groups."""

    files: tuple[str, ...]
    node: str
    stamps: Stamps
    values: Values
    groups: tuple[Group, ...]
    notices: tuple[str, ...] = ()

    @property
    def understood(self) -> str:
        """How it is read, for the user."""
        return f"stamps: {self.stamps.words}; values: {self.values.words}"

    @property
    def rows(self) -> int:
        return sum(group.rows for group in self.groups)


def by_node(archive: Archive, nodes: Sequence[str]) -> bool:
    """Whether reading node by node touches no more than twice the rows; ``nodes`` in order."""
    touched = sum(
        group.rows * max(1, bisect_right(nodes, group.most) - bisect_left(nodes, group.least))
        for group in archive.groups
    )
    return touched <= 2 * archive.rows


def open_archive(paths: Sequence[Path], *, zone: str = "UTC", time_unit: str = "", unit: str = "") -> Archive:
    """Files and folders (searched for *.parquet) as one archive; ``zone`` of stamps that name none, the unit of numeric
    stamps and of the values where they are stated. Raises BadInput."""
    files = [one for path in paths for one in (sorted(path.rglob("*.parquet")) if path.is_dir() else [path])]
    if not files:
        raise BadInput("there is no Parquet file", where=", ".join(map(str, paths)), hint="name files or their folder")
    for file in files:
        if not file.exists():
            raise BadInput("there is no such file", where=str(file), hint="name Parquet files or their folder")
    names = tuple(map(str, files))
    import duckdb

    try:
        with duckdb.connect() as db:
            kinds = {
                row[0]: row[1] for row in db.execute("describe select * from read_parquet(?)", [[names[0]]]).fetchall()
            }
            node, time, value = (_pick(kinds, wanted, names[0]) for wanted in (NODE, TIME, VALUE))
            stamps = columns.stamps(db, list(names), time, kinds[time], zone, time_unit)
            values = columns.values(db, list(names), node, stamps, value, kinds[value], unit)
            told = db.execute(
                "select file_name, row_group_id, any_value(row_group_num_rows), "
                "max(case when path_in_schema = $node then stats_min_value end), "
                "max(case when path_in_schema = $node then stats_max_value end), "
                "max(case when path_in_schema = $time then stats_min_value end), "
                "max(case when path_in_schema = $time then stats_max_value end), "
                "max(case when path_in_schema = $node then coalesce(stats_null_count, 1) end) "
                "from parquet_metadata($files) group by all order by file_name, row_group_id",
                {"node": node, "time": time, "files": list(names)},
            ).fetchall()
            groups = _groups(told, _spans(db, names, told, stamps), kinds[node] == "VARCHAR")
    except duckdb.Error:
        raise BadInput(
            "cannot be read as Parquet, or its files are not alike",
            where=names[0],
            hint="check that all files are alike",
        ) from None
    return Archive(names, node, stamps, values, groups, tuple(_twice(groups, stamps, zone)))


def _spans(
    db: Any, files: Sequence[str], told: list[tuple[Any, ...]], stamps: Stamps
) -> dict[tuple[str, int], tuple[int, int]]:
    """The first and last stamp of each row group: from its statistics; where they are none of numbers or timestamps in UTC,
    those of the whole file."""
    out: dict[tuple[str, int], tuple[int, int]] = {}
    whole: dict[str, tuple[int, int]] = {}
    for file, number, rows, _, _, begin, end, _ in told:
        if rows == 0:
            continue
        if (stamps.scale or stamps.native) and (begin is None or end is None):
            raise BadInput(
                f"row group {number} has no statistics of its times",
                where=str(file),
                hint="rewrite the files with statistics; DuckDB, Arrow and Polars do so by default",
            )
        if stamps.scale:
            low, high = (round(Fraction(text) * stamps.scale) for text in (begin, end))
        elif stamps.native:
            low, high = (
                int(db.execute("select epoch_ns(?::timestamp)", [text.removesuffix("+00")]).fetchone()[0])
                for text in (begin, end)
            )
        else:
            if file not in whole:
                query = f"select min({stamps.sql}), max({stamps.sql}) from read_parquet(?)"
                whole[file] = db.execute(query, [file]).fetchone()
            low, high = whole[file]
        out[file, number] = low, high
    for low, high in out.values():
        if not columns.EARLIEST_NS <= low <= high <= columns.LATEST_NS:
            raise BadInput(
                "the stamps do not lie between 1990 and 2100", where=files[0], hint="state their unit: --time-unit"
            )
    return out


def _twice(groups: Sequence[Group], stamps: Stamps, zone: str) -> Iterator[str]:
    """Tells of the hours that the zone of stamps without one has twice."""
    if "taken as" not in stamps.words or zone.upper() == "UTC":
        return
    begin, end = min(one.begin_ns for one in groups), max(one.end_ns for one in groups)
    for change in times.changes(zone, begin // 10**9, end // 10**9):
        if change.after_s < change.before_s:
            day = times.day_of(change.at_s - 1, zone)
            yield f"the hour that {zone} has twice on {day} is read once: its readings overlap there"


def _pick(columns: dict[str, str], wanted: tuple[str, ...], file: str) -> str:
    lower = {name.lower(): name for name in columns}
    for name in wanted:
        if name in lower:
            return lower[name]
    raise BadInput(
        f"there is no column for the {wanted[0]}",
        where=file,
        hint=f"one of {', '.join(wanted)}; there are: {', '.join(columns)}",
    )


def _groups(
    told: list[tuple[Any, ...]], spans: dict[tuple[str, int], tuple[int, int]], named: bool
) -> tuple[Group, ...]:
    groups = []
    for file, number, rows, least, most, _, _, nameless in told:
        if rows == 0:
            continue
        begin, end = spans[file, number]
        # Numbers do not lie in the order of their text; rows without a node belong to none.
        if least is None or nameless or (least != most and not named):
            least, most = "", chr(0x10FFFF)
        groups.append(Group(str(file), int(rows), str(least), str(most), begin, end))
    if not groups:
        raise BadInput("the files have no rows", hint="name files with readings")
    return tuple(groups)


def slices(groups: Sequence[Group]) -> Iterator[tuple[list[str], int, int, bool]]:
    """Files and a half-open stretch of time with about ``CHUNK`` rows or one row group; ``whole``: no bound is needed."""
    if not groups:
        return
    ordered = sorted(groups, key=lambda one: one.begin_ns)
    files = list(dict.fromkeys(one.file for one in ordered))
    if sum(one.rows for one in ordered) <= CHUNK:
        yield files, 0, 0, True
        return
    cuts, rows = [ordered[0].begin_ns], 0
    for one in ordered:
        if rows and rows + one.rows > CHUNK and one.begin_ns > cuts[-1]:
            cuts.append(one.begin_ns)
            rows = 0
        rows += one.rows
    cuts.append(max(one.end_ns for one in ordered) + 1)
    for begin, end in pairwise(cuts):
        yield files, begin, end, False


def time_slices(archive: Archive) -> Iterator[tuple[int, int]]:
    """Stretches of time with about ``CHUNK`` / 2 rows (they are sorted too), by the row groups' statistics."""
    marks = sorted((group.begin_ns, group.end_ns, group.rows) for group in archive.groups)
    begin, end = marks[0][0], max(mark[1] for mark in marks) + 1
    count = max(1, -(-2 * archive.rows // CHUNK))
    # The density of rows over time, taken as even within a row group.
    grid = np.linspace(begin, end, 64 * count + 1)
    rows = np.zeros(len(grid))
    for first, last, number in marks:
        rows += number * np.clip((grid - first) / max(last - first, 1), 0.0, 1.0)
    cuts = np.interp(np.linspace(0, rows[-1], count + 1), rows, grid)
    edges = np.unique(np.concatenate([[begin], np.round(cuts[1:-1]).astype(np.int64), [end]]))
    yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
