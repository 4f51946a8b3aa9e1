"""One HPL run, iteration by iteration, in its steady state.

The LU factorization goes through N / NB panels. In each, one process column factors the next panel while the others
update theirs; the panel then goes round the rows. Let W be what a column does in one iteration (row exchange, triangular
solve, DGEMM, forwarding), t_p the factorization of a panel, l the update of the next panel's columns that goes before it
(look-ahead), and a(d) the time until a panel has reached the column d places on. Columns follow

    start_k[c] = max(start_{k-1}[c] + W (+ t_p where c owns the next panel),  start_{k-1}[owner] + l + t_p + a(d))

which is linear in the (max, +) sense, with slowly changing coefficients. Its growth in one iteration is its largest cycle
mean: a column on its own, which pays t_p once in Q iterations, or a panel that is sent d places on and waited for until
that column owns one,

    lambda = max(W + t_p / Q,  max_d W + (l + t_p + a(d) - W) / d)

and the run takes the sum of lambda over all panels, here by quadrature over the order n of the trailing matrix. Without
look-ahead the second term is W + t_p + a(1). Sources: A. Petitet and others, HPL algorithm (netlib); F. Baccelli and
others, Synchronization and Linearity, chapter 3 (cycle means). Tests hold the form against the recurrence itself.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ..workloads.common.hpl import flop
from .inputs import Config, Estimate, Rates
from .network import Geometry, Numbers, bandwidth, geometry, latency

POINTS = 40
LONG = ("long", "longM")
SHARES = ("update", "panel", "solve", "rows", "messages", "wait")


def seconds(config: Config, rates: Rates) -> Estimate:
    """Time in s, rate in flop/s and shares of the time of one run. A call takes about a millisecond.

    Raises ValueError where the configuration is none (a grid or size below 1).
    """
    run = evaluate(config, arrays(rates, max(config.nb, 1)))
    time_s = float(run.time_s[0])
    shares = {name: float(value[0]) / time_s for name, value in run.parts.items()}
    return Estimate(time_s=time_s, flop_per_s=flop(config.n) / time_s, shares=shares)


class Draws(NamedTuple):
    """The fields of ``Rates`` as columns of shape (draws, 1) or single numbers; ``dgemm`` is the rate at k = NB."""

    dgemm: Numbers
    panel: Numbers
    trsm: Numbers
    rows: Numbers
    back: Numbers
    column_s: Numbers
    narrow: Numbers
    latency_on_s: Numbers
    latency_off_s: Numbers
    stream_on: Numbers
    node_on: Numbers
    stream_off: Numbers
    node_off: Numbers
    leaf_nodes: int
    leaf_off: Numbers
    exchange: Numbers
    burst: Numbers
    spread: Numbers
    slowest: Numbers | None
    jitter: Numbers


def arrays(rates: Rates, nb: int) -> Draws:
    """Rates of one machine as one draw."""
    fields = {name: getattr(rates, name) for name in Draws._fields}
    return Draws(**{**fields, "dgemm": np.array([[dgemm_rate(rates.dgemm, nb)]])})


def dgemm_rate(table: tuple[tuple[int, float], ...], k: int) -> float:
    """flop/s at inner size ``k``: linear in log k between the table's entries, constant beyond. Raises ValueError."""
    if not table:
        raise ValueError("the table of DGEMM rates is empty")
    ordered = sorted(table)
    return float(np.interp(math.log(k), [math.log(one) for one, _ in ordered], [rate for _, rate in ordered]))


class Run(NamedTuple):
    """Seconds of a run, and of each of SHARES, for each draw."""

    time_s: Any
    parts: dict[str, Any]


def evaluate(config: Config, rates: Draws, points: int = POINTS) -> Run:
    """The model over all draws at once. ``points`` of quadrature; runs of no more panels than that are summed exactly."""
    if min(config.n, config.nb, config.p, config.q, config.ranks_per_node) < 1:
        raise ValueError(f"n, nb, p, q and ranks_per_node are at least 1: {config}")
    order, weight = _quadrature(config.n, min(config.nb, config.n), points)
    found = step(config, rates, order)
    first = step(config, rates, np.array([float(config.n)]))  # the first panel hides behind nothing
    draws = np.shape(rates.dgemm)[0]
    # The columns begin one after another, as the first panel reaches them: half the way round in the mean.
    fill = np.broadcast_to(first.sent[-1][1] / 2, (draws, 1))[:, 0] if config.depth else 0.0

    def whole(value: Numbers) -> Any:
        return (np.broadcast_to(value, (draws, len(order))) * weight).sum(axis=1)

    parts = {
        "update": whole(found.update),
        "panel": whole(found.factor / config.q) + np.broadcast_to(first.factor, (draws, 1))[:, 0],
        "solve": whole(found.solve) + _back_substitution(config, rates),
        "rows": whole(found.rows),
        "messages": whole(found.messages),
        "wait": whole(found.pace - found.work - found.factor / config.q) + fill,
    }
    return Run(sum(parts[name] for name in SHARES), parts)


