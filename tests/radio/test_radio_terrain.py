"""Terrain: where its points lie, what files say, what is missing from them, and what was done about it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shakedown.errors import BadInput
from shakedown.radio.terrain import HOLE, Terrain, filled, read, synthetic
from shakedown.radio.terrain.grid import ROUNDING_M, packed

rasterio = pytest.importorskip("rasterio", reason="rasterio is not installed: pip install '.[test]'")
for part in ("shutil", "warp"):
    pytest.importorskip(f"rasterio.{part}")

#: Of a library of rasterio, on its way to another.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
STEP = 1 / 1200


def heights(rows: int, columns: int, seed: int = 1) -> NDArray[np.int16]:
    return np.random.default_rng(seed).integers(100, 2000, (rows, columns)).astype(np.int16)


def geotiff(
    path: Path, values: NDArray[Any], *, north: float = 47.0, west: float = 11.0, step: float = STEP, **more: Any
) -> Path:
    """A GeoTIFF whose first value stands at (north, west)."""
    units, tags = more.pop("units", None), more.pop("tags", {})
    corner = rasterio.transform.from_origin(west - step / 2, north + step / 2, step, step)
    shape = {"height": values.shape[0], "width": values.shape[1], "count": 1, "dtype": values.dtype}
    with rasterio.open(
        path, "w", **({"driver": "GTiff", "crs": "EPSG:4326", "transform": corner} | shape | more)
    ) as file:
        file.write(values, 1)
        if units:
            file.units = (units,)
        file.update_tags(**tags)
    return path


def srtm(folder: Path, name: str, values: NDArray[np.int16]) -> Path:
    path = folder / name
    path.write_bytes(values.astype(">i2").tobytes())
    return path


def plain_bilinear(values: NDArray[Any], north: float, west: float, step: float, lat: float, lon: float) -> float:
    """One place, one formula, in doubles."""
    row, column = (north - lat) / step, (lon - west) / step
    i, j = min(int(row), values.shape[0] - 2), min(int(column), values.shape[1] - 2)
    y, x = row - i, column - j
    corners = ((1 - y) * (1 - x), i, j), ((1 - y) * x, i, j + 1), (y * (1 - x), i + 1, j), (y * x, i + 1, j + 1)
    return float(sum(weight * float(values[a, b]) for weight, a, b in corners))


# --------------------------------------------------------------------------------------------------------------- files


def test_an_srtm_tile_has_its_corner_heights_at_whole_degrees(tmp_path: Path) -> None:
    values = heights(1201, 1201)
    terrain = read([srtm(tmp_path, "N46E011.hgt", values)])
    assert (terrain.rows, terrain.columns) == (1201, 1201) and terrain.heights.dtype == np.int16
    assert (terrain.north_deg, terrain.west_deg) == pytest.approx((47, 11), abs=1e-9)
    assert (terrain.south_deg, terrain.east_deg) == pytest.approx((46, 12), abs=1e-9)
    assert terrain.at([47, 46, 47, 46], [11, 12, 12, 11]).tolist() == pytest.approx(
        [values[0, 0], values[-1, -1], values[0, -1], values[-1, 0]], abs=1e-3
    )
    assert terrain.notes == ()


def test_a_dted_tile_is_read(tmp_path: Path) -> None:
    values = heights(121, 121)
    source = geotiff(tmp_path / "a.tif", values, step=1 / 120, nodata=-32767)
    rasterio.shutil.copy(source, tmp_path / "n46_e011.dt0", driver="DTED")
    terrain = read([tmp_path / "n46_e011.dt0"])
    assert (terrain.north_deg, terrain.west_deg) == pytest.approx((47, 11), abs=1e-9)
    assert np.array_equal(terrain.heights, values)


def test_pixel_is_point_and_pixel_is_area_are_half_a_cell_apart(tmp_path: Path) -> None:
    """The same numbers in the file's tags mean the middle of the first cell in one, its corner in the other."""
    values = heights(40, 50)
    with rasterio.Env(GTIFF_POINT_GEO_IGNORE="TRUE"):  # writes the tie point as it is given
        geotiff(
            tmp_path / "point.tif", values, north=47 - STEP / 2, west=11 + STEP / 2, tags={"AREA_OR_POINT": "Point"}
        )
    geotiff(tmp_path / "area.tif", values, north=47 - STEP / 2, west=11 + STEP / 2)
    point, area = read([tmp_path / "point.tif"]), read([tmp_path / "area.tif"])
    assert (point.north_deg, point.west_deg) == pytest.approx((47, 11), abs=1e-12)
    assert (area.north_deg, area.west_deg) == pytest.approx((47 - STEP / 2, 11 + STEP / 2), abs=1e-12)
    assert point.at(47, 11) == pytest.approx(values[0, 0])


