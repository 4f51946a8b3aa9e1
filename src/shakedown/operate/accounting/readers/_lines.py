"""What the readers share that go line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ....files.packed import opened
from ....units import whole_number
from ..loading import Store

_SHOWN = 120


def lines(path: Path) -> Iterator[str]:
    """The lines of a file, packed or not; bytes that are not UTF-8 as U+FFFD, zeros (a crash leaves them) dropped."""
    with opened(path) as file:
        for line in file:
            yield line.decode("utf-8", "replace").replace("\0", "").rstrip("\r\n")


def signed(text: str | None) -> int | None:
    """A number without a fraction. One below zero goes into the table, where it is counted and taken out (``plausible``)."""
    return whole_number(text, -(2**63))


class Tally:
    """What the lines of one file come to: how many there were, which could not be read, what was odd about the others."""

    def __init__(self) -> None:
        self.rows = self.lost = 0
        self.example = ""  # the first that could not be read
        self._odd: dict[str, tuple[int, str, str, str]] = {}

    def lose(self, line: str) -> None:
        """A line, or a record of several, that cannot be read."""
        self.lost += 1
        self.example = self.example or line[:_SHOWN]

    def see(self, code: str, what: str, job: str, advice: str = "") -> None:
        """One run more of which ``what`` is so, in words that follow "3 runs of FILE"; the first is named."""
        count, *_ = held = self._odd.get(code, (0, what, job, advice))
        self._odd[code] = (count + 1, *held[1:])

    def done(self, store: Store, path: Path, reader: str, *, steps: int = 0) -> None:
        """The file is read: say what came of it."""
        store.done(str(path), reader, rows=self.rows, steps=steps, lost=self.lost, example=self.example)
        for code, (count, what, job, advice) in self._odd.items():
            runs = f"{count} run{'s' * (count != 1)}"
            store.notice(code, f"{runs} of {path.name} {what}; the first is job {job}", advice)
