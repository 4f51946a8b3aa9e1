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
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

#: How many ways there are to make an operation, about: itself and its mock-ups.
_METHODS = 3
_ROUNDS = "rounds.txt"


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


def rounds_of(params: Params) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """The rounds, of each its groups, of each its members. Raises BadInput for a group of fewer than two."""
    found = []
    for text in filter(None, map(str.strip, str(params["rounds"]).split(";"))):
        groups = tuple(tuple(filter(None, word.split(","))) for word in text.split())
        for group in groups:
            if len(group) < 2:
                raise BadInput(
                    f"collectives.rounds: {','.join(group) or text!r} is not a group of two or more members",
                    hint="members between commas, groups between spaces, rounds between semicolons: 0,1 2,3; 0,2 1,3",
                )
        found.append(groups)
    return tuple(found)


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    argv = (*TABLE.argv(params), "--world-size", str(ranks))
    if rounds := rounds_of(params):
        text = "".join(" ".join(map(",".join, groups)) + "\n" for groups in rounds)
        return Command(argv=(*argv, "--rounds", _ROUNDS), ranks=ranks, files={_ROUNDS: text})
    return Command(argv=argv, ranks=ranks)


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up, messages between two ranks, and each case: its repetitions of about 20 us and 4 GB/s, or its budget."""
    sizes = TABLE.numbers(params, "sizes")
    operations = len(TABLE.selection(params, "operations"))
    case_s = sum(
        min(float(params["budget_s"]), int(params["samples"]) * _METHODS * (2e-5 + size * int(params["ranks"]) / 4e9))
        for size in sizes
    )
    rounds = len(rounds_of(params))
    return 2.0 + max(rounds, 1) * operations * (case_s + 0.05 * len(sizes))


def _label(params: Params) -> str:
    span = lists.span([show_bytes(size) for size in sorted(TABLE.numbers(params, "sizes"))])
    operations = TABLE.selection(params, "operations")
    every = len(operations) == len(TABLE.params["operations"].items)
    if rounds := rounds_of(params):
        return f"collectives {'+'.join(operations)}, {span}, {len(rounds)} rounds of groups of {params['ranks']} ranks"
    return f"collectives {'all' if every else '+'.join(operations)}, {span}, {params['ranks']} ranks"


WORKLOAD = TABLE.workload(
    title="Collective operations, beside their mock-ups and bounds",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
