"""The record of a town, the plane that rays are traced in, and the file that the engine reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import BadInput
from ...files import atomic
from ..geodesics import EQUATOR_M, FLATTENING
from ..terrain import Terrain

#: A closed line of (longitude, latitude) in degrees, the first corner not repeated.
Ring = tuple[tuple[float, float], ...]
#: From the middle of a town to its buildings: the plane is true to a thousandth within 10 km at 45 degrees.
FARTHEST_M = 50_000.0


@dataclass(frozen=True)
class Building:
    """An outline, then its courtyards; the roof is flat, ``height_m`` above the ground, ``ground_m`` above sea level."""

    rings: tuple[Ring, ...]
    height_m: float
    ground_m: float = 0.0


@dataclass(frozen=True)
class Town:
    """Buildings around a place (degrees, WGS84), where they are from, and what was left out or assumed."""

    latitude_deg: float
    longitude_deg: float
    buildings: tuple[Building, ...]
    source: str = ""
    notes: tuple[str, ...] = ()

    @property
    def metres_per_degree(self) -> tuple[float, float]:
        """To the east and to the north at the town's place: by the radii of curvature of WGS84 along the parallel and the
        meridian (NGA.STND.0036, 4.4). The plane takes them for the whole town."""
        squared = FLATTENING * (2 - FLATTENING)
        latitude = math.radians(self.latitude_deg)
        across = EQUATOR_M / math.sqrt(1 - squared * math.sin(latitude) ** 2)
        along = across * (1 - squared) / (1 - squared * math.sin(latitude) ** 2)
        return math.radians(across * math.cos(latitude)), math.radians(along)

    @property
    def reach_m(self) -> float:
        """From its place to the farthest corner of a building."""
        corners = [at for building in self.buildings for at in building.rings[0]]
        if not corners:
            return 0.0
        x, y = self.plane([at[1] for at in corners], [at[0] for at in corners])
        return float(np.hypot(x, y).max())

    def inside(self, latitude_deg: ArrayLike, longitude_deg: ArrayLike) -> NDArray[np.bool_]:
        """Which places lie within an outline and in no courtyard of it: an even count of walls to the east is outside."""
        x, y = self.plane(latitude_deg, longitude_deg)
        within = np.zeros(x.shape, np.bool_)
        for building in self.buildings:
            crossed = np.zeros(x.shape, np.int64)
            for ring in building.rings:
                ends = np.stack(self.plane([at[1] for at in ring], [at[0] for at in ring]), axis=1)
                for (ax, ay), (bx, by) in zip(ends.tolist(), np.roll(ends, -1, axis=0).tolist(), strict=True):
                    if ay != by:
                        crossed += ((ay > y) != (by > y)) & (x < ax + (bx - ax) * (y - ay) / (by - ay))
            within |= crossed % 2 == 1
        return within

    def plane(
        self, latitude_deg: ArrayLike, longitude_deg: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Metres to the east and to the north of the town's place; longitudes may be given in any turn."""
        east, north = self.metres_per_degree
        away = np.asarray(longitude_deg, np.float64) - self.longitude_deg
        away = np.mod(away + 180, 360) - 180
        return away * east, (np.asarray(latitude_deg, np.float64) - self.latitude_deg) * north

    def places(self, east_m: ArrayLike, north_m: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latitudes and longitudes of points of the plane."""
        east, north = self.metres_per_degree
        latitude = self.latitude_deg + np.asarray(north_m, np.float64) / north
        return latitude, self.longitude_deg + np.asarray(east_m, np.float64) / east

    def on(self, terrain: Terrain) -> Town:
        """The same town with each building on the terrain: on the lowest ground under the corners of its outline. Buildings
        off the map or over a hole are left out, and counted in the notes."""
        if not self.buildings:
            return self
        corners = [np.array(building.rings[0]) for building in self.buildings]
        every = np.concatenate(corners)
        ends = np.cumsum([len(one) for one in corners])
        low = [part.min() for part in np.split(terrain.at(every[:, 1], every[:, 0]), ends[:-1])]
        kept = tuple(
            replace(building, ground_m=float(ground))
            for building, ground in zip(self.buildings, low, strict=True)
            if math.isfinite(ground)
        )
        lost = len(self.buildings) - len(kept)
        notes = (f"{lost:,} buildings where the height of the ground is not known: left out",) if lost else ()
        return replace(self, buildings=kept, notes=self.notes + notes)

    def write(self, path: Path) -> None:
        """The file that the engine reads. Raises StoreFailed."""
        atomic.write(path, self.text())

    def text(self) -> str:
        """That file: native/radio/rays/town_file.hpp has its form."""
        east, north = self.metres_per_degree
        lines = [f"town {self.latitude_deg!r} {self.longitude_deg!r} {east!r} {north!r} {len(self.buildings)}"]
        for building in self.buildings:
            lines.append(f"building {building.ground_m!r} {building.height_m!r} {len(building.rings)}")
            for ring in building.rings:
                x, y = self.plane([at[1] for at in ring], [at[0] for at in ring])
                points = np.stack([x, y], axis=1).ravel().tolist()
                lines.append(f"ring {len(ring)} " + " ".join(map(repr, points)))
        return "\n".join(lines) + "\n"


def town_around(buildings: list[Building], source: str, notes: tuple[str, ...]) -> Town:
    """A town whose place is the middle of its buildings. Raises BadInput where they are too far apart for one plane."""
    if not buildings:
        return Town(0.0, 0.0, (), source, notes)
    corners = np.concatenate([np.array(building.rings[0]) for building in buildings])
    first = corners[0, 0]
    longitudes = first + np.mod(corners[:, 0] - first + 180, 360) - 180
    longitude = float((longitudes.min() + longitudes.max()) / 2)
    latitude = float((corners[:, 1].min() + corners[:, 1].max()) / 2)
    town = Town(latitude, longitude, tuple(buildings), source, notes)
    x, y = town.plane(corners[:, 1], corners[:, 0])
    farthest = float(np.hypot(x, y).max())
    if farthest > FARTHEST_M or abs(latitude) > 85:
        raise BadInput(
            f"its buildings reach {farthest / 1000:,.0f} km from their middle",
            where=source,
            hint=f"cut out a town: at most {FARTHEST_M / 1000:.0f} km, and not at a pole",
        )
    return town
