"""What a meter does to the power: the length of its window, its time constant, its delay, its gain and its offset.

    reading_k = gain x (window * power)(t_k - delay) + offset + noise        (a boxcar, a first-order lag, both, or a point)

Gain and offset are linear and are solved for in closed form for every window and delay (variable projection); those two lie
on grids that close in on every local minimum. Each recording has an offset of its own while the window is looked for, so
that a base that drifts between recordings does not bend it. Intervals are by the likelihood's profile: all values for which

    SSE_min(value) <= SSE (1 + F(0.95; 1, nu) / nu),    nu = n / tau_int - parameters

with the residuals' integrated autocorrelation time tau_int. Kernels compete by AIC = n ln(SSE / n) + 2 k; one with more
parameters wins only by 10 per parameter (Burnham and Anderson 2002, section 2.6: no support for the other).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from ...metering.character import Estimate
from ...metering.trace import Floats
from ...records import Notice
from .basis import Looks, Recording
from .confidence_regions import Region, nearby, region, widened
from .search import MAKERS, Candidate, Kernel, Minimum

__all__ = ["Fit", "Minimum", "Recording", "identify"]

FEWEST = 12  # readings
_WINS_BY = 10.0
_SEARCHED = 900  # readings
_KEPT = 6  # minima
_SHORTEST = 2e-3  # of the refresh period: the shortest window that is told from a point


class Fit(NamedTuple):
    """The kernel that won, with 95 % intervals. ``profile`` is (window or time constant in s, least SSE with it)."""

    kernel: Kernel
    window_s: Estimate
    tau_s: Estimate | None
    delay_s: Estimate
    gain: Estimate
    offset: Estimate
    covariance: float  # of gain and offset
    sse: float
    n: int
    dof: float
    limit: float  # SSE up to which a value lies in its interval
    aic: dict[str, float]
    minima: tuple[Minimum, ...]  # those that cannot be ruled out, the best first
    profile: tuple[tuple[float, float], ...]
    residual: float  # standard deviation, in the readings' unit
    explained: float  # share of the readings' sum of squares, each recording about its mean
    notices: tuple[Notice, ...] = ()

    @property
    def best(self) -> tuple[float, float, float]:
        return self.window_s.value, self.tau_s.value if self.tau_s else 0.0, self.delay_s.value


def identify(
    recordings: Sequence[Recording],
    period_s: float,
    *,
    kernels: Sequence[Kernel] | None = None,
    shift_s: float = 0.0,
    stretch_s: float = 0.0,
) -> Fit:
    """The kernel that explains all recordings together. ``period_s``: how often the meter refreshes (readings must be one
    each). ``kernels``: only these are tried. The stamps may all be off by ``shift_s``, and by ``stretch_s`` with opposite
    signs at the first and the last: what is known of the refreshes' phase and period. Both widen the intervals. Raises
    BadInput where there is too little to fit."""
    _check(recordings, period_s)
    looks = Looks(recordings, _SHORTEST * period_s)
    few = _thinned(looks)
    tried = [_on_all(looks, few, MAKERS[name](few, period_s)) for name in kernels or tuple(MAKERS)]
    aic: dict[str, float] = {one.kernel: _aic(looks, one) for one in tried}
    chosen = _chosen(tried, aic)
    dof, limit = _limit(looks, chosen)
    allowed = widened(looks, chosen.best, region(looks, chosen, limit, period_s), shift_s, stretch_s)
    return _fit(looks, chosen, aic, dof, limit, allowed, period_s)


def _check(recordings: Sequence[Recording], period_s: float) -> None:
    count = sum(len(one.t_s) for one in recordings)
    if count < FEWEST or period_s <= 0:
        raise BadInput(
            f"{count} readings are too few to identify a meter's window", hint="record for longer, or read more often"
        )
    for one in recordings:
        if len(one.t_s) < 3 or not np.isfinite(one.value).all():
            raise BadInput(f"the recording {one.name!r} has fewer than three readings, or some without a value")
    if all(np.ptp(one.load.w) == 0 for one in recordings):
        raise BadInput(
            "the power never changed: nothing can be identified from it", hint="record a step and square waves"
        )
    if all(np.ptp(one.value) == 0 for one in recordings):
        raise BadInput(
            "the meter reported the same value all the time: it does not see this load, or it does not refresh",
            hint="load what it measures, and record for longer than it takes to refresh",
        )


def _thinned(looks: Looks) -> Looks:
    """So many readings that the search stays quick, drawn at random: every n-th could miss the same part of each wave."""
    share = _SEARCHED / looks.n
    if share >= 0.7:
        return looks
    random = np.random.default_rng(1)
    kept = []
    for one in looks.recordings:
        count = min(len(one.t_s), max(int(share * len(one.t_s)), 8))
        chosen = np.sort(random.choice(len(one.t_s), count, replace=False))
        kept.append(one._replace(t_s=one.t_s[chosen], value=one.value[chosen]))
    return Looks(kept, looks.shortest_s)


def _on_all(looks: Looks, few: Looks, found: Candidate) -> Candidate:
    """The minima that a few readings show, with all of them."""
    if few is looks:
        return found
    minima = []
    for one in found.minima[:_KEPT]:
        kernel = nearby(looks, one)
        minima.append(Minimum(*kernel, looks.sse(kernel)))
    return found._replace(minima=tuple(sorted(minima, key=lambda one: one.sse)))


def _aic(looks: Looks, found: Candidate) -> float:
    k = found.parameters + 1 + len(looks.recordings)  # the gain, and an offset for each recording
    return float(looks.n * np.log(found.best.sse / looks.n) + 2 * k)


def _chosen(tried: Sequence[Candidate], aic: dict[str, float]) -> Candidate:
    ordered = sorted(tried, key=lambda one: (one.parameters, aic[one.kernel]))
    best = ordered[0]
    for one in ordered[1:]:
        more = one.parameters - best.parameters
        if aic[one.kernel] < aic[best.kernel] - _WINS_BY * max(more, 0):
            best = one
    return best


def _limit(looks: Looks, found: Candidate, level: float = 0.95) -> tuple[float, float]:
    """Degrees of freedom, lowered for residuals that hang together, and the SSE that bounds an interval."""
    from scipy.special import fdtri

    best = found.best
    k = found.parameters + 1 + len(looks.recordings)
    dof = max(looks.n / _together(looks, best) - k, 2.0)
    return dof, best.sse * (1 + float(fdtri(1, dof, level)) / dof)


def _together(looks: Looks, best: Minimum) -> float:
    """Integrated autocorrelation time of the residuals in readings, by Geyer's initial positive sequence
    (1992); at least 1."""
    residuals = [_residuals(looks, index, best) for index in range(len(looks.recordings))]
    whole = sum(float(one @ one) for one in residuals)
    if whole <= 0:
        return 1.0
    tau, last = 1.0, max(1, min(looks.n // 8, 400))
    for lag in range(1, last, 2):
        pair = sum(
            float(one[: len(one) - at] @ one[at:]) for one in residuals for at in (lag, lag + 1) if at < len(one)
        )
        if pair <= 0.05 * whole:  # as large as chance makes it
            break
        tau += 2 * pair / whole
    return tau


def _residuals(looks: Looks, index: int, kernel: Minimum) -> Floats:
    one = looks.recordings[index]
    h = looks.response((kernel.window_s, kernel.tau_s, kernel.delay_s), index)
    h, r = h - h.mean(), one.value - one.value.mean()
    gain = _shared_gain(looks, kernel)
    out: Floats = r - gain * h
    return out


def _shared_gain(looks: Looks, kernel: Minimum) -> float:
    parts = [looks.response((kernel.window_s, kernel.tau_s, kernel.delay_s), i) for i in range(len(looks.recordings))]
    h = np.concatenate([part - part.mean() for part in parts])
    across = float(h @ h)
    return float(h @ looks.r) / across if across > 0 else 0.0


# --------------------------------------------------------------------------------------------------------- gain and offset


def _fit(
    looks: Looks, found: Candidate, aic: dict[str, float], dof: float, limit: float, allowed: Region, period_s: float
) -> Fit:
    best = found.best
    gain, offset, covariance = _line(looks, best, dof / looks.n)
    window = Estimate(value=best.window_s, low=allowed.window[0], high=allowed.window[1])
    tau = Estimate(value=best.tau_s, low=allowed.tau[0], high=allowed.tau[1]) if best.tau_s > 0 else None
    fit = Fit(
        kernel=found.kernel,
        window_s=window,
        tau_s=tau,
        delay_s=Estimate(value=best.delay_s, low=allowed.delay[0], high=allowed.delay[1]),
        gain=gain,
        offset=offset,
        covariance=covariance,
        sse=best.sse,
        n=looks.n,
        dof=dof,
        limit=limit,
        aic=aic,
        minima=allowed.minima,
        profile=allowed.profile,
        residual=float(np.sqrt(best.sse / max(looks.n - found.parameters - 1 - len(looks.recordings), 1))),
        explained=1 - best.sse / looks.total,
    )
    return fit._replace(notices=_doubts(fit, looks, period_s))


def _line(looks: Looks, best: Minimum, independent: float) -> tuple[Estimate, Estimate, float]:
    """Gain and offset with the kernel as it is, from the recordings that dwell (all, where none does), with one offset; the
    kernel's own uncertainty enters through its derivatives (JCGM 100, section 5.2)."""
    from scipy.special import stdtrit

    spread = best.window_s + 4 * best.tau_s
    dwelt = max(2 * spread, 0.5 * max(one.longest_s for one in looks.recordings))
    chosen = [i for i, one in enumerate(looks.recordings) if one.longest_s > dwelt] or range(len(looks.recordings))
    kernel = (best.window_s, best.tau_s, best.delay_s)
    h = np.concatenate([looks.response(kernel, i) for i in chosen])
    r = np.concatenate([looks.recordings[i].value for i in chosen])
    columns = [h, np.ones_like(h)]
    gain, offset = np.linalg.lstsq(np.column_stack(columns), r, rcond=None)[0]
    for index, value in enumerate(kernel):
        if index < 2 and value <= 0:
            continue
        step = 0.02 * (best.window_s + best.tau_s) or 1e-6
        moved = [list(kernel), list(kernel)]
        moved[0][index] -= step
        moved[1][index] += step
        ends = [np.concatenate([looks.response((a, b, c), i) for i in chosen]) for a, b, c in moved]
        slope = gain * (ends[1] - ends[0]) / (2 * step)
        if float(np.abs(slope).max()) > 0:
            columns.append(slope / float(np.abs(slope).max()))
    design = np.column_stack(columns)
    left = r - gain * h - offset
    dof = max(len(r) * independent - design.shape[1], 2.0)
    cov = np.linalg.pinv(design.T @ design) * float(left @ left) / dof
    k = float(stdtrit(dof, 0.975))
    u_gain, u_offset = float(np.sqrt(cov[0, 0])), float(np.sqrt(cov[1, 1]))
    return (
        Estimate(value=float(gain), low=float(gain - k * u_gain), high=float(gain + k * u_gain)),
        Estimate(value=float(offset), low=float(offset - k * u_offset), high=float(offset + k * u_offset)),
        float(cov[0, 1]),
    )


def _doubts(fit: Fit, looks: Looks, period_s: float) -> tuple[Notice, ...]:
    out = []
    lengths = sorted({round(one.window_s / period_s, 2) for one in fit.minima})
    if len(lengths) > 1:
        words = ", ".join(f"{one.window_s:.3g} s" for one in fit.minima)
        out.append(
            Notice(
                code="several-windows",
                text=f"the readings do not distinguish these windows: {words}",
                advice="record a square wave of another period: a window W and the period less W look alike at one period",
            )
        )
    window = fit.window_s
    if fit.kernel == "boxcar" and window.high - window.low > 0.5 * window.value and len(lengths) == 1:
        out.append(
            Notice(
                code="window-wide",
                text=f"the window lies between {window.low:.3g} and {window.high:.3g} s",
                advice="record square waves of several periods about the refresh period "
                f"({period_s:.3g} s): a step does not resolve a window shorter than that",
            )
        )
    share = fit.explained
    if share < 0.9:
        out.append(
            Notice(
                code="poor-fit",
                text=f"the kernel explains {share:.0%} of what the readings do",
                advice="check whether something else drew power, and whether the clocks agree",
            )
        )
    return tuple(out)
