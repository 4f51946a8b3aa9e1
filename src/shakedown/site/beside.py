"""The best node of each figure beside what is published of its metric, like with like as a comparison of two runs has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..analysis import published_comparison
from ..analysis.circumstances import Setting
from ..errors import UNREADABLE, ShakedownError
from ..published import System
from ..records import Finding, PublishedComparison, SummarySeries
from .fleet import Figure, Fleet, SiteRun
from .gather import summary


def beside(fleet: Fleet, systems: Sequence[System], cache: Path) -> tuple[PublishedComparison, ...]:
    """Ours beside theirs, in every metric that both have."""
    printed = {value.metric for system in systems for value in system.values}
    metrics = {one.key.metric: one.metric for one in fleet.figures}
    wanted = [one for one in fleet.figures if printed & {one.metric.name, one.metric.published_as}]
    findings = [_best(one, fleet, cache) for one in wanted]
    return published_comparison.beside(findings, metrics, systems, Setting(fleet.hosts, {}))


def _best(one: Figure, fleet: Fleet, cache: Path) -> Finding:
    """The newest value of the node that gives the best now, with the interval that its run gave it."""
    now = one.now()
    place = int(now.argmin() if one.metric.better == "lower" else now.argmax())
    rows = one.of(place)
    node, run = fleet.nodes[int(one.nodes[place])], fleet.runs[int(one.runs[rows][-1])]
    low, high = _interval(one, node, run, cache)
    return Finding(
        metric=one.key.metric,
        unit=one.metric.unit,
        better=one.metric.better,
        workload=one.key.workload,
        params=one.params,
        host=node,
        value=float(one.values[rows][-1]),
        low=low,
        high=high,
        n_runs=1,
    )


def _interval(one: Figure, node: str, run: SiteRun, cache: Path) -> tuple[float | None, float | None]:
    try:
        found, _ = summary(Path(run.path), cache)
        series = msgspec.json.decode(found.series, type=list[SummarySeries])
    except (ShakedownError, OSError, *UNREADABLE):
        return None, None  # it was removed meanwhile
    wanted = SummarySeries(node, *one.key)
    return next(((found.low[at], found.high[at]) for at, name in enumerate(series) if name == wanted), (None, None))
