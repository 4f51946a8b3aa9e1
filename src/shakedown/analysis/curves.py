"""Published curves: the rows of one table over the parameter that varies, whole, for a figure of ours to stand beside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..published import PublishedValue, System
from ..records import Curve, Metric, Value
from .published_comparison import is_result

FEWEST_POINTS = 3


def curves(systems: Iterable[System], metrics: Mapping[str, Metric]) -> tuple[Curve, ...]:
    """The curves of these metrics: of each table and column the rows over the one parameter that is a number and varies."""
    found: list[Curve] = []
    for system in systems:
        groups: dict[tuple[str, str, str], list[PublishedValue]] = {}
        for value in system.values:
            metric = metrics.get(value.metric)
            if metric is None or metric.unit != value.unit or value.doubt or not is_result(value):
                continue
            words = repr(sorted((name, one) for name, one in value.params.items() if isinstance(one, str)))
            groups.setdefault((value.metric, value.where.partition(", row ")[0], words), []).append(value)
        found += (one for key, group in groups.items() for one in _curves(system, key[1], group))
    return tuple(found)


def _curves(system: System, where: str, values: list[PublishedValue]) -> list[Curve]:
    """One curve for each parameter that alone makes the points different, along its own values."""
    names = dict.fromkeys(name for value in values for name in value.params)
    varying = [name for name in names if len({value.params.get(name) for value in values}) > 1]
    made = []
    for axis in varying:
        lines: dict[tuple[tuple[str, Value], ...], list[PublishedValue]] = {}
        for value in values:
            if isinstance(value.params.get(axis), (int, float)):
                rest = tuple(sorted((name, one) for name, one in value.params.items() if name != axis))
                lines.setdefault(rest, []).append(value)
        made += [
            Curve(
                metric=group[0].metric,
                unit=group[0].unit,
                system=system.id,
                system_name=system.name,
                year=system.year,
                where=f"{system.document.title}, {where}",
                axis=axis,
                params=dict(rest),
                x=tuple(float(value.params[axis]) for value in group),
                y=tuple(value.value for value in group),
                y_half=tuple(value.half_width for value in group),
            )
            for rest, group in lines.items()
            if len({value.params[axis] for value in group}) >= FEWEST_POINTS
        ]
    return made
