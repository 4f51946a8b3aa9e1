"""What a trace shows by itself, without a characterisation: the things that spoiled measurements before.

averaging (D9.3.4, section 2.2.2: readings averaged over about 40 s, seen at the tail of a run), warm-up (the same place:
about 50 W over ten minutes), values that repeat or freeze, clocks that jump, units and words that are off, a meter that
died.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...metering.meters import Place
from ...metering.trace import Floats, Ints, Trace
from ...records import Notice, Phase
from ..deduplicate import ordered, refreshed
from ..refresh import spacing_s
from ..response import Response, cadence_s, response_of, scatter, step_answer
from ..steady import warm_up_of
from ..uncertainty.correlated import blocks, slope
from . import still

#: What stands at a place draws a power in this range, in W.
PLAUSIBLE: dict[Place, tuple[float, float]] = {
    "component": (0.05, 3e3),
    "board": (0.5, 30e3),
    "node": (3.0, 50e3),
    "rack": (30.0, 1e6),
    "facility": (500.0, 1e9),
}
_MISTAKES = ((1e-3, "milliwatts"), (1e3, "kilowatts"), (1e-6, "microwatts"), (1e6, "megawatts"))

LEAST_RISE = 0.01  # of the settled power
BEFORE_S, AFTER_S = 60, 180  # how far around ends of phases the answer to a step is looked for
HOUR_NS = 3600 * 10**9


def warnings_of(trace: Trace, phases: Sequence[Phase] = ()) -> tuple[Notice, ...]:
    """All that is suspect in a trace of power or energy; the phases say when the load changed. Empty for a sound one."""
    found = [*_jumps(trace), *_outside(trace, phases)]
    trace = ordered(trace)
    good = trace.take(trace.ok)
    if len(good) < 3:
        return (*found, Notice(code="no-reading", text=f"{len(good)} of {len(trace)} readings have a value"))
    found += [*_lost_parts(trace, phases), *_repeats(trace)]
    if trace.channel.quantity == "power":
        found += _values(good, good.value)
        late_s, told = _averaging(trace, phases)
        found += [*told, *_warm_ups(good, phases, late_s)]
    elif trace.channel.quantity == "energy" and trace.channel.modulus is None:
        found += _values(good, np.diff(good.value) / np.maximum(np.diff(good.t_ns) * 1e-9, 1e-9))
    return tuple(found)


# ----------------------------------------------------------------------------------------------------------- averaging


class _Part(NamedTuple):
    """Readings around ends of phases that lie close together."""

    t_s: Floats  # after the first of the ends
    power: Floats
    ends_s: Floats


def _averaging(trace: Trace, phases: Sequence[Phase]) -> tuple[float, list[Notice]]:
    """How long readings go on changing after the load stepped, and the notice where that is much longer than a refresh.

    Fitted at all ends of phases together: level, steps and a drift after the last are linear, the length and delay of a
    common boxcar are searched; the interval is that of the profile likelihood.
    """
    response = response_of(trace)._replace(tau_s=0.0)
    kept = refreshed(trace, response)
    kept = kept.take(kept.ok)
    cadence = cadence_s(kept, response)
    parts = _parts(kept, phases, cadence)
    if not parts:
        return 2 * cadence, []
    longest = max(float(one.t_s[-1] - one.ends_s[-1]) for one in parts)
    windows = np.geomspace(cadence / 2, max(cadence, 0.7 * longest), 40)
    delays = np.arange(-1.0, 4.01, 0.5) * cadence
    squares = _search(parts, response, windows, delays)
    at, where = np.unravel_index(int(np.argmin(squares)), squares.shape)
    windows = windows[at] * np.geomspace(0.8, 1.25, 31)
    delays = delays[where] + np.linspace(-0.5, 0.5, 7) * cadence
    squares = _search(parts, response, windows, delays)
    at, where = np.unravel_index(int(np.argmin(squares)), squares.shape)
    free = max(sum(len(one.t_s) - len(one.ends_s) - 2 for one in parts) - 2, 1)
    inside = windows[squares.min(axis=1) <= squares[at, where] * (1 + 3.84 / free)]
    window, delay = float(windows[at]), float(delays[where])
    late = max(0.0, delay) + window
    if inside[0] <= 1.5 * cadence:
        return late, []
    count = sum(len(one.ends_s) for one in parts)
    notice = Notice(
        code="averaging",
        text=f"at {count} ends of phases the readings take about {window:.0f} s to follow ({inside[0]:.1f} to "
        f"{inside[-1]:.1f} s), though a new one comes every {cadence:.3g} s: the meter averages over about {window:.0f} s, "
        "or the load itself changes that slowly",
        advice="characterise the channel, and hold the nodes idle before and after short runs: shakedown meter characterise",
    )
    return late, [notice]


def _parts(kept: Trace, phases: Sequence[Phase], cadence: float) -> list[_Part]:
    """Readings from a minute before to three minutes after ends of phases at which the power visibly steps; ends less than
    three minutes apart belong together, the power between them taken as constant. At most 24 ends."""
    times = sorted({one.begin_ns for one in phases} | {one.end_ns for one in phases})[:24]
    together: list[list[int]] = []
    for at in times:
        if together and at - together[-1][-1] < AFTER_S * 10**9 and len(together[-1]) < 8:
            together[-1].append(at)
        else:
            together.append([at])
    found = []
    for index, ends in enumerate(together):
        low = max(ends[0] - BEFORE_S * 10**9, together[index - 1][-1] if index else 0)
        following = together[index + 1][0] if index + 1 < len(together) else ends[-1] + AFTER_S * 10**9
        high = min(ends[-1] + AFTER_S * 10**9, following)
        part = kept.take((kept.t_ns > low) & (kept.t_ns <= high))
        t = part.seconds(ends[0])
        marks = (np.array(ends, np.int64) - ends[0]).astype(np.float64) * 1e-9
        if np.sum(t <= 0) < 2 or np.sum(t > marks[-1]) < 4 or len(t) < len(ends) + 5:
            continue
        swing = float(np.ptp(part.value))
        if swing > max(10 * scatter(part.value), 0.05 * abs(float(part.value.max()))):
            found.append(_Part(t, part.value, marks))
    return found


def _search(parts: Sequence[_Part], response: Response, windows: Floats, delays: Floats) -> Floats:
    """The sum of squares that is left for each window and delay."""
    return np.array([[sum(_left(one, response, w, d) for one in parts) for d in delays] for w in windows])


def _left(part: _Part, response: Response, window: float, delay: float) -> float:
    shape = response._replace(window_s=window, delay_s=delay)
    answers = [step_answer(shape, part.t_s - end) for end in part.ends_s]
    drift = np.maximum(part.t_s - part.ends_s[-1] - delay - window, 0.0)
    design = np.column_stack([np.ones(len(part.t_s)), *answers, drift])
    found, *_ = np.linalg.lstsq(design, part.power, rcond=None)
    rest = part.power - design @ found
    return float(rest @ rest)


# ------------------------------------------------------------------------------------------------------------- warm-up


def _warm_ups(good: Trace, phases: Sequence[Phase], late_s: float) -> list[Notice]:
    """The power of a phase that settles slowly, or drifts."""
    found = []
    for phase in phases:
        begin = phase.begin_ns + round(late_s * 1e9)
        part = good.take((good.t_ns > begin) & (good.t_ns <= phase.end_ns))
        if len(part) < 20:
            continue
        t = part.seconds(phase.begin_ns)
        notice = _warm_up(phase, t, part.value, late_s) or _drift(phase, t, part.value)
        if notice is not None:
            found.append(notice)
    return found


def _warm_up(phase: Phase, t: Floats, power: Floats, late_s: float) -> Notice | None:
    fitted = warm_up_of(t, power)
    if fitted is None or not fitted.final:
        return None
    rise, final, tau = fitted.rise, fitted.final, fitted.tau_s
    length = float(t[-1] - t[0])
    sure = abs(rise) > 4 * fitted.rise_u and fitted.explained > 0.3
    if not sure or abs(rise) < LEAST_RISE * abs(final) or tau > length:
        return None
    # The fit begins when the step has passed through the meter's window; the rise is that at the begin of the phase.
    rise *= math.exp((float(t[0]) - late_s / 2) / tau)
    whole = (phase.end_ns - phase.begin_ns) * 1e-9
    bias = rise * tau / whole * math.expm1(-whole / tau)
    words = "rises" if rise > 0 else "falls"
    return Notice(
        code="warm-up",
        text=f"in {phase.name!r} the power {words} by about {abs(rise):.3g} W ({abs(rise / final):.1%}) with a time "
        f"constant of {tau:.3g} s, so for about {3 * tau / 60:.2g} minutes, to {final:.4g} W; the mean of the whole phase "
        f"lies {bias:+.3g} W off what it settles to",
        advice="run for longer and take the steady part by a preset (auto, prace2013)",
    )


def _drift(phase: Phase, t: Floats, power: Floats) -> Notice | None:
    line = slope(*blocks(t, power))
    change = line.per_s * float(t[-1] - t[0])
    mean = float(power.mean())
    if not mean or abs(line.per_s) < 4 * line.u_per_s or abs(change) < 2 * LEAST_RISE * abs(mean):
        return None
    return Notice(
        code="drift",
        text=f"in {phase.name!r} the power changes by {change:+.3g} W ({change / mean:+.1%}) from end to end without "
        "settling",
        advice="where a constant load was meant, run for longer",
    )


# ----------------------------------------------------------------------------------------------------- stamps and gaps


def _jumps(trace: Trace) -> Iterator[Notice]:
    """Stamps that go back, leap by whole hours, or interleave."""
    dt = np.diff(trace.t_ns)
    if len(dt) < 3:
        return
    back = dt[dt < 0]
    if len(back):
        yield Notice(
            code="clock-back",
            text=f"the stamps go back {len(back)} times, at most by {-float(back.min()) * 1e-9:.6g} s",
            advice="record UTC, and let the clock be slewed, not stepped",
        )
    usual = float(np.median(dt))
    hours = np.round(dt / HOUR_NS)
    leaps = (hours >= 1) & (np.abs(dt - hours * HOUR_NS) <= max(2 * usual, 2e9))
    for leap in np.flatnonzero(leaps)[:3]:
        yield Notice(
            code="clock-jump",
            text=f"between two readings {dt[leap] * 1e-9:.6g} s pass, within a reading of {hours[leap]:.0f} h: summer "
            "time or a time zone, it seems, not a pause",
            advice="read the file with its time zone, or record UTC",
        )
    doubled = _interleaved(np.sort(trace.t_ns))
    if doubled:
        yield Notice(
            code="clock-overlap",
            text=f"for {doubled:.0f} s readings come twice as often as elsewhere: an hour that occurs twice, or two "
            "meters in one file",
            advice="read the file with its time zone, or one meter at a time",
        )


def _interleaved(t_ns: Ints) -> float:
    """For how many seconds readings come at least 1.6 times as often as usual, in one stretch of at least 20; else 0."""
    dt = np.diff(t_ns).astype(float)
    if len(dt) < 60:
        return 0.0
    usual = float(np.quantile(dt, 0.75))
    mean = np.convolve(dt, np.full(10, 0.1), "valid")
    dense = np.concatenate([[False], mean < usual / 1.6, [False]])
    starts, stops = np.flatnonzero(np.diff(dense.astype(int)) == 1), np.flatnonzero(np.diff(dense.astype(int)) == -1)
    if not len(starts):
        return 0.0
    longest = int(np.argmax(stops - starts))
    count = int(stops[longest] - starts[longest])
    if count < 20 or count > 0.5 * len(dt):
        return 0.0
    return float(dt[starts[longest] : stops[longest]].sum()) * 1e-9


def _outside(trace: Trace, phases: Sequence[Phase]) -> list[Notice]:
    """Phases that lie outside the trace, and whether whole hours would put them in."""
    if not len(trace) or not phases:
        return []
    first, last = int(trace.t_ns.min()), int(trace.t_ns.max())
    out = [one for one in phases if one.end_ns <= first or one.begin_ns >= last]
    if not out:
        return []
    text = f"{len(out)} of {len(phases)} phases lie outside the trace, {out[0].name!r} first"
    begin, end = min(one.begin_ns for one in phases), max(one.end_ns for one in phases)
    for hours in sorted(range(-14, 15), key=abs):
        if hours and begin + hours * HOUR_NS >= first and end + hours * HOUR_NS <= last:
            text += f"; {hours:+d} h would put all of them into it: a time zone, it seems"
            break
    return [
        Notice(
            code="phase-outside", text=text, advice="check the clocks and time zones of the meter and the phase marks"
        )
    ]


def _lost_parts(trace: Trace, phases: Sequence[Phase]) -> Iterator[Notice]:
    """A meter that died, or began late, within a phase."""
    good = trace.t_ns[trace.ok]
    usual = float(np.median(np.diff(good)))
    for phase in phases:
        length = phase.end_ns - phase.begin_ns
        missing = phase.end_ns - int(good[-1])
        if length > missing > 2.5 * usual:
            yield Notice(
                code="died",
                text=f"the last reading comes {missing * 1e-9:.4g} s before {phase.name!r} ends: {missing / length:.1%} "
                "of it is lost",
                advice="find out why the meter stopped answering",
            )
        missing = int(good[0]) - phase.begin_ns
        if length > missing > 2.5 * usual:
            yield Notice(
                code="late",
                text=f"the first reading comes {missing * 1e-9:.4g} s after {phase.name!r} begins: "
                f"{missing / length:.1%} of it is lost",
                advice="begin to read before the run",
            )


# -------------------------------------------------------------------------------------------------------------- values


def _repeats(trace: Trace) -> Iterator[Notice]:
    """Values that are read several times over, and one that froze."""
    usual = float(np.median(np.diff(trace.t_ns))) * 1e-9
    refresh = spacing_s(trace)
    if refresh > 1.5 * usual > 0:  # 0: the device stamps its values itself, and each is in the trace several times
        yield Notice(
            code="repeated",
            text=f"the value is read every {usual:.3g} s but new only about every {refresh:.3g} s: it is a meter of "
            f"{refresh:.3g} s",
            advice="reading more often gives no more",
        )
    at = still.longest(trace, (int(trace.t_ns[0]), int(trace.t_ns[-1])))
    if at is not None and at.alone:
        yield Notice(
            code="frozen",
            text=f"{at.readings} readings in a row, over {(at.end_ns - at.begin_ns) * 1e-9:.4g} s, are all {at.value:g} "
            f"{trace.channel.unit}, where else no more than {int(at.others.max())} are: the meter froze and repeats itself, "
            "it seems",
            advice="take phases outside that time, and read the device's own stamp where it gives one",
        )


def _values(good: Trace, power: Floats) -> Iterator[Notice]:
    """Units, swapped words, signs, and what lies above the range."""
    channel = good.channel
    middle = float(np.median(np.abs(power)))
    low, high = PLAUSIBLE[channel.place]
    if middle and not low <= middle <= high:
        guess = next((name for factor, name in _MISTAKES if low <= middle * factor <= high), "")
        yield Notice(
            code="unit",
            text=f"{middle:.4g} W is not what a {channel.place} draws{f': are these {guess}?' if guess else ''}",
            advice="check the unit and scale of the channel",
        )
    wild = np.abs(power) > 1e3 * max(middle, 1e-9)
    if middle and np.any(wild):
        yield Notice(
            code="wild",
            text=f"{int(wild.sum())} of {len(power)} values lie more than a thousand times above the median, up to "
            f"{float(np.abs(power).max()):.3g} W: words in the wrong order, or a sentinel taken for a value",
            advice="check the word order and the sentinels of the source",
        )
    if channel.full_scale and channel.quantity == "power" and np.any(power > 1.2 * channel.full_scale):
        text = f"values up to {float(power.max()):.4g} W lie above the range of {channel.full_scale:g} W"
        yield Notice(code="above-range", text=text, advice="check the scale, or use a larger range")
    negative = int(np.sum(power < -0.01 * middle))
    if negative:
        yield Notice(
            code="negative",
            text=f"{negative} of {len(power)} values are negative",
            advice="check the direction of the current sensors, or the sign of the register",
        )
    return
