"""Our values beside published ones, in the same metric: ranked where they are like with like, apart where they are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from ..published import PublishedValue, System
from ..records import Circumstances, Finding, Metric, PublishedComparison
from . import circumstances
from .values import is_headline

Rank = Literal["better", "worse", "equal", "not told apart", "not ranked"]

#: A published value with one of these marks is no result of the machine: a requirement, a data sheet, a plan.
NO_RESULT = ("required", "specification", "expected", "estimate", "projected", "goal", "the maker's figure")

#: Low, value and high; None: not known.
Interval = tuple[float | None, float, float | None]


class Printed(NamedTuple):
    """A published value of a metric, with the circumstances that its document tells."""

    value: PublishedValue
    metric: Metric
    circumstances: Circumstances


def beside(
    findings: Sequence[Finding],
    metrics: Mapping[str, Metric],
    systems: Iterable[System],
    setting: circumstances.Setting | None = None,
) -> tuple[PublishedComparison, ...]:
    """For each metric and each set of matching parameters, each system's value beside ours: like with like where there is
    such a pair, ranked; else the published value that is nearest, by nodes first, under other circumstances and unranked.

    A metric says in ``match`` which parameters must agree.
    """
    setting = setting or circumstances.Setting({}, {})
    systems = tuple(systems)
    there = {value.metric for system in systems for value in system.values}
    wanted = {name for name, metric in metrics.items() if there & {name, metric.published_as}}
    ours = _by_circumstances((one for one in findings if one.metric in wanted), metrics, setting)
    found = []
    for system in systems:
        groups: dict[tuple[str, str], list[Printed]] = {}
        for one in printed(system, metrics):
            for key in _keys(one, ours):
                groups.setdefault(key, []).append(one)
        for key, values in groups.items():
            mine, theirs = _nearest(ours[key], values)
            found.append(_beside(system, mine, theirs))
    return tuple(found)


class _Mine(NamedTuple):
    finding: Finding
    circumstances: Circumstances


_Ours = dict[tuple[str, str], dict[bytes, _Mine]]


def _by_circumstances(
    findings: Iterable[Finding], metrics: Mapping[str, Metric], setting: circumstances.Setting
) -> _Ours:
    """Our best finding for each metric and matching parameters, of each kind of circumstances."""
    best: _Ours = {}
    for one in findings:
        metric = metrics[one.metric]
        if one.value is None or not is_headline(metric, one.params):
            continue
        held = best.setdefault((one.metric, matched(metric, one.params)), {})
        mine = _Mine(one, circumstances.of_finding(one, metric, setting))
        kind = circumstances.key(mine.circumstances)
        if kind not in held or is_better(metric.better, one.value, held[kind].finding.value or 0.0):
            held[kind] = mine
    return best


def printed(system: System, metrics: Mapping[str, Metric]) -> list[Printed]:
    """The results of a system in these metrics. Under the same circumstances and parameters a table comes before prose, and
    what is known to be misprinted counts only where there is nothing else."""
    kept: dict[tuple[object, ...], list[Printed]] = {}
    for one in _results(system, metrics):
        value, metric, _ = one
        key = (metric.name, matched(metric, value.params), circumstances.key(one.circumstances))
        held = kept.setdefault(key, [])
        if held and value.doubt > held[0].value.doubt:
            continue
        kept[key] = [*(other for other in held if other.value.doubt == value.doubt), one]
    return [one for group in kept.values() for one in group]


def _results(system: System, metrics: Mapping[str, Metric]) -> Iterator[Printed]:
    """Each result under its own metric, and what accelerators reached under ours for accelerators as well."""
    also: dict[str, list[Metric]] = {}
    for metric in metrics.values():
        if metric.published_as:
            also.setdefault(metric.published_as, []).append(metric)
    for value in filter(is_result, system.values):
        own = metrics.get(value.metric)
        for metric in (*((own,) if own else ()), *also.get(value.metric, ())):
            under = circumstances.of_published(value, metric, system)
            of_any_device = metric is own or "device" not in metric.ranked_by
            if metric.unit == value.unit and (of_any_device or under.device not in ("", "cpu")):
                yield Printed(value, metric, under)


def required(system: System, metrics: Mapping[str, Metric]) -> Iterator[Printed]:
    """What the document requires of its system, each under its own metric and under ours for accelerators as well."""
    for value in system.values:
        for metric in metrics.values():
            if value.required and value.metric in (metric.name, metric.published_as) and metric.unit == value.unit:
                yield Printed(value, metric, circumstances.of_published(value, metric, system))


def _keys(one: Printed, ours: _Ours) -> list[tuple[str, str]]:
    """Which of our values a published one stands beside: those of its own matching parameters. Where it tells none of them
    and the metric is ranked by them, it cannot be ranked: it stands beside our best of all."""
    metric, params = one.metric, one.value.params
    key = (metric.name, matched(metric, params))
    if not is_untold(metric, key[1]):
        return [key] if key in ours else []
    keys = [key for key in ours if key[0] == metric.name]
    sign = 1 if metric.better == "lower" else -1
    return sorted(keys, key=lambda key: min(sign * (mine.finding.value or 0.0) for mine in ours[key].values()))[:1]


def _nearest(ours: Mapping[bytes, _Mine], theirs: Sequence[Printed]) -> tuple[_Mine, Printed]:
    """The pair that is like with like, of whole nodes rather than parts and each side's best; else the nearest."""

    def rank(pair: tuple[_Mine, Printed]) -> tuple[object, ...]:
        mine, other = pair
        metric = other.metric
        sign = 1 if metric.better == "lower" else -1
        own, its = mine.circumstances, other.circumstances
        return (
            circumstances.distance(own, its, metric),
            not own.whole,
            not its.whole,
            -(its.nodes or 0),
            sign * other.value.value,
            sign * (mine.finding.value or 0.0),
        )

    return min(((mine, other) for mine in ours.values() for other in theirs), key=rank)


