"""Slow groups: nodes slow to all others, or to a part of them, and not among themselves."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from ..table import Ints
from .records import SlowGroup
from .state import Half, State, direction_of, effect, raw_of, rows_between


def rows_inside(state: State, groups: list[list[int]]) -> Ints:
    """The rows within groups."""
    rows = [rows_between(state, set(group)) for group in groups]
    return np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int64)


def friends(state: State, whole: dict[int, float]) -> list[list[int]]:
    """The groups of ``_befriended`` among the senders and among the receivers, where directions are apart."""
    count = len(state.pairs.places)
    return [
        group
        for side in range(1 + state.data.directed)
        for group in _befriended(state, {v: e for v, e in whole.items() if v // count == side})
    ]


def _befriended(state: State, whole: dict[int, float]) -> list[list[int]]:
    """Parts of the slow vertices that are not slow to each other: at least three, and four of five pairs as fast as usual.

    A pair of two slow nodes is at least as slow as the slower of them; one that is as fast as any other pair says that
    what is slow lies outside of both.
    """
    if len(whole) < 3:
        return []
    count = len(state.pairs.places)
    by_place = {vertex % count: vertex for vertex in whole}
    liked: dict[int, set[int]] = {vertex: set() for vertex in whole}
    met: Counter[tuple[int, int]] = Counter()
    rows = rows_between(state, set(whole))
    for row, raw in zip(rows.tolist(), raw_of(state, rows).tolist(), strict=True):
        a, b = by_place[int(state.data.a[row])], by_place[int(state.data.b[row])]
        met[min(a, b), max(a, b)] += 1
        if raw < 0.5 * min(whole[a], whole[b]):
            liked[a].add(b)
            liked[b].add(a)
    found = []
    left = set(whole)
    while left:
        part, edge = set(), {left.pop()}
        while edge:
            vertex = edge.pop()
            part.add(vertex)
            new = liked[vertex] & left
            left -= new
            edge |= new
        inside = [pair for pair in met if pair[0] in part and pair[1] in part]
        good = sum(other in liked[one] for one, other in inside)
        if len(part) >= 3 and good >= 0.8 * len(inside):
            found.append(sorted(part))
    return found


def slow_groups(state: State, groups: list[list[int]], halves: list[Half]) -> tuple[set[int], tuple[SlowGroup, ...]]:
    """Nodes slow to all but each other, or to a part of all but each other. Returns the vertices that groups explain."""
    claimed: set[int] = set()
    found = []
    count = len(state.pairs.places)
    for members in groups:
        middle = float(np.median(state.fit.effects[members] - state.centre[members]))
        u = float(np.median(state.fit.u[members])) * 1.2533 / math.sqrt(len(members))
        found.append(_group(state, members, middle, u, 1.0))
        claimed.update(members)
    for side in range(1 + state.data.directed):
        parted = [half for half in halves if half.vertex // count == side]
        if _share_a_way_out(state, parted):
            vertices = [half.vertex for half in parted]
            middle = float(np.median([half.parts.shift for half in parted]))
            u = float(np.median([half.parts.u for half in parted])) / math.sqrt(len(parted))
            share = float(np.median([half.parts.share for half in parted]))
            found.append(_group(state, vertices, middle, u, share))
            claimed.update(vertices)
    return claimed, tuple(found)


def _share_a_way_out(state: State, halves: list[Half]) -> bool:
    """Nodes that are slow to a part of the others and never to each other."""
    if len(halves) < 3:
        return False
    slow = {row for half in halves for row in half.rows[half.parts.slow > 0.5].tolist()}
    inside = rows_between(state, {half.vertex for half in halves})
    share = float(np.median([half.parts.share for half in halves]))
    expected = share * len(inside)
    return expected >= 5 and sum(row in slow for row in inside.tolist()) < 0.25 * expected


def _group(state: State, members: list[int], middle: float, u: float, share: float) -> SlowGroup:
    count = len(state.pairs.places)
    places = [vertex % count for vertex in members]
    switch = ""
    groups = state.groups
    if groups is not None and groups.names:
        number, most = Counter(int(groups.of[place]) for place in places).most_common(1)[0]
        size = int((groups.of == number).sum())
        if number >= 0 and most >= 0.8 * len(places) and most >= 0.8 * size:
            switch = groups.names[number]
    return SlowGroup(
        nodes=tuple(state.pairs.places[place] for place in places),
        switch=switch,
        effect=effect(middle, u, state.pairs.metric.better),
        direction=direction_of(state, members[0]),
        share=share,
    )
