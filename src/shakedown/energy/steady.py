"""Where a series is steady, what its mean is worth, and what it would settle to.

Head and tail are cut by MSER-5 (White 1997; Spratt 1998): batch means Y of 5 readings, cut d* = argmin over d <= N/2 of
sum_{i>d} (Y_i - mean_d)^2 / (N - d)^2. MSER minimises the mean square error and leaves some bias, so what remains must pass
an equivalence test: |b| L + 1.645 u(b) L within a share of the mean, b the slope by least squares, u(b) by Newey and West
(1987), L the length. The mean's uncertainty is s sqrt(tau_int / n) with tau_int = 1 + 2 sum rho_k over Geyer's initial
positive, monotone sequence (1992, section 3.3), checked by the means of 20 batches. A series that is not steady is fitted
with P(t) = P_inf - rise exp(-t / tau); what comes after tau ln(rise / (0.1 % of P_inf)) is tried again, and else P_inf is
reported, labelled as extrapolated.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from ..errors import BadInput, unknown
from ..metering.trace import Floats, Trace
from ..records import Record
from .deduplicate import ordered, refreshed
from .response import response_of
from .uncertainty.correlated import Mean, blocks, mean_of, mser, slope, tau_int

Preset = Literal["auto", "prace2013", "hpl-core"]
PRESETS: tuple[Preset, ...] = ("auto", "prace2013", "hpl-core")

LEAST_READINGS = 30
LEAST_INDEPENDENT = 30.0
MOST_TREND = 0.005  # of the mean, over the window
MOST_CV = 0.01
LEFT_OVER = 0.001  # of P_inf: where a warm-up counts as over

#: D9.3.4, section 2.2.3: from 20 minutes after the start to 10 minutes before the end, standard deviation below 1 %. The
#: document's two windows held 246 and 249 readings, which is taken as the least number.
PRACE_HEAD_S, PRACE_TAIL_S, PRACE_CV, PRACE_READINGS = 1200.0, 600.0, 0.01, 246


class WarmUp(Record, frozen=True, kw_only=True):
    """P(t) = final - rise exp(-t / tau), t from ``begin_ns``."""

    begin_ns: int
    final: float
    final_u: float
    rise: float  # what is still missing at the begin; negative where the power falls
    rise_u: float
    tau_s: float
    tau_u_s: float
    explained: float  # share of the variance


class Steady(Record, frozen=True, kw_only=True):
    """What was found. ``begin_ns`` to ``end_ns`` is the window that the mean stands for."""

    preset: Preset
    steady: bool
    why: str
    begin_ns: int
    end_ns: int
    mean: float
    mean_u: float
    dof: float
    n: int
    n_eff: float
    tau_int: float
    cv: float
    batch_u: float | None
    trend: float | None  # change over the window, as a share of the mean
    trend_bound: float | None  # what it is at most, at 95 %
    head_s: float  # cut away
    tail_s: float
    extrapolated: bool = False  # the mean is P_inf of ``warm_up``, not an average
    warm_up: WarmUp | None = None


def warm_up_of(t_s: Floats, values: Floats, begin_ns: int = 0) -> WarmUp | None:
    """The exponential fitted to a series, by variable projection: for each tau the other two are linear. None where the
    series is too short, or where the best tau is as long as three times the series: then it is a straight line, and its
    end cannot be known."""
    from scipy.optimize import minimize_scalar

    t_s, values = blocks(t_s, values)
    n = len(values)
    length = float(t_s[-1] - t_s[0]) if n else 0.0
    if n < 12 or length <= 0 or np.ptp(values) == 0:
        return None
    t = t_s - t_s[0]

    def solve(log_tau: float) -> tuple[float, Floats]:
        design = np.column_stack([np.ones(n), -np.exp(-t / math.exp(log_tau))])
        found, *_ = np.linalg.lstsq(design, values, rcond=None)
        residuals = values - design @ found
        return float(residuals @ residuals), found

    low, high = math.log(2 * length / n), math.log(3 * length)
    grid = np.linspace(low, high, 40)
    at = int(np.argmin([solve(one)[0] for one in grid]))
    if at in (0, len(grid) - 1):
        return None
    fitted = minimize_scalar(
        lambda log_tau: solve(log_tau)[0],
        bounds=(grid[at - 1], grid[at + 1]),
        method="bounded",
        options={"xatol": 1e-4},
    )
    tau = math.exp(float(fitted.x))
    square, (final, rise) = solve(float(fitted.x))
    fall = np.exp(-t / tau)
    jacobian = np.column_stack([np.ones(n), -fall, -rise * fall * t / tau**2])
    residuals = values - (final - rise * fall)
    variance = square / (n - 3) * tau_int(residuals)
    u = np.sqrt(np.maximum(np.diag(np.linalg.pinv(jacobian.T @ jacobian)) * variance, 0.0))
    total = float(np.sum((values - values.mean()) ** 2))
    return WarmUp(
        begin_ns=begin_ns,
        final=float(final),
        final_u=float(u[0]),
        rise=float(rise),
        rise_u=float(u[1]),
        tau_s=tau,
        tau_u_s=float(u[2]),
        explained=1 - square / total,
    )


# ---------------------------------------------------------------------------------------------------- the whole answer


def steady_of(
    trace: Trace,
    begin_ns: int,
    end_ns: int,
    preset: str = "auto",
    *,
    most_trend: float = MOST_TREND,
    most_cv: float = MOST_CV,
) -> Steady:
    """The steady part of a stretch of a power trace, and in words why it is steady or not. Raises BadInput for an unknown
    preset and for a stretch without two readings."""
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    trace = refreshed(ordered(trace), response_of(trace))  # a value that is read twice is one reading
    kept = trace.take(trace.ok & (trace.t_ns > begin_ns) & (trace.t_ns <= end_ns))
    if len(kept) < 2:
        raise BadInput(
            f"{len(kept)} readings between the two ends: nothing can be said of steadiness",
            where=trace.channel.id,
            hint="a steady state needs at least 30 readings; take a longer window or read more often",
        )
    if preset == "prace2013":
        return _prace(kept, begin_ns, end_ns)
    if preset == "hpl-core":
        return _whole(kept, begin_ns, end_ns, most_trend)
    return _auto(kept, begin_ns, end_ns, most_trend, most_cv)


class _Judged(NamedTuple):
    mean: Mean
    trend: float
    bound: float
    faults: tuple[str, ...]


def _judge(t_s: Floats, values: Floats, most_trend: float, most_cv: float) -> _Judged:
    """The equivalence test, the spread and the number of independent readings of one window."""
    mean = mean_of(values)
    if not mean.value:
        return _Judged(mean, math.inf, math.inf, ("its mean is zero",))
    line = slope(t_s, values)
    length = float(t_s[-1] - t_s[0])
    trend = line.per_s * length / mean.value
    bound = (abs(line.per_s) + 1.645 * line.u_per_s) * length / abs(mean.value)
    cv = mean.sd / abs(mean.value)
    faults = []
    if len(values) < LEAST_READINGS:
        faults.append(f"it has {len(values)} readings of at least {LEAST_READINGS}")
    if bound > most_trend:
        told = f"it changes by {trend:+.2%} from end to end, at most {bound:.2%} at 95 %, where {most_trend:.2%} is allowed"
        faults.append(told + ("; a longer window would settle it" if abs(trend) < most_trend / 2 else ""))
    if cv > most_cv:
        faults.append(f"its readings scatter by {cv:.2%} of the mean, where {most_cv:.2%} is allowed")
    if mean.n_eff < LEAST_INDEPENDENT:
        faults.append(
            f"its {len(values)} readings are worth {mean.n_eff:.0f} independent ones of at least {LEAST_INDEPENDENT:.0f}"
        )
    return _Judged(mean, trend, bound, tuple(faults))


def _found(
    kept: Trace, preset: Preset, judged: _Judged, steady: bool, why: str, ends: tuple[int, int], whole: tuple[int, int]
) -> Steady:
    mean = judged.mean
    return Steady(
        preset=preset,
        steady=steady,
        why=why,
        begin_ns=ends[0],
        end_ns=ends[1],
        mean=mean.value,
        mean_u=mean.u,
        dof=mean.dof,
        n=len(kept),
        n_eff=mean.n_eff,
        tau_int=mean.tau_int,
        cv=mean.sd / abs(mean.value) if mean.value else math.inf,
        batch_u=mean.batch_u,
        trend=judged.trend,
        trend_bound=judged.bound,
        head_s=(ends[0] - whole[0]) * 1e-9,
        tail_s=(whole[1] - ends[1]) * 1e-9,
    )


def _ends(kept: Trace, begin_ns: int, end_ns: int, first: int, last: int) -> tuple[int, int]:
    """The window that readings ``first`` to ``last`` (without it) stand for: from the stamp before to the last one."""
    return (
        begin_ns if first == 0 else int(kept.t_ns[first - 1]),
        end_ns if last == len(kept) else int(kept.t_ns[last - 1]),
    )


def _prace(kept: Trace, begin_ns: int, end_ns: int) -> Steady:
    window = (begin_ns + round(PRACE_HEAD_S * 1e9), end_ns - round(PRACE_TAIL_S * 1e9))
    chosen = kept.take((kept.t_ns > window[0]) & (kept.t_ns <= window[1]))
    if len(chosen) < 2:
        length = (end_ns - begin_ns) * 1e-9
        judged = _judge(kept.seconds(begin_ns), kept.value, MOST_TREND, PRACE_CV)
        why = (
            f"not steady: {length:.0f} s are too short to cut {PRACE_HEAD_S:.0f} s of head and "
            f"{PRACE_TAIL_S:.0f} s of tail"
        )
        return _found(kept, "prace2013", judged, False, why, (begin_ns, end_ns), (begin_ns, end_ns))
    judged = _judge(chosen.seconds(begin_ns), chosen.value, MOST_TREND, PRACE_CV)
    cv = judged.mean.sd / abs(judged.mean.value) if judged.mean.value else math.inf
    faults = [f"the standard deviation is {cv:.2%}, not below {PRACE_CV:.0%}"] if cv >= PRACE_CV else []
    if len(chosen) < PRACE_READINGS:
        faults.append(f"{len(chosen)} readings are fewer than {PRACE_READINGS}")
    rule = f"from {PRACE_HEAD_S / 60:.0f} min after the begin to {PRACE_TAIL_S / 60:.0f} min before the end"
    why = (
        f"not steady by the rule of D9.3.4 ({rule}): {'; '.join(faults)}"
        if faults
        else f"steady by the rule of D9.3.4: {rule}, {len(chosen)} readings with a standard deviation of {cv:.2%}"
    )
    return _found(chosen, "prace2013", judged, not faults, why, window, (begin_ns, end_ns))


def _whole(kept: Trace, begin_ns: int, end_ns: int, most_trend: float) -> Steady:
    judged = _judge(kept.seconds(begin_ns), kept.value, most_trend, math.inf)
    why = (
        "the whole core phase is reported: HPL has no steady state to be found, its power falls as the matrix shrinks "
        f"(here {judged.trend:+.2%} from end to end)"
    )
    return _found(kept, "hpl-core", judged, False, why, (begin_ns, end_ns), (begin_ns, end_ns))


def _auto(kept: Trace, begin_ns: int, end_ns: int, most_trend: float, most_cv: float) -> Steady:
    t_s, values, whole = kept.seconds(begin_ns), kept.value, (begin_ns, end_ns)
    tail = mser(values[::-1]) or 0
    tail = tail if tail and _differs(values[-tail:], values[:-tail]) else 0
    last = len(values) - tail
    head = mser(values[:last])
    first = head if head and _differs(values[:head], values[head:last]) else 0
    judged = _judge(t_s[first:last], values[first:last], most_trend, most_cv)
    cut = f"head of {t_s[first] if first else 0:.0f} s and tail of {tail} readings cut by MSER-5"
    if head is not None and not judged.faults:
        return _steady(kept, judged, cut, (first, last), whole)
    fitted = warm_up_of(t_s[:last], values[:last], int(kept.t_ns[0]))
    if fitted is not None and abs(fitted.rise) > 3 * fitted.rise_u and fitted.explained > 0.1:
        skip_s = fitted.tau_s * math.log(max(1.0, abs(fitted.rise) / (LEFT_OVER * abs(fitted.final))))
        later = int(np.searchsorted(t_s[:last], t_s[0] + skip_s))
        if last - later >= LEAST_READINGS:
            again = _judge(t_s[later:last], values[later:last], most_trend, most_cv)
            if not again.faults:
                words = (
                    f"the first {skip_s:.0f} s cut: a warm-up of {fitted.rise:+.1f} W with a time constant of "
                    f"{fitted.tau_s:.0f} s"
                )
                return _with_fit(_steady(kept, again, words, (later, last), whole), fitted)
        settled = _settled(kept, judged, fitted, (first, last), whole)
        if settled is not None:
            return settled
    none = ("MSER-5 finds no cut in the first half after which the mean square error rises",) if head is None else ()
    why = f"not steady ({cut}): " + "; ".join((*none, *judged.faults))
    found = _found(kept.take(slice(first, last)), "auto", judged, False, why, _ends(kept, *whole, first, last), whole)
    return _with_fit(found, fitted)


def _differs(cut: Floats, rest: Floats) -> bool:
    """Whether what MSER would cut lies off the rest by more than chance: else it stays, since MSER cuts noise too."""
    known = mean_of(rest)
    return abs(float(cut.mean()) - known.value) > 3 * known.sd * math.sqrt(
        known.tau_int * (1 / len(cut) + 1 / len(rest))
    )


def _steady(kept: Trace, judged: _Judged, cut: str, span: tuple[int, int], whole: tuple[int, int]) -> Steady:
    mean = judged.mean
    why = (
        f"steady: {cut}; the trend is {judged.trend:+.2%} from end to end, at most {judged.bound:.2%} at 95 %; readings "
        f"scatter by {mean.sd / abs(mean.value):.2%}; {span[1] - span[0]} of them are worth {mean.n_eff:.0f} "
        "independent ones"
    )
    return _found(kept.take(slice(*span)), "auto", judged, True, why, _ends(kept, *whole, *span), whole)


def _settled(
    kept: Trace, judged: _Judged, fitted: WarmUp, span: tuple[int, int], whole: tuple[int, int]
) -> Steady | None:
    """P_inf of the warm-up, where it is known to 1 % from enough readings: not an average of what was measured."""
    import msgspec

    if span[1] - span[0] < LEAST_READINGS or not fitted.final_u < 0.01 * abs(fitted.final):
        return None
    length = (int(kept.t_ns[span[1] - 1]) - fitted.begin_ns) * 1e-9
    why = (
        f"not steady: the power still moves towards {fitted.final:.1f} W ({fitted.rise:+.1f} W over the window, time "
        f"constant {fitted.tau_s:.0f} s, {length:.0f} s long); the value is extrapolated from that fit, not an average"
    )
    found = _found(kept.take(slice(*span)), "auto", judged, False, why, _ends(kept, *whole, *span), whole)
    dof = max(1.0, judged.mean.n_eff - 3)
    return msgspec.structs.replace(
        found, mean=fitted.final, mean_u=fitted.final_u, dof=dof, extrapolated=True, warm_up=fitted
    )


def _with_fit(found: Steady, fitted: WarmUp | None) -> Steady:
    import msgspec

    return msgspec.structs.replace(found, warm_up=fitted)
