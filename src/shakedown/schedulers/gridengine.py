"""Grid Engine (Son of Grid Engine 8.1.9 is what this was tried on; Univa's and the Open Cluster Scheduler print alike).

What bites, each seen on a real one:

- It counts slots and not nodes: a parallel environment's allocation rule says how many slots of a host it gives. A
  request therefore names the parallel environment and the slots of a node; what was really given says ``PE_HOSTFILE``.
- A finished job is gone from qstat at once. How it ended stands in the accounting file alone (accounting(5)), which
  qacct reads too: in it times are Unix seconds, milliseconds in some forks.
- A job with tight integration leaves one line for each host, every one with all of its slots; the master's has no
  ``pe_taskid``. A job that was rescheduled leaves a line with ``failed`` 25 and no times.
- ``failed`` 37 is a limit on time or memory; 100 a signal, and whether qdel or the program itself sent it is not told.
  The exit status of a killed job is 128 and the signal.
- ``qsub -b y sh -c 'exit 7'`` loses its quotes: only scripts are submitted here. Options are taken from any line of a
  script that begins with ``#$``: no word of ours makes a line of its own. ``-V`` would show the whole environment to
  everybody (qstat -j): the variables that matter are named.
- qstat prints local times without a zone: it is asked in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import msgspec

from .. import times
from ..errors import BadInput, CannotMeasure
from ..hosts.access import HostAccess, Result
from ..hosts.hostlist import expand
from ..units import MOST_COUNT, whole_number
from . import Allocation, JobRecord, JobState, Request, Scheduler
from .common.answers import job_id, missing, silent
from .common.words import CARRIED, Word, body, checked, clock, label, place, refuse_unknown, resources, told

_UTC = ("env", "TZ=UTC", "LC_ALL=C")
#: Fields of a line of the accounting file (accounting(5)), counted from 0.
_QUEUE, _HOST, _OWNER, _NAME, _NUMBER, _SUBMIT, _BEGIN, _END, _FAILED, _EXIT, _WALL = (
    0,
    1,
    3,
    4,
    5,
    8,
    9,
    10,
    11,
    12,
    13,
)
_PE, _SLOTS, _TASK, _REQUESTS, _PE_TASK = 33, 34, 35, 39, 41
_FIELDS = 45
#: What stands in the field pe_taskid of a slave: 1.node3. A request with a colon moves the field to the right.
SLAVE = re.compile(r"\d+\.[\w.-]*[A-Za-z][\w.-]*")
#: What ``failed`` means (accounting(5)), as far as it says more than that the set-up failed.
_MEANS = {
    24: "it migrates",
    25: "rescheduled",
    28: "its working directory cannot be entered",
    37: "a limit was enforced (h_rt, h_cpu or h_vmem)",
    100: "killed by a signal: whether by qdel, a limit or itself, Grid Engine does not say",
}
_AGAIN = (24, 25)


# ------------------------------------------------------------------------------------------------------------- reading


def _queued(result: Result) -> tuple[JobRecord, ...] | None:
    if not result.ok:
        return None
    try:
        tree = ElementTree.fromstring(result.out)
    except ElementTree.ParseError:
        return None
    found: dict[str, JobRecord] = {}
    for entry in tree.iter("job_list"):
        text = {child.tag: (child.text or "").strip() for child in entry}
        for task in _tasks(text.get("tasks", "")):
            one = _live(text, task)
            before = found.get(one.id)
            hosts = dict.fromkeys((*before.hosts, *one.hosts) if before else one.hosts)
            if before and text.get("master") == "MASTER":  # where the script runs: first
                hosts = dict.fromkeys((*one.hosts, *hosts))
            found[one.id] = msgspec.structs.replace(one, hosts=tuple(hosts))
    return tuple(found.values())


def _tasks(text: str) -> list[str]:
    """The tasks of an array that one line stands for: ``1-3:2,7`` -> 1, 3, 7; an empty one for a job that is no array."""
    found: list[str] = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?::([0-9]{1,9}))?", part)
        if match:
            numbers = range(int(match[1]), int(match[2] or match[1]) + 1, max(1, int(match[3] or 1)))
            found.extend(str(number) for number in numbers[:100_000])
    return found or [""]


def _live(text: Mapping[str, str], task: str) -> JobRecord:
    word = text.get("state", "")
    waits = "q" in word or "w" in word
    host = text.get("queue_name", "").partition("@")[2]
    reason = "in error: qstat -j shows why" if "E" in word else "held" if "h" in word else ""
    return JobRecord(
        engine="gridengine",
        id=text.get("JB_job_number", "") + (f".{task}" if task else ""),
        attempt=int("R" in word),
        state="queued" if waits else "running",
        word=word,
        source="queue",
        reason=reason,
        name=text.get("full_job_name") or text.get("JB_name", ""),
        user=text.get("JB_owner", ""),
        partition=text.get("queue_name", "").partition("@")[0],
        hosts=(host,) if host else (),
        submit_s=_utc(text.get("JB_submission_time", "")),
        begin_s=None if waits else _utc(text.get("JAT_start_time", "")),
    )


def _utc(text: str) -> float | None:
    return times.in_form(text[:19], "%Y-%m-%dT%H:%M:%S")


def _accounted(result: Result) -> tuple[JobRecord, ...] | None:
    return accounting(result.out) if result.ok else None


def accounting(text: str, odd: list[str] | None = None) -> tuple[JobRecord, ...]:
    """The attempts of jobs from lines of the accounting file, in its order. Lines of slaves come before their master's.
    ``odd`` gets the lines that are no job's."""
    found: list[JobRecord] = []
    slaves: dict[str, list[str]] = {}
    count: dict[str, int] = {}
    for line in text.splitlines():
        fields = line.split(":")
        if line.startswith("#") or len(fields) < _FIELDS or whole_number(fields[_NUMBER]) is None:
            if odd is not None and line.strip() and not line.startswith("#"):
                odd.append(line)
            continue
        task = fields[_TASK]
        name = fields[_NUMBER] + (f".{task}" if task not in ("0", "") else "")
        if SLAVE.fullmatch(next((word for word in fields[_PE_TASK:] if word == "NONE" or SLAVE.fullmatch(word)), "")):
            slaves.setdefault(name, []).append(fields[_HOST])
            continue
        attempt = count.get(name, 0)
        count[name] = attempt + 1
        hosts = dict.fromkeys((fields[_HOST], *slaves.pop(name, [])))
        found.append(_line(fields, name, attempt, tuple(hosts)))
    return tuple(found)


