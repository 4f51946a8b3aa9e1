"""One kernel as threads, as processes and as ranks of MPI, on the same cores: what a way of being parallel costs by itself.

Each worker sweeps over an array of its own; it is pinned to a core of its own, and the same core in each way. Threads and
processes (fork) are those of a helper that was made before MPI began; ranks carry MPI's library in their address space, as
the ranks of any program do. All ways are measured in turn within one launch, with all workers and with one, so that what
drifts meets all of them. The time is from the instant at which all begin to the end of the slowest worker. With
``meet_every`` the workers wait for each other: ranks in MPI_Barrier, the others in shared memory. The cells of every
worker must be those of one alone, bit for bit.

``shakedown scaling`` makes speedups and laws of such runs. The question, and the figure: ARL-TR-7085, section 3.5, figure 3
(speedup over pthreads, fork and MPI on two Opterons of family 15h, whose modules evicted each other's instructions).
"""

from __future__ import annotations

from .. import launchers, programs
from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common.table import table_of

TABLE = table_of(__file__)

_WAYS = 3


def _counts(params: Params, host: Host) -> tuple[int, ...]:
    """How many workers, in each launch. Raises BadInput."""
    most = cores(host)
    if params["workers"] == "powers":
        doubled = (2**power for power in range(1, 12))
        return tuple(dict.fromkeys((*(count for count in doubled if count < most), most)))
    counts = tuple(dict.fromkeys(TABLE.numbers(params, "workers")))
    if max(counts) > len(host.usable_cpus) and not params["allow_oversubscribe"]:
        raise BadInput(
            f"workers.workers = {max(counts)}, but this process may use {len(host.usable_cpus)} CPUs: each needs its own",
            hint=f"at most workers = {len(host.usable_cpus)}",
        )
    return counts


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    if cores(host) < 2 and params["workers"] == "powers":
        raise Unavailable(
            f"workers needs two cores, and {host.name} lets this process use {cores(host)}",
            hint="give the job or the container two cores or more",
        )
    launchers.fitting_mpi(host.software, programs.build())
    counts = _counts(params, host)
    needed = 2 * int(params["bytes"]) * (max(counts) + 1)
    if needed > host.memory.room_bytes:
        room = show_bytes(host.memory.room_bytes)
        raise BadInput(f"workers.bytes: {max(counts)} workers need {show_bytes(needed)}, and {room} are free")
    return tuple({**params, "workers": str(count)} for count in counts)


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["workers"])
    return Command(argv=(*TABLE.argv(params), "--world-size", str(ranks)), ranks=ranks)


def _estimate_s(params: Params, host: Host) -> float:
    """Each way with one worker and with all, at 1.5 updates a nanosecond, a warm-up, and what one alone computes."""
    one_s = int(params["sweeps"]) * int(params["bytes"]) / 8 / 1.5e9
    all_s = one_s if params["scaling"] == "weak" else one_s / int(params["workers"])
    return 1.0 + one_s + (int(params["samples"]) + 1) * _WAYS * (one_s + all_s)


def _label(params: Params) -> str:
    meet = f", meeting every {params['meet_every']} sweeps" if params["meet_every"] else ""
    return f"workers {params['workers']}, {params['scaling']}, arrays of {show_bytes(int(params['bytes']))}{meet}"


WORKLOAD = TABLE.workload(
    title="One kernel as threads, processes and MPI ranks",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
