"""Energies from meters of which nothing says how late they are, and from marks of which nothing says how exact they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from shakedown import times
from shakedown.cli.energy import app
from shakedown.energy import deduplicate, lag, phase, simulate
from shakedown.energy.green500 import stamps
from shakedown.energy.response import response_of
from shakedown.energy.simulate import Load, Truth
from shakedown.metering import trace
from shakedown.metering.trace import Trace
from support import bench
from support.energies import COUNTER, ORIGIN, SECOND, channel

#: Idle, two levels of 3 s, idle: what the meters' test on real servers runs.
RUN = Load(np.array([-100.0, 0.0, 3.0, 6.0]), np.array([200.0, 500.0, 800.0, 200.0]))
TRUE_J = 3900.0
END = ORIGIN + 6 * SECOND
#: A Redfish Sensor: stamps of its own, a rhythm that it states and does not keep, not a word of its averaging.
SENSOR = {"scope": "point", "refresh_s": 0.2}


def polled(truth: Truth, seed: int, every_s: float = 0.1, **changed: object) -> Trace:
    """What a host that asks often keeps of a device with stamps of its own: each value several times over."""
    one = simulate.observe(RUN, truth, channel(**changed), -11, 9.5, origin_ns=ORIGIN, seed=seed)
    asked = ORIGIN + np.round(np.arange(-10.5, 9.5, every_s) * 1e9).astype(np.int64)
    return one.take(np.searchsorted(one.t_ns, asked, side="right") - 1)


# ------------------------------------------------------------------------------------------------- with idle on both sides


@pytest.mark.parametrize(("refresh_s", "window_s"), [(0.25, 1.0), (0.5, 0.5)])
def test_a_sensor_that_averages_and_does_not_say_so_is_right_at_every_phase_of_its_readings(
    refresh_s: float, window_s: float
) -> None:
    """Its stamps say when a value was ready, not over how long it averages: 5 to 8 % were missing."""
    idle = ((ORIGIN - 15 * 10**8, ORIGIN), (END, END + 3 * SECOND))
    held = 0
    for number, phase_s in enumerate(np.linspace(0, refresh_s, 12, endpoint=False)):
        truth = Truth(refresh_s, window_s, resolution=1.0, noise=0.5, phase_s=float(phase_s))
        found = phase.energy_of(polled(truth, number, **SENSOR), ORIGIN, END, idle=idle)
        assert found.value is not None and found.expanded is not None
        assert abs(found.value - TRUE_J) <= 0.05 * TRUE_J
        held += abs(found.value - TRUE_J) <= found.expanded
    assert held == 12


@pytest.mark.parametrize(
    ("quantity", "refresh_s"),
    [("power", 0.17), ("power", 0.2), ("power", 0.3), *[("energy", one) for one in (0.03, 0.17, 0.2, 0.3, 1.0)]],
)
def test_what_an_exporter_kept_until_it_was_scraped_holds_the_truth(
    quantity: Literal["power", "energy"], refresh_s: float
) -> None:
    """A scrape is stamped when it asks: the value may be as old as the exporter's refresh, and always by the same time."""
    scraped = channel(**(COUNTER if quantity == "energy" else {}), stamped="scrape")
    idle = ((ORIGIN - 15 * 10**8, ORIGIN), (END, END + 3 * SECOND))
    for number, phase_s in enumerate(np.linspace(0, refresh_s, 12, endpoint=False)):
        truth = Truth(refresh_s, refresh_s if quantity == "power" else 0.0, phase_s=float(phase_s))
        one = simulate.observe(RUN, truth, scraped, -11, 9.5, poll_s=0.2, origin_ns=ORIGIN, seed=number)
        found = phase.energy_of(one, ORIGIN, END, idle=idle)
        assert found.value is not None and found.expanded is not None
        assert abs(found.value - TRUE_J) <= found.expanded <= 0.17 * TRUE_J, phase_s


def test_an_exporter_whose_refresh_is_stated_is_known_better() -> None:
    expanded = []
    for refresh_s in (None, 0.02):
        scraped = channel(**COUNTER, stamped="scrape", refresh_s=refresh_s)
        one = simulate.observe(RUN, Truth(0.02), scraped, -11, 9.5, poll_s=0.2, origin_ns=ORIGIN)
        found = phase.energy_of(one, ORIGIN, END)
        assert found.value is not None and found.expanded is not None
        assert abs(found.value - TRUE_J) <= found.expanded
        expanded.append(found.expanded)
    assert expanded[1] < 0.6 * expanded[0]


