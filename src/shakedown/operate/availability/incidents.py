"""Which outages belong together, what each cost, and what would have met the contract. Pure; numpy.

A node's *outage* is a stretch in which it was out, whatever records tell of it: a drain that became a death, and an event
that the database cut in two, are one. An *incident* is outages of nodes that began together (each within a contract's
time of the one before) for one reason: the failure of a rack is one failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...document.text import natural
from ...hosts import hostlist
from .history import OPEN_S, WHOLE, History, Ints
from .records import Incident
from .segments import Bools, Segments

if TYPE_CHECKING:
    from .evaluate import Evaluation

#: Incidents that are told one by one; all are counted.
MOST_TOLD = 50


@dataclass(frozen=True, slots=True)
class Outages:
    """Outages of nodes, and the incident of each. ``record`` is the row of the record that began it; ``whole`` says that the
    node was out entirely, not by a share; ``open`` that it was not over, ``cut`` that it began before the stretch.
    ``of_record`` maps every record to its outage, -1 for one that counts for nothing."""

    node: NDArray[np.int32]
    begin: Ints
    end: Ints
    record: Ints
    whole: Bools
    open: Bools
    cut: Bools
    incident: Ints
    of_record: Ints

    def __len__(self) -> int:
        return len(self.node)


def outages(found: Segments, history: History, together_s: int) -> Outages:
    """Merge records of a node that touch or overlap into outages, whole ones and shares apart, and outages into
    incidents."""
    events = history.events
    hit = np.zeros(len(events), bool)
    hit[found.owner[found.owner >= 0]] = True
    hit[found.covers[found.lost[found.rows] > 0]] = True
    near = (events.end[found.counted] == found.begin_s) | (events.begin[found.counted] == found.end_s)
    rows = found.counted[hit[found.counted] | near]
    partly = ((events.share[rows] < WHOLE) | (events.mask[rows] != 0)) & (found.parts > 1)
    group = events.node[rows].astype(np.int64) * 2 + partly
    order = np.lexsort((rows, events.begin[rows], group))
    rows, group = rows[order], group[order]
    begin = events.begin[rows]
    reach = np.maximum.accumulate(events.end[rows] + group * (OPEN_S * 2)) - group * (OPEN_S * 2)
    new = np.ones(len(rows), bool)
    new[1:] = (group[1:] != group[:-1]) | (begin[1:] > reach[:-1])
    number = np.cumsum(new) - 1
    real = np.zeros(int(new.sum()), bool)
    np.logical_or.at(real, number, hit[rows])  # what only touches the stretch is no outage of it
    first = np.flatnonzero(new)
    last = (np.concatenate((first[1:], [len(rows)])) - 1 if len(rows) else first)[real]
    first = first[real]
    of_record = np.full(len(events), -1, np.int64)
    of_record[rows] = np.where(real, np.cumsum(real) - 1, -1)[number] if len(rows) else -1
    record, end = rows[first], reach[last]
    return Outages(
        node=events.node[record],
        begin=np.maximum(begin[first], found.begin_s),
        end=np.minimum(end, found.end_s),
        record=record,
        whole=group[first] % 2 == 0,
        open=end > found.end_s,
        cut=begin[first] < found.begin_s,
        incident=_incidents(begin[first], events.cause[record], together_s),
        of_record=of_record,
    )


def _incidents(begin: Ints, cause: NDArray[np.int32], together_s: int) -> Ints:
    """The number of each outage's incident, in the order of time: chains of outages with the same words, none of which began
    later than ``together_s`` after the one before."""
    if not len(begin):
        return np.empty(0, np.int64)
    order = np.lexsort((begin, cause))
    new = np.ones(len(order), bool)
    same = cause[order][1:] == cause[order][:-1]
    new[1:] = ~(same & (begin[order][1:] - begin[order][:-1] <= together_s))
    chain = np.cumsum(new) - 1
    start = begin[order][new]
    rank = np.empty(len(start), np.int64)
    rank[np.argsort(start, kind="stable")] = np.arange(len(start))
    number = np.empty(len(order), np.int64)
    number[order] = rank[chain]
    return number


@dataclass(frozen=True, slots=True)
class Costs:
    """Of each incident in a window, weighted seconds: what is charged to it, and what its absence alone would bring back;
    ``order`` is by the latter, the greatest first, and ``back`` what the absence of the first 1, 2, ... would bring back."""

    charged: NDArray[np.float64]
    alone: NDArray[np.float64]
    order: Ints
    back: NDArray[np.float64]


def costs(found: Segments, own: Outages, counts: Bools, begin_s: int, end_s: int) -> Costs:
    """The costs within a window of the segments that count (neither excluded nor forgiven).

    Where records of several incidents overlap on a node, its hours come back only when all of them are absent; for shares
    of a node that overlap this is a lower bound.
    """
    size = int(own.incident.max(initial=-1)) + 1
    if not size:
        return Costs(charged=np.empty(0), alone=np.empty(0), order=np.empty(0, np.int64), back=np.empty(0))
    record_incident = np.where(own.of_record >= 0, own.incident[np.maximum(own.of_record, 0)], -1)
    seconds = np.minimum(found.end, end_s) - np.maximum(found.begin, begin_s)
    amount = np.where(counts, np.maximum(seconds, 0) * found.weight * found.lost / found.parts, 0.0)
    out = np.flatnonzero((found.lost > 0) & (amount > 0))
    incident = record_incident[found.owner[out]]
    charged = np.bincount(incident, amount[out], size)
    low = np.full(len(found.node), size, np.int64)
    high = np.full(len(found.node), -1, np.int64)
    low[out] = high[out] = incident
    if len(found.rows):
        other = record_incident[found.covers]
        np.minimum.at(low, found.rows, other)
        np.maximum.at(high, found.rows, other)
    lone = out[low[out] == high[out]]
    alone = np.bincount(low[lone], amount[lone], size)
    order = np.lexsort((-charged, -alone))
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(size)
    worst = np.full(len(found.node), -1, np.int64)
    worst[out] = rank[incident]
    if len(found.rows):
        np.maximum.at(worst, found.rows, rank[record_incident[found.covers]])
    back = np.cumsum(np.bincount(worst[out], amount[out], size))
    return Costs(charged.astype(np.float64), alone.astype(np.float64), order, back.astype(np.float64))


def told(found: Evaluation, cost: Costs, chosen: Sequence[int], short: float) -> tuple[Incident, ...]:
    """Incidents as records. ``short`` is what the contract lacks, in weighted seconds."""
    own, history = found.outages, found.history
    members = np.argsort(own.incident, kind="stable")
    bounds = np.searchsorted(own.incident[members], np.arange(len(cost.charged) + 1))
    listed = []
    for number in chosen:
        rows = members[bounds[number] : bounds[number + 1]]
        if not len(rows):
            continue
        cause = int(history.events.cause[own.record[rows[0]]])
        nodes = sorted({history.names[at] for at in own.node[rows].tolist()}, key=natural)
        listed.append(
            Incident(
                begin_s=int(own.begin[rows].min()),
                end_s=None if bool(own.open[rows].any()) else int(own.end[rows].max()),
                nodes=hostlist.fold(nodes),
                count=len(nodes),
                kind=found.kinds[cause],
                what=history.causes[cause].what,
                lost_h=float(cost.charged[number]) / 3600,
                alone_h=float(cost.alone[number]) / 3600,
                would_meet=bool(0 < short <= cost.alone[number]),
                scheduled=bool(found.scheduled[own.record[rows[0]]]),
            )
        )
    return tuple(listed)
