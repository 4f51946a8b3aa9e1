"""The arithmetic of one window to the line: what was scheduled, what each exclusion took, what each record lost; the
lines add up to the window's numbers exactly. Pure; numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ...hosts import hostlist
from ...times import stamp
from .history import History, Ints
from .records import Explained, Line, Window

if TYPE_CHECKING:
    from .evaluate import Evaluation

WEIGHTS = {"processors": "processor", "nodes": "node", "gpus": "GPU", "system": "processor"}


def explain(found: Evaluation, window: Window) -> Explained:
    """The lines of a window. Amounts are weighted seconds; of a contract that counts the system as one, the nodes' own."""
    contract, segments = found.contract, found.segments
    weight = WEIGHTS[contract.counting]
    begin, end = np.maximum(segments.begin, window.begin_s), np.minimum(segments.end, window.end_s)
    seconds = np.maximum(end - begin, 0)
    full = segments.weight * seconds
    lost = np.where(found.counts, segments.weight * segments.lost * seconds / segments.parts, 0.0)
    blind = np.where(found.counts & ~segments.seen, full - lost, 0.0)
    unseen_line = Line(text=f"not observed, {weight}-seconds", amount=float(blind.sum()))
    there, taken = float(full.sum()), float(full[found.excluded].sum())
    gone, unseen = float(lost.sum()), float(blind.sum())
    below = there - taken - unseen
    level = (below - gone) / below if below > 0 else None
    base = f"{there:,.0f} - {taken:,.0f} - {unseen:,.2f}"
    text = f"({base} - {gone:,.2f}) / ({base}) = {_percent(level)}"
    if contract.counting == "system":
        whole = f"{window.scheduled:,.0f} s"
        text += f" by nodes; of the system as one, out while at least {contract.down.system_at} of it is: "
        text += f"({whole} - {window.lost:,.0f} s) / {whole} = {_percent(window.level)}"
    return Explained(
        window=window,
        weight=weight,
        scheduled=_scheduled(found.history, window, weight),
        excluded=_excluded(found, full),
        lost=_lost(found, begin, end, lost, weight),
        unobserved=_summed([unseen_line] if blind.any() else []),
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


def _scheduled(history: History, window: Window, weight: str) -> tuple[Line, ...]:
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


def _excluded(found: Evaluation, full: Ints) -> tuple[Line, ...]:
    """What each exclusion took out of the scheduled time, or forgave."""
    claim = found.segments.claim
    mine = ~found.counts & (claim >= 0)
    amount = np.bincount(claim[mine], np.where(found.excluded, full, 0)[mine], len(found.told.lines))
    lines = []
    for at, one in enumerate(found.told.lines):
        if amount[at] or one.treat == "as up":
            text = f"{one.rule}: {one.what} ({one.nodes})" + (", counts as up" if one.treat == "as up" else "")
            lines.append(Line(text=text, begin_s=one.begin_s, end_s=one.end_s, amount=float(amount[at])))
    return _summed(lines)


def _lost(found: Evaluation, begin: Ints, end: Ints, lost: Ints, weight: str) -> tuple[Line, ...]:
    """A line for each record that something is charged to, in the order of time."""
    rows = np.flatnonzero(lost > 0)
    if not len(rows):
        return ()
    segments, history = found.segments, found.history
    key = np.stack([segments.owner[rows].astype(np.int64), segments.weight[rows], segments.lost[rows]], axis=1)
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
        share = "" if parts == segments.parts else f" x {parts}/{segments.parts}"
        whole = high[at] - low[at] == seconds[at]
        spread = "" if whole else " (in parts: the rest is charged to records that overlap it)"
        text = f"{history.names[int(history.events.node[owner])]} {found.kinds[cause]}: {history.causes[cause].what[:60]}; "
        text += f"{int(seconds[at]):,} s x {size} {weight}s{share}{spread}"
        lines.append(Line(text=text, begin_s=int(low[at]), end_s=int(high[at]), amount=float(amount[at])))
    return _summed(lines)


def text(explained: Explained, zone: str) -> str:
    """The lines for a terminal."""
    window = explained.window
    out = [f"window {stamp(window.begin_s, zone)} to {stamp(window.end_s, zone)}, in {explained.weight}-seconds", ""]
    for title, lines, sign in (
        ("scheduled", explained.scheduled, "+"),
        ("excluded", explained.excluded, "-"),
        ("not observed", explained.unobserved, "-"),
        ("lost", explained.lost, "-"),
    ):
        out.append(title)
        for one in lines:
            when = f"{stamp(one.begin_s, zone)} to {stamp(one.end_s, zone)}  " if one.begin_s and one.end_s else ""
            out.append(f"  {sign} {one.amount:>20,.2f}  sum {one.sum:>20,.2f}  {when}{one.text}")
        if not lines:
            out.append("  nothing")
    return "\n".join([*out, "", f"level = {explained.result}"])
