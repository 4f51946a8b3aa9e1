"""Aspect 1 of the EE HPC WG's rules: granularity, timing and reported values, held against what was measured."""

from __future__ import annotations

from ...metering.meters import Status
from ...units import show, show_seconds
from .aspect_case import AspectFindings, Case, Failure, names_of
from .measured import Coverage
from .submission import MeteredFeed


def granularity(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """1a: how often the meters look, inside themselves."""
    found, rule = AspectFindings(level), case.level(level).granularity
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
        text = f"the meters of {names_of(slow)} are not known to sample {rule.samples_hz:g} times a second"
        found.fail("1a.sampling", text, f"{rule.samples_hz:g} power sample a second inside every meter (samples_hz)")
    if summed:
        text = f"{names_of(summed)} are not read from continuously integrating energy counters"
        found.fail(
            "1a.integrated", text, "an energy counter that integrates without a break on every feed (integrates)"
        )
    if coarse:
        text = f"the meters of {names_of(coarse)} are not known to sample voltage and current fast enough"
        needs = f"{rule.ac_waveform_hz:g} samples a second (AC) or {rule.dc_waveform_hz:g} (DC) of both (waveform_hz)"
        found.fail("1a.waveform", text, needs)
    return found.result()


def timing(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """1b: which stretch is read how often."""
    found, rule = AspectFindings(level), case.level(level).timing
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


def _feed_timing(case: Case, found: AspectFindings, feed: MeteredFeed) -> None:
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


def _interval(found: AspectFindings, case: Case, feed: MeteredFeed, interval: float, count: int) -> None:
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


def _covered(case: Case, found: AspectFindings, feed: MeteredFeed, name: str, interval: float, core_s: float) -> None:
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
    found, rule = AspectFindings(level), case.level(level).report
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


def _series(case: Case, found: AspectFindings, least: int) -> None:
    for feed in case.feeds:
        cover = case.coverage[feed.name, "core"]
        count = cover.fresh if case.rules.readings.true_refresh else cover.readings
        if count < least:
            found.fail(
                "1c.series",
                f"{feed.name} has {count} readings in the core phase",
                f"a series of at least {least} equal averages (or energy readings) in it",
            )
