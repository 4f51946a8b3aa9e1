"""shakedown site: one offline site over any number of run directories, acceptances and health records."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ..document import terminal
from . import common


def command(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders with run directories, acceptances and health records, also below them; ./runs by default."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the site.")] = Path("site"),
    title: Annotated[str, typer.Option(help="What the first page is called.")] = "The fleet",
    least: Annotated[str, typer.Option(help="The smallest change that counts as one: '1 %'.")] = "1 %",
    processes: Annotated[int, typer.Option(min=0, help="How many at once; 0: one a CPU.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print what was made and what was left out as JSON.")] = False,
) -> None:
    """Make a site of static pages: the fleet at a glance, a page a node, a page a metric, published systems, search.

    It opens from the disk without a server or a network. Called again, it writes only what changed. Exit code 0; 3 where no
    run could be read.
    """
    from ..document.text import count
    from ..site.build import build

    built = build(
        folders or [Path("runs")],
        output,
        title=title,
        least=common.share("--least", least),
        now_ns=time.time_ns(),
        processes=processes or len(os.sched_getaffinity(0)),
        say=_progress,
    )
    if json:
        terminal.print_json({**built._asdict(), "output": str(built.output)})
        return
    for one in built.left_out[:10]:
        terminal.say(f"left out: {one.what}: {one.why}")
    if len(built.left_out) > 10:
        terminal.say(f"left out: {len(built.left_out) - 10} more (the page of notes names them)")
    print(f"{count(built.runs, 'run')} of {count(built.nodes, 'node')}, {count(built.figures, 'figure')}")
    unchanged = built.pages - built.written
    more = f", {unchanged:,} were as they are" if unchanged else ""
    print(f"{count(built.written, 'page')} written{more}{f', {built.removed:,} removed' if built.removed else ''}")
    print(f"\nthe site: {built.output / 'index.html'}")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}" if "read" in text else f"\r\033[K{text}\n")
        sys.stderr.flush()
