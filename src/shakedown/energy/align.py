"""Which time a stamp means: clocks of two hosts, a meter's clock against a load, jumps of an hour.

Offsets are positive where the other clock (the server's, the meter's) is ahead of ours: subtract them from its stamps.
A meter's clock is found through its own forward model, by a load whose edges are known: the offset with which the model
explains the readings best. Its interval is every offset with SSE <= SSE_min (1 + F(0.95; 1, nu) / nu), not the curvature,
which says nothing at a flat bottom. The pattern must be irregular: a regular one fits as well one period later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..records import Notice
from ._looks import Looks, Recording
from .character import Estimate
from .simulate import Load
from .trace import Floats, Ints

MARKERS = 13
QUARTER_S = 900.0  # every zone differs from UTC by whole quarters of an hour
_WIDEST_ZONE = 14 * 4
_FEWEST = 8


# -------------------------------------------------------------------------------------------------------------- two hosts


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
    t = np.array([one[0] for one in sittings])
    offset, u = np.array([one[1] for one in sittings]), np.array([one[2] for one in sittings])
    used = sum(one[3] for one in sittings)
    late = [
        Notice(
            code="clock-asymmetric", text="some exchanges came back before they were sent: a clock was set meanwhile"
        )
    ]
    notices = tuple(late) if len(usable) < len(exchanges) else ()
    if len(sittings) == 1:
        return HostClock(origin, _around(float(offset[0]), float(u[0])), None, used, notices)
    weight = 1 / u**2
    middle = float((weight * t).sum() / weight.sum())
    sxx = float((weight * (t - middle) ** 2).sum())
    drift = float((weight * (t - middle) * offset).sum()) / sxx
    at = float((weight * offset).sum() / weight.sum())
    left = offset - at - drift * (t - middle)
    worse = max(1.0, float(np.sqrt((weight * left**2).sum() / max(len(t) - 2, 1)))) if len(t) > 2 else 1.0
    return HostClock(
        origin + round(middle * 1e9),
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


# ----------------------------------------------------------------------------------------------------- a load and a meter


class MeterClock(NamedTuple):
    """How far the meter's stamps are ahead. ``profile``: (offset, SSE)."""

    offset_s: Estimate
    sse: float
    explained: float  # share of the readings' sum of squares
    profile: tuple[tuple[float, float], ...]
    notices: tuple[Notice, ...] = ()


def markers(scale: float = 1.0, *, low: float = 0.0, high: float = 1.0, begin_s: float = 0.0) -> tuple[Load, float]:
    """The irregular pattern of 13 pulses and when it ends, as ``native/load --pattern markers`` drives it: the i-th of 27
    parts lasts scale x (12 + 25 frac(i g)) seconds with g = (sqrt 5 - 1) / 2."""
    index = np.arange(1, 2 * MARKERS + 2)
    lengths = scale * (12 + 25 * np.mod(index * (np.sqrt(5) - 1) / 2, 1))
    edges = begin_s + np.concatenate([[0.0], np.cumsum(lengths)])
    return Load(edges[:-1], np.where(index % 2 == 0, high, low)), float(edges[-1])


def meter_clock(
    recording: Recording,
    *,
    window_s: float = 0.0,
    tau_s: float = 0.0,
    delay_s: float = 0.0,
    period_s: float,
    reach_s: float | None = None,
    zones: bool = False,
) -> MeterClock:
    """The meter's clock against the load's through the meter's forward model; its gain and offset are
    solved for.

    ``reach_s``: how far it may be off (default: 3 periods and the window, at least 60 s). ``zones``: whole quarters of an
    hour are tried first, up to 14 hours to either side. Raises BadInput where too few readings lie beside the load.
    """
    reach = reach_s if reach_s is not None else max(60.0, 3 * period_s + window_s + 4 * tau_s)
    shift = _zone(recording, window_s, tau_s, delay_s, period_s, reach) if zones else 0.0
    near = _beside(recording, shift, reach + window_s + delay_s + 5 * tau_s)
    if len(near.t_s) < _FEWEST:
        raise BadInput(
            f"{len(near.t_s)} readings of {recording.name} lie beside the load: too few to align them",
            hint="see whether the stamps are in another time zone, or read for longer",
        )
    search = _Search(near, window_s, tau_s, delay_s)
    found = search.run(reach, period_s)
    notices = [*found.notices, *_zone_notices(found.offset_s.value + shift)]
    moved = Estimate(
        value=found.offset_s.value + shift, low=found.offset_s.low + shift, high=found.offset_s.high + shift
    )
    return found._replace(
        offset_s=moved, profile=tuple((x + shift, y) for x, y in found.profile), notices=tuple(notices)
    )


