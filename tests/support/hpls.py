"""HPL's parameters and events, made up."""

from __future__ import annotations

import msgspec

from shakedown.records import (
    Host,
    Machine,
    NumaNode,
    Params,
    Peak,
)
from shakedown.workloads import hpl
from support.machines import OPEN_MPI, OPENBLAS, host
from support.workloads import params_of

CORE = Peak(
    name="flops.fp64", scope="core", value=8e10, unit="flop/s", kind="derived", basis="32 flop/cycle x 2.5 GHz base"
)


def node(cores: int = 4, numa: int = 1, mpi: bool = True, name: str = "node1", **details: object) -> Host:
    """A host of ``numa`` NUMA nodes with OpenBLAS, a peak of 80 Gflop/s a core, and Open MPI unless said otherwise."""
    peak = msgspec.structs.replace(CORE, scope="node", value=cores * CORE.value)
    software = (OPENBLAS, OPEN_MPI) if mpi else (OPENBLAS,)
    made = host(cores, name=name, software=software, peaks=(CORE, peak), **details)  # type: ignore[arg-type]
    each = cores // numa
    nodes = tuple(NumaNode(id=i, cpus=tuple(range(i * each, (i + 1) * each))) for i in range(numa))
    return msgspec.structs.replace(made, numa=nodes)


def resolve(given: Params, on: Host) -> Params:
    return params_of(hpl.WORKLOAD, Machine(hosts=(on,), discovered_ns=1, version="test"), given)
