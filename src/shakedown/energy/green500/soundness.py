"""Whether the traces that a submission counts can be right: dead, frozen, copied, in a wrong unit, odd in a fleet.

    unsound(submission, windows)  ->  what is wrong with which feed, why, and what it does to the total
    dead(trace, begin, end)       ->  why a trace tells nothing of a window, where every reading in it is zero

No level is reached while one of them stands (``aspect_sound``): the rules take for granted that a meter measures its load.
Every check needs more than one sign, since real meters are coarse and HPL is steady: a value that repeats is judged by how
long it repeats elsewhere and by what the like feeds do meanwhile, a power by the median of the like feeds per node, a copy
by sequences of changes that two meters cannot share by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...metering.trace import Floats, Trace
from ...records import Record
from ...units import show
from ..anomalies import copied, scaled, still
from ..anomalies.signs import PLAUSIBLE
from . import intervals
from .feeds import load_of
from .level_budget import load_nodes
from .stamps import Window
from .submission import MeteredFeed, Submission

#: A fleet of so many like loads has a median that one bad member does not move.
FLEET = 4
#: A member is odd beyond this factor, and beyond so many robust standard deviations of the fleet.
ODD_FACTOR, ODD_SIGMA = 1.5, 8.0
#: Beyond this factor it is a unit rather than a meter that froze.
GROSS = 30.0
#: Three loads of like nodes of which no two agree within ALIKE_FACTOR, and a stated power of a node, differ by less than
#: these.
FEW_FACTOR, STATED_FACTOR, ALIKE_FACTOR = 3.0, 10.0, 1.2
#: A load with fewer feeds than its likes draws less than these by no more than this.
SHORT_FACTOR = 1.1
#: What changes by this share at the like feeds, a feed of the same nodes must show.
SEEN_CHANGE = 0.10
#: Factors between what is meant and what is read, with the mistake that reads too little, and too much.
_MISTAKES = (
    (1000.0, ("kWh taken for Wh, or kW for W", "Wh taken for kWh, or W for kW")),
    (3600.0, ("Wh taken for J", "J taken for Wh")),
    (3.6e6, ("kWh taken for J", "J taken for kWh")),
    (10.0, ("a decimal place", "a decimal place")),
    (100.0, ("two decimal places", "two decimal places")),
    (3.0, ("one phase of three", "a phase counted three times")),
    (2.0, ("one feed of two", "a feed counted twice")),
)


class Unsound(Record, frozen=True, kw_only=True):
    """One feed whose trace cannot be right."""

    feed: str
    code: str  # dead, negative, frozen, copy, scale, implausible
    reason: str
    effect: str  # on the total


class _Load(NamedTuple):
    """What several feeds may share: the nodes behind it and its mean power in the core phase."""

    of: str
    feeds: tuple[MeteredFeed, ...]
    nodes: int
    watts: float


def unsound(submission: Submission, windows: Mapping[str, Window]) -> tuple[Unsound, ...]:
    """Every feed that counts and whose trace cannot be right in the core phase or the full run, in the feeds' order; each
    once, with its gravest sign."""
    core = windows["core"]
    feeds = [one for one in submission.description.feeds if one.channel and one.of and not one.same_as]
    means = {one.name: _mean(submission.traces[one.channel], core) for one in feeds}
    total = math.fsum(watts for watts in means.values() if watts is not None)
    loads = _loads(submission, feeds, means)
    odd = list(_fleet(submission, loads, total))
    found: dict[str, Unsound] = {}
    for one in (
        *_dead(submission, feeds, core, loads, total),
        *_negative(loads, total),
        *_leaping(submission, feeds, core, means),
        *(one for factor, one in odd if factor > GROSS),
        *_frozen(submission, feeds, windows, total, means),
        *_copies(submission, feeds, core, loads, means, total),
        *(one for _, one in odd),
        *_implausible(submission, loads, total),
    ):
        found.setdefault(one.feed, one)
    return tuple(found[one.name] for one in feeds if one.name in found)


def dead(trace: Trace, begin_ns: int, end_ns: int) -> str | None:
    """Why a trace tells nothing of a window although it has readings there: all of them zero, or a counter that does not
    move, three readings at least. None where it tells something."""
    good = trace.take(trace.ok & (trace.t_ns >= begin_ns) & (trace.t_ns <= end_ns))
    if len(good) < 3:
        return None
    if trace.channel.quantity == "energy":
        if np.ptp(good.value) == 0:
            return "its counter does not move"
        return None
    if not np.any(good.value):
        return f"all of its readings are 0 {trace.channel.unit}"
    return None


# ---------------------------------------------------------------------------------------------------------- mean powers


def _mean(trace: Trace, window: Window) -> float | None:
    watts, covered = intervals.between(intervals.of(trace), np.array([window.begin_ns]), np.array([window.end_ns]))
    return float(watts[0]) if covered[0] > 0 else None


def _loads(
    submission: Submission, feeds: Sequence[MeteredFeed], means: Mapping[str, float | None]
) -> tuple[_Load, ...]:
    grouped: dict[tuple[str, str], list[MeteredFeed]] = {}
    for one in feeds:
        grouped.setdefault((one.of, load_of(one)), []).append(one)
    out = []
    for (of, _), members in grouped.items():
        watts = [means[one.name] for one in members]
        if all(one is not None for one in watts):
            out.append(
                _Load(of, tuple(members), load_nodes(members), math.fsum(one for one in watts if one is not None))
            )
    return tuple(out)


def _like(loads: Sequence[_Load], of: str) -> list[_Load]:
    return [one for one in loads if one.of == of and one.nodes]


def _median_w(loads: Sequence[_Load], of: str, without: str = "") -> float | None:
    """The median power of a node over the loads of a set, without the load that a feed belongs to; None for no other."""
    each = [one.watts / one.nodes for one in _like(loads, of) if without not in [feed.name for feed in one.feeds]]
    return float(np.median(each)) if each else None


def _share(part: float, total: float) -> str:
    return f"{abs(part) / total:.1%} of the total" if total > 0 else "the total"


# ------------------------------------------------------------------------------------------------------ dead, implausible


def _dead(
    submission: Submission, feeds: Sequence[MeteredFeed], core: Window, loads: Sequence[_Load], total: float
) -> Iterator[Unsound]:
    for feed in feeds:
        why = dead(submission.traces[feed.channel], core.begin_ns, core.end_ns)
        if why is None:
            continue
        mine = next((one for one in loads if feed in one.feeds), None)
        usual = _median_w(loads, feed.of, feed.name)
        if mine is not None and len(mine.feeds) > 1 and _as_the_fleet(loads, feed):
            continue  # a supply in reserve: the load's other feeds carry what the like loads draw
        lost = usual * mine.nodes - mine.watts if usual and mine else None
        effect = (
            f"about {show(lost, 'W')} are missing, {_share(lost, total + lost)}"
            if lost and lost > 0
            else "what it feeds is missing from the total"
        )
        yield Unsound(feed=feed.name, code="dead", reason=f"in the core phase {why}", effect=effect)


def _negative(loads: Sequence[_Load], total: float) -> Iterator[Unsound]:
    for load in loads:
        if load.watts < 0:
            for feed in load.feeds:
                yield Unsound(
                    feed=feed.name,
                    code="negative",
                    reason=f"the mean power is {show(load.watts, 'W')}: the current sensors' direction, or a sign",
                    effect=f"{show(-load.watts, 'W')} are taken off the total",
                )


def _leaping(
    submission: Submission, feeds: Sequence[MeteredFeed], core: Window, means: Mapping[str, float | None]
) -> Iterator[Unsound]:
    """Counters that have readings and no stretch between them that can be a power."""
    for feed in feeds:
        trace = submission.traces[feed.channel]
        good = trace.take(trace.ok & (trace.t_ns >= core.begin_ns) & (trace.t_ns <= core.end_ns))
        if means[feed.name] is None and trace.channel.quantity == "energy" and len(good) >= 3:
            gained = float(np.median(np.diff(good.value) / np.maximum(np.diff(good.t_ns) * 1e-9, 1e-9)))
            yield Unsound(
                feed=feed.name,
                code="scale" if gained > 0 else "negative",
                reason=f"its counter gains {show(gained, 'W')}, which nothing at a {trace.channel.place} draws: check the "
                "unit and the scale",
                effect="the power of its load is not known",
            )


def _implausible(submission: Submission, loads: Sequence[_Load], total: float) -> Iterator[Unsound]:
    """Powers that no node, and nothing at the meter's place, draws."""
    for load in loads:
        place = "node" if load.nodes else submission.traces[load.feeds[0].channel].channel.place
        low, high = PLAUSIBLE[place] if load.nodes else (0.0, PLAUSIBLE[place][1])
        each = load.watts / (load.nodes or 1)
        if load.watts > 0 and not low <= each <= high:
            behind = f" ({show(load.watts, 'W')} for {load.nodes} nodes)" if load.nodes else ""
            for feed in load.feeds:
                yield Unsound(
                    feed=feed.name,
                    code="implausible",
                    reason=f"{show(each, 'W')} is not what a {place} draws{behind}: check the unit and scale",
                    effect=f"{_share(load.watts, total)} is wrong, or what it feeds is missing from it",
                )