def from_edges(
    recording: Recording,
    *,
    window_s: float = 0.0,
    tau_s: float = 0.0,
    delay_s: float = 0.0,
    period_s: float,
    expected_s: float = 0.0,
    expected_u_s: float = 0.0,
    reach_s: float | None = None,
) -> MeterClock:
    """The passive check of any run: its own phase edges are the load's, with a power of its own for each phase.

    ``recording.load.w`` is not looked at. A notice where the offset found departs from ``expected_s`` by more than three
    standard uncertainties of the difference. Raises BadInput for too few readings.
    """
    reach = reach_s if reach_s is not None else max(10.0, 3 * period_s + window_s + 4 * tau_s)
    near = _beside(recording, 0.0, reach + window_s + delay_s + 5 * tau_s)
    phases = len(recording.load.t_s)
    if len(near.t_s) < phases + _FEWEST:
        raise BadInput(f"{len(near.t_s)} readings are too few for the edges of {phases} phases")
    found = _Search(near, window_s, tau_s, delay_s, levels=True).run(reach, period_s)
    u = float(np.hypot(found.offset_s.u, expected_u_s))
    apart = found.offset_s.value - expected_s
    if abs(apart) <= 3 * u:
        return found
    text = (
        f"the run's own edges put the meter's clock at {found.offset_s.value:+.3g} s, {abs(apart) / u:.0f} standard "
        f"uncertainties from the {expected_s:+.3g} s that were reckoned with"
    )
    notice = Notice(
        code="clock-disagrees", text=text, advice="align the clocks by a marker load: shakedown meter characterise"
    )
    return found._replace(notices=(*found.notices, notice))


class _Search:
    """SSE against offset, for one recording with one kernel."""

    def __init__(self, recording: Recording, window: float, tau: float, delay: float, *, levels: bool = False) -> None:
        self.window, self.tau, self.delay = window, tau, delay
        self.looks = [Looks([recording], 0.0)]
        if levels:  # one load for each phase but the first, which is one for as long as it lasts
            t = recording.load.t_s
            self.looks = [
                Looks([recording._replace(load=Load(t, (np.arange(len(t)) == phase).astype(float)))], 0.0)
                for phase in range(1, len(t))
            ]
        self.r = self.looks[0].r
        self.total = self.looks[0].total
        self.shortest = recording.shortest_s

    def sse(self, offsets: Floats) -> Floats:
        lags = np.asarray(offsets) + self.delay
        basis = np.array([self._responses(one, lags) for one in self.looks])  # (levels, offsets, readings)
        if len(basis) == 1:
            h = basis[0]
            along, across = h @ self.r, (h * h).sum(1)
            gained = np.where((along > 0) & (across > 0), along**2 / np.where(across > 0, across, 1.0), 0.0)
            out: Floats = np.maximum(self.total - gained, 1e-12 * self.total)
            return out
        left: Floats = np.empty(len(lags))
        for index in range(len(lags)):
            columns = basis[:, index, :].T
            fitted = columns @ np.linalg.lstsq(columns, self.r, rcond=None)[0]
            left[index] = max(float(((self.r - fitted) ** 2).sum()), 1e-12 * self.total)
        return left

    def _responses(self, looks: Looks, lags: Floats) -> Floats:
        if self.window <= 0:
            return looks.power(lags, self.tau)
        out: Floats = (looks.energy(lags, self.tau) - looks.energy(lags + self.window, self.tau)) / self.window
        return out

    def coarse(self, reach: float, period: float) -> tuple[Floats, Floats]:
        step = max(min(self.shortest / 3, max(period, self.window) / 4), reach / 2000)
        offsets = np.arange(-reach, reach + step, step)
        return offsets, self.sse(offsets)

    def run(self, reach: float, period: float) -> MeterClock:
        from scipy.special import fdtri

        offsets, sse = self.coarse(reach, period)
        step = float(offsets[1] - offsets[0])
        best = float(offsets[int(np.argmin(sse))])
        for _ in range(6):
            fine = best + step * np.linspace(-1.2, 1.2, 49)
            left = self.sse(fine)
            flat = fine[left <= left.min() * (1 + 1e-9)]
            best, step = float(flat[0] + flat[-1]) / 2, max(step / 6, float(flat[-1] - flat[0]))
        least = float(self.sse(np.array([best]))[0])
        dof = max(len(self.r) - 2 - len(self.looks), 2)
        limit = least * (1 + float(fdtri(1, dof, 0.95)) / dof)
        low, high, profile = self._interval(best, limit, period)
        notices = self._doubts(offsets, sse, least, limit, best, max(high - low, float(offsets[1] - offsets[0])))
        explained = 1 - least / self.total if self.total > 0 else 0.0
        return MeterClock(Estimate(value=best, low=low, high=high), least, explained, profile, notices)

    def _interval(
        self, best: float, limit: float, period: float
    ) -> tuple[float, float, tuple[tuple[float, float], ...]]:
        half = period / 1000
        while True:
            around = best + half * np.linspace(-1, 1, 201)
            sse = self.sse(around)
            inside = np.flatnonzero(sse <= limit)
            if len(inside) and inside[0] > 10 and inside[-1] < 190:
                break
            if half > 100 * period + 10 * self.shortest:
                break
            half *= 1.8
        step = float(around[1] - around[0])
        profile = tuple(zip(around.tolist(), sse.tolist(), strict=True))
        return float(around[inside[0]]) - step / 2, float(around[inside[-1]]) + step / 2, profile

    def _doubts(
        self, offsets: Floats, sse: Floats, least: float, limit: float, best: float, width: float
    ) -> tuple[Notice, ...]:
        out = []
        inner = np.flatnonzero((sse[1:-1] <= sse[:-2]) & (sse[1:-1] <= sse[2:])) + 1
        # Between the points of the coarse grid the other minima are deeper than they look: four times the way is allowed.
        rivals = [
            float(offsets[i]) for i in inner if sse[i] <= limit + 4 * (limit - least) and abs(offsets[i] - best) > width
        ]
        if rivals:
            words = ", ".join(f"{one:+.3g} s" for one in rivals[:5])
            out.append(
                Notice(
                    code="several-offsets",
                    text=f"these offsets fit about as well as {best:+.3g} s: {words}",
                    advice="align by an irregular marker load (load --pattern markers)",
                )
            )
        if 1 - least / self.total < 0.5:
            out.append(
                Notice(
                    code="poor-fit",
                    text=f"the load explains {1 - least / self.total:.0%} of what the meter said",
                    advice="see whether the meter sees this load, and whether its clock is further off",
                )
            )
        if abs(best) > 0.98 * float(offsets[-1]):
            out.append(
                Notice(
                    code="offset-at-limit",
                    text=f"the best offset lies at the end of the {offsets[-1]:.3g} s that were searched",
                    advice="search further, or for a time zone",
                )
            )
        return tuple(out)


