"""The stream program beside likwid-bench, HPCC's StarSTREAM and the C library's memcpy.

All count as STREAM does: 16 bytes an element for copy, 24 for triad. likwid-bench is run as it is (with the pages that
malloc gives) and again with the C library told to ask for huge pages. memcpy is run by stream_peers, which is built with
the native tests (--build), on our arrays with our pinned threads, pass by pass in turn with our copy. HPCC runs all its
tests to reach StarSTREAM, so it takes part in few rounds.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
import hpcc
from common import Option

from shakedown.errors import CannotMeasure
from shakedown.workloads.common import hpl_dat

from . import Figure, Group, Pass, Rates, Row, program

PASSES = 8  # over the arrays, in one pass of a round: about a second with arrays of 1 GiB
RATE = Figure("GB/s", 1e-9)


def ours(asked: argparse.Namespace, size: int, kernel: str) -> Rates:
    """The median rate of our loop."""
    argv = [program(asked, "stream"), "--threads", str(asked.threads), "--sizes", str(size), "--kernels", kernel]
    case = common.cases([*argv, "--variant", "nt", "--samples", str(PASSES)])[0]
    return {"stream": {kernel: case["work"]["bytes"] / statistics.median(case["seconds"])}}


def likwid(asked: argparse.Namespace, size: int, kernel: str, name: str, huge: bool) -> Rates:
    """likwid-bench's copy or triad with non-temporal stores, in the widest instruction set that it has here."""
    known, flags = common.output(["likwid-bench", "-a"]), Path("/proc/cpuinfo").read_text().split()
    sets = (("avx512", "avx512f"), ("avx", "avx"), ("sse", "sse2"))
    isa = next(isa for isa, flag in sets if flag in flags and f"stream_mem_{isa} " in known)
    test, arrays = {"copy": (f"copy_mem_{isa}", 2), "triad": (f"stream_mem_{isa}", 3)}[kernel]
    argv = ["likwid-bench", "-t", test, "-i", str(PASSES), "-w", f"N:{arrays * size // 1000}kB:{asked.threads}"]
    text = common.output(argv, env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if huge else {})
    found = re.search(r"^MByte/s:\s+([0-9.]+)", text, re.MULTILINE)
    if found is None:
        raise CannotMeasure(f"likwid-bench printed no MByte/s: {text[-300:]}")
    return {name: {kernel: float(found[1]) * 1e6}}


def starstream(asked: argparse.Namespace, kernel: str) -> Rates:
    """Every rank at once, the mean rate of a rank times the ranks."""
    ranks = asked.threads
    order = 1000 if asked.tiny else 10_000
    dat = hpl_dat.HplDat(n=(order,), nb=(128,), grids=((1, ranks),), nbmin=(8,))
    found = dict(re.findall(r"^StarSTREAM_(\w+)=([0-9.]+)", hpcc.run(dat, env={"OPENBLAS_NUM_THREADS": "1"}), re.M))
    return {"hpcc StarSTREAM": {kernel: float(found[kernel.title()]) * 1e9 * ranks}}


def memcpy(asked: argparse.Namespace, path: str, size: int) -> Iterator[Rates]:
    """Our copy and memcpy in one process, a round after another."""
    argv = [path, "--threads", str(asked.threads), "--bytes", str(size), "--rounds", str(asked.rounds)]
    (report,) = common.events(argv)
    for mine, theirs in zip(report["copy_seconds"], report["memcpy_seconds"], strict=True):
        yield {"stream": {"copy": report["bytes"] / mine}, "memcpy": {"copy": report["bytes"] / theirs}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    size = int(asked.gib * 2**30)
    brings = {"likwid-bench": "sudo apt-get install likwid"}
    for kernel in ("copy", "triad"):
        for name, huge in (("likwid-bench", False), ("likwid-bench with huge pages", True)):
            peer = Pass(name, partial(likwid, asked, size, kernel, name, huge), brings)
            yield beside(asked, size, kernel, peer)
        peer = Pass("hpcc StarSTREAM", partial(starstream, asked, kernel), hpcc.NEEDS)
        yield beside(asked, size, kernel, peer)._replace(rounds=asked.hpcc_rounds)
    path = str(Path(asked.build or "build", "native/stream/stream_peers").resolve())
    needs = {path: "configure with -DSHAKEDOWN_TESTS=ON, build the target peers, and name the folder by --build"}
    series = memcpy(asked, path, size)
    both = Pass("memcpy", lambda: next(series), needs)
    yield Group("copy beside memcpy", {"copy": RATE}, [both], ["stream"])


def beside(asked: argparse.Namespace, size: int, kernel: str, peer: Pass) -> Group:
    mine = Pass("stream", partial(ours, asked, size, kernel))
    return Group(f"{kernel} beside {peer.name}", {kernel: RATE}, [mine, peer], ["stream"])


ROW = Row(
    groups,
    rounds=24,
    options={
        "threads": Option(common.CORES, 1),
        "gib": Option(1.0, 0.01, "GiB of each array"),
        "hpcc_rounds": Option(1, 0, "of hpcc, which takes minutes"),
    },
)
