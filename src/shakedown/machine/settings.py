"""What is set wrongly: each kernel or system setting that bears on benchmarks, its effect, and what to set.

A check takes the door and what is known of the processor, and gives its settings; none where it does not apply. A value
that cannot be read is "unknown", never good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from ..hosts.access import HostAccess
from ..records import Cpu, Setting, Software
from ..units import show_bytes
from . import blas, settings_cpu, settings_limits
from .kernel import chosen, parse_meminfo, read_int, read_word
from .numa import hugepages
from .settings_common import State, from_number, setting

_THP = "/sys/kernel/mm/transparent_hugepage"
_VM = "/proc/sys/vm"

Check = Callable[[HostAccess, Cpu], tuple[Setting, ...]]


def settings(door: HostAccess, cpu: Cpu, software: Iterable[Software] | None = None) -> tuple[Setting, ...]:
    """All settings in the order in which they are shown: memory, processor, limits, what can be observed, libraries.

    ``software`` is what is installed; None: that is not known."""
    checked = (found for check in CHECKS for found in check(door, cpu))
    return (*checked, *library_overrides(door, software))


def aslr(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Address space layout randomisation; AMD family 15h under an old kernel pays for it dearly."""
    value = read_int(door, "/proc/sys/kernel/randomize_va_space")
    name = "address randomisation (ASLR)"
    if cpu.vendor == "AuthenticAMD" and cpu.family == 21 and value and _kernel(door) < (3, 2):
        return (
            setting(
                name,
                str(value),
                "warn",
                "the two cores of a module evict each other's instruction cache lines: "
                "parallel programs lost much of their speed (ARL-TR-7085, section 3.5)",
                "install a kernel of 3.2 or newer, or sysctl kernel.randomize_va_space=0",
            ),
        )
    if value == 0:
        return (setting(name, "0", "info", "addresses are the same in each run: repeatable, and less secure"),)
    return (
        setting(
            name,
            None if value is None else str(value),
            "unknown" if value is None else "info",
            "addresses differ from run to run, and with them cache and page conflicts: a part of the spread "
            "between runs",
            "for one run: setarch -R COMMAND",
        ),
    )


#: Variables that make a library take other kernels than those for the processor that it finds.
OVERRIDES = (
    "OPENBLAS_CORETYPE",
    "BLIS_ARCH_TYPE",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "NVPL_BLAS_DEBUG_CPU_TYPE",
    "ARMPL_ARCH",
)


def library_overrides(door: HostAccess, software: Iterable[Software] | None) -> tuple[Setting, ...]:
    """Environment variables, set for reproducibility somewhere and forgotten, that hold a BLAS to an older processor.

    Those of libraries that are not among the ``software`` are a note: nothing that was found here reads them. None: what is
    installed is not known.
    """
    found = {name: value for name in OVERRIDES if (value := door.env(name))}
    here = None if software is None else {one.name for one in software if one.kind == "blas"}
    ours = {name: value for name, value in found.items() if here is None or here & set(blas.read_by(name))}
    others = {name: value for name, value in found.items() if name not in ours}
    told = []
    if ours:
        told.append(
            setting(
                "kernels of libraries",
                _pairs(ours),
                "warn",
                "a library held to another processor's kernels loses up to half of DGEMM: 122 instead of 214 Gflop/s with "
                "OPENBLAS_CORETYPE=Haswell on two cores of Zen 5",
                f"unset {' '.join(ours)}",
            )
        )
    if others:
        told.append(
            setting(
                "kernels of other libraries",
                _pairs(others),
                "info",
                "of libraries that were not found here; a program that brings one of its own would be held to these kernels",
            )
        )
    return tuple(told)


def _pairs(variables: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in variables.items())


def _kernel(door: HostAccess) -> tuple[int, ...]:
    match = re.match(r"(\d+)\.(\d+)", door.read("/proc/sys/kernel/osrelease") or "")
    return (int(match[1]), int(match[2])) if match else (99,)


