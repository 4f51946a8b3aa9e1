"""A reader of losses over a socket: what waits for it, and what it is too slow for. Pure: bytes and times are given.

A reader that does not keep up never holds up anybody else. Updates that it has no room for are left out and counted;
once it has read all that waited, it gets all links anew, with that count. One that takes nothing for ``patience_s`` is
dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ..wire import lines


class Reader:
    def __init__(self, now_s: float, most_bytes: int, patience_s: float) -> None:
        self._most_bytes = most_bytes
        self._patience_s = patience_s
        self._waiting: deque[bytes] = deque()
        self._held = 0
        self._moved_s = now_s
        self.needs_whole = True
        self.skipped = 0

    @property
    def held(self) -> int:
        """Bytes that wait."""
        return self._held

    def offer(self, changed: Sequence[bytes], whole: Sequence[bytes] | None, now_s: float) -> bool:
        """An update: its lines, and those of all links where somebody needs them. Whether it was taken."""
        if self.needs_whole:
            if whole is None or self._held:
                self.skipped += 1
                return False
            self._put([*(lines.with_skipped(one, self.skipped) for one in whole[:1]), *whole[1:]], now_s)
            self.needs_whole = False
            return True
        if self._held + sum(map(len, changed)) > self._most_bytes:
            self.skipped += 1
            self.needs_whole = True
            return False
        self._put(changed, now_s)
        return True

    def _put(self, more: Sequence[bytes], now_s: float) -> None:
        if not self._held:
            self._moved_s = now_s
        self._waiting.extend(more)
        self._held += sum(map(len, more))

    def head(self) -> bytes:
        """What may be written next; empty where nothing waits."""
        return self._waiting[0] if self._waiting else b""

    def wrote(self, count: int, now_s: float) -> None:
        """So many bytes of ``head`` were taken."""
        if count <= 0:
            return
        self._moved_s = now_s
        self._held -= count
        line = self._waiting.popleft()
        if count < len(line):
            self._waiting.appendleft(line[count:])

    def is_dead(self, now_s: float) -> bool:
        """Whether it is to be dropped."""
        return self._held > 0 and now_s - self._moved_s > self._patience_s