@lru_cache(maxsize=512)
def _quadrature(n: int, nb: int, points: int) -> tuple[Any, Any]:
    """Orders of the trailing matrix behind a panel, and how many panels each stands for."""
    panels = -(-n // nb)
    if panels <= points:
        return np.maximum(n - nb * np.arange(1.0, panels + 1), 0.0), np.ones(panels)
    x, w = np.polynomial.legendre.leggauss(points)
    top = n - nb / 2  # the sum over n - NB, n - 2 NB ... 0 is the integral between half a block beyond its ends
    return (x + 1) * top / 2, w * top / 2 / nb


def _back_substitution(config: Config, rates: Draws) -> Any:
    """N^2 operations spread over the grid, and two messages a block along the diagonal."""
    work = 1.0 * config.n**2 / (config.p * config.q) / rates.back
    hops = 2 * config.n / config.nb * (rates.latency_off_s if config.p * config.q > config.ranks_per_node else 0.0)
    return np.broadcast_to(np.asarray(work + hops, dtype=float), np.shape(rates.dgemm))[:, 0]


def slowest_of(count: int) -> float:
    """Expected largest of ``count`` standard normal values (Blom 1958: the quantile at (n - 0.375) / (n + 0.25))."""
    return max(0.0, NormalDist().inv_cdf((count - 0.375) / (count + 0.25))) if count > 1 else 0.0


# --------------------------------------------------------------------------------------------------------- one iteration


class Step(NamedTuple):
    """Seconds of one iteration, (draws, points): W = update + solve + rows + messages; see above for the others."""

    update: Numbers
    solve: Numbers
    rows: Numbers
    messages: Numbers
    factor: Numbers  # t_p
    ahead: Numbers  # l
    sent: list[tuple[int, Numbers]]  # d and a(d), at the places where it can bind
    pace: Numbers  # lambda

    @property
    def work(self) -> Numbers:
        return self.update + self.solve + self.rows + self.messages


def step(config: Config, rates: Draws, n: Any) -> Step:
    """One iteration with a trailing matrix of order ``n`` (an array of points) behind the panel."""
    shape = geometry(config.p, config.q, config.mapping, config.ranks_per_node, rates.leaf_nodes)
    b = config.nb
    m, width = _local(n, config.p, b), _local(n, config.q, b)
    slow = rates.slowest if rates.slowest is not None else 1 - rates.spread * slowest_of(shape.nodes)
    in_step = config.p * config.q if config.bcast in LONG else config.p  # ranks that wait for one another at each panel
    speed = np.maximum(slow, 0.1) / (1 + rates.jitter * slowest_of(in_step))
    gemm = 2.0 * m * b / (rates.dgemm * speed)  # of one column of the trailing matrix, as the next two
    solve = b * b / (rates.trsm * speed)
    copy = 2.0 * b / (rates.rows * speed)
    narrow = np.minimum(width, b)
    chunk = narrow * (gemm * (1 + rates.narrow) + solve)
    factor = _panel(config, shape, rates, m, speed)
    sent, occupied = _broadcast(config, shape, rates, m, chunk)
    busy: Numbers = np.maximum(0.1, rates.burst)
    for _ in range(3):  # the bandwidth depends on the share of time in which it is used, and the other way round
        swap = _row_exchange(config, shape, rates, width, busy)
        ahead = chunk + narrow * copy + _row_exchange(config, shape, rates, narrow, busy)
        update = gemm * width
        update = update + _pieces(config, rates, update, ahead + factor + sent[-1][1] / 2)
        exposed = _exposed(config, swap, width, gemm + solve + copy)
        work = update + (solve + copy) * width + exposed + occupied
        pace = _pace(config, work, factor, ahead, sent)
        busy = np.clip(swap / np.maximum(pace, 1e-30), rates.burst, 1.0)
    return Step(update, solve * width, copy * width, exposed + occupied, factor, ahead, sent, pace)


def _local(n: Any, among: int, b: int) -> Any:
    """Rows (columns) of the most loaded process, in the mean over the block's place: half a block above an even share."""
    return np.minimum(n, n / among + 0.5 * b * (1 - 1 / among))


def _pieces(config: Config, rates: Draws, gemm: Any, until: Any) -> Any:
    """What updates in pieces of NB columns cost until the panel is there (netlib: HPL_pdupdate)."""
    if not config.chunked or config.depth == 0 or config.q == 1:
        return 0.0 * gemm
    return rates.narrow * np.minimum(gemm, until)


def _panel(config: Config, shape: Geometry, rates: Draws, m: Any, speed: Any) -> Any:
    """Factorization of a panel: b^2 (m - b / 3) operations, and for each column a search over the process column."""
    b = config.nb
    work = b * b * np.maximum(m - b / 3, b * 2 / 3) / (rates.panel * speed)
    messages = 0.0
    for step in shape.pairs:
        messages = messages + latency(rates, step) + (2 * b + 4) * 8 / bandwidth(rates, step, 0.0)
    return work + b * (rates.column_s + messages)


def _row_exchange(config: Config, shape: Geometry, rates: Draws, width: Any, busy: Any) -> Any:
    """Rows of U to every process of a column: V = 8 b ``width`` bytes.

    Binary exchange: log2 P steps of V. Long: V / 2, V / 4 ... spread at distances P / 2, P / 4 ..., then P - 1 steps
    between neighbours that carry V (P - 1) / P (netlib: HPL_pdlaswp).
    """
    if config.p == 1:
        return 0.0 * width
    volume = 8.0 * config.nb * width
    near = shape.steps[0]
    binary: Numbers = 0.0
    spread: Numbers = 0.0
    for step in shape.pairs:
        binary = binary + latency(rates, step) + rates.exchange * volume / bandwidth(rates, step, busy)
    for index, step in enumerate(shape.steps):
        level = len(shape.steps) - 1 - index  # the farthest step comes first, with one sender and half of the data
        part = volume / 2 ** (level + 1)
        spread = spread + latency(rates, step) + part / bandwidth(rates, step, busy, most=2**level)
    rolled = rates.exchange * volume * (config.p - 1) / config.p / bandwidth(rates, near, busy)
    long = spread + (config.p - 1) * latency(rates, near) + rolled
    if config.swap == "mix":
        return np.where(width <= config.swap_threshold, binary, long)
    return binary if config.swap == "binary" else long


def _exposed(config: Config, swap: Any, width: Any, column: Any) -> Any:
    """The part of the row exchange that nothing hides.

    With ``split`` the right-most columns (that share of the local columns at the start) are exchanged behind the update
    of the others and the others behind theirs, as long as there are others.
    """
    if config.split <= 0 or config.p == 1:
        return swap
    right = np.minimum(width, config.split * _local(float(config.n), config.q, config.nb))
    share = right / np.maximum(width, 1e-30)
    left_exposed = np.maximum(0.0, swap * (1 - share) - column * right)
    right_exposed = np.maximum(0.0, swap * share - column * (width - right))
    return left_exposed + right_exposed


def _broadcast(config: Config, shape: Geometry, rates: Draws, m: Any, chunk: Any) -> tuple[list[tuple[int, Any]], Any]:
    """Arrivals of a panel (places on, seconds after it was sent; those that can bind), and a column's time for it."""
    q, size = config.q, 8.0 * config.nb * (m + config.nb + 1)
    if q == 1:
        return [(1, 0.0 * size)], 0.0 * size
    share_off = shape.ring_off
    on, off = (1 / bandwidth(rates, one, 0.0) for one in (shape.ring._replace(flows=0), shape.ring))  # s/B
    per_byte = (1 - share_off) * on + share_off * off
    slowest = np.maximum(on if share_off < 1 else 0.0, off if share_off > 0 else 0.0)
    wait = (1 - share_off) * rates.latency_on_s + share_off * rates.latency_off_s
    own = _own(config)
    if config.bcast in LONG:  # spread in halves, then rolled round: every rank of a node sends at the same moment
        crowded = np.minimum(rates.stream_on, rates.node_on / min(config.ranks_per_node, config.p * q))
        per_byte = (1 - share_off) / crowded + share_off * off
        whole = wait * (math.log2(q) + q - 1) + 2.4 * size * per_byte
        return [(1, whole), (max(1, q - 1), whole)], whole * own
    occupied = 2 * (q - 1) / q * (size * per_byte + wait) * own
    poll = 0.0 if config.progress or config.progress_thread else 0.5 * chunk
    if config.segment_bytes:
        first, hop = size * slowest + wait + poll, wait + np.minimum(size, config.segment_bytes) * per_byte + poll
    else:
        hop = size * per_byte + wait + poll
        first = hop
    return [(place, first + hops * hop) for place, hops in _ring_places(config.bcast, q)], occupied


def _own(config: Config) -> float:
    """The share of a rank that sending and receiving keeps from computing."""
    if config.progress_thread:
        return 0.0
    return 1.0 / config.threads if config.progress else 1.0


def _ring_places(bcast: str, q: int) -> list[tuple[int, int]]:
    """(places on, hops behind the first one) at both ends of each chain: in between the time is linear."""
    half = (q + 1) // 2
    if bcast in ("1ring", "1ringM") or q <= 3:
        return sorted({(1, 0), (q - 1, q - 2)})
    extra = 1 if bcast == "2ring" else 2  # sends of the root before it serves the second chain
    return sorted({(1, 0), (half, half - 1), (half + 1, extra), (q - 1, q - 2 - half + extra)})


def _pace(config: Config, work: Any, factor: Any, ahead: Any, sent: list[tuple[int, Any]]) -> Any:
    """Seconds of one iteration: the largest cycle mean (see above)."""
    alone = work + factor / config.q
    if config.q == 1:
        return alone
    if config.depth == 0:
        return np.maximum(alone, work + factor + sent[0][1])
    pace = alone
    for place, arrival in sent:
        pace = np.maximum(pace, work + (ahead + factor + arrival - work) / place)
    return pace
