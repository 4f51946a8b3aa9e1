"""storage beside fio: one file written, written over and read in blocks, with O_DIRECT, its end by fsync counted.

IOR and mdtest have no package to install; fio has. It runs the same pattern: engine psync, or with blocks in flight
io_uring, --direct=1, --end_fsync=1, --fallocate=none (it would else reserve the file's room
before its clock starts), random buffers whose pages it makes differ. Each works on a file of its own, and both check nothing
meanwhile. fio's clock has milliseconds, so files are made large enough for that to be a fraction of a percent.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from functools import partial

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row, program

KERNELS = ("write", "rewrite", "read")


def ours(asked: argparse.Namespace, block: int, size: int) -> Rates:
    words = [
        "--directory",
        asked.directory,
        "--kernels",
        ",".join(KERNELS),
        "--blocks",
        str(block),
        "--size",
        str(size),
    ]
    words += ["--samples", "1", "--cache", "direct", "--no-verify", "--threads", str(asked.threads)]
    words += ["--depth", str(asked.depth), "--pattern", asked.pattern]
    found = common.cases([program(asked, "storage"), *words])
    return {"storage": {case["kernel"]: case["work"]["bytes"] / case["seconds"][0] for case in found}}


def fio(asked: argparse.Namespace, block: int, size: int) -> Rates:
    rates = {}
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:
        for kernel in KERNELS:
            side = "read" if kernel == "read" else "write"
            pattern = f"rand{side}" if asked.pattern == "random" else side
            engine = "psync" if asked.depth == 1 else "io_uring"
            words = ["--name=bench", "--output-format=json", f"--directory={folder}", f"--size={size}", f"--bs={block}"]
            words += [f"--rw={pattern}", f"--ioengine={engine}", f"--iodepth={asked.depth}", "--direct=1", "--thread"]
            words += ["--fallocate=none"]
            words += [f"--numjobs={asked.threads}", "--group_reporting", "--end_fsync=1"]
            text = common.output(["fio", *words, *(["--overwrite=1"] if kernel == "rewrite" else [])])
            (job,) = json.loads(text[text.index("{") :])["jobs"]
            rates[kernel] = job[side]["bw_bytes"]
    return {"fio": rates}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    for block in asked.blocks:
        size = (asked.size << 20) // (1 if block == 1 << 20 else 4)
        passes = [
            Pass("storage", partial(ours, asked, block, size)),
            Pass("fio", partial(fio, asked, block, size), {"fio": "sudo apt-get install fio"}),
        ]
        yield Group(f"blocks of {block} B", dict.fromkeys(KERNELS, Figure("MB/s", 1e-6)), passes, ["storage"])


ROW = Row(
    groups,
    rounds=10,
    options={
        "directory": Option(".", help="a folder on the file system to be measured"),
        "threads": Option(1),
        "depth": Option(1, help="blocks in flight of each thread"),
        "pattern": Option("sequential", help="or random"),
        "size": Option(512, 4, "MiB of each file at blocks of 1 MiB; a quarter of it below"),
        "blocks": Option([1 << 20, 1 << 16, 1 << 12], [1 << 16], "bytes"),
    },
)
