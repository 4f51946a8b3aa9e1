"""Slow nodes: to everybody, or to some of their peers."""

from __future__ import annotations

import numpy as np

from ..table import Floats, Ints
from . import noise, partial_slowdown
from .records import Effect, SlowNode
from .state import FEWEST_PAIRS, Half, State, direction_of, effect, node_dof, raw_of, rows_of, slower

_FAR_Z = 4.0  # what lies farther off counts as much: one stray makes no heap
_DEVIATIONS = 3.0


def halves_of(state: State, grouped: set[int], inside: Ints) -> list[Half]:
    """Vertices whose pairs fall into two heaps. What groups explain (``grouped`` and the rows ``inside``) is left out."""
    got = state.fit
    suspects = _scattered(state)
    found = []
    for vertex in suspects.tolist():
        if vertex in grouped:
            continue
        rows = np.setdiff1d(rows_of(state, vertex), inside)
        parts = partial_slowdown.split(got.residuals[rows], state.sigma[rows], len(got.degrees))
        floor = state.settings.link_floor
        if parts is None or slower(parts.shift, state.pairs.metric.better) < floor:
            continue
        # of two slow nodes the slower may be all that counts: a heap of such pairs lies low only beside the sum of both
        raw = raw_of(state, rows)
        slow = parts.slow > 0.5
        if np.median(raw[slow]) - np.median(raw[~slow]) >= 0.5 * parts.shift:
            found.append(Half(vertex, parts, rows))
    return _own(state, found)


def _scattered(state: State) -> Ints:
    """The vertices whose rows scatter by more than noise: two heaps would. What two heaps gain in likelihood is about what
    the sum of squares has beyond its number."""
    got = state.fit
    vertices = len(got.degrees)
    squares = np.minimum(got.residuals / got.scales, _FAR_Z) ** 2
    excess = np.bincount(state.data.a, squares, vertices) + np.bincount(state.to, squares, vertices) - got.degrees
    least = np.maximum(0.7 * partial_slowdown.least_gain(vertices), _DEVIATIONS * np.sqrt(2.0 * got.degrees))
    return np.flatnonzero((got.degrees >= 2 * partial_slowdown.FEWEST) & (excess > least))


def _own(state: State, halves: list[Half]) -> list[Half]:
    """A row in two heaps may only show that many of its peers are slow to some: of two such rows the one with more to
    explain comes first, and what it explains counts no more for the others."""
    kept: list[Half] = []
    taken = np.zeros(len(state.data.y), bool)
    for half in sorted(halves, key=lambda one: -one.parts.share * len(one.rows)):
        slow = half.parts.slow > 0.5
        if (slow & ~taken[half.rows]).sum() >= partial_slowdown.FEWEST:
            kept.append(half)
            taken[half.rows[slow]] = True
    # one whose slow pairs nearly all lead to others of these is told there
    names = {half.vertex for half in kept}
    return [half for half in kept if _told_elsewhere(state, half, names) < 0.8]


def _told_elsewhere(state: State, half: Half, names: set[int]) -> float:
    """The share of a vertex' slow pairs whose other end is another such vertex."""
    slow = half.rows[half.parts.slow > 0.5]
    ends = np.where(state.data.a[slow] == half.vertex, state.to[slow], state.data.a[slow])
    return float(np.mean([end in names for end in ends.tolist()]))


def _effects(state: State, halves: list[Half]) -> Floats:
    """Of each vertex beyond the typical one; of one that is slow to some the effect of its good pairs."""
    effects: Floats = state.fit.effects - state.centre
    for half in halves:
        effects[half.vertex] += half.parts.base
    return effects


def _uncertainty(state: State) -> Floats:
    found: Floats = np.sqrt(state.fit.u**2 + state.between**2)
    return found


def rates_of(state: State, halves: list[Half]) -> Floats:
    """The false-discovery rate at which each vertex is just named; NaN for one that cannot be determined from its links."""
    z = _effects(state, halves) / np.maximum(_uncertainty(state), 1e-12)
    able = np.isfinite(z) & (state.fit.degrees >= FEWEST_PAIRS)
    rates = np.full(len(z), np.nan)
    if able.any():
        p = noise.one_sided(z[able], node_dof(state.fit))
        rates[able] = noise.discovery_rates(p, int(able.sum()))
    return rates


def slow_to_all(state: State, halves: list[Half], rates: Floats) -> dict[int, float]:
    """Vertices that are slow to everybody, with their effect."""
    effects = _effects(state, halves)
    better, settings = state.pairs.metric.better, state.settings
    return {
        vertex: float(effects[vertex])
        for vertex in np.flatnonzero(np.nan_to_num(rates, nan=1.0) <= settings.rate).tolist()
        if slower(float(effects[vertex]), better) >= settings.node_floor
    }


def slow_nodes(
    state: State, whole: dict[int, float], rates: Floats, halves: list[Half], grouped: set[int]
) -> tuple[SlowNode, ...]:
    count, better = len(state.pairs.places), state.pairs.metric.better
    found: dict[tuple[str, str], SlowNode] = {}
    for vertex, middle in sorted(whole.items(), key=lambda item: -item[1]):
        place = state.pairs.places[vertex % count]
        one = SlowNode(
            node=place,
            effect=effect(middle, float(state.fit.u[vertex]), better),
            direction=direction_of(state, vertex),
            pairs=int(state.fit.degrees[vertex]),
            q=float(rates[vertex]),
        )
        # sending and receiving alike, within a factor of two: the node; else each direction by itself
        other = next((held for key, held in found.items() if key[0] == place), None)
        if other is not None and one.effect.slower >= 0.5 * other.effect.slower:
            found[place, other.direction] = _joined(other, one)
        else:
            found[place, one.direction] = one
    parts = []
    for half in halves:
        if half.vertex in grouped:
            continue
        slow = half.rows[half.parts.slow > 0.5]
        ends = np.where(state.data.a[slow] == half.vertex, state.data.b[slow], state.data.a[slow])
        parts.append(
            SlowNode(
                node=state.pairs.places[half.vertex % count],
                effect=effect(half.parts.shift, half.parts.u, better),
                direction=direction_of(state, half.vertex),
                share=len(slow) / len(half.rows),
                pairs=len(half.rows),
                peers=tuple(state.pairs.places[end] for end in np.unique(ends).tolist()),
                q=half.parts.q,
            )
        )
    return (*sorted(found.values(), key=lambda one: -one.effect.slower), *parts)


def _joined(one: SlowNode, other: SlowNode) -> SlowNode:
    def mean(x: float, y: float) -> float:
        return (x + y) / 2

    return SlowNode(
        node=one.node,
        effect=Effect(
            slower=mean(one.effect.slower, other.effect.slower),
            low=min(one.effect.low, other.effect.low),
            high=max(one.effect.high, other.effect.high),
        ),
        pairs=one.pairs + other.pairs,
        q=max(one.q, other.q),
    )
