"""The power of each phase, through what the meter does to it: no deconvolution, a fit of few unknowns.

With known bounds the readings are r = A p + noise, A_kj = S(t_k - b_j) - S(t_k - b_j+1), S the meter's answer to a unit step
(response.step_answer): for a boxcar, the share of the window that lies in phase j. What lies before, between and after the
named phases is a phase of its own. Weighted least squares, with p >= 0 (Lawson and Hanson) where a power would come out
negative; cov(p) = s^2 tau_int (A' A)^-1 with s^2 from the residuals. A fit whose columns, scaled to one length, have a
condition number above 100, or a power with u above 5 % of itself, is refused, as is one that leaves far more than the
meter's own noise would: loads that ramp within their phases are not for this model (phase.energy_of bounds what they leave
open)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..errors import BadInput, CannotMeasure
from ..metering.character import Character
from ..metering.trace import Floats, Ints, Trace
from ..records import Notice, Phase, Record
from .deduplicate import ordered, refreshed
from .integrate import watts
from .response import Response, response_of, step_answer
from .uncertainty.budget import calibration_terms
from .uncertainty.correlated import tau_int
from .uncertainty.quantity import Quantity, Term, quantity, scaled

MOST_CONDITION = 100.0
MOST_U = 0.05
#: A fit that leaves more than this many times what the meter's noise would is refused.
MISFIT = 3.0
#: Singular values below this share of the largest count as none: what lies along them cannot be told.
ESTIMABLE = 1e-6


class PhasePower(Record, frozen=True, kw_only=True):
    """One phase."""

    name: str
    begin_ns: int
    end_ns: int
    power: Quantity
    energy: Quantity


class PhasePowers(Record, frozen=True, kw_only=True):
    """All named phases in order, and how good the fit is."""

    phases: tuple[PhasePower, ...]
    condition: float
    residual_w: float  # standard deviation of what the fit leaves
    expected_w: float | None  # and what the meter's noise and resolution would leave
    readings: int
    notices: tuple[Notice, ...] = ()


class _Fit(NamedTuple):
    """Powers of all stretches between two bounds."""

    edges_s: Floats
    powers: Floats
    covariance: Floats
    hidden: Floats  # what the readings say nothing of: I - A+ A
    condition: float
    residual_w: float
    dof: float
    bounded: bool  # p >= 0 held one at zero


def phase_powers(
    trace: Trace,
    phases: Sequence[Phase],
    *,
    character: Character | None = None,
    clock_u_s: float = 0.0,
    clock: str = "",
) -> PhasePowers:
    """The mean power and energy of each phase from a power trace whose meter averages for longer than they last.

    Readings from one settling time before the first phase to one after the last take part. ``clock_u_s`` and ``clock`` as in
    phase.energy_of. Raises BadInput for no phase or phases that overlap, CannotMeasure where not all of them can be told.
    """
    named = _in_order(phases)
    response = response_of(trace, character)
    t_s, readings = _readings(trace, response, named)
    least_s = max(response.settle_s, response.refresh_s) / 20
    fit = _solve(response, t_s, readings, _edges(named, least_s))
    if worst := _worst(fit, named, named[0].begin_ns):
        index, why = worst
        raise CannotMeasure(
            f"the power of {named[index].name!r} cannot be determined from these readings: {why}",
            where=response.key,
            hint=_hint(response, fit),
        )
    expected = _expected_w(response)
    if expected and fit.residual_w > MISFIT * expected:
        raise CannotMeasure(
            f"the power is not constant within the phases, or their marks or the meter's model are off: a fit leaves "
            f"{fit.residual_w:.1f} W where the meter's noise would leave {expected:.1f} W",
            where=response.key,
            hint=_hint(response, fit),
        )
    found = _Found(trace, response, named, fit, t_s, readings)
    return _answer(found, _clock_moves(found, math.hypot(clock_u_s, response.timing_u_s)), clock)


class _Found(NamedTuple):
    trace: Trace
    response: Response
    groups: Sequence[Phase]
    fit: _Fit
    t_s: Floats
    readings: Floats


def _clock_moves(found: _Found, u_s: float) -> list[float]:
    """How far each group's power moves when all stamps move by ``u_s``: half of what lies between both sides."""
    if u_s <= 0:
        return [0.0] * len(found.groups)
    moved = [_solve(found.response, found.t_s + sign * u_s, found.readings, found.fit.edges_s) for sign in (-1, 1)]
    origin = found.groups[0].begin_ns
    ends = [[_of(fit, one, origin)[0] for one in found.groups] for fit in moved]
    return [(late - early) / 2 for early, late in zip(*ends, strict=True)]


def _hint(response: Response, fit: _Fit) -> str:
    expected = _expected_w(response)
    if expected and fit.residual_w > MISFIT * expected:
        return (
            f"the fit leaves {fit.residual_w:.1f} W where the meter's noise would leave {expected:.1f} W: give finer "
            "phases, or check the marks and the meter's characterisation"
        )
    return f"make the phase longer than {response.settle_s + response.refresh_s:.0f} s, or read a faster meter"


