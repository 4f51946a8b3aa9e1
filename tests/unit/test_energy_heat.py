"""Heat from flow and two temperatures, with its uncertainty."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.energy.facility import heat, ratios, water, window
from support.plants import LOOP, data, sensors, whole

# ------------------------------------------------------------------------------------------------------------------ heat


def loop_data(folder: Path, more: str = "", *, loop: str = LOOP, flow: Any = None, a: Any = None, b: Any = None) -> Any:
    count = 121
    text = sensors(
        v="l/min; accuracy = { reading = '0 %' }",
        a="degC; accuracy = { absolute = '0 K' }",
        b="degC; accuracy = { absolute = '0 K' }",
    )
    columns = {
        "v": [12.0] * count if flow is None else flow,
        "a": [35.0] * count if a is None else a,
        "b": [30.0] * count if b is None else b,
    }
    balance = '[[balance]]\nname = "x"\ninto = ["q"]\nout = ["q"]\n'
    return data(folder, (more or text) + loop + balance, columns)


def test_heat_by_hand(tmp_path: Path) -> None:
    found = whole(loop_data(tmp_path)).energies[0]
    mass = 12e-3 / 60 * float(water.density(water.WATER, 30.0))
    by_hand = mass * float(water.enthalpy(water.WATER, 35.0) - water.enthalpy(water.WATER, 30.0)) * 7200
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    assert found.value == pytest.approx(995.65 * 2e-4 * 4179.5 * 5 * 7200, rel=1e-3)
    assert found.seen == 1.0


def test_density_is_taken_where_the_flow_meter_is(tmp_path: Path) -> None:
    cool = whole(loop_data(tmp_path)).energies[0].value or 0.0
    warm = whole(loop_data(tmp_path, loop=LOOP.replace('"cool"\n', '"warm"\n'))).energies[0].value or 0.0
    ratio = float(water.density(water.WATER, 35.0) / water.density(water.WATER, 30.0))
    assert warm / cool == pytest.approx(ratio, rel=1e-12)


def test_two_thermometers_of_100_mk_cost_2_8_percent_at_5_k_and_a_matched_pair_less(tmp_path: Path) -> None:
    made = sensors(
        v="l/min; accuracy = { reading = '0 %' }",
        a="degC; accuracy = { absolute = '0.1 K', kind = 'sigma' }",
        b="degC; accuracy = { absolute = '0.1 K', kind = 'sigma' }",
    )
    alone = whole(loop_data(tmp_path, made)).energies[0]
    assert alone.value and alone.u
    assert alone.u / alone.value == pytest.approx(math.hypot(math.sqrt(2) * 0.1 / 5, 0.0015 / math.sqrt(3)), rel=1e-3)
    pair = '[[pair]]\nsensors = ["a", "b"]\ndifference = "0.03 K"\n'
    matched = whole(loop_data(tmp_path, made + pair)).energies[0]
    assert matched.value and matched.u
    assert matched.u / matched.value == pytest.approx(
        math.hypot(0.03 / math.sqrt(3) / 5, 0.0015 / math.sqrt(3)), rel=0.01
    )


def test_a_heat_meter_by_en_1434(tmp_path: Path) -> None:
    flow, sensor, calculator = heat.en1434(2, 1.5, np.array([1.5, 0.015, 0.0]), 3.0, np.array([3.0, 30.0, 10.0]))
    assert flow == pytest.approx([0.0202, 0.04, 0.05])
    assert sensor == pytest.approx([0.035, 0.008, 0.014])
    assert calculator == pytest.approx([0.015, 0.006, 0.008])
    meter = 'meter = { en1434 = 2, qp = "1.44 m3/h", least_difference = "3 K" }\n'
    found = whole(loop_data(tmp_path, loop=LOOP + meter)).energies[0]
    errors = [0.02 + 0.0002 * 2, 0.005 + 0.03 * 3 / 5, 0.005 + 0.01 * 3 / 5]
    assert found.value and found.u
    bound = math.sqrt(sum(one**2 for one in errors) / 3 + 0.0015**2 / 3)
    assert found.u / found.value == pytest.approx(bound, rel=1e-6)


def test_glycols_concentration_stands_in_the_budget(tmp_path: Path) -> None:
    mix = 'fluid = { kind = "ethylene glycol", concentration = 0.3, u_concentration = 0.03 }\n'
    found = whole(loop_data(tmp_path, loop=LOOP + mix)).energies[0]
    term = next(one for one in found.terms if one.name == "concentration in q")
    assert found.value
    # Density times heat capacity falls by about 0.33 % for each percent of glycol.
    assert -0.013 < term.u / found.value < -0.006


def test_heat_that_is_under_way_in_the_pipe(tmp_path: Path) -> None:
    """The inlet rises for an hour; 24 l of water take two minutes, and what leaves is what entered then."""
    minutes = np.arange(121.0)
    inlet = np.clip(30 + 0.2 * (minutes - 30), 30, 40)
    outlet = np.interp(minutes - 2, minutes, inlet) - 5
    loop = LOOP + 'volume = "24 l"\ninlet = "warm"\n'
    right = whole(loop_data(tmp_path, loop=loop, a=inlet, b=outlet)).energies[0].value or 0.0
    naive = whole(loop_data(tmp_path, a=inlet, b=outlet)).energies[0].value or 0.0
    rho_c = water.density(water.WATER, outlet) * water.heat_capacity(water.WATER, outlet + 2.5)
    true = float(np.sum((rho_c[1:] + rho_c[:-1]) / 2)) * 60 * 2e-4 * 5
    assert right == pytest.approx(true, rel=2e-3)
    assert naive > 1.02 * true


def test_a_window_that_is_too_short_for_the_pipe_says_so(tmp_path: Path) -> None:
    made = loop_data(tmp_path, loop=LOOP + 'volume = "24 l"\ninlet = "warm"\n')
    assert not whole(made).notices
    short = ratios.evaluate(made, made.begin_ns, made.begin_ns + 300 * 10**9)
    assert [one.code for one in short.notices] == ["window-short"]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.one_of(st.floats(0, 1e4), st.just(math.nan)), min_size=3, max_size=40),
    st.floats(0, 0.9),
    st.sampled_from(["point", "last", "next"]),
)
def test_a_window_is_the_sum_of_its_parts(values: list[float], share: float, scope: str) -> None:
    """What is known is parted exactly; what is bridged is counted as not seen."""
    t = np.arange(float(len(values)))
    one = window.Series(t, np.array(values), 1.5, scope)
    end = float(t[-1])
    middle = share * end

    def known(begin: float, stop: float) -> tuple[float, float]:
        found = window.pieces(one, begin, stop)
        area = found.known * (found.v0 + found.v1) / 2 * (found.t1 - found.t0)
        return float(np.sum(area)), float(np.sum(found.known * (found.t1 - found.t0)))

    left, right, both = known(0, middle) if middle else (0.0, 0.0), known(middle, end), known(0, end)
    assert left[0] + right[0] == pytest.approx(both[0], rel=1e-9, abs=1e-6)
    assert left[1] + right[1] == pytest.approx(both[1], abs=1e-9)
    found = window.pieces(one, 0, end)
    if len(found.t0):
        assert float(np.sum(found.t1 - found.t0)) == pytest.approx(end)


def test_gaps_are_bridged_counted_and_refused_where_they_prevail(tmp_path: Path) -> None:
    flow = [12.0] * 30 + [math.nan] * 20 + [14.0] * 71
    found = whole(loop_data(tmp_path, flow=flow)).energies[0]
    assert found.seen == pytest.approx(1 - 21 / 120)
    gap = next(one for one in found.terms if one.name == "gaps of q")
    assert gap.u == pytest.approx(21 * 60 * (2 / 13) * (found.value or 0) / 7200 / 1.02 / math.sqrt(12), rel=0.05)
    flow = [12.0] * 40 + [math.nan] * 70 + [14.0] * 11
    lost = whole(loop_data(tmp_path, flow=flow)).energies[0]
    assert lost.value is None and lost.notices[0].code == "not-seen"


def test_over_range_is_no_reading_and_below_range_is_told(tmp_path: Path) -> None:
    made = sensors(
        v="l/min; range = ['10 l/min', '40 l/min']; accuracy = { full_scale = '1 %', kind = 'sigma' }",
        a="degC; accuracy = { absolute = '0 K' }",
        b="degC; accuracy = { absolute = '0 K' }",
    )
    found = whole(loop_data(tmp_path, made, flow=[12.0] * 100 + [400.0] * 5 + [5.0] * 16)).energies[0]
    assert (found.seen or 1) < 1
    assert any(one.code == "below-range" for one in found.notices)
    steady = whole(loop_data(tmp_path, made)).energies[0]
    term = next(one for one in steady.terms if one.name == "class of v")
    assert term.u == pytest.approx((steady.value or 0) * 0.4 / 12, rel=1e-9)


def test_an_accuracy_that_is_not_stated_is_a_doubt(tmp_path: Path) -> None:
    found = whole(loop_data(tmp_path, sensors(v="l/min", a="degC", b="degC"))).energies[0]
    assert [one.code for one in found.notices] == ["accuracy-unknown"] * 3


def test_a_sluggish_flow_meter_is_set_back_and_what_that_moves_is_in_the_budget(tmp_path: Path) -> None:
    made = sensors(
        v="l/min; lag = '60 s'; accuracy = { reading = '0 %' }",
        a="degC; accuracy = { absolute = '0 K' }",
        b="degC; accuracy = { absolute = '0 K' }",
    )
    minutes = np.arange(121.0)
    difference = 5 + np.sin(minutes / 5)
    flow = 12 + 4 * np.sin(minutes / 5)
    late = 12 + 4 * np.interp(minutes - 1, minutes, np.sin(minutes / 5))
    true = whole(loop_data(tmp_path, flow=flow, a=30 + difference)).energies[0]
    found = whole(loop_data(tmp_path, made, flow=late, a=30 + difference)).energies[0]
    assert true.value and found.value
    assert found.value == pytest.approx(true.value, rel=6e-3)  # the last minute is bridged
    assert any(one.name == "lag of v" and one.u for one in found.terms)
