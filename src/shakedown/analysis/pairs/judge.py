"""The story of a verdict: combine passes -> fit -> near and far, disturbed rounds -> noise -> nodes, links, groups."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ...records import Notice
from ..statistics import MAD_TO_SIGMA
from ..table import Floats, Ints
from . import fit, name, noise, topology
from .dead import dead_of
from .read import Pairs
from .records import Noise, PairVerdict
from .state import Combined, Settings, State, node_dof, slower

FEWEST_NODES = 5  # of four nodes two links that share none are told apart by nothing
FEWEST_DOF = 5
_ROUND_PAIRS = 4  # from which a round has a median worth taking out
_ROUND_DEVIATIONS = 5.0
_OFFSET_STEPS = 4
_BLUNT = 0.05  # a node this much slower should be seen


def verdict(pairs: Pairs, settings: Settings | None = None, *, switches: dict[str, str] | None = None) -> PairVerdict:
    """Slow nodes and slow links of one matrix, named apart. ``switches`` maps nodes to their leaf switches.

    Raises BadInput where ``switches`` names none of the nodes.
    """
    found = _verdict(pairs, settings or Settings(), switches)
    lead = _groups_decide(found)
    return msgspec.structs.replace(found, notices=(*found.notices, lead)) if lead is not None else found


def _verdict(pairs: Pairs, settings: Settings, switches: dict[str, str] | None) -> PairVerdict:
    data = combine(pairs)
    why = _undecided(pairs, data)
    if why:
        return _nothing(pairs, settings, data, why)
    state = _fitted(pairs, settings, data, switches)
    if state.fit.dof < FEWEST_DOF:
        why = f"{len(data.y)} pairs determine the nodes and leave {state.fit.dof} over"
        return _nothing(pairs, settings, data, why)
    return name.named(state, noise_of(state))


def _groups_decide(found: PairVerdict) -> Notice | None:
    """Where collectives over chosen groups (``analysis.groups``) would decide what these pairs do not: of too few pairs, and
    of what is slow behind a switch; None elsewhere."""
    if found.nodes < FEWEST_NODES:
        return None
    rounds = max(math.ceil(2 * math.log2(found.nodes)), 8)
    if found.slow_groups:
        text = "which switch, uplink or path it is that nodes are slow behind, groups over them can say"
        option = " --topology FILE"
    elif found.state == "undecided" or (
        found.noise is not None and found.noise.smallest_node > _BLUNT and found.pairs < found.possible
    ):
        text, option = f"slow nodes show in at most {rounds} rounds of groups, without all pairs", ""
    else:
        return None
    step = f"shakedown groups DIRECTORY{option}, with --on or --hosts for these {found.nodes} nodes"
    return Notice(code="groups-decide", text=text, advice=step)


# ---------------------------------------------------------------------------------------------------------- one a pair


def combine(pairs: Pairs) -> Combined:
    """Of two passes the faster, of more the median: a disturbance of one pass is no slow link."""
    a, b = pairs.a, pairs.b
    count = len(pairs.places)
    sign = 1.0 if pairs.metric.better == "lower" else -1.0
    y = sign * np.log(pairs.values)
    unordered = np.minimum(a, b) * count + np.maximum(a, b)
    there, back = _distinct(unordered[a < b]), _distinct(unordered[a > b])
    both_ways = np.isin(back, there, assume_unique=True).sum()
    directed = bool(both_ways > 0.5 * (len(there) + len(back) - both_ways))
    if not directed:
        a, b = np.minimum(a, b), np.maximum(a, b)
    keys, place, passes = np.unique(a * count + b, return_inverse=True, return_counts=True)
    if len(keys) == len(y):
        return Combined(a, b, y, y, pairs.spread, pairs.round, passes, directed)
    order = np.lexsort((y, place))
    starts = np.cumsum(passes) - passes
    low = order[starts + np.where(passes == 2, 0, (passes - 1) // 2)]
    high = order[starts + np.where(passes == 2, 0, passes // 2)]
    middle = (y[low] + y[high]) / 2
    spread = np.bincount(place, np.nan_to_num(pairs.spread), len(keys)) / passes
    spread /= np.where(passes > 2, np.sqrt(passes), 1.0)
    return Combined(
        keys // count,
        keys % count,
        middle,
        np.where(passes == 2, y[order[starts + passes - 1]], middle),
        spread,
        np.full(len(keys), -1, np.int64),  # each pass has rounds of its own
        passes,
        directed,
    )


def _distinct(keys: Ints) -> Ints:
    """The keys, each once, in order: by sorting, which for a million takes a tenth of numpy's hashing."""
    ordered = np.sort(keys)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def _undecided(pairs: Pairs, data: Combined) -> str:
    here = np.count_nonzero(np.bincount(np.concatenate([data.a, data.b]), minlength=1))
    if here < FEWEST_NODES:
        return f"only {here} nodes: from {FEWEST_NODES} on a slow link can be distinguished from a slow node"
    return ""


# ------------------------------------------------------------------------------------------------------ fit and offsets


def _groups(
    pairs: Pairs, data: Combined, first: fit.Fit, switches: dict[str, str] | None
) -> tuple[topology.Groups | None, str]:
    if switches:
        return topology.given(switches, pairs.hosts), "topology"
    if by_host := topology.by_host(pairs.hosts):
        return by_host, "topology"
    found = topology.found(data.a, data.b, first.residuals, len(pairs.places))
    return found, "values" if found else ""


