"""The factor of paired launches: its interval holds the truth, limits bound it, too few rounds say nothing."""

from __future__ import annotations

import math
import random

import pytest

from shakedown.placement.price import AS_LAUNCHED, Factor, Launched, factors, order

LIMIT_S = 100.0


def launches(pairs: list[tuple[float | None, float | None]]) -> list[Launched]:
    return [
        Launched(arrangement=name, round=number, seconds=seconds)
        for number, both in enumerate(pairs, 1)
        for name, seconds in zip((AS_LAUNCHED, "compact"), both, strict=True)
    ]


def factor(pairs: list[tuple[float | None, float | None]]) -> Factor:
    (found,) = factors(launches(pairs), LIMIT_S)
    return found


def simulated(truth: float, rounds: int, rng: random.Random) -> Factor:
    """Launches that drift together by a half, scatter by 5 %, and have a second mode as guests do."""
    pairs: list[tuple[float | None, float | None]] = []
    for number in range(rounds):
        drift = 1 + 0.5 * math.sin(number)
        scatter = [math.exp(rng.gauss(0, 0.05)) * (2.5 if rng.random() < 0.1 else 1) for _ in range(2)]
        pairs.append((truth * drift * scatter[0], drift * scatter[1]))
    return factor(pairs)


@pytest.mark.parametrize("rounds", [6, 9, 20])
@pytest.mark.parametrize("truth", [1.0, 1.1, 2.0, 5.0])
def test_the_interval_holds_the_truth(rounds: int, truth: float) -> None:
    rng = random.Random(f"{rounds} {truth}")
    series = [simulated(truth, rounds, rng) for _ in range(400)]
    held = sum(one.low is not None and one.high is not None and one.low <= truth <= one.high for one in series)
    # at least 95 %: 400 draws of 0.95 give fewer than 366 once in a thousand
    assert held >= 366
    if truth == 1.0:
        assert sum(one.verdict != "not distinguished" for one in series) <= 34
    if truth == 5.0 and rounds >= 9:
        assert all(one.verdict == "costs" for one in series)


def test_launches_that_do_not_end_bound_the_factor_from_below() -> None:
    found = factor([(None, 2.0)] * 9)
    assert (found.verdict, found.low, found.high) == ("costs", 50.0, None)
    some = factor([(None, 2.0)] * 2 + [(10.0, 2.0)] * 7)
    assert some.low == 5.0 and some.high is None
    one = factor([(None, 2.0)] + [(10.0, 2.0)] * 8)
    assert (one.low, one.high) == (5.0, 5.0)


def test_an_arrangement_that_does_not_end_is_said_so() -> None:
    assert factor([(2.0, None)] * 9).verdict == "did not end"


def test_too_few_rounds_have_a_factor_and_no_interval() -> None:
    found = factor([(2.0, 1.0)] * 5)
    assert (found.factor, found.low, found.verdict) == (2.0, None, "too few rounds")


def test_a_launch_that_went_wrong_counts_for_nothing() -> None:
    rounds = launches([(2.0, 1.0)] * 7)
    spoilt = [*rounds[:-1], Launched(arrangement="compact", round=7, seconds=1e-3, wrong="exit code 1")]
    (found,) = factors(spoilt, LIMIT_S)
    assert (found.rounds, found.factor) == (6, 2.0)


def test_rounds_are_launched_in_an_order_that_is_drawn_and_repeats() -> None:
    names = ("a", "b", "c")
    drawn = [order(names, number) for number in range(30)]
    assert drawn == [order(names, number) for number in range(30)]
    assert {one[0] for one in drawn} == set(names) and all(sorted(one) == list(names) for one in drawn)
