"""A node's readings to the energy between neighbouring edges, piece by piece: the arithmetic of ``archive``."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...metering.trace import Floats, Ints

#: "counter": values are J that only grow, and the energy of an interval is what they gain.
Scope = Literal["last", "next", "point", "counter"]
HOUR_NS = 3600 * 10**9


class Rules(NamedTuple):
    """How readings become energy. ``gap_s`` None: five times the node's usual spacing."""

    scope: Scope = "last"
    gap_s: float | None = None
    shared: Literal["equal", "weight"] = "equal"


def hours(begin_ns: int, end_ns: int) -> Ints:
    """The full hours (UTC) that the period touches: the first begins at or before it."""
    return np.arange(begin_ns // HOUR_NS * HOUR_NS, end_ns, HOUR_NS, dtype=np.int64)


def edges(begins: Ints, ends: Ints, begin_ns: int, end_ns: int) -> Ints:
    """Every time within the period at which something begins or ends."""
    every = np.concatenate([[begin_ns, end_ns], begins, ends, hours(begin_ns, end_ns)]).astype(np.int64)
    return np.unique(every[(every >= begin_ns) & (every <= end_ns)])


class Segments:
    """The energy of a node between neighbouring edges, fed with its readings in order of time, piece by piece."""

    def __init__(self, edges: Ints, rules: Rules) -> None:
        self.edges = edges
        self.rules = rules
        self.energy_j = np.zeros(len(edges) - 1)
        self.covered_ns = np.zeros(len(edges) - 1, np.int64)
        self.rows = 0
        self.gap_ns = 0 if rules.gap_s is None else round(rules.gap_s * 1e9)
        self._last: tuple[Ints, NDArray[Any]] | None = None

    def feed(self, t: Ints, v: NDArray[Any]) -> None:
        """The next readings. Within a piece their order does not matter; no piece reaches back into the one before."""
        if len(t) == 0:
            return
        self.rows += len(t)
        if bool(np.any(t[1:] < t[:-1])):
            order = np.argsort(t, kind="stable")
            t, v = t[order], v[order]
        if self._last is not None:
            t, v = np.concatenate([self._last[0], t]), np.concatenate([self._last[1], v])
        self._last = (t[-1:].copy(), v[-1:].copy())
        if len(t) < 2:
            return
        spacing = np.diff(t)
        if not self.gap_ns:
            rising = spacing[:100_000][spacing[:100_000] > 0]
            self.gap_ns = 5 * int(np.median(rising)) if len(rising) else 0
        with np.errstate(invalid="ignore"):
            self._add(t, v, spacing)

    def _add(self, t: Ints, v: NDArray[Any], spacing: Ints) -> None:
        scope = self.rules.scope
        if scope == "last":
            area = spacing * v[1:]
        elif scope == "counter":
            gained = np.diff(v.astype(np.float64, copy=False))
            area = np.where(gained < 0, np.nan, gained) * 1e9  # begun anew: what flowed in between is not known
        elif scope == "next":
            area = spacing * v[:-1]
        else:
            area = spacing * (np.add(v[:-1], v[1:], dtype=np.float64) * 0.5)
        bad = None if np.isfinite(np.sum(area)) else ~np.isfinite(area)
        if int(spacing.max()) > self.gap_ns:
            bad = (spacing > self.gap_ns) if bad is None else bad | (spacing > self.gap_ns)
        if bad is not None:
            area[bad] = 0.0
        # Where each edge falls: into the interval i with t[i] < edge <= t[i + 1].
        at = np.searchsorted(t, self.edges, side="left") - 1
        inside = (at >= 0) & (at < len(spacing))
        first = np.clip(at, 0, len(spacing))
        i = np.where(inside, at, 0)
        if bad is not None:
            inside &= ~bad[i]
        ahead = np.where(inside, self.edges - t[i], 0)  # ns of that interval before the edge
        part = _part(scope, v, spacing, area, i, ahead)
        self.energy_j += (_between(area, first) + (part[1:] - part[:-1])) / 1e9
        if bad is None:
            seen: Ints = np.clip(self.edges, t[0], t[-1])
            self.covered_ns += seen[1:] - seen[:-1]
        else:
            self.covered_ns += _between(np.where(bad, 0, spacing), first) + (ahead[1:] - ahead[:-1])


def _part(scope: Scope, v: NDArray[Any], spacing: Ints, area: Floats, i: NDArray[np.intp], ahead: Ints) -> Floats:
    """W ns of each interval i up to ``ahead`` ns after its begin."""
    whole = np.maximum(spacing[i], 1)
    if scope == "point":
        low = v[i].astype(np.float64)
        out: Floats = np.where(ahead > 0, ahead * (low + (v[i + 1] - low) * (ahead / whole) / 2), 0.0)
        return out
    out = np.where(ahead > 0, area[i] * (ahead / whole), 0.0)
    return out


def _between(values: NDArray[Any], first: NDArray[np.intp]) -> NDArray[Any]:
    """The sums over [first[k], first[k + 1])."""
    out = np.zeros(len(first) - 1, values.dtype)
    full = np.flatnonzero(first[:-1] < first[1:])
    if len(full):
        out[full] = np.add.reduceat(values[: first[full[-1] + 1]], first[full])
    return out


def spans(values: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """The sum over [first, last) of every pair."""
    if not len(first):
        return np.empty(0)
    sums = np.add.reduceat(np.concatenate([values, [0.0]]), np.stack([first, last], axis=1).ravel())[::2]
    out: Floats = np.where(first < last, sums, 0.0)
    return out
