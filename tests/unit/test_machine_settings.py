"""What is set wrongly: every setting's state for good, bad and missing values, and the limits of control groups."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shakedown.hosts.access import ReplayHost
from shakedown.machine import cgroup, settings_limits
from shakedown.machine.cpu import cpu
from shakedown.machine.settings import settings
from shakedown.records import Setting, Software
from support import trees

Files = dict[str, str | bytes | trees.Link]


def states(door: ReplayHost) -> dict[str, Setting]:
    found = settings(door, cpu(door)[0])
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


def changed(root: Path, files: Files, **details: object) -> dict[str, Setting]:
    return states(trees.door(root, trees.cluster_node() | files, **details))  # type: ignore[arg-type]


def test_a_node_that_is_set_well_has_nothing_to_warn_of(tmp_path: Path) -> None:
    found = changed(tmp_path, {})
    assert {name for name, one in found.items() if one.state == "warn"} == set()
    assert {name for name, one in found.items() if one.state == "unknown"} == {"scheduler tick"}
    assert found["clock governor"].value == "performance (intel_pstate)"
    assert found["hardware threads (SMT)"].value == "off" and found["turbo"].value == "off"
    assert found["mitigations"].value == "1 active (meltdown), 1 open (mds), 1 not affected"
    assert found["energy counters (RAPL)"].value == "2 readable" and found["/dev/shm"].state == "good"


def test_a_variable_that_holds_a_library_to_another_processor_is_named(tmp_path: Path) -> None:
    found = changed(tmp_path, {}, environment={"OPENBLAS_CORETYPE": "Haswell"})["kernels of libraries"]
    assert found.state == "warn" and found.value == "OPENBLAS_CORETYPE=Haswell"
    assert found.advice == "unset OPENBLAS_CORETYPE"


def test_a_variable_of_a_library_that_is_not_here_is_a_note(tmp_path: Path) -> None:
    """NVIDIA's variable on a machine without NVPL: nothing that was found reads it."""
    environment = {"NVPL_BLAS_DEBUG_CPU_TYPE": "ARMV8", "BLIS_ARCH_TYPE": "haswell", "MKL_DEBUG_CPU_TYPE": "5"}
    door = trees.door(tmp_path, trees.cluster_node(), environment=environment)
    here = [Software(kind="blas", name="aocl"), Software(kind="mpi", name="mkl")]
    found = {one.name: one for one in settings(door, cpu(door)[0], here) if one.name.startswith("kernels")}
    assert found["kernels of libraries"].value == "BLIS_ARCH_TYPE=haswell"
    other = found["kernels of other libraries"]
    assert other.state == "info" and not other.advice
    assert other.value == "MKL_DEBUG_CPU_TYPE=5, NVPL_BLAS_DEBUG_CPU_TYPE=ARMV8"
    (none,) = [one for one in settings(door, cpu(door)[0], []) if one.name.startswith("kernels")]
    assert none.state == "info"
    (unknown,) = [one for one in settings(door, cpu(door)[0]) if one.name.startswith("kernels")]
    assert unknown.state == "warn" and "NVPL" in str(unknown.value), "what is installed is not known"


@pytest.mark.parametrize(
    ("path", "text", "name", "state", "advice"),
    [
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always madvise [never]\n",
            "transparent huge pages",
            "warn",
            "echo always",
        ),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
            "transparent huge pages",
            "info",
            "do not ask",
        ),
        (
            "/sys/kernel/mm/transparent_hugepage/defrag",
            "[always] madvise never\n",
            "huge page compaction",
            "warn",
            "defer+madvise",
        ),
        ("/proc/sys/kernel/numa_balancing", "1\n", "NUMA balancing", "warn", "kernel.numa_balancing=0"),
        ("/proc/sys/vm/zone_reclaim_mode", "1\n", "zone reclaim", "warn", "vm.zone_reclaim_mode=0"),
        ("/proc/sys/vm/overcommit_memory", "2\n", "memory overcommit", "warn", "vm.overcommit_memory=0"),
        ("/proc/sys/kernel/perf_event_paranoid", "2\n", "perf_event_paranoid", "info", "perf_event_paranoid=0"),
        ("/proc/sys/kernel/perf_event_paranoid", "4\n", "perf_event_paranoid", "warn", "perf_event_paranoid=1"),
        ("/proc/sys/kernel/nmi_watchdog", "1\n", "NMI watchdog", "info", "nmi_watchdog=0"),
        (f"{trees.CPUS}/cpu0/microcode/version", "0x2b000603\n", "microcode", "info", ""),
        ("/sys/class/dmi/id/bios_version", "2.19.1\n", "firmware", "info", ""),
        ("/proc/sys/kernel/yama/ptrace_scope", "1\n", "ptrace scope", "warn", "ptrace_scope=0"),
        ("/proc/sys/kernel/yama/ptrace_scope", "0\n", "ptrace scope", "good", ""),
        (f"{trees.CPUS}/cpu7/cpufreq/scaling_governor", "powersave\n", "clock governor", "warn", "cpupower"),
        (f"{trees.CPUS}/intel_pstate/no_turbo", "0\n", "turbo", "info", ""),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n", "clock source", "warn", "dmesg"),
        ("/proc/sys/kernel/randomize_va_space", "0\n", "address randomisation (ASLR)", "info", ""),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "300\n", "huge pages reserved", "info", ""),
        (
            "/proc/mounts",
            "overlay / overlay rw 0 0\nshm /dev/shm tmpfs rw,size=65536k 0 0\n",
            "/dev/shm",
            "warn",
            "--shm-size",
        ),
        ("/proc/mounts", "overlay / overlay rw 0 0\n", "/dev/shm", "unknown", "mount"),
    ],
)
def test_each_setting_by_its_value(tmp_path: Path, path: str, text: str, name: str, state: str, advice: str) -> None:
    one = changed(tmp_path, {path: text})[name]
    assert one.state == state and advice in one.advice
    assert one.effect


