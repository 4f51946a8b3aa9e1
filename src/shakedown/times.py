"""Times, as files and users write them and as they are shown: Unix times (in s, ms, us or ns, told apart by their size), ISO
8601 with an offset, or local times of a zone; what the clocks of a zone did; and a time in writing.

A local time that comes twice, when clocks go back, is its first unless told; one that never was is read on the clock from
before.
"""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .errors import BadInput
from .units import exact_number, whole_number

if TYPE_CHECKING:  # the run path does without numpy
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

DAY_S = 86400
#: A zone by its name, or as it was read.
Zone: TypeAlias = str | datetime.tzinfo
_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,3}")


class Clock(NamedTuple):
    """What code that waits reads and sleeps by: the machine's own, or in a test one that moves when it is slept on."""

    unix_s: Callable[[], float] = time.time
    monotonic_s: Callable[[], float] = time.monotonic
    sleep_s: Callable[[float], None] = time.sleep


REAL = Clock()

# ---------------------------------------------------------------------------------------------------------------- reading


def parse(text: str, zone: str, option: str, origin_ns: int | None = None) -> int:
    """One time of an option, in Unix nanoseconds: a Unix time, ISO 8601, or ``+90`` for seconds after the origin where there
    is one. A local time is one of the zone; without a zone it is refused, since a guess may be an hour off. Raises BadInput.
    """
    number = exact_number(text)
    if number is not None:
        relative = text.strip().startswith("+") and origin_ns is not None
        scale = 10**9 if relative or abs(number) >= 2**63 else unix_scale(abs(float(number)))
        if abs(number) * scale >= 2**63:
            raise BadInput(f"{text[:40]!r} is beyond any time", where=option, hint="give Unix seconds")
        return round(number * scale) + (origin_ns if relative and origin_ns is not None else 0)
    after = "" if origin_ns is None else ", or +90 for seconds after the begin"
    ns = unix_ns(_stamp(text, zone, option, f"Unix seconds, 2026-11-20T10:00:00Z{after}"))
    if abs(ns) >= 2**63:
        raise BadInput(f"{text[:40]!r} is beyond any time", where=option, hint="a date from 1678 to 2261")
    return ns


def unix_s(text: str, zone: Zone, where: str, *, later: bool = False) -> int:
    """One time of a file's row, in Unix seconds: such a number, or ISO 8601. A local time that comes twice is its first,
    unless ``later``. Raises BadInput, also for a local time where no zone is given."""
    if (seconds := whole_number(text)) is not None:
        return seconds
    return int(_stamp(text, zone, where, "2026-11-20T10:00:00Z, or Unix seconds", later=later).timestamp())


def _stamp(text: str, zone: Zone, where: str, hint: str, *, later: bool = False) -> datetime.datetime:
    stamp = iso(text)
    if stamp is None:
        raise BadInput(f"{text!r} is not a valid time", where=where, hint=hint)
    if stamp.tzinfo is None:
        if not zone:
            raise BadInput(
                f"{text!r} does not say its zone",
                where=where,
                hint=f"write {text}Z for UTC, or {text}+01:00, or give --zone where there is one",
            )
        stamp = stamp.replace(tzinfo=_tzinfo(zone), fold=int(later))
    return stamp


def iso(text: str) -> datetime.datetime | None:
    """ISO 8601, with its offset or without; None for anything else."""
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def in_form(text: str, form: str, zone: Zone = datetime.UTC, *, later: bool = False) -> float | None:
    """A time as ``strptime`` reads it, in Unix seconds; None for anything else."""
    try:
        stamp = datetime.datetime.strptime(text, form)
    except ValueError:
        return None
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=_tzinfo(zone), fold=int(later))).timestamp()


def in_form_here(text: str, form: str) -> float | None:
    """The same on this machine's clock."""
    try:
        return time.mktime(time.strptime(text, form))
    except (ValueError, OverflowError):
        return None


def written_s(text: str) -> float:
    """To how many seconds a time that ``parse`` takes was written: 1 for whole seconds, 60 for whole minutes, 0.001 for
    three figures after the point, and the same of a Unix time in its own unit. 0 for a date alone, which is midnight by
    definition, and for no time at all."""
    from decimal import Decimal, InvalidOperation

    text = text.strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = None
    if number is not None and number.is_finite():
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int)
        scale = 10**9 if text.startswith("+") else unix_scale(abs(float(number)))
        return scale * 1e-9 * 10.0 ** min(exponent, 0)
    clock = re.fullmatch(r"[^T ]+[T ](\d\d)(:?\d\d)?(:?\d\d)?(?:[.,](\d+))?(?:Z|[+-][\d:]+)?", text, re.IGNORECASE)
    if clock is None:
        return 0.0
    if clock[3]:
        return 10.0 ** -len(clock[4] or "")
    return 60.0 if clock[2] else 3600.0


