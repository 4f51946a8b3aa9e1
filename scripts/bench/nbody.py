"""The N-body program beside the best that we can make of its arithmetic, and beside what a compiler makes of the formula.

    python3 scripts/bench/nbody.py [--build build] [--bodies 65536] [--threads 2] [--rounds 5] [--json]

In each round the program runs in both precisions with all threads, then ``nbody_peers`` (built with the native tests; needs
AVX-512) runs our loop on data in the level-1 cache, the same arithmetic in registers alone (no loads: the best
hand-vectorised figure), the multiply-adds that the processor does for as many instructions as need a multiplier (a bound
by ports), and the formula as the compiler vectorises it with -ffast-math. The peers are timed by the CPU time of one thread,
the program by the clock on the wall, so on a busy machine the program looks worse than it is: ``loop`` compares alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

PEERS = ("registers", "multipliers", "compiler")


def run(argv: list[str]) -> str:
    """Standard output of a command; exits where it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(argv)} failed with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def one_round(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """precision -> what -> interactions per second; of the peers for one thread."""
    folder = args.build / "native" / "nbody"
    words = ["--bodies", str(args.bodies), "--threads", str(args.threads), "--precision", "fp32,fp64", "--samples", "7"]
    events = map(json.loads, run([str(folder / "nbody"), *words]).splitlines())
    cases = [event for event in events if event["event"] == "case"]
    found: dict[str, dict[str, float]] = {}
    for case in cases:
        work = case["work"]["interactions"]
        found[case["params"]["precision"]] = {
            "program": work / statistics.median(case["seconds"]),
            "program, best sample": work / min(case["seconds"]),
        }
    for precision, times in json.loads(run([str(folder / "nbody_peers")])).items():
        for name in ("ours", *PEERS):
            # The lower quartile: a disturbance only ever adds time.
            seconds = statistics.quantiles(times[name], n=4)[0]
            found[precision]["loop" if name == "ours" else name] = times["interactions"] / seconds
    return found


def rows(rounds: list[dict[str, dict[str, float]]], threads: int) -> list[dict[str, Any]]:
    """One comparison each: median of the ratios, least and most, and the median rates in 1e9 interactions/s and thread."""
    table = []
    for precision in ("fp32", "fp64"):
        for side, share in (("loop", 1), ("program", threads), ("program, best sample", threads)):
            for peer in PEERS:
                pairs = [(entry[precision][side] / share, entry[precision][peer]) for entry in rounds]
                ratios = [ours / theirs for ours, theirs in pairs]
                table.append(
                    {
                        "precision": precision,
                        "ours": side,
                        "peer": peer,
                        "ratio": statistics.median(ratios),
                        "low": min(ratios),
                        "high": max(ratios),
                        "ours_g_s": statistics.median(pair[0] for pair in pairs) / 1e9,
                        "theirs_g_s": statistics.median(pair[1] for pair in pairs) / 1e9,
                    }
                )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="the build folder")
    parser.add_argument("--bodies", type=int, default=65536)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not (args.build / "native" / "nbody" / "nbody_peers").exists():
        sys.exit(f"no nbody_peers below {args.build}: configure with -DSHAKEDOWN_TESTS=ON and build it")
    rounds = []
    for turn in range(args.rounds):
        rounds.append(one_round(args))
        print(f"round {turn + 1} of {args.rounds} done", file=sys.stderr, flush=True)
    table = rows(rounds, args.threads)
    if args.json:
        print(json.dumps({"rounds": rounds, "rows": table}, indent=1))
        return
    for row in table:
        print(
            f"{row['precision']} {row['ours']:21s} over {row['peer']:12s} {row['ratio']:.3f} ({row['low']:.3f} to "
            f"{row['high']:.3f}): {row['ours_g_s']:.2f} against {row['theirs_g_s']:.2f} 1e9 interactions/s a thread"
        )


if __name__ == "__main__":
    main()
