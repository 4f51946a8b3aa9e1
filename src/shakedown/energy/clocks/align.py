"""Which time a stamp means: a meter's clock against a load whose edges are known.

Offsets are positive where the other clock (the server's, the meter's) is ahead of ours: subtract them from its stamps.
A meter's clock is found through its own forward model, by a load whose edges are known: the offset with which the model
explains the readings best. Its interval is every offset with SSE <= SSE_min (1 + F(0.95; 1, nu) / nu), not the curvature,
which says nothing at a flat bottom. The pattern must be irregular: a regular one fits as well one period later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from ...metering.character import Estimate
from ...metering.trace import Floats
from ...records import Notice
from ..characterise.basis import Looks, Recording
from ..response import kernel_answer
from ..simulate import Load
from ..uncertainty.correlated import tau_int

MARKERS = 13
QUARTER_S = 900.0  # every zone differs from UTC by whole quarters of an hour
_WIDEST_ZONE = 14 * 4
_FEWEST = 8
_SINGULAR = 1e-9
_PLAIN = 0.1  # of the greatest step
_AT_ONCE = 1_000_000  # numbers of a search's responses that are held together


# ----------------------------------------------------------------------------------------------------- a load and a meter


class MeterClock(NamedTuple):
    """How far the meter's stamps are ahead. ``profile``: (offset, SSE)."""

    offset_s: Estimate
    sse: float
    explained: float  # share of the readings' sum of squares
    steps: int  # edges at which the power plainly stepped, where each stretch has a power of its own; else those of the load
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
            hint="check whether the stamps are in another time zone, or read for longer",
        )
    _moving(near)
    found = _Search(near, window_s, tau_s, delay_s).run(reach, period_s)
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
    _moving(near)
    found = _Search(near, window_s, tau_s, delay_s, levels=True).run(reach, period_s)
    u = float(np.hypot(found.offset_s.u, expected_u_s))
    apart = found.offset_s.value - expected_s
    if abs(apart) <= 3 * u:
        return found
    text = (
        f"the run's own edges put the meter's clock at {found.offset_s.value:+.3g} s, {abs(apart) / u:.0f} standard "
        f"uncertainties from the {expected_s:+.3g} s that were expected"
    )
    notice = Notice(
        code="clock-disagrees", text=text, advice="align the clocks by a marker load: shakedown meter characterise"
    )
    return found._replace(notices=(*found.notices, notice))


def _moving(recording: Recording) -> None:
    if np.ptp(recording.value) == 0:
        raise BadInput(
            f"{recording.name} reported the same value all the time: no edge shows in it",
            hint="load what it measures meanwhile",
        )


class _Search:
    """SSE against offset, for one recording with one kernel; with ``levels`` each stretch of the load has a power of its own
    instead of the one that the recording says."""

    def __init__(self, recording: Recording, window: float, tau: float, delay: float, *, levels: bool = False) -> None:
        self.window, self.tau, self.delay = window, tau, delay
        self.looks = Looks([recording], 0.0)
        self.edges = recording.load.t_s[1:] if levels else None  # the first stretch is as it is for as long as it lasts
        self.t = recording.t_s
        self.r = self.looks.r
        self.total = self.looks.total
        self.shortest = recording.shortest_s
        self.unknown = 1 if self.edges is None else len(self.edges)  # besides the level and the offset

    def sse(self, offsets: Floats) -> Floats:
        """The sum of squares that is left at each offset."""
        lags = np.asarray(offsets) + self.delay
        if self.edges is None:
            h = self._response(lags)
            along, across = h @ self.r, (h * h).sum(1)
            gained = np.where((along > 0) & (across > 0), along**2 / np.where(across > 0, across, 1.0), 0.0)
            out: Floats = np.maximum(self.total - gained, 1e-12 * self.total)
            return out
        step = max(1, _AT_ONCE // (len(self.edges) * len(self.r)))
        return np.concatenate([self._levelled(lags[at : at + step]) for at in range(0, len(lags), step)])

    def _levelled(self, lags: Floats) -> Floats:
        steps = self._steps(lags)
        along = steps @ self.r  # (offsets, edges)
        heights = np.linalg.pinv(steps @ steps.transpose(0, 2, 1), rcond=_SINGULAR, hermitian=True) @ along[:, :, None]
        out: Floats = np.maximum(self.total - (along * heights[:, :, 0]).sum(1), 1e-12 * self.total)
        return out

    def _steps(self, lags: Floats) -> Floats:
        """What the readings show of a unit step at each edge, about its mean: (offsets, edges, readings). Powers of
        stretches are sums of such steps."""
        assert self.edges is not None
        after = self.t[None, None, :] - self.edges[None, :, None] - lags[:, None, None]
        out = kernel_answer(after, self.window, self.tau)
        out -= out.mean(axis=2, keepdims=True)
        return out

    def judged(self, offset: float) -> tuple[float, int]:
        """How many readings are worth an independent one in what the fit at one offset leaves, and at how many edges the
        power plainly stepped: by four standard uncertainties, and by a part of the greatest step. A load that is not
        constant within its phases leaves residuals that hang together."""
        if self.edges is None:
            return 1.0, int(np.sum(np.diff(self.looks.recordings[0].load.w) != 0))
        columns = self._steps(np.array([offset + self.delay]))[0].T
        inverse = np.linalg.pinv(columns.T @ columns, rcond=_SINGULAR, hermitian=True)
        heights = inverse @ (columns.T @ self.r)
        left = self.r - columns @ heights
        together = tau_int(left)
        spread = float(left @ left) / max(len(left) - len(heights) - 1, 1) * together
        u = np.sqrt(np.maximum(np.diag(inverse) * spread, 0.0))
        plain = (np.abs(heights) > 4 * u) & (np.abs(heights) > _PLAIN * np.abs(heights).max())
        return together, int(plain.sum())

    def _response(self, lags: Floats) -> Floats:
        if self.window <= 0:
            return self.looks.power(lags, self.tau)
        late = self.looks.energy(lags + self.window, self.tau)
        out: Floats = (self.looks.energy(lags, self.tau) - late) / self.window
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
        together, steps = self.judged(best)
        dof = max(len(self.r) / together - 2 - self.unknown, 2)
        limit = least * (1 + float(fdtri(1, dof, 0.95)) / dof)
        low, high, profile = self._interval(best, limit, period)
        notices = self._doubts(offsets, sse, least, limit, best, max(high - low, float(offsets[1] - offsets[0])))
        explained = 1 - least / self.total if self.total > 0 else 0.0
        return MeterClock(Estimate(value=best, low=low, high=high), least, explained, steps, profile, notices)

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
                    text=f"the load explains {1 - least / self.total:.0%} of what the meter reported",
                    advice="check whether the meter sees this load, and whether its clock is further off",
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


def _zone_notices(offset: float) -> tuple[Notice, ...]:
    """An offset near a whole number of quarters of an hour is a matter of time zones, not of clocks."""
    quarters = round(offset / QUARTER_S)
    if abs(quarters) < 2 or abs(offset - quarters * QUARTER_S) > 120:
        return ()
    hours = quarters / 4
    text = (
        f"the stamps are {abs(hours):g} h {'ahead' if hours > 0 else 'behind'}: local time read as UTC, or summer time"
    )
    return (Notice(code="time-zone", text=text, advice="give the zone of the stamps when the trace is read"),)
