"""Times as files and users write them: Unix times (in s, ms, us or ns, told apart by their size), ISO 8601 with an offset,
or local times of a zone."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from .errors import BadInput
from .units import exact_number

Ints = NDArray[np.int64]


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
    try:
        stamp = datetime.datetime.fromisoformat(text)
    except ValueError:
        after = "" if origin_ns is None else ", or +90 for seconds after the begin"
        raise BadInput(
            f"{text!r} is no time", where=option, hint=f"Unix seconds, 2026-11-20T10:00:00Z{after}"
        ) from None
    if stamp.tzinfo is None:
        if not zone:
            raise BadInput(
                f"{text!r} does not say its zone", where=option, hint=f"write {text}Z for UTC, or {text}+01:00"
            )
        stamp = stamp.replace(tzinfo=ZoneInfo(zone))
    return unix_ns(stamp)


def written_s(text: str) -> float:
    """To how many seconds a time that ``parse`` takes was written: 1 for whole seconds, 60 for whole minutes, 0.001 for
    three figures after the point, and the same of a Unix time in its own unit. 0 for a date alone, which is midnight by
    definition, and for no time at all."""
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
    """Unix nanoseconds. Raises BadInput for what is no time."""
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


def checked_zone(zone: str, where: str) -> str:
    """The name of a time zone, if there is one of that name. Raises BadInput."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise BadInput(f"unknown time zone {zone!r}", where=where, hint="a name such as Europe/Berlin or UTC") from None
    return zone


def _scaled(numbers: NDArray[Any], where: str) -> Ints:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970. Raises BadInput where one is no time of 64 bits."""
    factor = unix_scale(float(np.median(np.abs(numbers))) if len(numbers) else 0.0)
    if len(wrong := np.flatnonzero(~(np.abs(numbers.astype(np.float64)) * factor < 2.0**63))):
        raise BadInput(
            f"{numbers[wrong[0]]:g} in row {wrong[0] + 2} is no time", where=where, hint="Unix seconds, or ISO 8601"
        )
    if numbers.dtype.kind in "iu":
        return numbers.astype(np.int64) * factor
    return np.round(numbers * factor).astype(np.int64)


def unix_scale(size: float) -> int:
    """Nanoseconds in the unit of a Unix time: which, its size tells for dates after 1973."""
    return next((factor for below, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)) if size < below), 1)


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
                f"{text!r} in row {row} is no time", where=where, hint="2013-10-31T00:00:00+01:00, or Unix seconds"
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
