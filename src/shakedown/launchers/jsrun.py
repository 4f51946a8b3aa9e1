"""jsrun of IBM's Job Step Manager, in allocations of LSF on machines that have it (Summit and its like): one resource set
a host, with all its CPUs and GPUs, and IBM's Spectrum MPI, which is an Open MPI.

Known from its documentation only (IBM Job Step Manager 10.3, jsrun(1)).
"""

from __future__ import annotations

from ..machine import mpi as flavours
from . import Launcher, Start, Started


def _refusal(start: Start) -> str:
    if start.allocation is None or "jsm" not in start.allocation.mpi:
        return "this is not an allocation with jsrun"
    if not start.spread:
        return "it runs on this host alone"
    if tuple(start.hosts) != start.allocation.hosts[: len(start.hosts)]:
        return "it takes the first hosts of the allocation, and others are requested"
    if len({count for _, count in start.shares}) > 1:
        return f"{start.ranks} ranks do not divide evenly over {len(start.hosts)} hosts"
    if start.ranks and not start.whole and (start.mpi is None or start.mpi.name != flavours.OPEN_MPI):
        return "it starts Spectrum MPI and Open MPI only"
    return ""


def _start(start: Start) -> Started:
    each = start.shares[0][1]
    sets = ("--nrs", str(len(start.hosts)), "--rs_per_host", "1", "--tasks_per_rs", str(each))
    return ("jsrun", *sets, "--cpu_per_rs", "ALL_CPUS", "--gpu_per_rs", "ALL_GPUS", "--bind", "none", *start.argv), {}


LAUNCHER = Launcher(name="jsrun", title="jsrun of IBM's Job Step Manager", order=20, refusal=_refusal, start=_start)
