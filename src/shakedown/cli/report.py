"""shakedown report: make the report of a run directory again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import COULD_NOT_MEASURE
from ..records import Absent, Analysis
from . import common

if TYPE_CHECKING:
    from ..store import RunDirectory


def command(
    run: Annotated[Path, typer.Argument(help="A run directory; 'latest' takes the newest below ./runs.")] = Path("latest"),
    formats: Annotated[str, typer.Option("--format", help="html, md, csv, json, with commas between.")] = "html,md,csv,json",
    json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON on standard output.")] = False,
) -> None:
    """Make the report of a run directory again, from its files alone."""
    from ..store import RunDirectory
    from .run import exit_code

    opened = RunDirectory.open(common.latest_run(Path("runs")) if str(run) == "latest" else run)
    analysis, damaged = write_report(opened, formats)
    if json:
        common.print_json(analysis)
    else:
        show_result(analysis, opened)
    raise typer.Exit(COULD_NOT_MEASURE if damaged else exit_code(analysis))


def write_report(opened: RunDirectory, formats: str) -> tuple[Analysis, list[Absent]]:
    """Analyse and write every format; damaged files are named on standard error and the rest is reported."""
    from .. import report
    from ..analysis import build, table

    analysis, damaged = build.analyse(opened)
    for one in damaged:
        common.say(f"shakedown: {one.what}: {one.why}")
    wanted = tuple(word.strip() for word in formats.split(",") if word.strip())
    report.write(analysis, opened.path, wanted)
    table.pack(table.from_measurements(opened.load().measurements), opened.path / "measurements.parquet")
    return analysis, damaged


def show_result(analysis: Analysis, opened: RunDirectory) -> None:
    """The verdict and where the report lies."""
    print()
    for sentence in analysis.summary:
        print(f"  {sentence}")
    pages = sorted(path for path in opened.path.glob("report.*") if path.suffix != ".tmp")
    main = next((path for path in pages if path.suffix == ".html"), pages[0] if pages else None)
    if main is not None:
        print(f"\nreport: {main}")
