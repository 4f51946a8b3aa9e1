"""NVIDIA's GPUs through their management library (NVML, by nvidia-ml-py): the one place that loads it, and all that is asked
of it but the samples of the power meter.

A driver that is stuck hangs whoever asks it. So this file is also a program of its own that imports nothing of the package
(``python -P .../nvidia.py``), for a child process with a limit. It prints one JSON object: ``{"driver": ..., "cuda": ...,
"gpus": [{...}]}`` or ``{"error": ...}``. A GPU that is out of reach has an ``error``; a field that the driver refuses is
left out. Units stand in the names. ``nvidia_smi`` gives the same from a program's text, ``gpu_state`` makes a record of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

#: Errors that mean that a GPU is out of reach, by the library's own names.
_LOST = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_UNKNOWN", "NVML_ERROR_RESET_REQUIRED", "NVML_ERROR_IRQ_ISSUE")
_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}


def library() -> Any:
    """The library's Python module, not yet started. Raises ImportError where it is not installed."""
    import pynvml

    return pynvml


def main() -> int:
    """Print what the library says. Exit code 0, or 3 where it cannot be asked."""
    said = answer()
    print(json.dumps(said))
    return 3 if "error" in said else 0


def answer(*, whole: bool = True) -> dict[str, Any]:
    """What the library says when it is loaded and started; ``{"error": why}`` where it cannot be."""
    try:
        nvml = library()
    except ImportError as error:
        return {"error": f"nvidia-ml-py is not installed: {error}"}
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return {"error": str(error)}
    return driver(nvml, whole=whole)


def driver(nvml: Any, note: Callable[[str], None] = lambda what: None, *, whole: bool = True) -> dict[str, Any]:
    """What a started library says of the driver and of each GPU: its state; where ``whole``, also what it is and how it is
    set. ``note`` is told what is asked next, for who watches for a driver that hangs."""
    version = _ask(nvml, getattr(nvml, "nvmlSystemGetCudaDriverVersion_v2", None)) if whole else None
    return {
        "driver": text(_ask(nvml, nvml.nvmlSystemGetDriverVersion)),
        "cuda": f"{version // 1000}.{version % 1000 // 10}" if version else "",
        "gpus": [_gpu(nvml, index, note, whole) for index in range(nvml.nvmlDeviceGetCount())],
    }


def _gpu(nvml: Any, index: int, note: Callable[[str], None], whole: bool) -> dict[str, Any]:
    note(f"NVML: GPU {index}")
    try:
        device = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:  # fallen off the bus, in a reset, or not permitted
        return {"index": index, "name": "", "error": str(error)}

    def ask(name: str, *arguments: Any) -> Any:
        return _ask(
            nvml, getattr(nvml, name, None), device, *arguments
        )  # an older nvidia-ml-py lacks the newest questions

    pci = ask("nvmlDeviceGetPciInfo")
    facts: dict[str, Any] = {"index": index, "name": "", "pci": text(pci.busId) if pci else ""}
    note(f"NVML: GPU {index} {address(facts['pci'])}")
    temperature, lost = _temperature(nvml, device)
    if lost:
        return {**facts, "error": lost}
    facts |= {"name": text(ask("nvmlDeviceGetName")), "temperature_c": temperature}
    facts |= {**_state(nvml, ask), **_links(nvml, ask), **_errors(nvml, ask)}
    if whole:
        facts |= {**_is(ask), **_settings(nvml, ask), **_errors_ever(nvml, ask)}
    return {key: value for key, value in facts.items() if value is not None}


def _temperature(nvml: Any, device: Any) -> tuple[int | None, str]:
    """In degrees Celsius, and why the GPU is out of reach: what every GPU can say tells whether it says anything."""
    try:
        return nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU), ""
    except nvml.NVMLError as error:
        lost = {getattr(nvml, name, None) for name in _LOST} - {None}
        return None, str(error) if getattr(error, "value", None) in lost else ""


