"""Heights of the ground on a geographic grid: made from a seed (``synthetic``) or read from files (``read``).

``grid`` is the record and its bilinear reading, ``filling`` closes holes where that is wanted, ``raster_files`` joins tiles
of SRTM HGT, GeoTIFF and DTED. What is not known of the ground stays a hole: no height is ever made up in silence.
"""

from __future__ import annotations

from .filling import filled
from .grid import HOLE, Terrain
from .made import synthetic
from .raster_files import read

__all__ = ["HOLE", "Terrain", "filled", "read", "synthetic"]
