"""Jobs beside the nodes: how many failed and by whose fault, on which nodes, and how much of the machine was in use.

The records are the batch engines' own (``schedulers``); nothing is guessed that they do not say. A job that the engine ended
because a node died is the system's; one that failed by itself while one of its nodes was being lost is, too, with the reason
told; a time limit, memory overrun or cancellation is the user's; all else that failed is not known: exit code 1 may be a
typing error or a broken link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import times
from ...errors import BadInput
from ...files.packed import opened_text
from ...hosts.access import HostAccess
from ...records import Notice
from ...schedulers import JobRecord
from ...schedulers.common.delimited import UNIT
from . import rates
from .history import History, Ints
from .incidents import Outages
from .records import JobCause, Jobs, Killer, notice

#: A job that failed so long before or after an outage of one of its nodes began is taken to have failed by it.
NEAR_S = 300
#: States that say whose fault it was.
_USERS = ("timeout", "oom", "cancelled", "preempted")
_SYSTEM_REASONS = ("prolog", "launch failed", "launch_failed", "node fail", "boot", "node_fail")
#: Of a line that is told.
_SHOWN = 80
_COLUMNS = (
    "JobIDRaw", "JobID", "State", "JobName", "ExitCode", "Reason", "User", "Partition", "NodeList", "Submit", "Eligible",
    "Start", "End", "AllocCPUS", "AllocTRES",
)  # fmt: skip


class JobTable(NamedTuple):
    """Attempts of jobs, where they are from, and the lines there that are no record of a job."""

    records: tuple[JobRecord, ...]
    source: str
    unread: tuple[str, ...] = ()


def read(path: Path) -> JobTable:
    """Jobs from a file: what `sacct -P` printed, with its head (JobID, State, Start, End, NodeList, AllocCPUS and whatever
    else), or Grid Engine's accounting file. Raises BadInput."""
    from ...schedulers import gridengine
    from ...schedulers.common import slurm_rows

    try:
        with opened_text(path, hint="--jobs FILE") as file:
            text = file.read()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), hint="--jobs FILE") from None
    odd: list[str] = []
    head = text.partition("\n")[0]
    delimiter = next((one for one in (UNIT, "|") if one in head), "")
    if delimiter and "JobID" in head.split(delimiter):
        columns = head.rstrip("\r").split(delimiter)  # `sacct -p` ends lines with one more: a column of no name
        missing = [name for name in ("State", "Start", "End") if name not in columns]
        if missing:
            raise BadInput(
                f"lacks the columns {', '.join(missing)}",
                where=str(path),
                hint=f"SLURM_TIME_FORMAT=%s sacct -a -D -X -P --format={','.join(_COLUMNS[1:])}",
            )
        free = "JobName" if "JobName" in columns else ""
        table = slurm_rows.rows(text.partition("\n")[2], columns, delimiter, free=free, odd=odd)
        return JobTable(slurm_rows.jobs_of(table), str(path), tuple(odd))
    found = gridengine.accounting(text, odd)
    if not found:
        raise BadInput(
            "describes no job",
            where=str(path),
            hint="what sacct -P printed, with its head, or Grid Engine's accounting file",
        )
    return JobTable(found, str(path), tuple(odd))


def ask(door: HostAccess, begin_s: int, end_s: int) -> JobTable | None:
    """All attempts of jobs that Slurm's accounting knows of a stretch; None where it does not answer."""

    from ...schedulers.common import slurm_rows

    # sacct reads local times, in which an hour comes twice: two more on both sides, which are dropped afterwards.
    low, high = (times.here(one) for one in (begin_s - 7200, end_s + 7200))
    done = door.run(
        (
            *("env", "SLURM_TIME_FORMAT=%s", "LC_ALL=C", "sacct", "-a", "-D", "-X", "-n", "-P"),
            *(f"--delimiter={UNIT}", "-S", low, "-E", high, f"--format={','.join(_COLUMNS)}"),
        ),
        limit_s=300.0,
    )
    if not done.ok:
        return None
    odd: list[str] = []
    found = slurm_rows.jobs_of(slurm_rows.rows(done.out, _COLUMNS, free="JobName", odd=odd))
    return JobTable(found, "sacct", tuple(odd))


