"""What is read: one form of accounting a file, each with one constant ``READER``; a further one is a file more.

A reader says from a file's beginning whether it knows it, and puts its jobs into the store. What it cannot read it
counts and says; what an engine did not record it leaves NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from .... import plugins
from ....errors import BadInput, unknown
from .. import text
from ..loading import Store

_FOLDER = "operate.accounting.readers"


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    mine: Callable[[str], bool]
    """Whether this is the beginning of such a file."""
    read: Callable[[Store, Path], None]
    """Puts its jobs into the store, with a Source. Raises BadInput where the file cannot be used at all."""
    gpus: str = ""
    """How the engine comes to record GPUs where it does not."""
    samples: tuple[str, ...] = ()
    """Recordings in tests/recordings/accounting."""


def names() -> tuple[str, ...]:
    return plugins.names(_FOLDER)


def get(name: str) -> Reader:
    """The reader of that name. Raises BadInput with the nearest name."""
    if name not in names():
        raise unknown("reader", name, names(), where="--as")
    found = plugins.load(_FOLDER, "READER", name)
    assert isinstance(found, Reader)
    return found


def for_file(path: Path, name: str = "") -> Reader:
    """The named reader, or the one that knows the file. Raises BadInput."""
    if name:
        return get(name)
    head = text.first_lines(path)
    if not head.strip():
        raise BadInput("is empty", where=str(path), hint="give a file with at least one job")
    found = [reader for reader in map(get, names()) if reader.mine(head)]
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"say which: --as {' or --as '.join(reader.name for reader in found)}"
        raise BadInput(f"could be {' or '.join(reader.title for reader in found)}", where=str(path), hint=hint)
    raise BadInput(
        "is not in a known accounting format",
        where=str(path),
        hint="known: " + "; ".join(f"{reader.title} (--as {reader.name})" for reader in map(get, names())),
    )


def attempt_values(row: dict[str, Any]) -> dict[str, Any]:
    """What follows from what a reader found, for the readers that go line by line: seconds of use."""
    begin, end = row.get("start_s"), row.get("end_s")
    if row.get("ran_s") is None and begin is not None and end is not None:
        row["ran_s"] = max(0, end - begin)
    row.setdefault("open", begin is not None and end is None)
    return row
