"""Memory: its size against the plan, what is available, swap, and pages that the kernel took out of use as broken."""

from __future__ import annotations

from typing import Any

from ....records import Record
from ....strict import NotNegative
from ....units import whole_number
from ..records import Check, CheckContext, Finding, Metric, Outcome
from ..thresholds import at_least, at_most, check_bytes, equal, unknown


class MemoryConfig(Record, frozen=True, kw_only=True):
    total: str | None = None  # "256 GiB", as the kernel shows it (MemTotal)
    tolerance: NotNegative = 0.02  # the kernel keeps some for itself, by version
    available: NotNegative = 0.02  # critical below this share of the whole
    swap_used: float | None = None  # warning above this share of the swap
    numa_nodes: int | None = None

    def __post_init__(self) -> None:
        check_bytes(self.total)


def meminfo(text: str) -> dict[str, int]:
    """The lines of /proc/meminfo in bytes, as ``machine.kernel.parse_meminfo`` (whose package imports every probe)."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0].endswith(":") and (number := whole_number(words[1])) is not None:
            found[words[0][:-1]] = number * (1024 if words[-1] == "kB" else 1)
    return found


def run(look: CheckContext) -> Outcome:
    plan = look.plan
    held = meminfo(look.senses.text("/proc/meminfo") or "")
    total = held.get("MemTotal")
    if not total:
        return Outcome(findings=(unknown("memory", "/proc/meminfo gives no MemTotal"),))
    findings = [_size(total, plan)]
    available = held.get("MemAvailable")
    share = None if available is None else available / total
    limits = (plan.available * 2, plan.available)
    action = "see what holds it: processes without a job, files in /dev/shm and other tmpfs"
    findings.append(at_least("memory", "available", share, *limits, action, item="available", unit="%"))
    swap = held.get("SwapTotal", 0)
    if swap and plan.swap_used is not None:
        used = 1 - held.get("SwapFree", 0) / swap
        findings.append(
            at_most("memory", "swap in use", used, plan.swap_used, None, "see what holds it", item="swap", unit="%")
        )
    broken = held.get("HardwareCorrupted", 0)
    what = "taken out of use as broken"
    action = "replace the memory module that the check 'ecc' or the kernel's log names"
    findings.append(at_most("memory", what, broken, 0, 1 << 30, action, item="broken", unit="B"))
    nodes = [name for name in look.senses.names("/sys/devices/system/node") if whole_number(name[4:]) is not None]
    if plan.numa_nodes is not None:
        action = "drain; a processor's memory is not there: see the firmware's log"
        findings.append(equal("memory", "NUMA nodes", len(nodes) or None, plan.numa_nodes, action, item="numa"))
    learnt: dict[str, Any] = {"total": f"{total // 1024} KiB", **({"numa_nodes": len(nodes)} if nodes else {})}
    metrics = [Metric("memory_total_bytes", total, help="What the kernel manages.", unit="B")]
    if available is not None:
        metrics.append(Metric("memory_available_bytes", available, help="Without swapping.", unit="B"))
    return Outcome(findings=tuple(findings), metrics=tuple(metrics), learnt=learnt)


def _size(total: int, plan: MemoryConfig) -> Finding:
    from ....units import parse_bytes

    action = "drain; a memory module is missing or disabled: dmidecode -t memory, the firmware's log"
    least = None if plan.total is None else parse_bytes(plan.total) * (1 - plan.tolerance)
    return at_least("memory", "size", total, None, least, action, item="size", unit="B")


CHECK = Check(name="memory", title="Memory", plan=MemoryConfig, run=run)
