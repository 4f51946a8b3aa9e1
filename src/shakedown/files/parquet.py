"""Parquet by DuckDB: a query's rows as a file, whole or not at all, and texts as SQL takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import atomic

if TYPE_CHECKING:
    import duckdb


def literal(text: object) -> str:
    """A text, or a path, as a string of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def write(
    db: duckdb.DuckDBPyConnection, query: str, path: Path, parameters: Sequence[object] = (), *, options: str = ""
) -> None:
    """What a query gives, as a Parquet file. ``options``: of DuckDB's COPY, such as ``row_group_size 122880``. Raises
    OSError, duckdb.Error."""
    more = f", {options}" if options else ""
    with atomic.beside(path) as temporary:
        db.execute(
            f"copy ({query}) to {literal(temporary)} (format parquet, compression zstd{more})", list(parameters) or None
        )
