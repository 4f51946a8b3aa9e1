"""How long a year of a large machine takes: events of a batch engine from their text to the verdict.

    python scripts/bench/availability.py [--json] [--nodes 10000] [--days 365] [--events 1000000] [--repeat 3] [--folder DIR]

The history is drawn from a seed and written as `sacctmgr -P show event` prints it. Its truth is worked out apart, node
by node with plain integers: the union of each node's outages, times its processors. The check at the end asks for it to the
processor-second. One event in twenty overlaps the one before it; 200 incidents take a rack of 64 nodes each.

Timed are reading (text to columns), the judgement (a sliding 30-day window and all that the report says), and both; each
turn is a process of its own, whose peak memory is read. Beside it: reading every line and splitting it, which nothing in
Python undercuts, and DuckDB reading the same file into a table.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

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


# ------------------------------------------------------------------------------------------------------- the candidates


def shakedown(path: Path) -> dict[str, Any]:
    from shakedown.hosts.access import LocalHost
    from shakedown.operate.availability import contract, evaluate, reading

    begun = time.monotonic()
    history = reading.read([str(path)], LocalHost(), begin_s=None, end_s=None)
    read = time.monotonic()
    low, high = history.seen[0][0], history.seen[-1][1]
    told, _ = evaluate.evaluate(history, contract.load("thufir"), low, high)
    assert told.whole is not None
    return {
        "read_s": read - begun,
        "judge_s": time.monotonic() - read,
        "lost": told.whole.lost,
        "scheduled": told.whole.scheduled,
        "level": told.whole.level,
    }


def split_lines(path: Path) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        return {"fields": sum(len(line.split("|", 9)) for line in file)}


def duckdb_read(path: Path) -> dict[str, Any]:
    import duckdb

    with duckdb.connect() as db:
        db.execute("set threads = 2")
        columns = "delim = '\x01', header = false, columns = {'line': 'varchar'}"
        query = f"select count(*) from read_csv('{path}', {columns}) where string_split(line, '|')[3] <> ''"
        found = db.execute(query).fetchone()
        return {"rows": found[0] if found else 0}


CANDIDATES = {"shakedown": shakedown, "split every line": split_lines, "duckdb, split": duckdb_read}


def _child(name: str, path: Path, out: Any) -> None:
    begun = time.monotonic()
    result = CANDIDATES[name](path)
    seconds = time.monotonic() - begun
    out.send({"seconds": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, **result})


def timed(name: str, path: Path) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(name, path, sender))
    process.start()
    sender.close()
    try:
        found: dict[str, Any] = receiver.recv()
    except EOFError:
        sys.exit(f"{name} died")
    process.join()
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", action="store_true")
    options.add_argument("--nodes", type=int, default=10_000)
    options.add_argument("--days", type=float, default=365)
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--folder", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = (asked.folder or Path(scratch)) / "events.txt"
        truth = generate(path, asked.nodes, asked.days, asked.events)
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in CANDIDATES}
        for _ in range(asked.repeat):
            for name, runs in turns.items():
                runs.append(timed(name, path))
        size = path.stat().st_size
    ours = turns["shakedown"][0]
    if (ours["lost"], ours["scheduled"]) != (truth["lost"], truth["scheduled"]):
        sys.exit(f"the sums are wrong: lost {ours['lost']} and not {truth['lost']}, scheduled {ours['scheduled']}")
    result = {
        "nodes": asked.nodes,
        "days": asked.days,
        "events": truth["events"],
        "file_mb": size / 1e6,
        "cpus": os.cpu_count(),
        "level": ours["level"],
        "candidates": {
            name: {
                "seconds": [run["seconds"] for run in runs],
                "median_s": statistics.median(run["seconds"] for run in runs),
                "peak_mb": max(run["peak_mb"] for run in runs),
            }
            for name, runs in turns.items()
        },
        "read_s": statistics.median(run["read_s"] for run in turns["shakedown"]),
        "judge_s": statistics.median(run["judge_s"] for run in turns["shakedown"]),
    }
    print(json.dumps(result) if asked.json else _text(result))


def _text(result: dict[str, Any]) -> str:
    lines = [
        f"availability: {result['nodes']} nodes x {result['days']:g} days, {result['events']} events in "
        f"{result['file_mb']:.0f} MB; lost and scheduled processor-seconds exact; level {100 * result['level']:.4f} %",
        f"  of that reading {result['read_s']:.2f} s, judging {result['judge_s']:.2f} s",
    ]
    for name, one in result["candidates"].items():
        lines.append(f"  {name}: {one['median_s']:.2f} s, {one['peak_mb']:.0f} MB")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