def _expected_w(response: Response) -> float:
    """What a right model would leave: the meter's noise and resolution; 0 where its noise is not known."""
    if response.noise is None:
        return 0.0
    return math.sqrt(response.noise**2 + response.resolution**2 / 12) / abs(response.gain)


def _in_order(phases: Sequence[Phase]) -> list[Phase]:
    if not phases:
        raise BadInput("there is no phase", hint="give the phases whose powers are wanted")
    named = sorted(phases, key=lambda one: one.begin_ns)
    for one in named:
        if one.end_ns <= one.begin_ns:
            raise BadInput(f"the phase {one.name!r} ends before it begins")
    for one, following in pairwise(named):
        if following.begin_ns < one.end_ns:
            raise BadInput(
                f"the phases {one.name!r} and {following.name!r} overlap", hint="give phases that follow one another"
            )
    return named


def _readings(trace: Trace, response: Response, named: Sequence[Phase]) -> tuple[Floats, Floats]:
    """Stamps in seconds after the first phase's begin, and power. Raises CannotMeasure for a trace that misses them."""
    kept = refreshed(ordered(trace), response)
    origin = named[0].begin_ns
    wide = round((response.settle_s + response.refresh_s) * 1e9)
    kept = kept.take(kept.ok & (kept.t_ns > origin - wide) & (kept.t_ns <= named[-1].end_ns + wide))
    if len(kept) < 4 or kept.t_ns[-1] <= named[0].begin_ns:
        raise CannotMeasure(
            f"{len(kept)} readings lie around the phases",
            where=response.key,
            hint="check the clocks of the meter and of the phase marks, or read more often",
        )
    return kept.seconds(origin), watts(kept, response)


def _edges(groups: Sequence[Phase], least_s: float) -> Floats:
    """The bounds in seconds after the first, with -inf and inf at the ends. A pause shorter than ``least_s`` counts to the
    phase before it."""
    origin = groups[0].begin_ns
    edges = [-math.inf, 0.0]
    for one, following in pairwise(groups):
        end, begin = (one.end_ns - origin) * 1e-9, (following.begin_ns - origin) * 1e-9
        if begin - end > least_s:
            edges.append(end)
        edges.append(begin)
    return np.array([*edges, (groups[-1].end_ns - origin) * 1e-9, math.inf])


def design(response: Response, t_s: Floats, edges_s: Floats) -> Floats:
    """A: how much of each stretch between two bounds a reading stamped t holds; its rows add up to 1."""
    answers: Floats = np.column_stack(
        [
            np.full(len(t_s), 0.0 if edge > 0 else 1.0) if math.isinf(edge) else step_answer(response, t_s - edge)
            for edge in edges_s
        ]
    )
    out: Floats = answers[:, :-1] - answers[:, 1:]
    return out


def _solve(response: Response, t_s: Floats, readings: Floats, edges_s: Floats) -> _Fit:
    matrix = design(response, t_s, edges_s)
    used = matrix.sum(axis=0) > 1e-9
    full = matrix
    matrix = matrix[:, used]
    lengths = np.linalg.norm(matrix, axis=0)
    condition = float(np.linalg.cond(matrix / lengths)) if matrix.shape[1] else math.inf
    n, m = matrix.shape
    inverse = np.linalg.pinv(matrix / lengths, rcond=ESTIMABLE) / lengths[:, None]
    rank = int(np.linalg.matrix_rank(matrix / lengths, tol=ESTIMABLE))
    found = inverse @ readings
    bounded = bool(np.any(found < 0)) and rank == m
    if bounded:
        from scipy.optimize import nnls

        found = nnls(matrix, readings)[0]
    residuals = readings - matrix @ found
    spread = float(residuals @ residuals) / (n - rank) if n > rank else math.inf
    floor = _expected_w(response) ** 2
    powers = np.full(full.shape[1], np.nan)
    covariance = np.full((full.shape[1], full.shape[1]), np.nan)
    hidden = np.full_like(covariance, np.nan)
    powers[used] = found
    covariance[np.ix_(used, used)] = inverse @ inverse.T * max(spread * tau_int(residuals), floor)
    hidden[np.ix_(used, used)] = np.eye(m) - inverse @ matrix
    return _Fit(edges_s, powers, covariance, hidden, condition, math.sqrt(spread), n - rank, bounded)


def _of(fit: _Fit, group: Phase, origin: int) -> tuple[float, float]:
    """Mean power of a group and its standard uncertainty: its stretches weighted by their lengths."""
    begin, end = (group.begin_ns - origin) * 1e-9, (group.end_ns - origin) * 1e-9
    low, high = np.maximum(fit.edges_s[:-1], begin), np.minimum(fit.edges_s[1:], end)
    share = np.maximum(high - low, 0.0) / (end - begin)
    used = share > 1e-12
    weights = share[used]
    if not np.max(np.abs(weights @ fit.hidden[np.ix_(used, used)])) < 1e-3 * np.max(weights):
        return math.nan, math.inf
    variance = float(weights @ fit.covariance[np.ix_(used, used)] @ weights)
    return float(weights @ fit.powers[used]), math.sqrt(max(variance, 0.0))


