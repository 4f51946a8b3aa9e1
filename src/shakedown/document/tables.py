"""Tables from records: each column stands with what it shows of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from .model import Column, Kind, Table

_T = TypeVar("_T")


def table(
    title: str,
    items: Iterable[_T],
    columns: Sequence[tuple[str, Kind, Callable[[_T], str]]],
    *,
    optional: Sequence[str] = (),
    caption: str = "",
    notes: Sequence[str] = (),
    fold_from: int | None = None,
) -> Table:
    """A row an item. ``columns`` have a title, a kind and the cell of an item; those that are ``optional`` are left out
    where all of their cells are empty. The table is folded where it has more than ``fold_from`` rows."""
    rows = [tuple(cell(item) for _, _, cell in columns) for item in items]
    kept = [at for at, (name, _, _) in enumerate(columns) if name not in optional or any(row[at] for row in rows)]
    return Table(
        title=title,
        columns=tuple(Column(columns[at][0], columns[at][1]) for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in rows),
        caption=caption,
        notes=tuple(notes),
        folded=fold_from is not None and len(rows) > fold_from,
    )
