"""The device query: everything that the management library and the CUDA driver say of each GPU, its peaks with their
basis, and what of it is below par.

The driver is asked by the native program ``gpu_query``, which takes no device, so that busy and exclusive GPUs are told
too. Where it or its driver is absent, what NVML says stands alone, and the reason is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .. import strict
from ..errors import BadInput, Unavailable
from ..hosts.access import HostAccess
from ..records import Absent, Gpu, Peak, Record, Setting, Value
from .accelerators import multiprocessors, peaks_of, table
from .gpu_settings import gpu_settings, reasons
from .gpus import LIMIT_S, gpus


class Queried(Record, frozen=True, kw_only=True):
    """One GPU. ``facts`` have units in their names; what nobody tells is left out."""

    gpu: Gpu
    reaches: tuple[int, ...] | None = None  # the devices whose memory it reaches itself, as CUDA counts them
    cuda_index: int | None = None
    peaks: tuple[Peak, ...] = ()
    findings: tuple[Setting, ...] = ()


class Query(Record, frozen=True, kw_only=True):
    gpus: tuple[Queried, ...] = ()
    absent: tuple[Absent, ...] = ()


def query(door: HostAccess) -> Query:
    """Ask everybody. What could not be asked is among ``absent``; never raises for what a machine lacks."""
    found, absent = gpus(door)
    said, why = _driver(door, any(gpu.vendor == "NVIDIA" for gpu in found))
    gaps = (*absent, Absent(what="what the CUDA driver says", why=why)) if why else absent
    return Query(gpus=tuple(joined(gpu, said) for gpu in found), absent=gaps)


def _driver(door: HostAccess, wanted: bool) -> tuple[dict[str, dict[str, Any]], str]:
    """What ``gpu_query`` prints, by PCI address, and why it prints nothing."""
    if not wanted:
        return {}, ""
    from .. import programs

    try:
        program = programs.path("gpu_query")
    except Unavailable as error:
        return {}, error.what
    answer = door.run((program,), limit_s=LIMIT_S)
    if not answer.ok:
        lines = (answer.err or answer.out).strip().splitlines()
        return {}, lines[0] if lines else "no answer"
    try:
        return parse(answer.out), ""
    except ValueError as error:
        return {}, str(error)


def parse(text: str) -> dict[str, dict[str, Any]]:
    """The devices in the output of ``gpu_query`` by PCI address. Raises ValueError where it is something else."""
    import msgspec

    try:
        devices = json.loads(text)["devices"]
        strict.check_numbers(devices, "gpu_query")
        kind = dict[str, Value | list[int] | None]
        return {_address(str(one.get("pci", one["index"]))): one for one in msgspec.convert(devices, list[kind])}
    except (LookupError, TypeError, ValueError, RecursionError, BadInput) as error:
        raise ValueError(f"gpu_query printed no devices: {str(error)[:200]}") from None


def _address(pci: str) -> str:
    """``00000000:1B:00.0`` and ``0000:1b:00.0`` are one."""
    return pci.lower()[-12:]


#: Facts of the driver that NVML names otherwise, or tells as well.
_SAME = ("index", "name", "pci", "memory_bytes", "ecc", "compute_mode", "reaches", "cuda", "error", "memory_bus_bits")


def joined(gpu: Gpu, said: dict[str, dict[str, Any]]) -> Queried:
    """A GPU with what the driver says of it."""
    import msgspec

    device = said.get(_address(gpu.pci), {})
    more: dict[str, Value] = {
        key: value for key, value in device.items() if key not in _SAME and isinstance(value, int | float | str)
    }
    for key in ("ecc", "compute_mode", "memory_bus_bits"):
        if key in device and key not in gpu.facts:
            more[key] = device[key]
    for key, hz in (("max_sm_mhz", "clock_hz"), ("max_memory_mhz", "memory_clock_hz")):
        if key not in gpu.facts and isinstance(device.get(hz), int | float):
            more[key] = round(device[hz] / 1e6)
    gpu = msgspec.structs.replace(gpu, facts={**more, **gpu.facts})
    index, reaches = device.get("index"), device.get("reaches")
    return Queried(
        gpu=gpu,
        cuda_index=index if isinstance(index, int) else None,
        reaches=tuple(reaches) if isinstance(reaches, list) else None,
        peaks=tuple(peaks_of(gpu, gpu.name)),
        findings=gpu_settings([gpu]),
    )


# --------------------------------------------------------------------------------------------------------------- as text


def lines(found: Query) -> Iterator[str]:
    """The query as text: each GPU with its properties, peaks and findings."""
    for number, one in enumerate(found.gpus):
        if number:
            yield ""
        yield f'Device {one.gpu.index}: "{one.gpu.name}"'
        yield from _pairs(_rows(one))
        if one.peaks:
            yield "  Peaks"
            yield from _pairs(_peak_rows(one.peaks), indent=4)
        wrong = [finding for finding in one.findings if finding.state == "warn"]
        if wrong:
            yield "  Below par"
            yield from _pairs(((_short(f.name), f"{f.value}: {f.effect}; {f.advice}") for f in wrong), indent=4)
        others = [finding for finding in one.findings if finding.state != "warn"]
        if others:
            yield "  To know"
            yield from _pairs(
                ((_short(f.name), "; ".join(filter(None, (f"{f.value}: {f.effect}", f.advice)))) for f in others),
                indent=4,
            )
    if found.absent:
        yield ""
        yield "Not known"
        yield from (f"  {gap.what}: {gap.why}" for gap in found.absent)


def _short(name: str) -> str:
    """A finding's name without the GPU that it stands under."""
    return name.split(" ", 2)[-1]


