"""shakedown scaling: speedup, efficiency, laws and the best count, from runs at several counts of workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import UNDECIDED, BadInput, CannotMeasure, unknown
from . import common

if TYPE_CHECKING:
    from ..records import Scaling, ScalingSeries


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Run directories that hold the counts together, or published systems (comet, gordon); 'latest' (the "
            "default) is the newest below ./runs."
        ),
    ] = None,
    over: Annotated[
        str, typer.Option(help="What is counted, where several could be: nodes, gpus, ranks, cores, threads.")
    ] = "",
    at: Annotated[
        list[int] | None, typer.Option(min=1, help="Also the time at this count, measured or not; may be repeated.")
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            metavar="all|NAME,...",
            help="Of runs with several MPIs only these, side by side, the first one the reference; all, or names.",
        ),
    ] = "",
    noise: Annotated[
        str,
        typer.Option(
            help="How far one launch scatters (standard deviation), where no count was launched twice: '3 %'."
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the page with figures here.")] = None,
) -> None:
    """Say how times fall with the number of workers: speedup and efficiency with intervals, laws and whether they hold, the
    count that is fastest, cheapest, most frugal.

    Strong scaling (the same work) and weak scaling (the same work a worker) are found in the runs. Exit code 0; 4: nothing
    shows the spread, so that no law was checked.
    """
    from ..analysis import scaling
    from ..files import atomic
    from ..report import scaling as page
    from ..report.formats import html

    spread = common.share("--noise", noise) if noise else None
    series = _series(runs or ["latest"], over, mpi)
    if not series:
        raise CannotMeasure(
            "no work was measured at two counts of workers" + (f" by {over}" if over else ""),
            where=", ".join(runs or [str(common.latest_run(Path("runs")))]),
            hint="measure it at several with all else alike, also the threads, three times each: "
            "shakedown run hydro ranks=1,2,4 threads=1 repeat=3",
        )
    found = [scaling.judged(one, noise=spread, at=tuple(at or ())) for one in series]
    if output:
        atomic.write(output, html.render_document(page.document(found)))
    if json:
        terminal.print_json({"scaling": found})
    else:
        _print_all(found)
        if output:
            print(f"\nthe page: {output}")
    raise typer.Exit(0 if any(one.spread is not None for one in found) else UNDECIDED)


def _series(names: Sequence[str], over: str, mpi: str) -> list[ScalingSeries]:
    """Of all run directories together, and of each published system; of the MPIs that are named alone, where some are."""
    from .. import published
    from ..analysis import build, scaling
    from ..results.run_directory import RunDirectory

    if over and over not in scaling.COUNTED:
        raise unknown("count", over, scaling.COUNTED)
    ids = [one.id for one in published.systems()]
    parts, found = [], []
    for name in names:
        if name == "latest" or Path(name).is_dir():
            opened = RunDirectory.open(common.latest_run(Path("runs")) if name == "latest" else Path(name))
            parts.append(build.read(opened))
        elif name in ids:
            found += [one for one in scaling.from_published(published.system(name)) if over in ("", one.over)]
        else:
            raise BadInput(
                f"{name} is neither a run directory nor a published system",
                hint=f"published are {', '.join(ids)}",
            )
    energies = [one for part in parts if part.power for one in part.power.findings]
    series = [*scaling.from_cases([part.cases for part in parts], energies, over), *found]
    return scaling.of_mpis(series, mpi.split(",")) if mpi and series else series


def _print_all(found: Sequence[Scaling]) -> None:
    from ..report import scaling as page

    for one in found:
        _print(one)
    for name, headings, rows in page.beside(found):
        print(f"\n{name}")
        terminal.print_table(headings, rows)


def _print(one: Scaling) -> None:
    from ..report import scaling as page

    print(f"\n{page.title(one.series)}")
    headings, rows = page.rows(one)
    terminal.print_table(headings, rows)
    for line in page.sentences(one):
        print(f"  {line}")
    for notice in one.notices:
        print(f"  note: {notice.text}; {notice.advice}")
