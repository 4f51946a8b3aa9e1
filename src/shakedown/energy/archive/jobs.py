"""Which job had which nodes from when to when: from a CSV or Parquet file, as accounting writes them.

Columns: ``job`` (or job_id, jobid), ``nodes`` (or node, nodelist, hosts; ``n[001-003,7],m4`` or names with spaces, commas
or semicolons between), ``begin`` (or start) and ``end``; with ``weight`` (or cores, cpus) where nodes are shared. A job
may have several rows: one a node, or one a stretch. Times as everywhere: Unix seconds to nanoseconds, or ISO 8601.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import times
from ...errors import BadInput
from ...files.packed import opened_text
from ...hosts import hostlist
from ...metering.trace import Floats, Ints

_GIVE = "give a CSV or Parquet file of jobs"

_NAMES = {
    "job": ("job", "job_id", "jobid", "id"),
    "nodes": ("nodes", "node", "nodelist", "hosts", "host"),
    "begin": ("begin", "start", "begin_ns", "start_time"),
    "end": ("end", "end_ns", "stop", "end_time"),
    "weight": ("weight", "cores", "cpus", "ncpus", "alloccpus"),
}
#: A job on a node is one place; so many take some 3 GB.
_MOST_PLACES = 20_000_000
_OPEN = ("", "unknown", "none", "nan", "running")


class Jobs(NamedTuple):
    """Rows of (job, node): ``job`` points into ``ids``."""

    ids: tuple[str, ...]
    job: Ints
    node: tuple[str, ...]
    begin_ns: Ints
    end_ns: Ints
    weight: Floats
    by_node: dict[str, list[int]]
    open_ids: tuple[str, ...] = ()  # without an end: they run until the end of the period

    def on(self, node: str) -> Jobs:
        """The rows of one node."""
        rows = np.array(self.by_node.get(node, []), np.intp)
        return Jobs((), self.job[rows], (), self.begin_ns[rows], self.end_ns[rows], self.weight[rows], {})

    def span_s(self) -> Floats:
        """The time of each job's nodes, added up, in s."""
        out = np.zeros(len(self.ids))
        np.add.at(out, self.job, (self.end_ns - self.begin_ns) / 1e9)
        return out

    def missing(self, have: set[str]) -> tuple[tuple[str, ...], ...]:
        """For each job, its nodes that are not among ``have``."""
        lacking: dict[int, list[str]] = {}
        for node, rows in self.by_node.items():
            if node not in have:
                for row in rows:
                    lacking.setdefault(int(self.job[row]), []).append(node)
        return tuple(tuple(sorted(set(lacking.get(index, ())))) for index in range(len(self.ids)))


def none() -> Jobs:
    """No jobs at all."""
    empty = np.empty(0, np.int64)
    return Jobs((), empty, (), empty, empty, np.empty(0), {})


def jobs(rows: list[tuple[str, str, int, int, float]]) -> Jobs:
    """From (job, node, begin in ns, end in ns, weight)."""
    ids = tuple(dict.fromkeys(row[0] for row in rows))
    place = {name: index for index, name in enumerate(ids)}
    by_node: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        by_node.setdefault(row[1], []).append(number)
    return Jobs(
        ids,
        np.array([place[row[0]] for row in rows], np.int64),
        tuple(row[1] for row in rows),
        np.array([row[2] for row in rows], np.int64),
        np.array([row[3] for row in rows], np.int64),
        np.array([row[4] for row in rows], np.float64),
        by_node,
    )


