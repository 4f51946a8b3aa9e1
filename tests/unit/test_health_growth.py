"""Counters over time, and load over time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.operate.health import exposure
from shakedown.operate.health.growth import Counters, follow
from shakedown.operate.health.records import Exposure

HOUR = 3600.0


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 50)), min_size=1, max_size=40))
def test_an_increase_is_what_came_in_the_window_to_within_a_step(steps: list[tuple[int, int]]) -> None:
    """Each step: seconds that pass, errors that come. The window may begin up to one step earlier than asked."""
    now, value, kept = 0.0, 7, None
    came: list[tuple[float, int]] = []
    for seconds, errors in steps:
        now, value = now + seconds, value + errors
        came.append((now, errors))
        growth, kept = follow(kept, value, now, HOUR)
    inside = sum(errors for at, errors in came[1:] if at > now - HOUR)
    longer = sum(errors for at, errors in came[1:] if at > now - HOUR - HOUR / 12 - 1000)
    assert inside <= growth.increase <= longer
    assert kept is not None and len(kept["ring"]) <= 20


def test_the_first_value_is_no_increase_and_a_reset_is_one_in_full() -> None:
    growth, kept = follow(None, 65000, 0.0, HOUR)
    assert growth.first and growth.increase == 0
    growth, kept = follow(kept, 65010, 60.0, HOUR)
    assert (growth.increase, growth.seconds, growth.reset) == (10, 60.0, False)
    growth, kept = follow(kept, 4, 120.0, HOUR)
    assert growth.reset and growth.increase == 14


@pytest.mark.parametrize(
    ("gap_h", "within", "words"), [(1, 240, "an hour"), (4, 60, "an hour, on average over 4.0 hours")]
)
def test_what_came_between_calls_that_lie_far_apart_is_shared_out(gap_h: int, within: float, words: str) -> None:
    _, kept = follow(None, 0, 0.0, HOUR)
    growth, kept = follow(kept, 240, gap_h * HOUR, HOUR)
    assert growth.within == within and growth.increase == 240
    assert growth.words(HOUR).endswith(words)
    growth, _ = follow(kept, 250, (gap_h + 2) * HOUR, HOUR)
    assert growth.within == 5


def test_several_callers_see_the_same_increase() -> None:
    _, kept = follow(None, 0, 0.0, HOUR)
    seen = []
    for n in range(1, 10):  # ten errors at once, then a call each minute
        growth, kept = follow(kept, 10, n * 60.0, HOUR)
        seen.append(growth.increase)
    assert seen == [10] * 9


def test_a_counter_that_cannot_be_read_this_time_is_not_forgotten() -> None:
    first = Counters({}, 0.0, HOUR)
    first.grown("a", 5)
    second = Counters(first.kept, 60.0, HOUR)
    assert second.kept == first.kept
    assert Counters(first.kept, 40 * 86400.0, HOUR).kept == {}


def test_a_state_of_load_holds_until_the_next_call() -> None:
    busy = exposure.word({"gpus": 4, "gpus_busy": 4, "cpus": 24, "load_1min": 20})
    assert busy == "gpus=4/4 cpu=high"
    one = exposure.advance(Exposure(), 1000.0, busy, 0.0)
    assert exposure.at(one, 1200.0, 0.0) == busy
    two = exposure.advance(one, 1300.0, "gpus=0/4 cpu=low", 0.0)
    assert two.seconds == {busy: 300.0} and two.last == "gpus=0/4 cpu=low"
    assert exposure.figures({"gpus": 4, "gpus_busy": 4, "gpu_power_w": 1400.0, "cpus": 24, "load_1min": 20}) == (
        "4 of 4 GPUs busy, GPUs at 1400 W, load 20.0 on 24 CPUs"
    )
    assert exposure.at(two, 1299.0, 0.0) == ""  # before the last call: the kernel's log was read then


def test_a_state_that_is_too_old_or_of_an_earlier_start_is_not_known() -> None:
    one = exposure.advance(Exposure(), 1000.0, "cpu=low", 0.0)
    late = 1000.0 + exposure.HOLD_S
    assert exposure.at(one, late, 0.0) == "cpu=low" and exposure.at(one, late + 1, 0.0) == ""
    assert exposure.at(one, 1100.0, 1050.0) == ""
    assert exposure.advance(one, late + 9000, "cpu=low", 0.0).seconds == {"cpu=low": exposure.HOLD_S}
    assert exposure.advance(one, 1100.0, "cpu=low", 1050.0).seconds == {}


@given(st.lists(st.tuples(st.floats(1, 1000), st.sampled_from(("", "cpu=low", "cpu=high"))), max_size=30))
def test_the_time_watched_is_the_time_in_all_known_states(steps: list[tuple[float, str]]) -> None:
    now, one, known = 1.0, Exposure(), 0.0
    for seconds, state in steps:
        if one.last:
            known += seconds
        now += seconds
        one = exposure.advance(one, now, state, 0.0)
    assert sum(one.seconds.values()) == pytest.approx(known)
