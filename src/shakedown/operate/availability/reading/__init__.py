"""Where histories come from: one reader a file. ``read`` looks at what it is given and takes the reader that knows it.

Each reader fills a ``Builder`` with rows and says for which time it speaks (``seen``): beyond that nothing is observed, and
what is not observed is never up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ....errors import BadInput, CannotMeasure
from ....files.packed import opened_text
from ....hosts.access import HostAccess
from ..history import OPEN_S, Builder, History
from . import gridengine, inventory, recorded, slurm, slurm_asked, table, watched

#: What a file is, told by its first kibibytes; the order matters.
_KNOWN: tuple[tuple[str, Callable[[str], bool], Callable[[Builder, Path, str], None]], ...] = (
    ("a watch of ours", watched.is_mine, watched.read),
    ("Slurm's events", slurm.is_mine, slurm.read),
    ("Grid Engine's reporting file", gridengine.is_mine, gridengine.read),
    ("recorded sinfo", recorded.is_mine, recorded.read),
    ("a table of outages", table.is_mine, table.read),
)


def read(
    sources: Sequence[str], door: HostAccess, *, begin_s: int | None, end_s: int | None, zone: str = "", nodes: str = ""
) -> History:
    """The history that sources tell together: ``slurm`` asks the engine, all else are files. ``nodes`` is the inventory in
    words, where no source has one. Raises BadInput, CannotMeasure."""
    if not sources:
        raise BadInput(
            "no history was named", where="--from", hint="--from slurm, or a file: watch, events, reporting, CSV"
        )
    builder = Builder()
    if nodes:
        inventory.add(builder, nodes)
    for source in sources:
        if source == "slurm":
            slurm_asked.ask(builder, door, begin_s, end_s)
            continue
        _file(builder, Path(source), zone)
    if not builder.has_inventory():
        raise BadInput(
            "no source says which nodes there are",
            where="--nodes",
            hint="--nodes 'node[1-4] processors=4 gpus=4', or rows of the kind 'present' in the CSV file",
        )
    try:
        return builder.history()
    except (ValueError, OverflowError) as error:
        raise _no_number(", ".join(sources), error) from None


def _no_number(where: str, error: Exception) -> BadInput:
    """A number that is none: digits without end, an instant beyond all calendars."""
    return BadInput(f"holds a number that cannot be one: {error}", where=where, hint="look for it there, and fix it")


def _file(builder: Builder, path: Path, zone: str) -> None:
    try:
        with opened_text(path, hint="--from FILE, or --from slurm") as file:
            head = file.read(8192)
    except OSError as error:
        raise BadInput(
            f"cannot be read: {error.strerror}", where=str(path), hint="--from FILE, or --from slurm"
        ) from None
    for _, mine, reader in _KNOWN:
        if mine(head):
            try:
                reader(builder, path, zone)
            except (ValueError, OverflowError) as error:
                raise _no_number(str(path), error) from None
            return
    raise BadInput(
        "is not a known format of histories",
        where=str(path),
        hint=f"{', '.join(name for name, _, _ in _KNOWN)}: docs/availability.md describes each",
    )


def observed(history: History, low: int | None, high: int | None) -> tuple[int, int]:
    """From when to when, in Unix seconds: as asked, else as far as the sources speak. Raises BadInput, CannotMeasure."""
    if not history.seen:
        raise CannotMeasure(
            "the sources observed nothing", where="--from", hint="at least two observations, or an earlier start"
        )
    first, last = history.seen[0][0], history.seen[-1][1]
    if (low is None and first <= 0) or (high is None and last >= OPEN_S):
        raise BadInput(
            "a table does not say for which time it speaks",
            where="--begin, --end",
            hint="give both, or add a row of the kind 'observed' to the table",
        )
    begin = first if low is None else low
    end = min(last, int(time.time())) if high is None else high
    if end <= begin:
        raise BadInput(
            "nothing was observed in that time", where="--begin, --end", hint="look at when the sources begin and end"
        )
    return begin, end
