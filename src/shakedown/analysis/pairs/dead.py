"""Dead pairs: tried, and without a value or with a wrong one."""

from __future__ import annotations

from collections import Counter

from .read import Pairs
from .records import DeadLink, DeadNode


def dead_of(pairs: Pairs) -> tuple[tuple[DeadNode, ...], tuple[DeadLink, ...]]:
    """Pairs that gave no value; a node with most of its pairs dead stands for them."""
    if not pairs.dead:
        return (), ()
    tried: Counter[str] = Counter()
    for end in (pairs.a, pairs.b):
        tried.update(pairs.places[place] for place in end.tolist())
    gone: Counter[str] = Counter()
    why: dict[str, str] = {}
    links: dict[frozenset[str], DeadLink] = {}
    for link in pairs.dead:
        links.setdefault(frozenset((link.a, link.b)), link)
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
