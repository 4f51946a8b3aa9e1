"""Gravity of n bodies on each other on GPUs: all pairs, softened, leapfrog steps, on one GPU after another or all at once.

Bodies, steps, counts and checks are those of ``nbody`` on the processor: 20 operations an interaction, n^2 interactions a
step; forces on up to 64 bodies summed again in long double by the host, energy and momentum against those before the first
step; a run with a deviation above its bound has no score. It does not count what the GPU does: an interaction in single
precision is 12 instructions for its arithmetic and one for the root, so that 20 operations are at most 0.83 of the peak
(0.75 where each instruction is issued by itself, before compute capability 10); in double precision 16, at most 0.63.

Steps follow each other on the device without the host. A thread holds several targets in registers; the loop with the
fastest number of them is chosen in a trial, and named. Where there are few bodies the sources are divided over blocks, and
their sums are added in a fixed order.

With ``together`` all GPUs of a node work at the same time, each on bodies of its own, and every one goes on until all have
their samples: what only shows when all draw their power at once (supply, cooling, a GPU that falls off the bus) shows here.
While a case runs the management library is queried for clock and power; a clock that is held down by heat, hardware or the
power brake is reported. See native/gpu_nbody/README.md.

Sources: L. Nyland, M. Harris, J. Prins, "Fast N-Body Simulation with CUDA", GPU Gems 3, chapter 31, 2007 (tiles in shared
memory, 20 operations); ARL-TR-7085, 3.3 (16) and (17).
"""

from __future__ import annotations

from ..errors import BadInput
from ..records import Host, Machine, Params
from . import nbody
from .common import gpu, lists
from .common.table import table_of

TABLE = table_of(__file__)

#: Targets of a thread and steps written out, as the kernels were compiled (native/gpu_nbody/gpu_nbody.hpp).
SHAPES = {"fp32": ("r2u8", "r4u4", "r4u8", "r6u4", "r8u2"), "fp64": ("r1u8", "r2u4", "r4u4")}
_NAME = "gpu_nbody"
#: Interactions a second of a GPU, for a first guess; the store's own history replaces it.
_RATES = {"fp32": 1e12, "fp64": 3e11}
_HOST_RATE = 1e8


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    shape = str(params["shape"])
    for precision in TABLE.selection(params, "precision"):
        if shape not in ("auto", *SHAPES[precision]):
            raise BadInput(
                f"{_NAME}.shape = {shape!r} is not a shape of {precision}", hint=f"auto, {', '.join(SHAPES[precision])}"
            )
    bodies = TABLE.numbers(params, "bodies")
    for n in bodies:
        nbody.check_step(_NAME, n, params)
    named = {"bodies": lists.text(bodies), "precision": lists.text(TABLE.selection(params, "precision"))}
    return ({**gpu.present(params, machine, _NAME), **named},)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, and for each case the bodies, warm-up of half a second, three fields beside the samples, and the checks."""
    total = 2.0
    for n in TABLE.numbers(params, "bodies"):
        for precision in TABLE.selection(params, "precision"):
            rate = _HOST_RATE if str(params["backend"]).startswith("host") else _RATES[precision]
            step_s = max(n**2 / rate, 1e-5)
            steps = int(params["steps"]) or max(1, round(0.02 / step_s))
            measured_s = max(int(params["samples"]) * steps * step_s, float(params["seconds"]))
            total += 0.5 + measured_s + (4 + steps) * step_s + n * 3e-6 + min(64 * n, 2**24) * 2e-8
    return total * (1 if params["together"] else gpu.count(params, host))


def _label(params: Params) -> str:
    span = lists.span([str(n) for n in sorted(TABLE.numbers(params, "bodies"))])
    how = "all GPUs at once" if params["together"] else "GPUs one after another"
    return f"N-body of {span} bodies, {str(params['precision']).replace(',', ' ')}, {how}"


WORKLOAD = TABLE.workload(
    title="N-body on GPUs, all pairs",
    command=gpu.command(TABLE),
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=gpu.marks,
)
