"""shakedown compare: runs and published systems side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput
from . import common

if TYPE_CHECKING:
    from ..analysis.compare import Cell, Entry, Row
    from ..analysis.requirements import Requirement
    from ..records import Analysis, Metric


def command(
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Run directories, report.json files, published systems (see "
            "`shakedown list published`) or their TOML files."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
    mpi: Annotated[
        str,
        typer.Option(
            metavar="all|NAME,...",
            help="A column for each of these MPIs of a run that was measured with several; all, or names.",
        ),
    ] = "",
    all: Annotated[bool, typer.Option("--all", help="Every row, not the headlines alone.")] = False,
) -> None:
    """Compare two or more systems, each with the first: like with like, as far as their intervals distinguish them.

    Values under other circumstances (another device, other nodes or cores, a rail, a network for shared memory) are shown
    and not ranked. Of runs, also what else differed between them: kernel, settings, software, builds, load.
    """
    from ..analysis import compare, requirements

    if len(systems) < 2 and not mpi:
        raise BadInput(
            "one system alone cannot be compared", hint="name two or more: shakedown compare RUN bsc-2 comet"
        )
    metrics, entries = _columns(systems, mpi)
    rows = compare.side_by_side(entries, metrics)
    held = requirements.rows(entries, metrics)
    apart = compare.differences(entries)
    if json:
        names = [name for name, one in zip(compare.names_of(entries), entries, strict=True) if one.facts]
        terminal.print_json(
            {
                "systems": compare.names_of(entries),
                "rows": rows,
                "requirements": held,
                "differences": [
                    {"fact": one.fact, "values": dict(zip(names, one.values, strict=True))} for one in apart
                ],
            }
        )
        return
    if held:
        _print_requirements(held, compare.names_of(entries))
    if rows:
        _print_rows(rows, compare.names_of(entries), every=all)
    elif not held:
        print("no metric was measured on two of them")
    if apart:
        names = [name for name, one in zip(compare.names_of(entries), entries, strict=True) if one.facts]
        terminal.print_table(
            ("what", *names), [(one.fact, *one.values) for one in apart], "What differed between the runs"
        )


def _columns(systems: Sequence[str], mpi: str) -> tuple[dict[str, Metric], list[Entry]]:
    """The metrics and the columns; with MPIs named, one column for each of them of a run. Raises BadInput, StoreFailed."""
    from .. import published, workloads
    from ..analysis import compare
    from ..campaign import plan
    from ..records import Metric

    metrics = dict(plan.metrics(set(workloads.names())))
    for name, one in published.metrics(metrics).items():
        fields = {field: getattr(one, field) for field in one.__struct_fields__}
        metrics[name] = Metric(**fields)
    entries = [entry(name, metrics) for name in systems]
    if mpi:
        words = mpi.split(",")
        entries = [part for one in entries for part in ([one] if one.published else compare.by_mpi(one, words))]
    return metrics, entries


def _print_rows(rows: Sequence[Row], names: Sequence[str], *, every: bool) -> None:
    from ..analysis import compare

    shown = [row for row in rows if every or not row.detail]
    table = []
    for row in shown:
        cells = [_cell(cell, row) for cell in row.cells]
        table.append((row.title, row.params, *cells, compare.verdict(row, names)))
    terminal.print_table(("metric", "with", *names, "verdict"), table)
    if len(shown) < len(rows):
        print(f"\n  {len(rows) - len(shown)} more rows with --all")


def _print_requirements(held: Sequence[Requirement], names: Sequence[str]) -> None:
    from ..analysis import requirements
    from ..units import show

    table = []
    for row in held:
        cells = ["-" if one is None else show(one.value, row.unit) for one in row.cells]
        cells[row.system] = f"{row.sense} {show(row.value, row.unit)}"
        table.append((row.title, row.params, *cells, requirements.verdict(row, names)))
    terminal.print_table(("metric", "with", *names, "verdict"), table, "What is required")


def entry(name: str, metrics: dict[str, Metric]) -> Entry:
    """A column from a run directory, a report.json, a published system's id or file. Raises BadInput, StoreFailed.

    What a run's meters measured is defined with the run: such metrics join ``metrics``.
    """
    from .. import published
    from ..analysis import build, compare
    from ..errors import unknown
    from ..results.run_directory import RunDirectory

    path = Path(name)
    if path.is_dir() or name == "latest":
        opened = RunDirectory.open(common.latest_run(Path("runs")) if name == "latest" else path)
        return _of_run(build.analyse(opened)[0], metrics)
    if path.suffix == ".json":
        return _of_run(build.read_analysis(path), metrics)
    if path.suffix == ".toml":
        return compare.from_published(published.load(path), metrics)
    ids = [one.id for one in published.systems()]
    if name not in ids:
        raise unknown("system", name, ids)
    return compare.from_published(published.system(name), metrics)


def _of_run(analysis: Analysis, metrics: dict[str, Metric]) -> Entry:
    from .. import workloads
    from ..analysis import compare
    from ..campaign import plan

    known = plan.metrics(set(workloads.names()))
    metrics |= {one.name: one for one in analysis.metrics if one.name not in known}
    return compare.from_analysis(analysis)


def _cell(cell: Cell | None, row: Row) -> str:
    from ..units import show

    if cell is None:
        return "-"
    text = show(cell.value, row.unit)
    if cell.low is None or cell.high is None:
        text += " (no interval)"
    elif cell.value and not row.exact:
        text += f" ±{(cell.high - cell.low) / 2 / abs(cell.value):.1%}"
    text += f" ({cell.ratio:.3g}x)" if cell.ratio is not None else ""
    return text + (f" [{cell.circumstances}]" if cell.circumstances else "")
