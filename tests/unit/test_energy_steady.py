"""Means of autocorrelated readings, steady windows, warm-ups: against series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.special import stdtrit

from shakedown.energy import steady
from shakedown.energy.uncertainty import correlated
from shakedown.errors import BadInput
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Floats, Trace, trace

ORIGIN = 1_700_000_000 * 10**9
CHANNEL = Channel(id="m/power", title="power", quantity="power", unit="W", scope="last", place="node")


def ar1(rng: np.random.Generator, n: int, phi: float) -> Floats:
    return lfilter([1.0], [1.0, -phi], rng.standard_normal(n + 500))[500:]


def readings(values: Floats, every_s: float = 1.0) -> Trace:
    t_ns = ORIGIN + np.round((np.arange(len(values)) + 1) * every_s * 1e9).astype(np.int64)
    return trace(CHANNEL, t_ns, values)


def window(one: Trace) -> tuple[int, int]:
    return ORIGIN, int(one.t_ns[-1])


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_95_percent_intervals_of_the_mean_cover_95_percent(phi: float) -> None:
    rng = np.random.default_rng(7)
    hits = naive = 0
    repeats, n = 600, 1800
    for _ in range(repeats):
        found = correlated.mean_of(ar1(rng, n, phi))
        hits += abs(found.value) <= stdtrit(found.dof, 0.975) * found.u
        naive += abs(found.value) <= 1.96 * found.sd / np.sqrt(n)
    assert 0.93 <= hits / repeats <= 0.97
    if phi == 0.9:
        assert naive / repeats < 0.45  # what s / sqrt(n) claims


def test_tau_int_of_ar1_is_its_closed_form() -> None:
    rng = np.random.default_rng(3)
    found = np.mean([correlated.tau_int(ar1(rng, 20_000, 0.9)) for _ in range(20)])
    assert found == pytest.approx((1 + 0.9) / (1 - 0.9), rel=0.05)


def test_batch_means_agree_with_tau_int() -> None:
    found = correlated.mean_of(ar1(np.random.default_rng(5), 50_000, 0.8))
    assert found.batch_u == pytest.approx(found.u, rel=0.4)


def test_few_or_equal_readings_have_no_autocorrelation() -> None:
    assert correlated.tau_int(np.array([1.0, 2.0, 3.0])) == 1.0
    equal = correlated.mean_of(np.full(100, 5.0))
    assert (equal.value, equal.u, equal.tau_int) == (5.0, 0.0, 1.0)
    with pytest.raises(BadInput, match="no reading"):
        correlated.mean_of(np.empty(0))


@pytest.mark.parametrize("phi", [-0.6, 0.0, 0.9, 0.999])
@pytest.mark.parametrize("n", [3, 4, 7, 500])
def test_slope_has_newey_and_wests_uncertainty(n: int, phi: float) -> None:
    """Their sum, lag by lag, with the lags that the residuals ask for."""
    rng = np.random.default_rng(n)
    t, values = np.sort(rng.uniform(0, 100, n)), 200 + ar1(rng, n, phi)
    x = t - t.mean()
    residuals = values - values.mean() - (x @ values) / (x @ x) * x
    lags = min(n // 3, max(np.ceil(4 * (n / 100) ** (2 / 9)), np.ceil(2 * correlated.tau_int(residuals))))
    scores = x * residuals
    total = sum(
        (1 - abs(one - other) / (lags + 1)) * scores[one] * scores[other]
        for one in range(n)
        for other in range(n)
        if abs(one - other) <= lags
    )
    found = correlated.slope(t, values)
    assert found.u_per_s == pytest.approx(np.sqrt(total * n / (n - 2)) / (x @ x), rel=1e-9)


def test_slope_has_the_uncertainty_that_repeats_show() -> None:
    rng = np.random.default_rng(11)
    t = np.arange(1000.0)
    found = [correlated.slope(t, ar1(rng, 1000, 0.8)) for _ in range(300)]
    spread = np.std([one.per_s for one in found])
    assert np.mean([one.u_per_s for one in found]) == pytest.approx(spread, rel=0.25)
    exact = correlated.slope(t, 3.0 + 0.25 * t)
    assert exact.per_s == pytest.approx(0.25)
    assert exact.u_per_s == pytest.approx(0.0, abs=1e-9)


@given(st.floats(-1e3, 1e3), st.floats(0.1, 1e3))
def test_a_mean_moves_and_scales_with_its_readings(offset: float, factor: float) -> None:
    values = ar1(np.random.default_rng(1), 200, 0.5)
    plain, moved = correlated.mean_of(values), correlated.mean_of(offset + factor * values)
    assert moved.value == pytest.approx(offset + factor * plain.value, abs=1e-6)
    assert moved.u == pytest.approx(factor * plain.u, rel=1e-6)


def test_mser_cuts_the_transient_and_refuses_what_never_settles() -> None:
    rng = np.random.default_rng(2)
    jump = np.concatenate([np.full(200, 50.0), np.full(800, 100.0)]) + rng.standard_normal(1000)
    assert correlated.mser(jump) == 200
    assert correlated.mser(np.linspace(0, 100, 1000)) is None


def test_a_warm_up_is_fitted_with_its_truth_inside_the_interval() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(0.0, 1800.0)
    hits = 0
    for _ in range(40):
        found = steady.warm_up_of(t, 700 - 50 * np.exp(-t / 200) + 2 * rng.standard_normal(len(t)))
        assert found is not None
        hits += abs(found.final - 700) <= 2 * found.final_u
        assert found.rise == pytest.approx(50, abs=4 * found.rise_u)
        assert found.tau_s == pytest.approx(200, abs=4 * found.tau_u_s)
    assert hits >= 34
    assert steady.warm_up_of(t, 700 + 0.01 * t) is None  # a straight line settles nowhere


def test_auto_finds_what_remains_after_a_warm_up_and_says_so() -> None:
    rng = np.random.default_rng(6)
    t = np.arange(0.0, 3600.0, 5.0)
    found = steady.steady_of(
        one := readings(711 - 50 * np.exp(-t / 200) + rng.standard_normal(len(t)), 5.0), *window(one)
    )
    assert found.steady
    assert found.head_s > 400
    assert found.mean == pytest.approx(711, abs=0.5)
    assert found.why.startswith("steady: head of")


def test_auto_extrapolates_where_the_run_is_too_short() -> None:
    rng = np.random.default_rng(6)
    t = np.arange(0.0, 400.0)
    found = steady.steady_of(one := readings(700 - 50 * np.exp(-t / 150) + rng.standard_normal(len(t))), *window(one))
    assert not found.steady
    assert found.extrapolated
    assert found.mean == pytest.approx(700, abs=3 * found.mean_u)
    assert "extrapolated from that fit" in found.why


def test_auto_leaves_plain_noise_whole() -> None:
    for seed in range(20):
        found = steady.steady_of(one := readings(400 + np.random.default_rng(seed).standard_normal(900)), *window(one))
        assert found.steady, found.why
        assert found.head_s + found.tail_s < 100


def test_auto_says_why_not() -> None:
    rng = np.random.default_rng(8)
    few = steady.steady_of(one := readings(400 + rng.standard_normal(20)), *window(one))
    assert not few.steady
    assert "readings of at least 30" in few.why
    wild = steady.steady_of(one := readings(400 + 40 * rng.standard_normal(900)), *window(one))
    assert not wild.steady
    assert "scatter by" in wild.why
    slow = steady.steady_of(one := readings(400 + 0.02 * np.arange(900) + rng.standard_normal(900)), *window(one))
    assert not slow.steady
    assert "from end to end" in slow.why


def test_prace_preset_is_the_documents_rule() -> None:
    rng = np.random.default_rng(9)
    long = readings(711 + rng.standard_normal(720), 5.0)  # an hour, read every 5 s
    found = steady.steady_of(long, *window(long), "prace2013")
    assert found.steady
    assert (found.head_s, found.tail_s) == (1200.0, 600.0)
    assert found.n == 360
    noisy = readings(711 + 8 * rng.standard_normal(720), 5.0)
    assert "not below 1%" in steady.steady_of(noisy, *window(noisy), "prace2013").why
    short = readings(711 + rng.standard_normal(200), 5.0)
    assert "too short to cut 1200 s" in steady.steady_of(short, *window(short), "prace2013").why
    sparse = readings(711 + rng.standard_normal(360), 10.0)
    assert "180 readings are fewer than 246" in steady.steady_of(sparse, *window(sparse), "prace2013").why


def test_a_value_that_is_read_twice_is_one_reading() -> None:
    rng = np.random.default_rng(9)
    slow = np.repeat(711 + rng.standard_normal(240), 10)  # an hour: new every 15 s, read every 1.5 s
    found = steady.steady_of(one := readings(slow, 1.5), *window(one), "prace2013")
    assert found.n == pytest.approx(120, abs=2)
    assert "fewer than 246" in found.why


def test_hpl_core_claims_no_steady_state() -> None:
    falling = readings(np.linspace(400, 300, 600))
    found = steady.steady_of(falling, *window(falling), "hpl-core")
    assert not found.steady
    assert found.mean == pytest.approx(350)
    assert "no steady state" in found.why


def test_bad_requests_are_refused() -> None:
    one = readings(np.full(100, 5.0))
    with pytest.raises(BadInput, match="prace2013"):
        steady.steady_of(one, *window(one), "prace2012")
    with pytest.raises(BadInput, match="0 readings"):
        steady.steady_of(one, 0, 10**9)
