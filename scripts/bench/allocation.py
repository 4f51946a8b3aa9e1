"""What the harness costs in an allocation: so many tests on every node of a rehearsal cluster, in one job of Slurm.

    python scripts/bench/allocation.py [--tests 20] [--seconds 10] [--nodes 4]

Each test sleeps on every node at once. What the job lasts beyond the tests is the harness: its start, asking the hosts what
they are, the plan, an order to the agents for each test, the files. The nodes share this machine's cores, so that what
runs on four nodes at once on a cluster runs one after the other here: the figure is an upper bound.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from shakedown import rehearsal_cluster
from shakedown.results.run_directory import RunDirectory
from shakedown.run.batch import submission

CAMPAIGN = """
name = "overhead"
title = "What the harness costs"

[[run]]
workload = "empty"
nodes = "each"
params = {{ seconds = {seconds} }}
sweep = {{ tag = [{tags}] }}
"""


def main() -> int:
    """Prints the figures; 0 where the share is below the goal."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--tests", type=int, default=20)
    options.add_argument("--seconds", type=float, default=10.0, help="of each test")
    options.add_argument("--nodes", type=int, default=4)
    args = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="sd-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        with rehearsal_cluster.up(Path(folder) / "lab", nodes=args.nodes) as lab:
            file, path = lab.shared / "overhead.toml", lab.shared / "run"
            file.write_text(CAMPAIGN.format(seconds=args.seconds, tags=", ".join(map(str, range(args.tests)))))
            words = ["run", file, "--on", "slurm", "--nodes", args.nodes, "--directory", path, "--no-report"]
            ran = lab.run(
                [sys.executable, "-m", "shakedown", *map(str, words)], limit_s=120 + 3 * args.tests * args.seconds
            )
            if not ran.ok:
                print(ran.err, file=sys.stderr)
                return 3
            (record,) = submission.ended(submission.folders(path)[0])
            jobs = lab.run(["sacct", "-X", "-n", "-P", "-o", "JobID"], limit_s=60).out.split()
            measurements = RunDirectory.open(path).load().measurements
    begin_s, end_s = record.begin_s or 0.0, record.end_s or 0.0
    first = min(one.begin_ns for one in measurements) * 1e-9
    last = max(one.end_ns for one in measurements) * 1e-9
    tests_s = args.tests * args.seconds
    steps_s = last - first - tests_s
    print(f" {args.tests} tests of {args.seconds:g} s on {args.nodes} nodes, jobs in the queue: {len(jobs)}")
    print(f" job                  {end_s - begin_s:8.1f} s by the accounting (whole seconds)")
    print(f" before the first     {first - begin_s:8.1f} s: start, hosts, plan")
    print(
        f" between the tests    {steps_s:8.1f} s: {steps_s / args.tests:.2f} s a test, {steps_s / tests_s:.2%} of their time"
    )
    print(f" in all               {(last - begin_s - tests_s) / (last - begin_s):8.2%} of the time")
    return 0 if (last - begin_s - tests_s) / (last - begin_s) < 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
