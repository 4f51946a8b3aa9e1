"""Stamps in files of meters: text to Unix nanoseconds, with the local times that occur twice or never.

A stamp without a zone is refused unless the user names one. Nothing here imports numpy: the sampler follows files too.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import BadInput

_S = 10**9
HOUR_NS = 3600 * _S
_EPOCH = datetime.datetime(1970, 1, 1)
#: Numbers that are Unix time in s, ms, us, ns between 1980 and 2280; smaller ones count from the start of a recording.
_SCALES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EARLIEST_S, _LATEST_S = 3.1e8, 9.9e9
#: In the hour that occurs twice a stamp may lie this much before its predecessor and still belong to the same pass.
_SLOP_NS = 60 * _S
_BUCKET_NS = 900 * _S  # offsets from UTC change on quarters of an hour

_SECONDS = re.compile(r"[0-9]{2}(?:[.,][0-9]+)?")
_NUMBER = re.compile(r"[-+]?[0-9]{1,30}(?:[.,][0-9]*)?(?:[eE][-+]?[0-9]{1,2})?")
_STAMP = re.compile(
    r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})[T ,;]\s*(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,:](\d{1,9}))?)?\s*([AaPp][Mm])?"
    r"\s*(Z|UTC|GMT|[-+]\d\d:?\d\d)?"
)


class Spec(NamedTuple):
    """How the stamps of one file are written."""

    kind: str  # "unix", "relative", "stamp" or "format"
    scale: str = "s"  # unix and relative: s, ms, us, ns
    order: str = ""  # stamp: "ymd", "dmy", "mdy"
    format: str = ""  # as of strptime
    start_ns: int = 0  # relative


class Stamp(NamedTuple):
    """One stamp: Unix time where ``offset_s`` is known, else local time counted as if it were UTC."""

    ns: int
    offset_s: int | None


def spec(cells: Sequence[str], *, format: str = "", start: str = "", order: str = "", where: str = "") -> Spec:
    """How stamps are written, from some of them (the more, the surer where day and month are in doubt). Raises BadInput."""
    if "%" in format:
        return Spec("format", format=format)
    filled = [cell.strip() for cell in cells if cell.strip()]
    if not filled:
        raise BadInput("there are no stamps", where=where, hint="name the column with time=")
    numbers = [cell for cell in filled if _NUMBER.fullmatch(cell)]
    if len(numbers) > len(filled) / 2:
        return _numeric(numbers, format, start, where)
    dates = [found for cell in filled if (found := _STAMP.match(cell))]
    if not dates:
        raise BadInput(
            f"{filled[0]!r} is not a known form of time stamp",
            where=where,
            hint="name the column with time=, or the way it is written with format=%d.%m.%Y %H:%M:%S",
        )
    return Spec("stamp", order=order or _order(dates, where))


def _numeric(numbers: Sequence[str], format: str, start: str, where: str) -> Spec:
    first = float(numbers[0].replace(",", "."))
    if format and format not in _SCALES:
        raise BadInput(f"{format!r} is not a unit of time", where=where, hint="format=s, ms, us or ns")
    for scale in [format] if format else list(_SCALES):
        if _EARLIEST_S <= first / _SCALES[scale] <= _LATEST_S:
            return Spec("unix", scale)
    if not start:
        raise BadInput(
            f"the stamps count from the start of the recording ({numbers[0]}...), which is not known",
            where=where,
            hint="say when it began: start=2026-11-21T14:00:00+01:00",
        )
    # The plus sign of an offset has become a blank in a URL.
    begun = _parse_stamp(re.sub(r"(T[\d:.]+) (\d\d:?\d\d)$", r"\1+\2", start.strip()), "ymd")
    if begun is not None and begun.offset_s is not None:
        return Spec("relative", format or "s", start_ns=begun.ns)
    if _NUMBER.fullmatch(start.strip()):
        return Spec("relative", format or "s", start_ns=_scaled(start.strip(), "s"))
    raise BadInput(f"{start!r} is not a time with a zone", where=where, hint="start=2026-11-21T14:00:00+01:00")


def _order(dates: Sequence[re.Match[str]], where: str) -> str:
    """Day, month and year in their order; a date such as 03/04/2026 alone does not tell. Raises BadInput."""
    if len(dates[0][1]) == 4:
        return "ymd"
    if dates[0][2] == ".":
        return "dmy"
    first, second = max(int(found[1]) for found in dates), max(int(found[3]) for found in dates)
    if first > 12 >= second:
        return "dmy"
    if second > 12 >= first:
        return "mdy"
    raise BadInput(
        f"{dates[0][0]!r} may begin with the day or with the month",
        where=where,
        hint="say which: format=%d/%m/%Y %H:%M:%S or format=%m/%d/%Y %H:%M:%S",
    )


class Clock:
    """Reads the stamps of one file. Parts that repeat from row to row are parsed once."""

    def __init__(self, how: Spec) -> None:
        self._how = how
        self._minutes: dict[str, int] = {}

    def read(self, text: str) -> Stamp | None:
        """One stamp; None for text that is none."""
        text = text.strip()
        how = self._how
        if how.kind == "stamp":
            return self._stamp(text)
        if how.kind == "format":
            return self._formatted(text)
        if not _NUMBER.fullmatch(text):
            return None
        ns = how.start_ns + _scaled(text, how.scale)
        return Stamp(ns, 0) if abs(ns) < 2**63 else None

    def _stamp(self, text: str) -> Stamp | None:
        known = self._minutes.get(text[:17])
        rest = text[17:]
        if known is not None and _SECONDS.fullmatch(rest):
            fraction = rest[3:12]
            return Stamp(known + int(rest[:2]) * _S + int(fraction.ljust(9, "0")), None)
        found = _parse_stamp(text, self._how.order)
        if (
            found
            and found.offset_s is None
            and text[16:17] == ":"
            and text[:16].count(":") == 1
            and "M" not in text.upper()
        ):
            self._minutes[text[:17]] = found.ns // (60 * _S) * (60 * _S)
        return found

    def _formatted(self, text: str) -> Stamp | None:
        try:
            found = datetime.datetime.strptime(text, self._how.format)
        except ValueError:
            return None
        offset = found.utcoffset()
        ns = _since(found.replace(tzinfo=None))
        if offset is None:
            return Stamp(ns, None)
        seconds = round(offset.total_seconds())
        return Stamp(ns - seconds * _S, seconds)


def _parse_stamp(text: str, order: str) -> Stamp | None:
    found = _STAMP.fullmatch(text)
    if found is None:
        return None
    words = {letter: int(found[group]) for letter, group in zip(order, (1, 3, 4), strict=True)}
    hour = int(found[5])
    if found[9]:
        hour = hour % 12 + (12 if found[9].upper() == "PM" else 0)
    try:
        minute = datetime.datetime(words["y"], words["m"], words["d"], hour, int(found[6]))
    except ValueError:
        return None
    fraction = found[8] or ""
    ns = _since(minute) + int(found[7] or 0) * _S + int(fraction.ljust(9, "0"))
    if not found[10]:
        return Stamp(ns, None)
    zulu = found[10][0] not in "+-"
    offset = 0 if zulu else (int(found[10][1:3]) * 60 + int(found[10][-2:])) * (-60 if found[10][0] == "-" else 60)
    return Stamp(ns - offset * _S, offset)


def _since(moment: datetime.datetime) -> int:
    passed = moment - _EPOCH
    return (passed.days * 86400 + passed.seconds) * _S + passed.microseconds * 1000


def _scaled(text: str, scale: str) -> int:
    """A number of seconds, milliseconds... as whole nanoseconds: no double holds a Unix time to the nanosecond."""
    factor = _S // _SCALES[scale]
    if "e" in text.lower():
        return round(float(text.replace(",", ".")) * factor)
    whole, _, fraction = text.replace(",", ".").partition(".")
    ns = abs(int(whole)) * factor + int(fraction[:9].ljust(9, "0")) * factor // _S
    return -ns if whole.startswith("-") else ns


class Local:
    """Local time to UTC, row by row: in the hour that occurs twice the order of the rows decides."""

    def __init__(self, of: datetime.tzinfo, where: str) -> None:
        self._zone, self._where = of, where
        self._offsets: dict[int, tuple[int, int]] = {}
        self._previous_ns: int | None = None

    def utc_ns(self, ns: int) -> int:
        """Raises BadInput for a time that the zone's clocks skip."""
        first, second = self._offset_pair(ns)
        if first == second:
            self._previous_ns = ns - first * _S
            return self._previous_ns
        if first < second:
            told = (_EPOCH + datetime.timedelta(microseconds=ns // 1000)).isoformat(" ", "seconds")
            raise BadInput(
                f"{told} does not exist in {self._zone}: its clocks skip that hour",
                where=self._where,
                hint="the instrument does not keep summer time: give its fixed offset, such as zone=+01:00",
            )
        early, late = ns - first * _S, ns - second * _S
        if self._previous_ns is None:
            return early  # until a row outside that hour has come, no order tells
        self._previous_ns = early if early >= self._previous_ns - _SLOP_NS else late
        return self._previous_ns

    def _offset_pair(self, ns: int) -> tuple[int, int]:
        bucket = ns // _BUCKET_NS
        if bucket not in self._offsets:
            moment = _EPOCH + datetime.timedelta(seconds=bucket * (_BUCKET_NS // _S))
            pair = []
            for fold in (0, 1):
                offset = moment.replace(tzinfo=self._zone, fold=fold).utcoffset()
                assert offset is not None
                pair.append(round(offset.total_seconds()))
            self._offsets[bucket] = (pair[0], pair[1])
        return self._offsets[bucket]
