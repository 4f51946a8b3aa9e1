"""Straight lines and planes through averages over time, robust, with intervals that know that neighbours are alike.

Huber's M-estimate (k = 1.345, scale by the median absolute deviation) by re-weighted least squares. The covariance is Newey
and West's (1987), whose bandwidth follows Andrews' rule for an AR(1) process, or a wider one where points are few: slow
weather and slow loads are not taken for many independent points. Bends: continuous pieces, their places searched on a
grid, taken only where the gain passes the 1 % point of the largest F over all places (Andrews 1993, corrected 2003), with
the effective number of points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np

from ...metering.trace import Floats
from ...records import Notice, Record
from ..uncertainty.quantity import Quantity, Term, quantity, unknown

LEAST_POINTS = 10
SUP_F = 12.16  # one slope more, places from 15 % to 85 % of the points


class Fit(NamedTuple):
    """Coefficients of the columns, their covariance, and what is left over."""

    beta: Floats
    covariance: Floats
    residuals: Floats
    weights: Floats
    effective: float  # number of independent points


class Line(Record, frozen=True, kw_only=True):
    """y over x. ``relative``: the slope over y at the reference; ``rise``: y at ``at`` over y at the reference, less one."""

    name: str
    slope: Quantity
    at_reference: Quantity | None = None
    relative: Quantity | None = None
    rise: Quantity | None = None
    reference: float | None = None
    at: float | None = None
    bends: tuple[float, ...] = ()  # where the slope changes
    slopes: tuple[float, ...] = ()  # of the pieces, where there are bends
    low: float
    high: float
    points: int
    effective: float
    curve: tuple[tuple[float, float, float, float], ...] = ()  # x, y, its 95 % interval
    notices: tuple[Notice, ...] = ()


class Plane(Record, frozen=True, kw_only=True):
    """y over several x: what each adds, all others held."""

    name: str
    slopes: tuple[Quantity, ...]
    means: tuple[float, ...]
    at_means: Quantity
    points: int
    notices: tuple[Notice, ...] = ()


def fit(columns: Floats, y: Floats) -> Fit:
    """Huber's fit with a covariance that holds for autocorrelated points in order of time."""
    weights: Floats = np.ones(len(y))
    beta: Floats = np.zeros(columns.shape[1])
    for _ in range(50):
        root = np.sqrt(weights)
        new = np.linalg.lstsq(columns * root[:, None], y * root, rcond=None)[0].astype(np.float64)
        residuals = (y - columns @ new).astype(np.float64)
        scale = 1.4826 * float(np.median(np.abs(residuals - np.median(residuals))))
        limit = 1.345 * scale if scale > 0 else math.inf
        weights = np.asarray(np.minimum(1.0, limit / np.maximum(np.abs(residuals), 1e-300)), np.float64)
        if np.allclose(new, beta, rtol=1e-10, atol=1e-12 * float(np.max(np.abs(new)) or 1.0)):
            break
        beta = new
    return Fit(new, *_covariance(columns, residuals, weights))


def _covariance(columns: Floats, residuals: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, float]:
    """The larger of Newey and West's covariance and of that of white points widened by (1 + rho) / (1 - rho), which holds
    where there are few points; with what else a Fit has."""
    count, width = columns.shape
    bread = np.linalg.pinv((columns * weights[:, None]).T @ columns)
    scores = columns * (weights * residuals)[:, None]
    rho = _lag_one(residuals * weights)
    meat = _newey_west(scores, _bandwidth(rho, count))
    robust = bread @ meat @ bread * count / max(1, count - width)
    variance = float(np.sum((weights * residuals) ** 2)) / max(1, count - width)
    wide = bread * variance * (1 + rho) / (1 - rho)
    larger = np.trace(robust * np.diag(1 / np.maximum(np.diag(wide), 1e-300))) > width
    covariance: Floats = np.asarray(robust if larger else wide, np.float64)
    return covariance, residuals, weights, count * (1 - rho) / (1 + rho)


