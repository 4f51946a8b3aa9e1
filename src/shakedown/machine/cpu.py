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
    "lsx",
    "lasx",
    "rvv",
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
    0x56: "Marvell",
    0x61: "Apple",
    0x70: "Phytium",
    0xC0: "Ampere",
}

#: The makers of RISC-V cores by the first word of ``uarch``, and of ``mvendorid`` (JEDEC's number, bank and code).
_RISCV_MAKERS = {
    "sifive": "SiFive",
    "thead": "T-Head",
    "spacemit": "SpacemiT",
    "andestech": "Andes",
    "starfive": "StarFive",
}
_RISCV_NUMBERS = {0x489: "SiFive", 0x5B7: "T-Head", 0x710: "SpacemiT", 0x31E: "Andes"}


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
    return tuple(name for name in EXTENSIONS if name in words)


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
    if "Loongson" in fields.get("Model Name", "") + fields.get("CPU Family", ""):  # .../loongarch/kernel/proc.c
        named = fields.get("Model Name") or fields["CPU Family"]
        return microarchitecture.Identity(vendor="Loongson", model=named, family=None, number=None, stepping=None)
    if "isa" in fields and ("hart" in fields or fields["isa"].startswith("rv")):  # .../riscv/kernel/cpu.c
        return _riscv(fields)
    named = fields.get("model name") or fields.get("Model Name") or "unknown"
    return microarchitecture.Identity(vendor="unknown", model=named, family=None, number=None, stepping=None)


def _riscv(fields: Mapping[str, str]) -> microarchitecture.Identity:
    core = fields.get("uarch", "")
    maker = _RISCV_MAKERS.get(core.partition(",")[0]) or _RISCV_NUMBERS.get(_number(fields.get("mvendorid")) or 0)
    named = core if "," in core else fields.get("model name") or "RISC-V"
    return microarchitecture.Identity(vendor=maker or "unknown", model=named, family=None, number=None, stepping=None)
