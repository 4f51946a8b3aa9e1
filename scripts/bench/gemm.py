"""The gemm program beside a bare loop over the same BLAS library.

    python scripts/bench/gemm.py [--library /path/of/libopenblas.so.0] [--program build/native/gemm/gemm]

The bare loop is a fresh process that loads the library by ctypes, fills two numpy matrices, calls once to warm up and
then times calls of the same routine with the same arguments. Both are started in turn, round by round, in an order that
changes with the round, so that a drift of the machine meets both alike. Per round: the median of each one's samples;
what is printed is the median of the rounds' ratios, program over bare loop, in flop/s. Without ``--library`` the one
that ``library = "auto"`` takes is measured.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

from shakedown import programs
from shakedown.hosts.access import LocalHost
from shakedown.machine.blas import blas
from shakedown.workloads.common import blas as _blas


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
    arguments = (
        b"N",
        b"N",
        order,
        order,
        order,
        one,
        a.ctypes.data_as(ctypes.c_void_p),
        order,
        b.ctypes.data_as(ctypes.c_void_p),
        order,
        zero,
        c.ctypes.data_as(ctypes.c_void_p),
        order,
        ctypes.c_size_t(1),
        ctypes.c_size_t(1),
    )
    routine(*arguments)
    seconds = []
    for _ in range(samples):
        begin = time.monotonic()
        routine(*arguments)
        seconds.append(time.monotonic() - begin)
    return seconds


def chosen_library() -> str:
    """The path of the library that ``auto`` takes on this machine."""
    host = LocalHost()
    cpuinfo = host.read("/proc/cpuinfo") or ""
    vendor = next((name for name in ("GenuineIntel", "AuthenticAMD") if name in cpuinfo), "")
    found = _blas.ordered(blas(host), vendor)
    if not found:
        sys.exit("no optimised BLAS library was found: pip install scipy-openblas32")
    return found[0].path


def flop_rate(seconds: list[float], flop: float) -> float:
    return flop / statistics.median(seconds)


def run_bare(args: argparse.Namespace, n: int, threads: int, precision: str) -> float:
    done = subprocess.run(
        [sys.executable, __file__, "--library", args.library, "--bare", f"{n},{threads},{precision},{args.samples}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return flop_rate(json.loads(done.stdout), 2 * n**3)


def run_program(args: argparse.Namespace, n: int, threads: int, precision: str) -> float:
    done = subprocess.run(
        [
            args.program,
            "--library",
            args.library,
            "--sizes",
            str(n),
            "--threads",
            str(threads),
            "--precision",
            precision,
            "--samples",
            str(args.samples),
            "--pages",
            args.pages,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    case = next(event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "case")
    return flop_rate(case["seconds"], case["work"]["flop"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="")
    parser.add_argument("--program", default="", help="the native program; empty: the one that is installed")
    parser.add_argument("--sizes", default="4096,8192")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--precision", default="d,s")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", default="huge")
    parser.add_argument("--bare", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.bare:
        n, threads, precision, samples = args.bare.split(",")
        print(json.dumps(bare_loop(args.library, int(n), int(threads), precision, int(samples))))
        return
    args.program = args.program or programs.path("gemm")
    args.library = args.library or chosen_library()
    print(args.library, flush=True)
    for precision in args.precision.split(","):
        for n in map(int, args.sizes.split(",")):
            for threads in map(int, args.threads.split(",")):
                pairs = []
                for turn in range(args.rounds):
                    runs = [run_program, run_bare]
                    rates = {run: run(args, n, threads, precision) for run in (runs if turn % 2 else runs[::-1])}
                    pairs.append((rates[run_program], rates[run_bare]))
                ratio = statistics.median(ours / theirs for ours, theirs in pairs)
                ours, theirs = (statistics.median(side) / 1e9 for side in zip(*pairs, strict=True))
                print(
                    f"{precision}gemm {n:6d} {threads:3d} threads: program {ours:8.1f} bare {theirs:8.1f} Gflop/s "
                    f"ratio {ratio:.3f} ({min(o / t for o, t in pairs):.3f} to {max(o / t for o, t in pairs):.3f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
