"""The tree of feeds: which meter's load contains which, so that nothing is counted twice and nothing is left unnamed.

    tree(channels, site)  ->  Tree     what contains what, from `within`, `place`, host and the site's own description
    total(tree, traces)   ->  Quantity the system's mean power, over the outermost meters, on one grid of time
    rest(tree, name, ...) ->  Rest     parent - sum of children: fans, supply loss
    cross_check(a, b)     ->  Check    two meters on one load

A sum over two meters of which one contains the other is an error that names both. Several feeds of one load (phases,
redundant supplies) share its name in ``load`` and add; when one of them is missing, the load is not known so well (a gap
term), it has not become smaller.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ...errors import BadInput, unknown
from ...metering.meters import PLACES, UPSTREAM, Channel, channel_key
from ...metering.trace import Floats, Trace
from ...records import Notice, Record
from ..uncertainty.budget import class_term, worth
from ..uncertainty.quantity import Quantity, Term, quantity
from ..uncertainty.quantity import total as add
from ..uncertainty.quantity import unknown as not_known
from ..uncertainty.ratios import agreement
from . import intervals


class Feed(Record, frozen=True, kw_only=True):
    """One place through which power flows. Without a channel it is known to be there and not metered."""

    name: str
    channel: str = ""  # key of the channel that meters it (host:id)
    within: str = ""  # the feed that contains it
    load: str = ""  # what it feeds where several feeds share one load: phases, redundant supplies
    same_as: str = ""  # another feed whose load this meter sees too: for the cross-check, never added
    note: str = ""


def load_of(feed: Feed) -> str:
    """What a feed supplies: the load that it shares with others (redundant supplies, phases), else one of its own."""
    return f"load {feed.load}" if feed.load else f"feed {feed.name}"


class Site(Record, frozen=True, kw_only=True):
    """A site's description of its feeds (TOML)."""

    feeds: tuple[Feed, ...]


class Tree(NamedTuple):
    """Feeds by name; every parent is there and there is no circle."""

    feeds: Mapping[str, Feed]
    channels: Mapping[str, Channel]  # by key

    def children(self, name: str) -> tuple[Feed, ...]:
        """The feeds directly inside one, without those that see its own load again."""
        return tuple(feed for feed in self.feeds.values() if feed.within == name and not feed.same_as)

    def canonical(self, name: str) -> str:
        """The feed that a second meter sees, else the feed itself."""
        seen = {name}
        while (other := self.feeds[name].same_as) and other not in seen:
            seen.add(other)
            name = other
        return name

    def parent(self, name: str) -> str:
        """The feed that contains one directly; a second meter lies where the first does. Empty at the top."""
        return self.feeds[name].within or self.feeds[self.canonical(name)].within

    def ancestors(self, name: str) -> tuple[str, ...]:
        """What contains a feed, the nearest first, second meters as the feeds that they see."""
        out: list[str] = []
        at = self.parent(name)
        while at:
            out.append(self.canonical(at))
            at = self.parent(at)
        return tuple(out)


class Rest(Record, frozen=True, kw_only=True):
    """What flows into a feed and into none of its children, in W."""

    feed: str
    children: tuple[str, ...]
    unmetered: tuple[str, ...]  # children without a meter: they are in the rest
    value: Quantity
    negative: bool  # below zero by more than its 95 % uncertainty: a meter or the tree is wrong
    notices: tuple[Notice, ...] = ()


class Check(Record, frozen=True, kw_only=True):
    """Two meters on one load: the ratio of the first to the second."""

    first: str
    second: str
    ratio: Quantity
    agree: bool | None  # None: not known
    text: str


def load_site(path: Path) -> Site:
    """A site's feeds from TOML. Raises BadInput."""
    from ... import strict

    raw = strict.read_toml(strict.read_text(path), str(path))
    return strict.convert(raw, Site, str(path), hint="docs/green500.md shows the keys of a feed")


# --------------------------------------------------------------------------------------------------------------- the tree


