"""IBM Spectrum LSF: JOB_FINISH records of lsb.acct (lsb.acct(5), versions 5.1 to 10.1). Known from its manual only.

Fields are parted by blanks, texts stand in double quotes, doubled within. Two lists of hosts, each led by its length,
and the 19 numbers of lsfRusage move what follows; only fields that stand in all versions are read. A host is named once
for each slot, or with their number (``16*host``: LSB_SHORT_HOSTLIST, SHORT_EVENTFILE); both are held against the record's
num_processors. A job that never started has the start 0. lsb.acct does not tell what was asked for as memory, and GPUs
only in the resource requirement (``ngpus_physical``, since 10.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ..loading import Store
from . import Reader, attempt_values
from ._lines import Tally, lines

_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
#: Job states in LSF's numbers (lsbatch.h): a job that is done, and one that is not.
_DONE, _EXIT = 64, 32
_RUSAGE = 19
#: A host of the short form: ``16*host`` for 16 slots.
_TIMES = re.compile(r"([0-9]{1,9})\*(.+)")
_GPUS = re.compile(r"\bngpus(?:_physical|_excl_p|_excl_t|_shared)?\s*=\s*([0-9]{1,9}(?:\.[0-9]+)?)(?![0-9])\s*(/task)?")


class _Field(NamedTuple):
    text: str
    quoted: bool


def _mine(head: str) -> bool:
    return re.match(r'"(JOB_FINISH|JOB_RESIZE|EVENT_ADRSV_FINISH|JOB_[A-Z]+)" "\d', head) is not None


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store."""
    tally = Tally()
    store.append(_jobs(path, tally))
    tally.done(store, path, "lsf")


def _jobs(path: Path, tally: Tally) -> Iterator[dict[str, Any]]:
    held = ""
    for line in lines(path):
        if line.startswith(('"JOB_', '"EVENT_')):
            yield from _job(held, tally)
            held = line
        else:
            held = f"{held}\\n{line}"  # a command of several lines
    yield from _job(held, tally)


def _job(line: str, tally: Tally) -> Iterator[dict[str, Any]]:
    if not line.strip():
        return
    tally.rows += 1
    fields = [_Field(quoted.replace('""', '"') or plain, plain == "") for quoted, plain in _TOKEN.findall(line)]
    if line.startswith('"JOB_RESIZE"'):
        job = fields[3].text if len(fields) > 3 else "?"
        what = "got or gave back hosts while they ran: they count with the slots of their end for all of their time"
        tally.see("resized", what, job, "lsb.acct's JOB_RESIZE records give from when to when")
    if line.startswith(('"JOB_', '"EVENT_')) and not line.startswith('"JOB_FINISH"'):
        return
    try:
        yield record(fields, tally)
    except (IndexError, ValueError):
        tally.lose(line)


def slots_of(hosts: Sequence[str]) -> dict[str, int]:
    """Host -> slots, of a list that names it once for each (``h1 h1 h2``), or with their number (``16*h1``)."""
    found: dict[str, int] = {}
    for word in hosts:
        times = _TIMES.fullmatch(word)
        name, count = (times[2], int(times[1])) if times else (word, 1)
        found[name] = found.get(name, 0) + count
    return found


def record(fields: Sequence[_Field], tally: Tally) -> dict[str, Any]:
    """A JOB_FINISH record as a row. Raises IndexError, ValueError for one that is not whole."""
    words = [one.text for one in fields]
    if words[0] != "JOB_FINISH":
        raise ValueError
    end, job, asked, submit, begin, start = (int(words[at]) for at in (2, 3, 6, 7, 8, 10))
    at = 23 + int(words[22])
    count = int(words[at])
    listed = list(takewhile(lambda one: one.quoted, fields[at + 1 :]))  # a number follows
    hosts = slots_of([one.text for one in listed])
    if count not in (len(listed), sum(hosts.values())):
        raise ValueError
    at += len(listed)
    state = int(words[at + 1])
    name, rest = words[at + 3], words[at + 5 :]
    user_s, system_s = float(rest[0]), float(rest[1])
    project, status = rest[_RUSAGE + 1], int(rest[_RUSAGE + 2])
    most = int(rest[_RUSAGE + 3])
    index, memory_kb = int(rest[_RUSAGE + 6]), int(rest[_RUSAGE + 7])
    number = f"{job}[{index}]" if index else str(job)
    slots = sum(hosts.values()) or most or asked
    if hosts and start and not min(asked, most or asked) <= slots <= max(asked, most):
        what = (
            "have another number of slots on their hosts than in num_processors, and count with those of the hosts: "
            "the first has"
        )
        tally.see("slots-differ", f"{what} {slots} and {asked}", number, "look at them: bhist -l, bacct -l")
    gpus = _gpus(words[13], rest[_RUSAGE + 8 :], len(hosts), slots)
    busy_ms = round(1000 * (max(user_s, 0) + max(system_s, 0)))
    return attempt_values(
        {
            "cluster": "lsf",
            "job": number,
            "task": str(index) if index else None,
            "user": words[11],
            "project": project if project not in ("default", "") else None,
            "partition": words[12] or None,
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
            "nodes": len(hosts) or None if start else None,
            "cpus": slots if start else None,
            "gpus": gpus if start else 0,
            "memory_used_bytes": memory_kb * 1024 or None,
            "cpu_used_ms": busy_ms or None,
            "node_list": ",".join(hosts) or None,
            "name": name or None,
        }
    )


def _gpus(asked: str, rest: Sequence[str], hosts: int, slots: int) -> int:
    """GPUs by the effective requirement, the last text in ``rest`` that is one, else by what was asked for: of each host,
    or of each task, as it says."""
    effective = [word for word in rest if word.startswith("select[") and "rusage[" in word]
    found = next((one for word in (*effective[::-1], asked) if (one := _GPUS.search(word))), None)
    return round(float(found[1]) * (slots if found[2] else hosts)) if found else 0


READER = Reader(
    name="lsf",
    title="LSF's lsb.acct",
    mine=_mine,
    read=read,
    gpus='LSB_GPU_NEW_SYNTAX=extend in lsf.conf, and jobs that ask with -gpu "num=2"',
    samples=("lsf",),
)
