"""The link in user space: what it does to frames, without a network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.rehearsal_cluster import link, network

times = st.lists(st.floats(0, 1), min_size=1, max_size=50).map(sorted)


@given(times, st.floats(0, 0.5), st.sampled_from([0.0, 1e6, 1e9]))
def test_frames_leave_in_order_and_not_before_their_delay(arrivals: list[float], delay_s: float, rate: float) -> None:
    way = link.Direction(delay_s, 0.0, rate, 1)
    taken = [
        (now_s, bytes([index]) * 100) for index, now_s in enumerate(arrivals) if way.offer(bytes([index]) * 100, now_s)
    ]
    for now_s, frame in taken:
        due_s = next(at for at, held in way.waiting if held == frame)
        assert due_s >= now_s + delay_s + (800 / rate if rate else 0) - 1e-12
    assert way.due(10.0) == [frame for _, frame in taken]
    assert way.due(10.0) == []


@given(st.integers(1, 2000), st.sampled_from([1e6, 1e7, 1e8]))
def test_no_more_than_the_rate_leaves_and_the_queue_is_bounded(count: int, rate: float) -> None:
    way = link.Direction(0.0, 0.0, rate, 1)
    taken = sum(way.offer(bytes(1500), 0.0) for _ in range(count))
    last_s = way.waiting[-1][0]
    assert taken * 12000 / last_s == pytest.approx(rate)
    assert last_s <= link.QUEUE_S + 12000 / rate + 1e-9
    assert taken == count or last_s > link.QUEUE_S


@given(st.floats(0.01, 0.9), st.integers(0, 100))
def test_loss_is_the_fraction_that_was_asked_for(loss: float, seed: int) -> None:
    way = link.Direction(0.0, loss, 0.0, seed)
    lost = sum(not way.offer(b"x", 0.0) for _ in range(5000))
    assert abs(lost - 5000 * loss) < 6 * (5000 * loss * (1 - loss)) ** 0.5


def test_both_ways_of_shaping_have_one_queue() -> None:
    assert link.QUEUE_S == network.QUEUE_S
