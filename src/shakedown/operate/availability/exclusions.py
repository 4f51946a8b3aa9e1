"""What a contract takes out of account, line by line: outages of some kinds with enough notice, reservations, downtimes that
were agreed by name. Pure.

Rules hold in the order of the contract; where two overlap, the first takes the hours. What a rule would cover but for its
conditions is kept as a line that says why it was refused: a notice that nobody recorded is no notice.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from ...hosts import hostlist
from ...times import months
from .contract import Contract, ExcludeRule, seconds_of, time_of
from .history import OPEN_S, STATE_CODE, History, Ints, union
from .records import Moved
from .segments import Bools, Claims, Segments
from .words import kind_of


@dataclass(slots=True)
class Lines:
    """What the rules claim, and the lines that they are told in; ``lines[i]`` is what ``claims.line == i`` belongs to."""

    claims: Claims
    lines: list[Moved]
    refused: list[Moved]


@dataclass(slots=True)
class _Found:
    """One thing that a rule covers: an interval of some nodes."""

    what: str
    nodes: Ints
    begin: int
    end: int
    refused: str = ""
    records: int = 1


def kinds_of(history: History, contract: Contract) -> tuple[str, ...]:
    """The kind of each cause: as its record says, as the contract reads its words, or as everybody does."""
    own = contract.own_causes
    return tuple(one.kind or kind_of(one.what, own) for one in history.causes)


def scheduled_rows(history: History, contract: Contract, kinds: Sequence[str]) -> Bools:
    """Which records are scheduled outages, as the contract defines them."""
    events, rule = history.events, contract.scheduled
    by_kind = np.array([kind in rule.kinds for kind in kinds], bool)
    states = [STATE_CODE[one] for one in rule.states]
    if not len(events):
        return np.zeros(0, bool)
    found = by_kind[events.cause] | np.isin(events.state, states)
    if notice := seconds_of(rule.notice, "scheduled, notice"):
        found &= (events.announced >= 0) & (events.begin - events.announced >= notice)
    return found


def lines(history: History, contract: Contract, kinds: Sequence[str], begin_s: int, end_s: int) -> Lines:
    """What the contract's rules claim of a stretch of time."""
    rows: list[tuple[Ints, int, int, int]] = []  # nodes, begin, end, line
    told: list[Moved] = []
    refused: list[Moved] = []
    for rule in contract.exclude:
        covered = _covered(rule, history, contract, kinds, begin_s, end_s)
        spans = _monthly(rule, covered, contract.zone, begin_s, end_s)
        for one in covered:
            line = Moved(
                rule=rule.name,
                what=one.what,
                nodes=_folded(history, one.nodes),
                begin_s=one.begin,
                end_s=min(one.end, end_s),
                treat=rule.treat,
                records=one.records,
            )
            if one.refused:
                refused.append(msgspec.structs.replace(line, refused=one.refused))
                continue
            for low, high in spans if spans is not None else ((one.begin, one.end),):
                low, high = max(low, one.begin), min(high, one.end)
                if high > low:
                    rows.append((one.nodes, low, high, len(told)))
            told.append(line)
    if not rows:
        return Lines(Claims.none(), told, refused)
    sizes = [len(nodes) for nodes, *_ in rows]
    begin, end, place = (np.repeat(column, sizes) for column in list(zip(*rows, strict=True))[1:])
    node = np.concatenate([nodes for nodes, *_ in rows]).astype(np.int32)
    return Lines(Claims(node, begin, end, place.astype(np.int32)), told, refused)


def flags(found: Segments, told: Lines) -> tuple[Bools, Bools]:
    """Which segments are excluded (not scheduled), and which are forgiven (count as up)."""
    if not told.lines:
        none = np.zeros(len(found.node), bool)
        return none, none
    as_up = np.array([one.treat == "as up" for one in told.lines], bool)
    claimed = found.claim >= 0
    up = claimed & as_up[np.maximum(found.claim, 0)]
    return claimed & ~up, up


def moved(found: Segments, told: Lines) -> tuple[Moved, ...]:
    """The lines with the hours that each moved, and those that were refused."""
    claimed = found.claim >= 0
    line, seconds = found.claim[claimed], found.seconds[claimed]
    size = len(told.lines)
    whole = np.bincount(line, found.weight[claimed] * seconds, size)
    lost = np.bincount(line, found.weight[claimed] * seconds * (found.lost[claimed] / found.parts), size)
    applied = [
        msgspec.structs.replace(
            one,
            scheduled_h=0.0 if one.treat == "as up" else float(whole[at]) / 3600,
            forgiven_h=float(lost[at]) / 3600,
        )
        for at, one in enumerate(told.lines)
    ]
    return (*applied, *told.refused)


# --------------------------------------------------------------------------------------------------------------- a rule


