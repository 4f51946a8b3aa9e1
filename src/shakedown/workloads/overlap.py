"""Overlap of communication with computation: how much of a non-blocking MPI operation's time a computation hides.

Three things are measured in turn, round by round, each begun at an instant that all ranks agree on: the operation alone
(post and wait), a computation alone that takes 1.25 times as long, and both together: post, computation, wait. Times are
those from the first rank's entry to the last rank's exit on one clock. What is hidden is 1 - (t_both - t_computing) /
t_pure, the form of the OSU micro-benchmarks, from samples that were taken side by side, with an interval; it is not cut
at 0 or 1, so that what a computation loses to the operation shows. The Intel MPI Benchmarks divide by the longer of
operation and computation: another figure.

The computation touches no memory. It is made whole, and in pieces with calls of MPI_Test between them (``tests``): many
MPIs move data only within their calls. ``progress = "thread"`` starts MPI with the progress thread that it offers.
Availability is the share of the operation's time that its calls leave to the program: 1 - (post + tests + wait) / t_pure,
of the rank that is longest in MPI, each call timed by itself (D. Doerfler, R. Brightwell, EuroPVM/MPI 2006). Every word
that arrives is checked.
"""

from __future__ import annotations

from .. import launchers, programs
from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..launchers.mpirun import cores
from ..machine import mpi as flavours
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

_CASE_S = 0.1
#: What makes an MPI start a thread that makes progress.
_THREAD: dict[str, dict[str, str]] = {
    flavours.MPICH: {"MPIR_CVAR_ASYNC_PROGRESS": "1"},
    flavours.INTEL: {"I_MPI_ASYNC_PROGRESS": "1"},
    flavours.MVAPICH: {"MPIR_CVAR_ASYNC_PROGRESS": "1"},
    flavours.MVAPICH2: {"MPICH_ASYNC_PROGRESS": "1", "MV2_ENABLE_AFFINITY": "0"},
    flavours.CRAY: {"MPICH_ASYNC_PROGRESS": "1", "MPICH_MAX_THREAD_SAFETY": "multiple"},
    flavours.OPEN_MPI: {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_progress_thread": "1"},
}


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    usable = len(host.usable_cpus)
    ranks = _ranks(params, host)
    if usable < 2 and params["ranks"] != "hosts":
        raise Unavailable(
            f"overlap needs two CPUs, and {host.name} lets this process use {usable}",
            hint="give the job or the container two CPUs or more",
        )
    mpi = launchers.fitting_mpi(host.software, programs.build())
    if params["ranks"] != "hosts" and ranks > usable and not params["allow_oversubscribe"]:
        raise BadInput(
            f"overlap.ranks = {ranks}, but this process may use {usable} CPUs: each rank needs its own",
            hint=f"at most ranks = {usable}",
        )
    for size in TABLE.numbers(params, "sizes"):
        if size % 8:
            raise BadInput(
                f"overlap.sizes: {size} bytes are not a whole number of 64-bit words", hint="name multiples of 8"
            )
    TABLE.numbers(params, "tests")
    progress = TABLE.selection(params, "progress")
    if "thread" in progress and mpi.name not in _THREAD:
        raise Unavailable(f"no progress thread of {mpi.name} is known", hint="leave out progress = thread")
    operations = ",".join(TABLE.selection(params, "operations"))
    return tuple({**params, "operations": operations, "ranks": ranks, "progress": one} for one in progress)


def _ranks(params: Params, host: Host) -> int:
    if params["ranks"] == "hosts":
        if host.count < 2:
            raise Unavailable(
                "overlap between hosts needs two, and there is one", hint="shakedown run ... --on slurm --nodes 2"
            )
        return host.count
    return max(2, cores(host)) if params["ranks"] == "cores" else int(params["ranks"])


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    env = {}
    if params["progress"] == "thread":
        env = _THREAD[launchers.fitting_mpi(host.software, programs.build()).name]
    return Command(argv=(*TABLE.argv(params), "--world-size", str(ranks)), ranks=ranks, env=env)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up and each case: the samples of each way, of about 20 us and 2 GB/s, or its budget."""
    ranks, samples = int(params["ranks"]), int(params["samples"])
    ways = 2 + len(TABLE.numbers(params, "tests"))
    each_s = [
        min(float(params["budget_s"]), samples * ways * float(params["computation"]) * (4e-5 + size * ranks / 2e9))
        for size in TABLE.numbers(params, "sizes")
    ]
    return 1.0 + len(TABLE.selection(params, "operations")) * sum(_CASE_S + one for one in each_s)


def _label(params: Params) -> str:
    span = lists.span([show_bytes(size) for size in sorted(TABLE.numbers(params, "sizes"))])
    operations = TABLE.selection(params, "operations")
    every = len(operations) == len(TABLE.params["operations"].items)
    with_thread = ", with a progress thread" if params["progress"] == "thread" else ""
    return f"overlap {'all' if every else '+'.join(operations)}, {span}, {params['ranks']} ranks{with_thread}"


WORKLOAD = TABLE.workload(
    title="Overlap of non-blocking operations with a computation",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
    marks=("progress",),
)
