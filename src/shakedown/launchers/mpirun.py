"""mpirun (or mpiexec) of Open MPI, MPICH, Intel MPI, MVAPICH and, with PALS, Cray MPICH.

No launcher binds, because the programs pin themselves, and none tags output, because it is parsed. What each flavour
needs beyond the number of ranks:

- Open MPI counts cores as slots and refuses more ranks: ``--oversubscribe`` (5: ``--map-by :OVERSUBSCRIBE``) is given
  only where ranks outnumber cores, since it also makes waiting ranks yield their CPU. As root it wants to be told.
- The MPICH family binds only when asked, but a site may have set that in the environment.
- The MPI of a Python wheel brings libraries (hwloc, PMIx, libfabric) that a module's LD_LIBRARY_PATH would replace by
  others of the same name, which breaks it: its own folders are put in front.
- Intel MPI pins by default: ``I_MPI_PIN=off``. MVAPICH has affinity of its own: ``MV2_`` and ``MVP_ENABLE_AFFINITY=0``.
"""

from __future__ import annotations

import posixpath

from ..machine import mpi as flavours
from ..records import Host
from . import Launcher, Start, Started


def cores(host: Host) -> int:
    """Physical cores with a CPU that this process may use; the CPUs where the cores are not known; at least 1."""
    usable = set(host.usable_cpus)
    found = sum(1 for core in host.cpu.cores if not usable or usable & set(core.cpus))
    return max(1, found or len(usable))


def _refusal(start: Start) -> str:
    if start.ranks < 1:
        return "the program has no ranks"
    if start.mpi is None:
        return "no MPI was found"
    if not start.mpi.path:
        return f"{start.mpi.name} has no launcher of its own here"
    return "" if start.mpi.name in _FLAVOURS else f"how {start.mpi.name} starts programs is not known"


def _open_mpi(start: Start) -> tuple[tuple[str, ...], dict[str, str]]:
    assert start.mpi is not None
    flags: list[str] = ["-np", str(start.ranks), "--bind-to", "none"]
    if start.ranks > cores(start.host):
        newer = int(start.mpi.version.split(".")[0] or 0) >= 5
        flags += ["--map-by", ":OVERSUBSCRIBE"] if newer else ["--oversubscribe"]
    if start.root:
        flags.append("--allow-run-as-root")
    return tuple(flags), {}


def _hydra(start: Start) -> tuple[tuple[str, ...], dict[str, str]]:
    return ("-n", str(start.ranks), "-bind-to", "none"), {}


def _intel(start: Start) -> tuple[tuple[str, ...], dict[str, str]]:
    return ("-n", str(start.ranks)), {"I_MPI_PIN": "off"}


def _mvapich(start: Start) -> tuple[tuple[str, ...], dict[str, str]]:
    return ("-n", str(start.ranks), "-bind-to", "none"), {"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"}


def _cray(start: Start) -> tuple[tuple[str, ...], dict[str, str]]:
    return ("-n", str(start.ranks), "--cpu-bind", "none"), {}


_FLAVOURS = {
    flavours.OPEN_MPI: _open_mpi,
    flavours.MPICH: _hydra,
    flavours.INTEL: _intel,
    flavours.MVAPICH2: _mvapich,
    flavours.MVAPICH: _mvapich,
    flavours.CRAY: _cray,
}


def _start(start: Start) -> Started:
    assert start.mpi is not None
    flags, env = _FLAVOURS[start.mpi.name](start)
    if start.mpi.facts.get("source") == "wheel" and start.library_path:
        library = posixpath.join(posixpath.dirname(posixpath.dirname(start.mpi.path)), "lib")
        env = {**env, "LD_LIBRARY_PATH": f"{library}:{library}/openmpi:{start.library_path}"}
    return (start.mpi.path, *flags, *start.argv), env


LAUNCHER = Launcher(
    name="mpirun", title="mpirun of the MPI that the program is linked to", order=50, refusal=_refusal, start=_start
)
