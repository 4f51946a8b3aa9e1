"""Bands of loss: round limits up to the usable loss, each with its colour, from strong (light) to weak (dark).

The colours are samples of viridis (S. van der Walt, N. Smith, 2015; CC0): even steps for the eye, also without red and
green, and in grey.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ...document import axes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Ints = NDArray[np.int64]

MOST = 8
_COLOURS = ("#fde725", "#a0da39", "#4ac16d", "#1fa187", "#277f8e", "#365c8d", "#46327e", "#440154")


class Bands(NamedTuple):
    """``edges[k]`` is the largest loss of band ``k``, in dB; the last is the usable one."""

    edges: tuple[float, ...]
    colours: tuple[str, ...]

    def of(self, loss_db: Floats) -> Ints:
        """The band of each loss; as many as there are for one that is not usable or not known."""
        import numpy as np

        return np.where(np.isnan(loss_db), len(self.edges), np.searchsorted(self.edges, loss_db, side="left"))

    def names(self) -> tuple[str, ...]:
        """``up to 80 dB``, ``80 to 90 dB``... The last names the usable loss to a tenth."""
        ends = [f"{edge:g}" for edge in self.edges[:-1]] + [f"{self.edges[-1]:.1f}"]
        first = f"up to {ends[0]} dB"
        return (first, *(f"{low} to {high} dB" for low, high in pairwise(ends)))

    def pixels(self) -> NDArray[np.uint8]:
        """Red, green and blue of each band, and a last row for what is in none."""
        import numpy as np

        return np.array(
            [[int(hue[at : at + 2], 16) for at in (1, 3, 5)] for hue in (*self.colours, "#ffffff")], np.uint8
        )


def bands(loss_db: Floats, usable_db: float) -> Bands:
    """At most MOST bands of a round width (1, 2, 2.5, 5 or 10 times a power of ten) from the least usable loss up."""
    import numpy as np

    usable = loss_db[loss_db <= usable_db]
    low = float(np.quantile(usable, 0.005)) if usable.size else usable_db - 40.0
    span = max(usable_db - low, 1.0)
    step = axes.step_of(span / (MOST - 1))
    first = math.floor(low / step + 1) * step
    edges = [first + index * step for index in range(MOST) if first + index * step < usable_db - 0.2 * step]
    edges = [*edges[-(MOST - 1) :], usable_db]
    return Bands(tuple(edges), colours(len(edges)))


def colours(count: int) -> tuple[str, ...]:
    """So many colours, evenly over the whole range."""
    if count == 1:
        return (_COLOURS[2],)
    return tuple(_mixed(index * (len(_COLOURS) - 1) / (count - 1)) for index in range(count))


def _mixed(at: float) -> str:
    low = min(int(at), len(_COLOURS) - 2)
    share = at - low
    one, other = _COLOURS[low], _COLOURS[low + 1]
    parts = (round(int(one[i : i + 2], 16) * (1 - share) + int(other[i : i + 2], 16) * share) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)