def _worst(fit: _Fit, groups: Sequence[Phase], origin: int) -> tuple[int, str] | None:
    """The group that is known least, and why that is not enough; None where all pass."""
    found = [_of(fit, one, origin) for one in groups]
    for index, (power, u) in enumerate(found):
        if not (math.isfinite(power) and math.isfinite(u)):
            return index, "the readings cannot separate it from its neighbours"
    if fit.condition > MOST_CONDITION:
        shortest = min(range(len(groups)), key=lambda one: groups[one].end_ns - groups[one].begin_ns)
        return (
            shortest,
            f"the condition number is {fit.condition:.3g}, above {MOST_CONDITION:.0f}: it is shorter than what the meter "
            "resolves",
        )
    share, index = max((u / max(abs(power), 1e-12), index) for index, (power, u) in enumerate(found))
    return (index, f"its uncertainty would be {share:.1%} of it, above {MOST_U:.0%}") if share > MOST_U else None


def _notices(fit: _Fit) -> tuple[Notice, ...]:
    """What was held at zero."""
    if not fit.bounded:
        return ()
    text = "a power came out negative and was held at zero: the phase marks or the meter's model are off"
    return (Notice(code="power-bounded", text=text, advice="check the clocks, and characterise the meter"),)


def _answer(made: _Found, moves: Sequence[float], clock: str) -> PhasePowers:
    trace, response, groups, fit = made.trace, made.response, made.groups, made.fit
    readings = len(made.readings)
    expected = _expected_w(response) or None
    found = []
    for group, move in zip(groups, moves, strict=True):
        value, u = _of(fit, group, groups[0].begin_ns)
        noise = Term(
            name="fit",
            u=u,
            dof=max(1.0, fit.dof),
            text=f"least squares over {readings} readings, {fit.residual_w:.2f} W left, condition "
            f"number {fit.condition:.1f}",
            remedy="make the phase longer, or repeat it",
        )
        terms, more = calibration_terms(trace.channel, response, value, 1.0)
        power = quantity(
            f"power of {group.name}",
            "W",
            value,
            [noise, *terms, *_clock_terms(move, clock or response.key)],
            method="phase power through the meter's model",
            notices=more,
        )
        energy = scaled(power, (group.end_ns - group.begin_ns) * 1e-9, name=f"energy of {group.name}", unit="J")
        found.append(
            PhasePower(name=group.name, begin_ns=group.begin_ns, end_ns=group.end_ns, power=power, energy=energy)
        )
    return PhasePowers(
        phases=tuple(found),
        condition=fit.condition,
        residual_w=fit.residual_w,
        expected_w=expected,
        readings=readings,
        notices=_notices(fit),
    )


def _clock_terms(move: float, clock: str) -> list[Term]:
    if not move or not math.isfinite(move):
        return []
    return [
        Term(
            name="clock",
            u=move,
            common=f"clock of {clock}",
            text="what the phases' clock may be off against the meter's stamps",
            remedy="rest between runs so that their edges show, or align by a marker load",
        )
    ]


# ------------------------------------------------------------------------------------------------------- for the eye


class Fitted(NamedTuple):
    """Readings with gain and offset taken out, and what the meter would have said of the load that explains them best."""

    t_ns: Ints
    readings: Floats
    model: Floats
    edges_ns: Ints  # of the load
    load: Floats  # its power between two of them
    residual_w: float
    expected_w: float | None


def fitted(trace: Trace, edges_ns: Sequence[int], *, character: Character | None = None) -> Fitted:
    """The meter's answer to a load that is constant between its edges (Unix ns, in order), fitted to the readings between
    one settling time before the first and one after the last. Raises CannotMeasure for too few readings."""
    response = response_of(trace, character)
    begin, end = int(edges_ns[0]), int(edges_ns[-1])
    t_s, readings = _readings(trace, response, [Phase(name="all", begin_ns=begin, end_ns=end)])
    inner = (np.asarray(edges_ns, np.int64) - begin) * 1e-9
    fit = _solve(response, t_s, readings, np.concatenate([[-math.inf], inner, [math.inf]]))
    powers = np.where(np.isfinite(fit.powers), fit.powers, 0.0)
    outer = (begin + round(float(t_s[0] - response.lag_s) * 1e9), begin + round(float(t_s[-1]) * 1e9))
    return Fitted(
        begin + np.round(t_s * 1e9).astype(np.int64),
        readings,
        design(response, t_s, fit.edges_s) @ powers,
        np.array([min(outer[0], begin - 1), *edges_ns, max(outer[1], end + 1)], np.int64),
        powers,
        fit.residual_w,
        _expected_w(response) or None,
    )
