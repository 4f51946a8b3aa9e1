"""From a finished fit to the verdict: groups first, then nodes, then links, then what is to be known beside."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...records import Notice
from .dead import dead_of
from .groups import friends, rows_inside, slow_groups
from .links import many_at_one, slow_links, slow_rows
from .nodes import halves_of, rates_of, slow_nodes, slow_to_all
from .read import Pairs
from .records import Noise, PairVerdict
from .state import FEWEST_PAIRS, State, slower


def named(state: State, found: Noise) -> PairVerdict:
    """The verdict from a finished fit."""
    data, pairs = state.data, state.pairs
    groups = friends(state, slow_to_all(state, [], rates_of(state, [])))
    inside = rows_inside(state, groups)
    halves = halves_of(state, {vertex for group in groups for vertex in group}, inside)
    rates = rates_of(state, halves)
    whole = slow_to_all(state, halves, rates)
    links, hidden = slow_rows(state, halves, set(whole), inside)
    halves += many_at_one(state, links, halves)
    claimed = {index for half in halves for index in half.rows[half.parts.slow > 0.5].tolist()}
    links = [one for one in links if one.row not in claimed]
    grouped, found_groups = slow_groups(state, groups, halves)
    nodes = slow_nodes(state, {v: e for v, e in whole.items() if v not in grouped}, rates, halves, grouped)
    found_links = slow_links(state, links)
    dead_nodes, dead_links = dead_of(pairs)
    anything = nodes or found_links or found_groups or dead_nodes or dead_links
    return PairVerdict(
        metric=pairs.metric,
        params=pairs.params,
        nodes=len(pairs.places),
        pairs=len(data.y),
        possible=possible(pairs, data.directed),
        passes=int(np.median(data.passes)),
        rounds=int(data.round.max()) + 1 if (data.round >= 0).all() and not data.directed else None,
        typical=_typical(state),
        rate=state.settings.rate,
        groups=0 if state.groups is None else len(set(state.groups.of.tolist()) - {-1}),
        groups_from=state.groups_from,  # type: ignore[arg-type]
        state="slow" if anything else "clean",
        slow_nodes=nodes,
        slow_links=found_links,
        slow_groups=found_groups,
        dead_nodes=dead_nodes,
        dead_links=dead_links,
        noise=found,
        notices=tuple(_notices(state, found, hidden)),
    )


def possible(pairs: Pairs, directed: bool) -> int:
    count = len(pairs.places)
    return count * (count - 1) // (1 if directed else 2)


def _typical(state: State) -> float:
    count = len(state.pairs.places)
    y = state.centre[0] + state.centre[count if state.data.directed else 0]
    return math.exp(y if state.pairs.metric.better == "lower" else -y)


def _notices(state: State, found: Noise, hidden: int) -> Iterator[Notice]:
    lonely = int(((state.fit.degrees > 0) & (state.fit.degrees < FEWEST_PAIRS)).sum())
    if lonely:
        yield Notice(
            code="few-pairs",
            text=f"{lonely} nodes have fewer than {FEWEST_PAIRS} measured pairs: they cannot be distinguished from "
            "their links",
            advice="measure more rounds",
        )
    if state.fit.loose and not state.data.directed:
        yield Notice(
            code="two-sides",
            text="the measured pairs fall into two sides that only met each other: one side slow and the other "
            "fast would not be seen",
            advice="measure at least three rounds of the tournament",
        )
    if state.disturbed:
        most = max(state.disturbed, key=lambda one: abs(one[1]))
        yield Notice(
            code="disturbed-rounds",
            text=f"{len(state.disturbed)} rounds were slower or faster as a whole, by up to "
            f"{abs(slower(most[1], state.pairs.metric.better)):.0%} (round {most[0] + 1}); that was taken out",
            advice="keep other jobs off the network while pairs are measured",
        )
    if hidden:
        yield Notice(
            code="strays",
            text=f"{hidden} more pairs are slow, but about as many are as far out on the fast side, so it may be noise",
            advice="measure a second pass; where some nodes are nearer to each other than others, give the topology",
        )
    if found.sigma > 0.1 or found.tail_dof < 5:
        yield Notice(
            code="noisy",
            text=f"pairs scatter by {found.sigma:.1%} beyond their nodes"
            + (", with many far off" if found.tail_dof < 5 else "")
            + ": only what is much slower is found",
            advice="measure a second pass (of two, the faster counts), with more samples, on an idle network",
        )
