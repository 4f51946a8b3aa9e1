"""Numbers as programs print them: how exact they are."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from ...units import whole_number
from .. import Garbage

#: A decimal number as a part of a pattern; more digits than that are no measurement.
NUMBER = r"[-+]?\d{1,30}\.?\d{0,30}(?:[eE][-+]?\d{1,3})?"


def times(texts: Iterable[str], form: str) -> tuple[datetime | None, datetime | None]:
    """The first and the last of some stamps in ``strptime``'s form; those that are none are passed over."""
    found = []
    for text in texts:
        try:
            found.append(datetime.strptime(" ".join(text.split()), form))
        except ValueError:
            continue
    return (found[0], found[-1]) if found else (None, None)


def at(seconds: Iterable[str]) -> tuple[datetime | None, datetime | None]:
    """The first and the last of some numbers of seconds since 1970 (at most 10 digits)."""
    found = [datetime.fromtimestamp(int(one), UTC) for one in seconds]
    return (found[0], found[-1]) if found else (None, None)


def is_whole(word: str) -> bool:
    """Whether a word is a whole number that 64 bits hold, without a sign."""
    return whole_number(word) is not None


def half_place(number: str) -> float:
    """Half a unit of the last printed place: 0.005 of "370.12", 5e6 of "8.12e+09"."""
    mantissa, _, exponent = number.lower().partition("e")
    return 0.5 * float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")


def csv_rows(text: str, whose: str) -> list[list[str]]:
    """The rows of a text between commas. Raises Garbage for what is none of it."""
    try:
        return list(csv.reader(text.splitlines()))
    except csv.Error as error:
        raise Garbage(f"this is not a CSV file of {whose} ({error})") from None


class Span(NamedTuple):
    """What a printed number may have been before it was rounded."""

    low: float
    high: float


def span(number: str, unit: float = 1.0) -> Span:
    """The numbers that are printed so, each within half its last place, times ``unit``. Raises ValueError."""
    value, half = float(number), half_place(number)
    return Span(max(0.0, value - half) * unit, (value + half) * unit)


def agreed_s(work: Span, seconds: Span, rate: Span) -> float | None:
    """The middle of the times that all three allow, where rate = work / time; None where they allow none."""
    low = max(seconds.low, work.low / rate.high) if rate.high > 0 else math.inf
    high = min(seconds.high, work.high / rate.low) if rate.low > 0 else seconds.high
    # Numbers half-way between two places may be rounded either way.
    return (low + high) / 2 if 0 < (low + high) < math.inf and low <= high * (1 + 1e-6) else None
