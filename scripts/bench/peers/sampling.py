"""What sampling costs: CPU time of the sampler, and what it takes from STREAM.

All meters that a machine has of its own are read at 10 Hz: those of this machine, and beside them a tree as two sockets
with RAPL, an ACPI power meter, coretemp and Cray's pm_counters with four accelerators would show (files of a disk cache
answer faster than a device, so the cost of the kernel's own work for a reading is not in it). The sampler's CPU time is
its own and that of the programs it runs, without its start.

The slowdown is found within one run of our stream: its sampler is stopped (SIGSTOP) and let go on in turns, in an order
that is drawn, and the passes of each window are compared with those of its neighbour of the other kind, a round. The ratio
is that of mean times: a pass that was interrupted counts in full. Where the benchmark leaves a CPU free the sampler runs
there; otherwise among its threads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common
from common import Option

from shakedown.errors import CannotMeasure, Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.metering import meters
from shakedown.metering import sampler as sampling

from . import Figure, Group, Pass, Rates, Row, program

SAMPLED, ALONE = "stream with the sampler", "stream alone"
COST = {
    "sources": Figure("", better=""),
    "channels": Figure("", better=""),
    "readings": Figure("1/s", better=""),
    "CPU time": Figure("% of a core", 100, better="lower", goal="below 0.5 %"),
    "memory": Figure("MB", 1e-6, better="lower"),
    "ticks skipped": Figure("", better="lower"),
}


def tree(root: Path) -> list[str]:
    """The files of a node with two sockets and four accelerators; the targets that read them."""

    def put(path: str, text: str) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")

    for socket in range(2):
        zones = [(f"intel-rapl:{socket}", f"package-{socket}")]
        zones += [(f"intel-rapl:{socket}:{n}", name) for n, name in enumerate(("core", "dram"))]
        for n, (zone, name) in enumerate(zones):
            put(f"powercap/{zone}/name", name)
            put(f"powercap/{zone}/energy_uj", str(123456789 + 7_000_000 * n + 50_000_000 * socket))
            put(f"powercap/{zone}/max_energy_range_uj", "262143328850")
            put(f"powercap/{zone}/constraint_0_power_limit_uw", "350000000")
        put(f"hwmon/hwmon{1 + socket}/name", "coretemp")
        put(f"hwmon/hwmon{1 + socket}/temp1_input", "54000")
        put(f"hwmon/hwmon{1 + socket}/temp1_label", f"Package id {socket}")
    put("hwmon/hwmon0/name", "power_meter")
    put("hwmon/hwmon0/power1_average", "412000000")
    put("hwmon/hwmon0/power1_average_interval", "1000")
    parts = ["", "cpu_", "memory_", *(f"accel{n}_" for n in range(4))]
    for part in parts:
        put(f"pm_counters/{part}power", "495 W 1784929200356706 us")
        put(f"pm_counters/{part}energy", "123456789 J 1784929200356706 us")
    for name, text in (
        ("freshness", "17"),
        ("generation", "1"),
        ("startup", "1784929100000000"),
        ("raw_scan_hz", "10"),
    ):
        put(f"pm_counters/{name}", text)
    put("pm_counters/version", "2")
    return [f"rapl:{root}/powercap", f"hwmon:{root}/hwmon", f"cray:{root}/pm_counters"]


def opened(words: list[str]) -> list[meters.Target]:
    """The targets that can be read here, this machine's own among them; what cannot is said."""
    found = []
    for target in sampling.resolve([*words, "auto"], LocalHost()):
        try:
            meters.get(target.meter).open(target, LocalHost()).close()
            found.append(target)
        except Unavailable as error:
            common.say(f"left out: {target}: {error.what}")
    return found


