"""High-Performance Linpack on GPUs: LU factorization with row partial pivoting, one MPI rank for each GPU, our own program.

The matrix, the operation count and the check are netlib HPL 2.3's, bit for bit the ones that ``hpl`` uses: the rate is
(2/3 N^3 + 3/2 N^2) operations over the largest wall time of any rank, factorization and solve, and a scaled residual of 16
or more is no score. Matrix, panels, exchanges of rows and the solution stay on the devices; the next panel is factored
beside the update of the rest. Products are those of cuBLAS in double precision: what the environment says of emulating them
is taken back. Each run is laid beside cuBLAS' DGEMM with k = NB on the same memory, before and after it, the most that the
update could reach: ``hpl_gpu.ceiling.fraction`` is its rate over that one, ``hpl_gpu.efficiency`` the rate of each GPU over
its derived peak. Messages go from device to device where the MPI takes addresses of devices, else through pinned memory of
the host; the cases say which. The shares say what a device's update did or waited for, moment by moment; they sum to 1.
``hpl_gpu.panel.busy`` is the part of the time in which a panel was factored, beside the update or not. See
native/hpl_gpu/README.md.

``n = "auto"`` is the largest order that ``memory_share`` of the devices' free memory holds and whose solution is guessed to
end within ``time_limit_s``: the program chooses it on the devices. ``ranks = "auto"`` is one for each GPU of the host, ``p``
and ``q`` the squarest grid with P <= Q. One rank is started without MPI. Lists are swept. With ``per_host`` every host
solves a system of its own at the same time.
"""

from __future__ import annotations

import math

from ..launchers import Command
from ..records import Host, Machine, Params
from . import Sample, Workload
from .common import hpl_gpu
from .common.hpl_dat import SWAPS
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "hpl_gpu"
_ENTRY_BYTES = 8
_GPU_PEAK = "gpu.flops.fp64.matrix"
#: For guesses of durations alone: flop/s of a device whose peak is not known, and the order at which half is reached.
_UNKNOWN_RATE, _HALF_ORDER = 1e13, 8000.0
_HOST_RATE = 3e7  # of the host backend, whose kernels are emulated


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    return hpl_gpu.resolve(params, machine, _NAME, 2048, "512 to 1024", _ENTRY_BYTES)


def _command(params: Params, host: Host) -> Command:
    swap = None if params["swap"] == "auto" else SWAPS.index(str(params["swap"]))
    return hpl_gpu.command(TABLE, params, swap=swap)


def _rate_guess(n: float, params: Params, host: Host) -> float:
    """A guess of the rate in flop/s of all ranks at order n."""
    ranks = int(params["ranks"])
    if params["backend"] != "cuda":
        return _HOST_RATE
    peak = max((peak.value for peak in host.peaks if peak.name == _GPU_PEAK), default=_UNKNOWN_RATE)
    return 0.7 * peak * ranks * n / (n + _HALF_ORDER * math.sqrt(ranks))


def _estimate_s(params: Params, host: Host) -> float:
    return hpl_gpu.estimate_s(params, host, _NAME, _ENTRY_BYTES, lambda n: _rate_guess(n, params, host))


def _label(params: Params) -> str:
    return hpl_gpu.label(params, _NAME)


WORKLOAD = Workload(
    name=_NAME,
    title="High-Performance Linpack on GPUs, our own program",
    metrics=TABLE.metrics,
    params=TABLE.params,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=hpl_gpu.marks,
    samples=(
        Sample(
            recording="gpu/hpl-gpu-host.jsonl",
            source="four ranks on the host backend of two virtual CPUs, whose kernels are emulated: no figure of a GPU",
            expect={
                "hpl_gpu.rate[n=200,nb=64,p=2,q=2]": 14158115.1912908,
                "hpl_gpu.each.rate[ranks=4,messages=staged]": 3539528.7978227,
                "hpl_gpu.share.update": 0.017085262128751926,
                "hpl_gpu.panel.busy": 0.4488823453477409,
            },
        ),
    ),
)
