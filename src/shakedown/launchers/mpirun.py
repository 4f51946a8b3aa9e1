"""mpirun (or mpiexec) of Open MPI, MPICH, Intel MPI, MVAPICH and, with PALS, Cray MPICH.

No launcher binds, because the programs pin themselves, and none tags output, because it is parsed. What each flavour
needs beyond the number of ranks:

- Open MPI counts cores as slots and refuses more ranks: ``--oversubscribe`` (5: ``--map-by :OVERSUBSCRIBE``) is given
  only where ranks outnumber cores, since it also makes waiting ranks yield their CPU. As root it wants to be told.
- The MPICH family binds only when asked, but a site may have set that in the environment.
- The MPI of a Python wheel brings libraries (hwloc, PMIx, libfabric) that a module's LD_LIBRARY_PATH would replace by
  others of the same name, which breaks it: its own folders are put in front.
- Intel MPI pins by default: ``I_MPI_PIN=off``. MVAPICH has affinity of its own: ``MV2_`` and ``MVP_ENABLE_AFFINITY=0``.

In an allocation an mpirun asks the batch engine where it may go. On one host it is kept from that, for the engine may
have given one slot where the test wants all cores, or say that the host is another one. Over several it is told each
host and its ranks; Open MPI does not carry the environment there by itself, so that what matters is named.
"""

from __future__ import annotations

from ..machine import mpi as flavours
from ..records import Host
from . import Launcher, Start, Started, library_path, ssh


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


def _crowded(start: Start) -> bool:
    """Whether a host gets more ranks than it has cores."""
    if not start.spread:
        return start.ranks > cores(start.host)
    granted = _granted(start)
    return any(count > granted.get(name, cores(start.host)) for name, count in start.shares)


def _granted(start: Start) -> dict[str, int]:
    """The CPUs that the engine granted on each host, as far as it told."""
    if start.allocation is None:
        return {}
    return dict(zip(start.allocation.hosts, start.allocation.cpus, strict=False))


def _open_mpi(start: Start) -> Started:
    assert start.mpi is not None
    newer = int(start.mpi.version.split(".")[0] or 0) >= 5
    mca = "--prtemca" if newer else "--mca"  # 5: what starts programs is PRRTE, with parameters of its own
    flags: list[str] = ["-np", str(start.ranks)]
    crowded = _crowded(start)
    if start.spread:
        flags += ["--host", ",".join(f"{name}:{count}" for name, count in start.shares)]
        carried = {*start.inherited, *start.env, *(["LD_LIBRARY_PATH"] if start.libraries else [])}
        flags += [word for name in sorted(carried) for word in ("-x", name)]
        agent = "plm_ssh_agent" if newer else "plm_rsh_agent"
        if start.rsh:
            flags += [mca, "plm", "ssh" if newer else "rsh", mca, agent, start.rsh]
        elif not (start.allocation and start.allocation.engine):
            flags += [mca, agent, ssh.agent()]  # a question would wait for ever, a greeting be output
    elif start.allocation is not None:
        flags += [mca, "ras", "^slurm,gridengine,tm,lsf,alps,pbs,flux"]
        flags += [mca, "plm", "ssh" if newer else "isolated"]
    flags += ["--bind-to", "none"]
    if newer and (crowded or start.spread):
        flags += [
            "--map-by",
            "slot:OVERSUBSCRIBE" if crowded and start.spread else ":OVERSUBSCRIBE" if crowded else "slot",
        ]
    elif crowded:
        flags.append("--oversubscribe")
    if start.root:
        flags.append("--allow-run-as-root")
    return (*flags, *_paths(start, mca, newer)), {}


def _paths(start: Start, mca: str, newer: bool) -> tuple[str, ...]:
    """The network that Open MPI may use, where it was said."""
    words: list[str] = []
    if start.interface:
        words += ["--mca", "btl_tcp_if_include", start.interface]
        words += [mca, "prte_if_include" if newer else "oob_tcp_if_include", start.interface]
    if start.family:
        other = "4" if start.family == "6" else "6"
        words += ["--mca", "btl_tcp_disable_family", other]
        words += [mca, f"prte_disable_ipv{other}_family", "1"] if newer else [mca, "oob_tcp_disable_family", other]
    return tuple(words)


def _hydra_hosts(start: Start, name: str = "-hosts") -> tuple[str, ...]:
    """Where Hydra goes and how: by the engine's own means where it knows them, by fork alone on one host."""
    if not start.spread:
        return ("-launcher", "fork", "-rmk", "user") if start.allocation is not None else ()
    words = [name, ",".join(f"{host}:{count}" for host, count in start.shares)]
    if start.rsh:
        words += ["-launcher", "ssh", "-launcher-exec", start.rsh]
    if start.interface:
        words += ["-iface", start.interface]
    return tuple(words)


def _hydra(start: Start) -> Started:
    return ("-n", str(start.ranks), "-bind-to", "none", *_hydra_hosts(start)), {}


def _intel(start: Start) -> Started:
    return ("-n", str(start.ranks), *_hydra_hosts(start)), {"I_MPI_PIN": "off"}


def _mvapich(start: Start) -> Started:
    flags = ("-n", str(start.ranks), "-bind-to", "none", *_hydra_hosts(start))
    return flags, {"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"}


def _cray(start: Start) -> Started:
    where: tuple[str, ...] = ()
    if start.spread:
        where = ("--hosts", ",".join(start.hosts), "--ppn", str(start.shares[0][1]))
    return ("-n", str(start.ranks), *where, "--cpu-bind", "none"), {}


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
    return (start.mpi.path, *flags, *start.argv), {**env, **library_path(start)}


LAUNCHER = Launcher(
    name="mpirun", title="mpirun of the MPI that the program is linked to", order=50, refusal=_refusal, start=_start
)
