"""Energy per job, per node and per hour from months of power readings of many nodes, in Parquet.

What it reads: files with a node's name, a time (Unix ns, or a timestamp) and a power in W a row. Files that are sorted by
node, then time, are read node by node (row groups of other nodes are skipped by their statistics); files that are sorted by
time alone are read slice by slice. Either way memory is bounded by ``CHUNK`` rows a process, whatever the size.

What a reading stands for (``scope``): "last", the interval up to its stamp, as averaging meters mean it; "next", the
interval from its stamp; "point", the moment, with straight lines between (trapezoids). Two stamps further apart than
``gap_s``, or a reading that is none, leave the interval unknown: it adds no energy and is missing from the covered share.

How it is exact: a node's time is cut at every begin and end of a job and at every hour; the energy of each stretch is
summed by itself, the interval that an edge falls into is parted in proportion to time (by the straight line where the
scope is "point"). Jobs and hours are sums of stretches. Where jobs share a node, a stretch is divided among them by
``shared``: equally, or by their weight (cores); so jobs and what no job used add up to the node.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import BadInput
from ...metering.trace import Floats, Ints
from .jobs import Jobs
from .layout import Archive, Group, by_node, slices, time_slices
from .segments import HOUR_NS, Rules, Segments, edges, hours, spans

#: From so many rows on, two processes are worth their start.
MANY = 60_000_000
DEFAULT = Rules()


class Totals(NamedTuple):
    """The result, in J and s. ``covered_s`` is the time that readings cover, ``span_s`` the time that there was: for a job
    its nodes' times added up."""

    begin_ns: int
    end_ns: int
    nodes: tuple[str, ...]
    node_j: Floats
    node_covered_s: Floats
    node_idle_j: Floats  # while no job ran
    node_rows: Ints
    node_gap_s: Floats  # the limit that was used
    job_ids: tuple[str, ...]
    job_j: Floats
    job_covered_s: Floats
    job_span_s: Floats
    job_missing: tuple[tuple[str, ...], ...]  # nodes of a job that the archive does not have
    hour_ns: Ints  # when each begins
    hour_j: Floats
    hour_covered_s: Floats
    hour_span_s: Floats
    rows: int


# -------------------------------------------------------------------------------------------------------- reading nodes


class _Part(NamedTuple):
    """What one process does: some nodes (or all, where the archive is by time)."""

    archive: Archive
    jobs: Jobs
    rules: Rules
    nodes: tuple[str, ...]
    begin_ns: int
    end_ns: int
    threads: int
    by_node: bool


class _Node(NamedTuple):
    """What came out for one node."""

    node: str
    energy_j: float
    covered_s: float
    idle_j: float
    rows: int
    gap_s: float
    shares: tuple[Ints, Floats, Floats]  # of jobs: index, J, covered s
    hour_j: Floats
    hour_covered_s: Floats


