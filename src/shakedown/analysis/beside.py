"""Our values beside published ones, in the same metric; and any number of runs side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ..published import PublishedValue, System
from ..records import Beside, Finding, Metric
from .values import is_headline

Rank = Literal["better", "worse", "not told apart", "not ranked"]

#: A published value with one of these marks is no result of the machine: a requirement, a data sheet, a plan.
NO_RESULT = ("required", "specification", "expected", "estimate", "projected", "goal")


def beside(findings: Sequence[Finding], metrics: Mapping[str, Metric], systems: Iterable[System]) -> tuple[Beside, ...]:
    """Each published value that is comparable, with our best finding of the same metric and matching parameters.

    A metric says in ``match`` which parameters must agree. Of the values that agree in those, a system is shown with its
    best; so are we.
    """
    ours = headlines(findings, metrics)
    found = []
    for system in systems:
        theirs: dict[tuple[str, str], PublishedValue] = {}
        for value in system.values:
            metric = metrics.get(value.metric)
            if metric is None or metric.unit != value.unit or not is_result(value):
                continue
            key = (value.metric, matched(metric, value.params))
            if key not in ours:
                continue
            if key not in theirs or is_better(metric.better, value.value, theirs[key].value):
                theirs[key] = value
        for (name, match), value in theirs.items():
            metric, mine = metrics[name], ours[name, match]
            assert mine.value is not None
            half = value.half_width
            rank = compare(
                metric.better, (mine.low, mine.value, mine.high), (value.value - half, value.value, value.value + half)
            )
            found.append(
                Beside(
                    metric=name,
                    unit=metric.unit,
                    better=metric.better,
                    ours=mine,
                    system=system.id,
                    system_name=system.name,
                    year=system.year,
                    theirs=value.value,
                    theirs_half=half,
                    theirs_params=value.params,
                    where=f"{system.document.title}, {value.where}",
                    ratio=mine.value / value.value if value.value else None,
                    verdict=rank,
                )
            )
    return tuple(found)


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


def word(value: object) -> str:
    """A parameter's value as text that is the same for equal numbers."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole and isinstance(value, float) else str(value)


def is_result(value: PublishedValue) -> bool:
    """Whether a published value was measured, rather than required, specified or expected."""
    marks = f"{value.params.get('case', '')} {value.note}".lower()
    return not any(mark in marks for mark in NO_RESULT)


def is_better(better: str, one: float, other: float) -> bool:
    return one < other if better == "lower" else one > other


def compare(
    better: str, ours: tuple[float | None, float, float | None], theirs: tuple[float | None, float, float | None]
) -> Rank:
    """Rank two values by their intervals (low, value, high): only what the intervals tell apart.

    A value without an interval is not ranked; a printed figure's interval is that of its last place.
    """
    if better == "none" or None in (*ours, *theirs):
        return "not ranked"
    low, _, high = ours
    their_low, _, their_high = theirs
    assert low is not None and high is not None and their_low is not None and their_high is not None
    if high < their_low:
        return "better" if better == "lower" else "worse"
    if low > their_high:
        return "worse" if better == "lower" else "better"
    return "not told apart"
