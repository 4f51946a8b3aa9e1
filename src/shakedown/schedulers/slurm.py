"""Slurm: sbatch, squeue, sacct, scancel; times asked for as Unix seconds (``SLURM_TIME_FORMAT=%s``).

What bites, each seen on a real Slurm (22.05) or in recordings of others:

- A state is a word with more behind it: ``CANCELLED by 1000``, ``CANCELLED+`` where a column cut it. The first word
  decides, and one that was cut is completed.
- The queue forgets a job ``MinJobAge`` after its end, and then says "Invalid job id" of it. Accounting rows lag by
  seconds, and by as long as slurmdbd is away; the end of a short job may be there before its beginning, in a row
  without partition and name ("allocation") that is made whole later.
- A requeued job has one row for each attempt, seen only with ``sacct -D``. A job id that another life of the cluster
  used has rows too: whoever knows when the job was submitted drops the older ones.
- Names may hold the delimiter, line breaks and bytes that are not UTF-8. Fields are therefore parted by the unit
  separator, a record of too few fields goes on in the next line, and the name stands between fields that cannot.
- ``sbatch`` obeys ``SBATCH_PARTITION`` and its like before the script: what a request sets is taken out of them.
- Time limits count in minutes. A job that is killed for its memory is OUT_OF_MEMORY only with the control groups'
  plug-in; without it Slurm says COMPLETED. A memory overrun of one step shows in that step alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import BadInput, CannotMeasure
from ..hosts.access import HostAccess, Result
from ..hosts.hostlist import counts, expand
from ..units import MOST_COUNT, whole_number
from . import Allocation, JobRecord, Scheduler
from .common.answers import job_id, missing, said
from .common.delimited import UNIT
from .common.slurm_rows import hosts_of, jobs_of, rows, seconds_of, state_of, status_of, told, tres_of
from .common.slurm_script import overriding, script

_EPOCHS = ("env", "SLURM_TIME_FORMAT=%s", "LC_ALL=C")
#: Columns of squeue and sacct. The free text (name, reason) never stands last.
_QUEUE = (
    *("JobArrayID", "State", "Name", "Reason", "UserName", "Partition", "NodeList", "SubmitTime", "EligibleTime"),
    *("StartTime", "EndTime", "NumCPUs", "tres-alloc", "exit_code", "RestartCnt", "JobID"),
)
_ACCOUNTS = (
    *("JobID", "State", "JobName", "ExitCode", "Reason", "User", "Partition", "NodeList", "Submit", "Eligible"),
    *("Start", "End", "AllocCPUS", "AllocTRES", "DerivedExitCode", "JobIDRaw"),
)
#: Reasons for which a job waits until somebody acts.
_HOPELESS = re.compile(
    r"Bad ?Constraints|PartitionConfig|PartitionNodeLimit|PartitionTimeLimit|DependencyNeverSatisfied"
    r"|JobHeldAdmin|JobHeldUser|launch[ _]failed[ _]requeued[ _]held|InvalidAccount|InvalidQOS|ReservationDeleted"
    r"|QOSMax\w*PerJob\w*|AssocMax\w*PerJob\w*|QOSMin\w*|requeue[ _]hold"
)


def _queued(result: Result) -> tuple[JobRecord, ...] | None:
    if not result.ok:
        return () if "Invalid job id" in result.err else None
    found = []
    for row in rows(
        result.out, (*_QUEUE, ""), free="Name", key="JobArrayID"
    ):  # every column ends in the separator, the last too
        state = state_of(row["State"])
        live = state in ("queued", "running")
        code, number = (None, None) if live else status_of(row["exit_code"], state)
        begin_s = None if state == "queued" else seconds_of(row["StartTime"])  # of one that waits: a forecast
        found.append(
            JobRecord(
                engine="slurm",
                id=row["JobArrayID"],
                attempt=whole_number(row["RestartCnt"], most=MOST_COUNT) or 0,
                state=state,
                word=row["State"],
                source="queue",
                exit_code=code,
                signal=number,
                reason=told(row["Reason"]),
                name=row["Name"],
                user=row["UserName"],
                partition=row["Partition"],
                hosts=hosts_of(row["NodeList"]),
                submit_s=seconds_of(row["SubmitTime"]),
                eligible_s=seconds_of(row["EligibleTime"]),
                begin_s=begin_s,
                end_s=None if live else seconds_of(row["EndTime"]),  # of one that runs: its limit
                cpus=whole_number(row["NumCPUs"], most=MOST_COUNT) if begin_s else None,
                tres=tres_of(row["tres-alloc"]) if begin_s else {},
            )
        )
    return tuple(found)


def _accounted(result: Result) -> tuple[JobRecord, ...] | None:
    """Without an accounting at all, it is one that answers and knows nothing."""
    if not result.ok:
        return () if re.search(r"accounting storage is disabled", result.err, re.IGNORECASE) else None
    return jobs_of(rows(result.out, _ACCOUNTS, free="JobName"))


def _submitted(result: Result) -> str:
    hint = "look at sinfo; if it did not answer in time, look at squeue before submitting again"
    return job_id(result, r"^(\d+)(?:;\S+)?\s*$", "sbatch", "slurm", hint)


def _absent(door: HostAccess) -> str:
    if why := missing(door, "sbatch", "squeue", "sacct", "scancel"):
        return why
    ping = door.run(("scontrol", "ping"), limit_s=20.0)
    if "is UP" in ping.out:
        return ""
    return "its controller does not answer" + (f": {said(ping)[:200]}" if said(ping) else "")


#: Of a job of several kinds of nodes (slurm.conf: MAX_HET_JOB_COMPS).
_MOST_COMPONENTS = 128


def _inside(environment: Mapping[str, str], door: HostAccess) -> Allocation | None:
    job = environment.get("SLURM_JOB_ID", "")
    lists = [environment.get("SLURM_JOB_NODELIST", environment.get("SLURM_NODELIST", ""))]
    cpus = [environment.get("SLURM_JOB_CPUS_PER_NODE", "")]
    components = whole_number(environment.get("SLURM_HET_SIZE"), most=_MOST_COMPONENTS)
    if components is not None:
        parts = range(components)
        lists = [environment.get(f"SLURM_JOB_NODELIST_HET_GROUP_{part}", "") for part in parts]
        cpus = [environment.get(f"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_{part}", "") for part in parts]
    try:
        hosts = tuple(host for one in lists for host in expand(one))
        granted = tuple(number for one in cpus for number in counts(one))
    except BadInput as error:
        raise CannotMeasure(f"what Slurm says of job {job} cannot be read: {error}", where="slurm") from None
    if not job or not hosts:
        return None
    shown = door.run((*_EPOCHS, "scontrol", "-o", "show", "job", job), limit_s=20.0)
    fields = dict(re.findall(r"(?:^|\s)(EndTime|TRES|AllocTRES|Restarts)=(\S*)", shown.out)) if shown.ok else {}
    restarts = environment.get("SLURM_RESTART_COUNT") or fields.get("Restarts", "0")
    listed = door.run(("srun", "--mpi=list"), limit_s=20.0)
    return Allocation(
        engine="slurm",
        job=job,
        hosts=hosts,
        cpus=granted if len(granted) == len(hosts) else (),
        gpus=_gpus(environment, fields, len(hosts)),
        partition=environment.get("SLURM_JOB_PARTITION", ""),
        attempt=whole_number(restarts, most=MOST_COUNT) or 0,
        end_s=seconds_of(environment.get("SLURM_JOB_END_TIME", "") or fields.get("EndTime", "")),
        mpi=interfaces(listed.out + listed.err),
    )


def _gpus(environment: Mapping[str, str], fields: Mapping[str, str], hosts: int) -> tuple[int, ...]:
    """GPUs on each host, where they are known: of one host from the environment, of several where they share evenly."""
    allocated = tres_of(fields.get("AllocTRES", "") or fields.get("TRES", "")).get("gres/gpu")
    here = whole_number(environment.get("SLURM_GPUS_ON_NODE"), most=MOST_COUNT)
    if hosts == 1 and here is not None:
        return (here,)
    whole = whole_number(allocated, most=MOST_COUNT)
    if whole is not None and whole % hosts == 0:
        return (whole // hosts,) * hosts
    return ()


def interfaces(text: str) -> tuple[str, ...]:
    """The MPI plug-ins of ``srun --mpi=list``, in any of the forms that it had: pmix, pmix_v4, pmi2, cray_shasta."""
    found = re.findall(r"\b(pmix(?:_v\d+)?|pmi2|pmi1|cray_shasta|openmpi)\b", text)
    return tuple(sorted(set(found)))


def _hopeless(record: JobRecord) -> str:
    if record.state != "queued" or not _HOPELESS.search(record.reason):
        return ""
    step = "release it (scontrol release), or cancel it"
    if record.reason.startswith("Partition"):
        step = "cancel it, and ask for what a partition has: sinfo shows its nodes and its time limit"
    return f"job {record.id} waits forever ({record.reason}): {step}"


def _provisional(record: JobRecord) -> bool:
    """A requeued attempt ends nothing. A row is written in parts: while slurmdbd catches up on what it missed, a job that
    failed stands there as FAILED, exit code 0, without an end, until the rest of it arrives."""
    return record.word.startswith("REQUEUED") or not record.partition or (record.ended and record.end_s is None)


SCHEDULER = Scheduler(
    name="slurm",
    title="Slurm",
    absent=_absent,
    inside=_inside,
    script=script,
    submit=lambda path: ("sbatch", "--parsable", path),
    submitted=_submitted,
    queue=lambda ids: (
        *_EPOCHS,
        *("squeue", "--noheader", "--states=all", "--array", f"--jobs={','.join(ids)}"),
        f"--Format={','.join(f'{name}:{UNIT}' for name in _QUEUE)}",
    ),
    queued=_queued,
    accounts=lambda ids: (
        *_EPOCHS,
        *("sacct", "--duplicates", "--noheader", "--parsable2", f"--delimiter={UNIT}", f"--jobs={','.join(ids)}"),
        f"--format={','.join(_ACCOUNTS)}",
    ),
    accounted=_accounted,
    cancel=lambda job: ("scancel", job),
    look=lambda job: (f"squeue --jobs={job}", "scontrol ping"),
    hopeless=_hopeless,
    overriding=overriding,
    provisional=_provisional,
    out_of_use=lambda hosts: ("sinfo", "--noheader", "--list-reasons", f"--nodes={','.join(hosts)}", "--format=%n: %E"),
)
