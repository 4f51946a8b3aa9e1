"""Settings of the processor: clock, threads, mitigations, idle states, clock source, scheduler tick."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable

from ..hosts.access import HostAccess, format_cpu_list
from ..records import Cpu, Setting
from . import virtualisation
from .kernel import read_int, read_word
from .settings_common import State, from_number, setting

_CPUS = "/sys/devices/system/cpu"


def governor(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """What sets the clock, on every CPU that is online."""
    effect = "a governor that follows the load starts each measurement at a low clock"
    folders = [f"{_CPUS}/cpu{number}/cpufreq" for core in cpu.cores for number in core.cpus]
    governors = {word for folder in folders if (word := read_word(door, f"{folder}/scaling_governor"))}
    if not governors:
        return (
            setting(
                "clock governor",
                None,
                "unknown",
                effect,
                "the kernel shows no cpufreq: a hypervisor or the firmware sets the clock",
            ),
        )
    driver = read_word(door, f"{folders[0]}/scaling_driver") or "unknown driver"
    wrong = governors != {"performance"}
    return (
        setting(
            "clock governor",
            f"{', '.join(sorted(governors))} ({driver})",
            "warn" if wrong else "good",
            effect,
            "cpupower frequency-set -g performance" if wrong else "",
        ),
    )


def turbo(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether the clock may rise above its base."""
    effect = (
        "with it the clock depends on load, heat and the number of busy cores: faster and less repeatable, and a "
        "fraction of the peak at base clock may pass 1"
    )
    no_turbo = read_int(door, f"{_CPUS}/intel_pstate/no_turbo")
    boost = read_int(door, f"{_CPUS}/cpufreq/boost")
    if no_turbo is None and boost is None:
        return (setting("turbo", None, "unknown", effect),)
    on = no_turbo == 0 if no_turbo is not None else boost == 1
    return (setting("turbo", "on" if on else "off", "info", effect),)


