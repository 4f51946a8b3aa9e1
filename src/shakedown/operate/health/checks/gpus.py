"""NVIDIA's GPUs: all there, their PCI Express links, ECC, row remapping, slowing, NVLink, temperature and power.

Through the management library where it is installed, else `nvidia-smi -q -x`. A driver that hangs is critical and named
after a few seconds. The bus is counted besides: a GPU that the bus shows and the driver does not is ill, and one that the
plan counts and the bus does not show is gone. The generation of a link is judged only while the GPU works, since it falls
at rest; the width always, against the plan, else against what the GPU could have (a warning, as the slot may be narrower).
"""

from __future__ import annotations

from typing import Any

from ....hosts import nvidia, nvidia_smi
from ....hosts.gpu_state import SLOWED, GpuState, slowed_words, states
from ....records import Record
from ....strict import NotNegative
from ..exposure import GPU_BUSY
from ..growth import DAY_S, Counters
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome, Severity
from ..thresholds import at_least, at_most, check_bytes, equal, unknown, wrong

_NVIDIA = "0x10de"
_RESET = "drain; reset the GPU (nvidia-smi --gpu-reset -i ID)"
_POWER_CYCLE = "drain; switch the node off and on again"


class GpusConfig(Record, frozen=True, kw_only=True):
    count: int | None = None
    name: str | None = None
    memory: str | None = None  # "80 GiB", less 2 %
    driver: str | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    ecc: bool | None = None
    nvlinks: int | None = None  # up, of each GPU
    persistence: bool | None = None
    power_limit_w: float | None = None  # at least
    margin_c: NotNegative = 3.0  # warning so far below the temperature at which the hardware slows
    replays: int = 100  # of a PCI Express link within a day, above which it is a warning
    corrected: int = 1000  # ECC errors within a day, above which it is a warning

    def __post_init__(self) -> None:
        check_bytes(self.memory)


def run(look: CheckContext) -> Outcome:
    senses, plan = look.senses, look.plan
    on_bus = bus(senses)
    driver = senses.there("/proc/driver/nvidia/version")
    if not on_bus and not driver and not senses.which("nvidia-smi"):
        if plan.count:
            return Outcome(findings=(_count(0, plan.count, "the bus"),))
        return Outcome(absent="no NVIDIA GPU on the PCI bus and no driver of one")
    found, trouble = ask(senses)
    findings: list[Finding] = []
    if on_bus and plan.count is not None:
        findings.append(_count(len(on_bus), plan.count, "the bus"))
    if found is None:
        return Outcome(findings=(*findings, _silent(trouble, bool(on_bus), driver)))
    wanted = plan.count if plan.count is not None else len(on_bus) or None
    answering = [one for one in found if not one.lost]
    findings.append(_count(len(answering), wanted, "the driver"))
    grown = Counters(look.kept, look.now_s, DAY_S)
    for one in found:
        findings += judge(one, plan, grown)
    metrics = [metric for one in answering for metric in _metrics(one)]
    metrics.append(Metric("gpus", len(answering), help="GPUs that answer the driver."))
    return Outcome(
        findings=tuple(findings),
        metrics=tuple(metrics),
        kept=grown.kept,
        load=_load(answering, max(len(found), len(on_bus), plan.count or 0)),
        learnt=_learnt(answering),
    )


def bus(senses: NodeAccess) -> list[str]:
    """The addresses of NVIDIA's display, 3D and accelerator devices."""
    folder = "/sys/bus/pci/devices"
    found = []
    for name in senses.names(folder):
        kind = (senses.word(f"{folder}/{name}/class") or "")[:6]
        if senses.word(f"{folder}/{name}/vendor") == _NVIDIA and kind in ("0x0300", "0x0302", "0x0380", "0x1200"):
            found.append(name)
    return found


def ask(senses: NodeAccess) -> tuple[tuple[GpuState, ...] | None, str]:
    """The GPUs, or None and why nobody tells of them."""
    reasons = []
    nvml = senses.nvml()
    if nvml is not None:
        try:
            senses.note("nvmlInit")
            nvml.nvmlInit()
            return states(nvidia.driver(nvml, senses.note, whole=False)), ""
        except nvml.NVMLError as error:
            reasons.append(f"NVML: {error}")
    if senses.which(nvidia_smi.COMMAND[0]):
        said = senses.run(nvidia_smi.COMMAND)
        if said.ok:
            return states(nvidia_smi.parse(said.out)), ""
        why = nvidia_smi.EXIT_CODES.get(said.code or 0) or (said.err or said.out).strip() or "no answer"
        reasons.append(f"nvidia-smi: {why.splitlines()[-1]}")
    return None, "; ".join(reasons) or "neither nvidia-ml-py nor nvidia-smi is installed"


