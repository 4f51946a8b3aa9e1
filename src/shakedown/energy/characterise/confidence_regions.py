"""What the readings allow: for each parameter the values with which the least SSE stays below a limit (its profile)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...metering.trace import Floats
from .basis import Looks
from .search import Candidate, Minimum, polish

_M = 121  # looks on each side of a close grid
_ROUNDS = 14
_WIDEST = 100.0  # a time constant that is not known better than this to either side is not known


class Region(NamedTuple):
    """All that the readings allow: bounds of each parameter, the minima inside, and the profile of the main one."""

    window: tuple[float, float]
    tau: tuple[float, float]
    delay: tuple[float, float]
    minima: tuple[Minimum, ...]
    profile: tuple[tuple[float, float], ...]


def region(looks: Looks, found: Candidate, limit: float, period_s: float) -> Region:
    match found.kernel:
        case "boxcar":
            return _boxcar_region(looks, found, limit, period_s, 0.0)
        case "point":
            return _point_region(looks, found, limit, period_s)
        case "exponential":
            return _exponential_region(looks, found, limit, period_s)
        case _:
            return _both_region(looks, found, limit, period_s)


def _boxcar_region(looks: Looks, found: Candidate, limit: float, period_s: float, tau: float) -> Region:
    """The region of each minimum that is not ruled out; together they bound window and delay."""
    kept = [one for one in found.minima if one.sse <= limit] or [found.best]
    boxes = [_boxed(looks, one, limit, period_s, tau) for one in kept]
    profile = [pair for box in boxes for pair in box.profile]
    low = min(box.window[0] for box in boxes)
    return Region(
        (low, max(box.window[1] for box in boxes)),
        (tau, tau),
        (min(box.delay[0] for box in boxes), max(box.delay[1] for box in boxes)),
        tuple(kept),
        tuple(sorted(profile)),
    )


def _boxed(looks: Looks, one: Minimum, limit: float, period_s: float, tau: float) -> Region:
    """A grid of both ends of the window about one minimum, widened or narrowed until what is allowed fills it.

    The window's interval is taken along the diagonals, where it is constant, with the least SSE of each by a parabola.
    """
    begin, end = one.delay_s, one.delay_s + one.window_s
    half = max(min(one.window_s, period_s) / 8, period_s / 400)
    for _ in range(_ROUNDS):
        lags = half * np.linspace(-1, 1, _M)
        sse = looks.sse_pairs(begin + lags, end + lags, tau)
        windows, least = _diagonals(sse, one.window_s, lags[1] - lags[0])
        inside = np.abs(windows - one.window_s)[least <= limit]
        delays = np.abs(lags[_along(sse, 1) <= limit])
        ends = np.abs(lags[_along(sse, 0) <= limit])
        used = max(delays.max(initial=0.0), ends.max(initial=0.0), inside.max(initial=0.0) / 2) / half
        if used > 0.9 and half < 8 * max(one.window_s, period_s):
            half *= 2.5
        elif used < 0.3 and half > 1e-5 * period_s:
            half *= max(0.15, 1.6 * used)
        else:
            break
    low, high = _crossings(windows, least, limit, one.window_s)
    if low <= 2 * looks.shortest_s:
        low = 0.0
    by_delay = _along(sse, 1)
    early, late = _crossings(begin + lags, by_delay, limit, begin)
    kept = (windows > 0) & (least < looks.total)
    profile = tuple(zip(windows[kept].tolist(), least[kept].tolist(), strict=True))
    return Region((low, high), (tau, tau), (early, late), (one,), profile)


def _diagonals(sse: Floats, window: float, step: float) -> tuple[Floats, Floats]:
    """For each length of the window on the grid, the least SSE of all its places."""
    m = len(sse)
    offsets = np.arange(-m + 1, m)
    least: Floats = np.array([_lowest(np.diagonal(sse, offset)) for offset in offsets], np.float64)
    windows: Floats = window + step * offsets.astype(np.float64)
    kept = windows > 0
    return windows[kept], least[kept]


def _along(sse: Floats, axis: int) -> Floats:
    return np.array([_lowest(row) for row in (sse if axis == 1 else sse.T)])


def _lowest(row: Floats) -> float:
    """The least of a row, by a parabola through the three lowest neighbours."""
    i = int(np.argmin(row))
    if not 0 < i < len(row) - 1:
        return float(row[i])
    a, b, c = float(row[i - 1]), float(row[i]), float(row[i + 1])
    bend = a - 2 * b + c
    return b - (a - c) ** 2 / (8 * bend) if bend > 0 else b


def _crossings(x: Floats, y: Floats, limit: float, at: float) -> tuple[float, float]:
    """The first and the last x where y crosses the limit, between grid points by a straight line; the ends where it does
    not. ``at`` lies inside always."""
    inside = np.flatnonzero(y <= limit)
    if not len(inside):
        return at, at
    first, last = int(inside[0]), int(inside[-1])
    low, high = float(x[first]), float(x[last])
    if first > 0 and y[first - 1] > y[first]:
        low -= (limit - y[first]) / (y[first - 1] - y[first]) * float(x[first] - x[first - 1])
    if last < len(x) - 1 and y[last + 1] > y[last]:
        high += (limit - y[last]) / (y[last + 1] - y[last]) * float(x[last + 1] - x[last])
    return min(low, at), max(high, at)


def _point_region(looks: Looks, found: Candidate, limit: float, period_s: float) -> Region:
    best = found.best
    half = period_s / 50
    for _ in range(_ROUNDS):
        lags = best.delay_s + half * np.linspace(-1, 1, 401)
        allowed = lags[looks.sse_lags(lags) <= limit]
        used = float(np.abs(allowed - best.delay_s).max(initial=0.0)) / half
        if used < 0.9 or half > 20 * period_s:
            break
        half *= 2
    low, high = (float(allowed[0]), float(allowed[-1])) if len(allowed) else (best.delay_s, best.delay_s)
    return Region((0.0, 0.0), (0.0, 0.0), (low, high), (best,), ())


def _exponential_region(looks: Looks, found: Candidate, limit: float, period_s: float) -> Region:
    best = found.best
    ratio, half = 1.05, max(best.tau_s, period_s) / 20
    for _ in range(_ROUNDS):
        taus = best.tau_s * np.geomspace(1 / ratio, ratio, 41)
        lags = best.delay_s + half * np.linspace(-1, 1, 61)
        sse = np.array([looks.sse_lags(lags, float(tau)) for tau in taus])
        by_tau, by_lag = _along(sse, 1), _along(sse, 0)
        used_tau = float(np.abs(np.log(taus[by_tau <= limit] / best.tau_s)).max(initial=0.0)) / np.log(ratio)
        used_lag = float(np.abs(lags[by_lag <= limit] - best.delay_s).max(initial=0.0)) / half
        if 0.2 < used_tau < 0.9 and 0.2 < used_lag < 0.9:
            break
        ratio = _next_ratio(ratio, used_tau)
        half *= _factor(used_lag)
    tau = _crossings(taus, by_tau, limit, best.tau_s)
    delay = _crossings(lags, by_lag, limit, best.delay_s)
    profile = tuple(zip(taus.tolist(), by_tau.tolist(), strict=True))
    return Region((0.0, 0.0), tau, delay, (best,), profile)


def _factor(used: float) -> float:
    """How much wider the next grid is."""
    return 2.5 if used >= 0.9 else (max(0.2, 1.8 * used) if used <= 0.2 else 1.0)


def _next_ratio(ratio: float, used: float) -> float:
    """Of a time constant on the edge of the next grid: never beyond what is worth telling."""
    return float(min(np.exp(np.log(ratio) * _factor(used)), _WIDEST))


def _both_region(looks: Looks, found: Candidate, limit: float, period_s: float) -> Region:
    """The boxcar's region for each time constant that is allowed; all of them together."""
    best = found.best
    ratio = 1.1
    for _ in range(_ROUNDS):
        taus = best.tau_s * np.geomspace(1 / ratio, ratio, 21)
        closest = [_following(looks, best, float(tau)) for tau in taus]
        least = np.array([one.sse for one in closest])
        used = float(np.abs(np.log(taus[least <= limit] / best.tau_s)).max(initial=0.0)) / np.log(ratio)
        if 0.3 < used < 0.9 or (used >= 0.9 and ratio >= _WIDEST):
            break
        ratio = _next_ratio(ratio, used)
    boxes = [_boxed(looks, one, limit, period_s, one.tau_s) for one in closest[::4] if one.sse <= limit]
    boxes.append(_boxed(looks, best, limit, period_s, best.tau_s))
    return Region(
        (min(box.window[0] for box in boxes), max(box.window[1] for box in boxes)),
        _crossings(taus, least, limit, best.tau_s),
        (min(box.delay[0] for box in boxes), max(box.delay[1] for box in boxes)),
        (best,),
        boxes[-1].profile,
    )


