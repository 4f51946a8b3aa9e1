"""The same case with several MPIs, each over the first: ratios by rounds, in which every one of them was launched. Pure.

A round has one launch of each MPI, one after another; the ratio of a round is that of the medians of its launches. What
changes the machine slowly is in both, and the median of the rounds' ratios lies between two of them with a probability
that no distribution changes: ``statistics.median_ranks``. Five rounds are 94 % at most, six hold 95 %.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..records import Metric, MpiComparison, Params, WithMpi
from . import derive
from .statistics import paired_factor
from .table import Cases, key
from .values import is_compared, is_figure, of_kernel, value

#: How surely the intervals hold where there are launches enough.
LEVEL = 0.95

_Values = dict[str, dict[tuple[str, int], float]]  # by MPI, of each launch (run, repeat)


class _Case(NamedTuple):
    workload: str
    host: str
    metric: Metric
    params: Params


def comparisons(cases: Cases, metrics: Mapping[str, Sequence[Metric]]) -> tuple[MpiComparison, ...]:
    """Every case that was measured with two MPIs or more, in the order of their first case. ``metrics`` is by workload."""
    rows = [row for row, text in enumerate(cases.params) if '"mpi"' in text]
    if not rows:
        return ()
    median = derive.series(cases.counts, cases.seconds).median
    found: dict[tuple[str, str, str, str], tuple[_Case, _Values]] = {}
    for row in rows:
        params = json.loads(cases.params[row])
        mpi = str(params.pop("mpi"))
        work = {name: float(amount) for name, amount in json.loads(cases.work[row]).items()}
        workload, host = str(cases.workload[row]), str(cases.host[row])
        for metric in of_kernel(metrics.get(workload, ()), str(cases.kernel[row])):
            if not is_figure(metric, params) or not is_compared(metric, params, work, float(median[row])):
                continue
            case = _Case(workload, host, metric, params)
            _, values = found.setdefault((workload, host, metric.name, key(params)), (case, {}))
            launch = (str(cases.run[row]), int(cases.repeat[row]))
            values.setdefault(mpi, {})[launch] = value(metric, float(median[row]), work)
    return tuple(_comparison(case, values) for case, values in found.values() if len(values) > 1)


def _comparison(case: _Case, values: _Values) -> MpiComparison:
    reference = next(iter(values))
    return MpiComparison(
        workload=case.workload,
        metric=case.metric.name,
        title=case.metric.title,
        unit=case.metric.unit,
        better=case.metric.better,
        host=case.host,
        params=case.params,
        values=tuple(
            beside(mpi, launches, None if mpi == reference else values[reference]) for mpi, launches in values.items()
        ),
    )


def beside(
    mpi: str, launches: Mapping[tuple[str, int], float], others: Mapping[tuple[str, int], float] | None
) -> WithMpi:
    """The values of an MPI's launches, each by its run and repeat, and their ratios to the reference's (None: it is it)."""
    made = WithMpi(mpi=mpi, value=statistics.median(launches.values()), launches=len(launches))
    ratios = [] if others is None else _ratios(launches, others)
    if not ratios:
        return made
    found = paired_factor(ratios, level=LEVEL)
    if found.pairs < 2:
        return msgspec.structs.replace(made, ratio=found.factor)
    return msgspec.structs.replace(made, ratio=found.factor, low=found.low, high=found.high, level=found.level)


def _ratios(mine: Mapping[tuple[str, int], float], others: Mapping[tuple[str, int], float]) -> list[float]:
    """Those of the rounds that both have, by the number of the repeat; none over a zero."""
    by_round = [dict(_rounds(one)) for one in (mine, others)]
    common = [number for number in by_round[0] if number in by_round[1]]
    return [by_round[0][one] / by_round[1][one] for one in common if by_round[1][one] > 0]


def _rounds(launches: Mapping[tuple[str, int], float]) -> Iterable[tuple[tuple[int, int], float]]:
    """The launches by repeat, and among those of one repeat (of several run directories) by their order."""
    seen: dict[int, int] = {}
    for (_, repeat), one in launches.items():
        seen[repeat] = seen.get(repeat, 0) + 1
        yield (repeat, seen[repeat]), one


def verdict(better: str, one: WithMpi) -> str:
    """``better``, ``worse`` or ``not distinguished`` than the reference; the latter, too, where launches are too few."""
    if one.low is None or one.high is None or (one.level or 0.0) < LEVEL or one.low <= 1.0 <= one.high:
        return "not distinguished"
    return "better" if (one.low > 1.0) == (better == "higher") else "worse"
