"""shakedown run: plan, run, measure, analyse, report."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput, CannotMeasure
from . import _chosen, _submitted, _where, common

if TYPE_CHECKING:
    from ..campaign import Campaign
    from ..metering.campaign_meters import Metered
    from ..records import Analysis, Measurement, Plan
    from ..results.run_directory import RunDirectory
    from ..schedulers import Allocation


def command(
    campaign: Annotated[
        str,
        typer.Argument(
            help="A shipped campaign (`shakedown list campaigns`), a TOML file, or a workload (`shakedown list workloads`)."
        ),
    ] = "quick",
    settings: _chosen.Settings = None,
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
    meter_interval: Annotated[
        float | None, typer.Option(callback=common.not_negative, help="Seconds between readings of every meter.")
    ] = None,
    rest: Annotated[
        float | None,
        typer.Option(help="With meters: seconds of idleness before the first run and after each. Default: 5."),
    ] = None,
    on: _where.On = "",
    nodes: _where.Nodes = 0,
    hosts: _where.Hosts = "",
    partition: _where.Partition = "",
    account: _where.Account = "",
    qos: _where.Qos = "",
    constraint: _where.Constraint = "",
    reservation: _where.Reservation = "",
    gres: _where.Gres = "",
    parallel_environment: _where.Environment = "",
    slots: _where.Slots = 0,
    job_limit: _where.JobLimit = "",
    engine_option: _where.Options = None,
    attempts: _where.Attempts = 1,
    detach: _where.Detach = False,
    report: Annotated[bool, typer.Option(help="Analyse and write the report at the end.")] = True,
    formats: Annotated[str, typer.Option("--format", help="Report formats, with commas between.")] = "html,md,csv,json",
    json: Annotated[bool, typer.Option("--json", help="Print the analysis as JSON on standard output.")] = False,
    inside: Annotated[Path | None, typer.Option(hidden=True, help="What a submitted job calls.")] = None,
) -> None:
    """Measure this machine, or a cluster: run a campaign or one workload, live progress on standard error, the report's
    path at the end."""
    from ..hosts.access import RealHost
    from ..metering import campaign_meters
    from ..results.run_directory import RunDirectory
    from ..run.batch import submission

    if inside is not None:
        _submitted.inside(inside)
        # The engine's accounting is to say whether the job did its work: a session that came to its end did, also where the
        # allocation's time allowed no further run. What came out of the runs, and what is left, tells who follows it.
        raise typer.Exit(MET)
    where = _where.asked(
        on,
        nodes,
        hosts,
        partition=partition,
        account=account,
        qos=qos,
        constraint=constraint,
        reservation=reservation,
        gres=gres,
        parallel_environment=parallel_environment,
        slots=slots,
        job_limit=job_limit,
        options=engine_option,
        attempts=attempts,
    )
    if resume is not None and directory is not None:
        raise BadInput("--directory and --resume exclude each other", hint="--resume goes on where it stopped")
    if resume is not None and str(resume) == "latest":
        resume = common.latest_run(Path("runs"))
    metered = campaign_meters.ask(meter or (), meter_interval, rest, RealHost())
    if metered is not None:
        common.warn_of_passwords(metered.targets)
    whole, parts = True, []
    if where is not None or _submitted.is_one(resume):
        parts = _submitted.run(
            campaign,
            directory,
            resume,
            where,
            metered,
            detach=detach,
            retry_failed=retry_failed,
            settings=settings or (),
        )
        if not parts:
            return
        opened = parts[0]
        measurements = [one for part in parts for one in part.load().measurements]
        whole = not any(submission.left(part.path) for part in parts)
    else:
        named = _where.by_name(hosts)
        opened = RunDirectory.open(resume) if resume else begin(campaign, directory, named, settings or ())
        measurements = carry_out(
            opened,
            opened.plan(),
            campaign_meters.remember(opened.path, metered),
            retry_failed=retry_failed,
            allocation=allocation_to_go_on(opened, named),
        )
    if not report:
        terminal.say(f"run directory: {opened.path}")
        raise typer.Exit(code_of_states(measurements) if whole else COULD_NOT_MEASURE)
    from .report import show_result, write_report, write_reports

    if len(parts) > 1:
        analysis, damaged, pages = write_reports(parts, formats, opened.path.parent)
    else:
        analysis, damaged, pages = write_report(opened, formats)
    if json:
        terminal.print_json(analysis)
    else:
        show_result(analysis, pages)
    code = exit_code(analysis)
    raise typer.Exit(COULD_NOT_MEASURE if damaged or (code == MET and not whole) else code)


def begin(
    campaign_name: str, directory: Path | None, allocation: Allocation | None = None, settings: Sequence[str] = ()
) -> RunDirectory:
    """Read the campaign (or make that of one workload), look at the machine, make the plan, and write all three into a new
    run directory.

    In an ``allocation`` (else in the one that this process is in, where the campaign asks for several hosts) every host is
    asked what it is.
    """
    from .. import campaign
    from ..hosts.access import RealHost
    from ..results import run_directory

    text, where = _chosen.campaign(campaign_name, settings)
    asked = campaign.parse(text, where)
    path = directory or Path("runs") / run_directory.new_name(asked.name, RealHost().now_ns())
    return plan_into(path, text, where, allocation or around(asked))


def around(asked: Campaign) -> Allocation | None:
    """The allocation that this process is in, where the campaign has use for several hosts and this is one of them."""
    import os

    from .. import schedulers
    from ..hosts.access import RealHost
    from ..run.multihost import fanout

    if not any(entry.nodes for entry in asked.runs):
        return None
    door = RealHost()
    found = schedulers.inside(os.environ, door)
    if found is None:
        return None
    try:
        fanout.me(found.hosts, os.environ, door.name())
    except CannotMeasure as error:
        terminal.say(f"shakedown: not in the allocation {found.job}: {error.what}")
        return None
    return found


def plan_into(path: Path, text: str, where: str, allocation: Allocation | None, shape: str = "") -> RunDirectory:
    """A new run directory with machine and plan; with ``shape`` of what is for that kind of node.

    Raises BadInput, CannotMeasure where nothing of it can run here.
    """
    from .. import campaign

    asked = campaign.parse(text, where)
    if path.exists():
        return _plan_into(path, text, where, asked, allocation, shape)
    try:
        return _plan_into(path, text, where, asked, allocation, shape)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)  # hosts that were refused leave no folder that looks like a run
        raise


def _plan_into(
    path: Path, text: str, where: str, asked: Campaign, allocation: Allocation | None, shape: str
) -> RunDirectory:
    import msgspec

    from .. import __version__, machine
    from ..campaign import plan
    from ..hosts.access import RealHost
    from ..results import run_directory
    from ..run.multihost import fanout

    door = RealHost()
    found = machine.machine(door)
    if allocation:
        hosts = fanout.machines(path, found.hosts[0], allocation)
        found = msgspec.structs.replace(found, hosts=hosts)
    history = plan.learn(run_directory.durations(path.parent))
    made = plan.make(asked, found, where=where, history=history, version=__version__, shape=shape)
    if not made.runs:
        reasons = "; ".join(f"{names}: {why}" for names, why in plan.by_reason(made.skipped))
        raise CannotMeasure("nothing in this campaign can run here", where=where, hint=reasons)
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA,
        campaign=asked.name,
        created_ns=door.now_ns(),
        version=__version__,
        host=door.name(),
    )
    return run_directory.RunDirectory.create(path, manifest=manifest, campaign_toml=text, machine=found, plan=made)


def allocation_to_go_on(opened: RunDirectory, named: Allocation | None) -> Allocation | None:
    """The allocation to go on in: that of hosts by name, of the engine around this process, else what it had by name."""
    from .. import campaign
    from ..run.multihost import fanout

    path = opened.path
    found = named or around(campaign.parse((path / "campaign.toml").read_text("utf-8"), str(path / "campaign.toml")))
    before = fanout.allocation_of(path)
    if found is None and before is not None and not before.engine:
        found = before
    return found


def carry_out(
    opened: RunDirectory,
    plan: Plan,
    metered: Metered | None = None,
    *,
    retry_failed: bool,
    allocation: Allocation | None = None,
    back: str = "",
) -> list[Measurement]:
    """Execute the plan with live progress, meters read meanwhile; Ctrl-C leaves a directory that can be resumed, and says
    how: by ``back``, where that is not `shakedown run`."""
    from ..campaign.plan import by_reason, total_s
    from ..hosts.access import RealHost
    from ..metering import campaign_meters
    from ..run import loop
    from ..run.multihost import fanout
    from ..units import show_seconds
    from .progress import Live

    door = RealHost()
    if allocation:
        fanout.machines(opened.path, opened.machine().hosts[0], allocation)  # of hosts that are new since the plan
    number = f"{len(plan.runs)} run{'s' * (len(plan.runs) != 1)}"
    terminal.say(f"{plan.title}: {number}, about {show_seconds(total_s(plan))}, into {opened.path}")
    for names, why in by_reason(plan.skipped):
        terminal.say(f"  not here     {names}: {why}")
    try:
        with campaign_meters.beside(opened.path, metered, door, terminal.say) as rest, Live() as live:
            measurements = loop.execute(
                opened,
                plan,
                opened.machine(),
                door,
                live,
                retry_failed=retry_failed,
                rest=rest,
                allocation=allocation,
            )
    except KeyboardInterrupt:
        terminal.say(
            f"shakedown: stopped; what is whole was kept\n  next: {back or f'shakedown run --resume {opened.path}'}"
        )
        sys.exit(130)
    remember_durations(opened, plan, measurements)
    return measurements


def remember_durations(opened: RunDirectory, plan: Plan, measurements: list[Measurement]) -> None:
    """Leave what the runs took, so that later plans estimate better."""
    import msgspec

    from ..errors import StoreFailed
    from ..files.atomic import write

    estimates = {run.id: run.estimate_s for run in plan.runs}
    taken = [
        (one.run, one.workload, estimates.get(one.run, 0.0), (one.end_ns - one.begin_ns) * 1e-9)
        for one in measurements
        if one.state == "ok"
    ]
    try:
        write(opened.path / "durations.json", msgspec.json.encode(taken))
    except StoreFailed as error:
        terminal.say(f"shakedown: {error}")  # estimates only: the measurements are kept


def code_of_states(measurements: list[Measurement]) -> int:
    """1 where a check demonstrably failed; else 3 where a run has no result; else 0."""
    if any(one.state == "wrong" for one in measurements):
        return NOT_MET
    return MET if all(one.state == "ok" for one in measurements) else COULD_NOT_MEASURE


def exit_code(analysis: Analysis) -> int:
    """1 for a limit that is not met or a check that failed; else 3 for a run without a result; else 4 for an undecided
    limit; else 0."""
    states = {verdict.state for verdict in analysis.verdicts}
    if "not met" in states or any(one.state == "wrong" for one in analysis.outcomes):
        return NOT_MET
    if "not measured" in states or any(one.state != "ok" for one in analysis.outcomes):
        return COULD_NOT_MEASURE
    return UNDECIDED if "undecided" in states else MET
