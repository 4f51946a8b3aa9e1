"""What a forecast has to beat: two formulas that need nothing but the measured rates.

log_linear    efficiency falls by the same amount with each doubling of the nodes
netlib        the closed formula of netlib's pages, its bandwidth calibrated
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import BadInput
from ..workloads.common.hpl import flop
from .setup import Row


def log_linear(observed: Sequence[Row], target: Row) -> float:
    """flop/s of ``target`` by the straight line through rate per rank over log2(ranks), by least squares.

    With one observed size the rate per rank is constant. Raises BadInput without any.
    """
    if not observed:
        raise BadInput("there is nothing to draw a line through", hint="give measured rows")
    doublings = np.array([math.log2(one.ranks) for one in observed])
    each = np.array([(one.rate or 0.0) / one.ranks for one in observed])
    if len(set(doublings.tolist())) < 2:
        return float(each.mean()) * target.ranks
    slope, level = np.polyfit(doublings, each, 1)
    return float(level + slope * math.log2(target.ranks)) * target.ranks


def netlib(observed: Sequence[Row], target: Row) -> float:
    """flop/s of ``target`` by netlib's formula (www.netlib.org/benchmark/hpl/scalability.html), latency left out:

        T = 2 N^3 / (3 P Q g) + beta N^2 (3 P + Q) / (2 P Q)

    with the rate g of a process and beta, the seconds of an 8-byte word, by least squares over ``observed`` (their
    relative residuals; beta is not below 0). Raises BadInput without a row.
    """
    if not observed:
        raise BadInput("there is nothing to calibrate with", hint="give measured rows")
    times = np.array([flop(one.n) / (one.rate or math.nan) for one in observed])
    terms = np.array([_terms(one) for one in observed]) / times[:, None]
    found, *_ = np.linalg.lstsq(terms, np.ones(len(observed)), rcond=None)
    if found[1] < 0 or len(observed) == 1:
        found = np.array([float(np.sum(terms[:, 0]) / np.sum(terms[:, 0] ** 2)), 0.0])
    return flop(target.n) / float(np.dot(_terms(target), found))


def _terms(row: Row) -> tuple[float, float]:
    return 2 * row.n**3 / (3 * row.ranks), row.n**2 * (3 * row.p + row.q) / (2 * row.ranks)
