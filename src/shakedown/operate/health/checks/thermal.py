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
    seen = _Sensors(senses, plan)
    for folder, chip in _chips(senses):
        for name in senses.names(folder):
            if found := re.fullmatch(r"((temp|fan)\d+)_input", name):
                label = f"{chip} {senses.word(f'{folder}/{found[1]}_label') or found[1]}"
                if label not in plan.ignore:
                    seen.count += 1
                    judge = seen.temperature if found[2] == "temp" else seen.fan
                    judge(f"{folder}/{found[1]}", label)
    zones = [name for name in senses.names(_ZONES) if name.startswith("thermal_zone")]
    for name in zones:
        kind = senses.word(f"{_ZONES}/{name}/type") or name
        if not seen.count and kind not in plan.ignore:  # zones repeat what hwmon shows
            seen.zone(f"{_ZONES}/{name}", f"{name} {kind}")
    findings = seen.findings
    grown = Counters(look.kept, look.now_s, HOUR_S)
    slowed = _throttles(senses)
    for kind, value in slowed.items():
        growth = grown.grown(kind, value)
        what = f"times that a {kind} was slowed {growth.words(HOUR_S)}"
        findings.append(at_most("thermal", what, growth.within, plan.throttles, None, _ACTION, item=kind))
    if not seen.count and not zones and not slowed:
        return Outcome(absent="the kernel shows no temperature (no hwmon, no thermal zone)")
    if not seen.count and not zones:
        what = (
            "no temperature is watched: the kernel counts slowed cores, and shows no sensor (no hwmon, no thermal zone)"
        )
        action = "load the sensors' driver (coretemp, k10temp, ipmi_si); sensors-detect finds it"
        findings.append(unknown("thermal", what, item="temperatures", action=action))
    hot = [one for one in seen.metrics if one.name == "temperature_celsius"]
    if hot and all(one.severity == "OK" for one in findings):
        most = max(hot, key=lambda one: one.value)
        what = f"{len(hot)} temperatures, the highest {most.value:g} degC ({most.labels['sensor']})"
        findings.append(Finding(check="thermal", item="temperatures", what=what, value=most.value, unit="degC"))
    return Outcome(findings=tuple(findings), metrics=tuple(seen.metrics), kept=grown.kept)


def _chips(senses: NodeAccess) -> list[tuple[str, str]]:
    """Folder and shown name of each chip; two of one name are told apart by the device behind them."""
    found = [(f"{_HWMON}/{one}", senses.word(f"{_HWMON}/{one}/name") or one) for one in senses.names(_HWMON)]
    names = [name for _, name in found]
    return [(folder, f"{name} {folder.rsplit('/', 1)[1]}" if names.count(name) > 1 else name) for folder, name in found]


class _Sensors:
    """Judges one sensor after the other; what is wrong with them, and what they show."""

    def __init__(self, senses: NodeAccess, plan: ThermalConfig) -> None:
        self._senses, self._plan = senses, plan
        self.findings: list[Finding] = []
        self.metrics: list[Metric] = []
        self.count = 0  # of hwmon

    def _celsius(self, path: str) -> float | None:
        value = self._senses.number(path)
        return None if value is None else value / 1000

    def _raised(self, *flags: str) -> bool:
        return any(self._senses.word(flag) == "1" for flag in flags)

    def _unknown(self, label: str, what: str, action: str = "") -> None:
        self.findings.append(unknown("thermal", what, item=label, action=action))

    def temperature(self, base: str, label: str) -> None:
        try:
            value, limit = self._celsius(f"{base}_input"), self._celsius(f"{base}_crit")
            if limit is None or limit <= 0:
                limit = self._celsius(f"{base}_max")
            alarm = self._raised(f"{base}_crit_alarm", f"{base}_fault")
        except OSError as error:
            self._unknown(label, f"the sensor gives an error: {refused(error)}", _ACTION)
        except ValueError as error:
            self._unknown(label, f"the sensor gives no number: {error}")
        else:
            self._judge(value, limit, alarm, label)

    def _judge(self, value: float | None, limit: float | None, alarm: bool, label: str) -> None:
        if value is None or not _LEAST <= value <= _MOST:
            text = "nothing" if value is None else f"{value:g} degC, which cannot be"
            self._unknown(label, f"the sensor shows {text}", "have the sensor looked at")
            return
        limit = limit if limit is not None and 30 < limit <= _MOST else None
        warning = None if limit is None else limit - self._plan.margin_c
        warn, crit = ("" if one is None else f"{one:g}" for one in (warning, limit))
        words = "Temperatures of the node."
        self.metrics.append(Metric("temperature_celsius", value, {"sensor": label}, words, warn=warn, crit=crit))
        one = at_most("thermal", "temperature", value, warning, limit, _ACTION, item=label, unit="degC")
        if alarm and one.severity != "CRITICAL":
            one = wrong("thermal", label, f"the sensor raises its alarm at {value:g} degC", _ACTION, value=value)
        if one.severity != "OK":
            self.findings.append(one)

    def fan(self, base: str, label: str) -> None:
        try:
            value, least = self._senses.number(f"{base}_input"), self._senses.number(f"{base}_min") or 0
            alarm = self._raised(f"{base}_alarm", f"{base}_fault")
        except (OSError, ValueError) as error:
            self._unknown(label, f"the fan's sensor gives an error: {error}")
            return
        if value is None:
            return
        self.metrics.append(Metric("fan_rpm", value, {"fan": label}, "Speeds of fans."))
        if alarm or value < least:  # a fan that stands still may have no fan behind it: only its own limit judges
            what = f"the fan turns at {value} rpm" + (", and raises its alarm" if alarm else "")
            limit = f">= {least} rpm"
            self.findings.append(wrong("thermal", label, what, "replace the fan", value=value, limit=limit))

    def zone(self, folder: str, label: str) -> None:
        try:
            value, limit = self._celsius(f"{folder}/temp"), None
            for number in range(12):
                kind = self._senses.word(f"{folder}/trip_point_{number}_type")
                if kind is None:
                    break
                if kind == "critical":
                    limit = self._celsius(f"{folder}/trip_point_{number}_temp")
        except (OSError, ValueError) as error:
            self._unknown(label, f"the zone gives an error: {error}")
            return
        self._judge(value, limit, False, label)


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
