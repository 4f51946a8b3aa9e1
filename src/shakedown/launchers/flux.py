"""flux run, inside of an instance of Flux. Known from its documentation only (flux-run(1), RFC 31 for the constraint).

Flux offers PMI-1 to every program and PMIx where its plug-in is loaded: MPICH and its family start, and Open MPI 5 where
the instance has PMIx (``-o pmi=pmix``).
"""

from __future__ import annotations

from ..machine import mpi as flavours
from . import Launcher, Start, Started


def _refusal(start: Start) -> str:
    if start.allocation is None or start.allocation.engine != "flux":
        return "this is not a Flux instance"
    if not start.spread:
        return "it runs on this host alone"
    if strangers := [name for name in start.hosts if name not in start.allocation.hosts]:
        return f"{', '.join(strangers[:3])} not in the instance"
    if len({count for _, count in start.shares}) > 1:
        return f"{start.ranks} ranks do not divide evenly over {len(start.hosts)} hosts"
    if start.ranks and not start.whole:
        if start.mpi is None:
            return "no MPI was found"
        if start.mpi.name == flavours.OPEN_MPI and "pmix" not in start.allocation.mpi:
            return "Open MPI needs PMIx, and this instance has none: every rank would be a job of one"
    return ""


def _start(start: Start) -> Started:
    each = start.shares[0][1]
    open_mpi = start.ranks and not start.whole and start.mpi is not None and start.mpi.name == flavours.OPEN_MPI
    return (
        *("flux", "run", f"--nodes={len(start.hosts)}", f"--tasks-per-node={each}", "--exclusive"),
        f"--requires=host:{','.join(start.hosts)}",
        "--setopt=cpu-affinity=off",
        *(("--setopt=pmi=pmix",) if open_mpi else ()),
        *start.argv,
    ), {}


LAUNCHER = Launcher(name="flux", title="flux run", order=20, refusal=_refusal, start=_start)
