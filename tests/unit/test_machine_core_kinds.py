"""Cores of several kinds: told by counters, caches or base clocks, each with its own flop per cycle; else no peak."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.cli import machine as machine_command
from shakedown.hosts.access import format_cpu_list
from shakedown.machine import discover, microarchitecture
from shakedown.records import Host, Peak
from support import trees

AVX2 = "sse2 avx avx2 fma avx_vnni"


class Cluster:
    """Cores alike: how many logical CPUs each shows, its caches in KiB, how many share a level-2 cache, base clock."""

    def __init__(
        self,
        cores: int,
        *,
        threads: int = 1,
        l1: int = 48,
        l2: int = 1280,
        share: int = 1,
        khz: int = 0,
        l3: bool = True,
    ):
        self.cores, self.threads, self.l1, self.l2, self.share, self.khz, self.l3 = (
            cores,
            threads,
            l1,
            l2,
            share,
            khz,
            l3,
        )


LARGE = Cluster(6, threads=2, khz=1_900_000)
SMALL = Cluster(8, l1=32, l2=2048, share=4, khz=1_400_000)


def processor(
    *clusters: Cluster, model: int = 186, flags: str = AVX2, caches: bool = True
) -> dict[str, str | bytes | trees.Link]:
    """A tree of one socket with these clusters, CPUs numbered on; no counters, no clocks but base_frequency."""
    files: dict[str, str | bytes | trees.Link] = {}
    total = sum(cluster.cores * cluster.threads for cluster in clusters)
    number = core = 0
    with_l3 = [
        cpu
        for cpu, cluster in enumerate(cluster for cluster in clusters for _ in range(cluster.cores * cluster.threads))
        if cluster.l3
    ]
    for cluster in clusters:
        first = number
        for _ in range(cluster.cores):
            mine = range(number, number + cluster.threads)
            width = cluster.share * cluster.threads
            start = first + (number - first) // width * width
            second = range(start, min(start + width, first + cluster.cores * cluster.threads))
            for cpu in mine:
                base = f"{trees.CPUS}/cpu{cpu}"
                files |= {
                    f"{base}/topology/thread_siblings_list": format_cpu_list(mine),
                    f"{base}/topology/core_id": f"{core}\n",
                    f"{base}/topology/physical_package_id": "0\n",
                    f"{base}/topology/core_siblings_list": f"0-{total - 1}\n",
                }
                if cluster.khz:
                    files[f"{base}/cpufreq/base_frequency"] = f"{cluster.khz}\n"
                levels = [(1, "Data", cluster.l1, list(mine)), (2, "Unified", cluster.l2, list(second))]
                levels += [(3, "Unified", 24576, with_l3)] if cluster.l3 else []
                for index, (level, kind, kib, shared) in enumerate(levels if caches else []):
                    files |= {
                        f"{base}/cache/index{index}/level": f"{level}\n",
                        f"{base}/cache/index{index}/type": f"{kind}\n",
                        f"{base}/cache/index{index}/size": f"{kib}K\n",
                        f"{base}/cache/index{index}/shared_cpu_list": format_cpu_list(shared),
                    }
            number, core = number + cluster.threads, core + 1
    name = "13th Gen Intel(R) Core(TM) i7-1370P"
    return files | {
        f"{trees.CPUS}/online": f"0-{total - 1}\n",
        "/proc/cpuinfo": trees.x86_cpuinfo(range(total), model=model, stepping=2, name=name, flags=flags),
        "/proc/meminfo": "MemTotal: 33554432 kB\n",
    }


def peak(host: Host, scope: str = "node", name: str = "flops.fp64") -> Peak:
    return next(peak for peak in host.peaks if (peak.name, peak.scope) == (name, scope))


def why_none(host: Host) -> str:
    assert not [peak for peak in host.peaks if peak.name.startswith("flops")]
    return next(gap.why for gap in host.absent if gap.what == "peak of flop/s")


@pytest.mark.parametrize("told_by", ["caches and clocks", "caches", "clocks", "counters"])
def test_a_hybrid_without_its_counters_is_told_by_what_differs(tmp_path: Path, told_by: str) -> None:
    files = processor(LARGE, SMALL, caches="caches" in told_by)
    if told_by == "counters":
        files |= {"/sys/devices/cpu_core/cpus": "0-11\n", "/sys/devices/cpu_atom/cpus": "12-19\n"}
    host = discover(trees.door(tmp_path, files))
    # 6 x 16 flop/cycle x 1.9 GHz + 8 x 8 flop/cycle x 1.4 GHz, not 14 x 16 x 1.9 = 425.6
    assert peak(host).value == pytest.approx(272e9)
    assert peak(host, name="flops.fp32").value == pytest.approx(544e9)
    assert peak(host, "core").value == pytest.approx(30.4e9)
    assert "6 cores of Raptor Lake" in peak(host).basis and "8 cores of Gracemont" in peak(host).basis
    assert "1.40 GHz base clock" in peak(host).basis
    assert "; 6 of Raptor Lake, 8 of Gracemont" in machine_command._cores(host)
    assert [core.microarchitecture for core in host.cpu.cores] == ["Raptor Lake"] * 6 + ["Gracemont"] * 8


def test_a_hybrid_that_nothing_tells_apart_has_no_peak(tmp_path: Path) -> None:
    host = discover(trees.door(tmp_path, processor(Cluster(6, threads=2), Cluster(8), caches=False)))
    assert "more than one kind" in why_none(host)


def test_a_hypervisor_does_not_tell_the_kinds(tmp_path: Path) -> None:
    host = discover(trees.door(tmp_path, processor(Cluster(8), flags=f"hypervisor {AVX2}")))
    assert "a hypervisor does not distinguish" in why_none(host)


def test_a_hybrid_whose_small_cores_show_no_clock_has_no_peak(tmp_path: Path) -> None:
    host = discover(trees.door(tmp_path, processor(LARGE, Cluster(8, l1=32, l2=2048, share=4))))
    assert "does not show the clock of each" in why_none(host)


def test_a_processor_of_the_family_with_large_cores_alone(tmp_path: Path) -> None:
    host = discover(trees.door(tmp_path, processor(Cluster(6, threads=2, khz=2_500_000), model=151)))
    assert peak(host).value == pytest.approx(6 * 16 * 2.5e9)
    assert host.cpu.microarchitecture == "Alder Lake" and not any(core.microarchitecture for core in host.cpu.cores)


def test_small_cores_alone_are_not_taken_for_large_ones(tmp_path: Path) -> None:
    host = discover(trees.door(tmp_path, processor(SMALL, model=151)))
    assert peak(host).value == pytest.approx(8 * 8 * 1.4e9)


def test_only_the_cores_that_may_be_used_count(tmp_path: Path) -> None:
    files = processor(LARGE, SMALL)
    small = discover(trees.door(tmp_path, files, affinity=tuple(range(12, 20))))
    assert peak(small).value == pytest.approx(8 * 8 * 1.4e9) and peak(small, "core").value == pytest.approx(11.2e9)


def test_low_power_cores_outside_of_the_last_cache(tmp_path: Path) -> None:
    # Arrow Lake-H: Lion Cove, Skymont (16 flop/cycle), and two Crestmont (8) without level 3
    parts = (
        Cluster(6, khz=2_900_000),
        Cluster(8, l1=32, share=4, khz=2_700_000),
        Cluster(2, l1=32, share=2, khz=700_000, l3=False),
    )
    host = discover(trees.door(tmp_path, processor(*parts, model=197)))
    assert peak(host).value == pytest.approx(6 * 16 * 2.9e9 + 8 * 16 * 2.7e9 + 2 * 8 * 0.7e9)


def test_equal_base_clocks_do_not_hide_the_kinds(tmp_path: Path) -> None:
    # Lunar Lake: four Lion Cove and four Skymont, all at 2.2 GHz; both have 16 flop/cycle
    parts = (Cluster(4, khz=2_200_000), Cluster(4, l1=32, share=4, khz=2_200_000, l3=False))
    host = discover(trees.door(tmp_path, processor(*parts, model=189)))
    assert peak(host).value == pytest.approx(8 * 16 * 2.2e9) and "Skymont" in peak(host).basis
    assert "its units are not verified" in peak(host).basis, "of Skymont no public source could be read"
    lion = microarchitecture.by_name("Lunar Lake")
    assert lion and not lion.unverified and "X86SchedLunarlakeP" in lion.source


def test_one_odd_clock_is_taken_from_the_others_of_its_kind(tmp_path: Path) -> None:
    files = processor(LARGE, SMALL) | {f"{trees.CPUS}/cpu13/cpufreq/base_frequency": "x\n"}
    assert peak(discover(trees.door(tmp_path, files))).value == pytest.approx(272e9)


def test_cores_of_one_kind_with_base_clocks_of_their_own(tmp_path: Path) -> None:
    """Speed Select: some cores of a Cascade Lake have a higher base clock than the rest."""
    parts = (Cluster(8, l1=32, l2=1024, khz=2_800_000), Cluster(16, l1=32, l2=1024, khz=2_100_000))
    files = processor(*parts, model=85, flags="sse2 avx avx2 fma avx512f avx512_vnni")
    text = (
        str(files["/proc/cpuinfo"])
        .replace("stepping\t: 2", "stepping\t: 7")
        .replace("13th Gen Intel(R) Core(TM) i7-1370P", "Intel(R) Xeon(R) Gold 6252N CPU @ 2.30GHz")
    )
    host = discover(trees.door(tmp_path, files | {"/proc/cpuinfo": text}))
    assert host.cpu.microarchitecture == "Cascade Lake"
    assert peak(host).value == pytest.approx((8 * 2.8e9 + 16 * 2.1e9) * 32)


def test_a_quota_goes_to_the_fastest_cores(tmp_path: Path) -> None:
    files = processor(LARGE, SMALL) | {
        "/proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/cpu.max": "800000 100000\n",
    }
    assert peak(discover(trees.door(tmp_path, files))).value == pytest.approx(6 * 16 * 1.9e9 + 2 * 8 * 1.4e9)


def arm(*parts: int) -> str:
    return "".join(
        f"processor\t: {number}\nFeatures\t: fp asimd sve sve2\nCPU implementer\t: 0x41\n"
        f"CPU part\t: 0x{part:03x}\nCPU revision\t: 1\n\n"
        for number, part in enumerate(parts)
    )


def test_big_and_little_arm_cores_by_their_parts(tmp_path: Path) -> None:
    # Cortex-X3 (4 x 128 bits) and A715 (2 x 128 bits), with the clocks of each
    files = trees.topology(1, 4) | {"/proc/cpuinfo": arm(0xD4E, 0xD4D, 0xD4D, 0xD4D)}
    for cpu in range(4):
        files[f"{trees.CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = f"{2_000_000 if cpu else 3_000_000}\n"
    host = discover(trees.door(tmp_path, files, architecture="aarch64"))
    assert peak(host).value == pytest.approx(16 * 3e9 + 3 * 8 * 2e9) and "2.00 GHz highest clock" in peak(host).basis


def test_gb10_is_named_and_has_no_peak_as_its_units_are_not_known(tmp_path: Path) -> None:
    files = trees.topology(1, 4) | {"/proc/cpuinfo": arm(0xD87, 0xD87, 0xD85, 0xD85)}
    for cpu in range(4):
        files[f"{trees.CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = "2808000\n"
    host = discover(trees.door(tmp_path, files, architecture="aarch64"))
    assert [core.microarchitecture for core in host.cpu.cores] == ["Cortex-A725"] * 2 + ["Cortex-X925"] * 2
    assert "Cortex-X925" in why_none(host)


def test_a_part_that_is_not_known_leaves_no_peak(tmp_path: Path) -> None:
    files = trees.topology(1, 2) | {"/proc/cpuinfo": arm(0xD4E, 0xFFF)}
    files[f"{trees.CPUS}/cpu0/cpufreq/cpuinfo_max_freq"] = "3000000\n"
    assert "more than one kind" in why_none(discover(trees.door(tmp_path, files, architecture="aarch64")))
