"""Which level of the EE HPC WG's methodology a submission reaches: per aspect, with evidence, and what the next one needs.

    assess(submission, rules)  ->  Assessment     levels 0 to 3 of every aspect; the overall level is the least of them

The parameters are data (``rules/``); here stands only how each is held against what was measured. An aspect reaches
the highest level whose rules it meets all. A rule that fails says so with its id, the numbers, and what would meet it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from ...errors import MET, NOT_MET
from ...records import Notice, Record
from ...units import show
from ..counters import unroll
from ..uncertainty.quantity import Quantity
from . import feed_power, measured
from .aspects import ASPECTS, Case, Failure
from .measured import SetPower, Total
from .rules import Rules
from .soundness import Unsound, unsound
from .submission import MeteredFeed, Submission


class Aspect(Record, frozen=True, kw_only=True):
    """One aspect, judged."""

    id: str
    title: str
    level: int
    evidence: tuple[str, ...]
    failed: tuple[Failure, ...]  # what keeps it from each level above


class Assessment(Record, frozen=True, kw_only=True):
    """A submission against one set of rules."""

    title: str
    rules: str
    rules_title: str
    draft: bool
    level: int
    aspects: tuple[Aspect, ...]
    next: tuple[str, ...]  # what the next level needs, a sentence each
    core: Quantity  # W, by the method of the level
    full_run: Quantity | None
    idle: Quantity | None
    rmax: float | None  # flop/s
    n: int | None
    efficiency: Quantity | None  # flop/J
    sets: tuple[SetPower, ...]
    subsystems: dict[str, float]  # W
    feeds: dict[str, float]  # W
    unsound: tuple[Unsound, ...] = ()  # feeds whose traces cannot be right: no level, no efficiency
    doubt: str = ""  # why the power does not stand for the system, where it does not
    notices: tuple[Notice, ...] = ()


def assess(submission: Submission, rules: Rules) -> Assessment:
    """Every aspect at every level. Power is the mean of the readings inside at Levels 0 to 2, the counters' energy over
    their own time at Level 3 where all feeds have one."""
    case = examine(submission, rules)
    aspects = tuple(_aspect(case, id, title, check) for id, title, check in ASPECTS)
    level = min(one.level for one in aspects)
    by_counter = level == 3 and case.counter_core is not None and case.counter_core.value.value is not None
    core = case.counter_core if by_counter and case.counter_core else case.core
    rmax = submission.rmax
    doubt = _doubt(aspects)
    known = core.value.value is not None and rmax is not None and not doubt
    return Assessment(
        title=submission.description.title,
        rules=rules.id,
        rules_title=rules.title,
        draft=rules.draft,
        level=level,
        aspects=aspects,
        next=tuple(_next(aspects, level)),
        core=core.value,
        full_run=case.run.value if case.run else None,
        idle=case.idle.value if case.idle else None,
        rmax=rmax,
        n=submission.n,
        efficiency=measured.efficiency(rmax, core.value) if known and rmax is not None else None,
        sets=core.sets,
        subsystems=core.subsystems,
        feeds=core.feeds,
        unsound=case.unsound,
        doubt=doubt,
        notices=(*submission.notices, *_notices(submission, rules), *_second_meters(case)),
    )


def examine(submission: Submission, rules: Rules) -> Case:
    """Everything that the aspects look at, worked out once."""
    windows = {
        name: window
        for name in ("core", "full run", "idle")
        if (window := measured.window_of(submission, name, rules)) is not None
    }
    core = windows["core"]
    feeds = measured.counted(submission)
    counters = bool(feeds) and all(submission.traces[one.channel].channel.quantity == "energy" for one in feeds)

    def total(name: str) -> Total | None:
        if name not in windows:
            return None
        found = measured.power(submission, windows[name], rules, counter=counters)
        return found

    return Case(
        submission=submission,
        rules=rules,
        windows=windows,
        feeds=feeds,
        core=measured.power(submission, core, rules),
        counter_core=measured.power(submission, core, rules, counter=True) if counters else None,
        run=total("full run"),
        idle=total("idle"),
        unsound=unsound(submission, windows),
        coverage={
            (one.name, name): measured.coverage(submission, one, window)
            for one in feeds
            for name, window in windows.items()
        },
    )


def _aspect(case: Case, id: str, title: str, check: Callable[[Case, int], tuple[list[str], list[Failure]]]) -> Aspect:
    evidence: dict[str, None] = {}
    failed: list[Failure] = []
    reached = 0
    for level in (1, 2, 3):
        words, failures = check(case, level)
        evidence |= dict.fromkeys(words)
        if failures:
            failed += failures
        else:
            reached = level
    return Aspect(
        id=id,
        title=title,
        level=reached,
        evidence=tuple(evidence),
        failed=tuple(one for one in failed if one.level > reached),
    )


def _doubt(aspects: Sequence[Aspect]) -> str:
    """Why the power is no figure of the system: a meter that cannot be right (aspect 0), or a part of the machine that
    does not stand for the whole (aspect 2). Empty where it is one."""
    for aspect in aspects:
        if aspect.id in ("0", "2") and aspect.level == 0:
            least = [one for one in aspect.failed if one.level == 1]
            return f"aspect {aspect.id}: {least[0].text}" if least else f"aspect {aspect.id} is not met"
    return ""


def _next(aspects: Sequence[Aspect], level: int) -> Iterator[str]:
    """One sentence for each rule that keeps the whole from the next level."""
    for aspect in aspects:
        if aspect.level > level:
            continue
        for one in aspect.failed:
            if one.level == level + 1:
                yield f"aspect {aspect.id}: {one.text}; Level {one.level} needs {one.needs}"


def _notices(submission: Submission, rules: Rules) -> Iterator[Notice]:
    yield from _counter_notices(submission)
    if rules.draft:
        yield Notice(code="draft-rules", text=f"{rules.title} is not released: submissions cite 2.0")
    if submission.description.phases.half_second and not rules.readings.half_second:
        yield Notice(
            code="half-second",
            text="half_second is set, but these rules do not allow stamps to be moved: they were not",
        )
    if submission.rmax is None:
        yield Notice(
            code="no-performance",
            text="the performance is not known, so there is no efficiency",
            advice='give performance.rmax = "1.21 Pflop/s", or the log of HPL',
        )


def _counter_notices(submission: Submission) -> Iterator[Notice]:
    """Resets and wraps that may have gone unseen, between the first phase's begin and the last one's end."""
    begin = min(one.begin_ns for one in submission.windows.values())
    end = max(one.end_ns for one in submission.windows.values())
    for feed in measured.counted(submission):
        trace = submission.traces[feed.channel]
        if trace.channel.quantity == "energy":
            yield from unroll(trace.take((trace.t_ns >= begin) & (trace.t_ns <= end))).notices()


def _second_meters(case: Case) -> Iterator[Notice]:
    """Two meters on one load over the core phase: told where their uncertainties do not explain the difference."""
    window = case.windows["core"]
    by_name = {one.name: one for one in case.submission.description.feeds}

    def watts(feed: MeteredFeed) -> Quantity:
        trace = case.submission.traces[feed.channel]
        stated = case.submission.accuracy(feed)
        channel = msgspec.structs.replace(trace.channel, accuracy=stated)
        return feed_power.mean_power(trace.of(channel), window.begin_ns, window.end_ns, name=feed.name)

    for one in by_name.values():
        other = by_name.get(one.same_as)
        if other is not None and one.channel and other.channel:
            found = feed_power.cross_check(watts(one), watts(other))
            if found.agree is not True:
                yield Notice(code="meters-disagree", text=found.text, advice="find out which of them is wrong")


def unmet(aspect: Aspect) -> Iterator[str]:
    """The rules that an aspect does not meet, a line each: what keeps it from several levels once, with the least."""
    seen: set[tuple[str, str]] = set()
    for one in aspect.failed:
        if (one.rule, one.text) not in seen:
            seen.add((one.rule, one.text))
            yield f"not Level {one.level} [{one.rule}]: {one.text}; needs {one.needs}"


def exit_code(found: Assessment, wanted: int | None) -> int:
    """MET where the wanted level is reached (without one: any level), else NOT_MET."""
    return MET if found.level >= (1 if wanted is None else wanted) else NOT_MET


def summary(found: Assessment) -> str:
    """The verdict in a sentence."""
    least = [one.id for one in found.aspects if one.level == found.level]
    words = f"Level {found.level}" if found.level else "no level"
    power = show(found.core.value, "W", 4)
    why = (
        f"; aspect{'s' * (len(least) > 1)} {', '.join(least)} decide{'s' * (len(least) == 1)}"
        if found.level < 3
        else ""
    )
    doubt = ", which does not stand for the system" if found.doubt else ""
    return f"{found.title}: {words} of {found.rules_title}{why}. Core phase: {power}{doubt}"
