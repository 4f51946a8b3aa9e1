"""A slow engine of radio losses for tests of what is drawn and printed: free space, and a knife edge over the ground."""

from __future__ import annotations

import enum
import math
from typing import Any, NamedTuple

import numpy as np

from shakedown.radio.geodesics import distance_m
from shakedown.radio.scene import Place, RadioSetting
from shakedown.radio.terrain import Terrain

EARTH_M = 8_500_000.0
POINTS = 40


class Standing(enum.IntEnum):
    KNOWN = 0
    OFF_MAP = 2
    OVER_HOLE = 3

    @property
    def words(self) -> str:
        return {0: "known", 2: "off the map", 3: "where the height of the ground is not known"}[self]


class Placed(NamedTuple):
    standing: Any


class StandIn:
    """As ``shakedown.radio.engine.Engine``, in Python."""

    def __init__(self, terrain: Terrain, setting: RadioSetting, **_: Any) -> None:
        self.terrain, self.setting = terrain, setting
        self.buildings = None
        self.engine_facts = {"warnings": ["this is a stand-in"]}

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def place(self, latitude_deg: Any, longitude_deg: Any, height_m: Any) -> Placed:
        self.places = np.stack([latitude_deg, longitude_deg, height_m], axis=1)
        ground = self.terrain.at(latitude_deg, longitude_deg)
        row, column = self.terrain.position(latitude_deg, longitude_deg)
        off = (row < 0) | (column < 0) | (row > self.terrain.rows - 1) | (column > self.terrain.columns - 1)
        return Placed(np.where(off, Standing.OFF_MAP, np.where(np.isnan(ground), Standing.OVER_HOLE, Standing.KNOWN)))

    def loss(self, a: Any, b: Any) -> Any:
        """Losses between places (rows of latitude, longitude, height), one with one."""
        shares = np.linspace(0, 1, POINTS)[:, None]
        heights = self.terrain.at(
            *((one[None] + (other - one)[None] * shares) for one, other in zip(a.T[:2], b.T[:2], strict=True))
        )
        away = np.maximum(distance_m(a[:, 0], a[:, 1], b[:, 0], b[:, 1]), 1.0)
        ray = (heights[0] + a[:, 2]) * (1 - shares) + (heights[-1] + b[:, 2]) * shares
        bulge = away * away * shares * (1 - shares) / (2 * EARTH_M)
        above = (heights + bulge - ray)[1:-1]
        wave_m = 299.792458 / self.setting.frequency_mhz
        nu = (above * np.sqrt(2 / (wave_m * away * shares[1:-1] * (1 - shares[1:-1])))).max(axis=0)
        edge = np.where(nu > -0.78, 6.9 + 20 * np.log10(np.hypot(nu - 0.1, 1) + nu - 0.1), 0.0)
        free = 32.45 + 20 * math.log10(self.setting.frequency_mhz) + 20 * np.log10(away / 1000)
        return np.where(np.isnan(heights).any(axis=0), np.nan, free + edge).astype(np.float32)

    def losses(self) -> Any:
        a, b = np.triu_indices(len(self.places), 1)
        return self.loss(self.places[a], self.places[b])

    def links(self, below_db: float) -> tuple[Any, Any, Any]:
        a, b = np.triu_indices(len(self.places), 1)
        loss = self.losses()
        with np.errstate(invalid="ignore"):
            kept = loss < below_db
        return a[kept], b[kept], loss[kept]

    def explain(self, i: int, j: int) -> dict[str, Any]:
        a, b = self.places[i], self.places[j]
        shares = np.linspace(0, 1, 200)
        latitude, longitude = (one + (other - one) * shares for one, other in zip(a[:2], b[:2], strict=True))
        heights = self.terrain.at(latitude, longitude)
        known = bool(np.isfinite(heights).all())
        loss = float(self.loss(a[None], b[None])[0]) if known else None
        away = float(distance_m(*a[:2], *b[:2]))
        free = 32.45 + 20 * math.log10(self.setting.frequency_mhz) + 20 * math.log10(max(away, 1.0) / 1000)
        terms: list[dict[str, Any]] = []
        if loss is not None:
            terms = [
                {"name": "free_space_db", "value": free, "summand": True, "meaning": "spreading", "source": "P.525"},
                {
                    "name": "edge_db",
                    "value": loss - free,
                    "summand": True,
                    "meaning": "the worst edge",
                    "source": "P.526",
                },
                *(
                    {
                        "name": f"{end}_{name}",
                        "value": value,
                        "summand": False,
                        "meaning": "of an end",
                        "source": "test",
                    }
                    for end in ("tx", "rx")
                    for name, value in (("horizon_rad", 0.01), ("horizon_m", away / 3), ("effective_height_m", 12.0))
                ),
            ]
        return {
            "distance_m": away,
            "effective_earth_radius_m": EARTH_M,
            "profile": {"height_m": [None if np.isnan(one) else float(one) for one in heights]},
            "from": {"ground_m": float(heights[0]), "azimuth_deg": 12.0},
            "to": {"ground_m": float(heights[-1]), "azimuth_deg": 192.0},
            "model": "stand-in",
            "loss_db": loss,
            "error": "" if known else "the path comes over ground of unknown height",
            "warnings": ["the path is short"] if away < 1000 else [],
            "terms": terms,
        }

    def coverage(self, place: Place, receiver_height_m: float, rows: int, columns: int, bounds: Any) -> Any:
        south, west, north, east = bounds
        latitudes, longitudes = np.meshgrid(
            north + (np.arange(rows) + 0.5) * ((south - north) / rows),
            west + (np.arange(columns) + 0.5) * ((east - west) / columns),
            indexing="ij",
        )
        b = np.stack([latitudes.ravel(), longitudes.ravel(), np.full(latitudes.size, receiver_height_m)], axis=1)
        a = np.tile([place.latitude_deg, place.longitude_deg, place.height_m], (len(b), 1))
        return self.loss(a, b).reshape(rows, columns)
