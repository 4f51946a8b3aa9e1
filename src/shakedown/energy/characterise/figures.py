"""The figures of a meter's character: each shows one part of the fit beside what the meter said. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...document.model import Axis, Lines, Point, Rule, Series
from ...errors import BadInput
from ...metering.character import Character, Estimate
from ...metering.trace import Floats
from ...units import scale_for, show, show_seconds
from ..clocks.align import meter_clock
from .basis import Looks, Recording
from .findings import Findings, Plateau, Recorded
from .identify import Fit

_MOST_POINTS = 160


def interval(estimate: Estimate, unit: str) -> str:
    """``24.9 to 25.1 ms``, with as many digits as tell its ends apart."""
    largest = max(abs(estimate.low), abs(estimate.high))
    factor, name = scale_for(largest, unit)
    width = (estimate.high - estimate.low) / factor
    decimals = max(0, 1 - math.floor(math.log10(width))) if width > 0 else 3
    ends = [f"{end / factor:.{min(decimals, 9)}f}" for end in (estimate.low, estimate.high)]
    return f"{ends[0]} to {ends[1]} {name}".strip()


def value(estimate: Estimate, unit: str) -> str:
    """The value with two digits of its uncertainty."""
    factor, name = scale_for(max(abs(estimate.low), abs(estimate.high)), unit)
    width = (estimate.high - estimate.low) / factor
    decimals = max(0, 1 - math.floor(math.log10(width))) if width > 0 else 3
    return f"{estimate.value / factor:.{min(decimals, 9)}f} {name}".strip()


def figures(character: Character, findings: Findings, recorded: Sequence[Recorded]) -> list[Lines | None]:
    fit = findings.fit
    if fit is None:
        return []
    return [
        _step_figure(findings, fit),
        _swing_figure(findings, fit, recorded),
        _profile_figure(fit),
        _staircase_figure(findings, character.channel.unit),
        _edges_figure(findings, fit),
        _warm_figure(findings, character.channel.unit),
    ]


def _axis(xs: Sequence[float], title: str, unit: str = "") -> Axis:
    """With five or so marks at round numbers; ``unit`` gives them a prefix."""
    low, high = min(xs), max(xs)
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(one * power for one in (1.0, 2.0, 5.0, 10.0) if one * power * 6 >= span)
    marks = [step * index for index in range(math.ceil(low / step), math.floor(high / step) + 1)]
    factor, name = scale_for(max(abs(low), abs(high)), unit) if unit else (1.0, "")
    digits = max(0, -math.floor(math.log10(step / factor) + 1e-9))
    labels = {one: f"{one / factor:.{digits}f}" for one in marks}
    shown = f"{title} in {name}" if name else title
    return Axis(title=shown, labels=labels, low=low - 0.02 * span, high=high + 0.02 * span)


def _some(x: Floats, y: Floats, says: str, unit: str) -> tuple[Point, ...]:
    """At most _MOST_POINTS, evenly taken."""
    every = max(1, math.ceil(len(x) / _MOST_POINTS))
    return tuple(
        Point(float(a), float(b), None, None, f"{says}, {show(float(a), 's')}: {show(float(b), unit)}")
        for a, b in zip(x[::every], y[::every], strict=True)
    )


def _modelled(recording: Recording, fit: Fit, t: Floats) -> Floats:
    """What the kernel makes of the load at other times, with the line of this recording's own readings."""
    looks = Looks([recording], 0.0)
    h = looks.response(fit.best, 0)
    gain = fit.gain.value
    offset = float(recording.value.mean() - gain * h.mean())
    dense = Looks([recording._replace(t_s=t, value=np.zeros_like(t))], 0.0)
    out: Floats = gain * dense.response(fit.best, 0) + offset
    return out


