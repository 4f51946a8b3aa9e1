"""Radios from a user's file (CSV, JSON, GeoJSON), or scattered over an area by a seed.

CSV has a line of names of columns; JSON is a list of objects, or an object with the list as ``radios``; GeoJSON is a
FeatureCollection of points. Of each radio ``latitude_deg`` and ``longitude_deg`` are needed; ``height_m`` (above ground),
``id`` and ``name`` may be left out: the height that was asked for, the next free number, and "radio ID".
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from .. import strict
from ..errors import UNREADABLE, BadInput, plain, unknown
from ..units import whole_number
from .scene import FIRST_ID, LAST_ID, Place, Radio

if TYPE_CHECKING:
    from .buildings import Town

MOST_BYTES = 64 * 2**20
#: Draws of places before it is said that a town leaves none: half of them lie outside of its buildings.
_ROUNDS = 100
_NAMES = {
    "latitude_deg": ("latitude_deg", "latitude", "lat"),
    "longitude_deg": ("longitude_deg", "longitude", "lon", "lng"),
    "height_m": ("height_m", "height", "antenna_m"),
    "id": ("id", "nem", "nem_id"),
    "name": ("name", "label"),
}
_ABOVE_SEA = ("altitude", "altitude_m", "alt", "elevation", "elevation_m")
_HINT = "docs/radio.md shows a file of radios in each format"

Bounds = tuple[float, float, float, float]


def read(path: Path, height_m: float) -> tuple[Radio, ...]:
    """The radios of a file in its order; ``height_m``: of those that the file gives none. Raises BadInput with the line or
    the place in the file."""
    text = strict.read_text(path, hint=_HINT, most_bytes=MOST_BYTES)
    first = text.lstrip("\ufeff \t\r\n")[:1]
    rows = _json_rows(text, str(path)) if first in ("[", "{") else _csv_rows(text, str(path))
    radios: list[Radio] = []
    taken: dict[int, str] = {}
    for where, raw in rows:
        if len(radios) == LAST_ID:
            raise BadInput(f"has more than {LAST_ID:,} radios", where=where, hint="ids are EMANE's NEM ids, 1 to 65534")
        radio = _radio(raw, where, len(radios) + 1, height_m)
        if radio.id in taken:
            raise BadInput(f"id {radio.id} is also that of {taken[radio.id]}", where=where, hint="give each its own")
        taken[radio.id] = where.rpartition(": ")[2]
        radios.append(radio)
    if not radios:
        raise BadInput("has no radio", where=str(path), hint=_HINT)
    return tuple(radios)


def scattered(count: int, seed: int, bounds: Bounds, height_m: float, town: Town | None = None) -> tuple[Radio, ...]:
    """``count`` radios anywhere within ``bounds`` (south, west, north, east, degrees) and in no building of the town, the
    same for a seed everywhere. They keep a fiftieth of its sides from the edges. Raises BadInput."""
    import numpy as np

    if not 1 <= count <= LAST_ID:
        raise BadInput(f"{count:,} radios", where="--synthetic", hint=f"give 1 to {LAST_ID:,}: ids are EMANE's NEM ids")
    if seed < 0:
        raise BadInput(f"the seed is {seed}", where="--seed", hint="give a whole number from 0 on")
    south, west, north, east = bounds
    draws = np.random.Generator(np.random.PCG64(seed))
    # Evenly over the ground: a parallel is the shorter the nearer it is to the pole.
    low, high = math.sin(math.radians(south)), math.sin(math.radians(north))
    latitudes = longitudes = np.empty(0)
    for _ in range(_ROUNDS):
        shares = 0.02 + 0.96 * draws.random((count, 2))
        places = np.degrees(np.arcsin(low + shares[:, 0] * (high - low))), west + shares[:, 1] * (east - west)
        free = ~town.inside(*places) if town else np.ones(count, np.bool_)
        latitudes = np.concatenate([latitudes, places[0][free]])[:count]
        longitudes = np.concatenate([longitudes, places[1][free]])[:count]
        if len(latitudes) == count:
            break
    else:
        raise BadInput("there is hardly a place outside of buildings", where="--synthetic", hint="give --radios FILE")
    return tuple(
        Radio(
            id=number,
            name=f"radio {number}",
            place=Place(latitude_deg=round(lat, 7), longitude_deg=round(lon, 7), height_m=height_m),
        )
        for number, (lat, lon) in enumerate(zip(latitudes.tolist(), longitudes.tolist(), strict=True), FIRST_ID)
    )


def find(radios: Sequence[Radio], word: str) -> int:
    """The index of the radio of this name or id. Raises BadInput."""
    named = [at for at, radio in enumerate(radios) if radio.name == word]
    if not named:
        number = whole_number(word)
        named = [at for at, radio in enumerate(radios) if radio.id == number]
    if len(named) > 1:
        ids = ", ".join(str(radios[at].id) for at in named[:8])
        raise BadInput(f"{len(named)} radios have the name {word!r}", hint=f"give an id: {ids}")
    if not named:
        names = [radio.name for radio in radios[:1000]]
        raise unknown("radio", word, names if len(names) <= 12 else names[:12])
    return named[0]


# -------------------------------------------------------------------------------------------------------------- reading


def _csv_rows(text: str, file: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff")), strict=True)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        if not names:
            raise BadInput("is empty", where=file, hint=_HINT)
        for row in reader:
            where = f"{file}: line {reader.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(names):
                raise BadInput(f"has {len(row)} cells, and the columns are {len(names)}", where=where, hint=_HINT)
            yield where, {name: cell.strip() for name, cell in zip(names, row, strict=True) if cell.strip()}
    except csv.Error as error:
        raise BadInput(f"is not CSV: {error}", where=f"{file}: line {reader.line_num}", hint=_HINT) from None


def _json_rows(text: str, file: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        whole = msgspec.json.decode(text.lstrip("\ufeff"))
    except UNREADABLE as error:
        raise BadInput(f"is not JSON: {error}", where=file, hint=_HINT) from None
    is_geo = isinstance(whole, dict) and whole.get("type") == "FeatureCollection"
    items = whole.get("features" if is_geo else "radios") if isinstance(whole, dict) else whole
    if not isinstance(items, list):
        raise BadInput("is neither a list of radios nor a FeatureCollection", where=file, hint=_HINT)
    for number, item in enumerate(items, 1):
        where = f"{file}: {'feature' if is_geo else 'radio'} {number}"
        if not isinstance(item, dict):
            raise BadInput("is not an object", where=where, hint=_HINT)
        raw = _of_feature(item, where) if is_geo else item
        yield where, {str(name).lower(): value for name, value in raw.items() if value is not None}


def _of_feature(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    geometry = item.get("geometry")
    if not isinstance(geometry, dict) or geometry.get("type") != "Point":
        raise BadInput("is not a point", where=where, hint="give each radio as a feature with a Point geometry")
    at = geometry.get("coordinates")
    if not isinstance(at, list) or len(at) < 2:
        raise BadInput("its coordinates are not [longitude, latitude]", where=where, hint=_HINT)
    properties = item.get("properties")
    found = dict(properties) if isinstance(properties, dict) else {}
    return {**found, "longitude_deg": at[0], "latitude_deg": at[1]}


def _radio(raw: Mapping[str, Any], where: str, number: int, height_m: float) -> Radio:
    """The radio of a row. Raises BadInput."""
    given = {field: next((raw[name] for name in names if name in raw), None) for field, names in _NAMES.items()}
    for field in ("latitude_deg", "longitude_deg"):
        if given[field] is None:
            raise BadInput(f"has no {field}", where=where, hint=_HINT)
    if given["height_m"] is None and any(name in raw for name in _ABOVE_SEA):
        hint = "give height_m, the antenna's height above ground; heights of the ground are the terrain's"
        raise BadInput("has an altitude, and no height above ground", where=where, hint=hint)
    place = {field: _number(given[field], field, where) for field in ("latitude_deg", "longitude_deg")}
    place["height_m"] = height_m if given["height_m"] is None else _number(given["height_m"], "height_m", where)
    number = number if given["id"] is None else _id(given["id"], where)
    name = f"radio {number}" if given["name"] is None else plain(str(given["name"]))[:80]
    try:
        return Radio(id=number, name=name, place=Place(**place))
    except BadInput as error:
        raise BadInput(error.what, where=where, hint=error.hint) from None


def _number(value: Any, field: str, where: str) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        shown = plain(str(value))[:40]
        raise BadInput(f"{field} = {shown!r} is not a finite number", where=where, hint=_HINT)
    return number


def _id(value: Any, where: str) -> int:
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    number = whole_number(text, FIRST_ID, LAST_ID) if not isinstance(value, bool) else None
    if number is None:
        raise BadInput(f"id = {plain(text)[:40]!r}", where=where, hint=f"give a whole number, {FIRST_ID} to {LAST_ID}")
    return number
