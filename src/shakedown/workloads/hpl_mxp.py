"""HPL-MxP on GPUs: LU factorization in mixed precision without pivoting, then refinement to double precision, one MPI
rank for each GPU, our own program. It is another benchmark than HPL: its figures have names of their own, and nothing
lays them beside HPL's.

The matrix is netlib HPL 2.3's with a dominant diagonal: each diagonal entry is the sum of the absolute values of the
others in its row, so that no pivoting is needed (the rules of hpl-mxp.org). Products have factors in 16 bits
(``precision``: IEEE half or bfloat16) and sums in 32; diagonal blocks and triangular solves are in single precision. The
solution is then refined with the factors as preconditioner, x += (L U)^-1 (b - A x), the residual in double precision from
the matrix generated again, until HPL's scaled residual is at most ``accuracy``. The rate is (2/3 N^3 + 3/2 N^2) operations
over the largest wall time of any rank, factorization and refinement; the check is HPL's own, made after it, and a scaled
residual of 16 or more is no score. The matrix is generated before the time begins (the fact ``generate_s`` has its seconds).

Each run is laid beside cuBLAS' products of the same format with k = NB on the same memory, before and after it:
``hpl_mxp.ceiling.fraction`` is its rate over that one, ``hpl_mxp.efficiency`` the rate of each GPU over the derived peak of
16-bit products. ``hpl_mxp.lu.rate`` is the factorization alone (2/3 N^3 operations), ``hpl_mxp.refinement.time`` and
``hpl_mxp.refinement.steps`` what came after it. The shares say what a device's update did or waited for, moment by moment;
they sum to 1. See native/hpl_mxp/README.md.

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
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "hpl_mxp"
_ENTRY_BYTES = 4
#: Matrix units multiply both 16-bit formats at the same rate (NVIDIA's white papers; machine/accelerators.toml).
_GPU_PEAK = "gpu.flops.fp16"
#: For guesses of durations alone: flop/s of a device whose peak is not known, and the order at which half is reached.
_UNKNOWN_RATE, _HALF_ORDER = 1e14, 30000.0
_HOST_RATE = 1e8  # of the host backend, whose kernels are emulated


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    return hpl_gpu.resolve(params, machine, _NAME, 4096, "1024 to 2560", _ENTRY_BYTES)


def _command(params: Params, host: Host) -> Command:
    return hpl_gpu.command(TABLE, params)


def _rate_guess(n: float, params: Params, host: Host) -> float:
    """A guess of the rate in flop/s of all ranks at order n."""
    ranks = int(params["ranks"])
    if params["backend"] != "cuda":
        return _HOST_RATE
    peak = max((peak.value for peak in host.peaks if peak.name == _GPU_PEAK), default=_UNKNOWN_RATE)
    return 0.5 * peak * ranks * n / (n + _HALF_ORDER * math.sqrt(ranks))


def _estimate_s(params: Params, host: Host) -> float:
    return hpl_gpu.estimate_s(params, host, _NAME, _ENTRY_BYTES, lambda n: _rate_guess(n, params, host))


def _label(params: Params) -> str:
    return f"{hpl_gpu.label(params, _NAME)}, {params['precision']}"


WORKLOAD = Workload(
    name=_NAME,
    title="HPL-MxP on GPUs (mixed precision, not HPL), our own program",
    metrics=TABLE.metrics,
    params=TABLE.params,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=hpl_gpu.marks,
    samples=(
        Sample(
            recording="gpu/hpl-mxp-host.jsonl",
            source="four ranks on the host backend of two virtual CPUs, whose kernels are emulated: no figure of a GPU",
            expect={
                "hpl_mxp.rate[n=200,nb=64,p=2,q=2,precision=fp16]": 27352053.54528177,
                "hpl_mxp.each.rate[ranks=4,messages=staged]": 6838013.386320443,
                "hpl_mxp.lu.rate": 381644739.0431137,
                "hpl_mxp.refinement.time": 0.18320742400101153,
                "hpl_mxp.refinement.steps": 2,
                "hpl_mxp.share.refinement": 0.9316531502438951,
                "hpl_mxp.panel.busy": 0.01330394500794939,
            },
        ),
    ),
)
