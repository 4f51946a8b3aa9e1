"""Numbers as programs print them: how exact they are."""

from __future__ import annotations

#: A decimal number as a part of a pattern; more digits than that are no measurement.
NUMBER = r"[-+]?\d{1,30}\.?\d{0,30}(?:[eE][-+]?\d{1,3})?"


def half_place(number: str) -> float:
    """Half a unit of the last printed place: 0.005 of "370.12", 5e6 of "8.12e+09"."""
    mantissa, _, exponent = number.lower().partition("e")
    return 0.5 * float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")
