"""NVIDIA's GPUs through its management library, as a program of its own.

A driver that is stuck hangs whoever asks it, so ``gpus`` runs this in a child process with a limit. It prints one JSON
object: ``{"driver": ..., "cuda": ..., "gpus": [{...}]}`` or ``{"error": ...}``. A field that the driver refuses is left
out. Units stand in the names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any


def main() -> int:
    """Print what the library says. Exit code 0, or 3 where it cannot be asked."""
    try:
        import pynvml
    except ImportError as error:
        print(json.dumps({"error": f"nvidia-ml-py is not installed: {error}"}))
        return 3
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        print(json.dumps({"error": str(error)}))
        return 3
    print(json.dumps(driver(pynvml)))
    return 0


def driver(nvml: Any) -> dict[str, Any]:
    """What a started library (``pynvml``) says of the driver and of each GPU."""
    version = _ask(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2)
    return {
        "driver": _text(_ask(nvml, nvml.nvmlSystemGetDriverVersion)),
        "cuda": f"{version // 1000}.{version % 1000 // 10}" if version else "",
        "gpus": [_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount())],
    }


def _gpu(nvml: Any, index: int) -> dict[str, Any]:
    try:
        device = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:  # fallen off the bus, in a reset, or not permitted
        return {"index": index, "name": "", "error": str(error)}

    def ask(name: str, *arguments: Any) -> Any:
        function = getattr(nvml, name, None)  # an older nvidia-ml-py lacks the newest questions
        return None if function is None else _ask(nvml, function, device, *arguments)

    facts = {
        "index": index,
        **_is(nvml, ask),
        **_clocks_and_power(nvml, ask),
        **_links(nvml, ask),
        **_errors(nvml, ask),
    }
    return {key: value for key, value in facts.items() if value is not None}


def _is(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    """What it is, how it is set, and who uses it."""
    memory, pci = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetPciInfo")
    capability = ask("nvmlDeviceGetCudaComputeCapability")
    mig, rates = ask("nvmlDeviceGetMigMode"), ask("nvmlDeviceGetUtilizationRates")
    modes = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
    running = ask("nvmlDeviceGetComputeRunningProcesses")
    return {
        "name": _text(ask("nvmlDeviceGetName")),
        "memory_bytes": memory.total if memory else None,
        "memory_used_bytes": getattr(memory, "used", None),
        "pci": _text(pci.busId) if pci else "",
        "uuid": _word(ask("nvmlDeviceGetUUID")),
        "serial": _word(ask("nvmlDeviceGetSerial")),
        "vbios": _word(ask("nvmlDeviceGetVbiosVersion")),
        "part_number": _word(ask("nvmlDeviceGetBoardPartNumber")),
        "compute_capability": ".".join(map(str, capability)) if capability else None,
        "cores": ask("nvmlDeviceGetNumGpuCores"),
        "memory_bus_bits": ask("nvmlDeviceGetMemoryBusWidth"),
        "compute_mode": modes.get(ask("nvmlDeviceGetComputeMode")),
        "persistence": _flag(ask("nvmlDeviceGetPersistenceMode")),
        "mig": _flag(mig[0]) if mig else None,
        "busy": rates.gpu / 100 if rates else None,
        "processes": len(running) if running is not None else None,
    }


def _clocks_and_power(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    constraints = ask("nvmlDeviceGetPowerManagementLimitConstraints")
    slowdown = getattr(nvml, "NVML_TEMPERATURE_THRESHOLD_SLOWDOWN", 1)
    return {
        "max_sm_mhz": ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
        "max_memory_mhz": ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_MEM),
        "sm_mhz": ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
        "memory_mhz": ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
        "application_sm_mhz": ask("nvmlDeviceGetApplicationsClock", nvml.NVML_CLOCK_SM),
        "application_memory_mhz": ask("nvmlDeviceGetApplicationsClock", nvml.NVML_CLOCK_MEM),
        "slowed_bits": ask("nvmlDeviceGetCurrentClocksThrottleReasons"),
        "power_w": _watts(ask("nvmlDeviceGetPowerUsage")),
        "power_limit_w": _watts(ask("nvmlDeviceGetEnforcedPowerLimit")),
        "power_default_w": _watts(ask("nvmlDeviceGetPowerManagementDefaultLimit")),
        "power_least_w": _watts(constraints[0]) if constraints else None,
        "power_most_w": _watts(constraints[1]) if constraints else None,
        "temperature_c": ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
        "slowdown_c": ask("nvmlDeviceGetTemperatureThreshold", slowdown),
    }


def _links(nvml: Any, ask: Callable[..., Any]) -> dict[str, Any]:
    states = [ask("nvmlDeviceGetNvLinkState", link) for link in range(nvml.NVML_NVLINK_MAX_LINKS)]
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
    """ECC: counts since the driver was loaded, and over the board's life (``_ever``)."""
    ecc, rows = ask("nvmlDeviceGetEccMode"), ask("nvmlDeviceGetRemappedRows")
    right, wrong = nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
    pending = bool(rows[2]) if rows else _flag(ask("nvmlDeviceGetRetiredPagesPendingStatus"))
    return {
        "ecc": _flag(ecc[0]) if ecc else None,
        "ecc_pending": _flag(ecc[1]) if ecc else None,
        "ecc_corrected": ask("nvmlDeviceGetTotalEccErrors", right, nvml.NVML_VOLATILE_ECC),
        "ecc_uncorrected": ask("nvmlDeviceGetTotalEccErrors", wrong, nvml.NVML_VOLATILE_ECC),
        "ecc_corrected_ever": ask("nvmlDeviceGetTotalEccErrors", right, nvml.NVML_AGGREGATE_ECC),
        "ecc_uncorrected_ever": ask("nvmlDeviceGetTotalEccErrors", wrong, nvml.NVML_AGGREGATE_ECC),
        "rows_remapped": rows[0] + rows[1] if rows else None,
        "remap_pending": pending,
        "remap_failed": _flag(rows[3]) if rows else None,
    }


def _ask(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, or None where the driver does not support the question, or not in the form that pynvml asks it."""
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None
    except Exception as error:  # this one of pynvml's is no NVMLError
        if type(error).__name__ == "NVMLLibraryMismatchError":
            return None
        raise


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _word(value: Any) -> str | None:
    return _text(value) or None


def _watts(milliwatts: Any) -> float | None:
    return milliwatts / 1000 if milliwatts else None


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


if __name__ == "__main__":
    sys.exit(main())