def tree(channels: Sequence[Channel], site: Site | None = None) -> Tree:
    """The tree of the site's feeds, and of the power and energy channels that it does not name. Raises BadInput for a
    name or channel that is not there, two feeds of one name, two feeds of one channel, and a circle."""
    known = {channel_key(one): one for one in channels if one.quantity in ("power", "energy")}
    feeds: dict[str, Feed] = {}
    metered: dict[str, str] = {}
    for feed in site.feeds if site else ():
        if feed.name in feeds:
            raise BadInput(f"there are two feeds {feed.name!r}", hint="give each its own name")
        if feed.channel:
            if feed.channel not in known:
                raise unknown("channel", feed.channel, known, where=f"feed {feed.name!r}")
            if feed.channel in metered:
                raise BadInput(
                    f"the channel {feed.channel!r} meters two feeds: {metered[feed.channel]!r} and {feed.name!r}",
                    hint="a reading belongs to one feed",
                )
            metered[feed.channel] = feed.name
        feeds[feed.name] = feed
    for key in known:
        if key not in metered:
            feeds[key] = Feed(name=key, channel=key)
            metered[key] = key
    for key, channel in known.items():
        name = metered[key]
        if feeds[name].name == key:  # not described by the site: what the channels themselves tell
            feeds[name] = _placed(feeds[name], channel, known, metered)
    for feed in feeds.values():
        for other in filter(None, (feed.within, feed.same_as)):
            if other not in feeds:
                raise unknown("feed", other, feeds, where=f"feed {feed.name!r}")
    found = Tree(feeds, known)
    _check_circles(found)
    return found


def _placed(feed: Feed, channel: Channel, known: Mapping[str, Channel], metered: Mapping[str, str]) -> Feed:
    """Where a channel lies that no one described: within the channel that it names, a twin of the same part, else
    within the nearest channel of its host that lies further upstream."""
    for key, other in known.items():
        if key == feed.channel:
            break
        if same_load(channel, other):
            return msgspec.structs.replace(feed, same_as=metered[key])
    host = f"{channel.host}:" if channel.host else ""
    if channel.within and host + channel.within in known:
        return msgspec.structs.replace(feed, within=metered[host + channel.within])
    order = PLACES.index(channel.place)
    above = [
        (PLACES.index(other.place), key)
        for key, other in known.items()
        if other.host == channel.host and PLACES.index(other.place) < order and not other.within
    ]
    if not above:
        return feed
    nearest = max(place for place, _ in above)
    return msgspec.structs.replace(feed, within=metered[next(key for place, key in above if place == nearest)])


def same_load(one: Channel, other: Channel) -> bool:
    """Whether two channels see the same load, as far as they show themselves: the powers and the counter of one part
    (``nvml/gpu0/energy``, ``.../average``, ``.../instant``), or the whole input from two different sources."""
    if one.host != other.host or one.place != other.place or one.within != other.within:
        return False
    if one.id.partition("/")[0] != other.id.partition("/")[0]:
        return one.place in UPSTREAM and bool(one.host)
    parts = [re.sub(r"/(power|energy|average|instant|current)[^/]*$", "", id) for id in (one.id, other.id)]
    return parts[0] == parts[1] and parts[0] != one.id and parts[1] != other.id


def _check_circles(found: Tree) -> None:
    for name in found.feeds:
        seen, at = [name], found.parent(name)
        while at:
            if at in seen:
                raise BadInput(
                    f"feeds contain each other in a circle: {' within '.join([*seen, at])}",
                    hint="a feed lies within the one that supplies it",
                )
            seen.append(at)
            at = found.parent(at)


# ---------------------------------------------------------------------------------------------------- counting once


def check_sum(found: Tree, names: Iterable[str]) -> None:
    """Raises BadInput where a sum of these feeds would count something twice; it names both."""
    chosen = list(names)
    for name in chosen:
        if name not in found.feeds:
            raise unknown("feed", name, found.feeds)
    loads: dict[str, str] = {}
    for name in chosen:
        load = found.canonical(name)
        if loads.get(load) == name:
            raise BadInput(f"the feed {name!r} is summed twice", hint="name it once")
        if load in loads:
            raise BadInput(
                f"the feeds {loads[load]!r} and {name!r} meter the same load: their sum would count it twice",
                hint="take one of them; the other serves as a cross-check",
            )
        loads[load] = name
    for name in chosen:
        for outer in found.ancestors(name):
            if outer in loads:
                raise BadInput(
                    f"the feed {loads[outer]!r} contains {name!r}: their sum would count {name!r} twice",
                    hint=f"sum the outer one alone, or what lies within {loads[outer]!r} without it",
                )