def transparent_hugepages(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether programs get huge pages without asking, and whether they wait for them."""
    enabled = read_word(door, f"{_THP}/enabled")
    effect = "large pages spare TLB misses: some per cent in STREAM and HPL"
    states: dict[str, tuple[State, str]] = {
        "always": ("good", ""),
        "never": ("warn", f"echo always > {_THP}/enabled"),
        "madvise": ("info", f"programs that do not ask for them run on small pages: echo always > {_THP}/enabled"),
    }
    word = chosen(enabled) if enabled else None
    state, advice = states.get(word or "", ("unknown", "the kernel has none built in"))
    found = [setting("transparent huge pages", word, state, effect, advice)]
    defrag = read_word(door, f"{_THP}/defrag")
    if defrag:
        stalls = chosen(defrag) in ("always", "yes")
        found.append(
            setting(
                "huge page compaction",
                chosen(defrag),
                "warn" if stalls else "good",
                '"always" makes a page fault wait until memory is compacted: stalls at first touch',
                f"echo defer+madvise > {_THP}/defrag" if stalls else "",
            )
        )
    return tuple(found)


def reserved_hugepages(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Huge pages set aside: only for programs that ask for them, lost to all others."""
    pages = hugepages(door, "/sys/kernel/mm/hugepages")
    if not pages:
        meminfo = parse_meminfo(door.read("/proc/meminfo") or "")
        if "HugePages_Total" in meminfo and meminfo.get("Hugepagesize"):
            pages = {str(meminfo["Hugepagesize"]): meminfo["HugePages_Total"]}
    taken = {size: count for size, count in pages.items() if count}
    value = ", ".join(f"{count} of {show_bytes(int(size))}" for size, count in taken.items()) or (
        "none" if pages else None
    )
    return (
        setting(
            "huge pages reserved",
            value,
            "info" if pages else "unknown",
            "used by programs that map hugetlbfs; taken from all others",
        ),
    )


def numa_balancing(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether the kernel moves pages between nodes by sampling page faults."""
    nodes = len([name for name in door.list("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)])
    return from_number(
        door,
        "NUMA balancing",
        "/proc/sys/kernel/numa_balancing",
        {0: ("good", "")},
        other=("warn" if nodes > 1 else "info", "sysctl kernel.numa_balancing=0"),
        effect="the kernel unmaps pages to see who uses them and moves them: noise in programs that are bound",
    )


def zone_reclaim(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether a node's full memory is reclaimed before that of another node is used."""
    return from_number(
        door,
        "zone reclaim",
        f"{_VM}/zone_reclaim_mode",
        {0: ("good", "")},
        "not 0: pages of the file cache are thrown away before memory of another node is used",
        other=("warn", "sysctl vm.zone_reclaim_mode=0, unless every job fits its node"),
    )


def swap(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Swap space, and how eagerly it is used."""
    meminfo = parse_meminfo(door.read("/proc/meminfo") or "")
    swappiness = read_int(door, f"{_VM}/swappiness")
    effect = "a run that swaps measures the disk"
    if "SwapTotal" not in meminfo:
        return (setting("swap", None, "unknown", effect),)
    if meminfo["SwapTotal"] == 0:
        return (setting("swap", "none", "good", effect),)
    eager = swappiness is None or swappiness > 10
    return (
        setting(
            "swap",
            f"{show_bytes(meminfo['SwapTotal'])}, swappiness {swappiness}",
            "warn" if eager else "info",
            effect,
            "swapoff -a, or sysctl vm.swappiness=1" if eager else "",
        ),
    )


def overcommit(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether memory can be promised beyond what there is."""
    return from_number(
        door,
        "memory overcommit",
        f"{_VM}/overcommit_memory",
        {0: ("good", ""), 1: ("good", "")},
        "2: large sparse allocations (CUDA, sanitizers, big MPI windows) are refused",
        other=("warn", "sysctl vm.overcommit_memory=0"),
    )


def shared_memory(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The size of /dev/shm, through which MPI and NCCL pass messages within a node."""
    effect = "MPI and NCCL pass messages within the node through it; too small: crash or slow path"
    size: int | None = None
    mounted = False
    for fields in (line.split() for line in (door.read("/proc/mounts") or "").splitlines()):
        if len(fields) > 3 and fields[1] == "/dev/shm":
            mounted = True
            option = re.search(r"\bsize=(\d+)([kmg]?)", fields[3])
            size = int(option[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[option[2]] if option else None
    if not mounted:
        return (setting("/dev/shm", None, "unknown", effect, "mount -t tmpfs tmpfs /dev/shm"),)
    if size is None:
        return (setting("/dev/shm", "half of the memory (the default)", "good", effect),)
    small = size < 1 << 30
    return (
        setting(
            "/dev/shm",
            show_bytes(size),
            "warn" if small else "good",
            effect,
            "mount -o remount,size=50% /dev/shm; for a container: --shm-size or --ipc=host" if small else "",
        ),
    )


def cross_memory(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether one process may copy from another's memory, as MPI does for large messages."""
    path = "/proc/sys/kernel/yama/ptrace_scope"
    if read_word(door, path) is None:
        return ()  # Yama is not in the kernel: processes of one user may
    return from_number(
        door,
        "ptrace scope",
        path,
        {0: ("good", "")},
        "not 0: MPI cannot copy straight from one rank's memory to another's (CMA), so that large "
        "messages within the node are copied twice",
        other=("warn", "sysctl kernel.yama.ptrace_scope=0, or XPMEM"),
    )


CHECKS: tuple[Check, ...] = (
    aslr,
    transparent_hugepages,
    reserved_hugepages,
    numa_balancing,
    zone_reclaim,
    swap,
    overcommit,
    shared_memory,
    cross_memory,
    *settings_cpu.CHECKS,
    *settings_limits.CHECKS,
)
