"""NVIDIA's GPUs in the output of ``nvidia-smi -q -x``: the same facts under the same names as ``nvidia`` gives. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..units import leading_number

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

COMMAND = ("nvidia-smi", "-q", "-x")
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
#: What nvidia-smi writes where a value should stand, for a GPU that does not answer.
_LOST = re.compile(r"GPU is lost|Unknown Error|ERR!|GPU requires reset", re.IGNORECASE)
_LINK = "pci/pci_gpu_link_info"
_NEW, _OLD = "gpu_power_readings", "power_readings"  # the newer format moved what is about power
#: Fact -> where it stands; the first place that holds a number counts. Units are those of the name.
_WHOLE: dict[str, tuple[str, ...]] = {
    "max_sm_mhz": ("max_clocks/sm_clock",),
    "max_memory_mhz": ("max_clocks/mem_clock",),
    "sm_mhz": ("clocks/sm_clock",),
    "memory_mhz": ("clocks/mem_clock",),
    "application_sm_mhz": ("applications_clocks/graphics_clock",),
    "application_memory_mhz": ("applications_clocks/mem_clock",),
    "pcie_generation": (f"{_LINK}/pcie_gen/current_link_gen",),
    "pcie_generation_max": (f"{_LINK}/pcie_gen/max_link_gen",),
    "pcie_width": (f"{_LINK}/link_widths/current_link_width",),
    "pcie_width_max": (f"{_LINK}/link_widths/max_link_width",),
    "pcie_replays": ("pci/replay_counter",),
    "temperature_c": ("temperature/gpu_temp",),
    "slowdown_c": ("temperature/gpu_temp_slow_threshold",),
    "memory_temperature_c": ("temperature/memory_temp",),
}
_REAL: dict[str, tuple[str, ...]] = {
    "power_w": (f"{_NEW}/power_draw", f"{_OLD}/power_draw"),
    "power_limit_w": (f"{_NEW}/current_power_limit", f"{_OLD}/enforced_power_limit", f"{_OLD}/power_limit"),
    "power_default_w": (f"{_NEW}/default_power_limit", f"{_OLD}/default_power_limit"),
    "power_least_w": (f"{_NEW}/min_power_limit", f"{_OLD}/min_power_limit"),
    "power_most_w": (f"{_NEW}/max_power_limit", f"{_OLD}/max_power_limit"),
}
_WORDS = {"uuid": "uuid", "serial": "serial", "vbios": "vbios_version", "part_number": "board_part_number"}
_FLAGS: dict[str, tuple[str, ...]] = {
    "persistence": ("persistence_mode",),
    "ecc": ("ecc_mode/current_ecc",),
    "ecc_pending": ("ecc_mode/pending_ecc",),
    "mig": ("mig_mode/current_mig",),
    "remap_pending": ("remapped_rows/remapped_row_pending", "retired_pages/pending_retirement"),
    "remap_failed": ("remapped_rows/remapped_row_failure",),
    "reset_required": ("gpu_reset_status/reset_required",),
}
#: Counts that are sums: of the kinds of memory, and of how an error was met.
_SUMS: dict[str, tuple[str, ...]] = {
    f"ecc_{kind}{life}": tuple(f"ecc_errors/{group}/{path}" for path in paths)
    for life, group in (("", "volatile"), ("_ever", "aggregate"))
    for kind, paths in (
        ("corrected", ("sram_correctable", "dram_correctable", "single_bit/total")),
        (
            "uncorrected",
            (
                "sram_uncorrectable",
                "sram_uncorrectable_parity",
                "sram_uncorrectable_secded",
                "dram_uncorrectable",
                "double_bit/total",
            ),
        ),
    )
} | {
    "rows_remapped": ("remapped_rows/remapped_row_corr", "remapped_rows/remapped_row_unc"),
    "rows_remapped_uncorrected": ("remapped_rows/remapped_row_unc",),
    "pages_retired": (
        "retired_pages/multiple_single_bit_retirement/retired_count",
        "retired_pages/double_bit_retirement/retired_count",
    ),
}
#: Bits of NVML's reasons by the words of the XML.
_REASONS = {
    "gpu_idle": 0x01,
    "applications_clocks_setting": 0x02,
    "sw_power_cap": 0x04,
    "hw_slowdown": 0x08,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}
_MODES = {
    "Default": "default",
    "Exclusive_Process": "exclusive process",
    "Exclusive_Thread": "exclusive thread",
    "Prohibited": "prohibited",
}


def parse(text: str) -> dict[str, Any]:
    """The driver and its GPUs, in the form of ``nvidia.answer``. Raises ValueError where the text is something else."""
    from xml.etree import ElementTree

    try:
        log = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"nvidia-smi -q -x printed no XML: {error}") from error
    return {
        "driver": log.findtext("driver_version", "").strip(),
        "cuda": log.findtext("cuda_version", "").strip(),
        "gpus": [{"index": index, **_gpu(gpu)} for index, gpu in enumerate(log.findall("gpu"))],
    }


def _number(gpu: Element, paths: Sequence[str]) -> float | None:
    for path in paths:
        if (number := leading_number(gpu.findtext(path, ""))) is not None:
            return number
    return None


def _gpu(gpu: Element) -> dict[str, Any]:
    memory_mib, used_mib = _number(gpu, ["fb_memory_usage/total"]), _number(gpu, ["fb_memory_usage/used"])
    facts: dict[str, Any] = {
        "name": gpu.findtext("product_name", "").strip(),
        "pci": gpu.get("id", "") or gpu.findtext("pci/pci_bus_id", "").strip(),
    }
    seen = [
        gpu.findtext(path, "") for path in ("product_name", "temperature/gpu_temp", "utilization/gpu_util", "serial")
    ]
    if lost := next((one.strip() for one in seen if _LOST.search(one)), ""):
        facts["error"] = lost
    if memory_mib:
        facts["memory_bytes"] = int(memory_mib) << 20
    facts |= {key: int(value) for key, paths in _WHOLE.items() if (value := _number(gpu, paths)) is not None}
    facts |= {key: value for key, paths in _REAL.items() if (value := _number(gpu, paths)) is not None}
    facts |= {
        key: word for key, path in _WORDS.items() if (word := gpu.findtext(path, "N/A").strip()) not in ("N/A", "")
    }
    for key, paths in _FLAGS.items():
        said = next((word for path in paths if (word := gpu.findtext(path, "")) in _TRUTH), "")
        if said:
            facts[key] = _TRUTH[said]
    for key, paths in _SUMS.items():
        known = [int(value) for path in paths if (value := _number(gpu, [path])) is not None]
        if known:
            facts[key] = sum(known)
    if used_mib is not None:
        facts["memory_used_bytes"] = int(used_mib) << 20
    if (busy := _number(gpu, ["utilization/gpu_util"])) is not None:
        facts["busy"] = busy / 100
    if (mode := gpu.findtext("compute_mode", "")) in _MODES:
        facts["compute_mode"] = _MODES[mode]
    if (bits := _reasons(gpu)) is not None:
        facts["slowed_bits"] = bits
    return facts


_TRUTH = {"Enabled": True, "Disabled": False, "Yes": True, "No": False}


def _reasons(gpu: Element) -> int | None:
    found = [one for group in ("clocks_event_reasons", "clocks_throttle_reasons") for one in gpu.findall(f"{group}/*")]
    if not found:
        return None
    bits = 0
    for one in found:
        if (one.text or "").strip() == "Active":
            bits |= _REASONS.get(re.sub(r"^clocks_(event|throttle)_reason_", "", one.tag), 0)
    return bits
