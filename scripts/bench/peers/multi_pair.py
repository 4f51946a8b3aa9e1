"""multi_pair's rings beside those of hpcc, with the same MPI, on two ranks, by hpcc's own definition.

hpcc must be linked to the MPI that the program was built with (Debian: hpcc, libopenmpi-dev). Both take for each
order of the ranks the least loop of the faster of two methods, of the slowest rank by its own clock, and over random
orders the geometric mean. hpcc makes few loops and prints nothing of their scatter; ours is its definition over all
samples of the case. Its long messages come from memory that it mostly never wrote, which the kernel may back by one
page of zeros in the cache: its bandwidth can be above what a program gets.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import common
import hpcc
from common import Option

from shakedown.workloads.common import hpl_dat

from . import Figure, Group, Pass, Rates, Row, program

LARGE_BYTES = 2_000_000  # hpcc's long message
FIGURES = {
    f"{ring} ring, {what}": figure
    for ring in ("natural", "random")
    for what, figure in {
        "latency": Figure("ns", 1e9, better="lower"),
        "bandwidth of a rank": Figure("GB/s", 1e-9),
    }.items()
}


def theirs(asked: argparse.Namespace) -> Rates:
    dat = hpl_dat.HplDat(n=(500,), nb=(80,), grids=((1, 2),), nbmin=(8,))
    text = hpcc.run(dat, mpirun=asked.mpirun, program=asked.hpcc)
    found = dict(re.findall(r"^(\w+OrderedRing\w+)=([\d.e+-]+)$", text, re.MULTILINE))
    rates = {}
    for ring, name in (("natural", "NaturallyOrderedRing"), ("random", "RandomlyOrderedRing")):
        rates[f"{ring} ring, latency"] = 1e-6 * float(found[f"{name}Latency_usec"])
        rates[f"{ring} ring, bandwidth of a rank"] = 1e9 * float(found[f"{name}Bandwidth_GBytes"])
    return {"hpcc": rates}


def ours(asked: argparse.Namespace, pages: str) -> Rates:
    start = [asked.mpirun, "-np", "2", "--bind-to", "none", program(asked, "multi_pair")]
    words = ["--kernels", "natural_ring,random_ring", "--sizes", f"8,{LARGE_BYTES}", "--samples", str(asked.samples)]
    words += ["--pages", pages]
    cases = common.cases([*start, *words])
    if wrong := sum(case["residual"]["value"] for case in cases if case.get("residual")):
        raise common.Wrong(f"multi_pair found {wrong} wrong bytes")
    rates = {}
    for case in cases:
        ring, _, by = case["kernel"].partition("_ring")
        if by != "_hpcc":
            continue
        if case["params"]["bytes"] == LARGE_BYTES:
            rates[f"{ring} ring, bandwidth of a rank"] = case["work"]["hpcc_bytes_per_s"]
        else:
            rates[f"{ring} ring, latency"] = case["work"]["hpcc_s"]
    return {f"multi_pair, {pages} pages": rates}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    passes = [
        Pass("multi_pair", lambda: ours(asked, "huge")),
        Pass("hpcc", lambda: theirs(asked), hpcc.NEEDS),
        Pass("multi_pair, base pages", lambda: ours(asked, "base")),
    ]
    yield Group("rings", FIGURES, passes, ["multi_pair, huge pages", "multi_pair, base pages"])


ROW = Row(
    groups,
    rounds=10,
    options={
        "hpcc": Option("hpcc", help="hpcc, linked to the same MPI"),
        "mpirun": Option("mpirun", help="the launcher of that MPI (Open MPI)"),
        "samples": Option(300, 2, "of each ring, size and method in each round"),
    },
)
