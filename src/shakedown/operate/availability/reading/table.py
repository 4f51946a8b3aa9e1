"""A table of outages that people keep: CSV with a head. Also the form that ``import`` writes, complete with inventory.

    node,start,end,kind,what,note,share,gpus,announced
    node[3-4],2026-11-20T10:00:00+01:00,2026-11-20T12:30:00+01:00,power,PDU 7,ticket 4711,,,
    node7,2026-11-21 08:00,,gpu,Xid 79,,,"2",
    *,2026-11-25T06:00Z,2026-11-25T18:00Z,maintenance,firmware,,,,2026-11-10T09:00Z

``node`` is folded, ``*`` all nodes. An empty ``end`` is not over. ``share`` is the part of the node that is lost (25 %,
1/4), ``gpus`` the numbers of the GPUs that are. ``announced`` is when people were told. Kinds with a meaning of their own:
``maintenance``; ``reservation``; ``present`` (the node is there from start to end; ``processors``, ``gpus``: how many);
``observed`` and ``not observed`` (for which time the table speaks). Other kinds are words for causes, as the contract uses
them. Times are ISO 8601 with an offset, local times of --zone, or Unix seconds.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from .... import times
from ....errors import BadInput, unknown
from ....files.packed import opened_text
from ....hosts import hostlist
from ....units import exact_number, whole_number
from ..history import OPEN_S, WHOLE, Builder, Cause, History
from ..records import Source
from ..words import STATES, State

COLUMNS = ("node", "start", "end", "kind", "what", "note", "share", "gpus", "announced", "processors", "state", "late")
_MEANT = ("present", "observed", "not observed", "maintenance", "reservation")
_STATE_OF: dict[str, State] = {"maintenance": "maintenance", "reservation": "reserved", "drained": "drained"}


def is_mine(head: str) -> bool:
    words = [word.strip().strip('"').lower() for word in head.lstrip("\ufeff").partition("\n")[0].split(",")]
    return {"node", "start"} <= set(words)


def read(builder: Builder, path: Path, zone: str) -> None:
    """Read the rows. Raises BadInput with the line."""
    with opened_text(path, encoding="utf-8-sig", errors="strict", newline="") as file:
        try:
            reader = csv.DictReader(file, strict=True)
            for name in reader.fieldnames or ():
                if name.strip().lower() not in COLUMNS:
                    raise unknown("column", name, COLUMNS, where=str(path))
            rows = [(reader.line_num, _row(row, f"{path}:{reader.line_num}")) for row in reader]
        except csv.Error as error:
            where = f"{path}:{reader.line_num}"
            raise BadInput(f"is not valid CSV: {error}", where=where, hint="fix that line") from None
        except UnicodeDecodeError as error:
            raise BadInput(f"is not UTF-8: {error.reason}", where=str(path), hint="save the file as UTF-8") from None
    inventory = [row for row in rows if row[1].get("kind") == "present"]
    for line, row in inventory:
        _present(builder, row, f"{path}:{line}", zone)
    spoken: list[tuple[int, int]] = []
    events = 0
    for line, row in rows:
        kind = row.get("kind", "")
        if kind == "present":
            continue
        where = f"{path}:{line}"
        begin, end = _span(row, where, zone)
        _check_kind(kind, where)
        if kind == "observed":
            spoken.append((begin, end))
        elif kind == "not observed":
            for name in _nodes(builder, row, where):
                builder.gap(name, begin, end)
        else:
            events += 1
            _outage(builder, row, begin, end, where, zone)
    if not spoken:
        builder.taken_as_complete.append(path.name)
    builder.seen.extend(spoken)
    ends = [end for _, end in spoken if end < OPEN_S]
    begin_s = min((low for low, _ in spoken), default=0) or None
    builder.sources.append(Source(str(path), "table", events, begin_s, max(ends, default=None)))


def _row(row: Mapping[Any, Any], where: str) -> dict[str, str]:
    """A row by its columns. Raises BadInput for one with more fields than the head."""
    if None in row:
        raise BadInput("has more fields than the head", where=where, hint='put what holds a comma in quotes: "0,2"')
    return {(key or "").strip().lower(): (value or "").strip() for key, value in row.items()}


def _check_kind(kind: str, where: str) -> None:
    """A kind of one's own is a cause; one that is nearly a word with a meaning is a slip that would turn hours round."""
    near = difflib.get_close_matches(kind, _MEANT, 1, 0.8)
    if near and kind not in _MEANT:
        raise BadInput(f"unknown kind {kind!r}", where=where, hint=f"did you mean {near[0]!r}?")


def _present(builder: Builder, row: Mapping[str, str], where: str, zone: str) -> None:
    begin, end = _span(row, where, zone, needs_start=False)
    cpus, gpus = (_count(row.get(name, ""), name, where) for name in ("processors", "gpus"))
    for name in hostlist.expand(row["node"]):
        builder.present(name, begin, end, 1 if cpus is None else cpus, gpus or 0)


