"""An engine that knows free space alone, for tests of what is around one; and flat ground for it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shakedown.errors import CannotMeasure
from shakedown.radio.engine import Pairs, Placed, Standing
from shakedown.radio.terrain import Terrain

Floats = NDArray[np.float64]
_M_PER_DEGREE = 111_195.0  # of a sphere of 6,371 km


def flat(height_m: int = 500) -> Terrain:
    """Ground of one height from 47 to 48 degrees north, 11 to 12 east."""
    step_deg = 0.01
    return Terrain(np.full((101, 101), height_m, np.int16), 48.0, 11.0, step_deg, step_deg)


class FreeSpace:
    """Losses in free space at 300 MHz, all pairs found each time; what was reported is compared as the engine does."""

    def __init__(self, terrain: Terrain, die_at: int = -1) -> None:
        self._terrain = terrain
        self._die_at = die_at
        self.calls = 0
        self.places: Floats = np.empty((3, 0))
        self.reported: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def place(self, latitude_deg: Floats, longitude_deg: Floats, height_m: Floats) -> Placed:
        self.places = np.array([latitude_deg, longitude_deg, height_m])
        count = len(latitude_deg)
        self.reported = np.full((count, count), np.nan, np.float32)
        return self._standing(np.arange(count))

    def move(self, index: NDArray[np.int64], latitude_deg: Floats, longitude_deg: Floats, height_m: Floats) -> Placed:
        self.places[:, index] = latitude_deg, longitude_deg, height_m
        return self._standing(index)

    def _standing(self, index: NDArray[np.int64]) -> Placed:
        on_map = ~np.isnan(self._terrain.at(self.places[0, index], self.places[1, index]))
        return Placed(np.where(on_map, Standing.KNOWN, Standing.OFF_MAP).astype(np.uint8))

    def losses(self) -> NDArray[np.float32]:
        """All of them, as a square."""
        north = self.places[0] * _M_PER_DEGREE
        east = self.places[1] * _M_PER_DEGREE * math.cos(math.radians(47.5))
        distance_m = np.hypot(north[:, None] - north, east[:, None] - east)
        with np.errstate(divide="ignore"):
            loss_db = 20 * np.log10(distance_m) + 20 * math.log10(300) - 27.55
        known = ~np.isnan(self._terrain.at(self.places[0], self.places[1]))
        loss_db[~(known[:, None] & known)] = np.nan
        return loss_db.astype(np.float32)

    def changes(self, above_db: float, below_db: float) -> Pairs:
        self.calls += 1
        if self.calls == self._die_at:
            raise CannotMeasure("ended with exit code 9", where="radio engine", hint="start another")
        now, before = self.losses(), self.reported
        usable, was = now <= below_db, before <= below_db
        with np.errstate(invalid="ignore"):
            chosen = np.triu((usable & (~was | (np.abs(now - before) > above_db))) | (was & ~usable), 1)
        self.reported[chosen] = now[chosen]
        i, j = np.nonzero(chosen)
        return Pairs(i.astype(np.uint32), j.astype(np.uint32), now[chosen])
