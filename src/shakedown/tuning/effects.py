"""What mattered: the effect of each parameter over all trials, with intervals, and where two parameters do not add.

The effect of a value against another is the mean over pairs of configurations that differ in that parameter only, weighted
by how sure each pair is. Where no such pair was run there is no effect to tell.

The search chooses what it runs, and the chosen value is the one that looked best: so the intervals hold all comparisons of
any two values of a parameter, over all parameters, at once (Bonferroni), at every time that the search looked at them
(LOOKS), with the noise that was seen and not what was assumed of it. An effect is claimed where such an interval excludes
zero. Two parameters interact where four configurations (two values of each, all else equal) were run and their times do not
multiply: such a rectangle counts when its interval excludes zero, corrected for all rectangles that were looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

from .history import TrialHistory
from .paired import Comparison, interval_of, joint_factor
from .records import Effect, Interaction, Interval, Level, Point, Trial, name_of
from .space import AXES, differing

#: Rounds after which the search drops what is behind (search.py): each is a look at the same comparisons.
LOOKS = 5
REPEATED = 2  # runs of a configuration that show when one of them was disturbed
_MOST_RECTANGLES = 4000


def effects(known: TrialHistory, chosen: Point, level: str) -> tuple[tuple[Effect, ...], int]:
    """Each parameter that was varied, the one that mattered most first; and how many comparisons of two values there are."""
    found = known.compared(level)
    if found is None:
        return (), 0
    points = [known.point(name) for name in found.items]
    runs = _runs(known.trials, level, {str(name) for name in found.items})
    compared: dict[str, dict[tuple[str, str], _Against]] = {}
    for axis in AXES:
        values = tuple(known.problem.space.axes.get(axis, ()))
        pairs = {
            (str(one), str(other)): against
            for one, other in combinations(values, 2)
            if (against := _against(found, points, runs, axis, one, other)) is not None
        }
        if pairs:
            compared[axis] = pairs
    comparisons = sum(map(len, compared.values()))
    factor = joint_factor(found, comparisons * LOOKS)
    made = [
        effect
        for axis, pairs in compared.items()
        if (effect := _effect(axis, pairs, points, chosen, runs, factor)) is not None
    ]
    return tuple(sorted(made, key=lambda one: (not one.matters, -one.spread.value))), comparisons


class _Against(NamedTuple):
    """log(seconds of one value / seconds of another) over pairs that differ in nothing else, its standard error, and how
    much of it may be one run that was disturbed."""

    difference: float
    error: float
    hidden: float = 0.0

    def interval(self, factor: float) -> Interval:
        return interval_of(self.difference, factor * self.error + self.hidden if self.error else 0.0)


def _runs(trials: Sequence[Trial], level: str, names: set[str]) -> dict[str, int]:
    runs = dict.fromkeys(names, 0)
    for trial in trials:
        if trial.level == level and trial.ok and name_of(trial.point) in runs:
            runs[name_of(trial.point)] += 1
    return runs


def _effect(
    axis: str,
    pairs: dict[tuple[str, str], _Against],
    points: Sequence[Point],
    chosen: Point,
    runs: dict[str, int],
    factor: float,
) -> Effect | None:
    """The values that were compared with the chosen one; None where there are none."""
    own = str(chosen[axis])
    values = list(dict.fromkeys(value for pair in pairs for value in pair))

    def slower(one: str, other: str) -> _Against | None:
        if one == other:
            return _Against(0.0, 0.0)
        if (one, other) in pairs:
            return pairs[one, other]
        back = pairs.get((other, one))
        return None if back is None else back._replace(difference=-back.difference)

    levels = []
    for value in values:
        against = slower(value, own)
        if against is None:
            continue
        same = [point for point in points if str(point.get(axis)) == value]
        direct = any(set(differing(point, chosen)) <= _allowed(axis) for point in same)
        count = sum(runs[name_of(point)] for point in same)
        levels.append(Level(value=value, slower=against.interval(factor), runs=count, as_chosen=direct))
    if len(levels) < 2:
        return None
    levels.sort(key=lambda one: one.slower.value)
    spread = _spread(levels, slower, own, factor)
    return Effect(axis=axis, chosen=own, levels=tuple(levels), spread=spread)


def _spread(
    levels: Sequence[Level], slower: Callable[[str, str], _Against | None], own: str, factor: float
) -> Interval:
    """The slowest value over the fastest: directly where they were compared, else by way of the chosen one."""
    first, last = levels[0].value, levels[-1].value
    against = slower(last, first)
    if against is None:
        one, other = slower(last, own), slower(first, own)
        assert one is not None and other is not None
        against = _Against(one.difference - other.difference, one.error + other.error, one.hidden + other.hidden)
    return against.interval(factor)


def _allowed(axis: str) -> set[str]:
    """A grid belongs to its layout: where the layout differs, the grid may."""
    return {axis} | ({"grid"} if axis == "layout" else set())


def _against(
    found: Comparison, points: Sequence[Point], runs: dict[str, int], axis: str, value: object, other: object
) -> _Against | None:
    """``value`` against ``other``: the weighted mean over pairs that differ in that axis only; None without any.

    A configuration that ran once fits its own run, whatever happened to it. So where neither value of any pair ran twice,
    the effect must be there without the configuration that speaks for it most, and one such configuration shows nothing.
    """
    allowed = _allowed(axis)
    pairs: list[tuple[str, str, float, float]] = []  # names, difference, standard error
    for one in points:
        if one.get(axis) != value:
            continue
        for second in points:
            if second.get(axis) == other and set(differing(one, second)) <= allowed:
                names = name_of(one), name_of(second)
                pairs.append((*names, *found.difference(*names)))
    if not pairs:
        return None
    mean, least = _mean(pairs), min(error for *_, error in pairs)
    # Pairs share runs, so they are not independent: no mean of them is surer than the surest pair.
    made = _Against(mean, least)
    repeated = [pair for pair in pairs if min(runs[pair[0]], runs[pair[1]]) >= REPEATED]
    if repeated:
        return made._replace(hidden=max(0.0, abs(mean) - max(0.0, math.copysign(1, mean) * _mean(repeated))))
    once = {name for pair in pairs for name in pair[:2] if runs[name] < REPEATED}
    without = [[pair for pair in pairs if name not in pair[:2]] for name in once]
    if not all(without):
        return made._replace(hidden=math.inf)
    trimmed = min(math.copysign(1, mean) * _mean(rest) for rest in without)
    return made._replace(hidden=max(0.0, abs(mean) - max(0.0, trimmed)))


def _mean(pairs: Sequence[tuple[str, str, float, float]]) -> float:
    weights = [1 / max(error, 1e-9) ** 2 for *_, error in pairs]
    return sum(weight * pair[2] for weight, pair in zip(weights, pairs, strict=True)) / sum(weights)


def interactions(known: TrialHistory, level: str) -> tuple[Interaction, ...]:
    """The significant one of each two parameters, the greatest first."""
    found = known.compared(level)
    if found is None:
        return ()
    points = {str(name): known.point(name) for name in found.items}
    rectangles = _rectangles(points)
    if not rectangles:
        return ()
    runs = _runs(known.trials, level, set(points))
    needed = joint_factor(found, len(rectangles) * LOOKS)
    best: dict[tuple[str, str], tuple[float, Interaction]] = {}
    for axes, corners in rectangles:
        extra, error = _extra(found, corners)
        half = needed * error
        if error <= 0 or abs(extra) <= half or min(runs[name] for name in corners) < REPEATED:
            continue
        one, other = axes
        a, d = points[corners[0]], points[corners[3]]
        made = Interaction(
            axes=axes,
            values=(str(d[one]), str(d[other])),
            against=(str(a[one]), str(a[other])),
            extra=interval_of(extra, half),
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
