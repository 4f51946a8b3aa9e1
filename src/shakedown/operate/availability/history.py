"""A history as columns: which nodes there were, what was recorded of them, when nobody looked.

Rows, not objects: a year of 10,000 nodes with a million records is read into about 60 MB. ``Builder`` is filled by the
readers, ``History`` is what they leave; it is never changed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadInput, nearest
from ...records import Notice
from .records import Source, notice
from .words import STATES, State

Ints = NDArray[np.int64]
#: The end of what is not over; later than any time that is told apart.
OPEN_S = 1 << 36
#: A share is kept in ten-thousandths of a node.
WHOLE = 10_000
STATE_CODE: dict[State, int] = {state: code for code, state in enumerate(STATES)}


@dataclass(frozen=True, slots=True)
class Cause:
    """What is told of a record, kept once for all that tell the same. ``kind`` is "" where the reader leaves it to
    the reason; ``engine`` says who wrote it: slurm, gridengine, watch, sinfo, csv; ``raw`` is Slurm's number."""

    what: str
    kind: str = ""
    engine: str = "csv"
    note: str = ""
    raw: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """``first_seen_s`` is when a watch saw it first: Slurm does not record when a reservation was made."""

    name: str
    begin_s: int
    end_s: int
    nodes: tuple[int, ...]
    flags: tuple[str, ...] = ()
    first_seen_s: int | None = None


