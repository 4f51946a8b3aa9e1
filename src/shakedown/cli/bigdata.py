"""shakedown bigdata: Spark in an allocation beside the machine's own storage and network; event logs taken apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, UNDECIDED, BadInput, CannotMeasure
from . import _batch, _chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..workloads.common.spark_log import Log


def command(
    ctx: typer.Context,
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="Parameters of the workload `bigdata`, such as rows=20000000 directory=/scratch.",
            show_default=False,
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Measure nothing: take this event log of Spark apart; or the one of a run directory.",
            show_default=False,
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(help="The new run directory. Default: a name made from the time below ./runs.")
    ] = None,
    formats: Annotated[str, typer.Option("--format", help="Report formats, separated by commas.")] = "html,md,csv,json",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON on standard output.")] = False,
) -> None:
    """Start Spark on this host or on those of an allocation, have it sort, write and read, and lay its rates beside what the
    storage and the network of the same hosts reach. Nothing of it stays.

    Exit code 0; 1: a result is wrong; 3: something could not be measured.
    """
    if log is not None:
        if settings:
            raise BadInput(f"{settings[0]!r} is for a measurement, and --log makes none", hint="leave one of them out")
        _show_log(_read(log), json=json)
        return
    raise typer.Exit(_measured(ctx, settings or (), directory, formats, json=json))


def _measured(ctx: typer.Context, settings: Sequence[str], directory: Path | None, formats: str, *, json: bool) -> int:
    from ..hosts.access import LocalHost
    from ..report import bigdata as page
    from ..results import run_directory
    from ..run import session
    from ._observer import Terminal
    from .report import show_result, write_report

    how = _batch.how(ctx)
    path = directory or Path("runs") / run_directory.new_name("bigdata", LocalHost().now_ns())
    ran = session.begin(_campaign(settings), "shakedown bigdata", path, how, Terminal())
    if ran is None:
        return MET
    analysis, damaged, pages = write_report(ran.parts[0], formats)
    if json:
        terminal.print_json(analysis)
    else:
        show_result(analysis, pages)
        rows = page.limit_rows(analysis.findings)
        if rows:
            terminal.print_table(page.LIMIT_HEADINGS, rows, title="Beside the machine's own limits, of the same run")
        if found := _logs(ran.parts[0].path):
            print(f"\nstage by stage: shakedown bigdata --log {found[-1]}")
    code = session.exit_code(analysis)
    return COULD_NOT_MEASURE if damaged or (code in (MET, UNDECIDED) and not ran.whole) else code


def _campaign(settings: Sequence[str]) -> str:
    """Spark, and before it what storage and network of the same hosts reach. Raises BadInput."""
    from .. import workloads
    from ..strict import to_toml

    workload = workloads.get("bigdata")
    spark = _chosen.of_workload(workload, settings)
    given = dict(one.partition("=")[::2] for one in settings)
    where = given.get("directory", workload.params["directory"].default)
    storage = {"directory": where, "threads": "1,2,4", "kernels": "write,read", "size": 256 << 20}
    beside = [
        {"workload": "storage", "nodes": "all", "params": storage},
        {
            "workload": "pingpong",
            "nodes": "all",
            "params": {"ranks": "hosts", "kernels": "bandwidth", "sizes": "1048576"},
        },
    ]
    lines = [
        "\n".join(("", "[[run]]", "optional = true", *(f"{key} = {to_toml(value)}" for key, value in one.items()), ""))
        for one in beside
    ]
    nodes = "" if "nodes" in given else 'nodes = "all"\n'
    return "".join((*spark.partition("[[run]]\n")[:1], *lines, "\n[[run]]\n", nodes, spark.partition("[[run]]\n")[2]))


def _logs(path: Path) -> list[Path]:
    return sorted(one for one in path.glob("runs/*/*/events/*") if not one.name.endswith(".inprogress"))


def _read(path: Path) -> Log:
    """An event log, or that of a run directory. Raises BadInput and CannotMeasure."""
    from ..workloads import Garbage
    from ..workloads.common import spark_log

    found = path
    if path.is_dir():
        logs = _logs(path)
        if not logs:
            raise BadInput("there is no event log of Spark in it", where=str(path), hint="give the log's own path")
        found = logs[-1]
    try:
        with open(found, "rb") as file:
            if file.read(4) == b"\x28\xb5\x2f\xfd":
                raise BadInput(
                    "this event log is compressed", where=str(found), hint="zstd -d FILE, then give what it leaves"
                )
            file.seek(0)
            return spark_log.read(file)
    except Garbage as error:
        raise CannotMeasure(
            str(error),
            where=str(found),
            hint="a log is whole once its application has ended, and its name has no .inprogress",
        ) from None
    except OSError as error:
        raise BadInput(
            f"cannot be read: {error.strerror}", where=str(found), hint="give an event log of Spark"
        ) from None


def _show_log(log: Log, *, json: bool) -> None:
    from ..report import bigdata as page

    if json:
        terminal.print_json(
            {"headings": page.STAGE_HEADINGS, "stages": page.stage_rows(log), "said": page.sentences(log)}
        )
        return
    for sentence in page.sentences(log):
        terminal.print_sentence(sentence)
    terminal.print_table(page.STAGE_HEADINGS, page.stage_rows(log), title="Stages")