def _line(fields: Sequence[str], name: str, attempt: int, hosts: tuple[str, ...]) -> JobRecord:
    failed, status = number_in(fields[_FAILED]), number_in(fields[_EXIT])
    begin_s, end_s = epoch(fields[_BEGIN]), epoch(fields[_END])
    number = status - 128 if 128 < status <= 128 + 64 else None
    state = end_state(failed, status, fields[_REQUESTS], begin_s, end_s)
    why = _MEANS.get(failed, "it could not be set up") if failed else ""
    return JobRecord(
        engine="gridengine",
        id=name,
        attempt=attempt,
        state=state,
        word=f"failed {failed}" if failed else f"exit {status}",
        source="accounting",
        exit_code=status if begin_s is not None else None,
        signal=number if begin_s is not None else None,
        reason=why,
        name=fields[_NAME],
        user=fields[_OWNER],
        partition=fields[_QUEUE],
        hosts=hosts if begin_s is not None else (),
        submit_s=epoch(fields[_SUBMIT]),
        begin_s=begin_s,
        end_s=end_s,
        cpus=number_in(fields[_SLOTS]) if begin_s is not None else None,
    )


def end_state(failed: int, status: int, requests: str, begin_s: float | None, end_s: float | None) -> JobState:
    if failed in _AGAIN:
        return "preempted"
    if failed == 37:
        limit = re.search(r"\bh_rt=(\d+)", requests)
        ran_s = end_s - begin_s if begin_s is not None and end_s is not None else 0.0
        if limit and ran_s >= float(limit[1]):
            return "timeout"
        return "oom" if "h_vmem=" in requests else "failed"
    if not failed and begin_s is None:  # no times and no failure: it was deleted before it began
        return "cancelled"
    return "failed" if failed or status else "done"


