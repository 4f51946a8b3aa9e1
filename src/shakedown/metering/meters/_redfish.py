"""What Redfish resources say of power: pure functions from a resource to the places in it that are read.

Schemas: DSP8010; Power 1.7, EnvironmentMetrics 1.4, Sensor 1.10, MetricReport 1.5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import times
from . import Accuracy, Channel, Place, Quantity, Scope, Status

_KWH = 3.6e6
#: ReadingUnits (UCUM) -> quantity, SI unit, factor.
_UNITS: dict[str, tuple[Quantity, str, float]] = {
    "W": ("power", "W", 1.0),
    "kW": ("power", "W", 1e3),
    "J": ("energy", "J", 1.0),
    "kW.h": ("energy", "J", _KWH),
    "W.h": ("energy", "J", 3600.0),
}
_COMPONENTS = {"CPU", "CPUSubsystem", "GPU", "GPUSubsystem", "Memory", "MemorySubsystem", "Accelerator", "ASIC", "Fan"}
_COMPONENTS |= {"StorageDevice", "StorageSubsystem", "NetworkingDevice", "VoltageRegulator", "Pump"}
_GONE = {"Absent", "Disabled", "UnavailableOffline", "Deferring"}


class Spot(NamedTuple):
    """Where in which resource a value lies, and the channel that it makes."""

    path: str
    keys: tuple[str | int, ...]
    channel: Channel
    scale: float = 1.0
    stamp: str = ""  # key of the device's stamp
    never_negative: bool = False  # a consumption: below zero is a sentinel
    source: str = ""  # the sensor that the value is copied from
    metric: str = ""  # of a report: MetricId, and
    property: str = ""  # MetricProperty


def number(raw: Any) -> float | None:
    """A finite JSON number, or a text that is one; None for all else, true and false included."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def duration_s(raw: Any) -> float | None:
    """An ISO 8601 duration ("PT1.5S", "P1DT2H") in seconds; None for all else."""
    found = (
        re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", raw)
        if isinstance(raw, str)
        else None
    )
    if found is None or not any(found.groups()):
        return None
    return sum(float(part or 0) * size for part, size in zip(found.groups(), (86400, 3600, 60, 1), strict=True))


def device_ns(raw: Any) -> int | None:
    """An ISO 8601 time with its offset from UTC, in Unix nanoseconds; None without an offset, or before the year 2000."""
    if not isinstance(raw, str):
        return None
    moment = times.iso(raw)
    if moment is None or moment.tzinfo is None or moment.year < 2000:  # a clock that was never set says 1970
        return None
    return times.unix_ns(moment)


def status_of(body: Any, keys: Sequence[str | int]) -> tuple[Status, Any]:
    """The raw value at ``keys`` of a resource, with the status that the resource and the value give it."""
    state = body.get("Status") if isinstance(body, dict) else None
    if isinstance(state, dict) and state.get("State") in _GONE:
        return Status.UNSUPPORTED, None
    for key in keys:
        try:
            body = body[key]
        except (KeyError, IndexError, TypeError):
            return Status.UNSUPPORTED, None
    return (Status.UNSUPPORTED, None) if body is None else (Status.OK, body)


def found_in_chassis(path: str, body: Any, name: str, common: dict[str, Any]) -> list[Spot]:
    """The values of a Power or EnvironmentMetrics resource."""
    spots: list[Spot] = []
    for index, control in enumerate(dicts(body.get("PowerControl"))):
        if "PowerConsumedWatts" in control:
            spots += _control(path, index, control, name, common)
    for key, what in (("PowerWatts", "power-metrics"), ("EnergykWh", "energy"), ("EnergyJoules", "energy")):
        excerpt = body.get(key)
        if isinstance(excerpt, dict) and "Reading" in excerpt and not (key == "EnergyJoules" and "EnergykWh" in body):
            spots.append(_excerpt(path, key, excerpt, f"redfish/{name}/{what}", common))
    return spots


