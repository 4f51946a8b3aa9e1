"""The clock of each core, without and under vector work, and the multiply-adds that a core and the node reach.

No hardware counter is read. The clock is the number of additions in a chain of dependent ones, one cycle each, over the
thread's time on its CPU. Under vector load the same chain runs with as many fused multiply-adds beside it as leave it
in charge: the clock at which a product of matrices runs. The rate of multiply-adds is that of independent ones on
registers alone, so it bounds every program; over the clock it gives the operations of a cycle. Every sum is checked bit
for bit. See native/probe/README.md.

What is found here stands beside the peaks that are derived from the clock that the maker states.
"""

from __future__ import annotations

from ..errors import BadInput
from ..launchers.mpirun import cores
from ..records import Host, Machine, Params
from .common.table import table_of

TABLE = table_of(__file__)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    usable = len(host.usable_cpus) or cores(host)
    threads = cores(host) if params["threads"] == "all" else int(params["threads"])
    if threads > usable:
        raise BadInput(
            f"probe.threads = {threads}, but this process may use {usable} CPUs", hint=f"at most threads = {usable}"
        )
    return ({**params, "threads": threads},)


def _estimate_s(params: Params, host: Host) -> float:
    """Four kernels for each instruction set, alone and on all cores, of samples of 50 million cycles."""
    sets = len(str(params["isa"]).split(","))
    groups = (1 + 3 * sets) * (2 if int(params["threads"]) > 1 else 1)
    return 0.1 + groups * max(float(params["seconds"]), (int(params["samples"]) + 1) * 5e7 / 3e9)


def _label(params: Params) -> str:
    return f"probe, {params['threads']} thread{'s' * (params['threads'] != 1)}, {params['isa']}"


WORKLOAD = TABLE.workload(
    title="Clock and multiply-adds of the cores",
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
