"""What else the machine did while a run was under way: read before and after, from /proc and /sys. Costs under 1 ms."""

from __future__ import annotations

from typing import NamedTuple

from ..records import Disturbance
from ..units import whole_number
from .access import HostAccess

_TICKS_PER_S = 100  # USER_HZ, fixed in the kernel's interface to user space on every Linux architecture in use


class DisturbanceWatch(NamedTuple):
    """The counters at the beginning."""

    load: float | None
    cpu_ticks: tuple[int, ...]  # user nice system idle iowait irq softirq steal, all CPUs together
    throttles: int | None
    swapped_pages: int | None

    @classmethod
    def begin(cls, door: HostAccess) -> DisturbanceWatch:
        return cls(_load(door), _cpu(door), _throttles(door), _swapped(door))

    def end(self, door: HostAccess, run_cpu_s: float) -> Disturbance:
        """The differences since the beginning. ``run_cpu_s`` is the run's own CPU time."""
        after = DisturbanceWatch.begin(door)
        steal = other = None
        if self.cpu_ticks and after.cpu_ticks:
            spent = [new - old for old, new in zip(self.cpu_ticks, after.cpu_ticks, strict=True)]
            total = sum(spent)
            if total > 0:
                steal = spent[7] / total
                busy = total - spent[3] - spent[4] - spent[7]
                other = max(0.0, busy - run_cpu_s * _TICKS_PER_S) / total
        return Disturbance(
            load_before=self.load,
            load_after=after.load,
            steal_fraction=steal,
            other_cpu_fraction=other,
            throttle_events=_difference(self.throttles, after.throttles),
            swap_pages=_difference(self.swapped_pages, after.swapped_pages),
            temperature_c=_temperature(door),
        )


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _load(door: HostAccess) -> float | None:
    text = door.read("/proc/loadavg")
    return float(text.split()[0]) if text else None


def _cpu(door: HostAccess) -> tuple[int, ...]:
    text = door.read("/proc/stat") or ""
    words = text.partition("\n")[0].split()
    return tuple(int(word) for word in words[1:9]) if len(words) >= 9 and words[0] == "cpu" else ()


def _throttles(door: HostAccess) -> int | None:
    """Thermal throttling events of the packages and cores; None where the kernel does not count them."""
    base = "/sys/devices/system/cpu"
    counts = [
        text
        for name in door.list(base)
        if name.startswith("cpu") and whole_number(name[3:]) is not None
        for text in [door.read(f"{base}/{name}/thermal_throttle/core_throttle_count")]
        if text
    ]
    return sum(int(text) for text in counts) if counts else None


#: Thermal zones of processors begin so; others are of boards, radios and batteries.
_PROCESSORS = ("x86_pkg_temp", "cpu", "soc", "acpitz")


def _temperature(door: HostAccess) -> float | None:
    """The hottest processor in degrees Celsius, from the kernel's thermal zones; None where it shows none of them."""
    base = "/sys/class/thermal"
    found: dict[str, list[float]] = {}
    for zone in door.list(base):
        kind = (door.read(f"{base}/{zone}/type") or "").strip() if zone.startswith("thermal_zone") else ""
        name = next((one for one in _PROCESSORS if kind.startswith(one)), None)
        milli = whole_number((door.read(f"{base}/{zone}/temp") or "").strip()) if name else None
        if name and milli is not None and 0 < milli < 150_000:
            found.setdefault(name, []).append(milli / 1000)
    return next((max(found[name]) for name in _PROCESSORS if name in found), None)


def _swapped(door: HostAccess) -> int | None:
    text = door.read("/proc/vmstat")
    if text is None:
        return None
    counts = dict(line.split() for line in text.splitlines() if line.startswith("pswp"))
    return int(counts.get("pswpin", 0)) + int(counts.get("pswpout", 0))
