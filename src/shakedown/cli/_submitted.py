"""shakedown run --on ENGINE: the campaign in a job of a batch engine, watched from here; and what that job itself does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..document import terminal
from ..errors import BadInput, CannotMeasure
from . import _chosen

if TYPE_CHECKING:
    from ..acceptance.running import Carry
    from ..campaign import Campaign
    from ..metering.campaign_meters import Metered
    from ..records import Measurement
    from ..results.run_directory import RunDirectory
    from ..run.batch.submission import Asked, Submitted
    from ..schedulers import Allocation, JobRecord


def is_one(resume: Path | None) -> bool:
    """Whether a run directory was handed to an engine, and a job of it may still be at work."""
    from ..run.batch import submission

    if resume is None:
        return False
    return any(submission.at_work(part) for part in submission.parts(resume))


def run(
    campaign_name: str,
    directory: Path | None,
    resume: Path | None,
    where: Asked | None,
    metered: Metered | None,
    *,
    detach: bool,
    retry_failed: bool = False,
    back: str = "",
    settings: Sequence[str] = (),
) -> list[RunDirectory]:
    """Submit, or come back to jobs that were submitted, one for each kind of node; follow them until their plans are
    fulfilled or no attempt is left. Empty where they were left to themselves.

    ``back`` is the command that comes back to them; by default that of `shakedown run`."""
    from ..hosts.access import RealHost
    from ..results.run_directory import RunDirectory
    from ..run.batch import submission

    door = RealHost()
    if resume is not None:
        asked = {part: _again(part, where, retry_failed) for part in submission.parts(resume)}
    else:
        assert where is not None
        asked = _new(campaign_name, directory, where, metered, settings)
    path = resume or next(iter(asked)) if len(asked) == 1 else (resume or next(iter(asked)).parent)
    back = back or f"shakedown run --resume {path}"
    submitted = set()
    for part, one in asked.items():
        before = submission.at_work(part)
        if before and submission.settle(*before, door):
            before = None  # it was over, and nobody was there to write that down
        if not before and submission.left(part, retry_failed=one.retry_failed):
            submitted.add(part)
            job = submission.submit(part, one, door)
            terminal.say(f"{one.engine} job {job.id}, {one.nodes} node{'s' * (one.nodes != 1)}, into {part}")
    if detach:
        terminal.say(f"  next: {back}   (watches the job, and goes on from there)")
        return []
    for part, one in asked.items():
        _follow(part, one, back, new=part in submitted)
    return [RunDirectory.open(part) for part in asked]


def carry(where: Asked | None, named: Allocation | None, *, detach: bool, back: str) -> Carry:
    """How the campaign of an acceptance is carried out: as `shakedown run` does it, here or in a job of an engine."""

    def carried(campaign: Path, directory: Path) -> RunDirectory | None:
        from ..results.run_directory import RunDirectory
        from ..run.batch import submission
        from . import run as runs

        directory = directory.resolve()
        begun = directory if directory.exists() and any(directory.iterdir()) else None
        handed = begun is not None and any(submission.last(part) for part in submission.parts(begun))
        if where is not None or handed:  # what an engine began goes on there, also where nobody says so again
            new = None if begun else directory
            parts = run(str(campaign), new, begun, where, None, detach=detach, back=back)
            return parts[0] if parts else None  # a plan names no kinds of nodes: there is one part
        planned = (directory / "manifest.json").exists()
        opened = RunDirectory.open(directory) if planned else runs.begin(str(campaign), directory, named)
        allocation = runs.allocation_to_go_on(opened, named)
        runs.carry_out(opened, opened.plan(), retry_failed=False, allocation=allocation, back=back)
        return opened

    return carried


def _again(part: Path, where: Asked | None, retry_failed: bool) -> Asked:
    """What is asked for a part that goes on: as before, but for what is said now."""
    import msgspec

    from ..run.batch import submission

    before = submission.last(part)
    if where is None:
        if before is None:
            raise BadInput("was not handed to an engine", where=str(part), hint="say which: --on slurm")
        return msgspec.structs.replace(before[1], retry_failed=retry_failed)
    where = msgspec.structs.replace(where, retry_failed=retry_failed)
    return (
        msgspec.structs.replace(where, shape=before[1].shape, limit_s=where.limit_s or before[1].limit_s)
        if before
        else where
    )


def _follow(part: Path, asked: Asked, back: str, *, new: bool) -> None:
    """Follow the jobs of one part; submit again what was cut short, as often as was asked. A job that is not ``new``, and
    was over before anybody saw it at work, counts for none: to go on after it is what was asked."""
    from ..hosts.access import RealHost
    from ..run.batch import submission

    attempts = asked.attempts
    while found := submission.at_work(part):
        folder, job = found
        record, alive = _watch(back, part, folder, job)
        counts = new or alive
        if counts:
            submission.refuse_unsaved(part, folder, record, back)
        if not (part / "manifest.json").exists():
            raise submission.why_nothing(folder, record, back, RealHost())
        if not submission.left(part):
            return
        attempts -= counts
        new = True
        cut_short = record.state in (*submission.CUT_SHORT, "done")
        if counts and (attempts < 1 or not cut_short):
            said = "" if cut_short else submission.said(folder)
            terminal.say(
                f"shakedown: the job ended ({submission.words(record)}) with runs left; what is whole was kept"
                + (f"; it said:\n{said}" if said else "")
                + f"\n  next: {back} --on {asked.engine} --nodes {asked.nodes}"
            )
            return
        again = submission.submit(part, asked, RealHost())
        terminal.say(f"{asked.engine} job {again.id} goes on with what is left")


def _new(
    campaign_name: str, directory: Path | None, where: Asked, metered: Metered | None, settings: Sequence[str] = ()
) -> dict[Path, Asked]:
    """The folders to fill, one for each kind of node of the campaign, and what is asked for each."""
    import msgspec

    from .. import campaign
    from ..hosts import hostlist
    from ..hosts.access import RealHost
    from ..metering import campaign_meters
    from ..results import run_directory
    from ..run.batch import submission

    text, place = _chosen.campaign(campaign_name, settings)
    asked = campaign.parse(text, place)
    path = directory or Path("runs") / run_directory.new_name(asked.name, RealHost().now_ns())
    found: dict[Path, Asked] = {}
    for name, shape in (asked.shapes or {"": campaign.ShapeEntry()}).items():
        own = {
            key: value
            for key in ("partition", "account", "qos", "constraint", "reservation", "gres")
            if (value := getattr(shape, key))
        }
        hosts = hostlist.expand(shape.hosts) or where.hosts
        one = msgspec.structs.replace(
            where, **own, shape=name, hosts=hosts, nodes=shape.nodes or len(hosts) or where.nodes
        )
        limit_s = where.limit_s or _limit_s(asked, one, place)
        found[path / name if name else path] = msgspec.structs.replace(one, limit_s=limit_s)
    for part in found:
        submission.prepare(part, text)
        campaign_meters.remember(part, metered)
    return found


def _limit_s(asked: Campaign, where: Asked, place: str) -> float:
    """A job's time limit in seconds: what the campaign would take on hosts that are as this one is, and room."""
    from .. import __version__, machine
    from ..campaign import plan
    from ..errors import ShakedownError
    from ..hosts.access import RealHost
    from ..run.batch import submission
    from .plan import alike

    try:
        found = alike(machine.machine(RealHost()), where.nodes)
        made = plan.make(asked, found, where=place, version=__version__, shape=where.shape)
    except BadInput:
        raise
    except ShakedownError:
        return submission.DEFAULT_LIMIT_S
    return submission.SPARE * plan.total_s(made) + submission.SPARE_S


