"""How long months of many nodes take: energy per job, per node and per hour, beside plain scans, in one interleaved run.

    python scripts/bench/archive.py [--json] [--nodes 274] [--days 30] [--folder DIR] [--repeat 3] [--jitter-ms 0] [--keep]

The history is drawn from a seed: a node's power is its level, which changes every few minutes, and noise of whole watts, so
the energy of every node is known and the check at the end asks for it. A file a node, sorted by time. One in 10,000
readings is lost, and one hour of every seventh node. The jobs are drawn too: about 40 a node and month, some of them
sharing nodes.

Beside it: DuckDB summing the values (what a scan costs at least), DuckDB summing values and stamps (what a scan of both
columns costs), DuckDB doing the part that SQL can say (energy per node and hour, by lag), and Polars scanning both columns,
where it is installed. Every candidate is a process of its own, whose peak memory is read; they take turns.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

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


# ------------------------------------------------------------------------------------------------------- the candidates


def shakedown(folder: Path) -> dict[str, Any]:
    """Jobs, nodes and hours, as `shakedown energy archive --by job,node,hour`."""
    from shakedown.energy.archive import energies, jobs, layout

    there = layout.open_archive([folder / "traces"])
    found = energies.totals(there, jobs.read(folder / "jobs.csv"))
    return {
        "nodes": dict(zip(found.nodes, found.node_j.tolist(), strict=True)),
        "balance_j": float(found.job_j.sum() + found.node_idle_j.sum() - found.node_j.sum()),
        "hours_j": float(found.hour_j.sum()),
        "jobs": len(found.job_ids),
    }


def _duckdb(folder: Path, query: str) -> dict[str, Any]:
    with duckdb.connect() as db:
        db.execute("set threads = 2")
        db.execute(query.format(files=f"read_parquet('{folder}/traces/*.parquet')")).fetchall()
    return {}


def scan_value(folder: Path) -> dict[str, Any]:
    return _duckdb(folder, "select sum(value) from {files}")


def scan_both(folder: Path) -> dict[str, Any]:
    return _duckdb(folder, "select sum(value), max(t_ns), sum(t_ns % 2) from {files}")


def sql_hours(folder: Path) -> dict[str, Any]:
    """Node and hour by a window function; edges within an interval and gaps are not parted: less than what we do."""
    with duckdb.connect() as db:
        db.execute("set threads = 2")
        for file in sorted((folder / "traces").glob("*.parquet")):
            db.execute(
                "select node, t_ns // 3600000000000 as hour, sum(value * spacing) / 1e9 from "
                f"(select node, t_ns, value, t_ns - lag(t_ns) over (order by t_ns) as spacing from read_parquet('{file}')) "
                "where spacing <= 5000000000 group by all"
            ).fetchall()
    return {}


def polars_scan(folder: Path) -> dict[str, Any]:
    import polars

    polars.scan_parquet(f"{folder}/traces/*.parquet").select(
        polars.col("value").sum(), (polars.col("t_ns") % 2).sum().alias("t")
    ).collect()
    return {}


CANDIDATES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "shakedown": shakedown,
    "duckdb sum(value)": scan_value,
    "duckdb both columns": scan_both,
    "duckdb node and hour": sql_hours,
    "polars both columns": polars_scan,
}


def _child(name: str, folder: Path, out: Any) -> None:
    begun = time.monotonic()
    try:
        result = CANDIDATES[name](folder)
    except ImportError as error:
        out.send({"missing": str(error)})
        return
    seconds = time.monotonic() - begun
    peak = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + 2 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    )
    out.send({"seconds": seconds, "peak_mb": peak * 1024 / 1e6, **result})


def resident_bytes(pid: int) -> int:
    """What a process and all that it started hold in memory at this moment."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * resource.getpagesize() + sum(resident_bytes(int(child)) for child in children)