@pytest.mark.parametrize(
    "name",
    [
        "transparent huge pages",
        "NUMA balancing",
        "zone reclaim",
        "swap",
        "memory overcommit",
        "/dev/shm",
        "clock governor",
        "turbo",
        "mitigations",
        "idle states",
        "clock source",
        "NMI watchdog",
        "scheduler tick",
        "ulimit -l (locked memory)",
        "ulimit -s (stack)",
        "ulimit -n (open files)",
        "control group CPU time",
        "control group memory",
        "perf_event_paranoid",
        "energy counters (RAPL)",
        "address randomisation (ASLR)",
        "huge pages reserved",
    ],
)
def test_what_cannot_be_read_is_unknown_and_never_good(tmp_path: Path, name: str) -> None:
    one = states(trees.door(tmp_path, {"/proc/cpuinfo": trees.x86_cpuinfo(range(2))}))[name]
    assert one.state == "unknown" and one.value is None


def test_swap(tmp_path: Path) -> None:
    with_swap = "MemTotal: 1000 kB\nSwapTotal: 4194304 kB\n"
    one = changed(tmp_path / "a", {"/proc/meminfo": with_swap})["swap"]
    assert (one.state, one.value) == ("warn", "4 GiB, swappiness 60")
    assert (
        changed(tmp_path / "b", {"/proc/meminfo": with_swap, "/proc/sys/vm/swappiness": "1\n"})["swap"].state == "info"
    )


def test_aslr_on_an_interlagos_under_the_kernel_of_its_time(tmp_path: Path) -> None:
    def on(root: Path, kernel: str) -> Setting:
        return states(
            trees.door(
                root,
                {
                    "/proc/cpuinfo": trees.x86_cpuinfo(
                        range(4), vendor="AuthenticAMD", family=21, model=1, name="AMD Opteron 6238"
                    ),
                    "/proc/sys/kernel/osrelease": kernel,
                    "/proc/sys/kernel/randomize_va_space": "2\n",
                },
            )
        )["address randomisation (ASLR)"]

    old = on(tmp_path / "old", "2.6.32-131.0.15.el6.x86_64\n")
    assert old.state == "warn" and "kernel of 3.2" in old.advice
    assert on(tmp_path / "new", "3.2.0\n").state == "info"


def test_threads_that_are_on(tmp_path: Path) -> None:
    files = trees.topology(1, 4, threads=2) | {
        "/proc/cpuinfo": trees.x86_cpuinfo(range(8)),
        f"{trees.CPUS}/smt/active": "1\n",
    }
    one = states(trees.door(tmp_path, files))["hardware threads (SMT)"]
    assert (one.state, one.value) == ("info", "on, 2 to a core")


def test_a_guest_cannot_know_that_its_cpus_are_not_threads_of_one_core(tmp_path: Path) -> None:
    files = trees.topology(1, 4) | {
        "/proc/cpuinfo": trees.x86_cpuinfo(range(4), flags="hypervisor avx"),
        f"{trees.CPUS}/smt/control": "notsupported\n",
        f"{trees.CPUS}/smt/active": "0\n",
    }
    one = states(trees.door(tmp_path, files))["hardware threads (SMT)"]
    assert one.state == "unknown"


def test_cpus_offline_by_smt_control_are_meant(tmp_path: Path) -> None:
    offline: Files = {
        f"{trees.CPUS}/online": "0-22\n",
        f"{trees.CPUS}/offline": "23\n",
        f"{trees.CPUS}/present": "0-23\n",
    }
    assert changed(tmp_path / "meant", offline)["CPUs offline"].state == "info"
    lost = changed(tmp_path / "lost", offline | {f"{trees.CPUS}/smt/control": "on\n"})["CPUs offline"]
    assert lost.state == "warn" and lost.value == "23"


