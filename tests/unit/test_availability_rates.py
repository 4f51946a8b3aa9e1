"""Rates of failures and repairs, with exact intervals."""

from __future__ import annotations

import numpy as np
import pytest

from shakedown.operate.availability import rates


def test_rates_have_chi_square_intervals_and_no_failure_gives_a_bound() -> None:
    # NIST/SEMATECH e-Handbook 8.4.5.1: 2 failures in 1600 h; 90 % two-sided: 254 to 4503.
    two = rates.between("x", "x", 1600, 2, formula="", level=0.90)
    assert two.value_h == 800
    assert two.low_h == pytest.approx(254, abs=1) and two.high_h == pytest.approx(4503, abs=2)
    none = rates.between("x", "x", 1000, 0, formula="")
    assert none.value_h is None and none.high_h is None
    assert none.low_h == pytest.approx(1000 / -np.log(0.05), rel=1e-9)


def test_repairs_that_are_not_over_add_their_time_and_no_repair() -> None:
    seconds = np.array([3600, 7200, 36000])
    one = rates.to_mend(seconds, np.array([False, False, True]))
    assert one.value_h == pytest.approx((1 + 2 + 10) / 2) and one.censored == 1
    none = rates.to_mend(np.array([3600]), np.array([True]))
    assert none.value_h is None and none.low_h is not None


def test_shares_have_exact_intervals() -> None:
    assert rates.share(0, 10)[2] == pytest.approx(1 - 0.025 ** (1 / 10))
    assert rates.share(10, 10)[1] == pytest.approx(0.025 ** (1 / 10))
    value, low, high = rates.per(3, 1000)
    assert (value, low) == (0.003, pytest.approx(0.000619, abs=1e-6)) and high == pytest.approx(0.008767, abs=1e-6)


def test_a_node_that_kills_jobs_is_found_among_its_peers_and_chance_is_not() -> None:
    jobs = np.full(100, 200)
    failed = np.full(100, 4)
    assert rates.beyond_the_others(failed, jobs) == []
    failed[17] = 40
    ((at, expected, p),) = rates.beyond_the_others(failed, jobs)
    assert at == 17 and expected == pytest.approx(4) and p < 1e-6
