"""The tree of feeds: which meter's load contains which, so that nothing is counted twice and nothing is left unnamed.

    tree(channels, site)  ->  Tree     what contains what, from `within`, `place`, host and the site's own description

A sum over two meters of which one contains the other is an error that names both. Several feeds of one load (phases,
redundant supplies) share its name in ``load`` and add; what the powers are, and what is missing of
them, is told by ``feed_power``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ...errors import BadInput, unknown
from ...metering.meters import PLACES, UPSTREAM, Channel, channel_key
from ...records import Record


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


def outermost(found: Tree, within: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The metered feeds inside one, or of all, that together see the most without counting anything twice, and the feeds
    among which no meter sees anything."""
    metered: list[str] = []
    unmetered: list[str] = []
    for child in found.children(within):
        if child.channel:
            metered.append(child.name)
            continue
        inner, missed = outermost(found, child.name)
        metered += inner
        unmetered += missed if inner else (child.name,)
    return tuple(metered), tuple(unmetered)
