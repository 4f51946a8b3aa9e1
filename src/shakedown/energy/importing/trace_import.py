"""Files of power that a site has, as a trace of ours: streamed, sorted by channel and time, with what was understood told.

    bring(files, options, key, out)  ->  Imported     (``out`` None: only what the files hold)

The rows go through DuckDB into a sorted temporary file, of which a pass in pieces tells steps, gaps, duplicates and leaps of
the clock; then the trace is written, without rows that say the same twice. Memory is bounded whatever the size.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ... import units
from ...errors import BadInput, StoreFailed
from ...files import parquet
from ...files.parquet import literal
from ...metering.meters import Channel, Status, channel_key
from ...metering.trace import metadata
from ...records import Notice, Record
from ..uncertainty.quantity import gathered
from . import table as import_table
from .channels import Series, series_of
from .findings import Judged, judged
from .table import Table

_MEMORY = "900MB"


class Described(Record, frozen=True, kw_only=True):
    """One channel as it was understood, and what its readings are like."""

    channel: Channel
    source: str  # column and keys
    unit: str
    readings: int
    without_value: int
    first_ns: int
    last_ns: int
    step_s: float
    gaps: int
    longest_gap_s: float
    duplicates: int
    out_of_order: int
    mean_w: float | None


class Imported(Record, frozen=True, kw_only=True):
    """What files held."""

    files: tuple[str, ...]
    stamps: str
    channels: tuple[Described, ...]
    left_out: tuple[str, ...]  # channels of no power or energy
    rows: int
    foreign_rows: int
    notices: tuple[Notice, ...]
    written: str = ""


def bring(files: Sequence[Path], options: Mapping[str, str], key: Sequence[str], out: Path | None) -> Imported:
    """The files as one trace at ``out``. Raises BadInput for what may mean two things, StoreFailed."""
    import duckdb

    folder = (out.parent if out else Path(tempfile.gettempdir())).resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=folder) as scratch, duckdb.connect() as db:
            db.execute(f"set memory_limit = '{_MEMORY}'")
            db.execute(f"set temp_directory = {literal(scratch)}")
            db.execute("set threads = 2")
            return _brought(db, files, options, key, out, Path(scratch))
    except OSError as error:
        raise StoreFailed(f"cannot be written: {error.strerror}", where=str(out or folder)) from None
    except duckdb.Error as error:
        why = (
            "there is not enough memory or disk" if isinstance(error, duckdb.OutOfMemoryException) else "it is damaged"
        )
        raise BadInput(
            f"cannot be read: {why}", where=", ".join(map(str, files)), hint="check that it is complete"
        ) from None


def _brought(
    db: Any, files: Sequence[Path], options: Mapping[str, str], key: Sequence[str], out: Path | None, scratch: Path
) -> Imported:
    tables = [import_table.understand(one, options, key, scratch) for one in files]
    series, left_out = series_of(db, tables, options)
    if not series:
        raise BadInput(
            f"no channel of power or energy in {len(left_out)} series: {', '.join(left_out[:5])}",
            where=tables[0].path,
            hint="state their unit with --unit W, kW, J or kWh, and choose with --column",
        )
    sorted_, rows, foreign = _sorted(db, tables, series, scratch)
    _foreign_refused(tables, rows, foreign)
    found = judged(db, sorted_)
    described, notices = [], []
    for one in series:
        what = found.get(one.number)
        if what is None:
            notices.append(Notice(code="empty", text=f"{channel_key(one.channel)} has no reading"))
            continue
        described.append(_described(one, what))
        notices += _notices(described[-1], what, options)
    if not described:
        raise BadInput("no row holds a reading", where=tables[0].path, hint="name stamps and values: --time, --column")
    _overlap_refused(described, found, series, options, tables[0].path)
    if foreign:
        notices.append(
            Notice(code="lines-left-out", text=f"{foreign} of {rows} rows ({foreign / rows:.2%}) have no stamp")
        )
    told = Imported(
        files=tuple(table.path for table in tables),
        stamps="; ".join(dict.fromkeys(table.stamp_words for table in tables)),
        channels=tuple(described),
        left_out=tuple(left_out),
        rows=rows,
        foreign_rows=foreign,
        notices=gathered(notices),
    )
    if out is None:
        return told
    _written(db, sorted_, series, {one.channel.id + one.channel.host: one for one in described}, out)
    return msgspec.structs.replace(told, written=str(out))


# ----------------------------------------------------------------------------------------------------------------- rows


_OVER = r"[-+ ]*(o\.?l\.?|of|over|ovr|inf(inity)?|over-?range|overload)[- ]*|-{3,}|\+?9\.9E\+?37"


def _sorted(db: Any, tables: Sequence[Table], series: Sequence[Series], scratch: Path) -> tuple[Path, int, int]:
    """All readings by channel and time in a temporary file: number, t_ns, half_ns, value (SI), status, row of the files.
    Also how many rows there were, and how many of them have no stamp."""
    by_source = {one.source: one for one in series}
    parts, rows, foreign = [], 0, 0
    for number, table in enumerate(tables):
        staged = scratch / f"{number}.parquet"
        keys = ", ".join(f"{sql} as k{i}" for i, (_, sql) in enumerate(table.keys))
        picked = ", ".join(f"{value.sql} as v{i}" for i, value in enumerate(table.values))
        naive = f", {table.naive_sql} as naive" if table.naive_sql else ""
        db.execute(
            f"copy (select row_number() over () as row, {table.stamp_sql} as t_ns, {picked}"
            f"{', ' + keys if keys else ''}{naive} from {table.relation} where not ({table.header_sql})) "
            f"to {literal(staged)} (format parquet, compression snappy)"
        )
        count, stamped = db.execute(f"select count(*), count(t_ns) from read_parquet({literal(staged)})").fetchone()
        cut = _rejected(db)
        rows, foreign = rows + count + cut, foreign + count + cut - stamped
        if table.naive_sql:
            _twice_refused(db, staged, table)
        label = " || ' ' || ".join(f"coalesce(k{i}, '')" for i in range(len(table.keys)))
        for i, value in enumerate(table.values):
            named = literal(value.name)
            source = named if not label else f"{label} || ' ' || {named}" if len(table.values) > 1 else label
            text = f"replace(replace(trim(v{i}), '.', ''), ',', '.')" if table.comma else f"trim(v{i})"
            text = f"case when v{i} like '%,%' then {text} else trim(v{i}) end" if table.comma else text
            parts.append(
                f"select {source} as source, t_ns, {table.half_ns} as half_ns, try_cast({text} as double) as x, "
                f"v{i} as cell, {number}::bigint * 1000000000000 + row as row from read_parquet({literal(staged)}) "
                "where t_ns is not null"
            )
    db.execute("create table series (source varchar, number integer, factor double)")
    db.executemany("insert into series values (?, ?, ?)", [(k, one.number, one.factor) for k, one in by_source.items()])
    target = scratch / "sorted.parquet"
    good = "x is not null and x > -9e37 and x < 9e37"
    db.execute(
        "copy (select number, t_ns, half_ns::bigint as half_ns, "
        f"case when {good} then x * factor end as value, (case when {good} then {int(Status.OK)} "
        f"when regexp_full_match(trim(cell), '{_OVER}', 'i') or abs(x) >= 9e37 then {int(Status.OVERRANGE)} "
        f"else {int(Status.GAP)} end)::utinyint as status, row "
        f"from ({' union all '.join(parts)}) join series using (source) order by number, t_ns, row) "
        f"to {literal(target)} (format parquet, compression zstd)"
    )
    return target, rows, foreign


def _rejected(db: Any) -> int:
    """Rows of the text just read that have too many cells, or a quote that never ends; forgotten when told."""
    names = {row[0] for row in db.execute("select table_name from duckdb_tables() where temporary").fetchall()}
    if "reject_errors" not in names:
        return 0
    count = int(db.execute("select count(distinct (file_id, line)) from reject_errors").fetchone()[0])
    db.execute("delete from reject_errors")
    return count


def _foreign_refused(tables: Sequence[Table], rows: int, foreign: int) -> None:
    if rows and foreign > 0.5 * rows:
        raise BadInput(
            f"{foreign} of {rows} rows have no stamp that can be read",
            where=tables[0].path,
            hint="say how they are written: --time COLUMN, --format %d.%m.%Y %H:%M:%S",
        )


def _twice_refused(db: Any, staged: Path, table: Table) -> None:
    """Local times that the zone has twice, or never, are not guessed in a table whose rows may lie in any order."""
    low, high = db.execute(f"select min(naive), max(naive) from read_parquet({literal(staged)})").fetchone()
    if low is None:
        return
    for begin, end in import_table.transitions(table.local_zone, low, high):
        count = db.execute(
            f"select count(*) from read_parquet({literal(staged)}) where naive >= {begin} and naive < {end}"
        ).fetchone()[0]
        if count:
            at = np.datetime64(begin, "ns").astype("datetime64[s]")
            raise BadInput(
                f"{count} rows lie in the hour after {at}, which {table.local_zone} has twice or never",
                where=table.path,
                hint="export in UTC, or give the instrument's fixed offset (--zone +01:00) if it keeps no summer time",
            )


# ----------------------------------------------------------------------------------------------------------- what is told


def _described(one: Series, what: Judged) -> Described:
    channel = one.channel
    step = what.step_s or None
    window = channel.window_s or (step if channel.scope in ("last", "next") else None)
    channel = msgspec.structs.replace(channel, refresh_s=step, window_s=window)
    return Described(
        channel=channel,
        source=one.source,
        unit=one.unit,
        readings=what.readings,
        without_value=what.without_value,
        first_ns=what.first_ns,
        last_ns=what.last_ns,
        step_s=what.step_s,
        gaps=what.gaps,
        longest_gap_s=what.longest_gap_s,
        duplicates=what.duplicates,
        out_of_order=what.late,
        mean_w=what.mean_w(channel.quantity == "energy"),
    )


def _notices(one: Described, what: Judged, options: Mapping[str, str]) -> Iterator[Notice]:
    """What is suspect in a channel; its name stands in front. Raises BadInput for a power that cannot be, where the unit
    was not stated."""
    from ..anomalies.signs import PLAUSIBLE

    name = channel_key(one.channel)
    low, high = PLAUSIBLE[one.channel.place]
    if one.mean_w is not None and one.mean_w and not low <= abs(one.mean_w) <= high:
        text = f"{units.show(one.mean_w, 'W', 4)} on average is not what a {one.channel.place} draws"
        if "unit" not in options:
            raise BadInput(
                f"{name}: {text}, read in {one.unit}", where=one.source, hint="state the unit (--unit) or --place rack"
            )
        yield Notice(code="unit", text=f"{name}: {text}", advice="check --unit and --place")
    if one.mean_w == 0:
        yield Notice(code="dead", text=f"{name}: it reads 0 W throughout", advice="check whether the meter is alive")
    if one.without_value:
        share = one.without_value / one.readings
        yield Notice(
            code="no-value", text=f"{name}: {one.without_value} of {one.readings} readings ({share:.2%}) have none"
        )
    if one.gaps:
        text = f"{name}: {one.gaps} gaps, the longest of {units.show_seconds(one.longest_gap_s)}"
        yield Notice(code="gaps", text=text)
    if one.duplicates:
        yield Notice(code="duplicates", text=f"{name}: {one.duplicates} readings repeat stamp and value; left out")
    if what.clashes:
        text = f"{name}: {what.clashes} readings share a stamp but not the value; all are kept"
        yield Notice(
            code="coarse-stamps", text=text, advice="export decimals of a second, or one meter a channel (--key)"
        )
    if one.out_of_order:
        yield Notice(code="unordered", text=f"{name}: {one.out_of_order} rows came late; they were put in order")
    if what.leaps:
        text = f"{name}: {what.leaps} times just an hour passes without a reading: a clock that was set, or a pause"
        yield Notice(code="hour-leap", text=text, advice="check the zone and summer time of the instrument")


def _overlap_refused(
    described: Sequence[Described], found: Mapping[int, Judged], series: Sequence[Series], options: Mapping[str, str],
    where: str,
) -> None:  # fmt: skip
    if options.get("overlap") == "keep":
        return
    for one in series:
        what = found.get(one.number)
        if what is not None and what.overlap_s > 0 and what.overlap:
            raise BadInput(
                f"{channel_key(one.channel)}: {what.overlap} readings over {units.show_seconds(what.overlap_s)} lie in time "
                "that was recorded already: the clock was set back, or two meters share one name",
                where=where,
                hint="split the file there, give a zone or a fixed offset, more --key columns, or take both: --overlap keep",
            )


# --------------------------------------------------------------------------------------------------------------- writing


def _written(db: Any, sorted_: Path, series: Sequence[Series], described: Mapping[str, Described], out: Path) -> None:
    kept = [one for one in series if one.channel.id + one.channel.host in described]
    channels = [described[one.channel.id + one.channel.host].channel for one in kept]
    db.execute("create table names (number integer, channel varchar)")
    db.executemany("insert into names values (?, ?)", [(one.number, channel_key(one.channel)) for one in kept])
    # The rows come in the file's order: what a row repeats stands right before it.
    parquet.write(
        db,
        "select channel, t_ns, half_ns, value, status from (select *, lag(number) over () as n0, "
        "lag(t_ns) over () as t0, lag(value) over () as v0, lag(status) over () as s0 "
        f"from read_parquet({literal(sorted_)})) join names using (number) where not coalesce(number = n0 and "
        "t_ns = t0 and v0 is not distinct from value and s0 = status, false) order by number, t_ns, row",
        out,
        options=f"row_group_size 122880, kv_metadata {{{metadata(channels)}}}",
    )