def totals(
    archive: Archive,
    jobs: Jobs,
    rules: Rules = DEFAULT,
    *,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    processes: int | None = None,
) -> Totals:
    """Everything, in one pass. The period is the archive's own unless it is given. Raises BadInput."""
    if archive.values.counter:
        rules = rules._replace(scope="counter")
    begin = min(group.begin_ns for group in archive.groups) if begin_ns is None else begin_ns
    end = max(group.end_ns for group in archive.groups) if end_ns is None else end_ns
    if end <= begin:
        raise BadInput("the period is empty", where="--begin, --end", hint="its begin comes before its end")
    nodes = _nodes(archive)
    ordered = by_node(archive, nodes)
    count = processes or (min(os.cpu_count() or 1, 2, len(nodes)) if archive.rows >= MANY else 1)
    if not ordered:
        count = 1
    threads = max(1, min(os.cpu_count() or 1, 2) // count)
    share = [_Part(archive, jobs, rules, nodes[index::count], begin, end, threads, ordered) for index in range(count)]
    if count == 1:
        found = _work(share[0])
    else:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
            found = [one for part in pool.map(_work, share) for one in part]
    return _gather(archive, jobs, sorted(found, key=lambda one: one.node), begin, end)


def _nodes(archive: Archive) -> tuple[str, ...]:
    if all(group.least == group.most for group in archive.groups):
        return tuple(sorted({group.least for group in archive.groups}))
    with _connected(2) as db:
        rows = db.execute(
            f'select distinct "{archive.node}"::varchar from read_parquet(?) order by 1', [list(archive.files)]
        ).fetchall()
    return tuple(str(row[0]) for row in rows if row[0] is not None)


def _connected(threads: int) -> Any:
    import duckdb

    db = duckdb.connect()
    db.execute(f"set threads = {threads}")
    db.execute("set memory_limit = '1GB'")
    return db


def _work(part: _Part) -> list[_Node]:
    import duckdb

    try:
        with _connected(part.threads) as db:
            return list(_by_node(db, part) if part.by_node else _by_time(db, part))
    except duckdb.Error:
        raise BadInput("the archive cannot be read", hint="check that no file is damaged or being written") from None


def _by_node(db: Any, part: _Part) -> Iterator[_Node]:
    """One node after the other, each in slices of time where it has many rows."""
    archive = part.archive
    of_node: dict[str, list[Group]] = {node: [] for node in part.nodes}
    names = sorted(part.nodes)
    for group in archive.groups:
        for node in names[bisect_left(names, group.least) : bisect_right(names, group.most)]:
            of_node[node].append(group)
    holds: dict[str, set[tuple[str, str]]] = {}
    for group in archive.groups:
        holds.setdefault(group.file, set()).add((group.least, group.most))
    for node in part.nodes:
        groups = [
            one
            for one in of_node[node]
            if one.end_ns >= part.begin_ns - _REACH and one.begin_ns <= part.end_ns + _REACH
        ]
        own = part.jobs.on(node)
        cut = Segments(edges(own.begin_ns, own.end_ns, part.begin_ns, part.end_ns), part.rules)
        for files, begin, end, whole in slices(groups):
            own_files = all(one == {(node, node)} for one in (holds[file] for file in files))
            t, v = _fetch(db, archive, files, "" if own_files else node, None if whole else (begin, end))
            cut.feed(t, v)
        yield _settle(node, cut, own, part)


_REACH = 3600 * 10**9  # readings so far outside the period still tell of its first and last interval


def _fetch(
    db: Any, archive: Archive, files: list[str], node: str, between: tuple[int, int] | None
) -> tuple[Ints, Floats]:
    """A node's readings of these files; all that they hold where no node is named."""
    wanted = [f'"{archive.node}" = ?'] * bool(node) + ([archive.stamps.between(*between)] if between else [])
    where = f" where {' and '.join(wanted)}" if wanted else ""
    query = f"select {archive.stamps.sql} as t, {archive.values.sql} as v from read_parquet(?){where}"
    return _columns(db.execute(query, [files, node] if node else [files]).fetchnumpy())


def _columns(found: dict[str, Any]) -> tuple[Ints, Floats]:
    """Stamps and values; a value that is null is NaN, a row without a stamp is left out."""
    t, v = found["t"], found["v"]
    if isinstance(v, np.ma.MaskedArray):
        v = np.ma.filled(v.astype(np.float64), np.nan)
    if v.dtype.kind != "f":
        v = v.astype(np.float64)
    if isinstance(t, np.ma.MaskedArray):
        good = ~np.ma.getmaskarray(t)
        t, v = np.ma.getdata(t)[good], v[good]
    return t.astype(np.int64, copy=False), v


def _by_time(db: Any, part: _Part) -> Iterator[_Node]:
    """All nodes at once, one slice of time after the other."""
    archive = part.archive
    own = {node: part.jobs.on(node) for node in part.nodes}
    cuts = {
        node: Segments(edges(own[node].begin_ns, own[node].end_ns, part.begin_ns, part.end_ns), part.rules)
        for node in part.nodes
    }
    names = np.array(part.nodes, object)
    db.execute("create table shakedown_nodes (shakedown_id integer, shakedown_node varchar)")
    db.executemany("insert into shakedown_nodes values (?, ?)", list(enumerate(part.nodes)))
    for begin, end in time_slices(archive):
        query = (
            f"select shakedown_id as id, {archive.stamps.sql} as t, {archive.values.sql} as v from read_parquet(?) "
            f'join shakedown_nodes on shakedown_node = "{archive.node}"::varchar '
            f"where {archive.stamps.between(begin, end)} order by 1, 2"
        )
        found = db.execute(query, [list(archive.files)]).fetchnumpy()
        ids = np.asarray(found["id"])
        t, v = _columns(found)
        if not len(ids):
            continue
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        for start, stop in zip(starts, [*starts[1:], len(ids)], strict=True):
            cuts[names[ids[start]]].feed(t[start:stop], v[start:stop])
    for node in part.nodes:
        yield _settle(node, cuts[node], own[node], part)


# -------------------------------------------------------------------------------------- from stretches to jobs and hours


def _settle(node: str, cut: Segments, own: Jobs, part: _Part) -> _Node:
    """A node's stretches given to its jobs and to the hours."""
    marks = cut.edges
    first = np.searchsorted(marks, np.clip(own.begin_ns, part.begin_ns, part.end_ns))
    last = np.searchsorted(marks, np.clip(own.end_ns, part.begin_ns, part.end_ns))
    weight = own.weight if part.rules.shared == "weight" else np.ones(len(own.job))
    running = np.zeros(len(marks))
    np.add.at(running, first, 1.0)
    np.add.at(running, last, -1.0)
    busy = np.cumsum(running)[:-1] > 0
    load = np.zeros(len(marks))
    np.add.at(load, first, weight)
    np.add.at(load, last, -weight)
    divisor: Floats = np.where(busy, np.cumsum(load)[:-1], 1.0)
    per_weight: Floats = np.where(busy, cut.energy_j / divisor, 0.0)
    covered_s = cut.covered_ns.astype(np.float64) / 1e9
    job_j = weight * spans(per_weight, first, last)
    job_s = spans(covered_s, first, last)
    hour = (marks[:-1] // HOUR_NS - part.begin_ns // HOUR_NS).astype(np.intp)
    count = len(hours(part.begin_ns, part.end_ns))
    return _Node(
        node,
        float(np.sum(cut.energy_j)),
        float(np.sum(cut.covered_ns)) / 1e9,
        float(np.sum(cut.energy_j[~busy])),
        cut.rows,
        cut.gap_ns / 1e9,
        (own.job, job_j, job_s),
        _counted(hour, cut.energy_j, count),
        _counted(hour, covered_s, count),
    )


def _counted(places: NDArray[np.intp], values: Floats, count: int) -> Floats:
    out = np.zeros(count)
    np.add.at(out, places, values)
    return out


def _gather(archive: Archive, jobs: Jobs, found: Iterable[_Node], begin_ns: int, end_ns: int) -> Totals:
    nodes = list(found)
    job_j, job_s = np.zeros(len(jobs.ids)), np.zeros(len(jobs.ids))
    for one in nodes:
        index, energy, covered = one.shares
        np.add.at(job_j, index, energy)
        np.add.at(job_s, index, covered)
    every = hours(begin_ns, end_ns)
    inside_s = (np.minimum(every + HOUR_NS, end_ns) - np.maximum(every, begin_ns)) / 1e9
    have = {one.node for one in nodes}
    return Totals(
        begin_ns,
        end_ns,
        tuple(one.node for one in nodes),
        np.array([one.energy_j for one in nodes]),
        np.array([one.covered_s for one in nodes]),
        np.array([one.idle_j for one in nodes]),
        np.array([one.rows for one in nodes], np.int64),
        np.array([one.gap_s for one in nodes]),
        jobs.ids,
        job_j,
        job_s,
        jobs.span_s(),
        jobs.missing(have),
        every,
        np.sum([one.hour_j for one in nodes], axis=0) if nodes else np.zeros(len(every)),
        np.sum([one.hour_covered_s for one in nodes], axis=0) if nodes else np.zeros(len(every)),
        inside_s * len(nodes),
        archive.rows,
    )
