"""Buildings from GeoJSON (RFC 7946): polygons and multipolygons with a height, as OpenStreetMap's exports have them.

The height of a building is its property ``height`` (metres, also as text: "12", "12.5 m", "40 ft") or ``height_m``,
else ``building:levels`` times LEVEL_M, else DEFAULT_HEIGHT_M. What cannot be used is left out and counted in the town's
notes: lines that are not polygons, rings with fewer than four positions, that do not close or that cross themselves, the
same outline twice, heights of 0.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ... import strict
from ...errors import UNREADABLE, BadInput
from ...units import leading_number
from .town import Building, Ring, Town, town_around

LEVEL_M = 3.0
DEFAULT_HEIGHT_M = 9.0
HIGHEST_M = 1000.0
MOST_BYTES = 512 * 2**20
MOST_CORNERS = 4000
_FOOT_M = 0.3048
_HINT = "give a FeatureCollection of polygons, longitude before latitude, as OpenStreetMap's exports are"
_HEIGHT = re.compile(r"\s*([0-9.,]{1,20})\s*(m|metres?|meters?|ft|feet|')?\s*", re.IGNORECASE)

_NO_HEIGHT = f"without a height or levels: {DEFAULT_HEIGHT_M:g} m each"
_FROM_LEVELS = f"without a height: {LEVEL_M:g} m for each of their levels"
_BAD_HEIGHT = "with a height that is not above 0 or not up to 1,000 m: left out"
_NOT_POLYGON = "features that are not polygons: left out"
_BAD_RING = "outlines with fewer than 3 corners or that do not close: left out"
_CROSSING = "outlines that cross themselves: left out"
_TOO_LONG = f"outlines of more than {MOST_CORNERS:,} corners: left out"
_BAD_YARD = "courtyards that cross themselves or do not close: taken as built over"
_TWICE = "outlines that came before: left out"


class _Unusable(Exception):
    """A building cannot be used; the argument says what is counted."""


def read(path: Path) -> Town:
    """The buildings of a file. Raises BadInput where it is not GeoJSON, a position is off the Earth, or none is left."""
    return parse(strict.read_text(path, hint=_HINT, most_bytes=MOST_BYTES), str(path))


def parse(text: str, file: str) -> Town:
    """The same of a text."""
    try:
        whole = msgspec.json.decode(text.lstrip("\ufeff"))
    except UNREADABLE as error:
        raise BadInput(f"is not JSON: {error}", where=file, hint=_HINT) from None
    counts: Counter[str] = Counter()
    buildings: list[Building] = []
    taken: set[frozenset[tuple[float, float]]] = set()
    for where, geometry, properties in _features(whole, file):
        for polygon in _polygons(geometry, counts):
            try:
                building = _building(polygon, properties, where, counts)
            except _Unusable as unusable:
                counts[str(unusable)] += 1
                continue
            outline = frozenset(building.rings[0])
            if outline in taken:
                counts[_TWICE] += 1
                continue
            taken.add(outline)
            buildings.append(building)
    notes = tuple(f"{count:,} {what}" for what, count in sorted(counts.items()))
    if not buildings:
        raise BadInput(f"has no building{': ' if notes else ''}{'; '.join(notes)}", where=file, hint=_HINT)
    return town_around(buildings, file, notes)


# -------------------------------------------------------------------------------------------------------------- GeoJSON


def _features(whole: Any, file: str) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    kind = whole.get("type") if isinstance(whole, dict) else None
    if kind == "FeatureCollection":
        features = whole.get("features")
        if not isinstance(features, list):
            raise BadInput("is a FeatureCollection without a list of features", where=file, hint=_HINT)
    elif kind is not None:
        features = [whole if kind == "Feature" else {"geometry": whole}]
    else:
        raise BadInput("is not a GeoJSON object", where=file, hint=_HINT)
    for number, feature in enumerate(features, 1):
        if not isinstance(feature, dict):
            raise BadInput("is not an object", where=f"{file}: feature {number}", hint=_HINT)
        properties = feature.get("properties")
        held = properties if isinstance(properties, dict) else {}
        yield f"{file}: feature {number}", feature.get("geometry"), held


def _polygons(geometry: Any, counts: Counter[str]) -> list[Any]:
    """The polygons of a geometry, each a list of rings."""
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    coordinates = geometry.get("coordinates") if isinstance(geometry, dict) else None
    if kind == "Polygon":
        return [coordinates]
    if kind == "MultiPolygon" and isinstance(coordinates, list):
        return coordinates
    if kind == "GeometryCollection" and isinstance(geometry.get("geometries"), list):
        return [
            polygon
            for part in geometry["geometries"]
            if isinstance(part, dict) and part.get("type") != kind  # collections in collections: RFC 7946, 3.1.8
            for polygon in _polygons(part, counts)
        ]
    counts[_NOT_POLYGON] += 1
    return []


def _building(polygon: Any, properties: dict[str, Any], where: str, counts: Counter[str]) -> Building:
    if not isinstance(polygon, list) or not polygon:
        raise _Unusable(_BAD_RING)
    height_m, how = _height(properties)
    rings = [_ring(polygon[0], where)]
    for yard in polygon[1:]:
        try:
            rings.append(_ring(yard, where))
        except _Unusable:
            counts[_BAD_YARD] += 1
    if how:
        counts[f"buildings {how}"] += 1
    return Building(rings=tuple(rings), height_m=height_m)


def _ring(raw: Any, where: str) -> Ring:
    if not isinstance(raw, list) or len(raw) < 4:
        raise _Unusable(_BAD_RING)
    if len(raw) > MOST_CORNERS:
        raise _Unusable(_TOO_LONG)
    positions = [_position(one, where) for one in raw]
    if positions[0] != positions[-1]:
        raise _Unusable(_BAD_RING)
    ring = [at for at, before in zip(positions[1:], positions, strict=False) if at != before]
    if len(set(ring)) < 3:
        raise _Unusable(_BAD_RING)
    if _crosses_itself(ring):
        raise _Unusable(_CROSSING)
    return tuple(ring)


def _position(raw: Any, where: str) -> tuple[float, float]:
    numbers = raw[:2] if isinstance(raw, list) else []
    if len(numbers) < 2 or any(isinstance(one, bool) or not isinstance(one, int | float) for one in numbers):
        raise BadInput("a position is not two numbers", where=where, hint=_HINT)
    longitude, latitude = numbers
    if not (-360 <= longitude <= 360 and -90 <= latitude <= 90):
        raise BadInput("a position is not on the Earth", where=where, hint=_HINT)
    return float(longitude), float(latitude)


def _crosses_itself(ring: list[tuple[float, float]]) -> bool:
    """Whether two sides of a ring that are not neighbours touch, or two neighbours lie on each other."""
    a = np.array(ring) - np.array(ring[0])
    b = np.roll(a, -1, axis=0)
    step = b - a
    following = np.roll(step, -1, axis=0)
    turn = step[:, 0] * following[:, 1] - step[:, 1] * following[:, 0]
    if bool(((turn == 0) & ((step * following).sum(axis=1) < 0)).any()):
        return True
    for at in range(len(ring) - 2):
        last = len(ring) - (1 if at == 0 else 0)
        others = slice(at + 2, last)
        if _touch(a[at], b[at], a[others], b[others]):
            return True
    return False


def _touch(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Whether the side from a to b touches any of those from c to d: each has its ends on both sides of the other's line,
    or on it."""

    def side(start: Any, end: Any, at: Any) -> Any:
        return (end[..., 0] - start[..., 0]) * (at[..., 1] - start[..., 1]) - (end[..., 1] - start[..., 1]) * (
            at[..., 0] - start[..., 0]
        )

    boxes = (np.maximum(a, b) >= np.minimum(c, d)).all(axis=1) & (np.minimum(a, b) <= np.maximum(c, d)).all(axis=1)
    crossed = side(a, b, c) * side(a, b, d) <= 0
    return bool((boxes & crossed & (side(c, d, a) * side(c, d, b) <= 0)).any())


