"""Tables of many rows as CSV or Parquet, and a map's losses as GeoTIFF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput, StoreFailed
from ...files import atomic, parquet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .map import Extent

_KINDS = (".csv", ".parquet")


def check_name(path: Path) -> None:
    """Raises BadInput where a file of this name is neither of CSV nor of Parquet."""
    if path.suffix.lower() not in _KINDS:
        raise BadInput(
            f"ends in {path.suffix!r}", where=str(path), hint=f"name a file that ends in {' or '.join(_KINDS)}"
        )


def write(path: Path, tables: Mapping[str, Mapping[str, NDArray[Any]]], query: str) -> None:
    """The rows of a query over arrays, as CSV or Parquet by the file's name. Raises BadInput, StoreFailed."""
    import duckdb

    check_name(path)
    try:
        with duckdb.connect() as db:
            for name, columns in tables.items():
                db.register(name, dict(columns))
            if path.suffix.lower() == ".parquet":
                parquet.write(db, query, path)
            else:
                with atomic.beside(path) as temporary:
                    db.execute(f"copy ({query}) to {parquet.literal(temporary)} (format csv, header)")
    except OSError as error:
        raise atomic.failed(error, path, "write the table") from None
    except duckdb.Error as error:
        raise StoreFailed(f"the table cannot be written: {str(error).splitlines()[0]}", where=str(path)) from None


def geotiff(path: Path, loss_db: NDArray[np.float32], extent: Extent) -> None:
    """A map of losses, one in the middle of each cell, as GeoTIFF: WGS84, float32, dB; NaN is not known. Raises BadInput
    where rasterio is absent, StoreFailed."""
    try:
        import rasterio
        from rasterio.transform import Affine
    except ImportError:
        raise BadInput(
            "a GeoTIFF needs rasterio, which is not installed",
            where=str(path),
            hint="pip install 'hpc-shakedown[radio]', or ask for --csv or --png",
        ) from None
    rows, columns = loss_db.shape
    across = (extent.east - extent.west) / columns
    down = (extent.north - extent.south) / rows
    corner = Affine(across, 0.0, extent.west, 0.0, -down, extent.north)
    profile = {"driver": "GTiff", "height": rows, "width": columns, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
    try:
        with atomic.beside(path) as temporary:
            kept = {"transform": corner, "nodata": float("nan"), "compress": "deflate", "predictor": 3}
            with rasterio.open(temporary, "w", **profile, **kept) as file:
                file.write(loss_db, 1)
                file.update_tags(1, units="dB", quantity="path loss")
    except (OSError, rasterio.errors.RasterioError) as error:
        raise StoreFailed(f"the map cannot be written: {error}", where=str(path)) from None
