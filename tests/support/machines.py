"""Small machines for tests that need one and do not look at it."""

from __future__ import annotations

import msgspec

from shakedown.records import Cache, Core, Cpu, Gpu, Host, Machine, Memory, NumaNode, Peak, Software

#: What a site has: a BLAS, an MPI, and what build.json then says of the programs.
OPENBLAS = Software(
    kind="blas",
    name="openblas",
    version="0.3.34",
    path="/lib/libopenblas.so",
    facts={"source": "site", "threading": "pthread", "ilp64": False},
)
OPEN_MPI = Software(kind="mpi", name="Open MPI", version="4.1.4", path="/usr/bin/mpirun", facts={"source": "site"})
BUILD = {"mpi": {"flavour": "Open MPI", "version": "4.1.4", "source": "site", "mpicxx": ""}}

H200 = Gpu(index=0, name="NVIDIA H200", vendor="NVIDIA", memory_bytes=141 * 10**9)


def host(
    cores: int = 2,
    *,
    name: str = "node1",
    memory_bytes: int = 24 * 2**30,
    peaks: tuple[Peak, ...] = (),
    software: tuple[Software, ...] = (),
    virtualisation: str = "",
) -> Host:
    """A host with one socket of ``cores`` cores without SMT."""
    cpus = tuple(range(cores))
    caches = (
        Cache(level=1, kind="data", size_bytes=48 * 2**10, groups=tuple((cpu,) for cpu in cpus)),
        Cache(level=2, kind="unified", size_bytes=2 * 2**20, groups=tuple((cpu,) for cpu in cpus)),
        Cache(level=3, kind="unified", size_bytes=32 * 2**20, groups=(cpus,)),
    )
    return Host(
        name=name,
        kernel="6.1.0",
        os="Test Linux",
        virtualisation=virtualisation,
        cpu=Cpu(
            model="Test CPU",
            vendor="GenuineIntel",
            architecture="x86_64",
            microarchitecture="Sapphire Rapids",
            sockets=1,
            threads_per_core=1,
            base_hz=2.6e9,
            isa=("sse2", "avx2", "fma", "avx512f"),
            caches=caches,
            cores=tuple(Core(cpus=(cpu,), core_id=cpu, socket=0, numa_node=0) for cpu in cpus),
        ),
        memory=Memory(total_bytes=memory_bytes, available_bytes=memory_bytes * 9 // 10),
        numa=(NumaNode(id=0, cpus=cpus, memory_bytes=memory_bytes, distances=(10,)),),
        usable_cpus=cpus,
        peaks=peaks,
        software=software,
    )


def machine(cores: int = 2, **details: object) -> Machine:
    return Machine(hosts=(host(cores, **details),), discovered_ns=1, version="test")  # type: ignore[arg-type]


def with_gpus(count: int, gpu: Gpu = H200, **details: object) -> Machine:
    """A machine of four cores and so many GPUs of one kind."""
    found = machine(4, **details)
    members = tuple(msgspec.structs.replace(gpu, index=index) for index in range(count))
    return msgspec.structs.replace(found, hosts=(msgspec.structs.replace(found.hosts[0], gpus=members),))


def over_hosts(count: int, cores: int = 4, **details: object) -> Machine:
    """So many hosts alike, as a job over them is shown to a workload."""
    one = machine(cores, **details)
    return msgspec.structs.replace(one, hosts=(msgspec.structs.replace(one.hosts[0], count=count),))
