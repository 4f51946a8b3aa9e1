"""Closes the holes of a terrain, where somebody wants that, and says how much was made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import BadInput
from .grid import HOLE, Terrain, packed


def filled(terrain: Terrain) -> Terrain:
    """The terrain with a height in every hole: linear between the nearest known heights of its row and of its column (where
    one side alone is known: that height), of which the narrower gap weighs more. Raises BadInput where nothing is known."""
    unknown = terrain.unknown
    count = int(np.count_nonzero(unknown))
    if count == 0:
        return terrain
    if count == unknown.size:
        raise BadInput("no height of it is known", where=terrain.source or "terrain", hint="give other files or bounds")
    heights = terrain.metres()
    widest = 0
    while unknown.any():  # a block whose rows and columns are all holes is reached from its neighbours
        along, gap_along = _lines(heights)
        down, gap_down = _lines(heights.T)
        down, gap_down = down.T, gap_down.T
        weight = np.zeros(heights.shape)
        total = np.zeros(heights.shape)
        for line, gap in ((along, gap_along), (down, gap_down)):
            reached = unknown & (gap > 0)
            total[reached] += line[reached] / gap[reached]
            weight[reached] += 1 / gap[reached]
            widest = max(widest, int(gap[reached].max(initial=0)))
        reached = weight > 0
        heights[reached] = total[reached] / weight[reached]
        unknown = unknown & ~reached
    numbers, scale_m, offset_m = _packed_alike(terrain, heights)
    note = (
        f"{count:,} of {heights.size:,} heights were made up between their neighbours; the widest gap: {widest} points"
    )
    return replace(terrain, heights=numbers, scale_m=scale_m, offset_m=offset_m, notes=(*terrain.notes, note))


def _lines(heights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each row with its holes closed, and the number of holes side by side (0: known, or nothing known in the row)."""
    closed, gaps = heights.copy(), np.zeros(heights.shape)
    for row in np.flatnonzero(np.isnan(heights).any(axis=1)):
        known = np.flatnonzero(~np.isnan(heights[row]))
        if known.size == 0:
            continue
        holes = np.flatnonzero(np.isnan(heights[row]))
        closed[row, holes] = np.interp(holes, known, heights[row, known])
        after = np.searchsorted(known, holes)
        left = np.where(after > 0, known[np.maximum(after - 1, 0)], -1)
        right = np.where(after < known.size, known[np.minimum(after, known.size - 1)], heights.shape[1])
        gaps[row, holes] = right - left - 1
    return closed, gaps


def _packed_alike(
    terrain: Terrain, heights: NDArray[np.float64]
) -> tuple[NDArray[np.int16] | NDArray[np.float32], float, float]:
    """Heights that were known keep their numbers; those that were not lie between them, so that the scale holds them too."""
    if terrain.heights.dtype == np.float32:
        return packed(heights)
    numbers = np.rint((heights - terrain.offset_m) / terrain.scale_m).astype(np.int16)
    return np.where(terrain.heights == HOLE, numbers, terrain.heights), terrain.scale_m, terrain.offset_m
