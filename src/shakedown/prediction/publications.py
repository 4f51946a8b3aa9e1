"""The HPL runs of a published system, as rows to calibrate with and to forecast."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import BadInput
from ..published import System
from .setup import Row, Setup, checked_grid, ranks_each


def published_rows(system: System, setup: Setup) -> tuple[Row, ...]:
    """Every HPL run of the system that the setup speaks of, the smallest first. Raises BadInput where there is none."""
    wanted = setup.published
    rows = []
    for one in system.values:
        params = one.params
        if one.metric != "hpl.rate" or "n" not in params or setup.counts not in params:
            continue
        if wanted and (
            not one.where.startswith(wanted.where)  # any of them
            or any(params.get(name) not in among for name, among in wanted.params.items())
        ):
            continue
        count = int(params[setup.counts])
        p, q = checked_grid(count, ranks_each(setup), int(params.get("p", 0)), int(params.get("q", 0)), one.where)
        rows.append(Row(count=count, n=int(params["n"]), p=p, q=q, rate=one.value, where=f"{system.name}, {one.where}"))
    if not rows:
        raise BadInput(
            f"the published system {system.id!r} has no HPL run with N and the number of {setup.counts}",
            hint="tsubame and castorc have",
        )
    return tuple(sorted(rows, key=lambda row: (row.count, row.n)))


def pick(rows: Sequence[Row], counts: Sequence[int], what: str, unit: str) -> tuple[Row, ...]:
    """The rows with these counts. Raises BadInput that names the counts there are."""
    for count in counts:
        if not any(row.count == count for row in rows):
            there = ", ".join(map(str, sorted({row.count for row in rows})))
            raise BadInput(f"{what}: there is no measured run on {count} {unit}", hint=f"there are runs on {there}")
    return tuple(row for row in rows if row.count in counts)
