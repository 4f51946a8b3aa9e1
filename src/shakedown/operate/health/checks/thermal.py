"""Temperatures, fans and slowed processors: every sensor against the limit that it states itself.

A sensor that gives an error or nonsense is UNKNOWN: it protects nothing. Slowing is counted by the kernel for each core
and package; the increase within an hour is judged.
"""

from __future__ import annotations

import re

from ....records import Record
from ....strict import NotNegative
from ..growth import HOUR_S, Counters
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome
from ..thresholds import at_most, refused, unknown, wrong

_HWMON, _ZONES, _CPU = "/sys/class/hwmon", "/sys/class/thermal", "/sys/devices/system/cpu"
#: What no part of a computer that answers can be, in degrees Celsius.
_LEAST, _MOST = -30.0, 150.0
_ACTION = "check fans, filters, inlet temperature and the seat of the heat sink"


class ThermalConfig(Record, frozen=True, kw_only=True):
    margin_c: NotNegative = 5.0  # warning so far below a sensor's critical limit
    throttles: int = 0  # within an hour, above which it is a warning
    ignore: tuple[str, ...] = ()  # sensors by their shown name: "coretemp Core 3"


def run(look: CheckContext) -> Outcome:
    senses, plan = look.senses, look.plan
    findings: list[Finding] = []
    metrics: list[Metric] = []
    sensors = 0
    for folder, chip in _chips(senses):
        names = senses.names(folder)
        for name in names:
            if found := re.fullmatch(r"(temp|fan)(\d+)_input", name):
                label = f"{chip} {_label(senses, folder, found[1] + found[2])}"
                if label in plan.ignore:
                    continue
                sensors += 1
                judge = _temperature if found[1] == "temp" else _fan
                judge(senses, f"{folder}/{found[1]}{found[2]}", label, plan, findings, metrics)
    zones = [name for name in senses.names(_ZONES) if name.startswith("thermal_zone")]
    for name in zones:
        kind = senses.word(f"{_ZONES}/{name}/type") or name
        if not sensors and kind not in plan.ignore:  # zones repeat what hwmon shows
            _zone(senses, f"{_ZONES}/{name}", f"{name} {kind}", plan, findings, metrics)
    grown = Counters(look.kept, look.now_s, HOUR_S)
    slowed = _throttles(senses)
    for kind, value in slowed.items():
        growth = grown.grown(kind, value)
        what = f"times that a {kind} was slowed {growth.words(HOUR_S)}"
        findings.append(at_most("thermal", what, growth.within, plan.throttles, None, _ACTION, item=kind))
    if not sensors and not zones and not slowed:
        return Outcome(absent="the kernel shows no temperature (no hwmon, no thermal zone)")
    if not sensors and not zones:
        what = (
            "no temperature is watched: the kernel counts slowed cores, and shows no sensor (no hwmon, no thermal zone)"
        )
        action = "load the sensors' driver (coretemp, k10temp, ipmi_si); sensors-detect finds it"
        findings.append(unknown("thermal", what, item="temperatures", action=action))
    hot = [one for one in metrics if one.name == "temperature_celsius"]
    if hot and all(one.severity == "OK" for one in findings):
        most = max(hot, key=lambda one: one.value)
        what = f"{len(hot)} temperatures, the highest {most.value:g} degC ({most.labels['sensor']})"
        findings.append(Finding(check="thermal", item="temperatures", what=what, value=most.value, unit="degC"))
    return Outcome(findings=tuple(findings), metrics=tuple(metrics), kept=grown.kept)


def _chips(senses: NodeAccess) -> list[tuple[str, str]]:
    """Folder and shown name of each chip; two of one name are told apart by the device behind them."""
    found = [(f"{_HWMON}/{one}", senses.word(f"{_HWMON}/{one}/name") or one) for one in senses.names(_HWMON)]
    names = [name for _, name in found]
    return [(folder, f"{name} {folder.rsplit('/', 1)[1]}" if names.count(name) > 1 else name) for folder, name in found]


def _label(senses: NodeAccess, folder: str, name: str) -> str:
    return senses.word(f"{folder}/{name}_label") or name


def _millidegrees(senses: NodeAccess, path: str) -> float | None:
    value = senses.number(path)
    return None if value is None else value / 1000


