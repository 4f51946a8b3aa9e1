"""What layers cost: pairs of a native launch and one under a layer give factors, and their median is the overhead. Pure.

A pair is two launches right after each other, whose order alternates from one pair to the next, so that what changes the
machine slowly is in both, and what the first finds other than the second falls on either. The factor of a pair is that of
the medians of its launches: a time over the native one, a native rate over the rate, so that above 1 the layer costs. Factor
and interval are those of ``statistics.paired_factor``. Of each kernel one metric is compared: its headline, else its first.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..records import Metric, Overhead, Params
from . import derive
from .statistics import paired_factor
from .table import Cases, key
from .values import is_compared, of_kernel, value

NATIVE = "native"
#: What documents published of virtual machines beside bare ones: metric -> what makes a factor of its value when added.
PUBLISHED = {
    "pingpong.latency.slowdown": 0.0,
    "pingpong.bandwidth.slowdown": 0.0,
    "wrf.overhead": 1.0,
    "quantum_espresso.overhead": 1.0,
}

_Values = dict[int, float]  # by the number of the pair


class _Case(NamedTuple):
    workload: str
    host: str
    metric: Metric
    params: Params
    under: str


class _Row(NamedTuple):
    case: _Case
    native: bool
    pair: int
    value: float


def overheads(cases: Cases, metrics: Mapping[str, Sequence[Metric]]) -> tuple[Overhead, ...]:
    """Every case that was measured in pairs, in the order of their first case. ``metrics`` is by workload."""
    found: dict[tuple[str, ...], tuple[_Case, _Values, _Values]] = {}
    for row in _rows(cases, metrics):
        case = row.case
        name = (case.workload, case.host, case.metric.name, case.under, key(case.params))
        _, native, under = found.setdefault(name, (case, {}, {}))
        (native if row.native else under)[row.pair] = row.value
    made = (_overhead(*one) for one in found.values())
    return tuple(one for one in made if one is not None)


def _rows(cases: Cases, metrics: Mapping[str, Sequence[Metric]]) -> Iterator[_Row]:
    """The values of all launches of pairs."""
    rows = [row for row, text in enumerate(cases.params) if '"under"' in text]
    if not rows:
        return
    median = derive.series(cases.counts, cases.seconds).median
    for row in rows:
        params = json.loads(cases.params[row])
        under, pair = str(params.pop("under")), str(params.pop("pair", ""))
        if under == NATIVE and not pair:
            continue
        work = {name: float(amount) for name, amount in json.loads(cases.work[row]).items()}
        workload, median_s = str(cases.workload[row]), float(median[row])
        for metric in _main(metrics.get(workload, ()), str(cases.kernel[row])):
            if is_compared(metric, params, work, median_s):
                case = _Case(workload, str(cases.host[row]), metric, params, pair or under)
                yield _Row(case, under == NATIVE, int(cases.repeat[row]), value(metric, median_s, work))


def _main(metrics: Sequence[Metric], kernel: str) -> list[Metric]:
    """The metric that stands for a kernel."""
    found = [one for one in of_kernel(metrics, kernel) if one.better != "none"]
    return sorted(found, key=lambda one: not one.headline)[:1]


def _overhead(case: _Case, native: _Values, under: _Values) -> Overhead | None:
    """None where no pair is whole."""
    both = [(native[pair], under[pair]) for pair in sorted(native) if pair in under]
    pairs = [(mine, layer) for mine, layer in both if mine > 0 and layer > 0]
    if not pairs:
        return None
    lower = case.metric.better == "lower"
    found = paired_factor([layer / mine if lower else mine / layer for mine, layer in pairs])
    return Overhead(
        workload=case.workload,
        metric=case.metric.name,
        title=case.metric.title,
        unit=case.metric.unit,
        better=case.metric.better,
        host=case.host,
        params=case.params,
        under=case.under,
        pairs=found.pairs,
        native=statistics.median(mine for mine, _ in pairs),
        value=statistics.median(layer for _, layer in pairs),
        factor=found.factor,
        low=found.low,
        high=found.high,
        level=found.level,
        side=found.side,
        within=found.within,
    )


def worst(found: Sequence[Overhead]) -> dict[tuple[str, str], Overhead]:
    """By layer and metric the case with the largest factor."""
    made: dict[tuple[str, str], Overhead] = {}
    for one in found:
        held = made.get((one.under, one.metric))
        if held is None or one.factor > held.factor:
            made[one.under, one.metric] = one
    return made