def test_a_coarse_counter_whose_refresh_nobody_states_holds_the_truth() -> None:
    """0.1 Wh steps, new every 0.5 s and read five times as often: a step shows up to a refresh after it was reached."""
    random = np.random.default_rng(3)
    worst = []
    for seed in range(60):
        counter = channel(**COUNTER, resolution=360.0)
        truth = Truth(0.5, phase_s=random.uniform(0, 0.5))
        one = simulate.observe(RUN, truth, counter, -11, 9.5, poll_s=0.1, origin_ns=ORIGIN, seed=seed)
        steps = np.floor((one.value + random.uniform(0, 360)) / 360) * 360
        found = phase.energy_of(replace(one, value=steps, half_ns=one.half_ns + 10**6), ORIGIN, END)
        assert found.value is not None and found.expanded is not None
        worst.append(abs(found.value - TRUE_J) / found.expanded)
    assert np.mean(np.array(worst) > 1) <= 0.1 and max(worst) < 1.5  # 26 % and 4.6 without what the refresh adds


def test_values_that_were_read_several_times_over_are_one_reading() -> None:
    truth = Truth(0.5, 0.5, resolution=1.0)
    again = polled(truth, 1, **SENSOR)
    assert len(deduplicate.once(again)) == len(np.unique(again.t_ns)) < len(again) / 4
    one = again.take(np.unique(again.t_ns, return_index=True)[1])
    assert phase.energy_of(again, ORIGIN, END).value == phase.energy_of(one, ORIGIN, END).value


def test_the_padded_window_grows_until_the_meter_has_settled() -> None:
    """First order, 3 s: two refreshes after the run half of the step is still to come."""
    load = Load(np.array([-1000.0, 0.0, 20.0]), np.array([200.0, 700.0, 200.0]))
    one = simulate.observe(
        load,
        Truth(1.0, tau_s=3.0, resolution=1.0, noise=0.5),
        channel(scope="point"),
        -80,
        120,
        origin_ns=ORIGIN,
        seed=1,
    )
    end = ORIGIN + 20 * SECOND
    idle = ((ORIGIN - 60 * SECOND, ORIGIN), (end, end + 60 * SECOND))
    found = phase.energy_of(one, ORIGIN, end, idle=idle)
    assert found.method.startswith("padded") and found.value == pytest.approx(14_000, rel=0.005)
    # With too little of it to settle in, no padded window is claimed, or what may still come is in the budget.
    short = ((ORIGIN - 4 * SECOND, ORIGIN), (end, end + 4 * SECOND))
    found = phase.energy_of(one, ORIGIN, end, idle=short)
    assert found.value is not None and found.expanded is not None
    assert abs(found.value - 14_000) <= found.expanded
    assert {"lag", "tail"} & {term.name for term in found.terms}


# ------------------------------------------------------------------------------------------------------ and without


@pytest.mark.parametrize(("kernel", "spread_s"), [({"window_s": 6.0}, 6.0), ({"tau_s": 3.0}, 3.5), ({}, 1.0)])
def test_the_fastest_move_of_the_readings_bounds_what_a_meter_spreads(
    kernel: dict[str, float], spread_s: float
) -> None:
    load = Load(np.array([-1000.0, 0.0, 60.0]), np.array([200.0, 700.0, 200.0]))
    one = simulate.observe(load, Truth(1.0, phase_s=0.01, **kernel), channel(scope="point"), -80, 160, origin_ns=ORIGIN)  # type: ignore[arg-type]
    assert lag.spread_s(one, response_of(one)) == pytest.approx(spread_s, rel=0.05)


def test_a_meter_that_may_spread_the_whole_phase_has_no_energy_of_it_without_idle_time() -> None:
    load = Load(np.array([-1000.0, 0.0, 5.0]), np.array([200.0, 700.0, 200.0]))
    one = simulate.observe(load, Truth(1.0, 10.0), channel(scope="point"), -80, 80, origin_ns=ORIGIN)
    end = ORIGIN + 5 * SECOND
    found = phase.energy_of(one, ORIGIN, end)
    assert found.value is None and "idle" in found.notices[0].advice
    idle = ((ORIGIN - 40 * SECOND, ORIGIN), (end, end + 40 * SECOND))
    assert phase.energy_of(one, ORIGIN, end, idle=idle).value == pytest.approx(3500, rel=0.02)


def test_readings_at_a_point_say_nothing_of_a_phase_that_lies_between_them() -> None:
    """They were equal, and the energy was one of the idle power, with hardly any uncertainty."""
    load = Load(np.array([-1000.0, 0.0, 5.0]), np.array([200.0, 700.0, 200.0]))
    for stated in ({}, {"window_s": 0.0}):
        what = channel(scope="point", refresh_s=10.0, **stated)
        one = simulate.observe(load, Truth(10.0, phase_s=7.0), what, -100, 100, origin_ns=ORIGIN)
        found = phase.energy_of(one, ORIGIN, ORIGIN + 5 * SECOND)
        assert found.value is None and found.notices[0].code == "too-short"