def _state(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    """What changes while it works."""
    memory, rates = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetUtilizationRates")
    power = ask("nvmlDeviceGetPowerUsage")
    slowdown = getattr(nvml, "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN", 1)
    return {
        "memory_bytes": memory.total if memory else None,
        "memory_used_bytes": getattr(memory, "used", None),
        "busy": None if rates is None else rates.gpu / 100,
        "persistence": _flag(ask("nvmlDeviceGetPersistenceMode")),
        "sm_mhz": ask("nvmlDeviceGetClockInfo", getattr(nvml, "NVML_CLOCK_SM", 1)),
        "slowed_bits": ask("nvmlDeviceGetCurrentClocksThrottleReasons"),
        "power_w": None if power is None else power / 1000,
        "power_limit_w": _watts(ask("nvmlDeviceGetEnforcedPowerLimit")),
        "slowdown_c": ask("nvmlDeviceGetTemperatureThreshold", slowdown),
    }


def _is(ask: Callable[..., Any]) -> dict[str, Any]:
    """What it is, and who uses it."""
    capability = ask("nvmlDeviceGetCudaComputeCapability")
    running = ask("nvmlDeviceGetComputeRunningProcesses")
    return {
        "uuid": _word(ask("nvmlDeviceGetUUID")),
        "serial": _word(ask("nvmlDeviceGetSerial")),
        "vbios": _word(ask("nvmlDeviceGetVbiosVersion")),
        "part_number": _word(ask("nvmlDeviceGetBoardPartNumber")),
        "compute_capability": ".".join(map(str, capability)) if capability else None,
        "cores": ask("nvmlDeviceGetNumGpuCores"),
        "memory_bus_bits": ask("nvmlDeviceGetMemoryBusWidth"),
        "processes": len(running) if running is not None else None,
    }


def _settings(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    """How it is set."""
    mig, constraints = ask("nvmlDeviceGetMigMode"), ask("nvmlDeviceGetPowerManagementLimitConstraints")
    return {
        "compute_mode": _MODES.get(ask("nvmlDeviceGetComputeMode")),
        "mig": _flag(mig[0]) if mig else None,
        "max_sm_mhz": ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
        "max_memory_mhz": ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_MEM),
        "memory_mhz": ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
        "application_sm_mhz": ask("nvmlDeviceGetApplicationsClock", nvml.NVML_CLOCK_SM),
        "application_memory_mhz": ask("nvmlDeviceGetApplicationsClock", nvml.NVML_CLOCK_MEM),
        "power_default_w": _watts(ask("nvmlDeviceGetPowerManagementDefaultLimit")),
        "power_least_w": _watts(constraints[0]) if constraints else None,
        "power_most_w": _watts(constraints[1]) if constraints else None,
    }


def _links(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    states = [ask("nvmlDeviceGetNvLinkState", link) for link in range(getattr(nvml, "NVML_NVLINK_MAX_LINKS", 0))]
    return {
        "pcie_generation": ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        "pcie_generation_max": ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        "pcie_width": ask("nvmlDeviceGetCurrPcieLinkWidth"),
        "pcie_width_max": ask("nvmlDeviceGetMaxPcieLinkWidth"),
        "pcie_replays": ask("nvmlDeviceGetPcieReplayCounter"),
        "nvlinks": sum(state == 1 for state in states),
        "nvlinks_all": sum(state is not None for state in states),
    }


def _errors(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    """ECC counts since the driver was loaded, and memory that was taken out of use."""
    ecc, rows = ask("nvmlDeviceGetEccMode"), ask("nvmlDeviceGetRemappedRows")
    pending = bool(rows[2]) if rows else _flag(ask("nvmlDeviceGetRetiredPagesPendingStatus"))
    return {
        "ecc": _flag(ecc[0]) if ecc else None,
        "ecc_pending": _flag(ecc[1]) if ecc else None,
        "ecc_corrected": ask(
            "nvmlDeviceGetTotalEccErrors", nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        "ecc_uncorrected": ask(
            "nvmlDeviceGetTotalEccErrors", nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        "rows_remapped": rows[0] + rows[1] if rows else None,
        "rows_remapped_uncorrected": rows[1] if rows else None,
        "remap_pending": pending,
        "remap_failed": _flag(rows[3]) if rows else None,
    }


def _errors_ever(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    """ECC counts over the board's life."""
    right, wrong = nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
    return {
        "ecc_corrected_ever": ask("nvmlDeviceGetTotalEccErrors", right, nvml.NVML_AGGREGATE_ECC),
        "ecc_uncorrected_ever": ask("nvmlDeviceGetTotalEccErrors", wrong, nvml.NVML_AGGREGATE_ECC),
    }


def _ask(nvml: Any, function: Callable[..., Any] | None, *arguments: Any) -> Any:
    """The answer, or None where the driver does not support the question, or not in the form that pynvml asks it."""
    if function is None:
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None
    except Exception as error:  # this one of pynvml's is no NVMLError
        if type(error).__name__ == "NVMLLibraryMismatchError":
            return None
        raise


def text(value: Any) -> str:
    """What the library says as bytes or as text, as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def address(bus_id: str) -> str:
    """A PCI address without function, as the kernel's log writes it: ``00000000:9B:00.0`` is ``0000:9b:00``."""
    domain, colon, rest = bus_id.strip().lower().partition(":")
    return f"{domain[-4:]}{colon}{rest.partition('.')[0]}"


def _word(value: Any) -> str | None:
    return text(value) or None


def _watts(milliwatts: Any) -> float | None:
    return milliwatts / 1000 if milliwatts else None


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


if __name__ == "__main__":
    sys.exit(main())
