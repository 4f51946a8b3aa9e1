"""Our HPL beside its own DGEMM, and beside the HPL of Debian's hpcc with the same BLAS, pages and cores.

--orders: the rate over that of the DGEMM with k = NB that every thread does before and after it in the same process.
--peer-orders: in each round ours and hpcc's for every kind of pages; each solves every order with every block size of its
list, hpcc also as one rank of all threads and as one rank a core on 1 x P. What is compared is the best of each, order by
order and round by round; every residual must have passed. Huge pages are transparent ones: ours asks for them, hpcc gets
them through glibc's `glibc.malloc.hugetlb`. The BLAS must be one that hpcc can be made to load: a site's libopenblas with
plain names, put in front by LD_LIBRARY_PATH as libblas.so.3.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import common
import hpcc
from common import CORES, Option

from shakedown.errors import CannotMeasure
from shakedown.workloads.common import hpl_dat

from . import Figure, Group, Pass, Rates, Row, program

GFLOPS = Figure("Gflop/s", 1e-9)
#: A process of its own on every core, or one with all of them: ranks, threads of its BLAS.
LAYOUTS = ((CORES, 1), (1, CORES))


def solved(asked: argparse.Namespace, n: int, blocks: list[int], pages: str, samples: int) -> list[dict[str, Any]]:
    """The events of our program. Raises CannotMeasure, also where a residual failed."""
    words = ["--n", str(n), "--nb", ",".join(map(str, blocks)), "--pages", pages, "--library", asked.library]
    return common.events([program(asked, "hpl"), *words, "--samples", str(samples)])


def rates(events: list[dict[str, Any]], kernel: str) -> dict[int, list[float]]:
    """Block size -> flop/s of each sample."""
    found = [event for event in events if event["event"] == "case" and event["kernel"] == kernel]
    return {one["params"]["nb"]: [one["work"]["flop"] / seconds for seconds in one["seconds"]] for one in found}


def own_dgemm(asked: argparse.Namespace, n: int, nb: int) -> Rates:
    """Both in one process, by the medians of the samples; and the memory that is held beyond the matrix."""
    events = solved(asked, n, [nb], "huge", max(1, 12_000 // n))
    mine, ceiling = (statistics.median(rates(events, kernel)[nb]) for kernel in ("hpl", "ceiling"))
    over = events[-1]["max_rss_bytes"] / (8 * n * n) - 1
    return {"hpl": {"rate": mine, "memory over 8 N^2": over}, f"DGEMM k = {nb}": {"rate": ceiling}}


def ours(asked: argparse.Namespace, pages: str) -> Rates:
    """Every order with every block size."""
    found: dict[str, dict[str, float]] = {}
    for n in asked.peer_orders:
        for nb, samples in rates(solved(asked, n, asked.nb, pages, 1), "hpl").items():
            found.setdefault(f"hpl: NB {nb}", {})[f"N {n}"] = max(samples)
    return found


def theirs(asked: argparse.Namespace, pages: str, layout: int) -> Rates:
    """The same of hpcc, which runs all of its other tests first."""
    ranks, threads = LAYOUTS[layout]
    dat = hpl_dat.HplDat(
        n=tuple(asked.peer_orders),
        nb=tuple(asked.peer_nb),
        grids=((1, ranks),),
        nbmin=(8,),
        depth=tuple(asked.peer_depth),
    )
    env = {"OPENBLAS_NUM_THREADS": str(threads), "GLIBC_TUNABLES": f"glibc.malloc.hugetlb={int(pages == 'huge')}"}
    text = hpcc.run(dat, bind="core" if threads == 1 else "none", env=env, blas=asked.library)
    found: dict[str, dict[str, float]] = {}
    for n, nb, gflops in re.findall(r"^W\S+\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s+\S+\s+(\S+)$", text, re.MULTILINE):
        held = found.setdefault(f"hpcc: NB {nb}, 1 x {ranks} ranks of {threads} threads", {})
        held[f"N {n}"] = max(held.get(f"N {n}", 0.0), float(gflops) * 1e9)
    if not found or "FAILED" in text.split("Begin of HPL section")[-1].split("Begin of Summary")[0]:
        raise CannotMeasure("hpcc gave no result that passed")
    return found


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    for n, nb in product(asked.orders, asked.nb):
        both = Pass("hpl", partial(own_dgemm, asked, n, nb))
        figures = {"rate": GFLOPS, "memory over 8 N^2": Figure("%", 100, better="")}
        yield Group(f"N {n}, NB {nb}", figures, [both], ["hpl"])
    for pages in asked.pages if asked.peer_orders else ():
        passes = []
        for layout in asked.layouts:  # ours between its runs, so that a drift meets both
            passes += [
                Pass("hpl", partial(ours, asked, pages)),
                Pass("hpcc", partial(theirs, asked, pages, layout), hpcc.NEEDS),
            ]
        yield Group(f"{pages} pages", {f"N {n}": GFLOPS for n in asked.peer_orders}, passes, ["hpl"])


ROW = Row(
    groups,
    rounds=2,
    options={
        "library": Option("/usr/lib/x86_64-linux-gnu/libopenblas.so.0"),
        "orders": Option([4000, 8000, 16000], [400]),
        "peer_orders": Option([8000, 12000], [400]),
        "nb": Option([192, 256], [64], "our block sizes"),
        "peer_nb": Option([128, 192, 240], [64], "hpcc's block sizes"),
        "peer_depth": Option([0, 1], [0], "hpcc's depths of look-ahead"),
        "layouts": Option([0, 1], [1], "hpcc's: 0 a rank a core, 1 one rank"),
        "pages": Option(["huge", "base"], ["base"]),
    },
)
