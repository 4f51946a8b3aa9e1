"""The additive model of pairs, fitted robustly to a list of pairs of any pattern.

With y the logarithm of a pair's time (or of the inverse of its rate: larger is slower),

    y_ij = b_i + b_j + offset_ij + e_ij

where b_i - median(b) is the effect of node i, and e_ij what the pair has beyond its two nodes. Where values differ by
direction every node counts twice, once sending and once receiving: the same model over twice as many vertices.

The estimate is that of iterated reweighting: first Huber's weights with a small bend (close to least absolute
deviations, which is convex, so there is one answer whatever the start), then Tukey's biweight (Maronna, Martin, Yohai,
"Robust statistics", 2006, sections 2.2 and 4.4), under which a pair beyond 4.7 deviations has no say at all: a slow link
makes neither of its nodes slow. Each step is a least-squares problem with the matrix D + A of the weighted graph (the
signless Laplacian), solved by conjugate gradients over the list of pairs: a million pairs take milliseconds.

In a part of the graph that is bipartite (two rounds of a tournament; every rack only against another rack; all pairs
where the directions are apart) one may add a constant to one side and take it from the other without any change. There
the medians of both sides are set equal: most nodes are healthy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..statistics import MAD_TO_SIGMA
from ..table import Floats, Ints

HUBER_BEND = 0.3  # in sigma: close to least absolute deviations, and still smooth at 0
BIWEIGHT_BEND = 4.685  # in sigma: 95 % efficient for normal noise
_HUBER_STEPS, _BIWEIGHT_STEPS = 12, 6
_DENSE = 512  # vertices up to which the covariance is computed exactly
_TINY = 1e-9  # relative: where all values are equal there is no scale


class Fit(NamedTuple):
    """``effects`` hold b; the rest is per pair, or per vertex where it says so."""

    effects: Floats  # per vertex; NaN for a vertex without a pair
    residuals: Floats
    weights: Floats  # 1: fully counted, 0: not at all
    scales: Floats  # sigma of each pair: the common one, larger where its own samples scatter more
    sigma: float
    leverage: Floats  # variance of b_i + b_j over sigma^2, without the pair itself for one that has no weight
    u: Floats  # per vertex: the standard uncertainty of b
    degrees: Ints  # per vertex
    dof: int  # pairs less the parameters that they determine
    loose: int  # parts of the graph that are bipartite: one contrast of each is not determined


def additive(a: Ints, b: Ints, y: Floats, vertices: int, spread: Floats | None = None) -> Fit:
    """Fit y = b[a] + b[b]. ``spread`` is each pair's own standard uncertainty, from its samples."""
    degrees = np.bincount(a, minlength=vertices) + np.bincount(b, minlength=vertices)
    sides, loose = _sides(a, b, degrees)
    parameters = int((degrees > 0).sum()) - loose
    excess = _excess(spread, len(y))
    x = np.where(degrees > 0, np.median(y) / 2, 0.0)
    for step in range(_HUBER_STEPS + _BIWEIGHT_STEPS):
        residuals = y - x[a] - x[b]
        sigma = scale(residuals, parameters)
        scales = np.sqrt(sigma**2 + excess)
        z = np.abs(residuals) / scales
        weights = np.minimum(1.0, HUBER_BEND / np.maximum(z, HUBER_BEND)) if step < _HUBER_STEPS else biweight(z)
        weights = _kept(weights, a, b, vertices)
        x = _level(_solve(a, b, y, weights / scales**2 * sigma**2, degrees, x), sides)
    residuals = y - x[a] - x[b]
    sigma = scale(residuals, parameters)
    scales = np.sqrt(sigma**2 + excess)
    weights = biweight(np.abs(residuals) / scales)
    inverse, covariances = _covariance(a, b, weights, degrees, sides)
    leverage = np.maximum(inverse[a] + inverse[b] + 2 * covariances, 0.0)
    inflation = _inflation(residuals / scales, len(y), parameters)
    x = np.where(degrees > 0, x, np.nan)
    u = sigma * np.sqrt(inflation * inverse)
    return Fit(x, residuals, weights, scales, sigma, leverage, u, degrees, max(len(y) - parameters, 0), loose)


