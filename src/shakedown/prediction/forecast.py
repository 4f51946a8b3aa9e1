"""The forecast: an ensemble over what is not known, weighted by how well each draw explains the measured runs.

Each draw fixes every input within its range and one way of running (mapping, broadcast) where several are possible. The
DGEMM rate of a rank is then set so that the draw fits the measured runs in the mean; what is left over, r_i, weighs the
draw by exp(-1/2 sum (r_i / noise)^2): importance weights for normal errors of the runs. A forecast is the weighted
median of the draws; its interval is from their weighted 10 % to their 90 % quantile, with the noise of a run and the
model's own error added to each draw. The model's error grows with the extrapolation, as a random walk over doublings of
P and of Q. The noise is at least what the best draw leaves over, and is taken larger until a tenth of the draws
counts; the intervals widen with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..records import Record
from ..workloads._hpl import flop, grid
from .model import SHARES, Run, evaluate
from .priors import Array, Sample, draw, machine
from .setup import Row, Setup, configs, ranks_each

#: What is counted, in words.
WORDS = {"nodes": "nodes", "gpus": "GPUs"}
DRAWS = 400
LEVEL = 0.8
_QUANTILES = (0.1, 0.5, 0.9)
_FIT_STEPS = 4
_LEAST_EFFECTIVE = 0.1  # share of the draws
_DGEMM_EDGE = 0.01  # how sharply the range of the DGEMM rate ends, relative


class Moves(Record, frozen=True, kw_only=True):
    """How much one input moves the forecast: relative change of the rate from the input's 10 % to its 90 % quantile."""

    input: str
    title: str
    low: float  # the input at its 10 % and 90 % quantiles, given the measured runs
    high: float
    unit: str
    moves: float
    source: str


class Predicted(Record, frozen=True, kw_only=True):
    """The forecast of one run; ``low`` and ``high`` bound the interval of LEVEL. Rates in flop/s."""

    count: int  # nodes, or what the setup counts
    n: int
    p: int
    q: int
    rate: float
    low: float
    high: float
    time_s: float
    of_dgemm: float  # rate over the DGEMM rate of all ranks
    shares: dict[str, float]
    sensitivity: tuple[Moves, ...]  # the input that moves most first
    measured: float | None = None
    error: float | None = None  # forecast over measured, less 1


class Calibrated(Record, frozen=True, kw_only=True):
    """A run that the forecast was calibrated with: the median of the draws beside it."""

    row: Row
    fitted: float
    error: float


class Forecast(Record, frozen=True, kw_only=True):
    """Forecasts, and what they stand on."""

    title: str
    counts: str  # what ``count`` counts
    predicted: tuple[Predicted, ...]
    calibrated: tuple[Calibrated, ...]
    dgemm: tuple[float, float, float]  # of one rank: 10 %, 50 %, 90 % quantile
    draws: int
    effective_draws: float  # (sum w)^2 / sum w^2 of the weights w
    noise: float  # of a run; larger than stated where the measured runs agree with no draw, or not with one another
    stated_noise: float
    seed: int


def forecast(
    setup: Setup, observed: Sequence[Row], targets: Sequence[Row], *, draws: int = DRAWS, seed: int = 1
) -> Forecast:
    """Forecast ``targets`` from ``observed`` runs, or from the DGEMM rate among the setup's inputs.

    A target's own rate is not looked at, but to report the error. Raises BadInput where neither is there.
    """
    if not observed and "dgemm" not in setup.priors:
        raise BadInput(
            "there is neither a measured run nor the DGEMM rate of a rank",
            hint="give run directories, --from with published rows, or input.dgemm in the model file",
        )
    sample = draw(setup.priors, draws, seed)
    fit = _calibrate(setup, observed, sample)
    calibrated = tuple(
        Calibrated(row=row, fitted=rate, error=rate / _rate(row) - 1)
        for row, rate in zip(observed, (float(_quantiles(one, fit.weights)[1]) for one in fit.fitted), strict=True)
    )
    low, middle, high = (float(one) for one in _quantiles(fit.dgemm, fit.weights))
    return Forecast(
        title=setup.title,
        counts=WORDS[setup.counts],
        predicted=tuple(_predict(setup, row, observed, sample, fit) for row in targets),
        calibrated=calibrated,
        dgemm=(low, middle, high),
        draws=draws,
        effective_draws=_effective(fit.weights),
        noise=fit.noise,
        stated_noise=setup.error.noise,
        seed=seed,
    )


