"""Distances on WGS84 by the inverse solution of T. Vincenty (Survey Review XXIII, 176, 1975), of many pairs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: The ellipsoid: half its greatest axis, and its flattening (NGA.STND.0036).
EQUATOR_M = 6_378_137.0
FLATTENING = 1 / 298.257223563
_CONVERGED_RAD = 1e-12  # 6 micrometres
_AT_ONCE = 1 << 16  # pairs that a pass takes: what they need stays in the caches


def distance_m(latitude_a: ArrayLike, longitude_a: ArrayLike, latitude_b: ArrayLike, longitude_b: ArrayLike) -> Floats:
    """The geodesic from a to b in metres, within a millimetre; places in degrees. NaN where it does not converge: near the
    other end of a diameter of the Earth."""
    import numpy as np

    given = np.broadcast_arrays(
        *(np.asarray(one, np.float64) for one in (latitude_a, longitude_a, latitude_b, longitude_b))
    )
    found = np.empty(given[0].shape)
    whole = [one.reshape(-1) for one in given]
    for begin in range(0, found.size, _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        found.reshape(-1)[part] = _inverse(*(one[part] for one in whole))
    return found


def _inverse(latitude_a: Floats, longitude_a: Floats, latitude_b: Floats, longitude_b: Floats) -> Floats:
    """Vincenty's iteration; his names of the quantities."""
    import numpy as np

    pole_m = EQUATOR_M * (1 - FLATTENING)
    turn = np.radians(longitude_b - longitude_a)
    turn = np.remainder(turn + np.pi, 2 * np.pi) - np.pi
    reduced = [np.arctan((1 - FLATTENING) * np.tan(np.radians(one))) for one in (latitude_a, latitude_b)]
    (sin1, sin2), (cos1, cos2) = np.sin(reduced), np.cos(reduced)
    lam, moved = turn, np.full(turn.shape, np.inf)
    for _ in range(100):
        sin_sigma = np.hypot(cos2 * np.sin(lam), cos1 * sin2 - sin1 * cos2 * np.cos(lam))
        cos_sigma = sin1 * sin2 + cos1 * cos2 * np.cos(lam)
        sigma = np.arctan2(sin_sigma, cos_sigma)
        with np.errstate(invalid="ignore", divide="ignore"):
            sin_alpha = np.where(sin_sigma > 0, cos1 * cos2 * np.sin(lam) / sin_sigma, 0.0)
            cos2_alpha = 1 - sin_alpha**2
            middle = np.where(cos2_alpha > 0, cos_sigma - 2 * sin1 * sin2 / cos2_alpha, 0.0)  # 0: along the equator
        c = FLATTENING / 16 * cos2_alpha * (4 + FLATTENING * (4 - 3 * cos2_alpha))
        inner = middle + c * cos_sigma * (2 * middle**2 - 1)
        following = turn + (1 - c) * FLATTENING * sin_alpha * (sigma + c * sin_sigma * inner)
        moved, lam = np.abs(following - lam), following
        if not (moved > _CONVERGED_RAD).any():
            break
    u2 = cos2_alpha * (EQUATOR_M**2 - pole_m**2) / pole_m**2
    a = 1 + u2 / 16384 * (4096 + u2 * (u2 * (320 - 175 * u2) - 768))
    b = u2 / 1024 * (256 + u2 * (u2 * (74 - 47 * u2) - 128))
    last = b / 6 * middle * (4 * sin_sigma**2 - 3) * (4 * middle**2 - 3)
    change = b * sin_sigma * (middle + b / 4 * (cos_sigma * (2 * middle**2 - 1) - last))
    return np.where(moved <= _CONVERGED_RAD, pole_m * a * (sigma - change), np.nan)