def _control(path: str, index: int, control: Any, name: str, common: dict[str, Any]) -> list[Spot]:
    title = str(control.get("Name") or "power")
    part = f"redfish/{name}" + (f"/control-{index}" if index else "")
    note = "the controller's own average over a window that it does not report"
    about: dict[str, Any] = {"quantity": "power", "unit": "W", "scope": "last", **common}
    whole = isinstance(control["PowerConsumedWatts"], int)
    at = ("PowerControl", index)
    first = Channel(
        id=f"{part}/power",
        title=f"{title}, PowerConsumedWatts",
        note=note,
        resolution=1.0 if whole else None,
        full_scale=number(control.get("PowerCapacityWatts")) or None,
        **about,
    )
    spots = [Spot(path, (*at, "PowerConsumedWatts"), first, never_negative=True)]
    metrics = control.get("PowerMetrics")
    minutes = number(metrics.get("IntervalInMin")) if isinstance(metrics, dict) else None
    if isinstance(metrics, dict) and minutes and number(metrics.get("AverageConsumedWatts")) is not None:
        average = Channel(
            id=f"{part}/average",
            title=f"{title}, mean of {minutes:g} min",
            window_s=minutes * 60,
            note="a mean of whole minutes: for cross-checks, not for short runs",
            **about,
        )
        spots.append(Spot(path, (*at, "PowerMetrics", "AverageConsumedWatts"), average, never_negative=True))
    return spots


def _excerpt(path: str, key: str, excerpt: Any, identity: str, common: dict[str, Any]) -> Spot:
    energy = key != "PowerWatts"
    scale = _KWH if key == "EnergykWh" else 1.0
    channel = Channel(
        id=identity,
        title=f"{path.rpartition('/')[2]}, {key}",
        quantity="energy" if energy else "power",
        unit="J" if energy else "W",
        scope="counter" if energy else "last",
        note="kWh with few decimals: 0.001 kWh is 3.6 kJ" if key == "EnergykWh" else "",
        resolution=_step(excerpt["Reading"], scale) if energy else None,
        **common,
    )
    return Spot(
        path, (key, "Reading"), channel, scale, never_negative=True, source=str(excerpt.get("DataSourceUri", ""))
    )


def _step(reading: Any, scale: float) -> float | None:
    """The step that the decimals of a printed number show: 90.466 -> 0.001. None where it may be finer by chance."""
    text = repr(reading) if isinstance(reading, float) else str(reading)
    decimals = len(text.partition(".")[2]) if "e" not in text else 0
    return scale * 10.0**-decimals if 1 <= decimals <= 6 else None


def sensor_spots(path: str, body: Any, name: str, common: dict[str, Any], *, whole: bool = False) -> list[Spot]:
    """The values of a Sensor of watts or energy; none for any other resource. ``whole``: it sees the whole chassis."""
    unit = _UNITS.get(str(body.get("ReadingUnits", "")))
    if unit is None or "Reading" not in body:
        return []
    quantity, si, scale = unit
    energy = quantity == "energy"
    own = str(body.get("Id") or path.rsplit("/", 1)[-1]).lower().replace(" ", "-")
    identity = f"redfish/{name}/{quantity}-{own}" if whole else f"redfish/{name}/{own}/{quantity}"
    title = str(body.get("Name") or own)
    averages = duration_s(body.get("AveragingInterval"))
    about: dict[str, Any] = {
        **common,
        "place": _place(body, common["place"]),
        "refresh_s": duration_s(body.get("SensingInterval")),
        "accuracy": _accuracy(body),
        "full_scale": _scaled(body.get("ReadingRangeMax"), scale),
    }
    scope: Scope = "counter" if energy else "point"
    main = Channel(
        id=identity, title=title, quantity=quantity, unit=si, scope=scope, resolution=_precision(body, scale), **about
    )
    spots = [Spot(path, ("Reading",), main, scale, "ReadingTime")]
    if averages and not energy and number(body.get("AverageReading")) is not None:
        mean = Channel(
            id=f"redfish/{name}/average-{own}" if whole else f"redfish/{name}/{own}/average",
            title=f"{title}, mean of {averages:g} s",
            quantity=quantity,
            unit=si,
            scope="last",
            window_s=averages,
            **about,
        )
        spots.append(Spot(path, ("AverageReading",), mean, scale, "ReadingTime"))
    return spots


