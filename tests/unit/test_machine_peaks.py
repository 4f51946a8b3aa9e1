"""Peaks: those of published machines to the last digit, with every factor in the basis; none where one is not known."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.analysis import limits
from shakedown.machine import discover, microarchitecture, peaks, with_measured
from shakedown.records import Absent, Cache, Core, Cpu, Finding, Host, Memory, Metric, Peak
from support import trees

AVX2 = ("avx", "avx2", "fma")
AVX512 = (*AVX2, "avx512f", "avx512_vnni")


def host(
    name: str,
    sockets: int,
    cores: int,
    ghz: float,
    isa: tuple[str, ...] = (),
    *,
    threads: int = 1,
    model: str = "",
    architecture: str = "x86_64",
    memory: Memory | None = None,
    shared_l2: int = 1,
    usable: tuple[int, ...] = (),
    quota: float | None = None,
) -> Host:
    total = sockets * cores
    return Host(
        name="node",
        cpu=Cpu(
            model=model,
            vendor="",
            architecture=architecture,
            microarchitecture=name,
            sockets=sockets,
            isa=isa,
            threads_per_core=threads,
            base_hz=ghz * 1e9,
            clock_hz=ghz * 1e9,
            clock_basis="base clock",
            cores=tuple(
                Core(cpus=tuple(range(core, total * threads, total)), core_id=core % cores, socket=core // cores)
                for core in range(total)
            ),
            caches=(
                Cache(
                    level=2,
                    kind="unified",
                    size_bytes=1,
                    groups=tuple(tuple(range(first, first + shared_l2)) for first in range(0, total, shared_l2)),
                ),
            ),
        ),
        memory=memory or Memory(total_bytes=1),
        usable_cpus=usable or tuple(range(total * threads)),
        cpu_quota=quota,
    )


def value(of: Host, name: str, scope: str = "node") -> float:
    return next(peak.value for peak in peaks.peaks(of)[0] if (peak.name, peak.scope) == (name, scope))


def basis(of: Host, name: str, scope: str = "node") -> str:
    return next(peak.basis for peak in peaks.peaks(of)[0] if (peak.name, peak.scope) == (name, scope))


# --------------------------------------------------------------------------------------------------- published machines


@pytest.mark.parametrize(
    ("machine", "core_gflops", "node_gflops"),
    [
        # TSUBAME: Sun BluePrints 820-0831, table 3-6
        (host("K8 (DDR2)", 8, 2, 2.4), 4.8, 76.8),
        (host("K8 (DDR2)", 8, 2, 2.6), 5.2, 83.2),
        # Comet: two Xeon E5-2680 v3
        (host("Haswell-EP", 2, 12, 2.5, AVX2), 40.0, 960.0),
        # Gordon: two Xeon E5-2670
        (host("Sandy Bridge-EP", 2, 8, 2.6, ("avx",)), 20.8, 332.8),
        # TSUBAME 2.0 and its time: two Xeon X5670
        (host("Westmere-EP", 2, 6, 2.93), 11.72, 140.64),
        # Frontier's and LUMI-C's kind: two EPYC 7763
        (host("Zen 3", 2, 64, 2.45, AVX2, model="AMD EPYC 7763 64-Core Processor"), 39.2, 5017.6),
        # Summit: two POWER9 of 22 cores at 3.07 GHz, 540 Gflop/s each
        (host("POWER9", 2, 22, 3.07, threads=4, architecture="ppc64le"), 24.56, 1080.64),
        # Fugaku: A64FX of 48 cores, 3.072 Tflop/s at 2.0 GHz
        (host("A64FX", 1, 48, 2.0, ("sve",), architecture="aarch64"), 64.0, 3072.0),
        # two Xeon Platinum 8160
        (
            host("Skylake-SP", 2, 24, 2.1, (*AVX2, "avx512f"), model="Intel(R) Xeon(R) Platinum 8160 CPU @ 2.10GHz"),
            67.2,
            3225.6,
        ),
        (host("Sapphire Rapids", 2, 56, 2.0, AVX512), 64.0, 7168.0),
    ],
)
def test_flops_of_published_machines(machine: Host, core_gflops: float, node_gflops: float) -> None:
    assert value(machine, "flops.fp64", "core") == pytest.approx(core_gflops * 1e9)
    assert value(machine, "flops.fp64") == pytest.approx(node_gflops * 1e9)
    assert value(machine, "flops.fp32") == pytest.approx(2 * node_gflops * 1e9)
    sockets = machine.cpu.sockets or 1
    assert value(machine, "flops.fp64", "socket") == pytest.approx(node_gflops / sockets * 1e9)


@pytest.mark.parametrize(
    ("machine", "gbytes"),
    [
        (host("Haswell-EP", 2, 12, 2.5, AVX2), 2 * 4 * 2.133 * 8),  # 68.3 GB/s a socket
        (host("Sandy Bridge-EP", 2, 8, 2.6, ("avx",)), 2 * 51.2),
        (host("A64FX", 1, 48, 2.0, architecture="aarch64"), 1024.0),
        (host("Grace (Neoverse V2)", 1, 72, 3.1, architecture="aarch64"), 546.048),
        (host("Zen 4", 2, 96, 2.4, AVX512, model="AMD EPYC 9654 96-Core Processor"), 2 * 460.8),
    ],
)
def test_memory_bandwidth_at_most(machine: Host, gbytes: float) -> None:
    assert value(machine, "memory.bandwidth") == pytest.approx(gbytes * 1e9)
    assert "at most" in basis(machine, "memory.bandwidth")


# -------------------------------------------------------------------------------------------------- what the basis says


def test_the_basis_holds_every_factor() -> None:
    comet = host("Haswell-EP", 2, 12, 2.5, AVX2)
    assert basis(comet, "flops.fp64").startswith(
        "2 sockets x 12 cores x 16 flop/cycle (2 FMA units x 4 lanes x 2) x 2.50 GHz base clock"
    )
    assert basis(comet, "flops.fp32", "core").startswith(
        "1 core x 32 flop/cycle (2 FMA units x 8 lanes x 2) x 2.50 GHz"
    )
    gordon = host("Sandy Bridge-EP", 2, 8, 2.6, ("avx",))
    assert basis(gordon, "flops.fp64", "socket") == (
        "8 cores x 8 flop/cycle (2 units, add and multiply, x 4 lanes) x 2.60 GHz base clock"
    )
    assert basis(comet, "memory.bandwidth").startswith("2 sockets x 4 channels x 2133 MT/s x 8 B (at most:")
    assert "1 flop/cycle (1 FMA unit x 1 lane x 2 / 2 cycles)" in basis(
        host("Cortex-A9", 1, 2, 1.0, architecture="armv7l"), "flops.fp64"
    )


def test_memory_as_it_is_fitted() -> None:
    fitted = Memory(total_bytes=1, channels=12, speed_mts=2666, bus_bytes=8)
    machine = host("Cascade Lake", 2, 20, 2.5, AVX512, memory=fitted)
    assert value(machine, "memory.bandwidth") == pytest.approx(12 * 2.666e9 * 8)
    assert basis(machine, "memory.bandwidth") == (
        "2 sockets x 6 channels x 2666 MT/s x 8 B (as read from the memory modules)"
    )
    lopsided = host(
        "Cascade Lake", 2, 20, 2.5, AVX512, memory=Memory(total_bytes=1, channels=7, speed_mts=2666, bus_bytes=8)
    )
    assert value(lopsided, "memory.bandwidth") == pytest.approx(7 * 2.666e9 * 8)
    assert not [peak for peak in peaks.peaks(lopsided)[0] if (peak.name, peak.scope) == ("memory.bandwidth", "socket")]


def test_half_known_memory_says_which_half() -> None:
    only_speed = host("Haswell-EP", 2, 12, 2.5, AVX2, memory=Memory(total_bytes=1, speed_mts=1866))
    assert value(only_speed, "memory.bandwidth") == pytest.approx(8 * 1.866e9 * 8)
    assert "the modules' speed" in basis(only_speed, "memory.bandwidth")
    only_channels = host("Haswell-EP", 2, 12, 2.5, AVX2, memory=Memory(total_bytes=1, channels=4))
    assert value(only_channels, "memory.bandwidth") == pytest.approx(4 * 2.133e9 * 8)


def test_vectors_are_no_wider_than_the_instruction_set_shows() -> None:
    masked = host("Skylake-SP", 1, 4, 2.0, AVX2)
    assert value(masked, "flops.fp64") == 4 * 16 * 2e9 and "no more than 256 bits" in basis(masked, "flops.fp64")
    bare = host("Haswell-EP", 1, 4, 2.0, ())
    assert value(bare, "flops.fp64") == 4 * 4 * 2e9 and "without the fused" in basis(bare, "flops.fp64")
    silver = host("Skylake-SP", 1, 4, 2.0, (*AVX2, "avx512f"), model="Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz")
    assert value(silver, "flops.fp64") == 4 * 16 * 2e9 and "one 512-bit FMA unit" in basis(silver, "flops.fp64")


def test_power_cores_of_eight_threads_are_two_of_four() -> None:
    four = host("POWER9", 1, 20, 3.0, threads=4, architecture="ppc64le")
    eight = host("POWER9", 1, 10, 3.0, threads=8, architecture="ppc64le")
    assert value(four, "flops.fp64") == value(eight, "flops.fp64")


# ----------------------------------------------------------------------------------------------- what may be used of it


def test_affinity_limits_the_peak_and_says_so() -> None:
    part = host("Haswell-EP", 2, 12, 2.5, AVX2, threads=2, usable=(0, 1, 2, 24, 25, 26))
    assert value(part, "flops.fp64") == 3 * 40e9
    assert basis(part, "flops.fp64").startswith("3 cores (of 24; this process may use CPUs 0-2,24-26) x 16 flop/cycle")
    across = host("Haswell-EP", 2, 12, 2.5, AVX2, usable=(0, 12))
    assert value(across, "flops.fp64") == 2 * 40e9 and value(across, "flops.fp64", "socket") == 40e9


def test_a_quota_limits_the_peak_and_says_so() -> None:
    part = host("Haswell-EP", 2, 12, 2.5, AVX2, quota=1.5)
    assert value(part, "flops.fp64") == 1.5 * 40e9 and value(part, "flops.fp64", "core") == 40e9
    assert "1.5 CPUs of time that the control group grants (of 2 sockets x 12 cores)" in basis(part, "flops.fp64")
    assert value(host("Haswell-EP", 2, 12, 2.5, AVX2, quota=100.0), "flops.fp64") == 960e9


def test_units_shared_by_two_cores() -> None:
    interlagos = host("Bulldozer", 2, 16, 2.3, ("avx", "fma4"), shared_l2=2)
    assert value(interlagos, "flops.fp64") == pytest.approx(2 * 147.2e9)
    assert basis(interlagos, "flops.fp64").startswith("16 modules of 2 cores (2 sockets x 16 cores) x 8 flop/cycle")
    assert value(
        host("Bulldozer", 1, 4, 2.3, ("avx", "fma4"), shared_l2=2, usable=(0, 2)), "flops.fp64"
    ) == pytest.approx(36.8e9)


# ---------------------------------------------------------------------------------------------------- what is not known


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (host("unknown", 1, 4, 2.0, model="Some CPU"), "'Some CPU' is not known"),
        (
            msgspec.structs.replace(host("Zen 2", 1, 4, 2.0), absent=(Absent(what="one kind of core", why="two"),)),
            "more than one kind",
        ),
    ],
)
def test_no_peak_without_its_factors(machine: Host, why: str) -> None:
    found, absent = peaks.peaks(machine)
    assert not [peak for peak in found if peak.name.startswith("flops")]
    assert why in next(gap.why for gap in absent if gap.what == "peak of flop/s")


def test_no_peak_without_a_clock() -> None:
    machine = host("Zen 2", 1, 4, 2.0)
    machine = msgspec.structs.replace(machine, cpu=msgspec.structs.replace(machine.cpu, clock_hz=None, base_hz=None))
    found, absent = peaks.peaks(machine)
    assert not [peak for peak in found if peak.name.startswith("flops")]
    assert any("clock" in gap.why for gap in absent)


def test_a_guest_has_no_memory_channels_of_its_own() -> None:
    guest = msgspec.structs.replace(
        host("Sapphire Rapids", 1, 2, 2.6, AVX512),
        virtualisation="kvm",
        absent=(Absent(what="physical cores", why="kvm"),),
    )
    found, absent = peaks.peaks(guest)
    assert not [peak for peak in found if peak.name == "memory.bandwidth"]
    assert "virtual machine" in next(gap.why for gap in absent if gap.what == "peak of memory bandwidth")
    newer = host("Sapphire Rapids or newer", 1, 2, 2.6, AVX512)
    assert value(newer, "flops.fp64") == 2 * 32 * 2.6e9 and "by the instruction set" in basis(newer, "flops.fp64")
    assert not [peak for peak in peaks.peaks(newer)[0] if peak.name == "memory.bandwidth"]


def test_every_entry_of_the_table_gives_peaks_or_says_that_its_units_are_not_known() -> None:
    for entry in microarchitecture.table():
        found, absent = peaks.peaks(host(entry.name, 1, 2, 1.0, (*AVX512, "fma4"), shared_l2=entry.shared_by))
        rates = [peak for peak in found if peak.name.startswith("flops")]
        if entry.units is None:
            assert not rates and entry.name in next(gap.why for gap in absent if gap.what == "peak of flop/s")
            continue
        assert len(rates) == 6 and all(peak.value > 0 for peak in rates), entry.name
        assert any(peak.name == "memory.bandwidth" for peak in found) == (entry.channels is not None), entry.name
        assert not [gap for gap in absent if gap.what == "peak of flop/s"]


# ------------------------------------------------------------------------------------------------------------- measured


def measured(name: str, value: float, unit: str, scope: str = "node") -> Peak:
    return Peak(name=name, scope=scope, value=value, unit=unit, kind="measured", basis="probe, 2 threads")


def comet() -> Host:
    machine = host("Haswell-EP", 2, 12, 2.5, AVX2)
    return msgspec.structs.replace(machine, peaks=peaks.peaks(machine)[0])


def test_a_measured_clock_adds_derived_peaks_beside_those_at_base() -> None:
    done = with_measured(comet(), [measured("clock.vector", 2.1e9, "Hz"), measured("memory.bandwidth", 110e9, "B/s")])
    flops = {peak.value: peak.basis for peak in done.peaks if (peak.name, peak.scope) == ("flops.fp64", "node")}
    assert sorted(flops) == [pytest.approx(806.4e9), pytest.approx(960e9)]
    assert "2.10 GHz clock measured under vector load (probe, 2 threads)" in flops[min(flops)]
    kinds = [peak.kind for peak in done.peaks if (peak.name, peak.scope) == ("memory.bandwidth", "node")]
    assert kinds == ["derived", "measured"]


def test_measuring_again_replaces_what_was_measured() -> None:
    once = with_measured(comet(), [measured("clock.vector", 2.1e9, "Hz"), measured("l2.bandwidth", 1e12, "B/s")])
    twice = with_measured(once, [measured("clock.vector", 2.2e9, "Hz")])
    assert len(twice.peaks) == len(once.peaks)
    assert [peak.value for peak in twice.peaks if peak.name == "clock.vector"] == [2.2e9]
    assert [peak.value for peak in twice.peaks if peak.name == "l2.bandwidth"] == [1e12]
    assert with_measured(twice, []).peaks == twice.peaks


def test_derived_peaks_are_not_taken_for_measured_ones() -> None:
    with pytest.raises(ValueError, match="not measured: flops"):
        with_measured(comet(), comet().peaks[:1])


def test_both_clocks_bound_a_measured_rate_each_for_itself() -> None:
    done = with_measured(comet(), [measured("clock.vector", 2.0e9, "Hz")])
    metric = Metric(name="dgemm.rate", title="DGEMM", unit="flop/s", better="higher", limit="flops.fp64")
    finding = Finding(
        metric="dgemm.rate",
        unit="flop/s",
        better="higher",
        workload="dgemm",
        params={"threads": 24},
        host="node",
        value=768e9,
    )
    fractions = sorted(part.fraction for part in limits.fractions(finding, metric, done.peaks))
    assert fractions == [pytest.approx(0.8), pytest.approx(1.0)]


def test_the_node_of_comet_as_it_is_discovered(tmp_path: Path) -> None:
    found = discover(trees.door(tmp_path, trees.cluster_node()))
    assert value(found, "flops.fp64") == 960e9 and len(found.cpu.cores) == 24 and found.cpu.base_hz == 2.5e9
    assert found.cpu.max_hz == 3.3e9 and [node.distances for node in found.numa] == [(10, 21), (21, 10)]
    assert found.virtualisation == ""