def _silent(why: str, on_bus: bool, driver: bool) -> Finding:
    """GPUs that nobody tells of: broken where the driver is loaded, not looked at where we lack the means."""
    if "is installed" in why or "permission" in why.lower():
        return unknown("gpus", why, item="driver", action="install nvidia-ml-py or nvidia-smi; run the check as root")
    what = f"the driver is {'loaded and does not answer' if driver else 'not loaded'}: {why}"
    action = _POWER_CYCLE if driver else "modprobe nvidia; see the kernel's log for why it was not loaded"
    return wrong("gpus", "driver", what, action, severity="CRITICAL" if on_bus or driver else "UNKNOWN")


def _count(there: int, wanted: int | None, who: str) -> Finding:
    action = f"{_POWER_CYCLE}; if it is still missing, reseat or replace it"
    return equal("gpus", f"GPUs that {who} shows", there, wanted, action, item=f"count by {who}")


def judge(one: GpuState, plan: GpusConfig, grown: Counters) -> list[Finding]:
    """What is wrong with one GPU, or one finding that says that nothing is."""
    if one.lost:
        action = _RESET if "reset" in one.lost.lower() else _POWER_CYCLE
        return [wrong("gpus", one.label, f"does not answer: {one.lost}", action)]
    found = [*_as_planned(one, plan), *_link(one, plan, grown), *_memory(one, plan, grown), *_heat(one, plan)]
    if one.reset_required:
        found.append(_ill(one, "reset", "CRITICAL", "the driver requests a reset", _RESET))
    ill = [finding for finding in found if finding.severity != "OK"]
    if ill:
        return ill
    shown = [
        one.name,
        f"PCIe {one.generation} x{one.width}" if one.width else "",
        f"{one.temperature_c:g} degC" if one.temperature_c is not None else "",
        f"{one.power_w:.0f} W" if one.power_w is not None else "",
    ]
    return [Finding(check="gpus", item=one.label, what=", ".join(filter(None, shown)))]


def _ill(one: GpuState, part: str, severity: Any, what: str, action: str, value: int | float | None = None) -> Finding:
    return wrong("gpus", f"{one.label} {part}", what, action, severity=severity, value=value)


def _as_planned(one: GpuState, plan: GpusConfig) -> list[Finding]:
    found = []
    rows: tuple[tuple[str, str | bool | None, str | bool | None, Severity, str], ...] = (
        ("name", one.name, plan.name, "CRITICAL", "this is another GPU than planned: see what was exchanged"),
        ("driver", one.driver, plan.driver, "WARNING", "install the planned driver when the node is empty"),
        ("ECC", one.ecc, plan.ecc, "CRITICAL", "nvidia-smi -e 1, then a reset, when the node is empty"),
        ("persistence", one.persistence, plan.persistence, "WARNING", "start nvidia-persistenced"),
    )
    for part, value, wanted, severity, action in rows:
        if wanted is not None:
            shown = None if value is None or value == "" else str(value)
            item, why = f"{one.label} {part}", "the driver does not say"
            found.append(equal("gpus", part, shown, str(wanted), action, item=item, severity=severity, why=why))
    if plan.memory is not None:
        from ....units import parse_bytes

        limit = parse_bytes(plan.memory) * 0.98
        item = f"{one.label} memory"
        found.append(at_least("gpus", "memory", one.memory_bytes, None, limit, _RESET, item=item, unit="B"))
    if plan.power_limit_w is not None:
        item, limit = f"{one.label} power limit", plan.power_limit_w
        action = f"nvidia-smi -pl {limit:g}"
        found.append(at_least("gpus", "power limit", one.power_limit_w, limit, None, action, item=item, unit="W"))
    return found


def _link(one: GpuState, plan: GpusConfig, grown: Counters) -> list[Finding]:
    action = "drain; reseat the GPU or its riser"
    found = []
    if plan.pcie_width is not None:
        item = f"{one.label} PCIe width"
        found.append(equal("gpus", "PCIe lanes", one.width, plan.pcie_width, action, item=item))
    elif one.width and one.width_max and one.width < one.width_max:
        what = f"{one.width} PCIe lanes of {one.width_max}, and no plan says that the slot is narrower"
        found.append(_ill(one, "PCIe width", "WARNING", what, action, one.width))
    wanted = plan.pcie_generation or one.generation_max
    if one.generation and wanted and one.generation < wanted and (one.busy or 0) >= GPU_BUSY:
        what = f"PCIe generation {one.generation} of {wanted} at work"
        severity = "CRITICAL" if plan.pcie_generation else "WARNING"
        found.append(_ill(one, "PCIe generation", severity, what, action, one.generation))
    if one.replays is not None:
        growth = grown.grown(f"{one.pci} replays", one.replays)
        what, item = f"PCIe replays {growth.words(DAY_S)}", f"{one.label} PCIe replays"
        found.append(at_most("gpus", what, growth.within, plan.replays, None, action, item=item))
    if plan.nvlinks is not None:
        item = f"{one.label} NVLink"
        action = "drain; nvidia-smi nvlink -s shows which; reset all GPUs, then reseat the bridge"
        found.append(equal("gpus", "NVLinks up", one.links_up, plan.nvlinks, action, item=item))
    elif one.links_up and one.links and one.links_up < one.links:
        what = f"{one.links_up} of {one.links} NVLinks are up, and no plan says how many should be"
        found.append(_ill(one, "NVLink", "WARNING", what, "nvidia-smi nvlink -s shows which", one.links_up))
    return found


