"""Copies between the host and GPUs and between GPUs: bandwidth one way and both, latency, and SHOC's triad.

Host to device, back, and both ways at once, each with pinned memory (which devices read and write themselves) and pageable
memory (which the driver copies through pinned memory of its own), timed by the device's events. The host's side lies on the
NUMA node of the device where the process may use its CPUs. Between every two devices each way and both at once; where they
cannot reach each other the copies go by way of the host, and the case says so. Latency is the host's time for an empty
kernel, started and waited for, and for eight bytes there and back. The triad is SHOC's: three arrays in the host's memory,
moved in blocks by two streams. Every word that arrives is compared with what was sent. See native/gpu_copy/README.md.
"""

from __future__ import annotations

from ..records import Host, Machine, Params
from .common import gpu
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "gpu_copy"


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    TABLE.numbers(params, "sizes")
    TABLE.numbers(params, "blocks")
    TABLE.selection(params, "kernels")
    TABLE.selection(params, "memory")
    return (gpu.present(params, machine, _NAME),)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, pinning and filling (1 GB/s and more), and for each case warm-up, samples and check, at 10 GB/s."""
    kernels = set(TABLE.selection(params, "kernels"))
    memories = len(TABLE.selection(params, "memory"))
    devices = gpu.count(params, host)
    pairs = devices * (devices - 1) * 3 // 2 if "peer" in kernels else 0
    total = 2.0
    for size in TABLE.numbers(params, "sizes"):
        case_s = 0.03 + max(float(params["seconds"]), int(params["samples"]) * max(size / 1e10, 2e-3)) + 3 * size / 2e9
        total += case_s * (devices * memories * len(kernels & {"h2d", "d2h", "bidirectional"}) + pairs)
    if "triad" in kernels:
        pass_s = 3 * int(params["triad_bytes"]) / 1e10
        blocks = len(TABLE.numbers(params, "blocks"))
        total += devices * (1 + blocks * (int(params["samples"]) + 4) * pass_s)
    return total


WORKLOAD = TABLE.workload(
    title="Copies between host and GPUs, and between GPUs",
    command=gpu.command(TABLE, "sizes", "blocks"),
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=lambda params: "copies between host and GPUs",
    marks=gpu.marks,
)
