"""The site of 1,000 nodes x 200 runs x 50 figures, made by a generator. It has no peer.

Each run is a directory as `shakedown run` leaves it: one is written through the run directory's own writer and analysed,
and the others are that one with names and values of their own in their summary, as `shakedown report` leaves it. A few
nodes are slow by known factors, a few lose some speed at a known run, together with another kernel, and some directories
are broken; the check asks that the first page marks these nodes and few others. What is timed is the command `shakedown
site` over all of it, then once more where nothing changed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import common
import msgspec
import numpy as np
from common import Option

from shakedown import machine as machines
from shakedown.analysis import build, run_summary
from shakedown.files import atomic
from shakedown.hosts.access import LocalHost
from shakedown.records import Case, Host, Machine, Measurement, Params, Plan, Run, RunSummary
from shakedown.results import run_directory

from . import Figure, Group, Pass, Rates, Row

T0_NS, DAY_NS = 1_735_700_000 * 10**9, 86_400 * 10**9
#: Nodes by number: how fast each slow one is, and of those that change what is left of their speed.
SLOW = {7: 0.9, 21: 0.8, 501: 0.85, 998: 0.5}
CHANGED = {12: 0.94, 33: 0.9, 333: 0.95, 800: 0.93}
#: The share of a history after which these changed.
SINCE = 0.7
#: Deviation of a run, and of a node, relative.
RUN_SIGMA, NODE_SIGMA = 0.006, 0.004


def cases() -> dict[str, list[Case]]:
    """The cases of a campaign by workload: 51 figures."""
    found: dict[str, list[Case]] = {name: [] for name in ("stream", "gemm", "hpl", "hpcg", "storage", "pingpong")}
    for threads, bandwidth in ((1, 2.4e10), (64, 3.1e11)):
        for kernel in ("copy", "scale", "add", "triad"):
            params: Params = {"threads": threads, "bytes": 2**30, "level": "memory", "variant": "nt"}
            found["stream"].append(_case(kernel, params, {"bytes": bandwidth, "bytes_moved": bandwidth}))
    for kernel, rate in (("dgemm", 2.2e12), ("sgemm", 4.3e12)):
        found["gemm"].append(_case(kernel, {"n": 8192, "threads": 64, "library": "openblas 0.3"}, {"flop": rate}))
    found["hpl"] += [
        _case(kernel, {"n": 80_000, "nb": 256, "threads": 64}, {"flop": rate * 170}, 170)
        for kernel, rate in (("hpl", 1.98e12), ("ceiling", 2.1e12))
    ]
    found["hpcg"].append(_case("hpcg", {"nx": 192, "ny": 192, "nz": 192, "ranks": 64}, {"flop": 4.1e10}))
    for kernel, bandwidth in (("write", 1.9e9), ("read", 2.6e9)):
        found["storage"].append(
            _case(kernel, {"threads": 8, "block": 2**20}, {"bytes": bandwidth, "op": bandwidth / 2**20})
        )
    for size in (0, 8, 64, 1024, 16_384, 131_072, 1_048_576, 4_194_304):
        found["pingpong"].append(_case("latency", {"bytes": size}, {"messages": 1.0}, 3e-7 + size / 2.2e10))
        if size:
            rate = 1 / (1e-7 + size / 2.4e10)
            found["pingpong"].append(
                _case("bandwidth", {"bytes": size, "window": 64}, {"bytes": size * rate, "messages": rate})
            )
    return found


def _case(kernel: str, params: Params, work: dict[str, float], seconds: float = 1.0) -> Case:
    return Case(kernel=kernel, params=params, work=work, seconds=tuple(seconds * (1 + 0.002 * at) for at in (-1, 0, 1)))


class First(NamedTuple):
    """The run that all are made from: its files, to be linked, and its summary."""

    files: Path
    summary: RunSummary


def first(path: Path, host: Host, figures: int) -> First:
    """A run through the run directory's own writer, analysed as `shakedown report` does."""
    made = cases()
    runs = tuple(Run(id=name, workload=name, params={}, label=name, estimate_s=60, limit_s=600) for name in made)
    opened = run_directory.RunDirectory.create(
        path,
        manifest=_manifest(host.name, T0_NS),
        campaign_toml="",
        machine=Machine(hosts=(host,), discovered_ns=T0_NS, version="1.0"),
        plan=Plan(campaign="nightly", title="Nightly", runs=runs),
    )
    for run in runs:
        into = opened.folder(run.id, 1)
        into.mkdir(parents=True)
        record = Measurement(
            run=run.id,
            repeat=1,
            workload=run.workload,
            params={},
            host=host.name,
            state="ok",
            cases=tuple(made[run.workload]),
            provenance={"build": {"version": "1.0", "compiler": "GNU 12"}},
            begin_ns=T0_NS,
            end_ns=T0_NS + 60 * 10**9,
        )
        atomic.write_record(into / "measurement.json", record, flush=False)
    part = build.read(opened)
    analysis, _ = build.from_part(opened, part)
    build.pack(opened, part)
    whole = run_summary.of_analysis(analysis)
    kept = {name: getattr(whole, name)[:figures] for name in ("series", "values", "low", "high")}
    return First(path, msgspec.structs.replace(whole, **kept))