def number_in(text: str) -> int:
    match = re.match(r"-?[0-9]+", text)
    return (whole_number(match[0], -(2**63)) if match else None) or 0


def epoch(text: str) -> float | None:
    """Unix seconds of a time in seconds or, as some forks write it, milliseconds; None for 0, which means never."""
    value = number_in(text)
    return None if value <= 0 else value / 1000 if value > 10**11 else float(value)


# -------------------------------------------------------------------------------------------------------------- asking


WORDS = {
    "partition": Word("-q {}", r"[\w.@,-]+", "queue"),
    "account": Word("-P {}", what="project"),
    "reservation": Word("-ar {}", r"\d+"),
    "after": Word("-hold_jid {}", r"\d+", "job"),
}


def script(request: Request) -> str:
    """The batch script. Raises BadInput."""
    folder = place(request.folder)
    if set(folder) & set(':$"'):
        raise BadInput(f"Grid Engine cannot write into {folder!r}", hint='choose a folder without : $ and "')
    refuse_unknown(request, "Grid Engine", (*WORDS, "parallel_environment", "slots", "constraint", "gres", "exclude"))
    name = label(request.name)
    lines = [
        "#!/bin/bash",
        "#$ -S /bin/bash",
        f"#$ -N {name if name[0].isalpha() else f'j{name}'}",
        f'#$ -wd "{folder}"',
        f'#$ -o "{folder}/stdout"',
        f'#$ -e "{folder}/stderr"',
        f"#$ -r {'y' if request.requeue else 'n'}",
        f"#$ -v {','.join(CARRIED)}",
        *_slots(request),
    ]
    lines += [f"#$ {word}" for word in told(request, WORDS)]
    if request.extra:
        if any(not word.isprintable() or set(word) & set("\"'\\") for word in request.extra):
            raise BadInput(
                f"the arguments {request.extra!r} for qsub contain quotes", hint="plain arguments, as -l exclusive=true"
            )
        lines.append(" ".join(["#$", *(f'"{word}"' if " " in word else word for word in request.extra)]))
    return "\n".join([*lines, "", body(request.folder, request.env, request.argv)])


def _slots(request: Request) -> list[str]:
    """The parallel environment and the resources."""
    lines = []
    slots = request.nodes * (request.slots or 1)
    if request.nodes > 1 and (not request.parallel_environment or request.slots is None):
        raise BadInput(
            f"Grid Engine counts slots: {request.nodes} nodes need a parallel environment and the slots of a node",
            hint="qconf -spl lists them, qconf -sp NAME shows how many slots of a host one gives (allocation_rule)",
        )
    if request.parallel_environment:
        lines.append(f"#$ -pe {checked('parallel environment', request.parallel_environment)} {slots}")
    elif slots > 1:
        raise BadInput(f"{slots} slots need a parallel environment", hint="qconf -spl lists them")
    asked = []
    if request.time_limit_s is not None:
        asked.append(f"h_rt={clock(request.time_limit_s)}")
    if request.hosts or request.exclude:
        names = "|".join(checked("host", host, r"[\w.-]+") for host in request.hosts)
        out = "|".join(checked("host", host, r"[\w.-]+") for host in expand(request.exclude))
        asked.append("hostname=" + (names if not out else f"({names})&!({out})" if names else f"!({out})"))
    if request.constraint:
        asked.append(checked("constraint", request.constraint, r"[\w.=,|*!-]+"))
    for kind, count in resources(request.gres, r"[\w.]+[:=]\d+"):
        asked.append(f"{kind}={count}")
    return [*lines, *([f"#$ -l {','.join(asked)}"] if asked else [])]


def _submitted(result: Result) -> str:
    hint = "if it did not answer in time, look at qstat before submitting again"
    return job_id(result, r"^(\d+)(?:\.\d+-\d+:\d+)?\s*$", "qsub", "gridengine", hint)


