"""Histories -> what changed in them, since when, and what of what is known of the runs changed with it. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ...records import (
    Metric,
    RateHeld,
    Sense,
    Trend,
    TrendChange,
    TrendEvent,
    TrendLevel,
    TrendPoint,
    TrendSeries,
    TrendState,
)
from ...times import utc_day
from .. import facts
from ..facts import Facts
from . import chart, levels
from .chart import Floats
from .explain import explain
from .gather import Histories, HistoryRun, Key, by_series, params_of
from .notices import of_hosts, of_series

_YEAR_S = 365.25 * 86_400
#: Runs of less than a month do not go on like that for a year.
_LEAST_SPAN_S = 30 * 86_400
#: With fewer points nothing is said of a series.
FEWEST = 8
#: More than one false alarm in so many points is not allowed, however few there are in a year: each hides the next change.
MOST_OFTEN = 1 / 50
#: Values that are the same times others, to this, say the same.
_SAME = 1e-9
#: Two-sided 1 % of the standard normal distribution.
_Z99 = 2.576


def judged(found: Histories, rate: float = 1.0, least: float = 0.0) -> Trend:
    """All that is said of the histories; ``rate``: false alarms a year that each series may have; ``least``: the share below
    which a change is none."""
    series: list[TrendSeries] = []
    where: list[list[list[int]]] = []
    for (key, at), same in _distinct(found.runs):
        metric = found.metrics[key.workload, key.metric]
        made, groups = _series(key, metric, [found.runs[index] for index in at], rate, least)
        series.append(msgspec.structs.replace(made, same_as=same, notices=of_series(made, at[-1], found.runs)))
        where.append([[at[index] for index in group] for group in groups])
    return Trend(
        runs=len(found.runs),
        series=tuple(series),
        events=tuple(_events(series, where, found.runs)),
        left_out=tuple(found.left_out),
        notices=of_hosts(found.runs),
    )


_Series = tuple[Key, list[int]]


def _distinct(runs: Sequence[HistoryRun]) -> list[tuple[_Series, tuple[str, ...]]]:
    """The series, each with the metrics that are left out because they are the same times."""
    groups: dict[tuple[str, str, str, bytes], list[tuple[_Series, list[str]]]] = {}
    for key, at in by_series(runs):
        known = groups.setdefault((key.host, key.workload, key.params, key.circumstances), [])
        for (other, there), same in known:
            if there == at and len(at) > 1 and _proportional(runs, key, other, at):
                same.append(key.metric)
                break
        else:
            known.append(((key, at), []))
    return [(one, tuple(same)) for group in groups.values() for one, same in group]


def _proportional(runs: Sequence[HistoryRun], key: Key, other: Key, at: Sequence[int]) -> bool:
    """Whether one metric is the other times a constant, or a constant over it."""
    a, b = (np.array([runs[index].values[one] for index in at]) for one in (key, other))
    return any(bool(np.ptp(one) <= _SAME * abs(one.mean())) for one in (a / b, a * b))


# ----------------------------------------------------------------------------------------------------------------- series


def _series(
    key: Key, metric: Metric, runs: Sequence[HistoryRun], rate: float, least: float
) -> tuple[TrendSeries, list[list[int]]]:
    """The series, and of each of its points the places of its runs among ``runs``."""
    values = np.array([run.values[key] for run in runs])
    days = [utc_day(run.at_ns * 1e-9) for run in runs]
    by_day = _by_day(values, days)
    groups: list[list[int]] = []
    for index in range(len(runs)):
        if by_day and index and days[index] == days[index - 1]:
            groups[-1].append(index)
        else:
            groups.append([index])
    values = np.array([np.median(values[group]) for group in groups])
    points = tuple(
        TrendPoint(run=runs[group[-1]].name, at_ns=runs[group[-1]].at_ns, value=float(value))
        for group, value in zip(groups, values, strict=True)
    )
    blank = TrendSeries(
        host=key.host,
        workload=key.workload,
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        better=metric.better,
        params=params_of(key),
        points=points,
        by_day=by_day,
        rate=rate,
        state="too few runs",
    )
    span_s = (points[-1].at_ns - points[0].at_ns) * 1e-9
    if len(points) < FEWEST or span_s <= 0:
        return blank, groups
    per_year = (len(points) - 1) / max(span_s, _LEAST_SPAN_S) * _YEAR_S
    got = levels.levels(values, min(rate / per_year, MOST_OFTEN), least)
    return _told(blank, values, got, per_year), groups


def _told(blank: TrendSeries, values: Floats, got: levels.Levels, per_year: float) -> TrendSeries:
    begins = [0, *(one.first for one in got.steps)]
    parts = np.split(values, begins[1:])
    changes: list[TrendChange] = []
    for index, one in enumerate(got.steps):
        fields = {name: getattr(one, name) for name in levels.Step._fields}
        back = index > 0 and _as_before(parts[index - 1], parts[index + 1], got.correlation)
        changes.append(TrendChange(**fields, sense=_sense(blank.better, one.ratio), returned=back))
    lasted = [part for index, part in enumerate(parts[:-1]) if not changes[index].returned]
    state, against = _state(blank.better, [*lasted, parts[-1]], got.correlation)
    return msgspec.structs.replace(
        blank,
        levels=tuple(
            TrendLevel(begin=begin, points=len(part), value=float(np.median(part)))
            for begin, part in zip(begins, parts, strict=True)
        ),
        changes=tuple(changes),
        passed=tuple(one.told for one in got.passed),
        spread=got.spread,
        correlation=got.correlation,
        points_per_year=per_year,
        rate_held=_held(got.correlation, blank.rate / per_year),
        state=state,
        against_best=against,
    )


def _held(correlation: float, hazard: float) -> RateHeld:
    if correlation >= chart.WANDERING or hazard < chart.LEAST_HAZARD:
        return "not held"
    return "approximate" if correlation else "held"


def _sense(better: str, ratio: float) -> Sense:
    if better == "none":
        return "other"
    return "better" if (ratio > 1) == (better == "higher") else "worse"


def _as_before(old: Floats, new: Floats, correlation: float) -> bool:
    _, low, high = levels.difference(np.log(old), np.log(new), chart.inflation(correlation))
    return low <= 0 <= high


def _state(better: str, parts: Sequence[Floats], correlation: float) -> tuple[TrendState, float | None]:
    """How the level now, the last, lies to the best before it, or where that is no better, to the first."""
    if len(parts) == 1:
        return "as good", None
    now, earlier = parts[-1], parts[:-1]
    if better == "none":
        return ("as good" if _as_before(parts[0], now, correlation) else "other"), None
    sign = 1 if better == "higher" else -1
    best = max(earlier, key=lambda part: sign * float(np.median(part)))
    size, low, high = levels.difference(np.log(best), np.log(now), chart.inflation(correlation))
    if (high if sign > 0 else -low) < 0:
        return "worse", math.exp(size)
    first = _as_before(parts[0], now, correlation)
    return ("as good" if first else "better"), None


def _by_day(values: Floats, days: Sequence[str]) -> bool:
    """Whether runs of one day resemble each other more than those of neighbouring days: by the ranks of the differences of
    neighbours (Mann and Whitney), of which a change of the level makes a single one large."""
    same = np.array([a == b for a, b in zip(days[1:], days[:-1], strict=True)], bool)
    m, n = int(same.sum()), int((~same).sum())
    if m < FEWEST or n < FEWEST:
        return False
    apart = np.abs(np.diff(np.log(values)))
    ranks = np.argsort(np.argsort(apart, kind="stable"), kind="stable") + 1.0
    u = float(ranks[~same].sum()) - n * (n + 1) / 2
    return (u - m * n / 2) / math.sqrt(m * n * (m + n + 1) / 12) > _Z99


# ----------------------------------------------------------------------------------------------------------------- events

_Member = tuple[int, int]


def _events(
    series: Sequence[TrendSeries], where: Sequence[list[list[int]]], runs: Sequence[HistoryRun]
) -> list[TrendEvent]:
    """Changes of one host whose stretches of time touch, as one."""
    spans: dict[str, list[tuple[int, int, _Member]]] = {}
    for index, one in enumerate(series):
        for number, change in enumerate(one.changes):
            begin, end = where[index][change.earliest - 1][-1], where[index][change.latest][0]
            spans.setdefault(one.host, []).append((begin, end, (index, number)))
    found = []
    for host, members in spans.items():
        groups: list[tuple[int, int, list[_Member]]] = []
        for begin, end, member in sorted(members):
            own = groups and any(series[member[0]] is series[other[0]] for other in groups[-1][2])
            if groups and not own and begin < groups[-1][1]:  # the stretch in common is what is left
                low, high, others = groups[-1]
                groups[-1] = (max(low, begin), min(high, end), [*others, member])
            else:
                groups.append((begin, end, [member]))
        found += [_event(host, group, series, where, runs) for group in groups]
    return sorted(found, key=lambda one: -one.at_ns)


def _event(
    host: str,
    group: tuple[int, int, list[_Member]],
    series: Sequence[TrendSeries],
    where: Sequence[list[list[int]]],
    runs: Sequence[HistoryRun],
) -> TrendEvent:
    low, high, members = group
    used, values, begin, first, end = _together(members, series, where, (low, high))
    known = [_facts(host, runs[index]) for index in used]
    wider = max(chart.inflation(series[index].correlation) for index, _ in members)
    got = explain(values, known, begin, first, end, min(wider, 3.0))
    senses = {series[index].changes[number].sense for index, number in members}
    alike = sum(len(one.facts) for one in got.causes[: got.close])
    return TrendEvent(
        host=host,
        run=runs[used[first]].name,
        at_ns=runs[used[first]].at_ns,
        after_run=runs[low].name,
        until_run=runs[high].name,
        sense="worse" if "worse" in senses else senses.pop(),
        changes=tuple(members),
        verdict="nothing recorded changed"
        if not got.causes
        else "none recorded"
        if not alike
        else "one"
        if alike == 1
        else "not distinguished",
        causes=got.causes,
        close=got.close,
        unknown_share=got.unknown_share,
    )


def _facts(host: str, run: HistoryRun) -> Facts:
    return facts.of_job(host, run.facts)


def _together(
    members: Sequence[_Member],
    series: Sequence[TrendSeries],
    where: Sequence[list[list[int]]],
    between: tuple[int, int],
) -> tuple[list[int], Floats, int, int, int]:
    """The runs that any of the series has a value of, the mean of these values in deviations of a run (those that rose
    turned over), and of the runs: where the stretch without other changes begins, the first after the change, the end."""
    sums: dict[int, list[float]] = {}
    begin, end = 0, math.inf
    for index, number in members:
        one = series[index]
        change = one.changes[number]
        scale = max(one.spread or 0.0, abs(math.log(change.ratio)) / 20, 1e-12) * (1 if change.ratio < 1 else -1)
        middle = math.log(one.levels[number].value)
        for point, group in zip(one.points, where[index], strict=True):
            for run in group:
                sums.setdefault(run, []).append((math.log(point.value) - middle) / scale)
        begin = max(begin, where[index][one.levels[number].begin][0])
        if number + 1 < len(one.changes):
            end = min(end, where[index][one.changes[number + 1].first][0])
    used = sorted(sums)
    firsts = sorted(where[index][series[index].changes[number].first][0] for index, number in members)
    at = min(max(firsts[len(firsts) // 2], between[0] + 1), between[1])
    place = {run: position for position, run in enumerate(used)}
    first = next(place[run] for run in used if run >= at)
    low = next(place[run] for run in used if run >= min(begin, at - 1)) if begin < at else max(first - 1, 0)
    high = next((place[run] for run in used if run >= end), len(used))
    return used, np.array([np.mean(sums[run]) for run in used]), min(low, first - 1), first, max(high, first + 1)