def _lag_one(residuals: Floats) -> float:
    """The autocorrelation from one average to the next, from 0 to 0.97."""
    power = float(np.sum(residuals**2))
    rho = float(np.sum(residuals[1:] * residuals[:-1])) / power if power > 0 else 0.0
    rho += (1 + 3 * rho) / len(residuals)  # the bias of the estimate (Kendall 1954)
    return min(max(rho, 0.0), 0.97)


def _bandwidth(rho: float, count: int) -> int:
    """Andrews (1991) for Bartlett's kernel and an AR(1) process."""
    alpha = 4 * rho**2 / ((1 - rho) ** 2 * (1 + rho) ** 2)
    return int(min(1.1447 * (alpha * count) ** (1 / 3), count / 3))


def _newey_west(scores: Floats, lags: int) -> Floats:
    meat = scores.T @ scores
    for lag in range(1, lags + 1):
        cross = scores[lag:].T @ scores[:-lag]
        meat = meat + (1 - lag / (lags + 1)) * (cross + cross.T)
    out: Floats = meat
    return out


def line(
    name: str,
    x: Floats,
    y: Floats,
    *,
    unit: str = "W",
    x_unit: str = "K",
    reference: float | None = None,
    at: float | None = None,
    bends: int = 0,
    shared: Term | None = None,
) -> Line:
    """``y`` against ``x``, in order of time. ``shared``: a relative error of y as a whole (its meter's gain), which moves
    the slope but not the percentages; its ``u`` is relative."""
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) < LEAST_POINTS or np.ptp(x) == 0:
        return _no_line(name, x, f"{unit}/{x_unit}")
    low, high = float(x.min()), float(x.max())
    origin = float(np.mean(x)) if reference is None else reference
    found = fit(np.stack([np.ones(len(x)), x - origin], axis=1), y)
    dof = max(1.0, found.effective - 2)
    intercept, slope = (float(one) for one in found.beta)
    var_a, var_b, cov = (float(found.covariance[at]) for at in ((0, 0), (1, 1), (0, 1)))

    def made(what: str, kind: str, value: float, variance: float, gain: bool) -> Quantity:
        scatter = Term(
            name="scatter about the line", u=math.sqrt(max(variance, 0.0)), dof=dof, text=f"{len(x)} averages"
        )
        terms = [scatter]
        if gain and shared is not None:
            terms.append(Term(name=shared.name, u=value * shared.u, common=shared.common, text=shared.text))
        return quantity(f"{what} of {name}", kind, value, terms, method="Huber's line, Newey-West covariance")

    places = _bends(x, y, bends, found) if bends else ()
    made_line = Line(
        name=name,
        slope=made("slope", f"{unit}/{x_unit}", slope, var_b, True),
        reference=reference,
        at=at,
        bends=places,
        slopes=_pieces(x, y, places),
        low=low,
        high=high,
        points=len(x),
        effective=found.effective,
        curve=_curve(found, origin, low, high, dof),
        notices=_outside(name, reference, at, low, high),
    )
    if reference is None or not intercept:
        return made_line
    ratio = slope / intercept
    variance = (var_b - 2 * ratio * cov + ratio**2 * var_a) / intercept**2
    up = None if at is None else at - reference
    return msgspec.structs.replace(
        made_line,
        at_reference=made("value at the reference", unit, intercept, var_a, True),
        relative=made("relative slope", f"1/{x_unit}", ratio, variance, False),
        rise=None if up is None else made("rise", "1", ratio * up, variance * up**2, False),
    )


def _no_line(name: str, x: Floats, unit: str) -> Line:
    text = f"{len(x)} averages over {float(np.ptp(x)) if len(x) else 0.0:.3g} K are too few for the line {name!r}"
    lacking = unknown(f"slope of {name}", unit, Notice(code="few-points", text=text, advice="vary the temperature"))
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    return Line(
        name=name, slope=lacking, low=low, high=high, points=len(x), effective=float(len(x)), notices=lacking.notices
    )


