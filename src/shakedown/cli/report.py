"""shakedown report: make the report of a run directory again."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE
from . import common

if TYPE_CHECKING:
    from ..records import Absent, Analysis
    from ..results.run_directory import RunDirectory


def command(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Run directories; 'latest' (the default) is the newest below "
            "./runs. Several give one report over all of them."
        ),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", help="html, md, csv, json, separated by commas.")
    ] = "html,md,csv,json",
    output: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the report. Default: the run directory; with several runs, the current folder."
        ),
    ] = None,
    pool_days: Annotated[
        bool,
        typer.Option("--pool-days", help="Take what one host gave on different days as repeats of one measurement."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON on standard output.")] = False,
) -> None:
    """Make the report of a run directory again, from its files alone; or one report over many run directories. Of the
    directory of an emulation (`shakedown radio emulate`) it is that one's page."""
    import gc

    from ..results.run_directory import RunDirectory
    from ..run.session import exit_code

    if runs and len(runs) == 1 and (runs[0] / "emulation.json").exists():
        from . import radio_emulate

        page = output / "report.html" if output else None
        return radio_emulate.write_report(runs[0].absolute(), page, json=json)
    gc.disable()  # hundreds of thousands of records without cycles: looking for some takes a fifth of the time
    opened = [
        RunDirectory.open(common.latest_run(Path("runs")) if str(run) == "latest" else run)
        for run in runs or [Path("latest")]
    ]
    if len(opened) == 1:
        analysis, damaged, pages = write_report(opened[0], formats, output)
    else:
        analysis, damaged, pages = write_reports(opened, formats, output or Path(), pool_days=pool_days)
    if json:
        terminal.print_json(analysis)
    else:
        show_result(analysis, pages)
    raise typer.Exit(COULD_NOT_MEASURE if damaged else exit_code(analysis))


def write_report(
    opened: RunDirectory, formats: str, output: Path | None = None
) -> tuple[Analysis, list[Absent], list[Path]]:
    """Analyse one run directory, write every format, and leave the measurements packed and the summary beside them."""
    from ..analysis import build, run_summary

    part = build.read(opened)
    analysis, damaged = build.from_part(opened, part)
    pages = write_pages(analysis, damaged, formats, output or opened.path)
    build.pack(opened, part)
    run_summary.write(opened, analysis)
    return analysis, damaged, pages


def write_reports(
    opened: Sequence[RunDirectory], formats: str, output: Path, *, pool_days: bool = False
) -> tuple[Analysis, list[Absent], list[Path]]:
    """One report over several run directories."""
    from ..analysis import several

    analysis, damaged = several.analyse_many(opened, pool_days=pool_days)
    return analysis, damaged, write_pages(analysis, damaged, formats, output)


def write_pages(analysis: Analysis, damaged: list[Absent], formats: str, folder: Path) -> list[Path]:
    """Write the report; damaged files are named on standard error and the rest is reported."""
    from .. import report

    for one in damaged:
        terminal.say(f"shakedown: {one.what}: {one.why}")
    wanted = tuple(word.strip() for word in formats.split(",") if word.strip())
    return list(report.write(analysis, folder, wanted).values())


def show_result(analysis: Analysis, pages: list[Path]) -> None:
    """The verdict and where the report lies."""
    print()
    width = shutil.get_terminal_size((120, 40)).columns if sys.stdout.isatty() else 0
    for sentence in analysis.summary:
        print(_indented(sentence, width))
    main = next((path for path in pages if path.suffix == ".html"), pages[0] if pages else None)
    if main is not None:
        print(f"\nreport: {main}")


def _indented(sentence: str, width: int) -> str:
    """A sentence, broken between words where it is for a terminal of ``width`` columns (0: not broken, for pipes)."""
    if width < 40:
        return f"  {sentence}"
    return textwrap.fill(
        sentence, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
