"""Reads terrain from raster files through rasterio, and joins tiles: SRTM HGT, GeoTIFF, DTED and whatever else GDAL reads.

A raster's value stands at the middle of its cell; GDAL moves files that say "pixel is point" (HGT, DTED, some GeoTIFF) by
half a cell, so that this holds for all. Only geographic rasters without rotation are read: resampling would change heights,
which is for a person to decide.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import BadInput, CannotMeasure
from .filling import filled
from .grid import HOLE, MOST_POINTS, Terrain, packed

#: What files call metres and feet; exact, and the survey foot of the United States.
UNITS_M = {
    "": 1.0,
    **dict.fromkeys(("m", "metre", "meter", "metres", "meters"), 1.0),
    **dict.fromkeys(("ft", "foot", "feet", "international foot"), 0.3048),
    **dict.fromkeys(("us-ft", "ftus", "us survey foot", "us survey feet", "foot_us"), 1200 / 3937),
}
#: Numbers that many files have in holes without declaring it.
UNDECLARED = (-32768, -32767, -9999)
#: Tiles lie on one grid where they are off by less than this part of a cell.
_ALIKE = 0.01
_GEOGRAPHIC = "rio warp {} geographic.tif --dst-crs EPSG:4326 --resampling bilinear"


class _Tile(NamedTuple):
    """One file: its north-west point, its steps, and where it lies on the common grid."""

    path: Path
    north_deg: float
    west_deg: float
    step_latitude_deg: float
    step_longitude_deg: float
    rows: int
    columns: int
    south_up: bool
    metres_per_unit: float
    offset_m: float
    nodata: float | None
    whole: bool  # its numbers are whole metres that 16 bits hold
    remark: str


class _Span(NamedTuple):
    """Rows and columns of the common grid, the ends not included."""

    top: int
    left: int
    bottom: int
    right: int


def read(
    paths: Sequence[Path | str],
    *,
    bounds: tuple[float, float, float, float] | None = None,
    height_unit: str | None = None,
    fill: bool = False,
) -> Terrain:
    """The terrain of one or several files, joined. ``bounds`` (south, west, north, east in degrees) keeps a part of them.
    ``height_unit`` ("m", "ft", "us-ft") overrides what the files say of theirs; without any it is metres. Holes, and what no
    tile covers, stay holes unless ``fill``; ``notes`` say what was found and done.

    Raises BadInput for a file that cannot be read, that is torn or not geographic, and for tiles that do not fit one grid;
    CannotMeasure where rasterio is not installed.
    """
    if not paths:
        raise BadInput("no terrain file was given", where="terrain", hint="give HGT, GeoTIFF or DTED files")
    with _quiet():
        tiles = [_open(Path(path), height_unit) for path in paths]
        _check_alike(tiles)
        first = min(tiles, key=lambda tile: (-tile.north_deg, tile.west_deg))
        spans = [_span(tile, first) for tile in tiles]
        whole = _Span(*(pick(axis) for pick, axis in zip((min, min, max, max), zip(*spans, strict=True), strict=True)))
        kept = _within(bounds, first, whole) if bounds else whole
        rows, columns = kept.bottom - kept.top, kept.right - kept.left
        if rows * columns > MOST_POINTS:
            raise _wrong(tiles[0].path, f"the joined grid has {rows * columns:,} points", "give bounds")
        heights, differ = _joined(tiles, spans, kept)
    numbers, scale_m, offset_m = (heights, 1.0, 0.0) if heights.dtype == np.int16 else packed(heights)
    terrain = Terrain(
        numbers,
        north_deg=first.north_deg - kept.top * first.step_latitude_deg,
        west_deg=first.west_deg + kept.left * first.step_longitude_deg,
        step_latitude_deg=first.step_latitude_deg,
        step_longitude_deg=first.step_longitude_deg,
        scale_m=scale_m,
        offset_m=offset_m,
        source=", ".join(tile.path.name for tile in tiles[:3])
        + (f" and {len(tiles) - 3} more" if len(tiles) > 3 else ""),
    )
    notes = [*dict.fromkeys(tile.remark for tile in tiles if tile.remark)]
    if scale_m != 1:
        notes.append(f"heights are rounded to {scale_m:.2g} m")
    if differ:
        notes.append(f"where tiles overlap, {differ:,} heights differ: the first file's were taken")
    notes += _gaps(spans, kept, first)
    if holes := terrain.count_holes():
        notes.append(f"{holes:,} of {rows * columns:,} heights are not known: links over them have no loss")
    terrain = Terrain(**{**vars(terrain), "notes": tuple(notes)})
    return filled(terrain) if fill else terrain


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """GDAL's remarks are not a user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _rasterio() -> Any:
    try:
        import rasterio
    except ImportError:
        raise CannotMeasure(
            "terrain files are read by rasterio, which is not installed",
            where="terrain",
            hint="pip install 'hpc-shakedown[radio]', or take a synthetic terrain",
        ) from None
    return rasterio