def _rate(row: Row) -> float:
    assert row.rate is not None
    return row.rate


class _Fit(NamedTuple):
    """For every draw: the DGEMM rate, the weight (their sum is 1), what it makes of each observed run (flop/s)."""

    dgemm: Array
    weights: Array
    fitted: list[Array]
    noise: float


def _calibrate(setup: Setup, observed: Sequence[Row], sample: Sample) -> _Fit:
    count = len(sample.normal)
    if not observed:
        return _Fit(np.asarray(sample.inputs["dgemm"]), np.full(count, 1 / count), [], setup.error.noise)
    logs = np.log([_rate(row) for row in observed])
    dgemm = np.full(count, np.mean([_rate(row) / row.ranks for row in observed]) * 1.1)
    for step in range(_FIT_STEPS):
        fitted = [flop(row.n) / _evaluate(setup, row, sample, dgemm).time_s for row in observed]
        left = logs[:, None] - np.log(fitted)
        if step < _FIT_STEPS - 1:
            dgemm = dgemm * np.exp(left.mean(axis=0))
    squares = ((left - left.mean(axis=0)) ** 2).sum(axis=0)
    beyond = np.zeros(count)
    if "dgemm" in setup.priors:  # a range for it weighs as one more observation
        prior = setup.priors["dgemm"]
        beyond = np.maximum(np.maximum(np.log(dgemm / prior.high), np.log(prior.low / dgemm)), 0.0)
    least = math.sqrt(float(squares.min()) / max(len(observed) - 1, 1))  # what even the best draw leaves
    noise = max(setup.error.noise, least)
    while True:
        edge = max(_DGEMM_EDGE, noise)
        misfit = squares / noise**2 + (beyond / edge) ** 2
        weights = np.exp(-(misfit - misfit.min()) / 2)
        if _effective(weights) >= count * _LEAST_EFFECTIVE:
            return _Fit(dgemm, weights / weights.sum(), fitted, noise)
        noise *= 1.1