def outermost(found: Tree) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The metered feeds that together see the most without counting anything twice, and the feeds that none of them sees
    although nothing inside them is metered either."""
    chosen: list[str] = []
    unmetered: list[str] = []

    def visit(feed: Feed) -> None:
        if feed.same_as:
            return
        if feed.channel:
            chosen.append(feed.name)
            return
        inner = found.children(feed.name)
        if not inner:
            unmetered.append(feed.name)
        for child in inner:
            visit(child)

    for feed in found.feeds.values():
        if not feed.within:
            visit(feed)
    return tuple(chosen), tuple(unmetered)


# -------------------------------------------------------------------------------------------------------------- numbers


def mean_power(trace: Trace, begin_ns: int, end_ns: int, *, name: str = "", terms: Sequence[Term] = ()) -> Quantity:
    """The mean power of one channel over a window, in W, from its energy interpolated to the window's ends. What is
    missing is a term: the missing share times (most - least) / sqrt(12), facts 10.7; accuracy is the channel's own."""
    title = name or channel_key(trace.channel)
    stretches = intervals.of(trace)
    watts, covered = intervals.between(stretches, np.array([begin_ns]), np.array([end_ns]))
    if not covered[0] > 0:
        return not_known(title, "W", Notice(code="no-reading", text=f"{title} has no reading in the window"))
    value, share = float(watts[0]), float(covered[0])
    seen = stretches.take(intervals.overlap_s(stretches, begin_ns, end_ns) > 0)
    budget = [*terms, *class_terms(trace.channel, value, (end_ns - begin_ns) * 1e-9), *_gap_terms(1 - share, seen.w)]
    return quantity(title, "W", value, budget, method="energy interpolated to the window", seen=share)


def _gap_terms(missing: float, watts: Floats) -> list[Term]:
    """The term for a share of the window without readings: facts 10.7."""
    if missing <= 1e-9:
        return []
    swing = float(np.max(watts) - np.min(watts)) if len(watts) > 1 else float(np.max(watts))
    return [
        Term(
            name="gap",
            u=missing * swing / math.sqrt(12),
            text=f"{missing:.2%} of the window has no reading; readings span {swing:.4g} W",
            remedy="find out why readings are missing",
        )
    ]


def class_terms(channel: Channel, watts: float, seconds: float) -> list[Term]:
    """The maker's accuracy of a mean power over some time, named after its channel."""
    if channel.accuracy is None:
        return []
    stated = class_term(channel, watts * seconds, seconds)
    return [
        msgspec.structs.replace(one, name=f"{one.name} of {channel_key(channel)}")
        for one in worth([stated], 1 / seconds)
    ]


def total(
    found: Tree, traces: Mapping[str, Trace], begin_ns: int, end_ns: int, names: Sequence[str] | None = None
) -> Quantity:
    """The system's mean power over a window, in W: the outermost metered feeds (or those named), their cumulative energy
    interpolated to the window, added. A load with several feeds of which one is silent gets what it drew before its
    silence as an estimate with a wide term. Raises BadInput for a sum that counts something twice."""
    chosen, unmetered = outermost(found)
    if names is not None:
        chosen = tuple(names)
    check_sum(found, chosen)
    if not chosen:
        return not_known("total", "W", Notice(code="no-meter", text="no feed has a meter"))
    parts = [_feed_power(found, name, traces, begin_ns, end_ns) for name in chosen]
    notices = [
        Notice(code="unmetered", text=f"no meter sees {name!r}; it is not in the sum", advice="meter it or estimate it")
        for name in unmetered
    ]
    out = add("total power", "W", [(1.0, part) for part in parts])
    seen = [part.seen for part in parts if part.seen is not None]
    return msgspec.structs.replace(
        out,
        method=f"sum of {len(parts)} feeds on one window, energy interpolated",
        seen=min(seen, default=None),
        notices=(*out.notices, *notices),
    )


def _feed_power(found: Tree, name: str, traces: Mapping[str, Trace], begin_ns: int, end_ns: int) -> Quantity:
    feed = found.feeds[name]
    trace = traces.get(feed.channel)
    if trace is None:
        return not_known(name, "W", Notice(code="no-trace", text=f"the feed {name!r} has no trace"))
    value = mean_power(trace, begin_ns, end_ns, name=name)
    if not feed.load or (value.seen or 0.0) >= 0.999:
        return value
    return _silent_supply(found, feed, traces, begin_ns, end_ns, value)


