"""The nodes to measure, drawn at random from a recorded seed, in whole groups that share power supplies.

    draw(description, rules, level, seed)  ->  NodeSample      the fewest nodes that a level needs, by count, watts and share
    redraw(description)                    ->  names     the same draw again, from what was recorded

The order is that of SHA-256 over "seed/set/first node of the group": it can be repeated with any tool, for ever, and no
one can prefer a node without showing another seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from ...errors import BadInput
from ...records import Record
from .rules import Fraction, Rules
from .submission import Description, NodeSet, expand

METHOD = (
    "groups of nodes that share power supplies, sorted by SHA-256 of 'SEED/SET/FIRST NODE' (UTF-8, hexadecimal), the first "
    "so many of each set"
)


class DrawnSet(Record, frozen=True, kw_only=True):
    name: str
    nodes: tuple[str, ...]
    groups: int
    of_nodes: int
    watts: float | None  # expected


class NodeSample(Record, frozen=True, kw_only=True):
    """The nodes to measure, and how they were found."""

    level: int
    rules: str
    seed: int
    sets: tuple[DrawnSet, ...]
    nodes: int
    of_nodes: int
    watts: float | None
    why: str  # which of the rule's alternatives it meets
    method: str = METHOD


def groups(one: NodeSet) -> tuple[tuple[str, ...], ...]:
    """A set's nodes in groups that share supplies, in the order of their names as given."""
    names = expand(one.names)
    return tuple(names[i : i + one.chassis] for i in range(0, len(names), one.chassis))


def shuffled(one: NodeSet, seed: int) -> list[tuple[str, ...]]:
    """The groups in the order that a seed gives them."""

    def key(group: tuple[str, ...]) -> str:
        return hashlib.sha256(f"{seed}/{one.name}/{group[0]}".encode()).hexdigest()

    return sorted(groups(one), key=key)


def draw(description: Description, rules: Rules, level: int, seed: int) -> NodeSample:
    """The fewest whole groups that suffice for a level. Raises BadInput where a set has no node names, or the rule asks
    for watts and a set does not say what a node draws."""
    rule = rules.levels[level - 1].fraction
    for one in description.sets:
        if not one.names:
            raise BadInput(
                f"the set {one.name!r} has no node names",
                where="sets",
                hint='name them: names = ["cn[001-632]"]',
            )
        if one.watts_per_node is None and not rule.whole:
            raise BadInput(
                f"the set {one.name!r} does not say what a node draws, and Level {level} asks for watts",
                where="sets",
                hint="give watts_per_node, as expected under load; the check uses what was measured",
            )
    counts, why = _least(description, rule)
    return _drawn(description, rules, level, seed, counts, why)


def _drawn(
    description: Description, rules: Rules, level: int, seed: int, counts: Mapping[str, int], why: str
) -> NodeSample:
    sets = []
    for one in description.sets:
        chosen = shuffled(one, seed)[: counts[one.name]]
        names = tuple(sorted(name for group in chosen for name in group))
        watts = None if one.watts_per_node is None else one.watts_per_node * len(names)
        sets.append(DrawnSet(name=one.name, nodes=names, groups=len(chosen), of_nodes=one.nodes, watts=watts))
    known = [one.watts for one in sets if one.watts is not None]
    return NodeSample(
        level=level,
        rules=rules.id,
        seed=seed,
        sets=tuple(sets),
        nodes=sum(len(one.nodes) for one in sets),
        of_nodes=sum(one.of_nodes for one in sets),
        watts=math.fsum(known) if len(known) == len(sets) else None,
        why=why,
    )


def redraw(description: Description) -> dict[str, tuple[str, ...]]:
    """The nodes of each set that the recorded selection draws. Raises BadInput for a selection without seed or groups."""
    chosen = description.selection
    if chosen is None or chosen.seed is None:
        raise BadInput("no draw is recorded", where="selection", hint="shakedown energy draw makes one")
    out = {}
    for one in description.sets:
        if one.name not in chosen.groups:
            raise BadInput(
                f"the recorded draw does not contain the set {one.name!r}",
                where="selection, groups",
                hint="draw again: shakedown energy draw",
            )
        out[one.name] = tuple(
            sorted(name for group in shuffled(one, chosen.seed)[: chosen.groups[one.name]] for name in group)
        )
    return out


