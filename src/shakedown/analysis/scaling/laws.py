"""Laws of scaling, fitted to times with their noise. Pure.

Each law gives T(p) as a sum of columns with factors of at least 0, and one parameter inside the columns:

    Amdahl (1967)             T = A [(1 - f)/p + f]
    universal (Gunther 1993)  T = A [(1 - s)/p + s] + C (p - 1), overhead k = C/A       strong scaling
    Gustafson (1988)          T = A p / [s + (1 - s) p], whose scaled speedup is s + (1 - s) p
    linear overhead           T = A [1 + k (p - 1)]                                     weak scaling

The noise of a launch is taken as relative and alike at all counts; its variance is pooled over them: sum of squares of
the logarithms about their means, over nu degrees of freedom. Then, with RSS(x) the least sum of squares of relative
residuals over the factors while the parameter is x, in units of that variance, {x : RSS(x) - min RSS <= F(0.95; 1, nu)} is
the parameter's interval (profile likelihood; Seber and Wild, Nonlinear Regression, 1989, section 5.2.3), and
min RSS / (k - q) against F(k - q, nu) the test whether the law holds (lack of fit against pure error; Draper and Smith,
Applied Regression Analysis, 1998, section 2.1), for k counts and q parameters that are not at their bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...records import ScalingKind, ScalingLaw, ScalingPoint

Floats = NDArray[np.float64]

#: A law is said not to hold where a misfit like this one has less than this probability.
MISFIT = 0.01


class Noise(NamedTuple):
    """Of one launch: relative standard deviation, and degrees of freedom of that estimate; infinite where it was stated."""

    sigma: float
    freedom: float

    def half(self, per: float, level: float = 0.95) -> float:
        """Half the interval of a logarithm whose variance is ``per`` times that of one launch."""
        from scipy.stats import t

        return float(t.ppf((1 + level) / 2, self.freedom)) * self.sigma * math.sqrt(per)


def noise_of(points: Sequence[ScalingPoint], stated: float | None = None) -> Noise | None:
    """From repeats; where there are none, as ``stated`` (relative standard deviation of one launch). None: not known."""
    squares, freedom = 0.0, 0
    for one in points:
        logs = np.log(one.seconds)
        squares += float(((logs - logs.mean()) ** 2).sum())
        freedom += len(logs) - 1
    if freedom > 0 and squares > 0:
        return Noise(math.sqrt(squares / freedom), freedom)
    return Noise(stated, math.inf) if stated else None


def centre(point: ScalingPoint) -> float:
    """The time of a count: the geometric mean over its launches, in s."""
    return math.exp(math.fsum(map(math.log, point.seconds)) / len(point.seconds))


# ------------------------------------------------------------------------------------------------------------ the columns

Columns = Callable[[Floats, Floats], tuple[Floats, ...]]  # of counts (k) and parameters (m, 1): each m x k


def _amdahl(p: Floats, x: Floats) -> tuple[Floats, ...]:
    return ((1 - x) / p + x,)


def _universal(p: Floats, x: Floats) -> tuple[Floats, ...]:
    return (1 - x) / p + x, np.broadcast_to(p - 1, (len(x), len(p)))


def _gustafson(p: Floats, x: Floats) -> tuple[Floats, ...]:
    return (p / (x + (1 - x) * p),)


def _linear(p: Floats, x: Floats) -> tuple[Floats, ...]:
    return (1 + x * (p - 1),)


class _Form(NamedTuple):
    name: str
    parameter: str
    columns: Columns
    most: float  # of the parameter


FORMS: dict[ScalingKind, tuple[_Form, ...]] = {
    "strong": (
        _Form("Amdahl", "serial part", _amdahl, 1.0),
        _Form("universal", "serial part", _universal, 1.0),
    ),
    "weak": (
        _Form("Gustafson", "serial part", _gustafson, 1.0),
        _Form("linear overhead", "overhead a worker", _linear, 1e3),
    ),
}


class _Profile(NamedTuple):
    """Least sums of squares by the parameter, and the factors there."""

    rss: Floats  # m
    factors: Floats  # m x columns


def _profile(columns: tuple[Floats, ...], weight: Floats) -> _Profile:
    """Least squares of ``weight * (sum of factor * column) - target`` with factors of at least 0; at most two columns.

    ``weight`` (k) is sqrt(n) / (T sigma), so that the target is sqrt(n) / sigma.
    """
    target = weight[0]
    scaled = [column * weight[1] for column in columns]
    total = float(target @ target)
    first = scaled[0]
    alone = np.maximum((first @ target) / (first * first).sum(axis=1), 0)
    rss = total - alone * (first @ target)
    factors = np.zeros((len(first), len(columns)))
    factors[:, 0] = alone
    if len(scaled) == 2:
        second = scaled[1]
        aa, bb, ab = (first * first).sum(1), (second * second).sum(1), (first * second).sum(1)
        at, bt = first @ target, second @ target
        determinant = aa * bb - ab * ab
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = (bb * at - ab * bt) / determinant, (aa * bt - ab * at) / determinant
        inside = (determinant > 1e-12 * aa * bb) & (a > 0) & (b > 0)
        factors[inside, 0], factors[inside, 1] = a[inside], b[inside]
        rss = np.where(inside, total - a * at - b * bt, rss)
    return _Profile(np.maximum(rss, 0), factors)


class _Fitted(NamedTuple):
    form: _Form
    x: float
    rss: float
    factors: Floats
    at: Callable[[Floats], _Profile]

    def seconds(self, p: Floats) -> Floats:
        columns = self.form.columns(p, np.array([[self.x]]))
        made: Floats = sum(factor * column[0] for factor, column in zip(self.factors, columns, strict=True))
        return made

    @property
    def free(self) -> int:
        """Parameters that are not at their bound."""
        return int((self.factors > 0).sum()) + (0 < self.x < self.form.most)


def _fitted(form: _Form, points: Sequence[ScalingPoint], sigma: float) -> _Fitted:
    from scipy.optimize import minimize_scalar

    p = np.array([float(one.count) for one in points])
    times = np.array([centre(one) for one in points])
    target = np.sqrt([len(one.seconds) for one in points]) / sigma
    weight = np.stack([target, target / times])

    def at(x: Floats) -> _Profile:
        return _profile(form.columns(p, x[:, None]), weight)

    grid = grid_of(form.most)
    rss = at(grid).rss
    best = int(rss.argmin())
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    refined = minimize_scalar(
        lambda x: at(np.array([x])).rss[0], bounds=(low, high), method="bounded", options={"xatol": (high - low) * 1e-6}
    )
    x = float(refined.x) if refined.fun < rss[best] else float(grid[best])
    found = at(np.array([x]))
    return _Fitted(form, x, float(found.rss[0]), found.factors[0], at)


def grid_of(most: float) -> Floats:
    """Where a parameter is looked for: 0, and then by equal ratios."""
    return np.concatenate([[0.0], np.geomspace(1e-9, most, 1600)])


def _ends(fitted: _Fitted, limit: float) -> tuple[float, float]:
    """Where the sum of squares has grown by ``limit``, on either side; the parameter's bounds where it never does."""
    from scipy.optimize import brentq

    def above(x: float) -> float:
        return float(fitted.at(np.array([x])).rss[0]) - fitted.rss - limit

    grid = grid_of(fitted.form.most)
    beyond = fitted.at(grid).rss > fitted.rss + limit
    ends = []
    for side, bound in (
        (np.flatnonzero(grid < fitted.x)[::-1], 0.0),
        (np.flatnonzero(grid > fitted.x), fitted.form.most),
    ):
        first = next((at for at, index in enumerate(side) if beyond[index]), None)
        if first is None:
            ends.append(bound)
            continue
        inside = float(grid[side[first - 1]]) if first else fitted.x
        ends.append(float(brentq(above, inside, float(grid[side[first]]))))
    return ends[0], ends[1]


