"""Grid Engine: the accounting file (accounting(5)) of SGE, Son of Grid Engine, Univa's and the Open Cluster
Scheduler's (before its JSON), with 43, 45 or more fields, times in seconds or milliseconds.

What bites: a job with tight integration leaves a line for each host, every one with all of its slots, the slaves' first: CPU
time and memory are added up, slots and time taken once, from the master's (``pe_taskid`` NONE). A colon in the request moves
what follows. A run that was rescheduled (``failed`` 24, 25) has no times: what it used is not recorded, and its job's
next line keeps the first submission. It is not told from when a job was eligible: waiting is from its submission, or
from the attempt before. GPUs are those of the request, per slot or per job, which the file does not tell (--gpus-per).
Memory is virtual memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ....schedulers.gridengine import SLAVE, end_state, epoch, number_in
from ....units import whole_number
from .. import values
from ..loading import Store
from . import Reader, attempt_values
from ._lines import Tally, lines, signed

#: Places of the fields that come before the request, which may hold colons.
_QUEUE, _HOST, _GROUP, _OWNER, _NAME, _NUMBER, _ACCOUNT = range(7)
_SUBMIT, _BEGIN, _END, _FAILED, _EXIT, _WALL, _UTIME, _STIME = range(8, 16)
_PROJECT, _PE, _SLOTS, _TASK, _CPU, _REQUEST = 31, 33, 34, 35, 36, 39
_NUMBER_WORD = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_GPUS = re.compile(r"\b(?:n?gpus?|gpu_cards?|gpu_([A-Za-z]\w*))=(\d+)")
_RESCHEDULED = (24, 25)
_NO_TIME = ("-/-", "")


def _mine(head: str) -> bool:
    first = next((line for line in head.split("\n") if line and not line.startswith("#")), "")
    fields = first.split(":")
    numbers = (_NUMBER, 7, _SUBMIT, _BEGIN, _END)
    return len(fields) >= 43 and all(_NUMBER_WORD.fullmatch(fields[at]) for at in numbers)


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store."""
    tally = Tally()
    store.append(_jobs(path, store.gpus_per, tally))
    tally.done(store, path, "gridengine")
    gpus = store.one(f"SELECT count(*) FROM jobs WHERE source = {store.source - 1} AND gpus > 0 AND cpus > 1")[0]
    if gpus:
        other = "job" if store.gpus_per == "slot" else "slot"
        store.notice(
            "gpus-per",
            f"the GPUs of {gpus} runs with several slots are counted per {store.gpus_per}: the file does not say which",
            f"qconf -sc shows it (column consumable: YES is per slot, JOB per job); --gpus-per {other} for the other",
        )


def _jobs(path: Path, gpus_per: str, tally: Tally) -> Iterator[dict[str, Any]]:
    slaves: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for line in lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        tally.rows += 1
        fields = line.split(":")
        tail = _tail(fields)
        if tail is None or whole_number(fields[_NUMBER]) is None:
            tally.lose(line)
            continue
        key = (fields[_NUMBER], fields[_TASK])
        cpu_s, memory = _float(fields[_CPU]), _float(fields[tail + 2])
        if cpu_s <= 0:
            cpu_s = _float(fields[_UTIME]) + _float(fields[_STIME])
        if SLAVE.fullmatch(fields[tail + 1]):
            slaves.setdefault(key, []).append((fields[_HOST], cpu_s, memory))
            continue
        if number_in(fields[_FAILED]) in _RESCHEDULED:
            what = "were rescheduled: Grid Engine records no time of them, so what they used is missing"
            tally.see("rescheduled", what, fields[_NUMBER])
        _odd(fields, tally)
        yield _job(fields, tail, slaves.pop(key, []), cpu_s, memory, gpus_per)
    for (job, _), held in slaves.items():
        for _ in held:
            tally.see("slaves-alone", "are those of single hosts of jobs that have no line of their own", job)


def _odd(fields: list[str], tally: Tally) -> None:
    """Fields that ran and cannot be read."""
    job = fields[_NUMBER]
    for at in (_SUBMIT, _BEGIN, _END):
        if not _NUMBER_WORD.fullmatch(fields[at]) and fields[at] not in _NO_TIME:
            tally.see("not-read", f"have a time that cannot be read, such as {fields[at]!r}", job)
    slots = signed(fields[_SLOTS])
    if slots is None or slots == 0:
        tally.see("no-slots", "name no slots: their CPU hours are missing", job)


