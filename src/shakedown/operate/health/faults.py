"""From lines of the kernel's log to faults, and from faults to what is to be done. Pure.

The rules are data: kernel.toml says how faults look, xid.toml what the codes of NVIDIA's driver mean.

Lines of one kind about one part are one occasion until some minutes pass without another: a driver that prints the same
fault every six seconds has failed once. A fault stays in force until what its rule names (a restart of the machine, some
hours), or until somebody says that it has been seen to; how often it came is counted on, and from some number on the
rule's second, graver advice holds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from ... import times
from ...records import Record
from .kernellines import Line
from .records import Finding, Metric, Occasion, Severity, counter

#: Lines closer than this belong to one occasion.
GAP_S = 600.0
#: So many occasions are kept, and so long; the oldest go first.
MOST, KEEP_S = 500, 400 * 86400.0
_TEXT = 240


class Recurring(Record, frozen=True, kw_only=True):
    """What holds from the ``after``-th occasion within ``days`` on."""

    after: int
    days: float
    severity: Severity
    action: str


class Rule(Record, frozen=True, kw_only=True):
    """What one kind of fault means."""

    meaning: str
    severity: Severity
    action: str = ""
    hours: float = 0.0  # for how long one occasion holds; 0: until the machine is started anew
    recurring: Recurring | None = None


class Pattern(Record, frozen=True, kw_only=True):
    """How a kind of fault looks in the log. The named group ``item`` says which part, ``code`` the number of an Xid."""

    kind: str
    expression: str
    rule: Rule | None = None  # None: xid.toml says


class Xid(Record, frozen=True, kw_only=True):
    codes: tuple[int, ...]
    rule: Rule


class Tables(NamedTuple):
    patterns: tuple[tuple[Pattern, re.Pattern[str]], ...]
    anything: re.Pattern[str]
    rules: dict[str, Rule]


class _Kernel(Record, frozen=True, kw_only=True):
    patterns: tuple[Pattern, ...]


class _Xids(Record, frozen=True, kw_only=True):
    source: str
    unknown: Rule
    xids: tuple[Xid, ...]


@cache
def tables() -> Tables:
    """The patterns of kernel.toml, compiled: all of them as one, since nearly no line is of any."""
    held = msgspec.convert(_toml("kernel.toml"), _Kernel)
    compiled = tuple((one, re.compile(one.expression)) for one in held.patterns)
    anything = re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", one.expression) for one in held.patterns))
    return Tables(compiled, anything, {one.kind: one.rule for one in held.patterns if one.rule})


@cache
def xids() -> tuple[dict[int, Rule], Rule]:
    """Rule by Xid, and the one for a code that is in no table."""
    held = msgspec.convert(_toml("xid.toml"), _Xids)
    return {code: one.rule for one in held.xids for code in one.codes}, held.unknown


def _toml(name: str) -> object:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def recognise(line: Line, boot: str, load: str, now_s: float) -> Occasion | None:
    """The fault that a line tells of; None for nearly all lines."""
    held = tables()
    if held.anything.match(line.text) is None:
        return None
    for pattern, expression in held.patterns:
        if found := expression.match(line.text):
            groups = found.groupdict()
            at_s = now_s if line.at_s is None else line.at_s
            return Occasion(
                kind=pattern.kind,
                code=int(groups.get("code") or 0),
                item=_item(pattern.kind, groups.get("item") or ""),
                first_s=at_s,
                last_s=at_s,
                boot=boot,
                load=load,
                text=line.text[:_TEXT],
            )
    return None


def _item(kind: str, text: str) -> str:
    if kind not in ("xid", "gpu-lost", "gpu-init", "xid-limited"):
        return text
    found = re.fullmatch(r"(?:[0-9a-f]{4})??([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?", text.lower())
    return f"GPU {found[1] if found else text}"


def gather(before: Iterable[Occasion], new: Iterable[Occasion], now_s: float) -> tuple[Occasion, ...]:
    """Occasions with new lines joined to those that they belong to, in the order of time; the oldest are dropped."""
    held = [one for one in before if one.last_s > now_s - KEEP_S]
    last: dict[tuple[str, int, str, str], int] = {}
    for index, one in enumerate(held):
        last[one.kind, one.code, one.item, one.boot] = index
    for one in new:
        key = (one.kind, one.code, one.item, one.boot)
        index = last.get(key, -1)
        if index >= 0 and abs(one.first_s - held[index].last_s) <= GAP_S and not held[index].cleared:
            was = held[index]
            held[index] = msgspec.structs.replace(was, last_s=max(was.last_s, one.last_s), lines=was.lines + one.lines)
        else:
            last[key] = len(held)
            held.append(one)
    return tuple(sorted(held, key=lambda one: one.first_s)[-MOST:])


def rule_of(one: Occasion) -> Rule:
    """What this fault means."""
    if one.kind != "xid":
        return tables().rules[one.kind]
    known, otherwise = xids()
    rule = known.get(one.code, otherwise)
    return _recovery(rule, one.text) if one.code == 154 else rule


def _recovery(rule: Rule, text: str) -> Rule:
    """Xid 154 says itself what is to be done: "... changed from 0x0 (None) to 0x2 (Node Reboot Required)"."""
    found = re.search(r" to \S+ \(([^)]*)\)", text)
    if found is None:
        return rule
    if found[1] == "None":
        return Rule(meaning="the driver no longer requests an action", severity="OK")
    return msgspec.structs.replace(rule, action=f"what the driver requests: {found[1]}")


def judge(occasions: Sequence[Occasion], boot: str, now_s: float) -> tuple[Finding, ...]:
    """One finding for each kind, code and part that is in force."""
    groups: dict[tuple[str, int, str], list[Occasion]] = {}
    for one in occasions:
        groups.setdefault((one.kind, one.code, one.item), []).append(one)
    found = [_judge(group, boot, now_s) for group in groups.values()]
    return tuple(one for one in found if one is not None)


def _judge(group: Sequence[Occasion], boot: str, now_s: float) -> Finding | None:
    latest = group[-1]
    rule = rule_of(latest)
    standing = [one for one in group if not one.cleared and _in_force(one, rule, boot, now_s)]
    more = rule.recurring
    recent = [one for one in group if more and one.last_s > now_s - more.days * 86400]
    again = more is not None and len(recent) >= more.after and any(not one.cleared for one in recent)
    if not standing and not again:
        return None
    shown = standing or recent
    count = len(recent) if again else len(standing)
    what = rule.meaning
    if count > 1:
        what += f", {count} times" + (f" within {more.days:g} days" if again and more else "")
    lines = sum(one.lines for one in shown)
    what += f" (last {times.utc(latest.last_s)}, {lines} line{'s' if lines > 1 else ''}: {shown[-1].text})"
    if shown[-1].figures:
        what += f"; the node: {shown[-1].figures}"
    code = str(latest.code) if latest.kind == "xid" else latest.kind
    return Finding(
        check="kernellog",
        item=f"{latest.item} {'Xid ' if latest.kind == 'xid' else ''}{code}".strip(),
        severity=more.severity if again and more else rule.severity,
        what=what,
        value=count,
        limit=f"{more.after} in {more.days:g} days" if again and more else "none",
        action=more.action if again and more else rule.action,
    )


def _in_force(one: Occasion, rule: Rule, boot: str, now_s: float) -> bool:
    return one.last_s > now_s - rule.hours * 3600 if rule.hours else one.boot == boot


def metrics(occasions: Iterable[Occasion]) -> tuple[Metric, ...]:
    """How often each fault has come."""
    counts: dict[tuple[str, int, str], int] = {}
    for one in occasions:
        key = (one.kind, one.code, one.item)
        counts[key] = counts.get(key, 0) + 1
    words = "Occasions of faults in the kernel's log, as far as they are kept."
    return tuple(
        counter("kernel_faults_total", count, {"kind": kind, "code": str(code or ""), "item": item}, words)
        for (kind, code, item), count in sorted(counts.items())
    )