def _following(looks: Looks, best: Minimum, tau: float) -> Minimum:
    """The best boxcar behind another time constant: what the lag loses the boxcar takes."""
    move = best.tau_s - tau
    return polish(looks, best.delay_s, best.delay_s + max(best.window_s + move, best.window_s / 4), abs(move) / 3, tau)


def widened(looks: Looks, best: Minimum, region: Region, shift_s: float, stretch_s: float) -> Region:
    """The intervals with what the stamps' own uncertainty adds, in quadrature: the fit is moved by stretching the stamps."""
    moved = [0.0, 0.0, 0.0]
    if stretch_s > 0:
        first = min(float(one.t_s[0]) for one in looks.recordings)
        last = max(float(one.t_s[-1]) for one in looks.recordings)
        ends = []
        for sign in (-1.0, 1.0):
            rate = 2 * sign * stretch_s / max(last - first, 1e-9)
            stretched = [one._replace(t_s=one.t_s + rate * (one.t_s - (first + last) / 2)) for one in looks.recordings]
            ends.append(nearby(Looks(stretched, looks.shortest_s), best))
        moved = [abs(a - b) / 2 for a, b in zip(*ends, strict=True)]
    window = _wider(region.window, best.window_s, moved[0])
    tau = _wider(region.tau, best.tau_s, moved[1])
    delay = _wider(region.delay, best.delay_s, float(np.hypot(moved[2], shift_s)))
    return region._replace(window=(max(window[0], 0.0), window[1]), tau=(max(tau[0], 0.0), tau[1]), delay=delay)


