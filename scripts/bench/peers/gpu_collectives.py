"""gpu_collectives beside nccl-tests, over the same library on the same GPUs: bus bandwidth of an all-reduce.

Both start their ranks in one process, call out of place, warm up five times and check nothing while they measure. nccl-tests
times 20 calls in a row by the host's clock and prints the mean over its threads; ours is the median of 20 samples, each of
as many calls as last 2 ms, on the GPU where it took longest, and its library keeps no log (--no-algorithm). nccl-tests has
no package: a site builds it (make MPI=0 NCCL_HOME=...), and --nccl is the library that it is linked with.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Iterator
from functools import partial

import common
from common import Option

from shakedown.errors import Unavailable
from shakedown.workloads import nccl_tests

from . import Figure, Group, Pass, Rates, Row, program


def ours(asked: argparse.Namespace, size: int) -> Rates:
    words = ["--backend", asked.backend, "--nccl", asked.nccl, "--groups", str(asked.gpus), "--sizes", str(size)]
    words += ["--operations", "all_reduce", "--place", "out", "--samples", str(asked.samples), "--no-algorithm"]
    (case,) = common.cases([program(asked, "gpu_collectives"), *words, "--no-verify"])
    return {"gpu_collectives": {"bus": case["work"]["bus_bytes"] / statistics.median(case["seconds"])}}


def theirs(asked: argparse.Namespace, size: int) -> Rates:
    words = ["-b", str(size), "-e", str(size), "-g", str(asked.gpus), "-n", "20", "-w", "5", "-c", "0"]
    folder = os.path.dirname(asked.nccl) or os.environ.get("LD_LIBRARY_PATH", "")
    text = common.output(["all_reduce_perf", *words], env={"LD_LIBRARY_PATH": folder})
    case = next(one for one in nccl_tests.parse(text, {}) if not one.params["in_place"])
    return {"nccl-tests": {"bus": case.work["bus_bytes"] / statistics.median(case.seconds)}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    if asked.backend == "cuda" and not os.path.exists("/proc/driver/nvidia/version"):
        raise Unavailable("there is no NVIDIA driver here", hint="measure it where several GPUs are")
    for size in asked.sizes:
        passes = [
            Pass("gpu_collectives", partial(ours, asked, size)),
            Pass("nccl-tests", partial(theirs, asked, size), {"all_reduce_perf": "build NVIDIA's nccl-tests"}),
        ]
        figures = {"bus": Figure("GB/s", 1e-9, goal="0.98 of nccl-tests")}
        yield Group(f"all-reduce of {size} B", figures, passes, ["gpu_collectives"], alone=True)


ROW = Row(
    groups,
    rounds=10,
    options={
        "backend": Option("cuda", "host:2"),
        "nccl": Option("auto", help="the library of both, a path"),
        "gpus": Option(8, 2, help="so many GPUs"),
        "samples": Option(20, 2),
        "sizes": Option([8, 1 << 20, 1 << 28, 1 << 33], [65536], "bytes"),
    },
)
