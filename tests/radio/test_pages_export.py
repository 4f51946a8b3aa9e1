"""A map's losses as GeoTIFF: what other programs read of it, and what cannot be written."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from shakedown.errors import BadInput, StoreFailed
from shakedown.radio.pages import export
from shakedown.radio.pages.map import Extent

EXTENT = Extent(47.0, 11.0, 47.3, 11.8)


def losses(rows: int = 6, columns: int = 8) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    values = np.linspace(90, 170, rows * columns, dtype=np.float32).reshape(rows, columns)
    values[2, 3] = np.nan
    return values


def test_a_map_comes_back_as_it_was_written_with_its_places(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio", reason="rasterio is not installed: pip install '.[test]'")
    values = losses()
    export.geotiff(tmp_path / "map.tif", values, EXTENT)
    with rasterio.open(tmp_path / "map.tif") as file:
        assert file.crs.to_epsg() == 4326 and file.dtypes == ("float32",) and np.isnan(file.nodata)
        assert tuple(file.bounds) == pytest.approx((EXTENT.west, EXTENT.south, EXTENT.east, EXTENT.north), abs=1e-12)
        assert np.array_equal(file.read(1), values, equal_nan=True), "the first row is the northern one"
        assert file.read(1, masked=True).mask.sum() == 1
        across, down = 0.8 / 8, 0.3 / 6
        longitude, latitude = file.xy(0, 0)
        assert (longitude, latitude) == pytest.approx((11 + across / 2, 47.3 - down / 2))
        assert file.tags(1)["units"] == "dB"
    assert [one.name for one in tmp_path.iterdir()] == ["map.tif"], "nothing is left beside it"


def test_a_map_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    pytest.importorskip("rasterio", reason="rasterio is not installed: pip install '.[test]'")
    with pytest.raises(StoreFailed, match=r"cannot be written|No such file"):
        export.geotiff(tmp_path / "nowhere" / "map.tif", losses(), EXTENT)


def test_without_rasterio_the_other_formats_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(BadInput, match=r"needs rasterio.*\n.*--csv or --png"):
        export.geotiff(tmp_path / "map.tif", losses(), EXTENT)