def _outside(name: str, reference: float | None, at: float | None, low: float, high: float) -> tuple[Notice, ...]:
    margin = 0.02 * (high - low)
    beyond = [one for one in (reference, at) if one is not None and not low - margin <= one <= high + margin]
    if not beyond:
        return ()
    text = f"{name}: {', '.join(f'{one:g}' for one in beyond)} lies outside what was measured ({low:.1f} to {high:.1f})"
    return (Notice(code="extrapolated", text=text, advice="measure there too"),)


def _curve(
    found: Fit, origin: float, low: float, high: float, dof: float
) -> tuple[tuple[float, float, float, float], ...]:
    from ..uncertainty.quantity import coverage_factor

    k = coverage_factor(dof)
    rows = []
    for x in np.linspace(low, high, 25):
        place = np.array([1.0, x - origin])
        y, u = float(place @ found.beta), math.sqrt(max(0.0, float(place @ found.covariance @ place)))
        rows.append((float(x), y, y - k * u, y + k * u))
    return tuple(rows)


def _hinges(x: Floats, places: tuple[float, ...]) -> Floats:
    return np.stack([np.ones(len(x)), x, *(np.maximum(x - place, 0.0) for place in places)], axis=1)


def _loss(found: Fit) -> float:
    return float(np.sum(found.weights * found.residuals**2))


def _bends(x: Floats, y: Floats, most: int, straight: Fit) -> tuple[float, ...]:
    """The places, at most so many, at which the slope changes; one after the other, each where it helps most."""
    places: tuple[float, ...] = ()
    best = _loss(straight)
    candidates = np.unique(np.quantile(x, np.linspace(0.15, 0.85, 33)))
    for _ in range(most):
        tried = [
            (_loss(fit(_hinges(x, tuple(sorted((*places, float(place))))), y)), float(place))
            for place in candidates
            if all(abs(place - other) > 0.05 * np.ptp(x) for other in places)
        ]
        if not tried:
            break
        loss, place = min(tried)
        free = straight.effective - 3 - len(places)
        if free <= 0 or (best - loss) * free <= SUP_F * loss:
            break
        places, best = tuple(sorted((*places, place))), loss
    return places


def _pieces(x: Floats, y: Floats, places: tuple[float, ...]) -> tuple[float, ...]:
    if not places:
        return ()
    beta = fit(_hinges(x, places), y).beta
    return tuple(float(one) for one in np.cumsum(beta[1:]))


def plane(name: str, xs: list[tuple[str, Floats]], y: Floats, *, unit: str = "1", x_unit: str = "K") -> Plane | None:
    """``y`` against several x at once. None where there are too few points, or where the x go together so closely that what
    each adds cannot be determined."""
    good = np.isfinite(y)
    for _, x in xs:
        good &= np.isfinite(x)
    if good.sum() < LEAST_POINTS * len(xs):
        return None
    means = [float(np.mean(x[good])) for _, x in xs]
    columns = np.stack(
        [np.ones(int(good.sum())), *(x[good] - mean for (_, x), mean in zip(xs, means, strict=True))], axis=1
    )
    scaled = columns / np.maximum(np.std(columns, axis=0, keepdims=True), 1e-300)
    scaled[:, 0] = 1.0
    if np.linalg.cond(scaled) > 30:
        return None
    found = fit(columns, y[good])
    dof = max(1.0, found.effective - columns.shape[1])
    spread = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))

    def made(what: str, kind: str, at: int) -> Quantity:
        term = Term(name="scatter about the plane", u=float(spread[at]), dof=dof, text=f"{len(columns)} averages")
        return quantity(what, kind, float(found.beta[at]), [term], method="Huber's plane, Newey-West covariance")

    return Plane(
        name=name,
        slopes=tuple(made(f"{name} by {x}", f"{unit}/{x_unit}", at) for at, (x, _) in enumerate(xs, start=1)),
        means=tuple(means),
        at_means=made(f"{name} at the means", unit, 0),
        points=len(columns),
    )
