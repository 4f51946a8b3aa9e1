"""Hillshade: how a slope looks in the light of a lamp in the north-west, as maps have it; and colours over it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Pixels = NDArray[np.uint8]

#: Where the lamp stands: from the north, clockwise, and above the horizon.
AZIMUTH_DEG, ALTITUDE_DEG = 315.0, 45.0
#: Slopes that are small beside the map's scale are drawn so much steeper that one in four of them reaches this.
_USUAL_SLOPE = 0.35
#: Level ground, and what is not known.
LEVEL, HOLE = math.sin(math.radians(ALTITUDE_DEG)), 0.45


def shade(heights_m: Floats, row_m: float, column_m: float) -> Floats:
    """Brightness from 0 to 1 of each point of a grid (row 0 in the north), ``row_m`` and ``column_m`` apart, by the angle
    between the ground's normal and the light (Lambert). A point beside a hole has the brightness of a hole."""
    import numpy as np

    if min(heights_m.shape) < 2:
        return np.full(heights_m.shape, LEVEL)
    south, east = np.gradient(heights_m.astype(float), row_m, column_m)
    steep = np.hypot(south, east)
    known = np.isfinite(steep) & np.isfinite(heights_m)
    usual = float(np.quantile(steep[known], 0.75)) if known.any() else 0.0
    factor = max(1.0, _USUAL_SLOPE / usual) if usual > 1e-4 else 1.0
    azimuth, altitude = math.radians(AZIMUTH_DEG), math.radians(ALTITUDE_DEG)
    light = (math.sin(azimuth) * math.cos(altitude), math.cos(azimuth) * math.cos(altitude), math.sin(altitude))
    x, y = -factor * east, factor * south  # the normal of the ground, towards east and north; its height is 1
    bright = (x * light[0] + y * light[1] + light[2]) / np.sqrt(x * x + y * y + 1)
    return np.where(known, np.clip(bright, 0.0, 1.0), HOLE)


def grey(bright: Floats) -> Pixels:
    """The ground alone, as a light grey that lines and names can be read on."""
    import numpy as np

    level = (168 + 82 * bright).clip(0, 255).astype(np.uint8)
    return np.repeat(level[:, :, None], 3, axis=2)


def tinted(bright: Floats, colours: Pixels, covered: NDArray[np.bool_]) -> Pixels:
    """The ground with ``colours[row, column, 3]`` laid over it where it is ``covered``."""
    import numpy as np

    ground = grey(bright)
    laid = colours * (0.62 + 0.38 * bright / LEVEL)[:, :, None].clip(0, 1.12)
    mixed = (0.78 * laid + 0.22 * ground).clip(0, 255).astype(np.uint8)
    return np.where(covered[:, :, None], mixed, ground)
