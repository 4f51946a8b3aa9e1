"""A table of jobs: CSV with a head, in the columns of ``shakedown accounting jobs`` (which writes such a table) or in
words that people use for them. ``job``, ``start`` and ``end`` (or ``ran``) must be there. Times are Unix seconds, or
ISO 8601 with an offset, or local times of the zone that was named; durations are seconds or
[days-]hours:minutes:seconds, sizes bytes or 64G. An empty cell is not recorded.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from .... import times
from ....errors import BadInput
from ....files.packed import opened
from ....schedulers import ENDED
from .. import values
from ..columns import COLUMNS
from ..loading import Store
from . import Reader, attempt_values

#: Words in a head -> our columns.
_ALIASES = {
    "jobid": "job", "job_id": "job", "id": "job", "account": "project", "queue": "partition", "group": "unix_group",
    "submit": "submit_s", "submitted": "submit_s", "eligible": "eligible_s", "start": "start_s", "started": "start_s",
    "end": "end_s", "ended": "end_s", "ran": "ran_s", "elapsed": "ran_s", "walltime": "ran_s", "limit": "limit_s",
    "timelimit": "limit_s", "exit": "exit_code", "cores": "cpus", "slots": "cpus", "ncpus": "cpus", "ngpus": "gpus",
    "nnodes": "nodes", "cpu_used": "cpu_used_ms", "cpu_time": "cpu_used_ms", "memory_asked": "memory_asked_bytes",
    "memory_used": "memory_used_bytes", "energy": "energy_j", "array_task": "task", "nodelist": "node_list",
}  # fmt: skip
_STAMPS = ("submit_s", "eligible_s", "start_s", "end_s")
_DURATIONS = ("ran_s", "limit_s")
_Localised = Callable[[datetime.datetime], datetime.datetime]


def _columns(head: str) -> list[str]:
    try:
        words = next(csv.reader([head.lstrip("\ufeff")]), [])
    except csv.Error:  # a line break within: no head of a table
        return []
    return [_ALIASES.get(word.strip().lower(), word.strip().lower()) for word in words]


def _mine(head: str) -> bool:
    found = _columns(head.partition("\n")[0].rstrip("\r"))
    return "job" in found and "start_s" in found


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store. Raises BadInput with the line."""
    zone, counts = ZoneInfo(store.zone), {"rows": 0, "local": 0}

    def localised(stamp: datetime.datetime) -> datetime.datetime:
        counts["local"] += 1
        return stamp.replace(tzinfo=zone)

    store.append(_jobs(path, localised, counts))
    if counts["local"]:
        store.local(path.name)
    store.done(str(path), "table", rows=counts["rows"])


def _jobs(path: Path, localised: _Localised, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
    with opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            names = _columns(",".join(next(reader, [])))
            unknown = [name for name in names if name and name not in COLUMNS]
            if unknown or not {"end_s", "ran_s"} & set(names) or len(names) != len(set(names)):
                what = (
                    f"columns {', '.join(unknown)} are not known"
                    if unknown
                    else "a column comes twice, or neither end nor ran is there"
                )
                raise BadInput(what, where=str(path), hint=f"known: {', '.join(COLUMNS)}; {', '.join(_ALIASES)}")
            for cells in reader:
                if not any(cells):
                    continue
                counts["rows"] += 1
                where = f"{path}:{reader.line_num}"
                if len(cells) != len(names):
                    what = f"has {len(cells)} cells where the head has {len(names)}"
                    raise BadInput(what, where=where, hint="quote cells that hold a comma")
                yield _job(dict(zip(names, cells, strict=True)), localised, where)
        except csv.Error as error:
            raise BadInput(
                f"is not valid CSV: {error}", where=f"{path}:{reader.line_num}", hint="fix that line"
            ) from None


def _job(cells: dict[str, str], localised: _Localised, where: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, text in cells.items():
        text = text.strip()
        if name not in ("source", "attempt") and text:
            row[name] = _value(name, text, localised, where)
    if not row.get("job"):
        raise BadInput("names no job", where=where, hint="every row needs its job")
    if (
        row.get("end_s") is None
        and row.get("start_s") is not None
        and row.get("ran_s") is not None
        and not row.get("open")
    ):
        row["end_s"] = row["start_s"] + row["ran_s"]
    if row.get("start_s") is None:
        row |= {"ran_s": 0, "gpus": 0}
    state = row.get("state", "unknown")
    row["state"] = state if state in (*ENDED, "running", "queued", "unknown") else "unknown"
    row.setdefault("word", state)
    return attempt_values(row)


def _value(name: str, text: str, localised: _Localised, where: str) -> Any:
    kind = COLUMNS[name].kind
    if kind == "VARCHAR":
        return text.removeprefix("'") if text[1:2] in ("=", "+", "-", "@") else text
    if kind == "BOOLEAN":
        return text.lower() in ("true", "1", "yes")
    read_: Callable[[str], float | None]
    if name in _STAMPS:
        return _unix(text, localised, where)
    read_ = values.seconds if name in _DURATIONS else values.memory_bytes if name.endswith("_bytes") else _number
    if name == "cpu_used_ms" and ":" in text:
        found = values.seconds(text)
        value = None if found is None else 1000 * found
    else:
        value = read_(text)
    if value is None or (value < 0 and name not in ("exit_code", "signal")):
        raise BadInput(
            f"{name} {text!r} is not a number of that kind",
            where=where,
            hint="leave the cell empty where it is not recorded",
        )
    return round(value)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"-?[0-9]{1,30}(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?", text) else None


def _unix(text: str, localised: _Localised, where: str) -> int:
    stamp = times.iso(text)
    if stamp is not None and stamp.tzinfo is None:
        stamp = localised(stamp)
        return int(stamp.timestamp())
    return times.unix_s(text, "", where)


READER = Reader(
    name="table",
    title="a table of jobs (CSV)",
    mine=_mine,
    read=read,
    gpus="a column gpus",
    samples=("table.csv",),
)
