"""shakedown list: workloads, campaigns, published systems, metrics."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import unknown
from . import common

KINDS = ("campaigns", "workloads", "published", "metrics")


def command(
    kind: Annotated[
        str, typer.Argument(help="campaigns, workloads, published or metrics; all where none is given.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List what can be run and what it can be compared with."""
    if kind and kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    tables = {one: _TABLES[one]() for one in ((kind,) if kind else KINDS[:3])}
    if json:
        common.print_json(
            {one: [dict(zip(head, row, strict=True)) for row in rows] for one, (head, rows) in tables.items()}
        )
        return
    for one, (head, rows) in tables.items():
        common.print_table(head, rows, "" if kind else one)


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def _campaigns() -> Table:
    from .. import campaign

    found = [campaign.parse(*campaign.text_of(name)) for name in campaign.names()]
    return ("campaign", "what it does"), [(one.name, one.title) for one in found]


def _workloads() -> Table:
    from .. import workloads

    found = [workloads.get(name) for name in workloads.names()]
    return ("workload", "what it measures", "parameters"), [
        (one.name, one.title, ", ".join(f"{name}={param.default}" for name, param in one.params.items()))
        for one in found
    ]


def _published() -> Table:
    from .. import published

    return ("system", "name", "year", "values"), [
        (one.id, f"{one.name}, {one.site}", str(one.year), str(len(one.values))) for one in published.systems()
    ]


def _metrics() -> Table:
    from .. import plan, published, workloads

    own = plan.metrics(set(workloads.names()))
    rows = [(one.name, one.unit, one.better, one.title) for one in own.values()]
    rows += [(one.name, one.unit, one.better, one.title) for one in published.metrics(own).values()]
    return ("metric", "unit", "better", "title"), sorted(rows)


_TABLES = {"campaigns": _campaigns, "workloads": _workloads, "published": _published, "metrics": _metrics}
