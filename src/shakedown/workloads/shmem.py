"""One-sided operations of OpenSHMEM: put, get and atomic operations between two PEs; barrier and others of all PEs.

The definitions are those of the OSU micro-benchmarks, under whose metrics they stand, with a distribution in place of one
mean: a put and its quiet, a get; atomic operations one after another, each on its own of 500 words, so that the time of one
that fetches nothing is its share of a pipeline (``shmem.atomic.quiet`` is one with a quiet of its own). Latency and rate of
an atomic operation are then two views of one measurement, as in OSU's table. Bandwidths and rates are those of 64 puts or
gets and one quiet. Operations of all PEs are timed within one host, from the first PE's entry to the last PE's exit on the
clock that they share, begun at an agreed instant.

Every value is checked: the target's whole memory and all that was fetched, with new data before and after the timed
operations; the old values of the last round after each sample; and both PEs at once on one word, where no operation may be
lost and no old value be given twice. One wrong element and the run has no result. Each operation, and each word of atomic
ones, is a launch of its own, so that one which ends the program (with Open MPI 4.1.4 a compare-and-swap of 4 bytes) leaves
the others. The program uses no MPI; it is built where the build finds ``oshc++``, and started by the launcher of that
library: the ``mpirun`` of the site's Open MPI, or the batch engine's.
"""

from __future__ import annotations

from .. import launchers, programs
from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..launchers.mpirun import cores
from ..machine.mpi import OPEN_MPI
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

#: Operations on one word.
ATOMIC = ("fetch_add", "add", "fetch_inc", "inc", "swap", "compare_swap", "set", "fetch")
#: Operations of all PEs.
OF_ALL = ("barrier", "broadcast", "fcollect", "sum", "alltoall")

_CASE_S = 0.03
#: Cases of each size of a put; others have fewer.
_CASES_OF_A_SIZE = 4


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    programs.path("shmem")
    if params["ranks"] == "hosts" and host.count != 2:
        raise Unavailable(
            f"shmem between hosts needs two, and there {'is one' if host.count == 1 else f'are {host.count}'}",
            hint="shakedown run ... --on slurm --nodes 2",
        )
    if len(host.usable_cpus) < 2 and params["ranks"] != "hosts":
        raise Unavailable(
            f"shmem needs two CPUs, and {host.name} lets this process use {len(host.usable_cpus)}",
            hint="give the job or the container two CPUs or more",
        )
    _launcher(host)
    widths = TABLE.selection(params, "atomic_bytes")
    return tuple(
        {**params, "operations": operation, "atomic_bytes": width, "ranks": _pes(params, operation, host)}
        for operation in TABLE.selection(params, "operations")
        for width in (widths if operation in ATOMIC else (",".join(widths),))
    )


def _launcher(host: Host) -> None:
    """Raises Unavailable where what starts the site's programs is of another library than the program is of."""
    found = launchers.site_mpi(host.software)
    built = programs.build().get("openshmem", {})
    if built.get("flavour") == OPEN_MPI != found.name:
        raise Unavailable(
            f"shmem was built with Open MPI's OpenSHMEM, and the site's first MPI is {found.name} {found.version}",
            hint="put Open MPI's mpirun first on PATH (load its module), or build again with SHAKEDOWN_OSHCXX",
        )


def _pes(params: Params, operation: str, host: Host) -> int:
    """How many PEs. Raises BadInput for a number or a size that the operation cannot have."""
    if operation not in OF_ALL:
        if params["ranks"] not in ("auto", "hosts", 2):
            raise BadInput(
                f"shmem.ranks = {params['ranks']}, but {operation} is between two PEs",
                hint="leave ranks at auto, or name operations of all PEs: " + ",".join(OF_ALL),
            )
        TABLE.numbers(params, "sizes")
        return 2
    if params["ranks"] == "hosts":
        raise BadInput(
            f"{operation} of OpenSHMEM is measured within one host: several share no clock",
            hint="shakedown run collectives measures MPI's between hosts; or name operations of two PEs",
        )
    if operation != "barrier" and (odd := [size for size in TABLE.numbers(params, "sizes") if size % 8]):
        raise BadInput(
            f"shmem.sizes: {odd[0]} bytes are not a whole number of 64-bit words", hint="name multiples of 8"
        )
    pes = max(2, cores(host)) if params["ranks"] == "auto" else int(params["ranks"])
    if pes > len(host.usable_cpus):
        raise BadInput(
            f"shmem.ranks = {pes}, but this process may use {len(host.usable_cpus)} CPUs: each PE needs its own",
            hint=f"at most ranks = {len(host.usable_cpus)}",
        )
    return pes


def _command(params: Params, host: Host) -> Command:
    pes = int(params["ranks"])
    return Command(argv=(*TABLE.argv(params), "--world-size", str(pes)), ranks=pes, site_mpi=True)


def _sizes(params: Params) -> tuple[int, ...]:
    """Those of a resolved run, which has one operation."""
    return TABLE.numbers(params, "atomic_bytes" if params["operations"] in ATOMIC else "sizes")


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up and each case: samples of 100 us, a warm-up, the check of the memory of all operations under way."""
    in_flight, most_s = int(params["in_flight"]), float(params["budget_s"]) + _CASE_S
    each_s = [_CASE_S + int(params["samples"]) * (1e-4 + size * in_flight / 5e9) for size in _sizes(params)]
    return 2.0 + _CASES_OF_A_SIZE * sum(min(most_s, one) for one in each_s)


def _label(params: Params) -> str:
    name = f"shmem {params['operations']}"
    if params["operations"] == "barrier":
        return f"{name}, {params['ranks']} PEs"
    span = lists.span([show_bytes(size) for size in sorted(_sizes(params))])
    return f"{name}, {span}" + (f", {params['ranks']} PEs" if params["operations"] in OF_ALL else "")


WORKLOAD = TABLE.workload(
    title="One-sided operations of OpenSHMEM",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
