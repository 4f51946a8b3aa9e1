"""What recordings of a driven load tell of one channel: refresh, kernel, linearity, noise, warm-up, disturbance. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import BadInput
from ...metering.character import Estimate
from ...metering.meters import channel_key
from ...metering.trace import Floats, Trace
from ...records import Notice
from .. import refresh, steps
from ..clocks.align import meter_clock
from ..simulate import Load
from .basis import load_of, sharpened
from .experiments import Experiment
from .identify import FEWEST, Fit, Recording, identify

#: The experiments that window, delay, gain and offset come from.
FITTED = ("irregular", "step", "square")
_ALIGNED = 1500  # readings of a better meter, to align it
_EXPLAINED = 0.8  # of what it said, without which it does not see the load
_ABOUT = 6.0  # times what is known of the shift: as far from the load's edges lie the readings that tell it exactly


class Recorded(NamedTuple):
    """One experiment as it was. ``load``: edges in Unix ns and levels."""

    experiment: Experiment
    edges_ns: tuple[int, ...]  # one more than levels: the end
    levels: tuple[float, ...]
    trace: Trace
    reference: Trace | None = None

    def load(self, origin_ns: int) -> Load:
        """The commanded levels as a load, in seconds after an origin."""
        t = (np.array(self.edges_ns[:-1], np.int64) - origin_ns).astype(np.float64) * 1e-9
        return Load(t, np.array(self.levels, np.float64))


class Plateau(NamedTuple):
    """One level of the staircase: what the power was (level or reference) and what the meter said, with its deviation."""

    power: float
    reading: float
    u: float
    apart: float  # reading less the line through all plateaus


class WarmUp(NamedTuple):
    """reading(t) = final - rise exp(-t / tau) under constant load, t from its begin."""

    tau_s: float
    rise: float
    final: float
    u_rise: float


class Cadence(NamedTuple):
    """What the meter said idle when it was read so often."""

    interval_s: float
    mean: float
    u: float


class Findings(NamedTuple):
    """All that the recordings tell."""

    refresh: refresh.Refresh
    fit: Fit | None
    recordings: tuple[Recording, ...] = ()  # those of the fit, one reading a refresh
    plateaus: tuple[Plateau, ...] = ()
    warm_up: WarmUp | None = None
    warm_trace: tuple[tuple[float, float], ...] = ()  # seconds after the begin of the load, reading
    cadences: tuple[Cadence, ...] = ()
    resolution: float | None = None
    noise: float | None = None
    absolute: bool = False  # the reference is a better meter: gain and offset mean something
    reference: str = ""
    notices: tuple[Notice, ...] = ()


def analyse(recorded: Sequence[Recorded]) -> Findings:
    """What the recordings tell of one channel. Raises BadInput where there are none."""
    if not recorded:
        raise BadInput("there is no recording", hint="record some: shakedown meter characterise TARGET")
    found = _refresh_of(recorded)
    if found.period_s is None:
        return Findings(found, None, notices=found.notices)
    origin = recorded[0].edges_ns[0]
    absolute = all(one.reference is not None for one in recorded if one.experiment.kind in FITTED)
    notices = list(found.notices)
    shift, doubts = _reference_shift(recorded, origin) if absolute else (_UNMOVED, ())
    notices += doubts
    powers = [_power(one, origin, absolute, shift.value) for one in recorded]
    recordings = [
        made
        for one, power in zip(recorded, powers, strict=True)
        if one.experiment.kind in FITTED and (made := _recording(one, power, found, origin)) is not None
    ]
    fit = None
    if sum(len(one.t_s) for one in recordings) >= FEWEST:
        try:
            apart = float(np.hypot(_shift(found), (shift.high - shift.low) / 2))
            fit = identify(recordings, found.period_s.value, shift_s=apart, stretch_s=found.stretch_s)
            notices += fit.notices
        except BadInput as error:
            notices.append(Notice(code="not-fitted", text=error.what, advice=error.hint))
    memory = memory_s(fit, found.period_s.value)
    values = np.concatenate([one.trace.value[one.trace.ok] for one in recorded])
    warm_up, warm_trace = _warm_up(recorded, found, memory)
    cadences = _cadences(recorded, found, memory)
    counter = recorded[0].trace.channel.quantity == "energy"
    return Findings(
        found,
        fit,
        tuple(recordings),
        _plateaus(recorded, powers, found, origin, memory),
        warm_up,
        warm_trace,
        cadences,
        steps.resolution(values),
        None if counter else _noise(recorded, found, memory),
        absolute,
        channel_key(recorded[0].reference.channel) if absolute and recorded[0].reference else "",
        (*notices, *_cadence_notices(cadences), *_reference_notices(recorded, found)),
    )


def _refresh_of(recorded: Sequence[Recorded]) -> refresh.Refresh:
    """One clock over all recordings that were read often enough to see it: the device's runs on in between. Where it does
    not, the longest recording of the best alone."""
    least = min(one.experiment.interval_s for one in recorded)
    traces = [(one.experiment.interval_s, one.trace) for one in recorded]
    stamped = all(refresh.repeats(one.take(one.ok)) for _, one in traces)
    fast = [one for interval, one in traces if interval <= 1.5 * least]
    alone = refresh.refresh(max(fast, key=len), stamped=stamped)
    if alone.period_s is None or alone.how == "bounded":
        return alone
    enough = max(1.5 * least, 0.45 * alone.period_s.value)
    together = refresh.refresh(*(one for interval, one in traces if interval <= enough), stamped=stamped)
    if together.period_s is None or together.jitter_s > 2 * alone.jitter_s + 0.02 * alone.period_s.value:
        return alone
    return together


def _shift(found: refresh.Refresh) -> float:
    """What is not known of the refreshes' phase; with a bounded period a value may be as old as that."""
    assert found.period_s is not None
    return found.period_s.value / 2 if found.how == "bounded" else found.phase_half_s


