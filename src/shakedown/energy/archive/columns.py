"""What the columns of an archive mean: how its stamps and values become Unix nanoseconds and watts or joules, in SQL.

Nothing is taken that was not stated, found, or told to the user: the unit of whole or fractional numbers of time is found by
their size, that of values by the column's name or the option, and what no node draws is refused. A counter of energy is one
where the unit says so; values that only ever rise are not taken for a power.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import times
from ...errors import BadInput
from ...units import UnknownUnit, show, si

#: Values that a node or a rack draws on average, W: beyond them the unit must be stated.
PLAUSIBLE_W = (1.0, 100e3)
#: Of how many rows the meaning of a column is found.
LOOKED_AT = 200_000
#: Stamps lie between 1990 and 2100.
EARLIEST_NS, LATEST_NS = 631_152_000 * 10**9, 4_102_444_800 * 10**9
_SCALES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
#: Units by the end of a column's name. "mw" may be mW or MW and is neither.
BY_NAME = {
    "w": "W", "watt": "W", "watts": "W", "kw": "kW", "milliwatts": "mW", "j": "J", "joule": "J", "joules": "J", "kj": "kJ",
    "wh": "Wh", "kwh": "kWh",
}  # fmt: skip


class Stamps(NamedTuple):
    """How the stamps of an archive are read."""

    column: str
    sql: str  # Unix ns
    words: str  # for the user
    scale: int = 0  # ns in one step of a numeric column; 0 for others
    whole: bool = False  # whole numbers: bounds need no rounding
    native: str = ""  # "zone" or "plain" for columns of type timestamp in UTC

    def between(self, begin_ns: int, end_ns: int) -> str:
        """A half-open stretch of time, in SQL, in a form that skips row groups where there is one."""
        exact = f"({self.sql}) >= {begin_ns} and ({self.sql}) < {end_ns}"
        if self.scale and self.whole:
            return f'"{self.column}" >= {-(-begin_ns // self.scale)} and "{self.column}" < {-(-end_ns // self.scale)}'
        if self.scale:
            low, high = begin_ns // self.scale - 1, end_ns // self.scale + 1
            return f'{exact} and "{self.column}" >= {low} and "{self.column}" <= {high}'
        if self.native:
            make = "to_timestamp({})" if self.native == "zone" else "make_timestamp({}::bigint * 1000000)"
            first, last = make.format(begin_ns // 10**9 - 1), make.format(end_ns // 10**9 + 2)
            return f'{exact} and "{self.column}" >= {first} and "{self.column}" <= {last}'
        return exact


class Values(NamedTuple):
    """How the values of an archive are read."""

    sql: str  # W, or J for a counter
    counter: bool
    words: str


def stamps(db: Any, files: list[str], column: str, kind: str, zone: str, unit: str) -> Stamps:
    """What a column of stamps is. Raises BadInput for what is not a valid time, is of two kinds, or contradicts its name."""
    if unit and unit not in _SCALES:
        raise BadInput(f"{unit!r} is not a unit of time", where="--time-unit", hint="s, ms, us or ns")
    quoted = f'"{column}"'
    if kind.startswith("TIMESTAMP WITH"):
        return Stamps(column, f"epoch_ns({quoted})", "stamps with their zone", native="zone")
    if kind.startswith(("TIMESTAMP", "DATE")):
        if zone.upper() == "UTC":
            return Stamps(column, f"epoch_ns({quoted})", "stamps without a zone, taken as UTC", native="plain")
        sql = f"epoch_ns(timezone('{zone}', {quoted}::timestamp))"
        return Stamps(column, sql, f"stamps without a zone, taken as {zone}")
    if kind == "FLOAT":
        raise BadInput(
            f"the column {column!r} holds stamps as 32-bit floats, which are off by up to 64 s",
            where=files[0],
            hint="rewrite the archive with 64-bit numbers or timestamps",
        )
    if kind == "VARCHAR":
        return _text(db, files, column, zone, unit)
    return _numbers(db, files, column, kind, unit)


def _numbers(db: Any, files: list[str], column: str, kind: str, unit: str) -> Stamps:
    quoted = f'"{column}"'
    low, high = db.execute(f"select min({quoted}), max({quoted}) from read_parquet(?)", [files]).fetchone()
    if low is None:
        raise BadInput(f"the column {column!r} contains no stamp", where=files[0], hint="name another archive")
    scale = _scale(float(low), float(high), column, unit, files[0])
    if kind == "DOUBLE" or kind.startswith("DECIMAL"):
        sql = f"round({quoted}::decimal(28, 9) * {scale})::bigint"
        return Stamps(column, sql, _counted(scale, unit), scale)
    return Stamps(column, f"{quoted}::bigint * {scale}", _counted(scale, unit), scale, whole=True)


def _counted(scale: int, unit: str) -> str:
    name = next(name for name, one in _SCALES.items() if one == scale)
    return f"Unix time in {name}, {'as stated' if unit else 'by its size'}"


def _scale(low: float, high: float, column: str, unit: str, file: str) -> int:
    """Nanoseconds in the unit of Unix times: as stated, else by their size, which a name that ends in a unit must not
    contradict."""
    found = times.unix_scale(high)
    scale = _SCALES[unit] if unit else found
    named = next((word for word in _SCALES if column.lower().endswith(f"_{word}")), "")
    if not unit and (times.unix_scale(low) != found or (named and _SCALES[named] != found)):
        size = next(name for name, one in _SCALES.items() if one == found)
        why = f"its name says {named}, its size ({high:.6g}) {size}" if named else f"they span {low:.6g} to {high:.6g}"
        raise BadInput(
            f"the unit of the stamps in {column!r} is not clear: {why}",
            where=file,
            hint="state it: --time-unit s, ms, us or ns; files of different units one by one",
        )
    for value in (low, high):
        if not EARLIEST_NS <= value * scale <= LATEST_NS:
            raise BadInput(
                f"the stamps of {column!r} are not Unix time: {value:.6g} {'in ' + unit if unit else ''}".rstrip(),
                where=file,
                hint="state their unit with --time-unit, or write the archive with Unix time or timestamps",
            )
    return scale


def _text(db: Any, files: list[str], column: str, zone: str, unit: str) -> Stamps:
    """Stamps as text: numbers, or ISO 8601 with offsets or of one zone."""
    quoted = f'"{column}"'
    offset = rf"regexp_matches({quoted}, '(Z|[-+]\d\d(:?\d\d)?)\s*$') and {quoted} like '%:%'"
    row = db.execute(
        f"select count({quoted}), count(try_cast({quoted} as double)), count(try_cast({quoted} as timestamptz)), "
        f"count(*) filter ({offset}), min(try_cast({quoted} as double)), max(try_cast({quoted} as double)), "
        f"any_value({quoted}) filter (try_cast({quoted} as double) is null and try_cast({quoted} as timestamptz) is null) "
        "from read_parquet(?)",
        [files],
    ).fetchone()
    count, numbers, dates, offsets, low, high, bad = row
    if count and numbers == count:
        scale = _scale(low, high, column, unit, files[0])
        sql = f"round(try_cast({quoted} as decimal(38, 9)) * {scale})::bigint"
        return Stamps(column, sql, _counted(scale, unit) + ", written as text")
    if not count or dates < count:
        example = f", such as {bad!r}" if bad is not None else ""
        raise BadInput(
            f"{count - dates} of {count} stamps in {column!r} are not valid times{example}",
            where=files[0],
            hint="ISO 8601 (2026-11-20T10:00:00+01:00) or Unix time",
        )
    if offsets == count:
        return Stamps(column, f"epoch_ns(try_cast({quoted} as timestamptz))", "text with its offset from UTC")
    if offsets:
        raise BadInput(
            f"{offsets} of {count} stamps in {column!r} name a zone, the others do not",
            where=files[0],
            hint="write all of them alike",
        )
    sql = f"epoch_ns(timezone('{zone}', try_cast({quoted} as timestamp)))"
    return Stamps(column, sql, f"text without a zone, taken as {zone}")


# ---------------------------------------------------------------------------------------------------------------- values


def values(db: Any, files: list[str], node: str, time: Stamps, column: str, kind: str, unit: str) -> Values:
    """What a column of values is: a power, or a counter of energy. Raises BadInput for text that is not a number, a unit of
    neither, and, unless the unit is stated, for what cannot be the power of a node."""
    quoted = f'"{column}"'
    plain = f"try_cast({quoted} as double)" if kind == "VARCHAR" else quoted
    if kind == "VARCHAR":
        count, good, bad = db.execute(
            f"select count({quoted}), count({plain}), any_value({quoted}) filter ({plain} is null) from read_parquet(?)",
            [files],
        ).fetchone()
        if good < 0.5 * count or not good:
            raise BadInput(
                f"{count - good} of {count} values in {column!r} are not numbers, such as {bad!r}",
                where=files[0],
                hint="write numbers with a decimal point, or name another column",
            )
    elif not kind.startswith(("DOUBLE", "FLOAT", "DECIMAL", "BIGINT", "INT", "UINT", "UBIG", "SMALL", "TINY", "USMALL",
                              "UTINY", "HUGE", "UHUGE")):  # fmt: skip
        raise BadInput(f"the values in {column!r} are {kind}, not numbers", where=files[0], hint="name another archive")
    named = BY_NAME.get(column.lower().rsplit("_", 1)[-1], "")
    word = unit or named or "W"
    try:
        base, factor = si(word)
    except UnknownUnit as error:
        raise BadInput(str(error), where="--unit", hint="W, kW, mW; for counters J, Wh, kWh") from None
    if base not in ("W", "J"):
        raise BadInput(
            f"{word!r} is not a unit of power or energy", where="--unit", hint="W, kW, mW; for counters J, kWh"
        )
    counter = base == "J"
    if not unit and not counter:
        _plausible(db, files, node, time, plain, factor, column)
    how = "as stated" if unit else "by the column's name" if named else "taken, as nothing says otherwise"
    # A power may stay in its own type; a counter needs all the digits of a double.
    sql = f"{plain}::double * {factor!r}" if counter or factor != 1 else plain
    return Values(sql, counter, f"{'a counter in' if counter else ''} {word}, {how}".strip())


def _plausible(db: Any, files: list[str], node: str, time: Stamps, value: str, factor: float, column: str) -> None:
    """Refuses what rises all the time, and what no node draws. Looked at: the first rows of the first file."""
    found = db.execute(
        f'select v, lag(v) over (partition by n order by t) as before from (select "{node}" as n, {time.sql} as t, '
        f"{value} as v from read_parquet(?) where {value} is not null limit {LOOKED_AT})",
        [files[:1]],
    ).fetchnumpy()
    v = np.ma.filled(np.ma.asarray(found["v"]).astype(np.float64), np.nan)
    before = np.ma.filled(np.ma.asarray(found["before"]).astype(np.float64), np.nan)
    steps = (v - before)[np.isfinite(v) & np.isfinite(before)]
    v = np.abs(v[np.isfinite(v)]) * factor
    if not len(v):
        return
    if len(steps) >= 20 and np.mean(steps >= 0) > 0.995 and np.mean(steps > 0) > 0.5:
        raise BadInput(
            f"the values in {column!r} only ever rise: a counter of energy, it seems, not a power",
            where=files[0],
            hint="state its unit: --unit J, Wh or kWh; a power that rises all the time: --unit W",
        )
    drawn = v[v > 0]
    middle = float(np.median(drawn)) if len(drawn) else 0.0
    low, high = PLAUSIBLE_W
    if middle and not low <= middle <= high:
        guesses = [one for one, scale in (("mW", 1e-3), ("kW", 1e3)) if low <= middle * scale <= high]
        hint = f"is it in {guesses[0]}? state it: --unit {guesses[0]}" if guesses else "state it with --unit"
        raise BadInput(
            f"{show(middle, 'W', 4)}, the median of {column!r} read as W, is not what a node draws",
            where=files[0],
            hint=hint,
        )
