"""filesystem beside fio: one file written, written over and read in blocks, with O_DIRECT, its end by fsync counted.

    python scripts/bench/filesystem.py --program build/native/filesystem/filesystem [--directory .] [--rounds 10]

fio runs the same pattern: engine psync, --direct=1, --end_fsync=1, --fallocate=none (it would else reserve the file's room
before its clock starts), random buffers whose pages it makes differ. Both are started in turn, in an order that changes
with the round, each on a file of its own, and both check nothing meanwhile. fio's clock has milliseconds, so files are
made large enough for that to be a fraction of a percent. The ratio is ours over fio's, round by round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict

KERNELS = ("write", "rewrite", "read")


def ours(args: argparse.Namespace, block: int, size: int) -> dict[str, float]:
    words = ["--directory", args.directory, "--kernels", ",".join(KERNELS), "--blocks", str(block), "--size", str(size)]
    words += ["--samples", "1", "--cache", "direct", "--no-verify", "--threads", str(args.threads)]
    done = subprocess.run([args.program, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"filesystem ended with {done.returncode}: {done.stderr}")
    found = [event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "case"]
    return {case["kernel"]: case["work"]["bytes"] / case["seconds"][0] for case in found}


def fio(args: argparse.Namespace, block: int, size: int) -> dict[str, float]:
    rates = {}
    with tempfile.TemporaryDirectory(dir=args.directory) as folder:
        for kernel in KERNELS:
            words = ["--name=bench", "--output-format=json", f"--directory={folder}", f"--size={size}", f"--bs={block}"]
            words += [f"--rw={'read' if kernel == 'read' else 'write'}", "--ioengine=psync", "--direct=1", "--thread"]
            words += ["--fallocate=none", f"--numjobs={args.threads}", "--group_reporting", "--end_fsync=1"]
            words += ["--overwrite=1"] if kernel == "rewrite" else []
            done = subprocess.run(["fio", *words], capture_output=True, text=True, check=True)
            (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
            rates[kernel] = job["read" if kernel == "read" else "write"]["bw_bytes"]
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="our filesystem")
    parser.add_argument("--directory", default=".", help="a folder on the file system to be measured")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--size", type=int, default=512, help="MiB of each file at blocks of 1 MiB; a quarter of it below"
    )
    parser.add_argument("--blocks", default="1048576,65536,4096", help="bytes, separated by commas")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    for block in map(int, args.blocks.split(",")):
        size = (args.size << 20) // (1 if block == 1 << 20 else 4)
        mine: defaultdict[str, list[float]] = defaultdict(list)
        theirs: defaultdict[str, list[float]] = defaultdict(list)
        for index in range(args.rounds):
            print(f"round {index + 1} of blocks of {block} B, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
            pair = [(ours, mine), (fio, theirs)]
            for run, kept in pair if index % 2 == 0 else reversed(pair):
                for kernel, rate in run(args, block, size).items():
                    kept[kernel].append(rate)
        for kernel in KERNELS:
            ratios = sorted(a / b for a, b in zip(mine[kernel], theirs[kernel], strict=True))
            ratio = statistics.median(ratios)
            of_medians = statistics.median(mine[kernel]) / statistics.median(theirs[kernel])
            print(
                f"{kernel} in blocks of {block} B: {statistics.median(mine[kernel]) / 1e6:.1f} MB/s, fio "
                f"{statistics.median(theirs[kernel]) / 1e6:.1f} MB/s, ratio {ratio:.3f} "
                f"({ratios[0]:.2f} to {ratios[-1]:.2f}; of the medians {of_medians:.3f})"
            )


if __name__ == "__main__":
    main()
