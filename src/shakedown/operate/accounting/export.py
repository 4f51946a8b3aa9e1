"""The jobs of a store, one line each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from .columns import COLUMNS
from .loading import Store
from .sums import here, never
from .tables import cell

_AT_ONCE = 10_000
_HIDDEN = ("before_end_s",)


def lines(store: Store, begin_s: int | None, end_s: int | None, *, as_json: bool) -> Iterator[str]:
    """CSV with a head, or a JSON object a line; the jobs that touch the window, in the order of their submission."""
    names = [name for name in COLUMNS if name not in _HIDDEN]
    where = ""
    if begin_s is not None and end_s is not None:
        low, high = str(begin_s), str(end_s)
        where = f"WHERE (start_s IS NOT NULL AND {here(low, high)}) OR {never(low, high)}"
    found = store.db.execute(
        f"SELECT {', '.join(names)} FROM jobs {where} ORDER BY coalesce(submit_s, start_s), cluster, job, attempt"
    )
    if not as_json:
        yield ",".join(names) + "\n"
    while rows := found.fetchmany(_AT_ONCE):
        if as_json:
            objects = (
                {name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows
            )
            yield "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)
            continue
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
        yield out.getvalue()


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else cell(value)
