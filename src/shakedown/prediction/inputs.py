"""What the model of an HPL run takes and gives: frozen records, SI units, no numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..records import Record

Broadcast = Literal["1ring", "1ringM", "2ring", "2ringM", "long", "longM"]
BROADCASTS: tuple[Broadcast, ...] = ("1ring", "1ringM", "2ring", "2ringM", "long", "longM")
Swap = Literal["binary", "long", "mix"]
Mapping = Literal["row", "column"]


class Config(Record, frozen=True, kw_only=True):
    """One HPL run. The defaults are our own program's; ``netlib`` turns the same run into netlib's program."""

    n: int
    nb: int
    p: int
    q: int
    ranks_per_node: int
    threads: int = 1  # of a rank
    mapping: Mapping = "row"  # how ranks fill the grid: consecutive ranks along a row, or along a column
    depth: int = 1  # of the look-ahead; more than 1 is taken as 1
    bcast: Broadcast = "1ringM"
    swap: Swap = "mix"
    swap_threshold: int = 64  # with mix: columns up to which rows are exchanged by binary exchange
    split: float = 0.5  # share of the local columns whose row exchange hides behind the others' update; 0: none
    segment_bytes: int = 1 << 20  # the panel is forwarded in pieces; 0: whole
    chunked: bool = False  # the update runs in pieces of NB columns and messages move in between (netlib's program)
    progress: bool = True  # messages move while the rank computes: one of its threads does that
    progress_thread: bool = False  # ... a thread beside those that compute, or the host of a GPU: it costs them nothing


def netlib(config: Config) -> Config:
    """The same run by netlib HPL 2.3: row exchange exposed, panels forwarded whole between pieces of NB columns."""
    import msgspec

    return msgspec.structs.replace(
        config, split=0.0, segment_bytes=0, chunked=True, progress=False, progress_thread=False
    )


class Rates(Record, frozen=True, kw_only=True):
    """How fast the machine does what HPL needs. Rates are those of one rank while all ranks of its node compute.

    Bandwidths are in B/s and in one direction; those of a node are shared by its ranks. What is left at its default is
    free of cost (infinite rate, zero latency), so that each cost can be seen alone.
    """

    dgemm: tuple[tuple[int, float], ...]  # (k, flop/s) of C -= A B with inner size k = NB; linear in log k in between
    panel: float = float("inf")  # flop/s of the factorization of a panel (NB columns) by one rank
    trsm: float = float("inf")  # flop/s of the triangular solve for the rows of U
    rows: float = float("inf")  # elements/s that one rank gathers or scatters when rows are exchanged in memory
    back: float = float("inf")  # flop/s of one rank in the back substitution (bound by memory bandwidth)
    column_s: float = 0.0  # of each column of a panel, besides messages: search, barriers of the threads
    narrow: float = 0.0  # share of the DGEMM rate that is lost in pieces of NB columns
    latency_on_s: float = 0.0  # of a message within a node
    latency_off_s: float = 0.0  # between nodes
    stream_on: float = float("inf")  # B/s of one message within a node
    node_on: float = float("inf")  # of all messages within a node together
    stream_off: float = float("inf")  # of one message between nodes
    node_off: float = float("inf")  # of all messages that leave (or reach) a node
    leaf_nodes: int = 0  # nodes of an edge switch, filled in order; 0: the network has no narrower level
    leaf_off: float = float("inf")  # of all messages that leave (or reach) an edge switch
    exchange: float = (
        1.0  # times that the data of a row exchange pass a rank: 1 both ways at once, 2 one after the other
    )
    burst: float = 0.0  # share of a node's process columns that exchange rows at the same moment, at least
    spread: float = 0.0  # standard deviation of the speed of nodes, relative: the slowest of them sets the pace
    slowest: float | None = None  # speed of the slowest node over the mean, where it was measured; replaces ``spread``
    jitter: float = 0.0  # standard deviation of one iteration's compute time, relative


def variants(configs: Sequence[Config | None]) -> list[str]:
    """What differs among configurations in NB, broadcast and look-ahead, in words for each: ``nb 192, bcast 1ringM``."""
    all_ = [{name: getattr(one, name) for name in ("nb", "bcast", "depth")} if one else {} for one in configs]
    told = [name for name in ("nb", "bcast", "depth") if len({one.get(name) for one in all_}) > 1]
    return [", ".join(f"{name} {one[name]}" for name in told if name in one) for one in all_]


class Estimate(Record, frozen=True, kw_only=True):
    """What the model says. ``shares`` of the time sum to 1: update panel solve rows messages wait."""

    time_s: float
    flop_per_s: float
    shares: dict[str, float]