def _silent_supply(
    found: Tree, feed: Feed, traces: Mapping[str, Trace], begin_ns: int, end_ns: int, value: Quantity
) -> Quantity:
    """One of several feeds of a load is silent for some of the window. Supplies share a load unevenly and shift it, so
    the silent share is filled with the mean of what this one drew when it was heard, or with the mean of the others, and
    may lie anywhere from nothing to twice that: u = share x fill / sqrt(3)."""
    heard = value.seen or 0.0
    fill = value.value if value.value is not None else None
    if fill is None:
        others = [
            mean_power(traces[other.channel], begin_ns, end_ns).value
            for other in found.feeds.values()
            if other.load == feed.load and other.name != feed.name and other.channel in traces
        ]
        known = [one for one in others if one is not None]
        if not known:
            return value
        fill = sum(known) / len(known)
    notice = Notice(
        code="supply-missing",
        text=f"the feed {feed.name!r} of {feed.load!r} is silent for {1 - heard:.1%} of the window; "
        f"{fill:.4g} W are taken in its place",
        advice="read every supply and phase of a load",
    )
    term = Term(
        name=f"silent feed {feed.name}",
        u=(1 - heard) * abs(fill) / math.sqrt(3),
        text=f"{1 - heard:.1%} of the window, anywhere from 0 W to {2 * fill:.4g} W",
        remedy="read every supply and phase of a load",
    )
    kept = [one for one in value.terms if one.name != "gap"]
    return quantity(
        feed.name, "W", fill, [*kept, term], method=value.method, seen=heard, notices=(*value.notices, notice)
    )


def rest(found: Tree, name: str, powers: Mapping[str, Quantity]) -> Rest:
    """What flows into a feed beyond its metered children: ``powers`` by feed. Raises BadInput where the feed is not there
    or contains no metered feed."""
    if name not in found.feeds:
        raise unknown("feed", name, found.feeds)
    inner, unmetered = _within(found, name)
    if not inner:
        raise BadInput(f"nothing within the feed {name!r} is metered", hint="there is no difference to form")
    missing = [one for one in (name, *inner) if one not in powers]
    if missing:
        raise BadInput(f"there is no power for {', '.join(map(repr, missing))}", hint="give a value for every feed")
    value = add(f"rest of {name}", "W", [(1.0, powers[name]), *((-1.0, powers[one]) for one in inner)])
    negative = value.value is not None and value.value < -(value.expanded or 0.0)
    notices: tuple[Notice, ...] = ()
    if negative:
        notices = (
            Notice(
                code="negative-rest",
                text=f"the parts of {name!r} draw {-(value.value or 0):.4g} W more than {name!r} itself, "
                f"beyond U = {value.expanded or 0:.3g} W",
                advice="check which meter sits where, the clocks, and the meters' gains",
            ),
        )
    return Rest(feed=name, children=inner, unmetered=unmetered, value=value, negative=negative, notices=notices)


def _within(found: Tree, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The outermost metered feeds inside one, and those inside it that no meter sees."""
    metered: list[str] = []
    unmetered: list[str] = []
    for child in found.children(name):
        if child.channel:
            metered.append(child.name)
            continue
        inner, missed = _within(found, child.name)
        metered += inner
        unmetered += missed if inner else (child.name,)
    return tuple(metered), tuple(unmetered)


def cross_check(first: Quantity, second: Quantity) -> Check:
    """The ratio of two meters on one load, held against their combined 95 % uncertainty."""
    ratio, agree = agreement(first, second)
    if ratio.value is None or agree is None:
        return Check(first=first.name, second=second.name, ratio=ratio, agree=None, text="one of them is not known")
    words = f"{first.name} reads {ratio.value - 1:+.2%} against {second.name}, U = {ratio.expanded or 0.0:.2%}"
    verdict = "they agree" if agree else "more than both uncertainties explain: one of them is wrong"
    return Check(first=first.name, second=second.name, ratio=ratio, agree=agree, text=f"{words}: {verdict}")


def checks(found: Tree, powers: Mapping[str, Quantity]) -> tuple[Check, ...]:
    """Every pair of meters on one load, of those whose power is given."""
    return tuple(
        cross_check(powers[feed.name], powers[feed.same_as])
        for feed in found.feeds.values()
        if feed.same_as and feed.name in powers and feed.same_as in powers
    )
