"""Ways of radios: straight lines between places at times, in latitude and longitude."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import BadInput
from ..wire.traces import Trace

Numbers = NDArray[np.float64]
#: Radius of a sphere with the Earth's volume, m (IUGG: R3): of short ways the ellipsoid differs by less than 0.4 %.
EARTH_M = 6_371_000.8


class Positions(NamedTuple):
    """Of all radios at one time, in the order of their ids."""

    latitude_deg: Numbers
    longitude_deg: Numbers
    height_m: Numbers


class Tracks(NamedTuple):
    """The corners of all ways, radio after radio, each radio's by time: those of radio i are ``first[i]`` to
    ``first[i + 1]``. Before its first and behind its last corner a radio stands."""

    first: NDArray[np.int64]
    time_s: Numbers
    latitude_deg: Numbers
    longitude_deg: Numbers
    height_m: Numbers

    @property
    def radios(self) -> int:
        return len(self.first) - 1


def at(tracks: Tracks, time_s: float) -> Positions:
    """Where all radios are at a time, by linear interpolation. Of corners at one time the last counts."""
    passed = np.add.reduceat((tracks.time_s <= time_s).astype(np.int64), tracks.first[:-1])
    before = np.maximum(tracks.first[:-1] + passed - 1, tracks.first[:-1])
    behind = np.minimum(before + (passed > 0), tracks.first[1:] - 1)
    span = tracks.time_s[behind] - tracks.time_s[before]
    share = np.where(span > 0, (time_s - tracks.time_s[before]) / np.where(span > 0, span, 1.0), 0.0)

    def between(corners: Numbers) -> Numbers:
        found: Numbers = corners[before] + share * (corners[behind] - corners[before])
        return found

    return Positions(between(tracks.latitude_deg), between(tracks.longitude_deg), between(tracks.height_m))


def standing(positions: Positions) -> Tracks:
    """Ways of radios that stay where they are."""
    count = len(positions.latitude_deg)
    return Tracks(np.arange(count + 1, dtype=np.int64), np.zeros(count), *positions)


def of_trace(trace: Trace, radios: int, default_height_m: float) -> Tracks:
    """The ways in a trace of radios 1 to ``radios``; heights that are not given are the default. Raises BadInput where a
    radio is not in it, or an id is above ``radios``."""
    ids = np.unique(trace.radio)
    if ids[-1] > radios:
        raise BadInput(f"the trace has a radio {ids[-1]}, and there are {radios}", hint="nodes = the largest id")
    if absent := sorted(set(range(1, radios + 1)) - set(ids.tolist())):
        raise BadInput(f"the trace does not say where radio {absent[0]} is", hint="give each radio a row at least")
    order = np.argsort(trace.radio, kind="stable")  # a trace is by time, and stays so for each radio
    height_m = np.where(np.isnan(trace.height_m), default_height_m, trace.height_m)
    return Tracks(
        np.searchsorted(trace.radio[order], np.arange(1, radios + 2)).astype(np.int64),
        trace.time_s[order],
        trace.latitude_deg[order],
        trace.longitude_deg[order],
        height_m[order],
    )


def distance_m(positions: Positions, first: NDArray[np.int64], second: NDArray[np.int64]) -> Numbers:
    """Between radios, along a sphere (haversine): for delays, which are told to the microsecond."""
    lat1, lat2 = (np.radians(positions.latitude_deg[one]) for one in (first, second))
    apart = np.radians(positions.longitude_deg[second] - positions.longitude_deg[first])
    half = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin(apart / 2) ** 2
    found: Numbers = 2 * EARTH_M * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
    return found