def _effective(weights: Array) -> float:
    """(sum w)^2 / sum w^2: as many equal draws would tell as much."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _evaluate(setup: Setup, row: Row, sample: Sample, dgemm: Array) -> Run:
    """The model for every draw; each way of running has its share of the draws, in turn."""
    ways = configs(setup, row)
    if len(ways) == 1:
        return evaluate(ways[0], machine(sample.inputs, dgemm, setup.leaf_nodes))
    time_s = np.empty(len(dgemm))
    parts = {name: np.empty(len(dgemm)) for name in SHARES}
    for index, way in enumerate(ways):
        own = slice(index, None, len(ways))
        inputs = {name: value[own] for name, value in sample.inputs.items()}
        run = evaluate(way, machine(inputs, dgemm[own], setup.leaf_nodes))
        time_s[own] = run.time_s
        for name in SHARES:
            parts[name][own] = run.parts[name]
    return Run(time_s, parts)


def _predict(setup: Setup, row: Row, observed: Sequence[Row], sample: Sample, fit: _Fit) -> Predicted:
    dgemm, weights = fit.dgemm, fit.weights
    run = _evaluate(setup, row, sample, dgemm)
    rates = flop(row.n) / run.time_s
    sigma = error_of(setup, observed, row, fit.noise)
    low, _, high = _quantiles(rates * np.exp(sigma * sample.normal), weights)
    middle = float(_quantiles(rates, weights)[1])
    return Predicted(
        count=row.count,
        n=row.n,
        p=row.p,
        q=row.q,
        rate=middle,
        low=float(min(low, middle)),
        high=float(max(high, middle)),
        time_s=flop(row.n) / middle,
        of_dgemm=float(np.sum(weights * rates / (dgemm * row.ranks))),
        shares={name: float(np.sum(weights * run.parts[name] / run.time_s)) for name in SHARES},
        sensitivity=_sensitivity(setup, row, sample, rates, weights, sigma),
        measured=row.rate,
        error=None if row.rate is None else middle / row.rate - 1,
    )


def error_of(setup: Setup, observed: Sequence[Row], target: Row, noise: float) -> float:
    """Standard deviation of what the draws leave out, relative: sqrt(noise^2 + discrepancy^2 x doublings).

    ``doublings`` of P and of Q, both counted, from the nearest observed grid (from one node's without any); at least
    one half. Without any observed run there is the error of a model that was not calibrated besides.
    """
    grids = [(row.p, row.q) for row in observed] or [grid(ranks_each(setup))]
    away = (abs(math.log2(target.p / p)) + abs(math.log2(target.q / q)) for p, q in grids)
    besides = 0.0 if observed else setup.error.uncalibrated
    return math.hypot(noise, besides, setup.error.discrepancy * math.sqrt(max(0.5, min(away))))


def _quantiles(values: Array, weights: Array) -> Array:
    """Weighted quantiles, linear between the draws' middles."""
    ranked = np.argsort(values)
    sums = np.cumsum(weights[ranked])
    return np.asarray(np.interp(_QUANTILES, sums - weights[ranked] / 2, values[ranked]))


# ------------------------------------------------------------------------------------------------------------ sensitivity


def _sensitivity(
    setup: Setup, row: Row, sample: Sample, rates: Array, weights: Array, sigma: float
) -> tuple[Moves, ...]:
    """What each input moves, by weighted linear regression of the logarithm of the rate on all inputs at once."""
    varied: list[tuple[str, str, Array, str, str]] = []
    for name, prior in setup.priors.items():
        if prior.low < prior.high and name != "dgemm":
            varied.append((name, prior.title or name, sample.inputs[name], prior.unit, prior.source))
    ways = configs(setup, row)
    if len(ways) > 1:
        which = (np.arange(len(rates)) % len(ways)).astype(float)
        varied += [
            (f"way {index}", f"{way.mapping} mapping, {way.bcast} broadcast", (which == index) * 1.0, "1", "not stated")
            for index, way in enumerate(ways[1:], 1)
        ]
    columns = [np.log(np.maximum(value, 1e-300)) if value.min() > 0 else value for _, _, value, _, _ in varied]
    design = np.column_stack([np.ones(len(rates)), *columns])
    design = design - np.r_[0.0, (design[:, 1:] * weights[:, None]).sum(axis=0)]
    root = np.sqrt(weights)
    slopes, *_ = np.linalg.lstsq(design * root[:, None], np.log(rates) * root, rcond=None)
    found = []
    for (name, title, value, unit, source), column, slope in zip(varied, columns, slopes[1:], strict=True):
        ends = _quantiles(column, weights)
        low, _, high = (float(one) for one in _quantiles(value, weights))
        moves = math.expm1(float(slope) * float(ends[2] - ends[0]))
        found.append(Moves(input=name, title=title, low=low, high=high, unit=unit, moves=moves, source=source))
    found.append(_own_error(sigma))
    return tuple(sorted(found, key=lambda one: -abs(one.moves)))


def _own_error(sigma: float) -> Moves:
    """The model's error beside the inputs, over the same 80 %."""
    reach = 1.2816 * sigma
    return Moves(
        input="model",
        title="the model's own error and the noise of a run",
        low=-reach,
        high=reach,
        unit="%",
        moves=math.expm1(2 * reach),
        source="runs of another cluster forecast by the same kind of model",
    )


def summary(found: Forecast) -> dict[str, Any]:
    """Mean and greatest absolute error, share of rows inside their intervals and mean width of these (both ends over the
    forecast), over the rows that have a measured rate."""
    rows = [one for one in found.predicted if one.measured is not None]
    if not rows:
        return {}
    errors = [abs(one.error or 0.0) for one in rows]
    return {
        "rows": len(rows),
        "mean_error": sum(errors) / len(rows),
        "worst_error": max(errors),
        "covered": sum(one.low <= (one.measured or 0.0) <= one.high for one in rows) / len(rows),
        "mean_width": sum((one.high - one.low) / one.rate for one in rows) / len(rows),
    }
