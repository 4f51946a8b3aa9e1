"""The additive fit of pairs: exact where it must be, and deaf to what is far off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.analysis.pairs import fit, noise, partial_slowdown, simulate
from shakedown.analysis.pairs.read import rounds


def test_the_circle_lets_everybody_meet_once() -> None:
    for nodes in (5, 8, 33):
        a, b, played = simulate.circle(nodes)
        assert len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(a) == nodes * (nodes - 1) // 2
        for number in range(int(played.max()) + 1):
            busy = np.concatenate([a[played == number], b[played == number]])
            assert len(set(busy.tolist())) == len(busy) == nodes - nodes % 2
        order = np.argsort(played, kind="stable")
        assert (rounds(a[order], b[order]) == played[order]).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), nodes=st.integers(5, 24), missing=st.floats(0, 0.3))
def test_without_noise_every_effect_comes_out_exactly_whatever_is_missing(
    seed: int, nodes: int, missing: float
) -> None:
    rng = np.random.default_rng(seed)
    a, b, _ = simulate.circle(nodes)
    kept = rng.random(len(a)) >= missing
    a, b = a[kept], b[kept]
    truth = rng.normal(0, 0.1, nodes)
    got = fit.additive(a, b, 7 + truth[a] + truth[b], nodes)
    if got.loose or (got.degrees < 2).any():
        return  # nothing can tell the nodes apart there
    assert got.effects == pytest.approx(truth + 3.5, abs=1e-6)
    assert np.abs(got.residuals).max() < 1e-6


def test_slow_pairs_have_no_say_in_their_nodes_effects() -> None:
    a, b, _ = simulate.circle(20)
    rng = np.random.default_rng(3)
    y = rng.normal(0, 0.01, len(a))
    clean = fit.additive(a, b, y, 20)
    struck = rng.choice(len(a), 12, replace=False)
    y[struck] += rng.uniform(0.5, 20, 12)
    got = fit.additive(a, b, y, 20)
    assert np.abs(got.effects - clean.effects).max() < 0.01
    assert (got.weights[struck] == 0).all()
    assert got.residuals[struck].min() > 0.4
    assert 0.007 < got.sigma < 0.014


def test_the_uncertainty_is_that_of_repeated_fits() -> None:
    nodes = 12
    a, b, _ = simulate.circle(nodes)
    rng = np.random.default_rng(5)
    fits = [fit.additive(a, b, rng.normal(0, 0.02, len(a)), nodes) for _ in range(200)]
    scatter = np.std([one.effects for one in fits])
    said = np.mean([one.u for one in fits])
    assert said == pytest.approx(scatter, rel=0.1)


def test_the_dense_and_the_approximate_uncertainty_agree() -> None:
    a, b, _ = simulate.circle(64, 20)
    weights = np.random.default_rng(1).uniform(0.5, 1, len(a))
    degrees = np.bincount(np.concatenate([a, b]))
    exact, _ = fit._covariance(a, b, weights, degrees, [])
    exact_limit, fit._DENSE = fit._DENSE, 10
    try:
        near, _ = fit._covariance(a, b, weights, degrees, [])
    finally:
        fit._DENSE = exact_limit
    assert near == pytest.approx(exact, rel=0.12)  # the rounds of a circle mix slowly


def test_two_sides_that_only_met_each_other_get_equal_medians() -> None:
    a, b = (one.ravel() for one in np.meshgrid(np.arange(6), np.arange(6, 12)))
    truth = np.zeros(12)
    truth[4], truth[9] = 0.3, 0.2
    got = fit.additive(a, b, truth[a] + truth[b] + 1, 12)
    assert got.loose == 1
    assert got.effects == pytest.approx(truth + 0.5, abs=1e-6)
    assert np.isfinite(got.u).all()
    assert got.u.max() < 1e-3


def test_equal_values_have_no_scale_and_no_outlier() -> None:
    a, b, _ = simulate.circle(8)
    got = fit.additive(a, b, np.full(len(a), 2.0), 8)
    assert got.effects == pytest.approx(np.ones(8))
    assert (got.weights > 0.99).all()
    assert np.isfinite(got.u).all()


@pytest.mark.parametrize(("dof", "low", "high"), [(3.0, 2.5, 4.2), (8.0, 5.5, 14.0)])
def test_the_tail_of_heavy_noise_is_seen(dof: float, low: float, high: float) -> None:
    rng = np.random.default_rng(2)
    z = rng.standard_t(dof, 200_000)
    z /= 1.4826 * np.median(np.abs(z))
    assert low <= noise.tail(z, -z).dof <= high


def test_normal_noise_is_held_for_normal_and_few_pairs_for_a_little_heavier() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=100_000)
    assert noise.tail(z, -z).dof >= 60
    assert noise.tail(z, -z).slow == pytest.approx(1, abs=0.02)
    assert noise.tail(z[:28], -z[:28]).dof == noise.FEW_DOF
    # slow pairs alone make no tail: the fast side has none
    slow = np.where(np.arange(len(z)) < 300, 30.0, z)
    assert noise.tail(slow, -slow).dof >= 60
    skewed = np.where(z > 0, 1.5 * z, z)
    assert noise.tail(skewed, -skewed).slow > 1.3


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_discovery_rates_are_those_of_the_definition(p: list[float]) -> None:
    """Benjamini and Hochberg: the smallest rate at which the k least are named together, over all k that hold it."""
    rates = noise.discovery_rates(np.array(p), len(p))
    for index, one in enumerate(p):
        ranked = sorted(p)
        reachable = [ranked[k] * len(p) / (k + 1) for k in range(len(p)) if ranked[k] >= one]
        assert rates[index] == pytest.approx(min(1.0, *reachable, 1.0))


def test_as_many_as_on_the_fast_side_may_be_noise() -> None:
    slow = np.array([5.0, 6.0, 7.0, 20.0])
    assert noise.farther_than_fast(slow, np.array([1.0, 2.0]), 0.01) == 5.0
    assert noise.farther_than_fast(slow, np.array([6.5]), 0.01) == 7.0
    assert noise.farther_than_fast(slow, np.array([6.5]), 0.5) == 5.0
    assert noise.farther_than_fast(slow, np.array([30.0]), 0.01) == np.inf
    assert noise.farther_than_fast(np.zeros(0), np.zeros(0), 0.01) == np.inf


def test_a_row_of_one_heap_is_not_parted_and_one_of_two_is() -> None:
    rng = np.random.default_rng(4)
    sigma = np.full(60, 0.02)
    assert not any(partial_slowdown.split(rng.normal(0, 0.02, 60), sigma, 60) for _ in range(200))
    x = rng.normal(0, 0.02, 60)
    x[:20] += 0.2
    parts = partial_slowdown.split(x, sigma, 60)
    assert parts is not None
    assert parts.share == pytest.approx(1 / 3, abs=0.01)
    assert parts.shift == pytest.approx(0.2, abs=0.02)
    assert (parts.slow[:20] > 0.5).all()
    assert (parts.slow[20:] < 0.5).all()
