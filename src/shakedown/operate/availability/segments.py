"""Records of nodes -> stretches in which nothing changes, a node at a time. Pure; numpy.

All intervals of all layers (who was there, what was recorded, what is excluded, where nobody looked) are cut at each other's
edges with one sort over ``node x span + time``. Within such a segment every record either holds throughout or not at all, so
records that overlap or come twice count once by construction: the greatest share is lost, GPUs are lost one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .contract import Contract
from .history import STATE_CODE, WHOLE, History, Ints, Presence, complement, distinct

Bools = NDArray[np.bool_]
#: Pairs of a record and a segment that are laid out at once.
_CHUNK = 8_000_000


@dataclass(frozen=True, slots=True)
class Claims:
    """Intervals that an exclusion takes, in the order of precedence: ``line`` says whose."""

    node: NDArray[np.int32]
    begin: Ints
    end: Ints
    line: NDArray[np.int32]

    @classmethod
    def none(cls) -> Claims:
        return cls(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True, slots=True)
class Segments:
    """``weight`` as the contract counts; ``lost`` in parts of ``parts`` of the node; ``owner`` is the row of the record that
    the loss is charged to, -1 where nothing is lost; ``claim`` the exclusion's line, -1 for none. ``lone`` is False where
    records of several rows overlap."""

    node: NDArray[np.int32]
    begin: Ints
    end: Ints
    weight: Ints
    lost: Ints
    owner: NDArray[np.int32]
    claim: NDArray[np.int32]
    seen: Bools
    lone: Bools
    parts: int
    begin_s: int
    end_s: int
    rows: Ints  # of the pairs below: a segment that several records cover, and the records
    covers: NDArray[np.int32]
    counted: Ints  # the records whose state counts as down

    @property
    def seconds(self) -> Ints:
        return self.end - self.begin


def segments(history: History, contract: Contract, begin_s: int, end_s: int, claims: Claims) -> Segments:
    """The segments of a stretch of time."""
    events, presence = history.events, history.presence
    rows = _counted(history, contract, begin_s, end_s)
    unknown = events.state == STATE_CODE["unknown"]
    blind = np.flatnonzero(unknown & (events.begin < end_s) & (events.end > begin_s))
    there = np.flatnonzero((presence.begin < end_s) & (presence.end > begin_s))
    unseen_node, unseen_begin, unseen_end = _unseen(history, presence.node[there], begin_s, end_s, blind)
    layers = [
        (presence.node[there], presence.begin[there], presence.end[there]),
        (events.node[rows], events.begin[rows], events.end[rows]),
        (claims.node, claims.begin, claims.end),
        (unseen_node, unseen_begin, unseen_end),
    ]
    keys, edges, span = _cut(layers, begin_s, end_s)
    node, offset = np.divmod(keys, span)
    size = max(0, len(keys) - 1)
    weight = _level(size + 1, *edges[0], _weights(presence, contract, there))[:size]
    gpus = _level(size + 1, *edges[0], presence.gpus[there])[:size]
    keep = (node[:-1] == node[1:]) & (weight > 0)
    place = np.cumsum(keep) - 1
    place[~keep] = -1
    parts, shares = _shares(history, contract, rows)
    cover = _cover(*edges[1], place)
    total = int(keep.sum())
    lost, owner, lone, pair_rows, pair_covers = _losses(
        history, rows, shares, parts, cover, gpus[keep], total, contract
    )
    claim = np.full(total, np.iinfo(np.int32).max, np.int32)
    for segment, row in _cover(*edges[2], place):
        np.minimum.at(claim, segment, claims.line[row])
    claim[claim == np.iinfo(np.int32).max] = -1
    unseen = _level(size + 1, *edges[3], np.ones(len(unseen_node), np.int64))[:size] > 0
    return Segments(
        node=node[:-1][keep].astype(np.int32),
        begin=offset[:-1][keep] + begin_s,
        end=offset[1:][keep] + begin_s,
        weight=weight[keep],
        lost=lost,
        owner=owner,
        claim=claim,
        seen=~unseen[keep],
        lone=lone,
        parts=parts,
        begin_s=begin_s,
        end_s=end_s,
        rows=pair_rows,
        covers=pair_covers,
        counted=rows,
    )


def _counted(history: History, contract: Contract, begin_s: int, end_s: int) -> Ints:
    """The records whose state counts as down. Those that only touch the stretch lose nothing in it, but tell whether an
    outage had begun before."""
    events = history.events
    down = np.zeros(len(STATE_CODE), bool)
    down[[STATE_CODE[one] for one in contract.down.states]] = True
    whole = (events.share >= WHOLE) & (events.mask == 0)
    counts = down[events.state] & (whole | (contract.down.partial != "none"))
    return np.flatnonzero(counts & (events.begin <= end_s) & (events.end >= begin_s))


# ------------------------------------------------------------------------------------------------------------- cutting


def _cut(
    layers: list[tuple[NDArray[np.int32], Ints, Ints]], begin_s: int, end_s: int
) -> tuple[Ints, list[tuple[Ints, Ints]], int]:
    """All edges, sorted and once, and for each layer the places of its begins and ends among them."""
    span = end_s - begin_s + 1
    flat = []
    for node, begin, end in layers:
        base = node.astype(np.int64) * span - begin_s
        flat += [base + np.clip(begin, begin_s, end_s), base + np.clip(end, begin_s, end_s)]
    keys, places = np.unique(np.concatenate(flat), return_inverse=True)
    edges, at = [], 0
    for node, _, _ in layers:
        size = len(node)
        edges.append((places[at : at + size], places[at + size : at + 2 * size]))
        at += 2 * size
    return keys, edges, span


def _level(size: int, low: Ints, high: Ints, amount: Ints) -> Ints:
    """The sum of ``amount`` over the intervals that cover each place."""
    change = np.zeros(size, np.int64)
    np.add.at(change, low, amount)
    np.subtract.at(change, high, amount)
    return np.cumsum(change)


def _cover(low: Ints, high: Ints, place: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of a kept segment and a row of the layer that covers it, in chunks."""
    count = np.maximum(high - low, 0)
    ends = np.cumsum(count)
    start = 0
    while start < len(count):
        base = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, base + _CHUNK, "right")))
        own = count[start:stop]
        row = np.repeat(np.arange(start, stop), own)
        within = np.arange(len(row)) - np.repeat(ends[start:stop] - own - base, own)
        segment = place[low[row] + within] if len(row) else np.empty(0, np.int64)
        kept = segment >= 0
        yield segment[kept], row[kept]
        start = stop


