"""The clock: whether something disciplines it, and how far off it may be (adjtimex, and chrony where it runs).

Logs of several nodes can only be laid beside each other, and Kerberos and munge only work, with clocks that agree: munge
refuses credentials that are off by more than its time to live, 300 s, and much earlier traces become nonsense.
"""

from __future__ import annotations

from ....records import Record
from ....strict import NotNegative
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome, Severity
from ..thresholds import at_most, refused, unknown, wrong

_UNSYNCHRONISED = 0x0040  # STA_UNSYNC of <sys/timex.h>
_ACTION = "see chronyc sources, or what else should keep the clock; let its port (UDP 123) through"


class ClockConfig(Record, frozen=True, kw_only=True):
    synchronised: bool = True  # false where the host of a virtual machine keeps the clock
    warning_s: NotNegative = 0.05
    critical_s: NotNegative = 1.0


def run(look: CheckContext) -> Outcome:
    plan = look.plan
    findings: list[Finding] = []
    metrics: list[Metric] = []
    try:
        found = look.senses.timex()
    except OSError as error:
        action = "run the check outside of the container"
        findings.append(unknown("clock", f"adjtimex: {refused(error)}", action=action))
    else:
        synchronised = not found.status & _UNSYNCHRONISED
        words = "Whether the kernel's clock is disciplined."
        metrics.append(Metric("clock_synchronised", float(synchronised), help=words))
        if synchronised:
            limits = (plan.warning_s, plan.critical_s)
            what = "offset that is being corrected"
            findings.append(at_most("clock", what, abs(found.offset_s), *limits, _ACTION, item="kernel", unit="s"))
        elif plan.synchronised:
            what = "nothing disciplines the clock"
            findings.append(wrong("clock", "kernel", what, _ACTION, severity="WARNING", limit="synchronised"))
        else:
            what = "nothing disciplines the clock; the plan does not require it"
            findings.append(Finding(check="clock", item="kernel", what=what))
    tracking = chrony(look.senses)
    if tracking is not None:
        findings += _chrony(tracking, plan, metrics)
    return Outcome(findings=tuple(findings), metrics=tuple(metrics))


def chrony(senses: NodeAccess) -> dict[str, float | str] | None:
    """What chronyd says of its own tracking; None where it does not run. ``why`` is there where it did not answer."""
    if not senses.there("/run/chrony/chronyd.sock") and not senses.there("/run/chrony/chronyd.pid"):
        return None
    said = senses.run(("chronyc", "-n", "-c", "tracking"), limit_s=2.0)
    fields = said.out.strip().split(",")
    if not said.ok or len(fields) < 14:
        return {"why": ((said.err or said.out).strip().splitlines() or ["no answer"])[-1]}
    # reference id, source, stratum, reference time, offset of the system clock, last offset, RMS offset, frequency,
    # residual frequency, skew, root delay, root dispersion, update interval, leap status (chronyc(1), tracking)
    return {"source": fields[1], "offset_s": float(fields[4]), "leap": fields[13]}


def _chrony(tracking: dict[str, float | str], plan: ClockConfig, metrics: list[Metric]) -> list[Finding]:
    if "why" in tracking:
        return [unknown("clock", f"chronyd runs but does not answer: {tracking['why']}", item="chrony", action=_ACTION)]
    if tracking["leap"] == "Not synchronised":
        severity: Severity = "WARNING" if plan.synchronised else "OK"
        return [wrong("clock", "chrony", "chrony follows no source", _ACTION, severity=severity)]
    offset = abs(float(tracking["offset_s"]))
    metrics.append(Metric("clock_offset_seconds", offset, help="As chrony sees it, unsigned.", unit="s"))
    limits = (plan.warning_s, plan.critical_s)
    return [at_most("clock", "offset", offset, *limits, _ACTION, item="chrony", unit="s")]


CHECK = Check(name="clock", title="The clock", plan=ClockConfig, run=run)
