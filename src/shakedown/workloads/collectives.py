"""Collective operations of MPI ranks: barrier, broadcast, reduction, gather, all-to-all and others, by size.

The time of a repetition is that from the first rank's entry to the last rank's exit, on one clock: that of the kernel where
ranks share it, else clocks that exchanges of stamps lay over each other, with the most that they can be wrong by. All ranks
begin at an agreed instant; a repetition that one of them was late to is kept apart and made again. The figure of the OSU
micro-benchmarks, the mean over ranks of the mean over a loop with barriers, stands beside it under its own name. Every
word of a result is checked, and one wrong word means that the run has no result.

Each operation is measured in turn with its mock-ups, other operations that give the same result: one that is slower than
its mock-up uses an algorithm that does not fit this machine (J. L. Traeff, W. Gropp, R. Thakur, "Self-consistent MPI
performance guidelines", IEEE TPDS 21(5), 2010). A bound from the messages between two of its ranks stands beside it, too
(``docs/messages.md``). Bytes are those of the whole vector, or of the block for each rank, as the operation has it.
"""

from __future__ import annotations

from .. import launchers, programs
from ..errors import BadInput, Unavailable
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists, rounds
from .common.table import table_of

TABLE = table_of(__file__)

#: How many ways there are to make an operation, about: itself and its mock-ups.
_METHODS = 3


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    usable = len(host.usable_cpus)
    if usable < 2:
        raise Unavailable(
            f"collectives needs two CPUs, and {host.name} lets this process use {usable}",
            hint="give the job or the container two CPUs or more",
        )
    launchers.fitting_mpi(host.software, programs.build())
    ranks = _ranks(params, host)
    if ranks > usable and not params["allow_oversubscribe"]:
        raise BadInput(
            f"collectives.ranks = {ranks}, but this process may use {usable} CPUs: each rank needs its own",
            hint=f"at most ranks = {usable}",
        )
    for size in TABLE.numbers(params, "sizes"):
        if size % 8:
            raise BadInput(
                f"collectives.sizes: {size} bytes are not a whole number of 64-bit words", hint="name multiples of 8"
            )
    rounds_of(params)
    if params["placements"]:
        TABLE.selection(params, "placements")
    operations = ",".join(TABLE.selection(params, "operations"))
    return ({**params, "operations": operations, "ranks": ranks},)


def _ranks(params: Params, host: Host) -> int:
    if params["ranks"] == "hosts":
        if host.count < 2:
            raise Unavailable(
                "collectives between hosts needs two, and there is one", hint="shakedown run ... --on slurm --nodes 2"
            )
        return host.count
    return max(2, cores(host)) if params["ranks"] == "cores" else int(params["ranks"])


def rounds_of(params: Params) -> rounds.Rounds:
    """The rounds that are asked. Raises BadInput."""
    return rounds.parse(params["rounds"], "collectives.rounds")


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    argv = (*TABLE.argv(params), "--world-size", str(ranks))
    if asked := rounds_of(params):
        return Command(argv=(*argv, "--rounds", rounds.FILE), ranks=ranks, files={rounds.FILE: rounds.text(asked)})
    return Command(argv=argv, ranks=ranks)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, messages between two ranks, and each case: its repetitions of about 20 us and 4 GB/s, or its budget."""
    sizes = TABLE.numbers(params, "sizes")
    operations = len(TABLE.selection(params, "operations"))
    case_s = sum(
        min(float(params["budget_s"]), int(params["samples"]) * _METHODS * (2e-5 + size * int(params["ranks"]) / 4e9))
        for size in sizes
    )
    count = len(rounds_of(params))
    return 2.0 + max(count, 1) * operations * (case_s + 0.05 * len(sizes))


def _label(params: Params) -> str:
    span = lists.span([show_bytes(size) for size in sorted(TABLE.numbers(params, "sizes"))])
    operations = TABLE.selection(params, "operations")
    every = len(operations) == len(TABLE.params["operations"].items)
    if asked := rounds_of(params):
        made = f"{len(asked)} round{'s' * (len(asked) != 1)} of groups of {params['ranks']} ranks"
        return f"collectives {'+'.join(operations)}, {span}, {made}"
    return f"collectives {'all' if every else '+'.join(operations)}, {span}, {params['ranks']} ranks"


WORKLOAD = TABLE.workload(
    title="Collective operations, beside their mock-ups and bounds",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
