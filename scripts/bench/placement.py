"""How often a planted fault of placement is named, and how often the interval of its price holds the truth.

    python scripts/bench/placement.py [--launches 100] [--series 2000] [--seed 0] [--tiny] [--json]

Launched, watched and diagnosed each time, of a program that works 0.2 s of processor time: two ranks held on one CPU, a
rank that goes from one CPU to the other every 20 ms, more ranks than CPUs. From records alone: ranks of the AMD machine of
8 NUMA nodes in tests/recordings/topology, with pages drawn; ``near`` has at most 5 % of them elsewhere, and none may be
named. The price: series of rounds with a known factor, drift, 5 % of scatter and a second mode in one launch of ten.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
from common import Option

from shakedown import programs
from shakedown.hosts.access import ReplayHost
from shakedown.machine import discover
from shakedown.placement import command_line, records
from shakedown.placement.diagnosis import diagnose
from shakedown.placement.price import AS_LAUNCHED, Launched, factors
from shakedown.placement.records import Pages, Rank, Thread
from shakedown.records import Host

RECORDING = Path(__file__).parents[2] / "tests/recordings/topology/64amd64-4s2n4ca2co.tar.bz2"
LIMIT_S = 600.0
WORK = """
import os, sys, time
cpus, turn = [int(word) for word in sys.argv[1:]], 0
while time.process_time() < 0.2:
    sum(range(2000))
    if cpus and time.process_time() > turn * 0.02:
        turn += 1
        os.sched_setaffinity(0, {cpus[turn % len(cpus)]})
"""


def launched(command: list[str]) -> tuple[Rank, ...]:
    """The ranks of one watched launch."""
    with tempfile.TemporaryDirectory(prefix="placement-") as folder:
        argv = command_line.watched(command, command_line.prologue(programs.path("placement_rank"), folder))
        subprocess.run(argv, env={**os.environ, **common.AS_ROOT}, capture_output=True, check=True, timeout=LIMIT_S)
        return records.read(Path(folder)).ranks


def faults() -> dict[str, tuple[str, list[str]]]:
    """Fault -> the kind that must be named, and the command."""
    usable = sorted(os.sched_getaffinity(0))
    mpirun = ["mpirun", "--bind-to", "none", "--oversubscribe"]
    work = [sys.executable, "-c", WORK]
    moving = [*work, *map(str, usable[:2])]
    return {
        "two ranks on one CPU": ("shared-cpu", [*mpirun, "-n", "2", "taskset", "-c", str(usable[0]), *work]),
        "a rank that moves": ("migrating", [*mpirun, "-n", "1", *moving]),
        "two ranks a CPU": ("oversubscribed", [*mpirun, "-n", str(2 * len(usable)), *work]),
    }


def recorded() -> Host:
    """The recorded machine of eight nodes."""
    with tempfile.TemporaryDirectory(prefix="placement-") as folder:
        with tarfile.open(RECORDING) as archive:
            archive.extractall(folder, filter="data")
        (tree,) = Path(folder).iterdir()
        return discover(ReplayHost(tree))


def rank_of(host: Host, rng: random.Random, remote: bool) -> Rank:
    """A rank on one core of it, with most of its pages elsewhere or nearly none."""
    core = rng.choice(host.cpu.cores)
    node = core.numa_node or 0
    nodes = [one.id for one in host.numa]
    share = rng.uniform(0.2, 1.0) if remote else rng.uniform(0, 0.05)
    pages = rng.randint(64, 1024)
    away = round(share * pages)
    other = rng.choice([one for one in nodes if one != node])
    cpu = core.cpus[0]
    return Rank(
        schema=1,
        rank=0,
        size=1,
        local_rank=0,
        launcher="Open MPI",
        host=host.name,
        reachable=tuple(cpu for one in host.cpu.cores for cpu in one.cpus),
        places=tuple(
            (cpu, one.cpus[0], one.socket or 0, one.numa_node or 0, cpu) for one in host.cpu.cores for cpu in one.cpus
        ),
        begin_unix_ns=0,
        wall_s=1.0,
        finished=True,
        samples=50,
        threads=(Thread(pid=1, tid=1, mask=(cpu,), cpus={cpu: 50}, run_s=1.0, wait_s=0.0),),
        pages=Pages(nodes={node: pages - away, other: away}, asked=pages),
    )


def named(kind: str, ranks: tuple[Rank, ...]) -> bool:
    return kind in {one.kind for one in diagnose(ranks).symptoms}


def held(truth: float, rounds: int, rng: random.Random) -> bool:
    """Whether the interval of one simulated series holds its factor."""
    launches = []
    for number in range(rounds):
        for name, times in ((AS_LAUNCHED, truth), ("compact", 1.0)):
            scatter = math.exp(rng.gauss(0, 0.05)) * (2.5 if rng.random() < 0.1 else 1)
            seconds = times * scatter * (1 + 0.5 * math.sin(number))
            launches.append(Launched(arrangement=name, round=number, seconds=seconds))
    (found,) = factors(launches, LIMIT_S)
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def main() -> None:
    asked = common.arguments(
        __doc__,
        launches=Option(100, 2, "launches of each fault"),
        series=Option(2000, 200, "series of rounds of each factor"),
        seed=Option(0),
    )
    rng = random.Random(asked.seed)
    host = recorded()
    counted: dict[str, Callable[[], bool]] = {
        "remote memory (recorded)": lambda: named("remote-memory", (rank_of(host, rng, True),)),
        "near memory (recorded), not named": lambda: not named("remote-memory", (rank_of(host, rng, False),)),
    }
    for fault, (kind, command) in faults().items():
        counted[fault] = lambda kind=kind, command=command: named(kind, launched(command))  # type: ignore[misc]
    rows: list[dict[str, Any]] = []
    for fault, once in counted.items():
        right = sum(once() for _ in range(asked.launches))
        rows.append({"fault": fault, "right": right, "of": asked.launches})
    prices = []
    for rounds in (6, 9, 20):
        for truth in (1.0, 1.1, 2.0, 5.0):
            right = sum(held(truth, rounds, rng) for _ in range(asked.series))
            prices.append({"rounds": rounds, "factor": truth, "held_percent": 100 * right / asked.series})
    common.show(
        asked,
        faults=(rows, {"fault": "", "right": "", "of": ""}),
        prices=(prices, {"rounds": "", "factor": "", "held_percent": ".1f"}),
    )


if __name__ == "__main__":
    main()
