"""Slow links: pairs that are slower than their two nodes explain."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from ..table import Floats, Ints
from . import noise, partly
from .records import SlowLink
from .state import FEWEST_PAIRS, Half, State, effect, rows_of, slower

_MANY = 5  # slow links of one node that are told as one finding


def slow_rows(state: State, halves: list[Half], slow: set[int], inside: Ints) -> tuple[list[tuple[int, float]], int]:
    """Rows that are slower than their nodes explain, with the rate at which each is just named; and how many more there
    would be if as many were not as far out on the fast side."""
    got, settings = state.fit, state.settings
    able = (got.degrees[state.data.a] >= FEWEST_PAIRS) & (got.degrees[state.to] >= FEWEST_PAIRS)
    able[inside] = False
    for half in halves:
        able[half.rows[half.parts.slow > 0.5]] = False
    tested = np.flatnonzero(able)
    if not len(tested):
        return [], 0
    extra = got.residuals[tested].copy()
    for half in halves:  # the good pairs of such a node are measured by each other
        extra[np.isin(tested, half.rows)] -= half.parts.base
    z = extra / (state.sigma[tested] * state.tail.slow)
    candidates = np.flatnonzero(z > 2.0)
    p = noise.one_sided(z[candidates], state.tail.dof)
    rates = noise.discovery_rates(p, len(tested))
    better = state.pairs.metric.better
    found = [
        (int(tested[row]), float(rate))
        for row, rate in zip(candidates.tolist(), rates.tolist(), strict=True)
        if rate <= settings.rate and slower(float(extra[row]), better) >= settings.link_floor
    ]
    far = z[np.searchsorted(tested, [row for row, _ in found])] if found else np.zeros(0)
    least = noise.farther_than_fast(far, _fast(state, tested, slow), settings.rate)
    kept = [one for one, z_one in zip(found, far.tolist(), strict=True) if z_one >= least]
    return kept, len(found) - len(kept)


def _fast(state: State, tested: Ints, slow: set[int]) -> Floats:
    """How far the tested rows are out on the fast side. Two slow nodes may be less slow together than each makes the
    pair (the slower is the bottleneck): such pairs say nothing of noise."""
    known = np.zeros(len(state.fit.degrees), bool)
    known[list(slow)] = True
    rows = tested[~(known[state.data.a[tested]] & known[state.to[tested]])]
    found: Floats = -state.mirror[rows] / (state.sigma[rows] * state.tail.slow)
    return found


def many_at_one(state: State, links: list[tuple[int, float]], halves: list[Half]) -> list[Half]:
    """A vertex with far more slow links than its share is what they have in common."""
    counts = Counter(vertex for row, _ in links for vertex in (int(state.data.a[row]), int(state.to[row])))
    known = {half.vertex for half in halves}
    usual = 2 * len(links) / max(int((state.fit.degrees > 0).sum()), 1)
    found = []
    for vertex, number in counts.items():
        if number < _MANY or number <= 3 * usual or vertex in known:
            continue
        rows = rows_of(state, vertex)
        mine = np.isin(rows, [row for row, _ in links])
        others = max(
            counts[int(end)]
            for end in np.concatenate([state.data.a[rows[mine]], state.to[rows[mine]]])
            if end != vertex
        )
        if others >= number:
            continue  # the other end has as many: it is told there
        shift = float(np.median(state.fit.residuals[rows[mine]]))
        u = float(np.median(state.sigma[rows[mine]])) * 1.2533 / math.sqrt(number)
        q = max(rate for row, rate in links if row in set(rows[mine].tolist()))
        found.append(Half(vertex, partly.Parts(0.0, shift, number / len(rows), mine.astype(float), u, q), rows))
    return found


def slow_links(state: State, links: list[tuple[int, float]]) -> tuple[SlowLink, ...]:
    got, data, pairs = state.fit, state.data, state.pairs
    back = {(int(data.a[row]), int(data.b[row])) for row, _ in links}
    better = pairs.metric.better
    found = []
    for row, rate in sorted(links, key=lambda one: -got.residuals[one[0]]):
        a, b = int(data.a[row]), int(data.b[row])
        if data.directed and (b, a) in back and a > b:
            continue  # told by the other direction
        middle = float(got.residuals[row])
        rows = [row]
        if data.directed and (b, a) in back:
            rows += [one for one, _ in links if (int(data.a[one]), int(data.b[one])) == (b, a)]
            middle = float(np.mean(got.residuals[rows]))
        sign = 1.0 if better == "lower" else -1.0
        value = math.exp(sign * float(np.mean(data.y[rows])))
        found.append(
            SlowLink(
                a=pairs.places[a],
                b=pairs.places[b],
                one_way=data.directed and len(rows) == 1,
                effect=effect(middle, float(state.sigma[row]) / math.sqrt(len(rows)), better),
                value=value,
                expected=value / math.exp(sign * middle),
                passes=int(data.passes[row]),
                q=rate,
            )
        )
    return tuple(found)
