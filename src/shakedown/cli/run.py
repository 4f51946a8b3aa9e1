"""shakedown run: plan, run, measure, analyse, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, UNDECIDED, BadInput
from . import _batch, _chosen, common

if TYPE_CHECKING:
    from ..metering.campaign_meters import Metered
    from ..run.session import How, Ran


_Directory = Annotated[
    Path | None,
    typer.Option(help="The new run directory. Default: a name made from time, campaign and host below ./runs."),
]
_Resume = Annotated[
    Path | None,
    typer.Option(
        help="Continue this run directory; what is whole is not repeated. 'latest' takes the newest below ./runs."
    ),
]
_Meter = Annotated[
    list[str] | None,
    typer.Option(
        help="Read this power meter meanwhile; may be given again. 'auto': all that this machine shows. "
        "See `shakedown meter list`."
    ),
]
_Interval = Annotated[
    float | None, typer.Option(callback=common.not_negative, help="Seconds between readings of every meter.")
]
_Rest = Annotated[
    float | None,
    typer.Option(help="With meters: seconds of idleness before the first run and after each. Default: 5."),
]
_TimeLimit = Annotated[
    str | None,
    typer.Option(
        help="Begin no run that would, by its estimate, end later than this from now, as '9 min'. What is left out is "
        "named (exit code 4), and --resume continues with it."
    ),
]


def command(
    ctx: typer.Context,
    campaign: Annotated[
        str,
        typer.Argument(
            help="A shipped campaign (`shakedown list campaigns`), a TOML file, or a workload (`shakedown list workloads`)."
        ),
    ] = "quick",
    settings: _chosen.Settings = None,
    mpi: _chosen.Mpi = None,
    under: _chosen.Under = None,
    directory: _Directory = None,
    resume: _Resume = None,
    retry_failed: Annotated[bool, typer.Option(help="With --resume: measure again what failed.")] = False,
    meter: _Meter = None,
    meter_interval: _Interval = None,
    rest: _Rest = None,
    time_limit: _TimeLimit = None,
    report: Annotated[bool, typer.Option(help="Analyse and write the report at the end.")] = True,
    formats: Annotated[str, typer.Option("--format", help="Report formats, separated by commas.")] = "html,md,csv,json",
    json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON on standard output.")] = False,
    inside: Annotated[
        Path | None, typer.Option(hidden=True, help="What jobs called that version 0.1.0 submitted.")
    ] = None,
) -> None:
    """Measure this machine, or a cluster: run a campaign or one workload, live progress on standard error, the report's
    path at the end."""
    from .. import campaign as campaigns
    from ..hosts.access import LocalHost
    from ..metering import campaign_meters
    from ..run import session
    from ._observer import Terminal

    if inside is not None:
        from ..run.batch import campaign_jobs

        campaign_jobs.inside(inside, Terminal())
        raise typer.Exit(MET)
    how = _batch.how(ctx, retry_failed=retry_failed)
    if time_limit is not None:
        how = how._replace(time_limit_s=campaigns.seconds(time_limit, "--time-limit"))
    _check_resumed(resume, directory, mpi, under)
    if resume is not None and str(resume) == "latest":
        resume = common.latest_run(Path("runs"))
    metered = campaign_meters.ask(meter or (), meter_interval, rest, LocalHost())
    if metered is not None:
        common.warn_of_passwords(metered.targets)
    if resume is not None:
        ran = session.go_on(resume, how, Terminal(), metered)
    else:
        ran = _begun(_chosen.campaign(campaign, settings or (), mpi, under), directory, how, metered)
    if ran is None:
        return
    if not report:
        terminal.say(f"run directory: {ran.parts[0].path}")
        raise typer.Exit(session.code_of_states(ran))
    raise typer.Exit(_reported(ran, formats, json=json))


def _check_resumed(resume: Path | None, directory: Path | None, mpi: str | None, under: Sequence[str] | None) -> None:
    """Raises BadInput for what cannot be said of a run directory that is gone on with."""
    if resume is None:
        return
    if directory is not None:
        raise BadInput("--directory and --resume exclude each other", hint="--resume goes on where it stopped")
    if mpi is not None:
        raise BadInput("--mpi is for a new run directory", hint="--resume continues with the MPIs that were planned")
    if under:
        raise BadInput(
            "--under is for a new run directory", hint="--resume continues with the layers that were planned"
        )


def _begun(asked: tuple[str, str], directory: Path | None, how: How, metered: Metered | None) -> Ran | None:
    """A campaign, by its text and what to call that, in a new run directory; None where a job is left to itself."""
    from .. import campaign as campaigns
    from ..hosts.access import LocalHost
    from ..results import run_directory
    from ..run import session
    from ._observer import Terminal

    text, where = asked
    name = campaigns.parse(text, where).name
    path = directory or Path("runs") / run_directory.new_name(name, LocalHost().now_ns())
    return session.begin(text, where, path, how, Terminal(), metered)


def _reported(ran: Ran, formats: str, *, json: bool) -> int:
    """Write the report, show it, and return the exit code."""
    from ..run import session
    from .report import show_result, write_report, write_reports

    first = ran.parts[0]
    if len(ran.parts) > 1:
        analysis, damaged, pages = write_reports(ran.parts, formats, first.path.parent)
    else:
        analysis, damaged, pages = write_report(first, formats)
    if json:
        terminal.print_json(analysis)
    else:
        show_result(analysis, pages)
    code = session.exit_code(analysis)
    return COULD_NOT_MEASURE if damaged or (code in (MET, UNDECIDED) and not ran.whole) else code