def _covered(
    rule: ExcludeRule, history: History, contract: Contract, kinds: Sequence[str], begin_s: int, end_s: int
) -> list[_Found]:
    """What a rule speaks of within the stretch, in the order of time."""
    only = None
    if rule.nodes:
        wanted = set(hostlist.expand(rule.nodes))
        only = np.array([at for at, name in enumerate(history.names) if name in wanted], np.int64)
    found: list[_Found] = []
    if rule.kinds or rule.states or rule.what:
        found += _outages(rule, history, kinds, only)
    if rule.reservations or rule.flags:
        found += _reserved(rule, history, only)
    if rule.begin:
        low, high = (time_of(one, contract.zone, rule.name) for one in (rule.begin, rule.end))
        if not (rule.kinds or rule.states or rule.what or rule.reservations or rule.flags):
            nodes = np.arange(len(history.names)) if only is None else only
            found = [_Found(rule.why, nodes, low, high)]
        for one in found:
            one.begin, one.end = max(one.begin, low), min(one.end, high)
    longest = seconds_of(rule.longest or "0 s", rule.name)
    kept = []
    for one in found:
        if one.end <= max(begin_s, one.begin) or one.begin >= end_s or not len(one.nodes):
            continue
        if longest and one.end - one.begin > longest:
            one.refused = one.refused or f"longer than {rule.longest}"
        kept.append(one)
    return sorted(kept, key=lambda one: (one.begin, one.end))


def _outages(rule: ExcludeRule, history: History, kinds: Sequence[str], only: Ints | None) -> list[_Found]:
    """Outages of the rule's kinds, states and words; those alike in cause and times are one line."""
    events = history.events
    fits = np.array(
        [
            (not rule.kinds or kind in rule.kinds)
            and (not rule.what or re.search(rule.what, one.what, re.IGNORECASE) is not None)
            for one, kind in zip(history.causes, kinds, strict=True)
        ],
        bool,
    )
    if not len(events):
        return []
    chosen = fits[events.cause]
    if rule.states:
        chosen &= np.isin(events.state, [STATE_CODE[one] for one in rule.states])
    if only is not None:
        chosen &= np.isin(events.node, only)
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return []
    table = np.stack([events.begin[rows], events.end[rows], events.cause[rows], events.announced[rows]], axis=1)
    groups, place = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(place, kind="stable")
    parts = np.split(rows[order], np.cumsum(np.bincount(place.ravel(), minlength=len(groups)))[:-1])
    notice = seconds_of(rule.notice or "0 s", rule.name)
    found = []
    for (begin, end, cause, announced), own in zip(groups.tolist(), parts, strict=True):
        refused = _notice(notice, begin, announced if announced >= 0 else None, rule.notice)
        nodes = np.unique(events.node[own]).astype(np.int64)
        found.append(_Found(history.causes[cause].what, nodes, begin, end, refused, len(own)))
    return found


def _reserved(rule: ExcludeRule, history: History, only: Ints | None) -> list[_Found]:
    notice = seconds_of(rule.notice or "0 s", rule.name)
    found = []
    for one in history.reservations:
        named = not rule.reservations or any(fnmatch.fnmatchcase(one.name, pattern) for pattern in rule.reservations)
        if not named or not set(rule.flags) <= set(one.flags):
            continue
        nodes = np.array(one.nodes, np.int64)
        if only is not None:
            nodes = nodes[np.isin(nodes, only)]
        refused = _notice(notice, one.begin_s, one.first_seen_s, rule.notice)
        found.append(_Found(f"reservation {one.name}", nodes, one.begin_s, one.end_s, refused))
    return found


def _notice(wanted: int, begin: int, announced: int | None, words: str) -> str:
    if not wanted:
        return ""
    if announced is None:
        return "when it was announced is not recorded"
    before_s = begin - announced
    return "" if before_s >= wanted else f"announced {max(0, before_s) / 3600:.1f} h before, not {words}"


def _monthly(
    rule: ExcludeRule, covered: Sequence[_Found], zone: str, begin_s: int, end_s: int
) -> tuple[tuple[int, int], ...] | None:
    """When the rule may take hours, where it may take only so many of each calendar month: the first ones. None: always."""
    most = seconds_of(rule.most_per_month or "0 s", rule.name)
    if not most:
        return None
    spans = union([(one.begin, one.end) for one in covered if not one.refused])
    found = []
    if not spans:
        return ()
    for low, high in months(min(one[0] for one in spans), min(OPEN_S, max(end_s, begin_s)), zone):
        left = most
        for begin, end in spans:
            begin, end = max(begin, low), min(end, high)
            if end > begin and left > 0:
                taken = min(left, end - begin)
                found.append((begin, begin + taken))
                left -= taken
    return tuple(found)


def _folded(history: History, nodes: Ints) -> str:
    if len(nodes) == len(history.names) and len(nodes) > 1:
        return f"all {len(nodes)} nodes"
    return hostlist.fold(history.names[at] for at in nodes.tolist())
