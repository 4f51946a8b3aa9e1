"""The processor: model, microarchitecture, sockets, cores and their threads, clocks, vector extensions.

Each is told by files of its own (``cores``, ``caches``, ``clocks``), so that an odd one costs what it tells and no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..hosts.access import HostAccess
from ..records import Absent, Cpu
from . import core_kinds, microarchitecture
from .caches import caches
from .clocks import clocks
from .cores import Processor, cores
from .kernel import Reader, online_cpus
from .microarchitecture import processor_names


def parse_cpuinfo(text: str) -> tuple[tuple[Processor, ...], dict[str, str]]:
    """The logical CPUs of ``/proc/cpuinfo``, and the fields that stand outside of their blocks (old ARM, POWER)."""
    processors: list[Processor] = []
    common: dict[str, str] = {}
    current: dict[str, str] = common
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon:
            current = common if not line.strip() else current
        elif key == "processor" and re.fullmatch(r"[0-9]{1,5}", value):
            current = {}
            processors.append(Processor(int(value), current))
        else:
            current[key] = value
    return tuple(processors), common


def cpu(door: HostAccess) -> tuple[Cpu, tuple[Absent, ...]]:
    """What the processors of this host are, and what could not be told. Raises ValueError where nothing can be read."""
    text = door.read("/proc/cpuinfo")
    processors, common = parse_cpuinfo(text or "")
    reader = Reader(door)
    online, offline = online_cpus(reader)
    online = online or tuple(processor.number for processor in processors)
    if text is None and not online:
        raise ValueError("neither /proc/cpuinfo nor /sys/devices/system/cpu can be read")
    first = {**common, **(processors[0].fields if processors else {})}
    found_cores, absent = cores(reader, processors, online)
    found_caches, absent_caches = caches(reader, online)
    isa, identity = _isa(first), _identity(door, first)
    hidden = "hypervisor" in first.get("flags", "").split()
    match = microarchitecture.identify(identity, isa, hidden=hidden)
    by_number = {processor.number: {**common, **processor.fields} for processor in processors}
    kinds = core_kinds.kinds(
        reader,
        found_cores,
        found_caches,
        [_name(door, by_number.get(core.cpus[0], first), match.name) for core in found_cores],
        hidden=hidden,
    )
    leading = kinds.leading if kinds.leading is not None else online[0] if online else 0
    clock = clocks(reader, leading, first, identity.model)
    sockets = {core.socket for core in found_cores}
    return Cpu(
        model=identity.model,
        vendor=identity.vendor,
        architecture=door.architecture(),
        microarchitecture=match.name,
        family=identity.family,
        model_number=identity.number,
        stepping=identity.stepping,
        sockets=None if None in sockets else len(sockets) or None,
        cores=kinds.cores,
        offline_cpus=offline,
        threads_per_core=max((len(core.cpus) for core in found_cores), default=None),
        isa=isa,
        base_hz=clock.base_hz,
        max_hz=clock.max_hz,
        clock_hz=clock.clock_hz,
        clock_basis=clock.basis,
        caches=found_caches,
    ), (*absent, *absent_caches, *match.absent, *kinds.absent, *reader.absent)


def _name(door: HostAccess, fields: Mapping[str, str], first: str) -> str:
    """The microarchitecture of one core, where cores say more than the first (Arm); else the first's."""
    if "CPU part" not in fields:
        return first
    return microarchitecture.identify(_identity(door, fields), _isa(fields), hidden=False).name


def _isa(fields: Mapping[str, str]) -> tuple[str, ...]:
    text = fields.get("flags") or fields.get("Features") or ""
    words = set(text.lower().split())
    if re.match(r"rv(32|64)[a-uw-z]*v", fields.get("isa", "")):  # a letter each, before the first underscore
        words.add("rvv")
    if "altivec supported" in fields.get("cpu", ""):
        words |= {"altivec", "vsx"} if re.match(r"POWER([789]|1\d)", fields["cpu"]) else {"altivec"}
    return tuple(name for name in processor_names().extensions if name in words)


def _number(text: str | None) -> int | None:
    return int(text, 0) if text and re.fullmatch(r"0x[0-9A-Fa-f]{1,8}|0|[1-9][0-9]{0,9}", text) else None


def _identity(door: HostAccess, fields: Mapping[str, str]) -> microarchitecture.Identity:
    """Who made the processor and which it is: CPUID on x86, MIDR on ARM, names on POWER, LoongArch and RISC-V."""
    if "vendor_id" in fields:
        return microarchitecture.Identity(
            vendor=fields["vendor_id"],
            model=" ".join(fields.get("model name", "unknown").split()),
            family=_number(fields.get("cpu family")),
            number=_number(fields.get("model")),
            stepping=_number(fields.get("stepping")),
        )
    implementer = _number(fields.get("CPU implementer"))
    if implementer is not None:
        vendor = processor_names().arm.get(f"{implementer:02x}", f"implementer 0x{implementer:02x}")
        part = _number(fields.get("CPU part"))
        named = fields.get("model name", "")
        model = named if named and not named.startswith(("ARMv", "AArch64")) else f"{vendor} part 0x{part or 0:03x}"
        return microarchitecture.Identity(
            vendor=vendor,
            model=model,
            family=implementer,
            number=part,
            stepping=_number(fields.get("CPU revision")),
            soc=(door.read("/sys/devices/soc0/soc_id") or "").strip(),
        )
    if "cpu" in fields:
        return microarchitecture.Identity(
            vendor="IBM", model=fields["cpu"].split(",")[0], family=None, number=None, stepping=None
        )
    if "Loongson" in fields.get("Model Name", "") + fields.get("CPU Family", ""):  # .../loongarch/kernel/proc.c
        named = fields.get("Model Name") or fields["CPU Family"]
        return microarchitecture.Identity(vendor="Loongson", model=named, family=None, number=None, stepping=None)
    if "isa" in fields and ("hart" in fields or fields["isa"].startswith("rv")):  # .../riscv/kernel/cpu.c
        return _riscv(fields)
    named = fields.get("model name") or fields.get("Model Name") or "unknown"
    return microarchitecture.Identity(vendor="unknown", model=named, family=None, number=None, stepping=None)


def _riscv(fields: Mapping[str, str]) -> microarchitecture.Identity:
    core = fields.get("uarch", "")
    makers, number = processor_names().riscv, _number(fields.get("mvendorid")) or 0
    maker = makers.get(core.partition(",")[0]) or makers.get(f"{number:x}")
    named = core if "," in core else fields.get("model name") or "RISC-V"
    return microarchitecture.Identity(vendor=maker or "unknown", model=named, family=None, number=None, stepping=None)
