"""The shape of a meter's text file: separator, decimal sign, header, which columns are time and which are values.

Found from the first lines, overridden by the target's options. Dialects differ in their names for things:

    spl        SPEC PTDaemon: ``Time,MM-DD-YYYY HH:MM:SS.fff,Watts,w,Volts,v,Amps,a,PF,p,...`` without a header
    yokogawa   WTViewer and the WT2xx/3xx/5xxx stores: ``Store No.,Date,Time,Millisecond,Urms-1,Irms-1,P-1,...,P-SIGMA``
    lmg        ZES ZIMMER LMG95/450/500/6xx loggers: ``# utrms1 itrms1 p1 ...`` or ``;`` with decimal commas
    generic    anything with a header that says units: ``time,power [W]``, ``t;Leistung (kW)``
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ... import units
from ...errors import BadInput, unknown
from ...units import whole_number
from . import Status
from ._csv_columns import QUANTITIES, Column, channel_of, enumerated, nested, number, unit_of, unit_word
from ._csv_time import Clock, Spec, Stamp, spec

OPTIONS = {
    "column": "columns to take, by name or number from 1, separated by commas; default: all of power and energy",
    "unit": "unit of these columns where the header says none: W, kW, kWh, J ...",
    "time": "column of the stamps, by name or number; two with a comma between for date and time",
    "format": "how stamps are written: as for strptime, or s, ms, us, ns for numbers",
    "zone": "zone of stamps that name none: Europe/Berlin, UTC, +01:00",
    "start": "when the recording began, where stamps count from there: 2026-11-21T14:00:00+01:00",
    "separator": "comma, semicolon, tab, space or the character itself",
    "decimal": "point or comma",
    "dialect": "spl, yokogawa, lmg or generic",
    "scope": "what a reading stands for: point, last, next or counter",
    "place": "where in the power path: facility, rack, node, board or component",
    "host": "what is measured: a node's name, a rack's",
    "window": "seconds over which a reading averages",
    "modulus": "where a counter starts again at zero, in the column's unit",
    "most_w": "the most power that can flow, in W",
    "begin": "start: follow the file from its first line; default: from now on, with its last line",
}
DIALECTS = ("spl", "yokogawa", "lmg", "generic")
_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}
#: Cells that stand for no value. Yokogawa: -OL- over range, -OF- overflow of a computation; SCPI: 9.9E37 and 9.91E37.
_OVER = re.compile(r"[-+ ]*(o\.?l\.?|of|over|ovr|inf(inity)?|over-?range|overload)[- ]*|-{3,}|\+?9\.9E\+?37", re.I)
_NOTHING = re.compile(r"|nan|null|none|n/?a|nodata|no data|\*+|\+?9\.91E\+?37", re.I)
_TIME_NAMES = re.compile(
    r"(date|datum|time|zeit|timestamp|time ?stamp|zeitstempel|date ?/? ?time|datetime|utc|epoch|unix.*|clock|t|"
    r".*\b(time|timestamp)\b.*|dt)",
    re.I,
)
_MILLI_NAMES = re.compile(r"milli ?-?seconds?|ms|msec", re.I)
_LMG_NAMES = re.compile(r"(utrms|itrms|tsnorm|durnorm)\d*", re.I)


class Layout(NamedTuple):
    """How to read the lines of one file."""

    dialect: str
    separator: str  # " ": any white space
    comma: bool  # decimal comma
    first: int  # line with the first reading, from 0
    fields: int
    stamps: tuple[int, ...]  # column of the stamps; date, time; date, time, milliseconds
    how: Spec
    columns: tuple[Column, ...]

    def cells(self, line: str) -> list[str]:
        return split(line, self.separator)

    def stamp(self, cells: Sequence[str], clock: Clock) -> Stamp | None:
        """When a row was taken; None for a row that is cut off or foreign."""
        if len(cells) <= max(self.stamps):
            return None
        return clock.read(joined(cells, self.stamps))

    def values(self, cells: Sequence[str]) -> list[tuple[float | None, Status]]:
        """The value of each column in SI with its status."""
        return [_value(cells[one.at] if one.at < len(cells) else "", one.factor, self) for one in self.columns]


def decoded(data: bytes) -> str:
    """UTF-8 with or without a mark, UTF-16 with one, else Latin-1, in which every byte is a letter."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def split(line: str, separator: str) -> list[str]:
    """The cells of a line, quotes removed."""
    line = line.strip("\r\n")
    if separator == " ":
        return line.split()
    if '"' in line:
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]
        except csv.Error:  # a field without end: no row
            return []
    return [cell.strip() for cell in line.split(separator)]


