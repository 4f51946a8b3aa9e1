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
    memory = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, device)
    pci = _ask(nvml, nvml.nvmlDeviceGetPciInfo, device)
    capability = _ask(nvml, nvml.nvmlDeviceGetCudaComputeCapability, device)
    ecc = _ask(nvml, nvml.nvmlDeviceGetEccMode, device)
    mig = _ask(nvml, nvml.nvmlDeviceGetMigMode, device)
    limit = _ask(nvml, nvml.nvmlDeviceGetEnforcedPowerLimit, device)
    facts = {
        "index": index,
        "name": _text(_ask(nvml, nvml.nvmlDeviceGetName, device)),
        "memory_bytes": memory.total if memory else None,
        "pci": _text(pci.busId) if pci else "",
        "compute_capability": ".".join(map(str, capability)) if capability else None,
        "cores": _ask(nvml, nvml.nvmlDeviceGetNumGpuCores, device),
        "max_sm_mhz": _ask(nvml, nvml.nvmlDeviceGetMaxClockInfo, device, nvml.NVML_CLOCK_SM),
        "max_memory_mhz": _ask(nvml, nvml.nvmlDeviceGetMaxClockInfo, device, nvml.NVML_CLOCK_MEM),
        "memory_bus_bits": _ask(nvml, nvml.nvmlDeviceGetMemoryBusWidth, device),
        "pcie_generation": _ask(nvml, nvml.nvmlDeviceGetCurrPcieLinkGeneration, device),
        "pcie_generation_max": _ask(nvml, nvml.nvmlDeviceGetMaxPcieLinkGeneration, device),
        "pcie_width": _ask(nvml, nvml.nvmlDeviceGetCurrPcieLinkWidth, device),
        "pcie_width_max": _ask(nvml, nvml.nvmlDeviceGetMaxPcieLinkWidth, device),
        "power_limit_w": limit / 1000 if limit else None,
        "persistence": _flag(_ask(nvml, nvml.nvmlDeviceGetPersistenceMode, device)),
        "ecc": _flag(ecc[0]) if ecc else None,
        "mig": _flag(mig[0]) if mig else None,
        "nvlinks": sum(
            _ask(nvml, nvml.nvmlDeviceGetNvLinkState, device, link) == 1 for link in range(nvml.NVML_NVLINK_MAX_LINKS)
        ),
    }
    return {key: value for key, value in facts.items() if value is not None}


def _ask(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, or None where the driver does not support the question."""
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


if __name__ == "__main__":
    sys.exit(main())
