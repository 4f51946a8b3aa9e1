"""A file system: does it do what programs need of it, and how fast is it.

**Features**, each a check that can fail, in a folder of its own: rename over a file that is being read, O_EXCL among racing
processes, hard and symbolic links, shared maps, locks by fcntl and flock that really keep other processes out, appending
by two processes, holes, reserved room, O_DIRECT, extended attributes, access lists, times in nanoseconds, long and odd
names, thousands of files in a folder, open files without a name, files past 4 GiB, fsync, a clock that agrees. Over several
hosts also what they see of one another: who opens a file reads what another host has closed, names created once among
all, files renamed, removed and listed, locks. ``require`` says which must hold; a feature that is offered and wrong fails
the run whether it is required or not. Which hold, which are absent and why stands among the run's facts.

**Bandwidth**: every thread of every rank writes a file of its own in blocks, one after another, over with fsync; writes it
over; reads it. Pages are random and all different, so that nothing can be compressed or stored once, and the files are
compared whole afterwards: one wrong page and the run has no result. The page cache of the host is kept out by O_DIRECT, or
by dropping written pages before they are read, where the file system has no O_DIRECT; the case says which. What a file
server remembers is not kept out: files larger than its memory are.

What was written is read by another rank than wrote it, on another host where there are several. What the devices moved is
counted beside it: a rate that is above theirs is that of this host's memory, and a notice says so.

**Small files**: made, looked at and removed in a second; over several ranks each looks at another's.

It is the single-host form of ``storage``, whose program it runs.

Free space is checked before; whatever ends the run, its files are removed. See native/storage/README.md.
"""

from __future__ import annotations

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

_PAGE_BYTES = 4096
_SLOW_B_S = 200e6  # of a first guess of the duration
_SLOW_OP_S = 2000.0


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    kernels = TABLE.selection(params, "kernels")
    size = int(params["size"])
    for block in TABLE.numbers(params, "blocks"):
        if block % _PAGE_BYTES or size % block:
            raise BadInput(
                f"filesystem.blocks: {block} is not a multiple of {_PAGE_BYTES}, or the size {size} is not one of it",
                hint="sizes and blocks that are powers of two fit",
            )
    ranks = params["ranks"]
    return (
        {
            **params,
            "kernels": lists.text(kernels),
            "require": lists.text(lists.words(params["require"])) or "none",
            "blocks": lists.text(TABLE.numbers(params, "blocks")),
            "threads": lists.text(TABLE.numbers(params, "threads")),
            "ranks": host.count if ranks == "hosts" else int(ranks),
        },
    )


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    # A job of several is brought together by its launcher; by MPI it says nothing.
    return Command(argv=TABLE.argv(params), ranks=ranks if ranks > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, the features, and for each pattern its samples and the reading that compares."""
    kernels = TABLE.selection(params, "kernels")
    samples = int(params["samples"])
    seconds = 3.0 * ("features" in kernels)
    for threads in TABLE.numbers(params, "threads"):
        moved_s = threads * int(params["ranks"]) * int(params["size"]) / _SLOW_B_S
        for kernel in ("write", "rewrite", "read"):
            if kernel in kernels:
                each_s = max(samples * moved_s, float(params["seconds"])) + moved_s
                seconds += len(TABLE.numbers(params, "blocks")) * each_s
        if "metadata" in kernels:
            seconds += max(samples * 3 * threads * int(params["files"]) / _SLOW_OP_S, float(params["seconds"]))
    return 0.5 + 0.02 * int(params["ranks"]) + seconds


def _label(params: Params) -> str:
    where = "the run's folder" if params["directory"] == "." else str(params["directory"])
    of = (
        f", {show_bytes(int(params['size']))} a thread"
        if {"write", "rewrite", "read"} & set(TABLE.selection(params, "kernels"))
        else ""
    )
    ranks = f", {params['ranks']} ranks" if int(params["ranks"]) > 1 else ""
    return f"file system of {where}: {str(params['kernels']).replace(',', ', ')}{of}{ranks}"


WORKLOAD = TABLE.workload(
    title="File system (features, bandwidth, small files)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("directory",),
)
