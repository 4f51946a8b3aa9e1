"""Pair tests: from the values of many pairs to slow nodes and slow links, named apart, with an error rate.

    read      run directories -> Pairs (columns)         fit      the additive model, robustly
    topology  which nodes are near each other            noise    how the rest scatters; false-discovery rate
    partial_slowdown  nodes slow to some of their peers  name     nodes, links, groups, dead pairs
    pair_matrix       too large for a finding a pair     simulate fleets whose truth is known
    judge     the story: verdict(pairs) -> PairVerdict

What is assumed, and where it ends, stands in docs/pairs.md.
"""

from .judge import FEWEST_NODES, verdict
from .pair_matrix import pairs_of
from .read import Pairs, from_directories, from_findings
from .records import DeadLink, DeadNode, Effect, Noise, PairVerdict, SlowGroup, SlowLink, SlowNode
from .state import Settings

__all__ = [
    "FEWEST_NODES",
    "DeadLink",
    "DeadNode",
    "Effect",
    "Noise",
    "PairVerdict",
    "Pairs",
    "Settings",
    "SlowGroup",
    "SlowLink",
    "SlowNode",
    "from_directories",
    "from_findings",
    "pairs_of",
    "verdict",
]
