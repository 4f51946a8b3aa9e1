"""What the harness costs in an allocation: so many tests on every node of a rehearsal cluster, in one job of Slurm.

Each test sleeps on every node at once. What the job lasts beyond the tests is the harness: its start, asking the hosts what
they are, the plan, an order to the agents for each test, the files. The nodes share this machine's cores, so that what
runs on four nodes at once on a cluster runs one after the other here: the figure is an upper bound. It has no peer.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import Option

from shakedown import rehearsal_cluster
from shakedown.errors import CannotMeasure
from shakedown.results.run_directory import RunDirectory
from shakedown.run.batch import submission

from . import Figure, Group, Pass, Rates, Row

#: The harness' part of the time may be this.
GOAL = 0.02
FIGURES = {
    "jobs in the queue": Figure("", better=""),
    "job by the accounting, whole seconds": Figure("s", better=""),
    "before the first test: start, hosts, plan": Figure("s", better=""),
    "between the tests": Figure("s", better=""),
    "between the tests, a test": Figure("s", better=""),
    "between the tests, of their time": Figure("%", 100, better=""),
    "in all": Figure("% of the time", 100, better="lower", goal="below 2 %", at_most=GOAL),
}
CAMPAIGN = """
name = "overhead"
title = "What the harness costs"

[[run]]
workload = "empty"
nodes = "each"
params = {{ seconds = {seconds} }}
sweep = {{ tag = [{tags}] }}
"""


def job(asked: argparse.Namespace, lab: rehearsal_cluster.RehearsalCluster) -> Rates:
    """One job with all the tests. Raises CannotMeasure where it fails."""
    file, path = lab.shared / "overhead.toml", lab.shared / "run"
    file.write_text(CAMPAIGN.format(seconds=asked.seconds, tags=", ".join(map(str, range(asked.tests)))))
    words = ["run", file, "--on", "slurm", "--nodes", asked.nodes, "--directory", path, "--no-report"]
    tests_s = asked.tests * asked.seconds
    ran = lab.run([sys.executable, "-m", "shakedown", *map(str, words)], limit_s=120 + 3 * tests_s)
    if not ran.ok:
        raise CannotMeasure(ran.err)
    (record,) = submission.ended(submission.folders(path)[0])
    jobs = lab.run(["sacct", "-X", "-n", "-P", "-o", "JobID"], limit_s=60).out.split()
    measurements = RunDirectory.open(path).load().measurements
    begin_s, end_s = record.begin_s or 0.0, record.end_s or 0.0
    first_s = min(one.begin_ns for one in measurements) * 1e-9
    last_s = max(one.end_ns for one in measurements) * 1e-9
    steps_s, whole_s = last_s - first_s - tests_s, last_s - begin_s
    shares = steps_s / asked.tests, steps_s / tests_s, (whole_s - tests_s) / whole_s
    values = (len(jobs), end_s - begin_s, first_s - begin_s, steps_s, *shares)
    return {"harness": dict(zip(FIGURES, values, strict=True))}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory(prefix="sd-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        with rehearsal_cluster.up(Path(folder) / "lab", nodes=asked.nodes) as lab:
            title = f"{asked.tests} tests of {asked.seconds:g} s on {asked.nodes} nodes"
            yield Group(title, FIGURES, [Pass("harness", lambda: job(asked, lab))], ["harness"], rounds=1)


ROW = Row(
    groups,
    rounds=1,
    options={"tests": Option(20, 1), "seconds": Option(10.0, 0.1, "of each test"), "nodes": Option(4, 2)},
)
