"""Slurm: the accounting's node events (`sacctmgr show event`), its reservations, and the engine's settings.

What bites, each seen on a real Slurm (22.05):

- An event is a record of a node that is *not* well; a node without one was up. Rows without a node name are the cluster's
  own: from when on it had which nodes and how much of everything. They are the inventory over time.
- The reason is free text and may hold the delimiter and line breaks: it is asked for last.
- When the cluster's resources change, every open event is ended and begun anew: one outage in two rows.
- A drain of a node with jobs is written when the last job has gone, not when it was ordered.
- "slurmctld disconnect" rows (only with TrackSlurmctldDown=yes) tell that the controller was away; otherwise the database
  does not know. sacctmgr prints no JSON for events.
- When a reservation was made is not recorded, only when it began: its notice must come from a watch.
- slurmdbd may purge old events (PurgeEventAfter): keep them with `shakedown availability import`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from ....errors import BadInput
from ....files.packed import opened_text
from ....hosts.hostlist import expand
from ....records import Notice
from ....units import whole_number
from ..history import OPEN_S, STATE_CODE, WHOLE, Builder, Cause, Events, Ints
from ..records import Source
from ..words import of_slurm_number, of_slurm_word

FIRST = ("Cluster", "NodeName", "TimeStart", "TimeEnd")
#: The columns that are asked for; the free text stands last.
ASKED = "Cluster,NodeName,TimeStart,TimeEnd,StateRaw,State,TRES,ClusterNodes,User,Reason"
#: Flags of a raw state (slurm.h).
#: A node's state has 32 bits (slurm.h).
_MOST_FLAGS = 2**32 - 1
MAINT_FLAG, CLOUD_FLAG, POWERED_DOWN_FLAG, FUTURE = 1 << 15, 1 << 7, 1 << 12, 6
_EARLIER_NAMES = {"cluster nodes": "ClusterNodes"}


#: Begin, end, nodes, resources, and "0" or the state of a controller that was away.
_ClusterRow = tuple[str, str, str, str, str]


def is_mine(head: str) -> bool:
    first = head.partition("\n")[0]
    return "|" in first and {"Cluster", "NodeName"} <= set(first.split("|"))


def read(builder: Builder, path: Path, zone: str) -> None:
    """What `sacctmgr -P show event` printed, with its head; times as Unix seconds (SLURM_TIME_FORMAT=%s) or with a zone."""
    with opened_text(path, newline="\n") as file:
        head = next(file).rstrip("\n").split("|")
        if tuple(head[:4]) != FIRST or head[-1] not in ("Reason", "User", "TRES", "State", "ClusterNodes", ""):
            raise BadInput(
                f"the first columns are not {', '.join(FIRST)}, or the free text does not stand last",
                where=str(path),
                hint=f"SLURM_TIME_FORMAT=%s sacctmgr -P show event start=... format={ASKED}",
            )
        events(builder, file, head, str(path), zone, now_s=None)


# -------------------------------------------------------------------------------------------------------------- events


def events(
    builder: Builder,
    lines: Iterator[str],
    head: list[str],
    where: str,
    zone: str,
    *,
    now_s: int | None,
    known: dict[str, tuple[int, int]] | None = None,
) -> None:
    """Read rows into the builder: records of nodes as one block, rows of the cluster as the inventory."""
    cluster, rows = _read(builder, lines, head, where)
    if not cluster and not builder.has_inventory():
        raise BadInput(
            "no row describes the cluster itself, so it is not known which nodes there were",
            where=where,
            hint="leave the condition on nodes out, ask from an earlier start, or give --nodes",
        )
    block = _block(rows, builder, where, zone)
    if len(block):
        builder.block(block)
    seen = _inventory(builder, cluster, block, known or {}, where, zone, now_s)
    builder.sources.append(Source(where, "slurm", len(rows.node), *(seen or ())))


class _Rows:
    """Columns of records as they are read; ``alike`` numbers the state, cause and processors that a record tells of."""

    def __init__(self) -> None:
        self.node: list[int] = []
        self.begin: list[str] = []
        self.end: list[str] = []
        self.alike: list[int] = []
        self.told: list[tuple[int, int, int]] = []  # of each number: state, cause, processors


def _read(builder: Builder, lines: Iterator[str], head: list[str], where: str) -> tuple[list[_ClusterRow], _Rows]:
    """The rows of the cluster, and those of nodes. What stands behind the times is alike in most rows and read once."""
    ending = _Ending(builder, [_EARLIER_NAMES.get(name.lower(), name) for name in head[4:]])
    cluster: list[_ClusterRow] = []
    rows = _Rows()
    alike: dict[str, int] = {}
    nodes: dict[str, int] = {}
    own = last = ""
    for line in lines:
        fields = line.split("|", 4)
        number = alike.get(fields[4]) if len(fields) == 5 and fields[1] else None
        if number is None:
            if len(fields) < 5 or not ending.whole(fields[4]):
                if last and line.strip():  # the free text of the record before held a line break
                    last = f"{last.rstrip()} {line.strip()}"
                    rows.alike[-1] = ending.number(last, rows)
                continue
            own = _one_cluster(own, fields[0], where)
            if not fields[1]:
                cluster.append((fields[2], fields[3], *ending.of_cluster(fields[4])))
                last = ""
                continue
            number = alike[fields[4]] = ending.number(fields[4], rows)
        if fields[0] != own:
            own = _one_cluster(own, fields[0], where)
        last = fields[4]
        node = nodes.get(fields[1])
        if node is None:
            node = nodes[fields[1]] = builder.node(fields[1])
        rows.node.append(node)
        rows.begin.append(fields[2])
        rows.end.append(fields[3])
        rows.alike.append(number)
    return cluster, rows


class _Ending:
    """What stands behind the first four columns: state, resources, nodes, reason."""

    def __init__(self, builder: Builder, head: list[str]) -> None:
        self._builder = builder
        self._width = len(head) - 1
        self._at = {name: at for at, name in enumerate(head)}
        self._raw = "StateRaw" in self._at

    def whole(self, text: str) -> bool:
        return text.count("|") >= self._width

    def _field(self, fields: list[str], name: str) -> str:
        return fields[self._at[name]] if name in self._at else ""

    def of_cluster(self, text: str) -> tuple[str, str, str]:
        """Nodes, resources, and "0" or the state of a controller that was away."""
        fields = text.rstrip("\n").split("|", self._width)
        away = self._raw and "disconnect" in self._field(fields, "Reason")
        state = self._field(fields, "StateRaw") if away else "0"
        return self._field(fields, "ClusterNodes"), self._field(fields, "TRES"), state

    def number(self, text: str, rows: _Rows) -> int:
        """The number of a state, a cause and processors that are new."""
        fields = text.rstrip("\n").split("|", self._width)
        word = self._field(fields, "StateRaw" if self._raw else "State")
        state, cause = _cause(self._builder, word, self._field(fields, "Reason"), raw=self._raw)
        rows.told.append((state, cause, _tres(self._field(fields, "TRES")).get("cpu", -1)))
        return len(rows.told) - 1


def _one_cluster(own: str, name: str, where: str) -> str:
    """The name of the cluster that a file is of. Raises BadInput where it is of several: their nodes may be named alike."""
    if own and name != own:
        raise BadInput(
            f"holds the events of several clusters: {own}, {name}",
            where=where,
            hint=f"ask for one: sacctmgr -P show event cluster={own} ...",
        )
    return name


def _cause(builder: Builder, word: str, reason: str, *, raw: bool) -> tuple[int, int]:
    """The code of the state and the number of the cause of a record."""
    stated = whole_number(word, most=_MOST_FLAGS) if raw else None
    number = MAINT_FLAG * ("$" in word) if stated is None else stated
    state = of_slurm_word(word) if stated is None else of_slurm_number(stated)
    told = reason or {"silent": "Not responding"}.get(state, "")
    cause = Cause(what=told, engine="slurm", raw=number, kind="maintenance" if number & MAINT_FLAG else "")
    return STATE_CODE[state], builder.cause(cause)


def _block(rows: _Rows, builder: Builder, where: str, zone: str) -> Events:
    """Rows as columns. A record without an end that another of the same node follows ended when that began: Slurm ends the
    one before it writes the next."""
    size = len(rows.node)
    if not size:
        return Events()
    begins, ends = _times(rows.begin, where, zone), _times(rows.end, where, zone)
    nodes = np.array(rows.node, np.int32)
    order = np.lexsort((begins, nodes))
    follows = np.full(size, OPEN_S)
    same = nodes[order][1:] == nodes[order][:-1]
    follows[order[:-1][same]] = begins[order][1:][same]
    stale = (ends >= OPEN_S) & (follows < OPEN_S)
    if stale.any():
        ends = np.where(stale, follows, ends)
        count = int(stale.sum())
        text = f"{count} events never ended though others of their nodes followed: they end where those begin"
        builder.notices.append(Notice(code="stale-events", text=text, advice="sacctmgr show event; slurmdbd lost rows"))
    fine = ends > begins
    told = np.array(rows.told, np.int64)[np.array(rows.alike, np.int64)]
    return Events(
        node=nodes,
        begin=begins,
        end=ends,
        state=told[:, 0].astype(np.uint8),
        cause=told[:, 1].astype(np.int32),
        share=np.full(size, WHOLE, np.int32),
        mask=np.zeros(size, np.uint64),
        announced=np.full(size, -1, np.int64),
        late=np.full(size, -1, np.int64),
        cpus=told[:, 2].copy(),
    ).take(fine)


def _times(texts: Sequence[str], where: str, zone: str) -> Ints:
    """Unix seconds; ``Unknown`` is an end that has not come. A local time needs its zone: an hour repeats each autumn."""
    try:
        return np.array([int(text) if text != "Unknown" else OPEN_S for text in texts], np.int64)
    except ValueError:
        return np.array([_local(text, where, zone) for text in texts], np.int64)


@lru_cache(maxsize=65536)
def _local(text: str, where: str, zone: str) -> int:
    from ....times import parse

    if text in ("Unknown", ""):
        return OPEN_S
    if (seconds := whole_number(text)) is not None:
        return seconds
    if not zone:
        raise BadInput(
            f"{text!r} is a local time without a zone",
            where=where,
            hint="ask with SLURM_TIME_FORMAT=%s in the environment, or give --zone",
        )
    return parse(text, zone, where) // 10**9


# ----------------------------------------------------------------------------------------------------------- inventory


def _tres(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"([\w/]+)(?::\w+)?=(\d+)", text)}


def _inventory(
    builder: Builder,
    cluster: list[_ClusterRow],
    block: Events,
    known: dict[str, tuple[int, int]],
    where: str,
    zone: str,
    now_s: int | None,
) -> tuple[int, int] | None:
    """Who was there from when to when, with how many processors; and for which time the database speaks."""
    own = _told(builder, block, known)
    spread = False
    last = int(block.begin.max(initial=0))
    finished = block.end[block.end < OPEN_S]
    last = max(last, int(finished.max(initial=0)))
    times = [(_times((begin,), where, zone)[0], _times((end,), where, zone)[0]) for begin, end, *_ in cluster]
    last = max([last, *(int(end) for _, end in times if end < OPEN_S), *(int(begin) for begin, _ in times)])
    until = now_s if now_s is not None else last
    seen: list[tuple[int, int]] = []
    told = sorted(zip(times, cluster, strict=True), key=lambda one: one[1][4] != "0")  # who is there, then who is away
    for (begin, end), (_, _, nodes, tres, state) in told:
        if state != "0":
            away = Cause("slurmctld disconnect", "controller", "slurm")
            for name in builder.names:
                builder.event(name, int(begin), int(end), "unknown", away)
            continue
        names = expand(nodes) if nodes else ()
        total = _tres(tres)
        sizes, guessed = _sized(names, own, total)
        spread = spread or guessed
        for name in names:
            builder.present(name, int(begin), int(end), *sizes[name])
        seen.append((int(begin), min(int(end), until) if end < OPEN_S else until))
    if spread:
        text = "the processors of each node are not reported; the rest is spread evenly over the nodes not reported"
        builder.notices.append(
            Notice(code="spread", text=text, advice="give --nodes 'node[1-4] processors=64', or ask a live Slurm")
        )
    builder.seen.extend(one for one in seen if one[1] > one[0])
    return (min(one[0] for one in seen), max(one[1] for one in seen)) if seen else None


def _told(builder: Builder, block: Events, known: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Processors and GPUs of nodes as the engine says now, or as their own events say."""
    names = builder.names
    own = dict(known)
    rows = np.flatnonzero(block.cpus >= 0)
    nodes, first = np.unique(block.node[rows], return_index=True)
    for node, at in zip(nodes.tolist(), rows[first].tolist(), strict=True):
        own.setdefault(names[node], (int(block.cpus[at]), -1))
    return own


