"""Heat maps: a matrix of colours that can be read from 4 names to 128 a side (more are shown in blocks, ``worst``).

The plot is square, and its size follows from the number of names: few cells are as large as a number in them needs, from
``WIDE`` names on the figure takes the width of the page. Names are thinned until they stand apart, turned where they are
wider than a cell, and lose what all of them begin and end with; the words of a cell name both in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..units import round_to, scale_for, show
from .axes import quoted
from .model import Drawing, Heat
from .palette import WIDTH, Spec, colour

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST = 128  # names a side
WIDE = 48  # names from which a figure takes the whole width
WIDE_PIXELS = 780
_CELL = 52  # pixels: no cell is larger
_STEPS = 7  # of colour
_NUMBERED = 12  # names up to which each cell says its number
_LOG_FROM = 12.0  # a ratio of the greatest to the least value from which colours follow the logarithm
_LETTER, _LINE = 6.3, 13  # pixels of a letter of a label, and between two lines of them
_LABEL = 140  # pixels of the longest label
_LONG = 14  # letters from which a name loses what all names share
_DENSE = 9  # pixels of a cell from which cells are set apart


def is_wide(figure: object) -> bool:
    """Whether the figure takes the whole width of a page."""
    return isinstance(figure, Drawing) or (isinstance(figure, Heat) and len(figure.labels) >= WIDE)


def key(figure: Heat) -> tuple[str, str]:
    """The words at the two ends of the scale of colours."""
    low, high = _ends(figure)
    return show(low, figure.unit), show(high, figure.unit) + (" (logarithmic)" if _is_log(low, high) else "")


def _ends(figure: Heat) -> tuple[float, float]:
    values = [cell[2] for cell in figure.cells]
    return min(values), max(values)


def _is_log(low: float, high: float) -> bool:
    return low > 0 and high / low > _LOG_FROM


def worst(a: Ints, b: Ints, values: Floats, better: str, names: int) -> tuple[int, Ints]:
    """How many names a block has, and the row of the worst pair in each block, in the order of blocks."""
    import numpy as np

    size = -(-names // MOST)
    side = -(-names // size)
    block = a // size * side + b // size
    order = np.lexsort((-values if better == "lower" else values, block))
    first = np.ones(len(order), bool)
    first[1:] = block[order][1:] != block[order][:-1]
    return size, order[first]


def short(labels: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The names less what all of them begin and end with, and that with a gap where they stood: ``cn-rack….site.org``.

    Names that are not long stay whole (and the rest is empty), and a number is never cut in two.
    """
    if max(map(len, labels), default=0) < _LONG or len(labels) < 2:
        return tuple(labels), ""
    head = _shared(labels).rstrip("0123456789")
    rest = [label[len(head) :] for label in labels]
    tail = _shared([label[::-1] for label in rest])[::-1].lstrip("0123456789")
    cut = tuple(label[: len(label) - len(tail)] for label in rest)
    return (cut, f"{head}…{tail}") if all(cut) and head + tail else (tuple(labels), "")


def _shared(labels: Sequence[str]) -> str:
    """What all begin with."""
    first, last = min(labels), max(labels)
    alike = next((at for at, letters in enumerate(zip(first, last, strict=False)) if len(set(letters)) > 1), None)
    return first if alike is None else first[:alike]


def every(pitch: float, needed: float) -> int:
    """Of names ``pitch`` pixels apart, each which one is written so that they are ``needed`` apart: 1, 2, 5, 10, 20..."""
    step = 1
    while step * pitch < needed:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


class Layout(NamedTuple):
    """Where everything stands, in pixels; ``rows`` and ``columns``: each which name is written."""

    names: tuple[str, ...]
    shared: str
    label: float
    plot: float
    rows: int
    columns: int
    turned: bool

    @property
    def cell(self) -> float:
        return self.plot / len(self.names)

    @property
    def below(self) -> float:
        return (self.label if self.turned else _LINE) + 24


