"""The ground below a town that is given none."""

from __future__ import annotations

from ..terrain import Terrain
from ..terrain.made import square
from .town import Town

#: Ground that is made around a town reaches so far beyond its last building, in m.
MARGIN_M = 100.0


def ground(town: Town, *, seed: int = 1, side_km: float | None = None, relief_m: float = 0.0) -> Terrain:
    """Ground around a town, flat unless ``relief_m`` says otherwise. Raises BadInput."""
    if side_km is None:
        side_km = 2 * (town.reach_m + MARGIN_M) / 1000
    return square(seed, side_km=side_km, relief_m=relief_m, middle_deg=(town.latitude_deg, town.longitude_deg))
