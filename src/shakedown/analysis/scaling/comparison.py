"""Series that differ in one parameter alone, count by count: one MPI beside another, one library beside another. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...records import Scaling, ScalingPoint, ScalingSeries
from ..statistics import paired_factor
from . import laws


class Ratio(NamedTuple):
    """A time over that of the reference; the interval (95 %) is that of a difference of means of logarithms, or of MPIs that
    were launched in turn that of the median over the rounds, which holds whatever the distribution (``analysis.mpis``)."""

    value: float
    low: float | None
    high: float | None


class Row(NamedTuple):
    workers: int
    ratios: tuple[Ratio | None, ...]  # of every series but the first; None: not measured at this count


def alike(found: Sequence[Scaling]) -> list[tuple[str, list[Scaling]]]:
    """Sets of series, and the name of the one parameter in which they differ."""
    sets = []
    names = sorted({name for one in found for name in one.series.params})
    for name in names:
        groups: dict[str, list[Scaling]] = {}
        for one in found:
            if name in one.series.params:
                groups.setdefault(_but(one.series, name), []).append(one)
        for members in groups.values():
            if len({str(one.series.params[name]) for one in members}) == len(members) > 1:
                sets.append((name, members))
    return sets


def _but(series: ScalingSeries, name: str) -> str:
    """Everything that is alike where only ``name`` differs."""
    rest = sorted((key, str(value)) for key, value in series.params.items() if key != name)
    source = series.source if series.workload == "published" else ""
    return repr((series.workload, series.title, series.kind, series.over, series.host, source, rest))


def ratios(members: Sequence[Scaling]) -> list[Row]:
    """Each series' times over the first's, at each count of the first."""
    first = members[0]
    rows = []
    for point in first.series.points:
        made: list[Ratio | None] = []
        for one in members[1:]:
            other = next((each for each in one.series.points if each.count == point.count), None)
            if other is None:
                made.append(None)
                continue
            if in_rounds := _by_rounds(first.series, one.series, point, other):
                made.append(in_rounds)
                continue
            value = laws.centre(other) / laws.centre(point)
            half = _half(first, one, len(point.seconds), len(other.seconds))
            ends = (None, None) if half is None else (value * math.exp(-half), value * math.exp(half))
            made.append(Ratio(value, *ends))
        rows.append(Row(point.count, tuple(made)))
    return rows


def _by_rounds(
    reference: ScalingSeries, series: ScalingSeries, point: ScalingPoint, other: ScalingPoint
) -> Ratio | None:
    """The ratio of two MPIs at one count by the rounds in which both were launched; None where there are too few, and for
    series that differ in something else."""
    if "mpi" not in reference.params or "mpi" not in series.params or reference.within_launch or series.within_launch:
        return None
    if not point.seconds or len(point.seconds) != len(other.seconds):
        return None
    found = paired_factor([mine / theirs for mine, theirs in zip(other.seconds, point.seconds, strict=True)])
    return None if found.side == "too few pairs" else Ratio(found.factor, found.low, found.high)


def _half(a: Scaling, b: Scaling, of_a: int, of_b: int) -> float | None:
    """Each series has a noise of its own: Welch's degrees of freedom (Biometrika 34, 1947, 28)."""
    from scipy.stats import t

    parts = []
    for one, n in ((a, of_a), (b, of_b)):
        noise = laws.noise_of(one.series.points, one.spread)
        if noise is None:
            return None
        parts.append((noise.sigma**2 / n, noise.freedom))
    variance = sum(part for part, _ in parts)
    inverse = sum(part**2 / free for part, free in parts)  # 0 where both were stated
    freedom = variance**2 / inverse if inverse else math.inf
    return float(t.ppf(0.975, freedom)) * math.sqrt(variance)
