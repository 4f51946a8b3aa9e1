"""Slurm: what ``sacct --json`` prints. The safest form, since names are quoted; larger and slower than the text. Read
job by job: the file is not held in memory.

The shape changed with the data parser's version (21.08 to 25.05): numbers may be bare or ``{"set": true, "infinite": false,
"number": 5}``, states a word or a list of words. Energy and memory are those of the steps. 22.05 writes zeros for CPU
times and exit codes, whatever they were: neither counts as recorded then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ....errors import BadInput
from ....files.packed import opened
from ....schedulers.common.slurm_rows import state_of
from .. import values
from ..loading import Store
from . import Reader, attempt_values
from ._lines import Tally

_CHUNK = 1 << 20


def _mine(head: str) -> bool:
    return head.lstrip().startswith("{") and re.search(r'"(jobs|meta)"\s*:', head) is not None


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store. Raises BadInput where it is no such JSON."""
    tally, steps = Tally(), [0]
    store.append(_jobs(path, tally, steps))
    tally.rows += steps[0]
    tally.done(store, path, "sacct_json", steps=steps[0])


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of the list ``jobs``, one by one."""
    decoder = json.JSONDecoder(strict=False)
    with opened(path) as file:
        text, ended = _more(file, ""), False
        while (match := re.search(r'"jobs"\s*:\s*\[', text)) is None:
            added = _more(file, "")
            if not added:
                raise BadInput("contains no list of jobs", where=str(path), hint="sacct --json, whole")
            text = text[-20:] + added
        text = text[match.end() :]
        while True:
            text = text.lstrip(" \t\r\n,")
            if text.startswith("]"):
                return
            try:
                found, end = decoder.raw_decode(text)
            except ValueError:
                added = "" if ended else _more(file, "")
                ended = not added
                if ended:
                    raise BadInput("ends within a job", where=str(path), hint="sacct --json, whole") from None
                # Twice as much each time: an object that is long is not decoded again for every piece.
                text += added + "".join(
                    file.read(_CHUNK).decode("utf-8", "replace") for _ in range(len(text) // _CHUNK)
                )
                continue
            if isinstance(found, dict):
                yield found
            text = text[end:]


def _more(file: Any, before: str) -> str:
    return before + str(file.read(_CHUNK).decode("utf-8", "replace"))


def _jobs(path: Path, tally: Tally, steps: list[int]) -> Iterator[dict[str, Any]]:
    for one in objects(path):
        tally.rows += 1
        try:
            row = job(one)
            steps[0] += len(one.get("steps") or ())
        except (AttributeError, KeyError, TypeError, ValueError):  # another shape than any version's
            tally.lose(json.dumps(one))
            continue
        for count in ((one.get("tres") or {}).get("allocated") or ()) if row["start_s"] is not None else ():
            if _negative(count.get("count")):
                what = "have a negative count in what was allocated, which is taken as not recorded"
                tally.see("impossible-numbers", f"{what}: {json.dumps(count)[:80]}", str(row["job"]))
        for name in ("start", "end"):
            if _unreadable((one.get("time") or {}).get(name)):
                what = f"have a time that cannot be read, such as {name} {one['time'][name]!r}"
                tally.see("not-read", what, str(row["job"]))
        yield row


def _negative(value: Any) -> bool:
    value = value.get("number") if isinstance(value, Mapping) else value
    return isinstance(value, (int, float)) and value < 0


def _unreadable(value: Any) -> bool:
    """Whether something stands where a time should, and is not a number."""
    value = value.get("number") if isinstance(value, Mapping) else value
    return isinstance(value, str) and value not in ("", "Unknown", "None")


def number(value: Any) -> int | None:
    """A number in any of the forms; None where it is not set, infinite or zero-like."""
    if isinstance(value, Mapping):
        if not value.get("set", True) or value.get("infinite"):
            return None
        value = value.get("number")
    return (
        int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**62 else None
    )


def _word(value: Any) -> str:
    return str(value[0]) if isinstance(value, list) and value else str(value or "")


def _tres(listed: Any) -> dict[str, int]:
    """``[{"type": "gres", "name": "gpu:h200", "count": 2}]`` as ``gres/gpu:h200 -> 2``."""
    found = {}
    for one in listed or ():
        name = f"{one.get('type')}/{one['name']}" if one.get("name") else str(one.get("type"))
        if (count := number(one.get("count"))) is not None:
            found[name] = count
    return found


def job(one: Mapping[str, Any]) -> dict[str, Any]:
    """A job of the list as a row."""
    time, state = one.get("time") or {}, one.get("state") or {}
    word = _word(state.get("current") if isinstance(state, Mapping) else state)
    start, end, submit = (number(time.get(name)) or None for name in ("start", "end", "submission"))
    allocated = _tres((one.get("tres") or {}).get("allocated"))
    nodes = str(one.get("nodes") or "").replace("None assigned", "")
    never = start is None or (start == end and not nodes)
    gpus, kind = values.gpus_of(",".join(f"{name}={count}" for name, count in allocated.items()))
    elapsed, idle = number(time.get("elapsed")), number(time.get("suspended")) or 0
    busy = time.get("total") or {}
    busy_ms = 1000 * (number(busy.get("seconds")) or 0) + (number(busy.get("microseconds")) or 0) // 1000
    memory, energy = _of_steps(one.get("steps") or ())
    array = one.get("array") or {}
    task = number(array.get("task_id")) if number(array.get("job_id")) else None
    limit = number(time.get("limit"))
    code = one.get("exit_code") or {}
    return attempt_values(
        {
            "cluster": one.get("cluster"),
            "job": _id(one, array, task),
            "task": None if task is None else str(task),
            "user": one.get("user") or (one.get("association") or {}).get("user") or None,
            "project": one.get("account") or None,
            "unix_group": one.get("group") or None,
            "partition": one.get("partition") or None,
            "qos": one.get("qos") or None,
            "submit_s": submit,
            "eligible_s": number(time.get("eligible")) or None,
            "start_s": None if never else start,
            "end_s": end if end or never or elapsed is None else (start or 0) + elapsed + idle,
            "open": end is None and not never,  # its end is 0
            "ran_s": 0 if never else elapsed,
            "state": state_of(word),
            "word": word,
            "exit_code": number(code.get("return_code")) or (0 if word == "COMPLETED" else None),
            "signal": number((code.get("signal") or {}).get("id", (code.get("signal") or {}).get("signal_id"))) or None,
            "nodes": None if never else allocated.get("node") or number(one.get("allocation_nodes")),
            "cpus": None if never else allocated.get("cpu"),
            "gpus": 0 if never else (gpus or 0) if allocated else None,
            "gpu_type": kind or None,
            "memory_asked_bytes": (allocated.get("mem") or 0) * 2**20 or None,  # in MiB
            "memory_used_bytes": memory,
            "cpu_used_ms": busy_ms or None,
            "energy_j": energy,
            "limit_s": 60 * limit if limit else None,
            "node_list": nodes or None,
            "name": str(one.get("name") or "").replace("\n", "\\n") or None,
        }
    )


def _id(one: Mapping[str, Any], array: Mapping[str, Any], task: int | None) -> str:
    het = one.get("het") or {}
    if number(het.get("job_id")) and number(het.get("job_offset")) is not None:
        return f"{number(het['job_id'])}+{number(het['job_offset'])}"
    return f"{number(array['job_id'])}_{task}" if task is not None else str(one.get("job_id"))


def _of_steps(steps: Any) -> tuple[int | None, int | None]:
    """The greatest memory of a step over all of its tasks, and the energy of all steps."""
    memory, energy = 0, 0
    for step in steps:
        requested = (step.get("tres") or {}).get("requested") or {}
        memory = max(memory, _tres(requested.get("total")).get("mem", 0))
        energy += number(((step.get("statistics") or {}).get("energy") or {}).get("consumed")) or 0
    return memory or None, energy or None


READER = Reader(
    name="sacct_json",
    title="sacct --json",
    mine=_mine,
    read=read,
    gpus="AccountingStorageTRES=gres/gpu in slurm.conf, then restart slurmctld: jobs that start from then on have them",
    samples=("slurm-22.05-sacct.json",),
)
