"""What the readers share that go line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ....packed import opened


def lines(path: Path) -> Iterator[str]:
    """The lines of a file, packed or not; bytes that are no UTF-8 as U+FFFD, zeros (a crash leaves them) dropped."""
    with opened(path) as file:
        for line in file:
            yield line.decode("utf-8", "replace").replace("\0", "").rstrip("\r\n")


def whole(text: str | None) -> int | None:
    """A number without a sign or fraction."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
