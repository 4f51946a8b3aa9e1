"""Power, energy and temperature that the kernel's drivers show in /sys/class/hwmon.

``powerN_input`` is the power at a moment, ``powerN_average`` the mean over ``powerN_average_interval`` (the channel's
window), ``energyN_input`` a counter; files hold microwatts, microjoules and thousandths of a degree, which says nothing of
how finely the device measures (Linux, Documentation/hwmon/sysfs-interface.rst). What a chip measures, and where in the
power path, is known for those of the table below; for all others the driver's documentation says.

* ``power_meter`` (ACPI) is most often the node's input. On NVIDIA Grace its ``power1_oem_info`` names the rail: Module
  holds Grace and the GPU, Grace holds CPU and SysIO, each a mean over 50 ms; the kernel needs
  ``acpi_power_meter.force_cap_on=y`` to show them.
* A power supply (PMBus) gives "pin" at its input and "pout" behind it.
* ENODATA means that the driver has no value now (disabled, or a GPU that sleeps): UNSUPPORTED, never zero.
* One temperature a core is left out unless ``?cores=1``: reading it wakes every core, which the benchmark would feel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from ...errors import Unavailable, unknown
from ...hosts.access import HostAccess
from . import Accuracy, Channel, Meter, Place, Quantity, Sample, Scope, Source, Target
from ._local import FileSource, choice, folder, kernel, number, slug, text

ROOT = "/sys/class/hwmon"
_FILE = re.compile(r"(?P<stem>(?P<kind>power|energy|temp)\d+)_(?P<what>input|average)")
_KINDS: dict[str, tuple[Quantity, str, float]] = {
    "power": ("power", "W", 1e-6),
    "energy": ("energy", "J", 1e-6),
    "temp": ("temperature", "degC", 1e-3),
}


class Chip(NamedTuple):
    """What a driver's values stand for."""

    place: Place
    note: str = ""


#: Name of the chip -> what it measures. Kernel documentation, Documentation/hwmon/<driver>.rst.
CHIPS = {
    "power_meter": Chip("node", "ACPI power meter: most often the node's input; the board's maker says what it holds"),
    "amdgpu": Chip("component", "the GPU's package or board (label PPT), as its firmware averages it"),
    "amd_energy": Chip("component", "the driver adds the wraps up; socket and core counters of the processor, as RAPL"),
    "zenpower": Chip("component", "computed from the processor's regulator telemetry"),
    "fam15h_power": Chip("component", "the processor's own estimate"),
    "i915": Chip("component"),
    "xe": Chip("component"),
    "xgene": Chip("component"),
    "ina3221": Chip("board", "shunts on the board: the labels name the rails"),
    "ina2xx": Chip("board", "a shunt on the board"),
    "ibmpowernv": Chip("component", "IBM's on-chip controller; 'System' is the whole node behind its power supply"),
    "occ": Chip("component", "IBM's on-chip controller"),
    "coretemp": Chip("component"),
    "k10temp": Chip("component"),
}
_GRACE = re.compile(r"(Module|Grace|CPU|SysIO) Power Socket (\d+)", re.IGNORECASE)
_GRACE_WITHIN = {"grace": "module", "cpu": "grace", "sysio": "grace"}
_CORE = re.compile(r"Core \d+|Tccd\d+|Ecore\d+", re.IGNORECASE)


class Sensor(NamedTuple):
    """One file that holds a value."""

    path: str
    chip: str
    device: str  # what the chip's link `device` points to, or the folder's own name
    stem: str  # power1
    kind: str  # power, energy, temp
    what: str  # input, average
    label: str

    @property
    def at(self) -> str:
        """The path without ``_input``: to which ``_accuracy`` and such are added."""
        return self.path.rpartition("_")[0]


