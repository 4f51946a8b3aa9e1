"""pingpong beside the ping-pong of hpcc, with the same MPI, on two ranks.

    python scripts/bench/pingpong.py --program build/native/pingpong/pingpong [--mpirun mpirun] [--rounds 10]

hpcc must be linked to the MPI that the program was built with (Debian: hpcc, libopenmpi-dev). Both are started in turn,
round by round, in an order that changes with the round, so that a drift of the machine meets both alike. Of a few loops
of 8-byte messages hpcc prints the least latency, so ours is shown as the least of its samples, like for like, and as
their median. The bandwidth is that of a ping-pong of 2,000,000 bytes; hpcc sends from memory that it mostly never
wrote, which the kernel may back by one page of zeros in the cache: its figure there can be above what a program gets.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LARGE_BYTES = 2_000_000  # hpcc's long message

#: hpcc's input: the smallest problem that it takes seriously, so that its other tests end soon.
HPCC_INPUT = """HPLinpack benchmark input file
pingpong
HPL.out
8
1
500
1
80
0
1
1
2
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
0
2
64
0
0
1
8
separator
0
1200
0
40
"""


def mpirun(args: argparse.Namespace) -> list[str]:
    return [args.mpirun, "-np", "2", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


def run_hpcc(args: argparse.Namespace) -> dict[str, float]:
    """The best latency (s) and bandwidth (B/s) of hpcc's ping-pong: over its loops and both directions."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hpccinf.txt").write_text(HPCC_INPUT)
        subprocess.run([*mpirun(args), "--bind-to", "core", args.hpcc], cwd=folder, check=True, capture_output=True)
        text = Path(folder, "hpccoutf.txt").read_text()
    figures = dict(re.findall(r"^(\w+PingPong\w+)=([\d.e+-]+)$", text, re.MULTILINE))
    return {
        "latency": 1e-6 * float(figures["MinPingPongLatency_usec"]),
        "bandwidth": 1e9 * float(figures["MaxPingPongBandwidth_GBytes"]),
    }


def run_program(args: argparse.Namespace) -> dict[str, float]:
    """The same of ours: least and median of the samples."""
    done = subprocess.run(
        [
            *mpirun(args),
            "--bind-to",
            "none",
            args.program,
            "--kernels",
            "latency",
            "--sizes",
            f"8,{LARGE_BYTES}",
            "--samples",
            str(args.samples),
        ],
        check=True,
        capture_output=True,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    small, large = (event for event in events if event["event"] == "case")
    wrong = small["residual"]["value"] + large["residual"]["value"]
    if wrong:
        raise SystemExit(f"pingpong found {wrong} wrong bytes")
    return {
        "latency": min(small["seconds"]) / small["work"]["messages"],
        "latency, median": statistics.median(small["seconds"]) / small["work"]["messages"],
        "bandwidth": large["work"]["bytes"] / min(large["seconds"]),
        "bandwidth, median": large["work"]["bytes"] / statistics.median(large["seconds"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="our pingpong")
    parser.add_argument("--hpcc", default="hpcc", help="hpcc, linked to the same MPI")
    parser.add_argument("--mpirun", default="mpirun", help="the launcher of that MPI (Open MPI)")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--samples", type=int, default=200, help="of each size in each round")
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for index in range(args.rounds):
        both = [(ours, run_program), (theirs, run_hpcc)]
        for rates, run in both if index % 2 == 0 else reversed(both):
            rates.append(run(args))
        print(
            f"round {index + 1}: {ours[-1]['latency'] * 1e9:.1f} ns, hpcc {theirs[-1]['latency'] * 1e9:.1f} ns",
            file=sys.stderr,
        )
    for name, unit, scale in (("latency", "ns", 1e9), ("bandwidth", "GB/s", 1e-9)):
        peer = statistics.median(one[name] for one in theirs) * scale
        print(f"{name}: hpcc {peer:.4g} {unit}")
        for key in (name, f"{name}, median"):
            value = statistics.median(one[key] for one in ours) * scale
            ratio = statistics.median(mine[key] / other[name] for mine, other in zip(ours, theirs, strict=True))
            shown = "best sample" if key == name else "median sample"
            print(f"  pingpong, {shown}: {value:.4g} {unit}; ratio to hpcc {ratio:.3f}")


if __name__ == "__main__":
    main()