def _step_figure(findings: Findings, fit: Fit) -> Lines | None:
    steps = [one for one in findings.recordings if one.name.startswith("step")]
    if not steps:
        return None
    one = steps[-1]
    edge = float(one.load.t_s[int(np.argmax(np.diff(one.load.w))) + 1])
    tau = fit.tau_s.value if fit.tau_s else 0.0
    period = findings.refresh.period_s.value if findings.refresh.period_s else 1.0
    reach = max(1.6 * (fit.window_s.value + 3 * tau + max(fit.delay_s.value, 0.0)), 8 * period)
    inside = (one.t_s > edge - 0.4 * reach) & (one.t_s < edge + reach)
    # At the readings themselves, where the kernel bends, and in between only where it is not straight.
    bends = edge + fit.delay_s.value + np.array([0.0, fit.window_s.value])
    between = np.linspace(edge - 0.4 * reach, edge + reach, 40 if tau else 2)
    grid = np.unique(np.concatenate([one.t_s[inside], bends, between]))
    said = _some(one.t_s[inside] - edge, one.value[inside], "reading", "W")
    curve = _some(grid - edge, _modelled(one, fit, grid), "fit", "W")
    return Lines(
        title="Step response",
        caption=f"The load rises at 0. {fit.kernel} fitted to all recordings together.",
        summary=f"the readings settle within {show(reach / 1.6, 's', 2)} of the edge",
        x=_axis([point.x for point in curve], "after the edge", "s"),
        unit="W",
        y_title="reading",
        series=(Series("fit", curve), Series("readings, one a refresh", said)),
        from_zero=False,
    )


def _swing_figure(findings: Findings, fit: Fit, recorded: Sequence[Recorded]) -> Lines | None:
    """How much is left of waves: what shows the window where the step cannot."""
    waves = [one for one in findings.recordings if one.name.startswith("square")]
    if len(waves) < 2:
        return None
    measured, fitted = [], []
    for one in waves:
        driven = next(each for each in recorded if each.experiment.name == one.name)
        edges = (np.array(driven.edges_ns, np.int64) - recorded[0].edges_ns[0]) * 1e-9
        period = 2 * float(np.median(np.diff(edges[1:-1])))
        inside = (one.t_s > edges[1] + fit.window_s.value) & (one.t_s < edges[-2])
        made = _modelled(one, fit, one.t_s[inside])
        said = float(one.value[inside].std())
        measured.append(Point(period, said, None, None, f"waves of {show(period, 's')}: {show(said, 'W')}"))
        fitted.append(
            Point(period, float(made.std()), None, None, f"fit at {show(period, 's')}: {show(made.std(), 'W')}")
        )
    measured.sort(key=lambda point: point.x)
    fitted.sort(key=lambda point: point.x)
    return Lines(
        title="Swing against the period of the load",
        caption="Standard deviation of the readings while the load is a square wave.",
        summary=f"from {show(measured[0].y, 'W')} at {show(measured[0].x, 's')} to {show(measured[-1].y, 'W')} at "
        f"{show(measured[-1].x, 's')}",
        x=_axis([point.x for point in measured], "period of the load", "s"),
        unit="W",
        y_title="standard deviation",
        series=(Series("fit", tuple(fitted)), Series("measured", tuple(measured))),
    )


def _profile_figure(fit: Fit) -> Lines | None:
    """The likelihood's profile of the window, or of the time constant where there is no window."""
    if len(fit.profile) < 5:
        return None
    what = "time constant" if fit.kernel == "exponential" else "window"
    most = 1 + 6 * (fit.limit / fit.sse - 1)
    kept = [(x, y / fit.sse) for x, y in fit.profile if y / fit.sse <= most]
    every = max(1, math.ceil(len(kept) / _MOST_POINTS))
    points = tuple(
        Point(x, y, None, None, f"{what} of {show(x, 's', 4)}: {y:.4f} times the least sum of squares")
        for x, y in kept[::every]
    )
    if len(points) < 3:
        return None
    x = _axis([point.x for point in points], what, "s")
    return Lines(
        title=f"Profile of the {what}",
        caption="Least sum of squares with each value, over the least of all. Below the line lies the 95 % interval.",
        summary=f"the interval is {interval(fit.tau_s if fit.kernel == 'exponential' and fit.tau_s else fit.window_s, 's')}",
        x=x,
        unit="1",
        y_title="sum of squares over its least",
        series=(Series("profile", points),),
        rules=(Rule(name="derived limit of the 95 % interval", y=fit.limit / fit.sse, begin=x.low, end=x.high),),
        from_zero=False,
    )


