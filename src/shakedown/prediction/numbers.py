"""Shares, changes and intervals as a person reads them."""

from __future__ import annotations

from ..units import round_to, scale_for


def percent(value: float, digits: int = 1) -> str:
    """A share for a person: ``82.0 %``."""
    return f"{value * 100:.{digits}f} %"


def signed(value: float, digits: int = 1) -> str:
    """A change for a person: ``-0.3 %``."""
    return f"{value * 100:+.{digits}f} %"


def interval(low: float, high: float, unit: str, digits: int = 4) -> str:
    """Both ends in the unit of the upper one: ``509 to 529 Gflop/s``."""
    factor, name = scale_for(high, unit)
    return f"{round_to(low / factor, digits)} to {round_to(high / factor, digits)} {name}"