def _open(path: Path, height_unit: str | None) -> _Tile:
    """What a file says of itself. Raises BadInput where that cannot be a geographic grid of heights."""
    rasterio = _rasterio()
    if not path.exists():
        raise _wrong(path, "there is no such file", "give the path of a terrain file")
    try:
        with rasterio.open(path) as file:
            return _described(path, file, height_unit)
    except (rasterio.errors.RasterioError, rasterio.errors.CRSError) as error:
        raise _wrong(
            path,
            f"cannot be read as terrain: {_line(error)}",
            "give SRTM HGT (with its own name and size), GeoTIFF or DTED; copy it again where it was cut short",
        ) from None


def _described(path: Path, file: Any, height_unit: str | None) -> _Tile:
    if file.crs is None:
        raise _wrong(
            path, "does not say where on Earth it lies", f"rio edit-info --crs EPSG:4326 {path}, if that is so"
        )
    matrix = file.transform
    if not file.crs.is_geographic:
        raise _wrong(path, f"is projected ({_line(file.crs)})", _GEOGRAPHIC.format(path))
    if matrix.b or matrix.d or matrix.a <= 0:
        raise _wrong(path, "is rotated or mirrored", _GEOGRAPHIC.format(path))
    if file.width < 2 or file.height < 2:
        raise _wrong(path, f"has {file.height} x {file.width} points", "give 2 x 2 or more")
    if np.dtype(file.dtypes[0]).kind not in "iuf":
        raise _wrong(path, f"holds {file.dtypes[0]}", "give one band of heights")
    unit = file.units[0] or "" if height_unit is None else height_unit
    if unit.lower() not in UNITS_M:
        raise _wrong(path, f"its heights are in {unit!r}", "give the unit: m, ft or us-ft")
    per_unit = UNITS_M[unit.lower()] * file.scales[0]
    south_up = matrix.e > 0
    north = matrix.f + (file.height - 0.5) * matrix.e if south_up else matrix.f + 0.5 * matrix.e
    remarks = [f"{file.count} bands: the first was read"] if file.count > 1 else []
    if UNITS_M[unit.lower()] != 1:
        remarks.append(f"heights were converted from {unit}")
    if (datum := _datum(file.crs)) not in ("", "WGS84"):
        remarks.append(f"{datum} was taken for WGS84")
    return _Tile(
        path=path,
        north_deg=north,
        west_deg=matrix.c + 0.5 * matrix.a,
        step_latitude_deg=abs(matrix.e),
        step_longitude_deg=matrix.a,
        rows=file.height,
        columns=file.width,
        south_up=south_up,
        metres_per_unit=per_unit,
        offset_m=file.offsets[0] * UNITS_M[unit.lower()],
        nodata=file.nodata,
        whole=file.dtypes[0] in ("int16", "uint8", "int8") and per_unit == 1 and file.offsets[0] == 0,
        remark="; ".join(remarks),
    )


def _datum(crs: Any) -> str:
    """The datum by its code, where it is a well-known one; empty where it is not said."""
    code = crs.to_epsg()
    return {None: "", 4326: "WGS84", 4979: "WGS84", 4269: "NAD83", 4258: "ETRS89"}.get(code, f"EPSG:{code}")


def _check_alike(tiles: Sequence[_Tile]) -> None:
    """All tiles lie on one grid: the same steps, whole steps apart. Raises BadInput for the first that does not."""
    first = tiles[0]
    for tile in tiles[1:]:
        for name in ("step_latitude_deg", "step_longitude_deg"):
            ours, theirs = getattr(first, name), getattr(tile, name)
            if abs(ours - theirs) * max(tile.rows, tile.columns) > _ALIKE * ours:
                raise _wrong(
                    tile.path,
                    f"its cells are {theirs * 3600:.6g} arc seconds, those of {first.path.name} {ours * 3600:.6g}",
                    f"resample it: rio warp {tile.path} same.tif --dst-crs EPSG:4326 --res {first.step_longitude_deg!r} "
                    f"--res {first.step_latitude_deg!r} --resampling bilinear",
                )
        for here, there, step in (
            (first.north_deg, tile.north_deg, first.step_latitude_deg),
            (first.west_deg, tile.west_deg, first.step_longitude_deg),
        ):
            steps = (there - here) / step
            if abs(steps - round(steps)) > _ALIKE:
                raise _wrong(
                    tile.path,
                    f"lies {abs(steps - round(steps)):.2f} of a cell beside the grid of {first.path.name}",
                    f"put it on that grid: rio warp {tile.path} same.tif --like {first.path} --resampling bilinear",
                )


def _span(tile: _Tile, first: _Tile) -> _Span:
    top = round((first.north_deg - tile.north_deg) / first.step_latitude_deg)
    left = round((tile.west_deg - first.west_deg) / first.step_longitude_deg)
    return _Span(top, left, top + tile.rows, left + tile.columns)


