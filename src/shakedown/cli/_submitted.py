"""shakedown run --on ENGINE: the campaign in a job of a batch engine, watched from here; and what that job itself does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadInput, CannotMeasure
from . import common

if TYPE_CHECKING:
    from ..dispatch import Asked, Submitted
    from ..metering import Metered
    from ..records import Measurement
    from ..schedulers import JobRecord
    from ..store import RunDirectory


def is_one(resume: Path | None) -> bool:
    """Whether a run directory was handed to an engine, and its job may still be at work."""
    from .. import dispatch

    if resume is None:
        return False
    found = dispatch.last(resume)
    return found is not None and found[2] is not None and not dispatch.ended(found[0])


def run(
    campaign_name: str,
    directory: Path | None,
    resume: Path | None,
    where: Asked | None,
    metered: Metered | None,
    *,
    detach: bool,
) -> RunDirectory | None:
    """Submit, or come back to a job that was submitted; follow it until the plan is fulfilled or no attempt is left.

    None where it was left to itself.
    """
    from .. import dispatch
    from ..host import RealHost
    from ..store import RunDirectory

    door = RealHost()
    path = resume or _new(campaign_name, directory, metered)
    found = dispatch.last(path)
    job = None if found is None or dispatch.ended(found[0]) else found[2]
    asked = where or (found[1] if found else None)
    assert asked is not None
    attempts = asked.attempts
    while True:
        if job is None:
            job = dispatch.submit(path, asked, door)
            attempts -= 1
            common.say(f"{asked.engine} job {job.id}, {asked.nodes} node{'s' * (asked.nodes != 1)}, into {path}")
        if detach:
            common.say(f"  next: shakedown run --resume {path}   (watches the job, and writes the report)")
            return None
        folder = dispatch.folders(path)[-1]
        record = _watch(path, folder, job)
        job = None
        if not (path / "manifest.json").exists():
            raise dispatch.why_nothing(folder, record)
        if not dispatch.left(path):
            return RunDirectory.open(path)
        short = record.state in (*dispatch.CUT_SHORT, "done")
        if not short or attempts < 1:
            common.say(
                f"shakedown: the job ended ({dispatch.words(record)}) with runs left; what is whole was kept\n"
                f"  next: shakedown run --resume {path} --on {asked.engine} --nodes {asked.nodes}"
            )
            return RunDirectory.open(path)


def _new(campaign_name: str, directory: Path | None, metered: Metered | None) -> Path:
    from .. import campaign, dispatch, metering, store
    from ..host import RealHost

    text, where = campaign.text_of(campaign_name)
    asked = campaign.parse(text, where)
    path = directory or Path("runs") / store.new_name(asked.name, RealHost().now_ns())
    dispatch.prepare(path, text)
    metering.remember(path, metered)
    return path


def _watch(path: Path, folder: Path, job: Submitted) -> JobRecord:
    """Follow a job, saying what changes. Ctrl-C leaves it running, and says how to come back and how to end it."""
    from .. import dispatch, schedulers
    from ..host import RealHost
    from ..units import show_seconds
    from .progress import outcome

    said: list[str] = []

    def tell(record: JobRecord) -> None:
        words = f"  job {record.id:<7} {dispatch.words(record)}"
        if said[-1:] != [words] and record.source != "none":
            said.append(words)
            common.say(words)

    def seen(one: Measurement) -> None:
        took = show_seconds((one.end_ns - one.begin_ns) * 1e-9)
        label = _label(path, one)
        state = "ok" if one.state == "ok" else one.state
        common.say(f"  {state:<11} {label} ({took})  {outcome(one)}".rstrip())

    try:
        return dispatch.follow(path, folder, job, RealHost(), tell, seen)
    except KeyboardInterrupt:
        end = " ".join(schedulers.get(job.engine).cancel(job.id))
        common.say(
            f"shakedown: the job goes on\n  next: shakedown run --resume {path}   (watches it again)\n"
            f"        {end}   (ends it)"
        )
        sys.exit(130)


def _label(path: Path, record: Measurement) -> str:
    from ..plan import label_on
    from ..store import RunDirectory

    found = next((run for run in RunDirectory.open(path).plan().runs if run.id == record.run), None)
    again = f", repeat {record.repeat}" if record.repeat > 1 else ""
    return (label_on(found, record.host) if found else record.workload) + again


def inside(path: Path) -> list[Measurement]:
    """What the job does on the first node of its allocation: make the plan where there is none yet, and carry it out."""
    import os

    from .. import metering, schedulers
    from ..host import RealHost
    from ..store import RunDirectory
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
    if (path / "manifest.json").exists():
        opened = RunDirectory.open(path)
    else:
        text = (path / "campaign.toml").read_text("utf-8")
        opened = here.plan_into(path, text, str(path / "campaign.toml"), allocation)
    metered = metering.remember(path, None)
    return here.carry_out(opened, opened.plan(), metered, retry_failed=False, allocation=allocation)
