"""The clocks: base, highest, and the one that peaks are derived at, with what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..host import Door
from .kernel import read_int, read_word


class Clocks(NamedTuple):
    base_hz: float | None
    max_hz: float | None
    clock_hz: float | None
    basis: str


def clocks(door: Door, online: Sequence[int], fields: Mapping[str, str], model: str) -> Clocks:
    """The clocks of the first CPU that is online.

    ``fields`` are its lines of ``/proc/cpuinfo``. The base clock is what the kernel or the model's own name says it is;
    where neither does, peaks are derived at the rate of the time-stamp counter (on x86 with ``constant_tsc`` the base
    clock, unless a hypervisor scales it), else at the highest clock, else at the one of the moment, and say so.
    """
    folder = f"/sys/devices/system/cpu/cpu{online[0] if online else 0}"
    max_khz = read_int(door, f"{folder}/cpufreq/cpuinfo_max_freq")
    max_hz = max_khz * 1e3 if max_khz else None
    base_hz, source = _base(door, folder, fields, model)
    if base_hz:
        return Clocks(base_hz, max_hz, base_hz, f"base clock ({source})")
    tsc_hz = _time_stamp_counter_hz(fields)
    if tsc_hz:
        return Clocks(None, max_hz, tsc_hz, "rate of the time-stamp counter; the base clock is not shown")
    if max_hz:
        return Clocks(None, max_hz, max_hz, "highest clock (cpufreq cpuinfo_max_freq); the base clock is not shown")
    now = re.match(r"[\d.]+", fields.get("cpu MHz") or fields.get("clock") or "")
    if now and float(now[0]) > 0:
        return Clocks(
            None,
            None,
            float(now[0]) * 1e6,
            "clock in /proc/cpuinfo at the moment of reading; neither the base nor the highest clock is shown",
        )
    return Clocks(None, None, None, "")


def _base(door: Door, folder: str, fields: Mapping[str, str], model: str) -> tuple[float | None, str]:
    khz = read_int(door, f"{folder}/cpufreq/base_frequency")
    if khz:
        return khz * 1e3, "cpufreq base_frequency"
    mhz = read_int(door, f"{folder}/acpi_cppc/nominal_freq")
    if mhz:
        return mhz * 1e6, "ACPI CPPC nominal_freq"
    stated = re.search(r"@\s*([\d.]+)\s*([GM])Hz", model) or re.search(r"\bCPU ([\d.]+)\s*([GM])Hz", model)
    if stated:
        return float(stated[1]) * (1e9 if stated[2] == "G" else 1e6), "in the model's name"
    driver = read_word(door, f"{folder}/cpufreq/scaling_driver")
    if driver in ("acpi-cpufreq", "powernow-k8"):  # its highest P-state is the base clock; + 1 MHz stands for turbo
        steps = [
            int(word) for word in (read_word(door, f"{folder}/cpufreq/scaling_available_frequencies") or "").split()
        ]
        steps = [step for step in steps if step % 10_000 != 1_000]
        if steps:
            return max(steps) * 1e3, f"highest state of {driver}"
    return None, ""


def _time_stamp_counter_hz(fields: Mapping[str, str]) -> float | None:
    """Half the BogoMIPS is the rate of the time-stamp counter where the delay loop is timed by it."""
    match = re.fullmatch(r"[\d.]+", fields.get("bogomips", ""))
    if match is None or not {"constant_tsc", "nonstop_tsc"} & set(fields.get("flags", "").split()):
        return None
    mega = float(match[0]) / 2
    return round(mega) * 1e6 if mega >= 100 else None
