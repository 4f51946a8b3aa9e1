"""Ports of networks: each of those that are there, those that a plan names and that are not, and the increase of their error
counters within an hour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..growth import HOUR_S, Counters
from ..records import CheckContext, Finding, Metric, Outcome, counter
from ..thresholds import at_most, refused, shown, unknown, wrong

_Planned = TypeVar("_Planned")
#: What is said of one port: findings, metrics, and what a plan of it would be.
Seen = tuple[list[Finding], list[Metric], dict[str, Any]]

#: Where the classic counters of InfiniBand stop (IBTA, PortCounters): they stay there until they are cleared.
SATURATED = {
    "symbol_error": 65535,
    "link_error_recovery": 255,
    "link_downed": 255,
    "port_rcv_errors": 65535,
    "port_rcv_remote_physical_errors": 65535,
    "port_rcv_switch_relay_errors": 65535,
    "port_xmit_discards": 65535,
    "port_xmit_constraint_errors": 255,
    "port_rcv_constraint_errors": 255,
    "local_link_integrity_errors": 15,
    "excessive_buffer_overrun_errors": 15,
    "VL15_dropped": 65535,
    "port_xmit_wait": 4294967295,
}


def each(
    look: CheckContext,
    check: str,
    kind: str,
    there: Sequence[str],
    planned: Mapping[str, _Planned],
    missing: str,
    one: Callable[[str, _Planned | None, Counters], Seen],
) -> Outcome:
    """What ``one`` says of each port (or ``kind`` of it); ``missing``: what to do about one that is not there."""
    findings = [
        wrong(check, name, f"there is no such {kind}", missing, limit="there (plan)")
        for name in planned
        if name not in there
    ]
    metrics: list[Metric] = []
    learnt: list[dict[str, Any]] = []
    grown = Counters(look.kept, look.now_s, HOUR_S)
    for name in there:
        try:
            found, more, plan = one(name, planned.get(name), grown)
        except OSError as error:
            findings.append(unknown(check, refused(error), item=name, action="run the check as root"))
        except ValueError as error:
            findings.append(unknown(check, f"a file contains no number: {error}", item=name))
        else:
            findings += found
            metrics += more
            learnt += [plan] if plan else []
    kept = {f"{kind}s": learnt} if learnt else {}
    return Outcome(findings=tuple(findings), metrics=tuple(metrics), kept=grown.kept, learnt=kept)


def judge(
    check: str,
    port: str,
    values: Mapping[str, int],
    limits: Mapping[str, tuple[float, float]],
    grown: Counters,
    action: str,
) -> tuple[list[Finding], list[Metric]]:
    """``limits``: counter -> increase within an hour that is a warning, and that is critical.

    A value that stands exactly where a classic counter stops tells nothing any more; a wider one passes it by.
    """
    findings: list[Finding] = []
    metrics: list[Metric] = []
    quiet = 0
    for name, value in values.items():
        growth = grown.grown(f"{port} {name}", value)
        labels = {"port": port, "counter": name}
        words = "Error counters of the network ports, as they stand."
        metrics.append(counter(f"{check}_port_errors_total", value, labels, words))
        item = f"{port} {name}"
        if value == SATURATED.get(name):
            what = f"{name} stands at {value}, where this counter stops: further errors are not seen"
            clear = "clear the counters of this port (perfquery -R), then look again"
            findings.append(wrong(check, item, what, clear, severity="UNKNOWN", value=value))
            continue
        warning, critical = limits.get(name, (None, None))
        one = at_most(check, f"{name} {growth.words(HOUR_S)}", growth.within, warning, critical, action, item=item)
        findings += [one] if one.severity != "OK" else []
        quiet += one.severity == "OK"
    if quiet and not findings:
        what = f"{shown(quiet, '')} error counters are within their limits"
        findings.append(Finding(check=check, item=f"{port} errors", what=what))
    return findings, metrics