def _beside(system: System, mine: _Mine, theirs: Printed) -> PublishedComparison:
    value, metric, one = theirs.value, theirs.metric, mine.finding
    assert one.value is not None
    apart = circumstances.differences(mine.circumstances, theirs.circumstances, metric, published=True)
    half = 0.0 if metric.exact else value.half_width
    rank = compare(metric.better, interval(one, metric), (value.value - half, value.value, value.value + half))
    return PublishedComparison(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        ours=one,
        system=system.id,
        system_name=system.name,
        year=system.year,
        theirs=value.value,
        theirs_half=half,
        theirs_params=value.params,
        where=f"{system.document.title}, {value.where}",
        ratio=one.value / value.value if value.value and not apart else None,
        verdict="other circumstances" if apart else rank,
        circumstances=mine.circumstances,
        theirs_circumstances=theirs.circumstances,
        differences=apart,
    )


def headlines(
    findings: Iterable[Finding], metrics: Mapping[str, Metric], *, published: bool = False
) -> dict[tuple[str, str], Finding]:
    """Our best finding for each metric and each set of matching parameters: over threads, variants, libraries, hosts.

    Only what gives its metric's figure is a headline (values.py); what a document prints (``published``) is taken as such.
    """
    best: dict[tuple[str, str], Finding] = {}
    for one in findings:
        metric = metrics[one.metric]
        if one.value is None or not (published or is_headline(metric, one.params)):
            continue
        key = (one.metric, matched(metric, one.params))
        held = best.get(key)
        if held is None or is_better(metric.better, one.value, held.value or 0.0):
            best[key] = one
    return best


def matched(metric: Metric, params: Mapping[str, object]) -> str:
    """The parameters that must agree, as text. Numbers agree as numbers: a program prints 3 where a document has 3.0."""
    return ",".join(f"{name}={word(params.get(name))}" for name in metric.match)


def is_untold(metric: Metric, match: str) -> bool:
    """Whether a value gives none of the parameters that must agree (``match`` as `matched` has it), and the metric is ranked
    by all of them: it can stand beside any, and is ranked with none."""
    return bool(metric.match) and set(metric.match) <= set(metric.ranked_by) and match == matched(metric, {})


def word(value: object) -> str:
    """A parameter's value as text that is the same for equal numbers."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole and isinstance(value, float) else str(value)


def is_result(value: PublishedValue) -> bool:
    """Whether a published value was measured, rather than required, specified or expected."""
    marks = f"{value.params.get('case', '')} {value.note}".lower()
    return not value.required and not any(mark in marks for mark in NO_RESULT)


def is_better(better: str, one: float, other: float) -> bool:
    return one < other if better == "lower" else one > other


def interval(one: Finding, metric: Metric) -> Interval:
    """The interval of one of our values; a count has none to have: it is exact."""
    assert one.value is not None
    return (one.value,) * 3 if metric.exact else (one.low, one.value, one.high)


def compare(better: str, ours: Interval, theirs: Interval) -> Rank:
    """Rank two values by their intervals (low, value, high): only what the intervals tell apart.

    A value without an interval is not ranked; a printed figure's interval is that of its last place. Two values that are
    both exact are equal or are not.
    """
    if better == "none" or None in (*ours, *theirs):
        return "not ranked"
    low, _, high = ours
    their_low, _, their_high = theirs
    assert low is not None and high is not None and their_low is not None and their_high is not None
    if low == high == their_low == their_high:
        return "equal"
    if high < their_low:
        return "better" if better == "lower" else "worse"
    if low > their_high:
        return "worse" if better == "lower" else "better"
    return "not told apart"
