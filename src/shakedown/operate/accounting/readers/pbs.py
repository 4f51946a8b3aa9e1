"""PBS: the accounting logs of OpenPBS, PBS Professional and Torque (server_priv/accounting/YYYYMMDD): a line for each event,
``10/31/2026 02:30:00;E;1234.server;user=... start=... end=...``. Times inside are Unix seconds; only the stamp in
front is local.

E ends a run; R is a run that was taken back to be run again (where the version tells of its use). Jobs that were deleted or
aborted without an E never ran. What was allocated is read from the nodes that were given (exec_vnode, exec_host), else from
what was asked for. GPUs are ``ngpus`` of OpenPBS's chunks, ``gpus`` of Torque's nodes, or exec_gpus.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ....schedulers.pbs import ended, hosts_of
from .. import values
from ..loading import Store
from . import Reader, attempt_values
from ._lines import lines, whole

_LINE = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Za-z]);([^;]*);?(.*)")
_PAIR = re.compile(r'(?:^|\s)([A-Za-z][\w.]*)=("[^"]*"|\S*)')
_DEFAULT_PROJECT = "_pbs_project_default"


def _mine(head: str) -> bool:
    return _LINE.match(head) is not None


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store."""
    counts = {"rows": 0, "lost": 0, "taken_back": 0}
    store.append(_jobs(path, ZoneInfo(store.zone), counts))
    store.done(str(path), "pbs", rows=counts["rows"], lost=counts["lost"])
    if counts["taken_back"]:
        store.notice(
            "taken-back",
            f"{counts['taken_back']} runs of {path.name} were taken back to be run again, and PBS records no use of them",
        )


def _jobs(path: Path, zone: ZoneInfo, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    gone: dict[str, str] = {}
    queued: dict[str, dict[str, str]] = {}
    began: set[str] = set()
    for line in lines(path):
        if not line.strip():
            continue
        counts["rows"] += 1
        match = _LINE.fullmatch(line)
        if match is None:
            counts["lost"] += 1
            continue
        stamp, kind, job, message = match.groups()
        if kind in "ER":
            row = _run(job, kind, pairs(message))
            gone.pop(job, None)
            queued.pop(job, None)
            began.discard(job)
            if row is not None:
                yield row
            elif kind == "E":
                counts["lost"] += 1
            else:
                counts["taken_back"] += 1
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


def _never(job: str, stamp: str, told: Mapping[str, str], zone: ZoneInfo) -> dict[str, Any]:
    """A job that was taken out of the queue; ``told`` is what was said when it came into it."""
    at = datetime.datetime.strptime(stamp, "%m/%d/%Y %H:%M:%S").replace(tzinfo=zone)
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
        "submit_s": whole(told.get("ctime")) or whole(told.get("qtime")),
        "end_s": int(at.timestamp()),
        "open": False,
    }


def _run(job: str, kind: str, told: dict[str, str]) -> dict[str, Any] | None:
    """One run; None where its times are not told."""
    start, end = whole(told.get("start")), whole(told.get("end"))
    if start is None or end is None:
        return None
    status = told.get("Exit_status", "")
    state, code, signal, _ = ended(int(status) if re.fullmatch(r"-?\d+", status) else None, told)
    busy = values.seconds(told.get("resources_used.cput", ""))
    gpus, gpu_type = _gpus(told)
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
            "submit_s": whole(told.get("ctime")) or whole(told.get("qtime")),
            "eligible_s": whole(told.get("etime")),
            "start_s": start,
            "end_s": end,
            "open": False,
            "state": "preempted" if kind == "R" else state,
            "word": f"exit {status}" if status else "run again" if kind == "R" else "",
            "exit_code": code,
            "signal": signal,
            "nodes": len(hosts) or whole(told.get("unique_node_count")) or whole(told.get("Resource_List.nodect")),
            "cpus": _cpus(told),
            "gpus": gpus,
            "gpu_type": gpu_type,
            "memory_asked_bytes": values.memory_bytes(told.get("Resource_List.mem", "")),
            "memory_used_bytes": values.memory_bytes(told.get("resources_used.mem", "")) or None,
            "cpu_used_ms": round(1000 * busy) or None if busy is not None else None,
            "limit_s": int(limit) if limit else None,
            "node_list": ",".join(hosts) or None,
            "name": told.get("jobname"),
        }
    )


def _project(told: Mapping[str, str]) -> str | None:
    account = told.get("account") or told.get("Account_Name")
    return account or (told.get("project") if told.get("project") != _DEFAULT_PROJECT else None) or None


def _cpus(told: Mapping[str, str]) -> int | None:
    """What was given: of the chunks, the slots, the processors on hosts (node1/0*4, node1/0-3, node1/0+node1/1)."""
    given = re.findall(r"ncpus=(\d+)", told.get("exec_vnode", ""))
    if given:
        return sum(map(int, given))
    for name in ("total_execution_slots", "Resource_List.ncpus"):
        if count := whole(told.get(name)):
            return count
    total = 0
    for part in filter(None, told.get("exec_host", "").split("+")):
        place = part.partition("/")[2]
        times = re.fullmatch(r"\d+\*(\d+)", place)
        for word in [] if times else place.split(","):
            low, _, high = word.partition("-")
            total += int(high) - int(low) + 1 if low.isdigit() and high.isdigit() else 1
        total += int(times[1]) if times else 0
    return total or None


def _gpus(told: Mapping[str, str]) -> tuple[int, str | None]:
    """GPUs that were given; zero where nothing names any (whether the site records them at all is decided later)."""
    kind = re.search(r"(?:gpu_type|gpu_model|accelerator_model)=([\w.-]+)", " ".join(told.values()))
    name = kind[1] if kind else None
    given = re.findall(r"ngpus=(\d+)", told.get("exec_vnode", ""))
    if given:
        return sum(map(int, given)), name
    if told.get("exec_gpus"):
        return len(told["exec_gpus"].split("+")), name
    if count := whole(told.get("Resource_List.ngpus")):
        return count, name
    total = 0
    for words in (
        told.get("Resource_List.select", ""),
        told.get("Resource_List.neednodes") or told.get("Resource_List.nodes", ""),
    ):
        for part in words.split("+"):
            found = re.search(r":n?gpus=(\d+)", part)
            times = re.match(r"(\d+)(?=:|$)", part)
            total += int(found[1]) * (int(times[1]) if times else 1) if found else 0
        if total:
            break
    return total, name


READER = Reader(
    name="pbs",
    title="the accounting log of OpenPBS, PBS Professional or Torque",
    mine=_mine,
    read=read,
    gpus="OpenPBS: the host resource ngpus (qmgr -c 'create resource ngpus type=long, flag=nh'), listed in sched_config's "
    "resources; Torque: pbs_server and pbs_mom built with NVIDIA support, jobs asking nodes=1:gpus=2",
    samples=("openpbs", "torque"),
)
