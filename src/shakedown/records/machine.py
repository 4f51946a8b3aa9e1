"""The records of what a machine is, and the base of all records: the lowest part of records, where all are found."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

#: One part of a path: no separator, no control character, neither . nor .., and nothing that a command takes for an option.
_PART = r"(?![-.]*\Z)(?!-)[^/\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
#: A name that becomes a part of a path: of a campaign, a run, a host. Whatever reads a record checks it.
Name = Annotated[str, msgspec.Meta(pattern=rf"\A{_PART}{{1,160}}\Z")]
#: The host or hosts of a job, which may be many; empty where that is not told.
HostNames = Annotated[str, msgspec.Meta(pattern=rf"\A(?:{_PART}+)?\Z")]

Value = int | float | str | bool
Params = dict[str, Value]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all records."""


class Peak(Record, frozen=True, kw_only=True):
    """How fast something could be, and where the number comes from.

    ``kind`` is "derived" (from what the hardware is), "measured" (a native probe reached it) or "stated" (a document).
    ``basis`` is the calculation in words, with every factor: ``2 cores x 32 flop/cycle x 2.6 GHz base clock``.
    """

    name: str  # flops.fp64, flops.fp32, memory.bandwidth, clock.avx, cache.l2.bandwidth, core_to_core.latency ...
    scope: str  # core | socket | node | gpu
    value: float
    unit: str
    kind: Literal["derived", "measured", "stated"]
    basis: str
    measured_by: str = ""  # the metric whose best value it is


class Absent(Record, frozen=True, kw_only=True):
    """Something that was looked for and could not be read, and why."""

    what: str
    why: str


class Cache(Record, frozen=True, kw_only=True):
    level: int
    kind: Literal["data", "instruction", "unified"]
    size_bytes: int
    line_bytes: int | None = None
    ways: int | None = None
    groups: tuple[tuple[int, ...], ...] = ()  # the logical CPUs that share each instance


class Core(Record, frozen=True, kw_only=True):
    """One physical core and the logical CPUs that it shows."""

    cpus: tuple[int, ...]
    core_id: int
    socket: int | None  # None: neither the kernel nor the nodes tell
    numa_node: int | None = None
    microarchitecture: str = ""  # where the cores are of more than one kind
    clock_hz: float | None = None  # where peaks are derived at another clock for some cores than for others


class Cpu(Record, frozen=True, kw_only=True):
    model: str
    vendor: str
    architecture: str  # uname -m
    microarchitecture: str  # "Sapphire Rapids", or "unknown"
    family: int | None = None
    model_number: int | None = None
    stepping: int | None = None
    sockets: int | None = None
    cores: tuple[Core, ...] = ()  # those online
    offline_cpus: tuple[int, ...] = ()
    threads_per_core: int | None = None
    isa: tuple[str, ...] = ()  # the vector extensions that matter: sse2 avx2 fma avx512f amx_tile neon sve ...
    base_hz: float | None = None
    max_hz: float | None = None
    clock_hz: float | None = None  # the clock that peaks are derived at: the base clock where it is known
    clock_basis: str = ""  # what that clock is: "base clock (cpufreq base_frequency)", "time-stamp counter" ...
    caches: tuple[Cache, ...] = ()


class NumaNode(Record, frozen=True, kw_only=True):
    id: int
    cpus: tuple[int, ...]
    memory_bytes: int | None = None
    distances: tuple[int, ...] = ()
    hugepages: dict[str, int] = {}  # page size in bytes as text -> pages reserved
    side_caches: tuple[Cache, ...] = ()  # caches before the memory; level 1 is the nearest to the memory (numaperf)


class MemoryModule(Record, frozen=True, kw_only=True):
    locator: str
    size_bytes: int
    speed_mts: float | None = None  # configured transfers per second / 1e6
    kind: str = ""  # DDR4, DDR5 ...
    channel: str = ""


class Memory(Record, frozen=True, kw_only=True):
    total_bytes: int
    available_bytes: int | None = None
    limit_bytes: int | None = None  # of the control group, where there is one
    #: Free on the NUMA nodes that have CPUs and that the process may use; None where those are all nodes with memory.
    near_bytes: int | None = None
    swap_bytes: int | None = None
    modules: tuple[MemoryModule, ...] = ()
    channels: int | None = None
    speed_mts: float | None = None
    bus_bytes: int | None = None  # per channel and transfer: 8 for DDR4 and DDR5 (two 32-bit subchannels)

    @property
    def room_bytes(self) -> int:
        """What a program can take: the least of what is free, what of it is near, what the control group grants and all."""
        bounds = (self.available_bytes, self.near_bytes, self.limit_bytes, self.total_bytes)
        return min(bound for bound in bounds if bound is not None)


class Gpu(Record, frozen=True, kw_only=True):
    index: int
    name: str
    vendor: str
    memory_bytes: int | None = None
    pci: str = ""
    driver: str = ""
    facts: dict[str, Value] = {}


class Network(Record, frozen=True, kw_only=True):
    """One network interface or InfiniBand port."""

    name: str
    kind: str  # ethernet | infiniband | omnipath | loopback | virtual
    state: str = ""
    rate_bit_s: float | None = None
    mtu: int | None = None
    driver: str = ""
    numa_node: int | None = None
    facts: dict[str, Value] = {}


class Setting(Record, frozen=True, kw_only=True):
    """One kernel or system setting: what it is, what it does to benchmarks, what to set."""

    name: str
    value: str | None
    state: Literal["good", "warn", "unknown", "info"]
    effect: str
    advice: str = ""


class Software(Record, frozen=True, kw_only=True):
    kind: str  # mpi | blas | compiler | driver | scheduler | python | library
    name: str
    version: str = ""
    path: str = ""
    facts: dict[str, Value] = {}


class Host(Record, frozen=True, kw_only=True):
    """Everything that is known of one host; or of several as one (machine/span.py), for a job that runs over them."""

    name: HostNames
    count: int = 1  # hosts that this stands for
    kernel: str = ""
    os: str = ""
    virtualisation: str = ""  # "", "kvm", "docker" ...: with what it hides in `absent`
    boot_id: str = ""  # of the running kernel: hosts with the same one are one machine (containers, namespaces)
    cpu: Cpu
    memory: Memory
    numa: tuple[NumaNode, ...] = ()
    usable_cpus: tuple[int, ...] = ()  # this process's affinity mask
    cpu_quota: float | None = None  # CPUs that the control group grants
    gpus: tuple[Gpu, ...] = ()
    networks: tuple[Network, ...] = ()
    settings: tuple[Setting, ...] = ()
    software: tuple[Software, ...] = ()
    peaks: tuple[Peak, ...] = ()
    absent: tuple[Absent, ...] = ()


class Machine(Record, frozen=True, kw_only=True):
    hosts: tuple[Host, ...]
    discovered_ns: int
    version: str  # of shakedown
