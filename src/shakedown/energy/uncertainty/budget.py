"""The terms of an uncertainty budget (JCGM 100), each in the value's unit with how it was found and what would shrink it.

u^2(E) = meter (class or calibration) + noise + coverage + quantisation + window + clock + averaging + ends + gap + idle.
What one meter's gain, or one clock, does to several values carries one ``common`` name: it adds in sums, cancels in ratios.
Every function takes ``seconds``, the length of the window, and ``per``: 1 for an energy, 1/T for a mean power.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...metering.meters import Accuracy, Channel, channel_key
from ...metering.trace import Floats
from ...records import Notice
from ..padded import Padded
from ..response import Response, scatter
from .correlated import mean_of, slope
from .quantity import Term

FWHM = 2 * math.sqrt(2 * math.log(2))
#: A stretch counts as steady, and its scatter as noise, where its trend and its scatter stay within these shares.
STEADY_TREND, STEADY_CV = 0.02, 0.02


# ----------------------------------------------------------------------------------------------------------- the meter


def divisor(accuracy: Accuracy) -> float:
    """What turns a maker's statement into a standard uncertainty: sqrt(3) for a bound, 1 for one sigma, 2.355 for a full
    width at half maximum."""
    return {"bound": math.sqrt(3), "sigma": 1.0, "fwhm": FWHM}[accuracy.kind]


def calibration_terms(
    channel: Channel, response: Response, value: float, seconds: float, *, reference: Channel | None = None
) -> tuple[list[Term], list[Notice]]:
    """The terms of gain and offset. ``value`` is the energy in J over ``seconds`` (or a power with ``seconds`` 1).

    After a calibration: from its gain and offset with their covariance, as two independent deviations (Cholesky), plus the
    class of the meter that it was made against. Else from the maker's class, which is fully correlated in time.
    """
    if response.calibrated:
        return _calibrated(response, value, seconds, reference)
    if channel.accuracy is not None and channel.accuracy.full_scale and _range_w(channel) is None:
        return [], [
            Notice(
                code="range-unknown",
                text=f"the maker states {channel.accuracy.full_scale:.3g} of the range of {response.key}, and that "
                "is not known: how true it reads is not known",
                advice="give the range with the accuracy, or characterise the channel against a better meter",
            )
        ]
    if channel.accuracy is None:
        return [], [
            Notice(
                code="class-unknown",
                text=f"nothing is known of how true {response.key} reads: the uncertainty holds for comparisons on "
                "this meter only",
                advice="give the maker's accuracy, or characterise the channel against a better meter",
            )
        ]
    return [class_term(channel, value, seconds)], []


def _range_w(channel: Channel) -> float | None:
    """The power that a class of the full scale is a part of; None where it is not known."""
    return channel.most_w if channel.quantity == "energy" else channel.full_scale


def class_term(channel: Channel, value: float, seconds: float) -> Term:
    """What the maker states, of an energy in J over ``seconds`` (or of a power with ``seconds`` 1): wholly correlated in
    time, so that it never shrinks with more readings. The channel must state an accuracy."""
    accuracy = channel.accuracy
    assert accuracy is not None
    counter = channel.quantity == "energy"
    span = _range_w(channel) or 0.0
    fixed = (accuracy.full_scale * span) * seconds + accuracy.absolute * (1.0 if counter else seconds)
    u = (accuracy.reading * abs(value) + fixed) / divisor(accuracy)
    parts = [
        f"{accuracy.reading:.3g} of reading" if accuracy.reading else "",
        f"{accuracy.full_scale:.3g} of {f'{span:g} W' if span else 'a range that is not known'}"
        if accuracy.full_scale
        else "",
        f"{accuracy.absolute:g} {channel.unit}" if accuracy.absolute else "",
    ]
    return Term(
        name="meter class",
        u=math.copysign(u, value),
        common=f"gain of {channel_key(channel)}",
        text=f"{' + '.join(filter(None, parts))} ({accuracy.kind}{', ' + accuracy.source if accuracy.source else ''})",
        remedy="use a better meter, or calibrate this one against one",
    )


def _calibrated(
    response: Response, value: float, seconds: float, reference: Channel | None
) -> tuple[list[Term], list[Notice]]:
    gain, gain_u, offset_u = response.gain, response.gain_u, response.offset_u
    along = response.covariance / gain_u if gain_u > 0 else 0.0
    across = math.sqrt(max(offset_u**2 - along**2, 0.0))
    terms = [
        Term(
            name="gain",
            u=-(value * gain_u + seconds * along) / gain,
            common=f"gain of {response.key}",
            text=f"gain {gain:.4f} with u = {gain_u:.2g}, covariance with the offset {response.covariance:.2g} W",
            remedy="calibrate again with a longer step between idle and full load",
        ),
        Term(
            name="offset",
            u=-seconds * across / gain,
            common=f"offset of {response.key}",
            text=f"offset {response.offset:.2f} W with u = {offset_u:.2g} W",
            remedy="calibrate again with a longer time at idle",
        ),
    ]
    if reference is not None and reference.accuracy is not None:
        return [*terms, class_term(reference, value, seconds)], []
    notice = Notice(
        code="reference-class",
        text=f"the value is as true as {response.reference or 'the meter that it was calibrated against'}, whose own "
        "class is not in this budget",
        advice="give the reference channel",
    )
    return terms, [notice]


# -------------------------------------------------------------------------------------------------------- the readings


def reading_terms(
    response: Response, powers: Floats, t_s: Floats, cadence_s: float, seconds: float, around: Floats | None = None
) -> list[Term]:
    """Noise, coverage and quantisation of an energy in J that sums readings over ``seconds``.

    The scatter of the readings about a steady load is taken with its autocorrelation; about one that moves, from their
    differences; fewer than 20 are helped out by those ``around`` them. What the characterisation knows of the meter's own
    noise comes first. The share 1 - f of the time that no reading sees adds (1 - f) of the load's own short scatter, and
    where the load stepped it may have done so at any time between two readings: (1 - f) D |step| / sqrt(12).
    """
    n, inside = len(powers), powers
    if n < 20 and around is not None and len(around) > n:
        powers, t_s = around, cadence_s * np.arange(len(around), dtype=np.float64)
        n = len(powers)
    if n < 2:
        return []
    count = max(seconds / cadence_s, 1.0) if cadence_s > 0 else n
    sd, tau, words = _scatter(powers, t_s)
    own = sd if response.noise is None else response.noise / abs(response.gain)
    if response.noise is not None and sd > 1.5 * own:
        tau = 1.0  # what scatters beyond the meter's noise is the load itself, which readings with f = 1 see whole
    covered = response.covered * (min(1.0, response.refresh_s / cadence_s) if cadence_s > 0 else 1.0)
    share = covered if response.noise is None else 1.0
    noise = seconds * own * math.sqrt(share * tau / count)
    beyond = max(sd**2 - (own**2 if response.noise is not None else 0.0), 0.0)
    terms = [
        Term(
            name="noise",
            u=noise,
            dof=None if response.noise is not None else max(1.0, n / tau - 1),
            text=f"{own:.2g} W a reading, {words}"
            if response.noise is None
            else f"{own:.2g} W a reading, characterised",
            remedy="measure for longer, or read more often",
        )
    ]
    if covered < 0.99:
        between = cadence_s * (1 - covered) * math.sqrt(_steps_squared(inside, sd, response, covered) / 12)
        unseen = seconds * math.sqrt((1 - covered) * beyond * tau / count)
        terms.append(
            Term(
                name="coverage",
                u=math.hypot(unseen, between),
                dof=max(1.0, n / tau - 1),
                text=f"readings see {covered:.0%} of the time"
                + ("" if covered == 0 else f"; a load in step with their {cadence_s:g} s would add more"),
                remedy="repeat the work with random pauses, or read a meter that sees all of the time",
            )
        )
    if response.resolution > 0:
        terms.append(_quantisation(response, sd, seconds, count))
    return terms


def _steps_squared(powers: Floats, sd: float, response: Response, covered: float) -> float:
    """The square of the load's steps from one reading to the next, added up. Of readings that average over a part of the
    time only steps that stand out count, since their scatter has its own term; between points every step does, less what
    the meter's own noise is known to make. Between points each step may come at its own moment (the sum of the squares), or
    all at the same one, of a load that moves in time with the readings: their sum is what the power differs by between the
    first reading and the last, and its square counts where it is more."""
    steps = np.diff(powers)
    if covered > 0:
        steps = steps[np.abs(steps) > 5 * sd]
    noise = (response.noise or 0.0) / abs(response.gain)
    alone = max(float(steps @ steps) - (0.0 if covered > 0 else 2 * noise**2 * len(steps)), 0.0)
    return alone if covered > 0 else max(alone, float(steps.sum()) ** 2)


def _quantisation(response: Response, sd: float, seconds: float, count: float) -> Term:
    """T q / sqrt(12), averaged over the readings only where their scatter exceeds half a step."""
    step = response.resolution / abs(response.gain)
    averaged = sd > step / 2
    return Term(
        name="quantisation",
        u=seconds * step / math.sqrt(12) / (math.sqrt(count) if averaged else 1.0),
        text=f"steps of {step:g} W; {'noise averages it' if averaged else 'too little noise to average it'}",
        remedy="use a meter with smaller steps",
    )


def _scatter(powers: Floats, t_s: Floats) -> tuple[float, float, str]:
    """Standard deviation of a reading, tau_int in readings, and in words how they were found."""
    n = len(powers)
    mean = float(powers.mean())
    if n >= 40 and mean:
        line = slope(t_s, powers)
        residuals = powers - mean - line.per_s * (t_s - t_s.mean())
        sd = float(residuals.std(ddof=2))
        moved = abs(line.per_s) * float(t_s[-1] - t_s[0])
        if moved <= STEADY_TREND * abs(mean) and sd <= STEADY_CV * abs(mean):
            tau = mean_of(residuals).tau_int
            return sd, tau, f"about a steady load, {tau:.1f} of them as good as one independent one"
    return scatter(powers), 1.0, "from the differences of readings, since they are few or the load moves"


def counter_terms(response: Response, mean_w: float, end_s: float, cadence_s: float) -> list[Term]:
    """Quantisation of a difference, q/sqrt(6) (or what flows between two readings, where that is less than a step and the
    reading at which it moved tells when), and the age of the value at both ends, P x T_u / sqrt(12) each where it is
    read at any time between two refreshes. ``end_s``: how exactly the refresh is known, as a standard uncertainty."""
    terms = []
    most_j = mean_w * cadence_s if mean_w > 0 and cadence_s > 0 else math.inf
    if response.resolution > 0:
        terms.append(
            Term(
                name="quantisation",
                u=min(response.resolution / abs(response.gain), most_j) / math.sqrt(6),
                text=f"steps of {response.resolution:g} J at both ends",
                remedy="measure for longer",
            )
        )
    if end_s > 0 and mean_w:
        terms.append(
            Term(
                name="age of the count",
                u=mean_w * end_s * math.sqrt(2),
                text=f"each end is known to {end_s:.2g} s within the refresh of {response.refresh_s:g} s",
                remedy="read the counter often enough to see its refresh",
            )
        )
    return terms


# ---------------------------------------------------------------------------------------------------------- the window


def window_terms(
    value_at: Callable[[int, int], float],
    begin_ns: int,
    end_ns: int,
    *,
    window_u_s: float,
    clock_u_s: float,
    clock: str,
) -> list[Term]:
    """What moving the two ends does to the value, found by moving them: each by itself (marks of limited resolution), and
    both together (the offset between the clocks, or the meter's lag)."""
    value = value_at(begin_ns, end_ns)
    terms = []
    if window_u_s > 0:
        step = max(1, round(window_u_s * 1e9))
        begin = max(abs(value_at(begin_ns + sign * step, end_ns) - value) for sign in (-1, 1))
        end = max(abs(value_at(begin_ns, end_ns + sign * step) - value) for sign in (-1, 1))
        terms.append(
            Term(
                name="window",
                u=math.hypot(begin, end),
                text=f"each end is known to {window_u_s:.2g} s",
                remedy="mark begin and end with finer stamps, or run for longer",
            )
        )
    if clock_u_s > 0:
        step = max(1, round(clock_u_s * 1e9))
        later, earlier = (
            value_at(begin_ns + step, end_ns + step) - value,
            value_at(begin_ns - step, end_ns - step) - value,
        )
        linear = later * earlier < 0
        terms.append(
            Term(
                name="clock",
                u=(later - earlier) / 2 if linear else max(abs(later), abs(earlier)),
                common=f"clock of {clock}" if linear else "",
                text=f"the phase's clock against the meter's stamps is known to {clock_u_s:.2g} s",
                remedy="align the clocks with a marker load",
            )
        )
    return terms


def ends_term(ends_u_j: float, cadence_s: float) -> Term:
    """Where the phase begins and ends between two readings (edges.py)."""
    return Term(
        name="ends between readings",
        u=ends_u_j,
        text=f"the power may have moved anywhere within the {cadence_s:.3g} s between two readings at each end",
        remedy="read more often, or run for longer",
    )


def averaging_term(response: Response, late_j: float) -> Term:
    """What a meter that averages for longer than a refresh shows before and after the window instead of in it: ``late_j`` if
    the load steps exactly at the marks, nothing if it steps well inside them. Half of it is added to the value; that it
    was all or nothing makes the half / sqrt(2) (a U-shaped distribution)."""
    return Term(
        name="averaging",
        u=abs(late_j) / math.sqrt(8),
        text=f"readings average over {response.smear_s:.3g} s: up to {abs(late_j):.4g} J of the phase lie before and after "
        "it; half of that is added",
        remedy="hold the nodes idle before and after the run and give that idle time, for the padded-window method",
    )


def gap_term(gap_u_j: float, missing_s: float, seconds: float) -> Term:
    return Term(
        name="gap",
        u=gap_u_j,
        text=f"{missing_s:.3g} s of {seconds:.4g} s ({missing_s / seconds:.1%}) have no reading and were filled in",
        remedy="read without gaps, from before the phase to after it",
    )


def padded_terms(found: Padded) -> list[Term]:
    """Idle power, its drift, and the sampling of a window that is not a whole number of refreshes."""
    terms = []
    same = found.idle[0] == found.idle[1]
    pads: Sequence[tuple[str, float, int]] = (
        [("idle power", sum(found.pad_s), 0)]
        if same
        else [("idle power before", found.pad_s[0], 0), ("idle power after", found.pad_s[1], 1)]
    )
    for name, pad_s, which in pads:
        idle = found.idle[which]
        terms.append(
            Term(
                name=name,
                u=idle.u * pad_s,
                dof=idle.dof,
                text=f"{idle.watts:.2f} W with u = {idle.u:.2g} W over {pad_s:.0f} s of padding",
                remedy="hold the nodes idle for longer",
            )
        )
    terms.append(
        Term(
            name="idle drift",
            u=found.drift_u_j,
            text=f"idle is {found.idle[0].watts:.2f} W before and {found.idle[1].watts:.2f} W after",
            remedy="let the nodes cool down before the run, or warm them up, so that idle is the same before and after",
        )
    )
    terms.append(
        Term(
            name="sampling",
            u=found.sampling_u_j,
            text="the averaging window is not a whole number of refreshes",
            remedy="repeat the run at another time of the refresh cycle",
        )
    )
    terms.append(
        Term(
            name="stamps",
            u=found.stamps_u_j,
            text="when each value was made is known to the time between two readings: where the power moves, it counts for "
            "longer or shorter than it held",
            remedy="read the meter more often",
        )
    )
    return terms


def worth(terms: Sequence[Term], per: float) -> list[Term]:
    """The terms that are not zero, times ``per``."""
    import msgspec

    return [msgspec.structs.replace(term, u=term.u * per) for term in terms if term.u and np.isfinite(term.u)]
