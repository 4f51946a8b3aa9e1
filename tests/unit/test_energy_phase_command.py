"""Series of a phase and its steady part; the command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shakedown.cli.energy import app
from shakedown.energy import phase, simulate
from shakedown.energy.simulate import Load, Truth
from shakedown.errors import BadInput
from shakedown.files import atomic
from shakedown.metering import trace
from shakedown.metering.trace import Floats
from shakedown.records import Cpu, Host, Machine, Measurement, Memory, Phase, Plan
from shakedown.results import run_directory
from support.energies import ORIGIN, SECOND, channel
from support.phases import dgemm, noisy

# ------------------------------------------------------------------------------------------------------- series, steady


def test_power_of_the_steady_part() -> None:
    one = dgemm(3600, window=5, refresh=5)
    end = ORIGIN + 3600 * SECOND
    for preset in ("auto", "prace2013"):
        found = phase.power_of(one, ORIGIN, end, preset=preset)
        assert found.value == pytest.approx(711, abs=1)
        assert f"steady window by {preset}" in found.method
        assert found.notices[0].code == "steady"
    whole = phase.power_of(one, ORIGIN, end, preset="hpl-core")
    assert whole.value == pytest.approx(711 - 50 * 200 / 3600, abs=0.5)
    assert whole.u is not None and whole.u < 1
    short = dgemm(400, window=5, refresh=5)
    settled = phase.power_of(short, ORIGIN + 10 * SECOND, ORIGIN + 400 * SECOND, preset="auto")
    assert settled.method.startswith("extrapolated")
    assert settled.value == pytest.approx(711, abs=3 * (settled.u or 0))


# ------------------------------------------------------------------------------------------------------------ the command


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "trace.parquet"
    blade = simulate.observe(
        Load(np.array([-1000.0, 0.0, 30.0]), np.array([150.0, 400.0, 150.0])),
        Truth(10.0, 40.0, resolution=1.0),
        channel(refresh_s=10.0, window_s=40.0, resolution=1.0, host="n1"),
        -200,
        200,
        origin_ns=ORIGIN,
    )
    trace.write(path, [blade])
    return path


def values(output: str) -> Floats:
    return np.array([value["value"] for value in json.loads(output)["phases"][0]["values"]])


def test_the_command_prints_value_budget_and_advice(recorded: Path) -> None:
    begin, end = "2023-11-14T22:13:20Z", "+30"
    idle = ["--idle-before", "190", "--idle-after", "190"]
    plain = CliRunner().invoke(app, ["of", str(recorded), "--begin", begin, "--end", end, *idle])
    assert plain.exit_code == 0, plain.output
    assert re.search(r"energy: 12000 J \+- [\d.]+ J", plain.output)
    assert "padded: corrected" in plain.output
    assert "Uncertainty budget of the energy" in plain.output
    assert "% of the variance" in plain.output
    told = CliRunner().invoke(
        app, ["of", str(recorded), "--begin", str(ORIGIN // SECOND), "--end", end, *idle, "--json"]
    )
    assert values(told.stdout) == pytest.approx([12000, 400], rel=1e-3)


def test_the_command_refuses_times_without_a_zone_and_ends_3_where_nothing_was_read(recorded: Path) -> None:
    with pytest.raises(BadInput, match="does not say its zone"):
        CliRunner().invoke(app, ["of", str(recorded), "--begin", "2023-11-14T22:13:20"], catch_exceptions=False)
    with pytest.raises(BadInput, match="is not a valid time"):
        CliRunner().invoke(app, ["of", str(recorded), "--begin", "noon"], catch_exceptions=False)
    with pytest.raises(BadInput, match="go together"):
        CliRunner().invoke(app, ["of", str(recorded), "--phase", "hpl"], catch_exceptions=False)
    away = CliRunner().invoke(app, ["of", str(recorded), "--begin", "+5000", "--end", "+10"])
    assert away.exit_code == 3
    assert "not known" in away.output


def test_the_command_takes_the_phases_of_a_run_each_time_that_they_occur(tmp_path: Path, recorded: Path) -> None:
    cpu = Cpu(model="", vendor="", architecture="", microarchitecture="")
    run = run_directory.RunDirectory.create(
        tmp_path / "run",
        manifest=run_directory.Manifest(schema=run_directory.SCHEMA, campaign="c", created_ns=0, version="0", host="n"),
        campaign_toml="",
        machine=Machine(hosts=(Host(name="n", cpu=cpu, memory=Memory(total_bytes=1)),), discovered_ns=0, version="0"),
        plan=Plan(campaign="c", title="c", runs=()),
    )
    seen = [
        Phase(name="measure", begin_ns=ORIGIN + at * SECOND, end_ns=ORIGIN + (at + 60) * SECOND) for at in (-100, 80)
    ]
    done = Measurement(
        run="abc", repeat=1, workload="hpl", params={}, host="n", state="ok", begin_ns=ORIGIN, end_ns=ORIGIN + SECOND,
        phases=tuple(seen),
    )  # fmt: skip
    folder = run.folder("abc", 1)
    folder.mkdir(parents=True)
    atomic.write_record(folder / "measurement.json", done)
    found = CliRunner().invoke(
        app, ["of", str(recorded), "--run", str(run.path), "--phase", "measure", "--method", "inside-mean", "--json"]
    )
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)["phases"]
    assert [one["phase"]["name"] for one in told] == ["measure (hpl, repeat 1)"] * 2
    assert [one["values"][0]["value"] for one in told] == pytest.approx([9000, 9000])
    with pytest.raises(BadInput, match="unknown phase 'mesure'") as refused:
        CliRunner().invoke(
            app, ["of", str(recorded), "--run", str(run.path), "--phase", "mesure"], catch_exceptions=False
        )
    assert "did you mean 'measure'" in refused.value.hint


def test_the_command_asks_which_channel(tmp_path: Path) -> None:
    path = tmp_path / "two.parquet"
    trace.write(path, [noisy(host="n1"), noisy(host="n2"), noisy(id="t", quantity="temperature", unit="degC")])
    with pytest.raises(BadInput, match="2 channels") as refused:
        CliRunner().invoke(app, ["of", str(path)], catch_exceptions=False)
    assert "n1:m/power, n2:m/power" in refused.value.hint
    found = CliRunner().invoke(app, ["of", str(path), "--channel", "n2:m/power", "--json"])
    assert values(found.stdout)[1] == pytest.approx(400, rel=1e-3)


def test_a_meter_of_which_nothing_is_known_is_late_by_an_unknown_time() -> None:
    load = Load(np.array([0.0, 100.0, 130.0, 160.0]), np.array([200.0, 500.0, 800.0, 200.0]))
    for late_s in (0.0, 0.3, 0.8):
        truth = Truth(refresh_s=0.5, window_s=0.5, delay_s=late_s, resolution=1.0)
        shown = simulate.observe(load, truth, channel(resolution=1.0), 60.0, 220.0, origin_ns=ORIGIN)
        asked = replace(shown, half_ns=np.full(len(shown), 10**6))  # read at these times, stamped by the reader
        window = (ORIGIN + 100 * SECOND, ORIGIN + 160 * SECOND)
        found = phase.energy_of(asked, *window)
        assert found.interval is not None and found.interval[0] < 39_000 < found.interval[1]
        assert ["characterise" in term.remedy for term in found.terms if term.name == "lag"] == [True]
        idle = ((window[0] - 30 * SECOND, window[0]), (window[1], window[1] + 30 * SECOND))
        padded = phase.energy_of(asked, *window, idle=idle)
        assert "how late" in padded.method and padded.value == pytest.approx(39_000, rel=0.002)