def _temperature(
    senses: NodeAccess, base: str, label: str, plan: ThermalConfig, findings: list[Finding], metrics: list[Metric]
) -> None:
    try:
        value = _millidegrees(senses, f"{base}_input")
        limit = _millidegrees(senses, f"{base}_crit")
        if limit is None or limit <= 0:
            limit = _millidegrees(senses, f"{base}_max")
        alarm = senses.word(f"{base}_crit_alarm") == "1" or senses.word(f"{base}_fault") == "1"
    except OSError as error:
        findings.append(unknown("thermal", f"the sensor gives an error: {refused(error)}", item=label, action=_ACTION))
        return
    except ValueError as error:
        findings.append(unknown("thermal", f"the sensor gives no number: {error}", item=label))
        return
    _judge(value, limit, alarm, label, plan, findings, metrics)


def _judge(
    value: float | None,
    limit: float | None,
    alarm: bool,
    label: str,
    plan: ThermalConfig,
    findings: list[Finding],
    metrics: list[Metric],
) -> None:
    if value is None or not _LEAST <= value <= _MOST:
        text = "nothing" if value is None else f"{value:g} degC, which cannot be"
        findings.append(unknown("thermal", f"the sensor shows {text}", item=label, action="have the sensor looked at"))
        return
    limit = limit if limit is not None and 30 < limit <= _MOST else None
    warning = None if limit is None else limit - plan.margin_c
    warn, crit = ("" if one is None else f"{one:g}" for one in (warning, limit))
    labels = {"sensor": label}
    metrics.append(Metric("temperature_celsius", value, labels, "Temperatures of the node.", warn=warn, crit=crit))
    one = at_most("thermal", "temperature", value, warning, limit, _ACTION, item=label, unit="degC")
    if alarm and one.severity != "CRITICAL":
        one = wrong("thermal", label, f"the sensor raises its alarm at {value:g} degC", _ACTION, value=value)
    if one.severity != "OK":
        findings.append(one)


def _fan(
    senses: NodeAccess, base: str, label: str, plan: ThermalConfig, findings: list[Finding], metrics: list[Metric]
) -> None:
    try:
        value = senses.number(f"{base}_input")
        least = senses.number(f"{base}_min") or 0
        alarm = senses.word(f"{base}_alarm") == "1" or senses.word(f"{base}_fault") == "1"
    except (OSError, ValueError) as error:
        findings.append(unknown("thermal", f"the fan's sensor gives an error: {error}", item=label))
        return
    if value is None:
        return
    metrics.append(Metric("fan_rpm", value, {"fan": label}, "Speeds of fans."))
    if alarm or value < least:  # a fan that stands still may have no fan behind it: only its own limit judges
        what = f"the fan turns at {value} rpm" + (", and raises its alarm" if alarm else "")
        findings.append(wrong("thermal", label, what, "replace the fan", value=value, limit=f">= {least} rpm"))


def _zone(
    senses: NodeAccess, folder: str, label: str, plan: ThermalConfig, findings: list[Finding], metrics: list[Metric]
) -> None:
    try:
        value = _millidegrees(senses, f"{folder}/temp")
        limit = None
        for number in range(12):
            kind = senses.word(f"{folder}/trip_point_{number}_type")
            if kind is None:
                break
            if kind == "critical":
                limit = _millidegrees(senses, f"{folder}/trip_point_{number}_temp")
    except (OSError, ValueError) as error:
        findings.append(unknown("thermal", f"the zone gives an error: {error}", item=label))
        return
    _judge(value, limit, False, label, plan, findings, metrics)


def _throttles(senses: NodeAccess) -> dict[str, int]:
    """How often cores and packages have been slowed for heat, summed; a package counts once by its first CPU."""
    found: dict[str, int] = {}
    packages: dict[str, int] = {}
    for name in senses.names(_CPU):
        if re.fullmatch(r"cpu\d+", name):
            folder = f"{_CPU}/{name}/thermal_throttle"
            core = senses.number(f"{folder}/core_throttle_count")
            if core is None:
                continue
            found["core"] = found.get("core", 0) + core
            package = senses.number(f"{folder}/package_throttle_count")
            if package is not None:
                socket = senses.word(f"{_CPU}/{name}/topology/physical_package_id") or "0"
                packages[socket] = max(packages.get(socket, 0), package)
    if packages:
        found["package"] = sum(packages.values())
    return found


CHECK = Check(name="thermal", title="Temperatures and fans", plan=ThermalConfig, run=run)
