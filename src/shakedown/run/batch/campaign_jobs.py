"""A campaign in jobs of a batch engine: one for each kind of node, submitted, watched, submitted again where they were cut
short; and what such a job does itself (``inside``)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ... import __version__, campaign, machine, schedulers
from ...campaign import Campaign, ShapeEntry, plan
from ...errors import BadInput, CannotMeasure, Interrupted, ShakedownError, StoreFailed
from ...hosts import hostlist
from ...hosts.access import LocalHost
from ...metering import campaign_meters
from ...metering.campaign_meters import Metered
from ...records import Measurement, Run
from ...results.run_directory import RunDirectory
from ...schedulers import JobRecord
from ...schedulers.common.options import NodeOptions
from .. import fallback_store, harness
from ..observer import Observer, line
from . import job_monitor, options, submission
from .options import BatchOptions
from .submission import JobHandle


def prepare(
    text: str, where: str, path: Path, asked: BatchOptions, metered: Metered | None
) -> dict[Path, BatchOptions]:
    """The folders to fill, one for each kind of node of the campaign, and what is asked for each. Raises BadInput."""
    wanted = campaign.parse(text, where)
    found: dict[Path, BatchOptions] = {}
    for name, shape in (wanted.shapes or {"": ShapeEntry()}).items():
        one = _for_shape(asked, name, shape)
        limit_s = asked.time_limit_s or _limit_s(wanted, one, where)
        found[path / name if name else path] = msgspec.structs.replace(one, time_limit_s=limit_s)
    for part in found:
        submission.prepare(part, text)
        campaign_meters.remember(part, metered)
    return found


def _for_shape(asked: BatchOptions, name: str, shape: ShapeEntry) -> BatchOptions:
    """What is asked for one kind of node: what the campaign says of it comes before the command line."""
    own = {field: value for field in NodeOptions.__struct_fields__ if (value := getattr(shape, field))}
    hosts = hostlist.expand(shape.hosts) or asked.hosts
    nodes = shape.nodes or len(hosts) or asked.nodes
    return msgspec.structs.replace(asked, **own, shape=name, hosts=hosts, nodes=nodes)


def _limit_s(wanted: Campaign, asked: BatchOptions, where: str) -> float:
    """A job's time limit in seconds: what the campaign would take on hosts that are as this one is, and room."""
    try:
        found = plan.alike(machine.machine(LocalHost()), asked.nodes)
        made = plan.make(wanted, found, where=where, version=__version__, shape=asked.shape)
    except BadInput:
        raise
    except ShakedownError:
        return submission.DEFAULT_LIMIT_S
    return submission.SPARE * plan.total_s(made) + submission.SPARE_S


def again(part: Path, asked: BatchOptions | None, *, retry_failed: bool) -> BatchOptions:
    """What is asked for a part that goes on: as before, but for what is said now. Raises BadInput."""
    before = submission.last(part)
    if asked is None:
        if before is None:
            raise BadInput("was not handed to an engine", where=str(part), hint="say which: --on slurm")
        return msgspec.structs.replace(before[1], retry_failed=retry_failed, after="")
    if before is not None:
        shape = before[1].shape
        file = part / "campaign.toml"
        known = campaign.parse(file.read_text("utf-8"), str(file)).shapes if shape else {}
        asked = _for_shape(asked, shape, known.get(shape, ShapeEntry()))
        asked = msgspec.structs.replace(
            asked,
            time_limit_s=asked.time_limit_s or before[1].time_limit_s,
            nodes=asked.nodes if asked.hosts else max(asked.nodes, _most_nodes(part)),
        )
    return msgspec.structs.replace(asked, retry_failed=retry_failed)


def _most_nodes(part: Path) -> int:
    """Over how many nodes the widest run of a part's plan goes; 1 where no plan was made yet."""
    if not (part / "plan.json").exists():
        return 1
    return max((run.nodes for run in RunDirectory.open(part).plan().runs), default=1)