@dataclass(frozen=True, slots=True)
class Events:
    """Records of nodes, row by row. ``announced`` and ``late`` are -1 where they are not known; ``late`` is by how much at
    most the begin was noticed late, as a watch measured it; ``mask`` has a bit for each GPU that is lost."""

    node: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    begin: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    end: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    state: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    cause: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    share: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    mask: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    announced: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    late: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    cpus: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # as the record itself says; -1 where it does not

    def __len__(self) -> int:
        return len(self.node)

    def take(self, rows: NDArray[Any]) -> Events:
        return Events(**{name: getattr(self, name)[rows] for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Presence:
    """When a node belonged to the machine, and with what."""

    node: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    begin: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    end: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    cpus: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    gpus: Ints = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Gaps:
    """When nobody looked: at one node, or at all of them (-1)."""

    node: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    begin: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    end: Ints = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class History:
    names: tuple[str, ...]
    presence: Presence
    events: Events
    causes: tuple[Cause, ...]
    gaps: Gaps
    seen: tuple[tuple[int, int], ...]  # when anybody looked at all: beyond it nothing is observed
    reservations: tuple[Reservation, ...] = ()
    sources: tuple[Source, ...] = ()
    notices: tuple[Notice, ...] = ()
    settings: Mapping[str, float] = field(
        default_factory=dict
    )  # slurmd_timeout_s, health_interval_s as the engine says

    def only(self, rows: NDArray[Any]) -> History:
        """The same with these events alone."""
        return replace(self, events=self.events.take(rows))

    def cpus_of(self, nodes: NDArray[np.int32]) -> Ints:
        """The processors of nodes, as the inventory has them."""
        size = np.zeros(len(self.names), np.int64)
        size[self.presence.node] = self.presence.cpus
        found: Ints = size[nodes]
        return found


class Builder:
    """Collects rows from readers."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._causes: dict[Cause, int] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._blocks: list[Events] = []
        self._presence: list[tuple[int, int, int, int, int]] = []
        self._gaps: list[tuple[int, int, int]] = []
        self.seen: list[tuple[int, int]] = []
        #: Tables that do not say for which time they speak: for all of it, if they are all that there is.
        self.taken_as_complete: list[str] = []
        self.reservations: list[Reservation] = []
        self.sources: list[Source] = []
        self.notices: list[Notice] = []
        self.settings: dict[str, float] = {}
        self._wanted: list[tuple[int, int, str]] = []  # node, GPUs as bits, where it was said

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._index)

    def node(self, name: str) -> int:
        return self._index.setdefault(name, len(self._index))

    def cause(self, cause: Cause) -> int:
        return self._causes.setdefault(cause, len(self._causes))

    def present(self, name: str, begin_s: int, end_s: int, cpus: int, gpus: int = 0) -> None:
        self._presence.append((self.node(name), begin_s, end_s, cpus, gpus))

    def gap(self, name: str | None, begin_s: int, end_s: int) -> None:
        if end_s > begin_s:
            self._gaps.append((-1 if name is None else self.node(name), begin_s, end_s))

    def event(
        self,
        name: str,
        begin_s: int,
        end_s: int,
        state: State,
        cause: Cause,
        *,
        share: int = WHOLE,
        mask: int = 0,
        announced_s: int = -1,
        late_s: int = -1,
        cpus: int = -1,
        where: str = "",
    ) -> None:
        """One record. ``where`` is kept for the message if no source knows the node."""
        if end_s > begin_s:
            index = self.node(name)
            if where:
                self._wanted.append((index, mask, where))
            row = (index, begin_s, end_s, STATE_CODE[state], self.cause(cause), share, mask, announced_s, late_s, cpus)
            self._rows.append(row)

    def block(self, events: Events) -> None:
        """Many records at once, their nodes and causes numbered by this builder."""
        self._blocks.append(events)

    def has_inventory(self) -> bool:
        return bool(self._presence)

    def _check(self, presence: Presence) -> None:
        """Whether people's records are of nodes and GPUs that there are. Raises BadInput with the line."""
        gpus: dict[int, int] = {}
        for node, count in zip(presence.node.tolist(), presence.gpus.tolist(), strict=True):
            gpus[node] = max(count, gpus.get(node, 0))
        names = self.names
        for index, mask, where in self._wanted:
            if index not in gpus:
                near = nearest(names[index], [names[one] for one in gpus])
                hint = f"did you mean {near!r}?" if near else "name all nodes: --nodes 'node[1-4] processors=4'"
                raise BadInput(f"there is no node {names[index]!r}", where=where, hint=hint)
            if mask >> gpus[index]:
                raise BadInput(
                    f"{names[index]} has {gpus[index]} GPUs, and not one of number {mask.bit_length() - 1}",
                    where=where,
                    hint="numbers begin at 0; the inventory gives their number (gpus=4)",
                )

    def history(self) -> History:
        """What was collected. Raises BadInput for a record of a node that no source knows, and where there are no nodes."""
        presence = _presence(self._presence)
        names = self.names
        self._check(presence)
        blocks = [*self._blocks, _rows(self._rows)]
        events = Events(**{name: np.concatenate([getattr(one, name) for one in blocks]) for name in Events.__slots__})
        here = np.zeros(len(names), bool)
        here[presence.node] = True
        notices, seen = list(self.notices), list(self.seen)
        if self.taken_as_complete and not seen:
            seen = [(0, OPEN_S)]
            text = f"{', '.join(self.taken_as_complete)}: taken as complete, what is not listed counts as up"
            notices.append(notice("taken-as-complete", text, "rows of the kind 'observed' say otherwise"))
        lost = int(np.count_nonzero(~here[events.node])) if len(events) else 0
        if lost:
            text = f"{lost} records are of nodes that no inventory knows; they count for nothing"
            notices.append(notice("strangers", text))
            events = events.take(here[events.node])
        gap_node, gap_begin, gap_end = _columns(self._gaps, 3)
        return History(
            names=names,
            presence=presence,
            events=events,
            causes=tuple(self._causes),
            gaps=Gaps(gap_node.astype(np.int32), gap_begin, gap_end),
            seen=union(seen),
            reservations=tuple(self.reservations),
            sources=tuple(self.sources),
            notices=tuple(notices),
            settings=dict(self.settings),
        )


def _rows(rows: Sequence[tuple[Any, ...]]) -> Events:
    if not rows:
        return Events()
    columns = list(zip(*rows, strict=True))
    kinds = {"node": np.int32, "state": np.uint8, "cause": np.int32, "share": np.int32, "mask": np.uint64}
    named = zip(Events.__slots__, columns, strict=True)
    return Events(**{name: np.array(column, kinds.get(name, np.int64)) for name, column in named})


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> list[Ints]:
    table = np.array(rows, np.int64).reshape(-1, width)
    return [table[:, at].copy() for at in range(width)]


def _presence(rows: Sequence[tuple[int, int, int, int, int]]) -> Presence:
    """Rows parted so that no node is there twice at once: of two that overlap, the one that was given later holds."""
    last: dict[int, list[tuple[int, int, int, int]]] = {}
    for node, begin, end, cpus, gpus in rows:
        kept = []
        for one in last.get(node, ()):
            if one[0] < begin:
                kept.append((one[0], min(one[1], begin), one[2], one[3]))
            if one[1] > end:
                kept.append((max(one[0], end), one[1], one[2], one[3]))
        last[node] = [*(one for one in kept if one[1] > one[0]), (begin, end, cpus, gpus)]
    flat = [(node, *one) for node, parts in last.items() for one in _joined(parts)]
    nodes, *others = _columns(flat, 5)
    return Presence(nodes.astype(np.int32), *others)


def _joined(parts: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Intervals in order; those that touch and are of the same size as one."""
    found: list[tuple[int, int, int, int]] = []
    for one in sorted(part for part in parts if part[1] > part[0]):
        if found and found[-1][1] == one[0] and found[-1][2:] == one[2:]:
            found[-1] = (found[-1][0], *one[1:])
        else:
            found.append(one)
    return found


def distinct(values: Ints) -> Ints:
    """The different values in order. By sorting: numpy's own way by hashing is slower for millions of times."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    found: Ints = ordered[first]
    return found


def union(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Intervals without overlaps, in order."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > begin:
            found.append((begin, end))
    return tuple(found)


def intersection(left: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """What both of two lists of intervals hold."""
    return union([(max(a, c), min(b, d)) for a, b in left for c, d in right if min(b, d) > max(a, c)])


def complement(spans: Sequence[tuple[int, int]], begin: int, end: int) -> tuple[tuple[int, int], ...]:
    """What is left of a stretch beside intervals that are in order and do not overlap."""
    found, at = [], begin
    for low, high in spans:
        if low > at:
            found.append((at, min(low, end)))
        at = max(at, high)
    if at < end:
        found.append((at, end))
    return tuple(one for one in found if one[1] > one[0])
