"""Which nodes, links and groups are slow: tests on the fit, and the names that follow from them."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...records import Notice
from ..table import Floats, Ints
from . import fit, noise, partly
from .records import DeadLink, DeadNode, Direction, Effect, Noise, PairVerdict, SlowGroup, SlowLink, SlowNode

if TYPE_CHECKING:
    from .judge import State
    from .read import Pairs

FEWEST_PAIRS = 3  # of a node, before it can be told from its links
LEVEL_Z = 1.96
_EVERY_ROW = 128  # places up to which every row is tried for two heaps
_STRAY_Z = 2.5


class Half(NamedTuple):
    """A vertex that is slow to some."""

    vertex: int
    parts: partly.Parts
    rows: Ints  # the rows of the data that are its pairs
    q: float


def slower(effect: float, better: str) -> float:
    """A difference of logarithms as a share of the expected value: added to a time, or missing from a rate."""
    return math.expm1(min(effect, 50.0)) if better == "lower" else -math.expm1(-effect)


def effect(middle: float, u: float, better: str) -> Effect:
    return Effect(
        slower=slower(middle, better),
        low=slower(middle - LEVEL_Z * u, better),
        high=slower(middle + LEVEL_Z * u, better),
    )


def possible(pairs: Pairs, directed: bool) -> int:
    count = len(pairs.places)
    return count * (count - 1) // (1 if directed else 2)


def named(state: State, found: Noise) -> PairVerdict:
    """The verdict from a finished fit."""
    data, pairs = state.data, state.pairs
    groups = _friends(state, _whole(state, [], _node_rates(state, [])))
    inside = _inside(state, groups)
    halves = _halves(state, {vertex for group in groups for vertex in group}, inside)
    rates = _node_rates(state, halves)
    whole = _whole(state, halves, rates)
    links, hidden = _links(state, halves, set(whole), inside)
    halves += _many_links(state, links, halves)
    claimed = {index for half in halves for index in half.rows[half.parts.slow > 0.5].tolist()}
    links = [one for one in links if one[0] not in claimed]
    grouped, slow_groups = _grouped(state, groups, halves)
    nodes = _slow_nodes(state, {v: e for v, e in whole.items() if v not in grouped}, rates, halves, grouped)
    slow_links = _slow_links(state, links)
    dead_nodes, dead_links = dead(pairs)
    anything = nodes or slow_links or slow_groups or dead_nodes or dead_links
    typical = _typical(state)
    return PairVerdict(
        metric=pairs.metric,
        params=pairs.params,
        nodes=len(pairs.places),
        pairs=len(data.y),
        possible=possible(pairs, data.directed),
        passes=int(np.median(data.passes)),
        rounds=int(data.round.max()) + 1 if (data.round >= 0).all() else None,
        typical=typical,
        rate=state.settings.rate,
        groups=0 if state.groups is None else len(set(state.groups.of.tolist()) - {-1}),
        groups_from=state.groups_from,  # type: ignore[arg-type]
        state="slow" if anything else "clean",
        slow_nodes=nodes,
        slow_links=slow_links,
        slow_groups=slow_groups,
        dead_nodes=dead_nodes,
        dead_links=dead_links,
        noise=found,
        notices=_notices(state, found, hidden),
    )


def _typical(state: State) -> float:
    count = len(state.pairs.places)
    y = state.centre[0] + state.centre[count if state.data.directed else 0]
    return math.exp(y if state.pairs.metric.better == "lower" else -y)


# --------------------------------------------------------------------------------------------------------------- nodes


def _rows_of(state: State, vertex: int) -> Ints:
    return np.flatnonzero((state.data.a == vertex) | (state.to == vertex))


def _halves(state: State, grouped: set[int], inside: Ints) -> list[Half]:
    """Vertices whose pairs fall into two heaps. What groups explain (``grouped`` and the rows ``inside``) is left out."""
    got = state.fit
    vertices = len(got.degrees)
    suspects = np.flatnonzero(got.degrees >= 2 * partly.FEWEST)
    if len(state.pairs.places) > _EVERY_ROW:
        far = np.abs(got.residuals) / got.scales > _STRAY_Z
        counts = np.bincount(state.data.a[far], minlength=vertices) + np.bincount(state.to[far], minlength=vertices)
        usual = np.median(counts[suspects]) if len(suspects) else 0.0
        suspects = suspects[counts[suspects] > usual + 6 * np.sqrt(usual + 1) + 3]
    found = []
    for vertex in suspects.tolist():
        if vertex in grouped:
            continue
        rows = np.setdiff1d(_rows_of(state, vertex), inside)
        parts = partly.split(got.residuals[rows], state.sigma[rows], len(suspects))
        floor = state.settings.link_floor
        if parts is None or slower(parts.shift, state.pairs.metric.better) < floor:
            continue
        # of two slow nodes the slower may be all that counts: a heap of such pairs lies low only beside the sum of both
        raw = _raw(state, rows)
        slow = parts.slow > 0.5
        if np.median(raw[slow]) - np.median(raw[~slow]) >= 0.5 * parts.shift:
            found.append(Half(vertex, parts, rows, 0.0))
    return _own(state, found)


def _raw(state: State, rows: Ints) -> Floats:
    """How slow pairs are beside a typical one, whatever their nodes are."""
    found: Floats = (
        state.data.y[rows] - state.offsets[rows] - state.centre[state.data.a[rows]] - state.centre[state.to[rows]]
    )
    return found


def _own(state: State, halves: list[Half]) -> list[Half]:
    """A row in two heaps may only show that many of its peers are slow to some: of two such rows the one with more to
    explain comes first, and what it explains counts no more for the others."""
    kept: list[Half] = []
    taken = np.zeros(len(state.data.y), bool)
    for half in sorted(halves, key=lambda one: -one.parts.share * len(one.rows)):
        slow = half.parts.slow > 0.5
        if (slow & ~taken[half.rows]).sum() >= partly.FEWEST:
            kept.append(half)
            taken[half.rows[slow]] = True
    return kept


def _effects(state: State, halves: list[Half]) -> Floats:
    """Of each vertex beyond the typical one; of one that is slow to some the effect of its good pairs."""
    effects: Floats = state.fit.effects - state.centre
    for half in halves:
        effects[half.vertex] += half.parts.base
    return effects


def _uncertainty(state: State) -> Floats:
    found: Floats = np.sqrt(state.fit.u**2 + state.between**2)
    return found


def _node_rates(state: State, halves: list[Half]) -> Floats:
    """The false-discovery rate at which each vertex is just named; NaN for one that cannot be told from its links."""
    z = _effects(state, halves) / np.maximum(_uncertainty(state), 1e-12)
    able = np.isfinite(z) & (state.fit.degrees >= FEWEST_PAIRS)
    rates = np.full(len(z), np.nan)
    if able.any():
        p = noise.one_sided(z[able], node_dof(state.fit))
        rates[able] = noise.discovery_rates(p, int(able.sum()))
    return rates


def node_dof(got: fit.Fit) -> float:
    """Degrees of freedom of a node's uncertainty: a robust scale earns about half of those of a least-squares fit."""
    return max(got.dof / 2, 1.0)


