"""The PRACE blade's case: runs shorter than what the meter averages over."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy import padded, phase, simulate
from shakedown.energy.response import response_of
from shakedown.energy.simulate import Load, Truth
from shakedown.errors import CannotMeasure
from shakedown.metering.character import Character, Estimate
from shakedown.metering.meters import Channel
from shakedown.metering.trace import Trace

ORIGIN = 1_700_000_000 * 10**9
SECOND = 10**9
BLADE = Channel(
    id="ipmi/power",
    title="power",
    quantity="power",
    unit="W",
    scope="last",
    place="node",
    refresh_s=10.0,
    window_s=40.0,
    resolution=1.0,
)
IDLE_W = 150.0


def hpl(seconds: float) -> Load:
    """Start-up, full load, and the fall of power as the matrix shrinks."""
    t = np.linspace(0.0, seconds, 61)
    x = t[:-1] / seconds
    power = np.where(x < 0.05, 300.0, 400 * (1 - 0.3 * np.maximum(0, x - 0.6) / 0.4))
    return Load(np.concatenate([[-1000.0], t]), np.concatenate([[IDLE_W], power, [IDLE_W]]))


def idle(seconds: float, before: float = 200.0, after: float = 200.0) -> phase.Idle:
    end = ORIGIN + round(seconds * 1e9)
    return (ORIGIN - round(before * 1e9), ORIGIN), (end, end + round(after * 1e9))


def blade(load: Load, seconds: float, seed: int, **changed: float) -> Trace:
    rng = np.random.default_rng(seed)
    truth = Truth(refresh_s=10, window_s=40, resolution=1, noise=1, phase_s=rng.uniform(0, 10))._replace(**changed)
    return simulate.observe(load, truth, BLADE, -200, seconds + 200, origin_ns=ORIGIN, seed=seed)


@pytest.mark.parametrize(("seconds", "naive_percent"), [(30.0, -35), (60.0, -17), (300.0, -2.6)])
def test_short_runs_on_the_40_s_meter_are_within_half_a_percent(seconds: float, naive_percent: float) -> None:
    load, end = hpl(seconds), ORIGIN + round(seconds * 1e9)
    truth = load.mean_w(0, seconds) * seconds
    errors, naive, hits = [], [], 0
    for seed in range(60):
        one = blade(load, seconds, seed)
        found = phase.energy_of(one, ORIGIN, end, idle=idle(seconds))
        assert found.value is not None and found.expanded is not None
        assert found.method.startswith("padded: corrected")
        errors.append(found.value / truth - 1)
        hits += abs(found.value - truth) <= found.expanded
        inside = (one.t_ns > ORIGIN) & (one.t_ns <= end)
        naive.append(one.value[inside].sum() * 10 / truth - 1)
    assert abs(np.mean(errors)) < 0.001
    assert np.quantile(np.abs(errors), 0.8) < 0.005
    assert np.mean(naive) * 100 == pytest.approx(naive_percent, abs=2)
    assert hits >= 54


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 6),
    st.floats(0, 8),
    st.lists(st.floats(150, 500), min_size=2, max_size=8),
    st.floats(5, 90),
    st.floats(0, 10),
)
def test_energy_is_exact_for_any_boxcar_of_whole_refreshes(
    windows: int, delay: float, powers: list[float], seconds: float, first: float
) -> None:
    load = Load(
        np.concatenate([[-1000.0], np.linspace(0, seconds, len(powers) + 1)]),
        np.concatenate([[IDLE_W], powers, [IDLE_W]]),
    )
    what = Channel(
        id="m", title="", quantity="power", unit="W", scope="last", place="node", refresh_s=10.0,
        window_s=10.0 * windows, delay_s=delay,
    )  # fmt: skip
    truth = Truth(refresh_s=10, window_s=10.0 * windows, delay_s=delay, phase_s=first)
    one = simulate.observe(load, truth, what, -300, seconds + 300, origin_ns=ORIGIN)
    found = padded.padded_energy(one, response_of(one), ORIGIN, ORIGIN + round(seconds * 1e9), idle(seconds, 250, 250))
    assert found.joules == pytest.approx(load.mean_w(0, seconds) * seconds, rel=1e-6)


def test_an_exponential_meter_gives_the_energy_too() -> None:
    load = hpl(30.0)
    character = Character(
        channel=BLADE,
        made_ns=0,
        kernel="exponential",
        refresh_s=Estimate(value=2.0, low=2.0, high=2.0),
        tau_s=Estimate(value=12.0, low=11.9, high=12.1),
        delay_s=Estimate(value=0.5, low=0.4, high=0.6),
        noise=0.5,
        resolution=0.0,
    )
    truth = Truth(refresh_s=2, tau_s=12, delay_s=0.5, noise=0.5)
    one = simulate.observe(load, truth, BLADE, -200, 300, origin_ns=ORIGIN, seed=1)
    found = phase.energy_of(one, ORIGIN, ORIGIN + 30 * SECOND, character=character, idle=idle(30.0))
    assert found.method.startswith("padded")
    assert found.value == pytest.approx(load.mean_w(0, 30) * 30, rel=0.01)


def test_the_marks_hardly_matter() -> None:
    """A run that began 3 s before its mark: both pads are subtracted at idle power."""
    load, seconds = hpl(60.0), 60.0
    one = blade(load, seconds, 1, noise=0.0, resolution=0.0)
    known = (ORIGIN - 200 * SECOND, ORIGIN + 3 * SECOND), (ORIGIN + 63 * SECOND, ORIGIN + 260 * SECOND)
    early = phase.energy_of(one, known[0][1], known[1][0], idle=known, window_u_s=3.0)
    plain = phase.energy_of(one, ORIGIN, ORIGIN + 60 * SECOND, idle=idle(60.0), window_u_s=3.0)
    assert early.value == pytest.approx(plain.value, rel=1e-9)


def test_a_window_that_is_no_whole_number_of_refreshes_is_in_the_budget() -> None:
    for window, errors in ((43.0, []), (4.0, [])):
        what = Channel(
            id="m", title="", quantity="power", unit="W", scope="last", place="node", refresh_s=10.0, window_s=window
        )
        rng = np.random.default_rng(0)
        load = Load(np.array([-1000.0, 0.0, 33.0]), np.array([150.0, 400.0, 150.0]))
        for _ in range(60):
            truth = Truth(refresh_s=10, window_s=window, phase_s=rng.uniform(0, 10))
            one = simulate.observe(load, truth, what, -200, 300, origin_ns=ORIGIN)
            found = padded.padded_energy(one, response_of(one), ORIGIN, ORIGIN + 33 * SECOND, idle(33.0))
            errors.append(found.joules - 400 * 33)
        assert np.std(errors) == pytest.approx(found.sampling_u_j, rel=0.5)


def test_idle_that_is_too_short_or_missing_is_refused_with_how_long() -> None:
    one = blade(hpl(30.0), 30.0, 1)
    known = response_of(one)
    end = ORIGIN + 30 * SECOND
    with pytest.raises(CannotMeasure, match=r"after the run: 20 s, where the meter needs"):
        padded.padded_energy(one, known, ORIGIN, end, idle(30.0, 200, 20))
    with pytest.raises(CannotMeasure, match=r"before the run: 10 s"):
        padded.padded_energy(one, known, ORIGIN, end, idle(30.0, 10, 200))
    short = one.take(one.t_ns < end + 20 * SECOND)
    with pytest.raises(CannotMeasure, match="ends before the last reading"):
        padded.padded_energy(short, known, ORIGIN, end, idle(30.0))
    fallen = phase.energy_of(one, ORIGIN, end, idle=idle(30.0, 200, 20))
    assert fallen.method.startswith("step")
    assert "not-padded" in {notice.code for notice in fallen.notices}
    asked = phase.energy_of(one, ORIGIN, end, idle=idle(30.0, 200, 20), method="padded")
    assert asked.value is None
    assert "after the run" in asked.notices[0].text


def test_idle_that_is_known_on_one_side_only_is_told() -> None:
    load = hpl(30.0)
    found = phase.energy_of(blade(load, 30.0, 1), ORIGIN, ORIGIN + 30 * SECOND, idle=(None, idle(30.0)[1]))
    assert found.method.startswith("padded")
    assert found.value == pytest.approx(load.mean_w(0, 30) * 30, rel=0.02)
    told = next(notice.text for notice in found.notices if notice.code == "idle-assumed")
    assert "before the run" in told


def test_idle_that_drifts_is_a_term() -> None:
    load = Load(np.array([-1000.0, 0.0, 30.0]), np.array([150.0, 400.0, 170.0]))
    found = phase.energy_of(blade(load, 30.0, 1), ORIGIN, ORIGIN + 30 * SECOND, idle=idle(30.0))
    drift = next(term for term in found.terms if term.name == "idle drift")
    assert drift.u > 100
    assert "150.0" in drift.text


def second(load: Load, end_s: float, seed: int, **truth: float) -> Trace:
    """A management controller: an average of 2.6 refreshes, read four times in each."""
    random = np.random.default_rng(seed)
    told = Truth(refresh_s=1.0, window_s=2.6, phase_s=float(random.uniform(0, 1)))._replace(**truth)
    channel = msgspec.structs.replace(BLADE, refresh_s=1.0, window_s=2.6, resolution=None)
    return simulate.observe(load, told, channel, -60, end_s + 60, poll_s=0.23, origin_ns=ORIGIN, seed=seed)


def stepped(seed: int) -> tuple[Load, float]:
    """A run of 40 s with some steps of its own."""
    random = np.random.default_rng(seed)
    inner = np.sort(random.uniform(0, 40, random.integers(2, 6)))
    return Load(
        np.concatenate([[-1000.0, 0.0], inner, [40.0]]),
        np.concatenate([[IDLE_W], random.uniform(200, 500, len(inner) + 1), [IDLE_W]]),
    ), 40.0


def test_the_interval_holds_where_the_stamps_are_those_of_the_reader_and_the_load_steps_within_the_run() -> None:
    """What the window misses is counted for every step of the load, and that no value's own time is known exactly has its
    own term."""
    inside, terms = 0, set()
    for seed in range(150):
        load, end = stepped(seed)
        noise = float(np.random.default_rng(seed).uniform(0.3, 1.5))
        found = phase.energy_of(
            second(load, end, seed, noise=noise), ORIGIN, ORIGIN + 40 * SECOND, idle=idle(40.0, 60.0, 60.0),
            character=Character(
                channel=BLADE, made_ns=1, kernel="boxcar", refresh_s=exact(1.0), window_s=exact(2.6), delay_s=exact(0.0),
                noise=noise,
            ),
        )  # fmt: skip
        assert found.value is not None and found.expanded is not None
        inside += abs(found.value - float(np.diff(load.energy_j(np.array([0.0, end])))[0])) <= found.expanded
        terms |= {term.name for term in found.terms}
    assert {"sampling", "stamps", "noise"} <= terms and "window" not in terms
    assert inside >= 0.91 * 150


def exact(value: float) -> Estimate:
    return Estimate(value=value, low=value, high=value)


def test_the_steps_of_a_load_are_seen_through_the_window() -> None:
    load = Load(np.array([-1000.0, 0, 10, 20, 40]), np.array([150.0, 300, 200, 450, 150]))
    for window in (1.0, 2.6, 7.5):
        character = Character(
            channel=BLADE, made_ns=1, kernel="boxcar", refresh_s=exact(1.0), window_s=exact(window), noise=0.5
        )
        trace = second(load, 60.0, 3, window_s=window, noise=0.5)
        once = simulate.observe(
            load, Truth(1.0, window, noise=0.5, phase_s=0.3), BLADE, -20, 60, origin_ns=ORIGIN, seed=3
        )
        seen = padded.steps_w(once.value, response_of(trace, character), 1.0)
        assert seen == pytest.approx(np.sqrt(150.0**2 + 100**2 + 250**2 + 300**2), rel=0.12)
    assert padded.steps_w(once.value[:1], response_of(trace, character), 1.0) == 0.0
