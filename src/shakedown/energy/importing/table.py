"""Somebody's file of power, as SQL: which rows, stamps, keys and values it has, before anything is read of it.

    understand(path, options)  ->  Table     wide (a column for each channel) or long (key columns say whose a value is)

Text is looked at in its first lines with the rules of the meter ``csv`` (separator, decimal sign, header, units, stamps);
Parquet by its types. Long tables are what time-series databases export: a column of text among the cells makes one, such as
Telegraf's and InfluxDB's tags (annotated CSV too: its lines of ``#datatype`` are left out, its header may come again).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ... import times
from ...errors import BadInput, unknown
from ...files import packed
from ...files.parquet import literal
from ...metering.meters import csv
from ..archive import columns as archive_columns
from .unit_names import named_unit, prefixed

_LINES = 2000
_GIVE = "name files of CSV (packed or not) or Parquet"
_VALUE_NAMES = ("value", "_value", "val", "reading")
_UNIT_NAMES = ("unit", "units", "_unit", "uom", "einheit", "metric_unit", "unit_of_measurement")
#: Columns of text that name no channel: of an export's own making, or how good a value is.
_NO_KEYS = ("result", "table", "_start", "_stop", "quality", "status", *_UNIT_NAMES)
HOSTS = ("host", "hostname", "node", "tag_host", "instance", "device")


class Cell(NamedTuple):
    """A column of values."""

    name: str
    sql: str  # its text
    unit: str  # as the header says; empty where it does not


class Table(NamedTuple):
    """One file."""

    path: str
    relation: str  # SQL: the rows with all columns
    stamp_sql: str  # Unix ns, null where a cell is no stamp
    stamp_words: str
    half_ns: int  # half of the step of the stamps
    local_zone: str  # of stamps that name none: hours that it has twice are looked for
    naive_sql: str  # these stamps as if they were UTC, in ns
    keys: tuple[tuple[str, str], ...]  # name and SQL of the key columns, long tables only
    unit_sql: str  # of the column that holds units
    values: tuple[Cell, ...]
    comma: bool
    dialect: str
    header_sql: str = "false"  # rows that are the header again


def understand(path: Path, options: Mapping[str, str], key: Sequence[str], scratch: Path) -> Table:
    """What a file holds; what DuckDB cannot unpack is unpacked in ``scratch``, which must be there as long as the table is
    read. Raises BadInput with the option that settles what is not clear."""
    if not path.is_file():
        raise BadInput("there is no such file", where=str(path), hint=_GIVE)
    with packed.opened(path, hint=_GIVE) as file:
        magic = file.read(4)
    plain = _plain(path, scratch)
    return _parquet(plain, str(path), options, key) if magic == b"PAR1" else _text(path, plain, options, key)


def _plain(path: Path, scratch: Path) -> Path:
    """A file that DuckDB reads: one packed by gzip as it is, by another program unpacked. Raises BadInput."""
    with path.open("rb") as file:
        begin = file.read(6)
    if begin.startswith(b"\x1f\x8b") or not packed.is_packed(begin):
        return path
    target = scratch / f"unpacked-{len(list(scratch.iterdir()))}"
    with packed.opened(path) as file, target.open("wb") as out:
        shutil.copyfileobj(file, out, 1 << 20)
    return target


def _head(path: Path) -> list[str]:
    """The first lines of a text, unpacked. Raises BadInput."""
    with packed.opened(path, hint=_GIVE) as file:
        data = file.read(1 << 20)
    if b"\0" in data[:4096] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise BadInput("is neither text nor Parquet", where=str(path), hint="export it as CSV or Parquet")
    lines = csv.decoded(data).splitlines()
    return lines[: _LINES if len(lines) > _LINES else max(1, len(lines) - (len(data) == 1 << 20))]


# ------------------------------------------------------------------------------------------------------------------ text


def _text(path: Path, plain: Path, options: Mapping[str, str], key: Sequence[str]) -> Table:
    lines = _head(path)
    annotated = any(line.startswith(("#datatype", "#group", "#default")) for line in lines[:8])
    shown = [line for line in lines if not annotated or (line.strip() and not line.startswith("#"))]
    given = dict(options)
    if annotated:
        given = {"time": "_time", "separator": "comma", **given}
    where = str(path)
    long, seen = _shape(shown, given, key, where)
    relation = _read_csv(plain, where, seen.separator, lines.index(shown[seen.first]), len(seen.names))
    cells = [f"c{index}" for index in range(len(seen.names))]
    stamp, words, zone, naive = _stamp_sql(seen, cells, options.get("zone", ""), where)
    again = " and ".join(f"coalesce(c{i} = {literal(seen.names[i])}, false)" for i in seen.stamps)
    blank = " and ".join(f"coalesce(c{i}, '') = ''" for i in sorted({0, len(seen.names) - 1, *seen.stamps}))
    header = f"(({again}) or ({blank}) or coalesce(starts_with(c0, '#'), false))"
    values: tuple[Cell, ...]
    if long is None:
        columns = csv.layout(shown, given, where).columns
        values = tuple(Cell(one.channel.title, cells[one.at], one.channel.unit) for one in columns)
        # The layout's factor has the unit of the file; it stands in the cell's own unit again.
        values = tuple(
            cell._replace(unit=prefixed(one.factor, one.channel.unit))
            for cell, one in zip(values, columns, strict=True)
        )
        keys: tuple[tuple[str, str], ...] = ()
        unit_sql = ""
    else:
        keys = tuple((seen.names[i], cells[i]) for i in long.keys)
        unit_sql = cells[long.unit] if long.unit is not None else ""
        values = tuple(Cell(seen.names[i], cells[i], named_unit(seen.names[i])) for i in long.values)
    digits = (
        9
        if not seen.rows
        else max((_digits(row[seen.stamps[-1]]) for row in seen.rows[:200] if len(row) > seen.stamps[-1]), default=0)
    )
    if seen.how.kind in ("unix", "relative"):
        digits += {"s": 0, "ms": 3, "us": 6, "ns": 9}[seen.how.scale]
    half = 10 ** max(0, 9 - digits) // 2
    return Table(
        where, relation, stamp, words, half, zone, naive, keys, unit_sql, values, seen.comma, seen.dialect, header
    )


def _digits(text: str) -> int:
    found = re.search(r"[.,](\d+)(?=\D*$|Z|[-+])", text)
    return min(9, len(found[1])) if found else 0


class _Long(NamedTuple):
    keys: tuple[int, ...]
    values: tuple[int, ...]
    unit: int | None


def _shape(
    lines: Sequence[str], options: Mapping[str, str], key: Sequence[str], where: str
) -> tuple[_Long | None, csv.Outline]:
    """Whether the table is long: what its keys are, or None for a wide one."""
    if not lines:
        raise BadInput("the file contains no lines", where=where, hint="give the file that was exported")
    if options.get("dialect") == "spl" or re.match(r"Time,[^,]+,Watts,", lines[0]):
        raise BadInput(
            "an spl.txt is read as a meter", where=where, hint=f"shakedown meter record csv:{where}?begin=start"
        )
    seen = csv.outline(lines, options, where)
    columns = list(zip(*(row for row in seen.rows if len(row) == len(seen.names)), strict=True))
    texts = [
        i
        for i, cells in enumerate(columns)
        if i not in seen.stamps and sum(_is_text(cell, seen.comma) for cell in cells) > 0.5 * len(cells)
    ]
    for word in key:
        if word not in seen.names:
            raise unknown("column (--key)", word, seen.names, where=where)
    keys = [seen.names.index(word) for word in key] or [
        i for i in texts if seen.names[i].lower() not in _NO_KEYS and seen.names[i]
    ]
    letters = csv.enumerated(seen.names)
    counted = [i for i, name in enumerate(seen.names) if name in letters]
    lowered = [name.lower() for name in seen.names]
    generic = [lowered.index(word) for word in _VALUE_NAMES if word in lowered]
    if not keys or (seen.dialect != "generic" and not key):
        return None, seen
    wanted = [word.strip() for word in options.get("column", "").split(",") if word.strip()]
    for word in wanted:
        if word not in seen.names:
            raise unknown("column (--column)", word, seen.names, where=where)
    values = (
        [seen.names.index(word) for word in wanted]
        or generic[:1]
        or [i for i, name in enumerate(seen.names) if i not in (*seen.stamps, *keys, *counted) and named_unit(name)]
    )
    if not values:
        raise BadInput(
            f"no column of values among {', '.join(seen.names)}",
            where=where,
            hint="name it with --column, its unit with --unit",
        )
    unit = next((lowered.index(word) for word in _UNIT_NAMES if word in lowered), None)
    return _Long(tuple(i for i in keys if i not in values), tuple(values), unit), seen


def _is_text(cell: str, comma: bool) -> bool:
    if not cell.strip():
        return False
    try:
        float(cell.replace(",", ".") if comma else cell)
    except ValueError:
        return not re.fullmatch(r"[-+*. ]*(o\.?l\.?|over|nan|null|none|n/?a|inf)?[-+*. ]*", cell, re.I)
    return False


def _read_csv(path: Path, where: str, separator: str, skip: int, columns: int) -> str:
    if separator == " ":
        raise BadInput(
            "columns are separated by spaces",
            where=where,
            hint=f"read it as a meter: shakedown meter record csv:{where}?begin=start",
        )
    with path.open("rb") as file:
        compression = "gzip" if file.read(2) == b"\x1f\x8b" else "none"
    kinds = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(columns))
    return (
        f"read_csv({literal(path)}, delim={literal(separator)}, quote='\"', escape='\"', header=false, "
        f"skip={skip}, compression='{compression}', comment='', null_padding=true, store_rejects=true, auto_detect=false, "
        f"columns={{{kinds}}})"
    )


def _stamp_sql(seen: csv.Outline, cells: Sequence[str], zone: str, where: str) -> tuple[str, str, str, str]:
    """Unix ns in SQL, in words, and the zone with the stamps as if they were UTC where they name none."""
    how = seen.how
    if len(seen.stamps) == 3:
        text = (
            f"{cells[seen.stamps[0]]} || ' ' || {cells[seen.stamps[1]]} || '.' || lpad({cells[seen.stamps[2]]}, 3, '0')"
        )
    else:
        text = " || ' ' || ".join(cells[index] for index in seen.stamps)
    text = f"trim({text})"
    if how.kind in ("unix", "relative"):
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[how.scale]
        number = f"try_cast(replace({text}, ',', '.') as decimal(38, 9))"
        words = f"Unix time in {how.scale}" if how.kind == "unix" else f"{how.scale} after the start that was given"
        return f"({how.start_ns} + round({number} * {factor})::bigint)", words, "", ""
    samples = [" ".join(row[i] for i in seen.stamps) for row in seen.rows[:200] if len(row) > max(seen.stamps)]
    # An offset follows a time of day: the hyphens of a date are none.
    offsets = [bool(re.search(r":\d\d.*?(Z|UTC|GMT|[-+]\d\d:?\d\d)\s*$", one)) for one in samples]
    if any(offsets) and not all(offsets):
        raise BadInput("some stamps name a zone, the others do not", where=where, hint="split the file")
    if all(offsets) and samples and how.kind == "stamp" and how.order == "ymd":
        clean = f"regexp_replace(replace({text}, '/', '-'), '\\s*(UTC|GMT)$', 'Z')"
        return (
            f"epoch_ns(try_cast(replace({clean}, ',', '.') as timestamptz))",
            "stamps with their offset from UTC",
            "",
            "",
        )
    if any(offsets):
        raise BadInput("stamps with an offset are read as ISO 8601 only", where=where, hint="export them so")
    if not zone:
        raise BadInput(
            "the stamps are local time without a zone",
            where=where,
            hint="say which: --zone Europe/Berlin, UTC or +01:00",
        )
    naive = f"epoch_ns({_parsed(how, text, samples)})"
    of = times.zone(zone, where)
    fixed = of.utcoffset(None)
    if fixed is not None:
        return f"({naive} - {round(fixed.total_seconds()) * 10**9})", f"taken as {zone}", "", ""
    local = f"epoch_ns(timezone({literal(zone)}, {_parsed(how, text, samples)}))"
    return local, f"local time, taken as {zone}", zone, naive


def _parsed(how: csv.Spec, text: str, samples: Sequence[str]) -> str:
    """A stamp without a zone as SQL's timestamp."""
    if how.kind == "format":
        return f"try_strptime({text}, {literal(how.format)})"
    if how.order == "ymd":
        return f"try_cast(replace(replace({text}, '/', '-'), ',', '.') as timestamp)"
    sign = next((one for one in "./-" if samples and one in samples[0][:3]), "-")
    date = sign.join({"dmy": ("%d", "%m", "%Y"), "mdy": ("%m", "%d", "%Y")}[how.order])
    clocks = ("%H:%M:%S.%f", "%H:%M:%S", "%H:%M", "%I:%M:%S.%f %p", "%I:%M:%S %p", "%I:%M %p")
    glue = [" ", "T"]
    formats = ", ".join(f"'{date}{between}{clock}'" for between in glue for clock in clocks)
    return f"try_strptime(replace({text}, ',', '.'), [{formats}])"


