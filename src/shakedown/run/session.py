"""The story of a run: a new run directory or one that goes on, carried out here or in a job of a batch engine, and what it
came to. The verbs, the acceptance and whoever else measures call this.

    begin | go_on  ->  here: plan -> runs          (harness)
                       in a job: submit -> follow   (batch.campaign_jobs; the job does what is done here)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .. import campaign as campaigns
from ..errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput
from ..hosts import hostlist
from ..metering import campaign_meters
from ..metering.campaign_meters import Metered
from ..records import Analysis, Measurement
from ..results.run_directory import RunDirectory
from ..schedulers import Allocation
from . import harness
from .batch import campaign_jobs, submission
from .batch.options import BatchOptions
from .observer import Observer


class How(NamedTuple):
    """How a campaign is carried out."""

    batch: BatchOptions | None = None  # in jobs of an engine; None: here
    hosts: Allocation | None = None  # here, and over these hosts by name
    detach: bool = False  # submit, and leave the jobs to themselves
    retry_failed: bool = False
    time_limit_s: float = math.inf  # here: no run is begun that would end after so many seconds
    back: str = ""  # the command that goes on with it; empty: that of `shakedown run`


class Ran(NamedTuple):
    """What a session came to."""

    parts: tuple[RunDirectory, ...]  # one for each kind of node
    measurements: Sequence[Measurement]
    whole: bool  # nothing is left of what jobs were to run
    not_begun: bool = False  # the time limit left a run out


def named(hosts: str) -> Allocation | None:
    """An allocation of hosts that no engine gave, as node[1-4] or a,b; None without names. Raises BadInput."""
    names = hostlist.expand(hosts)
    return Allocation(engine="", job="", hosts=names) if names else None


def begin(
    text: str, where: str, path: Path, how: How, observer: Observer, metered: Metered | None = None
) -> Ran | None:
    """A campaign's text in a new run directory; None where a job does it, which nobody waits for. ``where``: what to call
    the text in messages.

    Raises BadInput, CannotMeasure where nothing of it can run, StoreFailed, and Interrupted, which says how to go on.
    """
    if how.batch is not None:
        _refuse_time_limit(how)
        asked = campaign_jobs.prepare(text, where, path, how.batch, metered)
        return _in_jobs(path, asked, how, observer)
    allocation = how.hosts or harness.around(campaigns.parse(text, where), observer)
    return _here(harness.new(path, text, where, allocation), how, observer, metered)


def go_on(
    path: Path, how: How, observer: Observer, metered: Metered | None = None, *, in_its_job: bool = False
) -> Ran | None:
    """Go on with a run directory; what is whole is not repeated. With its job, where one is still at work, or where the
    engine is asked for again; with ``in_its_job`` wherever an engine had it. Raises as ``begin``."""
    parts = submission.parts(path)
    has_job = submission.last if in_its_job else submission.at_work
    if how.batch is not None or any(has_job(part) for part in parts):
        _refuse_time_limit(how)
        asked = {part: campaign_jobs.again(part, how.batch, retry_failed=how.retry_failed) for part in parts}
        return _in_jobs(path, asked, how, observer)
    return _here(RunDirectory.open(path), how, observer, metered)


def begin_or_go_on(text: str, where: str, path: Path, how: How, observer: Observer) -> Ran | None:
    """Go on with what is at ``path``, in its job where it had one; begin where nothing was planned. Raises as ``begin``."""
    begun = path.exists() and any(path.iterdir())
    handed = begun and any(submission.last(part) for part in submission.parts(path))
    if handed or (begun and how.batch is not None) or (path / "manifest.json").exists():
        return go_on(path, how, observer, in_its_job=True)
    return begin(text, where, path, how, observer)


def _refuse_time_limit(how: How) -> None:
    if how.time_limit_s < math.inf:
        raise BadInput("--time-limit is for runs that this process starts", hint="a job's is --job-limit")


def _here(opened: RunDirectory, how: How, observer: Observer, metered: Metered | None) -> Ran:
    measurements = harness.carry_out(
        opened,
        observer,
        campaign_meters.remember(opened.path, metered),
        retry_failed=how.retry_failed,
        allocation=harness.allocation_to_go_on(opened, how.hosts, observer),
        back=how.back,
        time_limit_s=how.time_limit_s,
    )
    not_begun = {run.id for run in opened.plan().runs} - {one.run for one in measurements}
    if not_begun:
        observer.say(f"  next: {how.back or f'shakedown run --resume {opened.path}'}   (continues with what is left)")
    return Ran((opened,), measurements, whole=True, not_begun=bool(not_begun))


def _in_jobs(path: Path, asked: dict[Path, BatchOptions], how: How, observer: Observer) -> Ran | None:
    back = how.back or f"shakedown run --resume {path}"
    if not campaign_jobs.carry_out(asked, back, observer, detach=how.detach):
        return None
    parts = tuple(RunDirectory.open(part) for part in asked)
    measurements = [one for part in parts for one in part.load().measurements]
    return Ran(parts, measurements, whole=not any(submission.left(part.path) for part in parts))


# -------------------------------------------------------------------------------------------------------- what it came to


def code_of_states(ran: Ran) -> int:
    """1 where a check demonstrably failed; else 3 where a run has no result; else 4 where one was not begun; else 0."""
    states = {one.state for one in ran.measurements}
    if "wrong" in states and ran.whole:
        return NOT_MET
    if not ran.whole or not states <= {"ok"}:
        return COULD_NOT_MEASURE
    return UNDECIDED if ran.not_begun else MET


def exit_code(analysis: Analysis) -> int:
    """1 for a limit that is not met or a check that failed; else 3 for a run without a result; else 4 for an undecided
    limit or a run that was not begun; else 0."""
    states = {verdict.state for verdict in analysis.verdicts}
    if "not met" in states or any(one.state == "wrong" for one in analysis.outcomes):
        return NOT_MET
    if "not measured" in states or any(one.state != "ok" for one in analysis.outcomes):
        return COULD_NOT_MEASURE
    return UNDECIDED if "undecided" in states or analysis.not_begun else MET
