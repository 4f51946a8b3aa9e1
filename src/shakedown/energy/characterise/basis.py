"""What a reference power becomes on its way through a meter's window, for many windows and delays at once.

Power is piecewise constant. With C(t) its energy, a boxcar of length W that ends D before the stamp gives
``(C(t - D) - C(t - D - W)) / W``: two looks at C. A first-order lag of tau keeps energy but for what it holds, so its
output's energy is ``C(t) - tau y(t)`` with y its output, and a boxcar behind it is two looks at that. Looks at m lags serve
all m x m pairs of them: the sums of squares follow from one product of matrices (variable projection: gain and offsets are
solved for in closed form).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...metering.trace import Floats, Trace
from ..simulate import Load

Ints = NDArray[np.intp]
_FAR_S = 1e6
_MOST_EDGES = 20_000
_PIECES = 12  # of a better meter's readings within one stretch of the load


class Recording(NamedTuple):
    """What the power was, and what the meter said: one experiment, in seconds after one origin."""

    name: str
    load: Load
    t_s: Floats  # stamps of the readings
    value: Floats

    @property
    def shortest_s(self) -> float:
        """The shortest stretch of constant power that lies inside."""
        return float(np.diff(self.load.t_s).min()) if len(self.load.t_s) > 1 else np.inf

    @property
    def longest_s(self) -> float:
        """The longest one, of which the readings see the whole."""
        ends = np.append(self.load.t_s, self.t_s[-1])
        return float(np.diff(ends).max()) if len(self.t_s) else 0.0


def load_of(trace: Trace, origin_ns: int) -> Load:
    """A better meter's trace as piecewise constant power: readings of intervals as they are, points with edges half-way.
    Gaps hold the last value. Long ones are thinned, with their energy kept."""
    ok = trace.take(trace.ok)
    t = ok.seconds(origin_ns)
    w = ok.value
    if trace.channel.scope == "last":  # a reading holds for the interval before its stamp
        t, w = t[:-1], w[1:]
    elif trace.channel.scope == "point":
        t = np.concatenate([t[:1], (t[1:] + t[:-1]) / 2])
    if len(t) > _MOST_EDGES:
        whole = Load(t, w)
        grid = np.linspace(t[0], t[-1], _MOST_EDGES)
        mean = np.diff(whole.energy_j(grid)) / np.diff(grid)
        return Load(grid, np.append(mean, w[-1]))
    return Load(t, w)


def sharpened(better: Load, edges_s: Floats, levels: Floats) -> Load:
    """A better meter's power with the edges where the load says that they were: what a reading blurs over an edge takes the
    power of its neighbours in the same stretch; a stretch too short for a whole reading that of the others of its level."""
    t, w = better.t_s, better.w
    pieces: list[tuple[Floats, Floats] | None] = []
    for begin, end in pairwise(edges_s.tolist()):
        first, last = int(np.searchsorted(t, begin)), int(np.searchsorted(t, end, side="right")) - 1
        if last <= first:  # readings from `first` to before `last` lie within it whole
            pieces.append(None)
            continue
        cuts = np.unique(np.linspace(first, last, min(_PIECES, last - first) + 1).astype(int))
        mean = np.diff(better.energy_j(t[cuts])) / np.diff(t[cuts])
        pieces.append((np.append(begin, t[cuts[1:-1]]), mean))
    known: dict[float, list[float]] = {}
    for level, piece in zip(levels.tolist(), pieces, strict=True):
        if piece is not None:
            known.setdefault(level, []).append(float(piece[1].mean()))
    whole = float(w.mean())
    out = [
        piece or (edges_s[index : index + 1], np.array([float(np.mean(known.get(float(levels[index]), [whole])))]))
        for index, piece in enumerate(pieces)
    ]
    return Load(np.concatenate([one[0] for one in out]), np.concatenate([one[1] for one in out]))


class _Knots(NamedTuple):
    t: Floats  # edges, with one far before and one far behind
    w: Floats  # power from each edge on, less the mean
    c: Floats  # its energy at each edge


def _knots(load: Load, level: float) -> _Knots:
    t = np.concatenate([[load.t_s[0] - _FAR_S], load.t_s, [load.t_s[-1] + _FAR_S]])
    w = np.concatenate([load.w[:1], load.w, load.w[-1:]]) - level
    c = np.concatenate([[0.0], np.cumsum(np.diff(t) * w[:-1])])
    return _Knots(t, w, c - c[1])


class Looks:
    """The recordings made ready: looks at the (lagged) energy for any lags, centred within each recording."""

    def __init__(self, recordings: Sequence[Recording], shortest_s: float) -> None:
        self.recordings = tuple(recordings)
        self.shortest_s = shortest_s
        self.level = float(np.mean([one.load.w.mean() for one in recordings]))
        self._knots = [_knots(one.load, self.level) for one in recordings]
        self._held: dict[float, list[Floats]] = {}
        self.n = sum(len(one.t_s) for one in recordings)
        self.r = np.concatenate([one.value - one.value.mean() for one in recordings])
        self.total = float(self.r @ self.r)

    def energy(self, lags: Floats, tau: float = 0.0) -> Floats:
        """Energy that the lag of ``tau`` has let through at each stamp less each lag: (lags, readings), centred."""
        return self._each(lags, lambda index, lags: self._energy(index, lags, tau))

    def power(self, lags: Floats, tau: float = 0.0) -> Floats:
        """The power itself (tau 0) or what a first-order lag makes of it: (lags, readings), centred."""
        return self._each(lags, lambda index, lags: self._output(index, lags, tau))

    def response(self, kernel_s: tuple[float, float, float], index: int) -> Floats:
        """The whole response of one recording, not centred, in the reference's unit: (window, tau, delay)."""
        window, tau, delay = kernel_s
        if window <= 0:
            out: Floats = self._output(index, np.array([delay]), tau)[0] + self.level
            return out
        late, early = self._energy(index, np.array([delay, delay + window]), tau)
        out = (late - early) / window + self.level
        return out

    def sse(self, kernel_s: tuple[float, float, float]) -> float:
        """The sum of squares that one kernel leaves, gain (positive) and one offset a recording solved for."""
        h = np.concatenate([_centred(self.response(kernel_s, index)) for index in range(len(self.recordings))])
        return float(_left(self.total, np.array([h @ self.r]), np.array([h @ h]))[0])

    def sse_pairs(self, begin: Floats, end: Floats, tau: float = 0.0) -> Floats:
        """The same for every pair of lags: the window lies between ``begin`` (its end nearest the stamp, the delay) and
        ``end``. Pairs shorter than ``shortest_s``, where differences of energies lose their digits, give the total."""
        a, b = self.energy(begin, tau), self.energy(end, tau)
        along = (a @ self.r)[:, None] - (b @ self.r)[None, :]
        across = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2 * (a @ b.T)
        out = _left(self.total, along, across)
        out[end[None, :] - begin[:, None] < self.shortest_s] = self.total
        return out

    def sse_lags(self, lags: Floats, tau: float = 0.0) -> Floats:
        """The same without a window, for each delay."""
        h = self.power(lags, tau)
        return _left(self.total, h @ self.r, (h * h).sum(1))

    def _each(self, lags: Floats, look: Callable[[int, Floats], Floats]) -> Floats:
        parts = []
        for index in range(len(self.recordings)):
            part = look(index, np.asarray(lags))
            part -= part.mean(axis=1, keepdims=True)
            parts.append(part)
        return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]

    def _last_edge(self, index: int, lags: Floats) -> tuple[Ints, Floats]:
        """For each lag and reading the last edge, and the seconds since."""
        t, edges = self.recordings[index].t_s, self._knots[index].t
        seconds = t[None, :] - lags[:, None]
        if 4 * len(edges) < len(t) and seconds.size > 20_000:
            # Stamps are in order: it is enough to look for the edges among them.
            first = np.searchsorted(t, edges[None, :] + lags[:, None])
            first[:, 0] = 0  # what lies before the first edge is as at it
            counts = np.diff(first, axis=1, append=len(t)).ravel()
            at = np.repeat(np.tile(np.arange(len(edges)), len(lags)), counts).reshape(seconds.shape)
        else:
            at = np.maximum(np.searchsorted(edges, seconds, side="right") - 1, 0)
        seconds -= edges[at]
        return at, seconds

    def _energy(self, index: int, lags: Floats, tau: float) -> Floats:
        knots = self._knots[index]
        if tau <= 0:
            return np.interp(self.recordings[index].t_s[None, :] - lags[:, None], knots.t, knots.c)
        at, seconds = self._last_edge(index, lags)
        w = knots.w[at]
        out: Floats = knots.c[at] + w * seconds
        out -= tau * self._lagged(index, at, seconds, w, tau)
        return out

    def _output(self, index: int, lags: Floats, tau: float) -> Floats:
        at, seconds = self._last_edge(index, lags)
        w: Floats = self._knots[index].w[at]
        return self._lagged(index, at, seconds, w, tau) if tau > 0 else w

    def _lagged(self, index: int, at: Ints, seconds: Floats, w: Floats, tau: float) -> Floats:
        seconds *= -1 / tau
        out: Floats = np.exp(seconds, out=seconds)
        out *= (self._state(tau)[index] - self._knots[index].w)[at]
        out += w
        return out

    def _state(self, tau: float) -> list[Floats]:
        """What a lag puts out at each edge."""
        if tau not in self._held:
            if len(self._held) > 200:
                self._held.clear()
            self._held[tau] = [_outputs(knots, tau) for knots in self._knots]
        return self._held[tau]


def _outputs(knots: _Knots, tau: float) -> Floats:
    keep = np.exp(-np.diff(knots.t) / tau)
    steps = zip(knots.w[:-1].tolist(), keep.tolist(), strict=True)
    held = accumulate(steps, lambda y, step: step[0] + (y - step[0]) * step[1], initial=float(knots.w[0]))
    return np.fromiter(held, np.float64, len(knots.t))


def _centred(x: Floats) -> Floats:
    out: Floats = x - x.mean()
    return out


def _left(total: float, along: Floats, across: Floats) -> Floats:
    """What is left of ``total`` once the best positive multiple of a response is taken away."""
    useful = (along > 0) & (across > 1e-12 * max(float(np.max(across, initial=0.0)), 1e-300))
    gained = np.where(useful, along, 0.0) ** 2 / np.where(useful, across, 1.0)
    out: Floats = np.maximum(total - gained, 1e-12 * total)
    return out