def transitions(zone: str, begin_ns: int, end_ns: int) -> list[tuple[int, int]]:
    """Stretches of local time, as if it were UTC in ns, that a zone has twice or never, between two such times."""
    begin_s, end_s = begin_ns // 10**9 - times.DAY_S, end_ns // 10**9 + times.DAY_S
    return [
        ((one.at_s + min(one[1:])) * 10**9, (one.at_s + max(one[1:])) * 10**9)
        for one in times.changes(times.zone(zone), begin_s, end_s)
    ]


# --------------------------------------------------------------------------------------------------------------- Parquet


def _parquet(path: Path, where: str, options: Mapping[str, str], key: Sequence[str]) -> Table:
    import duckdb

    readable = str(path)
    try:
        with duckdb.connect() as db:
            rows = db.execute("describe select * from read_parquet(?)", [readable]).fetchall()
            kinds = {str(row[0]): str(row[1]) for row in rows}
            time = _time_column(kinds, options, where)
            zone = options.get("zone", "")
            if not zone and kinds[time].startswith("TIMESTAMP") and "ZONE" not in kinds[time]:
                zone = "UTC"
            stamps = archive_columns.stamps(db, [readable], time, kinds[time], zone or "UTC", options.get("format", ""))
    except duckdb.Error:
        raise BadInput("cannot be read as Parquet", where=where, hint="check that the file is complete") from None
    for word in key:
        if word not in kinds:
            raise unknown("column (--key)", word, kinds, where=where)
    texts = [name for name, kind in kinds.items() if kind == "VARCHAR" or kind.startswith("ENUM")]
    keys = list(key) or [name for name in texts if name != time and name.lower() not in _NO_KEYS]
    wanted = [word.strip() for word in options.get("column", "").split(",") if word.strip()]
    for word in wanted:
        if word not in kinds:
            raise unknown("column (--column)", word, kinds, where=where)
    plain = [name for name in kinds if name != time and name not in keys]
    generic = [name for name in plain if keys and name.lower() in _VALUE_NAMES]
    counted = csv.enumerated(plain)
    named = [name for name in plain if named_unit(name) and name not in counted]
    values = wanted or generic[:1] or named or [name for name in plain if keys and re.search("power|watt", name, re.I)]
    if not values:
        raise BadInput(
            f"no column of power among {', '.join(kinds)}",
            where=where,
            hint="name it with --column, its unit with --unit",
        )
    unit = next((name for name in kinds if name.lower() in _UNIT_NAMES), "")
    return Table(
        where,
        f"read_parquet({literal(readable)})",
        stamps.sql,
        stamps.words,
        {10**9: 0, 10**6: 500_000}.get(stamps.scale, 0),
        "",
        "",
        tuple((name, f'"{name}"') for name in keys if name not in values),
        f'"{unit}"' if unit else "",
        tuple(Cell(name, f'"{name}"::varchar', "" if name in counted else named_unit(name)) for name in values),
        False,
        "generic",
    )


def _time_column(kinds: Mapping[str, str], options: Mapping[str, str], where: str) -> str:
    if "time" in options:
        if options["time"] not in kinds:
            raise unknown("column (--time)", options["time"], kinds, where=where)
        return options["time"]
    named = [
        name for name in kinds if name.lower() in ("_time", "time", "timestamp", "t_ns", "time_ns", "ts", "t", "date")
    ]
    typed = [name for name, kind in kinds.items() if kind.startswith("TIMESTAMP") and name not in ("_start", "_stop")]
    for name in (*named, *typed):
        return name
    raise BadInput(f"no column of stamps among {', '.join(kinds)}", where=where, hint="name it with --time")
