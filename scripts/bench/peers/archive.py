"""Months of many nodes: energy per job, per node and per hour, beside plain scans.

The history is drawn from a seed: a node's power is its level, which changes every few minutes, and noise of whole watts, so
the energy of every node is known and each pass is compared with it. A file a node, sorted by time. One in 10,000 readings
is lost, and one hour of every seventh node. The jobs are drawn too: about 40 a node and month, some of them sharing nodes.

Beside it: DuckDB summing the values (what a scan costs at least), DuckDB summing values and stamps (what a scan of both
columns costs), DuckDB doing the part that SQL can say (energy per node and hour, by lag), and Polars scanning both columns,
where it is installed. Every pass is a process of its own.
"""

from __future__ import annotations

import argparse
import json
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

BEGIN_S = 1_760_000_400  # a full hour
SEED = 20261121


def watts(node: int, seconds: np.ndarray) -> np.ndarray:
    """The power of a node at whole seconds: known, and the same whenever it is asked for."""
    random = np.random.default_rng((SEED, node))
    levels = 250 + 50 * random.integers(0, 11, len(seconds) // 300 + 2)
    noisy: np.ndarray = levels[seconds // 300] + random.integers(-8, 9, len(seconds))
    return noisy.astype(np.float32)


def lost(node: int, count: int) -> np.ndarray:
    """Which readings are not there."""
    random = np.random.default_rng((SEED, node, 1))
    gone = random.random(count) < 1e-4
    if node % 7 == 3 and count > 12 * 3600:
        gone[10 * 3600 : 11 * 3600] = True
    gone[0] = gone[-1] = False
    return gone


def generate(folder: Path, nodes: int, days: float, jitter_ms: int) -> dict[str, Any]:
    """The files, the jobs, and what each node's energy is."""
    import duckdb

    count = round(days * 86400)
    seconds = np.arange(count)
    truth = {}
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as db:
        db.execute("set threads = 2")
        for node in range(nodes):
            keep = ~lost(node, count)
            t = (BEGIN_S + seconds[keep]) * 10**9
            if jitter_ms:
                t = t + np.random.default_rng((SEED, node, 2)).integers(0, jitter_ms, len(t)) * 10**6
            value = watts(node, seconds)[keep]
            spacing = np.diff(t)
            # The reading's own rule, in whole numbers: W x ns up to its stamp, where the one before is near.
            near = spacing <= 5 * 10**9
            truth[f"node{node:04d}"] = float(np.sum(spacing[near] * value[1:][near].astype(np.int64))) / 1e9
            db.register("columns", {"t_ns": t, "value": value})
            db.execute(
                f"copy (select 'node{node:04d}' as node, t_ns, value from columns) to "
                f"'{folder}/traces/node{node:04d}.parquet' "
                "(format parquet, compression zstd, parquet_version v2, row_group_size 1000000)"
            )
            db.unregister("columns")
    write_jobs(folder / "jobs.csv", nodes, count)
    return truth


def write_jobs(path: Path, nodes: int, count: int) -> None:
    random = np.random.default_rng(SEED)
    lines = ["job,nodes,begin,end,cores"]
    for number in range(max(1, round(10 * nodes * count / (30 * 86400)))):
        width = min(nodes, 2 ** int(random.integers(0, 4)))
        first = int(random.integers(0, nodes - width + 1))
        begin = float(BEGIN_S + random.random() * count)
        end = min(BEGIN_S + count, begin + float(random.exponential(12 * 3600)))
        lines.append(
            f"{number},node[{first:04d}-{first + width - 1:04d}],{begin:.3f},{end:.3f},{random.integers(1, 129)}"
        )
    path.write_text("\n".join(lines) + "\n")


def shakedown(folder: Path) -> dict[str, float]:
    """Jobs, nodes and hours, as `shakedown energy archive --by job,node,hour`. Raises Wrong where they are wrong."""
    from shakedown.energy.archive import energies, jobs, layout

    there = layout.open_archive([folder / "traces"])
    found = energies.totals(there, jobs.read(folder / "jobs.csv"))
    energy_j = dict(zip(found.nodes, found.node_j.tolist(), strict=True))
    truth = json.loads((folder / "truth.json").read_text())["truth"]
    balance_j = float(found.job_j.sum() + found.node_idle_j.sum() - found.node_j.sum())
    worst = max(abs(energy_j[node] / energy - 1) for node, energy in truth.items())
    if worst > 1e-12 or abs(balance_j) > 1e-9 * float(found.hour_j.sum()):
        raise common.Wrong(f"the energies are wrong: by {worst:.2g} at a node, jobs and rest by {balance_j:.3g} J")
    return {"jobs": len(found.job_ids), "worst error of a node": worst}


def _duckdb(folder: Path, query: str) -> dict[str, float]:
    import duckdb

    with duckdb.connect() as db:
        db.execute("set threads = 2")
        db.execute(query.format(files=f"read_parquet('{folder}/traces/*.parquet')")).fetchall()
    return {}


def scan_value(folder: Path) -> dict[str, float]:
    return _duckdb(folder, "select sum(value) from {files}")


def scan_both(folder: Path) -> dict[str, float]:
    return _duckdb(folder, "select sum(value), max(t_ns), sum(t_ns % 2) from {files}")


def sql_hours(folder: Path) -> dict[str, float]:
    """Node and hour by a window function; edges within an interval and gaps are not parted: less than what we do."""
    import duckdb

    with duckdb.connect() as db:
        db.execute("set threads = 2")
        for file in sorted((folder / "traces").glob("*.parquet")):
            db.execute(
                "select node, t_ns // 3600000000000 as hour, sum(value * spacing) / 1e9 from "
                f"(select node, t_ns, value, t_ns - lag(t_ns) over (order by t_ns) as spacing from read_parquet('{file}')) "
                "where spacing <= 5000000000 group by all"
            ).fetchall()
    return {}


def polars_scan(folder: Path) -> dict[str, float]:
    import polars

    polars.scan_parquet(f"{folder}/traces/*.parquet").select(
        polars.col("value").sum(), (polars.col("t_ns") % 2).sum().alias("t")
    ).collect()
    return {}


CANDIDATES: dict[str, Callable[[Path], dict[str, float]]] = {
    "shakedown": shakedown,
    "duckdb sum(value)": scan_value,
    "duckdb both columns": scan_both,
    "duckdb node and hour": sql_hours,
    "polars both columns": polars_scan,
}


def one(name: str, folder: Path, proportion: float) -> Rates:
    found = common.in_process(CANDIDATES[name], folder)
    return {name: {**found, "in proportion": proportion * found["seconds"]}}


def made(folder: Path, asked: argparse.Namespace) -> None:
    """The history, where the folder does not have the same one."""
    known, shape = folder / "truth.json", {"nodes": asked.nodes, "days": asked.days, "jitter_ms": asked.jitter_ms}
    if asked.keep and known.exists() and json.loads(known.read_text())["shape"] == shape:
        return
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    known.write_text(json.dumps({"shape": shape, "truth": generate(folder, asked.nodes, asked.days, asked.jitter_ms)}))
    common.say(f"archive made in {time.monotonic() - begun:.0f} s")


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    samples = asked.nodes * round(asked.days * 86400)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(asked.folder or scratch)
        made(folder, asked)
        files = list(folder.glob("traces/*.parquet"))
        size_gb = sum(file.stat().st_size for file in files) / 1e9
        needs = {"polars both columns": {"import polars": "pip install polars"}}
        passes = [
            Pass(name, partial(one, name, folder, 274 * 30 * 86400 / samples), needs.get(name, {}))
            for name in CANDIDATES
        ]
        figures = {
            "seconds": Figure("s", better="lower"),
            "peak": Figure("MB", 1e-6, better=""),
            "in proportion": Figure("s for 274 nodes x 30 days", better=""),
            "jobs": Figure("", better=""),
            "worst error of a node": Figure("of its energy", better=""),
        }
        yield Group(f"{samples / 1e6:.1f} million samples, {size_gb:.2f} GB", figures, passes, ["shakedown"])
        if asked.folder and not asked.keep:
            for file in [*files, folder / "jobs.csv", folder / "truth.json"]:
                file.unlink(missing_ok=True)
            (folder / "traces").rmdir()


ROW = Row(
    groups,
    rounds=3,
    options={
        "nodes": Option(274, 2),
        "days": Option(30.0, 0.1),
        "folder": Option("", help="where the history is made; empty: a temporary one"),
        "jitter_ms": Option(0, help="spread the stamps over so many ms"),
        "keep": Option(False, help="use the history in the folder if it is there, and leave it"),
    },
    bench="--nodes 8 --days 25",
)
