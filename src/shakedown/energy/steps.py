"""The steps between a meter's values, as its readings show them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..metering.trace import Floats, Trace

#: Fewer values tell nothing; more are not looked at.
FEWEST, _MOST_VALUES = 8, 20_000
#: Differences that tell a counter's step, and the share of readings at which one of coarse steps stands still.
_MOST_GAPS, STOOD = 1000, 0.1


def least_step(trace: Trace) -> float:
    """The step between values where few different ones occur again and again; 0 where no step shows. Fewer than five
    levels may be the load's and not the meter's."""
    values = trace.value[trace.ok]
    different = np.unique(values)
    if len(values) < 40 or len(different) < 5 or len(different) > len(values) / 4:
        return 0.0
    return resolution(values) or 0.0


def counter_step(values: Floats) -> float:
    """The least step of a counter in its own unit, from the differences of its readings; 0 for fewer than two different
    ones.

    Many different differences, or ones between readings at which it stood still, have it as their greatest common measure.
    A few large ones have too great a one: then it is the coarsest of the steps that displays have (powers of ten of a joule
    and of a watt-hour) of which every reading is a multiple.
    """
    moved = np.diff(values[np.isfinite(values)])
    gaps = np.unique(np.abs(moved[moved != 0]))[:_MOST_GAPS]
    if not len(gaps):
        return 0.0
    slack = 1e-12 * float(np.abs(values[np.isfinite(values)]).max())
    if len(gaps) < FEWEST and np.mean(moved == 0) < STOOD:
        return decimal_step(values, (1.0, 3600.0), most=float(gaps[0]))
    step = 0.0
    for gap in gaps:
        larger, smaller = float(gap), step
        while smaller > slack:
            larger, smaller = smaller, abs(larger - round(larger / smaller) * smaller)
        step = larger
    return step


def decimal_step(values: Floats, units: Sequence[float] = (1.0,), *, most: float = 1.0) -> float:
    """The greatest power of ten of a unit, ``most`` at most, of which the first thousands of readings are multiples: what
    their figures show. 1e-6 of the unit where they show more."""
    some = values[np.isfinite(values)][:_MOST_VALUES]
    top = float(np.abs(some).max()) if len(some) else 0.0
    found = []
    for unit in units:
        for power in range(12, -7, -1):
            step = unit * 10.0**power
            away = np.abs(some - np.round(some / step) * step)
            if step <= most * (1 + 1e-9) and np.all(away <= 1e-12 * top + 1e-9 * step):
                found.append(step)
                break
    return max(found, default=1e-6 * min(units))


def resolution(values: Floats) -> float | None:
    """The greatest step of which all differences are multiples; None for values without one (or all alike).

    The least difference is a small multiple of it; values are taken to be exact to single precision.
    """
    distinct = np.unique(values[np.isfinite(values)])
    if len(distinct) < 2:
        return None
    slack = 3e-7 * float(np.abs(distinct).max())
    gaps = np.diff(distinct)
    gaps = gaps[gaps > slack]
    if not len(gaps):
        return None
    for part in range(1, 13):
        step = float(gaps.min()) / part
        if step < 10 * slack:
            return None
        for _ in range(3):
            step = float(gaps.sum() / np.round(gaps / step).sum())
        if float(np.abs(gaps - np.round(gaps / step) * step).max()) <= slack:
            return step
    return None
