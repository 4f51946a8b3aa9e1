"""shakedown import: logs that a user has become a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, BadInput

if TYPE_CHECKING:
    from datetime import datetime, tzinfo


def command(
    workload: Annotated[
        str,
        typer.Argument(
            help="Whose output it is: xhpl (any HPL), hpcc, mccalpin (STREAM), fio, ior, mdtest, io500, bonnie (bonnie++), "
            "elbencho, osu, imb, nccl_tests, perftest, ucx_perftest, iperf3, lammps, "
            "quantum_espresso, openfoam, gromacs, raxml, examl, or any other workload."
        ),
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Its logs; also packed (gz, xz, bz2).")],
    host: Annotated[str, typer.Option(help="Where it was measured. Default: as each log states.")] = "",
    date: Annotated[
        str,
        typer.Option(
            help="When: 2026-11-20T15:14, with +01:00 or Z behind it, or --zone. Default: as each log states."
        ),
    ] = "",
    zone: Annotated[
        str, typer.Option(help="The zone of times that name none: Europe/Berlin, UTC. Default: that of this machine.")
    ] = "",
    directory: Annotated[
        Path | None,
        typer.Option(help="The new run directory. Default: a name made from time and workload below ./runs."),
    ] = None,
    formats: Annotated[str, typer.Option("--format", help="Report formats, separated by commas.")] = "html,md,csv,json",
    json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON on standard output.")] = False,
) -> None:
    """Make a run directory and its report of logs that you have. They are judged by their own checks and marked as imported.

    Exit code 3 where a log contains no result, or one that failed its check.
    """
    from .. import workloads
    from ..hosts import hostlist
    from ..results import imported, run_directory
    from .report import show_result, write_report

    asked = workloads.get(workload)
    if host and hostlist.expand(host) != (host,):
        raise BadInput(
            f"{host!r} is not the name of one host", where="--host", hint="import the logs of each host alone"
        )
    logs = imported.read(asked, files, host=host, date=_date(date), zone=_zone(zone))
    path = directory or Path("runs") / run_directory.new_name(f"imported-{asked.name}", logs[0].begin_ns, logs[0].host)
    records = imported.create(path, asked, logs)
    for log, record in zip(logs, records, strict=True):
        terminal.say(f"  {record.state:<11} {log.path}: {len(record.cases)} results" + f"  {record.reason}".rstrip())
    analysis, damaged, pages = write_report(run_directory.RunDirectory.open(path), formats)
    if json:
        terminal.print_json(analysis)
    else:
        show_result(analysis, pages)
    whole = not damaged and all(record.state == "ok" for record in records)
    raise typer.Exit(MET if whole else COULD_NOT_MEASURE)


def _date(text: str) -> datetime | None:
    from .. import times

    if not text:
        return None
    stamp = times.iso(text)
    if stamp is None:
        raise BadInput(f"{text!r} is not a date", where="--date", hint="write it as 2026-11-20T15:14+01:00")
    return stamp


def _zone(text: str) -> tzinfo | None:
    from .. import times

    return times.zone(text, "--zone") if text else None
