"""What a published document required of its system, and whether the others meet it. Pure.

A requirement (``required`` of published/README.md) holds for the parameters that its document tells: Thufir's 0.5 s for the
losses among 5,000 radios, TSUBAME's 5 GB/s over 1,000 mounts. Values of other parameters stand beside it and are not held
against it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from ..published import Required
from ..records import Finding, Metric, Params
from .compare import Entry
from .published_comparison import Printed, headlines, interval, matched, word

State = Literal["met", "not met", "undecided", "other circumstances"]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One system's value beside a requirement."""

    value: float
    low: float | None = None
    high: float | None = None
    state: State
    apart: tuple[str, ...] = ()  # the parameters that differ from the requirement's
    params: Params = {}


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement and the systems' values beside it; of the system that asks there is no cell."""

    metric: str
    title: str
    unit: str
    params: str  # of the values, as text
    system: int  # which of the systems requires it
    sense: Required
    value: float
    where: str
    cells: tuple[Held | None, ...]


class _Group(NamedTuple):
    """Values of equal matching parameters, one a system at most, each with what differs in it from the requirement."""

    far: float
    values: dict[int, tuple[Finding, tuple[str, ...]]]


def rows(entries: Sequence[Entry], metrics: Mapping[str, Metric]) -> tuple[Requirement, ...]:
    """A row for each requirement and each set of matching parameters that agree with it; where none do, the nearest."""
    found: list[Requirement] = []
    for at, entry in enumerate(entries):
        for asked in entry.required:
            groups = _groups(asked, [other if other is not entry else None for other in entries])
            near = min((one.far for one in groups.values()), default=0.0)
            found += [_row(asked, at, entries, text, one) for text, one in sorted(groups.items()) if one.far == near]
    return tuple(found)


def _groups(asked: Printed, entries: Sequence[Entry | None]) -> dict[str, _Group]:
    metric = asked.metric
    groups: dict[str, _Group] = {}
    for at, entry in enumerate(entries):
        values = [one for one in entry.findings if one.metric == metric.name] if entry else []
        for one in headlines(values, {metric.name: metric}, published=bool(entry and entry.published)).values():
            apart, far = _apart(metric, one.params, asked.value.params)
            groups.setdefault(matched(metric, one.params), _Group(far, {})).values[at] = one, apart
    return groups


def _apart(metric: Metric, ours: Mapping[str, object], asked: Mapping[str, object]) -> tuple[tuple[str, ...], float]:
    """The parameters that the requirement tells, that must agree or that the metric has a title for, and that differ: in
    words, and how far they do."""
    words, far = [], 0.0
    for name in dict.fromkeys((*metric.match, *metric.titles)):
        if name not in asked or word(ours.get(name)) == word(asked[name]):
            continue
        title = metric.titles.get(name, name)
        told = word(ours[name]) if name in ours else "not reported"
        words.append(f"{title}: {told}, required for {word(asked[name])}")
        mine, its = ours.get(name), asked[name]
        numbers = isinstance(mine, (int, float)) and isinstance(its, (int, float)) and mine > 0 and its > 0
        far += abs(math.log(mine / its)) if numbers else math.inf  # type: ignore[operator]
    return tuple(words), far


def _row(asked: Printed, at: int, entries: Sequence[Entry], params: str, group: _Group) -> Requirement:
    metric, value = asked.metric, asked.value
    cells = [
        _held(group.values[index][0], metric, asked, group.values[index][1]) if index in group.values else None
        for index in range(len(entries))
    ]
    return Requirement(
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        params=params,
        system=at,
        sense=value.required,
        value=value.value,
        where=value.where,
        cells=tuple(cells),
    )


def _held(one: Finding, metric: Metric, asked: Printed, apart: tuple[str, ...]) -> Held:
    assert one.value is not None
    low, _, high = interval(one, metric)
    state = "other circumstances" if apart else judge(asked.value.required, asked.value.value, low, high)
    return Held(value=one.value, low=low, high=high, state=state, apart=apart, params=one.params)


def judge(sense: Required, bound: float, low: float | None, high: float | None) -> State:
    """Whether an interval lies below a bound (or not below it) as a whole; one that is not known decides nothing."""
    if low is None or high is None:
        return "undecided"
    if high < bound:
        return "met" if sense == "below" else "not met"
    if low >= bound:
        return "not met" if sense == "below" else "met"
    return "undecided"


def verdict(row: Requirement, names: Sequence[str]) -> str:
    """Who meets it, in words."""
    told = []
    for name, cell in zip(names, row.cells, strict=True):
        if cell is not None:
            why = f" ({'; '.join(cell.apart)})" if cell.apart else ""
            told.append(f"{name}: {cell.state}{why}")
    return "; ".join(told)
