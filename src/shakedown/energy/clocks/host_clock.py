"""The straight line through what several sittings told of another clock, such as a meter's (``meter_clock.py``).

Offsets are positive where the other clock is ahead of ours: subtract them from its stamps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...metering.character import Estimate


class HostClock(NamedTuple):
    """offset(t) = offset_s + drift (t - at_ns). ``drift`` is not known where all sittings lie close together."""

    at_ns: int
    offset_s: Estimate
    drift: Estimate | None

    def offset_at(self, t_ns: int) -> float:
        """Seconds to subtract from the server's stamps at that time."""
        drift = self.drift.value if self.drift else 0.0
        return self.offset_s.value + drift * (t_ns - self.at_ns) * 1e-9

    def u_at(self, t_ns: int) -> float:
        """The standard uncertainty of that, in seconds."""
        drift = self.drift.u if self.drift else 1e-5  # a crystal without NTP: 10 millionths
        return float(np.hypot(self.offset_s.u, drift * (t_ns - self.at_ns) * 1e-9))


class Sitting(NamedTuple):
    """What was found at one time: seconds after an origin, offset and its standard uncertainty in s."""

    t_s: float
    offset_s: float
    u_s: float


def line_through(origin_ns: int, sittings: Sequence[Sitting]) -> HostClock:
    """The straight line through one or more sittings, weighted by their uncertainties, which are widened where the sittings
    disagree by more than these. One sitting tells no drift."""
    t, offset, u = (np.array(column, float) for column in zip(*sittings, strict=True))
    if len(sittings) == 1:
        return HostClock(origin_ns + round(float(t[0]) * 1e9), _around(offset[0], u[0]), None)
    weight = 1 / u**2
    middle = float((weight * t).sum() / weight.sum())
    sxx = float((weight * (t - middle) ** 2).sum())
    drift = float((weight * (t - middle) * offset).sum()) / sxx
    at = float((weight * offset).sum() / weight.sum())
    left = offset - at - drift * (t - middle)
    worse = max(1.0, float(np.sqrt((weight * left**2).sum() / max(len(t) - 2, 1)))) if len(t) > 2 else 1.0
    return HostClock(
        origin_ns + round(middle * 1e9),
        _around(at, worse / float(np.sqrt(weight.sum()))),
        _around(drift, worse / float(np.sqrt(sxx))),
    )


def _around(value: float, u: float) -> Estimate:
    return Estimate(value=value, low=value - 1.96 * u, high=value + 1.96 * u)
