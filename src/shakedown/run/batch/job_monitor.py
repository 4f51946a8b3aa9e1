"""Submit a job, follow it until it is known what became of it, cancel it: the thin loop over an engine's commands.

``judge`` decides, purely. Its rules, each against a fault that a library for this makes:

- The queue is asked for our own jobs only, so that somebody else's strange job disturbs nothing.
- An engine that does not answer says nothing about the job: what was known stays, and we wait, however long.
- A job that the queue no longer has is over, and how it ended comes from the accounting alone. Rows lag: they are waited
  for while the accounting answers. Then a state that the queue itself gave stands; else the job is ``unknown``, never done.
- A row ends the job only where it belongs to the attempt that was last seen, where it is whole, and where the engine did
  not take that attempt back. Every earlier attempt is kept.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ... import times
from ...errors import BadInput, CannotMeasure, StoreFailed
from ...files import atomic
from ...hosts.access import HostAccess
from ...records import Record
from ...schedulers import JobRecord, JobState, Request, Scheduler

#: Seconds that an engine's command may take; Slurm's own time-out is 9 s a try.
COMMAND_LIMIT_S = 60.0
#: Seconds that rows of the accounting are waited for, counted while it answers.
SETTLE_S = 120.0
#: Seconds by which times of one event may differ between an engine's commands.
_SLACK_S = 2.0
#: Seconds by which the engine's clock may differ from ours before a row is taken for that of an older job of this id.
_CLOCKS_S = 86400.0


#: What is waited for where an engine says nothing.
QUEUE_SILENT = "the queue does not answer"
ACCOUNTING_SILENT = "the accounting does not answer"
ROWS_LAG = "its rows in the accounting lag"

_R = TypeVar("_R", bound=Record)


class JobTicket(Record, frozen=True, kw_only=True):
    """A job that was submitted: enough to find it again from another process."""

    engine: str
    job: str
    submitted_s: float | None = None  # Unix time, our clock


class Member(Record, frozen=True, kw_only=True):
    """One job, or one task of an array, or one component of a heterogeneous job."""

    now: JobRecord
    earlier: tuple[JobRecord, ...] = ()  # attempts that ended before the one in ``now``
    final: bool = False  # nothing more will be learnt
    over_since_s: float | None = None  # our clock: since when the queue says that it is over and the accounting nothing


class JobStatus(Record, frozen=True, kw_only=True):
    """What is known of a submitted job."""

    ticket: JobTicket
    members: tuple[Member, ...] = ()
    final: bool = False
    waiting: str = ""  # what is waited for beside the job itself: "the queue does not answer"
    stuck: str = ""  # why it will not start unless somebody acts
    since_s: float | None = None  # the engine's clock: when the job was first submitted

    @property
    def state(self) -> JobState:
        """One word for all members: what still runs or waits, else what is not known, else the first that went wrong."""
        states = [member.now.state for member in self.members]
        live: tuple[JobState, ...] = ("running", "queued", "unknown")
        for word in live:
            if word in states:
                return word
        return next((state for state in states if state != "done"), "done" if states else "unknown")

    @property
    def records(self) -> tuple[JobRecord, ...]:
        """Every attempt of every member, the last one last."""
        return tuple(record for member in self.members for record in (*member.earlier, member.now))


# -------------------------------------------------------------------------------------------------------------- deciding


def begin(ticket: JobTicket) -> JobStatus:
    """The view of a job of which nothing was asked yet."""
    return JobStatus(ticket=ticket, members=(Member(now=_unknown(ticket, "not yet queried")),))


def judge(
    before: JobStatus,
    queue: Sequence[JobRecord] | None,
    accounts: Sequence[JobRecord] | None,
    now_s: float,
    *,
    provisional: Callable[[JobRecord], bool] = lambda record: False,
    settle_s: float = SETTLE_S,
) -> JobStatus:
    """What is known now. ``queue`` and ``accounts`` are what those said; None where one did not answer. Pure."""
    if before.final:
        return before
    if queue is None:
        same = tuple(_replace(member, over_since_s=None) for member in before.members)
        return _replace(before, members=same, waiting=QUEUE_SILENT)
    live = {record.id: record for record in queue if _belongs(record.id, before.ticket.job)}
    since_s = before.since_s
    if since_s is None:
        since_s = min((one.submit_s for one in live.values() if one.submit_s and not one.attempt), default=None)
    rows: dict[str, list[JobRecord]] = {}
    for row in accounts or ():
        if _belongs(row.id, before.ticket.job) and not _older(row, since_s, before.ticket.submitted_s):
            rows.setdefault(row.id, []).append(row)
    held = {member.now.id: member for member in before.members}
    known = [name for name, member in held.items() if member.final or member.now.source != "none"]
    names = list(dict.fromkeys([*known, *live, *rows])) or [before.ticket.job]
    members = []
    lagging = False
    for name in names:
        member = held.get(name)
        if member is None or not member.final:
            seen = live.get(name)
            over = seen is None or seen.ended
            since = None
            if over and accounts is not None:
                since = now_s if member is None or member.over_since_s is None else member.over_since_s
            settled = since is not None and now_s - since >= settle_s
            member = _member(before.ticket, name, member, seen, rows.get(name, []), provisional, settled)
            member = _replace(member, over_since_s=None if member.final else since)
            lagging |= over and not member.final
        members.append(member)
    waiting = ACCOUNTING_SILENT if accounts is None else ROWS_LAG
    return JobStatus(
        ticket=before.ticket,
        members=tuple(members),
        final=all(member.final for member in members),
        waiting=waiting if lagging else "",
        since_s=since_s,
    )


def _member(
    ticket: JobTicket,
    name: str,
    held: Member | None,
    live: JobRecord | None,
    rows: Sequence[JobRecord],
    provisional: Callable[[JobRecord], bool],
    settled: bool,
) -> Member:
    ended = [row for row in rows if row.ended]
    before = held.earlier if held else ()
    if live is not None and not live.ended:
        kept = _longer(before, [row for row in ended if not _covers(row, live)])
        return Member(now=_replace(live, attempt=max(live.attempt, len(kept))), earlier=kept)
    seen = live or (held.now if held and held.now.source == "queue" else None)
    last = rows[-1] if rows else None
    if last and last.ended and not provisional(last) and (seen is None or _covers(last, seen)):
        if seen and set(last.hosts) < set(seen.hosts):  # Grid Engine's names only those on which tasks were started
            last = _replace(last, hosts=seen.hosts)
        return Member(now=last, earlier=tuple(ended[:-1]), final=True)
    if seen is None and last is not None and not settled:
        return Member(now=last, earlier=tuple(row for row in ended if row is not last))
    kept = _longer(before, [row for row in ended if seen is None or not _covers(row, seen)])
    if not settled:
        now = seen or _unknown(ticket, "neither in the queue nor in the accounting", name)
        return Member(now=now, earlier=kept)
    if live is not None:
        return Member(now=live, earlier=kept, final=True)
    known = f"; last seen {seen.word}" if seen else ""
    why = f"it left the queue, and the accounting does not say how it ended{known}"
    return Member(now=_unknown(ticket, why, name, seen), earlier=kept, final=True)


def _longer(old: tuple[JobRecord, ...], new: Sequence[JobRecord]) -> tuple[JobRecord, ...]:
    """Rows are never lost again: an accounting that is asked less, or answers less, takes none back."""
    return tuple(new) if len(new) >= len(old) else old


def _covers(row: JobRecord, seen: JobRecord) -> bool:
    """Whether a row of the accounting belongs to the attempt that the queue showed, or to a later one."""
    if seen.begin_s is not None and row.begin_s is not None:
        return row.begin_s >= seen.begin_s - _SLACK_S
    if seen.begin_s is not None:  # a later attempt that never began
        return (row.end_s or row.submit_s or 0.0) >= seen.begin_s
    if seen.submit_s is not None and row.submit_s is not None:
        return row.submit_s >= seen.submit_s
    return True


def _older(row: JobRecord, since_s: float | None, submitted_s: float | None) -> bool:
    """Whether a row is that of another job, which had this id in an earlier life of the engine."""
    if row.submit_s is None:
        return False
    if since_s is not None:
        return row.submit_s < since_s - _SLACK_S
    return submitted_s is not None and row.submit_s < submitted_s - _CLOCKS_S


def _belongs(record: str, job: str) -> bool:
    """Whether a record is of this job, of a task of it (``12_3``, ``12.3``, ``12[3]``) or a component (``12+1``)."""
    return record == job or (record.startswith(job) and record[len(job)] in "_+.[")


def _unknown(ticket: JobTicket, why: str, name: str = "", seen: JobRecord | None = None) -> JobRecord:
    if seen is not None:
        return _replace(seen, state="unknown", source="none", reason=why, exit_code=None, signal=None, end_s=None)
    return JobRecord(engine=ticket.engine, id=name or ticket.job, state="unknown", reason=why)


def _replace(record: _R, **changes: Any) -> _R:
    return msgspec.structs.replace(record, **changes)


# ----------------------------------------------------------------------------------------------------------------- acting


def submit(engine: Scheduler, request: Request, door: HostAccess, path: Path) -> str:
    """Write the batch script to ``path``, hand it to the engine, once, and return the job's id.

    Raises BadInput for what the engine cannot give and for a folder that others may write to, CannotMeasure where the
    engine refuses or does not answer: it is never asked twice, for it may have taken the job.
    """
    _write(path, engine.script(request))
    names = engine.overriding(request)
    without = ("env", *(word for name in names for word in ("-u", name))) if names else ()
    return engine.submitted(door.run((*without, *engine.submit(str(path))), limit_s=COMMAND_LIMIT_S))


def _write(path: Path, text: str) -> None:
    try:
        mode = path.parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise BadInput(
                "others can write to the folder of the job, and so change what it runs",
                where=str(path.parent),
                hint=f"chmod o-w {path.parent}",
            )
        atomic.replace(path, text, mode=0o700)
    except OSError as error:
        raise StoreFailed(
            f"the batch script cannot be written: {error.strerror}", where=str(path), hint="choose another directory"
        ) from None


def look(
    engine: Scheduler, views: Sequence[JobStatus], door: HostAccess, now_s: float, *, settle_s: float = SETTLE_S
) -> tuple[JobStatus, ...]:
    """Ask the engine once about all jobs that are not final: first the queue, then the accounting of those it lacks."""
    jobs = [view.ticket.job for view in views if not view.final]
    if not jobs:
        return tuple(views)
    queue = engine.queued(door.run(engine.queue(jobs), limit_s=COMMAND_LIMIT_S))
    accounts: list[JobRecord] | None = []
    if queue is not None:
        plain = {job for job in jobs if _plain(job, [one for one in queue if _belongs(one.id, job)])}
        accounts = _ask(engine, [job for job in jobs if job not in plain], door)
    found = []
    for view in views:
        new = judge(view, queue, accounts, now_s, provisional=engine.provisional, settle_s=settle_s)
        stuck = next(filter(None, (engine.hopeless(member.now) for member in new.members)), "")
        found.append(_replace(new, stuck=stuck))
    return tuple(found)


def _plain(job: str, records: Sequence[JobRecord]) -> bool:
    """Whether the queue says all that there is to know: one job in its first attempt, which waits or runs."""
    return len(records) == 1 and records[0].id == job and not records[0].ended and not records[0].attempt


def _ask(engine: Scheduler, jobs: Sequence[str], door: HostAccess) -> list[JobRecord] | None:
    found: list[JobRecord] = []
    for group in [[job] for job in jobs] if engine.one_by_one else [list(jobs)] if jobs else []:
        answer = engine.accounted(door.run(engine.accounts(group), limit_s=COMMAND_LIMIT_S))
        if answer is None:
            return None
        found += answer
    return found


def watch(
    engine: Scheduler,
    tickets: Sequence[JobTicket],
    door: HostAccess,
    tell: Callable[[JobStatus], None] = lambda view: None,
    *,
    every_s: float = 15.0,
    settle_s: float = SETTLE_S,
    give_up_s: float | None = None,
    clock: times.Clock = times.REAL,
) -> tuple[JobStatus, ...]:
    """Follow jobs until it is known of each what became of it; ``tell`` hears of every job after every look at it.

    Asks often at first and every ``every_s`` seconds later. An engine that does not answer is waited for; ``give_up_s``
    ends the following whatever is known then (a view that is not ``final`` says for what it waits).
    """
    begun = clock.monotonic_s()
    views = tuple(begin(ticket) for ticket in tickets)
    while True:
        open_ = [view.ticket.job for view in views if not view.final]
        views = look(engine, views, door, clock.monotonic_s(), settle_s=settle_s)
        for view in views:
            if view.ticket.job in open_:
                tell(view)
        spent = clock.monotonic_s() - begun
        if all(view.final for view in views) or (give_up_s is not None and spent >= give_up_s):
            return views
        clock.sleep_s(min(every_s, 0.5 + spent / 10))


def unanswered(record: JobRecord) -> str:
    """What ``follow`` waits for beside the job itself, from what it tells of the job: an answer of the engine; empty where
    it answered."""
    for part in record.reason.split("; "):
        if part in (QUEUE_SILENT, ACCOUNTING_SILENT, ROWS_LAG):
            return part
    return record.reason or "it is not known to the engine" if record.source == "none" else ""


def follow(
    engine: Scheduler,
    job: str,
    door: HostAccess,
    *,
    submitted_s: float | None = None,
    tell: Callable[[JobRecord], None] = lambda record: None,
    every_s: float = 15.0,
    settle_s: float = SETTLE_S,
    give_up_s: float | None = None,
) -> tuple[JobRecord, ...]:
    """Follow one job to its end: every attempt of it, the last one last (and so for each task of an array).

    ``tell`` hears after every look what is known now, whether it changed or not: a chance to look at what the job has
    written. What is waited for, and why a job will not start by itself, stands in its ``reason``.
    """
    ticket = JobTicket(engine=engine.name, job=job, submitted_s=submitted_s)

    def hear(view: JobStatus) -> None:
        for member in view.members:
            why = "; ".join(filter(None, (member.now.reason, "" if member.final else view.waiting, view.stuck)))
            tell(_replace(member.now, reason=why))

    views = watch(engine, (ticket,), door, hear, every_s=every_s, settle_s=settle_s, give_up_s=give_up_s)
    return views[0].records


def cancel(engine: Scheduler, job: str, door: HostAccess) -> None:
    """Ask the engine to end a job. Raises CannotMeasure where it does not take that; a job that is over is no error."""
    result = door.run(engine.cancel(job), limit_s=COMMAND_LIMIT_S)
    if result.ok:
        return
    queue = engine.queued(door.run(engine.queue([job]), limit_s=COMMAND_LIMIT_S))
    live = [one for one in queue or () if _belongs(one.id, job) and not one.ended]
    if queue is None or live:
        said = " ".join((result.err or result.out).split())
        words = " ".join(engine.cancel(job))
        raise CannotMeasure(f"{engine.title} did not cancel job {job}: {said}", hint=f"try again: {words}")
