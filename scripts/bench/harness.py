"""What the harness costs: its own run of empty workloads, its memory, and how long help takes.

    python scripts/bench/harness.py [--json] [--runs 50]

A run's cost is what the harness spends around the program: plan, start, wait, judge, write to the disk (with fsync).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CAMPAIGN = """
name = "empty"
title = "Empty runs"
[[run]]
workload = "empty"
[run.sweep]
tag = [{tags}]
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true")
    options.add_argument("--runs", type=int, default=50)
    asked = options.parse_args()
    command = [sys.executable, "-m", "shakedown"]
    with tempfile.TemporaryDirectory() as folder:
        campaign = Path(folder) / "empty.toml"
        campaign.write_text(CAMPAIGN.format(tags=", ".join(str(tag) for tag in range(asked.runs))))
        begun = time.monotonic()
        process = subprocess.Popen(
            [*command, "run", str(campaign), "--directory", f"{folder}/run", "--no-report"], stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        total_s = time.monotonic() - begun
        if status:
            sys.exit(f"the empty campaign failed with status {status}")
        records = [json.loads(path.read_text()) for path in Path(folder).glob("run/runs/*/1/measurement.json")]
        walls = [(record["end_ns"] - record["begin_ns"]) * 1e-9 + record["harness_s"] for record in records]
    helps = []
    for _ in range(7):
        begun = time.monotonic()
        subprocess.run([*command, "--help"], stdout=subprocess.DEVNULL, check=True)
        helps.append(time.monotonic() - begun)
    result = {
        "runs": len(records),
        "ms_a_run_median": 1e3 * statistics.median(walls),
        "ms_a_run_most": 1e3 * max(walls),
        "ms_a_run_whole_process": 1e3 * total_s / len(records),
        "peak_memory_mb": usage.ru_maxrss * 1024 / 1e6,
        "help_s_median": statistics.median(helps),
        "python_start_s": _python_start_s(),
    }
    if asked.json:
        print(json.dumps(result))
    else:
        print(
            f"harness: {result['ms_a_run_median']:.1f} ms a run (most {result['ms_a_run_most']:.1f}, the whole process "
            f"{result['ms_a_run_whole_process']:.1f} over {result['runs']} runs), {result['peak_memory_mb']:.0f} MB; "
            f"--help {result['help_s_median']:.2f} s (bare Python {result['python_start_s']:.2f} s)"
        )


def _python_start_s() -> float:
    taken = []
    for _ in range(7):
        begun = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        taken.append(time.monotonic() - begun)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
