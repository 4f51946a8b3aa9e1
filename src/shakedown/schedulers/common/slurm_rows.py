"""What squeue and sacct print -> rows -> records. Pure; what bites in it stands in ``slurm``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ... import times
from ...errors import BadInput
from ...hosts.hostlist import expand
from ...units import MOST_COUNT, whole_number
from .. import JobRecord, JobState, JobStep
from .delimited import UNIT, Form, Mended, mend

#: The id of a job, of one of an array, of a part of a job, of a step.
JOB_ID = r"\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?(?:\.[\w+-]+)?"

#: Slurm's words. REQUEUED ends an attempt that the engine took back to start it again.
STATES: dict[str, JobState] = {
    "PENDING": "queued",
    "CONFIGURING": "queued",
    "REQUEUE_HOLD": "queued",
    "REQUEUE_FED": "queued",
    "RESV_DEL_HOLD": "queued",
    "SPECIAL_EXIT": "queued",
    "EXPEDITING": "queued",
    "POWER_UP_NODE": "queued",
    "RUNNING": "running",
    "COMPLETING": "running",
    "RESIZING": "running",
    "SIGNALING": "running",
    "STAGE_OUT": "running",
    "STOPPED": "running",
    "SUSPENDED": "running",
    "COMPLETED": "done",
    "FAILED": "failed",
    "LAUNCH_FAILED": "failed",
    "RECONFIG_FAIL": "failed",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "OUT_OF_MEMORY": "oom",
    "NODE_FAIL": "node_fail",
    "BOOT_FAIL": "node_fail",
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
    "PREEMPTED": "preempted",
    "REQUEUED": "preempted",
}


def state_of(word: str) -> JobState:
    """Slurm's word for a state -> ours; ``unknown`` for a word that is not known."""
    first = word.split(" ")[0].strip()
    if first in STATES:
        return STATES[first]
    stem = first.rstrip("+")
    whole = [name for name in STATES if stem and first.endswith("+") and name.startswith(stem)]
    return STATES[whole[0]] if len({STATES[name] for name in whole}) == 1 else "unknown"


def seconds_of(word: str) -> float | None:
    """A time as Unix seconds; None for ``Unknown``, ``None``, ``N/A`` and 0. A local time is read as this host's."""
    if (seconds := whole_number(word)) is not None:
        return float(seconds) or None
    if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", word):
        return times.in_form_here(word, "%Y-%m-%dT%H:%M:%S")
    return None


def tres_of(word: str) -> dict[str, str]:
    """``cpu=8,gres/gpu=4`` as a mapping; empty where nothing was allocated."""
    pairs = (part.partition("=") for part in word.split(","))
    return {name: value for name, equals, value in pairs if equals}


def rows(
    text: str,
    columns: Sequence[str],
    delimiter: str = UNIT,
    *,
    free: str = "",
    key: str = "JobID",
    odd: list[str] | None = None,
) -> list[dict[str, str]]:
    """Records of a text without a head, whatever line breaks and delimiters the ``free`` column holds. The ``key`` column
    holds a job's id. ``odd`` gets what is no record: rows without a job's id, and lines that nothing completes."""
    form = Form(
        delimiter=delimiter,
        columns=tuple(columns),
        free=(columns.index(free),) if free else (),
        checks={columns.index(key): JOB_ID},
        verbatim=True,
    )
    return [dict(zip(columns, row, strict=True)) for row in mend(text.split("\n"), form, Mended(odd=odd))]


def hosts_of(word: str) -> tuple[str, ...]:
    """The hosts of a job's column; none for ``None assigned``, ``(null)`` and what is not a list of hosts."""
    if word in ("", "None assigned", "(null)", "None", "N/A"):
        return ()
    try:
        return expand(word)
    except BadInput:
        return ()


