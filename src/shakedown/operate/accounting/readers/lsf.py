"""IBM Spectrum LSF: JOB_FINISH records of lsb.acct (lsb.acct(5), versions 5.1 to 10.1). Known from its manual only.

Fields are parted by blanks, texts stand in double quotes, doubled within. Two lists of hosts, each led by its length,
and the 19 numbers of lsfRusage move what follows; only fields that stand in all versions are read. A host is named once
for each slot. A job that never started has the start 0. lsb.acct does not tell what was asked for as memory, and GPUs
only in the effective resource requirement (``ngpus_physical``, since 10.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..loading import Store
from . import Reader, attempt_values
from ._lines import lines

_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
#: Job states in LSF's numbers (lsbatch.h): a job that is done, and one that is not.
_DONE, _EXIT = 64, 32
_RUSAGE = 19


def _mine(head: str) -> bool:
    return re.match(r'"(JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH|JOB_[A-Z]+)" "\d', head) is not None


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store."""
    counts = {"rows": 0, "lost": 0}
    store.append(_jobs(path, counts))
    store.done(str(path), "lsf", rows=counts["rows"], lost=counts["lost"])


def _jobs(path: Path, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    held = ""
    for line in lines(path):
        if line.startswith(('"JOB_', '"EVENT_')):
            yield from _job(held, counts)
            held = line
        else:
            held = f"{held}\\n{line}"  # a command of several lines
    yield from _job(held, counts)


def _job(line: str, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    if not line.strip():
        return
    counts["rows"] += 1
    if not line.startswith('"JOB_FINISH"'):
        return
    row = record(line)
    if row is None:
        counts["lost"] += 1
    else:
        yield row


def record(line: str) -> dict[str, Any] | None:
    """A JOB_FINISH record; None for one that is not whole."""
    found = [text.replace('""', '"') if plain == "" else plain for text, plain in _TOKEN.findall(line)]
    try:
        end, job, slots, submit, begin, start = (int(found[at]) for at in (2, 3, 6, 7, 8, 10))
        asked = int(found[22])
        at = 23 + asked
        count = int(found[at])
        hosts = found[at + 1 : at + 1 + count]
        state = int(found[at + 1 + count])
        name, rest = found[at + 3 + count], found[at + 5 + count :]
        user_s, system_s = float(rest[0]), float(rest[1])
        project, status = rest[_RUSAGE + 1], int(rest[_RUSAGE + 2])
        slots = int(rest[_RUSAGE + 3]) or slots
        index, memory_kb = int(rest[_RUSAGE + 6]), int(rest[_RUSAGE + 7])
    except (IndexError, ValueError):
        return None
    gpus = re.search(r"ngpus_physical=(\d+)", line)
    busy_ms = round(1000 * (max(user_s, 0) + max(system_s, 0)))
    used = len(hosts) or slots
    return attempt_values(
        {
            "cluster": "lsf",
            "job": f"{job}[{index}]" if index else str(job),
            "task": str(index) if index else None,
            "user": found[11],
            "project": project if project not in ("default", "") else None,
            "partition": found[12] or None,
            "submit_s": submit,
            "eligible_s": max(submit, begin),
            "start_s": start or None,
            "end_s": end,
            "open": False,
            "ran_s": None if start else 0,
            "state": "done" if state == _DONE else "failed" if start else "cancelled",
            "word": {_DONE: "DONE", _EXIT: "EXIT"}.get(state, str(state)),
            "exit_code": status >> 8 if start else None,
            "signal": (status & 127) or None,
            "nodes": len(set(hosts)) or None if start else None,
            "cpus": used if start else None,
            "gpus": (int(gpus[1]) * len(set(hosts)) if gpus else 0) if start else 0,
            "memory_used_bytes": memory_kb * 1024 or None,
            "cpu_used_ms": busy_ms or None,
            "node_list": ",".join(dict.fromkeys(hosts)) or None,
            "name": name or None,
        }
    )


READER = Reader(
    name="lsf",
    title="LSF's lsb.acct",
    mine=_mine,
    read=read,
    gpus='LSB_GPU_NEW_SYNTAX=extend in lsf.conf, and jobs that ask with -gpu "num=2"',
    samples=("lsf",),
)
