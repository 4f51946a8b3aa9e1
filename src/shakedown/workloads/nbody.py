"""Gravity of n bodies on each other on the CPU: all pairs, softened, leapfrog steps. Thufir's acceptance kernel.

``rate`` counts 20 operations an interaction, as is usual since Nyland, Harris and Prins, and n^2 interactions a step;
``interactions`` counts them alone. It does not count what the processor does: a vector of interactions is 15 vector
instructions with AVX-512 in single precision, 12 of them for multipliers, so that 20 operations each are at most 0.83 of
the peak of two multiply-add units (0.67 where additions need them too). Each pair is computed from both sides. The loops
exist for AVX-512, AVX2, SVE, NEON and the plain baseline, chosen at run time; threads are pinned.

A sample is as many steps as last 20 ms, at least one. After the last, the forces on up to 64 bodies are summed again in
long double over all bodies, and energy and momentum are compared with those before the first step. Each deviation stands
over its bound: 16 roundings of the forces' terms, what leapfrog's error term allows for the energy, rounding for the
momentum; a run with one above its bound has no score. The bodies are a Plummer sphere that contracts. See
native/nbody/README.md.

Sources: L. Nyland, M. Harris, J. Prins, "Fast N-Body Simulation with CUDA", GPU Gems 3, chapter 31, 2007 (kernel, 20
operations); ARL-TR-7085, 3.3 (16); S. J. Aarseth, M. Henon, R. Wielen, Astronomy and Astrophysics 37, 183, 1974 (bodies).
"""

from __future__ import annotations

import math

from ..errors import BadInput
from ..records import Host, Machine, Params
from .common import lists
from .common.memory import check_room
from .common.table import table_of
from .common.threads import counts

TABLE = table_of(__file__)

#: Bytes for each body: the program's columns, and the host's in double precision.
_BYTES = {"fp32": 180, "fp64": 208}


def check_step(workload: str, bodies: int, params: Params) -> None:
    """Raises BadInput where a step is longer than an eighth of the shortest orbit of so many bodies (longest_step of
    native/nbody/bodies.cpp, which says why): the check of the energy would pass whatever happened."""
    length, softening = 3 * math.pi / 16, float(params["softening"])
    whole, rest = divmod(bodies, 3)  # masses are 1, 2, 3 in turn, and their sum is the unit
    heaviest = min(bodies, 3) / (6 * whole + rest * (rest + 1) / 2)
    most = math.pi / 4 / math.sqrt(10 / length**3 + 2 * heaviest / softening**3)
    if float(params["dt"]) <= most:
        return
    raise BadInput(
        f"{workload}.dt: {params['dt']} is above {most:.3g}, an eighth of the shortest orbit of {bodies} bodies with "
        f"softening {softening:g}: the energy would prove nothing",
        hint="take a shorter dt",
    )


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    bodies = TABLE.numbers(params, "bodies")
    for one in bodies:
        check_step("nbody", one, params)
    precisions = TABLE.selection(params, "precision")
    need = max(bodies) * max(_BYTES[word] for word in precisions)
    hint = "ask for fewer; a step takes time with the square of their number"
    check_room("nbody.bodies", f"{max(bodies)} bodies", need, host, hint)
    threads = counts(str(params["threads"]), host, where="nbody.threads")
    swept = {"bodies": bodies, "precision": precisions, "threads": threads}
    return ({**params, **{name: lists.text(values) for name, values in swept.items()}},)


def _estimate_s(params: Params, host: Host) -> float:
    """Two fields beside the samples, at 4e9 interactions a second and thread in single precision, a quarter in double."""
    total = 0.2
    for threads in map(int, str(params["threads"]).split(",")):
        for n in map(int, str(params["bodies"]).split(",")):
            for precision in TABLE.selection(params, "precision"):
                step_s = n**2 / (threads * (4e9 if precision == "fp32" else 1e9))
                steps = int(params["steps"]) or max(1, round(0.02 / step_s))
                measured_s = max(int(params["samples"]) * steps * step_s, float(params["seconds"]))
                total += measured_s + (3 + steps) * step_s + n * 3e-6 + min(64 * n, 2**24) * 2e-8
    return total


def _label(params: Params) -> str:
    span = lists.span(lists.words(params["bodies"]))
    isa = "" if params["isa"] == "auto" else f", {params['isa']}"
    return f"nbody {span} bodies, {params['precision']}, {params['threads']} threads{isa}"


WORKLOAD = TABLE.workload(
    title="N-body, all pairs",
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
