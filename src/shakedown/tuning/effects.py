"""What mattered: the effect of each parameter over all trials, with intervals, and where two parameters do not add.

The effect of a value against the chosen one is the mean over pairs of configurations that differ in that parameter
only, weighted by how sure each pair is. Where no such pair was run there is no effect to tell. Two parameters interact
where four configurations (two values of each, all else equal) were run and their times do not multiply: such a
rectangle counts when its t value passes 95 % after Bonferroni's correction for all rectangles that were looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

from .known import Known
from .paired import Comparison, ratio_interval, t95
from .records import Effect, Interaction, Interval, Level, Point, name_of
from .space import AXES, differing

_MOST_RECTANGLES = 4000


def effects(known: Known, chosen: Point, level: str) -> tuple[Effect, ...]:
    """Each parameter that was varied, the one that mattered most first."""
    found = known.compared(level)
    if found is None:
        return ()
    points = [known.point(name) for name in found.items]
    runs = {str(name): 0 for name in found.items}
    for trial in known.trials:
        if trial.level == level and name_of(trial.point) in runs:
            runs[name_of(trial.point)] += 1
    made = []
    for axis in AXES:
        values = [value for value in known.problem.space.axes.get(axis, ()) if value != chosen.get(axis)]
        levels = [
            Level(value=str(value), slower=slower, runs=count)
            for value in values
            for slower, count in [_against(found, points, runs, axis, value, chosen[axis])]
            if slower is not None
        ]
        if not levels:
            continue
        own = Level(value=str(chosen[axis]), slower=Interval(value=0.0, low=0.0, high=0.0), runs=runs[name_of(chosen)])
        ordered = sorted([own, *levels], key=lambda one: one.slower.value)
        made.append(Effect(axis=axis, chosen=str(chosen[axis]), levels=tuple(ordered), spread=_spread(ordered)))
    return tuple(sorted(made, key=lambda one: -one.spread.value))


def _spread(levels: Sequence[Level]) -> Interval:
    """The slowest value over the fastest; the interval takes both ends' own."""
    first, last = levels[0].slower, levels[-1].slower
    ratio = (1 + last.value) / (1 + first.value) - 1
    half = math.hypot(last.high - last.low, first.high - first.low) / 2
    return Interval(value=ratio, low=ratio - half, high=ratio + half)


def _against(
    found: Comparison, points: Sequence[Point], runs: dict[str, int], axis: str, value: object, chosen: object
) -> tuple[Interval | None, int]:
    """How much slower ``value`` is than ``chosen``: the weighted mean over pairs that differ in that axis only.

    A grid belongs to its layout: where the layout differs, the grid may.
    """
    allowed = {axis} | ({"grid"} if axis == "layout" else set())
    total = weights = 0.0
    least = math.inf
    used: set[str] = set()
    for one in points:
        if one.get(axis) != value:
            continue
        for other in points:
            if other.get(axis) != chosen or not set(differing(one, other)) <= allowed:
                continue
            difference, error = found.difference(name_of(one), name_of(other))
            weight = 1 / max(error, 1e-9) ** 2
            total += weight * difference
            weights += weight
            least = min(least, error)
            used |= {name_of(one)}
    if not weights:
        return None, 0
    # Pairs share runs, so they are not independent: no mean of them is surer than the surest pair.
    return ratio_interval(total / weights, least, found.dof), sum(runs[name] for name in used)


def interactions(known: Known, level: str) -> tuple[Interaction, ...]:
    """The significant one of each two parameters, the greatest first."""
    found = known.compared(level)
    if found is None:
        return ()
    points = {str(name): known.point(name) for name in found.items}
    rectangles = _rectangles(points)
    if not rectangles:
        return ()
    # Student's quantile at the corrected level, by its ratio to the normal one at 95 %.
    needed = NormalDist().inv_cdf(1 - 0.025 / len(rectangles)) * t95(found.dof) / 1.959964
    best: dict[tuple[str, str], tuple[float, Interaction]] = {}
    for axes, corners in rectangles:
        extra, error = _extra(found, corners)
        if error <= 0 or abs(extra) < needed * error:
            continue
        one, other = axes
        a, d = points[corners[0]], points[corners[3]]
        made = Interaction(
            axes=axes,
            values=(str(d[one]), str(d[other])),
            against=(str(a[one]), str(a[other])),
            extra=ratio_interval(extra, error, found.dof),
        )
        if abs(extra) / error > best.get(axes, (0.0, made))[0]:
            best[axes] = abs(extra) / error, made
    return tuple(made for _, made in sorted(best.values(), key=lambda pair: -abs(pair[1].extra.value)))


def _rectangles(points: dict[str, Point]) -> list[tuple[tuple[str, str], tuple[str, str, str, str]]]:
    """Four configurations a, b, c, d: b and c differ from a in one axis each, d in both."""
    index = {tuple(sorted((k, str(v)) for k, v in point.items())): name for name, point in points.items()}
    made = []
    names = list(points)
    for first, last in combinations(names, 2):
        a, d = points[first], points[last]
        axes = differing(a, d)
        if len(axes) != 2 or "layout" in axes:
            continue
        one, other = axes
        corners = []
        for swapped in (one, other):
            corner = {**a, swapped: d[swapped]}
            corners.append(index.get(tuple(sorted((k, str(v)) for k, v in corner.items()))))
        if corners[0] is not None and corners[1] is not None:
            made.append(((one, other), (first, corners[0], corners[1], last)))
        if len(made) >= _MOST_RECTANGLES:
            break
    return made


def _extra(found: Comparison, corners: tuple[str, str, str, str]) -> tuple[float, float]:
    """log(t_a t_d / (t_b t_c)) and its standard error."""
    signs = (1, -1, -1, 1)
    places = [found.items.index(name) for name in corners]
    value = sum(sign * found.effect[place] for sign, place in zip(signs, places, strict=True))
    variance = sum(
        one * other * found.covariance[i][j]
        for one, i in zip(signs, places, strict=True)
        for other, j in zip(signs, places, strict=True)
    )
    return value, math.sqrt(max(variance, 0.0))