def _memory(one: GpuState, plan: GpusConfig, grown: Counters) -> list[Finding]:
    found = []
    if one.uncorrected:
        what = f"{one.uncorrected} uncorrected ECC errors since the driver was loaded"
        found.append(_ill(one, "ECC uncorrected", "CRITICAL", what, _RESET, one.uncorrected))
    if one.corrected is not None:
        growth = grown.grown(f"{one.pci} corrected", one.corrected)
        what, item = f"corrected ECC errors {growth.words(DAY_S)}", f"{one.label} ECC corrected"
        action = "watch it; field diagnostic when the node is next empty"
        found.append(at_most("gpus", what, growth.within, plan.corrected, None, action, item=item))
    if one.remap_failed:
        action = "drain; its spare rows are used up: replace the GPU"
        found.append(_ill(one, "row remap", "CRITICAL", "a row of its memory could not be remapped", action))
    if one.remap_pending:
        what = "a row remapping (page retirement) waits for a reset"
        found.append(_ill(one, "row remap pending", "WARNING", what, "reset the GPU when the node is next empty"))
    if one.retired is not None and one.retired >= 60:
        # NVIDIA exchanges a GPU from 60 retired pages on (Dynamic Page Retirement, RMA policy).
        action = "drain; have the GPU exchanged"
        found.append(_ill(one, "retired pages", "CRITICAL", f"{one.retired} pages are retired", action, one.retired))
    return found


def _heat(one: GpuState, plan: GpusConfig) -> list[Finding]:
    found = []
    action = "check fans, filters, inlet temperature and the other GPUs of the node"
    if one.slowed & sum(SLOWED):
        severity = "WARNING" if not one.slowed & 0xC0 else "CRITICAL"
        found.append(_ill(one, "slowed", severity, f"is slowed: {slowed_words(one.slowed)}", action, one.slowed))
    item = f"{one.label} temperature"
    if one.temperature_c is None:
        found.append(unknown("gpus", "the driver reports no temperature", item=item))
    elif one.slowdown_c:
        limits = (one.slowdown_c - plan.margin_c, one.slowdown_c)
        found.append(at_most("gpus", "temperature", one.temperature_c, *limits, action, item=item, unit="degC"))
    return found


def _load(found: list[GpuState], there: int) -> dict[str, float]:
    """What exposure.py asks for; nothing where the driver does not say what they do (MIG), or where one of those that are
    there is gone: a node that cannot use all of them is no witness of what happens when none or all work."""
    if not found or len(found) < there or any(one.busy is None for one in found):
        return {}
    load = {"gpus": float(there), "gpus_busy": float(sum((one.busy or 0) >= GPU_BUSY for one in found))}
    powers = [one.power_w for one in found if one.power_w is not None]
    return {**load, "gpu_power_w": sum(powers)} if powers else load


def _metrics(one: GpuState) -> list[Metric]:
    labels = {"gpu": str(one.index), "pci": one.pci}
    rows = (
        ("gpu_temperature_celsius", one.temperature_c, "Temperature of a GPU.", False),
        ("gpu_power_watts", one.power_w, "Power of a GPU.", False),
        ("gpu_busy_ratio", one.busy, "Share of time in which a kernel ran.", False),
        ("gpu_pcie_lanes", one.width, "Lanes of the PCI Express link.", False),
        ("gpu_ecc_uncorrected_total", one.uncorrected, "ECC errors since the driver was loaded.", True),
        ("gpu_ecc_corrected_total", one.corrected, "Corrected ECC errors since the driver was loaded.", True),
        ("gpu_pcie_replays_total", one.replays, "Replays of the PCI Express link.", True),
        ("gpu_nvlinks_up", one.links_up, "NVLinks that are up.", False),
    )
    return [
        Metric(name, float(value), labels, text, counter=counter, unit="c" if counter else "")
        for name, value, text, counter in rows
        if value is not None
    ]


def _learnt(found: list[GpuState]) -> dict[str, Any]:
    if not found:
        return {}
    learnt: dict[str, Any] = {"count": len(found)}
    of_state = {"pcie_width": "width", "pcie_generation": "generation_max", "nvlinks": "links_up"}
    for key in ("name", "driver", "pcie_width", "pcie_generation", "ecc", "nvlinks", "persistence"):
        values = {getattr(one, of_state.get(key, key)) for one in found}
        value = next(iter(values))
        if len(values) == 1 and value not in (None, ""):
            learnt[key] = value
    memories = {one.memory_bytes for one in found}
    if len(memories) == 1 and (memory := memories.pop()):
        learnt["memory"] = f"{memory >> 20} MiB"
    return learnt


CHECK = Check(name="gpus", title="GPUs", plan=GpusConfig, run=run, stuck="CRITICAL")