def _outage(builder: Builder, row: Mapping[str, str], begin: int, end: int, where: str, zone: str) -> None:
    kind = row.get("kind", "")
    if row.get("state") and row["state"] not in STATES:
        raise unknown("state", row["state"], STATES, where=where)
    state: State = row.get("state") or _STATE_OF.get(kind, "down")  # type: ignore[assignment]
    cause = Cause(
        what=row.get("what") or row.get("note") or kind or "no reason given",
        kind="" if kind in ("outage", "drained") else kind,
        engine="csv",
        note=row.get("note", ""),
    )
    announced = _time(row["announced"], zone, where) if row.get("announced") else -1
    late = _count(row.get("late", ""), "late", where)
    told = {
        "mask": _mask(row.get("gpus", ""), where),
        "share": _share(row["share"], where) if row.get("share") else WHOLE,
        "announced_s": announced,
        "late_s": -1 if late is None else late,
    }
    for name in _nodes(builder, row, where):
        builder.event(name, begin, end, state, cause, where=where, **told)


def _nodes(builder: Builder, row: Mapping[str, str], where: str) -> tuple[str, ...]:
    text = row.get("node", "")
    if text == "*":
        if not builder.names:
            raise BadInput(
                "'*' stands for all nodes, and none is known yet", where=where, hint="give --nodes, or name it later"
            )
        return builder.names
    if not text:
        raise BadInput("names no node", where=where, hint="node[1-4], or * for all")
    try:
        return hostlist.expand(text)
    except BadInput as error:
        raise BadInput(error.what, where=where, hint=error.hint) from None


def _span(row: Mapping[str, str], where: str, zone: str, *, needs_start: bool = True) -> tuple[int, int]:
    if needs_start and not row.get("start"):
        raise BadInput("has no start", where=where, hint="2026-11-20T10:00:00Z")
    begin = _time(row["start"], zone, where) if row.get("start") else 0
    end = _time(row["end"], zone, where) if row.get("end") else OPEN_S
    if end < begin and row.get("end"):
        later = _time(row["end"], zone, where, later=True)  # the hour that comes twice
        end = later if later >= begin else end
    if end < begin:
        raise BadInput("ends before it begins", where=where, hint="fix start or end")
    return begin, end


_time = lru_cache(maxsize=65536)(times.unix_s)


def _count(text: str, name: str, where: str) -> int | None:
    if not text:
        return None
    if (number := whole_number(text)) is None:
        raise BadInput(f"{name} {text[:40]!r} is not a number", where=where, hint="a whole number")
    return number


def _mask(text: str, where: str) -> int:
    """``0,2`` as bits."""
    mask = 0
    for word in filter(None, (one.strip() for one in text.replace(";", ",").split(","))):
        if (number := whole_number(word, most=63)) is None:
            raise BadInput(f"{word[:40]!r} is not a GPU number", where=where, hint="their numbers from 0, as 0,2")
        mask |= 1 << number
    return mask


def _share(text: str, where: str) -> int:
    """A share in ten-thousandths of a node."""
    value = exact_number(text.rstrip("% "))
    if value is not None and text.endswith("%"):
        value /= 100
    if value is None or not 0 < value <= 1:
        raise BadInput(f"share {text[:40]!r} is none of a node", where=where, hint="25 %, 1/4 or 0.25")
    return round(value * WHOLE)


# --------------------------------------------------------------------------------------------------------------- writing


def write(path: Path, history: History, kinds: tuple[str, ...]) -> int:
    """A history as such a table, whole: records, inventory, for which time it speaks. Returns the number of rows."""
    import io

    from ....files import atomic

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)

    def end(value: int) -> str:
        return "" if value >= OPEN_S else str(value)

    for low, high in history.seen:
        writer.writerow(["*", low, end(high), "observed", *[""] * 8])
    one = history.presence
    for node, low, high, cpus, gpus in zip(
        one.node.tolist(), one.begin.tolist(), one.end.tolist(), one.cpus.tolist(), one.gpus.tolist(), strict=True
    ):
        writer.writerow([history.names[node], low, end(high), "present", "", "", "", gpus or "", "", cpus, "", ""])
    gaps = history.gaps
    for node, low, high in zip(gaps.node.tolist(), gaps.begin.tolist(), gaps.end.tolist(), strict=True):
        writer.writerow([history.names[node], low, end(high), "not observed", *[""] * 8])
    rows = history.events
    for at in range(len(rows)):
        cause = history.causes[rows.cause[at]]
        mask, share = int(rows.mask[at]), int(rows.share[at])
        writer.writerow(
            [
                history.names[rows.node[at]],
                int(rows.begin[at]),
                end(int(rows.end[at])),
                kinds[rows.cause[at]],
                cause.what,
                cause.note,
                "" if share == WHOLE else str(Fraction(share, WHOLE)),
                ",".join(str(bit) for bit in range(64) if mask >> bit & 1),
                int(rows.announced[at]) if rows.announced[at] >= 0 else "",
                "",
                STATES[rows.state[at]],
                int(rows.late[at]) if rows.late[at] >= 0 else "",
            ]
        )
    atomic.write(path, out.getvalue())
    return len(rows)
