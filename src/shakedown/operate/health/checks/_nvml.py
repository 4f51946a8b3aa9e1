"""The state of NVIDIA's GPUs through its management library (pynvml, passed in). A question that is refused is None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..gpus import Gpu, address

#: Errors that mean that a GPU is out of reach, by the library's own names.
_LOST = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_UNKNOWN", "NVML_ERROR_RESET_REQUIRED", "NVML_ERROR_IRQ_ISSUE")


def gpus(nvml: Any, note: Callable[[str], None]) -> tuple[Gpu, ...]:
    """All GPUs that the library counts. Raises ``nvml.NVMLError`` where it cannot be started."""
    note("nvmlInit")
    nvml.nvmlInit()
    driver = _text(_ask(nvml, nvml.nvmlSystemGetDriverVersion))
    return tuple(_gpu(nvml, index, driver, note) for index in range(nvml.nvmlDeviceGetCount()))


def _gpu(nvml: Any, index: int, driver: str, note: Callable[[str], None]) -> Gpu:
    note(f"NVML: GPU {index}")
    try:
        device = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:  # fallen off the bus, in a reset, or not permitted
        return Gpu(index=index, pci="", lost=str(error), driver=driver)

    def ask(name: str, *arguments: Any) -> Any:
        function = getattr(nvml, name, None)  # an older library lacks the newest questions
        return None if function is None else _ask(nvml, function, device, *arguments)

    pci = ask("nvmlDeviceGetPciInfo")
    where = address(_text(pci.busId)) if pci else ""
    note(f"NVML: GPU {index} {where}")
    temperature, lost = _temperature(nvml, device)
    if lost:
        return Gpu(index=index, pci=where, lost=lost, driver=driver)
    memory, rates = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetUtilizationRates")
    power, limit = ask("nvmlDeviceGetPowerUsage"), ask("nvmlDeviceGetEnforcedPowerLimit")
    ecc, rows = ask("nvmlDeviceGetEccMode"), ask("nvmlDeviceGetRemappedRows")
    pending = bool(rows[2]) if rows else _flag(ask("nvmlDeviceGetRetiredPagesPendingStatus"))
    states = [ask("nvmlDeviceGetNvLinkState", link) for link in range(getattr(nvml, "NVML_NVLINK_MAX_LINKS", 0))]
    links = [state for state in states if state is not None]
    return Gpu(
        index=index,
        pci=where,
        name=_text(ask("nvmlDeviceGetName")),
        driver=driver,
        memory_bytes=memory.total if memory else None,
        generation=ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        generation_max=ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        width=ask("nvmlDeviceGetCurrPcieLinkWidth"),
        width_max=ask("nvmlDeviceGetMaxPcieLinkWidth"),
        replays=ask("nvmlDeviceGetPcieReplayCounter"),
        temperature_c=temperature,
        slowdown_c=ask("nvmlDeviceGetTemperatureThreshold", nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
        power_w=None if power is None else power / 1000,
        power_limit_w=None if limit is None else limit / 1000,
        busy=None if rates is None else rates.gpu / 100,
        ecc=bool(ecc[0]) if ecc else None,
        uncorrected=ask("nvmlDeviceGetTotalEccErrors", nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC),
        corrected=ask("nvmlDeviceGetTotalEccErrors", nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_VOLATILE_ECC),
        remapped=rows[1] if rows else None,
        remap_pending=pending,
        remap_failed=bool(rows[3]) if rows else None,
        slowed=ask("nvmlDeviceGetCurrentClocksThrottleReasons") or 0,
        links_up=sum(state == 1 for state in links) if links else None,
        links=len(links) or None,
        persistence=_flag(ask("nvmlDeviceGetPersistenceMode")),
    )


def _temperature(nvml: Any, device: Any) -> tuple[float | None, str]:
    """In degrees Celsius, and why the GPU is out of reach: what every GPU can say tells whether it says anything."""
    try:
        return float(nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU)), ""
    except nvml.NVMLError as error:
        lost = {getattr(nvml, name, None) for name in _LOST}
        return None, str(error) if getattr(error, "value", None) in lost else ""


def _ask(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)
