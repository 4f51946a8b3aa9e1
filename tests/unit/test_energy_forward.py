"""Phase powers through the meter's model: right where they can be told, merged or refused where not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from shakedown.energy import forward, simulate
from shakedown.energy.response import response_of
from shakedown.energy.simulate import Load, Truth
from shakedown.errors import BadInput, CannotMeasure
from shakedown.metering.character import Character, Estimate
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Floats, Trace
from shakedown.records import Phase

ORIGIN = 1_700_000_000 * 10**9


def blade(refresh: float, window: float = 40.0) -> Channel:
    return Channel(
        id="m", title="", quantity="power", unit="W", scope="last", place="node", refresh_s=refresh, window_s=window
    )


def phases(lengths: Floats | list[float]) -> list[Phase]:
    edges = np.concatenate([[0.0], np.cumsum(lengths)])
    return [
        Phase(name=f"p{i}", begin_ns=ORIGIN + round(a * 1e9), end_ns=ORIGIN + round(b * 1e9))
        for i, (a, b) in enumerate(pairwise(edges))
    ]


def observed(lengths: list[float], powers: Floats, refresh: float, seed: int, noise: float = 2.0) -> tuple[Load, Trace]:
    edges = np.concatenate([[-1000.0, 0.0], np.cumsum(lengths)])
    load = Load(edges, np.concatenate([[100.0], powers, [100.0]]))
    phase_s = np.random.default_rng(seed).uniform(0, refresh)
    truth = Truth(refresh_s=refresh, window_s=40.0, noise=noise, phase_s=phase_s)
    one = simulate.observe(load, truth, blade(refresh), -100, sum(lengths) + 100, origin_ns=ORIGIN, seed=seed)
    return load, one


def errors(length: float, refresh: float, count: int = 8) -> tuple[float, float, float]:
    """RMS error of the model and of the plain mean of readings, and the share inside U."""
    ours, naive, inside = [], [], []
    for seed in range(25):
        powers = np.random.default_rng(seed).uniform(150, 400, count)
        load, one = observed([length] * count, powers, refresh, seed)
        marks = phases([length] * count)
        found = forward.phase_powers(one, marks)
        for each in found.phases:
            truth = load.mean_w((each.begin_ns - ORIGIN) * 1e-9, (each.end_ns - ORIGIN) * 1e-9)
            assert each.power.value is not None and each.power.expanded is not None
            ours.append(each.power.value - truth)
            inside.append(abs(ours[-1]) <= each.power.expanded)
        for mark, truth in zip(marks, powers, strict=True):
            part = (one.t_ns > mark.begin_ns) & (one.t_ns <= mark.end_ns)
            naive += [float(one.value[part].mean()) - truth] if part.any() else []
    return float(np.std(ours)), float(np.std(naive)), float(np.mean(inside))


@pytest.mark.parametrize(
    ("length", "refresh", "most"), [(20.0, 1.0, 2.5), (40.0, 1.0, 0.7), (120.0, 1.0, 0.4), (40.0, 10.0, 2.0)]
)
def test_phase_powers_on_a_40_s_meter(length: float, refresh: float, most: float) -> None:
    ours, naive, inside = errors(length, refresh)
    assert ours < most < naive / 10
    assert inside >= 0.88


@pytest.mark.parametrize(("length", "refresh"), [(5.0, 1.0), (5.0, 10.0), (10.0, 10.0)])
def test_phases_that_cannot_be_told_apart_are_refused(length: float, refresh: float) -> None:
    _, one = observed([length] * 8, np.linspace(150, 400, 8), refresh, 1)
    with pytest.raises(CannotMeasure, match="cannot be determined from these readings"):
        forward.phase_powers(one, phases([length] * 8))


def test_the_energy_of_all_phases_is_what_flowed() -> None:
    lengths = [30.0, 50.0, 25.0, 60.0]
    load, one = observed(lengths, np.array([300.0, 180.0, 420.0, 250.0]), 1.0, 3, noise=0.0)
    found = forward.phase_powers(one, phases(lengths))
    assert sum(each.energy.value or 0 for each in found.phases) == pytest.approx(load.mean_w(0, 165) * 165, rel=1e-9)
    assert found.condition < 20
    assert found.residual_w == pytest.approx(0, abs=1e-6)


def test_phases_with_pauses_between_keep_them_apart() -> None:
    load = Load(np.array([-1000.0, 0, 50, 80, 130]), np.array([100.0, 300, 150, 400, 100]))
    one = simulate.observe(load, Truth(1.0, 40.0, noise=1.0), blade(1.0), -100, 230, origin_ns=ORIGIN, seed=1)
    marks = [
        Phase(name=n, begin_ns=ORIGIN + a * 10**9, end_ns=ORIGIN + b * 10**9)
        for n, a, b in (("a", 0, 50), ("b", 80, 130))
    ]
    found = forward.phase_powers(one, marks)
    assert [each.power.value for each in found.phases] == pytest.approx([300, 400], abs=2)


@pytest.mark.parametrize(("kernel", "window", "tau"), [("exponential", 0.0, 8.0), ("boxcar+exponential", 10.0, 5.0)])
def test_exponential_kernels(kernel: str, window: float, tau: float) -> None:
    powers, lengths = np.array([300.0, 180.0, 420.0]), [30.0, 30.0, 30.0]
    load = Load(np.array([-1000.0, 0, 30, 60, 90]), np.concatenate([[100.0], powers, [100.0]]))
    one = simulate.observe(load, Truth(1.0, window, tau_s=tau, delay_s=0.7), blade(1.0), -200, 290, origin_ns=ORIGIN)

    def exact(value: float) -> Estimate:
        return Estimate(value=value, low=value, high=value)

    known = Character(
        channel=one.channel, made_ns=0, kernel=kernel, refresh_s=exact(1.0), window_s=exact(window), tau_s=exact(tau),  # type: ignore[arg-type]
        delay_s=exact(0.7),
    )  # fmt: skip
    found = forward.phase_powers(one, phases(lengths), character=known)
    assert [each.power.value for each in found.phases] == pytest.approx(powers, rel=1e-3)


def test_rows_of_the_design_add_up_to_one() -> None:
    _, one = observed([20.0] * 4, np.full(4, 200.0), 1.0, 1)
    t = np.linspace(-50, 150, 80)
    matrix = forward.design(response_of(one), t, np.array([-np.inf, 0, 20, 40, 60, 80, np.inf]))
    assert matrix.sum(axis=1) == pytest.approx(np.ones(80))
    assert np.all(matrix >= 0)


def test_a_load_that_is_not_constant_within_its_phases_is_refused() -> None:
    t = np.arange(0, 120.0, 1.0)
    load = Load(np.concatenate([[-1000.0], t, [120.0]]), np.concatenate([[100.0], 300 + 15 * np.sin(t / 8), [100.0]]))
    one = simulate.observe(load, Truth(1.0, 10.0, resolution=1.0), blade(1.0, 10.0), -100, 220, origin_ns=ORIGIN)
    with pytest.raises(CannotMeasure, match="the power is not constant within the phases"):
        forward.phase_powers(one.of(blade(1.0, 10.0)), phases([60.0, 60.0]), character=_noise(one.channel))


def _noise(what: Channel) -> Character:
    return Character(channel=what, made_ns=0, kernel="boxcar", window_s=Estimate(value=10, low=10, high=10), noise=0.5)


def test_bad_requests_are_refused() -> None:
    _, one = observed([20.0] * 4, np.full(4, 200.0), 1.0, 1)
    with pytest.raises(BadInput, match="no phase"):
        forward.phase_powers(one, [])
    twice = [Phase(name="a", begin_ns=0, end_ns=10), Phase(name="b", begin_ns=5, end_ns=15)]
    with pytest.raises(BadInput, match="overlap"):
        forward.phase_powers(one, twice)
    with pytest.raises(BadInput, match="ends before"):
        forward.phase_powers(one, [Phase(name="a", begin_ns=10, end_ns=10)])
    with pytest.raises(CannotMeasure, match="0 readings"):
        forward.phase_powers(one, [Phase(name="a", begin_ns=10, end_ns=10**10)])
