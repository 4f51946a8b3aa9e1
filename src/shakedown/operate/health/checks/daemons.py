"""Daemons that a compute node lives from: munged and what the plan names, each by its socket.

A Unix socket is connected to; of a TCP port it is only looked up that somebody listens there (/proc/net/tcp), since slurmd
and others write a line into their log for every connection that says nothing. Without a plan munged and slurmd are asked
where systemd starts them with the machine.
"""

from __future__ import annotations

from typing import Any

from ....records import Record
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Outcome, Severity
from ..thresholds import unknown, wrong
from ._proc import processes

_MUNGE = "/run/munge/munge.socket.2"
_ENABLED = "/etc/systemd/system/multi-user.target.wants"
_LISTENING = "0A"


class Daemon(Record, frozen=True, kw_only=True):
    """One planned daemon, found by any of these; all that are given must hold."""

    name: str
    socket: str | None = None
    port: int | None = None
    process: str | None = None  # as in /proc/PID/stat: at most 15 letters
    severity: str = "CRITICAL"


class DaemonsConfig(Record, frozen=True, kw_only=True):
    daemons: tuple[Daemon, ...] | None = None  # None: what systemd starts


def enabled(senses: NodeAccess) -> tuple[Daemon, ...]:
    """What must run here without being named."""
    if not senses.there("/run/systemd/system"):  # sd_booted(3): elsewhere its links start nothing
        return ()
    wanted = {"munge": Daemon(name="munged", socket=_MUNGE), "slurmd": Daemon(name="slurmd", process="slurmd")}
    return tuple(one for name, one in wanted.items() if senses.there(f"{_ENABLED}/{name}.service"))


def run(look: CheckContext) -> Outcome:
    senses = look.senses
    wanted = look.plan.daemons if look.plan.daemons is not None else enabled(senses)
    if not wanted:
        return Outcome(absent="no daemon is planned, and systemd starts neither munged nor slurmd here")
    held: set[str] | None = None
    ports: set[int] | None = None
    findings = []
    for one in wanted:
        why = ""
        if one.socket is not None:
            why = senses.connect(one.socket)
            why = f"{one.socket}: {why}" if why else ""
        if not why and one.port is not None:
            ports = listening(senses) if ports is None else ports
            why = "" if one.port in ports else f"nothing listens on port {one.port}"
        if not why and one.process is not None:
            held = {process.name for process in processes(senses).values()} if held is None else held
            why = "" if one.process in held else f"no process {one.process}"
        findings.append(_finding(one, why))
    learnt: dict[str, Any] = {"daemons": []}
    for one, found in zip(wanted, findings, strict=True):
        if found.severity == "OK":
            pairs = {"name": one.name, "socket": one.socket, "port": one.port, "process": one.process}
            learnt["daemons"].append({key: value for key, value in pairs.items() if value is not None})
    return Outcome(findings=tuple(findings), learnt=learnt if learnt["daemons"] else {})


def _finding(one: Daemon, why: str) -> Finding:
    if not why:
        return Finding(check="daemons", item=one.name, what="answers" if one.socket else "is there")
    if one.socket is not None and why.endswith("Permission denied"):
        return unknown("daemons", why, item=one.name, action="run the check as root")
    action = f"systemctl status {one.name}; its log says why it ended"
    severity: Severity = "WARNING" if one.severity == "WARNING" else "CRITICAL"
    return wrong("daemons", one.name, f"does not answer: {why}", action, severity=severity)


def listening(senses: NodeAccess) -> set[int]:
    """The TCP ports that somebody listens on, IPv4 and IPv6."""
    found = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in (senses.text(path) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 3 and fields[3] == _LISTENING:
                found.add(int(fields[1].rpartition(":")[2], 16))
    return found


CHECK = Check(name="daemons", title="Daemons", plan=DaemonsConfig, run=run)
