"""Means and slopes of autocorrelated series.

A series of n readings is worth n / tau_int independent ones, tau_int = 1 + 2 sum rho_k over Geyer's initial positive,
monotone sequence (1992, section 3.3); a slope's uncertainty is that of Newey and West (1987).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...errors import BadInput
from ...metering.trace import Floats


class Mean(NamedTuple):
    """The mean of an autocorrelated series and what is known of it."""

    value: float
    u: float  # standard uncertainty
    dof: float
    tau_int: float  # in readings: how many of them are worth one independent one
    n_eff: float
    sd: float
    batch_u: float | None  # the same by batch means; None for fewer than 40 readings


class Slope(NamedTuple):
    """A straight line's slope, per second, with its uncertainty for autocorrelated residuals."""

    per_s: float
    u_per_s: float


def _lagged_products(values: Floats) -> Floats:
    """The sum of v_i v_(i+k) over i, for k = 0 ... n-1."""
    n = len(values)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(values, size)
    products: Floats = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:n]
    return products


def autocorrelation(values: Floats) -> Floats:
    """rho_k for k = 0 ... n-1 (divided by n, which keeps it positive definite)."""
    n = len(values)
    covariance = _lagged_products(values - values.mean())
    if covariance[0] <= 0:
        return np.concatenate([[1.0], np.zeros(n - 1)])
    out: Floats = covariance / covariance[0]
    return out


def tau_int(values: Floats) -> float:
    """1 + 2 sum rho_k by Geyer's initial positive, monotone sequence of rho_2m + rho_2m+1; in readings, at least 1.

    Anticorrelated series would have less than 1; that is not claimed here.
    """
    if len(values) < 4 or np.ptp(values) == 0:
        return 1.0
    rho = autocorrelation(values)
    pairs = rho[0 : len(rho) // 2 * 2 : 2] + rho[1::2][: len(rho) // 2]
    below = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: below[0] if len(below) else len(pairs)])
    return float(max(1.0, -1.0 + 2.0 * kept.sum()))


def mean_of(values: Floats) -> Mean:
    """The mean of an autocorrelated, steady series. Raises BadInput for an empty one.

    Since the sample's mean takes part of the scatter with it, the sum of squares has the expectation sigma^2 (n - tau_int),
    by which it is divided; the interval takes Student's t for n / tau_int - 1 degrees of freedom.
    """
    n = len(values)
    if n == 0:
        raise BadInput("there is no reading to take the mean of")
    mean = float(values.mean())
    if n == 1:
        return Mean(mean, math.inf, 1.0, 1.0, 1.0, 0.0, None)
    tau = min(tau_int(values), n / 2)
    square = float(np.sum((values - mean) ** 2))
    variance = square / (n - tau)
    # For the same reason every estimated rho_k is low by about tau / n, and their sum by about tau^2 / n.
    tau = min(tau * (1 + (tau - 1) / n), n / 2)
    n_eff = n / tau
    sd = math.sqrt(square / (n - 1))
    return Mean(mean, math.sqrt(variance / n_eff), max(1.0, n_eff - 1), tau, n_eff, sd, batch_means(values))


def batch_means(values: Floats, batches: int = 20) -> float | None:
    """The mean's standard uncertainty from the means of equal batches; None where a batch would hold fewer than two."""
    size = len(values) // batches
    if size < 2:
        return None
    means = values[: size * batches].reshape(batches, size).mean(axis=1)
    return float(means.std(ddof=1) / math.sqrt(batches))


def mser(values: Floats, batch: int = 5) -> int | None:
    """How many readings to cut from the head; None where the least lies at the limit of the search: no steady state."""
    count = len(values) // batch
    if count < 4:
        return 0
    means = values[: count * batch].reshape(count, batch).mean(axis=1)
    means = means - means.mean()
    left = count - np.arange(count)
    rest = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(means[::-1] ** 2)[::-1]
    limit = count // 2
    score = np.maximum(squares - rest**2 / left, 0.0)[: limit + 1] / left[: limit + 1] ** 2
    best = int(np.argmin(score))
    return None if best >= limit else best * batch


def blocks(t_s: Floats, values: Floats, most: int = 4000) -> tuple[Floats, Floats]:
    """The means of equal blocks, so that no more than ``most`` points remain; the last block may be left out."""
    size = -(-len(values) // most)
    count = len(values) // size if size else 0
    if size <= 1:
        return t_s, values
    shaped = (one[: count * size].reshape(count, size).mean(axis=1) for one in (t_s, values))
    return next(shaped), next(shaped)


def slope(t_s: Floats, values: Floats) -> Slope:
    """Ordinary least squares with Newey and West's covariance (Bartlett weights). The lag grows with the autocorrelation:
    at least 4 (n/100)^(2/9), else 2 tau_int of the residuals; small samples are corrected by n / (n - 2)."""
    n = len(values)
    if n < 3 or np.ptp(t_s) == 0:
        return Slope(0.0, math.inf)
    x = t_s - t_s.mean()
    square = float(x @ x)
    per_s = float(x @ values) / square
    residuals = values - values.mean() - per_s * x
    lags = min(n // 3, max(math.ceil(4 * (n / 100) ** (2 / 9)), math.ceil(2 * tau_int(residuals))))
    products = _lagged_products(x * residuals)[: lags + 1]
    weights = 1 - np.arange(1, lags + 1) / (lags + 1)
    total = float(products[0] + 2 * weights @ products[1:])
    return Slope(per_s, math.sqrt(max(total, 0.0) * n / (n - 2)) / square)
