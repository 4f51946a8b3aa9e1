"""All processes, read once: owner, parent, state, name, and the job that a process belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ....units import whole_number
from ..node_access import NodeAccess

#: Programs of batch engines below which a job's processes live.
STARTERS = frozenset(("slurmstepd", "sge_shepherd", "pbs_mom", "flux-shell", "flux-imp", "res"))
#: How control groups of batch engines name a job.
_JOB = re.compile(r"(?:^|/)(?:job_(\d+)|(?:pbspro|pbs_jobs)[^/]*/(\d+)|flux-\w+|jobid_(\d+))", re.MULTILINE)


class Process(NamedTuple):
    pid: int
    uid: int
    parent: int
    state: str
    name: str


def processes(senses: NodeAccess) -> dict[int, Process]:
    """By process id. One that ends meanwhile is left out."""
    found: dict[int, Process] = {}
    for word in senses.names("/proc"):
        if whole_number(word) is None:
            continue
        try:
            text = senses.text(f"/proc/{word}/stat")
        except (ProcessLookupError, PermissionError):
            continue
        uid = senses.owner(f"/proc/{word}")
        if text is None or uid is None or ")" not in text:
            continue
        head, _, tail = text.rpartition(")")
        fields = tail.split()
        found[int(word)] = Process(int(word), uid, int(fields[1]), fields[0], head.partition("(")[2])
    return found


def in_job(senses: NodeAccess, one: Process, held: Mapping[int, Process]) -> bool:
    """Whether a process belongs to a job: by its control group, or below a starter of a batch engine."""
    seen = 0
    at: Process | None = one
    while at is not None and at.pid > 1 and seen < 64:
        if at.name in STARTERS:
            return True
        at = held.get(at.parent)
        seen += 1
    try:
        return _JOB.search(senses.text(f"/proc/{one.pid}/cgroup") or "") is not None
    except OSError:
        return False
