"""High-Performance Linpack on GPUs: LU factorization with row partial pivoting, one MPI rank for each GPU, our own program.

The matrix, the operation count and the check are netlib HPL 2.3's, bit for bit the ones that ``hpl`` uses: the rate is
(2/3 N^3 + 3/2 N^2) operations over the largest wall time of any rank, factorization and solve, and a scaled residual of 16
or more gives no score. Matrix, panels, exchanges of rows and the solution stay on the devices; the next panel is factored
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

from ..launchers import Command
from ..records import Host, Machine, Params
from .common import hpl_gpu
from .common.hpl_dat import SWAPS
from .common.table import table_of

TABLE = table_of(__file__)

_GUESS = hpl_gpu.RateGuess(
    peak="gpu.flops.fp64.matrix", share=0.7, half_order=8000.0, unknown=1e13, emulated=3e7, entry_bytes=8
)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    return hpl_gpu.resolve(params, machine, "hpl_gpu", 2048, "512 to 1024", _GUESS.entry_bytes)


def _command(params: Params, host: Host) -> Command:
    swap = None if params["swap"] == "auto" else SWAPS.index(str(params["swap"]))
    return hpl_gpu.command(TABLE, params, swap=swap)


WORKLOAD = TABLE.workload(
    title="High-Performance Linpack on GPUs, our own program",
    command=_command,
    estimate_s=_GUESS.estimate_s,
    resolve=_resolve,
    label=lambda params: hpl_gpu.label(params, "hpl_gpu"),
    marks=hpl_gpu.marks,
)