# ----------------------------------------------------------------------------------------------------------------- fleet


class _Reference(NamedTuple):
    """What a load's power of a node is held against: the logarithm that is usual, how far it may be off, and beyond what
    chance does not explain it."""

    usual: float
    limit: float
    chance: float
    against: str


def _fleet(submission: Submission, loads: Sequence[_Load], total: float) -> Iterator[tuple[float, Unsound]]:
    """Each load of a set against the power of a node of its likes (``_references``), and closer where it has fewer feeds
    than these and draws less. With the factor, above 1."""
    for nodes in submission.description.sets:
        like = [one for one in _like(loads, nodes.name) if one.watts > 0]
        logs = np.log([one.watts / one.nodes for one in like])
        feeds = [len(one.feeds) for one in like]
        for i, load in enumerate(like):
            for held in _references(logs, i, nodes.watts_per_node):
                usual = float(np.median(feeds[:i] + feeds[i + 1 :])) if len(feeds) > 1 else 0
                short = feeds[i] < usual and logs[i] < held.usual
                limit = min(held.limit, max(math.log(SHORT_FACTOR), held.chance)) if short else held.limit
                if abs(float(logs[i]) - held.usual) > limit:
                    lacks = f"; it has {feeds[i]} feed where its likes have {usual:g}" if short else ""
                    for one in _odd(load, held.usual, held.against + lacks, total):
                        yield math.exp(abs(float(logs[i]) - held.usual)), one
                    break


