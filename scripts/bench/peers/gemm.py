"""The gemm program beside a bare loop over the same BLAS library.

The bare loop is a fresh process that loads the library by ctypes, fills two numpy matrices, calls once to warm up and then
times calls of the same routine with the same arguments. The median of each one's samples counts. Without --library the one
that `library = "auto"` takes is measured.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import product

import common
from common import Option

from shakedown.errors import Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.machine.blas import blas
from shakedown.workloads.common import blas as libraries

from . import Figure, Group, Pass, Rates, Row, program


def bare_loop(library: str, n: int, threads: int, precision: str, samples: int) -> list[float]:
    """Seconds of each of ``samples`` calls of dgemm or sgemm (precision "d", "s") of order n; runs in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
        os.environ[name] = str(threads)
    loaded = ctypes.CDLL(library, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    import numpy as np

    spellings = (f"{precision}gemm_", f"scipy_{precision}gemm_", f"scipy_{precision}gemm_64_")
    routine = next(getattr(loaded, name) for name in spellings if hasattr(loaded, name))
    kind, real = (np.float64, ctypes.c_double) if precision == "d" else (np.float32, ctypes.c_float)
    random = np.random.default_rng(1)
    a, b = (random.random((n, n), dtype=kind) - kind(0.5) for _ in range(2))
    c = np.zeros((n, n), dtype=kind)
    order, one, zero = ctypes.byref(ctypes.c_int64(n)), ctypes.byref(real(1)), ctypes.byref(real(0))
    at_a, at_b, at_c = (matrix.ctypes.data_as(ctypes.c_void_p) for matrix in (a, b, c))
    lengths = ctypes.c_size_t(1), ctypes.c_size_t(1)
    arguments = (b"N", b"N", order, order, order, one, at_a, order, at_b, order, zero, at_c, order, *lengths)
    routine(*arguments)
    seconds = []
    for _ in range(samples):
        begin = time.monotonic()
        routine(*arguments)
        seconds.append(time.monotonic() - begin)
    return seconds


def chosen_library() -> str:
    """The path of the library that ``auto`` takes on this machine. Raises Unavailable."""
    host = LocalHost()
    cpuinfo = host.read("/proc/cpuinfo") or ""
    vendor = next((name for name in ("GenuineIntel", "AuthenticAMD") if name in cpuinfo), "")
    found = libraries.ordered(blas(host), vendor)
    if not found:
        raise Unavailable("no optimised BLAS library was found", hint="pip install scipy-openblas32")
    return found[0].path


def bare(asked: argparse.Namespace, library: str, n: int, threads: int, precision: str) -> Rates:
    words = [library, str(n), str(threads), precision, str(asked.samples)]
    argv = [sys.executable, "-m", __name__, *words]
    seconds = json.loads(common.output(argv, env={"PYTHONPATH": os.pathsep.join(sys.path)}))
    return {"bare loop": {f"{precision}gemm": 2 * n**3 / statistics.median(seconds)}}


def ours(asked: argparse.Namespace, library: str, n: int, threads: int, precision: str) -> Rates:
    words = ["--library", library, "--sizes", str(n), "--threads", str(threads), "--precision", precision]
    case = common.cases([program(asked, "gemm"), *words, "--samples", str(asked.samples), "--pages", asked.pages])[0]
    return {"gemm": {f"{precision}gemm": case["work"]["flop"] / statistics.median(case["seconds"])}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    library = asked.library or chosen_library()
    common.say(library)
    for precision, n, threads in product(asked.precision, asked.sizes, asked.threads):
        sides = [
            Pass(name, partial(run, asked, library, n, threads, precision))
            for name, run in (("gemm", ours), ("bare loop", bare))
        ]
        name = f"{precision}gemm"
        yield Group(f"{name}, N {n}, {threads} threads", {name: Figure("Gflop/s", 1e-9)}, sides, ["gemm"])


ROW = Row(
    groups,
    rounds=5,
    options={
        "library": Option(""),
        "sizes": Option([4096, 8192], [128]),
        "threads": Option([1, 2], [1]),
        "precision": Option(["d", "s"], ["d"]),
        "samples": Option(3, 1),
        "pages": Option("huge"),
    },
    bench=f"--precision d --threads {common.CORES}",
)

if __name__ == "__main__":
    print(json.dumps(bare_loop(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))))
