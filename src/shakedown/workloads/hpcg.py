"""HPCG by a program of our own: conjugate gradients with a multigrid of four levels on a sparse matrix of 27 points.

The phases are those of the benchmark: problem setup; the plain reference's products and cycles, and fifty of its
iterations; the optimisation (matrices in chunks of eight rows, all values and column numbers stored and read, in 64 and
32 bits); tests of symmetry and of few iterations where the diagonal dominates; the iterations that reach what the
reference reached, of which more than fifty are charged; sets that are timed. ``rate`` counts operations by the rules'
formulas, with a tenth of setting up and optimising charged to each set. Runs of less than 1,800 s, or on less than a
quarter of the memory, are measurements that HPCG's list would call INVALID, which the program says.

The limit comes from the same run: the bytes that an iteration must move, each value, column and number of a vector
once, over the bandwidth of STREAM's triad on the same threads (``efficiency``); the bandwidth of reads alone stands
beside it, since nine tenths of the bytes are read. Each loop is also timed alone. Sweeps of Gauss-Seidel keep the order
of rows on any number of threads, so that results are the same bits for every number of threads and every instruction
set; ranks take their neighbours' values from before a sweep, as the benchmark has it, so that residuals differ a little
with their number. Every row of every matrix is checked at the end against whole numbers known from the grid alone. See
native/hpcg/README.md.

Sources: J. Dongarra, M. A. Heroux, P. Luszczek, "HPCG benchmark: a new metric for ranking high performance computing
systems", University of Tennessee, UT-EECS-15-736, 2015; M. A. Heroux, J. Dongarra, P. Luszczek, "HPCG technical
specification", Sandia report SAND2013-8752, 2013.
"""

from __future__ import annotations

from ..errors import BadInput
from ..launchers import Command
from ..records import Host, Machine, Params
from .common import ranks as _ranks
from .common.memory import check_room
from .common.table import table_of

TABLE = table_of(__file__)

#: Bytes of a point: the plain matrix and ours, each 27 entries of 12 bytes, and vectors; coarser grids add a seventh.
_POINT_BYTES = (2 * 27 * 12 + 20 + 20 * 8) * 8 // 7
#: Points and iterations a second of the plain loops of one rank, and of a thread of ours: guesses for estimates.
_PLAIN_RATE, _RATE = 4e6, 1e7


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    edges = {"nx": int(params["nx"])}
    edges |= {name: int(params[name]) or edges["nx"] for name in ("ny", "nz")}
    for name, edge in edges.items():
        if edge < 16 or edge % 8:
            raise BadInput(
                f"hpcg.{name}: {edge} is not a multiple of 8 from 16 on",
                hint="the multigrid halves each edge three times",
            )
    ranks = _ranks.count(params, host)
    threads = _ranks.threads(params, host, ranks, where="hpcg")
    points = ranks * edges["nx"] * edges["ny"] * edges["nz"]
    check_room("hpcg.nx", f"{points} points", _POINT_BYTES * points, host, "ask for fewer")
    return ({**params, **edges, "ranks": ranks, "threads": threads},)


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    return Command(argv=TABLE.argv(params), ranks=ranks if ranks > 1 else 0)


def _estimate_s(params: Params, host: Host) -> float:
    """Two triads, 56 iterations of the plain loops and about 75 of ours, then sets of fifty, or so many seconds of them."""
    points = int(params["nx"]) * int(params["ny"]) * int(params["nz"])
    ours_s = points / (_RATE * int(params["threads"]))
    sets_s = max(50 * ours_s * int(params["samples"]), float(params["seconds"]))
    return 3.0 + 56 * points / _PLAIN_RATE + 75 * ours_s + sets_s


def _label(params: Params) -> str:
    ranks, threads = int(params["ranks"]), int(params["threads"])
    team = f"{threads} thread{'s' * (threads != 1)}" + (f" on each of {ranks} ranks" if ranks > 1 else "")
    isa = "" if params["isa"] == "auto" else f", {params['isa']}"
    return f"hpcg {params['nx']} x {params['ny']} x {params['nz']} a rank, {team}{isa}"


WORKLOAD = TABLE.workload(
    title="HPCG (conjugate gradients with multigrid, sparse)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
