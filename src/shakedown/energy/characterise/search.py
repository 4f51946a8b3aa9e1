"""Every kernel that is the best of its neighbourhood: grids over window, time constant and delay, from far to near."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ...metering.trace import Floats
from .basis import Looks

Kernel = Literal["point", "boxcar", "exponential", "boxcar+exponential"]
_TAUS = 15


class Minimum(NamedTuple):
    """One kernel that explains the readings about as well as any near it."""

    window_s: float
    tau_s: float
    delay_s: float
    sse: float


class Candidate(NamedTuple):
    """One kind of kernel, fitted."""

    kernel: Kernel
    minima: tuple[Minimum, ...]
    parameters: int

    @property
    def best(self) -> Minimum:
        return self.minima[0]


def _reach(looks: Looks, period_s: float) -> float:
    """The longest window or delay that is looked for: what the longest stretch of constant power can show."""
    return max(0.9 * max(one.longest_s for one in looks.recordings), 1.5 * period_s)


def _minima(sse: Floats, most: int) -> list[tuple[int, int]]:
    """Cells that are as low as all around them, the lowest first."""
    from scipy.ndimage import minimum_filter

    low = np.argwhere((sse <= minimum_filter(sse, size=3, mode="nearest")) & (sse < 0.999 * sse.max()))
    order = np.argsort(sse[low[:, 0], low[:, 1]], kind="stable")[:most]
    return [(int(low[i][0]), int(low[i][1])) for i in order]


def _boxcars(looks: Looks, period_s: float, tau: float = 0.0, most: int = 6) -> list[Minimum]:
    """Every window and delay that is the best of its neighbourhood, from far to near."""
    reach = _reach(looks, period_s)
    step = 3 * reach / (480 if most > 1 else 200)
    slow = [one for one in looks.recordings if one.shortest_s >= 3 * step]
    wide = Looks(slow, looks.shortest_s) if slow and len(slow) < len(looks.recordings) else looks
    begin, end = np.arange(-reach, reach, step), np.arange(-reach + step, 2 * reach, step)
    sse = wide.sse_pairs(begin, end, tau)
    sse[end[None, :] - begin[:, None] > reach] = wide.total
    starts = [(float(begin[i]), float(end[j])) for i, j in _minima(sse, min(most, 3))]
    fine = min(period_s / 24, step)
    lags = np.arange(-2.5 * period_s, 2.5 * period_s, fine)
    found: list[Minimum] = []
    for start in starts:
        b, e = start[0] + lags, start[1] + lags
        near = looks.sse_pairs(b, e, tau)
        for i, j in _minima(near, most):
            found.append(polish(looks, float(b[i]), float(e[j]), fine, tau))
    if not found:  # nothing explains anything: a window of one refresh is as good as any
        found = [Minimum(period_s, tau, 0.0, looks.sse((period_s, tau, 0.0)))]
    return _distinct(found, fine)


def polish(looks: Looks, begin: float, end: float, step: float, tau: float) -> Minimum:
    """Close in on the least SSE by grids about the best cell, each a fifth of the one before."""
    for _ in range(8):
        b = begin + step * np.linspace(-1.5, 1.5, 13)
        e = end + step * np.linspace(-1.5, 1.5, 13)
        sse = looks.sse_pairs(b, e, tau)
        i, j = np.unravel_index(int(np.argmin(sse)), sse.shape)
        begin, end = float(b[i]), float(e[j])
        if 0 < i < 12 and 0 < j < 12:
            step /= 5
    end = max(end, begin + looks.shortest_s)
    return Minimum(end - begin, tau, begin, looks.sse((end - begin, tau, begin)))


def _distinct(found: Sequence[Minimum], apart: float) -> list[Minimum]:
    kept: list[Minimum] = []
    for one in sorted(found, key=lambda each: each.sse):
        if all(abs(one.window_s - k.window_s) + abs(one.delay_s - k.delay_s) > apart / 2 for k in kept):
            kept.append(one)
    return kept


def _fit_boxcar(looks: Looks, period_s: float) -> Candidate:
    return Candidate("boxcar", tuple(_boxcars(looks, period_s)), 2)


def _fit_point(looks: Looks, period_s: float) -> Candidate:
    """Only the delay: a step function of it, so the middle of the best stretch is taken."""
    reach = _reach(looks, period_s)
    lags = np.arange(-reach, reach, min(period_s / 24, reach / 400))
    for _ in range(5):
        sse = looks.sse_lags(lags)
        flat = lags[sse <= sse.min() * (1 + 1e-9)]
        lags = np.linspace(flat[0] - (lags[1] - lags[0]), flat[-1] + (lags[1] - lags[0]), 241)
    return Candidate("point", (Minimum(0.0, 0.0, float(flat[0] + flat[-1]) / 2, float(sse.min())),), 1)


def _fit_exponential(looks: Looks, period_s: float) -> Candidate:
    reach = _reach(looks, period_s)
    taus = np.geomspace(period_s / 50, reach / 2, 48)
    lags = np.linspace(-reach, reach, 161)
    for _ in range(8):
        sse = np.array([looks.sse_lags(lags, float(tau)) for tau in taus])
        i, j = np.unravel_index(int(np.argmin(sse)), sse.shape)
        tau, lag, best = float(taus[i]), float(lags[j]), float(sse[i, j])
        ratio = (taus[-1] / taus[0]) ** (1.5 / (len(taus) - 1))
        spread = 1.5 * (lags[1] - lags[0])
        taus, lags = np.geomspace(tau / ratio, tau * ratio, 9), np.linspace(lag - spread, lag + spread, 21)
    return Candidate("exponential", (Minimum(0.0, tau, lag, best),), 2)


def _fit_both(looks: Looks, period_s: float) -> Candidate:
    """A boxcar behind each of some time constants, then close to the best one."""
    taus = np.geomspace(period_s / 20, _reach(looks, period_s) / 4, _TAUS)
    found: list[Minimum] = []
    for _ in range(4):
        found += [one for tau in taus for one in _boxcars(looks, period_s, float(tau), most=1)[:1]]
        best = min(found, key=lambda one: one.sse)
        ratio = (taus[-1] / taus[0]) ** (1 / (len(taus) - 1))
        taus = np.geomspace(best.tau_s / ratio, best.tau_s * ratio, 5)
    return Candidate("boxcar+exponential", (best,), 3)


MAKERS: dict[Kernel, Callable[[Looks, float], Candidate]] = {
    "point": _fit_point,
    "boxcar": _fit_boxcar,
    "exponential": _fit_exponential,
    "boxcar+exponential": _fit_both,
}
