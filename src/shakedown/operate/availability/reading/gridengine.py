"""Grid Engine's reporting file (reporting(5); ``reporting=true`` in the configuration): the states of queue instances.

A ``queue`` record is written whenever an instance changes its state; the letters are those of qstat. A host is as well
as the best of its queue instances, but for u (the host does not answer) which is all of them. A host that was never told
of is not there. The file does not say how many processors a host has: its greatest number of slots would be a guess, so
it is asked of ``--nodes``; without it every host counts as one.
"""

from __future__ import annotations

import re
from pathlib import Path

from ....files.packed import opened_text
from ....units import whole_number
from ..history import OPEN_S, Builder, Cause
from ..records import Source, notice
from ..words import State, of_gridengine

_LINE = re.compile(r"^(\d{9,}):queue(?:_consumable)?:([^:]*):([^:]*):(\d+):([^:\n]*)", re.MULTILINE)
#: From the best state of a host's queue instances to the worst.
_BEST: tuple[State, ...] = ("up", "drained", "failed", "silent", "absent")
_TELLS = {"silent": "does not answer the qmaster", "drained": "queues disabled", "failed": "queues in error"}


def is_mine(head: str) -> bool:
    kinds = "queue|queue_consumable|host|host_consumable|job_log|new_job|acct"
    return re.search(rf"^\d{{9,}}:({kinds}):", head, re.MULTILINE) is not None


def read(builder: Builder, path: Path, zone: str) -> None:
    """Read the states. Times are Unix seconds; some forks write milliseconds."""
    instances: dict[str, dict[str, State]] = {}
    since: dict[str, tuple[State, int]] = {}
    first = last = None
    count = 0
    sized = builder.has_inventory()
    with opened_text(path) as file:
        for line in file:
            stamp = line.partition(":")[0]
            if (number := whole_number(stamp)) is not None:
                last = number // (1000 if len(stamp) > 11 else 1)
                first = last if first is None else first
            match = _LINE.match(line)
            if not match:
                continue
            count += 1
            host, at = match[3], int(match[4]) // (1000 if len(match[4]) > 11 else 1)
            queues = instances.setdefault(host, {})
            queues[match[2]] = of_gridengine(match[5])
            state = min(queues.values(), key=_BEST.index)
            before = since.get(host)
            if before is None:
                if not sized:
                    builder.present(host, at, OPEN_S, 1)
                since[host] = (state, at)
            elif before[0] != state:
                _close(builder, host, before, at)
                since[host] = (state, at)
    for host, before in since.items():
        _close(builder, host, before, OPEN_S)
    if not sized and since:
        text = "the reporting file does not list processors: every host counts as one"
        builder.notices.append(notice("no-processors", text, "give --nodes 'node[1-4] processors=64'"))
    if first is not None and last is not None:
        builder.seen.append((first, last))
    builder.sources.append(Source(str(path), "gridengine", count, first, last))


def _close(builder: Builder, host: str, held: tuple[State, int], until: int) -> None:
    state, begin = held
    if state != "up":
        cause = Cause(what=_TELLS.get(state, state), engine="gridengine", kind="" if state != "drained" else "drained")
        builder.event(host, begin, until, state, cause)
