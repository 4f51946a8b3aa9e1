"""Slurm's job completion file (JobCompType=jobcomp/filetxt): ``JobId=2 UserId=alice(1000) ... Tres=cpu=1,node=1 ...``,
a line a job. Times are local. It knows neither suspended time nor steps nor energy, and its names may hold blanks: a
key counts as one only where Slurm writes it, in its order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .... import times
from ....schedulers.common.slurm_rows import state_of
from ....units import whole_number
from .. import values
from ..loading import Store
from . import Reader, attempt_values
from ._lines import Tally, lines, signed

#: The keys in the order in which Slurm writes them (jobcomp_filetxt.c); some came later.
_KEYS = (
    "JobId", "UserId", "GroupId", "Name", "JobState", "Partition", "TimeLimit", "StartTime", "EndTime", "NodeList",
    "NodeCnt", "ProcCnt", "WorkDir", "ReservationName", "Gres", "Tres", "Account", "QOS", "WcKey", "Cluster", "SubmitTime",
    "EligibleTime", "ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset", "DerivedExitCode", "ExitCode",
)  # fmt: skip
#: Where there is no time.
_NO_TIME = ("", "Unknown", "None", "N/A", "0", "(null)")


def _mine(head: str) -> bool:
    return re.match(r"JobId=\d+ UserId=", head) is not None


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store."""
    tally = Tally()
    store.append(_jobs(path, store.zone, tally))
    store.local(path.name)
    tally.done(store, path, "jobcomp")


def _jobs(path: Path, zone: str, tally: Tally) -> Iterator[dict[str, Any]]:
    held = ""
    for line in lines(path):
        if line.startswith("JobId=") and held:
            yield from _job(held, zone, tally)
            held = line
        else:
            held = f"{held}\\n{line}" if held else line
    if held.strip():
        yield from _job(held, zone, tally)


def fields(line: str) -> dict[str, str]:
    """Keys and values; a value goes on until the next key that may follow."""
    found: dict[str, str] = {}
    at, last = 0, ""
    for key in _KEYS:
        place = line.find(f"{key}=", at) if not last else line.find(f" {key}=", at)
        if place < 0:
            continue
        if last:
            found[last] = line[at:place]
        at = place + len(key) + 1 + bool(last)
        last = key
    if last:
        found[last] = line[at:].strip()
    return found


def _job(line: str, zone: str, tally: Tally) -> Iterator[dict[str, Any]]:
    tally.rows += 1
    told = fields(line)
    if "JobId" not in told or "StartTime" not in told or "JobState" not in told:
        tally.lose(line)
        return
    for name in ("StartTime", "EndTime", "SubmitTime", "EligibleTime"):
        if told.get(name, "") not in _NO_TIME and _unix(told[name], zone) is None:
            if name == "StartTime":
                tally.lose(line)
                return
            tally.see(f"{name}-not-read", f"have a {name} that cannot be read, such as {told[name]!r}", told["JobId"])
    start, end = (_unix(told.get(name, ""), zone) for name in ("StartTime", "EndTime"))
    if start is not None and end is not None and end < start:
        end = max(end, _unix(told.get("EndTime", ""), zone, later=True) or end)
    nodes = signed(told.get("NodeCnt"))
    never = start is None or nodes == 0 or told.get("NodeList") in ("(null)", "None assigned", "")
    tres = values.tres(told.get("Tres", ""))
    gpus, kind = values.gpus_of(told.get("Tres", ""))
    code, _, signal = told.get("ExitCode", "").partition(":")
    limit = whole_number(told.get("TimeLimit"))
    array = whole_number(told.get("ArrayTaskId"))
    job = f"{told['ArrayJobId']}_{array}" if array is not None and "ArrayJobId" in told else told["JobId"]
    yield attempt_values(
        {
            "cluster": told.get("Cluster") if told.get("Cluster") not in ("unknown", "") else None,
            "job": job,
            "task": None if array is None else str(array),
            "user": told.get("UserId", "").partition("(")[0] or None,
            "project": told.get("Account") or None,
            "unix_group": told.get("GroupId", "").partition("(")[0] or None,
            "partition": told.get("Partition") or None,
            "qos": told.get("QOS") or None,
            "submit_s": _unix(told.get("SubmitTime", ""), zone),
            "eligible_s": _unix(told.get("EligibleTime", ""), zone),
            "start_s": None if never else start,
            "end_s": end,
            "open": False,
            "ran_s": 0 if never else None,
            "state": _state(told["JobState"], never),
            "word": told["JobState"],
            "exit_code": whole_number(code),
            "signal": whole_number(signal) or None,
            "nodes": None if never else nodes,
            "cpus": None if never else signed(tres.get("cpu")) or signed(told.get("ProcCnt")),
            "gpus": 0 if never else (gpus or 0) if tres else None,
            "gpu_type": kind or None,
            "memory_asked_bytes": values.memory_bytes(tres.get("mem", "")) or None,
            "limit_s": 60 * limit if limit else None,
            "node_list": None if never else told.get("NodeList"),
            "name": told.get("Name"),
        }
    )


def _state(word: str, never: bool) -> str:
    """A run that was taken back is written as PENDING, which is what its job is by then."""
    state = state_of(word)
    return "preempted" if state == "queued" and not never else state


def _unix(text: str, zone: str, *, later: bool = False) -> int | None:
    if (seconds := whole_number(text)) is not None:
        return seconds or None
    found = times.in_form(text, "%Y-%m-%dT%H:%M:%S", zone, later=later)
    return None if found is None else int(found)


READER = Reader(
    name="jobcomp",
    title="Slurm's job completion file (jobcomp/filetxt)",
    mine=_mine,
    read=read,
    gpus="AccountingStorageTRES=gres/gpu in slurm.conf, then restart slurmctld: jobs that start from then on have them",
    samples=("slurm-22.05-jobcomp.txt",),
)
