"""A grid of heights: where its points lie, how it is kept in memory, what its height is between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import BadInput

#: What stands for "not known" among int16 heights, as in SRTM's tiles; among float32 heights it is NaN.
HOLE = -32768
#: Heights that are rounded to int16 are within this of what was read.
ROUNDING_M = 0.05
#: A place that is so little off the grid is on its edge: 0.1 mm.
_EDGE_DEG = 1e-9
#: Points of a grid; cells are counted in 32 bits.
MOST_POINTS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Terrain:
    """Heights above sea level at the crossings of a geographic grid (WGS84). Row 0 is the northernmost, column 0 the
    westernmost. A height is ``scale_m`` x the number + ``offset_m``; HOLE (int16) or NaN (float32): not known."""

    heights: NDArray[np.int16] | NDArray[np.float32]
    north_deg: float
    west_deg: float
    step_latitude_deg: float
    step_longitude_deg: float
    scale_m: float = 1.0
    offset_m: float = 0.0
    source: str = ""
    notes: tuple[str, ...] = ()  # what was done to the heights, and what is missing

    def __post_init__(self) -> None:
        if self.heights.ndim != 2 or min(self.heights.shape) < 2:
            raise _wrong(f"a grid of {' x '.join(map(str, self.heights.shape))} points", "give 2 x 2 or more")
        if self.heights.size > MOST_POINTS:
            raise _wrong(f"{self.heights.size:,} points", f"at most {MOST_POINTS:,} are held: give bounds")
        if self.heights.dtype not in (np.dtype(np.int16), np.dtype(np.float32)):
            raise _wrong(f"heights of type {self.heights.dtype}", "give int16 or float32")
        for name in ("north_deg", "west_deg", "scale_m", "offset_m"):
            if not math.isfinite(getattr(self, name)):
                raise _wrong(f"{name} = {getattr(self, name)}", "give a finite number")
        if not (self.step_latitude_deg > 0 and self.step_longitude_deg > 0 and self.scale_m > 0):
            raise _wrong("a step or a scale is not above 0", "give steps in degrees and a scale in metres")
        if self.south_deg < -90 - _EDGE_DEG or self.north_deg > 90 + _EDGE_DEG:
            raise _wrong(f"latitudes {self.south_deg:g} to {self.north_deg:g}", "give -90 to 90")
        if self.east_deg - self.west_deg > 360 + _EDGE_DEG:
            raise _wrong("more than once around the Earth", "give at most 360 degrees of longitude")

    @property
    def rows(self) -> int:
        return int(self.heights.shape[0])

    @property
    def columns(self) -> int:
        return int(self.heights.shape[1])

    @property
    def south_deg(self) -> float:
        return self.north_deg - (self.rows - 1) * self.step_latitude_deg

    @property
    def east_deg(self) -> float:
        return self.west_deg + (self.columns - 1) * self.step_longitude_deg

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Where the grid has holes."""
        if self.heights.dtype == np.int16:
            return np.asarray(self.heights == HOLE)
        return np.asarray(np.isnan(self.heights))

    def count_holes(self) -> int:
        """How many points have no height."""
        return int(np.count_nonzero(self.unknown))

    def metres(self, rows: slice = slice(None), columns: slice = slice(None)) -> NDArray[np.float64]:
        """Heights of a part of the grid, NaN in holes."""
        part = self.heights[rows, columns]
        found = part * np.float64(self.scale_m) + self.offset_m
        if part.dtype == np.int16:
            found[part == HOLE] = np.nan
        return found

    def position(self, latitude_deg: ArrayLike, longitude_deg: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows and columns, with fractions, of places; longitudes may be given in any turn."""
        latitude, longitude = np.asarray(latitude_deg, np.float64), np.asarray(longitude_deg, np.float64)
        with np.errstate(invalid="ignore"):
            east = np.mod(longitude - self.west_deg + _EDGE_DEG, 360.0) - _EDGE_DEG
        return (self.north_deg - latitude) / self.step_latitude_deg, east / self.step_longitude_deg

    def at(self, latitude_deg: ArrayLike, longitude_deg: ArrayLike) -> NDArray[np.float64]:
        """Heights at places, bilinear in the grid; NaN off the grid and next to a hole (but for a place right on a row or
        a column, which needs only that one)."""
        row, column = (np.atleast_1d(one) for one in self.position(latitude_deg, longitude_deg))
        edge_row, edge_column = _EDGE_DEG / self.step_latitude_deg, _EDGE_DEG / self.step_longitude_deg
        with np.errstate(invalid="ignore"):
            inside = (row >= -edge_row) & (row <= self.rows - 1 + edge_row)
            inside &= (column >= -edge_column) & (column <= self.columns - 1 + edge_column)
        row = np.clip(np.where(inside, row, 0.0), 0, self.rows - 1)
        column = np.clip(np.where(inside, column, 0.0), 0, self.columns - 1)
        top = np.minimum(np.floor(row).astype(np.int64), self.rows - 2)
        left = np.minimum(np.floor(column).astype(np.int64), self.columns - 2)
        down, right = row - top, column - left
        found = np.zeros(row.shape)
        for below, weight_row in ((0, 1 - down), (1, down)):
            for beside, weight_column in ((0, 1 - right), (1, right)):
                weight = weight_row * weight_column
                height = self._points(top + below, left + beside)
                found += np.where(weight > 0, weight * height, 0.0)
        found[~inside] = np.nan
        return found.reshape(np.broadcast(np.asarray(latitude_deg), np.asarray(longitude_deg)).shape)

    def _points(self, row: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.float64]:
        held = self.heights[row, column]
        found = held * np.float64(self.scale_m) + self.offset_m
        return np.where(held == HOLE, np.nan, found) if held.dtype == np.int16 else found


def packed(heights_m: NDArray[Any]) -> tuple[NDArray[np.int16] | NDArray[np.float32], float, float]:
    """Heights (NaN: holes) as int16 with scale and offset where whole metres or rounding within ROUNDING_M allow that,
    else as float32. Raises BadInput where a height is infinite."""
    known = np.isfinite(heights_m)
    if np.isinf(heights_m).any():
        raise _wrong("a height is infinite", "give a finite one, or declare it as the file's nodata")
    if not known.any():
        return np.full(heights_m.shape, HOLE, np.int16), 1.0, 0.0
    low, high = float(np.min(heights_m[known])), float(np.max(heights_m[known]))
    whole = low > HOLE and high < -HOLE and not (heights_m[known] % 1).any()
    if whole:
        scale, offset = 1.0, 0.0
    else:
        scale, offset = (high - low) / (2 * -HOLE - 2), (low + high) / 2
        if scale > 2 * ROUNDING_M or scale == 0:
            return heights_m.astype(np.float32), 1.0, 0.0
    numbers = np.full(heights_m.shape, HOLE, np.int16)
    numbers[known] = np.rint((heights_m[known] - offset) / scale)
    return numbers, scale, offset


def _wrong(what: str, hint: str) -> BadInput:
    return BadInput(what, where="terrain", hint=hint)
