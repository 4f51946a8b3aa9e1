"""Machine checks: exceptions that the processors have counted, and whether the kernel has marked itself by one.

/proc/interrupts counts machine-check exceptions (MCE) and, on AMD, deferred errors (DFR); bit 4 of the kernel's taint says
that one has happened since the start. What they were about is in the kernel's log (check 'kernellog') and in rasdaemon.
"""

from __future__ import annotations

from ....records import Record
from ....units import whole_number
from ..growth import DAY_S, Counters
from ..records import Check, CheckContext, Finding, Metric, Outcome, counter
from ..thresholds import at_most, wrong

_TAINTED_BY_MACHINE_CHECK = 1 << 4


class MceConfig(Record, frozen=True, kw_only=True):
    exceptions: int = 0  # a day, above which it is critical


def interrupts(text: str) -> dict[str, int]:
    """The sums over all CPUs of the named interrupts of machine checks."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.strip().partition(":")
        if name in ("MCE", "DFR", "THR"):
            numbers = []
            for word in rest.split():
                if (number := whole_number(word)) is None:
                    break
                numbers.append(number)
            found[name] = sum(numbers)
    return found


def run(look: CheckContext) -> Outcome:
    found = interrupts(look.senses.text("/proc/interrupts") or "")
    taint = look.senses.number("/proc/sys/kernel/tainted")
    if not found and taint is None:
        return Outcome(absent="this kernel counts no machine checks")
    grown = Counters(look.kept, look.now_s, DAY_S)
    action = "drain; ras-mc-ctl --errors or the kernel's log names the part: replace it"
    findings: list[Finding] = []
    metrics: list[Metric] = []
    for name, word in (("MCE", "machine-check exceptions"), ("DFR", "deferred errors")):
        if name not in found:
            continue
        growth = grown.grown(name, found[name])
        if growth.first:  # the kernel's counter starts with the machine; when they came it does not tell
            what, increase = f"{word} since the start of the machine{_age(look)}", float(found[name])
        else:
            what, increase = f"{word} {growth.words(DAY_S)}", growth.within
        findings.append(at_most("mce", what, increase, None, look.plan.exceptions, action, item=name))
        words = "Machine-check exceptions and deferred errors since the start of the machine."
        metrics.append(counter("machine_checks_total", found[name], {"kind": name}, words))
    if taint is not None and taint & _TAINTED_BY_MACHINE_CHECK:
        what = "a machine check has happened since the start (the kernel's taint)"
        findings.append(wrong("mce", "taint", what, action, severity="WARNING", value=taint))
    elif taint is not None:
        what = "no machine check since the start (the kernel's taint)"
        findings.append(Finding(check="mce", item="taint", what=what, value=taint))
    return Outcome(findings=tuple(findings), metrics=tuple(metrics), kept=grown.kept)


def _age(look: CheckContext) -> str:
    up = (look.senses.word("/proc/uptime") or "").split()
    return f", {float(up[0]) / DAY_S:.1f} days ago" if up else ""


CHECK = Check(name="mce", title="Machine checks", plan=MceConfig, run=run)
