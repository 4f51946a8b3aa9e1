"""What a verdict over pairs consists of. Shares are fractions: 0.12 is 12 %."""

from __future__ import annotations

from typing import Literal

from ...records import Metric, Notice, Params, Record

Direction = Literal["both", "sending", "receiving"]


class Effect(Record, frozen=True, kw_only=True):
    """How much slower than expected, with its 95 % interval.

    Of a value that is better when higher (bandwidth) the share of the expected value that is missing; of one that is
    better when lower (latency) what it takes on top, as a share of the expected value.
    """

    slower: float
    low: float
    high: float


class SlowNode(Record, frozen=True, kw_only=True):
    """A node that is slow to everybody, or (``share`` below 1) to some of its peers and not to the others."""

    node: str
    effect: Effect
    direction: Direction = "both"
    share: float = 1.0  # of its measured pairs
    pairs: int  # measured pairs of the node
    peers: tuple[str, ...] = ()  # to which it is slow, where that is not everybody
    q: float  # the false-discovery rate at which it is just named


class SlowLink(Record, frozen=True, kw_only=True):
    """A pair that is slower than its two nodes explain. ``one_way``: from ``a`` to ``b`` only, not back."""

    a: str
    b: str
    one_way: bool = False
    effect: Effect
    value: float  # of the metric, in its unit
    expected: float  # what the two nodes explain
    passes: int  # how often it was measured; slow in most of them (in both, of two)
    q: float


class SlowGroup(Record, frozen=True, kw_only=True):
    """Nodes that are slow to all others and not among themselves: what they share (an uplink, a switch) is slow."""

    nodes: tuple[str, ...]
    switch: str = ""  # the switch of the topology that they sit behind, where it was given
    effect: Effect
    direction: Direction = "both"
    share: float = 1.0  # of the pairs that leave the group


class DeadLink(Record, frozen=True, kw_only=True):
    """A pair that was tried and gave no value, or a wrong one."""

    a: str
    b: str
    why: str


class DeadNode(Record, frozen=True, kw_only=True):
    """A node of which at least half of the pairs that were tried (and two at least) gave no value."""

    node: str
    dead: int
    tried: int
    why: str


class Noise(Record, frozen=True, kw_only=True):
    """What the measurements scatter by themselves, as far as the fit leaves it unexplained."""

    sigma: float  # robust standard deviation of a pair's value, relative
    sigma_slow: float  # the same from the slow side alone: larger where the noise is skewed
    between_nodes: float  # robust standard deviation of healthy nodes, relative
    tail_dof: float  # of the t distribution that the noise is held to follow; 200: as good as normal
    smallest_node: float  # a node this much slower would have been named with a probability of 90 %
    smallest_link: float


class PairVerdict(Record, frozen=True, kw_only=True):
    """Everything that one value of one size over all pairs says of nodes and links."""

    metric: Metric
    params: Params  # those that all pairs share: the size, the window, the pattern
    nodes: int
    pairs: int  # measured, each direction apart where both were
    possible: int
    passes: int  # how often most pairs were measured
    rounds: int | None = None  # tournament rounds, where the time stamps or the pattern tell
    typical: float | None  # the value of a pair of two typical nodes; None where no pair has a value
    rate: float  # the false-discovery rate that nodes and links are named at, each by itself
    groups: int = 0  # of nodes that are near each other, given or found
    groups_from: Literal["", "topology", "values"] = ""
    state: Literal["clean", "slow", "undecided"]
    slow_nodes: tuple[SlowNode, ...] = ()
    slow_links: tuple[SlowLink, ...] = ()
    slow_groups: tuple[SlowGroup, ...] = ()
    dead_nodes: tuple[DeadNode, ...] = ()
    dead_links: tuple[DeadLink, ...] = ()
    noise: Noise | None = None
    notices: tuple[Notice, ...] = ()