def read(path: Path, *, zone: str = "", until_ns: int | None = None) -> Jobs:
    """The jobs of a file. One without an end runs until ``until_ns``. Raises BadInput."""
    columns = _columns(path)
    found = {key: _pick(columns, key, path) for key in _NAMES}
    where = str(path)
    for key in ("job", "nodes", "begin", "end"):
        if found[key] is None:
            raise BadInput(
                f"there is no column for {key}",
                where=where,
                hint=f"one of {', '.join(_NAMES[key])}; there are: {', '.join(columns)}",
            )
    ids = [str(cell) for cell in found["job"] or []]
    begins = times.stamps(found["begin"], zone, f"{where}, begin")
    still = np.array([str(cell).strip().lower() in _OPEN for cell in found["end"] or []], bool)
    if still.any() and until_ns is None:
        raise BadInput("a job has no end", where=where, hint="leave it out, or give the end of the period with --end")
    ends = np.full(len(ids), until_ns or 0, np.int64)
    ends[~still] = times.stamps(
        [cell for cell, open_ in zip(found["end"] or [], still, strict=True) if not open_], zone, f"{where}, end"
    )
    weights = _weights(found["weight"], len(ids), where)
    rows: list[tuple[str, str, int, int, float]] = []
    for number, (name, text) in enumerate(zip(ids, found["nodes"] or [], strict=True)):
        begin, end = int(begins[number]), int(ends[number])
        if end < begin:
            raise BadInput(f"job {name} ends before it begins", where=f"{where}, row {number + 2}", hint="fix that row")
        names = expand(str(text), f"{where}, row {number + 2}")
        if len(rows) + len(names) > _MOST_PLACES:
            raise BadInput(
                f"its jobs have more than {_MOST_PLACES:,} nodes in all",
                where=where,
                hint="give the jobs of a shorter period",
            )
        rows += [(name, node, begin, end, float(weights[number])) for node in names]
    made = jobs(rows)
    return made._replace(open_ids=tuple(name for name, open_ in zip(ids, still, strict=True) if open_))


def _weights(cells: Any, count: int, where: str) -> Floats:
    if cells is None:
        return np.ones(count)
    try:
        weights = np.array(cells, np.float64)
    except (TypeError, ValueError):
        raise BadInput(
            "a weight is not a number", where=where, hint="the cores that the job has on each node"
        ) from None
    if np.any(~(weights > 0)):
        raise BadInput("a weight is not above zero", where=where, hint="the cores that the job has on each node")
    return weights


def _columns(path: Path) -> dict[str, list[Any]]:
    if path.suffix.lower() == ".parquet":
        import duckdb

        try:
            with duckdb.connect() as db:
                found = db.execute("select * from read_parquet(?)", [str(path)])
                names = [column[0] for column in found.description or []]
                rows = found.fetchall()
        except duckdb.Error:
            raise BadInput("cannot be read as Parquet", where=str(path), hint="give the jobs' file") from None
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}
    try:
        with opened_text(path, encoding="utf-8-sig", errors="strict", newline="", hint=_GIVE) as file:
            head = file.readline()
            file.seek(0)
            # A bar comes first: sacct --parsable2 has commas within its lists of nodes.
            delimiter = "|" if "|" in head else max(",;\t", key=head.count)
            lines = [row for row in csv.reader(file, delimiter=delimiter) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = (error.strerror or "") if isinstance(error, OSError) else "it is not UTF-8 text with cells"
        raise BadInput(f"cannot be read: {why}", where=str(path), hint=_GIVE) from None
    if not lines:
        raise BadInput("is empty", where=str(path), hint="a line of names, then a line a job: job,nodes,begin,end")
    names = [name.strip() for name in lines[0]]
    for number, row in enumerate(lines[1:], start=2):
        if len(row) != len(names):
            raise BadInput(
                f"row {number} has {len(row)} cells for {len(names)} names",
                where=str(path),
                hint='quote a list of nodes that has commas: "n[1-3],m4"',
            )
    return {name: [row[at] for row in lines[1:]] for at, name in enumerate(names)}


def _pick(columns: dict[str, list[Any]], key: str, path: Path) -> list[Any] | None:
    lower = {name.lower(): name for name in columns}
    return next((columns[lower[name]] for name in _NAMES[key] if name in lower), None)


def expand(text: str, where: str = "") -> list[str]:
    """``n[001-003,7],m4`` as names, each once. Raises BadInput."""
    try:
        names = hostlist.expand(re.sub(r"[;+]", ",", text), most=hostlist.MOST_NODES)
    except BadInput as error:
        raise BadInput(error.what, where=where, hint=error.hint) from None
    if not names:
        raise BadInput(f"{text!r} names no nodes", where=where, hint="n[001-003,7],m4, or names with spaces between")
    return list(dict.fromkeys(names))
