"""What was agreed: a contract as a TOML file, read strictly. Four are shipped; ``shakedown availability contracts`` lists
them. Quantities are written with their units ("97 %", "30 d"); a misspelt key is an error that names the nearest right one.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Literal

import msgspec

from ... import strict
from ...errors import BadInput, unknown
from ...units import UnknownUnit, parse_quantity
from .words import State

FOLDER = Path(__file__).parent / "contracts"
_HINT = "docs/availability.md describes every key"


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the file's tables."""


class WindowRule(_Table, frozen=True, kw_only=True):
    length: str = "30 d"
    kind: Literal["sliding", "restarting", "months"] = "sliding"
    met: Literal["some", "last", "every"] = "some"


class DownRule(_Table, frozen=True, kw_only=True):
    states: tuple[State, ...] = ("down", "silent", "failed", "drained", "booting", "maintenance")
    partial: Literal["share", "whole", "none"] = "share"
    system_at: str = "50 %"  # of what is scheduled: from here the system as a whole counts as out
    controller: Literal["not observed", "down", "up"] = "not observed"  # while the engine's controller was away
    begins: Literal["when detected", "when last seen well"] = "when detected"


class ScheduledRule(_Table, frozen=True, kw_only=True):
    """Which outages count as scheduled in the definitions that tell them apart."""

    kinds: tuple[str, ...] = ("maintenance",)
    states: tuple[State, ...] = ("maintenance",)
    notice: str = "0 h"


class UseRule(_Table, frozen=True, kw_only=True):
    at_least: str
    note: str = ""


class ExcludeRule(_Table, frozen=True, kw_only=True):
    name: str
    kinds: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    what: str = ""  # a regular expression on the reason
    reservations: tuple[str, ...] = ()  # patterns of names: maint*
    flags: tuple[str, ...] = ()  # of reservations: MAINT
    nodes: str = ""  # folded; with begin and end, or to narrow the rest down
    begin: str = ""
    end: str = ""
    notice: str = ""
    longest: str = ""
    most_per_month: str = ""
    treat: Literal["not scheduled", "as up"] = "not scheduled"
    why: str = ""


class CauseRule(_Table, frozen=True, kw_only=True, rename={"kind": "is"}):
    match: str
    kind: str


class IncidentRule(_Table, frozen=True, kw_only=True):
    together: str = "2 min"


class DetectionRule(_Table, frozen=True, kw_only=True):
    """As the engine is set up, where it cannot be asked."""

    slurmd_timeout: str = ""
    health_interval: str = ""


class Contract(_Table, frozen=True, kw_only=True):
    name: str
    title: str
    source: str
    formula: str = "100 x operational use time / scheduled use time"
    note: str = ""
    at_least: str
    counting: Literal["processors", "nodes", "gpus", "system"] = "processors"
    zone: str = "UTC"
    window: WindowRule = WindowRule()
    down: DownRule = DownRule()
    scheduled: ScheduledRule = ScheduledRule()
    utilisation: UseRule | None = None
    exclude: tuple[ExcludeRule, ...] = ()
    cause: tuple[CauseRule, ...] = ()
    incidents: IncidentRule = IncidentRule()
    detection: DetectionRule = DetectionRule()

    @property
    def target(self) -> Fraction:
        return share_of(self.at_least, "at_least")

    @property
    def window_s(self) -> int:
        return seconds_of(self.window.length, "window, length")

    @property
    def system_at(self) -> Fraction:
        return share_of(self.down.system_at, "down, system_at")

    @property
    def own_causes(self) -> tuple[tuple[str, str], ...]:
        return tuple((one.match, one.kind) for one in self.cause)


def names() -> tuple[str, ...]:
    """The shipped contracts."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load(word: str) -> Contract:
    """A shipped contract by its name, or one of a file. Raises BadInput."""
    path = Path(word)
    if path.suffix != ".toml" and "/" not in word:
        if word not in names():
            raise unknown("contract", word, names(), where="--contract")
        path = FOLDER / f"{word}.toml"
    text = strict.read_text(path, hint=f"a file of yours, or one of {', '.join(names())}")
    return checked(strict.convert(strict.read_toml(text, str(path)), Contract, str(path), hint=_HINT), str(path))


def checked(contract: Contract, file: str) -> Contract:
    """The contract, if its quantities can be read and its rules say something. Raises BadInput with the place."""
    try:
        if not 0 < contract.target < 1:
            raise BadInput(
                f"at_least = {contract.at_least!r} is not a share above 0 and below 100 %", hint='write "97 %"'
            )
        if contract.window_s <= 0:
            raise BadInput("the window has no length", hint='length = "30 d"')
        if not 0 < contract.system_at <= 1:
            raise BadInput(f"system_at = {contract.down.system_at!r} is not a valid share", hint='write "50 %"')
        if contract.utilisation:
            share_of(contract.utilisation.at_least, "utilisation, at_least")
        seconds_of(contract.incidents.together, "incidents, together")
        seconds_of(contract.scheduled.notice, "scheduled, notice")
        for text in (contract.detection.slurmd_timeout, contract.detection.health_interval):
            seconds_of(text or "0 s", "detection")
        from ...times import checked_zone

        checked_zone(contract.zone, "zone")
        for match, _ in contract.own_causes:
            _pattern(match, "cause")
        for rule in contract.exclude:
            _check_rule(rule, contract.zone)
    except BadInput as error:
        where = f"{file}: {error.where}" if error.where else file
        raise BadInput(error.what, where=where, hint=error.hint) from None
    return contract


def _check_rule(rule: ExcludeRule, zone: str) -> None:
    where = f'exclude "{rule.name}"'
    chosen = rule.kinds or rule.states or rule.what or rule.reservations or rule.flags
    if bool(rule.begin) != bool(rule.end):
        raise BadInput("begin and end belong together", where=where, hint="give both, or neither")
    if not chosen and not rule.begin:
        raise BadInput(
            "excludes nothing",
            where=where,
            hint="give kinds, states, what, reservations, flags, or begin and end",
        )
    if rule.begin and not rule.why:
        raise BadInput(
            "an agreed downtime needs its why", where=where, hint='why = "agreed on 2026-11-03, mail of ..."'
        )
    if rule.begin and time_of(rule.end, zone, where) <= time_of(rule.begin, zone, where):
        raise BadInput("ends before it begins", where=where, hint="fix begin or end")
    for key in ("notice", "longest", "most_per_month"):
        seconds_of(getattr(rule, key) or "0 s", f"{where}, {key}")
    _pattern(rule.what, where)


def _pattern(text: str, where: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise BadInput(f"{text!r} is not a valid regular expression: {error}", where=where, hint="fix it") from None


def share_of(text: str, where: str) -> Fraction:
    """``97 %`` or ``0.97``, exactly. Raises BadInput."""
    found = re.fullmatch(r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*(%?)\s*", text)
    if not found:
        raise BadInput(f"{text!r} is not a valid share", where=where, hint='write "97 %"')
    return Fraction(found[1]) / (100 if found[2] else 1)


def seconds_of(text: str, where: str) -> int:
    """``30 d`` as whole seconds. Raises BadInput."""
    try:
        value, unit = parse_quantity(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(str(error), where=where, hint='write "30 d", "12 h", "2 min"') from None
    if unit != "s" or value < 0:
        raise BadInput(f"{text!r} is not a valid time", where=where, hint='write "30 d", "12 h", "2 min"')
    return round(value)


def time_of(text: str, zone: str, where: str) -> int:
    """A moment as Unix seconds; local times are the zone's. Raises BadInput."""
    from ...times import parse

    return parse(text, zone, where) // 10**9