def _whole(state: State, halves: list[Half], rates: Floats) -> dict[int, float]:
    """Vertices that are slow to everybody, with their effect."""
    effects = _effects(state, halves)
    better, settings = state.pairs.metric.better, state.settings
    return {
        vertex: float(effects[vertex])
        for vertex in np.flatnonzero(np.nan_to_num(rates, nan=1.0) <= settings.rate).tolist()
        if slower(float(effects[vertex]), better) >= settings.node_floor
    }


def _direction(state: State, vertex: int) -> Direction:
    if not state.data.directed:
        return "both"
    return "sending" if vertex < len(state.pairs.places) else "receiving"


def _slow_nodes(
    state: State, whole: dict[int, float], rates: Floats, halves: list[Half], grouped: set[int]
) -> tuple[SlowNode, ...]:
    count, better = len(state.pairs.places), state.pairs.metric.better
    found: dict[str, SlowNode] = {}
    for vertex, middle in sorted(whole.items(), key=lambda item: -item[1]):
        place = state.pairs.places[vertex % count]
        other = found.get(place)
        one = SlowNode(
            node=place,
            effect=effect(middle, float(state.fit.u[vertex]), better),
            direction=_direction(state, vertex),
            pairs=int(state.fit.degrees[vertex]),
            q=float(rates[vertex]),
        )
        # sending and receiving alike, within a factor of two: the node; else the direction that is slower
        if other is None:
            found[place] = one
        elif one.effect.slower >= 0.5 * other.effect.slower:
            found[place] = _joined(other, one)
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
                direction=_direction(state, half.vertex),
                share=len(slow) / len(half.rows),
                pairs=len(half.rows),
                peers=tuple(state.pairs.places[end] for end in np.unique(ends).tolist()),
                q=half.q,
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


# --------------------------------------------------------------------------------------------------------------- links


def _links(state: State, halves: list[Half], slow: set[int], inside: Ints) -> tuple[list[tuple[int, float]], int]:
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


def _many_links(state: State, links: list[tuple[int, float]], halves: list[Half]) -> list[Half]:
    """A vertex with far more slow links than its share is what they have in common."""
    counts = Counter(vertex for row, _ in links for vertex in (int(state.data.a[row]), int(state.to[row])))
    known = {half.vertex for half in halves}
    usual = 2 * len(links) / max(int((state.fit.degrees > 0).sum()), 1)
    found = []
    for vertex, number in counts.items():
        if number < partly.FEWEST or number <= 3 * usual or vertex in known:
            continue
        rows = _rows_of(state, vertex)
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
        found.append(Half(vertex, partly.Parts(0.0, shift, number / len(rows), mine.astype(float), u), rows, q))
    return found


def _slow_links(state: State, links: list[tuple[int, float]]) -> tuple[SlowLink, ...]:
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


# -------------------------------------------------------------------------------------------------------------- groups


def _grouped(state: State, groups: list[list[int]], halves: list[Half]) -> tuple[set[int], tuple[SlowGroup, ...]]:
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