#: The lines of some jobs from the accounting file. Nothing that is asked for stands in this text.
_AWK = (
    'file="$SGE_ROOT/${SGE_CELL:-default}/common/accounting"; [ -d "${file%/*}" ] || exit 1; [ -e "$file" ] || exit 0; '
    'exec awk -F: -v jobs="$1" \'BEGIN { n = split(jobs, list, ","); for (i = 1; i <= n; i++) want[list[i]] = 1 } '
    '$6 in want\' "$file"'
)


def _absent(door: HostAccess) -> str:
    if why := missing(door, "qsub", "qstat", "qdel", "qconf"):
        return why
    if not door.run(("sh", "-c", '[ -n "$SGE_ROOT" ]')).ok:
        return "SGE_ROOT is not set"
    return silent(door, "qconf", "-sss", who="its qmaster does not answer")


def _inside(environment: Mapping[str, str], door: HostAccess) -> Allocation | None:
    job = environment.get("JOB_ID", "")
    if not job or "SGE_ROOT" not in environment or "QUEUE" not in environment:
        return None
    hosts: dict[str, int] = {}
    listed = door.read(environment["PE_HOSTFILE"]) if environment.get("PE_HOSTFILE") else None
    if environment.get("PE_HOSTFILE") and not listed:
        raise CannotMeasure("the list of hosts cannot be read", where=environment["PE_HOSTFILE"], hint="ask the site")
    for line in (listed or "").splitlines():
        words = line.split()
        if len(words) >= 2 and (slots := whole_number(words[1], most=MOST_COUNT)) is not None:
            hosts[words[0]] = hosts.get(words[0], 0) + slots
    if not hosts:
        slots = whole_number(environment.get("NSLOTS"), most=MOST_COUNT)
        hosts = {environment.get("HOSTNAME") or door.name(): 1 if slots is None else slots}
    task = environment.get("SGE_TASK_ID", "undefined")
    return Allocation(
        engine="gridengine",
        job=job if task == "undefined" else f"{job}.{task}",
        hosts=tuple(hosts),
        cpus=tuple(hosts.values()),
        partition=environment["QUEUE"],
        attempt=int(environment.get("RESTARTED", "0") == "1"),
        end_s=_end_s(job, door),
    )


def _end_s(job: str, door: HostAccess) -> float | None:
    """When h_rt ends a job, where this host may ask."""
    shown = door.run((*_UTC, "qstat", "-xml", "-r"), limit_s=20.0)
    try:
        entries = ElementTree.fromstring(shown.out).iter("job_list") if shown.ok else ()
        for entry in entries:
            limits = [whole_number(one.text) for one in entry.iter("hard_request") if one.get("name") == "h_rt"]
            begun = _utc(entry.findtext("JAT_start_time") or "")
            if entry.findtext("JB_job_number") == job and begun and limits and limits[0] is not None:
                return begun + limits[0]
    except ElementTree.ParseError:
        return None
    return None


def _hopeless(record: JobRecord) -> str:
    if record.state == "queued" and "E" in record.word:
        return f"job {record.id} is in error: qstat -j {record.id} shows why; clear it (qmod -cj), or delete it (qdel)"
    if record.state == "queued" and "h" in record.word:
        return f"job {record.id} is held: release it (qrls {record.id}), or delete it (qdel)"
    return ""


SCHEDULER = Scheduler(
    name="gridengine",
    title="Grid Engine",
    absent=_absent,
    inside=_inside,
    script=script,
    submit=lambda path: ("qsub", "-terse", path),
    submitted=_submitted,
    queue=lambda ids: (
        *_UTC,
        "qstat",
        "-xml",
        "-g",
        "t",
    ),  # our own jobs: there is no choice by id that tells the state
    queued=_queued,
    accounts=lambda ids: ("sh", "-c", _AWK, "sh", ",".join(one.partition(".")[0] for one in ids)),
    accounted=_accounted,
    cancel=lambda job: ("qdel", job),
    look=lambda job: (f"qstat -j {job}", "qstat -f"),
    hopeless=_hopeless,
    provisional=lambda record: record.word in {f"failed {code}" for code in _AGAIN},
)
