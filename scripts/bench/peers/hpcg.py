"""HPCG's iterations beside the plain loops of the reference, and beside the bandwidth of the same threads.

All in one process and in turn, on the same system (hpcg_peers, built with the native tests, --build): STREAM's triad, a
sum, `iterations` of ours, one of the plain loops, which are those that the rules time as the reference: rows one after
the other, one thread. `bound` is the rate that the triad's bandwidth would let ours have if each value, column and
number of a vector moved once; `bound by reads` the same by the sum alone. Both solvers' residuals must agree
(--tolerance).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row

RATE = "Gflop/s"


def all_sides(asked: argparse.Namespace, path: str, isa: str) -> Rates:
    """Rates by medians. Raises Wrong where the two solvers do not agree."""
    words = ("nx", "threads", "rounds_within", "iterations", "triad_bytes")
    names = {"rounds_within": "rounds", "triad_bytes": "triad-bytes"}
    options = [text for word in words for text in (f"--{names.get(word, word)}", str(getattr(asked, word)))]
    (found,) = common.events([path, *options, "--isa", isa])
    if not found["apart"] <= asked.tolerance:
        raise common.Wrong(f"{isa}: our residuals and the plain loops' are {found['apart']} apart")
    middle = {name: statistics.median(found[name]) for name in ("triad", "read", "ours", "plain")}
    flops, moved = found["iteration_flops"], found["iteration_bytes"]
    return {
        "ours": {RATE: flops / middle["ours"]},
        "plain": {RATE: flops / middle["plain"]},
        "bound": {RATE: flops * found["triad_bytes"] / middle["triad"] / moved},
        "bound by reads": {RATE: flops * found["read_bytes"] / middle["read"] / moved},
    }


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    path = str(Path(asked.build or "build", "native/hpcg/hpcg_peers").resolve())
    needs = {path: "configure with -DSHAKEDOWN_TESTS=ON, build the target peers, and name the folder by --build"}
    for isa in asked.isas.split(","):
        one = Pass("hpcg_peers", partial(all_sides, asked, path, isa), needs)
        yield Group(f"{asked.nx}^3, {asked.threads} threads, {isa}", {RATE: Figure(RATE, 1e-9)}, [one], ["ours"])


ROW = Row(
    groups,
    rounds=5,
    options={
        "nx": Option(104, 16),
        "threads": Option(2, 1),
        "isas": Option("auto", "plain"),
        "rounds_within": Option(8, 2, help="of each in a pass"),
        "iterations": Option(4, 2, help="of ours in each of these"),
        "triad_bytes": Option(0, 65536, help="of each array; 0: as hpcg takes"),
        "tolerance": Option(1e-9, help="relative, of the residual after two iterations"),
    },
)