def ended_by(word: str, state: JobState) -> tuple[int | None, int | None]:
    """Exit code and signal of ``code:signal``. A zero means something only of a job that ended by itself."""
    code, number = (whole_number(one, most=MOST_COUNT) for one in word.partition(":")[::2])
    if code is None or number is None:
        return None, None
    own = state in ("done", "failed", "oom") and not number
    return (code if own or code else None), (number or None)


def status_of(word: str, state: JobState) -> tuple[int | None, int | None]:
    """Exit code and signal of squeue's column, which is what wait(2) gave."""
    number = whole_number(word, most=MOST_COUNT) or 0
    return ended_by(f"{number >> 8 & 255}:{number & 127}", state)


def told(reason: str) -> str:
    """A reason; empty for the words that stand for none."""
    return "" if reason in ("None", "(null)", "N/A") else reason


def jobs_of(table: Sequence[Mapping[str, str]]) -> tuple[JobRecord, ...]:
    """The attempts of jobs, in order, with their steps, from rows of sacct that hold at least JobID and State."""
    attempts: list[dict[str, Any]] = []
    steps: dict[int, list[JobStep]] = {}
    for row in table:
        job, dot, _ = row["JobID"].partition(".")
        if not dot:
            attempts.append({**row})
        else:
            owner = max((place for place, one in enumerate(attempts) if one["JobID"] == job), default=None)
            if owner is None:  # sacct gives some steps before their job
                attempts.append({"JobID": job, "State": "", "headless": True})
                owner = len(attempts) - 1
            steps.setdefault(owner, []).append(_step(row))
    found: list[JobRecord] = []
    early: dict[str, list[JobStep]] = {}
    count: dict[str, int] = {}
    for place_, row in enumerate(attempts):
        own = early.pop(row["JobID"], []) + steps.get(place_, [])
        if row.get("headless"):
            early[row["JobID"]] = own
            continue
        attempt = count.get(row["JobID"], 0)
        count[row["JobID"]] = attempt + 1
        found.append(_job(row, attempt, tuple(own)))
    return tuple(found)


def _job(row: Mapping[str, str], attempt: int, steps: tuple[JobStep, ...]) -> JobRecord:
    state = state_of(row["State"])
    code, number = ended_by(row.get("ExitCode", ""), state)
    begin_s = seconds_of(row.get("Start", ""))
    reason = told(row.get("Reason", ""))
    starved = [step.id for step in steps if step.state == "oom"]
    if starved and state != "oom":
        reason = "; ".join(filter(None, (reason, f"step {', '.join(starved)} ran out of memory")))
    return JobRecord(
        engine="slurm",
        id=row["JobID"],
        attempt=attempt,
        state=state,
        word=row["State"],
        source="accounting",
        exit_code=None if state in ("queued", "running") else code,
        signal=None if state in ("queued", "running") else number,
        reason=reason,
        name=row.get("JobName", ""),
        user=row.get("User", ""),
        partition=row.get("Partition", ""),
        hosts=hosts_of(row.get("NodeList", "")),
        submit_s=seconds_of(row.get("Submit", "")),
        eligible_s=seconds_of(row.get("Eligible", "")),
        begin_s=begin_s,
        end_s=seconds_of(row.get("End", "")),
        cpus=whole_number(row.get("AllocCPUS"), most=MOST_COUNT) if begin_s else None,
        tres=tres_of(row.get("AllocTRES", "")),
        steps=steps,
    )


def _step(row: Mapping[str, str]) -> JobStep:
    state = state_of(row["State"])
    code, number = ended_by(row.get("ExitCode", ""), state)
    return JobStep(
        id=row["JobID"].partition(".")[2],
        name=row.get("JobName", ""),
        state=state,
        exit_code=None if state == "running" else code,
        signal=number,
        hosts=hosts_of(row.get("NodeList", "")),
        begin_s=seconds_of(row.get("Start", "")),
        end_s=seconds_of(row.get("End", "")),
        tres=tres_of(row.get("AllocTRES", "")),
    )
