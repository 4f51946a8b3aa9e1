"""`shakedown run --meter`, with the shipped fake as the meter: what is kept, resumed, refused and shown."""

from __future__ import annotations

import json
from pathlib import Path

from support.command import shakedown

CAMPAIGN = """
name = "mine"
title = "Mine"
[[run]]
workload = "stream"
params = { sizes = "64 KiB", kernels = "triad", threads = "1", seconds = 1.5 }
"""
NODE = {"id": "simulated/node", "quantity": "power", "unit": "W", "scope": "last", "place": "node"}
FAST = {"refresh_s": 0.1, "window_s": 0.1}


def write(folder: Path, **more: object) -> Path:
    (folder / "mine.toml").write_text(CAMPAIGN)
    told = {"load": {"t_s": [0], "w": [250]}, "channels": [{**NODE, "truth": FAST}], "stamped": True, "seed": 1, **more}
    (folder / "load.json").write_text(json.dumps(told))
    return folder / "mine.toml"


def test_a_campaign_with_a_meter_gives_power_and_efficiency_and_a_resume_reads_the_same(tmp_path: Path) -> None:
    campaign = write(tmp_path)
    run = tmp_path / "run"
    meter = f"simulated:{tmp_path / 'load.json'}"
    done = shakedown("run", campaign, "--directory", run, "--meter", meter, "--rest", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    analysis = json.loads(done.stdout)
    power = [one for one in analysis["findings"] if one["metric"] == "stream.triad.power"]
    assert len(power) == 1 and abs(power[0]["value"] - 250) < 1
    assert [one for one in analysis["findings"] if one["metric"] == "stream.triad.energy_efficiency"]
    shown = (run / "report.html") if (run / "report.html").exists() else None
    again = shakedown("run", "--resume", run, "--json")
    assert again.returncode == 0 and "simulated/node" in again.stderr
    assert shown is None or "Power and energy" in shown.read_text()


def test_a_meter_that_is_not_there_ends_the_campaign_before_it_begins(tmp_path: Path) -> None:
    campaign = write(tmp_path)
    done = shakedown("run", campaign, "--directory", tmp_path / "run", "--meter", f"simulated:{tmp_path}/none.json")
    assert done.returncode in (2, 3) and "none.json" in done.stderr and "next:" in done.stderr
    assert not list((tmp_path / "run").glob("runs/*/1/measurement.json"))


def test_a_meter_that_dies_costs_the_energy_and_not_the_measurement(tmp_path: Path) -> None:
    campaign = write(tmp_path, faults=[{"kind": "gap", "begin_s": 0.3}])
    run = tmp_path / "run"
    done = shakedown(
        "run", campaign, "--directory", run, "--meter", f"simulated:{tmp_path / 'load.json'}", "--rest", "0.5", "--json"
    )
    assert done.returncode == 0, done.stderr
    analysis = json.loads(done.stdout)
    assert [one for one in analysis["findings"] if one["metric"] == "stream.triad.bandwidth"]
    assert not [one for one in analysis["findings"] if one["metric"] == "stream.triad.power"]
    assert analysis["power"]["meters"][0]["missing"] > 5