def joined(cells: Sequence[str], stamps: Sequence[int]) -> str:
    """The stamp of a row as one text."""
    if len(stamps) < 3:
        return " ".join(cells[index] for index in stamps)
    date, time, milliseconds = (cells[index] for index in stamps)
    return f"{date} {time}.{milliseconds.zfill(3)}"


def _value(cell: str, factor: float, layout: Layout) -> tuple[float | None, Status]:
    value = number(cell, layout.comma)
    if value is not None and -9e37 < value < 9e37:  # false for NaN
        if value == -1 and layout.dialect == "spl":  # PTDaemon's "not measured"
            return None, Status.UNSUPPORTED
        return value * factor, Status.OK
    if _OVER.fullmatch(cell) or (value is not None and abs(value) >= 9e37 and not _NOTHING.fullmatch(cell)):
        return None, Status.OVERRANGE
    return None, Status.GAP


# ------------------------------------------------------------------------------------------------------------ detection


class Outline(NamedTuple):
    """What stands where in a file, before it is asked what its columns measure."""

    names: tuple[str, ...]
    units: tuple[str, ...]  # of a row of units; empty where there is none
    dialect: str
    separator: str
    comma: bool
    first: int
    stamps: tuple[int, ...]
    how: Spec
    rows: tuple[tuple[str, ...], ...]  # the cells of the first lines with readings


def layout(lines: Sequence[str], options: Mapping[str, str], where: str) -> Layout:
    """The shape of a file from its first lines (the more, the surer). Raises BadInput with the option that settles it."""
    if _is_spl(lines, options, where):
        return _spl(lines, options, where)
    found = outline(lines, options, where)
    columns = _columns(found.names, found.units, found.dialect, found.stamps, options, where)
    return Layout(
        found.dialect, found.separator, found.comma, found.first, len(found.names), found.stamps, found.how, columns
    )


def _is_spl(lines: Sequence[str], options: Mapping[str, str], where: str) -> bool:
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise BadInput("the file contains no lines", where=where, hint="give the file that the meter's program wrote")
    asked = options.get("dialect", "")
    if asked and asked not in DIALECTS:
        raise unknown("dialect", asked, DIALECTS, where=where)
    return asked == "spl" or (not asked and bool(re.match(r"Time,[^,]+,Watts,", filled[0])))


def outline(lines: Sequence[str], options: Mapping[str, str], where: str) -> Outline:
    """Separator, decimal sign, header and stamps of a file from its first lines. Raises BadInput."""
    separator = _separator([line for line in lines if line.strip()], options)
    rows = [split(line.lstrip("#") if line.startswith("#") else line, separator) for line in lines]
    comma = _comma(rows, separator, options, where)
    first = _first(rows, comma)
    if first is None:
        raise BadInput("no line holds numbers", where=where, hint="give separator= and decimal=, or check the file")
    names, own_units, dialect = _header(rows, first, options.get("dialect", ""))
    stamps = _stamps(names, rows[first:], comma, options, where)
    samples = [joined(row, stamps) for row in rows[first:] if len(row) > max(stamps)]
    how = spec(samples, format=options.get("format", ""), start=options.get("start", ""), where=where)
    return Outline(
        tuple(names), tuple(own_units), dialect, separator, comma, first, stamps, how, tuple(map(tuple, rows[first:]))
    )


