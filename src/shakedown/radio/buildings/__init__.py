"""Buildings of a town for the model ``rays``: made from a seed (``synthetic``) or read from GeoJSON (``read``).

``town`` is the record, its plane in metres and the file that the engine reads, ``geojson`` the reader with all that it
leaves out and says, ``made`` blocks of houses between streets, ``around`` the ground below a town that has none.
"""

from __future__ import annotations

from .around import ground
from .geojson import read
from .made import synthetic
from .town import Building, Town

__all__ = ["Building", "Town", "ground", "read", "synthetic"]
