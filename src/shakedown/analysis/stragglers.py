"""Hosts that are slow in a value that differs by host alone: a campaign on every node, or one job over all of them.

A host is slow in a value when it is behind the median over the hosts by more than 3.5 robust standard deviations
(statistics.OUTLIER_DEVIATIONS, of the median absolute deviation) and by at least 2 %: below that nobody sends a node
back. Three hosts are the fewest that a median tells anything of.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..records import Finding, Metric, Notice
from ..units import show
from .statistics import OUTLIER_DEVIATIONS, outliers
from .table import key

FEWEST = 3
SLOW_AT_LEAST = 0.02  # of the median
MOST_NAMED = 12


class Behind(NamedTuple):
    """One host in one value: how far it is behind the median of all, as a fraction of the median's speed."""

    finding: Finding
    behind: float
    median: float
    hosts: int


def behind(findings: Iterable[Finding], metrics: Mapping[str, Metric]) -> list[Behind]:
    """The slow hosts in each headline value, the slowest first. ``metrics`` is by name."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for one in findings:
        if metrics[one.metric].headline and one.better != "none" and one.value:
            groups.setdefault((one.workload, one.metric, key(one.params)), []).append(one)
    found = [slow for group in groups.values() for slow in _slow(group)]
    return sorted(found, key=lambda one: -one.behind)


def _slow(group: Sequence[Finding]) -> list[Behind]:
    if len({one.host for one in group}) < FEWEST:
        return []
    values = [one.value or 0.0 for one in group]
    median = statistics.median(values)
    return [Behind(group[at], share, median, len(group)) for at, share in slow(values, group[0].better)]


def slow(values: Sequence[float], better: str) -> list[tuple[int, float]]:
    """Which of the values, one a host, are those of slow hosts, and how far each is behind the median."""
    median = statistics.median(values)
    found = []
    for index in outliers(values):
        speed = median / values[index] if better == "lower" else values[index] / median
        if speed <= 1 - SLOW_AT_LEAST:
            found.append((index, 1 - speed))
    return found


def with_notices(findings: Sequence[Finding], slow: Sequence[Behind]) -> list[Finding]:
    """The findings, those of slow hosts with a notice that says how far behind they are."""
    said = {id(one.finding): _notice(one) for one in slow}
    return [
        msgspec.structs.replace(one, notices=(*one.notices, said[id(one)])) if id(one) in said else one
        for one in findings
    ]


_ADVICE = "compare its clocks, temperatures, memory modules and settings with a host that is not slow"


def _notice(one: Behind) -> Notice:
    return Notice(
        code="slow-host",
        text=f"{show(one.behind, '%', 2)} behind the median of {one.hosts} hosts ({show(one.median, one.finding.unit)})",
        advice=_ADVICE,
    )


def notices(slow: Sequence[Behind], metrics: Mapping[str, Metric]) -> tuple[Notice, ...]:
    """One for each value in which hosts are slow, with each host by name and how far it is behind."""
    by_value: dict[tuple[str, int], list[Behind]] = {}
    for one in slow:
        by_value.setdefault((one.finding.metric, one.hosts), []).append(one)
    found = []
    for (name, count), group in by_value.items():
        worst: dict[str, float] = {}
        for one in group:  # the slowest first: of several sets of parameters a host is named with its worst
            worst.setdefault(one.finding.host, one.behind)
        named = [f"{host} ({show(far, '%', 2)} behind)" for host, far in list(worst.items())[:MOST_NAMED]]
        more = f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
        text = (
            f"{metrics[name].title}: slower than the median of {count} hosts by more than {OUTLIER_DEVIATIONS:g} robust "
            f"deviations and {SLOW_AT_LEAST:.0%}: {', '.join(named)}{more}"
        )
        found.append(Notice(code="slow-host", text=text, advice=_ADVICE))
    return tuple(found)