def carry_out(parts: Mapping[Path, BatchOptions], back: str, observer: Observer, *, detach: bool) -> bool:
    """Submit what is left of each part, or come back to its job; follow the jobs until the plans are fulfilled or no attempt
    is left. False where they were left to themselves. ``back`` is the command that comes back to them.

    Raises BadInput, Unavailable, CannotMeasure, and Interrupted: the jobs go on.
    """
    door = LocalHost()
    submitted = set()
    for part, asked in parts.items():
        before = submission.at_work(part)
        if before and submission.settle(*before, door):
            before = None  # it was over, and nobody was there to write that down
        if not before and submission.left(part, retry_failed=asked.retry_failed):
            submitted.add(part)
            job = submission.submit(part, asked, door)
            observer.say(f"{asked.engine} job {job.id}, {asked.nodes} node{'s' * (asked.nodes != 1)}, into {part}")
    if detach:
        observer.say(f"  next: {back}   (watches the job, and goes on from there)")
        return False
    for part, asked in parts.items():
        _follow(part, asked, back, observer, new=part in submitted)
    return True


def _follow(part: Path, asked: BatchOptions, back: str, observer: Observer, *, new: bool) -> None:
    """Follow the jobs of one part; submit again what was cut short, as often as was asked. A job that is not ``new``, and
    was over before anybody saw it at work, counts for none: to go on after it is what was asked."""
    attempts = asked.attempts
    while found := submission.at_work(part):
        folder, job = found
        record, alive = watch(part, folder, job, back, observer)
        counts = new or alive
        if counts:
            submission.refuse_unsaved(part, folder, record, back)
        if not (part / "manifest.json").exists():
            raise submission.why_nothing(folder, record, back, LocalHost())
        if not submission.left(part):
            return
        attempts -= counts
        new = True
        asked = msgspec.structs.replace(asked, after="")  # it has ended, and engines refuse a job that they forgot
        cut_short = record.state in (*submission.CUT_SHORT, "done")
        if counts and (attempts < 1 or not cut_short):
            said = "" if cut_short else submission.said(folder)
            observer.say(
                f"shakedown: the job ended ({submission.words(record)}) with runs left; what is whole was kept"
                + (f"; it said:\n{said}" if said else "")
                + f"\n  next: {back} {shlex.join(options.words(asked))}"
            )
            return
        next_job = submission.submit(part, asked, LocalHost())
        observer.say(f"{asked.engine} job {next_job.id} continues with what is left")


def watch(part: Path, folder: Path, job: JobHandle, back: str, observer: Observer) -> tuple[JobRecord, bool]:
    """Follow a job, saying what changes: what became of it, and whether it was seen waiting or at work. Ctrl-C leaves it
    running: Interrupted says how to come back and how to end it."""
    said = ""
    alive = False
    engine = schedulers.get(job.engine)

    def tell(record: JobRecord) -> None:
        nonlocal alive, said
        hear(job_monitor.unanswered(record))
        alive |= record.state in ("queued", "running")
        text = f"  job {record.id:<7} {submission.words(record)}"
        if text != said and record.source != "none":
            said = text
            observer.say(text)

    def seen(record: Measurement) -> None:
        observer.say(line(_run_of(part, record), record))

    try:
        with observer.waiting(engine, job.id) as hear:
            return submission.follow(part, folder, job, LocalHost(), tell, seen), alive
    except KeyboardInterrupt:
        end = " ".join(engine.cancel(job.id))
        raise Interrupted("the job goes on", hint=f"{back}   (watches it again)\n        {end}   (ends it)") from None


def _run_of(part: Path, record: Measurement) -> Run | None:
    return next((run for run in RunDirectory.open(part).plan().runs if run.id == record.run), None)


def inside(path: Path, observer: Observer) -> list[Measurement]:
    """What the job does on the first node of its allocation: make the plan where there is none yet, and carry it out.

    The engine's accounting is to say whether the job did its work: a session that came to its end did, also where the
    allocation's time allowed no further run. What came out of the runs, and what is left, tells who follows the job.
    Raises BadInput, CannotMeasure, StoreFailed.
    """
    door = LocalHost()
    allocation = schedulers.inside(os.environ, door)
    if allocation is None:
        raise CannotMeasure(
            "this process is in no allocation of a batch engine that is known",
            where=str(path),
            hint="this is what a submitted job calls; use: shakedown run --on ENGINE",
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
            opened = harness.new(path, text, str(path / "campaign.toml"), allocation, shape)
        metered = campaign_meters.remember(path, None)
        retry_failed = submitted is not None and submitted[1].retry_failed
        return harness.carry_out(opened, observer, metered, retry_failed=retry_failed, allocation=allocation)
    except StoreFailed as error:  # what this prints may lie on the same disk, and be refused as well
        if submitted:
            fallback_store.leave(submitted[0], error)
        raise
