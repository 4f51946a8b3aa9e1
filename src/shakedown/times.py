"""Times as files and users write them: Unix times (in s, ms, us or ns, told apart by their size), ISO 8601 with an offset,
or local times of a zone."""

from __future__ import annotations

import datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from .errors import BadInput

Ints = NDArray[np.int64]


def parse(text: str, zone: str, option: str, origin_ns: int | None = None) -> int:
    """One time of an option, in Unix nanoseconds: a Unix time, ISO 8601, or ``+90`` for seconds after the origin where there
    is one. A local time is one of the zone; without a zone it is refused, since a guess may be an hour off. Raises BadInput.
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = None
    if number is not None and number.is_finite():
        if text.strip().startswith("+") and origin_ns is not None:
            return origin_ns + round(number * 10**9)
        return round(number * unix_scale(abs(float(number))))
    try:
        stamp = datetime.datetime.fromisoformat(text)
    except ValueError:
        after = "" if origin_ns is None else ", or +90 for seconds after the begin"
        raise BadInput(
            f"{text!r} is not a valid time", where=option, hint=f"Unix seconds, 2026-11-20T10:00:00Z{after}"
        ) from None
    if stamp.tzinfo is None:
        if not zone:
            raise BadInput(
                f"{text!r} does not say its zone", where=option, hint=f"write {text}Z for UTC, or {text}+01:00"
            )
        stamp = stamp.replace(tzinfo=ZoneInfo(zone))
    return unix_ns(stamp)


def stamps(cells: Any, zone: str, where: str) -> Ints:
    """Unix nanoseconds. Raises BadInput for what is not a valid time."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        return _scaled(np.ma.filled(cells))
    texts = [str(cell).strip() for cell in cells]
    try:
        return _scaled(np.array(texts, np.int64))
    except ValueError:
        pass
    try:
        return _scaled(np.array(texts, np.float64))
    except ValueError:
        pass
    return np.array(_iso(texts, zone, where), np.int64)


def checked_zone(zone: str, where: str) -> str:
    """The name of a time zone, if there is one of that name. Raises BadInput."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise BadInput(f"unknown time zone {zone!r}", where=where, hint="a name such as Europe/Berlin or UTC") from None
    return zone


def _scaled(numbers: NDArray[Any]) -> Ints:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970."""
    factor = unix_scale(float(np.median(np.abs(numbers))) if len(numbers) else 0.0)
    if numbers.dtype.kind in "iu":
        return numbers.astype(np.int64) * factor
    return np.round(numbers * factor).astype(np.int64)


def unix_scale(size: float) -> int:
    """Nanoseconds in the unit of a Unix time: which, its size tells for dates after 1973."""
    return next(factor for below, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3), (np.inf, 1)) if size < below)


def _iso(texts: list[str], zone: str, where: str) -> list[int]:
    """ISO 8601; a local time that comes twice, when the clocks go back, is the first one until stamps go back."""
    local = ZoneInfo(zone) if zone else None
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
        out.append(ns)
        last = ns
    return out


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def unix_ns(stamp: datetime.datetime) -> int:
    """Unix nanoseconds of a time with a zone."""
    since = stamp.astimezone(datetime.UTC) - _EPOCH
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
