"""CUDA on every device: two kernels through the driver, and compiled by nvcc where the site has one.

A triad a = b + 3 c, every element of which is checked, and the gravity of n bodies on each (20 operations a pair, the usual
count), of which 64 are computed again in double precision on the host; a residual above its limit gives no score. The
kernels are brought along as PTX, which any driver translates, so that no toolkit is needed; with nvcc they are compiled for
each device as well. Devices work one after another, and then those that were right all together, each verified again:
Thufir's GPUs passed alone and failed when all four worked. The management library is asked before and after: a GPU that has
fallen off the bus, or new uncorrectable memory errors, fail the run. ``cuda.devices`` counts those that were right
throughout. Without a driver or a device the run is unavailable, and says which of them is missing.
"""

from __future__ import annotations

from ..records import Host, Params
from .common.table import table_of

TABLE = table_of(__file__)


def _estimate_s(params: Params, host: Host) -> float:
    """The driver's start, arrays made and checked on the host, samples, and the time of all devices together."""
    return 5.0 + max(1, len(host.gpus)) * (6.0 + 0.1 * int(params["samples"])) + float(params["together"])


WORKLOAD = TABLE.workload(
    title="CUDA (two kernels on every device)",
    estimate_s=_estimate_s,
    label=lambda params: "cuda, all devices",
)
