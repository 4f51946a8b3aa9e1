"""Analysis and report of 100,000 measurements from 1,000 hosts, made by a generator. They have no peer.

The generator leaves what a campaign leaves on every node: a run directory each, archived with its packed measurements.
Every value is drawn around a known one, three hosts are slow by known factors, and the check at the end asks that the
findings recover both. The command that is timed is `shakedown report` over all run directories, every format.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import common
import msgspec
import numpy as np
from common import Option

from shakedown import machine as machines
from shakedown.analysis import build, table
from shakedown.campaign import plan
from shakedown.files import atomic
from shakedown.hosts.access import LocalHost
from shakedown.records import Host, Machine, Plan, Run
from shakedown.results import run_directory

from . import Figure, Group, Pass, Rates, Row

SLOW = {7: 0.7, 501: 0.85, 998: 0.5}  # host number -> its speed
SAMPLES = 15


def cases_of(host: str, speed: float, measurements: int, rng: np.random.Generator) -> tuple[table.Cases, list[Run]]:
    """The cases of one host, one a measurement: streams, matrix products and ping-pongs in turn."""
    rows: list[tuple[str, int, str, str, str, str, str, int]] = []
    runs = []
    for number in range(measurements):
        workload = ("stream", "gemm", "pingpong")[number % 3]
        size = 2 ** (6 + number // 3 % 20)
        params: dict[str, int | float | str | bool] = (
            {"threads": 1 + number % 64, "bytes": size, "level": "memory"}
            if workload == "stream"
            else {"n": 256 * (1 + number), "threads": 64, "library": "openblas 0.3"}
            if workload == "gemm"
            else {"bytes": size, "window": 64}
        )
        streams = ("copy", "scale", "add", "triad")
        kernel = {"stream": streams[number // 3 % 4], "gemm": "dgemm", "pingpong": "latency"}[workload]
        work = {"bytes": 1e9, "bytes_moved": 1e9, "flop": 1e12, "messages": 1000.0}
        run = plan.content_hash(workload, params, "bench")
        runs.append(
            Run(id=run, workload=workload, params=params, label=f"{workload} {number}", estimate_s=1, limit_s=10)
        )
        rows.append((run, 1, workload, host, kernel, table.key(params), table.key(work), SAMPLES))
    columns = [
        np.array(column, object if i not in (1, 7) else np.int64) for i, column in enumerate(zip(*rows, strict=True))
    ]
    seconds = np.exp(rng.normal(0.0, 0.02, len(rows) * SAMPLES)) / speed
    return table.Cases(*columns, seconds), runs  # type: ignore[call-arg]


def generate(folder: Path, hosts: int, measurements: int) -> list[Path]:
    """Run directories, one a host. All hosts are like this machine, but for their names."""
    real = machines.machine(LocalHost()).hosts[0]
    rng = np.random.default_rng(20261120)
    paths = []
    for number in range(hosts):
        name = f"node{number:04d}"
        host: Host = msgspec.structs.replace(real, name=name)
        cases, runs = cases_of(name, SLOW.get(number, 1.0), measurements, rng)
        path = folder / name
        path.mkdir(parents=True)
        atomic.write_record(path / "machine.json", Machine(hosts=(host,), discovered_ns=1, version="bench"))
        atomic.write_record(path / "plan.json", Plan(campaign="bench", title="Generated", runs=tuple(runs)))
        atomic.write_record(
            path / "manifest.json",
            run_directory.Manifest(
                schema=run_directory.SCHEMA, campaign="bench", created_ns=1, version="bench", host=name
            ),
        )
        table.pack(cases, path / build.PACKED)
        (path / build.OUTCOMES).write_bytes(b"[]")
        paths.append(path)
    return paths


def report(folder: Path, paths: list[Path]) -> Rates:
    """Seconds and memory of the command, and the size of what it wrote."""
    words = ["-m", "shakedown", "report", "--output", str(folder), *map(str, paths)]
    took = common.cost([sys.executable, *words], stderr=subprocess.DEVNULL)
    sizes = {path.name: path.stat().st_size for path in folder.glob("report.*")}
    check(folder / "report.json")
    return {"report": {"seconds": took.seconds, "peak": took.peak_bytes, **sizes}}


def check(path: Path) -> None:
    """The speed of each slow host as the findings have it must be the one that was put in, within 2 %. Raises Wrong."""
    findings = json.loads(path.read_bytes())["findings"]
    triads = [one for one in findings if one["metric"] == "stream.triad.bandwidth"]
    typical = float(np.median([one["value"] for one in triads]))
    for number, speed in SLOW.items():
        own = [one["value"] for one in triads if one["host"] == f"node{number:04d}"]
        if own:
            found = round(float(np.median(own)) / typical, 3)
            common.say(f"node{number:04d}: made {speed} times as fast, found at {found}")
            if abs(found / speed - 1) > 0.02:
                raise common.Wrong(f"node{number:04d} was made {speed} times as fast, the findings say {found}")


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        paths = generate(folder / "nodes", asked.hosts, asked.measurements)
        sizes = {f"report.{form}": Figure("MB", 1e-6, better="") for form in ("html", "md", "csv", "json")}
        figures = {"seconds": Figure("s", better="lower"), "peak": Figure("MB", 1e-6, better=""), **sizes}
        title = f"{asked.hosts * asked.measurements:,} measurements from {asked.hosts} hosts"
        yield Group(title, figures, [Pass("report", lambda: report(folder, paths))], ["report"])


ROW = Row(groups, rounds=1, options={"hosts": Option(1000, 4), "measurements": Option(100, 10, "of each host")})
