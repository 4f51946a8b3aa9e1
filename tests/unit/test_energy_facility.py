"""Facility: PUE and its kin by formula, CoolMUC as printed, and a generated history with every figure."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shakedown import published
from shakedown.cli.facility import app
from shakedown.energy.facility import coolmuc, plant, ratios, regression, trends
from shakedown.errors import BadInput
from support.plants import ACCURATE, AREA, DAY, data, indicator, sensors, value, whole

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
    assert ratios.label(365 * DAY) == "annual" and ratios.label(366 * DAY) == "annual"
    assert ratios.label(15 * DAY) == "interim, over 15.0 d"


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
    short = ratios.evaluate(made, made.begin_ns, made.begin_ns + 1800 * 10**9)
    assert any(one.code == "window-short" for one in indicator(short, "COP").quantity.notices)


def test_an_energy_counter_and_its_reset(tmp_path: Path) -> None:
    counter = "kWh; scope = 'counter'; accuracy = { reading = '1 %', kind = 'sigma' }"
    kinds = sensors(it=counter, cooling=f"W; {ACCURATE}") + AREA
    rising = [100 + at / 60 for at in range(121)]  # 1 kW
    made = data(tmp_path, kinds, {"it": rising, "cooling": [200.0] * 121})
    found = whole(made)
    assert found.energies[0].value == pytest.approx(7.2e6)
    assert value(found, "pPUE") == pytest.approx(1.2)
    part = ratios.evaluate(made, made.begin_ns + 90 * 10**9, made.begin_ns + 4000 * 10**9)
    assert part.energies[0].value == pytest.approx(3910e3)
    made = data(tmp_path, kinds, {"it": [*rising[:60], *(at / 60 for at in range(61))], "cooling": [200.0] * 121})
    lost = whole(made)
    assert indicator(lost, "pPUE").quantity.value is None
    assert "restarted" in lost.energies[0].notices[0].text


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
        found = whole(ratios.Data.of(made))
        for key, (of, name) in names.items():
            quantity = next(one.quantity for one in found.indicators if (one.of, one.name) == (of, name))
            assert quantity.interval is not None
            held[key] += quantity.interval[0] <= truth[key] <= quantity.interval[1]
    assert min(held.values()) >= 36, held


def test_averages_are_those_of_the_window(example: Path) -> None:
    made = ratios.Data.of(plant.load(example / "plant.toml"))
    length = (made.end_ns - made.begin_ns) * 1e-9
    course = trends.averages(made, "it", made.begin_ns, made.end_ns, length / 50)
    energy = made.energy("it", made.begin_ns, made.end_ns).value or 0.0
    assert float(np.mean(course.value)) == pytest.approx(energy / length, rel=1e-9)
