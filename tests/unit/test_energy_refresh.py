"""The refresh period and its phase from repeats, the least step: against simulated meters of known truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy.refresh import refresh, updates
from shakedown.energy.simulate import Load, Truth, observe
from shakedown.energy.steps import resolution
from shakedown.metering.meters import Status
from shakedown.metering.trace import Trace, trace
from support.characters import METER, ORIGIN_NS


def watched(period: float, poll: float, span: float, seed: int, **truth: float) -> tuple[Trace, Truth]:
    random = np.random.default_rng(seed)
    edges = np.concatenate([[0], np.cumsum(random.uniform(period, 12 * period, 200))])
    load = Load(edges, np.where(np.arange(len(edges)) % 2, 400.0, 100.0))
    meter = Truth(refresh_s=period, window_s=period / 4, phase_s=float(random.uniform(0, period)), **truth)
    return observe(load, meter, METER, 0, span, poll_s=poll, seed=seed, origin_ns=ORIGIN_NS), meter


@pytest.mark.parametrize(
    ("period", "poll", "step", "sd", "span"),
    [
        (0.101234, 0.0103, 0.01, 1.0, 60.0),
        (0.1, 0.02, 0.0, 1.0, 20.0),  # in step with the readings
        (10.0, 1.0, 1.0, 0.5, 600.0),
        (10.0, 0.2, 1.0, 0.0, 900.0),  # no noise: many refreshes bring the same again
        (1.0, 0.1, 4.0, 0.5, 300.0),
        (0.02, 0.001, 0.001, 0.3, 10.0),
        (5.0, 0.5, 10.0, 0.3, 900.0),
    ],
)
def test_the_interval_holds_the_period_and_the_phase_is_right(
    period: float, poll: float, step: float, sd: float, span: float
) -> None:
    for seed in range(12):
        true = period * (1 + np.random.default_rng(seed).uniform(-0.02, 0.02))
        seen, meter = watched(true, poll, span, seed, resolution=step, noise=sd)
        found = refresh(seen)
        assert found.how == "changes" and found.period_s is not None
        assert found.period_s.low <= true <= found.period_s.high
        assert found.period_s.high - found.period_s.low < 3 * poll * true / span
        off = ((found.phase_ns - ORIGIN_NS) * 1e-9 - meter.phase_s) / true
        assert abs(off - round(off)) < poll / true


def test_updates_are_what_each_refresh_brought() -> None:
    seen, meter = watched(0.1, 0.011, 30.0, 3, noise=1.0)
    every, _ = watched(0.1, 0.011, 30.0, 3, noise=1.0)
    made = updates(seen, refresh(seen))
    assert 295 <= len(made) <= 301
    n = (made.seconds(ORIGIN_NS) - meter.phase_s) / 0.1
    assert np.abs(n - np.round(n)).max() < 0.1
    # Every one of them was said by the meter, in this order, and next to none is left out.
    distinct = every.value[np.concatenate([[True], np.diff(every.value) != 0])]
    assert np.isin(made.value, distinct).all()
    assert len(np.unique(made.value)) > 0.98 * len(distinct)


def test_the_devices_own_stamps_are_taken() -> None:
    random = np.random.default_rng(1)
    stamps = ORIGIN_NS + np.repeat(np.arange(200) * 101_200_000 + random.normal(0, 2e5, 200).astype(np.int64), 3)
    seen = trace(METER, stamps, np.repeat(random.normal(300, 1, 200), 3))
    found = refresh(seen)
    assert found.how == "stamps" and found.period_s is not None
    assert found.period_s.low <= 0.1012 <= found.period_s.high
    assert found.jitter_s == pytest.approx(2e-4, rel=0.3)
    assert len(updates(seen, found)) == 200


def test_a_device_that_does_not_keep_time_is_fitted_with_its_jitter() -> None:
    random = np.random.default_rng(5)
    made = np.arange(300) * 1.0 + random.normal(0, 0.05, 300)
    polls = np.arange(0, 298, 0.04)
    values = random.normal(300, 5, 300)[np.maximum(np.searchsorted(made, polls, side="right") - 1, 0)]
    found = refresh(trace(METER, ORIGIN_NS + (polls * 1e9).astype(np.int64), values))
    assert found.period_s is not None and found.period_s.low <= 1.0 <= found.period_s.high
    assert found.jitter_s == pytest.approx(0.05, rel=0.4)


def test_reading_too_slowly_is_said_and_gives_a_bound() -> None:
    seen, _ = watched(0.1, 0.25, 60.0, 1, noise=1.0)
    found = refresh(seen)
    assert found.how == "bounded" and found.period_s is not None and found.period_s.low <= 0.1 <= found.period_s.high
    assert [one.code for one in found.notices] == ["refresh-bounded"]


@pytest.mark.parametrize("count", [0, 1, 5, 200])
def test_what_never_changes_has_no_period(count: int) -> None:
    found = refresh(trace(METER, ORIGIN_NS + np.arange(count) * 10**8, np.full(count, 300.0)))
    assert found.period_s is None and found.how == "unknown" and found.notices[0].advice


def test_gaps_are_no_changes() -> None:
    seen, meter = watched(1.0, 0.1, 200.0, 2, noise=1.0)
    status = np.zeros(len(seen), np.uint8)
    status[::7] = Status.GAP
    status[500:700] = Status.REFUSED
    found = refresh(trace(METER, seen.t_ns, seen.value, status=status))
    assert found.period_s is not None and found.period_s.low <= meter.refresh_s <= found.period_s.high


@settings(max_examples=60, deadline=None)
@given(
    step=st.sampled_from([0.01, 0.1, 0.25, 1.0, 4.0, 10.0]),
    start=st.floats(0, 50),
    steps=st.lists(st.integers(0, 60), min_size=40, max_size=80, unique=False),
)
def test_the_least_step_is_found(step: float, start: float, steps: list[int]) -> None:
    distinct = np.unique(steps)
    if np.gcd.reduce(np.diff(distinct)) != 1 or np.diff(distinct).min() > 12:
        return
    found = resolution(start + step * np.array(steps, float))
    assert found == pytest.approx(step, rel=1e-3)


def test_continuous_values_have_no_step() -> None:
    for seed in range(50):
        assert resolution(np.random.default_rng(seed).normal(400, 5, 300)) is None
    assert resolution(np.full(20, 3.0)) is None and resolution(np.empty(0)) is None
