"""Aspect 4 of the EE HPC WG's rules: where the meters sit, and how accurate they are."""

from __future__ import annotations

import math
from collections.abc import Mapping

from . import level_budget
from .aspect_case import AspectFindings, Case, Failure
from .submission import MeteredFeed


def location(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """4a: where the meters sit, and what is known of the loss above them."""
    found, rule = AspectFindings(level), case.level(level).location
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


def _load_range(found: AspectFindings, case: Case, feed: MeteredFeed) -> None:
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
    found, rule = AspectFindings(level), case.level(level).meter
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
            lack = (
                "no stated accuracy"
                if stated is None
                else "an accuracy of a full scale that is not given (range_w)"
                if error is None
                else "an accuracy without its source"
            )
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


def _several(found: AspectFindings, case: Case, relative: Mapping[str, float]) -> bool:
    """n meters that each measure the same share of the system: each within the limit, and accuracy / sqrt(n) too."""
    rule = case.level(found.level).meter
    feeds = [feed for feed in case.feeds if feed.name in relative]
    devices = {feed.device or feed.name for feed in case.feeds}
    shares = {(load[0].of, level_budget.load_nodes(load), len(load)) for load in level_budget.loads(case.feeds)}
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