def _tail(fields: list[str]) -> int | None:
    """Where the fields after the request begin: iow, pe_taskid, maxvmem."""
    for at in range(_REQUEST + 1, len(fields) - 2):
        if (
            _NUMBER_WORD.fullmatch(fields[at])
            and (fields[at + 1] == "NONE" or SLAVE.fullmatch(fields[at + 1]))
            and _NUMBER_WORD.fullmatch(fields[at + 2])
        ):
            return at
    return None


def _float(text: str) -> float:
    value = float(text) if _NUMBER_WORD.fullmatch(text) else 0.0
    return value if abs(value) < 2**62 else 0.0  # 1e400 is one too


def _job(
    fields: list[str], tail: int, slaves: list[tuple[str, float, float]], cpu_s: float, memory: float, gpus_per: str
) -> dict[str, Any]:
    request = ":".join(fields[_REQUEST:tail])
    failed, status = number_in(fields[_FAILED]), number_in(fields[_EXIT])
    begin, end, submit = (epoch(fields[at]) for at in (_BEGIN, _END, _SUBMIT))
    slots = signed(fields[_SLOTS]) or None
    task = fields[_TASK]
    hosts = dict.fromkeys((fields[_HOST], *(one[0] for one in slaves)))
    together = bool(slaves) or slots == 1 or fields[_PE] == "NONE"
    gpus, kind = _gpus(request, max(1, slots or 1) if gpus_per == "slot" else 1)
    memory_bytes = int(memory + sum(one[2] for one in slaves))
    busy_ms = round(1000 * (cpu_s + sum(one[1] for one in slaves)))
    asked = re.search(r"\bh_vmem=([\d.]+[a-zA-Z]?)", request)
    asked_bytes = values.memory_bytes(asked[1]) if asked else None
    limit = re.search(r"\bh_rt=(\d+(?::\d+)*)", request)
    project = fields[_PROJECT] if fields[_PROJECT] != "NONE" else fields[_ACCOUNT]
    ran = begin is not None
    return attempt_values(
        {
            "cluster": "gridengine",
            "job": fields[_NUMBER] + (f".{task}" if task not in ("0", "") else ""),
            "task": task if task not in ("0", "") else None,
            "user": fields[_OWNER],
            "project": project if project not in ("sge", "") else None,
            "unix_group": fields[_GROUP],
            "partition": fields[_QUEUE] if fields[_QUEUE] not in ("UNKNOWN", "") else None,
            "submit_s": _whole_s(submit),
            "eligible_s": None,
            "start_s": _whole_s(begin),
            "end_s": _whole_s(end) if end is not None else _whole_s(submit),
            "open": False,
            "state": end_state(failed, status, request, begin, end),
            "word": f"failed {failed}" if failed else f"exit {status}",
            "exit_code": status if ran else None,
            "signal": status - 128 if ran and 128 < status <= 192 else None,
            "nodes": len(hosts) if ran and together else None,
            "cpus": slots if ran else None,
            "gpus": gpus if ran else 0,
            "gpu_type": kind,
            "memory_asked_bytes": asked_bytes * slots if asked_bytes and slots and slots > 0 else None,
            "memory_used_bytes": memory_bytes or None,
            "cpu_used_ms": busy_ms or None,
            "limit_s": int(values.seconds(limit[1]) or 0) or None if limit else None,
            "node_list": ",".join(hosts) if ran else None,
            "name": fields[_NAME],
        }
    )


def _whole_s(value: float | None) -> int | None:
    """Milliseconds are cut off at both ends alike."""
    return None if value is None else int(value)


def _gpus(request: str, times: int) -> tuple[int, str | None]:
    found = _GPUS.findall(request)
    kinds = sorted({kind for kind, _ in found if kind})
    return sum(whole_number(number) or 0 for _, number in found) * times, "+".join(kinds) or None


READER = Reader(
    name="gridengine",
    title="Grid Engine's accounting file",
    mine=_mine,
    read=read,
    gpus="a consumable that jobs must ask for (qconf -mc: gpu INT <= YES YES 0 0), with its count on each host (qconf -me)",
    samples=("gridengine-8.1.9-accounting",),
)