def cost(targets: list[meters.Target], asked: argparse.Namespace) -> Rates:
    """CPU time and memory of the sampler beside an idle machine."""
    with tempfile.TemporaryDirectory() as name:
        with sampling.start(targets, Path(name), interval_s=1 / asked.hz) as sampler:
            time.sleep(asked.seconds)
        share = sampling.cost(Path(name))
    if sampler.ending is None or share is None:
        raise CannotMeasure("the sampler left no account of its CPU time")
    courses = sampler.ending.courses
    rate = sum(one.readings / sampler.ending.wall_s for one in courses)
    channels, skipped = sum(len(one.channels) for one in sampler.opened), sum(one.skipped for one in courses)
    values = (len(sampler.opened), channels, rate, share, sampler.ending.peak_bytes, skipped)
    return {"sampler": dict(zip(COST, values, strict=True))}


def beside(targets: list[meters.Target], folder: Path, asked: argparse.Namespace, path: str) -> Iterator[Rates]:
    """The mean time of a pass of STREAM in two windows, in one of which the sampler runs: all of one run of stream."""
    used = sorted(os.sched_getaffinity(0))
    windows = 2 * asked.rounds
    seconds = (windows + 4) * (asked.window_s + 0.1)
    command = [path, "--threads", str(len(used)), "--sizes", str(2**25), "--kernels", "triad", "--variant", "nt"]
    command += ["--seconds", f"{seconds:g}", "--no-verify"]
    dice = random.Random(asked.seed)
    order = [state for _ in range(asked.rounds) for state in dice.choice([(True, False), (False, True)])]
    spans: list[tuple[float, float]] = []
    spare = sampling.spare_cpus(used, LocalHost())
    common.say(
        f"the sampler runs {'on CPUs that stream leaves free' if spare else 'among its threads: no CPU is free'}"
    )
    with (
        sampling.start(targets, folder, interval_s=1 / asked.hz, cpus=spare) as sampler,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child,
    ):
        assert child.stdout is not None
        for line in child.stdout:
            event = json.loads(line)
            if event["event"] == "phase" and event["name"] == "measure" and event["edge"] == "begin":
                break
        time.sleep(asked.window_s)
        for running in order:
            os.kill(sampler.pid, signal.SIGCONT if running else signal.SIGSTOP)
            time.sleep(0.05)  # a tick that was under way
            begin = time.time()
            time.sleep(asked.window_s)
            spans.append((begin, time.time()))
        os.kill(sampler.pid, signal.SIGCONT)
        case = next(event for event in map(json.loads, child.stdout) if event["event"] == "case")
    sides = [SAMPLED if running else ALONE for running in order]
    means = passes(case, spans)
    for at in range(0, windows, 2):
        yield {sides[one]: {"a pass": means[one]} for one in (at, at + 1)}


def passes(case: dict[str, Any], spans: list[tuple[float, float]]) -> list[float]:
    """The mean time of a pass in each window. Passes follow one another; what lies between them is spread evenly. Raises
    CannotMeasure."""
    taken = case["seconds"]
    begin, end = case["begin_ns"] * 1e-9, case["end_ns"] * 1e-9
    between = (end - begin - sum(taken)) / len(taken)
    held: list[list[float]] = [[] for _ in spans]
    at = begin
    for one in taken:
        middle = at + one / 2
        at += one + between
        for window, (first, last) in zip(held, spans, strict=True):
            if first <= middle < last:
                window.append(one)
    if not all(held):
        raise CannotMeasure("stream ended before its windows", hint="fewer rounds, or longer windows")
    return [sum(window) / len(window) for window in held]


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        targets = opened(tree(folder / "sys"))
        title = f"all meters at {asked.hz:g} Hz"
        yield Group(title, COST, [Pass("sampler", lambda: cost(targets, asked))], ["sampler"], rounds=1)
        series = beside(targets, folder / "beside", asked, program(asked, "stream"))
        time_of = {"a pass": Figure("ms", 1e3, better="lower", goal="slower by less than 0.1 %")}
        yield Group("STREAM triad", time_of, [Pass("stream", lambda: next(series))], [SAMPLED])


ROW = Row(
    groups,
    rounds=20,
    options={
        "seconds": Option(20.0, 0.5, "of the sampler alone"),
        "hz": Option(10.0),
        "window_s": Option(0.5, 0.1, "of stream, with the sampler and without it in each round"),
        "seed": Option(1),
    },
)