def memory_s(fit: Fit | None, period: float) -> float:
    if fit is None:
        return period
    tau = fit.tau_s.value if fit.tau_s else 0.0
    return fit.window_s.value + 4 * tau + max(fit.delay_s.value, 0.0)


def _updates(one: Recorded, found: refresh.Refresh, origin: int) -> tuple[Floats, Floats]:
    """Seconds and power in W, one entry a refresh. A counter gives the mean power since the refresh before."""
    made = refresh.updates(one.trace, found)
    t, value = made.seconds(origin), made.value
    if one.trace.channel.quantity != "energy" or len(t) < 2:
        return t, value
    gained = np.diff(value)
    modulus = one.trace.channel.modulus
    gained = np.mod(gained, modulus) if modulus else gained
    kept = (gained >= 0) & (np.diff(t) < 1.5 * float(np.median(np.diff(t))))
    return t[1:][kept], (gained / np.diff(t))[kept]


_UNMOVED = Estimate(value=0.0, low=0.0, high=0.0)


def _reference_shift(recorded: Sequence[Recorded], origin: int) -> tuple[Estimate, tuple[Notice, ...]]:
    """How far the better meter's stamps are ahead of the load's edges, in s, from the irregular load where there is one.

    A better meter gives more readings than a search bears. Some, drawn at random, tell the shift to about the time between
    them; the readings about the edges, which alone hold it, then tell it to a part of the meter's own spacing. What is
    still wrong with it afterwards would go into the delay of the meter that is characterised.
    """
    fitted = [one for one in recorded if one.experiment.kind in FITTED]
    chosen = max(fitted, key=lambda one: (one.experiment.kind == "irregular", len(one.levels), one.edges_ns[-1]))
    assert chosen.reference is not None
    ok = chosen.reference.take(chosen.reference.ok)
    t = ok.seconds(origin)
    if len(t) < FEWEST:
        return _UNMOVED, ()
    spacing = float(np.median(np.diff(t)))
    load, name = chosen.load(origin), channel_key(ok.channel)
    window = spacing if ok.channel.scope == "last" else 0.0

    def clock(some: NDArray[np.intp], at_s: float, reach_s: float) -> tuple[Estimate, float]:
        seen = Recording(name, load, t[some] - at_s, ok.value[some])
        found = meter_clock(seen, window_s=window, period_s=spacing, reach_s=reach_s)
        value, low, high = (at_s + end for end in (found.offset_s.value, found.offset_s.low, found.offset_s.high))
        return Estimate(value=value, low=low, high=high), found.explained

    try:
        some = np.sort(np.random.default_rng(1).permutation(len(t))[:_ALIGNED])
        shift, explained = clock(some, 0.0, max(5.0, 20 * spacing))
        if len(t) > _ALIGNED and explained > _EXPLAINED:
            about = _ABOUT * max(spacing * len(t) / _ALIGNED, shift.high - shift.low)
            away = _from_edges(load, t - shift.value)
            near = np.argsort(away, kind="stable")[: min(_ALIGNED, int(np.sum(away <= about)))]
            shift, explained = clock(np.sort(near), shift.value, about)
    except BadInput as error:
        return _UNMOVED, (Notice(code="reference-apart", text=error.what, advice=error.hint),)
    if explained > _EXPLAINED:
        return shift, ()
    text = f"the load explains {explained:.0%} of what the reference {name} said"
    advice = "check whether it sees the same load, and nothing else"
    return _UNMOVED, (Notice(code="reference-apart", text=text, advice=advice),)


