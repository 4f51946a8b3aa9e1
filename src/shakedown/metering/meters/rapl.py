"""Energy of the processor from its own counters: Intel's and AMD's RAPL, through the kernel's powercap tree or perf events.

Each zone is a counter of joules that the processor advances about every millisecond and that wraps after 2^32 energy
units: at 350 W after 187 s (unit 15.26 uJ) or 749 s (61.04 uJ). The kernel shows the counter times its unit cut to whole
nanojoules, so the modulus is 2^32 of those: ``max_energy_range_uj`` and one unit more (Linux, intel_rapl_common.c).

* A package is one socket (or one die of it); core and uncore are parts of it. DRAM is beside it. psys is the board as its
  maker wired it; package and DRAM are parts of it, and what else it holds differs from board to board.
* The twin tree ``intel-rapl-mmio`` shows the same counters again and is left out where there is the first. On AMD's Zen 1
  and 2 each die shows the counter of the whole socket: a zone that stands and moves like its sibling is left out.
* On AMD the zone "core" is one single core, not all.
* What the power supply loses, fans, network, disks and GPUs are not in it: these values reach no EE HPC WG level.
* Since 2020 only root may read it (CVE-2020-8694, "Platypus"). What is refused is refused here, never zero.

``?via=perf`` counts the same by perf events (``perf_event_open`` on the PMU ``power``), which the kernel extends to 64
bits, so that no wrap is missed; it needs CAP_PERFMON or kernel.perf_event_paranoid at most 0.
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from ...errors import Unavailable
from ...hosts.access import HostAccess, LocalHost
from . import Channel, Meter, Sample, Source, Target, _perf
from ._local import Facts, FileSource, choice, folder, kernel, number, text

POWERCAP = "/sys/class/powercap"
EVENTS = _perf.FOLDER
_ZONE = re.compile(r"(?P<kind>[a-z-]*rapl[a-z-]*):\d+(?::\d+)?")
#: The counter has 32 bits, in the registers of Intel and AMD as the kernel reads them.
COUNTS = 2**32
#: A limit above this stands for "no limit".
_ABSURD_W = 2000.0
#: Where the kernel states no limit: more than any socket of today takes, and for psys more than any board.
_ASSUMED_W = 1000.0
_ASSUMED_BOARD_W = 4000.0
#: Short peaks pass the long-term limit.
_GENEROUS = 2.0
_REFUSED = (
    "only root may read it (CVE-2020-8694); next: run as root, or sudo chmod a+r {path} (until the next boot), or "
    "rapl?via=perf with CAP_PERFMON"
)
_NOTES = {
    "package": "the socket's own estimate or measurement, behind its voltage regulators",
    "psys": "the board as its maker wired it: what it holds differs; compare it with a meter outside before use",
    "dram": "beside the package, not in it",
}


class Zone(NamedTuple):
    """One zone of the powercap tree."""

    folder: str
    name: str  # as the kernel says: package-0, package-0-die-1, core, uncore, dram, psys
    parent: str  # folder of the zone that it lies in, or empty


def zones(door: HostAccess, root: str = POWERCAP) -> tuple[Zone, ...]:
    """The zones that have a counter. The twin tree (mmio) only where there is no other."""
    names = [name for name in door.list(root) if _ZONE.fullmatch(name)]
    own = [name for name in names if "mmio" not in name] or names
    found = []
    for name in own:
        at = f"{root}/{name}"
        if "energy_uj" in door.list(at):
            parent = name.rpartition(":")[0]
            found.append(Zone(at, text(door, f"{at}/name") or name, f"{root}/{parent}" if parent in own else ""))
    return tuple(found)


def unit_j(range_uj: int | None) -> float | None:
    """The energy unit from ``max_energy_range_uj`` = (2^32 - 1) units: in whole nanojoules, as the kernel reckons. None for
    a range that 32 bits of a unit between 1 nJ and 2 J cannot have."""
    if not range_uj or not COUNTS // 1000 <= range_uj <= 2 * COUNTS * 1_000_000:
        return None
    return round(range_uj * 1000 / (COUNTS - 1)) * 1e-9


def most_w(door: HostAccess, zone: str) -> float | None:
    """Twice the largest power limit of a zone's constraints, or None where none is stated."""
    stated = [
        number(door, f"{zone}/{name}")
        for name in door.list(zone)
        if re.fullmatch(r"constraint_\d+_(power_limit|max_power)_uw", name)
    ]
    real = [one * 1e-6 for one in stated if one and 0 < one * 1e-6 <= _ABSURD_W]
    return _GENEROUS * max(real) if real else None


def mirrors(door: HostAccess, found: tuple[Zone, ...]) -> dict[str, str]:
    """Zones of one socket's dies that show one counter, each with the zone that it repeats: both stand within a joule, and
    do so again 20 ms later."""
    groups: dict[str, list[Zone]] = {}
    for zone in found:
        if zone.name.startswith("package-"):
            groups.setdefault(zone.name.split("-die-")[0], []).append(zone)
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        return {}
    same: dict[str, str] = {}
    looks = []
    for turn in range(2):
        if turn:
            time.sleep(0.02)
        looks.append({zone.folder: number(door, f"{zone.folder}/energy_uj") for group in several for zone in group})
    for first, *rest in several:
        for zone in rest:
            pairs = [(look[first.folder], look[zone.folder]) for look in looks]
            if all(a and b and abs(a - b) <= 1_000_000 for a, b in pairs):
                same[zone.folder] = first.folder
    return same


