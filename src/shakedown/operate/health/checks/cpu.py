"""Processors: sockets, cores and logical CPUs against the plan, the governor, and whether a limit of the clock is set.

From sysfs, CPU by CPU; /proc/cpuinfo is not read, since it asks every core for its clock and takes seconds on large nodes.
"""

from __future__ import annotations

from typing import Any

from ....records import Record
from ..node_access import NodeAccess, cpu_list
from ..records import Check, CheckContext, Finding, Metric, Outcome
from ..thresholds import equal, unknown, wrong

_FOLDER = "/sys/devices/system/cpu"


class CpuConfig(Record, frozen=True, kw_only=True):
    sockets: int | None = None
    cores: int | None = None  # physical, in all
    cpus: int | None = None  # logical and online
    governor: str | None = None
    maximum_mhz: int | None = None  # to which the clock may rise (scaling_max_freq)


def run(look: CheckContext) -> Outcome:
    senses, plan = look.senses, look.plan
    online_text = senses.word(f"{_FOLDER}/online")
    if online_text is None:
        return Outcome(findings=(unknown("cpu", f"{_FOLDER}/online is not there"),))
    online = cpu_list(online_text)
    sockets, cores = topology(senses, online)
    action = "drain; see the firmware's log: a processor or its cores are disabled"
    why = "the topology is not in sysfs"
    compare = "compare with the plan: hyper-threading in the firmware, CPUs taken offline (lscpu -e)"
    findings = [
        equal("cpu", "sockets", len(sockets) or None, plan.sockets, action, item="sockets", why=why),
        equal("cpu", "physical cores", len(cores) or None, plan.cores, action, item="cores", why=why),
        equal("cpu", "logical CPUs online", len(online), plan.cpus, compare, item="cpus"),
    ]
    learnt: dict[str, Any] = {"sockets": len(sockets), "cores": len(cores), "cpus": len(online)}
    learnt = {key: value for key, value in learnt.items() if value}
    clock = governors(senses)
    findings += clock_findings(clock, plan)
    if len(clock) == 1:
        governor, maximum_mhz, _ = next(iter(clock))
        learnt |= {"governor": governor, "maximum_mhz": maximum_mhz}
    metrics = (Metric("cpus_online", len(online), help="Logical CPUs that run."),)
    return Outcome(findings=tuple(findings), metrics=metrics, learnt=learnt)


def topology(senses: NodeAccess, online: tuple[int, ...]) -> tuple[set[str], set[tuple[str, str]]]:
    """The sockets, and the cores as (socket, core)."""
    sockets, cores = set(), set()
    for number in online:
        folder = f"{_FOLDER}/cpu{number}/topology"
        socket, core = senses.word(f"{folder}/physical_package_id"), senses.word(f"{folder}/core_id")
        if socket is not None and core is not None:
            sockets.add(socket)
            cores.add((socket, core))
    return sockets, cores


def governors(senses: NodeAccess) -> dict[tuple[str, int, int], int]:
    """(governor, highest clock allowed, highest of the hardware), both in MHz -> how many policies have them."""
    found: dict[tuple[str, int, int], int] = {}
    for name in senses.names(f"{_FOLDER}/cpufreq"):
        folder = f"{_FOLDER}/cpufreq/{name}"
        governor = senses.word(f"{folder}/scaling_governor")
        if governor is None:
            continue
        allowed, able = senses.number(f"{folder}/scaling_max_freq"), senses.number(f"{folder}/cpuinfo_max_freq")
        key = (governor, (allowed or 0) // 1000, (able or 0) // 1000)
        found[key] = found.get(key, 0) + 1
    return found


def clock_findings(found: dict[tuple[str, int, int], int], plan: CpuConfig) -> list[Finding]:
    """Whether all CPUs are set alike, and as planned."""
    if not found:
        if plan.governor is not None or plan.maximum_mhz is not None:
            return [unknown("cpu", "the kernel does not show how clocks are set (no cpufreq)", item="governor")]
        return []
    action = "cpupower frequency-set -g GOVERNOR -u MHZ on all CPUs; see what set them differently"
    shown = sorted({governor for governor, _, _ in found})
    findings = [equal("cpu", "governor", ", ".join(shown), plan.governor, action, item="governor", severity="WARNING")]
    if len(shown) > 1 and plan.governor is None:
        what = f"CPUs have different governors: {', '.join(shown)}"
        findings = [wrong("cpu", "governor", what, action, severity="WARNING")]
    for _, allowed, able in sorted(found):
        wanted = plan.maximum_mhz if plan.maximum_mhz is not None else able or None
        if allowed and wanted and allowed < wanted:
            limit = f">= {wanted} MHz ({'plan' if plan.maximum_mhz is not None else 'hardware'})"
            what = f"the clock may rise to {allowed} MHz only, not to {wanted}"
            findings.append(wrong("cpu", "clock", what, action, severity="WARNING", value=allowed, limit=limit))
            break
    return findings


CHECK = Check(name="cpu", title="Processors", plan=CpuConfig, run=run)
