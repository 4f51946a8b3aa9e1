"""shakedown compare: runs and published systems side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadInput
from . import common

if TYPE_CHECKING:
    from ..analysis.compare import Cell, Entry


def command(
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Run directories, report.json files, published systems (see "
            "`shakedown list published`) or their TOML files."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
    all: Annotated[bool, typer.Option("--all", help="Every row, not the headlines alone.")] = False,
) -> None:
    """Lay two or more systems side by side, each against the first; what the intervals do not tell apart is not ranked."""
    from .. import plan, published, workloads
    from ..analysis import compare
    from ..records import Metric

    if len(systems) < 2:
        raise BadInput("one system has nothing beside it", hint="name two or more: shakedown compare RUN bsc-2 comet")
    entries = [entry(name) for name in systems]
    metrics = dict(plan.metrics(set(workloads.names())))
    for name, one in published.metrics(metrics).items():
        metrics[name] = Metric(name=name, title=one.title, unit=one.unit, better=one.better, source=one.source)
    rows = compare.side_by_side(entries, metrics)
    if json:
        common.print_json({"systems": [one.name for one in entries], "rows": rows})
        return
    if not rows:
        print("no metric was measured on two of them")
        return
    shown = [row for row in rows if all or not row.detail]
    table = []
    for row in shown:
        cells = [_cell(cell, row.unit) for cell in row.cells]
        best = compare.winner(row)
        verdict = f"{entries[best].name} is better" if best is not None else "not told apart by the intervals"
        table.append((row.title, row.params, *cells, verdict if row.better != "none" else "no better or worse"))
    common.print_table(("metric", "with", *(one.name for one in entries), "verdict"), table)
    if len(shown) < len(rows):
        print(f"\n  {len(rows) - len(shown)} more rows with --all")


def entry(name: str) -> Entry:
    """A column from a run directory, a report.json, a published system's id or file. Raises BadInput, StoreFailed."""
    from .. import published
    from ..analysis import build, compare
    from ..errors import unknown
    from ..store import RunDirectory

    path = Path(name)
    if path.is_dir() or name == "latest":
        opened = RunDirectory.open(common.latest_run(Path("runs")) if name == "latest" else path)
        return compare.from_analysis(build.analyse(opened)[0])
    if path.suffix == ".json":
        return compare.from_analysis(build.read_analysis(path))
    if path.suffix == ".toml":
        return compare.from_published(published.load(path))
    ids = [one.id for one in published.systems()]
    if name not in ids:
        raise unknown("system", name, ids)
    return compare.from_published(published.system(name))


def _cell(cell: Cell | None, unit: str) -> str:
    from ..units import show

    if cell is None:
        return "-"
    text = show(cell.value, unit)
    if cell.low is not None and cell.high is not None and cell.value:
        text += f" ±{(cell.high - cell.low) / 2 / abs(cell.value):.1%}"
    return text + (f" ({cell.ratio:.3g}x)" if cell.ratio is not None else "")