def _manifest(host: str, created_ns: int) -> run_directory.Manifest:
    return run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="nightly", created_ns=created_ns, version="1.0", host=host
    )


def generate(folder: Path, nodes: int, runs: int, figures: int, broken: int) -> None:
    """All run directories, ``folder/NODE/RUN``, and some broken ones."""
    real = msgspec.structs.replace(machines.machine(LocalHost()).hosts[0], virtualisation="")
    rng = np.random.default_rng(20261124)
    folder.mkdir(parents=True)
    made = first(folder / ".first", msgspec.structs.replace(real, name="node"), figures)
    for number in range(nodes):
        _runs(made, folder, msgspec.structs.replace(real, name=f"node{number:04d}"), number, runs, rng)
    for at in range(broken):
        path = folder / f"node{at % nodes:04d}" / f"broken{at}"
        path.mkdir()
        (path / "manifest.json").write_text("{" if at % 2 else '{"schema": 99}')


def _runs(made: First, folder: Path, host: Host, number: int, runs: int, rng: np.random.Generator) -> None:
    """The runs of a node. Files that are alike in all are one file under many names."""
    changed = int(runs * SINCE) if number in CHANGED else runs
    place = folder / host.name
    place.mkdir()
    for name, kernel in (("before", host.kernel), ("after", f"{host.kernel}-next")):
        seen = Machine(hosts=(msgspec.structs.replace(host, kernel=kernel),), discovered_ns=T0_NS, version="1.0")
        (place / f".{name}").write_bytes(msgspec.json.encode(seen))
    for name in (
        "plan.json",
        "campaign.toml",
        build.PACKED,
        build.OUTCOMES,
    ):  # a file may have 65,000 names, and no more
        shutil.copy(made.files / name, place / f".{name}")
    series = tuple(msgspec.structs.replace(one, host=host.name) for one in made.summary.series)
    lower = np.array(["latency" in one.metric or one.metric.endswith(".time") for one in series])
    base = np.array(made.summary.values) * np.exp(rng.normal(0, NODE_SIGMA, len(lower)))
    for run in range(runs):
        speed = SLOW.get(number, 1.0) * (CHANGED.get(number, 1.0) if run >= changed else 1.0)
        values = base * np.where(lower, 1 / speed, speed) * np.exp(rng.normal(0, RUN_SIGMA, len(lower)))
        created_ns = T0_NS + (run * 700 // runs) * DAY_NS + number * 10**9
        path = place / f"{number:04d}-{run:04d}-nightly"
        path.mkdir()
        for at in run_ids(made.files):
            (path / "runs" / at).mkdir(parents=True)
        os.link(place / (".after" if run >= changed else ".before"), path / "machine.json")
        for name in ("plan.json", "campaign.toml", build.PACKED, build.OUTCOMES):
            os.link(place / f".{name}", path / name)
        (path / "report.html").touch()
        (path / "manifest.json").write_bytes(msgspec.json.encode(_manifest(host.name, created_ns)))
        summary = msgspec.structs.replace(
            made.summary,
            created_ns=created_ns,
            looked_ns=created_ns,
            hosts=(host.name,),
            series=series,
            values=tuple(values.tolist()),
            low=tuple((values * 0.998).tolist()),
            high=tuple((values * 1.002).tolist()),
        )
        (path / run_summary.FILE).write_bytes(run_summary.encoded(summary))


def run_ids(files: Path) -> list[str]:
    return sorted(one.name for one in (files / "runs").iterdir())


def site(folder: Path, output: Path, nodes: int, processes: int) -> Rates:
    """The command, and the same once more."""
    words = ["-m", "shakedown", "site", str(folder), "-o", str(output), "--json", "--processes", str(processes)]
    once = common.in_process(_called, *words)
    check(output, nodes)
    again = common.in_process(_called, *words)
    if again["written"]:
        raise common.Wrong(f"nothing changed, and {again['written']:.0f} pages were written again")
    size = sum(one.stat().st_size for one in output.rglob("*") if one.is_file())
    return {
        "first": {"seconds": once["took"], "cpu": once["cpu"], "peak": once["peak"], "size": size},
        "again": {"seconds": again["took"], "cpu": again["cpu"], "peak": again["peak"], "size": size},
    }


def _called(*words: str) -> dict[str, float]:
    took = common.cost([sys.executable, *words], stderr=subprocess.DEVNULL)
    made = json.loads(took.out)
    return {"took": took.seconds, "cpu": took.cpu_s, "written": made["written"]}


def check(output: Path, nodes: int) -> None:
    """Every node that is slow or has changed is marked so, and of all others few. Raises Wrong."""
    text = (output / "index.html").read_text()
    wrong = []
    for planted, state in ((SLOW, "slow"), (CHANGED, "worse")):
        wrong += [f"node{one:04d}" for one in planted if one < nodes and f'title="node{one:04d}: {state}' not in text]
    marked = sum(text.count(f": {state}") for state in ("slow;", "worse;"))
    others = marked - sum(one < nodes for one in (*SLOW, *CHANGED))
    common.say(f"marked: {marked} of {nodes} nodes; {others} of them were made like all others")
    if wrong or others > 0.02 * nodes:
        raise common.Wrong(f"not marked as they were made: {', '.join(wrong) or 'none'}; {others} others are marked")


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory(dir=asked.scratch or None) as scratch:
        folder = Path(scratch)
        generate(folder / "nodes", asked.nodes, asked.runs, asked.figures, asked.broken)
        figures = {
            "seconds": Figure("s", better="lower"),
            "cpu": Figure("s of CPU time", better="lower"),
            "peak": Figure("MB", 1e-6, better=""),
            "size": Figure("MB", 1e-6, better=""),
        }
        title = f"{asked.nodes:,} nodes, {asked.nodes * asked.runs:,} runs, {asked.figures} figures"
        yield Group(
            title,
            figures,
            [Pass("site", lambda: site(folder / "nodes", folder / "site", asked.nodes, asked.processes))],
            ["first", "again"],
        )


ROW = Row(
    groups,
    rounds=1,
    options={
        "nodes": Option(1000, 36),
        "runs": Option(200, 30, "of each node"),
        "figures": Option(50, 12),
        "broken": Option(10, 4, "run directories"),
        "processes": Option(2, 1),
        "scratch": Option("", "", "a folder on a disk with 15 GB and 4 million inodes"),
    },
)
