"""One-sided operations of MPI (RMA) between two ranks: put, get, accumulate, atomic operations, by size and kind of window.

The latency is that of one operation and its flush, in an epoch of ``MPI_Win_lock_all`` while the target waits in MPI: the
definition of the OSU micro-benchmarks, under whose metrics it stands, with a distribution in place of one mean. Bandwidths
and rates are those of 64 operations under way at once and one flush (OSU's, too). OSU adds bytes, which few programs do;
accumulates of 64-bit words stand beside them under names of their own. Atomic operations are on words of 8 bytes, as
OSU's, and of 4, as those of the Intel MPI Benchmarks. ``computing`` is one operation and its flush while the target computes
and calls no MPI: where that takes until the target is back, this MPI's one-sided operations need their target. The kind of
window is a parameter of a case: between two kinds lie factors of 100 with some MPIs.

Every value is checked: the target's whole memory and all that was fetched, before and after the timed operations, and
the old values of the last atomic operations after each sample. Then both ranks operate on the same memory at once: no sum
may lack one, and no old value be given twice. One wrong element and the run has no result; a notice names its rank and
place. Each operation, and each word of atomic ones, is a launch of its own, so that one which ends the program (Open MPI
4.1.4 dies at a compare-and-swap of 8 bytes within one host) leaves the others. On one machine the operations go through
shared memory: what is measured is the MPI's software.
"""

from __future__ import annotations

from .. import launchers, programs
from ..errors import Unavailable
from ..launchers import Command
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

#: Operations on one word.
ATOMIC = ("fetch_and_op", "compare_and_swap")

#: Cases of each size, of put and get, or of the sums: latency, rate, and while the target computes; bytes and words.
_CASES_OF_A_SIZE = 3
_CASE_S = 0.03


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    if params["ranks"] == "hosts" and host.count != 2:
        raise Unavailable(
            f"onesided between hosts needs two, and there {'is one' if host.count == 1 else f'are {host.count}'}",
            hint="shakedown run ... --on slurm --nodes 2",
        )
    if len(host.usable_cpus) < 2 and params["ranks"] != "hosts":
        raise Unavailable(
            f"onesided needs two CPUs, and {host.name} lets this process use {len(host.usable_cpus)}",
            hint="give the job or the container two CPUs or more",
        )
    launchers.fitting_mpi(host.software, programs.build())
    TABLE.numbers(params, "sizes")
    whole = {**params, "windows": ",".join(TABLE.selection(params, "windows")), "ranks": 2}
    widths = TABLE.selection(params, "atomic_bytes")
    return tuple(
        {**whole, "operations": operation, "atomic_bytes": width}
        for operation in TABLE.selection(params, "operations")
        for width in (widths if operation in ATOMIC else (",".join(widths),))
    )


def _command(params: Params, host: Host) -> Command:
    return Command(argv=(*TABLE.argv(params), "--world-size", "2"), ranks=2)


def _sizes(params: Params) -> tuple[int, ...]:
    """Those of a resolved run, which has one operation."""
    return TABLE.numbers(params, "atomic_bytes" if params["operations"] in ATOMIC else "sizes")


def _estimate_s(params: Params, host: Host) -> float:
    """Start-up and each case: samples of 100 us, a warm-up, the check of the memory of all operations under way."""
    in_flight, most_s = int(params["in_flight"]), float(params["budget_s"]) + _CASE_S
    each_s = [_CASE_S + int(params["samples"]) * (1e-4 + size * in_flight / 5e9) for size in _sizes(params)]
    return 1.0 + len(TABLE.selection(params, "windows")) * _CASES_OF_A_SIZE * sum(min(most_s, one) for one in each_s)


def _label(params: Params) -> str:
    span = lists.span([show_bytes(size) for size in sorted(_sizes(params))])
    windows = TABLE.selection(params, "windows")
    of = "" if len(windows) == len(TABLE.params["windows"].items) else f", windows by {'+'.join(windows)}"
    return f"onesided {params['operations']}, {span}{of}"


WORKLOAD = TABLE.workload(
    title="One-sided operations of MPI between two ranks (RMA)",
    network=True,
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
