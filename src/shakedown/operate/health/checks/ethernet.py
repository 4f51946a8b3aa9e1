"""Ethernet interfaces with hardware behind them: link, speed against the plan, duplex, errors within an hour."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from ....records import Record
from ..growth import Counters
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Outcome, Severity
from ..thresholds import equal, wrong
from ._ports import Seen, each, judge

_FOLDER = "/sys/class/net"
_ETHERNET = 1  # ARPHRD_ETHER
_LIMITS = {"rx_crc_errors": 10, "rx_frame_errors": 10, "tx_carrier_errors": 10, "rx_errors": 100, "tx_errors": 100}
_ACTION = "reseat or replace the cable or transceiver of this interface; see the switch's side of it too"


class Interface(Record, frozen=True, kw_only=True):
    name: str
    mbit_s: int | None = None


class EthernetConfig(Record, frozen=True, kw_only=True):
    interfaces: tuple[Interface, ...] = ()
    # counter -> increase within an hour that is a warning; ten times is critical
    errors: dict[str, float] = msgspec.field(default_factory=dict)
    carrier_changes: int = 4  # within an hour, above which it is a warning: each loss counts two


def run(look: CheckContext) -> Outcome:
    senses, plan = look.senses, look.plan
    planned = {one.name: one for one in plan.interfaces}
    there = [
        name
        for name in senses.names(_FOLDER)
        if name in planned
        or (senses.there(f"{_FOLDER}/{name}/device") and senses.number(f"{_FOLDER}/{name}/type") == _ETHERNET)
    ]
    if not there and not planned:
        return Outcome(absent="no Ethernet interface with hardware behind it")
    missing = "check whether it was renamed (ip link), or its driver is not loaded"
    one = partial(_interface, senses, plan)
    return each(look, "ethernet", "interface", there, planned, missing, one)


def _interface(senses: NodeAccess, plan: EthernetConfig, name: str, planned: Interface | None, grown: Counters) -> Seen:
    folder = f"{_FOLDER}/{name}"
    state = senses.word(f"{folder}/operstate") or ""
    up = state == "up" or (state == "unknown" and _number(senses, f"{folder}/carrier") == 1)
    note = "" if planned else "; the plan does not name it"
    what = f"the link is {'up' if up else state or 'in an unknown state'}{note}"
    ill, limit = bool(planned and not up), "up (plan)" if planned else ""
    severity: Severity = "CRITICAL" if ill else "OK"
    findings = [wrong("ethernet", name, what, _ACTION * ill, severity=severity, value=state, limit=limit)]
    speed = _number(senses, f"{folder}/speed") if up else None
    speed = speed if speed and speed > 0 else None
    if planned and planned.mbit_s is not None and up:
        findings.append(equal("ethernet", "Mbit/s", speed, planned.mbit_s, _ACTION, item=f"{name} speed"))
    if up and senses.word(f"{folder}/duplex") == "half":
        action = "let both ends negotiate (ethtool -s IF autoneg on)"
        findings.append(wrong("ethernet", f"{name} duplex", "the link runs half duplex", action, severity="WARNING"))
    values = {key: value for key in _LIMITS if (value := _number(senses, f"{folder}/statistics/{key}")) is not None}
    changes = _number(senses, f"{folder}/carrier_changes")
    limits = {key: (float(limit), 10.0 * limit) for key, limit in {**_LIMITS, **plan.errors}.items()}
    if changes is not None:
        values["carrier_changes"] = changes
        limits["carrier_changes"] = (float(plan.carrier_changes), float("inf"))
    more, metrics = judge("ethernet", name, values, limits, grown, _ACTION)
    learnt: dict[str, Any] = {"name": name, **({"mbit_s": speed} if speed else {})} if up else {}
    return [*findings, *more], metrics, learnt


def _number(senses: NodeAccess, path: str) -> int | None:
    """A number; None also where the kernel answers EINVAL, as it does for a link that is down."""
    try:
        return senses.number(path)
    except PermissionError:
        raise
    except (OSError, ValueError):
        return None


CHECK = Check(name="ethernet", title="Ethernet", plan=EthernetConfig, run=run)
