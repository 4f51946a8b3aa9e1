"""Flux. Known from its documentation only (flux-batch(1), flux-jobs(1), RFC 21 for the states).

The queue keeps finished jobs, for ever or for as long as the site wants, with what they ended with: one question serves
for queue and accounting. A job's id is f58 text (ƒ2bcDe) or a number; the text is asked for in ASCII (``f2bcDe``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .. import strict
from ..errors import BadInput
from ..hosts.access import HostAccess, Result
from ..hosts.hostlist import expand
from ..units import MOST_COUNT, whole_number
from . import Allocation, JobRecord, JobState, Request, Scheduler, under_way
from .common.answers import job_id, missing, silent
from .common.words import HOST_LIST, Word, body, checked, label, minutes, place, refuse_unknown, resources, told

_LIVE: dict[str, JobState] = {
    "NEW": "queued",
    "DEPEND": "queued",
    "PRIORITY": "queued",
    "SCHED": "queued",
    "RUN": "running",
    "CLEANUP": "running",
}
_RESULTS: dict[str, JobState] = {
    "COMPLETED": "done",
    "FAILED": "failed",
    "CANCELED": "cancelled",
    "TIMEOUT": "timeout",
}
_ASK = ("env", "LC_ALL=C.UTF-8", "FLUX_F58_FORCE_ASCII=1", "flux", "jobs", "--all", "--json")


def _asked(result: Result) -> tuple[JobRecord, ...] | None:
    """What ``flux jobs --json`` said; an id that is not known is told on standard error."""
    if not result.ok and not re.search(r"unknown|not found|No such", result.err):
        return None
    try:
        read = json.loads(result.out) if result.out.strip() else {}
    except strict.UNREADABLE:
        return None
    jobs = read.get("jobs", [read] if "id" in read else []) if isinstance(read, dict) else []
    return tuple(_record(one) for one in jobs if isinstance(one, dict))


def _queued(result: Result) -> tuple[JobRecord, ...] | None:
    return under_way(_asked(result))


def _record(job: Mapping[str, Any]) -> JobRecord:
    word = str(job.get("state", ""))
    over = word == "INACTIVE"
    result = str(job.get("result", ""))
    state = _RESULTS.get(result, "unknown") if over else _LIVE.get(word, "unknown")
    code, number = _status(job.get("waitstatus")) if over else (None, None)
    told = job.get("exception")
    said = told if isinstance(told, dict) else {}
    kind = str(said.get("type", "")) if said.get("occurred") else ""
    if state == "failed" and kind in ("node-failure", "lost-shell"):
        state = "node_fail"
    nodes = str(job.get("nodelist") or "")
    try:
        hosts = expand(nodes)
    except BadInput:
        hosts = ()
    return JobRecord(
        engine="flux",
        id=str(job.get("id", "")).replace("ƒ", "f"),
        state=state,
        word=result if over else word,
        source="accounting" if over else "queue",
        exit_code=code,
        signal=number,
        reason=": ".join(filter(None, (kind, str(said.get("note", "")) if kind else ""))),
        name=str(job.get("name", "")),
        user=str(job.get("username", "")),
        partition=str(job.get("queue", "")),
        hosts=hosts,
        submit_s=_time(job.get("t_submit")),
        eligible_s=_time(job.get("t_depend")),
        begin_s=_time(job.get("t_run")),
        end_s=_time(job.get("t_inactive")) if over else None,
        cpus=whole_number(str(job.get("ncores", "")), most=MOST_COUNT) if hosts else None,
    )


def _status(value: Any) -> tuple[int | None, int | None]:
    """Exit code and signal of a wait status. Flux's shell hands 128 and the signal on for a task that was killed."""
    if not isinstance(value, int):
        return None, None
    if value & 127:
        return None, value & 127
    code = value >> 8 & 255
    return code, code - 128 if 128 < code <= 192 else None


#: Unix times after the year 9999 are none.
_LAST_S = 253_402_300_800


