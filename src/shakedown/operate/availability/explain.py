"""The arithmetic of one window to the line: what was scheduled, what each exclusion took, what each record lost; the
lines add up to the window's numbers exactly. Pure; numpy."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ...hosts import hostlist
from ...times import stamp
from .contract import Contract
from .exclusions import Lines
from .history import History, Ints
from .records import Explained, Line, Window
from .segments import Bools, Segments

WEIGHTS = {"processors": "processor", "nodes": "node", "gpus": "GPU", "system": "processor"}


def explain(
    found: Segments,
    history: History,
    contract: Contract,
    window: Window,
    excluded: Bools,
    forgiven: Bools,
    told: Lines,
    kinds: Sequence[str],
) -> Explained:
    """The lines of a window. Amounts are weighted seconds; of a contract that counts the system as one, the nodes' own."""
    weight = WEIGHTS[contract.counting]
    clock = contract.zone
    begin, end = np.maximum(found.begin, window.begin_s), np.minimum(found.end, window.end_s)
    seconds = np.maximum(end - begin, 0)
    full = found.weight * seconds
    counted = ~excluded & ~forgiven
    lost = np.where(counted, found.weight * found.lost * seconds / found.parts, 0.0)
    blind = np.where(counted & ~found.seen, full - lost, 0.0)
    scheduled_lines = _scheduled(history, contract, window, weight)
    excluded_lines = _excluded(found, full, excluded | forgiven, excluded, told, weight)
    lost_lines = _lost(found, history, kinds, begin, end, lost, weight, clock)
    blind_lines = _summed(
        [Line(text=f"not observed, {weight}-seconds", amount=float(blind.sum()))] if blind.any() else []
    )
    there, taken = float(full.sum()), float(full[excluded].sum())
    gone, unseen = float(lost.sum()), float(blind.sum())
    below = there - taken - unseen
    level = (below - gone) / below if below > 0 else None
    base = f"{there:,.0f} - {taken:,.0f} - {unseen:,.2f}"
    text = f"({base} - {gone:,.2f}) / ({base}) = {_percent(level)}"
    if contract.counting == "system":
        text += f" by nodes; of the system as one, out while at least {contract.down.system_at} of it is: "
        text += (
            f"({window.scheduled:,.0f} s - {window.lost:,.0f} s) / {window.scheduled:,.0f} s = {_percent(window.level)}"
        )
    return Explained(
        window=window,
        weight=weight,
        scheduled=scheduled_lines,
        excluded=excluded_lines,
        lost=lost_lines,
        unobserved=blind_lines,
        result=text,
    )


def _percent(value: float | None) -> str:
    return "not known" if value is None else f"{100 * value:.6f} %"


def _summed(lines: Sequence[Line]) -> tuple[Line, ...]:
    total, found = 0.0, []
    for one in lines:
        total += one.amount
        found.append(msgspec.structs.replace(one, sum=total))
    return tuple(found)


def _scheduled(history: History, contract: Contract, window: Window, weight: str) -> tuple[Line, ...]:
    """Nodes that were there, alike in size and time, a line."""
    one = history.presence
    begin, end = np.maximum(one.begin, window.begin_s), np.minimum(one.end, window.end_s)
    size = {"processor": one.cpus, "GPU": one.gpus}.get(weight, np.ones_like(one.cpus))
    there = (end > begin) & (size > 0)
    table = np.stack([begin[there], end[there], size[there]], axis=1) if there.any() else np.empty((0, 3), np.int64)
    groups, place = np.unique(table, axis=0, return_inverse=True)
    nodes = one.node[there]
    found = []
    for at, (low, high, each) in enumerate(groups.tolist()):
        mine = nodes[place.ravel() == at]
        names = hostlist.fold(history.names[node] for node in mine.tolist())
        found.append(
            Line(
                text=f"{len(mine)} nodes x {each} {weight}s x {high - low:,} s: {names[:80]}",
                begin_s=low,
                end_s=high,
                amount=float(len(mine) * each * (high - low)),
            )
        )
    return _summed(found)


def _excluded(
    found: Segments, full: Ints, claimed: Bools, excluded: Bools, told: Lines, weight: str
) -> tuple[Line, ...]:
    """What each exclusion took out of the scheduled time, or forgave."""
    mine = claimed & (found.claim >= 0)
    amount = np.bincount(found.claim[mine], np.where(excluded, full, 0)[mine], len(told.lines))
    lines = []
    for at, one in enumerate(told.lines):
        if amount[at] or one.treat == "as up":
            text = f"{one.rule}: {one.what} ({one.nodes})" + (", counts as up" if one.treat == "as up" else "")
            lines.append(Line(text=text, begin_s=one.begin_s, end_s=one.end_s, amount=float(amount[at])))
    return _summed(lines)


def _lost(
    found: Segments,
    history: History,
    kinds: Sequence[str],
    begin: Ints,
    end: Ints,
    lost: Ints,
    weight: str,
    clock: str,
) -> tuple[Line, ...]:
    """A line for each record that something is charged to, in the order of time."""
    rows = np.flatnonzero(lost > 0)
    if not len(rows):
        return ()
    key = np.stack([found.owner[rows].astype(np.int64), found.weight[rows], found.lost[rows]], axis=1)
    groups, place = np.unique(key, axis=0, return_inverse=True)
    place = place.ravel()
    amount = np.bincount(place, lost[rows])
    low = np.full(len(groups), np.iinfo(np.int64).max)
    high = np.zeros(len(groups), np.int64)
    seconds = np.bincount(place, (end - begin)[rows]).astype(np.int64)
    np.minimum.at(low, place, begin[rows])
    np.maximum.at(high, place, end[rows])
    lines = []
    for at in np.lexsort((groups[:, 0], low)).tolist():
        owner, size, parts = groups[at].tolist()
        cause = int(history.events.cause[owner])
        share = "" if parts == found.parts else f" x {parts}/{found.parts}"
        spread = (
            "" if high[at] - low[at] == seconds[at] else " (in parts: the rest is charged to records that overlap it)"
        )
        lines.append(
            Line(
                text=f"{history.names[int(history.events.node[owner])]} {kinds[cause]}: {history.causes[cause].what[:60]}; "
                f"{int(seconds[at]):,} s x {size} {weight}s{share}{spread}",
                begin_s=int(low[at]),
                end_s=int(high[at]),
                amount=float(amount[at]),
            )
        )
    return _summed(lines)


def text(explained: Explained, zone: str) -> str:
    """The lines for a terminal."""
    clock = zone
    window = explained.window
    out = [f"window {stamp(window.begin_s, clock)} to {stamp(window.end_s, clock)}, in {explained.weight}-seconds", ""]
    for title, lines, sign in (
        ("scheduled", explained.scheduled, "+"),
        ("excluded", explained.excluded, "-"),
        ("not observed", explained.unobserved, "-"),
        ("lost", explained.lost, "-"),
    ):
        out.append(title)
        for one in lines:
            when = f"{stamp(one.begin_s, clock)} to {stamp(one.end_s, clock)}  " if one.begin_s and one.end_s else ""
            out.append(f"  {sign} {one.amount:>20,.2f}  sum {one.sum:>20,.2f}  {when}{one.text}")
        if not lines:
            out.append("  nothing")
    return "\n".join([*out, "", f"level = {explained.result}"])
