"""Slow links: pairs that are slower than their two nodes explain."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from ..table import Floats, Ints
from . import noise, partial_slowdown
from .records import SlowLink
from .state import FEWEST_PAIRS, Half, State, effect, rows_of, slower

_MANY = 5  # slow links of one node that are told as one finding


class SlowRow(NamedTuple):
    row: int
    effect: float  # in log time, beyond its nodes
    rate: float  # the false-discovery rate at which it is just named


def slow_rows(state: State, halves: list[Half], slow: set[int], inside: Ints) -> tuple[list[SlowRow], int]:
    """Rows that are slower than their nodes explain; and how many more there would be if as many were not as far out on the
    fast side."""
    got, settings = state.fit, state.settings
    able = (got.degrees[state.data.a] >= FEWEST_PAIRS) & (got.degrees[state.to] >= FEWEST_PAIRS)
    able[inside] = False
    for half in halves:
        able[half.rows[half.parts.slow > 0.5]] = False
    tested = np.flatnonzero(able)
    if not len(tested):
        return [], 0
    base = np.zeros(len(state.data.y))
    for half in halves:  # the good pairs of such a node are measured by each other
        base[half.rows] += half.parts.base
    extra = (got.residuals - base)[tested]
    z = extra / (state.sigma[tested] * state.tail.slow)
    candidates = np.flatnonzero(z > 2.0)
    p = noise.one_sided(z[candidates], state.tail.dof)
    rates = noise.discovery_rates(p, len(tested))
    better = state.pairs.metric.better
    found = [
        SlowRow(int(tested[row]), float(extra[row]), float(rate))
        for row, rate in zip(candidates.tolist(), rates.tolist(), strict=True)
        if rate <= settings.rate and slower(float(extra[row]), better) >= settings.link_floor
    ]
    far = z[np.searchsorted(tested, [one.row for one in found])] if found else np.zeros(0)
    least = noise.farther_than_fast(far, _fast(state, tested, slow, base), settings.rate)
    kept = [one for one, z_one in zip(found, far.tolist(), strict=True) if z_one >= least]
    return kept, len(found) - len(kept)


def _fast(state: State, tested: Ints, slow: set[int], base: Floats) -> Floats:
    """How far the tested rows are out on the fast side. Two slow nodes may be less slow together than each makes the
    pair (the slower is the bottleneck): such pairs say nothing of noise."""
    known = np.zeros(len(state.fit.degrees), bool)
    known[list(slow)] = True
    rows = tested[~(known[state.data.a[tested]] & known[state.to[tested]])]
    found: Floats = (base - state.mirror)[rows] / (state.sigma[rows] * state.tail.slow)
    return found


def many_at_one(state: State, links: list[SlowRow], halves: list[Half]) -> list[Half]:
    """A vertex with far more slow links than its share is what they have in common."""
    counts = Counter(vertex for one in links for vertex in (int(state.data.a[one.row]), int(state.to[one.row])))
    known = {half.vertex for half in halves}
    usual = 2 * len(links) / max(int((state.fit.degrees > 0).sum()), 1)
    found = []
    for vertex, number in counts.items():
        if number < _MANY or number <= 3 * usual or vertex in known:
            continue
        rows = rows_of(state, vertex)
        mine = np.isin(rows, [one.row for one in links])
        others = max(
            counts[int(end)]
            for end in np.concatenate([state.data.a[rows[mine]], state.to[rows[mine]]])
            if end != vertex
        )
        if others >= number:
            continue  # the other end has as many: it is told there
        shift = float(np.median(state.fit.residuals[rows[mine]]))
        u = float(np.median(state.sigma[rows[mine]])) * 1.2533 / math.sqrt(number)
        q = max(one.rate for one in links if one.row in set(rows[mine].tolist()))
        found.append(
            Half(vertex, partial_slowdown.Parts(0.0, shift, number / len(rows), mine.astype(float), u, q), rows)
        )
    return found


def slow_links(state: State, links: list[SlowRow]) -> tuple[SlowLink, ...]:
    data, pairs = state.data, state.pairs
    by_ends = {(int(data.a[one.row]), int(data.b[one.row])): one for one in links}
    better = pairs.metric.better
    found = []
    for (a, b), one in sorted(by_ends.items(), key=lambda item: -item[1].effect):
        back = by_ends.get((b, a)) if data.directed else None
        if back is not None and a > b:
            continue  # told by the other direction
        both = [one] if back is None else [one, back]
        rows = [each.row for each in both]
        middle = float(np.mean([each.effect for each in both]))
        sign = 1.0 if better == "lower" else -1.0
        value = math.exp(sign * float(np.mean(data.y[rows])))
        found.append(
            SlowLink(
                a=pairs.places[a],
                b=pairs.places[b],
                one_way=data.directed and back is None,
                effect=effect(middle, float(state.sigma[one.row]) / math.sqrt(len(rows)), better),
                value=value,
                expected=value / math.exp(sign * middle),
                passes=int(data.passes[one.row]),
                q=max(each.rate for each in both),
            )
        )
    return tuple(found)