def _between(state: State, members: set[int]) -> Ints:
    """The rows whose two ends are both among the vertices of one side."""
    count = len(state.pairs.places)
    among = np.zeros(count, bool)
    among[[vertex % count for vertex in members]] = True
    return np.flatnonzero(among[state.data.a] & among[state.data.b])


def _inside(state: State, groups: list[list[int]]) -> Ints:
    """The rows within groups."""
    rows = [_between(state, set(group)) for group in groups]
    return np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int64)


def _friends(state: State, whole: dict[int, float]) -> list[list[int]]:
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
    friends: dict[int, set[int]] = {vertex: set() for vertex in whole}
    met: Counter[tuple[int, int]] = Counter()
    rows = _between(state, set(whole))
    for row, raw in zip(rows.tolist(), _raw(state, rows).tolist(), strict=True):
        a, b = by_place[int(state.data.a[row])], by_place[int(state.data.b[row])]
        met[min(a, b), max(a, b)] += 1
        if raw < 0.5 * min(whole[a], whole[b]):
            friends[a].add(b)
            friends[b].add(a)
    found = []
    left = set(whole)
    while left:
        part, edge = set(), {left.pop()}
        while edge:
            vertex = edge.pop()
            part.add(vertex)
            new = friends[vertex] & left
            left -= new
            edge |= new
        inside = [pair for pair in met if pair[0] in part and pair[1] in part]
        good = sum(other in friends[one] for one, other in inside)
        if len(part) >= 3 and good >= 0.8 * len(inside):
            found.append(sorted(part))
    return found


def _share_a_way_out(state: State, halves: list[Half]) -> bool:
    """Nodes that are slow to a part of the others and never to each other."""
    if len(halves) < 3:
        return False
    slow = {row for half in halves for row in half.rows[half.parts.slow > 0.5].tolist()}
    inside = _between(state, {half.vertex for half in halves})
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
        direction=_direction(state, members[0]),
        share=share,
    )


# ---------------------------------------------------------------------------------------------------- dead, and notices


def dead(pairs: Pairs) -> tuple[tuple[DeadNode, ...], tuple[DeadLink, ...]]:
    """Pairs that gave no value; a node with most of its pairs dead stands for them."""
    tried: Counter[str] = Counter()
    for end in (pairs.a, pairs.b):
        tried.update(pairs.places[place] for place in end.tolist())
    gone: Counter[str] = Counter()
    why: dict[str, str] = {}
    links = {frozenset((link.a, link.b)): link for link in reversed(pairs.dead)}
    for link in links.values():
        for node in (link.a, link.b):
            gone[node] += 1
            why.setdefault(node, link.why)
    nodes = {node: number for node, number in gone.items() if number >= 2 and number >= 0.5 * (number + tried[node])}
    worst = {  # of two ends the one with more dead pairs stands for them
        node
        for node in nodes
        if any(
            gone[node] >= gone[other] for link in links.values() if node in (link.a, link.b) for other in _ends(link)
        )
    }
    found = tuple(
        DeadNode(node=node, dead=gone[node], tried=gone[node] + tried[node], why=why[node]) for node in sorted(worst)
    )
    return found, tuple(link for link in links.values() if link.a not in worst and link.b not in worst)


def _ends(link: DeadLink) -> tuple[str, str]:
    return link.a, link.b


def _notices(state: State, found: Noise, hidden: int) -> tuple[Notice, ...]:
    notices = []
    lonely = int(((state.fit.degrees > 0) & (state.fit.degrees < FEWEST_PAIRS)).sum())
    if lonely:
        notices.append(
            Notice(
                code="few-pairs",
                text=f"{lonely} nodes have fewer than {FEWEST_PAIRS} measured pairs: they are not told from their links",
                advice="measure more rounds",
            )
        )
    if state.fit.loose and not state.data.directed:
        notices.append(
            Notice(
                code="two-sides",
                text="the measured pairs fall into two sides that only met each other: one side slow and the other "
                "fast would not be seen",
                advice="measure at least three rounds of the tournament",
            )
        )
    if state.disturbed:
        most = max(state.disturbed, key=lambda one: abs(one[1]))
        notices.append(
            Notice(
                code="disturbed-rounds",
                text=f"{len(state.disturbed)} rounds were slower or faster as a whole, by up to "
                f"{abs(slower(most[1], state.pairs.metric.better)):.0%} (round {most[0] + 1}); that was taken out",
                advice="keep other jobs off the network while pairs are measured",
            )
        )
    if hidden:
        notices.append(
            Notice(
                code="strays",
                text=f"{hidden} more pairs are slow, but about as many are as far out on the fast side, so it may be noise",
                advice="measure a second pass; where some nodes are nearer to each other than others, give the topology",
            )
        )
    if found.sigma > 0.1 or found.tail_dof < 5:
        notices.append(
            Notice(
                code="noisy",
                text=f"pairs scatter by {found.sigma:.1%} beyond their nodes"
                + (", with many far off" if found.tail_dof < 5 else "")
                + f": only a link slower by {found.smallest_link:.0%} or more is surely found",
                advice="measure a second pass (of two, the faster counts), with more samples, on an idle network",
            )
        )
    return tuple(notices)
