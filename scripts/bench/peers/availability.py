"""A year of a large machine: events of a batch engine from their text to the verdict, beside reading them and no more.

The history is drawn from a seed and written as `sacctmgr -P show event` prints it. Its truth is worked out apart, node
by node with plain integers: the union of each node's outages, times its processors. Each pass is compared with it, to the
processor-second. One event in twenty overlaps the one before it; 200 incidents take a rack of 64 nodes each.

Timed are reading (text to columns), the judgement (a sliding 30-day window and all that the report says), and both; each
pass is a process of its own. Beside it: reading every line and splitting it, which nothing in Python undercuts, and DuckDB
reading the same file into a table.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Option

from . import Figure, Group, Pass, Rates, Row

BEGIN_S = 1_760_000_400
SEED = 20261122
REASONS = (
    (2049, "DOWN*", "Not responding"),
    (514, "DRAIN", "HC: GPU 2 fell off the bus | Xid 79"),
    (1, "DOWN", "DIMM ECC errors"),
    (514, "DRAIN", "Prolog error"),
    (1, "DOWN", "Node unexpectedly rebooted"),
    (514, "DRAIN", "Kill task failed"),
)


def generate(path: Path, nodes: int, days: float, events: int) -> dict[str, int]:
    """The file and its truth: lost processor-seconds, and how many there are in all."""
    random = np.random.default_rng(SEED)
    span = round(days * 86400)
    width = len(str(nodes))
    single = events - 200 * 64 if events > 40 * 64 * 200 else events
    node = random.integers(0, nodes, single)
    begin = BEGIN_S + random.integers(0, span, single)
    length = np.maximum(1, random.exponential(span / (events / nodes) / 40, single).astype(np.int64))
    twice = np.flatnonzero(random.random(single) < 0.05)
    twice = twice[twice > 0]
    node[twice], begin[twice] = node[twice - 1], begin[twice - 1] + length[twice - 1] // 2
    reason = random.integers(0, len(REASONS), single)
    for _ in range((events - single) // 64):
        rack, at = int(random.integers(0, max(1, nodes - 64))), BEGIN_S + int(random.integers(0, span))
        node = np.concatenate((node, np.arange(rack, rack + 64)))
        begin = np.concatenate((begin, at + np.arange(64)))
        length = np.concatenate((length, np.full(64, 7200)))
        reason = np.concatenate((reason, np.zeros(64, np.int64)))
    end = np.minimum(begin + length, BEGIN_S + span)
    order = np.lexsort((node, begin))
    tres = "billing=128,cpu=128,gres/gpu=4,mem=512000M"
    with open(path, "w", encoding="utf-8") as out:
        out.write("Cluster|NodeName|TimeStart|TimeEnd|StateRaw|State|TRES|Cluster Nodes|User|Reason\n")
        whole = f"cpu={128 * nodes},gres/gpu={4 * nodes},node={nodes}"
        names = f"n[{0:0{width}d}-{nodes - 1:0{width}d}]"
        out.write(f"big||{BEGIN_S}|{BEGIN_S + span}|0||{whole}|{names}||Cluster Registered TRES\n")
        for at in order.tolist():
            raw, word, why = REASONS[reason[at]]
            out.write(f"big|n{node[at]:0{width}d}|{begin[at]}|{end[at]}|{raw}|{word}|{tres}||root(0)|{why}\n")
    return {"lost": 128 * _union(node, begin, end), "scheduled": 128 * nodes * span, "events": len(node)}


def _union(node: Any, begin: Any, end: Any) -> int:
    """Seconds in which nodes were out, by plain integers."""
    total, here, reach = 0, -1, 0
    for at in np.lexsort((begin, node)).tolist():
        if node[at] != here:
            here, reach = int(node[at]), 0
        low = max(int(begin[at]), reach)
        if end[at] > low:
            total += int(end[at]) - low
            reach = int(end[at])
    return total


def shakedown(path: Path, lost: int, scheduled: int) -> dict[str, float]:
    """Seconds of either part. Raises Wrong where the sums are not those of the generator."""
    from shakedown.hosts.access import LocalHost
    from shakedown.operate.availability import contract, evaluate, reading

    begun = time.monotonic()
    history = reading.read([str(path)], LocalHost(), begin_s=None, end_s=None)
    read = time.monotonic()
    low, high = history.seen[0][0], history.seen[-1][1]
    whole = evaluate.evaluate(history, contract.load("thufir"), low, high)[0].whole
    judged = time.monotonic()
    if whole is None or whole.level is None or (whole.lost, whole.scheduled) != (lost, scheduled):
        raise common.Wrong(f"the sums are wrong: {whole}, and not {lost} lost of {scheduled} scheduled")
    return {"reading": read - begun, "judging": judged - read, "level": whole.level}


def split_lines(path: Path, *_: int) -> dict[str, float]:
    with open(path, encoding="utf-8") as file:
        return {"fields": sum(len(line.split("|", 9)) for line in file)}


def duckdb_read(path: Path, *_: int) -> dict[str, float]:
    import duckdb

    with duckdb.connect() as db:
        db.execute("set threads = 2")
        columns = "delim = '\x01', header = false, columns = {'line': 'varchar'}"
        query = f"select count(*) from read_csv('{path}', {columns}) where string_split(line, '|')[3] <> ''"
        found = db.execute(query).fetchone()
        return {"rows": found[0] if found else 0}


CANDIDATES: dict[str, Callable[..., dict[str, float]]] = {
    "shakedown": shakedown,
    "split every line": split_lines,
    "duckdb, split": duckdb_read,
}


def one(name: str, path: Path, truth: dict[str, int]) -> Rates:
    return {name: common.in_process(CANDIDATES[name], path, truth["lost"], truth["scheduled"])}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(asked.folder or scratch) / "events.txt"
        truth = generate(path, asked.nodes, asked.days, asked.events)
        passes = [Pass(name, partial(one, name, path, truth)) for name in CANDIDATES]
        parts = dict.fromkeys(("reading", "judging"), Figure("s", better=""))
        counts = dict.fromkeys(("fields", "rows"), Figure("", better=""))
        figures = {
            "seconds": Figure("s", better="lower"),
            "peak": Figure("MB", 1e-6, better=""),
            **parts,
            **counts,
            "level": Figure("%", 100, better=""),
        }
        size = (
            f"{asked.nodes} nodes x {asked.days:g} days, {truth['events']} events in {path.stat().st_size / 1e6:.0f} MB"
        )
        yield Group(size, figures, passes, ["shakedown"])


ROW = Row(
    groups,
    rounds=3,
    options={
        "nodes": Option(10_000, 20),
        "days": Option(365.0, 30.0),
        "events": Option(1_000_000, 200),
        "folder": Option("", help="where the file is made; empty: a temporary one"),
    },
)