def test_heights_between_points_are_bilinear(tmp_path: Path) -> None:
    """Held to a plain formula in doubles, and to what GDAL's own resampling gives in the middle of the grid."""
    values = heights(30, 40)
    terrain = read([geotiff(tmp_path / "a.tif", values)])
    random = np.random.default_rng(5)
    latitude = random.uniform(terrain.south_deg, terrain.north_deg, 500)
    longitude = random.uniform(terrain.west_deg, terrain.east_deg, 500)
    expected = [plain_bilinear(values, 47, 11, STEP, *place) for place in zip(latitude, longitude, strict=True)]
    assert terrain.at(latitude, longitude) == pytest.approx(expected, abs=1e-6)
    moved = rasterio.transform.from_origin(11 - STEP / 2 + 0.3 * STEP, 47 + STEP / 2 - 0.7 * STEP, STEP, STEP)
    theirs = np.zeros((30, 40))
    with rasterio.open(tmp_path / "a.tif") as file:
        rasterio.warp.reproject(
            file.read(1).astype(np.float64),
            theirs,
            src_transform=file.transform,
            src_crs=file.crs,
            dst_transform=moved,
            dst_crs=file.crs,
            resampling=rasterio.warp.Resampling.bilinear,
        )
    rows, columns = np.mgrid[5:20, 5:20]
    ours = terrain.at(47 - (rows + 0.7) * STEP, 11 + (columns + 0.3) * STEP)
    assert ours == pytest.approx(theirs[5:20, 5:20], abs=1e-2)


def test_tiles_share_their_edge_and_come_in_any_order(tmp_path: Path) -> None:
    whole = heights(61, 81)
    parts = {
        "nw": (whole[:31, :41], 0, 0),
        "ne": (whole[:31, 40:], 0, 40),
        "sw": (whole[30:, :41], 30, 0),
        "se": (whole[30:, 40:], 30, 40),
    }
    paths = [
        geotiff(tmp_path / f"{name}.tif", part, north=47 - top * STEP, west=11 + left * STEP)
        for name, (part, top, left) in parts.items()
    ]
    for order in (paths, paths[::-1]):
        terrain = read(order)
        assert np.array_equal(terrain.heights, whole) and terrain.notes == ()
    part = read(paths, bounds=(47 - 45 * STEP, 11 + 10 * STEP, 47 - 20 * STEP, 11 + 55 * STEP))
    assert np.array_equal(part.heights, whole[20:46, 10:56])
    assert part.at(47 - 33.5 * STEP, 11 + 41.25 * STEP) == pytest.approx(
        terrain.at(47 - 33.5 * STEP, 11 + 41.25 * STEP)
    )


def test_a_missing_tile_is_a_hole_that_is_named(tmp_path: Path) -> None:
    whole = heights(61, 81)
    paths = [
        geotiff(tmp_path / "nw.tif", whole[:31, :41]),
        geotiff(tmp_path / "se.tif", whole[30:, 40:], north=47 - 30 * STEP, west=11 + 40 * STEP),
    ]
    terrain = read(paths)
    assert terrain.count_holes() == 2 * 30 * 40
    assert sum("no file covers" in note for note in terrain.notes) == 2
    assert np.isnan(terrain.at(47 - 10 * STEP, 11 + 60 * STEP))