def _time(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value < _LAST_S else None


WORDS = {
    "partition": Word("--queue={}", what="queue"),
    "account": Word("--bank={}", what="bank"),
    "after": Word("--dependency=afterany:{}", r"[ƒf][1-9A-HJ-NP-Za-km-z]+|\d+", "job"),
}


def script(request: Request) -> str:
    """The batch script. Raises BadInput."""
    folder = place(request.folder)
    if set(folder) & set("{}\"'#"):
        raise BadInput(f"Flux cannot write into {folder!r}", hint="choose a folder without braces, quotes and #")
    refuse_unknown(request, "Flux", (*WORDS, "constraint", "gres", "slots", "exclude"))
    lines = [
        "#!/bin/bash",
        f"# flux: --job-name={label(request.name)}",
        f"# flux: --nodes={request.nodes}",
        f'# flux: --output="{folder}/stdout"',
        f'# flux: --error="{folder}/stderr"',
        *(["# flux: --exclusive"] if request.exclusive else []),
    ]
    if request.time_limit_s is not None:
        lines.append(f"# flux: --time-limit={minutes(request.time_limit_s)}m")
    lines += [f"# flux: {word}" for word in told(request, WORDS)]
    needs = [f"host:{','.join(checked('host', host, r'[A-Za-z0-9.-]+') for host in request.hosts)}"] * bool(
        request.hosts
    )
    if request.constraint:
        needs.append(checked("constraint", request.constraint, r"[\w.,:|&()-]+"))
    if request.exclude:
        needs.append(f"-host:{checked('hosts to leave out', request.exclude, HOST_LIST)}")
    if needs:
        lines.append(f'# flux: --requires="{" and ".join(needs)}"')
    for kind, count in resources(request.gres, r"gpu[:=]\d+"):
        lines.append(f"# flux: --{kind}s-per-node={count}")
    for word in request.extra:
        lines.append(f"# flux: {checked('argument for flux batch', word.lstrip('-')) and word}")
    return "\n".join([*lines, "", body(request.folder, request.env, request.argv)])


def _submitted(result: Result) -> str:
    hint = "if it did not answer in time, look at flux jobs before submitting again"
    return job_id(result, r"^((?:ƒ|f)[1-9A-HJ-NP-Za-km-z]+|\d+)\s*$", "flux batch", "flux", hint).replace("ƒ", "f")


def _absent(door: HostAccess) -> str:
    return missing(door, "flux") or silent(door, "flux", "getattr", "size", who="no instance answers")


def _inside(environment: Mapping[str, str], door: HostAccess) -> Allocation | None:
    """An instance below another one: that of a batch job."""
    if "FLUX_URI" not in environment or "FLUX_ENCLOSING_ID" not in environment:
        return None
    hosts = door.run(("flux", "getattr", "hostlist"), limit_s=20.0)
    if not hosts.ok:
        return None
    left = door.run(("flux", "job", "timeleft"), limit_s=20.0)
    seconds = whole_number(left.out.strip(), most=10**9 - 1) if left.ok else None
    pmix = door.run(("flux", "module", "list"), limit_s=20.0)
    return Allocation(
        engine="flux",
        job=environment["FLUX_ENCLOSING_ID"].replace("ƒ", "f"),
        hosts=tuple(dict.fromkeys(expand(hosts.out.strip()))),
        end_s=door.now_ns() * 1e-9 + seconds if seconds is not None else None,
        mpi=("pmi1", "pmix") if "pmix" in pmix.out else ("pmi1",),
    )


SCHEDULER = Scheduler(
    name="flux",
    title="Flux",
    absent=_absent,
    inside=_inside,
    script=script,
    submit=lambda path: ("env", "LC_ALL=C.UTF-8", "FLUX_F58_FORCE_ASCII=1", "flux", "batch", path),
    submitted=_submitted,
    queue=lambda ids: (*_ASK, *ids),
    queued=_queued,
    accounts=lambda ids: (*_ASK, *ids),
    accounted=_asked,
    cancel=lambda job: ("flux", "cancel", job),
    look=lambda job: (f"flux jobs {job}", "flux resource list"),
)
