"""NMEA 0183: positions from the sentences GGA, RMC and GLL, whatever talker they are of (GP, GN, GL ...).

A sentence is ``$``, its name, its fields, ``*`` and two hexadecimal digits: the exclusive or of all between. Several
radios on one line are told apart by what stands before the sentence: ``7:$GPGGA,...`` or the source of a tag block of
NMEA 4, ``\\s:7,c:1700000000*hh\\$GPGGA,...``. Where neither is there, it is the radio of the port. RMC and GLL have no
altitude.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from ...units import whole_number
from ..scene import FIRST_ID, LAST_ID
from .malformed import BEYOND_IDS, Malformed

MOST_CHARACTERS = 512
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{0,12})?", re.ASCII)
_ANGLE = re.compile(r"([0-9]{1,3})([0-9]{2}(?:\.[0-9]{0,12})?)", re.ASCII)
_CLOCK = re.compile(r"([0-9]{2})([0-9]{2})([0-9]{2}(?:\.[0-9]{0,12})?)", re.ASCII)
_PREFIX = re.compile(r"([0-9]{1,6}):[ \t]*(?=[$!])", re.ASCII)
_TAGS = re.compile(r"\\([^\\*]*)\*([0-9A-Fa-f]{2})\\")


class Fix(NamedTuple):
    """A position. ``radio`` is None where the line does not name one; ``altitude_m`` above mean sea level and the
    seconds of the day (UTC) are None where the sentence has none."""

    radio: int | None
    latitude_deg: float
    longitude_deg: float
    altitude_m: float | None
    second_of_day: float | None


def checksum(sentence: str) -> str:
    """The two digits behind ``*`` for what stands between ``$`` and ``*``."""
    value = 0
    for byte in sentence.encode("ascii", "replace"):
        value ^= byte
    return f"{value:02X}"


def read(line: str) -> Fix | None:
    """The position in a line; None for a sentence of another kind, and for one that says itself that it has no fix. Raises
    Malformed."""
    line = line.strip()
    if len(line) > MOST_CHARACTERS:
        raise Malformed("a line that is too long")
    radio, line = _radio(line)
    if not line.startswith("$"):
        raise Malformed("does not begin with $")
    body, star, digits = line[1:].partition("*")
    if not star or len(digits) != 2 or digits.upper() != checksum(body):
        raise Malformed("a checksum that is wrong or missing")
    name, *rest = body.split(",")
    kind = name[2:] if len(name) == 5 else ""
    if kind == "GGA" and len(rest) >= 9:
        if rest[5] in ("", "0"):
            return None
        return Fix(radio, *_place(rest[1:5]), _altitude(rest[8]), _second(rest[0]))
    if kind == "RMC" and len(rest) >= 6:
        return Fix(radio, *_place(rest[2:6]), None, _second(rest[0])) if rest[1] == "A" else None
    if kind == "GLL" and len(rest) >= 6:
        return Fix(radio, *_place(rest[:4]), None, _second(rest[4])) if rest[5] == "A" else None
    if kind in ("GGA", "RMC", "GLL"):
        raise Malformed("a sentence with fields missing")
    return None


def _radio(line: str) -> tuple[int | None, str]:
    """The id before a sentence, and the sentence."""
    if found := _PREFIX.match(line):
        return _id(found[1]), line[found.end() :]
    if found := _TAGS.match(line):
        if checksum(found[1]) != found[2].upper():
            raise Malformed("a checksum that is wrong or missing")
        sources = [tag[2:] for tag in found[1].split(",") if tag.startswith("s:")]
        return (_id(sources[0]) if sources else None), line[found.end() :]
    return None, line


def _id(text: str) -> int:
    number = whole_number(text, FIRST_ID, LAST_ID)
    if number is None:
        raise Malformed(BEYOND_IDS)
    return number


def _place(fields: list[str]) -> tuple[float, float]:
    latitude, south, longitude, west = fields
    if south not in ("N", "S") or west not in ("E", "W"):
        raise Malformed("a hemisphere that is not N, S, E or W")
    return _angle(latitude, 90) * (-1 if south == "S" else 1), _angle(longitude, 180) * (-1 if west == "W" else 1)


def _angle(text: str, most: float) -> float:
    """Degrees and minutes, ``ddmm.mmmm``, as degrees."""
    found = _ANGLE.fullmatch(text)
    if found is None or float(found[2]) >= 60 or (value := int(found[1]) + float(found[2]) / 60) > most:
        raise Malformed("an angle that is none")
    return value


def _altitude(text: str) -> float | None:
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise Malformed("an altitude that is not a number")
    return float(text)


def _second(text: str) -> float | None:
    """``hhmmss.ss`` as seconds of the day; a leap second may be the last."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        if text:
            raise Malformed("a time that is none")
        return None
    hours, minutes, seconds = int(found[1]), int(found[2]), float(found[3])
    if hours > 23 or minutes > 59 or seconds >= 61:
        raise Malformed("a time that is none")
    return hours * 3600 + minutes * 60 + seconds


def write(radio: int | None, latitude_deg: float, longitude_deg: float, altitude_m: float, time_s: float = 0.0) -> str:
    """A GGA sentence with a checksum, behind ``radio:`` where there is one."""
    minutes, hundredths = divmod(round(time_s % 86400 * 100) % 8_640_000, 6000)
    clock = f"{minutes // 60:02d}{minutes % 60:02d}{hundredths // 100:02d}.{hundredths % 100:02d}"
    place = (
        f"{_minutes(latitude_deg, 2)},{'NS'[latitude_deg < 0]},{_minutes(longitude_deg, 3)},{'EW'[longitude_deg < 0]}"
    )
    body = f"GPGGA,{clock},{place},1,08,1.0,{altitude_m:.3f},M,0.0,M,,"
    return f"{'' if radio is None else f'{radio}:'}${body}*{checksum(body)}"


def _minutes(degrees: float, digits: int) -> str:
    ten_millionths = round(abs(degrees) * 60 * 10**7)
    whole, rest = divmod(ten_millionths, 60 * 10**7)
    minutes, part = divmod(rest, 10**7)
    return f"{whole:0{digits}d}{minutes:02d}.{part:07d}" if math.isfinite(degrees) else ""