def _staircase_figure(findings: Findings, unit: str) -> Lines | None:
    if not findings.plateaus:
        return None
    absolute = findings.absolute
    half = len(findings.plateaus) // 2 + 1
    series = tuple(
        Series(name, tuple(_plateau(one, unit, absolute) for one in part))
        for name, part in (("up", findings.plateaus[:half]), ("down", findings.plateaus[half:]))
    )
    points = [point for one in series for point in one.points]
    what = (
        f"of {findings.reference}" if absolute else "of the load's own levels, which are shares of work, not of power"
    )
    return Lines(
        title="Staircase: departure from a line",
        caption=f"Plateaus up and down against the best line through the power {what}.",
        summary=f"at most {show(max(abs(point.y) for point in points), unit)}",
        x=_axis([point.x for point in points], "power" if absolute else "share of full load", unit if absolute else ""),
        unit=unit,
        y_title="reading less line",
        series=series,
        from_zero=False,
    )


def _plateau(one: Plateau, unit: str, absolute: bool) -> Point:
    at = show(one.power, unit) if absolute else f"{one.power:.0%} load"
    says = f"{at}: {show(one.apart, unit)} off the line"
    return Point(one.power, one.apart, one.apart - 1.96 * one.u, one.apart + 1.96 * one.u, says)


def _edges_figure(findings: Findings, fit: Fit) -> Lines | None:
    """The irregular load alone, shifted against the readings: its own estimate of the delay beside that of the whole fit."""
    chosen = [one for one in findings.recordings if one.name.startswith("irregular")]
    if not chosen or findings.refresh.period_s is None:
        return None
    window, tau, delay = fit.best
    try:
        clock = meter_clock(
            chosen[-1],
            window_s=window,
            tau_s=tau,
            delay_s=delay,
            period_s=findings.refresh.period_s.value,
            reach_s=None,
        )
    except BadInput:
        return None
    least = min(y for _, y in clock.profile)
    points = _some(
        np.array([x for x, _ in clock.profile]), np.array([y / least for _, y in clock.profile]), "shifted by", "1"
    )
    if len(points) < 3:
        return None
    return Lines(
        title="Edges of the irregular load, shifted",
        caption="Sum of squares over its least, with the window as fitted: at 0 the edges and the fitted delay agree.",
        summary=f"least at {show(clock.offset_s.value, 's')} ({interval(clock.offset_s, 's')})",
        x=_axis([point.x for point in points], "shift", "s"),
        unit="1",
        y_title="sum of squares over its least",
        series=(Series("irregular load", points),),
        from_zero=False,
    )


def _warm_figure(findings: Findings, unit: str) -> Lines | None:
    if len(findings.warm_trace) < 10:
        return None
    t = np.array([x for x, _ in findings.warm_trace])
    y = np.array([value for _, value in findings.warm_trace])
    series = [Series("readings", _some(t, y, "reading", unit))]
    summary = "no warm-up is seen"
    if findings.warm_up:
        warm = findings.warm_up
        grid = np.linspace(t[0], t[-1], 60)
        series.insert(0, Series("fit", _some(grid, warm.final - warm.rise * np.exp(-grid / warm.tau_s), "fit", unit)))
        summary = f"it rises by {show(warm.rise, unit)} with a time constant of {show_seconds(warm.tau_s)}"
    return Lines(
        title="Constant load",
        caption="Readings under full load, from its begin.",
        summary=summary,
        x=_axis([float(t[0]), float(t[-1])], "after the begin", "s"),
        unit=unit,
        y_title="reading",
        series=tuple(series),
        from_zero=False,
    )
