"""The jobs of the batch test: submitted, followed, waited for, and none left behind."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import CannotMeasure, ShakedownError
from ..hosts.access import HostAccess
from ..run.batch import job_monitor
from ..run.batch.job_monitor import JobStatus, JobTicket
from ..schedulers import Request, Scheduler
from ..times import REAL, Clock
from ._batch_words import Dialect

LOOK_S = 1.0
FILE_S = 30.0  # how late a shared disk may show what a job wrote

#: What jobs do: say where and when they began, under their token; then what they were asked to, and end with a code.
_JOB = """date +%s.%N > "begun$3"
printf '%s %s\\n' "$1" "$(hostname)" > "said$3"
[ "$4" = 0 ] || sleep "$4"
exit "$2"
"""


class Site(NamedTuple):
    """The engine, and what every request to it holds."""

    engine: Scheduler
    dialect: Dialect
    door: HostAccess
    template: Request
    folder: Path
    wait_s: float
    jobs: list[str]  # all that were submitted, so that none is left
    clock: Clock = REAL


class Sent(NamedTuple):
    """A job that was submitted."""

    id: str
    token: str
    folder: Path
    submitted_s: float  # Unix time, before the engine was asked
    took_s: float  # what the submission itself took


def with_(request: Request, **changes: Any) -> Request:
    """The request with some of its fields changed."""
    return msgspec.structs.replace(request, **changes)


def send(site: Site, name: str, *, code: int = 0, sleep_s: float = 0, **changes: Any) -> Sent:
    """Submit one job with a folder of its own. ``changes`` are fields of the request. Raises CannotMeasure."""
    token = secrets.token_hex(8)
    folder = site.folder / f"{name}-{token}"
    folder.mkdir()
    index = f"${{{site.dialect.task}}}" if "array" in name else ""
    script = _JOB.replace("$3", index)
    request = msgspec.structs.replace(
        site.template,
        name=f"shakedown-{name}",
        folder=str(folder),
        argv=("/bin/sh", "-c", script, "job", token, str(code), "", f"{sleep_s:g}"),
        **changes,
    )
    begin_s, clock_s = site.clock.unix_s(), site.clock.monotonic_s()
    job = job_monitor.submit(site.engine, request, site.door, folder / "job.sh")
    site.jobs.append(job)
    return Sent(job, token, folder, begin_s, site.clock.monotonic_s() - clock_s)


def watched(site: Site, sent: Sequence[Sent]) -> tuple[JobStatus, ...]:
    """Follow jobs until it is known what became of each. Raises CannotMeasure where they do not start or end."""
    tickets = [JobTicket(engine=site.engine.name, job=one.id, submitted_s=one.submitted_s) for one in sent]
    views = job_monitor.watch(site.engine, tickets, site.door, every_s=LOOK_S, give_up_s=site.wait_s, clock=site.clock)
    for view in views:
        if not view.final:
            raise _waits(site, view)
    return views


def _waits(site: Site, view: JobStatus) -> CannotMeasure:
    record = view.records[-1]
    why = view.stuck or view.waiting or record.reason or record.word or record.state
    return CannotMeasure(
        f"job {view.ticket.job} had not ended after {site.wait_s:g} s: it is {record.state} ({why})",
        hint="let it run where nodes are free (not inside of an allocation that holds them all), or raise `wait`",
    )


def until(site: Site, sent: Sent, holds: Callable[[JobStatus], bool]) -> JobStatus:
    """Look at a job until something holds of it. Raises CannotMeasure where that does not come."""
    view = job_monitor.begin(JobTicket(engine=site.engine.name, job=sent.id, submitted_s=sent.submitted_s))
    deadline_s = site.clock.monotonic_s() + site.wait_s
    while True:
        (view,) = job_monitor.look(site.engine, (view,), site.door, site.clock.monotonic_s())
        if holds(view):
            return view
        if view.final or site.clock.monotonic_s() > deadline_s:
            raise _waits(site, view)
        site.clock.sleep_s(LOOK_S / 2)


def written(site: Site, path: Path) -> str:
    """What a job wrote; a shared disk may show it late. Empty where it does not come."""
    deadline_s = site.clock.monotonic_s() + FILE_S
    while True:
        with contextlib.suppress(OSError):
            if text := path.read_text("utf-8", "replace").strip():
                return text
        if site.clock.monotonic_s() > deadline_s:
            return ""
        site.clock.sleep_s(0.1)


@contextlib.contextmanager
def nothing_left(site: Site) -> Iterator[None]:
    """Cancel at the end what is not over, however the block ends."""
    try:
        yield
    finally:
        views = [job_monitor.begin(JobTicket(engine=site.engine.name, job=job)) for job in site.jobs]
        seen = job_monitor.look(site.engine, views, site.door, site.clock.monotonic_s()) if views else ()
        for view in seen:
            if view.state in ("queued", "running"):
                with contextlib.suppress(ShakedownError):
                    job_monitor.cancel(site.engine, view.ticket.job, site.door)
