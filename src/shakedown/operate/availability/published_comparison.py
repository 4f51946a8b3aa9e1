"""Our down time beside Slurm's own (`sreport cluster utilization`), and every difference in definition. Pure but for
``ask``.

What sreport adds up (slurmdbd's rollup, as_mysql_rollup.c of 22.05 to 24.05): every event of a node is down time with the
resources written in the event, in whole hours of the local clock, but for

- events with the flag MAINT: no down time at all; the reservation of the time is "PLND Down", unless it ignores jobs;
- nodes of the state FUTURE, and CLOUD nodes that power saving has powered down: planned down;
- nodes that are down in a MAINT reservation: planned down for that time;
- events that overlap on one node: each counts;
- time in which jobs ran on a node that was down: taken off the down time where the hour would hold more than it has;
- drains: down time from when the last job left the node, since no event is written before.

Ours counts a node once, by the states that the contract names.
"""

from __future__ import annotations

import msgspec
import numpy as np

from ... import times
from ...hosts.access import HostAccess
from . import segments
from .contract import Contract
from .history import History
from .reading.slurm import CLOUD_FLAG, FUTURE, MAINT_FLAG, POWERED_DOWN_FLAG
from .records import PublishedAvailability
from .words import STATES

HOUR = 3600
_ALL_DOWN = tuple(one for one in STATES if one not in ("up", "unknown"))


def compare(history: History, contract: Contract, begin_s: int, end_s: int) -> PublishedAvailability | None:
    """Ours and what sreport's rules make of the same events, over the whole hours of a stretch, step by step; None where
    there is no whole hour or no Slurm in the history."""
    low, high = -(-begin_s // HOUR) * HOUR, end_s // HOUR * HOUR
    slurm = np.array([one.engine == "slurm" for one in history.causes], bool)
    if high <= low or not slurm.any():
        return None
    low = max(low, -(-min((one[0] for one in history.seen), default=low) // HOUR) * HOUR)
    plain = msgspec.structs.replace(contract, counting="processors")
    events = history.events
    ours = _lost(history, plain, low, high)
    only = history.only(slurm[events.cause])
    first = _lost(only, plain, low, high)
    every = msgspec.structs.replace(plain, down=msgspec.structs.replace(plain.down, states=_ALL_DOWN, partial="share"))
    second = _lost(only, every, low, high)
    flagged = np.array([bool(one.raw & MAINT_FLAG) for one in only.causes], bool)
    calm = only.only(~flagged[only.events.cause])
    third = _lost(calm, every, low, high)
    down, planned = _by_its_rules(calm, low, high)
    steps = (
        ("records of other sources than Slurm", first - ours),
        ("states that the contract does not count as down", second - first),
        ("events with Slurm's MAINT flag, which sreport leaves out", third - second),
        ("events that overlap, which sreport counts each, and resources as the event says", down + planned - third),
        ("planned down: FUTURE, CLOUD nodes powered down, or in a MAINT reservation", -planned),
    )
    return PublishedAvailability(
        begin_s=low,
        end_s=high,
        ours=ours,
        sreport=None,
        expected=down,
        expected_planned=planned,
        steps=tuple(one for one in steps if one[1]),
    )


def _lost(history: History, contract: Contract, low: int, high: int) -> int:
    """Processor-seconds lost without any exclusion."""
    found = segments.segments(history, contract, low, high, segments.Claims.none())
    return int((found.weight * found.lost * found.seconds).sum()) // found.parts


def _by_its_rules(history: History, low: int, high: int) -> tuple[int, int]:
    """Down and planned down by the rollup's rules, in processor-seconds."""
    events = history.events
    begin, end = np.clip(events.begin, low, high), np.clip(events.end, low, high)
    cpus = np.where(events.cpus >= 0, events.cpus, history.cpus_of(events.node))
    cloud = CLOUD_FLAG | POWERED_DOWN_FLAG
    away = np.array([one.raw & 15 == FUTURE or one.raw & cloud == cloud for one in history.causes], bool)[events.cause]
    seconds = np.maximum(end - begin, 0)
    planned = int((cpus * seconds)[away].sum())
    down = int((cpus * seconds)[~away].sum())
    for one in history.reservations:
        if "MAINT" not in one.flags:
            continue
        inside = np.isin(events.node, one.nodes) & ~away
        part = np.maximum(np.minimum(end, one.end_s) - np.maximum(begin, one.begin_s), 0)
        moved = int((cpus * part)[inside].sum())
        down, planned = down - moved, planned + moved
    return down, planned


def ask(door: HostAccess, found: PublishedAvailability) -> PublishedAvailability:
    """With what sreport prints of the same hours; as it was where it does not answer. Hours that its rollup has not reached
    are missing from its figures, which then are not held against ours."""
    low, high = (times.here(one) for one in (found.begin_s, found.end_s))
    done = door.run(
        (
            *("env", "LC_ALL=C", "sreport", "-P", "-t", "Seconds", "-T", "cpu", "cluster", "utilization"),
            *(f"start={low}", f"end={high}"),
        ),
        limit_s=120.0,
    )
    lines = [line.split("|") for line in done.out.splitlines() if "|" in line]
    if not done.ok or len(lines) < 2:
        return found
    rows = [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]
    try:
        down = sum(int(row["Down"]) for row in rows)
        planned = sum(int(row.get("PLND Down", "0")) for row in rows)
    except (KeyError, ValueError):
        return found
    return msgspec.structs.replace(found, sreport=down, planned=planned, unexplained=down - found.expected)
