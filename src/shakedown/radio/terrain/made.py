"""Ground that is made from a seed, for tests, benchmarks and those who have no data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...errors import BadInput
from .grid import Terrain, packed

#: How high an octave is beside the one before, which is twice as wide.
FALLING = 0.55
#: Points along a side.
MOST_SIDE = 10_001


def synthetic(
    seed: int,
    *,
    rows: int = 1201,
    columns: int = 1201,
    step_arcsec: float = 1.0,
    south_deg: float = 47.0,
    west_deg: float = 11.0,
    relief_m: float = 600.0,
) -> Terrain:
    """Hills of all sizes down to the step, the same for the same seed on every machine: octaves of smooth noise on
    lattices, each half as wide and 0.55 as high as the one before, from 0 m to ``relief_m``. Raises BadInput for what
    cannot be a grid."""
    if not (2 <= rows <= MOST_SIDE and 2 <= columns <= MOST_SIDE):
        raise BadInput(
            f"a grid of {rows} x {columns} points", where="synthetic terrain", hint=f"give 2 to {MOST_SIDE} each"
        )
    if not 0 <= relief_m <= 9000:
        raise BadInput(f"relief_m = {relief_m:g}", where="synthetic terrain", hint="give 0 to 9000")
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed = {seed}", where="synthetic terrain", hint="give a number from 0 on, below 2^63")
    heights = np.zeros((rows, columns))
    width, high = max(1, (max(rows, columns) - 1) // 4), 1.0
    while width >= 1:
        heights += high * _octave(seed, width, rows, columns)
        width, high = width // 2, high * FALLING
    low, top = heights.min(), heights.max()
    heights = (heights - low) * (relief_m / (top - low) if top > low else 0.0)
    numbers, scale_m, offset_m = packed(heights)
    step_deg = step_arcsec / 3600
    return Terrain(
        numbers,
        north_deg=south_deg + (rows - 1) * step_deg,
        west_deg=west_deg,
        step_latitude_deg=step_deg,
        step_longitude_deg=step_deg,
        scale_m=scale_m,
        offset_m=offset_m,
        source=f"synthetic, seed {seed}, relief {relief_m:g} m",
    )


#: Metres of a degree of latitude, roughly, and where ground lies that is made for no place: for its size.
_DEGREE_M, _SOUTH_DEG = 111_200.0, 47.0


def square(seed: int, *, side_km: float, relief_m: float, middle_deg: tuple[float, float] | None = None) -> Terrain:
    """`synthetic` ground of about so many kilometres from north to south and from west to east, around a place (latitude,
    longitude) where one is given. Raises BadInput."""
    step_arcsec = max(1.0, math.ceil(side_km / 300))  # at most 10,000 points a side
    latitude_deg = middle_deg[0] if middle_deg else _SOUTH_DEG
    rows = max(3, round(side_km * 1000 / (_DEGREE_M * step_arcsec / 3600)) + 1)
    columns = max(3, round((rows - 1) / math.cos(math.radians(latitude_deg))) + 1)
    corner = {"south_deg": latitude_deg}
    if middle_deg:
        half_deg = step_arcsec / 3600 / 2
        corner = {
            "south_deg": middle_deg[0] - (rows - 1) * half_deg,
            "west_deg": middle_deg[1] - (columns - 1) * half_deg,
        }
    return synthetic(seed, rows=rows, columns=columns, step_arcsec=step_arcsec, relief_m=relief_m, **corner)


def _octave(seed: int, width: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Values at random on a lattice of ``width`` points, joined by t^2 (3 - 2 t). Only sums, products and whole numbers:
    the same on every machine."""
    down, right = (np.arange(count) / width for count in (rows, columns))
    top, left = down.astype(np.int64), right.astype(np.int64)
    lattice = _noise(seed, width, int(top[-1]) + 2, int(left[-1]) + 2)
    down, right = down - top, right - left
    smooth_down, smooth_right = (t * t * (3 - 2 * t) for t in (down, right))
    line = lattice[:, left] + (lattice[:, left + 1] - lattice[:, left]) * smooth_right
    return np.asarray(line[top] + (line[top + 1] - line[top]) * smooth_down[:, None])


def _noise(seed: int, width: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) by Splitmix64 of the seed, the octave and the place."""
    place = np.arange(rows * columns, dtype=np.uint64)
    octave = _mixed(np.array([seed], np.uint64) + np.uint64(width))
    bits = _mixed(octave ^ _mixed(place)) >> np.uint64(11)
    return np.asarray((bits * 2.0**-53).reshape(rows, columns))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
