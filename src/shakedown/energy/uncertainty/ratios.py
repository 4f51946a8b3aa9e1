"""What is made of an energy: work per joule, energy times time, one meter against another. First order (JCGM 100), with
what the parts share taken as shared: one meter's gain and one pair of marks cancel or add up as they do in truth."""

from __future__ import annotations

import math

from ...errors import BadInput
from .quantity import Quantity, Term, power_law, quantity


def duration(begin_ns: int, end_ns: int, *, window_u_s: float = 0.0, name: str = "time") -> Quantity:
    """The length of a window in s. Its marks are those of the energy over the same window: u = sqrt(2) x that of an end."""
    if end_ns <= begin_ns:
        raise BadInput("the phase ends before it begins")
    term = Term(
        name="window",
        u=math.sqrt(2) * window_u_s,
        common=f"marks {begin_ns} {end_ns}",
        text=f"each end is known to {window_u_s:.2g} s",
        remedy="mark begin and end with finer stamps, or run for longer",
    )
    return quantity(name, "s", (end_ns - begin_ns) * 1e-9, [term] if window_u_s else [])


def efficiency(work: float, energy: Quantity, *, unit: str = "flop/J", name: str = "energy efficiency") -> Quantity:
    """Work over energy, the work exact: flop/J is the same as (flop/s)/W, but only of one window."""
    return power_law(name, unit, work, {"energy": (-1.0, energy)})


def edp(energy: Quantity, seconds: Quantity | float, weight: float = 1.0, *, name: str = "") -> Quantity:
    """Energy-delay product E T^w in J s^w. With a time from ``duration`` over the same marks the two are correlated:
    u_rel^2 = u_rel^2(E) + w^2 u_rel^2(T) + 2 w cov_rel."""
    unit = "J s" if weight == 1 else f"J s^{weight:g}"
    told = name or ("energy-delay product" if weight == 1 else f"energy x time^{weight:g}")
    if isinstance(seconds, Quantity):
        return power_law(told, unit, 1.0, {"energy": (1.0, energy), "time": (weight, seconds)})
    return power_law(told, unit, seconds**weight, {"energy": (1.0, energy)})


def agreement(first: Quantity, second: Quantity) -> tuple[Quantity, bool | None]:
    """The first over the second, and whether that is 1 within its combined U (95 %); None where one is not known."""
    ratio = power_law(f"{first.name} over {second.name}", "1", 1.0, {"first": (1.0, first), "second": (-1.0, second)})
    if ratio.value is None or ratio.expanded is None:
        return ratio, None
    return ratio, abs(ratio.value - 1) <= ratio.expanded
