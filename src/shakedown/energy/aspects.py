"""The rules of the EE HPC WG, aspect by aspect: each function holds one level's parameters against what was measured.

An aspect's function returns what it saw (with numbers) and the rules that fail. A rule's id begins with its aspect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from ..meters import Status
from ..records import Record
from ..units import show, show_seconds
from . import draw, level_budget
from .measured import Coverage, Total
from .rules import Level, Rules
from .stamps import Window
from .submission import MeteredFeed, Submission, expand


class Failure(Record, frozen=True, kw_only=True):
    """One rule that one level asks and the submission does not meet."""

    rule: str
    level: int
    text: str  # what was found, with its numbers
    needs: str  # what would meet it: follows "Level 2 needs"


class Case(NamedTuple):
    """A submission with everything worked out that the rules look at."""

    submission: Submission
    rules: Rules
    windows: Mapping[str, Window]
    feeds: tuple[MeteredFeed, ...]
    core: Total
    counter_core: Total | None
    run: Total | None
    idle: Total | None
    coverage: Mapping[tuple[str, str], Coverage]

    def level(self, level: int) -> Level:
        return self.rules.levels[level - 1]

    def is_counter(self, feed: MeteredFeed) -> bool:
        return self.submission.traces[feed.channel].channel.quantity == "energy"


#: So many feeds that fail one rule are told one by one; of the others, how many.
TOLD = 3


class _Found:
    """Collects what one aspect saw at one level. What is said of several feeds in the same words is said once."""

    def __init__(self, level: int) -> None:
        self.level = level
        self._evidence: dict[str, list[str]] = {}
        self._failed: dict[str, list[Failure]] = {}

    def saw(self, text: str, feed: str = "") -> None:
        """``feed``: whose it is; feeds that share the text are named before it."""
        self._evidence.setdefault(text, []).extend([feed] if feed else [])

    def fail(self, rule: str, text: str, needs: str) -> None:
        self._failed.setdefault(rule, []).append(Failure(rule=rule, level=self.level, text=text, needs=needs))

    def result(self) -> tuple[list[str], list[Failure]]:
        evidence = [f"{_names(feeds)}: {text}" if feeds else text for text, feeds in self._evidence.items()]
        failed = []
        for found in self._failed.values():
            told, more = found[:TOLD], len(found) - TOLD
            if more > 0:
                told[-1] = msgspec.structs.replace(told[-1], text=f"{told[-1].text} (and {more} more like it)")
            failed += told
        return evidence, failed


def _names(feeds: list[str]) -> str:
    return ", ".join(feeds[:TOLD]) + (f" and {len(feeds) - TOLD} more" if len(feeds) > TOLD else "")


# -------------------------------------------------------------------------------------------------------------- aspect 1


def granularity(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """1a: how often the meters look, inside themselves."""
    found, rule = _Found(level), case.level(level).granularity
    if not case.feeds:
        found.fail("1a.meter", "no feed has a meter", "a meter")
    slow, summed, coarse = [], [], []
    for feed in case.feeds:
        model = case.submission.meter(feed)
        integrates = case.is_counter(feed) and bool(model and model.integrates)
        hertz = model.samples_hz if model else None
        if hertz is None and not integrates:  # a meter whose every sample is a reading tells its rate itself
            cover = case.coverage[feed.name, "core"]
            hertz = 1 / cover.refresh_s if cover.refresh_s > 0 else 0.0
        if rule.samples_hz is not None and not integrates and (hertz or 0.0) < rule.samples_hz * 0.99:
            slow.append(feed.name)
        if rule.integrated and not integrates:
            summed.append(feed.name)
        least = rule.dc_waveform_hz if model and model.current == "dc" else rule.ac_waveform_hz
        if least is not None and (model is None or model.waveform_hz is None or model.waveform_hz < least):
            coarse.append(feed.name)
    counters = sum(case.is_counter(feed) for feed in case.feeds)
    found.saw(f"{len(case.feeds)} feeds, {counters} of them read as energy counters")
    if slow:
        text = f"the meters of {_names(slow)} are not known to sample {rule.samples_hz:g} times a second"
        found.fail("1a.sampling", text, f"{rule.samples_hz:g} power sample a second inside every meter (samples_hz)")
    if summed:
        text = f"{_names(summed)} are not read from continuously integrating energy counters"
        found.fail(
            "1a.integrated", text, "an energy counter that integrates without a break on every feed (integrates)"
        )
    if coarse:
        text = f"the meters of {_names(coarse)} are not known to sample voltage and current fast enough"
        needs = f"{rule.ac_waveform_hz:g} samples a second (AC) or {rule.dc_waveform_hz:g} (DC) of both (waveform_hz)"
        found.fail("1a.waveform", text, needs)
    return found.result()


def timing(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """1b: which stretch is read how often."""
    found, rule = _Found(level), case.level(level).timing
    core = case.windows["core"]
    found.saw(f"core phase {show_seconds(core.seconds)} ({core.source}, stamps of {core.resolution_s:g} s)")
    if core.seconds < case.rules.core.at_least_s:
        found.fail(
            "1b.core-length",
            f"the core phase lasts {core.seconds:.1f} s",
            f"a core phase of at least {case.rules.core.at_least_s:g} s: a larger N",
        )
    if rule.window == "run" and "full run" not in case.windows:
        found.fail("1b.full-run", "the full run's begin and end are not given", "the phase full_run")
    for feed in case.feeds:
        _feed_timing(case, found, feed)
    return found.result()


def _feed_timing(case: Case, found: _Found, feed: MeteredFeed) -> None:
    rule, tolerance = case.level(found.level).timing, case.rules.tolerance
    core, seconds = case.coverage[feed.name, "core"], case.windows["core"].seconds
    interval = max(core.interval_s, core.refresh_s) if case.rules.readings.true_refresh else core.interval_s
    count = core.fresh if case.rules.readings.true_refresh else core.readings
    words = f"{core.readings} readings in the core phase, one each {core.interval_s:.3g} s"
    if core.refresh_s > 1.5 * core.interval_s:
        words += f" (the meter makes a value each {core.refresh_s:.3g} s)"
    found.saw(words, feed.name)
    if not core.readings:
        found.fail("1b.coverage", f"{feed.name} has no reading wholly inside the core phase", "readings over all of it")
        return
    edges = f"its first reading {core.first_s:.2f} s after the begin, its last {core.last_s:.2f} s before the end"
    by_counter = rule.or_counter_edge_s is not None and core.counter and _near(core, rule.or_counter_edge_s)
    if rule.edge_s is not None and not _near(core, rule.edge_s):
        found.fail(
            "1b.edges",
            f"{feed.name} has {edges}",
            f"a counter reading within {rule.edge_s:g} s of both ends of the core phase",
        )
    if not by_counter:
        _interval(found, case, feed, interval, count)
    if core.unequal > tolerance.unequal and rule.interval_share is not None:
        found.fail(
            "1b.equal", f"intervals of {feed.name} differ by {core.unequal:.0%} from the usual", "equal intervals"
        )
    windows = ("core", "full run") if rule.window == "run" else ("core",)
    for name in windows:
        if name in case.windows:
            _covered(case, found, feed, name, interval, seconds)


def _near(core: Coverage, edge_s: float) -> bool:
    return core.first_s <= edge_s and core.last_s <= edge_s and core.readings >= 2


def _interval(found: _Found, case: Case, feed: MeteredFeed, interval: float, count: int) -> None:
    rule, seconds = case.level(found.level).timing, case.windows["core"].seconds
    most = []
    if rule.interval_share is not None:
        most.append((rule.interval_share * seconds, f"{rule.interval_share:.0%} of the core phase"))
    if rule.interval_s is not None:
        most.append((rule.interval_s, f"{rule.interval_s:g} s"))
    for limit, words in most:
        if interval > limit * 1.01:
            alternative = (
                f", or a counter read within {rule.or_counter_edge_s:g} s of both ends"
                if rule.or_counter_edge_s
                else ""
            )
            found.fail(
                "1b.interval",
                f"{feed.name} gives a value each {interval:.3g} s",
                f"one at least each {limit:.3g} s ({words}){alternative}",
            )
    if count < rule.readings:
        kind = "counter readings" if case.coverage[feed.name, "core"].counter else "readings"
        found.fail(
            "1b.readings",
            f"{feed.name} has {count} {kind} in the core phase",
            f"at least {rule.readings}: read every {seconds / rule.readings:.3g} s, or run longer",
        )


def _covered(case: Case, found: _Found, feed: MeteredFeed, name: str, interval: float, core_s: float) -> None:
    """Readings from end to end: an end may lack less than one interval (that reading lies partly outside), plus what the
    edge rule grants, and no more than the tolerated share in between."""
    cover, window = case.coverage[feed.name, name], case.windows[name]
    slack = max(interval, cover.interval_s) * 1.5 + window.resolution_s
    if not cover.readings or cover.lead_s > slack or cover.tail_s > slack:
        begin, end = min(cover.lead_s, window.seconds), min(cover.tail_s, window.seconds)
        found.fail(
            "1b.coverage",
            f"{feed.name} leaves {begin:.3g} s at the begin and {end:.3g} s at the end of the {name} without a reading",
            f"readings from the begin of the {name} to its end",
        )
    elif cover.missing > case.rules.tolerance.missing:
        trace = case.submission.traces[feed.channel]
        inside = (trace.t_ns >= window.begin_ns) & (trace.t_ns <= window.end_ns)
        states = {Status(int(one)).name.lower() for one in trace.status[inside & ~trace.ok]}
        why = f" ({', '.join(sorted(states))})" if states else ""
        found.fail(
            "1b.gaps",
            f"{cover.missing:.1%} of the {name} has no reading of {feed.name}{why}",
            f"at most {case.rules.tolerance.missing:.0%} missing",
        )


def report(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """1c: which values are there to be reported."""
    found, rule = _Found(level), case.level(level).report
    core = case.counter_core if rule.energy and case.counter_core else case.core
    if core.value.value is None:
        why = "; ".join(one.text for one in core.value.notices)
        found.fail("1c.core", f"there is no mean power of the core phase: {why}", "readings in the core phase")
    else:
        found.saw(f"core phase {show(core.value.value, 'W', 5)}")
    if rule.energy and case.counter_core is None:
        found.fail("1c.energy", "there is no total energy of the core phase", "energy counters on every feed")
    for wanted, name, key, total in (
        (rule.run, "full run", "full_run", case.run),
        (rule.idle, "idle", "idle", case.idle),
    ):
        if not wanted:
            continue
        if total is None:
            found.fail(
                f"1c.{key.replace('_', '-')}", f"the {name} was not measured", f"the phase {key} with its readings"
            )
        elif total.value.value is None:
            why = "; ".join(one.text for one in total.value.notices)
            found.fail(f"1c.{key.replace('_', '-')}", why, f"readings in the phase {key}")
        else:
            found.saw(f"{name} {show(total.value.value, 'W', 5)}")
    phase = case.submission.description.phases.idle
    if rule.idle and phase is not None and not phase.ready:
        found.fail("1c.idle", "the idle power is that of a sleep state", "a system that is ready for work")
    if rule.series:
        _series(case, found, rule.series)
    return found.result()


def _series(case: Case, found: _Found, least: int) -> None:
    for feed in case.feeds:
        cover = case.coverage[feed.name, "core"]
        count = cover.fresh if case.rules.readings.true_refresh else cover.readings
        if count < least:
            found.fail(
                "1c.series",
                f"{feed.name} has {count} readings in the core phase",
                f"a series of at least {least} equal averages (or energy readings) in it",
            )


# -------------------------------------------------------------------------------------------------------------- aspect 2


def fraction(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """2: how much of the compute subsystem is measured, and how it was chosen."""
    found, rule = _Found(level), case.level(level).fraction
    description = case.submission.description
    sets = {one.name: one for one in description.sets}
    counts = {name: sum(level_budget.nodes_of(feed) for feed in case.submission.feeds_of(name)) for name in sets}
    all_nodes, nodes = sum(one.nodes for one in description.sets), sum(counts.values())
    watts = sum(one.measured_w or 0.0 for one in case.core.sets)
    found.saw(f"{nodes} of {all_nodes} compute nodes ({nodes / all_nodes:.1%}), {show(watts, 'W', 4)} measured")
    for name, count in counts.items():
        if count > sets[name].nodes:
            found.fail(
                "2.count",
                f"the feeds of {name} name {count} nodes, the set has {sets[name].nodes}",
                "each node behind one feed",
            )
    ran = description.performance.nodes
    if ran is not None and ran < all_nodes:
        found.fail("2.workload", f"the workload ran on {ran} of {all_nodes} nodes", "a run on all compute nodes")
    if nodes >= all_nodes:
        return found.result()
    if rule.whole:
        found.fail("2.fraction", f"{nodes} of {all_nodes} compute nodes are measured", f"all {all_nodes}")
        return found.result()
    _share(found, case, nodes, all_nodes, watts)
    if len(sets) > 1:
        for name, count in counts.items():
            least = math.ceil(rule.set_share * sets[name].nodes - 1e-9)
            if count < least:
                found.fail(
                    "2.sets",
                    f"{count} of the {sets[name].nodes} nodes of {name} are measured",
                    f"{least} of them ({rule.set_share:.1%} of each set)",
                )
    _chosen(found, case, counts)
    return found.result()


def _share(found: _Found, case: Case, nodes: int, all_nodes: int, watts: float) -> None:
    rule = case.level(found.level).fraction
    if rule.or_w is not None and watts >= rule.or_w:
        found.saw(f"{show(watts, 'W', 4)} are at least {show(rule.or_w, 'W')}, which suffices for Level {found.level}")
        return
    alternative = f", or {show(rule.or_w, 'W')}, or the whole" if rule.or_w else ", or the whole"
    least = math.ceil(rule.share * all_nodes - 1e-9)
    if nodes < least:
        found.fail(
            "2.fraction",
            f"{nodes} of {all_nodes} compute nodes are measured ({nodes / all_nodes:.1%})",
            f"{least} nodes ({rule.share:.1%}){alternative}",
        )
    if nodes < rule.nodes:
        found.fail("2.nodes", f"{nodes} compute nodes are measured", f"{min(rule.nodes, all_nodes)} nodes{alternative}")
    if watts < rule.power_w:
        found.fail("2.power", f"{show(watts, 'W', 4)} are measured", f"{show(rule.power_w, 'W')}{alternative}")


def _chosen(found: _Found, case: Case, counts: Mapping[str, int]) -> None:
    """The subset was drawn at random, and in whole groups that share supplies."""
    description = case.submission.description
    for one in description.sets:
        feeds = case.submission.feeds_of(one.name)
        names = expand([name for feed in feeds for name in feed.nodes])
        if one.names and names and len(names) == counts[one.name]:
            torn = [group for group in draw.groups(one) if 0 < len(set(group) & set(names)) < len(group)]
            if torn:
                found.fail(
                    "2.chassis",
                    f"{len(torn)} groups of {one.name} that share supplies are measured in part ({torn[0][0]}...)",
                    "every node behind shared supplies, or none",
                )
        elif counts[one.name] % one.chassis and counts[one.name] != one.nodes:
            found.fail(
                "2.chassis",
                f"{counts[one.name]} nodes of {one.name} are no whole number of groups of {one.chassis}",
                "every node behind shared supplies, or none",
            )
    chosen = description.selection
    if chosen is None or chosen.how != "random":
        found.fail(
            "2.random",
            "how the measured nodes were chosen is not known to be at random",
            "nodes drawn at random (shakedown energy draw), named under selection",
        )
        return
    if chosen.seed is None or not all(one.names for one in description.sets):
        found.saw("the nodes were drawn at random, by the site's word")
        return
    wanted = draw.redraw(description)
    got = {one.name: set(_measured_names(case, one.name)) for one in description.sets}
    if any(got[name] != set(names) for name, names in wanted.items()):
        name = next(name for name, names in wanted.items() if got[name] != set(names))
        found.fail(
            "2.random",
            f"the measured nodes of {name} are not those that the seed {chosen.seed} draws",
            "the nodes that were drawn, or a new draw before the run",
        )
    else:
        found.saw(f"the measured nodes are those that the seed {chosen.seed} draws")


def _measured_names(case: Case, name: str) -> tuple[str, ...]:
    return expand([node for feed in case.submission.feeds_of(name) for node in feed.nodes])


# -------------------------------------------------------------------------------------------------------------- aspect 3


def subsystems(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """3: which parts are measured, which estimated, and how."""
    found, rule = _Found(level), case.level(level).subsystems
    description = case.submission.description
    for nodes in description.sets:
        if not case.submission.feeds_of(nodes.name):
            found.fail(
                "3.compute", f"no meter sees the compute nodes {nodes.name!r}", "compute nodes that are measured"
            )
    if not any(one.kind == "interconnect" for one in description.subsystems):
        found.fail(
            "3.interconnect",
            "nothing is said of the interconnect",
            'a subsystem of kind "interconnect", measured or estimated ("not participating" where there is none)',
        )
    for one in description.subsystems:
        seen = case.submission.measures(one.name)
        if one.state == "not participating":
            found.saw(f"{one.name}: not participating" + (", but within a measured feed: it stays in" if seen else ""))
            continue
        found.saw(f"{one.name}: {one.state}")
        if one.state == "measured":
            if not seen:
                found.fail(f"3.{one.kind}", f"no feed measures {one.name!r}", f"a feed of, or including, {one.name!r}")
            continue
        if rule.measured == "all":
            found.fail(f"3.{one.kind}", f"{one.name!r} is estimated", f"a meter on {one.name!r}")
        elif rule.accounted == "all" or one.kind == "interconnect":
            _estimate(found, case, one.name)
    for taken in description.subtracted:
        found.fail(
            "3.subtracted",
            f"{show(taken.watts, 'W', 4)} were subtracted for {taken.what!r}, which lies within a measured feed",
            "everything inside a measured feed to stay in",
        )
    return found.result()


def _estimate(found: _Found, case: Case, name: str) -> None:
    """An estimate is an upper bound from the most that the maker specifies, with its formula."""
    one = next(one for one in case.submission.description.subsystems if one.name == name)
    missing = [
        words
        for words, there in (
            ("an upper bound (upper_bound_w)", one.upper_bound_w is not None and one.upper_bound_w >= 0),
            ("its formula", bool(one.formula)),
            ("the maker's specification", bool(one.specification)),
        )
        if not there
    ]
    if missing:
        found.fail("3.estimate", f"the estimate of {name!r} lacks {', '.join(missing)}", " and ".join(missing))
    if one.basis != "maximum":
        found.fail(
            "3.bound",
            f"the estimate of {name!r} is made from {one.basis} power",
            "an upper bound from the maximum that the maker specifies",
        )


# -------------------------------------------------------------------------------------------------------------- aspect 4


def location(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """4a: where the meters sit, and what is known of the loss above them."""
    found, rule = _Found(level), case.level(level).location
    below = [feed for feed in case.feeds if not case.submission.upstream(feed)]
    found.saw(f"{len(case.feeds) - len(below)} of {len(case.feeds)} feeds are metered upstream of the conversion")
    accepted = {"maker": "the maker's data", "offline": "a measurement of one supply", "simultaneous": "a second meter"}
    needs = " or ".join(accepted[kind] for kind in rule.loss)
    for feed in below:
        model = level_budget.loss_of(case.submission, feed)
        if model is None:
            found.fail(
                "4a.loss",
                f"{feed.name} is metered downstream of the conversion without a loss model",
                f"a meter upstream, or the loss by {needs}",
            )
            continue
        found.saw(f"loss by {accepted[model.kind]} ({model.name})", feed.name)
        if model.kind not in rule.loss:
            text = f"the loss above {feed.name} comes from {accepted[model.kind]}"
            found.fail("4a.loss", text, f"a meter upstream, or the loss by {needs}")
        elif model.kind == "simultaneous" and (model.every_s or math.inf) > (rule.loss_every_s or math.inf):
            every = f"every {model.every_s:g} s" if model.every_s is not None else "at times that are not stated"
            found.fail(
                "4a.loss-interval",
                f"the loss above {feed.name} was measured {every}",
                f"a measurement at least every {rule.loss_every_s:g} s",
            )
        if model.kind != "simultaneous" and not model.source:
            found.fail("4a.source", f"the loss model {model.name!r} has no source", "how the loss was found (source)")
        _load_range(found, case, feed)
    return found.result()


def _load_range(found: _Found, case: Case, feed: MeteredFeed) -> None:
    """A model that varies with the load must know the load that was there; one point holds for all only at Level 1."""
    model = level_budget.loss_of(case.submission, feed)
    if model is None or feed.name not in case.core.feeds:
        return
    loads = [load for load, _ in model.efficiency]
    each = case.core.metered_w(feed.name) / feed.supplies
    if len(loads) == 1 and found.level > 1 and model.kind == "offline":
        found.fail("4a.load", f"the loss model {model.name!r} knows one load", "a model that varies with the load")
    elif len(loads) > 1 and not loads[0] * 0.999 <= each <= loads[-1] * 1.001:
        found.fail(
            "4a.load",
            f"a supply above {feed.name} gives {each:.4g} W, {model.name!r} knows {loads[0]:g} to {loads[-1]:g} W",
            "a loss model that covers the load",
        )


def accuracy(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """4b: how accurate the meters are, at the power that they measured."""
    found, rule = _Found(level), case.level(level).meter
    relative: dict[str, float] = {}
    for feed in case.feeds:
        model = case.submission.meter(feed)
        if model is not None and model.standard in rule.standards and model.standard:
            found.saw(model.standard, feed.name)
            continue
        stated = case.submission.accuracy(feed)
        watts = case.core.metered_w(feed.name)
        error = level_budget.accuracy_w(case.submission, feed, watts)
        if stated is None or error is None or not stated.source:
            lack = "no stated accuracy" if stated is None else "an accuracy without its source"
            found.fail("4b.documented", f"the meter of {feed.name} has {lack}", "a documented accuracy of every meter")
            continue
        relative[feed.name] = error / watts if watts > 0 else stated.reading
        found.saw(f"{relative[feed.name]:.2%} ({stated.kind}; {stated.source})", feed.name)
    worst = [name for name, error in relative.items() if error > rule.at_most * (1 + 1e-9)]
    if worst and not _several(found, case, relative):
        text = f"the meter of {max(worst, key=lambda name: relative[name])} is accurate to {max(relative.values()):.2%}"
        more = ""
        if rule.several_each is not None:
            count = math.ceil((max(relative.values()) / rule.at_most) ** 2 - 1e-9)
            more = f", or {count} meters of equal shares" if max(relative.values()) <= rule.several_each else ""
        found.fail("4b.accuracy", text, f"{rule.at_most:.0%} or better{more}")
    return found.result()


def _several(found: _Found, case: Case, relative: Mapping[str, float]) -> bool:
    """n meters that each measure the same share of the system: each within the limit, and accuracy / sqrt(n) too."""
    rule = case.level(found.level).meter
    feeds = [feed for feed in case.feeds if feed.name in relative]
    devices = {feed.device or feed.name for feed in case.feeds}
    shares = {(feed.of, level_budget.nodes_of(feed)) for feed in case.feeds}
    sets = {one.name for one in case.submission.description.sets}
    equal = len(shares) == 1 and all(feed.of in sets for feed in case.feeds) and len(devices) == len(case.feeds)
    if rule.several_each is None or not equal or len(feeds) != len(case.feeds) or len(feeds) < 2:
        return False
    worst = max(relative.values())
    together = worst / math.sqrt(len(feeds))
    if worst > rule.several_each * (1 + 1e-9) or together > rule.at_most * (1 + 1e-9):
        return False
    found.saw(f"{len(feeds)} meters of equal shares: {worst:.2%} / sqrt({len(feeds)}) = {together:.2%}")
    return True


#: The aspects in the order of the summary table: id, title, what checks it.
ASPECTS: tuple[tuple[str, str, Callable[[Case, int], tuple[list[str], list[Failure]]]], ...] = (
    ("1a", "granularity", granularity),
    ("1b", "timing", timing),
    ("1c", "reported values", report),
    ("2", "machine fraction", fraction),
    ("3", "subsystems", subsystems),
    ("4a", "point of measurement", location),
    ("4b", "meter accuracy", accuracy),
)