def test_overlaps_that_disagree_are_counted(tmp_path: Path) -> None:
    values = heights(20, 20)
    other = values.copy()
    other[3, 4:7] += 1
    terrain = read([geotiff(tmp_path / "a.tif", values), geotiff(tmp_path / "b.tif", other)])
    assert np.array_equal(terrain.heights, values) and "3 heights differ" in " ".join(terrain.notes)


def test_what_one_tile_lacks_another_gives(tmp_path: Path) -> None:
    values = heights(20, 20)
    holed = values.copy()
    holed[3, 4:7] = HOLE
    assert np.array_equal(
        read([geotiff(tmp_path / "a.tif", holed, nodata=HOLE), geotiff(tmp_path / "b.tif", values)]).heights, values
    )


@pytest.mark.parametrize("nodata", [-32768, -9999, 0, -1, 32767, None])
def test_holes_are_holes_and_never_zero(tmp_path: Path, nodata: int | None) -> None:
    values = heights(20, 20)
    values[5, 6] = nodata if nodata is not None else -32768
    path = geotiff(tmp_path / "a.tif", values, **({} if nodata is None else {"nodata": nodata}))
    terrain = read([path])
    assert terrain.count_holes() == 1 and terrain.unknown[5, 6]
    assert "1 of 400 heights are not known" in " ".join(terrain.notes)
    assert np.isnan(terrain.at(47 - 5.5 * STEP, 11 + 6.5 * STEP))
    assert terrain.at(47 - 4 * STEP, 11 + 6.5 * STEP) == pytest.approx(values[4, 6:8].mean())


@pytest.mark.parametrize("nodata", [math.nan, -9999.0, 1e20, -3.4e38, float(np.finfo(np.float32).min), math.inf])
def test_floats_become_int16_within_five_centimetres(tmp_path: Path, nodata: float) -> None:
    values = np.random.default_rng(2).uniform(-10, 3000, (50, 50)).astype(np.float32)
    values[7, 8] = nodata
    terrain = read([geotiff(tmp_path / "a.tif", values, nodata=nodata)])
    assert terrain.heights.dtype == np.int16 and terrain.count_holes() == 1
    known = ~terrain.unknown
    assert np.abs(terrain.metres()[known] - values[known]).max() <= terrain.scale_m / 2 * 1.0001 <= ROUNDING_M
    assert "rounded to" in " ".join(terrain.notes)


def test_heights_that_sixteen_bits_cannot_hold_stay_floats(tmp_path: Path) -> None:
    values = np.random.default_rng(2).uniform(-10, 8800, (50, 50)).astype(np.float32)
    terrain = read([geotiff(tmp_path / "a.tif", values)])
    assert terrain.heights.dtype == np.float32 and np.array_equal(terrain.heights, values)


@pytest.mark.parametrize(("unit", "metres"), [("ft", 0.3048), ("US survey foot", 1200 / 3937), ("metre", 1.0)])
def test_feet_become_metres(tmp_path: Path, unit: str, metres: float) -> None:
    values = heights(20, 20)
    declared = read([geotiff(tmp_path / "a.tif", values, units=unit)])
    asked = read([geotiff(tmp_path / "b.tif", values)], height_unit=unit)
    for terrain in (declared, asked):
        assert np.abs(terrain.metres() - values * metres).max() <= ROUNDING_M
        assert ("converted" in " ".join(terrain.notes)) == (metres != 1)


def test_scale_and_offset_of_a_band_are_applied(tmp_path: Path) -> None:
    path = geotiff(tmp_path / "a.tif", heights(20, 20))
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = (0.5,), (-30.0,)
    assert read([path]).metres() == pytest.approx(heights(20, 20) * 0.5 - 30, abs=ROUNDING_M)


