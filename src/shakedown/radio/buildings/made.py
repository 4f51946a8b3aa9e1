"""A town that is made from a seed: blocks of houses between streets, for tests, benchmarks and those who have no data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import BadInput
from .town import Building, Ring, Town

#: Houses of a block stand two by two; some have a courtyard.
STREET_M, HOUSE_M, GAP_M = 15.0, 25.0, 2.0
YARDS = 0.2
MOST_BUILDINGS = 1_000_000


def synthetic(
    seed: int,
    *,
    buildings: int = 400,
    latitude_deg: float = 47.2,
    longitude_deg: float = 11.2,
    lowest_m: float = 6.0,
    highest_m: float = 24.0,
) -> Town:
    """Houses of about 23 m in blocks of two by two with streets of 15 m, around a place; the same for a seed everywhere.
    Raises BadInput."""
    if not 1 <= buildings <= MOST_BUILDINGS:
        raise BadInput(f"{buildings:,} buildings", where="synthetic town", hint=f"give 1 to {MOST_BUILDINGS:,}")
    if not 0 < lowest_m <= highest_m <= 1000:
        raise BadInput(f"heights of {lowest_m:g} to {highest_m:g} m", where="synthetic town", hint="give 0 to 1000 m")
    if not (-85 <= latitude_deg <= 85 and -180 <= longitude_deg <= 360):
        raise BadInput(
            f"place {latitude_deg:g}, {longitude_deg:g}", where="synthetic town", hint="give degrees, to 85 N or S"
        )
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed = {seed}", where="synthetic town", hint="give a number from 0 on, below 2^63")
    side = int(np.ceil(np.sqrt(buildings)))
    draws = np.random.Generator(np.random.PCG64(seed)).random((buildings, 4))
    place = Town(latitude_deg, longitude_deg, (), f"synthetic, seed {seed}, {buildings:,} buildings")
    steps = np.arange(side) * (HOUSE_M + GAP_M) + np.arange(side) // 2 * STREET_M
    steps = steps - (steps[-1] + HOUSE_M) / 2
    made = []
    for number, (wide, deep, high, yard) in enumerate(draws.tolist()):
        x, y = float(steps[number % side]), float(steps[number // side])
        size = np.array([HOUSE_M - 4 * wide, HOUSE_M - 4 * deep])
        rings = [np.array([x, y]) + size * _UNIT]
        if yard < YARDS:
            rings.append(np.array([x, y]) + size * (0.3 + 0.4 * _UNIT))
        height_m = round(lowest_m + (highest_m - lowest_m) * high, 2)
        made.append(Building(tuple(_ring(place, ring) for ring in rings), height_m))
    return replace(place, buildings=tuple(made))


_UNIT = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def _ring(place: Town, points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Ring:
    latitudes, longitudes = place.places(points[:, 0], points[:, 1])
    return tuple(zip(longitudes.tolist(), latitudes.tolist(), strict=True))
