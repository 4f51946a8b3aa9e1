"""The processor: which microarchitecture it is whatever a hypervisor says, its clocks, its cores without sysfs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shakedown.cli import machine as machine_command
from shakedown.machine import discover, microarchitecture, numa
from shakedown.machine.clocks import clocks
from shakedown.machine.cpu import cpu, parse_cpuinfo
from shakedown.machine.kernel import Reader, chosen, parse_mask, parse_meminfo, parse_size
from shakedown.machine.microarchitecture import Identity, identify
from shakedown.records import Cache
from support import trees

AVX512 = ("avx", "avx2", "fma", "avx512f", "avx512_vnni")
SAPPHIRE = (*AVX512, "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile")


def intel(number: int, stepping: int = 1, model: str = "Intel(R) Xeon(R) Processor") -> Identity:
    return Identity("GenuineIntel", model, 6, number, stepping)


# ---------------------------------------------------------------------------------------------------- microarchitecture


def test_a_hypervisor_that_calls_amx_hardware_rocket_lake_is_not_believed() -> None:
    match = identify(intel(167), (*SAPPHIRE, "amx_bf16"), hidden=True)
    assert match.name == "Sapphire Rapids or newer"
    why = match.absent[0].why
    assert "hypervisor reports family 6 model 167 (Rocket Lake)" in why and "amx_tile" in why


def test_a_real_rocket_lake_is_one() -> None:
    assert identify(intel(167), AVX512, hidden=False) == microarchitecture.Match("Rocket Lake")


@pytest.mark.parametrize(
    ("identity", "isa", "name"),
    [
        (intel(143), SAPPHIRE, "Sapphire Rapids"),
        (intel(207), SAPPHIRE, "Emerald Rapids"),
        (intel(173), (*SAPPHIRE, "amx_fp16"), "Granite Rapids"),
        (intel(63), ("avx", "avx2", "fma"), "Haswell-EP"),
        (intel(45), ("avx",), "Sandy Bridge-EP"),
        (intel(85, 4), ("avx", "avx2", "fma", "avx512f"), "Skylake-SP"),
        (intel(85, 7), AVX512, "Cascade Lake"),
        (intel(85, 11), (*AVX512, "avx512_bf16"), "Cooper Lake"),
        (Identity("AuthenticAMD", "Dual Core AMD Opteron(tm) Processor 880", 15, 33, 2), (), "K8"),
        (Identity("AuthenticAMD", "AMD Opteron(TM) Processor 6276", 21, 1, 2), ("avx", "fma4"), "Bulldozer"),
        (Identity("AuthenticAMD", "AMD EPYC 7742 64-Core Processor", 23, 49, 0), ("avx", "avx2", "fma"), "Zen 2"),
        (Identity("AuthenticAMD", "AMD EPYC 9654 96-Core Processor", 25, 17, 1), (*AVX512, "avx512_bf16"), "Zen 4"),
        (Identity("ARM", "Neoverse-N1", 0x41, 0xD0C, 1), (), "Neoverse N1"),
        (Identity("ARM", "Neoverse-V2", 0x41, 0xD4F, 0), ("sve",), "Neoverse V2"),
        (Identity("ARM", "Neoverse-V2", 0x41, 0xD4F, 0, "jep106:036b:0241"), ("sve",), "Grace (Neoverse V2)"),
        (Identity("ARM", "ARM part 0xd87", 0x41, 0xD87, 1), ("sve",), "Cortex-A725"),
        (Identity("ARM", "Neoverse-V3", 0x41, 0xD84, 1), ("sve",), "Neoverse V3"),
        (Identity("ARM", "Neoverse-N3", 0x41, 0xD8E, 1), ("sve",), "Neoverse N3"),
        (Identity("ARM", "Cortex-A78AE", 0x41, 0xD42, 1), (), "Cortex-A78AE"),
        (Identity("HiSilicon", "Kunpeng-920", 0x48, 0xD01, 0), (), "Kunpeng 920 (TaiShan v110)"),
        (Identity("Loongson", "Loongson-3A5000-HV", None, None, None), (), "LA464"),
        (Identity("Loongson", "Loongson-3C6000/S", None, None, None), (), "LA664"),
        (Identity("SiFive", "sifive,u74-mc", None, None, None), (), "SiFive U74"),
        (Identity("T-Head", "thead,c920", None, None, None), (), "XuanTie C920"),
        (Identity("Fujitsu", "A64FX", 0x46, 0x001, 0), ("sve",), "A64FX"),
        (Identity("IBM", "POWER8NVL", None, None, None), (), "POWER8"),
        (Identity("IBM", "POWER9", None, None, None), (), "POWER9"),
        (Identity("IBM", "POWER10", None, None, None), (), "POWER10"),
    ],
)
def test_processors_by_their_numbers(identity: Identity, isa: tuple[str, ...], name: str) -> None:
    assert identify(identity, isa, hidden=False) == microarchitecture.Match(name)


def test_a_processor_that_the_table_does_not_hold_is_named_by_its_instructions_or_not_at_all() -> None:
    newer = identify(intel(250), (*SAPPHIRE, "amx_fp16"), hidden=False)
    assert newer.name == "Granite Rapids or newer" and "not in the table" in newer.absent[0].why
    assert identify(intel(250), (), hidden=False).name == "unknown"
    assert identify(Identity("ARM", "part 0xfff", 0x41, 0xFFF, 0), ("sve",), hidden=False).name == "unknown"


def test_an_emulators_invented_model_is_not_looked_up() -> None:
    common = Identity("GenuineIntel", "Common KVM processor", 15, 6, 1)
    assert identify(common, (), hidden=True).name == "unknown"
    virtual = Identity("AuthenticAMD", "QEMU Virtual CPU version 2.5+", 15, 107, 1)
    assert identify(virtual, ("avx", "avx2", "fma"), hidden=True).name == "Zen or newer"


def test_hidden_instructions_do_not_refute_a_model() -> None:
    assert identify(intel(143), ("avx", "avx2", "fma"), hidden=True).name == "Sapphire Rapids"


def test_the_table_is_sound() -> None:
    entries = microarchitecture.table()
    assert len({entry.name for entry in entries}) == len(entries)
    keys = [
        (entry.vendor, entry.family, model, entry.steppings, entry.soc) for entry in entries for model in entry.models
    ]
    assert len(set(keys)) == len(keys)
    for entry in entries:
        assert set(entry.isa) <= {*microarchitecture.processor_names().markers, "sve"}, entry.name
        assert (entry.units, entry.bits, entry.flop) == (None, None, None) or (
            entry.units in (1, 2, 4, 8) and entry.bits in (64, 128, 256, 512) and entry.flop in (1, 2)
        ), entry.name
        assert re.search(r"^\S+.*: \S", entry.source), entry.name  # a document, and where in it
        assert (entry.channels is None) == (entry.speed_mts is None), entry.name


def test_models_with_one_512_bit_unit_are_told_apart() -> None:
    def bits(model: str) -> int:
        entry = microarchitecture.by_name("Skylake-SP", model)
        assert entry is not None
        return entry.bits

    assert bits("Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz") == 256
    assert bits("Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz") == 256
    assert bits("Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz") == 512
    assert bits("Intel(R) Xeon(R) Platinum 8174 CPU @ 3.10GHz") == 512


# --------------------------------------------------------------------------------------------------------------- clocks


def clock(root: Path, files: dict[str, str], model: str = "", **fields: str) -> tuple[float | None, float | None, str]:
    found = clocks(
        Reader(trees.door(root, dict(files))), 0, {key.replace("_", " "): value for key, value in fields.items()}, model
    )
    return found.base_hz, found.clock_hz, found.basis


def test_the_base_clock_is_taken_from_where_it_is_stated(tmp_path: Path) -> None:
    folder = f"{trees.CPUS}/cpu0"
    assert clock(
        tmp_path / "a",
        {f"{folder}/cpufreq/base_frequency": "2000000\n", f"{folder}/cpufreq/cpuinfo_max_freq": "3800000\n"},
    ) == (2e9, 2e9, "base clock (cpufreq base_frequency)")
    assert clock(tmp_path / "b", {f"{folder}/acpi_cppc/nominal_freq": "2250\n"})[0] == 2.25e9
    assert clock(tmp_path / "c", {}, "Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz")[0] == 2.6e9
    assert clock(tmp_path / "d", {}, "Intel(R) Xeon(TM) CPU 2.60GHz")[0] == 2.6e9
    assert (
        clock(
            tmp_path / "e",
            {
                f"{folder}/cpufreq/scaling_driver": "acpi-cpufreq\n",
                f"{folder}/cpufreq/scaling_available_frequencies": "2501000 2500000 1200000\n",
            },
        )[0]
        == 2.5e9
    )


def test_without_a_base_clock_the_basis_says_what_stands_in_for_it(tmp_path: Path) -> None:
    base, hz, basis = clock(tmp_path / "a", {}, flags="constant_tsc hypervisor", bogomips="5200.00", cpu_MHz="2593.9")
    assert (base, hz) == (None, 2.6e9) and "time-stamp counter" in basis
    base, hz, basis = clock(tmp_path / "b", {f"{trees.CPUS}/cpu0/cpufreq/cpuinfo_max_freq": "3300000\n"})
    assert (base, hz) == (None, 3.3e9) and "highest" in basis
    base, hz, basis = clock(tmp_path / "c", {}, cpu_MHz="1800.5")
    assert (base, hz) == (None, 1800.5e6) and "moment" in basis
    assert clock(tmp_path / "d", {}, cpu_MHz="0.000") == (None, None, "")
    # BogoMIPS of a loop that the counter does not time (Arm's timer, or no constant_tsc) is no clock
    assert clock(tmp_path / "e", {}, bogomips="50.00") == (None, None, "")


# ------------------------------------------------------------------------------------------------ without a whole sysfs


def test_cores_by_cpuinfo_where_sysfs_has_no_topology(tmp_path: Path) -> None:
    places = {0: (0, 0), 1: (0, 1), 2: (1, 0), 3: (1, 1), 4: (0, 0), 5: (0, 1), 6: (1, 0), 7: (1, 1)}
    text = trees.x86_cpuinfo(
        range(8),
        extra={number: f"physical id\t: {socket}\ncore id\t\t: {core}\n" for number, (socket, core) in places.items()},
    )
    found, absent = cpu(trees.door(tmp_path, {"/proc/cpuinfo": text}))
    assert [core.cpus for core in found.cores] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert found.sockets == 2 and found.threads_per_core == 2
    assert "core topology" in {gap.what for gap in absent} and "caches" in {gap.what for gap in absent}


def test_each_cpu_is_taken_for_a_core_where_nothing_says_otherwise(tmp_path: Path) -> None:
    found, absent = cpu(trees.door(tmp_path, {"/proc/cpuinfo": trees.x86_cpuinfo(range(4))}))
    assert len(found.cores) == 4
    assert any("each is taken for one" in gap.why for gap in absent)


def test_a_machine_without_cpuinfo_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cpuinfo"):
        cpu(trees.door(tmp_path, {}))


def test_grace(tmp_path: Path) -> None:
    cores = 72
    blocks = "".join(
        f"processor\t: {number}\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd sve sve2 i8mm bf16\nCPU implementer\t: "
        "0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n\n"
        for number in range(cores)
    )
    files = trees.topology(1, cores, l3_kib=116736) | {
        "/proc/cpuinfo": blocks,
        "/sys/devices/soc0/soc_id": "jep106:036b:0241\n",
        f"{trees.CPUS}/cpu0/cpufreq/cpuinfo_max_freq": "3384000\n",
    }
    found, absent = cpu(trees.door(tmp_path, files, architecture="aarch64"))
    assert found.microarchitecture == "Grace (Neoverse V2)" and found.vendor == "ARM" and found.model_number == 0xD4F
    assert found.isa == ("asimd", "sve", "sve2", "bf16", "i8mm") and absent == ()
    assert len(found.cores) == 72 and found.base_hz is None and found.clock_hz == 3.384e9


def test_loongarch(tmp_path: Path) -> None:
    text = "system type\t\t: generic-loongson-machine\n\n" + "".join(
        f"processor\t\t: {number}\npackage\t\t\t: 0\ncore\t\t\t: {number}\nCPU Family\t\t: Loongson-64bit\nModel Name\t\t: "
        "Loongson-3A5000\nCPU Revision\t\t: 0x11\nCPU MHz\t\t\t: 2500.00\nBogoMIPS\t\t: 5000.00\n"
        "Features\t\t: cpucfg lam ual fpu lsx lasx complex crypto lvz\n\n"
        for number in range(4)
    )
    door = trees.door(tmp_path, trees.topology(1, 4) | {"/proc/cpuinfo": text}, architecture="loongarch64")
    host = discover(door)
    assert (host.cpu.vendor, host.cpu.model, host.cpu.microarchitecture) == ("Loongson", "Loongson-3A5000", "LA464")
    assert host.cpu.isa == ("lsx", "lasx") and host.cpu.clock_hz == 2.5e9
    # Loongson: 160 Gflop/s of four cores at 2.5 GHz
    assert next(p.value for p in host.peaks if (p.name, p.scope) == ("flops.fp64", "node")) == 160e9


def test_risc_v(tmp_path: Path) -> None:
    text = "".join(
        f"processor\t: {number}\nhart\t\t: {number}\nisa\t\t: rv64imafdcv_zicsr_zifencei\nuarch\t\t: thead,c920\n"
        "mvendorid\t: 0x5b7\nmarchid\t\t: 0x0\nmimpid\t\t: 0x0\n\n"
        for number in range(2)
    )
    found, _ = cpu(trees.door(tmp_path / "a", {"/proc/cpuinfo": text}, architecture="riscv64"))
    assert (found.vendor, found.microarchitecture, found.isa) == ("T-Head", "XuanTie C920", ("rvv",))
    plain = "processor\t: 0\nhart\t: 1\nisa\t: rv64imafdc_zvfh\nuarch\t: sifive,u74-mc\n"
    found, _ = cpu(trees.door(tmp_path / "b", {"/proc/cpuinfo": plain}, architecture="riscv64"))
    assert (found.vendor, found.microarchitecture, found.isa) == ("SiFive", "SiFive U74", ())


def test_caches_before_the_memory(tmp_path: Path) -> None:
    folder = f"{trees.NODES}/node0/memory_side_cache/index1"
    files = trees.topology(1, 2) | {f"{folder}/size": f"{16 << 30}\n", f"{folder}/line_size": "64\n"}
    nodes, _ = numa.numa(trees.door(tmp_path, files))
    assert nodes[0].side_caches == (Cache(level=1, kind="unified", size_bytes=16 << 30, line_bytes=64),)


@pytest.mark.parametrize(
    ("isa", "shown"),
    [
        (("sse2", "pni", "ssse3", "sse4_1"), ["sse4_1"]),
        (("sse2", "pni"), ["sse3"]),
        (("sse2",), ["sse2"]),
        (("sse2", "pni", "ssse3", "sse4_1", "sse4_2", "avx"), ["sse4_2", "avx"]),
        (("asimd", "sve"), ["asimd", "sve"]),
    ],
)
def test_the_widest_old_vectors_are_shown(isa: tuple[str, ...], shown: list[str]) -> None:
    assert machine_command._vectors(isa) == shown


def test_power_with_sparse_cpu_numbers(tmp_path: Path) -> None:
    text = (
        "".join(
            f"processor\t: {number}\ncpu\t\t: POWER8NVL, altivec supported\nclock\t\t: 4023.000000MHz\n"
            "revision\t: 1.0 (pvr 004c 0100)\n\n"
            for number in (0, 8)
        )
        + "timebase\t: 512000000\nplatform\t: PowerNV\n"
    )
    found, _ = cpu(
        trees.door(
            tmp_path,
            {
                "/proc/cpuinfo": text,
                f"{trees.CPUS}/online": "0,8\n",
                f"{trees.CPUS}/present": "0-15\n",
                f"{trees.CPUS}/offline": "1-7,9-15\n",
                f"{trees.CPUS}/cpu0/topology/thread_siblings_list": "0\n",
                f"{trees.CPUS}/cpu8/topology/thread_siblings_list": "8\n",
            },
            architecture="ppc64le",
        )
    )
    assert found.microarchitecture == "POWER8" and found.isa == ("altivec", "vsx")
    assert [core.cpus for core in found.cores] == [(0,), (8,)] and len(found.offline_cpus) == 14
    assert found.clock_hz == 4.023e9


def test_cores_of_two_kinds_are_said(tmp_path: Path) -> None:
    blocks = "".join(
        f"processor\t: {number}\nCPU implementer\t: 0x61\nCPU part\t: 0x{part:03x}\n\n"
        for number, part in enumerate((0x022, 0x022, 0x023, 0x023))
    )
    _, absent = cpu(trees.door(tmp_path, {"/proc/cpuinfo": blocks}, architecture="aarch64"))
    assert "one kind of core" in {gap.what for gap in absent}


# -------------------------------------------------------------------------------------------------- the kernel's shapes


def test_masks_sizes_choices_and_meminfo() -> None:
    assert parse_mask("00000001,00000101") == (0, 8, 32)
    assert parse_mask("0") == () and parse_mask("f\n") == (0, 1, 2, 3)
    assert [parse_size(text) for text in ("48K", "2M", "512", "1G")] == [49152, 2 << 20, 512, 1 << 30]
    with pytest.raises(ValueError, match="not a size"):
        parse_size("many")
    assert chosen("always [madvise] never\n") == "madvise" and chosen("performance\n") == "performance"
    assert parse_meminfo("MemTotal:  16 kB\nHugePages_Total:   3\n") == {"MemTotal": 16384, "HugePages_Total": 3}
    assert parse_meminfo("Node 0 MemTotal:  16 kB\n") == {"MemTotal": 16384}


def test_cpuinfo_keeps_what_stands_outside_of_the_blocks() -> None:
    processors, common = parse_cpuinfo(
        "Processor\t: ARMv7 Processor rev 0 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1.00\n\n"
        "processor\t: 1\nBogoMIPS\t: 1.00\n\nFeatures\t: neon vfpv3\nCPU part\t: 0xc09\n"
    )
    assert [processor.number for processor in processors] == [0, 1]
    assert common["Features"] == "neon vfpv3" and common["CPU part"] == "0xc09"
