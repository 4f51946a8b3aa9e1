"""Folders that stand for machines: files of ``/proc`` and ``/sys`` as a kernel writes them, read through a door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shakedown.hosts.access import ReplayHost, Result, format_cpu_list

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"


class Link(str):
    """A symbolic link to this target."""


def write(root: Path, files: Mapping[str, str | bytes | Link]) -> Path:
    """Write the files below ``root``; a value of ``Link`` becomes a symbolic link."""
    for path, content in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            place.symlink_to(content)
        elif isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content)
    return root


def x86_cpuinfo(
    cpus: Sequence[int],
    *,
    vendor: str = "GenuineIntel",
    family: int = 6,
    model: int = 143,
    stepping: int = 8,
    name: str = "Intel(R) Xeon(R) Platinum 8480+",
    mhz: float = 2000.0,
    flags: str = "sse2 avx avx2 fma avx512f",
    bogomips: float = 4000.0,
    extra: Mapping[int, str] | None = None,
) -> str:
    """``/proc/cpuinfo`` of an x86 machine. ``extra`` adds lines to the block of one CPU."""
    return "".join(
        f"processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {name}\n"
        f"stepping\t: {stepping}\ncpu MHz\t\t: {mhz:.3f}\nflags\t\t: fpu {flags}\nbogomips\t: {bogomips:.2f}\n"
        f"{(extra or {}).get(cpu, '')}\n"
        for cpu in cpus
    )


def topology(
    sockets: int,
    cores: int,
    threads: int = 1,
    *,
    nodes_per_socket: int = 1,
    l3_kib: int = 32768,
    distance: int = 21,
    node_kib: int = 64 << 20,
) -> dict[str, str | bytes | Link]:
    """The topology, caches and NUMA nodes in sysfs. Second threads have the upper numbers, as Intel's firmware does."""
    total = sockets * cores
    files: dict[str, str | bytes | Link] = {f"{CPUS}/online": f"0-{total * threads - 1}\n", f"{CPUS}/offline": "\n"}
    for cpu in range(total * threads):
        core = cpu % total
        socket, number = divmod(core, cores)
        siblings = format_cpu_list(range(core, total * threads, total))
        package = format_cpu_list([other for other in range(total * threads) if other % total // cores == socket])
        base = f"{CPUS}/cpu{cpu}"
        files |= {
            f"{base}/topology/thread_siblings_list": siblings + "\n",
            f"{base}/topology/core_id": f"{number}\n",
            f"{base}/topology/physical_package_id": f"{socket}\n",
        }
        for index, (level, kind, size, shared) in enumerate(
            (
                (1, "Data", 48, siblings),
                (1, "Instruction", 32, siblings),
                (2, "Unified", 2048, siblings),
                (3, "Unified", l3_kib, package),
            )
        ):
            files |= {
                f"{base}/cache/index{index}/level": f"{level}\n",
                f"{base}/cache/index{index}/type": f"{kind}\n",
                f"{base}/cache/index{index}/size": f"{size}K\n",
                f"{base}/cache/index{index}/coherency_line_size": "64\n",
                f"{base}/cache/index{index}/ways_of_associativity": "8\n",
                f"{base}/cache/index{index}/shared_cpu_list": shared + "\n",
            }
    count = sockets * nodes_per_socket
    for node in range(count):
        cpus = [cpu for cpu in range(total * threads) if cpu % total * count // total == node]
        files |= {
            f"{NODES}/node{node}/cpulist": format_cpu_list(cpus) + "\n",
            f"{NODES}/node{node}/meminfo": f"Node {node} MemTotal:       {node_kib} kB\n",
            f"{NODES}/node{node}/distance": " ".join("10" if node == other else str(distance) for other in range(count))
            + "\n",
        }
    files["/proc/meminfo"] = (
        f"MemTotal:       {node_kib * count} kB\nMemAvailable:   {node_kib * count - 1024} kB\n"
        "SwapTotal:             0 kB\n"
    )
    return files


def door(
    root: Path,
    files: Mapping[str, str | bytes | Link],
    *,
    architecture: str = "x86_64",
    commands: Mapping[tuple[str, ...], Result | str] | None = None,
    affinity: tuple[int, ...] | None = None,
    environment: Mapping[str, str] | None = None,
) -> ReplayHost:
    """The machine of these files."""
    return ReplayHost(
        write(root, files), architecture=architecture, commands=commands, affinity=affinity, environment=environment
    )


#: ``/proc/self/limits`` with the numbers of a cluster node that is set well.
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max stack size            unlimited            unlimited            bytes
Max core file size        0                    unlimited            bytes
Max open files            65536                65536                files
Max locked memory         unlimited            unlimited            bytes
"""


def cluster_node() -> dict[str, str | bytes | Link]:
    """Two sockets of 12 Haswell cores (as in Comet), SMT off, one InfiniBand port, set as it should be."""
    files = topology(2, 12, distance=21, l3_kib=30720)
    name = "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"
    pci = "/sys/devices/pci0000:80/0000:80:03.0/0000:81:00.0"
    files |= {
        "/proc/cpuinfo": x86_cpuinfo(
            range(24), model=63, stepping=2, name=name, flags="sse2 avx avx2 fma arch_perfmon", bogomips=4988.8
        ),
        "/proc/sys/kernel/osrelease": "3.10.0-1160.el7.x86_64\n",
        "/proc/self/limits": LIMITS,
        "/proc/sys/kernel/randomize_va_space": "2\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
        "/proc/sys/vm/zone_reclaim_mode": "0\n",
        "/proc/sys/vm/swappiness": "60\n",
        "/proc/sys/vm/overcommit_memory": "0\n",
        "/proc/sys/kernel/nmi_watchdog": "0\n",
        "/proc/sys/kernel/perf_event_paranoid": "1\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer [defer+madvise] madvise never\n",
        "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
        f"{CPUS}/smt/control": "off\n",
        f"{CPUS}/smt/active": "0\n",
        f"{CPUS}/intel_pstate/no_turbo": "1\n",
        f"{CPUS}/cpuidle/current_driver": "intel_idle\n",
        f"{CPUS}/cpuidle/current_governor_ro": "menu\n",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "/proc/mounts": "/dev/sda1 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n"
        "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "/proc/self/cgroup": "0::/system.slice/slurmd.service\n",
        "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "/sys/class/powercap/intel-rapl:0/energy_uj": "12345\n",
        "/sys/class/powercap/intel-rapl:1/energy_uj": "12345\n",
        "/sys/class/dmi/id/sys_vendor": "Dell Inc.\n",
        "/sys/class/dmi/id/product_name": "PowerEdge C6320\n",
        f"{CPUS}/vulnerabilities/meltdown": "Mitigation: PTI\n",
        f"{CPUS}/vulnerabilities/mds": "Vulnerable\n",
        f"{CPUS}/vulnerabilities/tsx_async_abort": "Not affected\n",
        "/proc/stat": "cpu  1 2 3 4 5 6 7 0 0 0\n",
        f"{pci}/infiniband/mlx4_0/hca_type": "MT4099\n",
        f"{pci}/infiniband/mlx4_0/fw_ver": "2.42.5000\n",
        f"{pci}/infiniband/mlx4_0/ports/1/state": "4: ACTIVE\n",
        f"{pci}/infiniband/mlx4_0/ports/1/rate": "56 Gb/sec (4X FDR)\n",
        f"{pci}/infiniband/mlx4_0/ports/1/link_layer": "InfiniBand\n",
        f"{pci}/infiniband/mlx4_0/ports/2/state": "1: DOWN\n",
        f"{pci}/infiniband/mlx4_0/ports/2/rate": "10 Gb/sec (4X SDR)\n",
        f"{pci}/infiniband/mlx4_0/ports/2/link_layer": "InfiniBand\n",
        f"{pci}/infiniband/mlx4_0/device/driver": Link("../../../../../../../bus/pci/drivers/mlx4_core"),
        f"{pci}/infiniband/mlx4_0/device/numa_node": "1\n",
        "/sys/class/infiniband/mlx4_0": Link("../../devices/pci0000:80/0000:80:03.0/0000:81:00.0/infiniband/mlx4_0"),
    }
    for cpu in range(24):
        files |= {
            f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor": "performance\n",
            f"{CPUS}/cpu{cpu}/cpufreq/scaling_driver": "intel_pstate\n",
            f"{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq": "3300000\n",
        }
    return files
