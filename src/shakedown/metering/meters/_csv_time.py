"""Stamps in files of meters: text to Unix nanoseconds, with the local times that occur twice or never.

A stamp without a zone is refused unless the user names one. Nothing here imports numpy: the sampler follows files too.
"""

from __future__ import annotations

import datetime
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ... import times
from ...errors import BadInput
from ...records import Notice

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
    digits: int  # behind the point of the second


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
        return Stamp(ns, 0, _digits(text, how.scale)) if abs(ns) < 2**63 else None

    def _stamp(self, text: str) -> Stamp | None:
        known = self._minutes.get(text[:17])
        rest = text[17:]
        if known is not None and _SECONDS.fullmatch(rest):
            fraction = rest[3:12]
            return Stamp(known + int(rest[:2]) * _S + int(fraction.ljust(9, "0")), None, len(fraction))
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
        digits = 6 if "%f" in self._how.format else 0
        offset = found.utcoffset()
        ns = _since(found.replace(tzinfo=None))
        if offset is None:
            return Stamp(ns, None, digits)
        seconds = round(offset.total_seconds())
        return Stamp(ns - seconds * _S, seconds, digits)


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
        return Stamp(ns, None, len(fraction))
    zulu = found[10][0] not in "+-"
    offset = 0 if zulu else (int(found[10][1:3]) * 60 + int(found[10][-2:])) * (-60 if found[10][0] == "-" else 60)
    return Stamp(ns - offset * _S, offset, len(fraction))


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


def _digits(text: str, scale: str) -> int:
    fraction = text.replace(",", ".").partition(".")[2]
    return min(9, len(fraction) + {"s": 0, "ms": 3, "us": 6, "ns": 9}[scale])


