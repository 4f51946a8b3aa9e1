"""What the harness costs: its own run of empty workloads, its memory, and how long help takes beside a bare Python.

A run's cost is what the harness spends around the program: plan, start, wait, judge, write to the disk (with fsync).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row

SHAKEDOWN = [sys.executable, "-m", "shakedown"]
CAMPAIGN = """
name = "empty"
title = "Empty runs"
[[run]]
workload = "empty"
[run.sweep]
tag = [{tags}]
"""


def campaign(runs: int) -> Rates:
    """Seconds a run, by its records and by the whole process, and the most memory."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "empty.toml"
        file.write_text(CAMPAIGN.format(tags=", ".join(map(str, range(runs)))))
        words = ["run", str(file), "--directory", f"{folder}/run", "--no-report"]
        took = common.cost([*SHAKEDOWN, *words], stderr=subprocess.DEVNULL)
        records = [json.loads(path.read_text()) for path in Path(folder).glob("run/runs/*/1/measurement.json")]
    walls = [(record["end_ns"] - record["begin_ns"]) * 1e-9 + record["harness_s"] for record in records]
    each = {"median": statistics.median(walls), "most": max(walls), "whole process": took.seconds / len(walls)}
    return {"a run": {**each, "peak": took.peak_bytes}}


def start(side: str, argv: list[str]) -> Rates:
    return {side: {"start": common.cost(argv).seconds}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    times = dict.fromkeys(("median", "most", "whole process"), Figure("ms", 1e3, better="lower"))
    figures = {**times, "peak": Figure("MB", 1e-6, better="lower")}
    yield Group(f"{asked.runs} empty runs", figures, [Pass("a run", lambda: campaign(asked.runs))], ["a run"])
    commands = {"shakedown --help": [*SHAKEDOWN, "--help"], "bare Python": [sys.executable, "-c", "pass"]}
    passes = [Pass(side, partial(start, side, argv)) for side, argv in commands.items()]
    yield Group("help", {"start": Figure("s", better="lower")}, passes, ["shakedown --help"], rounds=7)


ROW = Row(groups, rounds=1, options={"runs": Option(50, 2)})
