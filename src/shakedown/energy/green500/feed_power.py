"""Powers of the tree of feeds (``feeds``): over a window, compared, and what a feed's parts do not account for.

mean_power(trace, ...) ->  Quantity  over a window, a gap as a term
rest(tree, name, ...)  ->  Rest      parent - sum of children: fans, supply loss
cross_check(a, b)      ->  Check     two meters on one load
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import numpy as np

from ...errors import BadInput, unknown
from ...metering.meters import Channel, channel_key
from ...metering.trace import Floats, Trace
from ...records import Notice, Record
from ..uncertainty.budget import class_term, worth
from ..uncertainty.quantity import Quantity, Term, quantity
from ..uncertainty.quantity import total as add
from ..uncertainty.quantity import unknown as not_known
from ..uncertainty.ratios import agreement
from . import intervals
from .feeds import Tree, outermost


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


def mean_power(trace: Trace, begin_ns: int, end_ns: int, *, name: str = "") -> Quantity:
    """The mean power of one channel over a window, in W, from its energy interpolated to the window's ends. What is
    missing is a term: the missing share times (most - least) / sqrt(12); accuracy is the channel's own."""
    title = name or channel_key(trace.channel)
    stretches = intervals.of(trace)
    watts, covered = intervals.between(stretches, np.array([begin_ns]), np.array([end_ns]))
    if not covered[0] > 0:
        return not_known(title, "W", Notice(code="no-reading", text=f"{title} has no reading in the window"))
    value, share = float(watts[0]), float(covered[0])
    seen = stretches.take(intervals.overlap_s(stretches, begin_ns, end_ns) > 0)
    budget = [*class_terms(trace.channel, value, (end_ns - begin_ns) * 1e-9), *_gap_terms(1 - share, seen.w)]
    return quantity(title, "W", value, budget, method="energy interpolated to the window", seen=share)


def _gap_terms(missing: float, watts: Floats) -> list[Term]:
    """The term for a share of the window without readings."""
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


def rest(found: Tree, name: str, powers: Mapping[str, Quantity]) -> Rest:
    """What flows into a feed beyond its metered children: ``powers`` by feed. Raises BadInput where the feed is not there
    or contains no metered feed."""
    if name not in found.feeds:
        raise unknown("feed", name, found.feeds)
    inner, unmetered = outermost(found, name)
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