def test_locked_memory_matters_where_there_is_a_fabric(tmp_path: Path) -> None:
    small = trees.LIMITS.replace(
        "Max locked memory         unlimited            unlimited",
        "Max locked memory         65536                65536    ",
    )
    one = changed(tmp_path / "fabric", {"/proc/self/limits": small})["ulimit -l (locked memory)"]
    assert (one.state, one.value) == ("warn", "64 KiB")
    alone = states(
        trees.door(tmp_path / "alone", {"/proc/cpuinfo": trees.x86_cpuinfo(range(2)), "/proc/self/limits": small})
    )
    assert alone["ulimit -l (locked memory)"].state == "info"


def test_limits_of_the_process(tmp_path: Path) -> None:
    assert settings_limits.ulimits(trees.door(tmp_path, {"/proc/self/limits": trees.LIMITS})) == {
        "Max stack size": (None, None),
        "Max core file size": (0, None),
        "Max open files": (65536, 65536),
        "Max locked memory": (None, None),
    }


def test_energy_counters_for_root_only(tmp_path: Path) -> None:
    files = trees.cluster_node()
    del files["/sys/class/powercap/intel-rapl:1/energy_uj"]
    files["/sys/class/powercap/intel-rapl:1/name"] = "package-1\n"
    one = states(trees.door(tmp_path, files))["energy counters (RAPL)"]
    assert (one.state, one.value) == ("warn", "1 of 2 readable")


def test_the_tick_comes_from_the_kernels_own_configuration(tmp_path: Path) -> None:
    config = b"CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\n# CONFIG_HZ_100 is not set\n"
    packed: Files = {
        "/proc/config.gz": gzip.compress(config),
        "/proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC x\n",
        "/proc/cmdline": "quiet isolcpus=2-11 nohz_full=2-11 mitigations=off\n",
    }
    found = changed(tmp_path / "packed", packed)
    assert found["scheduler tick"].value == "1000 ticks/s, full dynticks built in, preempt dynamic"
    assert found["kernel parameters"].value == "isolcpus=2-11 nohz_full=2-11 mitigations=off"
    plain: Files = {"/boot/config-3.10.0-1160.el7.x86_64": config}
    assert (changed(tmp_path / "plain", plain)["scheduler tick"].value or "").startswith("1000 ticks/s")
    broken: Files = {"/proc/config.gz": gzip.compress(config)[:20]}
    assert changed(tmp_path / "broken", broken)["scheduler tick"].state == "unknown"


# ------------------------------------------------------------------------------------------------------ control groups


def test_a_quota_of_a_level_above_binds_too(tmp_path: Path) -> None:
    door = trees.door(
        tmp_path,
        {
            "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
            "/proc/self/cgroup": "0::/a/b\n",
            "/sys/fs/cgroup/a/cpu.max": "150000 100000\n",
            "/sys/fs/cgroup/a/memory.max": "2147483648\n",
            "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/a/b/memory.max": "4294967296\n",
            "/sys/fs/cgroup/a/b/cpuset.cpus.effective": "4-5\n",
            "/sys/fs/cgroup/cgroup.procs": "",
        },
    )
    assert cgroup.limits(door) == cgroup.Limits(True, 1.5, (4, 5), 2 << 30, None)


def test_version_one_and_its_word_for_no_limit(tmp_path: Path) -> None:
    mounts = "".join(
        f"cgroup /sys/fs/cgroup/{name} cgroup rw,{name} 0 0\n" for name in ("cpu,cpuacct", "memory", "cpuset")
    )
    door = trees.door(
        tmp_path,
        {
            "/proc/mounts": mounts,
            "/proc/self/cgroup": "4:cpu,cpuacct:/job\n3:memory:/job\n2:cpuset:/job\n1:name=systemd:/x\n",
            "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "400000\n",
            "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n",
            "/sys/fs/cgroup/cpuset/job/cpuset.cpus": "0-3\n",
        },
    )
    assert cgroup.limits(door) == cgroup.Limits(True, 4.0, (0, 1, 2, 3), None, None)


def test_a_namespace_shows_only_its_own_level(tmp_path: Path) -> None:
    door = trees.door(
        tmp_path,
        {
            "/proc/mounts": "cgroup /sys/fs/cgroup cgroup2 ro 0 0\n",
            "/proc/self/cgroup": "0::/../..\n",
            "/sys/fs/cgroup/cpu.max": "50000 100000\n",
        },
    )
    assert cgroup.limits(door).cpu_quota == 0.5


def test_without_control_groups_nothing_is_claimed(tmp_path: Path) -> None:
    assert cgroup.limits(trees.door(tmp_path, {})) == cgroup.Limits()


def test_a_container_with_a_quota_is_warned_of_throttling(tmp_path: Path) -> None:
    found = changed(
        tmp_path,
        {
            "/sys/fs/cgroup/cpu.max": "200000 100000\n",
            "/sys/fs/cgroup/memory.max": "8589934592\n",
            "/proc/self/cgroup": "0::/\n",
        },
        affinity=(0, 1, 2, 3),
    )
    assert (found["control group CPU time"].state, found["control group CPU time"].value) == ("warn", "2 CPUs")
    assert (found["control group memory"].state, found["control group memory"].value) == ("info", "8 GiB")
    assert found["usable CPUs"].value == "0-3 of 0-23"
