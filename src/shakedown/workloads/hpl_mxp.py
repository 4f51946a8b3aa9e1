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
from ..records import Host, Machine, Metric, Params
from . import ORDER, Param, Sample, Workload, each
from .common import hpl, hpl_gpu

_NAME = "hpl_mxp"
_README = "native/hpl_mxp/README.md"
_RULES = "hpl-mxp.org, rules"
PRECISIONS = ("fp16", "bf16")
#: What a device's lane of updates was doing, in the words of the program.
SHARES = {
    "update": "in products",
    "panel": "in diagonal blocks that no product hid",
    "triangles": "in triangular solves that no product hid",
    "casts": "in casts and copies that no product hid",
    "messages": "in messages that no product hid",
    "wait": "with nothing to do",
    "refinement": "in solving with the factors and refining",
}
#: Matrix units multiply both 16-bit formats at the same rate (NVIDIA's white papers; machine/accelerators.toml).
_GPU_PEAK = "gpu.flops.fp16"
_METRICS = (
    Metric(
        name="hpl_mxp.rate",
        title="HPL-MxP rate",
        unit="flop/s",
        better="higher",
        kernel="hpl_mxp",
        per="flop/s",
        headline=True,
        source=f"{_RULES}: (2/3 N^3 + 3/2 N^2) / time of factorization and refinement, the largest wall time of any rank",
    ),
    Metric(
        name="hpl_mxp.time",
        title="HPL-MxP time",
        unit="s",
        better="lower",
        kernel="hpl_mxp",
        per="s",
        match=("n",),
        source=f"{_RULES}: factorization and refinement, the largest wall time of any rank",
    ),
    Metric(
        name="hpl_mxp.each.rate",
        title="HPL-MxP rate of each GPU",
        unit="flop/s",
        better="higher",
        kernel="each",
        per="flop/s",
        limit=_GPU_PEAK,
        source="the HPL-MxP rate over the number of GPUs",
    ),
    Metric(
        name="hpl_mxp.efficiency",
        title="HPL-MxP rate of each GPU as a fraction of its peak in 16 bits",
        unit="1",
        better="higher",
        kernel="each",
        per=f"hpl_mxp.each.rate/{_GPU_PEAK}",
        source="the rate of one GPU over the derived peak of its matrix units in 16 bits at the highest clock",
    ),
    Metric(
        name="hpl_mxp.lu.rate",
        title="Rate of HPL-MxP's factorization",
        unit="flop/s",
        better="higher",
        kernel="factorization",
        per="flop/s",
        source=f"{_README}: 2/3 N^3 over the time until the factors are there",
    ),
    Metric(
        name="hpl_mxp.refinement.time",
        title="Time of HPL-MxP's refinement",
        unit="s",
        better="lower",
        kernel="refining",
        per="s",
        match=("n",),
        source=f"{_README}: from the factors to the last residual, the first solution included",
    ),
    Metric(
        name="hpl_mxp.refinement.steps",
        title="Steps of HPL-MxP's refinement",
        unit="1",
        better="none",
        kernel="steps",
        per="value",
        match=("n",),
        source=f"{_README}: corrections after the first solution, the most of any repeat",
    ),
    Metric(
        name="hpl_mxp.ceiling.rate",
        title="cuBLAS' product in 16 bits with k = NB beside HPL-MxP",
        unit="flop/s",
        better="higher",
        kernel="ceiling",
        per="flop/s",
        source=_README,
    ),
    Metric(
        name="hpl_mxp.ceiling.fraction",
        title="HPL-MxP rate as a fraction of its own product",
        unit="1",
        better="higher",
        kernel="hpl_mxp",
        per="hpl_mxp.rate/hpl_mxp.ceiling.rate",
        source=f"{_README}: the rate over that of the product with k = NB of the same run",
    ),
    hpl.panel_busy("hpl_mxp", "Share of HPL-MxP's time in which a panel was made", _README),
    *hpl.shares("hpl_mxp", "HPL-MxP's time", SHARES, _README),
)
#: For guesses of durations alone: flop/s of a device whose peak is not known, and the order at which half is reached.
_UNKNOWN_RATE, _HALF_ORDER = 1e14, 30000.0
_HOST_RATE = 1e8  # of the host backend, whose kernels are emulated


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    return hpl_gpu.resolve(params, machine, _NAME, 4096, "1024 to 2560")


def _command(params: Params, host: Host) -> Command:
    return hpl_gpu.command(_NAME, params, {name: params[name] for name in ("precision", "accuracy", "refinements")})


def _rate_guess(n: float, params: Params, host: Host) -> float:
    """A guess of the rate in flop/s of all ranks at order n."""
    ranks = int(params["ranks"])
    if params["backend"] != "cuda":
        return _HOST_RATE
    peak = max((peak.value for peak in host.peaks if peak.name == _GPU_PEAK), default=_UNKNOWN_RATE)
    return 0.5 * peak * ranks * n / (n + _HALF_ORDER * math.sqrt(ranks))


def _estimate_s(params: Params, host: Host) -> float:
    return hpl_gpu.estimate_s(params, host, _NAME, 4, lambda n: _rate_guess(n, params, host))


def _label(params: Params) -> str:
    return f"{hpl_gpu.label(params, _NAME)}, {params['precision']}"


WORKLOAD = Workload(
    name=_NAME,
    title="HPL-MxP on GPUs (mixed precision, not HPL), our own program",
    metrics=each(_METRICS, only=hpl_gpu.ONLY, titles=ORDER),
    params={
        **hpl_gpu.PARAMS,
        "nb": Param(kind="list", default="1024", help="block sizes between commas, at most 4096"),
        "precision": Param(
            kind="word", default="fp16", choices=PRECISIONS, help="format of the products' factors; sums have 32 bits"
        ),
        "accuracy": Param(kind="real", default=1.0, low=0, help="refine until the scaled residual is at most so large"),
        "refinements": Param(kind="integer", default=50, low=0, high=1000, help="steps of refinement, at most"),
    },
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
