"""What is due now: which interval is updated, which datagrams leave. Pure: all times are given, in s of one clock."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from ..wire.losses import Datagram

#: The share of an interval over which an update's datagrams are spread.
SPREAD = 0.8
#: Datagrams leave together at times not closer than this: waking up costs more than sending.
TICK_S = 0.002


class Schedule:
    """Interval ``n`` is due at ``begin_s + n x every_s``. An update that takes longer than an interval leaves others out,
    which are counted as ``skipped``: what moved in them is in the next. ``free``: there is no clock, each follows the
    last."""

    def __init__(self, begin_s: float, every_s: float, *, free: bool = False) -> None:
        self.begin_s = begin_s
        self.every_s = every_s
        self._free = free
        self._last = 0
        self.skipped = 0
        self.last_skipped_s: float | None = None  # since ``begin_s``, of the latest of them

    def due(self, now_s: float) -> int | None:
        """The interval to be updated now; None where none is."""
        if self._free:
            return self._last + 1
        number = math.floor((now_s - self.begin_s) / self.every_s + 1e-9)
        return number if number > self._last else None

    def begin(self, number: int) -> None:
        """An update of this interval was begun."""
        if number > self._last + 1:
            self.skipped += number - self._last - 1
            self.last_skipped_s = (number - 1) * self.every_s
        self._last = number

    def due_s(self, number: int) -> float:
        return self.begin_s + number * self.every_s

    def next_s(self) -> float:
        """When the next interval is due."""
        return -math.inf if self._free else self.due_s(self._last + 1)


class Outbox:
    """Datagrams on their way out, in their order, spread evenly over a time that no receiver's buffer minds. At most
    ``most_bytes_per_s`` leave: with more than that the time is longer, and ``end_s`` says until when."""

    def __init__(self, most_bytes_per_s: float) -> None:
        self._most = most_bytes_per_s
        self._waiting: deque[Datagram] = deque()
        self._begin_s = self.end_s = -math.inf
        self._total = self._sent = 0
        self.passed = 0  # datagrams that were taken, of all that there were

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def entries(self) -> int:
        return sum(one.entries for one in self._waiting)

    def put(self, datagrams: Sequence[Datagram], now_s: float, spread_s: float) -> None:
        """More of them, to be gone ``spread_s`` from now, those that still wait before them."""
        self._waiting.extend(datagrams)
        size = sum(len(one.data) for one in self._waiting)
        self._total, self._sent = len(self._waiting), 0
        self._begin_s, self.end_s = now_s, now_s + max(spread_s, size / self._most)

    def take(self, now_s: float) -> list[Datagram]:
        """Those that are due."""
        span_s = self.end_s - self._begin_s
        share = min(1.0, (now_s - self._begin_s + TICK_S) / span_s) if span_s > 0 else 1.0
        count = math.ceil(self._total * share) - self._sent
        found = [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]
        self._sent += len(found)
        self.passed += len(found)
        return found

    def next_s(self, now_s: float) -> float:
        """When to look again."""
        if not self._waiting:
            return math.inf
        each_s = (self.end_s - self._begin_s) / max(1, self._total)
        return max(now_s + TICK_S, self._begin_s + self._sent * each_s)
