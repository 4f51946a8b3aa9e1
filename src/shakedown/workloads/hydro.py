"""A gas in a box: the Euler equations in two dimensions by Godunov's method of second order, in double precision.

Each step advances n x n cells along both dimensions, whose order alternates: minmod slopes, Hancock's half step, a
Riemann solver of two shocks by at most ten iterations of Newton's, Courant number 0.8, reflecting walls. That is the
scheme of HydroC, which PRACE took to assess its prototypes (D9.3.4, section 6.4). ``rate`` counts a cell once a step,
as HydroC does. A step crosses memory once, on threads of one rank or of several over a grid, and its result is the same
to the last bit for every number of ranks and threads and every instruction set, as the fact ``digest`` shows.

``blast`` is HydroC's point explosion in a corner: most cells are still at rest while it is measured, and the solver of
their faces ends at once. ``checkers`` begins with squares of Sod's two states, so that every cell is at work, and takes
longer. After the last step mass, energy and momentum (less what the walls gave) must be those of the start but for
rounding, and Sod's tube must be near its exact solution; a run that deviates by more than a bound has no score.
See native/hydro/README.md.

Sources: B. van Leer, Journal of Computational Physics 32, 101, 1979; P. Colella, H. M. Glaz, Journal of Computational
Physics 59, 264, 1985; G. Sod, Journal of Computational Physics 27, 1, 1978.
"""

from __future__ import annotations

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params
from .common import lists
from .common import ranks as _ranks
from .common.memory import check_room
from .common.table import table_of

TABLE = table_of(__file__)

#: Bytes of a cell: four numbers, before a step and after it.
_CELL_BYTES = 64
#: Cell steps a second of a thread, as a guess for estimates.
_RATE = 1e7


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    sizes = TABLE.numbers(params, "n")
    check_room("hydro.n", f"{max(sizes)} x {max(sizes)} cells", _CELL_BYTES * max(sizes) ** 2, host, "ask for fewer")
    ranks = _ranks.count(params, host)
    threads = _ranks.threads(params, host, ranks, where="hydro")
    if min(sizes) < 2 * ranks:
        raise BadInput(
            f"hydro.n: {min(sizes)} x {min(sizes)} cells are too few for {ranks} ranks, each of which needs 2 x 2",
            hint=f"at least n = {2 * ranks}, or fewer ranks",
        )
    return ({**params, "n": lists.text(sizes), "ranks": ranks, "threads": threads},)


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    return Command(argv=TABLE.argv(params), ranks=ranks if ranks > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Six steps before the samples, which last 0.1 s each or so many steps; making and checking the gas."""
    ranks = int(params["ranks"])
    total = 0.3 + (0.5 + 0.01 * ranks if ranks > 1 else 0.0)
    for n in map(int, str(params["n"]).split(",")):
        step_s = n**2 / (_RATE * ranks * int(params["threads"]))
        sample_s = int(params["steps"]) * step_s if int(params["steps"]) else max(0.1, 2 * step_s)
        total += 10 * step_s + max(int(params["samples"]) * sample_s, float(params["seconds"]))
    return total


def _label(params: Params) -> str:
    ranks, threads = int(params["ranks"]), int(params["threads"])
    team = f"{threads} thread{'s' * (threads != 1)}" + (f" on each of {ranks} ranks" if ranks > 1 else "")
    isa = "" if params["isa"] == "auto" else f", {params['isa']}"
    return f"hydro {lists.span(lists.words(params['n']))} squared, {params['problem']}, {team}{isa}"


WORKLOAD = TABLE.workload(
    title="Hydrodynamics (Godunov's method in two dimensions)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
