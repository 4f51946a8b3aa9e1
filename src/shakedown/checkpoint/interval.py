"""The published formulas of checkpoint intervals. Pure; every time in seconds, or all in any one unit.

An interval is the useful work between two checkpoints. ``mtti`` is the mean time to interrupt of the job, ``cost`` the time
that a checkpoint takes from it, ``restart`` the time from a failure until the work continues, failures in it aside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import BadInput

#: Newton's method doubles the digits of a start that has one; so many steps are never needed.
_STEPS = 60


class FirstOrder(NamedTuple):
    """Intervals by level (infinite where no failure needs the level) and the waste, a share of useful time."""

    intervals: tuple[float, ...]
    waste: float


def checked(mtti: float, cost: float = 0.0, restart: float = 0.0) -> None:
    """Raise BadInput where a mean time is not positive or a cost is negative; neither may be infinite or no number."""
    if not (math.isfinite(mtti) and mtti > 0):
        raise BadInput(
            f"a mean time to interrupt of {mtti:g} s is not possible",
            where="MTTI",
            hint="give a time above zero, such as 6 h; where no failure was seen: --failures 0 --over 72h",
        )
    for name, value in (("cost of a checkpoint", cost), ("restart", restart)):
        if not (math.isfinite(value) and value >= 0):
            raise BadInput(f"a {name} of {value:g} s is not possible", where=name, hint="give a time of zero or more")


def young(cost: float, mtti: float) -> float:
    """sqrt(2 d M), of first order in d/M. J. W. Young, Commun. ACM 17(9), 1974."""
    checked(mtti, cost)
    return math.sqrt(2 * cost * mtti)


def daly(cost: float, mtti: float) -> float:
    """sqrt(2 d M) [1 + (1/3) sqrt(d/2M) + (1/9) (d/2M)] - d below d = 2M, else M. J. T. Daly, Future Generation Computer
    Systems 22(3), 2006."""
    checked(mtti, cost)
    if cost >= 2 * mtti:
        return mtti
    part = cost / (2 * mtti)
    return math.sqrt(2 * cost * mtti) * (1 + math.sqrt(part) / 3 + part / 9) - cost


def exact(cost: float, mtti: float) -> float:
    """The interval of least expected time: M (1 + W0(-exp(-1 - d/M))), with Lambert's W.

    With y = tau/M it is the root of y = 1 - exp(-(y + d/M)), which is solved here: next to W's branch point, where M is a
    million times d, the closed form loses half of its digits.
    """
    checked(mtti, cost)
    delta = cost / mtti
    y = min(math.sqrt(2 * delta), 1.0)  # at or above the root, whence Newton's steps on a convex function fall to it
    for _ in range(_STEPS):
        slope = -math.expm1(-(y + delta))
        if slope == 0:
            return 0.0
        following = y - (y + math.expm1(-(y + delta))) / slope
        if not following < y:
            break
        y = following
    return y * mtti


def expected_waste(interval: float, cost: float, restart: float, mtti: float) -> float:
    """T/Ts - 1 = M e^(R/M) (e^((tau + d)/M) - 1)/tau - 1, exactly, for one level. Daly 2006, equation 20."""
    checked(mtti, cost, restart)
    if interval <= 0:
        return math.inf
    try:
        return mtti * math.exp(restart / mtti) * math.expm1((interval + cost) / mtti) / interval - 1
    except OverflowError:
        return math.inf


def multilevel(costs: Sequence[float], restarts: Sequence[float], rates: Sequence[float]) -> FirstOrder:
    """W_i = sqrt(2 c_i/l_i), waste = sum of sqrt(2 l_i c_i) + l_i R_i: of first order. A. Benoit et al., IEEE Trans.
    Computers 66(7), 2017.

    ``costs`` are those of a checkpoint of each level, which holds the levels below: c_i is what a level adds. ``rates`` are
    failures a second that need level i. Raises BadInput for a level that costs more than the one above it.
    """
    for cost, restart in zip(costs, restarts, strict=True):
        checked(1.0, cost, restart)
    intervals, waste, below = [], 0.0, 0.0
    for number, (cost, restart, rate) in enumerate(zip(costs, restarts, rates, strict=True), 1):
        if cost < below:
            raise BadInput(
                f"level {number} of {len(costs)} costs {cost:g} s, less than the {below:g} s of the one below it",
                where="costs by level",
                hint="leave the lower level out: the higher one is cheaper and holds after more failures",
            )
        more, below = cost - below, cost
        intervals.append(math.sqrt(2 * more / rate) if rate > 0 else math.inf)
        waste += math.sqrt(2 * rate * more) + rate * restart
    return FirstOrder(tuple(intervals), waste)


def asynchronous(blocked: float, drain: float, slowdown: float, restart: float, mtti: float) -> FirstOrder:
    """tau = sqrt(2 (a + s L) M), at least the drain L; waste = (a + s L)/tau + (tau/2 + L + R)/M: of first order.

    ``blocked`` is the time a in which the application waits, ``slowdown`` the share s of its speed that it loses while the
    checkpoint drains; what is saved protects once it has drained.
    """
    checked(mtti, blocked, restart)
    checked(mtti, drain)
    if not 0 <= slowdown < 1:
        raise BadInput(f"a slowdown of {slowdown:g} is not possible", where="slowdown", hint="from 0 % to below 100 %")
    lost = blocked + slowdown * drain
    interval = max(math.sqrt(2 * lost * mtti), drain)
    taken = lost / interval if interval > 0 else 0.0
    return FirstOrder((interval,), taken + (interval / 2 + drain + restart) / mtti)