def stamps(cells: Any, zone: str, where: str) -> Ints:
    """A column of times as Unix nanoseconds. Raises BadInput for what is no time."""
    import numpy as np

    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        return _scaled(np.ma.filled(cells), where)
    texts = [str(cell).strip() for cell in cells]
    try:
        return _scaled(np.array(texts, np.int64), where)
    except (ValueError, OverflowError):
        pass
    try:
        return _scaled(np.array(texts, np.float64), where)
    except ValueError:
        pass
    return np.array(_iso(texts, zone, where), np.int64)


def zone(text: str, where: str = "zone=") -> datetime.tzinfo:
    """``Europe/Berlin``, ``UTC`` or ``+02:00`` (whose plus sign a URL turns into a blank). Raises BadInput."""
    stripped = text.strip()
    if found := re.fullmatch(r"([-+]?)(\d\d):?(\d\d)", stripped):
        minutes = int(found[2]) * 60 + int(found[3])
        if minutes >= 24 * 60:
            raise BadInput(
                f"{text!r} is not the offset of a time zone", where=where, hint="write Europe/Berlin, UTC or +02:00"
            )
        return datetime.timezone(datetime.timedelta(minutes=-minutes if found[1] == "-" else minutes))
    if stripped.upper() in ("UTC", "Z", "GMT"):
        return datetime.UTC
    try:
        return _tzinfo(stripped)
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        raise BadInput(
            f"unknown time zone {text!r}: there is no time zone of this name",
            where=where,
            hint="write Europe/Berlin, UTC or +02:00",
        ) from None


def checked_zone(zone: str, where: str) -> str:
    """The name of a time zone, if there is one of that name. Raises BadInput."""
    try:
        _tzinfo(zone)
    except (KeyError, ValueError, OSError):
        raise BadInput(f"unknown time zone {zone!r}", where=where, hint="a name such as Europe/Berlin or UTC") from None
    return zone


def _scaled(numbers: NDArray[Any], where: str) -> Ints:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970. Raises BadInput where one is no time of 64 bits."""
    import numpy as np

    factor = unix_scale(float(np.median(np.abs(numbers))) if len(numbers) else 0.0)
    if len(wrong := np.flatnonzero(~(np.abs(numbers.astype(np.float64)) * factor < 2.0**63))):
        raise BadInput(
            f"{numbers[wrong[0]]:g} in row {wrong[0] + 2} is not a valid time",
            where=where,
            hint="Unix seconds, or ISO 8601",
        )
    if numbers.dtype.kind in "iu":
        return numbers.astype(np.int64) * factor
    return np.round(numbers * factor).astype(np.int64)


def unix_scale(size: float) -> int:
    """Nanoseconds in the unit of a Unix time: which, its size tells for dates after 1973."""
    return next((factor for below, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)) if size < below), 1)


def _iso(texts: list[str], zone: str, where: str) -> list[int]:
    """ISO 8601; a local time that comes twice, when the clocks go back, is the first one until stamps go back."""
    local = _tzinfo(zone) if zone else None
    out: list[int] = []
    last = None
    for row, text in enumerate(texts, start=2):
        try:
            stamp = datetime.datetime.fromisoformat(text)
        except ValueError:
            raise BadInput(
                f"{text!r} in row {row} is not a valid time",
                where=where,
                hint="2013-10-31T00:00:00+01:00, or Unix seconds",
            ) from None
        if stamp.tzinfo is None:
            if local is None:
                raise BadInput(
                    f"{text!r} says neither zone nor offset",
                    where=where,
                    hint='give the plant a zone: zone = "Europe/Berlin", or write offsets',
                )
            stamp = stamp.replace(tzinfo=local)
            later = unix_ns(stamp.replace(fold=1))
            ns = unix_ns(stamp)
            if later > ns and last is not None and ns <= last:
                ns = later
        else:
            ns = unix_ns(stamp)
        if abs(ns) >= 2**63:
            raise BadInput(f"{text!r} in row {row} is beyond any time", where=where, hint="a date from 1678 to 2261")
        out.append(ns)
        last = ns
    return out


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def unix_ns(stamp: datetime.datetime) -> int:
    """Unix nanoseconds of a time with a zone."""
    since = stamp - _EPOCH  # not astimezone(), which fails at the first and the last day of the calendar
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000


# ------------------------------------------------------------------------------------------------------ what clocks showed


class Change(NamedTuple):
    """At ``at_s`` (Unix) the clocks go from ``before_s`` ahead of UTC to ``after_s``."""

    at_s: int
    before_s: int
    after_s: int


def offset_s(at_s: int, zone: Zone) -> int:
    """How far the zone's clocks are ahead of UTC at a Unix time."""
    ahead = local(at_s, zone).utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())


