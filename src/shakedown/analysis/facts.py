"""What is known of a run beside its figures, as facts that can be laid beside those of another: the machine, its software
and settings, how the programs were built, what disturbed it. Pure.

A fact is a word or a number under a name that is the same in each run. Numbers are the weather of a run: no two have the
same. What is different in each run by its nature (free memory, process ids, times) is none; which boot it was is one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..records import Disturbance, Host, Machine, Outcome, Value
from ..units import show_bytes
from . import days

Facts = dict[str, Value]

#: The fact that a host was started anew: other facts change only with it.
BOOT = "boot"
_GIB = 2**30
#: What of a program's own facts is no condition: it follows from the parameters, or differs in each run.
_NO_CONDITION = ("unix", "pid", "seed", "time", "path", "loop of", "rate", "host")


class Difference(NamedTuple):
    fact: str
    values: tuple[str, ...]  # one a run, "-" where it is not recorded


def of_runs(machine: Machine, outcomes: Sequence[Outcome], version: str) -> dict[str, Facts]:
    """The facts of a run directory by host."""
    by_host: dict[str, list[Outcome]] = {}
    for one in outcomes:
        for name in {one.host, *days.members(one.host)}:
            by_host.setdefault(name, []).append(one)
    return {
        host.name: {"Shakedown": version, **_of_host(host), **_of_outcomes(by_host.get(host.name, ()))}
        for host in machine.hosts
    }


def of_job(name: str, by_host: Mapping[str, Facts]) -> Facts:
    """The facts of a value that is of one host or of a job over several: of these, all that differ stand in one word."""
    if name in by_host:
        return by_host[name]
    members = [by_host[one] for one in days.members(name) if one in by_host]
    if not members and len(by_host) == 1:
        return next(iter(by_host.values()))
    return merged(members)


def merged(members: Sequence[Facts]) -> Facts:
    """Of several hosts: what is alike in all, and distinct values side by side; numbers by their median."""
    found: Facts = {}
    for fact in dict.fromkeys(name for one in members for name in one):
        values = [one[fact] for one in members if fact in one]
        if all(isinstance(value, float) for value in values):
            found[fact] = statistics.median(float(value) for value in values)
        else:
            found[fact] = " | ".join(sorted({str(value) for value in values}))
    return found


def differences(columns: Sequence[Facts]) -> list[Difference]:
    """The facts that are not alike in all columns, in their order; words before the weather."""
    names = list(dict.fromkeys(name for one in columns for name in one))
    found = [
        Difference(name, tuple(in_words(one.get(name)) for one in columns))
        for name in names
        if any(name in one for one in columns) and len({in_words(one.get(name)) for one in columns}) > 1
    ]
    return sorted(found, key=lambda one: any(isinstance(column.get(one.fact), float) for column in columns))


def in_words(value: Value | None) -> str:
    """A fact's value for a person."""
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _of_host(host: Host) -> Facts:
    cpu, memory = host.cpu, host.memory
    found: Facts = {
        "kernel": host.kernel,
        "operating system": host.os,
        "virtualisation": host.virtualisation or "none",
        "processor": cpu.model,
        "cores online": len(cpu.cores),
        "memory": show_bytes(round(memory.total_bytes / _GIB) * _GIB),
        "network": ", ".join(
            sorted(one.name for one in host.networks if one.kind not in ("virtual", "loopback") and one.state == "up")
        ),
        "GPUs": ", ".join(one.name for one in host.gpus),
        BOOT: host.boot_id,
    }
    if cpu.sockets is not None:
        found["sockets"] = cpu.sockets
    if cpu.stepping is not None:
        found["stepping"] = cpu.stepping
    if cpu.threads_per_core is not None:
        found["threads per core"] = cpu.threads_per_core
    if host.cpu_quota is not None:
        found["CPU quota"] = str(host.cpu_quota)
    if memory.modules:
        speeds = sorted({f"{one.kind} {one.speed_mts or 0:g}".strip() for one in memory.modules})
        found["memory modules"] = f"{len(memory.modules)} of {', '.join(speeds)}"
    elif memory.speed_mts is not None:
        found["memory speed"] = f"{memory.speed_mts:g} MT/s"
    for gpu in host.gpus:
        if gpu.driver:
            found["GPU driver"] = gpu.driver
        found |= {
            f"GPU {gpu.index} {name}": value for name, value in gpu.facts.items() if isinstance(value, (str, bool))
        }
    for one in host.networks:
        if one.kind in ("virtual", "loopback"):
            continue
        words = {"driver": one.driver, "rate": one.rate_bit_s and f"{one.rate_bit_s / 1e9:g} Gbit/s", "MTU": one.mtu}
        found |= {f"{one.name} {name}": value for name, value in words.items() if value}
        found |= {f"{one.name} {name}": str(value) for name, value in one.facts.items()}
    found |= {f"setting: {one.name}": one.value for one in host.settings if one.value is not None}
    return {**{name: value for name, value in found.items() if value != ""}, **_of_software(host)}


def _of_software(host: Host) -> Facts:
    """Versions by kind and name; of several of one name all of them."""
    versions: dict[str, list[str]] = {}
    for one in host.software:
        versions.setdefault(f"{one.kind}: {one.name}", []).append(one.version or "version not known")
    return {name: ", ".join(dict.fromkeys(found)) for name, found in versions.items()}


def _of_outcomes(outcomes: Iterable[Outcome]) -> Facts:
    found: Facts = {}
    for one in outcomes:
        build = one.provenance.get("build")
        if isinstance(build, dict):
            words = (f"{name} {value}".strip() for name, value in build.items() if isinstance(value, str) and value)
            found[f"build of {one.workload}"] = " ".join(", ".join(words).split())
        told = one.provenance.get("facts")
        for name, value in told.items() if isinstance(told, dict) else ():
            if isinstance(value, (str, bool)) and not any(word in str(name).lower() for word in _NO_CONDITION):
                found[f"{one.workload}: {name}"] = value
    return found | weather([one.disturbance for one in outcomes])


#: The weather of a run: fields of Disturbance by what they are called.
_WEATHER = {
    "load before": "load_before",
    "CPU time of others": "other_cpu_fraction",
    "CPU time stolen": "steal_fraction",
    "thermal throttling events": "throttle_events",
    "pages swapped": "swap_pages",
    "temperature": "temperature_c",
}


def weather(disturbances: Iterable[Disturbance]) -> Facts:
    """The medians over the repeats of a run, each a float: what tells weather from conditions."""
    seen = list(disturbances)
    found: Facts = {}
    for name, field in _WEATHER.items():
        values = [float(value) for one in seen if (value := getattr(one, field, None)) is not None]
        if values:
            found[name] = statistics.median(values)
    return found
