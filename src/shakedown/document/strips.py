"""Drawings that fit into a row of a table: a history, and where one value lies among others. Pure.

A page over many nodes has tens of thousands of them, so that they are no figures of ``charts.py``: a line of text each,
whose colours a page gives by class. What they show stands in words beside them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Of a history, in units of its drawing.
WIDTH, HEIGHT = 160, 26
#: Of a place among others.
_PLACE_WIDTH, _PLACE_HEIGHT = 110, 14
#: Values span at least this share of their height, so that scatter in the sixth digit is drawn as none.
_LEAST_SPAN = 0.01


def history(times: Floats, values: Floats, begin: float, end: float, since: float | None = None) -> str:
    """The line of values over a stretch of time, one point a unit of width (the median where there are several), its last
    value as a dot, and a mark at ``since``."""
    x = _scaled(times, begin, end, WIDTH - 8) + 2
    low, high = float(values.min()), float(values.max())
    centre = (high + low) / 2
    room = max(high - low, abs(centre) * _LEAST_SPAN) or 1.0
    y = np.rint((HEIGHT - 6) * (0.5 - (values - centre) / room)).astype(int) + 3
    by_column: dict[int, list[int]] = {}
    for column, row in zip(x.tolist(), y.tolist(), strict=True):
        by_column.setdefault(column, []).append(row)
    rows = [sorted(found)[len(found) // 2] for found in by_column.values()]
    points = " ".join(f"{column},{row}" for column, row in zip(by_column, rows, strict=True))
    mark = ""
    if since is not None:
        at = int(_scaled(np.array([since]), begin, end, WIDTH - 8)[0]) + 2
        mark = f'<path class="since" d="M{at} 0v{HEIGHT}"/>'
    return (
        f'<svg class="strip" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{mark}'
        f'<polyline points="{points}"/><circle cx="{int(x[-1])}" cy="{rows[-1]}" r="2.5"/></svg>'
    )


def _scaled(times: Floats, begin: float, end: float, width: int) -> NDArray[np.int64]:
    return np.rint((times - begin) / max(end - begin, 1e-9) * width).astype(np.int64)


def place(value: float, quantiles: tuple[float, float, float, float, float]) -> str:
    """Where a value lies among others: their range as a line, 5 to 95 % as a bar, their median as a tick, it as a dot."""
    least, low, middle, high, most = quantiles
    begin, end = min(least, value), max(most, value)

    def at(x: float) -> int:
        return (
            round(4 + (_PLACE_WIDTH - 8) * (x - begin) / ((end - begin) or 1.0)) if end > begin else _PLACE_WIDTH // 2
        )

    centre = _PLACE_HEIGHT // 2
    return (
        f'<svg class="strip place" viewBox="0 0 {_PLACE_WIDTH} {_PLACE_HEIGHT}" aria-hidden="true">'
        f'<path class="all" d="M{at(least)} {centre}H{at(most)}"/><path class="most" d="M{at(low)} {centre}H{at(high)}"/>'
        f'<path class="middle" d="M{at(middle)} 2v{_PLACE_HEIGHT - 4}"/>'
        f'<circle cx="{at(value)}" cy="{centre}" r="3.5"/></svg>'
    )