def spans(records: Iterable[JobRecord], begin_s: int, end_s: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and processors of what jobs held within a stretch."""
    for one in records:
        if one.begin_s is None or not one.cpus:
            continue
        until = one.end_s if one.end_s is not None else (end_s if one.state == "running" else one.begin_s)
        begin, end = int(max(one.begin_s, begin_s)), int(min(until, end_s))
        if end > begin:
            yield begin, end, one.cpus


def used(records: Iterable[JobRecord], begin_s: int, end_s: int) -> int:
    """Processor-seconds in use by jobs within a stretch."""
    return sum((end - begin) * cpus for begin, end, cpus in spans(records, begin_s, end_s))


def _unread(table: JobTable) -> list[Notice]:
    """What of a table could not be used, each with how many and the first."""
    records = table.records
    lost = len(table.unread)
    notices = []
    if lost:
        what = f"{lost} row{'s' * (lost != 1)} without a job's id or cut short, such as {table.unread[0][:_SHOWN]!r}"
        notices.append(notice("jobs-unread", f"{what}: left out", "compare with what the engine prints now"))
    ran = [one for one in records if one.state in ("done", "failed", "timeout", "oom", "node_fail")]
    timeless = [one.id for one in ran if one.begin_s is None or one.end_s is None]
    sizeless = [one.id for one in ran if one.begin_s is not None and not one.cpus]
    return notices + [
        notice(code, f"{len(ids)} job{'s' * (len(ids) != 1)} {what}, such as {ids[0]}: {then}")
        for code, ids, what, then in (
            ("jobs-without-times", timeless, "ended and named no start and end that can be read", "left out"),
            ("jobs-without-cpus", sizeless, "ran and named no processors", "their use is missing"),
        )
        if ids
    ]


def judged(table: JobTable, history: History, own: Outages, begin_s: int, end_s: int) -> Jobs:
    """Jobs that ended within a stretch, by cause, with intervals, and the nodes on which more fail than elsewhere."""
    records = table.records
    inside = [
        one for one in records if one.ended and one.end_s is not None and begin_s <= one.end_s < end_s and one.begin_s
    ]
    near = _Near(history, own)
    causes = [_cause(one, near) for one in inside]
    exposure = sum(
        (one.end_s - max(one.begin_s, begin_s)) * max(1, len(one.hosts)) for one in inside if one.end_s and one.begin_s
    )
    node_kh = exposure / 3600 / 1000
    groups = Counter(found for found in causes if found is not None)
    told = []
    for whose in ("system", "user", "unknown"):
        mine = {key: count for key, count in groups.items() if key[0] == whose}
        for key, count in [((whose, "all"), sum(mine.values())), *sorted(mine.items(), key=lambda one: -one[1])]:
            share = rates.share(count, len(inside))
            per = rates.per(count, node_kh) if node_kh > 0 else (None, None, None)
            told.append(JobCause(*key, count, *share, *per))
    notices = []
    if not inside:
        notices.append(notice("no-jobs", "no job ended in this time"))
    elif not any(one.hosts for one in inside):
        notices.append(
            notice("no-hosts", "the records do not say where jobs ran, so no node can be compared with others")
        )
    notices += _unread(table)
    # What runs now has not yet used what is to come.
    observed_s = min(end_s, int(history.seen[-1][1])) if history.seen else end_s
    return Jobs(
        source=table.source,
        jobs=len(records),
        ended=len(inside),
        causes=tuple(told),
        killers=_killers(inside, causes),
        used_h=used(records, begin_s, observed_s) / 3600,
        notices=tuple(notices),
    )


def _cause(one: JobRecord, near: _Near) -> tuple[str, str] | None:
    """Whose fault it was and how it ended; None where it ended successfully."""
    if one.state == "done":
        return None
    if one.state == "node_fail" or any(word in one.reason.lower() for word in _SYSTEM_REASONS):
        return "system", one.state
    if one.state in _USERS:
        return "user", one.state
    if one.state == "failed" and one.end_s is not None and near.lost(one.hosts, one.end_s):
        return "system", "failed as a node was lost"
    return "unknown", one.state


class _Near:
    """Whether an outage of a node began near a time."""

    def __init__(self, history: History, own: Outages) -> None:
        index = {name: at for at, name in enumerate(history.names)}
        self._index = index
        order = np.lexsort((own.begin, own.node))
        self._begin: Ints = own.begin[order]
        self._bounds = np.searchsorted(own.node[order], np.arange(len(index) + 1))

    def lost(self, hosts: Sequence[str], at_s: float) -> bool:
        for name in hosts:
            node = self._index.get(name)
            if node is None:
                continue
            begins = self._begin[self._bounds[node] : self._bounds[node + 1]]
            low = int(np.searchsorted(begins, at_s - NEAR_S))
            if low < len(begins) and begins[low] <= at_s + NEAR_S:
                return True
        return False


def _killers(inside: Sequence[JobRecord], causes: Sequence[tuple[str, str] | None]) -> tuple[Killer, ...]:
    """Nodes where more jobs fail than the others make expect. The user's own failures are left out: they know no node."""
    index: dict[str, int] = {}
    jobs: list[int] = []
    failed: list[int] = []
    for one, cause in zip(inside, causes, strict=True):
        if cause is not None and cause[0] == "user":
            continue
        for host in one.hosts:
            at = index.setdefault(host, len(index))
            if at == len(jobs):
                jobs.append(0)
                failed.append(0)
            jobs[at] += 1
            failed[at] += cause is not None
    if len(index) < 2:
        return ()
    names = list(index)
    found = rates.beyond_the_others(np.array(failed), np.array(jobs))
    return tuple(
        Killer(node=names[at], jobs=jobs[at], failed=failed[at], expected=expected, p=p) for at, expected, p in found
    )
