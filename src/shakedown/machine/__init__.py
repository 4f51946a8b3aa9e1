"""What is this machine, how fast could it be, what is set wrongly: one probe per file, text -> facts.

    door -> cpu caches clocks numa memory gpus network settings virtualisation software -> Host -> peaks

A probe takes the one door to the outside and gives facts, and what it could not read with the reason. Probes run at the
same time and none is waited for beyond a limit, so that a driver that is stuck costs its own facts and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .. import __version__
from ..hosts.access import HostAccess
from ..records import Absent, Cpu, Host, Machine, Memory
from . import cgroup, cpu, gpu_settings, gpus, memory, network, numa, peaks, settings, software, virtualisation
from .kernel import read_word
from .peaks import with_measured
from .together import together

__all__ = ["discover", "machine", "with_measured"]

#: A probe that has not answered by then is left behind.
LIMIT_S = 45.0

NO_CPU = Cpu(model="unknown", vendor="unknown", architecture="unknown", microarchitecture="unknown")


def machine(door: HostAccess) -> Machine:
    """The machine that is this one host."""
    return Machine(hosts=(discover(door),), discovered_ns=door.now_ns(), version=__version__)


def discover(door: HostAccess, limit_s: float = LIMIT_S) -> Host:
    """Everything that can be told of the host behind ``door``. What could not be read is in ``absent``; never raises
    for what a machine is or lacks."""
    tasks: dict[str, Callable[[], Any]] = {
        "processor": lambda: cpu.cpu(door),
        "memory": lambda: memory.memory(door),
        "NUMA nodes": lambda: numa.numa(door),
        "GPUs": lambda: gpus.gpus(door),
        "network": lambda: network.network(door),
        "control groups": lambda: cgroup.limits(door),
        "virtualisation": lambda: virtualisation.layers(door),
        "software": lambda: software.software(door),
    }
    answers = together(tasks, limit_s)
    absent = [Absent(what=name, why=answer.why) for name, answer in answers.items() if answer.value is None]

    def facts(name: str, otherwise: Any) -> Any:
        value = answers[name].value
        if value is None:
            return otherwise
        found, missing = value
        absent.extend(missing)
        return found

    processor = facts("processor", NO_CPU)
    layers = answers["virtualisation"].value or virtualisation.Layers("", "")
    granted = answers["control groups"].value or cgroup.Limits()
    software_found, software_absent = answers["software"].value or ((), ())
    host = Host(
        name=door.name(),
        kernel=read_word(door, "/proc/sys/kernel/osrelease") or "",
        os=_os(door),
        virtualisation=layers.text,
        boot_id=read_word(door, "/proc/sys/kernel/random/boot_id") or "",
        cpu=processor,
        memory=facts("memory", Memory(total_bytes=0)),
        numa=facts("NUMA nodes", ()),
        usable_cpus=door.affinity(),
        cpu_quota=granted.cpu_quota,
        gpus=facts("GPUs", ()),
        networks=facts("network", ()),
        software=software_found,
    )
    absent += [*granted.absent, *software_absent, *virtualisation.hidden(door, layers, processor)]
    known = software_found if answers["software"].value else None
    late = together({"settings": lambda: settings.settings(door, processor, known)}, limit_s)["settings"]
    if late.value is None:
        absent.append(Absent(what="settings", why=late.why))
    found = (*(late.value or ()), *gpu_settings.gpu_settings(host.gpus))
    host = msgspec.structs.replace(host, settings=found, absent=tuple(absent))
    derived, underived = peaks.peaks(host)
    return msgspec.structs.replace(host, peaks=derived, absent=(*host.absent, *underived))


def _os(door: HostAccess) -> str:
    for line in (door.read("/etc/os-release") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip().strip('"')
    return ""
