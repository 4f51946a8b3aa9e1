"""Aspects 2 and 3 of the EE HPC WG's rules: how much of the machine is measured, and which parts of it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...units import show
from . import level_budget, node_sample
from .aspect_case import AspectFindings, Case, Failure
from .submission import expand

# -------------------------------------------------------------------------------------------------------------- aspect 2


def fraction(case: Case, level: int) -> tuple[list[str], list[Failure]]:
    """2: how much of the compute subsystem is measured, and how it was chosen."""
    found, rule = AspectFindings(level), case.level(level).fraction
    description = case.submission.description
    sets = {one.name: one for one in description.sets}
    counts = {name: level_budget.measured_nodes(case.submission.feeds_of(name)) for name in sets}
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
    for feed in description.feeds:
        if not feed.channel and feed.load and any(feed.load == one.load for one in case.feeds):
            found.fail(
                "2.load",
                f"the feed {feed.name} of the load {feed.load} has no meter: the load is measured in part",
                "a meter on every feed of a load",
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


def _share(found: AspectFindings, case: Case, nodes: int, all_nodes: int, watts: float) -> None:
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


def _chosen(found: AspectFindings, case: Case, counts: Mapping[str, int]) -> None:
    """The subset was drawn at random, and in whole groups that share supplies."""
    description = case.submission.description
    for one in description.sets:
        feeds = case.submission.feeds_of(one.name)
        names = set(expand([name for feed in feeds for name in feed.nodes]))
        if one.names and names and len(names) == counts[one.name]:
            torn = [group for group in node_sample.groups(one) if 0 < len(set(group) & names) < len(group)]
            if torn:
                found.fail(
                    "2.chassis",
                    f"{len(torn)} groups of {one.name} that share supplies are measured in part ({torn[0][0]}...)",
                    "every node behind shared supplies, or none",
                )
        elif counts[one.name] % one.chassis and counts[one.name] != one.nodes:
            found.fail(
                "2.chassis",
                f"{counts[one.name]} nodes of {one.name} are not a whole number of groups of {one.chassis}",
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
        found.saw("the nodes were drawn at random, as the site states")
        return
    wanted = node_sample.redraw(description)
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
    found, rule = AspectFindings(level), case.level(level).subsystems
    description = case.submission.description
    for nodes in description.sets:
        if not case.submission.feeds_of(nodes.name):
            found.fail(
                "3.compute", f"no meter sees the compute nodes {nodes.name!r}", "compute nodes that are measured"
            )
    if not any(one.kind == "interconnect" for one in description.subsystems):
        found.fail(
            "3.interconnect",
            "the interconnect is not described",
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


def _estimate(found: AspectFindings, case: Case, name: str) -> None:
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
