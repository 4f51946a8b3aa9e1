"""The processor: model, microarchitecture, sockets, cores and their threads, clocks, vector extensions.

The topology comes from ``/sys/devices/system/cpu/cpu*/topology``, and where that is not there (old kernels, some
containers) from ``/proc/cpuinfo``. A core is known by the logical CPUs that share it, never by ``core_id`` alone: that
number repeats in each die of some processors (Opteron 6200).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..host import Door, parse_cpu_list
from ..records import Absent, Core, Cpu
from . import microarchitecture
from .caches import caches
from .clocks import clocks
from .kernel import online_cpus, parse_mask

_CPUS = "/sys/devices/system/cpu"

#: The flags (x86) and features (ARM, POWER) of ``/proc/cpuinfo`` that bear on speed or tell a generation.
EXTENSIONS = (
    "sse2",
    "sse3",
    "pni",
    "ssse3",
    "sse4_1",
    "sse4_2",
    "avx",
    "f16c",
    "fma",
    "fma4",
    "xop",
    "avx2",
    "avx512f",
    "avx512dq",
    "avx512bw",
    "avx512vl",
    "avx512cd",
    "avx512er",
    "avx512ifma",
    "avx512vbmi",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "avx512_vp2intersect",
    "avx_vnni",
    "avx10",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "amx_fp16",
    "amx_complex",
    "vfpv3",
    "vfpv4",
    "neon",
    "asimd",
    "asimdhp",
    "asimddp",
    "sve",
    "sve2",
    "sme",
    "bf16",
    "i8mm",
    "svebf16",
    "altivec",
    "vsx",
)

_IMPLEMENTERS = {
    0x41: "ARM",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x53: "Samsung",
    0x61: "Apple",
    0xC0: "Ampere",
}


class Processor(NamedTuple):
    """One block of ``/proc/cpuinfo``: the number of the logical CPU, and its fields."""

    number: int
    fields: dict[str, str]


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
        elif key == "processor" and value.isdigit():
            current = {}
            processors.append(Processor(int(value), current))
        else:
            current[key] = value
    return tuple(processors), common


def cpu(door: Door) -> tuple[Cpu, tuple[Absent, ...]]:
    """What the processors of this host are, and what could not be told. Raises ValueError where nothing can be read."""
    text = door.read("/proc/cpuinfo")
    if text is None:
        raise ValueError("/proc/cpuinfo cannot be read")
    processors, common = parse_cpuinfo(text)
    first = {**common, **(processors[0].fields if processors else {})}
    online, offline = online_cpus(door)
    online = online or tuple(processor.number for processor in processors)
    cores, absent = _cores(door, processors, online)
    found, absent_caches = caches(door, online)
    isa = _isa(first)
    identity = _identity(door, first)
    clock = clocks(door, online, first, identity.model)
    match = microarchitecture.identify(identity, isa, hidden="hypervisor" in first.get("flags", "").split())
    kinds = {_part(processor.fields) for processor in processors}
    if len(kinds) > 1 or door.list("/sys/devices/cpu_atom"):
        absent += (
            Absent(
                what="one kind of core",
                why="the cores of this processor are of more than one kind; only the "
                "first is named, and no peak is derived",
            ),
        )
    return Cpu(
        model=identity.model,
        vendor=identity.vendor,
        architecture=door.architecture(),
        microarchitecture=match.name,
        family=identity.family,
        model_number=identity.number,
        stepping=identity.stepping,
        sockets=len({core.socket for core in cores}) or None,
        cores=cores,
        offline_cpus=offline,
        threads_per_core=max((len(core.cpus) for core in cores), default=None),
        isa=isa,
        base_hz=clock.base_hz,
        max_hz=clock.max_hz,
        clock_hz=clock.clock_hz,
        clock_basis=clock.basis,
        caches=found,
    ), absent + absent_caches + match.absent


def _cores(
    door: Door,
    processors: Sequence[Processor],
    online: Sequence[int],
) -> tuple[tuple[Core, ...], tuple[Absent, ...]]:
    nodes = _numa_of(door)
    fields = {processor.number: processor.fields for processor in processors}
    seen: set[int] = set()
    cores: list[Core] = []
    from_sysfs = all(door.list(f"{_CPUS}/cpu{number}/topology") for number in online[:1]) and bool(online)
    groups = None if from_sysfs else _groups_from_cpuinfo(processors, online)
    for number in online:
        if number in seen:
            continue
        if groups is None:
            siblings, core_id, socket = _from_sysfs(door, number)
        else:
            siblings, core_id, socket = groups[number]
        running = tuple(sorted(set(siblings) & set(online) | {number}))
        seen.update(running)
        cores.append(Core(cpus=running, core_id=core_id, socket=socket, numa_node=nodes.get(number)))
    if from_sysfs:
        return tuple(cores), ()
    why = f"{_CPUS}/cpu*/topology is not there: cores are told by /proc/cpuinfo"
    if "core id" not in fields.get(online[0] if online else 0, {}):
        why += ", which does not say which CPUs share a core: each is taken for one"
    return tuple(cores), (Absent(what="core topology", why=why),)


def _from_sysfs(door: Door, number: int) -> tuple[tuple[int, ...], int, int]:
    """The logical CPUs of the core, its number within the socket, and the socket."""
    folder = f"{_CPUS}/cpu{number}/topology"
    listed = door.read(f"{folder}/thread_siblings_list") or door.read(f"{folder}/core_cpus_list")
    mask = None if listed else door.read(f"{folder}/thread_siblings")
    siblings = parse_cpu_list(listed) if listed else parse_mask(mask) if mask else (number,)
    core_id = int(door.read(f"{folder}/core_id") or number)
    # kernels of its time list the two cores of an AMD module as threads of one, with numbers of their own
    siblings = tuple(
        other
        for other in siblings
        if other == number or int(door.read(f"{_CPUS}/cpu{other}/topology/core_id") or core_id) == core_id
    )
    socket = int(door.read(f"{folder}/physical_package_id") or 0)
    return siblings, core_id, max(socket, 0)  # -1: the firmware does not say


def _groups_from_cpuinfo(
    processors: Iterable[Processor],
    online: Iterable[int],
) -> dict[int, tuple[tuple[int, ...], int, int]]:
    keys = {number: (0, number) for number in online}
    for processor in processors:
        if "core id" in processor.fields:
            keys[processor.number] = (int(processor.fields.get("physical id", "0")), int(processor.fields["core id"]))
        elif "physical id" in processor.fields:
            keys[processor.number] = (int(processor.fields["physical id"]), processor.number)
    return {
        number: (tuple(other for other in keys if keys[other] == key), key[1], key[0]) for number, key in keys.items()
    }


def _numa_of(door: Door) -> dict[int, int]:
    found: dict[int, int] = {}
    for name in door.list("/sys/devices/system/node"):
        if re.fullmatch(r"node\d+", name):
            listed = door.read(f"/sys/devices/system/node/{name}/cpulist")
            cpus = (
                parse_cpu_list(listed)
                if listed is not None
                else parse_mask(door.read(f"/sys/devices/system/node/{name}/cpumap") or "0")
            )
            found.update(dict.fromkeys(cpus, int(name[4:])))
    return found


def _isa(fields: dict[str, str]) -> tuple[str, ...]:
    text = fields.get("flags") or fields.get("Features") or ""
    words = set(text.lower().split())
    if "altivec supported" in fields.get("cpu", ""):
        words |= {"altivec", "vsx"} if re.match(r"POWER([789]|1\d)", fields["cpu"]) else {"altivec"}
    return tuple(name for name in EXTENSIONS if name in words)


def _part(fields: dict[str, str]) -> tuple[str | None, ...]:
    return tuple(fields.get(key) for key in ("CPU implementer", "CPU part", "cpu family", "model"))


def _number(text: str | None) -> int | None:
    try:
        return int(text, 0) if text else None
    except ValueError:
        return None


def _identity(door: Door, fields: dict[str, str]) -> microarchitecture.Identity:
    """Who made the processor and which it is: CPUID on x86, MIDR on ARM, the processor version on POWER."""
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
        vendor = _IMPLEMENTERS.get(implementer, f"implementer 0x{implementer:02x}")
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
    return microarchitecture.Identity(
        vendor="unknown", model=fields.get("model name", "unknown"), family=None, number=None, stepping=None
    )
