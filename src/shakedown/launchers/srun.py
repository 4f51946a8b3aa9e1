"""srun of Slurm, over several hosts of an allocation.

The way in which ranks find each other must be one that the MPI was built for: a program that finds none runs as so many
jobs of one rank, and Slurm calls that COMPLETED. Open MPI speaks PMIx, Cray MPICH Cray's own. The MPICH family speaks PMI
and may be built for any; where it has a launcher of its own, that one knows, and itself starts through Slurm.

``--mpi``, ``--distribution`` and ``--cpu-bind`` are said even where they are the default, for the environment of a step
sets them for the next one; ``--overlap`` lets a step start below another one. The environment goes along whole.
"""

from __future__ import annotations

import re

from ..errors import BadInput
from ..hosts import hostlist
from ..machine import mpi as flavours
from . import Launcher, Start, Started

#: Flavour -> the interfaces that it was built for, the best first.
_SPEAKS = {
    flavours.OPEN_MPI: ("pmix",),
    flavours.CRAY: ("cray_shasta", "pmi2"),
    flavours.MPICH: ("pmi2",),
    flavours.INTEL: ("pmi2",),
    flavours.MVAPICH2: ("pmi2",),
    flavours.MVAPICH: ("pmi2",),
}


def interface(start: Start) -> str:
    """The ``--mpi`` that the program's MPI and this Slurm have in common; ``none`` for a program without; else empty."""
    if start.whole or not start.ranks:
        return "none"
    assert start.mpi is not None and start.allocation is not None
    there = start.allocation.mpi
    for wanted in _SPEAKS.get(start.mpi.name, ()):
        if wanted in there or any(one.startswith(f"{wanted}_v") for one in there):
            return wanted
    return ""


def _refusal(start: Start) -> str:
    if start.allocation is None or start.allocation.engine != "slurm":
        return "this is not a Slurm allocation"
    if not start.spread and not _must(start):
        return "it runs on this host alone"
    if strangers := [name for name in start.hosts if name not in start.allocation.hosts]:
        return f"{', '.join(strangers[:3])} not in the allocation"
    if not start.whole and start.ranks:
        if start.mpi is None:
            return "no MPI was found"
        if not interface(start):
            speaks = " or ".join(_SPEAKS.get(start.mpi.name, ())) or "nothing that is known"
            there = ", ".join(start.allocation.mpi) or "none"
            return f"{start.mpi.name} needs {speaks} and srun has {there}: every rank would be a job of one"
        if start.mpi.path and start.mpi.name not in (flavours.OPEN_MPI, flavours.CRAY):
            return f"{start.mpi.name}'s own mpirun knows for which PMI it was built, and starts through Slurm itself"
    return ""


def _must(start: Start) -> bool:
    """Whether a start on one host needs srun all the same: of an MPI without a launcher of its own."""
    return bool(start.ranks and not start.whole and start.mpi and not start.mpi.path)


def _start(start: Start) -> Started:
    hosts = start.hosts or (start.host.name,)
    tasks = max(1, start.ranks)
    shares = {count for _, count in start.shares}
    argv = [
        "srun",
        f"--nodes={len(hosts)}",
        f"--ntasks={tasks}",
        *([f"--ntasks-per-node={next(iter(shares))}"] if len(shares) == 1 else []),
        f"--nodelist={','.join(hosts)}",
        "--distribution=block",
        f"--mpi={interface(start)}",
        "--cpu-bind=none",
        "--overlap",
        "--export=ALL",
        *(("--input=all", "--kill-on-bad-exit=0") if start.whole else ("--kill-on-bad-exit=1",)),
    ]
    if start.allocation and start.allocation.cpus and tasks > sum(start.allocation.cpus[: len(hosts)]):
        argv.append("--overcommit")
    return (*argv, *start.argv), {}


def _fallen(line: str) -> tuple[str, ...]:
    """``srun: error: node[1-2]: tasks 0-1: Killed`` -> the hosts. srun says so of each task that failed."""
    found = re.match(r"srun: error: (\S+): tasks? [\d,-]+: ", line)
    try:
        return hostlist.expand(found[1]) if found else ()
    except BadInput:
        return ()


LAUNCHER = Launcher(
    name="srun", title="srun of Slurm", order=20, refusal=_refusal, start=_start, fed=True, fallen=_fallen
)
