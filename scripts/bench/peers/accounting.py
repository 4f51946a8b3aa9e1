"""The accounting of a month of a large cluster, and whether it is right: jobs of a generator with known totals.

The file is what `sacct -P` would print, about 250 bytes a job, with everything that bites in it
(operate/accounting/simulate.py): local times over the clocks' change, requeues, steps, rows that come twice, broken
names. The whole command runs in a process of its own, whose time and peak memory are read: reading, six tables,
charges, waiting times, JSON. A second process writes the page as well. Every total is compared, by user, project,
partition, state and day: equal, or the exit code is 1. It has no peer.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import common
import msgspec
from common import Option

from shakedown.operate.accounting import simulate
from shakedown.schedulers.common.slurm_rows import state_of

from . import Figure, Group, Pass, Rates, Row

TARIFF = 'name = "bench"\ncurrency = "EUR"\n[rates]\ncpu_h = "0.012"\ngpu_h = { a100 = "0.9", h200 = "2.4" }\n'
BY = "user,project,partition,state,day,size"
MONTH = ("2026-10-01", "2026-11-01", "Europe/Zurich")


def run(side: str, folder: Path, jobs: int, more: list[str]) -> Rates:
    """The command's seconds, processor seconds and peak memory. Raises Wrong where a total is not the generator's."""
    begin, end, zone = MONTH
    program = "import sys; from shakedown.cli import accounting; sys.argv[0] = 'accounting'; accounting.app()"
    window = ["--begin", begin, "--end", end, "--timezone", zone]
    words = ["report", str(folder / f"sacct-{jobs}.txt"), *window, "--by", BY, "--tariff", str(folder / "tariff.toml")]
    took = common.cost([sys.executable, "-c", program, *words, "--json", *more])
    if bad := wrong(json.loads(took.out), truth(folder, jobs)):
        raise common.Wrong(f"{len(bad)} totals: {'; '.join(bad[:20])}")
    return {side: {"seconds": took.seconds, "processor": took.cpu_s, "peak": took.peak_bytes}}


def truth(folder: Path, jobs: int) -> simulate.GeneratedTruth:
    return msgspec.json.decode((folder / f"truth-{jobs}.json").read_bytes(), type=simulate.GeneratedTruth)


def wrong(told: dict[str, Any], known: simulate.GeneratedTruth) -> list[str]:
    """Where the report is not what the generator counted."""
    found = []

    def compare(where: str, row: dict[str, Any], one: simulate.Sum) -> None:
        for name in ("runs", "cpu_s", "gpu_s", "node_s", "energy_j"):
            have = row.get(name) or 0
            if have != getattr(one, name):
                found.append(f"{where}: {name} is {have}, not {getattr(one, name)}")

    compare("whole", told["whole"], known.whole)
    for name, value in (("jobs", known.jobs), ("never_started", known.never)):
        if told["whole"][name] != value:
            found.append(f"whole: {name} is {told['whole'][name]}, not {value}")
    if sum(one.get("mended", 0) for one in told["sources"]) != known.broken:
        found.append(f"mended rows are not {known.broken}")
    for table in told["tables"]:
        if table["by"][0] in known.by:
            truth = _by(table["by"][0], known)
            rows = {row["key"][0]: row for row in table["rows"] if row["runs"]}
            if set(rows) != set(truth):
                found.append(f"{table['by'][0]}: other names")
            for key in set(rows) & set(truth):
                compare(key, rows[key], truth[key])
    return found


def _by(name: str, known: simulate.GeneratedTruth) -> dict[str, simulate.Sum]:
    if name != "state":
        return {key: one for key, one in known.by[name].items() if one.runs}
    return {state_of(key): one for key, one in known.by[name].items() if one.runs}


def make(folder: Path, jobs: int) -> dict[str, float]:
    """The file and its truth. In a process of its own: a child's peak is never less than its parent's was."""
    (folder / "tariff.toml").write_text(TARIFF)
    known = folder / f"truth-{jobs}.json"
    if not known.exists():  # our own file of an earlier run with --keep
        begun = time.monotonic()
        source = folder / f"sacct-{jobs}.txt"
        known.write_bytes(msgspec.json.encode(simulate.write(source, jobs)))
        common.say(f"made {source.stat().st_size / 1e9:.2f} GB in {time.monotonic() - begun:.0f} s")
    return {}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory(prefix="shakedown-bench-") as scratch:
        folder, jobs = Path(asked.folder or scratch), asked.jobs
        folder.mkdir(parents=True, exist_ok=True)
        common.in_process(make, folder, jobs)
        known = truth(folder, jobs)
        rows = known.rows + known.steps + known.twice
        page = ["--format", "html,csv", "--output", str(folder / "out")]
        sides = {"report": [], "report with page and CSV": page}
        passes = [Pass(side, partial(run, side, folder, jobs, more)) for side, more in sides.items()]
        shown = {"processor": Figure("s of CPU", better=""), "peak": Figure("MB", 1e-6, better="")}
        title = f"{jobs:,} jobs, {rows:,} rows, {known.broken:,} of them broken; totals compared"
        yield Group(title, {"seconds": Figure("s", better="lower"), **shown}, passes, list(sides))
        if not asked.keep:
            (folder / f"sacct-{jobs}.txt").unlink()
            (folder / f"truth-{jobs}.json").unlink()


ROW = Row(
    groups,
    rounds=1,
    options={
        "jobs": Option(5_000_000, 2000),
        "folder": Option("", help="where the file is made; empty: a temporary one"),
        "keep": Option(False, help="the file, for the next run with the same --folder"),
    },
)