def test_the_truth_lies_within_u_in_nine_of_ten_whatever_the_lag() -> None:
    """scripts/bench/lag.py has more phases of the readings, lengths and idle times, and each by itself."""
    script = bench.script("lag")
    found = list(script.sweep(1, 77, (5.0, 60.0, 0.0), (20.0,)))
    for row in [*script.table(found, ("stamps",)), *script.table(found, ("rest_s",))]:
        assert row["within"] >= 0.9, row
        assert row["worst_in_u"] <= 3, row
        assert row["refused"] <= 0.2, row
    known = [one for one in script.table(found, ("period_s", "length_s", "rest_s")) if one["rest_s"] == 60]
    fast = [one for one in known if (one["period_s"], one["length_s"]) == (1.0, 20.0)]
    assert [one["u_percent"] < 2 and one["padded"] > 0.9 for one in fast] == [True]


# ------------------------------------------------------------------------------------------------------------- points


@pytest.mark.parametrize("shift_s", [0.02, 0.25, 0.75, 0.98])
def test_a_load_that_moves_in_time_with_the_readings_errs_alike_at_every_step(shift_s: float) -> None:
    """A fall of 100 kW in 200 equal steps, each at the same moment between two readings: half of 100 kJ at most."""
    t = np.arange(-100.0, 400.0)
    load = Load(t, np.interp(t, [50, 250], [150e3, 50e3]))
    what = channel(scope="point", refresh_s=1.0, window_s=0.0)
    one = simulate.observe(load, Truth(1.0, phase_s=shift_s), what, -90, 390, origin_ns=ORIGIN)
    found = phase.energy_of(one, ORIGIN + 20 * SECOND, ORIGIN + 280 * SECOND)
    true = load.mean_w(20, 280) * 260
    assert found.value is not None and found.expanded is not None
    assert abs(found.value - true) <= found.expanded <= 0.005 * true


# -------------------------------------------------------------------------------------------------------------- marks


@pytest.mark.parametrize(
    ("text", "step_s"),
    [
        ("2026-11-20T10:00:00Z", 1.0),
        ("2026-11-20 10:00:00,5+01:00", 0.1),
        ("20261120T100000.125Z", 0.001),
        ("2026-W47-5T10:00:00Z", 1.0),
        ("2026-11-20T10:00+01:00", 60.0),
        ("2026-11-20", 0.0),
        ("1700000000", 1.0),
        ("1700000000.25", 0.01),
        ("1700000000123", 0.001),
        ("1700000000123456789", 1e-9),
        ("+300", 1.0),
        ("+300.5", 0.1),
        ("1.7e9", 1.0),
        ("", 0.0),
    ],
)
def test_a_mark_is_as_exact_as_it_is_written(text: str, step_s: float) -> None:
    assert times.written_s(text) == pytest.approx(step_s)


@pytest.mark.parametrize(
    ("phase_of_site", "step_s"),
    [
        ('{begin = 2026-05-04T10:00:00Z, end = 2026-05-04T11:00:00Z}', 1.0),
        ('{begin = 2026-05-04T10:00:00.250Z, end = 2026-05-04T11:00:00Z}', 0.0),
        ('{begin_ns = 1700000000000000000, end_ns = 1700000100000000000}', 0.0),
        ('{begin = 2026-05-04T10:00:00Z, end = 2026-05-04T11:00:00Z, resolution_s = 0.0}', 0.0),
    ],
)  # fmt: skip
def test_a_site_s_stamps_are_as_exact_as_they_are_written(phase_of_site: str, step_s: float) -> None:
    told = msgspec.toml.decode(f"core = {phase_of_site}", type=stamps.Phases)
    windows, *_ = stamps.windows_of(told, Path())
    assert windows["core"].resolution_s == step_s


def test_the_command_takes_marks_as_exact_as_they_are_written_and_says_so(tmp_path: Path) -> None:
    load = Load(np.array([-1000.0, 0.0, 100.0]), np.array([200.0, 700.0, 200.0]))
    what = channel(refresh_s=1.0, window_s=1.0)
    path = tmp_path / "trace.parquet"
    trace.write(path, [simulate.observe(load, Truth(1.0, 1.0), what, -100, 200, origin_ns=ORIGIN)])
    whole, exact = str(ORIGIN // SECOND), f"{ORIGIN // SECOND}.000000000"

    def window(*options: str) -> tuple[float, str]:
        told = CliRunner().invoke(app, ["of", str(path), *options, "--json"], catch_exceptions=False)
        assert told.exit_code == 0, told.output
        found = json.loads(told.stdout)
        terms = found["phases"][0]["values"][0]["terms"]
        said = [one["text"] for one in found["warnings"] if one["code"] == "marks"]
        return sum(term["u"] for term in terms if term["name"] == "window"), " ".join(said)

    u, said = window("--begin", whole, "--end", "+100")
    assert u == pytest.approx(700 * 0.2887 * 2**0.5, rel=0.1) and "+-0.5 s" in said
    assert window("--begin", exact, "--end", "+100.0000") == (pytest.approx(0, abs=0.1), "")
    assert window("--begin", whole, "--end", "+100", "--window-u", "0") == (0, "")
    assert window("--begin", whole, "--end", "+100", "--window-u", "2")[0] > 900
    assert window() == (0, "")
