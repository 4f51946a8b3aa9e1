"""The N-body program beside the best that we can make of its arithmetic, and beside what a compiler makes of the formula.

In each round the program runs in both precisions with all threads, then nbody_peers (built with the native tests, --build;
needs AVX-512) runs our loop on data in the level-1 cache, the same arithmetic in registers alone (no loads: the best
hand-vectorised figure), the multiply-adds that the processor does for as many instructions as need a multiplier (a bound by
ports), and the formula as the compiler vectorises it with -ffast-math. The peers are timed by the CPU time of one thread,
the program by the clock on the wall, so on a busy machine the program looks worse than it is: `loop` compares alike.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row, program

PRECISIONS = ("fp32", "fp64")
BEST = "program, best sample"


def ours(asked: argparse.Namespace) -> Rates:
    """Interactions per second and thread, by the median and by the best sample."""
    words = ["--bodies", str(asked.bodies), "--threads", str(asked.threads), "--precision", ",".join(PRECISIONS)]
    rates: dict[str, dict[str, float]] = {"program": {}, BEST: {}}
    for case in common.cases([program(asked, "nbody"), *words, "--samples", "7"]):
        for side, seconds in (("program", statistics.median(case["seconds"])), (BEST, min(case["seconds"]))):
            rates[side][case["params"]["precision"]] = case["work"]["interactions"] / seconds / asked.threads
    return rates


def bounds(path: str) -> Rates:
    """Of the lower quartile of each one's times: a disturbance only ever adds time."""
    (found,) = common.events([path])
    return {
        "loop" if name == "ours" else name: {
            precision: times["interactions"] / statistics.quantiles(times[name], n=4)[0]
            for precision, times in found.items()
        }
        for name in ("ours", "registers", "multipliers", "compiler")
    }


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    path = str(Path(asked.build or "build", "native/nbody/nbody_peers").resolve())
    needs = {path: "configure with -DSHAKEDOWN_TESTS=ON, build the target peers, and name the folder by --build"}
    passes = [Pass("program", lambda: ours(asked)), Pass("nbody_peers", lambda: bounds(path), needs)]
    sides = ["loop", "program", BEST]
    if "avx512f" not in Path("/proc/cpuinfo").read_text().split():
        common.say("nbody_peers needs AVX-512, which this machine does not offer: the program alone")
        passes, sides = passes[:1], sides[1:]
    figures = dict.fromkeys(PRECISIONS, Figure("1e9 interactions/s a thread", 1e-9))
    yield Group(f"{asked.bodies} bodies, {asked.threads} threads", figures, passes, sides)


ROW = Row(groups, rounds=5, options={"bodies": Option(65536, 1024), "threads": Option(common.CORES, 1)})