def open_(target: Target, door: HostAccess) -> Source:
    """The counters of this machine's processors. Raises Unavailable where there are none."""
    if choice(target, "via", "powercap", ("powercap", "perf")) == "perf":
        return _perf.open_(door, folder(target, EVENTS), "rapl", _describe(door))
    root = folder(target, POWERCAP)
    found = zones(door, root)
    if not found:
        raise Unavailable(
            f"no RAPL zones in {root}",
            where="rapl",
            hint="modprobe intel_rapl_msr; a virtual machine shows none, and Arm and POWER processors have none (see hwmon)",
        )
    channels, paths = _channels(door, found)
    return FileSource(door, channels, paths, [1e-6] * len(paths))


def _describe(door: HostAccess) -> Facts:
    """Maker and model, microcode and kernel."""
    first = (door.read("/proc/cpuinfo") or "").partition("\n\n")[0]
    said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    microcode = said.get("microcode", "")
    return Facts(
        said.get("model name", ""), f"microcode {microcode}" if microcode else "", f"Linux {kernel(door)}".strip()
    )


def _channels(door: HostAccess, found: tuple[Zone, ...]) -> tuple[list[Channel], list[str]]:
    repeated = mirrors(door, found)
    facts = _describe(door)
    amd = "AMD" in facts.device
    kept = [zone for zone in found if zone.folder not in repeated and zone.parent not in repeated]
    ids = _ids(kept)
    board = next((ids[zone.folder] for zone in kept if zone.name.startswith("psys")), "")
    channels, paths = [], []
    for zone in kept:
        path = f"{zone.folder}/energy_uj"
        kind = zone.name.split("-")[0]
        limit = most_w(door, zone.folder) or (most_w(door, zone.parent) if zone.parent else None)
        assumed = _ASSUMED_BOARD_W if kind == "psys" else _ASSUMED_W
        range_uj = number(door, f"{zone.folder}/max_energy_range_uj")
        unit = unit_j(range_uj)
        channels.append(
            Channel(
                id=ids[zone.folder],
                title=f"RAPL {zone.name}" + (f" of {_name_of(zone.parent, kept)}" if zone.parent else ""),
                quantity="energy",
                unit="J",
                scope="counter",
                place="board" if kind == "psys" else "component",
                within=board if kind in ("package", "dram") else ids.get(zone.parent, ""),
                modulus=COUNTS * unit if unit else range_uj * 1e-6 if range_uj else None,
                resolution=unit,
                refresh_s=1e-3,
                most_w=limit or assumed,
                note="; ".join(_notes(door, zone, kind, amd, None if limit else assumed, path, repeated)),
                device=facts.device,
                firmware=facts.firmware,
                driver=facts.driver,
            )
        )
        paths.append(path)
    return channels, paths


def _notes(
    door: HostAccess, zone: Zone, kind: str, amd: bool, assumed: float | None, path: str, repeated: dict[str, str]
) -> list[str]:
    notes = [_NOTES[kind]] if kind in _NOTES else []
    if amd and kind == "core":
        notes.append("on AMD this is one single core, not all")
    if assumed:
        notes.append(f"no power limit is stated: {assumed:g} W assumed for telling wraps")
    notes += [
        f"{other.rpartition('/')[2]} repeats this counter and is left out"
        for other, first in repeated.items()
        if first == zone.folder
    ]
    if door.read(path) is None:
        notes.append(_REFUSED.format(path=path))
    return notes


def _name_of(parent: str, kept: list[Zone]) -> str:
    return next((zone.name for zone in kept if zone.folder == parent), parent.rpartition("/")[2])


def _ids(kept: list[Zone]) -> dict[str, str]:
    """Folder -> id: ``rapl/package-0``, ``rapl/package-0-core``; two zones of one name are told apart by their folder."""
    ids: dict[str, str] = {}
    for zone in kept:
        above = ids.get(zone.parent)
        name = f"{above}-{zone.name}" if above else f"rapl/{zone.name}"
        if name in ids.values():
            name = f"{name}@{zone.folder.rpartition('/')[2]}"
        ids[zone.folder] = name
    return ids


def find(door: HostAccess) -> tuple[Target, ...]:
    """RAPL where the machine has it: by perf events where powercap is refused and they are not."""
    found = zones(door)
    readable = any(door.read(f"{zone.folder}/energy_uj") is not None for zone in found)
    if not readable and isinstance(door, LocalHost) and _perf.allowed(door, EVENTS):
        return (Target(meter="rapl", options={"via": "perf"}),)
    return (Target(meter="rapl"),) if found else ()


METER = Meter(
    name="rapl",
    title="Processor energy counters (RAPL)",
    address="rapl[:FOLDER][?via=perf]",
    open=open_,
    find=find,
    options={"via": "powercap (files, the default) or perf (perf events, needs CAP_PERFMON)"},
    poll_s=0.1,
    least_poll_s=0.01,
    samples=(
        Sample(
            recording="meters/rapl-two-sockets",
            target="rapl",
            expect={
                "rapl/package-0": 128_123.456789,
                "rapl/package-0-dram": 65_000.000001,
                "rapl/package-1": 262_143.328850,
                "rapl/package-1-dram": "REFUSED",
            },
            source="made for this project, in the form of Linux, Documentation/power/powercap and intel_rapl_common.c",
        ),
        Sample(
            recording="meters/rapl-threadripper",
            target="rapl",
            expect={"rapl/package-0-die-0": 1_234.567890, "rapl/package-0-die-0-core": 34.0},
            source="made for this project: the zones of a Threadripper 1950X as in codecarbon's issue 1274",
        ),
        Sample(
            recording="meters/rapl-psys",
            target="rapl",
            expect={
                "rapl/package-0": 5000.0,
                "rapl/package-0-core": 4000.0,
                "rapl/package-0-uncore": 100.0,
                "rapl/psys": 9000.0,
            },
            source="made for this project: the zones of a laptop with psys and the twin tree intel-rapl-mmio",
        ),
    ),
)
