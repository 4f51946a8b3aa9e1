"""How many MPI ranks and threads: what the workloads that run HPL or its pieces take as ``ranks`` and ``threads``."""

from __future__ import annotations

from ... import launchers, programs
from ...errors import BadInput, Unavailable
from ...launchers.mpirun import cores
from ...records import Host, Params


def count(params: Params, host: Host) -> int:
    """How many ranks ``ranks`` asks for. Raises Unavailable where several are asked for by number and no MPI fits."""
    asked = params["ranks"]
    if asked == "auto":
        usable = set(host.usable_cpus)
        nodes = sum(1 for one in host.numa if one.cpus and (not usable or usable & set(one.cpus)))
        found = max(1, min(nodes, cores(host)))
        return found if found > 1 and has_mpi(host) else 1
    found = cores(host) if asked == "all" else int(asked)
    if found > 1:
        launchers.fitting_mpi(host.software, programs.build())
    return found


def has_mpi(host: Host) -> bool:
    """Whether several ranks can be started here."""
    try:
        launchers.fitting_mpi(host.software, programs.build())
    except Unavailable:
        return False
    return True


def threads(params: Params, host: Host, ranks: int, *, where: str) -> int:
    """How many threads each rank gets; ``auto``: its share of the cores. Raises BadInput where the CPUs do not suffice."""
    found = max(1, cores(host) // ranks) if params["threads"] == "auto" else int(params["threads"])
    usable = len(host.usable_cpus) or cores(host)
    if ranks * found > usable:
        raise BadInput(
            f"{where}: {ranks} ranks of {found} threads need {ranks * found} CPUs, and this process may use {usable}",
            hint=f"at most ranks = {usable}, or threads = {max(1, usable // ranks)}",
        )
    return found
