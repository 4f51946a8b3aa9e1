"""How fast each kind of GPU could be, without its matrix units. Pure.

flop/s            multiprocessors x lanes x 2 (fused multiply-add) x highest clock
memory bandwidth  bus width / 8 x 2 transfers per clock x highest memory clock
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec

from ..records import Absent, Gpu, Peak


class Accelerator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of ``accelerators.toml``."""

    pattern: str
    multiprocessors: int
    fp32_lanes: int
    fp64_lanes: int
    bus_bits: int


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    capabilities: dict[str, tuple[int, int]]
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
        found = _peaks(members[0], f"each of {len(members)} {name}" if len(members) > 1 else name)
        peaks += found
        if not found:
            absent.append(
                Absent(
                    what=f"peaks of {name or 'the GPU'}",
                    why="the driver does not show its cores and clocks, and the table does not hold it",
                )
            )
    return tuple(peaks), tuple(absent)


def _peaks(gpu: Gpu, who: str) -> list[Peak]:
    known = next((entry for entry in table().accelerator if re.search(entry.pattern, gpu.name)), None)
    lanes = table().capabilities.get(str(gpu.facts.get("compute_capability", "")))
    if lanes is None and known is not None:
        lanes = (known.fp32_lanes, known.fp64_lanes)
    cores, clock_mhz = gpu.facts.get("cores"), gpu.facts.get("max_sm_mhz")
    found: list[Peak] = []
    if lanes and isinstance(clock_mhz, int | float) and (cores or known):
        processors = int(cores) // lanes[0] if cores else known.multiprocessors if known else 0
        for name, count in (("gpu.flops.fp64", lanes[1]), ("gpu.flops.fp32", lanes[0])):
            found.append(
                Peak(
                    name=name,
                    scope="gpu",
                    value=processors * count * 2 * clock_mhz * 1e6,
                    unit="flop/s",
                    kind="derived",
                    basis=f"{who}: {processors} multiprocessors x {count} lanes x 2 flop/cycle x "
                    f"{clock_mhz / 1000:.3f} GHz highest clock, without matrix units",
                )
            )
    bus_bits = gpu.facts.get("memory_bus_bits") or (known.bus_bits if known else None)
    memory_mhz = gpu.facts.get("max_memory_mhz")
    if isinstance(bus_bits, int | float) and isinstance(memory_mhz, int | float):
        found.append(
            Peak(
                name="gpu.memory.bandwidth",
                scope="gpu",
                value=bus_bits / 8 * 2 * memory_mhz * 1e6,
                unit="B/s",
                kind="derived",
                basis=f"{who}: {bus_bits / 8:g} B wide x 2 transfers x {memory_mhz / 1000:.3f} GHz "
                "highest memory clock",
            )
        )
    return found
