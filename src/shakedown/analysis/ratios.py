"""Values over values: a metric whose ``per`` names another metric and what it is laid over.

    "hpl.rate/hpl.ceiling.rate"   over another metric of the same case: the same workload, host and parameters
    "hpl.rate/flops.fp64"         over a derived peak, at the base clock, of the cores that the case used: Rmax / Rpeak

What it is laid over must be there: without it there is no value. Limits and fractions of limits are in limits.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..machine.peaks import is_at_measured_clock
from ..records import Finding, Metric
from .table import key


def ratios(findings: Iterable[Finding], metrics: Mapping[str, Sequence[Metric]]) -> list[Finding]:
    """The findings with every ratio behind the last value that it is made of. ``metrics`` is by workload.

    The interval of a ratio of two values reaches from low over high to high over low; a peak has none.
    """
    found = list(findings)
    wanted = {
        (workload, top): [metric for metric in group if metric.per.partition("/")[0] == top]
        for workload, group in metrics.items()
        for top in {metric.per.partition("/")[0] for metric in group} & {metric.name for metric in group}
    }
    if not wanted:
        return found
    below = {(one.workload, one.metric, one.host, key(one.params)): one for one in found if one.value is not None}
    made: list[Finding] = []
    for one in found:
        made.append(one)
        for metric in wanted.get((one.workload, one.metric), ()):
            name = metric.per.partition("/")[2]
            other = below.get((one.workload, name, one.host, key(one.params)))
            bounds = _bounds(other) if other else _peak(one, name)
            if one.value is not None and bounds is not None:
                made.append(_ratio(metric, one, bounds))
    return made


def _bounds(one: Finding) -> tuple[float, float, float] | None:
    if not one.value:
        return None
    return (one.low or one.value, one.value, one.high or one.value)


def _peak(one: Finding, name: str) -> tuple[float, float, float] | None:
    """The limit of that name which the finding has a fraction of already: the derived one at the base clock."""
    derived = [part for part in one.fractions if part.limit == name and part.kind == "derived"]
    chosen = next((part for part in derived if not is_at_measured_clock(part.basis)), None)
    return (chosen.value, chosen.value, chosen.value) if chosen else None


def _ratio(metric: Metric, one: Finding, below: tuple[float, float, float]) -> Finding:
    low, middle, high = below
    assert one.value is not None
    return Finding(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        workload=one.workload,
        params=one.params,
        host=one.host,
        value=one.value / middle,
        low=None if one.low is None else one.low / high,
        high=None if one.high is None else one.high / low,
        n_samples=one.n_samples,
        n_runs=one.n_runs,
        best=None if one.best is None else one.best / middle,
        outliers=one.outliers,
        runs=one.runs,
    )