def _from_edges(load: Load, t_s: Floats) -> Floats:
    """How far each time lies from the nearest edge of a load, in s."""
    edges = load.t_s[1:]
    after = np.clip(np.searchsorted(edges, t_s), 1, len(edges) - 1) if len(edges) > 1 else np.zeros(len(t_s), np.intp)
    out: Floats = np.minimum(np.abs(t_s - edges[after]), np.abs(t_s - edges[after - 1]))
    return out


def _power(one: Recorded, origin: int, absolute: bool, shift: float) -> Load:
    """What the power was: the better meter's readings with the load's own edges, or the commanded levels."""
    load = one.load(origin)
    if not absolute or one.reference is None:
        return load
    better = load_of(one.reference, origin)
    edges = (np.array(one.edges_ns, np.int64) - origin).astype(np.float64) * 1e-9
    return sharpened(Load(better.t_s - shift, better.w), edges, load.w)


def _recording(one: Recorded, power: Load, found: refresh.Refresh, origin: int) -> Recording | None:
    t, value = _updates(one, found, origin)
    end = (one.edges_ns[-1] - origin) * 1e-9
    inside = t <= end  # what comes after, nobody drove
    if int(inside.sum()) < 3 or np.ptp(power.w) == 0:
        return None
    return Recording(one.experiment.name, power, t[inside], value[inside])


def _settled(one: Recorded, t: Floats, origin: int, memory: float, period: float) -> list[tuple[int, Floats]]:
    """For each segment of the load the readings (as a mask) that saw nothing but it."""
    edges = (np.array(one.edges_ns, np.int64) - origin).astype(np.float64) * 1e-9
    return [
        (index, (t > edges[index] + 1.05 * memory + period) & (t <= edges[index + 1]))
        for index in range(len(one.levels))
    ]


def _noise(recorded: Sequence[Recorded], found: refresh.Refresh, memory: float) -> float | None:
    """Of one reading at constant load, over all stretches that are constant: s(differences) / sqrt 2, pooled."""
    assert found.period_s is not None
    squares, count = 0.0, 0
    for one in recorded:
        origin = one.edges_ns[0]
        t, value = _updates(one, found, origin)
        for _, inside in _settled(one, t, origin, memory, found.period_s.value):
            if int(inside.sum()) >= steps.FEWEST:
                moved = np.diff(value[inside])
                squares += float(moved @ moved) / 2
                count += len(moved)
    return float(np.sqrt(squares / count)) if count >= steps.FEWEST else None


def _plateaus(
    recorded: Sequence[Recorded], powers: Sequence[Load], found: refresh.Refresh, origin: int, memory: float
) -> tuple[Plateau, ...]:
    assert found.period_s is not None
    points: list[tuple[float, float, float]] = []
    for one, power in zip(recorded, powers, strict=True):
        if one.experiment.kind != "staircase":
            continue
        t, value = _updates(one, found, origin)
        for _, inside in _settled(one, t, origin, memory, found.period_s.value):
            if int(inside.sum()) < 4:
                continue
            true = power.mean_w(float(t[inside][0]) - memory, float(t[inside][-1]))
            mean, u = float(value[inside].mean()), float(value[inside].std(ddof=1) / np.sqrt(inside.sum()))
            points.append((true, mean, u))
    if len(points) < 3:
        return ()
    x, y = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    line = np.polyval(np.polyfit(x, y, 1), x)
    return tuple(Plateau(*point, float(apart)) for point, apart in zip(points, y - line, strict=True))