class Local:
    """Local time to UTC, row by row: in the hour that occurs twice the order of the rows decides."""

    def __init__(self, of: datetime.tzinfo, where: str) -> None:
        self._zone, self._where = of, where
        self._offsets: dict[int, tuple[int, int]] = {}
        self.previous_ns: int | None = None
        self.twice = 0  # stamps that could mean two times
        self.unsure = 0  # and of these, those that no earlier row settles

    def utc_ns(self, ns: int) -> int:
        """Raises BadInput for a time that the zone's clocks skip."""
        first, second = self._offset_pair(ns)
        if first == second:
            self.previous_ns = ns - first * _S
            return self.previous_ns
        if first < second:
            told = (_EPOCH + datetime.timedelta(microseconds=ns // 1000)).isoformat(" ", "seconds")
            raise BadInput(
                f"{told} does not exist in {self._zone}: its clocks skip that hour",
                where=self._where,
                hint="the instrument does not keep summer time: give its fixed offset, such as zone=+01:00",
            )
        self.twice += 1
        early, late = ns - first * _S, ns - second * _S
        if self.previous_ns is None:
            self.unsure += 1
            return early  # previous_ns stays unset: ``settle`` decides when a row outside that hour has come
        self.previous_ns = early if early >= self.previous_ns - _SLOP_NS else late
        return self.previous_ns

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

    def all_utc_ns(self, local: Sequence[int]) -> list[int]:
        """The stamps of a whole file. Rows at its beginning that could mean two times take the one nearer to what follows;
        where the stamps fall back within them, the first pass ends there."""
        found = [self.utc_ns(ns) for ns in local]
        head = self.unsure
        if not head:
            return found
        back = next((row for row in range(1, head) if local[row] < local[row - 1] - _SLOP_NS), None)
        if back is not None:
            return [*found[:back], *(ns + HOUR_NS for ns in found[back:head]), *found[head:]]
        if head < len(found) and found[head] - found[head - 1] > HOUR_NS:
            return [*(ns + HOUR_NS for ns in found[:head]), *found[head:]]
        return found


def utc(stamps: Sequence[Stamp], zone_text: str, where: str) -> tuple[list[int], list[Notice]]:
    """Unix nanoseconds of all stamps of a file, and what had to be decided. Raises BadInput for local time without a zone,
    and for stamps of which only some name one."""
    offsets = Counter(stamp.offset_s for stamp in stamps)
    notices = []
    if None not in offsets:
        if len(offsets) > 1:
            told = ", ".join(
                f"{seconds / 3600:+g} h ({count})" for seconds, count in offsets.items() if seconds is not None
            )
            notices.append(
                Notice(
                    code="zones",
                    text=f"{where}: the stamps have different offsets from UTC: {told}; each is used as given",
                )
            )
        return [stamp.ns for stamp in stamps], notices
    if len(offsets) > 1:
        raise BadInput(
            f"{offsets[None]} of {len(stamps)} stamps name no zone, the others do",
            where=where,
            hint="split the file: two clocks wrote it",
        )
    if not zone_text:
        raise BadInput(
            "the stamps are local time without a zone",
            where=where,
            hint="say which: zone=Europe/Berlin, zone=UTC or zone=+01:00",
        )
    local = Local(times.zone(zone_text, where), where)
    found = local.all_utc_ns([stamp.ns for stamp in stamps])
    if local.twice:
        told = f"{local.twice} stamps ({local.twice / len(stamps):.2%}) lie in the hour that {zone_text} has twice"
        settled = local.unsure < len(stamps)
        told += "; the order of the rows says which is meant" if settled else "; the first is taken"
        notices.append(Notice(code="hour-twice", text=f"{where}: {told}", advice="let the instrument stamp in UTC"))
    return found, notices


def mended(stamps: list[int], mend: bool, where: str) -> tuple[list[int], list[Notice]]:
    """Stamps whose clock was not set during the recording, or was, and is mended where the user says so.

    A fall back into time that was recorded already is an error, since two readings would claim one moment; with ``mend``
    all that follows is moved on. A leap of just an hour beyond the usual step may be a pause or a clock: a notice.
    Raises BadInput.
    """
    steps = [new - old for old, new in pairwise(stamps)]
    usual = int(statistics.median_low([step for step in steps if step > 0] or [0]))
    out, notices, shift = list(stamps), [], 0
    highest = stamps[0] if stamps else 0
    for row, step in enumerate(steps, 1):
        overlap = _overlap(out, stamps, row, shift, highest, usual) if step < 0 else 0
        leap = abs(step - HOUR_NS - usual) <= max(usual // 2, _S) and usual < HOUR_NS // 4
        if overlap and not mend:
            raise BadInput(
                f"the clock falls back by {_told(step)} at reading {row + 1}: {overlap} of {len(stamps)} readings "
                f"({overlap / len(stamps):.1%}) lie in time that was recorded already",
                where=where,
                hint="a clock with summer time: zone=Europe/Berlin; a clock that was set: jump=correct moves what follows",
            )
        if overlap or (leap and mend):
            hour = HOUR_NS if step > 0 else -HOUR_NS
            moved = hour if abs(step - hour - usual) <= max(2 * usual, _S) else step - usual
            shift -= moved
            notices.append(
                Notice(
                    code="clock-set",
                    text=f"{where}: the clock leaps by {'-' * (step < 0)}{_told(step)} at reading {row + 1}; all that "
                    f"follows ({len(stamps) - row} readings) was moved by {-moved / _S:+g} s",
                )
            )
        elif leap:
            notices.append(
                Notice(
                    code="hour-leap",
                    text=f"{where}: {_told(step)} without a reading before reading {row + 1}: just an hour more than "
                    "usual, a pause or a clock that was set",
                    advice="jump=correct takes the hour out",
                )
            )
        out[row] = stamps[row] + shift
        highest = max(highest, out[row])
    return out, notices


def _overlap(out: Sequence[int], stamps: Sequence[int], row: int, shift: int, highest: int, usual: int) -> int:
    """How many readings from ``row`` on claim time that was recorded before it; all of them where the clock falls back by
    just an hour. One late row among others is disorder, an older recording behind a newer one merely out of order: 0."""
    behind = [highest - one - shift for one in stamps[row : row + 3]]
    if abs(stamps[row] - stamps[row - 1] + HOUR_NS - usual) <= max(2 * usual, _S) and min(behind) > 0:
        return len(stamps) - row
    if min(behind) <= 5 * usual:
        return 0
    first = min(out[:row])
    return sum(1 for one in stamps[row:] if first <= one + shift <= highest)


def _told(ns: int) -> str:
    return f"{abs(ns) / _S:g} s"
