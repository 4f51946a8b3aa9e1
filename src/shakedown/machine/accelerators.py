"""How fast each kind of GPU could be: lanes, matrix units, memory and links, each with its factors. Pure.

flop/s            multiprocessors x lanes x 2 (fused multiply-add) x highest clock
matrix units      multiprocessors x flop in a cycle (table of the white papers) x highest clock
memory bandwidth  bus width / 8 x 2 transfers per clock x highest memory clock
PCI Express       lanes x transfers x the encoding's share, one way; ``payload`` is what copies can reach of it (below)
NVLink            links that are up x the rate of one, one way; ``payload`` is what collectives can carry of it

The highest clock is the one that the driver states; data sheets often state a lower one for matrix units, and under full
load the power limit sets a lower one still.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from ..records import Absent, Gpu, Peak
from . import pcie

#: Peaks from which the limits of collectives follow (analysis/collective_limits.py).
NVLINK_PAYLOAD, NVLINK_SWITCHED = "gpu.nvlink.payload", "gpu.nvlink.switched"


class Accelerator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of ``accelerators.toml``."""

    pattern: str
    capability: str
    multiprocessors: int
    fp32_lanes: int
    fp64_lanes: int
    bus_bits: int


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    capabilities: dict[str, tuple[int, int]]
    matrix: dict[str, dict[str, int]]
    nvlink: dict[str, int]
    nvlink_payload: dict[str, float]
    nvlink_switched: dict[str, int]
    accelerator: tuple[Accelerator, ...]


@cache
def table() -> Table:
    """The table, read once."""
    return msgspec.toml.decode((files(__package__) / "accelerators.toml").read_bytes(), type=Table)


def gpu_peaks(gpus: Sequence[Gpu]) -> tuple[tuple[Peak, ...], tuple[Absent, ...]]:
    """The peaks of one GPU of each kind that is there, scope ``gpu``; where kinds differ the basis names them."""
    peaks: list[Peak] = []
    absent: list[Absent] = []
    for name in dict.fromkeys(gpu.name for gpu in gpus):
        members = [gpu for gpu in gpus if gpu.name == name]
        found = peaks_of(members[0], f"each of {len(members)} {name}" if len(members) > 1 else name)
        peaks += found
        if not found:
            absent.append(
                Absent(
                    what=f"peaks of {name or 'the GPU'}",
                    why="the driver does not show its cores and clocks, and the table does not hold it",
                )
            )
    return tuple(peaks), tuple(absent)


def peaks_of(gpu: Gpu, who: str) -> list[Peak]:
    """All peaks of one GPU that its facts and the table allow; ``who`` begins each basis."""
    return [*_compute(gpu, who), *_memory(gpu, who), *_links(gpu, who)]


def _known(gpu: Gpu) -> Accelerator | None:
    return next((entry for entry in table().accelerator if re.search(entry.pattern, gpu.name)), None)


def _capability(gpu: Gpu) -> str:
    known = _known(gpu)
    return str(gpu.facts.get("compute_capability", known.capability if known else ""))


def multiprocessors(gpu: Gpu) -> int:
    """How many it has, by the driver's count of cores, else by the table; 0 where neither tells."""
    known, lanes, cores = _known(gpu), table().capabilities.get(_capability(gpu)), gpu.facts.get("cores")
    if isinstance(cores, int) and cores and lanes:
        return cores // lanes[0]
    return known.multiprocessors if known else 0


def lanes_of(gpu: Gpu) -> int:
    """FP32 lanes ("CUDA cores") of each multiprocessor; 0 where neither the driver nor the table tells the architecture."""
    lanes = table().capabilities.get(_capability(gpu))
    return lanes[0] if lanes else 0


