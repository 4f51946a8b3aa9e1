"""`shakedown pairs` and `shakedown report` over a tournament of 1,024 nodes. They have no peer.

The directory is what a tournament over so many nodes leaves, half a million loose cases of 20 samples each in one
measurement.json; the verbs are timed from their start to their exit, with the most memory that they took.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
import msgspec
import numpy as np
import pairs
from common import Option

from shakedown import machine as machines
from shakedown.analysis.pairs import simulate
from shakedown.files import atomic
from shakedown.hosts.access import LocalHost
from shakedown.records import Case, Machine, Measurement, Plan, Run
from shakedown.results import run_directory

from . import Figure, Group, Pass, Rates, Row


def tournament(folder: Path, nodes: int) -> Path:
    """The run directory of a whole tournament over the nodes of ``fleet``, measurements not packed."""
    truth = pairs.fleet(nodes, 0)
    measured = simulate.pairs(truth, 0)
    rng = np.random.default_rng(7)
    jitter = np.sort(rng.normal(1.0, truth.jitter, (len(measured.a), truth.samples)), axis=1)
    jitter /= np.median(jitter, axis=1, keepdims=True)
    work = {"messages": 64.0, "bytes": 64.0 * 2**20}
    seconds = np.round((work["bytes"] / measured.values)[:, None] * jitter, 9)
    cases = [
        Case(
            kernel="bandwidth",
            params={
                "bytes": 2**20,
                **{f"{what}_{end}": value for end, place in (("a", a), ("b", b)) for what, value in _ends(place)},
                "ranks": nodes,
                "pattern": "tournament",
                "window": 64,
            },
            work=work,
            seconds=tuple(row),
        )
        for a, b, row in zip(measured.a.tolist(), measured.b.tolist(), seconds.tolist(), strict=True)
    ]
    real = machines.machine(LocalHost()).hosts[0]
    hosts = tuple(msgspec.structs.replace(real, name=f"n{place + 1}") for place in range(nodes))
    run = Run(id="0123456789abcdef", workload="pingpong", params={}, label="pairs", estimate_s=1, limit_s=10)
    path = folder / "tournament"
    (path / "runs" / run.id / "1").mkdir(parents=True)
    atomic.write_record(path / "machine.json", Machine(hosts=hosts, discovered_ns=1, version="bench"))
    atomic.write_record(path / "plan.json", Plan(campaign="bench", title="Tournament", runs=(run,)))
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="bench", created_ns=1, version="bench", host="n1"
    )
    atomic.write_record(path / "manifest.json", manifest)
    record = Measurement(
        run=run.id,
        repeat=1,
        workload="pingpong",
        params={},
        host="n1",
        state="ok",
        cases=tuple(cases),
        begin_ns=1,
        end_ns=2,
    )
    atomic.write_record(path / "runs" / run.id / "1" / "measurement.json", record)
    return path


def _ends(place: int) -> tuple[tuple[str, int | str], ...]:
    return ("rank", place), ("cpu", 0), ("host", f"n{place + 1}")


def verb(words: list[str]) -> Rates:
    took = common.cost([sys.executable, "-m", "shakedown", *words], codes=(0, 1))  # 1: what is slow was found
    return {words[0]: {"seconds": took.seconds, "processor": took.cpu_s, "peak": took.peak_bytes}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    figures = {"seconds": Figure("s", better="lower"), "processor": Figure("s of CPU", better="")}
    figures["peak"] = Figure("MiB", 2**-20, better="lower")
    with tempfile.TemporaryDirectory() as folder:
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # its memory goes with it
            path = pool.apply(tournament, (Path(folder), asked.nodes))
        loose = sum(file.stat().st_size for file in path.rglob("measurement.json"))
        count = asked.nodes * (asked.nodes - 1) // 2
        verbs = ["pairs", "--json", str(path)], ["report", str(path)]
        passes = [Pass(words[0], partial(verb, words)) for words in verbs]
        title = f"{asked.nodes} nodes, {count:,} loose cases in {loose / 1e6:.0f} MB"
        yield Group(title, figures, passes, ["pairs", "report"])


ROW = Row(groups, rounds=3, options={"nodes": Option(1024, 16)})
