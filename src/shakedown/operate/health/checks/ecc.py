"""Memory errors through EDAC: corrected and uncorrected, by module, as increases within a day.

The kernel's counters start at zero with the machine; `seconds_since_reset` tells for how long. Uncorrected errors are
critical from the first. Corrected ones are judged by their rate: 100 a day of one module is a warning, 1000 critical;
makers' limits lie there, and a site sets its own.
"""

from __future__ import annotations

from ....records import Record
from ....strict import NotNegative
from ....units import whole_number
from ..growth import DAY_S, Counters, Growth
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome, Severity, counter
from ..thresholds import at_most, refused, unknown, wrong

_FOLDER = "/sys/devices/system/edac/mc"


class EccConfig(Record, frozen=True, kw_only=True):
    controllers: int | None = None  # how many memory controllers EDAC must show
    corrected_warning: NotNegative = 100.0  # a day, of one module
    corrected_critical: NotNegative = 1000.0


def counters(senses: NodeAccess, controller: str) -> dict[str, tuple[int, int]]:
    """Name of a module (the label, or its place) -> corrected and uncorrected errors. Raises OSError, ValueError."""
    folder = f"{_FOLDER}/{controller}"
    found: dict[str, tuple[int, int]] = {}
    for name in senses.names(folder):
        if name.startswith(("dimm", "rank")) and whole_number(name[4:]) is not None:
            corrected = senses.number(f"{folder}/{name}/dimm_ce_count")
            uncorrected = senses.number(f"{folder}/{name}/dimm_ue_count")
            if corrected is None:
                continue
            label = senses.word(f"{folder}/{name}/dimm_label") or f"{controller} {name}"
            found[f"{controller} {label}" if label in found else label] = (corrected, uncorrected or 0)
    if not found:  # kernels before 3.6, and drivers that know rows only
        for name in senses.names(folder):
            if name.startswith("csrow"):
                pair = (senses.number(f"{folder}/{name}/ce_count"), senses.number(f"{folder}/{name}/ue_count"))
                if pair[0] is not None:
                    found[f"{controller} {name}"] = (pair[0], pair[1] or 0)
    for label, kind in (("without a module", "noinfo_count"), *(() if found else (("whole", "count"),))):
        pair = (senses.number(f"{folder}/ce_{kind}"), senses.number(f"{folder}/ue_{kind}"))
        if pair[0] is not None:
            found[f"{controller} {label}"] = (pair[0], pair[1] or 0)
    if not found:
        raise ValueError("it shows no counter")
    return found


def run(look: CheckContext) -> Outcome:
    senses, plan = look.senses, look.plan
    controllers = [name for name in senses.names(_FOLDER) if name[:2] == "mc" and whole_number(name[2:]) is not None]
    if not controllers and plan.controllers is None:
        return Outcome(absent=f"no memory controller below {_FOLDER}: no ECC memory, or its EDAC driver is not loaded")
    findings: list[Finding] = []
    if plan.controllers is not None and len(controllers) != plan.controllers:
        there, limit = len(controllers), f"{plan.controllers} (plan)"
        what = f"EDAC shows {there} memory controllers instead of {plan.controllers}"
        action = "load the EDAC driver of this processor (lsmod, modprobe); a kernel update may have lost it"
        severity: Severity = "UNKNOWN" if there < plan.controllers else "WARNING"
        findings.append(wrong("ecc", "controllers", what, action, severity=severity, value=there, limit=limit))
    grown = Counters(look.kept, look.now_s, DAY_S)
    metrics: list[Metric] = []
    for controller in controllers:
        try:
            held = counters(senses, controller)
            for label, (corrected, uncorrected) in held.items():
                one, more = _module(look, label, controller, corrected, uncorrected, grown)
                findings += one
                metrics += more
            findings.append(_sum(controller, held))
        except OSError as error:
            findings.append(unknown("ecc", refused(error), item=controller, action="run the check as root"))
        except ValueError as error:
            findings.append(unknown("ecc", f"cannot be read: {error}", item=controller))
    learnt = {"controllers": len(controllers)} if controllers else {}
    return Outcome(findings=tuple(findings), metrics=tuple(metrics), kept=grown.kept, learnt=learnt)


def _module(
    look: CheckContext, label: str, controller: str, corrected: int, uncorrected: int, grown: Counters
) -> tuple[list[Finding], list[Metric]]:
    words = "Memory errors that were {} since the start of the machine (EDAC)."
    metrics = [
        counter(f"memory_{kind}_errors_total", value, {"module": label}, words.format(kind))
        for kind, value in (("corrected", corrected), ("uncorrected", uncorrected))
    ]
    what, action = "uncorrected memory errors since the start", "drain; replace this module"
    findings = [
        at_most("ecc", what, uncorrected, None, 0, action, item=f"{label} uncorrected"),
        _corrected(look, label, controller, corrected, grown.grown(f"ce {label}", corrected)),
    ]
    return [one for one in findings if one.severity != "OK"], metrics


def _corrected(look: CheckContext, label: str, controller: str, corrected: int, growth: Growth) -> Finding:
    """Corrected errors a day: of what came since the calls began, or in the first call over the counter's age. A short watch
    would give no rate: errors of the first hours are held against a whole day's."""
    plan, item = look.plan, f"{label} corrected"
    action = "replace this module at the next maintenance; reseat it first if it is new"
    if growth.first:
        seconds = _age_s(look.senses, controller)
        if seconds is None and corrected > plan.corrected_warning:
            what = f"{corrected} corrected memory errors since the counter began, and nothing shows when that was"
            return unknown("ecc", what, item=item, action="look again in a day: the increase is kept")
        growth = growth._replace(
            increase=corrected, within=corrected * DAY_S / max(seconds or 0.0, DAY_S), spread_s=seconds or 0.0
        )
    what = f"corrected memory errors {growth.words(DAY_S)}"
    if growth.spread_s >= 1.5 * DAY_S:
        what += f" ({growth.increase} in all)"
    return at_most("ecc", what, growth.within, plan.corrected_warning, plan.corrected_critical, action, item=item)


def _age_s(senses: NodeAccess, controller: str) -> float | None:
    """For how long a controller has counted; since the start of the machine where its driver does not tell."""
    since = senses.number(f"{_FOLDER}/{controller}/seconds_since_reset")
    up = (senses.word("/proc/uptime") or "").split()
    return float(since) if since else float(up[0]) if up else None


def _sum(controller: str, held: dict[str, tuple[int, int]]) -> Finding:
    corrected, uncorrected = (sum(pair[index] for pair in held.values()) for index in (0, 1))
    what = f"{len(held)} counters read: {corrected} corrected, {uncorrected} uncorrected since the start"
    return Finding(check="ecc", item=controller, what=what, value=corrected + uncorrected)


CHECK = Check(name="ecc", title="Memory errors (EDAC)", plan=EccConfig, run=run)
