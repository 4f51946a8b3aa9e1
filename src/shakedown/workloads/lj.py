"""Molecular dynamics of a Lennard-Jones fluid on the CPU, at constant energy: the fluid of Comet's HOOMD-blue benchmark.

``rate`` counts particle steps: one particle advanced by one time step, whatever its neighbours cost. Steps are velocity
Verlet's; the potential is cut at ``cutoff`` without a shift. Neighbours are found over cells and kept in lists out to
cutoff plus ``skin``, made again once two particles may have come nearer by the skin, so that no pair within the cutoff is
missed; that work is in the time. ``precision = "mixed"`` computes pairs in single precision and keeps places in 64-bit
fractions of the box and velocities in double; ``fp64`` computes pairs in double too. Kernels exist for AVX-512, AVX2, SVE,
NEON and the plain baseline, chosen at run time; threads are pinned.

The fluid starts on a lattice (or at random), is brought to ``temperature`` over ``equilibrate`` steps and then left alone
(NVE; HOOMD's benchmark holds the temperature by a thermostat). A sample is as many steps as last 100 ms, at least 100.
After the last, the forces on up to 64 particles are summed again in long double over all particles, and the energy (with the
potential shifted to zero at the cutoff, which is what the truncated force conserves) and the momentum are compared with
those before; a run in which one deviates by more than its bound has no score. See native/lj/README.md.

Sources: Comet, "HOOMD-blue Benchmark using MVAPICH2-GDR" (N = 64,000, density 0.382, cutoff 3.0); J. A. Anderson, C. D.
Lorenz, A. Travesset, Journal of Computational Physics 227, 5342, 2008; W. C. Swope et al., Journal of Chemical Physics 76,
637, 1982 (velocity Verlet).
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

_NAME = "lj"
#: Bytes of each particle beside its list (columns, places, the host's copy), and the largest skin that is tried.
_BYTES, _SKIN = 450, 0.8
_FEWEST_CELLS = 3  # along an edge of the box


def _edge(particles: int, density: float) -> float:
    return float((particles / density) ** (1 / 3))


def _bytes(particles: int, params: Params) -> float:
    """A list holds all neighbours, four bytes each, and is a tenth larger by its padding."""
    reach = float(params["cutoff"]) + (float(params["skin"]) or _SKIN)
    neighbours = 4.19 * reach**3 * float(params["density"])
    return particles * (_BYTES + 4 * 1.1 * neighbours)


def check_box(workload: str, particles: int, params: Params) -> None:
    """Raises BadInput where the box is too small for cells."""
    reach = float(params["cutoff"]) + (float(params["skin"]) or 0.3)
    if _edge(particles, float(params["density"])) >= _FEWEST_CELLS * reach:
        return
    fewest = int((_FEWEST_CELLS * reach) ** 3 * float(params["density"])) + 1
    raise BadInput(
        f"{workload}.particles: {particles} particles at density {params['density']} fill a box of edge "
        f"{_edge(particles, float(params['density'])):.3g}, which is too small for a cutoff of {params['cutoff']}",
        hint=f"at least {fewest} particles, or a smaller cutoff",
    )


def check_step(workload: str, params: Params) -> None:
    """Raises BadInput where a step is too long to follow two particles that meet (longest_step of native/lj/fluid.cpp,
    which says why): the energy would be lost by itself, and nothing be shown of the machine."""
    turn = (1 + math.sqrt(1 + 5 * max(float(params["temperature"]), 1))) / 2
    curvature = 24 * (26 * turn ** (14 / 6) - 7 * turn ** (8 / 6))
    most = 2 * math.pi / math.sqrt(2 * curvature) / 10
    if 0 < float(params["dt"]) <= most:
        return
    raise BadInput(
        f"{workload}.dt: a step must be above 0 and at most {most:.3g} at temperature {params['temperature']}, "
        f"and {params['dt']} is not: the energy would be lost where particles meet",
        hint="take a shorter dt or a lower temperature",
    )


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    particles = TABLE.numbers(params, "particles")
    precisions = TABLE.selection(params, "precision")
    check_box(_NAME, min(particles), params)
    check_step(_NAME, params)
    need = int(_bytes(max(particles), params))
    check_room("lj.particles", f"{max(particles)} particles", need, host, "ask for fewer")
    threads = counts(str(params["threads"]), host, where="lj.threads")
    swept = {"particles": particles, "precision": precisions, "threads": threads}
    return ({**params, **{name: lists.text(values) for name, values in swept.items()}},)


def _estimate_s(params: Params, host: Host) -> float:
    """At 1e7 particle steps a second and thread in mixed precision, half in double; 700 steps find the skin."""
    total = 0.2
    for threads in map(int, str(params["threads"]).split(",")):
        for n in map(int, str(params["particles"]).split(",")):
            for precision in TABLE.selection(params, "precision"):
                step_s = n / (threads * (1e7 if precision == "mixed" else 5e6))
                steps = int(params["steps"]) or max(100, round(0.1 / step_s))
                before = int(params["equilibrate"]) + (0 if float(params["skin"]) else 700) + steps
                total += before * step_s + max(int(params["samples"]) * steps * step_s, float(params["seconds"]))
                total += n * 1e-6 + min(64 * n, 2**24) * 1e-8
    return total


def _label(params: Params) -> str:
    span = lists.span(lists.words(params["particles"]))
    isa = "" if params["isa"] == "auto" else f", {params['isa']}"
    return f"lj {span} particles, {params['precision']}, {params['threads']} threads{isa}"


WORKLOAD = TABLE.workload(
    title="Molecular dynamics (Lennard-Jones fluid)",
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