def fit(kind: ScalingKind, points: Sequence[ScalingPoint], noise: Noise | None) -> tuple[ScalingLaw, ...]:
    """The laws of this kind of scaling, for at least two counts. Without noise there are no intervals and no checks."""
    from scipy.stats import f

    laws = []
    for form in FORMS[kind]:
        fitted = _fitted(form, points, noise.sigma if noise else 1.0)
        low = high = probability = None
        if noise is not None:
            limit = float(f.ppf(0.95, 1, noise.freedom)) if math.isfinite(noise.freedom) else 3.8415
            low, high = _ends(fitted, limit)
            spare = len(points) - fitted.free
            if spare > 0:
                probability = _misfit(fitted.rss, spare, noise)
        laws.append(
            ScalingLaw(
                name=form.name,
                parameter_name=form.parameter,
                parameter=fitted.x,
                low=low,
                high=high,
                misfit_probability=probability,
                state=_state(probability),
                overhead=float(fitted.factors[1] / fitted.factors[0]) if len(fitted.factors) == 2 else None,
                seconds=tuple(fitted.seconds(np.array([float(one.count) for one in points])).tolist()),
            )
        )
    return tuple(laws)


def _state(probability: float | None) -> Literal["holds", "does not hold", "cannot be checked"]:
    if probability is None:
        return "cannot be checked"
    return "holds" if probability >= MISFIT else "does not hold"


def _misfit(rss: float, spare: int, noise: Noise) -> float:
    """The probability of a misfit at least so large, were the law true."""
    from scipy.stats import chi2, f

    if math.isfinite(noise.freedom):
        return float(f.sf(rss / spare, spare, noise.freedom))
    return float(chi2.sf(rss, spare))


def seconds_at(kind: ScalingKind, points: Sequence[ScalingPoint], count: float) -> dict[str, float]:
    """What each law says of a count, in s."""
    return {form.name: float(_fitted(form, points, 1.0).seconds(np.array([float(count)]))[0]) for form in FORMS[kind]}
