"""PBS: the accounting logs of OpenPBS, PBS Professional and Torque (server_priv/accounting/YYYYMMDD): a line for each event,
``10/31/2026 02:30:00;E;1234.server;user=... start=... end=...``. Times inside are Unix seconds; only the stamp in
front is local.

E ends a run; R is a run that was taken back to be run again (where the version tells of its use). Jobs that were deleted or
aborted without an E never ran. The record of an array as a whole is none of a run: its tasks have their own. What was
allocated tells ``schedulers/common/pbs_resources``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .... import times
from ....schedulers.pbs import Gpus, asked_cpus, cpus_of, ended, gpus_of, hosts_of
from ....units import whole_number
from .. import values
from ..loading import Store
from . import Reader, attempt_values
from ._lines import Tally, lines

_LINE = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Za-z]);([^;]*);?(.*)")
_PAIR = re.compile(r'(?:^|\s)([A-Za-z][\w.]*)=("[^"]*"|\S*)')
_ARRAY = re.compile(r"\d+\[\]")
_DEFAULT_PROJECT = "_pbs_project_default"


def _mine(head: str) -> bool:
    return _LINE.match(head) is not None


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store."""
    tally = Tally()
    store.append(_jobs(path, store.zone, tally))
    tally.done(store, path, "pbs")


def _jobs(path: Path, zone: str, tally: Tally) -> Iterator[dict[str, Any]]:
    gone: dict[str, str] = {}
    queued: dict[str, dict[str, str]] = {}
    began: set[str] = set()
    for line in lines(path):
        if not line.strip():
            continue
        tally.rows += 1
        match = _LINE.fullmatch(line)
        if match is None:
            tally.lose(line)
            continue
        stamp, kind, job, message = match.groups()
        if kind in "ER":
            row = _run(job, kind, pairs(message), tally)
            gone.pop(job, None)
            queued.pop(job, None)
            began.discard(job)
            if row is not None:
                yield row
            elif kind == "E" and not _ARRAY.match(job):
                tally.lose(line)
            elif kind == "R":
                tally.see("taken-back", "were taken back to be run again, and PBS records no use of them", job)
        elif kind in "DA":
            gone[job] = stamp
        elif kind == "S":
            began.add(job)  # an end will come, in this file or the next
        elif kind == "Q":
            queued[job] = pairs(message)
    for job, stamp in gone.items():
        if job not in began:
            yield _never(job, stamp, queued.get(job, {}), zone)


def pairs(message: str) -> dict[str, str]:
    """``user=a account="my project" Resource_List.walltime=01:00:00``."""
    return {name: value.strip('"') for name, value in _PAIR.findall(message)}


def _name(job: str) -> dict[str, Any]:
    number, _, server = job.partition(".")
    task = re.fullmatch(r"\d+(?:\[(\d+)\]|-(\d+))", number)
    return {"job": number, "cluster": server or "pbs", "task": (task[1] or task[2]) if task else None}


def _never(job: str, stamp: str, told: Mapping[str, str], zone: str) -> dict[str, Any]:
    """A job that was taken out of the queue; ``told`` is what was said when it came into it."""
    at_s = times.in_form(stamp, "%m/%d/%Y %H:%M:%S", zone)
    return {
        **_name(job),
        "user": told.get("user"),
        "project": _project(told),
        "unix_group": told.get("group"),
        "partition": told.get("queue"),
        "name": told.get("jobname"),
        "state": "cancelled",
        "word": "deleted",
        "ran_s": 0,
        "gpus": 0,
        "submit_s": whole_number(told.get("ctime")) or whole_number(told.get("qtime")),
        "end_s": None if at_s is None else int(at_s),
        "open": False,
    }


def _run(job: str, kind: str, told: dict[str, str], tally: Tally) -> dict[str, Any] | None:
    """One run; None where its times are not told, and for an array as a whole."""
    start, end = whole_number(told.get("start")), whole_number(told.get("end"))
    if not start or not end or (_ARRAY.match(job) and not told.get("exec_host")):
        return None
    status = told.get("Exit_status", "")
    state, code, signal, _ = ended(int(status) if re.fullmatch(r"-?\d+", status) else None, told)
    busy = values.seconds(told.get("resources_used.cput", ""))
    given, held = cpus_of(told), gpus_of(told)
    _odd(job, told, given, held, tally)
    hosts = hosts_of(told.get("exec_host", "")) or hosts_of(re.sub(r":[^+)]*", "", told.get("exec_vnode", "")))
    limit, used = (values.seconds(told.get(f"{name}.walltime", "")) for name in ("Resource_List", "resources_used"))
    if kind == "E" and state == "preempted" and limit and used and used >= limit:
        state = "timeout"  # -11 is "run again" to OpenPBS, and "over its time" to Torque
    return attempt_values(
        {
            **_name(job),
            "user": told.get("user"),
            "project": _project(told),
            "unix_group": told.get("group"),
            "partition": told.get("queue"),
            "submit_s": whole_number(told.get("ctime")) or whole_number(told.get("qtime")),
            "eligible_s": whole_number(told.get("etime")),
            "start_s": start,
            "end_s": end,
            "open": False,
            "state": "preempted" if kind == "R" else state,
            "word": f"exit {status}" if status else "run again" if kind == "R" else "",
            "exit_code": code,
            "signal": signal,
            "nodes": len(hosts)
            or whole_number(told.get("unique_node_count"))
            or whole_number(told.get("Resource_List.nodect")),
            "cpus": given,
            "gpus": held.number,
            "gpu_type": held.kind,
            "memory_asked_bytes": values.memory_bytes(told.get("Resource_List.mem", "")),
            "memory_used_bytes": values.memory_bytes(told.get("resources_used.mem", "")) or None,
            "cpu_used_ms": round(1000 * busy) or None if busy is not None else None,
            "limit_s": int(limit) if limit else None,
            "node_list": ",".join(hosts) or None,
            "name": told.get("jobname"),
        }
    )


def _odd(job: str, told: Mapping[str, str], given: int | None, held: Gpus, tally: Tally) -> None:
    asked = asked_cpus(told)
    if asked and given and given < asked:
        what = "were given fewer slots than they requested, as the record has it, and count with those that were given"
        tally.see("slots-differ", what, job, "tracejob shows exec_host and Resource_List of one")
    if held.number is None:
        tally.see("gpus-uncounted", "ask for GPUs without saying how many: their GPU hours are not recorded", job)
    elif held.number and not held.given and "Resource_List.gres" in told:
        tally.see("gpus-generic", "have their GPUs from a generic resource (gres), read as of the whole job", job)


def _project(told: Mapping[str, str]) -> str | None:
    account = told.get("account") or told.get("Account_Name")
    return account or (told.get("project") if told.get("project") != _DEFAULT_PROJECT else None) or None


READER = Reader(
    name="pbs",
    title="the accounting log of OpenPBS, PBS Professional or Torque",
    mine=_mine,
    read=read,
    gpus="OpenPBS: the host resource ngpus (qmgr -c 'create resource ngpus type=long, flag=nh'), listed in sched_config's "
    "resources; Torque: pbs_server and pbs_mom built with NVIDIA support, jobs asking nodes=1:gpus=2",
    samples=("openpbs", "torque"),
)
