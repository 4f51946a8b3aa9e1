"""What the tuner claims to have mattered: nothing where all values are equal, what is there where one is not.

The statistics over many sweeps are scripts/bench/tune_claims.py's, which is started here on a few.
"""

from __future__ import annotations

import math
import random

import msgspec
import pytest

from shakedown.tuning import explain, page
from shakedown.tuning.paired import Observation, compare, interval_of, joint_factor
from shakedown.tuning.records import Effect, Interval, Level
from support import bench
from support.tunings import result, trial


@pytest.mark.parametrize(("noise", "spikes"), [(0.01, 0.0), (0.03, 0.0), (0.01, 0.05)])
def test_on_equal_values_nothing_is_claimed(noise: float, spikes: float) -> None:
    found = bench.script("tune_claims").claims(3, noise, spikes, first_seed=3)
    assert found.false == 0


def test_an_effect_of_useful_size_is_claimed() -> None:
    found = bench.script("tune_claims").claims(2, 0.005, effect=0.05)
    assert (found.true, found.false) == (2, 0)


def test_joint_intervals_hold_all_comparisons_at_once() -> None:
    """Ten equal configurations in four blocks: the fastest against the slowest, the pair that luck puts farthest apart."""
    generator = random.Random(4)
    missed = 0
    for _ in range(200):
        seen = [
            Observation(item, block, shift + generator.gauss(0, 0.03))
            for block in range(4)
            for shift in [generator.gauss(0, 0.05)]
            for item in range(10)
        ]
        found = compare(seen)
        order = found.order()
        difference, error = found.difference(order[-1], order[0])
        missed += difference > joint_factor(found, 45) * error
    assert missed <= 0.05 * 200 + 2 * math.sqrt(200 * 0.05 * 0.95)


def test_nothing_is_known_of_noise_without_a_repetition() -> None:
    assert joint_factor(compare([Observation(item, 0, 0.0) for item in "abc"]), 3) == math.inf
    assert not interval_of(0.05, math.inf).bounded
    assert explain.interval(interval_of(0.05, math.inf)) == "+5.1 % [not known]"


def effect(low: float, *, as_chosen: bool = True) -> Effect:
    slower = Interval(value=0.49, low=low, high=2.85)
    own = Interval(value=0.0, low=0.0, high=0.0)
    levels = (Level(value="192", slower=own, runs=9), Level(value="64", slower=slower, runs=2, as_chosen=as_chosen))
    return Effect(axis="nb", chosen="192", levels=levels, spread=slower)


def test_an_interval_with_zero_in_it_is_no_effect() -> None:
    words = " ".join(explain.explanation(result(effects=(effect(-0.42),))))
    assert "NB mattered" not in words
    assert "No difference was distinguishable from noise for: NB." in words
    assert "NB mattered: NB 64 is +49 % [10.0, 285.0] slower than NB 192." in " ".join(
        explain.explanation(result(effects=(effect(0.1),)))
    )


def test_captions_say_where_points_ran_and_which_figures_are_missing() -> None:
    def html(one: Effect) -> str:
        found = msgspec.structs.replace(result(effects=(one,)), comparisons=12)
        return page.page(found, host="h", hpl_dat="", trials=[trial(1)], created_ns=0)

    elsewhere, direct = html(effect(0.1, as_chosen=False)), html(effect(0.1))
    assert "everything else as chosen" not in elsewhere
    assert "Run in other configurations only" in elsewhere and "Run in other configurations only" not in direct
    assert "corrected for all 12 comparisons" in direct
    assert "No figure for:" in direct
    assert "P x Q (no two configurations that differ in it alone gave valid runs)" in direct
    assert "binding (it was not varied)" in direct and "N (no smaller N was run)" in direct
