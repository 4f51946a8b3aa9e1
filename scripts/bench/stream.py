"""The stream program beside likwid-bench, HPCC's StarSTREAM and the C library's memcpy.

    python3 scripts/bench/stream.py [--build build] [--threads 2] [--gib 1] [--rounds 5] [--hpcc-rounds 1] [--json]

Everything is started in turn, round by round, in an order that turns with the round, so that a drift of the machine
meets all alike. All count as STREAM does: 16 bytes an element for copy, 24 for triad. likwid-bench is run as it is (with
the pages that malloc gives) and again with the C library told to ask for huge pages. memcpy is run by stream_peers, which
is built with the native tests, on our arrays with our pinned threads, pass by pass in turn with our copy. HPCC runs all
its tests to reach StarSTREAM, so it takes part in fewer rounds. A ratio is ours over the peer's in the same round; what
is printed is the median over the rounds, and the least and the most. What is absent is said.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rates = dict[str, float]  # name -> bytes per second

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


def ours(program: Path, threads: int, size: int) -> Rates:
    """Median rates of our copy and triad."""
    text = run(
        [
            str(program),
            "--threads",
            str(threads),
            "--sizes",
            str(size),
            "--kernels",
            "copy,triad",
            "--variant",
            "nt",
            "--samples",
            "15",
        ]
    )
    cases = [event for event in map(json.loads, text.splitlines()) if event["event"] == "case"]
    return {case["kernel"]: case["work"]["bytes"] / statistics.median(case["seconds"]) for case in cases}


def likwid(threads: int, size: int, *, huge: bool) -> Rates:
    """likwid-bench's copy and triad with non-temporal stores, in the widest instruction set that it has here."""
    known = run(["likwid-bench", "-a"])
    flags = Path("/proc/cpuinfo").read_text().split()
    isa = next(
        i
        for i, flag in (("avx512", "avx512f"), ("avx", "avx"), ("sse", "sse2"))
        if flag in flags and f"stream_mem_{i} " in known
    )
    rates = {}
    for kernel, test, arrays in (("copy", f"copy_mem_{isa}", 2), ("triad", f"stream_mem_{isa}", 3)):
        text = run(
            ["likwid-bench", "-t", test, "-w", f"N:{arrays * size // 1000}kB:{threads}"],
            env={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} if huge else None,
        )
        found = re.search(r"^MByte/s:\s+([0-9.]+)", text, re.MULTILINE)
        if found is None:
            raise RuntimeError(f"likwid-bench printed no MByte/s: {text[-300:]}")
        rates[kernel] = float(found[1]) * 1e6
    return rates


def hpcc(ranks: int) -> Rates:
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
    return {kernel: float(found[kernel.title()]) * 1e9 * ranks for kernel in ("copy", "triad")}


def memcpy(program: Path, threads: int, size: int) -> tuple[float, float, float]:
    """Rates of our copy and of memcpy, and the median of the ratios of neighbouring passes."""
    report = json.loads(run([str(program), "--threads", str(threads), "--bytes", str(size)]))
    pairs = list(zip(report["copy_seconds"], report["memcpy_seconds"], strict=True))
    mine, theirs = (report["bytes"] / statistics.median(side) for side in zip(*pairs, strict=True))
    return mine, theirs, statistics.median(b / a for a, b in pairs)


def one_round(args: argparse.Namespace, turn: int, folder: Path) -> dict[str, Any]:
    """The rates of every program in one round, by name; None for one that is absent or failed."""
    size = int(args.gib * 2**30)
    parts: dict[str, Callable[[], Any]] = {"shakedown": lambda: ours(folder / "stream", args.threads, size)}
    if shutil.which("likwid-bench"):
        parts["likwid-bench"] = lambda: likwid(args.threads, size, huge=False)
        parts["likwid-bench, huge pages"] = lambda: likwid(args.threads, size, huge=True)
    if (folder / "stream_peers").exists():
        parts["memcpy"] = lambda: memcpy(folder / "stream_peers", args.threads, size)
    if shutil.which("hpcc") and shutil.which("mpirun") and turn < args.hpcc_rounds:
        parts["hpcc StarSTREAM"] = lambda: hpcc(args.threads)
    names = list(parts)
    names = names[turn % len(names) :] + names[: turn % len(names)]
    results: dict[str, Any] = {}
    for name in names:
        try:
            results[name] = parts[name]()
        except (subprocess.CalledProcessError, OSError, RuntimeError, KeyError) as error:
            if name == "shakedown":
                raise
            print(f"{name}: failed: {getattr(error, 'stderr', '') or error}", file=sys.stderr)
    return results


def row(peer: str, kernel: str, ratios: list[float], mine: list[float], theirs: list[float]) -> dict[str, Any]:
    """One comparison: median rates in GB/s, and the ratios' median, least and most."""
    return {
        "peer": peer,
        "kernel": kernel,
        "rounds": len(ratios),
        "ratio": statistics.median(ratios),
        "low": min(ratios),
        "high": max(ratios),
        "ours_gb_s": statistics.median(mine) / 1e9,
        "theirs_gb_s": statistics.median(theirs) / 1e9,
    }


def compare(rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each peer and kernel."""
    rows = []
    for peer in ("likwid-bench", "likwid-bench, huge pages", "hpcc StarSTREAM"):
        both = [(entry["shakedown"], entry[peer]) for entry in rounds if peer in entry]
        for kernel in ("copy", "triad") if both else ():
            mine, theirs = ([side[kernel] for side in sides] for sides in zip(*both, strict=True))
            rows.append(row(peer, kernel, [a / b for a, b in zip(mine, theirs, strict=True)], mine, theirs))
    found = [entry["memcpy"] for entry in rounds if "memcpy" in entry]
    if found:
        mine, theirs, ratios = (list(column) for column in zip(*found, strict=True))
        rows.append(row("memcpy", "copy", ratios, mine, theirs))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="the build folder")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--gib", type=float, default=1, help="GiB of each array")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hpcc-rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    folder = args.build / "native" / "stream"
    rounds = []
    for turn in range(args.rounds):
        rounds.append(one_round(args, turn, folder))
        print(f"round {turn + 1} of {args.rounds} done", file=sys.stderr, flush=True)
    rows = compare(rounds)
    absent = sorted({"likwid-bench", "hpcc StarSTREAM", "memcpy"} - {entry["peer"] for entry in rows})
    if args.json:
        print(json.dumps({"rows": rows, "absent": absent, "threads": args.threads, "gib": args.gib}))
        return
    for one in rows:
        print(
            f"{one['kernel']:6s} beside {one['peer']:25s} ours {one['ours_gb_s']:5.1f} theirs {one['theirs_gb_s']:5.1f} "
            f"GB/s  ratio {one['ratio']:.3f} ({one['low']:.3f} to {one['high']:.3f}, {one['rounds']} rounds)"
        )
    for peer in absent:
        print(f"{peer}: absent, not measured")


if __name__ == "__main__":
    main()