def _weights(presence: Presence, contract: Contract, there: Ints) -> Ints:
    size: Ints = (presence.gpus if contract.counting == "gpus" else presence.cpus)[there]
    return np.ones_like(size) if contract.counting == "nodes" else size


def _unseen(
    history: History, nodes: NDArray[np.int32], begin_s: int, end_s: int, blind: Ints
) -> tuple[NDArray[np.int32], Ints, Ints]:
    """When nobody looked: gaps of single nodes, their unknown states, and at all of them whatever no source saw."""
    gaps, events = history.gaps, history.events
    near = (gaps.begin < end_s) & (gaps.end > begin_s)
    whole = complement(history.seen, begin_s, end_s)
    every = distinct(nodes.astype(np.int64))
    node: list[NDArray[Any]] = [gaps.node[near], events.node[blind], *(every for _ in whole)]
    begin = [gaps.begin[near], events.begin[blind], *(np.full(len(every), low) for low, _ in whole)]
    end = [gaps.end[near], events.end[blind], *(np.full(len(every), high) for _, high in whole)]
    return np.concatenate(node).astype(np.int32), np.concatenate(begin), np.concatenate(end)


# -------------------------------------------------------------------------------------------------------------- losing


def _shares(history: History, contract: Contract, rows: Ints) -> tuple[int, Ints]:
    """Into how many parts a node is cut so that every share is whole, and the share of each record in these parts; what
    records say by GPUs is -1 here."""
    events = history.events
    if contract.down.partial == "whole":
        return 1, np.ones(len(rows), np.int64)
    share, mask = events.share[rows].astype(np.int64), events.mask[rows]
    plain = np.unique(share[mask == 0]).tolist()
    parts = math.lcm(1, *(WHOLE // math.gcd(WHOLE, one) for one in plain if one))
    masked = mask != 0
    if masked.any():
        gpus = np.unique(history.presence.gpus).tolist()
        parts = math.lcm(parts, *(one for one in gpus if one))
    return parts, np.where(masked, -1, share * parts // WHOLE)


def _losses(
    history: History,
    rows: Ints,
    shares: Ints,
    parts: int,
    cover: Iterator[tuple[Ints, Ints]],
    gpus: Ints,
    total: int,
    contract: Contract,
) -> tuple[Ints, NDArray[np.int32], Bools, Ints, NDArray[np.int32]]:
    """Of each segment: the parts lost, the record that they are charged to, whether only one holds there; then the pairs of
    segments and records where several do."""
    lost = np.zeros(total, np.int64)
    mask = np.zeros(total, np.uint64)
    count = np.zeros(total, np.int32)
    owner = np.full(total, -1, np.int32)
    chunks = list(cover)
    masked = bool((shares < 0).any())
    for segment, row in chunks:
        np.maximum.at(lost, segment, np.maximum(shares[row], 0))
        np.add.at(count, segment, 1)
        owner[segment] = rows[row]
        if masked:
            np.bitwise_or.at(mask, segment, np.where(shares[row] < 0, history.events.mask[rows[row]], np.uint64(0)))
    if masked:
        by_gpu = np.bitwise_count(mask).astype(np.int64) * parts // np.maximum(gpus, 1)
        lost = np.maximum(lost, np.minimum(by_gpu, parts))
    lone = count <= 1
    pairs = [(segment[~lone[segment]], row[~lone[segment]]) for segment, row in chunks]
    segment = np.concatenate([one for one, _ in pairs]) if pairs else np.empty(0, np.int64)
    row = np.concatenate([one for _, one in pairs]) if pairs else np.empty(0, np.int64)
    if len(row):
        own = np.where(
            shares[row] < 0,
            np.bitwise_count(history.events.mask[rows[row]]).astype(np.int64) * parts // np.maximum(gpus[segment], 1),
            shares[row],
        )
        order = np.lexsort((rows[row], history.events.begin[rows[row]], -own, segment))
        segment, row = segment[order], row[order]
        first = np.concatenate(([True], segment[1:] != segment[:-1]))
        owner[segment[first]] = rows[row[first]]
    owner[lost == 0] = -1
    return lost, owner, lone, segment, rows[row].astype(np.int32) if len(row) else np.empty(0, np.int32)
