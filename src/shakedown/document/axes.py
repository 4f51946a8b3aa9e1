"""Axes of the drawings: where they are marked, with which words, and how a value becomes a length. Pure."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from .. import times
from ..units import scale_for, show
from .model import Axis
from .palette import Spec


def words(labels: Mapping[float, str], log: bool) -> str:
    """A Vega expression that gives the words for the nearest of the marked values; the words are quoted."""
    ordered = sorted(labels.items())
    expression = quoted(ordered[-1][1])
    for (low, text), (high, _) in reversed(list(pairwise(ordered))):
        middle = math.sqrt(low * high) if log else (low + high) / 2
        expression = f"datum.value < {middle!r} ? {quoted(text)} : {expression}"
    return expression


def quoted(text: str) -> str:
    """``text`` as a string of a Vega expression. What the drawing's writer escapes for the page is left to it."""
    plain = re.sub(r"[\x00-\x1f\x7f\u2028\u2029]", " ", text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{plain}'"


def x_of(axis: Axis) -> Spec:
    """The x channel over numbers."""
    # The marked values of sizes are powers of two; a base of two keeps Vega from rounding them.
    scale: Spec = {"domain": [axis.low, axis.high], "nice": False, "zero": False}
    if axis.log:
        scale |= {"type": "log", "base": 2}
    return {
        "field": "x",
        "type": "quantitative",
        "scale": scale,
        "axis": {
            "title": axis.title,
            "values": sorted(axis.labels),
            "labelExpr": words(axis.labels, axis.log),
            "grid": False,
            "labelOverlap": True,
            "labelFlush": False,
        },
    }


class Scale(NamedTuple):
    """How values are drawn: divided by ``factor``, from ``low`` to ``high``, marked at ``ticks``."""

    factor: float
    unit: str
    low: float
    high: float
    ticks: dict[float, str]
    log: bool


def scaled(values: Sequence[float], unit: str, log: bool, headroom: float = 0.06, *, from_zero: bool = True) -> Scale:
    """``headroom`` is kept free above the greatest value, as a share of the height."""
    top, bottom = max(values), min(values)
    factor, name = (0.01, "%") if unit == "%" else scale_for(top, unit)
    if log:
        low = bottom / factor / 1.35
        high = top / factor * (top / factor / low) ** headroom
        ticks = {tick: show(tick * factor, unit, 1) for tick in _log_ticks(low, high)}
        return Scale(factor, "", low, high, ticks, True)
    high = (top if top > 0 else 1.0) / factor * (1 + headroom)
    low = min(0.0, bottom / factor * 1.06)
    if not from_zero and top > bottom > 0:
        low = max(low, (bottom - (top - bottom) * 0.15) / factor)
        high = (top + (top - bottom) * max(headroom, 0.1)) / factor
    step = step_of((high - low) / 5)
    digits = max(0, -math.floor(math.log10(step)) + (1 if f"{step:e}".startswith("2.5") else 0))
    ticks = {index * step: f"{index * step:.{digits}f}" for index in range(math.ceil(low / step), int(high / step) + 1)}
    return Scale(factor, name, low, high, ticks, False)


def _log_ticks(low: float, high: float) -> list[float]:
    """The finest of 1-2-5, 1-3 and whole powers of ten that gives at most eight."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [
        [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        for steps in ((1, 2, 5), (1, 3), (1,))
    ]
    found = next((ticks for ticks in choices if len(ticks) <= 8), choices[-1])
    return found[:: math.ceil(len(found) / 8) or 1]


def step_of(about: float) -> float:
    power = 10.0 ** math.floor(math.log10(about))
    return next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= about * 0.999)


def y_of(scale: Scale, title: str = "") -> Spec:
    kind: Spec = {"domain": [scale.low, scale.high], "nice": False, "zero": False}
    if scale.log:
        kind |= {"type": "log"}
    return {
        "field": "y",
        "type": "quantitative",
        "scale": kind,
        "axis": {
            "title": title or scale.unit or None,
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "end",
            "titleX": -30,
            "titleY": -9,
            "values": sorted(scale.ticks),
            "labelExpr": words(scale.ticks, scale.log),
            "domain": False,
            "ticks": False,
            "gridOpacity": 1,
        },
    }


def time_axis(low: float, high: float, zone: times.Zone, most: int = 7, *, pad: float = 0.0) -> Axis:
    """An axis of Unix seconds, marked at midnights or whole hours of the zone; ``pad``: so much of its length more at both
    ends."""
    days = (high - low) / times.DAY_S
    labels: dict[float, str] = {}
    if days < 3:
        step = next(one for one in (600, 1800, 3600, 7200, 21600, 43200) if (high - low) / one <= most or one == 43200)
        first = math.ceil(low / step) * step
        labels = {float(at): times.local(at, zone).strftime("%d %b %H:%M") for at in range(first, int(high) + 1, step)}
    else:
        day = times.local(low, zone).replace(hour=0, minute=0, second=0, microsecond=0)
        every = max(1, math.ceil(days / most))
        while day.timestamp() <= high:
            if day.timestamp() >= low:
                labels[day.timestamp()] = day.strftime("%d %b" if days < 300 else "%d %b %Y")
            day += datetime.timedelta(days=every)
    room = (high - low) * pad or (1.0 if pad else 0.0)
    return Axis(
        title="",
        labels=labels or {float(low): times.minute(low, zone)},
        low=float(low) - room,
        high=float(high) + room,
    )
