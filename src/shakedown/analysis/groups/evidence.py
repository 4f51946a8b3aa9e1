"""From a part's effect to the probability that chance alone makes it: noise, and places that differ without being at fault.

Healthy places differ, and a group is as slow as its slowest member. So a place's effect, the mean of its groups, is that of
a maximum: with x the place's own slowness, normal with the scatter s between healthy places, and M the slowest of its k - 1
fellows,

    m(x) = E max(x, M) - E max(of k)

which rises hardly at all below the middle and with slope 1 far above it. The scatter s is the one whose quantiles of
m(x) plus noise are those that were seen, from the median to the upper tenth (of few places to the upper quarter: so many
may be at fault), less one standard error of that distance. The probability of an effect is the integral over x, with
Student's t for x since s is itself an estimate. Parts of other kinds are normal, with the scatter of their fast half.

Names are given at a false-discovery rate by the procedure of Benjamini and Hochberg (1995) over all parts that were judged.
"""

from __future__ import annotations

import functools

import numpy as np

from ..statistics import MAD_TO_SIGMA
from ..table import Floats

MOST_DOF = 200.0
FEWEST_KIN = 8  # parts of a kind, before their scatter says anything
_AT_FAULT = 16  # places that may be at fault among many, and
_TENTH, _QUARTER = 0.1, 0.25  # the share that may be at least and at most
_GRID = np.linspace(-8.0, 8.0, 321)
_STEP = float(_GRID[1] - _GRID[0])
_RATIOS = np.concatenate([[0.0], np.geomspace(0.1, 60.0, 40)])  # of s over the uncertainty of an effect


@functools.cache
def _of_place(size: int) -> Floats:
    """m(x) on the grid for unit scatter, less its median."""
    from scipy.special import ndtr

    others = ndtr(_GRID) ** (size - 1)  # the distribution of the slowest fellow
    # E max(x, M) = x + integral of (1 - F_M) from x on
    middle = _GRID + np.cumsum((1 - others)[::-1])[::-1] * _STEP
    found: Floats = middle - float(np.interp(0.0, _GRID, middle))
    return found


@functools.cache
def _distances(size: int, share: float) -> Floats:
    """From the median to the upper quantile of m(x) plus noise, in units of the noise, for each of the ratios."""
    from scipy.special import ndtr

    density = np.exp(-(_GRID**2) / 2) / np.sqrt(2 * np.pi) * _STEP
    found = []
    for ratio in _RATIOS.tolist():
        shifts = ratio * _of_place(size)
        y = np.linspace(shifts[0] - 5.0, ratio * 4.0 + 5.0, 600)
        below = ndtr(y[:, None] - shifts[None, :]) @ density
        found.append(float(np.interp(1 - share, below, y) - np.interp(0.5, below, y)))
    return np.array(found)


def place_scatter(effects: Floats, u: Floats, size: int) -> tuple[float, float]:
    """The typical effect of places, and how healthy ones scatter; 0 where nothing beyond noise is seen."""
    if len(effects) < FEWEST_KIN:
        return 0.0, 0.0
    share = min(_QUARTER, max(_TENTH, _AT_FAULT / len(effects)))
    centre, high = np.quantile(effects, (0.5, 1 - share)).tolist()
    typical = float(np.median(u))
    # the standard error of that distance, for normal effects: sqrt(p (1 - p) / n) / density, and the median's
    error = 1.7 / np.sqrt(len(effects))
    seen = (high - centre) / typical - error
    return centre, typical * float(np.interp(seen, _distances(size, share), _RATIOS))


def scatter(effects: Floats, u: Floats) -> tuple[float, float]:
    """The typical effect of parts of one kind, and how they scatter beyond ``u``, from the fast half."""
    if len(effects) < FEWEST_KIN:
        return 0.0, 0.0
    centre = float(np.median(effects))
    total = MAD_TO_SIGMA * float(np.median(centre - effects[effects <= centre]))
    return centre, float(np.sqrt(max(total**2 - float(np.median(u)) ** 2, 0.0)))


def chance(effects: Floats, u: Floats, spread: float, dof: float, size: int = 0, places: int = 0) -> Floats:
    """P(chance makes a part at least as slow). ``size`` of the groups and how many ``places`` there are, for places; 0: the
    spread is that of the effects."""
    from scipy.special import stdtr

    dof = min(dof, MOST_DOF)
    if spread <= 0:
        return np.asarray(stdtr(dof, -effects / u), float)
    if not size:
        return np.asarray(stdtr(dof, -effects / np.sqrt(u**2 + spread**2)), float)
    of_spread = min(max(places / 2, 2.0), MOST_DOF)
    density = _t_density(_GRID, of_spread) * _STEP
    z = (spread * _of_place(size)[None, :] - effects[:, None]) / u[:, None]
    beyond = float(stdtr(of_spread, -_GRID[-1]))  # places farther out than the grid
    found: Floats = np.minimum(np.asarray(stdtr(dof, z) @ density, float) + beyond, 1.0)
    return found


def _t_density(x: Floats, dof: float) -> Floats:
    from scipy.special import gammaln

    constant = float(gammaln((dof + 1) / 2) - gammaln(dof / 2)) - 0.5 * np.log(dof * np.pi)
    found: Floats = np.exp(constant - (dof + 1) / 2 * np.log1p(x**2 / dof))
    return found


def quantile(p: float, dof: float) -> float:
    from scipy.special import stdtrit

    return float(-stdtrit(min(dof, MOST_DOF), p))
