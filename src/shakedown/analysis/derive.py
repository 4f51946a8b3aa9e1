"""Cases -> findings: the one home of the step from samples and work to values.

How a sample becomes a value stands in values.py.

A finding is told from others by its workload, host, kernel and parameters: what was asked for, and under which conditions.
The work of a case is what came of it: bytes in those seconds, a loss, a number of features. It makes the value, case by
case, and never tells findings apart: a repeat that lost other packets is another sample of the same loss.

The value of a run is the median of its samples with the interval of statistics.median_ranks. Repeats of a run
are other processes at other times: the value over repeats is the median of their values, and its interval the wider of
that between the repeats and that within them.

A share of counted things (packets lost of those that were sent) has the interval of a proportion, of each repeat. That
takes each thing as counted on its own; losses come in bursts, whose scatter only repeats show, and then theirs counts where
it is wider. One run alone says so.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..records import Finding, Metric, Notice, Params
from . import hidden
from .statistics import (
    MAD_TO_SIGMA,
    OUTLIER_DEVIATIONS,
    Interval,
    median_interval,
    median_ranks,
    outliers,
    proportion_interval,
)
from .table import Cases, Floats, Ints
from .values import applies, is_reported, value

Work = dict[str, float]


class Series(NamedTuple):
    """Per case, in seconds: what its samples come to."""

    median: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    outliers: Ints


_TOGETHER = 1 << 20  # samples that are ordered at once


def series(counts: Ints, seconds: Floats) -> Series:
    """The median, its interval and the extremes of every series at once.

    ``counts`` has one entry a series and ``seconds`` holds the samples of all, one series after another. A series
    without samples gives NaN.
    """
    n = len(counts)
    median, low, high, least, most = (np.full(n, np.nan) for _ in range(5))
    found = Series(median, low, high, least, most, np.zeros(n, np.int64))
    starts = np.cumsum(counts) - counts
    by_count = np.argsort(counts, kind="stable")
    sizes, begins = np.unique(counts[by_count], return_index=True)
    for size, rows in zip(sizes.tolist(), np.split(by_count, begins[1:]), strict=False):  # of nothing, one empty part
        step = max(1, _TOGETHER // max(size, 1))
        for begin in range(0, len(rows) if size else 0, step):
            some = rows[begin : begin + step]
            _fill(found, some, seconds[starts[some][:, None] + np.arange(size)])
    return found


def _fill(found: Series, rows: Ints, samples: Floats) -> None:
    """The figures of series of one length: ``samples`` has a row for each."""
    size = samples.shape[1]
    samples.sort(axis=1)
    low, high = median_ranks(size)
    middle = _middle(samples)
    found.median[rows] = middle
    found.low[rows], found.high[rows] = samples[:, low], samples[:, high]
    found.least[rows], found.most[rows] = samples[:, 0], samples[:, -1]
    if size < 3:
        return
    deviation = np.abs(samples - middle[:, None])
    bound = OUTLIER_DEVIATIONS * MAD_TO_SIGMA * _middle(np.sort(deviation, axis=1))
    found.outliers[rows] = (deviation > bound[:, None]).sum(axis=1)


def _middle(ordered: Floats) -> Floats:
    """The median of each row."""
    size = ordered.shape[1]
    middle: Floats = (ordered[:, (size - 1) // 2] + ordered[:, size // 2]) / 2
    return middle


def findings(cases: Cases, metrics: Mapping[str, Sequence[Metric]]) -> list[Finding]:
    """All findings of the cases, in the order of their first case. ``metrics`` maps a workload to its metrics."""
    got = series(cases.counts, cases.seconds)
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for index, told in enumerate(zip(cases.workload, cases.host, cases.kernel, cases.params, strict=True)):
        groups.setdefault(told, []).append(index)
    by_kernel: dict[tuple[str, str], tuple[Metric, ...]] = {}
    works: dict[str, Work] = {}
    parsed: dict[str, Params] = {}
    found: list[Finding] = []
    launches: hidden.Launches | None = None
    for (workload, host, kernel, params), rows in groups.items():
        wanted = by_kernel.get((workload, kernel))
        if wanted is None:
            wanted = tuple(metric for metric in metrics.get(workload, ()) if metric.kernel == kernel)
            by_kernel[workload, kernel] = wanted
        if not wanted:
            continue
        if params not in parsed:
            parsed[params] = json.loads(params)
        done = []
        for row in rows:
            text = cases.work[row]
            if text not in works:
                works[text] = {name: float(amount) for name, amount in json.loads(text).items()}
            done.append(works[text])
        for metric in wanted:
            if of := hidden.form(metric.per):
                launches = launches or hidden.Launches(cases)
                own = _shares(of, rows, parsed[params], launches)
            else:
                own = _values(metric, rows, done, parsed[params], got)
            one = _finding(metric, workload, host, parsed[params], own, cases, got)
            if one is not None:
                found.append(one)
    return found


#: What the interval of a share is worth that was counted in one run.
_ONE_COUNT = Notice(
    code="counted-once",
    text="the interval takes each packet as lost on its own (Clopper and Pearson); losses come in bursts, and one run does "
    "not show how far these scatter",
    advice="repeat it, repeat=3: the interval then holds the scatter between the repeats",
)


class _Values(NamedTuple):
    """One entry a case: its median, and where there are times of ours the ends of its interval; extremes of all."""

    rows: list[int]
    medians: list[float]
    lows: list[float]
    highs: list[float]
    extremes: list[float]


def _of_share(metric: Metric, work: Work, params: Params) -> Interval | None:
    """The interval of a share of counted things; None for other metrics, and where the count is not told.

    A share that is the worst of k parts has the interval that holds for all k of them at once (Bonferroni: level
    1 - 0.05 / k), of so many things as a part has on average; the true worst then lies in it.
    """
    name, _, parameter = metric.share_of.partition("/")
    count, parts = work.get(name, 0.0), params.get(parameter, 1)
    share = work[metric.per]
    if not name or count <= 0 or not 0 <= share <= 1 or not isinstance(parts, int) or parts < 1:
        return None
    return proportion_interval(share, count / parts, 1 - 0.05 / parts)


def _values(metric: Metric, rows: list[int], works: Sequence[Work], params: Params, got: Series) -> _Values:
    """The cases that the metric applies to, as values."""
    found = _Values([], [], [], [], [])
    reported = is_reported(metric)  # its repeats are its samples
    for row, work in zip(rows, works, strict=True):
        if not applies(metric, work) or (not reported and np.isnan(got.median[row])):
            continue
        found.rows.append(row)
        if reported:
            found.medians.append(work[metric.per])
            if ends_of_share := _of_share(metric, work, params):
                found.lows.append(ends_of_share.low)
                found.highs.append(ends_of_share.high)
            continue
        ends = sorted(value(metric, float(t), work) for t in (got.low[row], got.high[row]))
        found.medians.append(value(metric, float(got.median[row]), work))
        found.lows.append(ends[0])
        found.highs.append(ends[1])
        found.extremes.extend(value(metric, float(t), work) for t in (got.least[row], got.most[row]))
    return found


def _shares(of: hidden.Form, rows: list[int], params: Params, launches: hidden.Launches) -> _Values:
    """Cases whose value is made of others that were taken beside them."""
    found = _Values([], [], [], [], [])
    for row in rows:
        if one := launches.share(of, row, params):
            found.rows.append(row)
            found.medians.append(one.value)
            found.lows.append(one.low)
            found.highs.append(one.high)
    return found


def _finding(
    metric: Metric, workload: str, host: str, params: Params, own: _Values, cases: Cases, got: Series
) -> Finding | None:
    medians = own.medians
    if not medians:
        return None
    low = high = None
    if own.lows:
        low, high = statistics.median(own.lows), statistics.median(own.highs)
    if len(medians) > 1:
        between = median_interval(medians)
        low, high = (
            min(between.low, between.low if low is None else low),
            max(between.high, between.high if high is None else high),
        )
    best = None if metric.better == "none" else (max if metric.better == "higher" else min)(own.extremes or medians)
    reported = is_reported(metric) and hidden.form(metric.per) is None
    n_samples = len(medians) if reported else int(cases.counts[own.rows].sum())
    of_one = reported and len(medians) == 1 and low is not None
    if n_samples < 2 and not of_one:
        low = high = None  # one sample says nothing of its own spread
    return Finding(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        workload=workload,
        params=params,
        host=host,
        value=statistics.median(medians),
        low=low,
        high=high,
        n_samples=n_samples,
        n_runs=len(medians),
        best=best,
        notices=(_ONE_COUNT,) if of_one else (),
        outliers=len(outliers(medians)) if reported else int(got.outliers[own.rows].sum()),
        runs=tuple(dict.fromkeys(str(cases.run[row]) for row in own.rows)),
    )
