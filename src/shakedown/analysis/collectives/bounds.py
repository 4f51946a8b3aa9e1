"""The least time that a collective operation can take between ranks whose messages take so long. Pure.

Latency: nothing is known everywhere before word of it came there. In LogP (D. Culler et al., PPoPP 1993) a rank is busy for
``o`` with each message, may send the next after that, and a message arrives ``L + 2 o`` after its sending began; the
earliest time at which P ranks can know is that of the optimal broadcast (R. Karp, A. Sahay, E. Santos, K. Schauser,
"Optimal broadcast and summation in the LogP model", SPAA 1993). ``ceil(log2 P)`` messages one after another is no bound: a
sender is free after ``o``, not after the message has arrived.

Bytes: what must go through one rank's port, and what must be added by one rank, where all share evenly (E. Chan, M.
Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and experience", Concurrency and
Computation 19(13), 2007). Each of the three alone is certain; their sum is not, since they can overlap.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import NamedTuple


class LogP(NamedTuple):
    """Seconds of small messages between two ranks: on the way, busy with one, and from one to the next."""

    latency_s: float
    overhead_s: float
    gap_s: float

    @property
    def arrival_s(self) -> float:
        """From the begin of sending until the receiver has it: half a round trip."""
        return self.latency_s + 2 * self.overhead_s

    @property
    def interval_s(self) -> float:
        """From one sending to the next, at least. The gap between messages to one receiver is also that of the receiver, and
        holds nobody up who sends to several; the overhead is the sender's own."""
        return self.overhead_s


class PointToPoint(NamedTuple):
    """What was measured between two ranks of the job: the best pair. 0: not measured."""

    messages: LogP
    port_bytes_s: float
    reduce_bytes_s: float
    across_s: float = 0.0  # half a round trip between two hosts, where the job has several


class Bound(NamedTuple):
    seconds: float
    basis: str


def log_p(single_s: float, many_s: float, paused_s: float, messages: int, pause_s: float) -> LogP:
    """From round trips of one message, of so many at once, and of so many with a pause after each but the last (T. Hoefler,
    A. Lichei, W. Rehm, "Low-overhead LogGP parameter assessment for modern interconnection networks", IPDPS 2007):
    ``o = (PRTT(n, d) - PRTT(1)) / (n - 1) - d``, ``g = (PRTT(n, 0) - PRTT(1)) / (n - 1)``, ``L = PRTT(1) / 2 - 2 o``.

    What noise makes negative is 0, and ``o`` at most a quarter of the round trip, so that ``L`` is not negative.
    """
    overhead = min(max((paused_s - single_s) / (messages - 1) - pause_s, 0.0), single_s / 4)
    gap = max((many_s - single_s) / (messages - 1), 0.0)
    return LogP(single_s / 2 - 2 * overhead, overhead, gap)


def broadcast_s(ranks: int, messages: LogP) -> float:
    """The earliest time at which so many ranks can know what one knew (Karp et al. 1993)."""
    if ranks < 2:
        return 0.0
    if messages.interval_s <= 0:
        return messages.arrival_s  # one rank sends to all at once
    arrivals = [messages.arrival_s]  # the next that each informed rank can bring about
    for _ in range(ranks - 2):
        earliest = heapq.heappop(arrivals)
        heapq.heappush(arrivals, earliest + messages.interval_s)
        heapq.heappush(arrivals, earliest + messages.arrival_s)
    return arrivals[0]


def _of_vector(ranks: int) -> float:
    return 1.0 if ranks > 1 else 0.0


def _others(ranks: int) -> float:
    return ranks - 1.0


def _twice_shared(ranks: int) -> float:
    return 2 * (ranks - 1) / ranks


def _shared(ranks: int) -> float:
    return (ranks - 1) / ranks


def _nothing(ranks: int) -> float:
    return 0.0


#: Of each operation with so many ranks: what goes through a port, and what is added, in parts of ``bytes``.
_PARTS: dict[str, tuple[Callable[[int], float], Callable[[int], float]]] = {
    "barrier": (_nothing, _nothing),
    "bcast": (_of_vector, _nothing),
    "reduce": (_of_vector, _shared),
    "allreduce": (_twice_shared, _shared),
    "gather": (_others, _nothing),
    "scatter": (_others, _nothing),
    "allgather": (_others, _nothing),
    "alltoall": (_others, _nothing),
    "alltoallv": (_others, _nothing),
    "reduce_scatter_block": (_others, _others),
    "scan": (_of_vector, _shared),
    "exscan": (_of_vector, _shared),
}
OPERATIONS = tuple(_PARTS)


def bound(operation: str, ranks: int, count_bytes: float, nodes: int, pair: PointToPoint) -> Bound:
    """The greatest of the certain terms, in seconds, and which it is. ``count_bytes`` is the vector's size or a block's.

    A scan's last rank alone needs the whole sum, so that of its additions only what all must share is certain.
    """
    port, added = (part(ranks) * count_bytes for part in _PARTS[operation])
    terms = [
        (broadcast_s(ranks, pair.messages), f"the earliest that {ranks} ranks can know by messages between two (LogP)")
    ]
    if nodes > 1:
        terms.append((pair.across_s, "one message between two hosts"))
    if pair.port_bytes_s > 0:
        terms.append((port / pair.port_bytes_s, "bytes through one rank's port"))
    if pair.reduce_bytes_s > 0:
        terms.append((added / pair.reduce_bytes_s, "additions of one rank"))
    seconds, basis = max(terms)
    return Bound(seconds if math.isfinite(seconds) else 0.0, basis)