def _pairs(rows: Any, indent: int = 2) -> Iterator[str]:
    known = [(name, text) for name, text in rows if text]
    width = max((len(name) for name, _ in known), default=0) + 1
    yield from (f"{' ' * indent}{name + ':':<{width}} {text}" for name, text in known)


def _peak_rows(peaks: Sequence[Peak]) -> Iterator[tuple[str, str]]:
    from ..units import show

    for peak in peaks:
        yield peak.name.removeprefix("gpu."), f"{show(peak.value, peak.unit)} = {peak.basis.split(': ', 1)[-1]}"


def _rows(one: Queried) -> Iterator[tuple[str, str]]:
    yield from _what(one)
    yield from _shape(one.gpu)
    yield from _state(one.gpu)


def _shown(gpu: Gpu, name: str, unit: str = "") -> str:
    value = gpu.facts.get(name)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "B" and isinstance(value, int | float):
        from ..units import show_bytes

        return show_bytes(value)
    return f"{value:g} {unit}".strip() if isinstance(value, float) else f"{value} {unit}".strip()


def _joined_words(*words: str) -> str:
    return ", ".join(filter(None, words))


def _what(one: Queried) -> Iterator[tuple[str, str]]:
    gpu = one.gpu
    capability = str(gpu.facts.get("compute_capability", ""))
    yield "CUDA driver", _joined_words(gpu.driver, f"CUDA {gpu.facts['cuda']}" if gpu.facts.get("cuda") else "")
    yield "compute capability", capability
    yield "PCI address", gpu.pci
    for label, name in (
        ("UUID", "uuid"),
        ("serial number", "serial"),
        ("part number", "part_number"),
        ("VBIOS", "vbios"),
    ):
        yield label, _shown(gpu, name)
    if gpu.memory_bytes:
        from ..units import show_bytes

        used = _shown(gpu, "memory_used_bytes", "B")
        yield "memory", show_bytes(gpu.memory_bytes) + (f", of which {used} in use" if used else "")
    count, lanes = multiprocessors(gpu), table().capabilities.get(capability)
    if count:
        yield "multiprocessors", f"{count}" + (f" x {lanes[0]} lanes = {count * lanes[0]} lanes" if lanes else "")
    if one.reaches is not None:
        yield "reaches devices", ", ".join(map(str, one.reaches)) or "none"


def _shape(gpu: Gpu) -> Iterator[tuple[str, str]]:
    for label, name, unit in (
        ("clock, highest", "max_sm_mhz", "MHz"),
        ("memory clock, highest", "max_memory_mhz", "MHz"),
        ("memory bus", "memory_bus_bits", "bit"),
        ("L2 cache", "l2_bytes", "B"),
        ("constant memory", "constant_memory_bytes", "B"),
        ("shared memory of a block", "shared_memory_per_block_bytes", "B"),
        ("  at most", "shared_memory_per_block_most_bytes", "B"),
        ("registers of a block", "registers_per_block", ""),
        ("warp", "warp_size", "threads"),
        ("block, at most", "threads_per_block", "threads"),
        ("multiprocessor, at most", "threads_per_multiprocessor", "threads"),
        ("texture alignment", "texture_alignment_bytes", "B"),
        ("copy engines", "copy_engines", ""),
        ("kernels at the same time", "concurrent_kernels", ""),
        ("managed memory", "managed_memory", ""),
        ("reads pageable memory", "pageable_memory_access", ""),
    ):
        yield label, _shown(gpu, name, unit)


def _state(gpu: Gpu) -> Iterator[tuple[str, str]]:
    facts = gpu.facts
    if "pcie_width" in facts:
        now = f"generation {facts.get('pcie_generation', '?')} x{facts['pcie_width']}"
        yield (
            "PCI Express",
            f"{now} (at most {facts.get('pcie_generation_max', '?')} x{facts.get('pcie_width_max', '?')})",
        )
        yield "PCI Express replays", _shown(gpu, "pcie_replays")
    if facts.get("nvlinks_all"):
        yield "NVLinks up", f"{facts.get('nvlinks', 0)} of {facts['nvlinks_all']}"
    yield "NUMA node", _shown(gpu, "numa_node")
    yield "compute mode", _shown(gpu, "compute_mode")
    for label, name in (("persistence", "persistence"), ("MIG", "mig"), ("ECC", "ecc")):
        if isinstance(facts.get(name), bool):
            yield label, "on" if facts[name] else "off"
    for label, name in (("ECC errors since the start", "ecc"), ("ECC errors ever", "ecc_ever")):
        wrong = facts.get(name.replace("ecc", "ecc_uncorrected", 1))
        if wrong is not None:
            right = facts.get(name.replace("ecc", "ecc_corrected", 1), "?")
            yield label, f"{wrong} uncorrected, {right} corrected"
    yield "rows remapped", _shown(gpu, "rows_remapped")
    yield (
        "clock now",
        _joined_words(
            _shown(gpu, "sm_mhz", "MHz"), f"memory {_shown(gpu, 'memory_mhz', 'MHz')}" * ("memory_mhz" in facts)
        ),
    )
    yield "held down by", reasons(int(facts["slowed_bits"])) if isinstance(facts.get("slowed_bits"), int) else ""
    limit = _shown(gpu, "power_limit_w", "W")
    usual, most = _shown(gpu, "power_default_w", "W"), _shown(gpu, "power_most_w", "W")
    yield (
        "power",
        _joined_words(
            _shown(gpu, "power_w", "W"),
            f"limit {limit}" * bool(limit),
            f"default {usual}" * bool(usual),
            f"at most {most}" * bool(most),
        ),
    )
    hot = _shown(gpu, "slowdown_c", "degC")
    yield "temperature", _joined_words(_shown(gpu, "temperature_c", "degC"), f"slowed from {hot}" * bool(hot))
    yield "programs on it", _shown(gpu, "processes")