def test_rows_that_run_north_are_turned(tmp_path: Path) -> None:
    values = heights(20, 30)
    north_first = rasterio.transform.Affine(STEP, 0, 11 - STEP / 2, 0, STEP, 47 - 19.5 * STEP)
    terrain = read([geotiff(tmp_path / "a.tif", values[::-1].copy(), transform=north_first)])
    assert np.array_equal(terrain.heights, values) and terrain.north_deg == pytest.approx(47, abs=1e-9)


# ---------------------------------------------------------------------------------------------------------- bad input


def refused(match: str, *paths: Path | str, **more: Any) -> None:
    with pytest.raises(BadInput, match=match) as raised:
        read(paths, **more)
    assert raised.value.where and raised.value.hint


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    good = geotiff(tmp_path / "good.tif", heights(50, 50))
    refused("no terrain file")
    refused("no such file", tmp_path / "absent.tif")
    (tmp_path / "text.tif").write_text("no raster")
    refused("cannot be read as terrain", tmp_path / "text.tif")
    (tmp_path / "N46E011.hgt").write_bytes(bytes(1000))
    refused("cannot be read as terrain", tmp_path / "N46E011.hgt")
    (tmp_path / "torn.tif").write_bytes(good.read_bytes()[:3000])
    refused("torn.tif", tmp_path / "torn.tif")
    refused("in 'fathoms'", good, height_unit="fathoms")
    refused("nothing within bounds", good, bounds=(10, 10, 11, 11))
    refused("bounds", good, bounds=(48, 11, 47, 12))


def test_what_is_not_geographic_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    path = geotiff(tmp_path / "utm.tif", heights(20, 20), crs="EPSG:32632")
    refused("projected.*\n.*rio warp .*--dst-crs EPSG:4326", path)
    refused("where on Earth", geotiff(tmp_path / "none.tif", heights(20, 20), crs=None))
    turned = rasterio.transform.Affine(STEP, STEP / 10, 11, STEP / 10, -STEP, 47)
    refused("rotated", geotiff(tmp_path / "turned.tif", heights(20, 20), transform=turned))


def test_tiles_of_two_grids_are_refused(tmp_path: Path) -> None:
    first = geotiff(tmp_path / "a.tif", heights(20, 20))
    refused("arc seconds", first, geotiff(tmp_path / "b.tif", heights(20, 20), step=STEP * 2))
    refused("of a cell beside", first, geotiff(tmp_path / "c.tif", heights(20, 20), west=11 + 5.3 * STEP))


def test_infinite_heights_are_refused() -> None:
    with pytest.raises(BadInput, match="infinite"):
        packed(np.array([[1.0, math.inf], [2.0, 3.0]]))


@pytest.mark.parametrize(
    "changed",
    [
        {"heights": np.zeros((1, 5), np.int16)},
        {"heights": np.zeros((5, 5))},
        {"north_deg": math.nan},
        {"north_deg": 90.1},
        {"step_latitude_deg": 0.0},
        {"step_longitude_deg": 100.0},
        {"scale_m": -1.0},
    ],
)
def test_a_grid_that_cannot_be_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        Terrain(**({"heights": np.zeros((5, 5), np.int16), "north_deg": 47.0, "west_deg": 11.0,
                    "step_latitude_deg": STEP, "step_longitude_deg": STEP} | changed))  # fmt: skip


# ------------------------------------------------------------------------------------------------------- places, holes


@given(st.integers(-3, 3), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=50, deadline=None)
def test_longitudes_may_be_given_in_any_turn(turn: int, down: float, right: float) -> None:
    terrain = synthetic(3, rows=20, columns=30, west_deg=179.995)
    latitude = terrain.north_deg - down * (terrain.north_deg - terrain.south_deg)
    longitude = terrain.west_deg + right * (terrain.east_deg - terrain.west_deg)
    assert terrain.at(latitude, longitude + 360 * turn) == pytest.approx(terrain.at(latitude, longitude), abs=1e-6)


