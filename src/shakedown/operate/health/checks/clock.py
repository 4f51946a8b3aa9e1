"""The clock: whether something disciplines it, and how far off it may be (adjtimex, and chrony where it runs).

Logs of several nodes can only be laid beside each other, and Kerberos and munge only work, with clocks that agree: munge
refuses credentials that are off by more than its time to live, 300 s, and much earlier traces become nonsense.
"""

from __future__ import annotations

from ....records import Record
from ....strict import NotNegative
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome, Severity
from ..thresholds import at_most, refused, unknown

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
        findings.append(
            unknown("clock", f"adjtimex: {refused(error)}", action="run the check outside of the container")
        )
    else:
        synchronised = not found.status & _UNSYNCHRONISED
        metrics.append(
            Metric(
                name="clock_synchronised", value=float(synchronised), help="Whether the kernel's clock is disciplined."
            )
        )
        if synchronised:
            limits = (plan.warning_s, plan.critical_s)
            what = "offset that is being corrected"
            findings.append(at_most("clock", what, abs(found.offset_s), *limits, _ACTION, item="kernel", unit="s"))
        else:
            findings.append(_undisciplined(plan))
    tracking = chrony(look.senses)
    if tracking is not None:
        findings += _chrony(tracking, plan, metrics)
    return Outcome(findings=tuple(findings), metrics=tuple(metrics))


def _undisciplined(plan: ClockConfig) -> Finding:
    if not plan.synchronised:
        return Finding(check="clock", item="kernel", what="nothing disciplines the clock; the plan does not require it")
    return Finding(
        check="clock",
        item="kernel",
        severity="WARNING",
        what="nothing disciplines the clock",
        limit="synchronised",
        action=_ACTION,
    )


def chrony(senses: NodeAccess) -> dict[str, float | str] | None:
    """What chronyd says of its own tracking; None where it does not run. ``why`` is there where it did not answer."""
    if not senses.there("/run/chrony/chronyd.sock") and not senses.there("/run/chrony/chronyd.pid"):
        return None
    said = senses.run(("chronyc", "-n", "-c", "tracking"), limit_s=2.0)
    fields = said.out.strip().split(",")
    if not said.ok or len(fields) < 14:
        return {
            "why": (said.err or said.out).strip().splitlines()[-1] if (said.err or said.out).strip() else "no answer"
        }
    # reference id, source, stratum, reference time, offset of the system clock, last offset, RMS offset, frequency,
    # residual frequency, skew, root delay, root dispersion, update interval, leap status (chronyc(1), tracking)
    return {"source": fields[1], "offset_s": float(fields[4]), "leap": fields[13]}


def _chrony(tracking: dict[str, float | str], plan: ClockConfig, metrics: list[Metric]) -> list[Finding]:
    if "why" in tracking:
        return [unknown("clock", f"chronyd runs but does not answer: {tracking['why']}", item="chrony", action=_ACTION)]
    if tracking["leap"] == "Not synchronised":
        severity: Severity = "WARNING" if plan.synchronised else "OK"
        what = "chrony follows no source"
        return [Finding(check="clock", item="chrony", severity=severity, what=what, action=_ACTION)]
    offset = abs(float(tracking["offset_s"]))
    metrics.append(Metric(name="clock_offset_seconds", value=offset, help="As chrony sees it, unsigned.", unit="s"))
    limits = (plan.warning_s, plan.critical_s)
    return [at_most("clock", "offset", offset, *limits, _ACTION, item="chrony", unit="s")]


CHECK = Check(name="clock", title="The clock", plan=ClockConfig, run=run)
