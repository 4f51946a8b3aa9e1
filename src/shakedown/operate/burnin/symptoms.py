"""Two looks at the machine -> symptoms: what rose, what was lost, what the kernel said meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...hosts.gpu_state import SLOWED, GpuState, slowed_words
from ..health import faults
from .monitor import Snapshot
from .records import NODE, BurninPlan, Figures, Range, Severity, Symptom

#: Replays of a PCI Express link between two looks, above which it is told.
_REPLAYS = 100
#: Of a device's best rate; below it for two minutes in a row it is told.
SLOW = 0.7
_DRAIN = "take the node out; `shakedown health` names the next step for this part"
_COOL = "check fans, filters, inlet temperature and the seat of the heat sink"


def symptoms(before: Snapshot, now: Snapshot, plan: BurninPlan) -> tuple[Symptom, ...]:
    """What became worse between two looks, each once."""
    return (*_kernel(now, plan), *_gpus(before, now, plan), *_node(before, now, plan), *_blind(before, now, plan))


def _one(now: Snapshot, device: str, kind: str, severity: Severity, what: str, action: str = "") -> Symptom:
    return Symptom(at_s=now.at_s, device=device, kind=kind, severity=severity, what=what, action=action)


def owner(plan: BurninPlan, item: str) -> str:
    """The device that a fault of the kernel's log is about; the node where it is none of ours."""
    pci = item.removeprefix("GPU ").lower()
    return next((one.id for one in plan.devices if one.pci and one.pci == pci), NODE)


def _kernel(now: Snapshot, plan: BurninPlan) -> Iterator[Symptom]:
    for one in faults.gather((), now.faults, now.at_s):
        rule = faults.rule_of(one)
        if rule.severity not in ("CRITICAL", "WARNING"):
            continue
        name = f"Xid {one.code}" if one.kind == "xid" else one.kind
        what = f"the kernel's log: {name}, {rule.meaning}" + (f", {one.lines} lines" if one.lines > 1 else "")
        yield Symptom(
            at_s=min(one.first_s, now.at_s),
            device=owner(plan, one.item),
            kind="kernel",
            severity="critical" if rule.severity == "CRITICAL" else "warning",
            what=f"{what}: {one.text}",
            action=rule.action,
        )


def _gpus(before: Snapshot, now: Snapshot, plan: BurninPlan) -> Iterator[Symptom]:
    if "gpus" in now.missing:
        return
    was = {one.pci or str(one.index): one for one in before.gpus if not one.lost}
    found = {one.pci or str(one.index): one for one in now.gpus}
    for key, old in was.items():
        device = owner(plan, old.pci)
        new = found.get(key)
        if new is None or new.lost:
            why = new.lost if new is not None else "the driver no longer shows it"
            yield _one(
                now, device, "lost", "critical", f"{old.label} does not answer: {why}", "switch the node off and on"
            )
        else:
            yield from _gpu(now, device, old, new)


def _gpu(now: Snapshot, device: str, old: GpuState, new: GpuState) -> Iterator[Symptom]:
    counts: tuple[tuple[str, Severity], ...] = (("uncorrected", "critical"), ("corrected", "warning"))
    for word, severity in counts:
        if (rise := _rise(getattr(old, word), getattr(new, word))) > 0:
            what = f"{new.label}: {rise} {word} ECC error{'s' if rise > 1 else ''} since the last reading"
            yield _one(now, device, f"ecc-{word}", severity, what, _DRAIN)
    slowed = new.slowed & ~old.slowed & sum(SLOWED)
    if slowed:
        hard = bool(slowed & ~0x20)  # what the hardware does by itself: heat at the chip, the power brake
        what = f"{new.label} is slowed: {slowed_words(slowed)}" + (
            f", at {new.temperature_c:g} degC" if new.temperature_c is not None else ""
        )
        yield _one(now, device, "slowed", "critical" if hard else "warning", what, _COOL)
    states: tuple[tuple[str, Severity, str], ...] = (
        ("remap_failed", "critical", "a row of its memory could not be remapped"),
        ("remap_pending", "warning", "a row remapping waits for a reset"),
        ("reset_required", "critical", "the driver requests a reset"),
    )
    for name, severity, what in states:
        if getattr(new, name) and not getattr(old, name):
            yield _one(now, device, name.replace("_", "-"), severity, f"{new.label}: {what}", _DRAIN)
    if (replays := _rise(old.replays, new.replays)) > _REPLAYS:
        what = f"{new.label}: {replays} replays of its PCI Express link since the last reading"
        yield _one(now, device, "pcie-replays", "warning", what, "reseat the card or its riser")


def _rise(old: int | None, new: int | None) -> int:
    """How much a count rose between two looks; 0 where one of them did not tell it: all of it may be old."""
    return 0 if old is None or new is None else new - old


