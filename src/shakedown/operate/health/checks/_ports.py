"""Error counters of a network port, as increases within an hour."""

from __future__ import annotations

from collections.abc import Mapping

from ..growth import HOUR_S, Counters
from ..records import Finding, Metric, counter
from ..thresholds import at_most, shown, wrong

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
