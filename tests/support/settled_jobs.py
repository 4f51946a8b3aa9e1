"""Files of accounting as the settled jobs that come of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shakedown.operate.accounting import readers, settle
from shakedown.operate.accounting.columns import COLUMNS
from shakedown.operate.accounting.loading import Store

RECORDINGS = Path(__file__).parents[1] / "recordings" / "accounting"


def jobs(*sources: Path, zone: str = "UTC", **how: Any) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The settled jobs of files, by number and attempt, and what was noticed (code -> words)."""
    with Store(zone=zone, **how) as store:
        for path in sources:
            readers.for_file(path).read(store, path)
        settle.settle(store)
        names = list(COLUMNS)
        order = "job, attempt, coalesce(start_s, end_s)"
        rows = [
            dict(zip(names, row, strict=True))
            for row in store.rows(f"SELECT {', '.join(names)} FROM jobs ORDER BY {order}")
        ]
        return rows, {one.code: one.text for one in store.notices}
