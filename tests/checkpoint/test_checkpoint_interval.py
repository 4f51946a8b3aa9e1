"""The published formulas against published figures, and the exact one against its own definition."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from shakedown.checkpoint import interval
from shakedown.errors import BadInput

#: MTTI, cost, restart; Young, Daly, exact, waste at the exact interval: minutes. Daly's own page has 117, 57 and 9.1.
VECTORS = [
    (1440, 5, 10, 120.000, 116.690, 116.690, 0.09576),
    (360, 5, 10, 60.000, 56.713, 56.714, 0.22043),
    (15, 5, 10, 12.247, 9.141, 9.167, 4.00832),
    (60, 1, 2, 10.954, 10.298, 10.298, 0.24812),
    (360, 0.5, 2, 18.974, 18.642, 18.642, 0.06049),
]
COST, RESTART, MIX = (5, 12, 25, 300), (30, 60, 90, 600), (0.6, 0.3, 0.08, 0.02)


@pytest.mark.parametrize("vector", VECTORS)
def test_one_level_by_the_published_figures(vector: tuple[float, ...]) -> None:
    mtti, cost, restart, young, daly, exact, waste = vector
    assert round(interval.young(cost, mtti), 3) == young
    assert round(interval.daly(cost, mtti), 3) == daly
    tau = interval.exact(cost, mtti)
    assert round(tau, 3) == exact
    assert interval.expected_waste(tau, cost, restart, mtti) == pytest.approx(waste, abs=6e-6)


@pytest.mark.parametrize(
    ("hours", "intervals", "waste"),
    [
        (1, (244.9, 409.9, 1081.7, 9949.9), 0.16963),
        (6, (600.0, 1004.0, 2649.5, 24372.1), 0.06555),
        (24, (1200.0, 2008.0, 5299.1, 48744.2), 0.03213),
    ],
)
def test_four_levels_by_the_published_figures(hours: int, intervals: tuple[float, ...], waste: float) -> None:
    found = interval.multilevel(COST, RESTART, [share / (3600 * hours) for share in MIX])
    assert tuple(round(one, 1) for one in found.intervals) == intervals
    assert round(found.waste, 5) == waste


@given(st.floats(-6, 1).map(lambda x: 10**x))
def test_the_exact_interval_is_lamberts_where_that_has_its_digits(share: float) -> None:
    closed = 1 + float(lambertw(-math.exp(-1 - share)).real)
    assert interval.exact(share, 1.0) == pytest.approx(closed, rel=1e-15 / share + 1e-9)


@given(st.floats(-14, 2), st.floats(-3, 9))
def test_nothing_is_better_than_the_exact_interval(share: float, size: float) -> None:
    mtti, cost = 10.0**size, 10.0 ** (size + share)
    tau = interval.exact(cost, mtti)
    assert 0 < tau <= mtti
    # The definition, where a difference of two wastes would drown in rounding: y = 1 - exp(-(y + d/M)).
    y = tau / mtti
    assert y == pytest.approx(-math.expm1(-(y + cost / mtti)), rel=1e-8)
    if share > -6:
        here = interval.expected_waste(tau, cost, 0.0, mtti)
        assert all(interval.expected_waste(tau * by, cost, 0.0, mtti) > here for by in (0.9, 1.1))


def test_daly_is_the_mtti_where_a_checkpoint_costs_twice_as_much() -> None:
    assert interval.daly(30.0, 15.0) == 15.0 and interval.daly(31.0, 15.0) == 15.0


def test_a_drain_bounds_the_interval_from_below() -> None:
    short = interval.asynchronous(1.0, 10.0, 0.1, 30.0, 3600.0)
    assert short.intervals == (pytest.approx(math.sqrt(2 * 2.0 * 3600)),)
    assert short.waste == pytest.approx(2 / 120 + (60 + 10 + 30) / 3600)
    assert interval.asynchronous(1.0, 500.0, 0.0, 30.0, 3600.0).intervals == (500.0,)
    assert interval.asynchronous(0.0, 0.0, 0.0, 30.0, 3600.0).waste == pytest.approx(30 / 3600)


@pytest.mark.parametrize("mtti", [0.0, -1.0, math.inf, math.nan])
def test_an_mtti_that_cannot_be_is_refused(mtti: float) -> None:
    for formula in (interval.young, interval.daly, interval.exact):
        with pytest.raises(BadInput, match="mean time to interrupt"):
            formula(1.0, mtti)


@pytest.mark.parametrize("cost", [-1.0, math.inf, math.nan])
def test_a_cost_that_cannot_be_is_refused(cost: float) -> None:
    with pytest.raises(BadInput, match="cost of a checkpoint"):
        interval.exact(cost, 60.0)
    with pytest.raises(BadInput):
        interval.multilevel((1.0, cost), (1.0, 1.0), (1.0, 1.0))
    with pytest.raises(BadInput):
        interval.asynchronous(1.0, cost, 0.0, 1.0, 60.0)


def test_a_level_that_costs_less_than_the_one_below_is_refused() -> None:
    with pytest.raises(BadInput, match="level 2 of 2 costs 4 s, less than the 5 s"):
        interval.multilevel((5.0, 4.0), (1.0, 1.0), (1.0, 1.0))


def test_a_level_that_nothing_needs_has_no_interval() -> None:
    assert interval.multilevel((5.0, 9.0), (1.0, 1.0), (0.01, 0.0)).intervals[1] == math.inf
