"""shakedown run: plan, run, measure, analyse, report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput, CannotMeasure
from . import common

if TYPE_CHECKING:
    from ..metering import Metered
    from ..records import Analysis, Measurement, Plan
    from ..store import RunDirectory


def command(
    campaign: Annotated[
        str, typer.Argument(help="A shipped campaign (see `shakedown list campaigns`) or a TOML file.")
    ] = "quick",
    directory: Annotated[
        Path | None,
        typer.Option(help="The new run directory. Default: a name made from time, campaign and host below ./runs."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on with this run directory; what is whole is not repeated. 'latest' takes the newest below ./runs."
        ),
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="With --resume: measure again what failed.")] = False,
    meter: Annotated[
        list[str] | None,
        typer.Option(
            help="Read this power meter meanwhile; may be given again. 'auto': all that this machine shows. "
            "See `shakedown meter list`."
        ),
    ] = None,
    meter_interval: Annotated[float | None, typer.Option(help="Seconds between readings of every meter.")] = None,
    rest: Annotated[
        float | None,
        typer.Option(help="With meters: seconds of idleness before the first run and after each. Default: 5."),
    ] = None,
    report: Annotated[bool, typer.Option(help="Analyse and write the report at the end.")] = True,
    formats: Annotated[str, typer.Option("--format", help="Report formats, with commas between.")] = "html,md,csv,json",
    json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON on standard output.")] = False,
) -> None:
    """Measure this machine: run a campaign, live progress on standard error, the report's path at the end."""
    from .. import metering
    from ..host import RealHost
    from ..store import RunDirectory

    asked = metering.ask(meter or (), meter_interval, rest, RealHost())
    if resume is not None:
        if directory is not None:
            raise BadInput("--directory and --resume exclude each other", hint="--resume goes on where it stopped")
        opened = RunDirectory.open(common.latest_run(Path("runs")) if str(resume) == "latest" else resume)
    else:
        opened = begin(campaign, directory)
    plan = opened.plan()
    metered = metering.remember(opened.path, asked)
    measurements = carry_out(opened, plan, metered, retry_failed=retry_failed)
    if not report:
        common.say(f"run directory: {opened.path}")
        raise typer.Exit(code_of_states(measurements))
    from .report import show_result, write_report

    analysis, damaged, pages = write_report(opened, formats)
    if json:
        common.print_json(analysis)
    else:
        show_result(analysis, pages)
    raise typer.Exit(COULD_NOT_MEASURE if damaged else exit_code(analysis))


def begin(campaign_name: str, directory: Path | None) -> RunDirectory:
    """Read the campaign, look at the machine, make the plan, and write all three into a new run directory."""
    from .. import __version__, campaign, machine, plan, store
    from ..host import RealHost

    text, where = campaign.text_of(campaign_name)
    asked = campaign.parse(text, where)
    door = RealHost()
    found = machine.machine(door)
    path = directory or Path("runs") / store.new_name(asked.name, door.now_ns())
    history = plan.learn(store.durations(path.parent))
    made = plan.make(asked, found, where=where, history=history, version=__version__)
    if not made.runs:
        reasons = "; ".join(f"{one.what}: {one.why}" for one in made.skipped)
        raise CannotMeasure("nothing in this campaign can run here", where=where, hint=reasons)
    manifest = store.Manifest(
        schema=store.SCHEMA, campaign=asked.name, created_ns=door.now_ns(), version=__version__, host=door.name()
    )
    return store.RunDirectory.create(path, manifest=manifest, campaign_toml=text, machine=found, plan=made)


def carry_out(
    opened: RunDirectory, plan: Plan, metered: Metered | None = None, *, retry_failed: bool
) -> list[Measurement]:
    """Execute the plan with live progress, meters read meanwhile; Ctrl-C leaves a directory that can be resumed, and says
    how."""
    from .. import execute, metering
    from ..host import RealHost
    from ..plan import total_s
    from ..units import show_seconds
    from .progress import Live

    common.say(f"{plan.title}: {len(plan.runs)} runs, about {show_seconds(total_s(plan))}, into {opened.path}")
    for one in plan.skipped:
        common.say(f"  not here     {one.what}: {one.why}")
    try:
        with metering.beside(opened.path, metered, RealHost(), common.say) as rest, Live() as live:
            measurements = execute.execute(
                opened, plan, opened.machine(), RealHost(), live, retry_failed=retry_failed, rest=rest
            )
    except KeyboardInterrupt:
        common.say(f"shakedown: stopped; what is whole was kept\n  next: shakedown run --resume {opened.path}")
        sys.exit(130)
    remember_durations(opened, plan, measurements)
    return measurements


def remember_durations(opened: RunDirectory, plan: Plan, measurements: list[Measurement]) -> None:
    """Leave what the runs took, so that later plans estimate better."""
    import msgspec

    from ..errors import StoreFailed
    from ..store import write

    estimates = {run.id: run.estimate_s for run in plan.runs}
    taken = [
        (one.run, one.workload, estimates.get(one.run, 0.0), (one.end_ns - one.begin_ns) * 1e-9)
        for one in measurements
        if one.state == "ok"
    ]
    try:
        write(opened.path / "durations.json", msgspec.json.encode(taken))
    except StoreFailed as error:
        common.say(f"shakedown: {error}")  # estimates only: the measurements are kept


def code_of_states(measurements: list[Measurement]) -> int:
    """3 where a run has no result, else 0."""
    return MET if all(one.state == "ok" for one in measurements) else COULD_NOT_MEASURE


def exit_code(analysis: Analysis) -> int:
    """1 for a limit that is not met; else 3 for a run without a result; else 4 for an undecided limit; else 0."""
    states = {verdict.state for verdict in analysis.verdicts}
    if "not met" in states:
        return NOT_MET
    if "not measured" in states or any(one.state != "ok" for one in analysis.outcomes):
        return COULD_NOT_MEASURE
    return UNDECIDED if "undecided" in states else MET
