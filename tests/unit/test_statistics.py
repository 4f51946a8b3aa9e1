"""Medians and their intervals: exact, against resampling, and by coverage."""

from __future__ import annotations

import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.analysis import statistics as stats


def resampled_interval(samples: list[float], resamples: int = 20_000) -> tuple[float, float]:
    """The textbook bootstrap, for comparison."""
    rng = np.random.default_rng(7)
    drawn = rng.choice(np.array(samples), size=(resamples, len(samples)), replace=True)
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


@pytest.mark.parametrize("n", [3, 5, 7, 9, 15, 21, 51, 101])
def test_the_ranks_are_those_of_endless_resampling_for_odd_counts(n: int) -> None:
    samples = [float(k) for k in range(n)]
    low, high = stats.median_interval(samples)
    expected_low, expected_high = resampled_interval(samples)
    assert abs(low - expected_low) <= 1 and abs(high - expected_high) <= 1


@pytest.mark.parametrize("n", [4, 6, 10, 20, 50])
def test_for_even_counts_the_interval_is_not_narrower_than_resampling_by_more_than_half_a_step(n: int) -> None:
    samples = [float(k) for k in range(n)]
    low, high = stats.median_interval(samples)
    expected_low, expected_high = resampled_interval(samples)
    assert low <= expected_low + 0.5 and high >= expected_high - 0.5


def test_the_interval_covers_the_true_median_about_as_often_as_it_says() -> None:
    rng = random.Random(3)
    hits = 0
    for _ in range(2000):
        low, high = stats.median_interval([rng.gauss(10, 1) for _ in range(25)])
        hits += low <= 10 <= high
    assert 0.92 <= hits / 2000 <= 0.985


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
