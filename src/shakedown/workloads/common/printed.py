"""Numbers as programs print them: how exact they are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

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


def half_place(number: str) -> float:
    """Half a unit of the last printed place: 0.005 of "370.12", 5e6 of "8.12e+09"."""
    mantissa, _, exponent = number.lower().partition("e")
    return 0.5 * float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")
