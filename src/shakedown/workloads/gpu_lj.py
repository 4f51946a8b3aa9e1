"""Molecular dynamics of a Lennard-Jones fluid on GPUs, at constant energy: the fluid of Comet's HOOMD-blue benchmark.

Fluid, steps, counts and checks are those of ``lj`` on the processor: a particle step is one particle advanced by one step
of velocity Verlet, whatever its neighbours cost; forces on up to 64 particles are summed again in long double by the
host, energy and momentum compared with those before; a run with a deviation above its bound has no score. ``precision =
"mixed"`` computes pairs in single precision and keeps places in 64-bit fractions of the box and velocities in double;
``fp64`` computes pairs in double too.

Nothing waits for the host while steps are taken: one launch takes up to 1,000 of them, its blocks meeting once a step,
and the device itself finds out when lists of neighbours must be made again, sorts the particles and makes them. A list
that has no room is given some and the steps go on where they stopped. ``lanes`` threads share a particle, and lists reach
by ``skin`` beyond the cutoff; both are the fastest of a trial unless they are set, and named. While samples are taken the
management library is queried for clock and power. Devices are measured one after another. See native/gpu_lj/README.md.

Comet's own figures are HOOMD-blue's over two and four GPUs, with a thermostat; here it is one GPU, and nothing holds the
temperature.

Sources: Comet, "HOOMD-blue Benchmark using MVAPICH2-GDR" (N = 64,000, density 0.382, cutoff 3.0); J. A. Anderson, C. D.
Lorenz, A. Travesset, Journal of Computational Physics 227, 5342, 2008.
"""

from __future__ import annotations

from ..records import Host, Machine, Params
from . import lj
from .common import gpu, lists
from .common.table import table_of

TABLE = table_of(__file__)

_NAME = "gpu_lj"
#: Particle steps a second of a GPU, for a first guess; the store's own history replaces it.
_RATES = {"mixed": 1e9, "fp64": 3e8}
_HOST_RATE = 2e5


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    particles, precisions = TABLE.numbers(params, "particles"), TABLE.selection(params, "precision")
    lj.check_box(_NAME, min(particles), params)
    lj.check_step(_NAME, params)
    named = {"particles": lists.text(particles), "precision": lists.text(precisions)}
    return ({**gpu.present(params, machine, _NAME), **named},)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, the particles and their check on the host, trials of lanes and skins, and the samples of 100 ms."""
    on_host = str(params["backend"]).startswith("host")
    trials = 12 * (str(params["lanes"]) == "auto") + 18 * (float(params["skin"]) == 0)
    total = 0.0
    for n in TABLE.numbers(params, "particles"):
        for precision in TABLE.selection(params, "precision"):
            step_s = max(n / (_HOST_RATE if on_host else _RATES[precision]), 1e-5)
            steps = int(params["steps"]) or max(100, round(0.1 / step_s))
            before = int(params["equilibrate"]) + trials * (10 if on_host else 400) + steps
            total += before * step_s + max(int(params["samples"]) * steps * step_s, float(params["seconds"]))
            total += n * 2e-6 + min(64 * n, 2**24) * 1e-8
    return 2.0 + total * gpu.count(params, host)


def _label(params: Params) -> str:
    span = lists.span([str(n) for n in sorted(TABLE.numbers(params, "particles"))])
    return f"Lennard-Jones fluid of {span} particles on GPUs, {str(params['precision']).replace(',', ' ')}"


WORKLOAD = TABLE.workload(
    title="Molecular dynamics on GPUs (Lennard-Jones fluid)",
    command=gpu.command(TABLE),
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=gpu.marks,
)