def nearby(looks: Looks, best: Minimum) -> tuple[float, float, float]:
    """The best (window, tau, delay) close by, each that is zero held there."""
    from scipy.optimize import minimize

    scale = best.window_s + best.tau_s
    free = [index for index, value in enumerate((best.window_s, best.tau_s)) if value > 0]
    start = np.array([best.window_s, best.tau_s, best.delay_s])

    def unpacked(x: Floats) -> tuple[float, float, float]:
        at = start.copy()
        at[[*free, 2]] += x * scale
        return float(at[0]), float(at[1]), float(at[2])

    def left(x: Floats) -> float:
        window, tau, delay = unpacked(x)
        return looks.total if min(window, tau) < 0 else looks.sse((window, tau, delay))

    if not free:
        return best.window_s, best.tau_s, best.delay_s
    corners = np.vstack([np.zeros(len(free) + 1), 0.02 * np.eye(len(free) + 1)])
    found = minimize(
        left, corners[0], method="Nelder-Mead", options={"initial_simplex": corners, "xatol": 1e-5, "fatol": 0.0}
    )
    return unpacked(found.x)


def _wider(bounds: tuple[float, float], at: float, by: float) -> tuple[float, float]:
    low, high = bounds
    return at - float(np.hypot(at - low, by)), at + float(np.hypot(high - at, by))
