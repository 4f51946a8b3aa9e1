"""Whether the traces that a submission counts can be right: dead, frozen and copied meters, wrong units, odd ones of a fleet.

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

from ..records import Record
from ..units import show
from . import copied, intervals
from .feeds import load_of
from .level_budget import load_nodes
from .signs import PLAUSIBLE
from .stamps import Window
from .submission import MeteredFeed, Submission
from .trace import Floats, Trace

#: A fleet of so many like loads has a median that one bad member does not move.
FLEET = 4
#: A member is odd beyond this factor, and beyond so many robust standard deviations of the fleet.
ODD_FACTOR, ODD_SIGMA = 1.5, 8.0
#: Two or three loads of like nodes, and a stated power of a node, differ by less than these.
FEW_FACTOR, STATED_FACTOR = 3.0, 10.0
#: A value may repeat so often before it is suspect, and so many times longer than it does elsewhere.
REPEATS, LONGER = 10, 8
#: What changes by this share at the like feeds, a feed of the same nodes must show.
SEEN_CHANGE = 0.10
#: Factors between what is meant and what is read, with the mistake that makes them.
_MISTAKES = (
    (1000.0, "kWh taken for Wh, or kW for W"),
    (3600.0, "Wh taken for J"),
    (3.6e6, "kWh taken for J"),
    (60.0, "minutes taken for seconds"),
    (10.0, "tenths of a unit"),
    (100.0, "hundredths of a unit"),
    (3.0, "one phase of three"),
    (2.0, "one feed of two"),
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
    found: dict[str, Unsound] = {}
    for one in (
        *_dead(submission, feeds, core, loads, total),
        *_implausible(submission, loads, total),
        *_fleet(submission, loads, total),
        *_frozen(submission, feeds, windows, total, means),
        *_copies(submission, feeds, core, loads, means, total),
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
            return f"the counter stands at {good.value[0]:g} {trace.channel.unit} at all of its {len(good)} readings"
        return None
    if not np.any(good.value):
        return f"all of its {len(good)} readings are 0 {trace.channel.unit}"
    return None


# ---------------------------------------------------------------------------------------------------------- mean powers


def _mean(trace: Trace, window: Window) -> float | None:
    watts, covered = intervals.between(
        intervals.of(trace), np.array([window.begin_ns]), np.array([window.end_ns])
    )
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
        if mine is not None and len(mine.feeds) > 1 and usual and len(_like(loads, feed.of)) >= FLEET:
            if abs(math.log(max(mine.watts, 1e-9) / mine.nodes / usual)) < math.log(ODD_FACTOR) / 2:
                continue  # a supply in reserve: the load's other feeds carry what the like loads draw
        lost = usual * mine.nodes - mine.watts if usual and mine else None
        effect = (
            f"about {show(lost, 'W')} are missing, {_share(lost, total + lost)}"
            if lost and lost > 0
            else "what it feeds is missing from the total"
        )
        yield Unsound(feed=feed.name, code="dead", reason=f"in the core phase {why}", effect=effect)


def _implausible(submission: Submission, loads: Sequence[_Load], total: float) -> Iterator[Unsound]:
    for load in loads:
        for feed in load.feeds:
            channel = submission.traces[feed.channel].channel
            high = PLAUSIBLE[channel.place][1]
            watts = load.watts if len(load.feeds) == 1 else None
            if watts is not None and watts < 0:
                yield Unsound(
                    feed=feed.name,
                    code="negative",
                    reason=f"its mean power is {show(watts, 'W')}: the current sensors' direction, or the sign",
                    effect=f"{_share(2 * watts, total)} is missing",
                )
            elif watts is not None and watts > high:
                yield Unsound(
                    feed=feed.name,
                    code="implausible",
                    reason=f"{show(watts, 'W', 4)} is not what a {channel.place} draws{_mistake(watts / high, True)}",
                    effect=f"it makes up {_share(watts, total)}",
                )
        low, high = PLAUSIBLE["node"]
        if load.nodes and load.watts > 0 and not low <= load.watts / load.nodes <= high:
            each = load.watts / load.nodes
            for feed in load.feeds:
                yield Unsound(
                    feed=feed.name,
                    code="implausible",
                    reason=f"{show(each, 'W')} is not what a node draws ({show(load.watts, 'W')} for {load.nodes} nodes)",
                    effect=f"what {load.nodes} nodes draw is not in the total",
                )


# ----------------------------------------------------------------------------------------------------------------- fleet


def _fleet(submission: Submission, loads: Sequence[_Load], total: float) -> Iterator[Unsound]:
    """Each load of a set against the median power of a node over all of them: beyond a factor and many robust deviations
    (1.4826 median |x - median|) of the logarithms it is odd. Of two or three, and of one against the stated power of a
    node, only a gross factor tells, and not which is wrong."""
    for nodes in submission.description.sets:
        like = [one for one in _like(loads, nodes.name) if one.watts > 0]
        if not like:
            continue
        each = np.array([one.watts / one.nodes for one in like])
        logs = np.log(each)
        middle = float(np.median(logs))
        stated = nodes.watts_per_node
        if len(like) >= FLEET:
            sigma = 1.4826 * float(np.median(np.abs(logs - middle)))
            limit = max(math.log(ODD_FACTOR), ODD_SIGMA * sigma)
            against, odd = f"the median of {len(like)} like loads", np.abs(logs - middle) > limit
        elif len(like) > 1 and float(np.ptp(logs)) > math.log(FEW_FACTOR):
            middle = math.log(stated) if stated else middle
            off = np.abs(logs - middle) > math.log(FEW_FACTOR) / 2
            against, odd = "stated of a node" if stated else "between them: one is wrong", off
        else:
            if not stated or stated <= 0:
                continue
            middle = math.log(stated)
            against, odd = "stated of a node", np.abs(logs - middle) > math.log(STATED_FACTOR)
        for load, log in zip((like[i] for i in np.flatnonzero(odd)), logs[odd], strict=True):
            yield from _odd(load, float(log), middle, against, total)


def _odd(load: _Load, log: float, middle: float, against: str, total: float) -> Iterator[Unsound]:
    expected = math.exp(middle) * load.nodes
    lost = expected - load.watts
    for feed in load.feeds:
        yield Unsound(
            feed=feed.name,
            code="scale",
            reason=f"{show(load.watts, 'W')} for {load.nodes} nodes, {show(math.exp(log), 'W')} a node; "
            f"{show(math.exp(middle), 'W')} {'are' if against.startswith('stated') else 'is'} {against}"
            f"{_mistake(math.exp(abs(log - middle)), log > middle)}",
            effect=f"about {show(abs(lost), 'W')} {'too little' if lost > 0 else 'too much'}, "
            f"{_share(lost, max(total, 1e-9) + max(lost, 0.0))}",
        )


def _mistake(factor: float, high: bool) -> str:
    """What a factor suggests, within a quarter."""
    for known, words in _MISTAKES:
        if abs(math.log(factor / known)) < math.log(1.25):
            return f" (a factor of {factor:.3g}{' too high' if high else ''}: {words}?)"
    return f" (a factor of {factor:.3g})"


# ---------------------------------------------------------------------------------------------------------------- frozen


class _Still(NamedTuple):
    """The longest stretch in which a trace shows one value."""

    begin_ns: int
    end_ns: int
    readings: int
    others: Floats  # readings of each other stretch
    value: float


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
        at = _still(trace, (core.begin_ns, core.end_ns) if counter else span)
        if at is None or at.readings < REPEATS:
            continue
        inside = max(0, min(at.end_ns, core.end_ns) - max(at.begin_ns, core.begin_ns)) * 1e-9
        if not inside:
            continue
        alone = len(at.others) >= REPEATS and at.readings > LONGER * float(at.others.max())
        if counter:
            suspect = alone and not _caught_up(trace, at, core)
        else:
            suspect = alone or (feed.of in sets and _others_moved(submission, feeds, feed, at))
        if not suspect:
            continue
        seconds = (at.end_ns - at.begin_ns) * 1e-9
        what = "the counter stands still" if counter else f"every reading is {at.value:g} {trace.channel.unit}"
        elsewhere = f", where elsewhere no more than {int(at.others.max())} in a row are equal" if alone else ""
        moved = "" if alone else ", while the power of the like feeds changes"
        yield Unsound(
            feed=feed.name,
            code="frozen",
            reason=f"for {seconds:.4g} s ({at.readings} readings) {what}{elsewhere}{moved}",
            effect=f"{inside:.4g} s of the core phase ({inside / core.seconds:.0%}) rest on one value, "
            f"of a feed with {_share(means.get(feed.name) or 0.0, total)}",
        )


def _still(trace: Trace, span: tuple[int, int]) -> _Still | None:
    good = trace.take(trace.ok & (trace.t_ns >= span[0]) & (trace.t_ns <= span[1]))
    if len(good) < REPEATS:
        return None
    at = np.concatenate([[0], np.flatnonzero(np.diff(good.value) != 0) + 1])
    runs = np.diff(np.append(at, len(good)))
    longest = int(np.argmax(runs))
    first, last = int(at[longest]), int(at[longest] + runs[longest] - 1)
    others = np.delete(runs, longest).astype(np.float64)
    return _Still(int(good.t_ns[first]), int(good.t_ns[last]), int(runs[longest]), others, float(good.value[first]))


def _caught_up(trace: Trace, at: _Still, core: Window) -> bool:
    """Whether a counter that stood still in the midst of the core phase made up for it at once: its energy is then right."""
    good = trace.take(trace.ok)
    after = good.take((good.t_ns > at.end_ns) & (good.value != at.value))
    if not len(after) or at.end_ns >= core.end_ns or int(after.t_ns[0]) > core.end_ns:
        return False
    inside = good.take((good.t_ns >= core.begin_ns) & (good.t_ns <= core.end_ns))
    usual = float(inside.value[-1] - inside.value[0]) / max(int(inside.t_ns[-1] - inside.t_ns[0]), 1)
    made = float(after.value[0] - at.value) / max(int(after.t_ns[0]) - at.begin_ns, 1)
    return made > 0.5 * usual


def _others_moved(submission: Submission, feeds: Sequence[MeteredFeed], feed: MeteredFeed, at: _Still) -> bool:
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
    for first, second in copied.pairs(traces):
        if load_of(by_name[first]) == load_of(by_name[second]) and _as_the_fleet(loads, by_name[second]):
            continue  # supplies that share a load evenly, as all like loads' do
        watts = means.get(second) or 0.0
        yield Unsound(
            feed=second,
            code="copy",
            reason=f"its readings are those of {first!r}: two meters on two loads never agree in every change",
            effect=f"{_share(watts, total)} is counted from another feed's meter; its own load is not known",
        )


def _as_the_fleet(loads: Sequence[_Load], feed: MeteredFeed) -> bool:
    mine = next((one for one in loads if feed in one.feeds), None)
    usual = _median_w(loads, feed.of, feed.name)
    if mine is None or not mine.nodes or not usual or len(_like(loads, feed.of)) < FLEET or mine.watts <= 0:
        return False
    return abs(math.log(mine.watts / mine.nodes / usual)) < math.log(ODD_FACTOR) / 2