def scale(residuals: Floats, parameters: int) -> float:
    """Robust sigma: the median of the absolute residuals, less as many of the least as there are parameters.

    A fit by least absolute deviations makes that many residuals zero, which says nothing of the noise.
    """
    sizes = np.abs(residuals)
    rank = min(parameters + (len(sizes) - parameters) // 2, len(sizes) - 1)
    middle = float(np.partition(sizes, rank)[rank])
    return max(MAD_TO_SIGMA * middle, _TINY)


def biweight(z: Floats) -> Floats:
    """Tukey's weights for residuals of ``z`` deviations."""
    inside = np.clip(1 - (z / BIWEIGHT_BEND) ** 2, 0.0, None)
    weights: Floats = inside**2
    return weights


def _excess(spread: Floats | None, count: int) -> Floats:
    """How much more a pair's own samples scatter (as a variance) than those of the typical pair."""
    if spread is None or not np.isfinite(spread).any():
        return np.zeros(count)
    squared = np.nan_to_num(spread, nan=0.0) ** 2
    found: Floats = np.maximum(squared - np.median(squared), 0.0)
    return found


def _kept(weights: Floats, a: Ints, b: Ints, vertices: int) -> Floats:
    """No vertex loses all of its pairs: one whose pairs all lie far off keeps them with a small weight."""
    total = _sums(a, b, weights, vertices)
    lost = total < 1e-3
    return np.where(lost[a] | lost[b], np.maximum(weights, 1e-3), weights) if lost.any() else weights


def _sums(a: Ints, b: Ints, amounts: Floats, vertices: int) -> Floats:
    """What the pairs of each vertex add up to."""
    return np.asarray(np.bincount(a, amounts, vertices) + np.bincount(b, amounts, vertices), float)


def _solve(a: Ints, b: Ints, y: Floats, weights: Floats, degrees: Ints, start: Floats) -> Floats:
    """Weighted least squares by conjugate gradients with the diagonal as preconditioner (Golub and Van Loan, 11.5)."""
    n = len(degrees)
    diagonal = _sums(a, b, weights, n)
    diagonal[diagonal == 0] = 1.0

    def apply(x: Floats) -> Floats:
        return _sums(a, b, weights * (x[a] + x[b]), n)

    weighted = weights * y
    x = start.copy()
    residual = _sums(a, b, weighted, n) - apply(x)
    direction = scaled = residual / diagonal
    product = float(residual @ scaled)
    goal = 1e-18 * max(float(weighted @ weighted), 1e-300)
    for _ in range(4 * 50):
        if product <= goal:
            break
        image = apply(direction)
        curve = float(direction @ image)
        if curve <= 0:
            break
        step = product / curve
        x = x + step * direction
        residual = residual - step * image
        scaled = residual / diagonal
        previous, product = product, float(residual @ scaled)
        direction = scaled + product / previous * direction
    return x


def _sides(a: Ints, b: Ints, degrees: Ints) -> tuple[list[tuple[Ints, Ints]], int]:
    """The two sides of every bipartite component: those whose double cover falls apart."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(degrees)
    ones = np.ones(2 * len(a), np.int8)
    cover = coo_matrix((ones, (np.concatenate([a, a + n]), np.concatenate([b + n, b]))), shape=(2 * n, 2 * n))
    _, labels = connected_components(cover, directed=False)
    first, second = labels[:n], labels[n:]
    split = (first != second) & (degrees > 0)
    found = []
    for label in np.unique(np.minimum(first, second)[split]):
        one = np.flatnonzero(split & (first == label))
        other = np.flatnonzero(split & (second == label))
        found.append((one, other))
    return found, len(found)


def _level(x: Floats, sides: list[tuple[Ints, Ints]]) -> Floats:
    for one, other in sides:
        shift = (np.median(x[one]) - np.median(x[other])) / 2
        x[one] -= shift
        x[other] += shift
    return x


def _covariance(
    a: Ints, b: Ints, weights: Floats, degrees: Ints, sides: list[tuple[Ints, Ints]]
) -> tuple[Floats, Floats]:
    """The diagonal of (D + A)^-1 per vertex, and its entry for each pair: exact for few vertices.

    For many, the first terms of the series D^-1 - D^-1 A D^-1 + ... suffice: degrees are large there.
    """
    n = len(degrees)
    weights = _kept(weights, a, b, n)
    total = _sums(a, b, weights, n)
    total[total == 0] = 1.0
    if n > _DENSE:
        squared = weights**2
        second = np.bincount(a, squared / total[b], n) + np.bincount(b, squared / total[a], n)
        return (1 + second / total) / total, np.zeros(len(a))
    matrix = np.diag(total)
    np.add.at(matrix, (a, b), weights)
    np.add.at(matrix, (b, a), weights)
    for one, other in sides:  # what is not determined is held, so that it adds no uncertainty
        held = np.zeros(n)
        held[one], held[other] = 1.0, -1.0
        matrix += np.outer(held, held) * total.mean()
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(matrix, hermitian=True)
    for one, other in sides:
        held = np.zeros(n)
        held[one], held[other] = 1.0, -1.0
        inverse -= np.outer(held, held) / (total.mean() * (held @ held) ** 2)
    diagonal: Floats = np.maximum(np.diag(inverse), 0.0)
    return diagonal, np.asarray(inverse[a, b], float)


def _inflation(z: Floats, count: int, parameters: int) -> float:
    """The variance of the robust estimate over that of least squares: E psi^2 / (E psi')^2 (Huber 1964), for few pairs
    with the usual factor n / (n - p)."""
    inside = np.abs(z) < BIWEIGHT_BEND
    t = np.where(inside, (z / BIWEIGHT_BEND) ** 2, 1.0)
    psi = z * (1 - t) ** 2
    slope = float(np.mean((1 - t) * (1 - 5 * t)))
    if slope <= 0.1:
        return 1.0
    return float(np.mean(psi**2)) / slope**2 * count / max(count - parameters, 1)