def _sized(
    names: tuple[str, ...], own: dict[str, tuple[int, int]], total: dict[str, int]
) -> tuple[dict[str, tuple[int, int]], bool]:
    """(processors, GPUs) of each node so that they add up to what the cluster's row says, and whether that was a guess."""
    cpus = {name: own[name][0] for name in names if name in own}
    gpus = {name: own[name][1] for name in names if name in own and own[name][1] >= 0}
    every, guessed = total.get("cpu", 0), False
    if sum(cpus.values()) != every or len(cpus) != len(names):
        if len(cpus) == len(names):
            cpus = {}  # the nodes were others then
        cpus, guessed = _rest(names, cpus, every)
    if len(gpus) != len(names) or sum(gpus.values()) != total.get("gres/gpu", sum(gpus.values())):
        gpus, _ = _rest(names, gpus if len(gpus) < len(names) else {}, total.get("gres/gpu", 0))
    return {name: (cpus[name], gpus[name]) for name in names}, guessed


def _rest(names: tuple[str, ...], told: dict[str, int], total: int) -> tuple[dict[str, int], bool]:
    """What is left of a total spread over the nodes that nothing is told of; as whole numbers that add up to it."""
    rest = [name for name in names if name not in told]
    left = total - sum(told.values())
    if left < 0 or (not rest and left):
        rest, told, left = list(names), {}, total
    each, more = divmod(left, max(1, len(rest)))
    uneven = bool(more) or bool(told and each not in told.values())
    return {**told, **{name: each + (at < more) for at, name in enumerate(rest)}}, uneven
