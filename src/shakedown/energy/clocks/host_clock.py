"""The clocks of two hosts from NTP-style exchanges, and the straight line through what several sittings told.

Offsets are positive where the other clock is ahead of ours: subtract them from its stamps. A line that a run's own edges
gave of a meter's clock (``meter_clock.py``) is of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from ...metering.character import Estimate
from ...records import Notice


class Exchange(NamedTuple):
    """Four stamps in ns: sent by us, received and sent back by the server (its clock), received by us."""

    sent: int
    received: int
    returned: int
    back: int

    @property
    def offset_ns(self) -> float:
        """((t2 - t1) + (t3 - t4)) / 2, RFC 5905 section 8."""
        return ((self.received - self.sent) + (self.returned - self.back)) / 2

    @property
    def delay_ns(self) -> int:
        """(t4 - t1) - (t3 - t2): the offset is off by at most half of it."""
        return (self.back - self.sent) - (self.returned - self.received)


class HostClock(NamedTuple):
    """offset(t) = offset_s + drift (t - at_ns). ``drift`` is 0 and unknown where all exchanges lie close together."""

    at_ns: int
    offset_s: Estimate
    drift: Estimate | None
    used: int
    notices: tuple[Notice, ...] = ()

    def offset_at(self, t_ns: int) -> float:
        """Seconds to subtract from the server's stamps at that time."""
        drift = self.drift.value if self.drift else 0.0
        return self.offset_s.value + drift * (t_ns - self.at_ns) * 1e-9

    def u_at(self, t_ns: int) -> float:
        """The standard uncertainty of that, in seconds."""
        drift = self.drift.u if self.drift else 1e-5  # a crystal without NTP: 10 millionths
        return float(np.hypot(self.offset_s.u, drift * (t_ns - self.at_ns) * 1e-9))


def host_clock(exchanges: Sequence[Exchange]) -> HostClock:
    """The server's clock against ours from NTP-style exchanges, best at least 50 before and 50 after a run.

    In each sitting (parts more than a minute apart) the tenth with the least delay counts: those were queued least. The
    systematic part of the error, up to half the delay, is taken as rectangular. Raises BadInput for fewer than four.
    """
    usable = [one for one in exchanges if one.delay_ns >= 0]
    if len(usable) < 4:
        raise BadInput(f"{len(usable)} exchanges are too few to compare two clocks", hint="make at least 50")
    usable.sort(key=lambda one: one.sent)
    origin = usable[len(usable) // 2].sent
    sittings = [_sitting(part, origin) for part in _parts(usable)]
    used = sum(one[3] for one in sittings)
    late = [
        Notice(
            code="clock-asymmetric", text="some exchanges came back before they were sent: a clock was set meanwhile"
        )
    ]
    notices = tuple(late) if len(usable) < len(exchanges) else ()
    return line_through(origin, [Sitting(*one[:3]) for one in sittings], used, notices)


class Sitting(NamedTuple):
    """What was found at one time: seconds after an origin, offset and its standard uncertainty in s."""

    t_s: float
    offset_s: float
    u_s: float


def line_through(origin_ns: int, sittings: Sequence[Sitting], used: int, notices: tuple[Notice, ...] = ()) -> HostClock:
    """The straight line through one or more sittings, weighted by their uncertainties, which are widened where the sittings
    disagree by more than these. One sitting tells no drift."""
    t, offset, u = (np.array(column, float) for column in zip(*sittings, strict=True))
    if len(sittings) == 1:
        return HostClock(origin_ns + round(float(t[0]) * 1e9), _around(offset[0], u[0]), None, used, notices)
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
        used,
        notices,
    )


def _parts(exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
    parts = [[exchanges[0]]]
    for before, one in pairwise(exchanges):
        if one.sent - before.sent > 60e9:
            parts.append([])
        parts[-1].append(one)
    return parts


def _sitting(part: Sequence[Exchange], origin: int) -> tuple[float, float, float, int]:
    """Time, offset, its standard uncertainty in seconds, and how many exchanges made it."""
    kept = sorted(part, key=lambda one: one.delay_ns)[: max(3, len(part) // 10)]
    offsets = np.array([one.offset_ns for one in kept]) * 1e-9
    bound = kept[0].delay_ns * 1e-9 / 2
    scatter = float(offsets.std(ddof=1)) / np.sqrt(len(kept)) if len(kept) > 1 else bound
    at = float(np.mean([one.sent - origin for one in kept])) * 1e-9
    return at, float(offsets.mean()), max(float(np.hypot(bound / np.sqrt(3), scatter)), 1e-9), len(kept)


def _around(value: float, u: float) -> Estimate:
    return Estimate(value=value, low=value - 1.96 * u, high=value + 1.96 * u)