def _within(bounds: tuple[float, float, float, float], first: _Tile, whole: _Span) -> _Span:
    """The part of the grid that holds the bounds, with the points just outside of them."""
    south, west, north, east = bounds
    if not (all(map(math.isfinite, bounds)) and south < north and west < east):
        raise BadInput(f"bounds {bounds}", where="terrain", hint="give south, west, north, east in degrees")
    part = _Span(
        max(whole.top, math.floor((first.north_deg - north) / first.step_latitude_deg + 1e-6)),
        max(whole.left, math.floor((west - first.west_deg) / first.step_longitude_deg + 1e-6)),
        min(whole.bottom, math.ceil((first.north_deg - south) / first.step_latitude_deg - 1e-6) + 1),
        min(whole.right, math.ceil((east - first.west_deg) / first.step_longitude_deg - 1e-6) + 1),
    )
    if part.bottom - part.top < 2 or part.right - part.left < 2:
        raise BadInput(
            f"the files have nothing within bounds {bounds}", where="terrain", hint="look at their own bounds"
        )
    return part


def _joined(tiles: Sequence[_Tile], spans: Sequence[_Span], kept: _Span) -> tuple[NDArray[Any], int]:
    """The heights of all tiles in one grid (whole metres in int16 with HOLE, or float64 with NaN), and how many heights of a
    later tile differ from those that an earlier one has of the same point."""
    shape = (kept.bottom - kept.top, kept.right - kept.left)
    whole = all(tile.whole for tile in tiles)
    grid = np.full(shape, HOLE, np.int16) if whole else np.full(shape, np.nan)
    differ = 0
    for tile, span in zip(tiles, spans, strict=True):
        top, left = max(span.top, kept.top), max(span.left, kept.left)
        bottom, right = min(span.bottom, kept.bottom), min(span.right, kept.right)
        if top >= bottom or left >= right:
            continue
        values = _values(tile, _Span(top - span.top, left - span.left, bottom - span.top, right - span.left), whole)
        part = grid[top - kept.top : bottom - kept.top, left - kept.left : right - kept.left]
        ours, theirs = (part == HOLE, values == HOLE) if whole else (np.isnan(part), np.isnan(values))
        both = ~ours & ~theirs
        differ += int(np.count_nonzero(both & (part != values)))
        part[ours] = values[ours]
    return grid, differ


def _values(tile: _Tile, span: _Span, whole: bool) -> NDArray[Any]:
    """Heights of a part of a tile, holes marked. Raises BadInput where the file ends before them."""
    rasterio = _rasterio()
    top = tile.rows - span.bottom if tile.south_up else span.top
    window = rasterio.windows.Window(span.left, top, span.right - span.left, span.bottom - span.top)
    try:
        with rasterio.open(tile.path) as file:
            numbers = file.read(1, window=window)
    except (rasterio.errors.RasterioError, OSError) as error:
        raise _wrong(tile.path, f"ends before its heights do: {_line(error)}", "copy the file again") from None
    if tile.south_up:
        numbers = numbers[::-1]
    missing = np.isin(numbers, UNDECLARED)
    if tile.nodata is not None:
        missing |= np.isnan(numbers) if math.isnan(tile.nodata) else numbers == tile.nodata
    if whole:
        return np.where(missing, np.int16(HOLE), numbers.astype(np.int16))
    heights = numbers * tile.metres_per_unit + tile.offset_m
    heights[missing] = np.nan
    return np.asarray(heights, np.float64)


def _gaps(spans: Sequence[_Span], kept: _Span, first: _Tile) -> list[str]:
    """What no tile covers, as notes: cells of the lattice that the tiles' edges make."""
    rows = sorted({min(max(edge, kept.top), kept.bottom) for span in spans for edge in (span.top, span.bottom)})
    columns = sorted({min(max(edge, kept.left), kept.right) for span in spans for edge in (span.left, span.right)})
    missing = [
        _Span(top, left, bottom, right)
        for top, bottom in itertools.pairwise(rows)
        for left, right in itertools.pairwise(columns)
        if not any(s.top <= top and bottom <= s.bottom and s.left <= left and right <= s.right for s in spans)
    ]
    missing = [gap for gap in missing if gap.bottom - gap.top > 1 and gap.right - gap.left > 1]
    notes = [
        f"no file covers latitudes {first.north_deg - gap.bottom * first.step_latitude_deg:.4f} to "
        f"{first.north_deg - gap.top * first.step_latitude_deg:.4f}, longitudes "
        f"{first.west_deg + gap.left * first.step_longitude_deg:.4f} to "
        f"{first.west_deg + gap.right * first.step_longitude_deg:.4f}"
        for gap in missing[:3]
    ]
    return notes + ([f"{len(missing) - 3} more parts are covered by no file"] if len(missing) > 3 else [])


def _line(error: object) -> str:
    return (str(error).splitlines() or ["no reason given"])[0][:200]


def _wrong(path: Path, what: str, hint: str) -> BadInput:
    return BadInput(what, where=str(path), hint=hint)