# -------------------------------------------------------------------------------------------------------------- heights


def _height(properties: dict[str, Any]) -> tuple[float, str]:
    """Metres, and what is counted where they are not a height that was given."""
    given = (_metres(properties.get(name)) for name in ("height", "height_m"))
    height_m = next((metres for metres in given if metres is not None), None)
    if height_m is None:
        levels = _metres(properties.get("building:levels"))
        height_m, how = (DEFAULT_HEIGHT_M, _NO_HEIGHT) if levels is None else (levels * LEVEL_M, _FROM_LEVELS)
    else:
        how = ""
    if not 0 < height_m <= HIGHEST_M:
        raise _Unusable(f"buildings {_BAD_HEIGHT}")
    return height_m, how


def _metres(raw: Any) -> float | None:
    """A number, or a text with one; None for what says nothing."""
    if isinstance(raw, bool) or raw is None:
        return None
    if isinstance(raw, int | float):
        return float(raw) if abs(raw) < 1e9 and math.isfinite(raw) else None
    match = _HEIGHT.fullmatch(raw) if isinstance(raw, str) and len(raw) < 40 else None
    number = leading_number(match[1].replace(",", ".")) if match else None
    if match is None or number is None:
        return None
    feet = match[2] is not None and match[2].lower() in ("ft", "feet", "'")
    return number * _FOOT_M if feet else number
