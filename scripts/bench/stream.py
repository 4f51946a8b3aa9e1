"""The stream program beside likwid-bench, HPCC's StarSTREAM and the C library's memcpy.

    python3 scripts/bench/stream.py [--build build] [--threads 2] [--gib 1] [--pairs 24] [--hpcc-rounds 1] [--json]

Short passes in turn (paired.py): one of ours, a second long, then one of the peer's, the order alternating. All count as
STREAM does: 16 bytes an element for copy, 24 for triad. likwid-bench is run as it is (with the pages that malloc gives) and
again with the C library told to ask for huge pages. memcpy is run by stream_peers, which is built with the native tests, on
our arrays with our pinned threads, pass by pass in turn with our copy. HPCC runs all its tests to reach StarSTREAM, so it
takes part in few pairs. What is printed is the median of the ratios within pairs, its interval and what that allows to
claim. What is absent is said.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import paired

Rates = tuple[list[float], list[float]]  # ours and the peer's, bytes per second, pair by pair
PASSES = 8  # over the arrays, in one pass of a pair: about a second with arrays of 1 GiB

_HPCC_INPUT = """HPLinpack benchmark input file
-
HPL.out
8
1
{n}
1
128
0
1
1
{ranks}
16.0
1
2
1
4
1
2
1
1
1
1
1
1
2
64
0
0
1
8
-
0
1200
0
40
"""


def run(argv: list[str], *, env: dict[str, str] | None = None, cwd: str | None = None) -> str:
    """Standard output of a command. Raises CalledProcessError with its messages."""
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=cwd, env={**os.environ, **(env or {})})
    return done.stdout


def ours(program: Path, threads: int, size: int, kernel: str) -> float:
    """The median rate of our loop in one short pass."""
    argv = [str(program), "--threads", str(threads), "--sizes", str(size), "--kernels", kernel]
    text = run([*argv, "--variant", "nt", "--samples", str(PASSES)])
    case = next(event for event in map(json.loads, text.splitlines()) if event["event"] == "case")
    return float(case["work"]["bytes"] / statistics.median(case["seconds"]))


def likwid(threads: int, size: int, kernel: str, *, huge: bool) -> float:
    """likwid-bench's copy or triad with non-temporal stores, in the widest instruction set that it has here."""
    known = run(["likwid-bench", "-a"])
    flags = Path("/proc/cpuinfo").read_text().split()
    isa = next(
        i
        for i, flag in (("avx512", "avx512f"), ("avx", "avx"), ("sse", "sse2"))
        if flag in flags and f"stream_mem_{i} " in known
    )
    test, arrays = {"copy": (f"copy_mem_{isa}", 2), "triad": (f"stream_mem_{isa}", 3)}[kernel]
    text = run(
        ["likwid-bench", "-t", test, "-i", str(PASSES), "-w", f"N:{arrays * size // 1000}kB:{threads}"],
        env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if huge else None,
    )
    found = re.search(r"^MByte/s:\s+([0-9.]+)", text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"likwid-bench printed no MByte/s: {text[-300:]}")
    return float(found[1]) * 1e6


def hpcc(ranks: int, kernel: str) -> float:
    """HPCC's StarSTREAM: every rank at once, the mean rate of a rank times the ranks."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hpccinf.txt").write_text(_HPCC_INPUT.format(n=10_000, ranks=ranks))
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        run(
            ["mpirun", "-np", str(ranks), "--bind-to", "core", "hpcc"],
            cwd=folder,
            env={**root, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        text = Path(folder, "hpccoutf.txt").read_text()
    found = dict(re.findall(r"^StarSTREAM_(\w+)=([0-9.]+)", text, re.MULTILINE))
    return float(found[kernel.title()]) * 1e9 * ranks


def memcpy(program: Path, threads: int, size: int, pairs: int) -> Rates:
    """Rates of our copy and of memcpy, pass by pass."""
    argv = [str(program), "--threads", str(threads), "--bytes", str(size), "--rounds", str(pairs)]
    report = json.loads(run(argv))
    mine, theirs = ([report["bytes"] / one for one in report[name]] for name in ("copy_seconds", "memcpy_seconds"))
    return mine, theirs


def measured(args: argparse.Namespace) -> Iterator[tuple[str, str, Rates]]:
    """Peer, kernel and the rates of both, pair by pair, as they are there. What fails is said."""
    size, folder = int(args.gib * 2**30), args.build / "native" / "stream"
    for kernel in ("copy", "triad"):
        mine = partial(ours, folder / "stream", args.threads, size, kernel)
        peers: list[tuple[str, Callable[[], float], int]] = []
        if shutil.which("likwid-bench"):
            for name, huge in (("likwid-bench", False), ("likwid-bench, huge pages", True)):
                peers.append((name, partial(likwid, args.threads, size, kernel, huge=huge), args.pairs))
        if shutil.which("hpcc") and shutil.which("mpirun"):
            peers.append(("hpcc StarSTREAM", partial(hpcc, args.threads, kernel), args.hpcc_rounds))
        for name, peer, pairs in peers:
            try:
                if pairs:
                    yield name, kernel, paired.in_turn(mine, peer, pairs)
            except (subprocess.CalledProcessError, OSError, RuntimeError, KeyError) as error:
                print(f"{name}: failed: {getattr(error, 'stderr', '') or error}", file=sys.stderr)
    if (folder / "stream_peers").exists():
        yield "memcpy", "copy", memcpy(folder / "stream_peers", args.threads, size, args.pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="the build folder")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--gib", type=float, default=1, help="GiB of each array")
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--hpcc-rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    seen = set()
    for peer, kernel, (mine, theirs) in measured(args):
        seen.add(peer)
        found = paired.ratio(mine, theirs)
        if args.json:
            print(json.dumps({"peer": peer, "kernel": kernel, "ours": mine, "theirs": theirs, **found._asdict()}))
            continue
        rates = f"ours {statistics.median(mine) / 1e9:5.1f} theirs {statistics.median(theirs) / 1e9:5.1f} GB/s"
        print(f"{kernel:6s} beside {peer:25s} {rates}  ratio {found}", flush=True)
    for peer in sorted({"likwid-bench", "hpcc StarSTREAM", "memcpy"} - seen):
        print(f"{peer}: absent, not measured", file=sys.stderr)


if __name__ == "__main__":
    main()
