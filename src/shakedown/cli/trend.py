"""shakedown trend: histories of runs; what changed, since when, and what changed with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import NOT_MET, UNDECIDED, BadInput, CannotMeasure
from . import common

if TYPE_CHECKING:
    from ..analysis.trend import Histories
    from ..records import Trend


def command(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Run directories, or folders of them; ./runs by default."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Only metrics with this in their name; may be repeated.")
    ] = None,
    host: Annotated[list[str] | None, typer.Option(help="Only these hosts; may be repeated.")] = None,
    since: Annotated[str, typer.Option(help="Only runs from this time on: a day, or a time with its zone.")] = "",
    rate: Annotated[float, typer.Option(help="False alarms a year that each figure may have.")] = 1.0,
    least: Annotated[str, typer.Option(help="Say nothing of changes that are smaller: '1 %'.")] = "",
    renamed: Annotated[
        list[str] | None, typer.Option(metavar="OLD=NEW", help="A host and what it is called now; may be repeated.")
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="Also list the series that did not change.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the page with charts here.")] = None,
) -> None:
    """Say whether each figure of each host is still as good as it was, and if not, since when, and what else changed then.

    Each metric with the same parameters on the same host is a series; a control chart by ranks finds changes of its level.
    Exit code 0; 1: a change for the worse stands at the end of a series; 4: no series is long enough to say.
    """
    from ..analysis import trend
    from ..files import atomic
    from ..report import trend as page
    from ..report.formats import html

    if not 0 < rate <= 100:
        raise BadInput(
            f"--rate {rate:g} is not a number of false alarms a year", hint="above 0 and at most 100: --rate 1"
        )
    smallest = common.share("--least", least) if least else 0.0
    now_ns = time.time_ns()
    found = trend.read(trend.directories(runs or [Path("runs")]), now_ns, trend.renamed(renamed or ()))
    chosen = _chosen(found, metric or [], host or [], since)
    judged = trend.judged(chosen, rate, smallest)
    if not judged.series:
        raise CannotMeasure(
            "no run has a value to follow" + (f": {judged.left_out[0].why}" if judged.left_out else ""),
            where=", ".join(map(str, runs or [Path("runs")])),
            hint="`shakedown report RUN` shows what a run measured; --metric and --host choose by name",
        )
    if output:
        atomic.write(output, html.render_document(page.document(judged)))
    if json:
        terminal.print_json(judged)
    else:
        _print(judged, all)
        if output:
            print(f"\nthe page: {output}")
    if any(one.state == "worse" for one in judged.series):
        raise typer.Exit(NOT_MET)
    raise typer.Exit(UNDECIDED if all_short(judged) else 0)


def all_short(judged: Trend) -> bool:
    """Whether nothing can be said of any series yet."""
    return all(one.state == "too few runs" for one in judged.series)


def _chosen(found: Histories, metrics: list[str], hosts: list[str], since: str) -> Histories:
    """The runs and values that were asked for."""
    from .. import times

    begin_ns = times.parse(since, "UTC", "--since") if since else 0
    runs = [
        one._replace(
            values={
                key: value
                for key, value in one.values.items()
                if (not metrics or any(word in key.metric for word in metrics)) and (not hosts or key.host in hosts)
            }
        )
        for one in found.runs
        if one.at_ns >= begin_ns
    ]
    return found._replace(runs=runs)


def _print(judged: Trend, every: bool) -> None:
    from ..report import trend as page

    for line in page.lead(judged):
        print(line)
    for number, event in enumerate(judged.events, 1):
        print(f"\n{number}. {page.event_title(event, judged)}")
        terminal.print_table(*page.change_rows(event, judged))
        for line in page.event_sentences(event, judged):
            print(f"  {line}")
        headings, rows = page.cause_rows(event)
        if rows:
            terminal.print_table(headings, rows)
    shown = [one for one in judged.series if every or one.state in ("worse", "other")]
    if shown:
        print()
        terminal.print_table(*page.series_rows(shown))
    for line in page.remarks(judged):
        print(f"  note: {line}")