def _references(logs: Floats, i: int, stated_w: float | None) -> Iterator[_Reference]:
    """Of four or more the median, beyond a factor and many robust deviations (1.4826 median |x - median|) of the logarithms.
    Of three the two others where they agree, else their median by a gross factor. Of two the other: not which is wrong,
    unless one of them is what a node is stated to draw. A stated power is no measurement, and only a gross factor tells."""
    middle, others = float(np.median(logs)), np.delete(logs, i)
    stated = math.log(stated_w) if stated_w else None
    odd = math.log(ODD_FACTOR)
    if len(logs) >= FLEET:
        chance = ODD_SIGMA * 1.4826 * float(np.median(np.abs(logs - middle)))
        yield _Reference(middle, max(odd, chance), chance, f"the median of {len(logs)} like loads")
        return
    if len(others) == 2 and np.ptp(others) > math.log(ALIKE_FACTOR):
        yield _Reference(middle, math.log(FEW_FACTOR), 0.0, "that of the others: one is wrong")
    elif len(others) == 2:
        yield _Reference(float(others.mean()), odd, float(np.ptp(others)), "that of the two others")
    elif len(others) == 1:
        near = [stated is not None and abs(one - stated) < odd for one in (float(logs[i]), float(others[0]))]
        if near != [True, False]:
            yield _Reference(
                float(others[0]), odd, 0.0, "that of the other" + ": one is wrong" * (near != [False, True])
            )
    if stated is not None:
        yield _Reference(stated, math.log(STATED_FACTOR), 0.0, "stated of a node")


def _odd(load: _Load, usual: float, against: str, total: float) -> Iterator[Unsound]:
    expected = math.exp(usual) * load.nodes
    lost = expected - load.watts
    for feed in load.feeds:
        yield Unsound(
            feed=feed.name,
            code="scale",
            reason=f"{show(load.watts, 'W')} for {load.nodes} nodes, {show(load.watts / load.nodes, 'W')} a node, where "
            f"{show(math.exp(usual), 'W')} is {against}{_mistake(load.watts / expected)}",
            effect=f"about {show(abs(lost), 'W')} too {'little' if lost > 0 else 'much'}, "
            f"{_share(lost, max(total, 1e-9) + max(lost, 0.0))}",
        )


def _mistake(ratio: float) -> str:
    """What the ratio of what is read to what is expected suggests, within a quarter."""
    factor, high = max(ratio, 1 / ratio), ratio > 1
    word = f" (a factor of {factor:.3g} too {'high' if high else 'low'}"
    for known, words in _MISTAKES:
        if abs(math.log(factor / known)) < math.log(1.25):
            return f"{word}: {words[1] if high else words[0]}?)"
    return f"{word})"


# ---------------------------------------------------------------------------------------------------------------- frozen


