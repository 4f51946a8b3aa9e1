"""OpenPBS and PBS Professional. Known from their documentation and source only: no package of them is at hand.

What bites:

- ``-x`` adds finished jobs to qstat here; in Torque it asks for XML (``torque``). The history must be switched on
  (``job_history_enable``): else a finished job is unknown at once.
- JSON of qstat is not always JSON: values may hold control characters and stray backslashes. Where it cannot be read,
  its lines are, for each key stands on its own.
- Times are in words of the asking host's zone: it is asked in UTC.
- ``Exit_status`` of 256 and more is 256 and a signal, negative where PBS itself ended the job (pbs/job.h, JOB_EXEC_*);
  substate 91 is a job that was deleted. A requeued job shows its last attempt alone, and ``run_count``.
- ``-V`` would show the whole environment to everybody (qstat -f): the variables that matter are named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .. import strict, times
from ..errors import BadInput, CannotMeasure
from ..hosts.access import HostAccess, Result
from ..units import whole_number
from . import Allocation, JobRecord, JobState, Request, Scheduler, under_way
from .common.answers import job_id, missing, silent
from .common.pbs_resources import Gpus as Gpus
from .common.pbs_resources import asked_cpus as asked_cpus
from .common.pbs_resources import cpus_of as cpus_of
from .common.pbs_resources import gpus_of as gpus_of
from .common.words import CARRIED, Word, body, checked, clock, label, place, refuse_unknown, resources, told

_UTC = ("env", "TZ=UTC", "LC_ALL=C")
_STATES: dict[str, JobState] = {
    **dict.fromkeys("QHWTM", "queued"),
    **dict.fromkeys("RESBU", "running"),
}
#: Exit_status where PBS ended the job -> what became of it (pbs/job.h).
_BY_PBS: dict[int, tuple[JobState, str]] = {
    -26: ("oom", "its limit of virtual memory"),
    -27: ("oom", "its limit of memory"),
    -28: ("timeout", "its limit of CPU time"),
    -29: ("timeout", "its limit of time"),
    -11: ("preempted", "run again"),
    -14: ("preempted", "run again after a failure of a node"),
    -20: ("node_fail", "its first node was lost"),
}
_KEYS = re.compile(r'^\s*"([\w.]+)"\s*:\s*(?:"(.*)"|(-?[\d.]+))\s*,?\s*$')


def attributes(text: str) -> dict[str, dict[str, Any]]:
    """Job -> its attributes from ``qstat -f -F json``, readable as JSON or not. ``Resource_List.walltime`` and the like
    are keys of their own."""
    try:
        jobs = json.loads(text, strict=False).get("Jobs", {})
        return {name: _flat(values) for name, values in jobs.items() if isinstance(values, dict)}
    except (AttributeError, *strict.UNREADABLE):
        pass
    found: dict[str, dict[str, Any]] = {}
    inner = job = ""
    for line in text.split("\n"):
        if opened := re.match(r'^\s*"([^"]+)"\s*:\s*\{\s*$', line):
            if re.match(r"\d+(\[\d*\])?\.", opened[1]):
                job, inner = opened[1], ""
                found[job] = {}
            else:
                inner = opened[1]
        elif re.match(r"^\s*\},?\s*$", line):
            inner = ""
        elif job and inner != "Variable_List" and (pair := _KEYS.match(line)):
            found[job][f"{inner}.{pair[1]}" if inner else pair[1]] = pair[2] if pair[2] is not None else pair[3]
    return found


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    flat = dict(values)
    for name, inner in values.items():
        if isinstance(inner, dict):
            flat |= {f"{name}.{key}": value for key, value in inner.items()}
    return flat


def _asked(result: Result) -> tuple[JobRecord, ...] | None:
    """A job that is not known, among others that are, gives an exit code of its own (153)."""
    if not result.ok and not re.search(r"Unknown Job Id|Job has finished", result.err):
        return None
    return tuple(record_of(name, values) for name, values in attributes(result.out).items())


def _queued(result: Result) -> tuple[JobRecord, ...] | None:
    return under_way(_asked(result))


def record_of(name: str, values: Mapping[str, Any]) -> JobRecord:
    """One job from its attributes, of OpenPBS or Torque."""
    word = str(values.get("job_state", ""))
    begin_s = utc(values.get("stime") or values.get("start_time"))
    end_s = utc(values.get("obittime") or values.get("comp_time"))
    status = _whole(values.get("Exit_status", values.get("exit_status")))
    state, code, number, why = _STATES.get(word, "unknown"), None, None, ""
    if word in ("F", "C", "X"):
        state, code, number, why = ended(status, values)
        end_s = end_s or utc(values.get("mtime"))
    runs = _whole(values.get("run_count")) or _whole(values.get("start_count")) or 0
    return JobRecord(
        engine="pbs",
        id=name,
        attempt=max(0, runs - 1),
        state=state,
        word=word if status is None else f"{word}, exit status {status}",
        source="accounting" if word in ("F", "C", "X") else "queue",
        exit_code=code,
        signal=number,
        reason="; ".join(filter(None, (why, str(values.get("comment", ""))))),
        name=str(values.get("Job_Name", "")),
        user=str(values.get("Job_Owner", "")).partition("@")[0],
        partition=str(values.get("queue", "")),
        hosts=hosts_of(str(values.get("exec_host", ""))),
        submit_s=utc(values.get("ctime")) or utc(values.get("qtime")),
        eligible_s=utc(values.get("etime")),
        begin_s=begin_s if word not in "QHW" else None,
        end_s=end_s if word in ("F", "C", "X") else None,
        cpus=cpus_of(values),
    )


def ended(status: int | None, values: Mapping[str, Any]) -> tuple[JobState, int | None, int | None, str]:
    """State, exit code, signal and reason of a job that is over."""
    deleted = str(values.get("substate", "")) == "91"
    if status is None:
        return ("cancelled" if deleted else "unknown"), None, None, "deleted before it ran" if deleted else ""
    if status < 0:
        state, why = _BY_PBS.get(status, ("failed", "PBS could not run it"))
        return state, None, None, why
    number = status - 256 if status > 256 else status - 128 if 128 < status <= 192 else None
    code = None if status > 256 else status
    limit, used = (_seconds(values.get(key)) for key in ("Resource_List.walltime", "resources_used.walltime"))
    if number in (15, 9) and limit and used and used >= limit:
        return "timeout", code, number, "its limit of time"
    if deleted or (number == 15 and status > 256):
        return "cancelled", code, number, "deleted"
    return ("done" if status == 0 else "failed"), code, number, ""


def _whole(value: Any) -> int | None:
    return whole_number(str(value), -(2**63))


def _seconds(value: Any) -> float | None:
    words = str(value).split(":")
    if len(words) > 4 or not all(re.fullmatch(r"[0-9]{1,12}", word) for word in words):
        return None
    return float(sum(int(word) * 60**place_ for place_, word in enumerate(reversed(words))))


def utc(value: Any) -> float | None:
    """``Tue Oct  5 10:00:00 2021`` (of UTC), or Unix seconds."""
    text = str(value or "")
    if (seconds := whole_number(text)) is not None:
        return float(seconds) or None
    return times.in_form(text, "%a %b %d %H:%M:%S %Y")


def hosts_of(text: str) -> tuple[str, ...]:
    """``node1/0*4+node2/0-3`` -> the hosts, once each, in order."""
    return tuple(dict.fromkeys(name for part in text.split("+") if (name := part.partition("/")[0].strip("() "))))


# -------------------------------------------------------------------------------------------------------------- asking


WORDS = {"account": Word("-A {}"), "after": Word("-W depend=afterany:{}", r"\d+(\[\d*\])?(\.[\w.-]+)?", "job")}


def head(request: Request, engine: str) -> list[str]:
    """The lines that OpenPBS and Torque share. Raises BadInput."""
    folder = place(request.folder)
    if not re.fullmatch(r"[\w./+,=@%~-]+", folder):
        raise BadInput(
            f"{engine} cannot write into {folder!r}", hint="choose a folder of plain letters, digits and ._-"
        )
    refuse_unknown(request, engine, (*WORDS, "partition", "reservation", "constraint", "gres", "slots"))
    name = label(request.name)
    lines = [
        "#!/bin/bash",
        "#PBS -S /bin/bash",
        f"#PBS -N {(name if name[0].isalpha() else f'j{name}')[:15]}",  # Torque and PBS Pro before 12 take 15 letters
        f"#PBS -o {folder}/stdout",
        f"#PBS -e {folder}/stderr",
        f"#PBS -r {'y' if request.requeue else 'n'}",
        f"#PBS -v {','.join(CARRIED)}",
    ]
    if request.time_limit_s is not None:
        lines.append(f"#PBS -l walltime={clock(request.time_limit_s)}")
    lines += [f"#PBS {word}" for word in told(request, WORDS)]
    queue = request.reservation or request.partition  # a reservation is a queue of its own
    if queue:
        lines.append(f"#PBS -q {checked('queue', queue)}")
    for word in request.extra:
        checked("argument for qsub", word.lstrip("-"), r"[\w.,:=/+@-]+")
    return [*lines, *([" ".join(["#PBS", *request.extra])] if request.extra else [])]


def script(request: Request) -> str:
    """The batch script. Raises BadInput."""
    cpus = request.slots or 1
    more = [f"ncpus={cpus}", f"mpiprocs={cpus}"]
    if request.constraint:
        more.append(checked("constraint", request.constraint, r"[\w.,:=-]+"))
    for kind, count in resources(request.gres, r"[\w.]+[:=]\d+"):
        more.append(f"{'ngpus' if kind == 'gpu' else kind}={count}")
    shape = ":".join(more)
    if request.hosts:
        select = "+".join(f"1:{shape}:host={checked('host', host, r'[A-Za-z0-9.-]+')}" for host in request.hosts)
    else:
        select = f"{request.nodes}:{shape}"
    where = "scatter:exclhost" if request.exclusive else "scatter"
    lines = [*head(request, "PBS"), f"#PBS -l select={select}", f"#PBS -l place={where}"]
    return "\n".join([*lines, "", body(request.folder, request.env, request.argv)])


def submitted(result: Result) -> str:
    """The id that qsub printed. Raises CannotMeasure."""
    hint = "if it did not answer in time, look at qstat before submitting again"
    return job_id(result, r"^(\d+(?:\[\])?(?:\.[\w.-]+)?)\s*$", "qsub", "pbs", hint)


def _absent(door: HostAccess) -> str:
    if why := missing(door, "qsub", "qstat", "qdel"):
        return why
    version = door.run(("qstat", "--version"), limit_s=20.0)
    if "pbs_version" not in version.out + version.err:
        return "qstat is not that of PBS"
    return silent(door, "qstat", "-B", who="its server does not answer")


def inside(environment: Mapping[str, str], door: HostAccess, engine: str) -> Allocation | None:
    """The allocation of a job of OpenPBS or Torque: one line of ``PBS_NODEFILE`` for each process."""
    job = environment.get("PBS_JOBID", "")
    if not job or "PBS_NODEFILE" not in environment:
        return None
    listed = door.read(environment["PBS_NODEFILE"])
    if not listed:
        raise CannotMeasure("the list of hosts cannot be read", where=environment["PBS_NODEFILE"], hint="ask the site")
    counted: dict[str, int] = {}
    for host in listed.split():
        counted[host] = counted.get(host, 0) + 1
    options = ("-F", "json") if engine == "pbs" else ()
    shown = door.run((*_UTC, "qstat", "-f", *options, job), limit_s=20.0)
    values = (attributes(shown.out) if engine == "pbs" else {}).get(job, {}) if shown.ok else {}
    begun, limit = utc(values.get("stime")), _seconds(values.get("Resource_List.walltime"))
    return Allocation(
        engine=engine,
        job=job,
        hosts=tuple(counted),
        cpus=tuple(counted.values()),
        partition=environment.get("PBS_QUEUE", ""),
        attempt=max(0, (_whole(values.get("run_count")) or 1) - 1),
        end_s=begun + limit if begun and limit else None,
    )


def hopeless(record: JobRecord) -> str:
    """Why a job that waits will not start."""
    if record.state == "queued" and record.word.startswith("H"):
        return f"job {record.id} is held: release it (qrls {record.id}), or delete it (qdel)"
    if record.state == "queued" and re.search(r"can never run|Never Running", record.reason, re.IGNORECASE):
        return f"job {record.id} can never run ({record.reason}): delete it (qdel), and ask for less"
    return ""


SCHEDULER = Scheduler(
    name="pbs",
    title="OpenPBS",
    absent=_absent,
    inside=lambda environment, door: None if "PBS_VERSION" in environment else inside(environment, door, "pbs"),
    script=script,
    submit=lambda path: ("qsub", path),
    submitted=submitted,
    queue=lambda ids: (*_UTC, "qstat", "-f", "-F", "json", *ids),
    queued=_queued,
    accounts=lambda ids: (*_UTC, "qstat", "-x", "-f", "-F", "json", *ids),
    accounted=_asked,
    cancel=lambda job: ("qdel", job),
    look=lambda job: (f"qstat -f {job}", "qstat -B"),
    hopeless=hopeless,
)
