"""Durable checkpoints of the library beside fio that writes files of the same sizes and flushes them.

One program, checkpoint_peers (built with the native tests, --build), has ranks that are processes, each a node with a
folder of its own. It counts from the call to the commit: the copy of the state, its checksums, files and folders flushed.
A first checkpoint, which makes the buffers, is left out; between two the application computes for half a second, as it does
between real ones. fio writes as many files as there are ranks, in blocks of 1 MiB through the page cache, with fsync at
their end (what the goal names), and with O_DIRECT. Level 3 writes the state and as much parity as `losses` asks: 2 of 4
nodes, which is as much as the state, as FTI's level 3 writes and survives. It stands beside FTI's 0.25 GB/s of 4 ranks of
256 MiB on two cores (docs/performance.md). `cpu` is the processor time of all ranks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row

DURABLE = "durable"
CPU = "cpu"
FIGURES = {DURABLE: Figure("GB/s of state", 1e-9), CPU: Figure("s/GB", 1e9, better="")}


def ours(asked: argparse.Namespace, path: str, level: int, ranks: int) -> Rates:
    words = ["--directory", asked.directory, "--level", str(level), "--ranks", str(ranks), "--samples", "2"]
    words += ["--mib", str(asked.mib), "--losses", str(max(1, ranks // 2))]
    (found,) = common.events([path, *words])
    cpu = [sum(pair) for pair in zip(found["user_seconds"], found["system_seconds"], strict=True)]
    size = found["bytes"]
    return {"ours": {DURABLE: size / statistics.median(found["seconds"]), CPU: statistics.median(cpu) / size}}


def fio(asked: argparse.Namespace, ranks: int, direct: bool) -> Rates:
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:
        words = ["fio", "--name=bench", "--output-format=json", f"--directory={folder}", f"--size={asked.mib}M"]
        words += ["--bs=1M", "--rw=write", "--ioengine=psync", "--end_fsync=1", f"--direct={direct:d}"]
        words += [f"--numjobs={ranks}", "--group_reporting"]
        text = common.output(words)
    (job,) = json.loads(text[text.index("{") :])["jobs"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return {
        "fio, O_DIRECT" if direct else "fio": {DURABLE: job["write"]["bw_bytes"], CPU: cpu / job["write"]["io_bytes"]}
    }


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    path = str(Path(asked.build or "build", "native/checkpoint/checkpoint_peers").resolve())
    needs = {path: "configure with -DSHAKEDOWN_TESTS=ON, build the target peers, and name the folder by --build"}
    brings = {"fio": "sudo apt-get install fio"}
    for level, ranks in ((1, 1), (1, asked.ranks), (3, 2 * asked.ranks)):
        passes = [
            Pass("ours", partial(ours, asked, path, level, ranks), needs),
            Pass("fio", partial(fio, asked, ranks, False), brings),
            Pass("fio, O_DIRECT", partial(fio, asked, ranks, True), brings),
        ]
        goal = "1.0: 4 times FTI's 0.25" if level == 3 else ""
        figures = {**FIGURES, DURABLE: FIGURES[DURABLE]._replace(goal=goal)}
        yield Group(f"L{level}, {ranks} x {asked.mib} MiB", figures, passes, ["ours"], alone=True)


ROW = Row(
    groups,
    rounds=8,
    options={
        "directory": Option(".", help="a folder on the file system to be measured"),
        "ranks": Option(2, help="of level 1; level 3 has twice as many"),
        "mib": Option(256, 4, "MiB of state of each rank"),
    },
)