@cache
def changes(zone: Zone, begin_s: int, end_s: int) -> tuple[Change, ...]:
    """The changes in a stretch of Unix time, in order, to the second, from the system's zone data. Two within one day would
    be missed: no zone has had that since 1970."""
    found: list[Change] = []
    at, ahead = begin_s, offset_s(begin_s, zone)
    while at < end_s:
        after = min(at + DAY_S, end_s)
        if offset_s(after, zone) != ahead:
            low, high = at, after
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset_s(middle, zone) == ahead else (low, middle)
            found.append(Change(high, ahead, offset_s(high, zone)))
        at, ahead = after, offset_s(after, zone)
    return tuple(found)


def midnight(day: datetime.date, zone: Zone) -> int:
    """The first moment of a local day in Unix seconds, also where the clocks skip or repeat midnight."""
    return int(datetime.datetime(day.year, day.month, day.day, tzinfo=_tzinfo(zone)).timestamp())


def day_of(at_s: int, zone: Zone) -> datetime.date:
    """The local day of a Unix time."""
    return local(at_s, zone).date()


def next_month(day: datetime.date) -> datetime.date:
    """The first day of the month after."""
    return (day.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)


def months(begin_s: int, end_s: int, zone: Zone) -> list[tuple[int, int]]:
    """The calendar months of a zone that touch a stretch, as [begin, end) in Unix seconds."""
    day = day_of(begin_s, zone).replace(day=1)
    found: list[tuple[int, int]] = []
    while (low := midnight(day, zone)) < end_s:
        day = next_month(day)
        found.append((low, midnight(day, zone)))
    return found


# ------------------------------------------------------------------------------------------------------------ in writing


def local(at_s: float, zone: Zone) -> datetime.datetime:
    """A Unix time on the clocks of a zone."""
    return datetime.datetime.fromtimestamp(at_s, _tzinfo(zone))


def stamp(at_s: int, zone: Zone) -> str:
    """A Unix time for a person, with the offset of its zone: ``2026-11-20 10:00:00+01:00``."""
    return local(at_s, zone).isoformat(sep=" ", timespec="seconds")


def minute(at_s: float, zone: Zone) -> str:
    """A Unix time to the minute, where its zone is told elsewhere: ``2026-11-20 10:00``."""
    return local(at_s, zone).strftime("%Y-%m-%d %H:%M")


def utc(at_s: float) -> str:
    """A Unix time in UTC: ``2026-11-20 09:00:00Z``."""
    return local(at_s, datetime.UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def utc_day(at_s: float) -> str:
    """The day of a Unix time in UTC: ``2026-11-20``."""
    return local(at_s, datetime.UTC).date().isoformat()


def here(at_s: float, form: str = "%Y-%m-%dT%H:%M:%S") -> str:
    """A Unix time on this machine's clock; as it stands it is what Slurm's options take."""
    return time.strftime(form, time.localtime(at_s))


def for_name(at_s: float | None = None) -> str:
    """A Unix time (now, unless told) as it stands in names of folders, on this machine's clock: ``20261120-100000``."""
    return here(time.time() if at_s is None else at_s, "%Y%m%d-%H%M%S")


def _tzinfo(zone: Zone) -> datetime.tzinfo:
    if not isinstance(zone, str):
        return zone
    from zoneinfo import ZoneInfo  # a health check's call does without

    if not _ZONE.fullmatch(zone):  # ZoneInfo takes the dots of a name for packages
        raise ValueError(f"{zone!r} is not a name of a time zone")
    return ZoneInfo(zone)
