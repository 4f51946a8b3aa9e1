"""Lines through pairs of values: slopes, outliers, bends, intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shakedown.energy.facility import regression
from shakedown.energy.uncertainty.quantity import Term

# ------------------------------------------------------------------------------------------------------------ regressions


def test_a_meters_gain_moves_the_slope_not_the_percentages() -> None:
    x = np.linspace(20, 50, 60)
    gain = Term(name="class of p", u=0.01, common="class of p")
    with_gain = regression.line("p", x, 1000 + 10 * x + np.sin(7 * x), reference=30, shared=gain)
    without = regression.line("p", x, 1000 + 10 * x + np.sin(7 * x), reference=30)
    assert with_gain.slope.u == pytest.approx(
        math.hypot(without.slope.u or 0, 0.01 * (without.slope.value or 0)), rel=1e-6
    )
    assert with_gain.relative == without.relative


def test_outliers_do_not_bend_the_line() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(20, 50, 200)
    y = 1000 + 10 * x + 5 * random.standard_normal(200)
    y[::20] -= 800  # nodes down for a while
    line = regression.line("p", x, y)
    plain = np.polyfit(x, y, 1)[0]
    assert line.slope.value == pytest.approx(10, abs=0.5)
    assert abs(plain - 10) > abs((line.slope.value or 0) - 10)


def test_intervals_hold_for_autocorrelated_scatter() -> None:
    """95 % intervals of the slope with AR(1) scatter of 0.7 hold the truth in at least 88 of 100 histories."""
    held = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        noise = np.zeros(240)
        for at in range(1, 240):
            noise[at] = 0.7 * noise[at - 1] + random.standard_normal()
        x = 35 + 8 * np.sin(np.arange(240) / 40 + seed)
        line = regression.line("p", x, 100 + 2 * x + noise)
        assert line.slope.interval is not None
        held += line.slope.interval[0] <= 2 <= line.slope.interval[1]
    assert held >= 88


@pytest.mark.parametrize("seed", range(4))
def test_a_bend_is_found_where_there_is_one_and_only_there(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.tile(np.linspace(20, 50, 150), 2)
    noise = 15 * random.standard_normal(300)
    straight = regression.line("p", x, 1000 + 10 * x + noise, bends=2)
    assert straight.bends == ()
    bent = regression.line("p", x, 1000 + 10 * x + 40 * np.maximum(x - 38, 0) + noise, bends=2)
    assert len(bent.bends) == 1 and bent.bends[0] == pytest.approx(38, abs=1.0)
    assert bent.slopes == pytest.approx((10, 50), rel=0.15)


def test_what_cannot_be_told_is_not_told() -> None:
    line = regression.line("p", np.arange(5.0), np.arange(5.0))
    assert line.slope.value is None and line.slope.notices[0].code == "few-points"
    x = np.linspace(20, 40, 100)
    assert regression.plane("c", [("a", x), ("b", 2 * x + 1e-6 * np.sin(x))], x) is None
    beyond = regression.line("p", x, 3 * x, reference=60)
    assert beyond.notices[0].code == "extrapolated"
