"""The state of one GPU as its driver tells it, whoever asked: the record that checks and burn-in judge. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import Record
from .nvidia import address

#: Bits of nvmlDeviceGetCurrentClocksThrottleReasons that slow a GPU for a fault, by the word that is shown.
SLOWED = {
    0x08: "hardware slowdown",
    0x20: "too hot (driver)",
    0x40: "too hot (hardware)",
    0x80: "power brake",
}
#: Facts of ``nvidia`` and ``nvidia_smi`` that have a shorter name here.
_NAMES = {
    "pcie_generation": "generation",
    "pcie_generation_max": "generation_max",
    "pcie_width": "width",
    "pcie_width_max": "width_max",
    "pcie_replays": "replays",
    "ecc_uncorrected": "uncorrected",
    "ecc_corrected": "corrected",
    "rows_remapped_uncorrected": "remapped",
    "pages_retired": "retired",
    "nvlinks": "links_up",
    "nvlinks_all": "links",
    "error": "lost",
}


class GpuState(Record, frozen=True, kw_only=True):
    """None: the driver does not say, or the GPU does not have it."""

    index: int
    pci: str  # 0000:9b:00
    name: str = ""
    lost: str = ""  # why it does not answer
    driver: str = ""
    memory_bytes: int | None = None
    generation: int | None = None  # of the PCI Express link, now; falls when the GPU rests
    generation_max: int | None = None
    width: int | None = None
    width_max: int | None = None
    replays: int | None = None  # of the PCI Express link
    temperature_c: float | None = None
    slowdown_c: float | None = None  # from which the hardware slows it
    memory_temperature_c: float | None = None
    sm_mhz: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    busy: float | None = None  # share of time in which a kernel ran
    ecc: bool | None = None
    uncorrected: int | None = None  # ECC errors since the driver was loaded
    corrected: int | None = None
    remapped: int | None = None  # rows, for uncorrected errors
    remap_pending: bool | None = None  # a row remapping or page retirement waits for a reset
    remap_failed: bool | None = None
    retired: int | None = None  # pages, of GPUs before Ampere
    slowed: int = 0  # bits of SLOWED
    reset_required: bool | None = None
    links_up: int | None = None  # NVLink
    links: int | None = None
    persistence: bool | None = None

    @property
    def label(self) -> str:
        return f"GPU {self.pci or self.index}"


def states(said: Mapping[str, Any]) -> tuple[GpuState, ...]:
    """The GPUs of what ``nvidia.driver`` or ``nvidia_smi.parse`` gave."""
    return tuple(_state(facts, str(said["driver"])) for facts in said["gpus"])


def _state(facts: Mapping[str, Any], driver: str) -> GpuState:
    named = {_NAMES.get(key, key): value for key, value in facts.items()}
    fields = {key: value for key, value in named.items() if key in GpuState.__struct_fields__}
    fields |= {key: float(value) for key, value in fields.items() if key.endswith("_c")}
    fields |= {"pci": address(fields.get("pci", "")), "driver": driver}
    fields["slowed"] = (facts.get("slowed_bits") or 0) & sum(SLOWED)
    if not fields.get("links"):
        fields |= {"links": None, "links_up": None}
    return GpuState(**fields)


def slowed_words(bits: int) -> str:
    """Why a GPU is slowed, in words."""
    return ", ".join(word for bit, word in SLOWED.items() if bits & bit)
