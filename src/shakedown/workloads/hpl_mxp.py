"""HPL-MxP on GPUs: LU factorization in mixed precision without pivoting, then refinement to double precision, one MPI
rank for each GPU, our own program. It is another benchmark than HPL: its figures have names of their own, and nothing
lays them beside HPL's.

The matrix is netlib HPL 2.3's with a dominant diagonal: each diagonal entry is the sum of the absolute values of the
others in its row, so that no pivoting is needed (the rules of hpl-mxp.org). Products have factors in 16 bits
(``precision``: IEEE half or bfloat16) and sums in 32; diagonal blocks and triangular solves are in single precision. The
solution is then refined with the factors as preconditioner, x += (L U)^-1 (b - A x), the residual in double precision from
the matrix generated again, until HPL's scaled residual is at most ``accuracy``. The rate is (2/3 N^3 + 3/2 N^2) operations
over the largest wall time of any rank, factorization and refinement; the check is HPL's own, made after it, and a scaled
residual of 16 or more gives no score. The matrix is generated before the time begins (``generate_s`` has its seconds).

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

from ..records import Machine, Params
from .common import hpl_gpu
from .common.table import table_of

TABLE = table_of(__file__)

#: Matrix units multiply both 16-bit formats at the same rate (NVIDIA's white papers; machine/accelerators.toml).
_GUESS = hpl_gpu.RateGuess(
    peak="gpu.flops.fp16", share=0.5, half_order=30000.0, unknown=1e14, emulated=1e8, entry_bytes=4
)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    return hpl_gpu.resolve(params, machine, "hpl_mxp", 4096, "1024 to 2560", _GUESS.entry_bytes)


WORKLOAD = TABLE.workload(
    title="HPL-MxP on GPUs (mixed precision, not HPL), our own program",
    command=lambda params, host: hpl_gpu.command(TABLE, params),
    estimate_s=_GUESS.estimate_s,
    resolve=_resolve,
    label=lambda params: f"{hpl_gpu.label(params, 'hpl_mxp')}, {params['precision']}",
    marks=hpl_gpu.marks,
)