def threads(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """Whether cores show more than one logical CPU."""
    effect = "two threads on one core share its units and caches: bind one thread to each core"
    control = read_word(door, f"{_CPUS}/smt/control")
    active = read_int(door, f"{_CPUS}/smt/active")
    if cpu.threads_per_core is None and active is None:
        return (setting("hardware threads (SMT)", None, "unknown", effect),)
    on = active == 1 if active is not None else (cpu.threads_per_core or 1) > 1
    if on:
        return (
            setting(
                "hardware threads (SMT)",
                f"on, {cpu.threads_per_core} to a core" if cpu.threads_per_core else "on",
                "info",
                effect,
                "OMP_PLACES=cores; or echo off > /sys/devices/system/cpu/smt/control",
            ),
        )
    if virtualisation.layers(door).hypervisor:
        return (
            setting(
                "hardware threads (SMT)",
                "none shown",
                "unknown",
                effect,
                "ask whoever runs the host whether a virtual CPU is a whole core",
            ),
        )
    shown = {"off": "off", "forceoff": "off (forced)", "notsupported": "none", "notimplemented": "none"}
    return (setting("hardware threads (SMT)", shown.get(control or "", "off or none"), "good", effect),)


def offline(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """CPUs that are there and not running."""
    if not cpu.offline_cpus:
        return ()
    siblings_only = (read_word(door, f"{_CPUS}/smt/control") or "") in ("off", "forceoff")
    return (
        setting(
            "CPUs offline",
            format_cpu_list(cpu.offline_cpus),
            "info" if siblings_only else "warn",
            "their cores and caches take no part",
            "" if siblings_only else f"echo 1 > {_CPUS}/cpuN/online, unless it is meant",
        ),
    )


def mitigations(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The defences against speculative execution attacks, in one line."""
    folder = f"{_CPUS}/vulnerabilities"
    effect = (
        "they cost in system calls, page faults and interrupts: little in computation, more in MPI over sockets and I/O"
    )
    texts = {name: read_word(door, f"{folder}/{name}") or "" for name in door.list(folder)}
    if not texts:
        return (setting("mitigations", None, "unknown", effect),)
    active = sorted(name for name, text in texts.items() if "Mitigation" in text)
    open_ = sorted(name for name, text in texts.items() if text.startswith("Vulnerable"))
    untouched = len(texts) - len(active) - len(open_)
    value = (
        f"{len(active)} active ({', '.join(active) or 'none'}), {len(open_)} open ({', '.join(open_) or 'none'}), "
        f"{untouched} not affected"
    )
    advice = "state it with the results: machines with other mitigations are not the same machine" if active else ""
    return (setting("mitigations", value, "info", effect, advice),)


def idle_states(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The deepest sleep of a core and the time that it takes to wake from it."""
    effect = "a core that sleeps deeply wakes late: latency of messages and of the first samples after a pause"
    folder = f"{_CPUS}/cpuidle"
    driver = read_word(door, f"{folder}/current_driver")
    policy = read_word(door, f"{folder}/current_governor_ro") or read_word(door, f"{folder}/current_governor")
    if driver is None:
        return (setting("idle states", None, "unknown", effect),)
    first = cpu.cores[0].cpus[0] if cpu.cores else 0
    states = [
        f"{_CPUS}/cpu{first}/cpuidle/{name}"
        for name in door.list(f"{_CPUS}/cpu{first}/cpuidle")
        if re.fullmatch(r"state\d+", name)
    ]
    usable = [state for state in states if read_int(door, f"{state}/disable") in (0, None)]
    latencies = [(read_int(door, f"{state}/latency") or 0, read_word(door, f"{state}/name") or "") for state in usable]
    slowest = max(latencies, default=(0, ""))
    value = f"{driver}, {policy}" + (f", deepest {slowest[1]} ({slowest[0]} us to wake)" if latencies else "")
    deep = slowest[0] >= 50
    return (
        setting(
            "idle states",
            value,
            "info",
            effect,
            "for latency tests: cpupower idle-set -D 10, or keep the cores busy" if deep else "",
        ),
    )


def clock_source(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """What the time is read from."""
    value = read_word(door, "/sys/devices/system/clocksource/clocksource0/current_clocksource")
    effect = "read around each sample: tens of nanoseconds from the processor's own counter, a microsecond from others"
    own = ("tsc", "arch_sys_counter", "timebase", "kvm-clock", "hyperv_clocksource_tsc_page")
    state: State = "good" if value in own else "warn"
    return (
        setting(
            "clock source",
            value,
            state,
            effect,
            "find out why the kernel gave up the tsc (dmesg | grep -i tsc)" if value and state == "warn" else "",
        ),
    )


def watchdog(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The watchdog that takes one hardware counter of each CPU."""
    return from_number(
        door,
        "NMI watchdog",
        "/proc/sys/kernel/nmi_watchdog",
        {0: ("good", ""), 1: ("info", "for counters and least noise: sysctl kernel.nmi_watchdog=0")},
        "takes one performance counter of each core and interrupts it now and then",
    )


def tick(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The scheduler's tick and whether the kernel preempts itself, by the configuration that it was built with."""
    effect = "each tick interrupts the program on every busy core"
    config = kernel_config(door)
    version = door.read("/proc/sys/kernel/version") or ""
    words = [f"{config['CONFIG_HZ']} ticks/s"] if config.get("CONFIG_HZ") else []
    words += [
        text
        for key, text in (("CONFIG_NO_HZ_FULL", "full dynticks built in"), ("CONFIG_NO_HZ_IDLE", "none on idle cores"))
        if config.get(key) == "y"
    ]
    preempt = re.search(r"PREEMPT(?:_\w+)?", version)
    words += [preempt[0].lower().replace("_", " ")] if preempt else []
    found = [setting("scheduler tick", ", ".join(words) or None, "info" if words else "unknown", effect)]
    line = door.read("/proc/cmdline") or ""
    chosen_here = re.findall(
        r"\b(?:isolcpus|nohz_full|rcu_nocbs|idle|intel_idle\.max_cstate|mitigations|"
        r"processor\.max_cstate|nosmt|intel_pstate|amd_pstate|default_hugepagesz|hugepages)(?:=\S+)?",
        line,
    )
    if chosen_here:
        found.append(
            setting("kernel parameters", " ".join(chosen_here), "info", "set at boot: they hold for every run")
        )
    return tuple(found)


def kernel_config(door: HostAccess) -> dict[str, str]:
    """The kernel's build configuration; empty where neither ``/proc/config.gz`` nor ``/boot`` holds it."""
    packed = door.read_bytes("/proc/config.gz")
    text: str | None = None
    if packed:
        try:
            text = gzip.decompress(packed).decode("utf-8", "replace")
        except (OSError, EOFError, zlib.error):
            text = None
    if text is None:
        release = read_word(door, "/proc/sys/kernel/osrelease")
        text = door.read(f"/boot/config-{release}") if release else None
    return {match[1]: match[2] for match in re.finditer(r"^(CONFIG_\w+)=(.*)$", text or "", re.MULTILINE)}


def microcode(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The microcode that runs; a virtual machine shows what its host wants it to see."""
    del cpu
    value = read_word(door, f"{_CPUS}/cpu0/microcode/version")
    if value is None:
        line = re.search(r"^microcode\s*:\s*(\S+)", door.read("/proc/cpuinfo") or "", re.MULTILINE)
        value = line[1] if line else None
    effect = "an update of it may cost speed: mitigations, predictors and prefetchers that are switched off"
    return (setting("microcode", value, "info", effect),) if value else ()


def firmware(door: HostAccess, cpu: Cpu) -> tuple[Setting, ...]:
    """The firmware of the board (BIOS, UEFI): its maker, version and day."""
    del cpu
    words = [(door.read(f"/sys/class/dmi/id/bios_{name}") or "").strip() for name in ("vendor", "version", "date")]
    value = " ".join(filter(None, words))
    effect = "its settings decide clocks, NUMA nodes, prefetchers and power limits; an update may change them"
    return (setting("firmware", value, "info", effect),) if value else ()


CHECKS: tuple[Callable[[HostAccess, Cpu], tuple[Setting, ...]], ...] = (
    governor,
    turbo,
    threads,
    offline,
    mitigations,
    microcode,
    firmware,
    idle_states,
    clock_source,
    watchdog,
    tick,
)
