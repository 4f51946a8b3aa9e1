"""Medians and their intervals: exact, and by coverage."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from shakedown.analysis import statistics as stats


def coverage(n: int, low: int, high: int) -> float:
    """With which probability the median lies between these order statistics of n samples, whatever the distribution."""
    return sum(math.comb(n, k) for k in range(low + 1, high + 1)) / 2**n


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
def test_the_interval_holds_the_median_as_surely_as_it_says_and_is_the_narrowest_that_does(level: float) -> None:
    for n in range(1, 400):
        low, high = stats.median_ranks(n, level)
        if (low, high) == (0, n - 1) and stats.range_coverage(n) < level:
            continue
        assert coverage(n, low, high) >= level - 1e-12
        if low + 1 <= high - 1:
            assert coverage(n, low + 1, high - 1) < level


def test_of_few_samples_the_range_says_how_sure_it_is() -> None:
    for n in range(1, 12):
        assert stats.range_coverage(n) == pytest.approx(coverage(n, 0, n - 1))
    assert [stats.median_ranks(n) for n in (1, 2, 3, 4, 5, 6)] == [(0, n - 1) for n in (1, 2, 3, 4, 5, 6)]


@pytest.mark.parametrize("n", [2001, 2002, 10_000, 100_001])
def test_of_many_samples_the_ranks_are_hardly_wider_than_they_have_to_be(n: int) -> None:
    low, high = stats.median_ranks(n)
    exact = binom.ppf(0.025, n, 0.5) - 1  # two of our ranks below it at the most
    assert exact - 2 <= low <= exact + 0.5 and high == n - 1 - low


def test_the_interval_covers_the_true_median_at_least_as_often_as_it_says() -> None:
    rng = random.Random(3)
    for n in (7, 8, 11, 13, 23):
        hits = 0
        for _ in range(2000):
            low, high = stats.median_interval([rng.lognormvariate(0, 1) for _ in range(n)])
            hits += low <= 1 <= high
        assert hits / 2000 >= 0.94


def test_ranks_are_symmetric() -> None:
    for n in range(1, 400):
        low, high = stats.median_ranks(n)
        assert 0 <= low <= (n - 1) / 2 <= high <= n - 1
        assert low + high == n - 1 or abs(low + high - (n - 1)) <= 1


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=60))
def test_the_median_lies_in_its_interval_which_lies_in_the_range(samples: list[float]) -> None:
    low, high = stats.median_interval(samples)
    assert min(samples) <= low <= statistics.median(samples) <= high <= max(samples)


@given(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=40), st.randoms())
def test_the_order_of_samples_does_not_matter(samples: list[float], rng: random.Random) -> None:
    shuffled = samples[:]
    rng.shuffle(shuffled)
    assert stats.median_interval(samples) == stats.median_interval(shuffled)


def test_one_sample_has_no_width_and_none_has_no_interval() -> None:
    assert stats.relative_width([1.0]) is None
    with pytest.raises(ValueError, match="no samples"):
        stats.median_interval([])


def test_an_outlier_does_not_hide_itself() -> None:
    # mean and sigma that include the suspect can never flag one of five: the robust deviation does
    assert stats.outliers([10.0, 10.1, 9.9, 10.05, 50.0]) == (4,)
    assert stats.outliers([10.0, 10.1, 9.9, 10.05]) == ()
    assert stats.outliers([1.0, 1.0, 1.0, 1.0, 1.0001]) == (4,)


@pytest.mark.parametrize(
    ("found", "count", "low", "high"),
    [(0, 10, 0.0, 0.3085), (1, 10, 0.0025, 0.4450), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1.0)],
)
def test_the_interval_of_a_proportion_is_that_of_the_tables(found: int, count: int, low: float, high: float) -> None:
    got = stats.proportion_interval(found / count, count)
    assert got.low == pytest.approx(low, abs=5e-5) and got.high == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize("true", [1e-4, 0.003, 0.02, 0.5])
def test_the_interval_of_a_proportion_covers_the_truth_as_often_as_it_says(true: float) -> None:
    drawn = np.random.default_rng(3).binomial(2000, true, size=600)
    by_count = {count: stats.proportion_interval(count / 2000, 2000) for count in set(drawn.tolist())}
    assert np.mean([by_count[count].low <= true <= by_count[count].high for count in drawn.tolist()]) > 0.93


@pytest.mark.parametrize(("share", "count"), [(0.5, 0), (-0.1, 10), (1.1, 10), (float("nan"), 10)])
def test_no_proportion_has_no_interval(share: float, count: int) -> None:
    with pytest.raises(ValueError, match="not a proportion"):
        stats.proportion_interval(share, count)