def layout(figure: Heat) -> Layout:
    """The layout that the number of names and their length call for."""
    names, shared = short(figure.labels)
    label = min(_LABEL, max(map(len, names)) * _LETTER) + 8
    plot = min((WIDE_PIXELS if is_wide(figure) else WIDTH) - label - 10, len(names) * _CELL)
    rows = every(plot / len(names), _LINE)
    level = every(plot / len(names), label + 4)
    return Layout(names, shared, label, plot, rows, rows if level > rows else level, level > rows)


def spec(figure: Heat, standalone: bool) -> Spec:
    """The Vega-Lite description, with a layout of its own."""
    at = layout(figure)
    low, high = _ends(figure)
    made: Spec = {
        "data": {"values": _cells(figure, low, high)},
        "encoding": _encoding(figure, at),
        "layer": _layers(len(at.names)),
        "width": at.plot,
        "height": at.plot,
        "autosize": "none",
        "padding": {"left": at.label + 4, "right": 6, "top": 64 if standalone else 20, "bottom": at.below},
    }
    if standalone:
        ends = key(figure)
        made["title"] = {
            "text": figure.title,
            "subtitle": f"light: {ends[0]}, dark: {ends[1]}",
            "subtitleColor": colour("muted"),
            "anchor": "start",
            "fontSize": 13,
            "color": colour("ink"),
            "offset": 24,
        }
    return made


def _encoding(figure: Heat, at: Layout) -> Spec:
    order = list(range(len(at.names)))
    axis: Spec = {
        "labelExpr": f"[{','.join(map(quoted, at.names))}][datum.value]",
        "domain": False,
        "labelLimit": _LABEL,
        "labelOverlap": False,
    }
    across: Spec = {
        "values": order[:: at.columns],
        "ticks": at.columns > 1,
        "labelAngle": -90 if at.turned else 0,
        "title": ", ".join(filter(None, (figure.column_title, at.shared))),
        "titleY": at.below - 14,
        "titleBaseline": "top",
    }
    down: Spec = {
        "values": order[:: at.rows],
        "ticks": at.rows > 1,
        "title": ", ".join(filter(None, (figure.row_title, at.shared))),
        "titleAngle": 0,
        "titleAlign": "left",
        "titleX": -at.label,
        "titleY": -6,
        "titleBaseline": "bottom",
    }
    scale = {"domain": order, "paddingInner": 0.06 if at.cell >= _DENSE else 0, "paddingOuter": 0}
    return {
        "x": {"field": "c", "type": "ordinal", "scale": scale, "axis": {**axis, **across}},
        "y": {"field": "r", "type": "ordinal", "scale": scale, "axis": {**axis, **down}},
    }


def _cells(figure: Heat, low: float, high: float) -> list[Spec]:
    """One entry a cell: its place, its words, its number, its colour and that of the number."""
    bend = math.log if _is_log(low, high) else float
    factor, _ = scale_for(high, figure.unit)
    rows = []
    for row, column, value, says in figure.cells:
        share = (bend(value) - bend(low)) / (bend(high) - bend(low)) if high > low else 0.5
        step = min(_STEPS - 1, int(share * _STEPS))
        rows.append(
            {
                "r": row,
                "c": column,
                "d": says,
                "t": _number(value / factor),
                "f": colour(f"heat{step + 1}"),
                "i": colour("heat-ink1" if step < 4 else "heat-ink2"),
            }
        )
    return rows


def _number(value: float) -> str:
    """At most five letters, so that a cell holds it."""
    return round_to(value, 3) if abs(value) >= 0.1 or value == 0 else f"{value:.0e}".replace("e-0", "e-")


def _layers(number: int) -> list[Spec]:
    layers: list[Spec] = [
        {
            "mark": {"type": "rect"},
            "encoding": {
                "color": {"field": "f", "type": "nominal", "scale": None, "legend": None},
                "description": {"field": "d"},
            },
        }
    ]
    if number <= _NUMBERED:
        layers.append(
            {
                "mark": {"type": "text", "fontSize": 10, "aria": False},
                "encoding": {
                    "text": {"field": "t", "type": "nominal"},
                    "color": {"field": "i", "type": "nominal", "scale": None, "legend": None},
                },
            }
        )
    return layers