def _least(description: Description, rule: Fraction) -> tuple[dict[str, int], str]:
    """Groups of each set, and which alternative they meet: the fewest nodes of all alternatives."""
    whole = {one.name: len(groups(one)) for one in description.sets}
    if rule.whole:
        return whole, "the whole system"
    all_nodes = sum(one.nodes for one in description.sets)
    need = max(math.ceil(rule.share * all_nodes - 1e-9), rule.nodes)
    options = [
        (
            _solve(description, rule, need, rule.power_w),
            f"the largest of {rule.share:.1%}, {rule.power_w / 1e3:g} kW and {rule.nodes} nodes",
        ),
    ]
    if rule.or_w is not None:
        options.append((_solve(description, rule, 0, rule.or_w), f"{rule.or_w / 1e3:g} kW"))
    found = [(_nodes(description, counts), counts, why) for counts, why in options if counts is not None]
    if not found:
        return whole, "the whole system: nothing less suffices"
    _, counts, why = min(found, key=lambda one: one[0])
    return counts, why


def _nodes(description: Description, counts: Mapping[str, int]) -> int:
    return sum(_sure_nodes(one, counts[one.name]) for one in description.sets)


def _sure_nodes(one: NodeSet, count: int) -> int:
    """The nodes in so many groups whichever are drawn: the last group may be short."""
    all_groups = -(-one.nodes // one.chassis)
    short = all_groups * one.chassis - one.nodes
    if count >= all_groups:
        return one.nodes
    return max(0, count * one.chassis - (short if count else 0))


def _solve(description: Description, rule: Fraction, nodes: int, watts: float) -> dict[str, int] | None:
    """The groups of each set with the fewest nodes so that nodes and watts suffice: a small integer program. None where
    the whole system does not suffice."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    sets = description.sets
    sizes = np.array([one.chassis for one in sets], float)
    short = np.array([-(-one.nodes // one.chassis) * one.chassis - one.nodes for one in sets], float)
    power = np.array([one.watts_per_node or 0.0 for one in sets])
    most = np.array([-(-one.nodes // one.chassis) for one in sets], float)
    several = len(sets) > 1
    least = np.array(
        [
            math.ceil((math.ceil(rule.set_share * one.nodes - 1e-9) + lack) / one.chassis) if several else 0.0
            for one, lack in zip(sets, short, strict=True)
        ]
    )
    least = np.minimum(least, most)
    # The short group of a set may be among those drawn: reckon with it, which costs at most one group.
    lacking = float(short.sum()), float((short * power).sum())
    found = milp(
        c=sizes,
        constraints=[
            LinearConstraint(sizes, nodes + lacking[0] if nodes else 0.0, np.inf),
            LinearConstraint(sizes * power, watts + lacking[1], np.inf),
        ],
        integrality=np.ones(len(sets)),
        bounds=Bounds(least, most),
    )
    if not found.success:
        return None
    return {one.name: round(float(count)) for one, count in zip(sets, found.x, strict=True)}


def selection_toml(found: NodeSample) -> str:
    """What to paste into the description, and the nodes to put meters on."""
    lines = [
        f"# {found.nodes} of {found.of_nodes} nodes for Level {found.level} of {found.rules}: {found.why}.",
        *(f"# {one.name}: {' '.join(one.nodes)}" for one in found.sets),
        "[selection]",
        'how = "random"',
        f"seed = {found.seed}",
        f"level = {found.level}",
        f'rules = "{found.rules}"',
        f'method = "{found.method}"',
        "[selection.groups]",
        *(f'"{one.name}" = {one.groups}' for one in found.sets),
    ]
    return "\n".join(lines) + "\n"