def _watch(back: str, part: Path, folder: Path, job: Submitted) -> tuple[JobRecord, bool]:
    """Follow a job, saying what changes: what became of it, and whether it was seen waiting or at work. Ctrl-C leaves it
    running, and says how to come back and how to end it."""
    from .. import schedulers
    from ..hosts.access import RealHost
    from ..run.batch import job_monitor, submission
    from ..units import show_seconds
    from ._patience import Patience
    from .progress import outcome

    said: list[str] = []
    alive = False
    engine = schedulers.get(job.engine)
    patience = Patience(f"job {job.id}", engine.title, engine.look(job.id), terminal.say)

    def tell(record: JobRecord) -> None:
        nonlocal alive
        patience.hear(job_monitor.unanswered(record))
        alive |= record.state in ("queued", "running")
        words = f"  job {record.id:<7} {submission.words(record)}"
        if said[-1:] != [words] and record.source != "none":
            said.append(words)
            terminal.say(words)

    def seen(one: Measurement) -> None:
        took = show_seconds((one.end_ns - one.begin_ns) * 1e-9)
        label = _label(part, one)
        state = "ok" if one.state == "ok" else one.state
        terminal.say(f"  {state:<11} {label} ({took})  {outcome(one)}".rstrip())

    try:
        with patience:
            return submission.follow(part, folder, job, RealHost(), tell, seen), alive
    except KeyboardInterrupt:
        end = " ".join(engine.cancel(job.id))
        terminal.say(f"shakedown: the job goes on\n  next: {back}   (watches it again)\n        {end}   (ends it)")
        sys.exit(130)


def _label(path: Path, record: Measurement) -> str:
    from ..campaign.plan import label_on
    from ..results.run_directory import RunDirectory

    found = next((run for run in RunDirectory.open(path).plan().runs if run.id == record.run), None)
    again = f", repeat {record.repeat}" if record.repeat > 1 else ""
    return (label_on(found, record.host) if found else record.workload) + again


def inside(path: Path) -> list[Measurement]:
    """What the job does on the first node of its allocation: make the plan where there is none yet, and carry it out."""
    import os

    from .. import schedulers
    from ..errors import StoreFailed
    from ..hosts.access import RealHost
    from ..metering import campaign_meters
    from ..results.run_directory import RunDirectory
    from ..run import fallback_store
    from ..run.batch import submission
    from . import run as here

    door = RealHost()
    allocation = schedulers.inside(os.environ, door)
    if allocation is None:
        raise CannotMeasure(
            "this process is in no allocation of a batch engine that is known",
            where=str(path),
            hint="--inside is what a submitted job calls; use: shakedown run --on ENGINE",
        )
    if not path.is_dir():
        raise BadInput(
            "there is no such folder on this host",
            where=f"{door.name()}:{path}",
            hint="a run directory must lie on a file system that all nodes share: choose one with --directory",
        )
    submitted = submission.last(path)
    try:
        if (path / "manifest.json").exists():
            opened = RunDirectory.open(path)
        else:
            text = (path / "campaign.toml").read_text("utf-8")
            shape = submitted[1].shape if submitted else ""
            opened = here.plan_into(path, text, str(path / "campaign.toml"), allocation, shape)
        metered = campaign_meters.remember(path, None)
        again = submitted is not None and submitted[1].retry_failed
        return here.carry_out(opened, opened.plan(), metered, retry_failed=again, allocation=allocation)
    except StoreFailed as error:  # what this prints may lie on the same disk, and be refused as well
        if submitted:
            fallback_store.leave(submitted[0], error)
        raise