def _spl(lines: Sequence[str], options: Mapping[str, str], where: str) -> Layout:
    """Pairs of a word and a value; the first channel's Watts, and those of the further ones."""
    first = next((n for n, line in enumerate(lines) if line.startswith("Time,")), None)
    if first is None:
        raise BadInput(
            "no line begins with Time,", where=where, hint="an spl.txt has lines 'Time,<stamp>,Watts,<w>,...'"
        )
    cells = split(lines[first], ",")
    if len(cells) < 2:
        raise BadInput("the first line that begins with Time, holds no stamp", where=where, hint="is the file whole?")
    watts = [index + 1 for index, cell in enumerate(cells) if cell == "Watts"]
    columns = []
    for count, index in enumerate(watts, 1):
        name = "watts" if len(watts) == 1 else f"watts-{count}"
        columns.append(Column(index, 1.0, channel_of(name, "W", 1.0, "spl", options, where)))
    how = spec([cells[1]], format=options.get("format", ""), order="mdy", where=where)
    return Layout("spl", ",", False, first, len(cells), (1,), how, tuple(columns))


def _separator(lines: Sequence[str], options: Mapping[str, str]) -> str:
    """The sign that cuts the last lines into the same number of cells: rarer signs first."""
    if "separator" in options:
        return _SEPARATORS.get(options["separator"], options["separator"][:1] or ",")
    last = lines[len(lines) // 2 :][-20:]
    for separator in ("\t", ";", ",", "|", " "):
        counts = Counter(len(split(line, separator)) for line in last)
        fields, many = counts.most_common(1)[0]
        if fields > 1 and many >= 0.8 * len(last):
            return separator
    return ","


def _comma(rows: Sequence[Sequence[str]], separator: str, options: Mapping[str, str], where: str) -> bool:
    if "decimal" in options:
        if options["decimal"] not in ("comma", "point", ",", "."):
            raise BadInput(f"decimal={options['decimal']}", where=where, hint="decimal=point or decimal=comma")
        return options["decimal"] in ("comma", ",")
    cells = [cell for row in rows[-50:] for cell in row]
    commas = sum(bool(re.fullmatch(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][-+]?\d+)?", cell)) for cell in cells)
    points = sum(bool(re.fullmatch(r"[-+]?\d+\.\d+([eE][-+]?\d+)?", cell)) for cell in cells)
    return commas > points


def _is_value(cell: str, comma: bool) -> bool:
    return number(cell, comma) is not None or (bool(cell) and bool(_OVER.fullmatch(cell) or _NOTHING.fullmatch(cell)))


#: How a stamp of a database begins; no header does.
_DATED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", re.ASCII)


def _first(rows: Sequence[Sequence[str]], comma: bool) -> int | None:
    """The first row as wide as the last ones that holds values; where most cells are words, one value beside a stamp."""
    widths = Counter(len(row) for row in rows[-20:] if row)
    for width, _ in widths.most_common():
        for index, row in enumerate(rows):
            if len(row) == width and sum(_is_value(cell, comma) for cell in row) >= max(1, (width - 3) // 2):
                return index
    for width, _ in widths.most_common():
        for index, row in enumerate(rows):
            stamped = any(_DATED.match(cell) for cell in row)
            if len(row) == width and stamped and any(_is_value(cell, comma) for cell in row):
                return index
    return None


def _header(rows: Sequence[Sequence[str]], first: int, asked: str) -> tuple[list[str], list[str], str]:
    """The names and units of the columns, and the dialect that they tell of."""
    width = len(rows[first])
    above = [list(row) for row in rows[:first] if len(row) >= width - 1 and any(row)]
    names, own = [str(index) for index in range(1, width + 1)], [""] * width
    if above and len(above) > 1 and all(unit_word(cell) is not None or not cell for cell in above[-1]):
        own = [unit_word(cell) or "" for cell in above[-1]]
        above.pop()
    if above:
        names = above[-1]
        if len(names) == width - 1:  # loggers that write the time and forget it in the header
            names, own = ["time", *names], ["", *own][:width]
        names = [name or str(index) for index, name in enumerate(names[:width], 1)]
    told = " ".join(cell for row in rows[: first + 1] for cell in row)
    if asked:
        return names, own, asked
    if any(_LMG_NAMES.fullmatch(name) for name in names) or re.search(r"\bLMG\s?\d*\b|ZES ZIMMER", told):
        return names, own, "lmg"
    if re.search(r"yokogawa|wtviewer|Store ?No", told, re.I) or any(name.startswith("Urms-") for name in names):
        return names, own, "yokogawa"
    return names, own, "generic"


def _pick(word: str, names: Sequence[str], option: str, where: str) -> int:
    lowered = [name.lower() for name in names]
    if word in names:
        return list(names).index(word)
    if word.lower() in lowered:
        return lowered.index(word.lower())
    if (number := whole_number(word, 1, len(names))) is not None:
        return number - 1
    raise unknown(f"column (option {option})", word, names, where=where)


def _stamps(
    names: Sequence[str], rows: Sequence[Sequence[str]], comma: bool, options: Mapping[str, str], where: str
) -> tuple[int, ...]:
    if "time" in options:
        return tuple(_pick(word.strip(), names, "time", where) for word in options["time"].split(","))
    lowered = [name.strip("#[] ").lower() for name in names]
    if {"date", "time"} <= set(lowered) or {"datum", "zeit"} <= set(lowered):
        pair = ("date", "time") if "date" in lowered else ("datum", "zeit")
        found = [lowered.index(word) for word in pair]
        return (*found, *(index for index, name in enumerate(lowered) if _MILLI_NAMES.fullmatch(name)))[:3]
    bare = [re.sub(r"\s*[\[(/].*", "", name).strip() for name in lowered]
    for index, name in enumerate(bare):
        if _TIME_NAMES.fullmatch(name):
            return (index,)
    for index in range(len(names)):  # no name tells: the first column that no number can be
        texts = [row[index] for row in rows[:5] if index < len(row)]
        if texts and all(":" in text and number(text, comma) is None for text in texts):
            return (index,)
    raise BadInput(
        f"no column of stamps among {', '.join(names)}",
        where=where,
        hint="name it: time=COLUMN, by name or number from 1",
    )


def _columns(
    names: Sequence[str],
    own: Sequence[str],
    dialect: str,
    stamps: Sequence[int],
    options: Mapping[str, str],
    where: str,
) -> tuple[Column, ...]:
    wanted = [
        _pick(word.strip(), names, "column", where) for word in options.get("column", "").split(",") if word.strip()
    ]
    found: list[Column] = []
    unsure, counted = [], enumerated(names)
    for index in wanted or range(len(names)):
        if index in stamps:
            continue
        stated = "" if names[index] in counted and not own[index] else unit_of(names[index], own[index], dialect)
        unit = stated or (options.get("unit", "") if wanted else "")
        power = bool(re.search(r"power|leistung|watt", names[index], re.I)) and "factor" not in names[index].lower()
        if not unit and power:
            unit = options.get("unit", "")
        if not unit:
            unsure += [names[index]] if wanted or power else []
            continue
        try:
            name, factor = units.si(unit)
        except units.UnknownUnit as error:
            raise BadInput(
                str(error), where=f"{where}, column {names[index]!r}", hint="give unit=W, kW, kWh ..."
            ) from None
        if name not in QUANTITIES or (not wanted and name not in ("W", "J")):
            continue
        channel = channel_of(names[index], name, factor, dialect, options, where)
        found.append(Column(index, factor, channel))
    if not found:
        told = f"column {unsure[0]!r} gives no unit" if unsure else f"no column of power among {', '.join(names)}"
        raise BadInput(told, where=where, hint="name it with column= and its unit with unit=W, kW, kWh ...")
    return nested(found)