def timed(name: str, folder: Path) -> dict[str, Any]:
    """One turn in a process of its own; its memory, its children's with it, is looked at every 20 ms."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(name, folder, sender))
    process.start()
    sender.close()
    peak = 0
    while not receiver.poll(0.02):
        peak = max(peak, resident_bytes(process.pid or 0))
    try:
        found: dict[str, Any] = receiver.recv()
    except EOFError:
        sys.exit(f"{name} died")
    process.join()
    return {**found, "peak_mb": peak / 1e6}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true")
    options.add_argument("--nodes", type=int, default=274)
    options.add_argument("--days", type=float, default=30)
    options.add_argument("--folder", type=Path)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--jitter-ms", type=int, default=0, help="spread the stamps over so many ms")
    options.add_argument(
        "--keep", action="store_true", help="use the history in the folder if it is there, and leave it"
    )
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch)
        result = measure(folder, asked)
        if asked.folder and not asked.keep:
            for file in [*folder.glob("traces/*.parquet"), folder / "jobs.csv", folder / "truth.json"]:
                file.unlink(missing_ok=True)
            (folder / "traces").rmdir()
    print(json.dumps(result) if asked.json else _text(result))


def measure(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    known = folder / "truth.json"
    begun = time.monotonic()
    shape = {"nodes": asked.nodes, "days": asked.days, "jitter_ms": asked.jitter_ms}
    kept = json.loads(known.read_text()) if asked.keep and known.exists() else {}
    if kept.get("shape") != shape:
        folder.mkdir(parents=True, exist_ok=True)
        kept = {"shape": shape, "truth": generate(folder, asked.nodes, asked.days, asked.jitter_ms)}
        known.write_text(json.dumps(kept))
    made_s = time.monotonic() - begun
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in CANDIDATES}
    for _ in range(asked.repeat):
        for name, runs in turns.items():
            if not runs or "missing" not in runs[0]:
                runs.append(timed(name, folder))
    truth, ours = kept["truth"], turns["shakedown"][0]
    worst = max(abs(ours["nodes"][node] / energy - 1) for node, energy in truth.items())
    if worst > 1e-12 or abs(ours["balance_j"]) > 1e-9 * ours["hours_j"]:
        sys.exit(f"the energies are wrong: by {worst:.2g} at a node, jobs and rest by {ours['balance_j']:.3g} J")
    files = list(folder.glob("traces/*.parquet"))
    return {
        "samples": asked.nodes * round(asked.days * 86400),
        "jobs": ours["jobs"],
        "disk_gb": sum(file.stat().st_size for file in files) / 1e9,
        "made_s": made_s,
        "worst_error": worst,
        "cpus": os.cpu_count(),
        "candidates": {
            name: runs[0]
            if "missing" in runs[0]
            else {
                "seconds": [run["seconds"] for run in runs],
                "median_s": statistics.median(run["seconds"] for run in runs),
                "peak_mb": max(run["peak_mb"] for run in runs),
                "to_shakedown": statistics.median(
                    own["seconds"] / run["seconds"] for own, run in zip(turns["shakedown"], runs, strict=True)
                ),
            }
            for name, runs in turns.items()
        },
    }


def _text(result: dict[str, Any]) -> str:
    lines = [
        f"archive: {result['samples'] / 1e6:.1f} million samples, {result['disk_gb']:.2f} GB, {result['jobs']} jobs; "
        f"made in {result['made_s']:.0f} s; worst error of a node's energy {result['worst_error']:.1g}"
    ]
    full = 274 * 30 * 86400 / result["samples"]
    for name, one in result["candidates"].items():
        if "missing" in one:
            lines.append(f"  {name}: not here ({one['missing']})")
            continue
        lines.append(
            f"  {name}: {one['median_s']:.2f} s ({full * one['median_s']:.1f} s for 274 nodes x 30 days in proportion), "
            f"{one['peak_mb']:.0f} MB; shakedown takes {one['to_shakedown']:.2f} times as long"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
