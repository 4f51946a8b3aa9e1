"""Which radios there are, where each was seen last, and who moved since somebody asked. Pure.

A position that cannot be one is refused with its cause, and the radio stays where it was. One that is equal to the last
is no move. A radio may jump: that it can be there is not ours to judge.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..terrain import Terrain
from ..wire.losses import Ids

Floats = NDArray[np.float64]
#: What an altitude of others is above, where no height above ground is given.
AltitudesAbove = Literal["sea", "ground", "nothing"]


class Moves(NamedTuple):
    """Radios that moved since the last ``take``, by index (``which``): arrays of one length. Heights and altitudes that
    are not known are NaN. ``ids``: those of all radios, by index."""

    which: Ids
    latitude_deg: Floats
    longitude_deg: Floats
    height_m: Floats
    altitude_m: Floats
    ids: Ids


class Radios:
    """At most ``most`` of them; whoever comes after that is refused."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._index: dict[int, int] = {}
        self._places: list[tuple[float, float, float, float]] = []
        self._moved: set[int] = set()
        self.received = 0
        self.same = 0
        self.refused: Counter[str] = Counter()

    @property
    def count(self) -> int:
        return len(self._places)

    def receive(
        self,
        radio: int,
        latitude_deg: float,
        longitude_deg: float,
        height_m: float | None = None,
        altitude_m: float | None = None,
    ) -> None:
        """A position. What is wrong with it is counted in ``refused`` by its cause."""
        self.received += 1
        place = (
            latitude_deg,
            longitude_deg,
            math.nan if height_m is None else height_m,
            math.nan if altitude_m is None else altitude_m,
        )
        if cause := _cause(latitude_deg, longitude_deg, height_m, altitude_m):
            self.refused[cause] += 1
            return
        index = self._index.get(radio)
        if index is None:
            if self.count >= self._most:
                self.refused[f"more radios than {self._most}"] += 1
                return
            index = self._index[radio] = self.count
            self._places.append(place)
        elif _equal(self._places[index], place):
            self.same += 1
            return
        else:
            self._places[index] = place
        self._moved.add(index)

    def take(self) -> Moves:
        """Who moved, once."""
        index = np.array(sorted(self._moved), np.int64)
        table = np.array([self._places[one] for one in index.tolist()], np.float64).reshape(-1, 4)
        self._moved.clear()
        ids = np.fromiter(self._index, np.int64, self.count)
        return Moves(index, table[:, 0], table[:, 1], table[:, 2], table[:, 3], ids)


def _cause(latitude_deg: float, longitude_deg: float, height_m: float | None, altitude_m: float | None) -> str:
    """What is wrong with a position; empty where nothing is."""
    if not -90 <= latitude_deg <= 90:
        return "a latitude that is not from -90 to 90"
    if not -180 <= longitude_deg <= 360:
        return "a longitude that is not from -180 to 360"
    if height_m is not None and not 0 < height_m < math.inf:
        return "a height that is not above ground"
    if altitude_m is not None and not math.isfinite(altitude_m):
        return "an altitude that is not a number"
    return ""


def _equal(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


class Heights(NamedTuple):
    """Antennas above ground, in m. ``raised``: lower than the least, and set to it."""

    height_m: Floats
    raised: NDArray[np.bool_]


def heights(moves: Moves, terrain: Terrain, antenna_m: float, above: AltitudesAbove) -> Heights:
    """Heights above ground of what moved: those that are given, else from altitudes, else ``antenna_m``, which also is the
    least that an altitude gives: a position that a satellite gave may lie below the map's ground, its antenna does not."""
    ground_m = terrain.at(moves.latitude_deg, moves.longitude_deg)
    known = ~np.isnan(ground_m)
    found = moves.height_m.copy()
    raised = np.zeros(len(found), np.bool_)
    if above != "nothing":
        over_m = moves.altitude_m - np.where(known, ground_m, 0.0) if above == "sea" else moves.altitude_m
        from_altitude = np.isnan(found) & ~np.isnan(over_m)
        raised = from_altitude & (over_m < antenna_m) & known
        found = np.where(from_altitude, np.maximum(over_m, antenna_m), found)
    return Heights(np.where(np.isnan(found), antenna_m, found), raised)
