"""The state of one GPU, whoever tells it, and the reading of ``nvidia-smi -q -x``. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...records import Record
from ...units import leading_number

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: Bits of nvmlDeviceGetCurrentClocksThrottleReasons that slow a GPU for a fault, by the word that is shown.
SLOWED = {
    0x08: "hardware slowdown",
    0x20: "too hot (driver)",
    0x40: "too hot (hardware)",
    0x80: "power brake",
}
_XML_SLOWED = {
    "hw_slowdown": 0x08,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}
#: What nvidia-smi writes where a value should stand, for a GPU that does not answer.
_LOST = re.compile(r"GPU is lost|Unknown Error|ERR!|GPU requires reset", re.IGNORECASE)
#: Exit codes of nvidia-smi that say what is wrong (its manual page).
EXIT_CODES = {
    4: "permission refused",
    8: "the power cables of a GPU are not properly attached",
    9: "the driver is not loaded",
    10: "the kernel sees an interrupt problem of a GPU",
    12: "the library NVML is not there",
    14: "the InfoROM of a GPU is damaged",
    15: "a GPU has fallen off the bus or is otherwise out of reach",
}


class Gpu(Record, frozen=True, kw_only=True):
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


def address(text: str) -> str:
    """A PCI address without function, as the kernel's log writes it: ``00000000:9B:00.0`` is ``0000:9b:00``."""
    found = re.fullmatch(r"(?:[0-9a-f]{4})?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?", text.strip().lower())
    return found[1] if found else text.strip().lower()


def from_xml(text: str) -> tuple[Gpu, ...]:
    """The GPUs in the output of ``nvidia-smi -q -x``. Raises ValueError where it is not that."""
    from xml.etree import ElementTree

    try:
        log = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"nvidia-smi -q -x printed no XML: {error}") from error
    driver = log.findtext("driver_version", "").strip()
    return tuple(_gpu(index, one, driver) for index, one in enumerate(log.findall("gpu")))


class _Fields:
    """What stands below one GPU's element; None for what it does not have ("N/A")."""

    def __init__(self, gpu: Element) -> None:
        self._gpu = gpu

    def text(self, *paths: str) -> str:
        return next((found.strip() for path in paths if (found := self._gpu.findtext(path, "").strip())), "")

    def number(self, *paths: str) -> float | None:
        for path in paths:
            if (number := leading_number(self._gpu.findtext(path, ""))) is not None:
                return number
        return None

    def whole(self, *paths: str) -> int | None:
        value = self.number(*paths)
        return None if value is None else int(value)

    def flag(self, *paths: str) -> bool | None:
        return {"Yes": True, "Enabled": True, "No": False, "Disabled": False}.get(self.text(*paths))

    def total(self, *paths: str) -> int | None:
        known = [value for path in paths if (value := self.whole(path)) is not None]
        return sum(known) if known else None


def _gpu(index: int, gpu: Element, driver: str) -> Gpu:
    fields = _Fields(gpu)
    text, number, whole, flag, total = fields.text, fields.number, fields.whole, fields.flag, fields.total
    seen = [text("product_name"), text("temperature/gpu_temp"), text("utilization/gpu_util"), text("serial")]
    lost = next((one for one in seen if _LOST.search(one)), "")
    memory_mib, busy = number("fb_memory_usage/total"), number("utilization/gpu_util")
    link, errors, retired = "pci/pci_gpu_link_info", "ecc_errors/volatile", "retired_pages"
    return Gpu(
        index=index,
        pci=address(gpu.get("id", "") or text("pci/pci_bus_id")),
        name=text("product_name"),
        lost=lost,
        driver=driver,
        memory_bytes=None if memory_mib is None else int(memory_mib) << 20,
        generation=whole(f"{link}/pcie_gen/current_link_gen"),
        generation_max=whole(f"{link}/pcie_gen/max_link_gen"),
        width=whole(f"{link}/link_widths/current_link_width"),
        width_max=whole(f"{link}/link_widths/max_link_width"),
        replays=whole("pci/replay_counter"),
        temperature_c=number("temperature/gpu_temp"),
        slowdown_c=number("temperature/gpu_temp_slow_threshold"),
        memory_temperature_c=number("temperature/memory_temp"),
        power_w=number("gpu_power_readings/power_draw", "power_readings/power_draw"),
        power_limit_w=number(
            "gpu_power_readings/current_power_limit",
            "power_readings/enforced_power_limit",
            "power_readings/power_limit",
        ),
        busy=None if busy is None else busy / 100,
        ecc=flag("ecc_mode/current_ecc"),
        uncorrected=total(
            f"{errors}/sram_uncorrectable",
            f"{errors}/sram_uncorrectable_parity",
            f"{errors}/sram_uncorrectable_secded",
            f"{errors}/dram_uncorrectable",
            f"{errors}/double_bit/total",
        ),
        corrected=total(f"{errors}/sram_correctable", f"{errors}/dram_correctable", f"{errors}/single_bit/total"),
        remapped=whole("remapped_rows/remapped_row_unc"),
        remap_pending=flag("remapped_rows/remapped_row_pending", f"{retired}/pending_retirement"),
        remap_failed=flag("remapped_rows/remapped_row_failure"),
        retired=total(
            f"{retired}/multiple_single_bit_retirement/retired_count", f"{retired}/double_bit_retirement/retired_count"
        ),
        slowed=_slowed(gpu),
        reset_required=flag("gpu_reset_status/reset_required"),
        persistence=flag("persistence_mode"),
    )


def _slowed(gpu: Element) -> int:
    bits = 0
    for group in ("clocks_event_reasons", "clocks_throttle_reasons"):
        for one in gpu.findall(f"{group}/*"):
            name = re.sub(r"^clocks_(event|throttle)_reason_", "", one.tag)
            if (one.text or "").strip() == "Active":
                bits |= _XML_SLOWED.get(name, 0)
    return bits


def slowed_words(bits: int, names: Mapping[int, str] = SLOWED) -> str:
    """Why a GPU is slowed, in words."""
    return ", ".join(word for bit, word in names.items() if bits & bit)
