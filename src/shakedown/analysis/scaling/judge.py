"""What a series comes to: speedups with intervals, laws, the best counts, times between counts. Pure.

Differences of logarithms have the interval of Student's t with the noise pooled over all counts (laws.py). What is said of
all counts at once (superlinear, told apart from the best) divides the level by their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ...records import BestCount, Notice, Scaling, ScalingLaw, ScalingPoint, ScalingSeries, Speedup, TimeAt
from . import laws

#: What is said beyond the measured counts carries at least this: of four published series the last point, foretold from
#: those before by four laws, was missed by 4 to 44 %.
BEYOND = 0.2


def judged(series: ScalingSeries, *, noise: float | None = None, at: Sequence[int] = ()) -> Scaling:
    """All that is said of a series of at least two counts. ``noise``: the relative standard deviation of one launch, where
    no count was launched twice; ``at``: counts for which a time is wanted. Raises ValueError for fewer than two counts."""
    points = series.points
    if len(points) < 2:
        raise ValueError("a series has at least two counts")
    found = laws.noise_of(points, noise)
    speedups = _speedups(series, found)
    superlinear = any(one.superlinear for one in speedups)
    fitted = () if superlinear else laws.fit(series.kind, points, found)
    return Scaling(
        series=series,
        spread=found.sigma if found else None,
        speedups=speedups,
        laws=fitted,
        best=_best(series, found) if series.kind == "strong" else (),
        between=tuple(between(series, count, found, lawful=_lawful(fitted)) for count in at),
        notices=_notices(series, found, speedups, fitted),
    )


def _lawful(fitted: Sequence[ScalingLaw]) -> bool:
    """Whether some law may hold; of a superlinear series none is fitted."""
    return any(one.state != "does not hold" for one in fitted)


# --------------------------------------------------------------------------------------------------------------- speedups


def _speedups(series: ScalingSeries, noise: laws.Noise | None) -> tuple[Speedup, ...]:
    points, first = series.points, series.points[0]
    rows = []
    for one in points:
        seconds, factor = laws.centre(one), one.count / first.count
        ratio = laws.centre(first) / seconds
        half = sure = None
        if noise is not None:
            per = 1 / len(one.seconds) + 1 / len(first.seconds) if one is not first else 0.0
            half = noise.half(per)
            sure = noise.half(per, 1 - 0.05 / max(1, len(points) - 1))
        efficiency = ratio / factor if series.kind == "strong" else ratio
        low, high = (None, None) if half is None else (efficiency * math.exp(-half), efficiency * math.exp(half))
        own = None if noise is None else noise.half(1 / len(one.seconds))
        strong = series.kind == "strong" and one is not first
        rows.append(
            Speedup(
                count=one.count,
                seconds=seconds,
                seconds_low=None if own is None else seconds * math.exp(-own),
                seconds_high=None if own is None else seconds * math.exp(own),
                speedup=efficiency * factor,
                efficiency=efficiency,
                efficiency_low=low,
                efficiency_high=high,
                karp_flatt=karp_flatt(efficiency, factor) if strong else None,
                karp_flatt_low=karp_flatt(high, factor) if strong and high is not None else None,
                karp_flatt_high=karp_flatt(low, factor) if strong and low is not None else None,
                core_hours=_core_hours(series, one.count, seconds),
                energy_j=one.energy_j,
                superlinear=sure is not None and one is not first and efficiency * math.exp(-sure) > 1,
            )
        )
    return tuple(rows)


def karp_flatt(efficiency: float, factor: float) -> float:
    """The serial part that alone would explain an efficiency on ``factor`` times as many workers: (1/S - 1/r)/(1 - 1/r) with
    S = efficiency x r (Karp and Flatt, CACM 33, 1990, 539). Constant over counts: serial work; growing: overhead."""
    return (1 / efficiency - 1) / (factor - 1)


def _core_hours(series: ScalingSeries, count: int, seconds: float) -> float | None:
    return None if series.cores_per_count is None else count * series.cores_per_count * seconds / 3600


# ------------------------------------------------------------------------------------------------------------------- best


def _best(series: ScalingSeries, noise: laws.Noise | None) -> tuple[BestCount, ...]:
    points = series.points
    seconds = {one.count: laws.centre(one) for one in points}
    times = [_of(points, seconds, noise, "fastest", "s")]
    cores = series.cores_per_count
    if cores is not None:
        costs = {count: count * cores * one / 3600 for count, one in seconds.items()}
        times.append(_of(points, costs, noise, "cheapest", "core h"))
    return (*times, *_frugal(points, seconds))


def _of(
    points: Sequence[ScalingPoint], values: dict[int, float], noise: laws.Noise | None, what: str, unit: str
) -> BestCount:
    """The least of values that are times by a factor; those that are not surely more stand with it."""
    best = min(points, key=lambda one: values[one.count])
    with_it = []
    for one in points:
        if noise is None or one is best:
            continue
        per = 1 / len(one.seconds) + 1 / len(best.seconds)
        # One-sided: the least of k means is told from another by the level of k - 1 comparisons.
        half = noise.half(per, 1 - 2 * 0.05 / (len(points) - 1))
        if math.log(values[one.count] / values[best.count]) <= half:
            with_it.append(one.count)
    return BestCount(
        what=what,
        count=best.count,
        value=values[best.count],
        unit=unit,
        with_it=tuple(with_it),
        told=noise is not None,
    )


def _frugal(points: Sequence[ScalingPoint], seconds: dict[int, float]) -> list[BestCount]:
    """By energy, where it is known of at least two counts."""
    known = [one for one in points if one.energy_j is not None]
    if len(known) < 2:
        return []
    found = []
    for what, unit in (("most frugal", "J"), ("least energy-delay product", "J s")):
        factor = {one.count: seconds[one.count] if unit == "J s" else 1.0 for one in known}
        values = {one.count: (one.energy_j or 0.0) * factor[one.count] for one in known}
        halves = {one.count: (one.energy_half_j or 0.0) * factor[one.count] for one in known}
        told = all(one.energy_half_j is not None for one in known)
        best = min(values, key=lambda count: values[count])
        with_it = tuple(
            count
            for count in values
            if told and count != best and values[count] - values[best] <= math.hypot(halves[count], halves[best])
        )
        found.append(BestCount(what=what, count=best, value=values[best], unit=unit, with_it=with_it, told=told))
    return found


# ---------------------------------------------------------------------------------------------------------------- between


def between(series: ScalingSeries, count: int, noise: laws.Noise | None, *, lawful: bool = True) -> TimeAt:
    """The time at a count that was not measured.

    Between two measured ones: a sum of powers of p with factors of at least 0 (each law of laws.py for strong scaling) is
    convex in log-log coordinates, so that the truth lies under the chord of its neighbours and over the chords beyond
    them, continued. What these leave open is the interval, with the noise. Where no law holds, a step may lie on either
    side: then all between staying at a neighbour's time and falling in proportion to it is open. Beyond: what the laws and
    the last chord say, give or take BEYOND at least.
    """
    points = series.points
    have = next((one for one in points if one.count == count), None)
    wide = 0.0 if noise is None else noise.half(1 / min(len(one.seconds) for one in points))
    if have is not None:
        seconds = laws.centre(have)
        return TimeAt(
            count=count, seconds=seconds, low=seconds * math.exp(-wide), high=seconds * math.exp(wide), basis="measured"
        )
    if points[0].count < count < points[-1].count:
        low, high = _bracket(points, count) if lawful else _open(points, count)
        middle = math.sqrt(low * high)
        return TimeAt(
            count=count,
            seconds=middle,
            low=low * math.exp(-wide),
            high=high * math.exp(wide),
            basis="between its neighbours, of a curve that is convex in log-log coordinates"
            if lawful
            else "between its neighbours: no law holds, so that a step may lie on either side",
        )
    edge = points[-2:] if count > points[-1].count else points[:2]
    a, b = ((math.log(one.count), math.log(laws.centre(one))) for one in edge)
    last = _on(a, b, math.log(count))
    said = [*laws.seconds_at(series.kind, points, count).values(), math.exp(last)]
    low, high = min(said), max(said)
    return TimeAt(
        count=count,
        seconds=math.sqrt(low * high),
        low=low / (1 + BEYOND) * math.exp(-wide),
        high=high * (1 + BEYOND) * math.exp(wide),
        basis=f"beyond what was measured: the range of the laws and of the last step, give or take {BEYOND:.0%} at least",
    )


def _bracket(points: Sequence[ScalingPoint], count: int) -> tuple[float, float]:
    """What convexity in log-log coordinates leaves open, in s. Where the points themselves are not convex, be it by noise,
    the bracket turns over: then its ends change places."""
    at = math.log(count)
    line = [(math.log(one.count), math.log(laws.centre(one))) for one in points]
    right = next(index for index, (x, _) in enumerate(line) if x > at)
    chord = _on(line[right - 1], line[right], at)
    below = [_on(line[right - 1], (line[right - 1][0] + 1, line[right - 1][1] - 1), at)]  # proportional
    if right >= 2:
        below.append(_on(line[right - 2], line[right - 1], at))
    if right + 1 < len(line):
        below.append(_on(line[right], line[right + 1], at))
    low = max(below)
    return math.exp(min(low, chord)), math.exp(max(low, chord))


def _open(points: Sequence[ScalingPoint], count: int) -> tuple[float, float]:
    """What is left open, in s, where the curve may have a step on either side of ``count``."""
    right = next(index for index, one in enumerate(points) if one.count > count)
    ends = [(laws.centre(one), one.count) for one in points[right - 1 : right + 1]]
    told = [*(seconds for seconds, _ in ends), *(seconds * at / count for seconds, at in ends)]
    return min(told), max(told)


def _on(a: tuple[float, float], b: tuple[float, float], x: float) -> float:
    return a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0])


# ---------------------------------------------------------------------------------------------------------------- notices


def _notices(
    series: ScalingSeries, noise: laws.Noise | None, speedups: Sequence[Speedup], fitted: Sequence[ScalingLaw]
) -> tuple[Notice, ...]:
    found = []
    if noise is None:
        found.append(
            Notice(
                code="no-spread",
                text="each count was measured once: nothing shows the spread, so that there are no intervals and no law is "
                "checked",
                advice="repeat=3, or --noise 3% where you know how far launches scatter",
            )
        )
    elif series.within_launch:
        found.append(
            Notice(
                code="one-launch",
                text="each count was launched once: the intervals hold what varies within a launch and not between launches",
                advice="repeat=3",
            )
        )
    over = [one.count for one in speedups if one.superlinear]
    if over:
        found.append(
            Notice(
                code="superlinear",
                text=f"more than proportional at {', '.join(map(str, over))}: caches hold more of the work there, or the "
                "reference lacked memory bandwidth; no law of these speaks of that, and there is no serial part",
                advice="take a larger problem, or a whole node as the reference",
            )
        )
    if fitted and all(one.state == "does not hold" for one in fitted):
        worst = [
            f"{a.count} to {b.count}"
            for a, b in pairwise(series.points)
            if b.count < 2 * series.points[0].count or laws.centre(b) > laws.centre(a)
        ]
        found.append(
            Notice(
                code="no-law",
                text="no law holds: something changes on the way (a node is full, the network begins, work does not divide)"
                + (f"; look at {worst[0]}" if worst else ""),
                advice="measure more counts there; read the table, not a law",
            )
        )
    if len(series.points) == 2:
        found.append(
            Notice(code="two-counts", text="two counts alone say little of any law", advice="measure four or more")
        )
    return tuple(found)