def sensors(door: HostAccess, root: str = ROOT) -> tuple[Sensor, ...]:
    """Every file that holds a power, an energy or a temperature. Drivers of before Linux 6.15 put those of the ACPI power
    meter into the folder ``device`` of the chip."""
    found = []
    for monitor in door.list(root):
        for at in (f"{root}/{monitor}", f"{root}/{monitor}/device"):
            files = [hit for name in door.list(at) if (hit := _FILE.fullmatch(name))]
            if not files:
                continue
            chip = text(door, f"{root}/{monitor}/name") or text(door, f"{at}/name") or monitor
            device = (door.link(f"{root}/{monitor}/device") or monitor).rstrip("/").rpartition("/")[2]
            for hit in sorted(files, key=lambda hit: (hit["kind"], int(re.sub(r"\D", "", hit["stem"])), hit["what"])):
                label = text(door, f"{at}/{hit['stem']}_label") or text(door, f"{at}/{hit['stem']}_oem_info")
                path = f"{at}/{hit[0]}"
                found.append(Sensor(path, chip, device, hit["stem"], hit["kind"], hit["what"], label))
            break
    return tuple(found)


def open_(target: Target, door: HostAccess) -> Source:
    """The sensors of this machine. Raises Unavailable where there are none of the kinds asked for."""
    root = folder(target, ROOT)
    cores = choice(target, "cores", "0", ("0", "1")) == "1"
    wanted = target.options.get("read", "power,energy,temperature").split(",")
    for word in wanted:
        if word not in ("power", "energy", "temperature"):
            raise unknown("quantity", word, ("power", "energy", "temperature"), where=str(target))
    found = [
        one
        for one in sensors(door, root)
        if _KINDS[one.kind][0] in wanted and (cores or not _CORE.fullmatch(one.label))
    ]
    if not found:
        raise Unavailable(
            f"no sensor of {' or '.join(wanted)} in {root}",
            where="hwmon",
            hint="sensors-detect (lm-sensors) names the kernel modules that this board needs; on Grace boot with "
            "acpi_power_meter.force_cap_on=y",
        )
    ids = _ids(found)
    channels = [_channel(door, one, ids[one.path], ids.values()) for one in found]
    return FileSource(door, channels, [one.path for one in found], [_KINDS[one.kind][2] for one in found])


def _ids(found: list[Sensor]) -> dict[str, str]:
    """Path -> id: ``hwmon/CHIP-LABEL/input``, with the device where a machine has several such chips, since the numbers of
    hwmon change from boot to boot."""

    def name(one: Sensor, chip: str, label: str) -> str:
        return f"hwmon/{chip}-{label}/{'average' if one.what == 'average' else _KINDS[one.kind][0]}"

    plain = {one.path: name(one, one.chip, slug(one.label) or one.stem) for one in found}
    counted = Counter(plain.values())
    crowded = {one.chip for one in found if counted[plain[one.path]] > 1}
    out: dict[str, str] = {}
    for one in found:
        key = plain[one.path]
        if one.chip in crowded:
            key = name(one, f"{one.chip}@{one.device}", slug(one.label) or one.stem)
        if key in out.values():  # two sensors of one chip with the same label
            key = name(one, f"{one.chip}@{one.device}", f"{slug(one.label)}-{one.stem}")
        if key in out.values():  # two chips without a device of their own
            key = name(one, f"{one.chip}@{one.path.split('/')[-2]}", one.stem)
        out[one.path] = key
    return out


def _channel(door: HostAccess, one: Sensor, key: str, known: Collection[str]) -> Channel:
    quantity, unit, _ = _KINDS[one.kind]
    chip = CHIPS.get(one.chip, Chip("component" if one.kind == "temp" else "board"))
    scope: Scope = "counter" if one.kind == "energy" else "last" if one.what == "average" else "point"
    interval_ms = number(door, f"{one.at}_average_interval") if one.what == "average" else None
    rated_uw = number(door, f"{one.at}_rated_max") if one.kind == "power" else None
    grace = _GRACE.fullmatch(one.label)
    place: Place = chip.place
    if grace:
        place = "board" if grace[1].lower() == "module" else "component"
    elif one.label.lower().startswith("pin"):
        place = "node"
    return Channel(
        id=key,
        title=f"{one.label or one.stem} of {one.chip} ({one.device})" + (", mean" if one.what == "average" else ""),
        quantity=quantity,
        unit=unit,
        scope=scope,
        place="component" if one.kind == "temp" else place,
        within=_within(key, one, grace, known),
        full_scale=rated_uw * 1e-6 if rated_uw else None,
        window_s=interval_ms * 1e-3 if interval_ms else None,
        accuracy=_accuracy(door, one) if one.kind == "power" else None,
        device=" ".join(filter(None, (one.chip, text(door, f"{one.at}_model_number"), one.device))),
        driver=f"Linux {kernel(door)}".strip(),
        note=_note(door, one, chip, grace),
    )


