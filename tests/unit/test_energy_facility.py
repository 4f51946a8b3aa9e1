"""Heat, PUE, ERE, COP: the arithmetic by hand, the budgets by formula, CoolMUC's printed figures, a history with a truth."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from shakedown import published
from shakedown.cli.facility import app
from shakedown.energy import coolmuc, courses, cut, facility, heat, plant, plantdata, regression, times, trace, water
from shakedown.energy.facility import Indicator, Window
from shakedown.energy.quantity import Term
from shakedown.errors import BadInput, CannotMeasure

BEGIN = 1_700_000_000
DAY = 86400


# --------------------------------------------------------------------------------------------------------------- fluids


def kell(t: float) -> float:
    """Kell 1975, density at one atmosphere from 0 to 150 degC (as in Jones and Harris 1992, equation 1)."""
    above = 999.83952 + 16.945176 * t - 7.9870401e-3 * t**2 - 46.170461e-6 * t**3
    above += 105.56302e-9 * t**4 - 280.54253e-12 * t**5
    return above / (1 + 16.879850e-3 * t)


def test_water_is_iapws_waters_own_check_values_and_kells() -> None:
    assert float(water.density(water.WATER, 25.0)) == pytest.approx(997.0470133997646, rel=1e-12)
    assert float(water.heat_capacity(water.WATER, 25.0)) == pytest.approx(4181.446178557689, rel=1e-12)
    for t in range(0, 101, 5):
        assert float(water.density(water.WATER, t)) == pytest.approx(kell(t), abs=0.02)


@pytest.mark.parametrize(
    ("kind", "concentration", "t", "density", "capacity"),
    [  # CoolProp's INCOMP::MEG and INCOMP::MPG
        ("ethylene glycol", 0.2, 10.0, 1026.942, 3878.30),
        ("ethylene glycol", 0.3, 30.0, 1033.699, 3747.23),
        ("ethylene glycol", 0.4, 50.0, 1035.430, 3634.67),
        ("propylene glycol", 0.2, 50.0, 1001.230, 4040.21),
        ("propylene glycol", 0.3, 30.0, 1018.890, 3883.86),
        ("propylene glycol", 0.4, 10.0, 1037.616, 3674.27),
    ],
)
def test_glycols_are_melinders(
    kind: water.Kind, concentration: float, t: float, density: float, capacity: float
) -> None:
    fluid = water.Fluid(kind=kind, concentration=concentration)
    assert float(water.density(fluid, t)) == pytest.approx(density, abs=1e-3)
    assert float(water.heat_capacity(fluid, t)) == pytest.approx(capacity, abs=1e-2)


@given(
    st.sampled_from(["water", "ethylene glycol", "propylene glycol"]),
    st.floats(0.05, 0.6),
    st.floats(1, 99),
)
def test_enthalpy_rises_by_the_heat_capacity(kind: water.Kind, concentration: float, t: float) -> None:
    fluid = water.Fluid(kind=kind, concentration=0.0 if kind == "water" else concentration)
    rise = float(water.enthalpy(fluid, t + 0.5) - water.enthalpy(fluid, t - 0.5))
    assert rise == pytest.approx(float(water.heat_capacity(fluid, t)), rel=1e-5)


def test_outside_its_validity_a_fluid_has_no_properties() -> None:
    assert np.isnan(water.density(water.WATER, [-0.1, 100.1])).all()
    mix = water.Fluid(kind="ethylene glycol", concentration=0.3)
    assert water.freezing_degc(mix) == pytest.approx(-14.5758, abs=1e-3)
    assert np.isfinite(water.density(mix, -14.0)) and np.isnan(water.density(mix, -15.0))
    for wrong in (
        water.Fluid(concentration=0.2),
        water.Fluid(kind="ethylene glycol"),
        water.Fluid(kind="propylene glycol", concentration=0.7),
    ):
        with pytest.raises(BadInput):
            water.checked(wrong, "here")


# --------------------------------------------------------------------------------------------------- plants for the tests

SENSOR = '[[sensor]]\nname = "{name}"\nfile = "all.csv"\ncolumn = "{name}"\nunit = "{unit}"\n{more}\n'


def sensors(**kinds: str) -> str:
    """``name="W; accuracy = {...}"``: the unit, and what else there is to say."""
    blocks = []
    for name, text in kinds.items():
        unit, _, more = text.partition(";")
        blocks.append(SENSOR.format(name=name, unit=unit.strip(), more=more.strip().replace("; ", "\n")))
    return "".join(blocks)


def data(folder: Path, text: str, columns: dict[str, Any], *, step_s: float = 60.0, title: str = "t") -> facility.Data:
    """A plant with one file of readings, evenly spaced."""
    count = max(len(values) for values in columns.values())
    rows = {"time": [f"{BEGIN + step_s * at:.3f}" for at in range(count)]}
    rows |= {name: ["" if v is None or v != v else repr(float(v)) for v in values] for name, values in columns.items()}
    lines = [",".join(rows), *(",".join(cells) for cells in zip(*rows.values(), strict=True))]
    (folder / "all.csv").write_text("\n".join(lines) + "\n")
    return facility.Data.of(plant.parse(f'title = "{title}"\n{text}', "plant.toml", folder))


def whole(one: facility.Data) -> Window:
    return facility.evaluate(one, one.begin_ns, one.end_ns)


def indicator(window: Window, name: str) -> Indicator:
    return next(one for one in window.indicators if one.name == name)


def value(window: Window, name: str) -> float:
    found = indicator(window, name).quantity.value
    assert found is not None
    return found


LOOP = '[[loop]]\nname = "q"\nflow = "v"\nwarm = "a"\ncool = "b"\nflow_at = "cool"\n'
AREA = '[[area]]\nname = "z"\nit = ["it"]\ninfrastructure = ["cooling"]\n'
ACCURATE = "accuracy = { reading = '1 %', kind = 'sigma' }"


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
    short = facility.evaluate(made, made.begin_ns, made.begin_ns + 300 * 10**9)
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
    one = cut.Series(t, np.array(values), 1.5, scope)
    end = float(t[-1])
    middle = share * end

    def known(begin: float, stop: float) -> tuple[float, float]:
        found = cut.pieces(one, begin, stop)
        area = found.known * (found.v0 + found.v1) / 2 * (found.t1 - found.t0)
        return float(np.sum(area)), float(np.sum(found.known * (found.t1 - found.t0)))

    left, right, both = known(0, middle) if middle else (0.0, 0.0), known(middle, end), known(0, end)
    assert left[0] + right[0] == pytest.approx(both[0], rel=1e-9, abs=1e-6)
    assert left[1] + right[1] == pytest.approx(both[1], abs=1e-9)
    found = cut.pieces(one, 0, end)
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


# ------------------------------------------------------------------------------------------------------ ratios by formula


def test_pue_and_its_uncertainty_where_both_parts_are_metered(tmp_path: Path) -> None:
    made = data(
        tmp_path,
        sensors(it=f"W; {ACCURATE}", cooling=f"W; {ACCURATE}") + AREA,
        {"it": [1000.0] * 61, "cooling": [300.0] * 61},
    )
    found = indicator(whole(made), "pPUE")
    assert found.quantity.value == pytest.approx(1.3)
    # u^2 = (u(infra) / IT)^2 + (infra u(IT) / IT^2)^2
    assert found.quantity.u == pytest.approx(math.hypot(0.003, 0.3 * 0.01), rel=1e-9)
    assert found.label == "interim, over 1.0 h"


def test_pue_where_the_total_is_metered_by_itself(tmp_path: Path) -> None:
    area = '[[area]]\nname = "z"\nwhole = true\nit = ["it"]\ntotal = ["main"]\nit_metered_at = "PDU output"\n'
    made = data(
        tmp_path,
        sensors(it=f"W; {ACCURATE}", main=f"W; {ACCURATE}") + area,
        {"it": [1000.0] * 61, "main": [1300.0] * 61},
    )
    found = indicator(whole(made), "PUE2")
    assert found.quantity.u == pytest.approx(1.3 * math.sqrt(2) * 0.01, rel=1e-9)
    assert "by themselves" in found.quantity.method


def test_a_year_is_annual_and_less_is_interim() -> None:
    assert facility.label(365 * DAY) == "annual" and facility.label(366 * DAY) == "annual"
    assert facility.label(15 * DAY) == "interim, over 15.0 d"


def test_reuse_inside_and_outside_are_different_metrics(tmp_path: Path) -> None:
    area = AREA + 'reuse = ["heat"]\ncompute = ["chips"]\n'
    area += 'saved = [{ of = "cold", factor = 0.25, why = "a chiller of COP 4 would take it" }]\n'
    kinds = dict.fromkeys(("it", "cooling", "heat", "cold", "chips"), f"W; {ACCURATE}")
    columns = {"it": 1000.0, "cooling": 200.0, "heat": 240.0, "cold": 100.0, "chips": 800.0}
    made = data(tmp_path, sensors(**kinds) + area, {name: [one] * 61 for name, one in columns.items()})
    found = whole(made)
    assert value(found, "pERE") == pytest.approx((1 - value(found, "ERF")) * value(found, "pPUE"))
    assert value(found, "pERE") == pytest.approx(0.96)
    assert value(found, "ERE_DC") == pytest.approx((1200 - 25) / 1000)
    assert value(found, "TUE") == pytest.approx(value(found, "ITUE") * value(found, "pPUE"))
    with pytest.raises(BadInput, match="reused outside and as saved inside"):
        data(tmp_path, sensors(**kinds) + area.replace('reuse = ["heat"]', 'reuse = ["cold"]'), {"it": [1.0]})


def test_ratios_of_integrals_are_no_means_of_ratios(tmp_path: Path) -> None:
    text = sensors(cold=f"W; {ACCURATE}", drive=f"W; {ACCURATE}")
    text += '[[cop]]\nname = "c"\nkind = "thermal"\ncold = ["cold"]\ndrive = ["drive"]\n'
    text += 'includes = "no pumps"\ncycle = "20 min"\n'
    swing = np.sin(np.arange(121) / 3)
    cold, drive = 500 + 300 * swing, 1000 - 600 * swing
    made = data(tmp_path, text, {"cold": cold, "drive": drive})
    found = indicator(whole(made), "COP")
    wanted = np.trapezoid(cold) / np.trapezoid(drive)
    assert found.quantity.value == pytest.approx(wanted, rel=1e-12)
    assert abs(np.mean(cold / drive) / wanted - 1) > 0.2
    short = facility.evaluate(made, made.begin_ns, made.begin_ns + 1800 * 10**9)
    assert any(one.code == "window-short" for one in indicator(short, "COP").quantity.notices)


def test_an_energy_counter_and_its_reset(tmp_path: Path) -> None:
    counter = "kWh; scope = 'counter'; accuracy = { reading = '1 %', kind = 'sigma' }"
    kinds = sensors(it=counter, cooling=f"W; {ACCURATE}") + AREA
    rising = [100 + at / 60 for at in range(121)]  # 1 kW
    made = data(tmp_path, kinds, {"it": rising, "cooling": [200.0] * 121})
    found = whole(made)
    assert found.energies[0].value == pytest.approx(7.2e6)
    assert value(found, "pPUE") == pytest.approx(1.2)
    part = facility.evaluate(made, made.begin_ns + 90 * 10**9, made.begin_ns + 4000 * 10**9)
    assert part.energies[0].value == pytest.approx(3910e3)
    made = data(tmp_path, kinds, {"it": [*rising[:60], *(at / 60 for at in range(61))], "cooling": [200.0] * 121})
    lost = whole(made)
    assert indicator(lost, "pPUE").quantity.value is None
    assert "started anew" in lost.energies[0].notices[0].text


def test_a_pue_below_one_is_doubted(tmp_path: Path) -> None:
    area = '[[area]]\nname = "z"\nit = ["it"]\ntotal = ["main"]\n'
    made = data(
        tmp_path, sensors(it=f"W; {ACCURATE}", main=f"W; {ACCURATE}") + area, {"it": [1000.0] * 9, "main": [900.0] * 9}
    )
    assert "below-one" in [one.code for one in indicator(whole(made), "pPUE").quantity.notices]


def test_the_balance_of_a_loop_that_warms_up_closes_with_its_storage_only(tmp_path: Path) -> None:
    """10 kW in, 9 kW out, and 1 MJ/K of water and copper that warm by 7.2 K in two hours."""
    columns = {"it": [10e3] * 121, "cooling": [9e3] * 121, "tank": [30 + 7.2 * at / 120 for at in range(121)]}
    text = sensors(it=f"W; {ACCURATE}", cooling=f"W; {ACCURATE}", tank="degC; accuracy = { absolute = '0.1 K' }")
    text += '[[balance]]\nname = "loop"\ninto = ["it"]\nout = ["cooling"]\n'
    (open_,) = whole(data(tmp_path, text, columns)).balances
    assert open_.closed is False and open_.residual.value == pytest.approx(7.2e6)
    stored = text + 'stored = [{ capacity = "1 MJ/K", sensor = "tank", u = "10 %" }]\n'
    (closed,) = whole(data(tmp_path, stored, columns)).balances
    assert closed.closed is True and closed.residual.value == pytest.approx(0, abs=1e3)
    columns["tank"][-9:] = [math.nan] * 9
    (lost,) = whole(data(tmp_path, stored, columns)).balances
    assert lost.closed is None and "no reading at an end" in lost.residual.notices[0].text


# ------------------------------------------------------------------------------------------------- CoolMUC, as it is printed


def printed(metric: str, **params: str) -> float:
    return next(
        one.value for one in published.system("lrz-coolmuc").values if one.metric == metric and one.params == params
    )


def test_coolmucs_figures_follow_from_one_another(tmp_path: Path) -> None:
    """The document prints powers of rack 5, slopes and ratios. A plant of constant powers made of them must show COP 0.52,
    pPUE 1.23, pERE 1.03 and 20 % of re-use, to the digits that are printed."""
    at_27 = printed("facility.power.slope", case="maximum load") / printed(
        "facility.power.relative_slope", case="maximum load"
    )
    it = at_27 * (1 + printed("facility.power.relative_slope", case="maximum load") * (40 - 27))
    cold = printed("facility.heat.removed", case="additional rack")
    drive = cold / printed("facility.cop")
    pumps = 350.0  # not printed: it is part of the drive, of the cooling and of the re-use, and moves nothing
    columns = {
        "it": it,
        "rest": printed("facility.overhead", case="without re-use") * it - pumps,
        "pumps": pumps,
        "hot": drive - pumps,
        "cold": cold,
        "rack": printed("facility.heat.produced", case="additional rack"),
    }
    text = sensors(**dict.fromkeys(columns, f"W; {ACCURATE}"))
    text += '[[area]]\nname = "CoolMUC"\nit = ["it"]\ninfrastructure = ["rest", "pumps"]\nreuse = ["hot", "pumps"]\n'
    text += '[[cop]]\nname = "chiller"\nkind = "thermal"\ncold = ["cold"]\ndrive = ["hot", "pumps"]\nincludes = "pumps in"\n'
    text += '[[balance]]\nname = "rack 5"\ninto = ["rack"]\nout = ["cold"]\nlosses = { power = "1.5 kW", u = "10 W" }\n'
    found = whole(data(tmp_path, text, {name: [one] * 61 for name, one in columns.items()}))
    assert round(value(found, "COP"), 2) == printed("facility.cop") == 0.52
    assert round(value(found, "pPUE"), 2) == printed("facility.ppue") == 1.23
    assert round(value(found, "pERE"), 2) == printed("facility.pere") == 1.03
    assert round(value(found, "reuse/IT"), 2) == printed("facility.energy_reuse", case="of the IT energy") == 0.20
    assert found.balances[0].residual.value == pytest.approx(0, abs=1)
    assert found.balances[0].closed is True


def test_coolmucs_rise_with_the_inlet_temperature() -> None:
    relative = printed("facility.power.relative_slope", case="maximum load")
    x = np.repeat(np.arange(27.0, 50.5, 1.0), 4)
    base = printed("facility.power.slope", case="maximum load") / relative
    random = np.random.default_rng(3)
    line = regression.line(
        "p", x, base * (1 + relative * (x - 27)) + 20 * random.standard_normal(len(x)), reference=27, at=50
    )
    for one, wanted in ((line.slope, 133.0), (line.relative, 0.00322), (line.rise, 0.0741)):
        assert one is not None and one.value is not None and one.interval is not None
        assert one.interval[0] < wanted < one.interval[1]
        assert one.value == pytest.approx(wanted, rel=0.01)
    rise = printed("facility.power.rise", case="maximum load, from 27 to 50 degC")
    assert round((50 - 27) * relative, 3) == pytest.approx(rise)


# ------------------------------------------------------------------------------------------------------------ regressions


def test_a_meters_gain_moves_the_slope_not_the_percentages() -> None:
    x = np.linspace(20, 50, 60)
    gain = Term(name="class of p", u=0.01, common="class of p")
    with_gain = regression.line("p", x, 1000 + 10 * x + np.sin(7 * x), reference=30, shared=gain)
    without = regression.line("p", x, 1000 + 10 * x + np.sin(7 * x), reference=30)
    assert with_gain.slope.u == pytest.approx(
        math.hypot(without.slope.u or 0, 0.01 * (without.slope.value or 0)), rel=1e-6
    )
    assert with_gain.relative == without.relative


def test_outliers_do_not_bend_the_line() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(20, 50, 200)
    y = 1000 + 10 * x + 5 * random.standard_normal(200)
    y[::20] -= 800  # nodes down for a while
    line = regression.line("p", x, y)
    plain = np.polyfit(x, y, 1)[0]
    assert line.slope.value == pytest.approx(10, abs=0.5)
    assert abs(plain - 10) > abs((line.slope.value or 0) - 10)


def test_intervals_hold_for_autocorrelated_scatter() -> None:
    """95 % intervals of the slope with AR(1) scatter of 0.7 hold the truth in at least 88 of 100 histories."""
    held = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        noise = np.zeros(240)
        for at in range(1, 240):
            noise[at] = 0.7 * noise[at - 1] + random.standard_normal()
        x = 35 + 8 * np.sin(np.arange(240) / 40 + seed)
        line = regression.line("p", x, 100 + 2 * x + noise)
        assert line.slope.interval is not None
        held += line.slope.interval[0] <= 2 <= line.slope.interval[1]
    assert held >= 88


@pytest.mark.parametrize("seed", range(4))
def test_a_bend_is_found_where_there_is_one_and_only_there(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.tile(np.linspace(20, 50, 150), 2)
    noise = 15 * random.standard_normal(300)
    straight = regression.line("p", x, 1000 + 10 * x + noise, bends=2)
    assert straight.bends == ()
    bent = regression.line("p", x, 1000 + 10 * x + 40 * np.maximum(x - 38, 0) + noise, bends=2)
    assert len(bent.bends) == 1 and bent.bends[0] == pytest.approx(38, abs=1.0)
    assert bent.slopes == pytest.approx((10, 50), rel=0.15)


def test_what_cannot_be_told_is_not_told() -> None:
    line = regression.line("p", np.arange(5.0), np.arange(5.0))
    assert line.slope.value is None and line.slope.notices[0].code == "few-points"
    x = np.linspace(20, 40, 100)
    assert regression.plane("c", [("a", x), ("b", 2 * x + 1e-6 * np.sin(x))], x) is None
    beyond = regression.line("p", x, 3 * x, reference=60)
    assert beyond.notices[0].code == "extrapolated"


# ------------------------------------------------------------------------------------------------------- files and times


def test_times_in_all_their_forms() -> None:
    wanted = 1_383_174_000 * 10**9
    for text in (
        "1383174000",
        "1383174000.0",
        "1383174000000",
        str(wanted),
        "2013-10-30T23:00:00Z",
        "2013-10-31T00:00:00+01:00",
    ):
        assert times.stamps([text], "", "here")[0] == wanted
    assert times.stamps(["2013-10-31 00:00"], "Europe/Berlin", "here")[0] == wanted
    with pytest.raises(BadInput, match="neither zone nor offset"):
        times.stamps(["2013-10-31 00:00"], "", "here")


def test_the_hour_that_comes_twice_is_told_apart_by_order() -> None:
    texts = [
        "2013-10-27 01:30",
        "2013-10-27 02:00",
        "2013-10-27 02:30",
        "2013-10-27 02:00",
        "2013-10-27 02:30",
        "2013-10-27 03:00",
    ]
    assert np.diff(times.stamps(texts, "Europe/Berlin", "here")).tolist() == [1800 * 10**9] * 5


def test_semicolons_decimal_commas_and_our_own_traces(tmp_path: Path) -> None:
    text = 'title = "t"\n' + sensors(it="kW", cooling="W") + AREA
    (tmp_path / "all.csv").write_text("time;it;cooling\n1700000000;1,5;300\n1700000060;1,5;\n1700000120;1,5;300\n")
    found = plantdata.read(plant.parse(text, "p", tmp_path))
    assert found["it"].value.tolist() == [1500.0] * 3
    assert found["cooling"].status.tolist() == [0, 1, 0]
    trace.write(tmp_path / "it.parquet", [found["it"]])
    again = text.replace(
        'file = "all.csv"\ncolumn = "it"\nunit = "kW"', 'file = "it.parquet"\ncolumn = "it"\nunit = "W"'
    )
    assert plantdata.read(plant.parse(again, "p", tmp_path))["it"].value.tolist() == [1500.0] * 3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("[[area]]", "[[aera]]"), "unknown key 'aera'"),
        (('it = ["it"]', 'it = ["ti"]'), "unknown flow of energy 'ti'"),
        (('unit = "W"', 'unit = "Wat"'), "unknown unit"),
        (('unit = "W"', 'unit = "GB"'), "of no use"),
        (('infrastructure = ["cooling"]', ""), "either a total"),
        (('infrastructure = ["cooling"]', 'infrastructure = ["it"]'), "counts as IT and as infrastructure"),
        (('it = ["it"]', 'it = [{ of = "it", factor = 0.5 }]'), "not explained"),
        (('flow_at = "cool"', 'flow_at = "middle"'), "unknown sensor 'middle'"),
        (('flow_at = "cool"', 'flow_at = "cool"\nvolume = "3 l"'), "passes first"),
        (('flow = "v"', 'flow = "a"'), "measures temperature"),
        (('name = "cooling"', 'name = "it"'), "twice"),
        (("[[area]]", '[[pair]]\nsensors = ["a", "a"]\ndifference = "0.1 K"\n[[area]]'), "in two pairs"),
        (('title = "t"', 'title = "t"\nzone = "Mars"'), "unknown time zone"),
        (('title = "t"', "title = "), "is not TOML"),
    ],
)
def test_a_plant_that_cannot_be_is_refused_with_the_place(tmp_path: Path, change: tuple[str, str], why: str) -> None:
    text = 'title = "t"\n' + sensors(it="W", cooling="W", v="l/min", a="degC", b="degC") + LOOP + AREA
    plant.parse(text, "p.toml", tmp_path)
    with pytest.raises(BadInput, match=why) as raised:
        plant.parse(text.replace(*change, 1), "p.toml", tmp_path)
    assert raised.value.hint and "p.toml" in raised.value.where


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    made = plant.parse('title = "t"\n' + sensors(it="W", cooling="W") + AREA, "p.toml", tmp_path)
    for content, why in (
        (None, "cannot be read"),
        ("time,it\n", "no rows"),
        ("time,it,coling\n1,2,3\n", "did you mean 'coling'"),
        ("time,it,cooling\n1,2\n", "cells"),
        ("time,it,cooling\nnoon,2,3\n", "is no time"),
    ):
        if content is not None:
            (tmp_path / "all.csv").write_text(content)
        with pytest.raises(BadInput) as raised:
            plantdata.read(made)
        assert why in str(raised.value)
    (tmp_path / "all.csv").write_text("time,it,cooling\n1700000000,,3\n1700000060,,3\n")
    with pytest.raises(CannotMeasure, match="no reading at all"):
        facility.Data.of(made)


# ------------------------------------------------------------------------------------------------ the generated history


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coolmuc") / "plant"
    done = CliRunner().invoke(app, ["example", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    return folder


def test_the_example_shows_the_documents_figures(example: Path) -> None:
    done = CliRunner().invoke(app, [str(example / "plant.toml"), "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    by_name = {(one["of"], one["name"]): one["quantity"] for one in found["whole"]["indicators"]}
    for (of, name), wanted in {
        ("adsorption chiller", "COP"): 0.52,
        ("CoolMUC", "pPUE"): 1.23,
        ("CoolMUC", "pERE"): 1.03,
        ("CoolMUC", "reuse/IT"): 0.20,
    }.items():
        quantity = by_name[of, name]
        assert round(quantity["value"], 2) == wanted
        assert abs(quantity["value"] - wanted) < quantity["u"] * quantity["k"]
    (line,) = found["regressions"]
    assert abs(line["slope"]["value"] - 133) < line["slope"]["u"] * line["slope"]["k"]
    assert abs(line["relative"]["value"] - 0.00322) < line["relative"]["u"] * line["relative"]["k"]
    # The truth that was put in: a kelvin of driving water more adds 0.010, a warm re-cooler takes up to 0.008.
    by_drive, by_outside = (one["value"] for one in found["cops"][0]["plane"]["slopes"])
    assert by_drive == pytest.approx(0.0104, abs=0.003) and -0.008 < by_outside < -0.001


def test_the_page_has_every_figure_of_the_chapter_and_needs_no_network(example: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(
        app, [str(example / "plant.toml"), "--html", str(page), "--window", "3 d"], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert "CoolMUC: pPUE 1.23" in done.stdout and "4 windows" in done.stdout
    text = page.read_text()
    for title in (
        "COP of adsorption chiller",  # figure 36
        "Temperatures at adsorption chiller",
        "COP of adsorption chiller over temperature",  # figure 37
        "Rack 5: its power and what the chiller removes",  # figure 38
        "CoolMUC: pPUE",  # figure 39
        "CoolMUC: pERE",  # figure 41
        "power and water inlet",  # figure 35
    ):
        assert f"{title}. " in text, title
    assert "CoolMUC, published mean" in text
    assert text.count("<svg role=") == 9
    assert "default-src 'none'" in text and "http://" not in text.replace("http://www.w3.org", "")


def test_a_balance_that_does_not_close_ends_in_1_and_a_wrong_window_in_2(example: Path, tmp_path: Path) -> None:
    text = (example / "plant.toml").read_text().replace('power = "1.5 kW"', 'power = "0.2 kW"')
    (tmp_path / "plant.toml").write_text(text)
    for file in example.glob("*.csv"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    done = CliRunner().invoke(app, [str(tmp_path / "plant.toml"), "--begin", "2013-11-02", "--end", "2013-11-04"])
    assert done.exit_code == 1 and "does not close" in done.stdout
    for words in (["--begin", "2013-11-04", "--end", "2013-11-02"], ["--window", "400 d"], ["--begin", "soon"]):
        refused = CliRunner().invoke(app, [str(tmp_path / "plant.toml"), *words])
        assert isinstance(refused.exception, BadInput) and refused.exception.hint
    again = CliRunner().invoke(app, ["example", str(example)])
    assert isinstance(again.exception, BadInput)


def test_our_uncertainty_holds_the_truth(tmp_path: Path) -> None:
    """40 histories of a day, each with sensors that are off as their makers allow: COP, pPUE and pERE hold the truth in at
    least 36 of them."""
    made = plant.parse(coolmuc.PLANT, "plant.toml", tmp_path)
    held = {"cop": 0, "ppue": 0, "pere": 0}
    names = {"cop": ("adsorption chiller", "COP"), "ppue": ("CoolMUC", "pPUE"), "pere": ("CoolMUC", "pERE")}
    for seed in range(40):
        truth = coolmuc.write(tmp_path, seed, days=1).truth
        found = whole(facility.Data.of(made))
        for key, (of, name) in names.items():
            quantity = next(one.quantity for one in found.indicators if (one.of, one.name) == (of, name))
            assert quantity.interval is not None
            held[key] += quantity.interval[0] <= truth[key] <= quantity.interval[1]
    assert min(held.values()) >= 36, held


def test_averages_are_those_of_the_window(example: Path) -> None:
    made = facility.Data.of(plant.load(example / "plant.toml"))
    length = (made.end_ns - made.begin_ns) * 1e-9
    course = courses.averages(made, "it", made.begin_ns, made.end_ns, length / 50)
    energy = made.energy("it", made.begin_ns, made.end_ns).value or 0.0
    assert float(np.mean(course.value)) == pytest.approx(energy / length, rel=1e-9)
