"""From a few windows to a whole run: fit the time of one step over the order that is left, and add up all steps.

A step at trailing order n takes t(n) = a n^2 + b n + c: the update's multiplication grows with n^2, triangular solves,
row exchange and panels with n, latencies do not grow. A window's seconds are the sum of its own steps, so the fit is
linear. What windows do not see: the last steps, where there is too little work for all ranks, and the back
substitution. So a choice made from windows is checked by whole runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from .records import Window


class Step(NamedTuple):
    """Seconds of one step: a n^2 + b n + c at trailing order n."""

    a: float
    b: float
    c: float

    def seconds(self, n: float) -> float:
        return self.a * n * n + self.b * n + self.c


def orders(n: int, nb: int, panels: int) -> list[int]:
    """The trailing order at the start of each of the first ``panels`` steps of a matrix of order n."""
    return [n - nb * index for index in range(min(panels, -(-n // nb)))]


def fit(windows: Sequence[Window], nb: int) -> Step:
    """The step times that fit the windows best, relative to their seconds, none of a, b, c below zero.

    One window gives a alone, two give a and b. Raises ValueError where there is no window.
    """
    if not windows:
        raise ValueError("no windows")
    rows = []
    for window in windows:
        left = orders(window.order, nb, window.panels)
        sums = (sum(n * n for n in left), sum(left), len(left))
        rows.append([value / window.seconds for value in sums])
    scale = [max(row[j] for row in rows) for j in range(3)]
    rows = [[row[j] / scale[j] for j in range(3)] for row in rows]
    unknowns = range(min(3, len({window.order for window in windows})))
    best: tuple[float, list[float]] | None = None
    for size in range(1, len(unknowns) + 1):
        for chosen in combinations(unknowns, size):
            found = _least_squares([[row[j] for j in chosen] for row in rows])
            if found is None or min(found) < 0:
                continue
            error = sum((sum(x * row[j] for x, j in zip(found, chosen, strict=True)) - 1) ** 2 for row in rows)
            if best is None or error < best[0] - 1e-15:
                full = [0.0, 0.0, 0.0]
                for x, j in zip(found, chosen, strict=True):
                    full[j] = x / scale[j]
                best = error, full
    assert best is not None  # a alone is always above zero
    return Step(*best[1])


def _least_squares(rows: Sequence[Sequence[float]]) -> list[float] | None:
    """x that minimises the sum over rows of (row x - 1)^2; None where rows do not determine it."""
    found, _, rank, _ = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=1e-12)
    return [float(value) for value in found] if rank == len(rows[0]) else None


def whole_seconds(windows: Sequence[Window], n: int, nb: int) -> float:
    """Seconds of the factorization of order n, integrated from windows. Raises ValueError without one."""
    step = fit(windows, nb)
    return sum(step.seconds(left) for left in orders(n, nb, -(-n // nb)))


def cost_share(shares: Sequence[float], columns: int, n: int) -> float:
    """The windows' part of the operations of a whole factorization: each does ``columns`` columns of an order share n.

    2 (share n)^2 columns of 2/3 n^3, no more than the whole of each.
    """
    return sum(min(3 * share**2 * columns / n, share**3) for share in shares)
