"""pingpong beside the ping-pong of hpcc, with the same MPI, on two ranks.

hpcc must be linked to the MPI that the program was built with (Debian: hpcc, libopenmpi-dev). Of a few loops of 8-byte
messages hpcc prints the least latency, so ours is shown as the least of its samples, like for like, and as their median.
The bandwidth is that of a ping-pong of 2,000,000 bytes; hpcc sends from memory that it mostly never wrote, which the kernel
may back by one page of zeros in the cache: its figure there can be above what a program gets.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterator

import common
import hpcc
from common import Option

from shakedown.workloads.common import hpl_dat

from . import Figure, Group, Pass, Rates, Row, program

LARGE_BYTES = 2_000_000  # hpcc's long message
FIGURES = {"latency": Figure("ns", 1e9, better="lower"), "bandwidth": Figure("GB/s", 1e-9)}


def theirs(asked: argparse.Namespace) -> Rates:
    """The best over hpcc's loops and both directions; the problem is the smallest that hpcc takes seriously."""
    dat = hpl_dat.HplDat(n=(500,), nb=(80,), grids=((1, 2),), nbmin=(8,))
    text = hpcc.run(dat, mpirun=asked.mpirun, program=asked.hpcc)
    found = dict(re.findall(r"^(\w+PingPong\w+)=([\d.e+-]+)$", text, re.MULTILINE))
    latency, bandwidth = found["MinPingPongLatency_usec"], found["MaxPingPongBandwidth_GBytes"]
    return {"hpcc": {"latency": 1e-6 * float(latency), "bandwidth": 1e9 * float(bandwidth)}}


def ours(asked: argparse.Namespace) -> Rates:
    words = ["--kernels", "latency", "--sizes", f"8,{LARGE_BYTES}", "--samples", str(asked.samples)]
    start = [asked.mpirun, "-np", "2", "--bind-to", "none", program(asked, "pingpong")]
    small, large = common.cases([*start, *words])
    if wrong := small["residual"]["value"] + large["residual"]["value"]:
        raise common.Wrong(f"pingpong found {wrong} wrong bytes")
    return {
        f"pingpong, {name} sample": {
            "latency": of(small["seconds"]) / small["work"]["messages"],
            "bandwidth": large["work"]["bytes"] / of(large["seconds"]),
        }
        for name, of in (("best", min), ("median", statistics.median))
    }


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    passes = [Pass("pingpong", lambda: ours(asked)), Pass("hpcc", lambda: theirs(asked), hpcc.NEEDS)]
    yield Group("ping-pong", FIGURES, passes, ["pingpong, best sample", "pingpong, median sample"])


ROW = Row(
    groups,
    rounds=10,
    options={
        "hpcc": Option("hpcc", help="hpcc, linked to the same MPI"),
        "mpirun": Option("mpirun", help="the launcher of that MPI (Open MPI)"),
        "samples": Option(200, 2, "of each size in each round"),
    },
)
