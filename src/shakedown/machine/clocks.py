"""The clocks: base, highest, and the one that peaks are derived at, with what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .kernel import Reader, read_word

_CPUS = "/sys/devices/system/cpu"
#: No processor that runs Linux is slower or faster (in kHz): a number beyond is of another unit, or none.
_SLOWEST_KHZ, _FASTEST_KHZ = 25_000, 12_000_000


class Clocks(NamedTuple):
    base_hz: float | None
    max_hz: float | None
    clock_hz: float | None
    basis: str


def clocks(reader: Reader, number: int, fields: Mapping[str, str], model: str) -> Clocks:
    """The clocks of one logical CPU.

    ``fields`` are its lines of ``/proc/cpuinfo``. The base clock is what the kernel or the model's own name says it is;
    where neither does, peaks are derived at the rate of the time-stamp counter (on x86 with ``constant_tsc`` the base
    clock, unless a hypervisor scales it), else at the highest clock, else at the one of the moment, and say so.
    """
    max_hz = highest_hz(reader, number)
    base_hz, source = _base(reader, number, model)
    if base_hz:
        return Clocks(base_hz, max_hz, base_hz, f"base clock ({source})")
    tsc_hz = _time_stamp_counter_hz(fields)
    if tsc_hz:
        return Clocks(None, max_hz, tsc_hz, "rate of the time-stamp counter; the base clock is not shown")
    if max_hz:
        return Clocks(None, max_hz, max_hz, "highest clock (cpufreq cpuinfo_max_freq); the base clock is not shown")
    now = re.match(_DECIMAL, fields.get("cpu MHz") or fields.get("CPU MHz") or fields.get("clock") or "")
    if now and _SLOWEST_KHZ <= float(now[0]) * 1e3 <= _FASTEST_KHZ:
        return Clocks(
            None,
            None,
            float(now[0]) * 1e6,
            "clock in /proc/cpuinfo at the moment of reading; neither the base nor the highest clock is shown",
        )
    return Clocks(None, None, None, "")


def highest_hz(reader: Reader, number: int) -> float | None:
    """The highest clock of a logical CPU."""
    khz = reader.number(f"{_CPUS}/cpu{number}/cpufreq/cpuinfo_max_freq", _SLOWEST_KHZ, _FASTEST_KHZ)
    return khz * 1e3 if khz else None


def base_hz(reader: Reader, number: int) -> tuple[float | None, str]:
    """The base clock that the kernel gives for a logical CPU, and where it does."""
    folder = f"{_CPUS}/cpu{number}"
    khz = reader.number(f"{folder}/cpufreq/base_frequency", _SLOWEST_KHZ, _FASTEST_KHZ)
    if khz:
        return khz * 1e3, "cpufreq base_frequency"
    # 0: the firmware does not say
    mhz = reader.number(f"{folder}/acpi_cppc/nominal_freq", 0, _FASTEST_KHZ // 1000)
    return (mhz * 1e6, "ACPI CPPC nominal_freq") if mhz else (None, "")


_DECIMAL = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"


def _base(reader: Reader, number: int, model: str) -> tuple[float | None, str]:
    found = base_hz(reader, number)
    if found[0]:
        return found
    stated = re.search(rf"@\s*({_DECIMAL})\s*([GM])Hz", model) or re.search(rf"\bCPU ({_DECIMAL})\s*([GM])Hz", model)
    if stated:
        return float(stated[1]) * (1e9 if stated[2] == "G" else 1e6), "in the model's name"
    folder = f"{_CPUS}/cpu{number}/cpufreq"
    driver = read_word(reader.door, f"{folder}/scaling_driver")
    if driver in ("acpi-cpufreq", "powernow-k8"):  # its highest P-state is the base clock; + 1 MHz stands for turbo
        steps = reader.numbers(f"{folder}/scaling_available_frequencies", _SLOWEST_KHZ, _FASTEST_KHZ)
        steps = tuple(step for step in steps if step % 10_000 != 1_000)
        if steps:
            return max(steps) * 1e3, f"highest state of {driver}"
    return None, ""


def _time_stamp_counter_hz(fields: Mapping[str, str]) -> float | None:
    """Half the BogoMIPS is the rate of the time-stamp counter where the delay loop is timed by it."""
    match = re.fullmatch(_DECIMAL, fields.get("bogomips", ""))
    if match is None or not {"constant_tsc", "nonstop_tsc"} & set(fields.get("flags", "").split()):
        return None
    mega = float(match[0]) / 2
    return round(mega) * 1e6 if 100 <= mega <= _FASTEST_KHZ / 1e3 else None