def _beside(recording: Recording, shift: float, reach: float) -> Recording:
    """The readings about the load, with whole zones taken from their stamps."""
    t = recording.t_s - shift
    inside = (t >= recording.load.t_s[0] - reach) & (t <= recording.load.t_s[-1] + reach)
    return recording._replace(t_s=t[inside], value=recording.value[inside])


def _zone(recording: Recording, window: float, tau: float, delay: float, period: float, reach: float) -> float:
    """The shift by whole quarters of an hour with which the load explains the readings best; none unless it is plain."""
    explained: dict[float, float] = {}
    for quarters in range(-_WIDEST_ZONE, _WIDEST_ZONE + 1):
        shift = quarters * QUARTER_S
        near = _beside(recording, shift, 0.5 * reach)
        if len(near.t_s) < _FEWEST or np.ptp(near.value) == 0:
            continue
        search = _Search(near, window, tau, delay)
        _, sse = search.coarse(min(reach, QUARTER_S / 2), period)
        explained[shift] = 1 - float(sse.min()) / search.total
    if not explained:
        return 0.0
    best = max(explained, key=lambda shift: (explained[shift], -abs(shift)))
    plain = explained[best] > explained.get(0.0, 0.0) + 0.1
    return best if plain else 0.0


# ------------------------------------------------------------------------------------------------------- hours and zones


class Jump(NamedTuple):
    """Between two readings that follow one another the stamps moved by ``seconds`` more than they should."""

    at: int  # index of the reading after it, in the order in which they were written
    seconds: float


def jumps(t_ns: Sequence[int] | Ints) -> tuple[Jump, ...]:
    """Where stamps, in the order in which they were written, go back, or leap by whole half hours.

    A leap ahead can be a gap as well; that it is a whole number of half hours to within three readings is the hint.
    """
    t = np.asarray(t_ns, np.int64)
    if len(t) < 4:
        return ()
    gaps = np.diff(t).astype(np.float64) * 1e-9
    cadence = float(np.median(np.abs(gaps)))
    moved = gaps - cadence
    found = []
    for index in np.flatnonzero(np.abs(moved) > 3 * cadence + 1e-9):
        half_hours = round(float(moved[index]) / 1800)
        whole = half_hours != 0 and abs(moved[index] - 1800 * half_hours) <= 3 * cadence + 1.0
        if moved[index] < 0 or whole:
            found.append(Jump(int(index) + 1, float(moved[index])))
    return tuple(found)


def _zone_notices(offset: float) -> tuple[Notice, ...]:
    """An offset near a whole number of quarters of an hour is a matter of time zones, not of clocks."""
    quarters = round(offset / QUARTER_S)
    if abs(quarters) < 2 or abs(offset - quarters * QUARTER_S) > 120:
        return ()
    hours = quarters / 4
    text = f"the stamps are {abs(hours):g} h {'ahead' if hours > 0 else 'behind'}: local time taken for UTC, or summer time"
    return (Notice(code="time-zone", text=text, advice="give the zone of the stamps when the trace is read"),)
