"""IBM Spectrum LSF 10.1. Known from its documentation only (bsub(1), bjobs(1), lsb.acct(5)).

What bites: bsub reads a script from standard input only, so that a shell must connect it. Times have a year only where the
site says so (LSB_DISPLAY_YEAR), and no zone: they are asked for in UTC, and one without a year is not known. An exit code
above 128 is 128 and a signal; TERM_* words say why LSF ended a job. bjobs knows finished jobs for CLEAN_PERIOD (an hour).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .. import strict, times
from ..errors import BadInput
from ..hosts.access import HostAccess, Result
from ..hosts.hostlist import expand
from ..units import MOST_COUNT, whole_number
from . import Allocation, JobRecord, JobState, Request, Scheduler, under_way
from .common.answers import job_id, missing, silent
from .common.words import Word, body, checked, label, minutes, place, refuse_unknown, resources, told

_STATES: dict[str, JobState] = {
    "PEND": "queued",
    "PSUSP": "queued",
    "WAIT": "queued",
    "PROV": "queued",
    "RUN": "running",
    "USUSP": "running",
    "SSUSP": "running",
    "DONE": "done",
    "EXIT": "failed",
}
#: Why LSF ended a job -> what became of it.
_TERMS: dict[str, JobState] = {
    "TERM_RUNLIMIT": "timeout",
    "TERM_DEADLINE": "timeout",
    "TERM_CPULIMIT": "timeout",
    "TERM_WINDOW": "timeout",
    "TERM_MEMLIMIT": "oom",
    "TERM_SWAP": "oom",
    "TERM_OWNER": "cancelled",
    "TERM_ADMIN": "cancelled",
    "TERM_FORCE_OWNER": "cancelled",
    "TERM_FORCE_ADMIN": "cancelled",
    "TERM_PREEMPT": "preempted",
    "TERM_REQUEUE_OWNER": "preempted",
    "TERM_REQUEUE_ADMIN": "preempted",
    "TERM_REQUEUE_RC": "preempted",
    "TERM_UNKNOWN": "failed",
}
_FIELDS = " ".join(
    (
        *("jobid", "jobindex", "stat", "user", "queue", "job_name", "exec_host", "submit_time", "start_time"),
        *("finish_time", "exit_code", "exit_reason", "pend_reason"),
    )
)
_ASK = ("env", "TZ=UTC", "LC_ALL=C", "LSB_DISPLAY_YEAR=Y", "bjobs", "-a", "-json", "-o", _FIELDS)


def _asked(result: Result) -> tuple[JobRecord, ...] | None:
    """What ``bjobs -json`` said. A job that it does not know is an entry with an error."""
    try:
        read = json.loads(result.out, strict=False)
    except strict.UNREADABLE:
        return () if re.search(r"is not found|No (matching |unfinished )?job found", result.err) else None
    entries = read.get("RECORDS", []) if isinstance(read, dict) else []
    return tuple(_record(one) for one in entries if isinstance(one, dict) and "STAT" in one)


def _queued(result: Result) -> tuple[JobRecord, ...] | None:
    return under_way(_asked(result))


def _record(job: Mapping[str, Any]) -> JobRecord:
    word = str(job.get("STAT", ""))
    state = _STATES.get(word, "unknown")
    over = state in ("done", "failed")
    why = str(job.get("EXIT_REASON", "") or "")
    code = whole_number(str(job.get("EXIT_CODE", "")), most=MOST_COUNT) if over else None
    term = re.search(r"TERM_\w+", why)
    if word == "EXIT" and term:
        state = _TERMS.get(term[0], "failed")
    if state == "done":
        code = 0
    index = str(job.get("JOBINDEX", "0") or "0")
    return JobRecord(
        engine="lsf",
        id=str(job.get("JOBID", "")) + (f"[{index}]" if index not in ("0", "-") else ""),
        state=state,
        word=f"{word} {term[0]}" if term else word,
        source="accounting" if over else "queue",
        exit_code=code,
        signal=code - 128 if code and 128 < code <= 192 else None,
        reason=why if over else str(job.get("PEND_REASON", "") or "").strip("- "),
        name=str(job.get("JOB_NAME", "")),
        user=str(job.get("USER", "")),
        partition=str(job.get("QUEUE", "")),
        hosts=hosts_of(str(job.get("EXEC_HOST", "") or "")),
        submit_s=_time(job.get("SUBMIT_TIME")),
        begin_s=_time(job.get("START_TIME")),
        end_s=_time(job.get("FINISH_TIME")) if over else None,
    )


def hosts_of(text: str) -> tuple[str, ...]:
    """``4*node1:4*node2`` -> the hosts, once each, in order."""
    names = (re.sub(r"^\d+\*", "", part) for part in text.split(":"))
    return tuple(dict.fromkeys(name for name in names if name and name != "-"))


def _time(value: Any) -> float | None:
    """``Nov 21 23:26:09 2026``, with a letter behind it for what is estimated or limited."""
    found = re.match(r"(\w{3} +\d+ \d\d:\d\d:\d\d \d{4})", str(value or ""))
    return times.in_form(found[1], "%b %d %H:%M:%S %Y") if found else None


WORDS = {
    "partition": Word("-q {}"),
    "account": Word("-P {}"),
    "reservation": Word("-U {}"),
    "after": Word('-w "ended({})"', r"\d+", "job"),
}


def script(request: Request) -> str:
    """The batch script. Raises BadInput."""
    folder = place(request.folder)
    if not re.fullmatch(r"[\w./+,=@~-]+", folder):
        raise BadInput(f"LSF cannot write into {folder!r}", hint="choose a folder of plain letters, digits and ._-")
    refuse_unknown(request, "LSF", (*WORDS, "constraint", "gres", "slots", "exclude"))
    each = request.slots or 1
    lines = [
        "#!/bin/bash",
        f"#BSUB -J {label(request.name)}",
        f"#BSUB -cwd {folder}",
        f"#BSUB -o {folder}/stdout",
        f"#BSUB -e {folder}/stderr",
        f"#BSUB -n {request.nodes * each}",
        f'#BSUB -R "span[ptile={each}]"',
        "#BSUB -r" if request.requeue else "#BSUB -rn",
        *(["#BSUB -x"] if request.exclusive else []),
    ]
    if request.time_limit_s is not None:
        lines.append(f"#BSUB -W {minutes(request.time_limit_s)}")
    lines += [f"#BSUB {word}" for word in told(request, WORDS)]
    if request.hosts:
        lines.append('#BSUB -m "' + " ".join(checked("host", host, r"[\w.-]+") for host in request.hosts) + '"')
    if request.constraint:
        chosen = checked("constraint", request.constraint, r"[\w.,:=<>!&|()\[\] -]+")
        lines.append(f'#BSUB -R "{chosen}"')
    if request.exclude:
        others = (f"hname!='{checked('host', host, r'[A-Za-z0-9.-]+')}'" for host in expand(request.exclude))
        lines.append(f'#BSUB -R "select[{" && ".join(others)}]"')
    for kind, count in resources(request.gres, r"gpu[:=]\d+"):
        lines.append(f'#BSUB -{kind} "num={count}"')
    for word in request.extra:
        checked("argument for bsub", word.lstrip("-"), r"[\w.,:=/+@-]+")
    if request.extra:
        lines.append(" ".join(["#BSUB", *request.extra]))
    return "\n".join([*lines, "", body(request.folder, request.env, request.argv)])


def _submitted(result: Result) -> str:
    hint = "if it did not answer in time, look at bjobs before submitting again"
    return job_id(result, r"^Job <(\d+)> is submitted", "bsub", "lsf", hint)


def _absent(door: HostAccess) -> str:
    return missing(door, "bsub", "bjobs", "bkill") or silent(door, "lsid", who="it does not answer")


def _inside(environment: Mapping[str, str], door: HostAccess) -> Allocation | None:
    """The hosts of ``LSB_MCPU_HOSTS`` (``node1 4 node2 4``). On machines with jsrun the first one only launches."""
    job = environment.get("LSB_JOBID", "")
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    stated = [
        (name, whole_number(count, most=MOST_COUNT)) for name, count in zip(words[::2], words[1::2], strict=False)
    ]
    pairs = [(name, count) for name, count in stated if count is not None]
    if not job or not pairs:
        return None
    jsm = door.which("jsrun") is not None
    if jsm and len(pairs) > 1 and pairs[0][1] == 1:
        pairs = pairs[1:]
    shown = door.run((*_ASK, job), limit_s=20.0)
    found = _FINISH.search(shown.out) if shown.ok else None
    return Allocation(
        engine="lsf",
        job=job,
        hosts=tuple(name for name, _ in pairs),
        cpus=tuple(count for _, count in pairs),
        partition=environment.get("LSB_QUEUE", ""),
        attempt=int(environment.get("LSB_RESTART", "N") == "Y"),
        end_s=_time(found[1]) if found else None,
        mpi=("jsm",) if jsm else (),
    )


_FINISH = re.compile(r'"FINISH_TIME"\s*:\s*"([^"]*)"')

SCHEDULER = Scheduler(
    name="lsf",
    title="IBM Spectrum LSF",
    absent=_absent,
    inside=_inside,
    script=script,
    submit=lambda path: ("sh", "-c", 'exec bsub < "$1"', "sh", path),
    submitted=_submitted,
    queue=lambda ids: (*_ASK, *ids),
    queued=_queued,
    accounts=lambda ids: (*_ASK, *ids),
    accounted=_asked,
    cancel=lambda job: ("bkill", job),
    look=lambda job: (f"bjobs -l {job}", "lsid"),
)
