"""A host, metrics and findings as runs give them: what the analyses of the report's tests are put together from."""

from __future__ import annotations

import random

from shakedown.records import (
    Absent,
    Cache,
    Core,
    Cpu,
    Finding,
    Fraction,
    Host,
    Memory,
    Metric,
    Notice,
    NumaNode,
    Params,
    Peak,
    Setting,
    Software,
)

GIB = 2**30
CREATED_NS = 1_780_000_000_000_000_000
SIZES = tuple(2**power for power in range(14, 32))
BANDWIDTHS = {"cache.l1d": 140e9, "cache.l2": 88e9, "cache.l3": 34e9, "memory": 15e9}

METRICS = (
    Metric(
        name="stream.triad.bandwidth",
        title="Triad bandwidth",
        unit="B/s",
        better="higher",
        kernel="triad",
        per="bytes/s",
        limit="{level}.bandwidth",
        measures="{level}.bandwidth",
        source="McCalpin, STREAM: 24 bytes for each element",
    ),
    Metric(
        name="stream.copy.bandwidth",
        title="Copy bandwidth",
        unit="B/s",
        better="higher",
        kernel="copy",
        per="bytes/s",
        limit="{level}.bandwidth",
        measures="{level}.bandwidth",
        source="McCalpin, STREAM: 16 bytes for each element",
    ),
    Metric(
        name="gemm.dgemm.rate",
        title="DGEMM rate",
        unit="flop/s",
        better="higher",
        kernel="dgemm",
        per="flop/s",
        limit="flops.fp64",
        source="2 n^3 floating-point operations",
    ),
    Metric(
        name="pingpong.latency",
        title="One-way latency",
        unit="s",
        better="lower",
        kernel="pingpong",
        per="s/messages",
        source="OSU micro-benchmarks: half the time of a round trip",
    ),
    Metric(
        name="pingpong.bandwidth",
        title="Bandwidth",
        unit="B/s",
        better="higher",
        kernel="bandwidth",
        per="bytes/s",
        limit="memory.bandwidth",
        source="OSU micro-benchmarks: a window of messages in flight",
    ),
    Metric(
        name="pingpong.bidirectional.bandwidth",
        title="Bandwidth, both directions",
        unit="B/s",
        better="higher",
        kernel="bidirectional",
        per="bytes/s",
        source="OSU micro-benchmarks, osu_bibw",
    ),
    Metric(
        name="probe.clock",
        title="Clock under vector load",
        unit="Hz",
        better="higher",
        kernel="clock",
        per="cycles/s",
        source="a chain of dependent additions, one a cycle",
    ),
)

UNSTABLE = Notice(
    code="wide-interval",
    text="the interval is wider than 10 % of the median",
    advice="close other programs or raise repeat_max",
)


SETTINGS = (
    Setting(name="Transparent huge pages", value="madvise", state="info", effect="programs that ask get 2 MiB pages"),
    Setting(name="CPU governor", value=None, state="unknown", effect="a power-saving governor lowers the clock"),
    Setting(
        name="Automatic NUMA balancing",
        value="1",
        state="warn",
        effect="pages move while a benchmark runs",
        advice="sysctl kernel.numa_balancing=0",
    ),
    Setting(name="Swappiness", value="0", state="good", effect="no swapping while measuring"),
)


def host(name: str = "vm-2core", cores: int = 2) -> Host:
    """A small virtual machine."""
    clock = Peak(name="clock.base", scope="core", value=2.6e9, unit="Hz", kind="stated", basis="the model's data sheet")
    return Host(
        name=name,
        kernel="6.1.0-18-cloud-amd64",
        os="Debian GNU/Linux 12 (bookworm)",
        virtualisation="kvm",
        cpu=Cpu(
            model="Intel(R) Xeon(R) Platinum 8581C CPU @ 2.60GHz",
            vendor="GenuineIntel",
            architecture="x86_64",
            microarchitecture="Emerald Rapids",
            sockets=1,
            threads_per_core=1,
            base_hz=2.6e9,
            cores=tuple(Core(cpus=(index,), core_id=index, socket=0, numa_node=0) for index in range(cores)),
            isa=("sse2", "avx2", "fma", "avx512f", "amx_tile"),
            caches=(
                Cache(level=1, kind="data", size_bytes=48 * 1024),
                Cache(level=2, kind="unified", size_bytes=2 * 2**20),
                Cache(level=3, kind="unified", size_bytes=260 * 2**20),
            ),
        ),
        memory=Memory(total_bytes=24 * GIB, available_bytes=22 * GIB),
        numa=(NumaNode(id=0, cpus=tuple(range(cores)), memory_bytes=24 * GIB),),
        usable_cpus=tuple(range(cores)),
        settings=SETTINGS,
        software=(
            Software(kind="blas", name="OpenBLAS", version="0.3.34", path="/usr/lib/libopenblas.so.0"),
            Software(kind="mpi", name="Open MPI", version="5.0.11"),
            Software(kind="compiler", name="gcc", version="12.2.0"),
        ),
        peaks=(
            Peak(
                name="flops.fp64",
                scope="node",
                value=cores * 32 * 2.6e9,
                unit="flop/s",
                kind="derived",
                basis=f"{cores} cores x 32 flop/cycle x 2.6 GHz base clock",
            ),
            Peak(
                name="memory.bandwidth",
                scope="node",
                value=cores * 22.2e9,
                unit="B/s",
                kind="measured",
                basis="best of read, copy and triad over all threads",
            ),
            clock,
        ),
        absent=(
            Absent(what="memory modules", why="DMI tables need root"),
            Absent(what="energy counters", why="no /sys/class/powercap on this virtual machine"),
        ),
    )


def level_of(size: int) -> str:
    bounds = ((32 * 1024, "cache.l1d"), (2 * 2**20, "cache.l2"), (128 * 2**20, "cache.l3"))
    return next((name for bound, name in bounds if size <= bound), "memory")


def hash_of(*parts: object) -> int:
    """A number that is the same in every process."""
    return random.Random(repr(parts)).getrandbits(60)


def finding_of(
    draw: random.Random,
    metric: Metric,
    params: Params,
    value: float,
    *,
    host_name: str = "vm-2core",
    limits: dict[str, tuple[str, float]] | None = None,
    notices: tuple[Notice, ...] = (),
) -> Finding:
    value *= draw.gauss(1, 0.004)
    half = value * abs(draw.gauss(0.006, 0.002))
    fractions = tuple(
        Fraction(
            limit=name,
            kind=kind,
            value=limit,
            fraction=value / limit if metric.better == "higher" else limit / value,
            basis="see the machine's peaks",
        )
        for name, (kind, limit) in (limits or {}).items()
    )
    return Finding(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        workload=metric.name.split(".")[0],
        params=params,
        host=host_name,
        value=value,
        low=value - half,
        high=value + half,
        n_samples=60,
        n_runs=3,
        best=value * 1.01,
        fractions=fractions,
        notices=notices,
        outliers=draw.choice((0, 0, 0, 1)),
        runs=(f"{abs(hash_of(metric.name, params)):016x}",),
    )