def _scaled(raw: Any, scale: float) -> float | None:
    value = number(raw)
    return value * scale if value is not None and value > 0 and math.isfinite(value) else None


def _precision(body: Any, scale: float) -> float | None:
    """Precision counts the significant digits of a reading, which says no step; whole numbers do."""
    return scale if isinstance(body.get("Reading"), int) and scale > 1 else None


def _accuracy(body: Any) -> Accuracy | None:
    percent = number(body.get("Accuracy"))
    measured = body.get("ReadingAccuracy")
    if percent is not None and percent > 0:
        return Accuracy(reading=percent / 100, source="Redfish Sensor.Accuracy")
    absolute = number(measured)
    if absolute is not None and absolute > 0:
        return Accuracy(absolute=absolute, source="Redfish Sensor.ReadingAccuracy")
    return None


def _place(body: Any, otherwise: Place) -> Place:
    context = str(body.get("PhysicalContext", ""))
    if context in _COMPONENTS:
        return "component"
    if context == "PowerOutlet" or context == "PowerSupply":
        return "board" if body.get("PhysicalSubContext") == "Output" and context == "PowerSupply" else otherwise
    return otherwise


def report_spots(path: str, report: Any, units: dict[str, str], common: dict[str, Any]) -> list[Spot]:
    """The metrics of a report that are power or energy by their definition's unit or by the name of their property."""
    spots: dict[tuple[str, str], Spot] = {}
    for value in dicts(report.get("MetricValues")):
        metric, where = str(value.get("MetricId", "")), str(value.get("MetricProperty", ""))
        unit = _UNITS.get(units.get(metric, "")) or _by_name(f"{metric} {where}")
        if unit is None or (metric, where) in spots:
            continue
        quantity, si, scale = unit
        channel = Channel(
            id=f"redfish/report/{metric or where.rpartition('/')[2]}",
            title=f"{metric} {where}".strip(),
            quantity=quantity,
            unit=si,
            scope="counter" if quantity == "energy" else "last",
            note=f"MetricReport {report.get('Id', '')}",
            **common,
        )
        spots[metric, where] = Spot(path, (), channel, scale, metric=metric or where, property=where)
    return list(spots.values())


def _by_name(text: str) -> tuple[Quantity, str, float] | None:
    if re.search(r"(kWh|EnergykWh)\b", text):
        return _UNITS["kW.h"]
    if re.search(r"Joules\b", text):
        return _UNITS["J"]
    return _UNITS["W"] if re.search(r"Watts\b(?!.*Limit)", text) else None


def new_values(spot: Spot, report: Any, after_ns: int) -> list[tuple[int | None, float | None, Status]]:
    """The values of one metric with a stamp after ``after_ns``, in order of time."""
    out: list[tuple[int | None, float | None, Status]] = []
    for value in dicts(report.get("MetricValues") if isinstance(report, dict) else None):
        where = str(value.get("MetricProperty", ""))
        if (str(value.get("MetricId", "")) or where) != spot.metric or where != spot.property:
            continue
        stamp = device_ns(value.get("Timestamp") or report.get("Timestamp"))
        if stamp is not None and stamp <= after_ns:
            continue
        found = number(value.get("MetricValue"))
        good = found is not None and math.isfinite(found)
        out.append(
            (stamp, found * spot.scale if good and found is not None else None, Status.OK if good else Status.GAP)
        )
    return sorted(out, key=lambda one: one[0] or 0)


def dicts(raw: Any) -> list[Any]:
    """The objects of a JSON array; none where it is something else."""
    return [one for one in raw if isinstance(one, dict)] if isinstance(raw, list) else []