def _peak(name: str, value: float, unit: str, basis: str) -> Peak:
    return Peak(name=name, scope="gpu", value=value, unit=unit, kind="derived", basis=basis)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _compute(gpu: Gpu, who: str) -> list[Peak]:
    known, count = _known(gpu), multiprocessors(gpu)
    lanes = table().capabilities.get(_capability(gpu)) or ((known.fp32_lanes, known.fp64_lanes) if known else None)
    mhz = _number(gpu.facts.get("max_sm_mhz"))
    if not (count and lanes and mhz):
        return []
    clock = f"{mhz / 1000:.3f} GHz highest clock"
    found = [
        _peak(
            name,
            count * one * 2 * mhz * 1e6,
            "flop/s",
            f"{who}: {count} multiprocessors x {one} lanes x 2 flop/cycle x {clock}, without matrix units",
        )
        for name, one in (("gpu.flops.fp64", lanes[1]), ("gpu.flops.fp32", lanes[0]))
    ]
    for word, flop in table().matrix.get(_capability(gpu), {}).items():
        name, unit = _of_matrix_units(word)
        basis = f"{who}: {count} multiprocessors x {flop} {unit.removesuffix('/s')}/cycle of matrix units x {clock}"
        found.append(_peak(name, count * flop * mhz * 1e6, unit, basis))
    return found


def _of_matrix_units(word: str) -> tuple[str, str]:
    """The name and the unit of the peak of one format; integers count operations."""
    if word == "int8":
        return "gpu.ops.int8", "op/s"
    return f"gpu.flops.{word}" + (".matrix" if word == "fp64" else ""), "flop/s"


def peak_units() -> dict[str, str]:
    """The peaks that can be derived for some GPU, each with its unit."""
    words = dict.fromkeys(word for units in table().matrix.values() for word in units)
    links = ("gpu.memory.bandwidth", "gpu.pcie.bandwidth", "gpu.pcie.payload", "gpu.nvlink.bandwidth", NVLINK_PAYLOAD,
             NVLINK_SWITCHED)  # fmt: skip
    return {
        "gpu.flops.fp64": "flop/s",
        "gpu.flops.fp32": "flop/s",
        **dict(map(_of_matrix_units, words)),
        **dict.fromkeys(links, "B/s"),
    }


def _memory(gpu: Gpu, who: str) -> list[Peak]:
    known = _known(gpu)
    bits = _number(gpu.facts.get("memory_bus_bits")) or (known.bus_bits if known else None)
    mhz = _number(gpu.facts.get("max_memory_mhz"))
    if not (bits and mhz):
        return []
    basis = f"{who}: {bits / 8:g} B wide x 2 transfers x {mhz / 1000:.3f} GHz highest memory clock"
    return [_peak("gpu.memory.bandwidth", bits / 8 * 2 * mhz * 1e6, "B/s", basis)]


def _links(gpu: Gpu, who: str) -> list[Peak]:
    found = []
    # At rest the generation falls, so the highest counts; the width does not change, so the present one does.
    generation = int(_number(gpu.facts.get("pcie_generation_max") or gpu.facts.get("pcie_generation")) or 0)
    width = int(_number(gpu.facts.get("pcie_width") or gpu.facts.get("pcie_width_max")) or 0)
    raw, payload = pcie.bandwidth(generation, width), pcie.payload(generation, width)
    if raw is not None and payload is not None:
        basis = f"{who}: PCI Express {generation}, {width} lanes x {raw / width / 1e9:.3f} GB/s one way"
        found.append(_peak("gpu.pcie.bandwidth", raw, "B/s", basis))
        found.append(_peak("gpu.pcie.payload", payload, "B/s", f"{basis} x 256 of 280 bytes (payload of 256 B)"))
    links, rate = _number(gpu.facts.get("nvlinks")), table().nvlink.get(_capability(gpu))
    if links and rate:
        basis = f"{who}: {links:g} NVLinks x {rate} GB/s one way"
        found.append(_peak("gpu.nvlink.bandwidth", links * rate * 1e9, "B/s", basis))
        found += _payload(links, _capability(gpu), f"{who}: {links:g} NVLinks")
    return found


def _payload(links: float, capability: str, who: str) -> list[Peak]:
    """What collectives can carry over a GPU's NVLinks, one way; and again where they end in switches that reduce."""
    rate = table().nvlink_payload.get(capability)
    if not rate:
        return []
    basis = f"{who} x {rate:g} GB/s of payload one way"
    found = [_peak(NVLINK_PAYLOAD, links * rate * 1e9, "B/s", basis)]
    if links >= table().nvlink_switched.get(capability, 10**9):
        found.append(_peak(NVLINK_SWITCHED, links * rate * 1e9, "B/s", f"{basis}, to switches that can reduce"))
    return found
