"""Cases -> findings: the one home of the step from samples and work to values.

How a sample becomes a value stands in values.py.

The value of a run is the median of its samples with the bootstrap interval of statistics.median_ranks. Repeats of a run
are other processes at other times: the value over repeats is the median of their values, and its interval the wider of
that between the repeats and that within them.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..records import Finding, Metric, Params
from .statistics import MAD_TO_SIGMA, OUTLIER_DEVIATIONS, median_interval, median_ranks
from .table import Cases, Floats, Ints
from .values import applies, is_reported, value


class Series(NamedTuple):
    """Per case, in seconds: what its samples come to."""

    median: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    outliers: Ints


def series(counts: Ints, seconds: Floats) -> Series:
    """The median, its interval and the extremes of every series at once.

    ``counts`` has one entry a series and ``seconds`` holds the samples of all, one series after another. A series
    without samples gives NaN.
    """
    n = len(counts)
    owner = np.repeat(np.arange(n), counts)
    ordered = seconds[np.lexsort((seconds, owner))]
    starts = np.cumsum(counts) - counts
    filled = counts > 0
    unique, place = np.unique(counts, return_inverse=True)
    ranks = np.array([median_ranks(int(count)) if count else (0, 0) for count in unique], np.int64).reshape(-1, 2)

    def at(offset: Ints) -> Floats:
        picked = np.full(n, np.nan)
        picked[filled] = ordered[(starts + offset)[filled]]
        return picked

    middle = _median(at, counts)
    deviation = np.abs(seconds - np.repeat(middle, counts))
    ordered_deviation = deviation[np.lexsort((deviation, owner))]

    def deviation_at(offset: Ints) -> Floats:
        picked = np.full(n, np.nan)
        picked[filled] = ordered_deviation[(starts + offset)[filled]]
        return picked

    bound = OUTLIER_DEVIATIONS * MAD_TO_SIGMA * _median(deviation_at, counts)
    flagged = (deviation > np.repeat(bound, counts)) & np.repeat(counts >= 3, counts)
    return Series(
        middle,
        at(ranks[place, 0]),
        at(ranks[place, 1]),
        at(np.zeros(n, np.int64)),
        at(counts - 1),
        np.bincount(owner, weights=flagged, minlength=n).astype(np.int64),
    )


def _median(at: object, counts: Ints) -> Floats:
    assert callable(at)
    lower: Floats = at(np.maximum(counts - 1, 0) // 2)
    upper: Floats = at(counts // 2)
    return (lower + upper) / 2


def findings(cases: Cases, metrics: Mapping[str, tuple[Metric, ...]]) -> list[Finding]:
    """All findings of the cases, in the order of their first case. ``metrics`` maps a workload to its metrics."""
    got = series(cases.counts, cases.seconds)
    groups: dict[tuple[str, str, str, str, str], list[int]] = {}
    for index, row in enumerate(zip(cases.workload, cases.host, cases.kernel, cases.params, cases.work, strict=True)):
        groups.setdefault(row, []).append(index)
    by_kernel: dict[tuple[str, str], tuple[Metric, ...]] = {}
    parsed: dict[str, Params] = {}
    found: list[Finding] = []
    for (workload, host, kernel, params_text, work_text), rows in groups.items():
        wanted = by_kernel.get((workload, kernel))
        if wanted is None:
            wanted = tuple(metric for metric in metrics.get(workload, ()) if metric.kernel == kernel)
            by_kernel[workload, kernel] = wanted
        if not wanted:
            continue
        for text in (params_text, work_text):
            if text not in parsed:
                parsed[text] = json.loads(text)
        for metric in wanted:
            one = _finding(metric, workload, host, parsed[params_text], parsed[work_text], rows, cases, got)
            if one is not None:
                found.append(one)
    return found


def _finding(
    metric: Metric, workload: str, host: str, params: Params, work: Params, rows: list[int], cases: Cases, got: Series
) -> Finding | None:
    numbers = {name: float(amount) for name, amount in work.items()}
    if not applies(metric, numbers):
        return None
    reported = is_reported(metric)  # its repeats are its samples
    medians: list[float] = []
    lows: list[float] = []
    highs: list[float] = []
    extremes: list[float] = []
    for row in rows:
        if reported:
            medians.append(numbers[metric.per])
            continue
        if np.isnan(got.median[row]):
            continue
        ends = sorted(value(metric, float(t), numbers) for t in (got.low[row], got.high[row]))
        medians.append(value(metric, float(got.median[row]), numbers))
        lows.append(ends[0])
        highs.append(ends[1])
        extremes += [value(metric, float(t), numbers) for t in (got.least[row], got.most[row])]
    if not medians:
        return None
    low = high = None
    if lows:
        low, high = statistics.median(lows), statistics.median(highs)
    if len(medians) > 1:
        between = median_interval(medians)
        low, high = (
            min(between.low, between.low if low is None else low),
            max(between.high, between.high if high is None else high),
        )
    best = None if metric.better == "none" else (max if metric.better == "higher" else min)(extremes or medians)
    n_samples = len(medians) if reported else int(cases.counts[rows].sum())
    if n_samples < 2:
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
        outliers=int(got.outliers[rows].sum()),
        runs=tuple(dict.fromkeys(str(cases.run[row]) for row in rows)),
    )