def _warm_up(
    recorded: Sequence[Recorded], found: refresh.Refresh, memory: float
) -> tuple[WarmUp | None, tuple[tuple[float, float], ...]]:
    """The long constant load: an exponential approach where one is plain (four standard errors), else none."""
    assert found.period_s is not None
    long = [one for one in recorded if one.experiment.kind == "constant"]
    if not long:
        return None, ()
    one = long[-1]
    origin = one.edges_ns[0]
    t, value = _updates(one, found, origin)
    inside = _settled(one, t, origin, memory, found.period_s.value)[0][1]
    t, value = t[inside], value[inside]
    if len(t) < 30:
        return None, ()
    trace = tuple(zip(t.tolist(), value.tolist(), strict=True))
    best: tuple[float, WarmUp] | None = None
    span = float(t[-1] - t[0])
    for tau in np.geomspace(span / 60, span / 1.5, 40):
        design = np.column_stack([np.ones_like(t), -np.exp(-t / tau)])
        solved = np.linalg.lstsq(design, value, rcond=None)[0]
        left = value - design @ solved
        sse = float(left @ left)
        if best is None or sse < best[0]:
            spread = np.linalg.inv(design.T @ design) * sse / max(len(t) - 3, 1) * _correlation(left)
            best = sse, WarmUp(float(tau), float(solved[1]), float(solved[0]), float(np.sqrt(spread[1, 1])))
    assert best is not None
    # The time constant was chosen among many: four standard errors instead of two.
    return (best[1] if abs(best[1].rise) > 4 * best[1].u_rise else None), trace


def _correlation(left: Floats) -> float:
    """1 + 2 sum of the first autocorrelations that are positive."""
    whole = float(left @ left)
    tau = 1.0
    for lag in range(1, max(2, len(left) // 10)):
        rho = float(left[:-lag] @ left[lag:]) / whole if whole > 0 else 0.0
        if rho <= 0.05:
            break
        tau += 2 * rho
    return tau


def _cadences(recorded: Sequence[Recorded], found: refresh.Refresh, memory: float) -> tuple[Cadence, ...]:
    """The mean of what it reported idle, each refresh once, for each rate at which it was read."""
    assert found.period_s is not None
    out = []
    for one in recorded:
        if one.experiment.kind != "cadence":
            continue
        origin = one.edges_ns[0]
        t, value = _updates(one, found, origin)
        kept = value[_settled(one, t, origin, memory, found.period_s.value)[0][1]]
        if len(kept) >= 4:
            u = float(kept.std(ddof=1) * np.sqrt(_correlation(kept - kept.mean()) / len(kept)))
            out.append(Cadence(one.experiment.interval_s, float(kept.mean()), u))
    return tuple(out)


def _cadence_notices(cadences: Sequence[Cadence]) -> tuple[Notice, ...]:
    if len(cadences) < 2:
        return ()
    fast, slow = min(cadences), max(cadences)
    apart, u = fast.mean - slow.mean, float(np.hypot(fast.u, slow.u))
    if abs(apart) <= max(3 * u, 0.002 * abs(slow.mean)):
        return ()
    text = (
        f"read every {fast.interval_s:.3g} s instead of every {slow.interval_s:.3g} s it says {apart:+.3g} "
        f"(u = {u:.2g}) more: reading it changes what it measures"
    )
    return (Notice(code="reading-disturbs", text=text, advice="read it no more often than it refreshes"),)


def _reference_notices(recorded: Sequence[Recorded], found: refresh.Refresh) -> tuple[Notice, ...]:
    """A reference that is slower than what it judges blurs the window."""
    beside = [one.reference for one in recorded if one.reference is not None]
    if not beside or found.period_s is None:
        return ()
    spacing = float(np.median(np.diff(beside[0].t_ns))) * 1e-9 if len(beside[0]) > 1 else 0.0
    if spacing <= found.period_s.value / 2:
        return ()
    text = f"the reference was read every {spacing:.3g} s, the meter refreshes every {found.period_s.value:.3g} s"
    advice = "gain and offset hold; take the window from a characterisation without it"
    return (Notice(code="reference-slow", text=text, advice=advice),)