def test_places_off_the_grid_have_no_height() -> None:
    terrain = synthetic(3, rows=20, columns=30)
    off = terrain.at([terrain.north_deg + 0.001, 47.001, 47.001, math.nan], [11.001, 10.999, math.nan, 11.001])
    assert np.isnan(off).all()
    edge = terrain.at([terrain.north_deg, terrain.south_deg], [terrain.east_deg, terrain.west_deg])
    assert edge == pytest.approx([terrain.metres()[0, -1], terrain.metres()[-1, 0]])


def test_filled_holes_lie_between_their_neighbours_and_are_counted() -> None:
    plane = np.add.outer(np.arange(20) * 3, np.arange(30) * 5).astype(np.int16)
    holed = plane.copy()
    holed[4:7, 8:15] = HOLE
    holed[0, 0] = HOLE
    terrain = filled(Terrain(holed, 47, 11, STEP, STEP))
    assert np.array_equal(terrain.heights[4:7, 8:15], plane[4:7, 8:15]), "a plane is filled as a plane"
    assert np.array_equal(terrain.heights[holed != HOLE], plane[holed != HOLE])
    assert terrain.count_holes() == 0 and "22 of 600 heights were made up" in terrain.notes[0]
    assert 0 <= terrain.heights[0, 0] <= 5
    with pytest.raises(BadInput, match="no height of it is known"):
        filled(Terrain(np.full((3, 3), HOLE, np.int16), 47, 11, STEP, STEP))


def test_whole_rows_and_columns_of_holes_are_filled() -> None:
    holed = np.full((8, 8), HOLE, np.int16)
    holed[2, 3] = 100
    assert (filled(Terrain(holed, 47, 11, STEP, STEP)).heights == 100).all()


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=30, deadline=None)
def test_filling_changes_no_known_height_and_stays_within_them(seed: int, floats: bool) -> None:
    random = np.random.default_rng(seed)
    values = random.uniform(0, 9000, (12, 15))
    values[random.random(values.shape) < random.uniform(0, 0.95)] = np.nan
    values[0, 0] = 17
    held = values.astype(np.float32) if floats else np.where(np.isnan(values), HOLE, np.rint(values)).astype(np.int16)
    before = Terrain(held, 47, 11, STEP, STEP)
    after = filled(before)
    known = ~before.unknown
    assert np.array_equal(after.metres()[known], before.metres()[known]) and after.count_holes() == 0
    assert after.metres().min() >= before.metres()[known].min() and after.metres().max() <= before.metres()[known].max()


# ------------------------------------------------------------------------------------------------------------ synthetic


def test_synthetic_ground_is_the_same_everywhere() -> None:
    """The sum was found once: whole numbers, so that a machine that rounds otherwise shows."""
    terrain = synthetic(1, rows=129, columns=97, relief_m=600)
    assert terrain.heights.dtype == np.int16
    assert int(terrain.heights.astype(np.int64).sum()) == SUM_OF_SEED_1
    assert terrain.metres().min() == pytest.approx(0, abs=0.01) and terrain.metres().max() == pytest.approx(
        600, abs=0.01
    )
    assert not np.array_equal(terrain.heights, synthetic(2, rows=129, columns=97).heights)


#: Of 129 x 97 heights.
SUM_OF_SEED_1 = -19087241


def test_flat_ground_and_ground_that_cannot_be() -> None:
    assert (synthetic(1, rows=5, columns=5, relief_m=0).metres() == 0).all()
    for wrong in ({"rows": 1}, {"columns": 20_000}, {"relief_m": -1}, {"relief_m": math.nan}, {"seed": -1}):
        with pytest.raises(BadInput):
            synthetic(**({"seed": 1} | wrong))  # type: ignore[arg-type]
