"""Bandwidth of the memory of GPUs by McCalpin's kernels: copy, scale, add and triad, beside the driver's own copy.

Each kernel runs on each device over arrays of doubles, timed by the device's own events, a sample being one pass or as many
as last 2 ms. Bytes are counted as STREAM does, two or three arrays to a pass. The shape of the kernel (how many 16-byte
loads a thread has under way, threads of a block, streamed or not) is the fastest of twelve in a trial; the program names it.
Every element is compared on the device with its closed form, which is exact in a double, after NaN was put where results
go, and parts are fetched and compared by the host. Arrays that together take at most half of the level-2 cache are at level
``l2``, those of at least four times its size in ``memory``. See native/gpu_stream/README.md.
"""

from __future__ import annotations

from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import gpu, lists
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "gpu_stream"


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    TABLE.numbers(params, "sizes")
    TABLE.selection(params, "kernels")
    return (gpu.present(params, machine, _NAME),)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each size and kernel the trial of twelve shapes, the samples and the check, at 1 TB/s."""
    kernels = len(TABLE.selection(params, "kernels"))
    total = 2.0
    for size in TABLE.numbers(params, "sizes"):
        pass_s = max(3 * size / 1e12, 5e-6)
        samples_s = max(float(params["seconds"]), int(params["samples"]) * max(pass_s, 2e-3))
        total += kernels * (12 * (0.02 + 4 * pass_s) + 0.1 + samples_s + 0.1)
    return total * gpu.count(params, host)


def _label(params: Params) -> str:
    sizes = sorted(TABLE.numbers(params, "sizes"))
    return f"STREAM on GPUs, arrays of {lists.span([show_bytes(size) for size in sizes])}"


WORKLOAD = TABLE.workload(
    title="STREAM in the memory of GPUs",
    command=gpu.command(TABLE, "sizes"),
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=gpu.marks,
)
