"""Storage under many writers: every thread of every rank writes, writes over and reads, in files of its own or in one.

**Bandwidth**: bytes over the time from the common begin of all threads to the end of the last, fsync within it. Blocks go
one after another, strided or in random order, with so many in flight (io_uring, else Linux's AIO), through the page cache
or past it (O_DIRECT), by POSIX calls or by MPI-IO. With ``more_directories`` threads are dealt to several mounts or
servers, and the rate is that of all.

**Right**: every byte is a function of its place (file, offset, how-manyth time it is written) and is compared; whoever
reads is another rank than wrote it, on another host where there are several. One wrong page and the run has no result.

**Not from a cache**: what the devices moved is counted beside what was read (the block device's counters and the process's,
those of the NFS client), as ``storage.read.device``. A rate above theirs is that of this host's memory, and a notice says
so; where nothing counts it, a notice says that it is not known.

**Over time**: each thread's bytes in bins, its lag behind the mean, and its longest block; a thread that is slow is named
with its rank and host. These stand among the run's facts.

**Small files**: made, looked at, read, renamed and removed in a second, each step for at least ``seconds``; in a folder of
each thread and in one for all; folders made and removed in a tree. Over several ranks each looks at and reads another's.

**IO500** (kernel ``io500``): phases that do what IO500's do, in its order: files of 2 MiB blocks each its own, blocks of
47008 bytes alternating in one file, empty files in folders of their own, files of 3901 bytes in one folder, and finding
them. Its score follows by its formula (``workloads/common/io500_score.py``), with the word INVALID and the reason where its
rules were not kept: all phases, and 300 s (``stonewall``) of each that writes.

Free space is checked before; whatever ends the run, its files are removed. See native/storage/README.md.
"""

from __future__ import annotations

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import io500_score, lists
from .common.table import table_of

TABLE = table_of(__file__)

_PAGE_BYTES = 4096
_SLOW_B_S = 200e6  # of a first guess of the duration
_SLOW_OP_S = 2000.0
_SPEEDS = ("write", "rewrite", "read")


def _refuse(params: Params) -> None:
    """What the program would refuse, before anything is started. Raises BadInput."""
    size, segments = int(params["size"]), max(1, int(params["segments"]))
    for block in TABLE.numbers(params, "blocks"):
        if size % block or size // block % segments:
            raise BadInput(
                f"storage.blocks: the size {size} is not a multiple of {block}, or of {segments} segments of it",
                hint="sizes, blocks and segments that are powers of two fit",
            )
        if params["cache"] == "direct" and block % _PAGE_BYTES:
            raise BadInput(
                f"storage.blocks: {block} is not a multiple of {_PAGE_BYTES}, and cache = direct needs that",
                hint="cache = dropped takes any block",
            )
    steps = set(TABLE.selection(params, "steps"))
    if steps - {"tree"} and not {"create", "unlink"} <= steps:
        raise BadInput(
            "storage.steps: what is made must be removed, and what is looked at, made",
            hint="such as create,stat,unlink",
        )
    several = int(params["depth"]) > 1
    if params["api"] != "posix" and (
        several or max(TABLE.numbers(params, "threads")) > 1 or params["cache"] == "direct"
    ):
        raise BadInput(
            "storage.api: MPI-IO is measured with one thread and one block at a time in each rank, without O_DIRECT",
            hint="more ranks in place of threads and depth; cache = dropped",
        )
    if several and (params["sync"] == "each" or params["engine"] == "calls"):
        raise BadInput(
            "storage.depth: with sync = each, or engine = calls, one block is in flight at a time", hint="depth = 1"
        )


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    _refuse(params)
    ranks = params["ranks"]
    return (
        {
            **params,
            "kernels": lists.text(TABLE.selection(params, "kernels")),
            "require": lists.text(lists.words(params["require"])) or "none",
            "steps": lists.text(TABLE.selection(params, "steps")),
            "folders": lists.text(TABLE.selection(params, "folders")),
            "blocks": lists.text(TABLE.numbers(params, "blocks")),
            "threads": lists.text(TABLE.numbers(params, "threads")),
            "ranks": machine.hosts[0].count if ranks == "hosts" else int(ranks),
        },
    )


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    # A job of several is brought together by its launcher; but for MPI-IO, it says nothing by MPI.
    return Command(argv=TABLE.argv(params), ranks=ranks if ranks > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each pattern its samples and the reading that compares."""
    kernels = TABLE.selection(params, "kernels")
    samples, ranks = int(params["samples"]), int(params["ranks"])
    seconds = 0.0
    for threads in TABLE.numbers(params, "threads"):
        moved_s = threads * ranks * int(params["size"]) / _SLOW_B_S
        for kernel in _SPEEDS:
            if kernel in kernels:
                each_s = max(samples * moved_s, float(params["seconds"])) + moved_s
                seconds += len(TABLE.numbers(params, "blocks")) * each_s
        if "metadata" in kernels:
            steps = len(TABLE.selection(params, "steps")) * len(TABLE.selection(params, "folders"))
            each_s = threads * ranks * int(params["files"]) / _SLOW_OP_S
            seconds += steps * max(samples * each_s, float(params["seconds"]))
        if "io500" in kernels:
            walled_s = float(params["stonewall"]) or moved_s + threads * ranks * int(params["files"]) / _SLOW_OP_S
            seconds += 12 * walled_s
    return 0.5 + 0.02 * ranks + seconds


def _label(params: Params) -> str:
    where = "the run's folder" if params["directory"] == "." else str(params["directory"])
    more = len(lists.words(params["more_directories"]))
    files = "one file" if params["file"] == "shared" else "a file each"
    found = [f"{where} and {more} more" if more else where, str(params["kernels"]).replace(",", ", ")]
    if set(_SPEEDS) & set(TABLE.selection(params, "kernels")):
        found += [f"{show_bytes(int(params['size']))} a thread, {files}, {params['pattern']}"]
    if int(params["ranks"]) > 1:
        found += [f"{params['ranks']} ranks"]
    return "storage " + "; ".join(found)


WORKLOAD = TABLE.workload(
    title="Storage (many writers, one file or many, verified, proof against caches)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    totals=io500_score.totals,
    marks=("directory", "api"),
)