def _node(before: Snapshot, now: Snapshot, plan: BurninPlan) -> Iterator[Symptom]:
    if "machine" in now.missing or "machine" in before.missing:
        return
    for module, (corrected, uncorrected) in now.memory.items():
        old = before.memory.get(module, (0, 0))
        if uncorrected > old[1]:
            what = f"memory {module}: {uncorrected - old[1]} uncorrected errors since the last reading"
            yield _one(now, NODE, "ecc-uncorrected", "critical", what, "replace this module")
        if corrected > old[0]:
            what = f"memory {module}: {corrected - old[0]} corrected errors since the last reading"
            yield _one(now, NODE, "ecc-corrected", "warning", what, "reseat this module; replace it if they go on")
    for name, word in (("MCE", "machine-check exceptions"), ("DFR", "deferred errors")):
        rise = now.machine_checks.get(name, 0) - before.machine_checks.get(name, 0)
        if rise > 0 and name in before.machine_checks:
            what = f"{rise} {word} since the last reading"
            yield _one(now, NODE, "machine-check", "critical", what, "ras-mc-ctl --errors names the part: replace it")
    by_cpu = {cpu: one.id for one in plan.devices for cpu in one.cpus}
    slowed: dict[str, int] = {}
    for cpu, count in now.throttles.items():
        rise = count - before.throttles.get(cpu, count)
        if rise > 0:
            device = by_cpu.get(cpu, NODE)
            slowed[device] = max(slowed.get(device, 0), rise)
    for device, rise in slowed.items():
        yield _one(now, device, "slowed", "warning", f"slowed {rise} times for heat since the last reading", _COOL)


def _blind(before: Snapshot, now: Snapshot, plan: BurninPlan) -> Iterator[Symptom]:
    """Parts that can be seen no more. A driver that told of GPUs and gives no answer now is the fault itself."""
    for part, why in now.missing.items():
        if part in before.missing:
            continue
        if part == "gpus" and before.gpus:
            for one in before.gpus:
                what = f"the driver of {one.label} does not answer: {why}"
                yield _one(now, owner(plan, one.pci), "driver", "critical", what, "switch the node off and on")
        else:
            yield _one(now, NODE, "unseen", "warning", f"{part} can no longer be watched: {why}", "see why")


def notes(first: Snapshot) -> tuple[str, ...]:
    """What was so at the start already, and what cannot be watched."""
    found = [f"not watched: {part}: {why}" for part, why in first.missing.items()]
    for one in first.gpus:
        if one.uncorrected:
            found.append(f"{one.label} had {one.uncorrected} uncorrected ECC errors before the start")
        if one.slowed & sum(SLOWED):
            found.append(f"{one.label} was slowed before the start: {slowed_words(one.slowed)}")
        if one.ecc is False:
            found.append(f"{one.label}: ECC is off, so its memory errors are seen by the patterns alone")
        if one.temperature_c is None and not one.lost:
            found.append(f"{one.label} reports no temperature: its heat is not monitored")
    if "machine" not in first.missing:
        found += [text for part, text in _UNWATCHED.items() if not getattr(first, part)]
    return tuple(found)


#: What it means that a part of a snapshot of the node is empty.
_UNWATCHED = {
    "heat_c": "no sensor of the node reports a temperature (hwmon): the heat of its processors is not monitored",
    "throttles": "the kernel does not count how often cores were slowed for heat: that is not watched",
    "memory": "no memory controller reports errors (EDAC): those of the host's memory are seen by the patterns alone",
}


def figures(now: Snapshot, plan: BurninPlan) -> dict[str, Figures]:
    """What the readings are now, of each device and of the node."""
    found: dict[str, dict[str, float]] = {NODE: {}}
    by_pci = {one.pci: one for one in now.gpus if not one.lost}
    for device in plan.devices:
        mine: dict[str, float | None] = {}
        gpu = by_pci.get(device.pci) if device.pci else None
        if gpu is not None:
            clock = now.gpu_hz.get(gpu.index)
            mine = {"temperature_c": gpu.temperature_c, "power_w": gpu.power_w, "clock_hz": clock}
        elif device.cpus:
            clocks = [now.cpu_hz[cpu] for cpu in device.cpus if cpu in now.cpu_hz]
            mine = {"clock_hz": max(clocks, default=None)}
        found[device.id] = {name: value for name, value in mine.items() if value is not None}
    if now.heat_c:
        found[NODE]["temperature_c"] = max(now.heat_c.values())
    for name, value in now.watts.items():
        found[NODE][f"{name} power_w"] = value
    watts = [one.power_w for one in by_pci.values() if one.power_w is not None]
    if watts:
        found[NODE]["gpus power_w"] = sum(watts)
    return {
        device: {name: Range(low=value, high=value) for name, value in values.items()}
        for device, values in found.items()
    }
