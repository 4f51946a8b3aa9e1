"""Acceptances and health records, each read by its own room: what the site says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ..acceptance import directory as acceptances
from ..acceptance import evaluating
from ..acceptance.journal import Session
from ..errors import UNREADABLE, ShakedownError
from ..operate.health import clearing
from ..operate.health.records import HealthReport, KeptState
from ..records import Absent, Record
from ..results.run_directory import RunDirectory
from .gather import shown_path


class SiteAcceptance(Record, frozen=True, kw_only=True):
    """One acceptance as its own verdicts have it."""

    path: str
    name: str
    system: str
    title: str
    state: str
    counts: dict[str, int]
    begun_ns: int
    until_ns: int
    hosts: tuple[str, ...]
    open: tuple[tuple[str, str, str], ...]  # state, requirement, reason: what is not met or not decided
    faults: int  # pieces of evidence that are not as they were sealed
    has_report: bool


class SiteHealth(Record, frozen=True, kw_only=True):
    """The newest record of a node's health."""

    path: str
    host: str
    at_s: float
    severity: str
    findings: tuple[tuple[str, str, str, str], ...]  # severity, check and item, what, next step
    faults: tuple[str, ...] = ()  # in force


def read_acceptances(paths: Iterable[Path]) -> tuple[list[SiteAcceptance], list[Absent]]:
    """Every acceptance that can be read, in the order of their begin; evidence is checked against its checksums."""
    found, left_out = [], []
    for path in paths:
        try:
            found.append(_acceptance(path))
        except ShakedownError as error:
            left_out.append(Absent(what=shown_path(path), why=error.what))
        except (OSError, *UNREADABLE) as error:
            left_out.append(Absent(what=shown_path(path), why=f"cannot be read: {error}"))
    return sorted(found, key=lambda one: (one.begun_ns, one.path)), left_out


def _acceptance(path: Path) -> SiteAcceptance:
    opened = acceptances.open_(path)
    result = evaluating.evaluate(opened)
    hosts: dict[str, None] = {}
    for entry in opened.entries:
        if isinstance(entry, Session):
            try:
                hosts |= dict.fromkeys(host.name for host in RunDirectory.open(path / entry.folder).machine().hosts)
            except ShakedownError:
                continue  # its evidence is gone, which the result says
    return SiteAcceptance(
        path=str(path),
        name=shown_path(path.name),
        system=result.system,
        title=result.title,
        state=result.state,
        counts=result.counts(),
        begun_ns=result.begun_ns,
        until_ns=result.until_ns,
        hosts=tuple(hosts),
        open=tuple(
            (one.state, f"{one.clause} {one.text}".strip(), one.reason)
            for one in result.requirements
            if one.state not in ("met", "waived")
        ),
        faults=len(result.faults),
        has_report=(path / "report" / "report.html").exists(),
    )


def read_health(paths: Sequence[Path]) -> tuple[dict[str, SiteHealth], list[Absent]]:
    """The newest record of each node, from what `shakedown health --json` printed and from what a call keeps. Other JSON is
    none of ours, and is passed over."""
    found: dict[str, SiteHealth] = {}
    left_out = []
    for path in paths:
        try:
            one = _health(path)
        except OSError as error:
            left_out.append(Absent(what=shown_path(path), why=f"cannot be read: {error.strerror}"))
            continue
        if one is None:
            continue
        held = found.get(one.host)
        if held is None or one.at_s > held.at_s or (one.at_s == held.at_s and len(one.findings) > len(held.findings)):
            found[one.host] = one
    return found, left_out


def _health(path: Path) -> SiteHealth | None:
    data = path.read_bytes()
    try:
        report = msgspec.json.decode(data, type=HealthReport)
    except UNREADABLE:
        return _kept(path, data)
    findings = [
        (one.severity, f"{one.check} {one.item}".strip(), one.what, one.action)
        for one in report.findings
        if one.severity != "OK"
    ]
    return SiteHealth(
        path=str(path), host=report.host, at_s=report.at_s, severity=report.severity, findings=tuple(findings)
    )


def _kept(path: Path, data: bytes) -> SiteHealth | None:
    """What a call keeps: its last verdict, and the faults that nobody has seen to."""
    try:
        kept = msgspec.json.decode(data, type=KeptState)
        faults = tuple(dict.fromkeys(clearing.name(one) for one in clearing.occasions(kept) if not one.cleared))
    except UNREADABLE:
        return None
    if not kept.verdicts or not kept.host:
        return None
    last = kept.verdicts[-1]
    findings = [("CRITICAL", key.replace(":", " ", 1).strip(), "", "") for key in last.critical]
    findings += [("UNKNOWN", key.replace(":", " ", 1).strip(), "", "") for key in last.unknown]
    severity = "CRITICAL" if last.critical else "UNKNOWN" if last.unknown else "OK"
    return SiteHealth(
        path=str(path), host=kept.host, at_s=last.at_s, severity=severity, findings=tuple(findings), faults=faults
    )
