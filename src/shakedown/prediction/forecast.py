"""The forecast: an ensemble over what is not known, weighted by how well each draw explains the measured runs.

How draws are fitted and weighed is in calibration.py. A forecast is the weighted median of the draws; its interval is
from their weighted 10 % to their 90 % quantile, with the noise of a run and the model's own error added to each draw. The
model's error grows with the extrapolation, as a random walk over doublings of P, of Q and of the order a rank has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..records import Record
from ..workloads.common.hpl import flop, grid
from .calibration import Fit, calibrate, effective, evaluate, quantiles, rate_of
from .inputs import variants
from .model import SHARES
from .priors import Array, Sample, draw
from .setup import GPU_DISCREPANCY, Row, Setup, configs, ranks_each

#: What is counted, in words.
WORDS = {"nodes": "nodes", "gpus": "GPUs"}
DRAWS = 400
LEVEL = 0.8


_GPUS = (
    f"On GPUs the intervals are wide: the model does not know how DGEMM on a GPU depends on the sizes, and missed runs of "
    f"other systems by about {100 * GPU_DISCREPANCY:.0f} % for each doubling beyond what was measured. Runs nearer to the "
    "target, of as many ranks or as large a matrix for each, narrow them."
)


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
    variant: str = ""  # NB, broadcast and look-ahead, those that differ among the ways to run on so many nodes


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
    notices: tuple[str, ...] = ()  # what a reader must know of the measured runs: sentences


def forecast(
    setup: Setup, observed: Sequence[Row], targets: Sequence[Row], *, draws: int = DRAWS, seed: int = 1
) -> Forecast:
    """Forecast ``targets`` from ``observed`` runs, or from the DGEMM rate among the setup's inputs.

    A target's own rate is not looked at, but to report the error. Raises BadInput where neither is there, and where the
    model misses the observed runs.
    """
    if not observed and "dgemm" not in setup.priors:
        raise BadInput(
            "there is neither a measured run nor the DGEMM rate of a rank",
            hint="give run directories, --from with published rows, or input.dgemm in the model file",
        )
    sample = draw(setup.priors, draws, seed)
    fit, notices = calibrate(setup, observed, sample)
    if setup.counts == "gpus" and setup.error.discrepancy >= GPU_DISCREPANCY:
        notices = (*notices, _GPUS)
    calibrated = tuple(
        Calibrated(row=row, fitted=rate, error=rate / rate_of(row) - 1)
        for row, rate in zip(observed, fit.medians(), strict=True)
    )
    low, middle, high = (float(one) for one in quantiles(fit.dgemm, fit.weights))
    return Forecast(
        title=setup.title,
        counts=WORDS[setup.counts],
        predicted=tuple(
            _predict(setup, row, observed, sample, fit, variant)
            for row, variant in zip(targets, _variants(targets), strict=True)
        ),
        calibrated=calibrated,
        dgemm=(low, middle, high),
        draws=draws,
        effective_draws=effective(fit.weights),
        noise=fit.noise,
        stated_noise=setup.error.noise,
        seed=seed,
        notices=notices,
    )


def _variants(targets: Sequence[Row]) -> list[str]:
    """As they are named among those of the same number of nodes."""
    named: dict[int, str] = {}
    for count in {row.count for row in targets}:
        own = [index for index, row in enumerate(targets) if row.count == count and row.rate is None]
        named |= dict(zip(own, variants([targets[index].config for index in own]), strict=True))
    return [named.get(index, "") for index in range(len(targets))]


def _predict(setup: Setup, row: Row, observed: Sequence[Row], sample: Sample, fit: Fit, variant: str) -> Predicted:
    dgemm, weights = fit.dgemm, fit.weights
    run = evaluate(setup, row, sample, dgemm)
    rates = flop(row.n) / run.time_s
    of_dgemm = float(np.sum(weights * rates / (dgemm * row.ranks)))
    sigma = error_of(setup, observed, row, fit.noise, 1 - of_dgemm)
    low, _, high = quantiles(rates * np.exp(sigma * sample.normal), weights)
    middle = float(quantiles(rates, weights)[1])
    return Predicted(
        count=row.count,
        n=row.n,
        p=row.p,
        q=row.q,
        rate=middle,
        low=float(min(low, middle)),
        high=float(max(high, middle)),
        time_s=flop(row.n) / middle,
        of_dgemm=of_dgemm,
        shares={name: float(np.sum(weights * run.parts[name] / run.time_s)) for name in SHARES},
        sensitivity=_sensitivity(setup, row, sample, rates, weights, sigma),
        measured=row.rate,
        error=None if row.rate is None else middle / row.rate - 1,
        variant=variant,
    )


def error_of(setup: Setup, observed: Sequence[Row], target: Row, noise: float, overhead: float) -> float:
    """Standard deviation of what the draws leave out, relative: noise of a run and the model's error together.

    The model's error grows as a random walk over ``doublings`` of P, of Q and of the order a rank has, all counted, from
    the nearest observed run (from one node's grid without any); at least one half. Its variance a doubling is
    discrepancy^2 + (overhead_error x overhead)^2, where ``overhead`` is the share of the time beside DGEMM: what the
    model gets wrong is what it adds to DGEMM. Without any observed run there is the error of a model that was not
    calibrated besides.
    """
    besides = 0.0 if observed else setup.error.uncalibrated
    if observed:
        away = min(doublings(row, target) for row in observed)
    else:
        p, q = grid(ranks_each(setup))
        away = abs(math.log2(target.p / p)) + abs(math.log2(target.q / q))
    return math.hypot(noise, besides, model_error(setup, overhead) * math.sqrt(max(0.5, away)))


def model_error(setup: Setup, overhead: float) -> float:
    """Standard deviation of the model over one doubling, relative, where ``overhead`` of the time is beside DGEMM."""
    return math.hypot(setup.error.discrepancy, setup.error.overhead * min(max(overhead, 0.0), 1.0))


def doublings(one: Row, other: Row) -> float:
    """Doublings of P, of Q and of the order a rank has (N over the root of the ranks), all counted."""
    size = other.n / math.sqrt(other.ranks) / (one.n / math.sqrt(one.ranks))
    return abs(math.log2(other.p / one.p)) + abs(math.log2(other.q / one.q)) + abs(math.log2(size))


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
        ends = quantiles(column, weights)
        low, _, high = (float(one) for one in quantiles(value, weights))
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
