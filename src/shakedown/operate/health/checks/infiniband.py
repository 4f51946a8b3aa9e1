"""InfiniBand, Omni-Path and RoCE ports: state, physical state, rate against the plan, and error counters within an hour.

Limits are those that ibqueryerrors ships as an example, here for an hour's increase; ten times as many are critical. Where
a counter exists in several widths the 64-bit one is read. `port_xmit_wait` is congestion and not judged; relay errors of a
switch come with multicast and are not judged either.
"""

from __future__ import annotations

import re
from functools import partial

import msgspec

from ....records import Record
from ..growth import Counters
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome
from ..thresholds import equal, unknown, wrong
from ._ports import Seen, each, judge

_FOLDER = "/sys/class/infiniband"
_LIMITS = {
    "symbol_error": 10,
    "link_error_recovery": 10,
    "link_downed": 1,
    "port_rcv_errors": 10,
    "local_link_integrity_errors": 10,
    "excessive_buffer_overrun_errors": 10,
    "port_rcv_remote_physical_errors": 100,
    "port_xmit_discards": 100,
    "VL15_dropped": 100,
    "port_rcv_constraint_errors": 10,
    "port_xmit_constraint_errors": 10,
    "packet_seq_err": 1000,
    "local_ack_timeout_err": 1000,
}
_ACTION = "reseat or replace the cable of this port; see the switch's side of it too"


class Port(Record, frozen=True, kw_only=True):
    """One planned port."""

    name: str  # "mlx5_0:1"
    gbit_s: float | None = None
    state: str = "active"
    firmware: str | None = None


class InfinibandConfig(Record, frozen=True, kw_only=True):
    ports: tuple[Port, ...] = ()
    # counter -> increase within an hour that is a warning; ten times is critical
    errors: dict[str, float] = msgspec.field(default_factory=dict)


def run(look: CheckContext) -> Outcome:
    senses, plan = look.senses, look.plan
    there = [
        f"{device}:{port}" for device in senses.names(_FOLDER) for port in senses.names(f"{_FOLDER}/{device}/ports")
    ]
    planned = {one.name: one for one in plan.ports}
    if not there and not planned:
        return Outcome(absent=f"{_FOLDER} is not there: no adapter, or its driver is not loaded")
    missing = "drain; lspci | grep -i mellanox; load the driver, or reseat the adapter"
    return each(look, "infiniband", "port", there, planned, missing, partial(_port, senses, plan))


def _after_colon(text: str | None) -> str:
    """``4: ACTIVE`` -> ``active``."""
    return (text or "").rpartition(":")[2].strip().lower()


def _port(senses: NodeAccess, plan: InfinibandConfig, name: str, planned: Port | None, grown: Counters) -> Seen:
    device, _, port = name.rpartition(":")
    folder = f"{_FOLDER}/{device}/ports/{port}"
    state = _after_colon(senses.word(f"{folder}/state"))
    physical = _after_colon(senses.word(f"{folder}/phys_state"))
    text = senses.word(f"{folder}/rate") or ""
    found = re.match(r"([\d.]+) Gb/sec", text)
    rate = float(found[1]) if found else None
    findings = [_state(name, state, physical, planned)]
    if state == "active":
        wanted = planned.gbit_s if planned else None
        one = equal("infiniband", "Gbit/s", rate, wanted, _ACTION, item=f"{name} rate", why=f"the rate is {text!r}")
        findings.append(one)
    firmware = senses.word(f"{_FOLDER}/{device}/fw_ver")
    if planned and planned.firmware:
        action = "bring the firmware to the planned version (mlxfwmanager) when the node is empty"
        item = f"{name} firmware"
        findings.append(
            equal("infiniband", "firmware", firmware, planned.firmware, action, item=item, severity="WARNING")
        )
    limits = {key: (float(limit), 10.0 * limit) for key, limit in {**_LIMITS, **plan.errors}.items()}
    more, metrics = judge("infiniband", name, counters(senses, folder), limits, grown, _ACTION)
    words = "Whether a port of InfiniBand, Omni-Path or RoCE is active."
    metrics.append(Metric("infiniband_port_active", float(state == "active"), {"port": name}, words))
    learnt = {"name": name, "state": state, **({"gbit_s": rate} if rate else {})}
    return [*findings, *more], metrics, learnt if state == "active" else {}


def _state(name: str, state: str, physical: str, planned: Port | None) -> Finding:
    words = f"{state or 'no state'}, physically {physical or 'not reported'}"
    if not state:
        return unknown("infiniband", "the kernel gives no state of the port", item=name)
    if planned is None:
        return Finding(check="infiniband", item=name, what=f"{words}; the plan does not name it", value=state)
    if state == planned.state:
        return Finding(check="infiniband", item=name, what=words, value=state, limit=planned.state)
    action = _ACTION
    if physical == "linkup" and state == "init":
        action = "the link is up but no subnet manager has configured it: see opensm or the switch"
    elif physical == "disabled":
        action = "the port is switched off: ibportstate, or the firmware's settings"
    what, limit = f"{words}, not {planned.state}", f"{planned.state} (plan)"
    return wrong("infiniband", name, what, action, value=state, limit=limit)


def counters(senses: NodeAccess, folder: str) -> dict[str, int]:
    """The counters that are judged, by name, each from the widest place that has it."""
    found: dict[str, int] = {}
    for place in ("hw_counters", "counters_ext", "counters"):
        names = set(senses.names(f"{folder}/{place}"))
        for name in _LIMITS:
            if name in names and name not in found:
                value = senses.word(f"{folder}/{place}/{name}")
                if value is not None and not value.startswith("N/A"):
                    found[name] = int(value)
    return found


CHECK = Check(name="infiniband", title="InfiniBand ports", plan=InfinibandConfig, run=run)