def _within(key: str, one: Sensor, grace: re.Match[str] | None, known: Collection[str]) -> str:
    """CPU and SysIO lie in Grace, Grace in Module; what a power supply puts out lies in what it takes; cores lie in the
    socket where there is one alone."""
    wider = ""
    if grace and grace[1].lower() in _GRACE_WITHIN:
        wider = key.replace(f"-{grace[1].lower()}-power", f"-{_GRACE_WITHIN[grace[1].lower()]}-power")
    elif one.label.lower().startswith("pout"):
        wider = re.sub(r"-pout\d*/", "-pin/", key)
    elif one.label.lower().startswith("ecore"):
        sockets = [other for other in known if other.startswith(f"hwmon/{one.chip}-esocket")]
        wider = sockets[0] if len(sockets) == 1 else ""
    return wider if wider in known else ""


def _accuracy(door: HostAccess, one: Sensor) -> Accuracy | None:
    """``powerN_accuracy`` in percent. ACPI states how right the meter is (95 %), others how wrong (5 %)."""
    try:
        percent = float(text(door, f"{one.at}_accuracy").rstrip("%"))
    except ValueError:
        return None
    wrong = 100 - percent if percent > 50 else percent
    return Accuracy(reading=wrong / 100, kind="bound", source=f"{one.stem}_accuracy = {percent:g} %") if wrong else None


def _note(door: HostAccess, one: Sensor, chip: Chip, grace: re.Match[str] | None) -> str:
    if one.kind == "temp":
        return ""
    notes = [
        "NVIDIA Grace, "
        + {"module": "Grace and GPU with their memories", "grace": "the CPU socket with its memory"}.get(
            grace[1].lower(), f"its {grace[1]} rail"
        )
        if grace
        else chip.note
    ]
    cap_uw = number(door, f"{one.at}_cap")
    if cap_uw and one.kind == "power":
        notes.append(f"power cap {cap_uw * 1e-6:g} W")
    if door.read(one.path) is None:
        notes.append(f"could not be read when it was opened; next: cat {one.path} says why")
    return "; ".join(filter(None, notes))


def find(door: HostAccess) -> tuple[Target, ...]:
    """hwmon where a sensor shows power or energy; temperatures alone are no meter."""
    return (Target(meter="hwmon"),) if any(one.kind != "temp" for one in sensors(door)) else ()


METER = Meter(
    name="hwmon",
    title="Sensors of the kernel's hwmon drivers",
    address="hwmon[:FOLDER][?read=power,energy,temperature][&cores=1]",
    open=open_,
    find=find,
    options={
        "read": "which quantities, separated by commas: power, energy, temperature (all)",
        "cores": "1: the temperature and energy of each core too",
    },
    poll_s=0.1,
    samples=(
        Sample(
            recording="meters/hwmon-grace-hopper",
            target="hwmon",
            expect={
                "hwmon/power_meter-module-power-socket-0/average": 412.345678,
                "hwmon/power_meter-grace-power-socket-0/average": 98.7,
                "hwmon/power_meter-cpu-power-socket-0/average": 52.1,
                "hwmon/power_meter-sysio-power-socket-0/average": "REFUSED",
            },
            source="made for this project, in the form of NVIDIA's Grace performance tuning guide, power telemetry",
        ),
        Sample(
            recording="meters/hwmon-epyc-mi250",
            target="hwmon?cores=1",
            expect={
                "hwmon/amd_energy-esocket0/energy": 123_456.789012,
                "hwmon/amd_energy-ecore000/energy": 17.5,
                "hwmon/amdgpu@0000:c1:00.0-ppt/average": 311.0,
                "hwmon/amdgpu@0000:c1:00.0-junction/temperature": 61.0,
                "hwmon/amdgpu@0000:c6:00.0-ppt/average": 298.0,
                "hwmon/psu-pin/power": 1402.0,
                "hwmon/psu-pout1/power": 1310.5,
            },
            source="made for this project, in the form of Linux, Documentation/hwmon",
        ),
    ),
)