def _frozen(
    submission: Submission,
    feeds: Sequence[MeteredFeed],
    windows: Mapping[str, Window],
    total: float,
    means: Mapping[str, float | None],
) -> Iterator[Unsound]:
    span = (min(one.begin_ns for one in windows.values()), max(one.end_ns for one in windows.values()))
    sets = {one.name for one in submission.description.sets}
    core = windows["core"]
    for feed in feeds:
        trace = submission.traces[feed.channel]
        counter = trace.channel.quantity == "energy"
        at = still.longest(trace, (core.begin_ns, core.end_ns) if counter else span)
        if at is None or at.readings < still.REPEATS:
            continue
        inside = max(0, min(at.end_ns, core.end_ns) - max(at.begin_ns, core.begin_ns)) * 1e-9
        if not inside:
            continue
        if counter:
            suspect = at.alone and not still.caught_up(trace, at, core)
        else:
            suspect = at.alone or (feed.of in sets and _others_moved(submission, feeds, feed, at))
        if not suspect:
            continue
        seconds = (at.end_ns - at.begin_ns) * 1e-9
        what = "the counter stands still" if counter else f"every reading is {at.value:g} {trace.channel.unit}"
        elsewhere = f", where elsewhere no more than {int(at.others.max())} in a row are equal" if at.alone else ""
        moved = "" if at.alone else ", while the power of the like feeds changes"
        yield Unsound(
            feed=feed.name,
            code="frozen",
            reason=f"for {seconds:.4g} s ({at.readings} readings) {what}{elsewhere}{moved}",
            effect=f"{inside:.4g} s of the core phase ({inside / core.seconds:.0%}) rest on one value, "
            f"of a feed with {_share(means.get(feed.name) or 0.0, total)}",
        )


def _others_moved(submission: Submission, feeds: Sequence[MeteredFeed], feed: MeteredFeed, at: still.Still) -> bool:
    """Whether the like feeds' power changed while this one showed one value, by more than a meter of its step overlooks:
    means over tenths of the stretch; and the value is none that others show as well."""
    edges = np.linspace(at.begin_ns, at.end_ns, 11).astype(np.int64)
    sums, count = np.zeros(10), 0
    for one in feeds:
        if one.of == feed.of and one.name != feed.name:
            watts, share = intervals.between(intervals.of(submission.traces[one.channel]), edges[:-1], edges[1:])
            if np.all(share > 0.5):
                sums, count = sums + watts, count + 1
    if not count or not np.all(sums > 0):
        return False
    change = float(np.ptp(sums)) / float(sums.max())
    step = submission.traces[feed.channel].channel.resolution or 0.0
    return change > SEEN_CHANGE and change * abs(at.value) > 3 * step


# ---------------------------------------------------------------------------------------------------------------- copies


def _copies(
    submission: Submission,
    feeds: Sequence[MeteredFeed],
    core: Window,
    loads: Sequence[_Load],
    means: Mapping[str, float | None],
    total: float,
) -> Iterator[Unsound]:
    traces = {}
    for one in feeds:
        trace = submission.traces[one.channel]
        traces[one.name] = trace.take(trace.ok & (trace.t_ns >= core.begin_ns) & (trace.t_ns <= core.end_ns))
    by_name = {one.name: one for one in feeds}
    same = [scaled.Scaled(first, second, 1.0) for first, second in copied.pairs(traces)]
    for first, second, factor in (*same, *scaled.pairs(traces)):
        shared = load_of(by_name[first]) == load_of(by_name[second])
        if shared and (factor != 1 or _as_the_fleet(loads, by_name[second])):
            continue  # supplies that share a load in one proportion; evenly, where all like loads' do
        watts = means.get(second) or 0.0
        times = "" if abs(factor - 1) < 1e-6 else f" times {factor:.4g}"
        yield Unsound(
            feed=second,
            code="copy",
            reason=f"its readings are those of {first!r}{times}: two meters on two loads never agree in every change",
            effect=f"{_share(watts, total)} is counted from another feed's meter; its own load is not known",
        )


def _as_the_fleet(loads: Sequence[_Load], feed: MeteredFeed) -> bool:
    mine = next((one for one in loads if feed in one.feeds), None)
    usual = _median_w(loads, feed.of, feed.name)
    if mine is None or not mine.nodes or not usual or len(_like(loads, feed.of)) < FLEET or mine.watts <= 0:
        return False
    return abs(math.log(mine.watts / mine.nodes / usual)) < math.log(ODD_FACTOR) / 2