def _fitted(pairs: Pairs, settings: Settings, data: Combined, switches: dict[str, str] | None) -> State:
    count = len(pairs.places)
    vertices = count * (1 + data.directed)
    to = data.b + count if data.directed else data.b
    got = fit.additive(data.a, to, data.y, vertices, data.spread)
    groups, origin = _groups(pairs, data, got, switches)
    offsets, near = np.zeros(len(data.y)), np.zeros(len(data.y))
    disturbed: tuple[tuple[int, float], ...] = ()
    for _ in range(_OFFSET_STEPS if groups else 1):
        before = offsets
        if groups:
            near = near + _nearness(groups, data, got)
        rounds, disturbed = _rounds(data, got.residuals + offsets - near, got)
        offsets = near + rounds
        if np.allclose(offsets, before, atol=0.02 * got.sigma):
            break
        got = fit.additive(data.a, to, data.y - offsets, vertices, data.spread)
    centre, between = np.zeros(vertices), np.zeros(vertices)
    for begin in range(0, vertices, count):
        side = slice(begin, begin + count)
        centre[side], between[side] = _population(got, side)
    sigma = got.scales * np.sqrt(1 + got.leverage)
    mirror = got.residuals + data.mirror - data.y
    mirror -= np.median(mirror)
    tail = noise.tail(got.residuals / sigma, -mirror / sigma)
    return State(
        pairs, settings, data, got, to, offsets, groups, origin, disturbed, tail, centre, between, sigma, mirror
    )


def _nearness(groups: topology.Groups, data: Combined, got: fit.Fit) -> Floats:
    """How much faster pairs inside a group are, by the median; the pairs between groups are the measure."""
    one, other = groups.of[data.a], groups.of[data.b]
    inside = (one == other) & (one >= 0)
    if inside.sum() < 3 or (~inside).sum() < 3:
        return np.zeros(len(data.y))
    return np.where(inside, np.median(got.residuals[inside]) - np.median(got.residuals[~inside]), 0.0)


def _rounds(data: Combined, residuals: Floats, got: fit.Fit) -> tuple[Floats, tuple[tuple[int, float], ...]]:
    """What each disturbed round was slower by as a whole: something else used the network meanwhile.

    A round is disturbed when its median lies 5 of its standard errors (1.25 sigma / sqrt(pairs)) from that of all.
    """
    nothing = np.zeros(len(residuals))
    if (data.round < 0).any():
        return nothing, ()
    counts = np.bincount(data.round)
    if np.median(counts) < _ROUND_PAIRS:
        return nothing, ()
    order = np.lexsort((residuals, data.round))
    starts = np.cumsum(counts) - counts
    ordered = residuals[order]
    last = len(ordered) - 1
    medians = (
        ordered[np.minimum(starts + np.maximum(counts - 1, 0) // 2, last)]
        + ordered[np.minimum(starts + counts // 2, last)]
    ) / 2
    medians = medians - np.median(medians[counts > 0])
    error = 1.2533 * got.sigma / np.sqrt(np.maximum(counts, 1))
    shifted = (np.abs(medians) > _ROUND_DEVIATIONS * error) & (counts >= _ROUND_PAIRS)
    named = tuple((int(one), float(medians[one])) for one in np.flatnonzero(shifted))
    return np.where(shifted, medians, 0.0)[data.round], named


def _population(got: fit.Fit, side: slice) -> tuple[float, float]:
    """The typical node and the scatter of healthy ones beyond their uncertainty, from the fast half, without the slow.

    Of fewer than eight nodes nothing is learnt of their scatter.
    """
    effects, u = got.effects[side], got.u[side]
    there = np.isfinite(effects)
    if not there.any():
        return 0.0, 0.0
    centre = float(np.median(effects[there]))
    if there.sum() < 8:
        return centre, 0.0
    fast = centre - effects[there & (effects <= centre)]
    total = MAD_TO_SIGMA * float(np.median(fast))
    return centre, float(np.sqrt(max(total**2 - float(np.median(u[there])) ** 2, 0.0)))


# --------------------------------------------------------------------------------------------------------------- noise


def noise_of(state: State) -> Noise:
    """The scatter, and the least slowness that would have been named with a probability of 90 % (as the only one)."""
    got, settings, data = state.fit, state.settings, state.data
    tests, nodes = len(data.y), int((got.degrees > 0).sum())
    likely = 1.2816  # the 90 % quantile of the normal distribution
    link = (noise.quantile(settings.rate / tests, state.tail.dof) * state.tail.slow + likely) * float(
        np.median(state.sigma)
    )
    u = float(np.nanmedian(np.sqrt(got.u**2 + state.between**2)))
    node = (noise.quantile(settings.rate / nodes, node_dof(got)) + likely) * u
    better = state.pairs.metric.better
    return Noise(
        sigma=got.sigma,
        sigma_slow=got.sigma * state.tail.slow,
        between_nodes=float(np.max(state.between)),
        tail_dof=state.tail.dof,
        smallest_node=max(slower(node, better), settings.node_floor),
        smallest_link=max(slower(link, better), settings.link_floor),
    )


def _nothing(pairs: Pairs, settings: Settings, data: Combined, why: str) -> PairVerdict:
    """A verdict that names nothing but what is dead."""
    dead_nodes, dead_links = dead_of(pairs)
    return PairVerdict(
        metric=pairs.metric,
        params=pairs.params,
        nodes=len(pairs.places),
        pairs=len(data.y),
        possible=name.possible(pairs, data.directed),
        passes=int(np.median(data.passes)) if len(data.passes) else 0,
        typical=float(np.median(pairs.values)) if len(pairs.values) else None,
        rate=settings.rate,
        state="slow" if dead_nodes or dead_links else "undecided",
        dead_nodes=dead_nodes,
        dead_links=dead_links,
        notices=(
            Notice(
                code="few-pairs",
                text=f"slow nodes and slow links cannot be distinguished: {why}",
                advice="measure more nodes, or more rounds of the tournament",
            ),
        ),
    )
