"""Traces: where radios were over time, in a file. By its ending: ``.csv`` with names in the first line, ``.jsonl``
(lines of ``lines.py`` with ``time_s``; this is the form of our own), ``.eel`` (the locations of EMANE's scenarios),
``.nmea`` (sentences behind ``7:``, by their time of day).

    time_s,id,latitude_deg,longitude_deg,height_m        or altitude_m, or neither

Rows may stand in any order; they are played by their time, those of one time in the order of the file.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import strict
from ...errors import BadInput
from ...units import whole_number
from ..scene import FIRST_ID, LAST_ID
from . import eel, lines, nmea
from .malformed import Malformed

_NEEDED = ("time_s", "id", "latitude_deg", "longitude_deg")
_HEIGHTS = ("height_m", "altitude_m")
_HINT = "a row has time_s, id, latitude_deg, longitude_deg, and height_m or altitude_m"


class Trace(NamedTuple):
    """Arrays of one length, by time. Heights and altitudes that are not given are NaN."""

    time_s: NDArray[np.float64]
    radio: NDArray[np.int64]
    latitude_deg: NDArray[np.float64]
    longitude_deg: NDArray[np.float64]
    height_m: NDArray[np.float64]
    altitude_m: NDArray[np.float64]

    @property
    def duration_s(self) -> float:
        """From its first row to its last."""
        return float(self.time_s[-1] - self.time_s[0]) if len(self.time_s) else 0.0


def load(path: Path) -> Trace:
    """The trace in a file. Raises BadInput with the line of what is wrong: positions of a file are all sound, or none is
    played. What is off the map or below ground is the server's to count."""
    text = strict.read_text(path)
    where = str(path)
    readers = {".csv": _csv, ".jsonl": _jsonl, ".eel": _eel, ".nmea": _nmea}
    if path.suffix not in readers:
        raise BadInput("is not a trace by its ending", where=where, hint=f"name it {', '.join(readers)}")
    table = np.array(list(readers[path.suffix](text, where)), np.float64).reshape(-1, 6)
    if not len(table):
        raise BadInput("has no positions", where=where, hint=_HINT)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Trace(table[:, 0], table[:, 1].astype(np.int64), *(table[:, column] for column in range(2, 6)))


def _csv(text: str, where: str) -> Iterator[tuple[float, ...]]:
    rows = csv.reader(text.splitlines())
    try:
        names = [name.strip() for name in next(rows, [])]
        if missing := [name for name in _NEEDED if name not in names]:
            raise BadInput(f"has no column {missing[0]}", where=f"{where}, line 1", hint=_HINT)
        places = [names.index(name) for name in _NEEDED]
        heights = [names.index(name) if name in names else -1 for name in _HEIGHTS]
        for row in rows:
            if any(cell.strip() for cell in row):
                line = f"{where}, line {rows.line_num}"
                if len(row) != len(names):
                    raise BadInput(f"has {len(row)} columns, and the first line {len(names)}", where=line, hint=_HINT)
                time_s, radio, *place = (row[at].strip() for at in places)
                given = (row[at].strip() if at >= 0 else "" for at in heights)
                yield (
                    _number(time_s, line),
                    _id(radio, line),
                    *(_number(one, line) for one in place),
                    *(_number(one, line) if one else math.nan for one in given),
                )
    except csv.Error as error:
        raise BadInput(f"is not CSV: {error}", where=where, hint=_HINT) from None


def _number(text: str, line: str) -> float:
    try:
        value = float(text) if len(text) < 64 and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f"{text[:40]!r} is not a number", where=line, hint=_HINT)
    return value


def _id(text: str, line: str) -> int:
    number = whole_number(text, FIRST_ID, LAST_ID)
    if number is None:
        raise BadInput(f"the id {text[:40]!r} is not from {FIRST_ID} to {LAST_ID}", where=line, hint="EMANE's NEM ids")
    return number


def _jsonl(text: str, where: str) -> Iterator[tuple[float, ...]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        at = f"{where}, line {number}"
        try:
            one = lines.read_position(line.encode())
        except Malformed as error:
            raise BadInput(error.what, where=at, hint=_HINT) from None
        if one.time_s is None:
            raise BadInput("has no time_s", where=at, hint=_HINT)
        heights = (math.nan if value is None else value for value in (one.height_m, one.altitude_m))
        row = (one.time_s, one.id, one.latitude_deg, one.longitude_deg, *heights)
        yield row


def _eel(text: str, where: str) -> Iterator[tuple[float, ...]]:
    for batch in eel.batches(text, where):
        for one in batch.locations.values():
            yield batch.time_s, one.radio, one.latitude_deg, one.longitude_deg, math.nan, one.altitude_m


def _nmea(text: str, where: str) -> Iterator[tuple[float, ...]]:
    """Midnight passes where the time of day falls by more than half a day."""
    days, before = 0, 0.0
    for number, line in enumerate(text.split("\n"), 1):
        try:
            one = nmea.read(line) if line.strip() else None
        except Malformed as error:
            raise BadInput(
                f"has {error.what}", where=f"{where}, line {number}", hint="a line is 7:$GPGGA,...*hh"
            ) from None
        if one is None:
            continue
        if one.radio is None or one.second_of_day is None:
            missing = "id before the $" if one.radio is None else "time"
            raise BadInput(f"has no {missing}", where=f"{where}, line {number}", hint="a line is 7:$GPGGA,...*hh")
        days += one.second_of_day < before - 43200
        before = one.second_of_day
        altitude_m = math.nan if one.altitude_m is None else one.altitude_m
        yield days * 86400 + before, one.radio, one.latitude_deg, one.longitude_deg, math.nan, altitude_m


def write(path: Path, rows: Iterable[lines.Position]) -> None:
    """A trace in the form of our own."""
    with path.open("wb") as file:
        for row in rows:
            file.write(lines.write_position(row))
