"""`shakedown run --meter`, with the shipped fake as the meter: what is kept, resumed, refused and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import called, shakedown

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


# ------------------------------------------------------------------------------------------------- what cannot be asked for


@pytest.mark.parametrize(
    "words",
    [
        ("meter", "read", "auto"),
        ("meter", "read", "auto", "--json"),
        ("meter", "record", "auto", "--seconds", "1"),
        ("run", "mine.toml", "--directory", "run", "--meter", "auto"),
    ],
    ids=" ".join,
)
def test_auto_on_a_machine_without_a_meter_could_not_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """The question is sound, the machine has no answer: exit code 3, one message, the next step, and nothing is begun."""
    from shakedown.cli.app import main
    from shakedown.metering import sampler

    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sampler, "find", lambda door: ())
    monkeypatch.setattr("sys.argv", ["shakedown", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert ended.value.code == 3 and told.out == ""
    assert told.err.count("no meter that can be read without an address") == 1 and "shakedown meter list" in told.err
    assert not (tmp_path / "run").exists() and not list(tmp_path.glob("meter-*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("meter", "read", "simulated:typo.json"), "did you mean 'refresh_s'"),
        (("meter", "read", "simulated:none.json"), "none.json"),
        (("meter", "read", "rappl"), "did you mean 'rapl'"),
        (("meter", "read", "simulated:load.json?interval=abc"), "not a valid interval"),
        (("meter", "record", "simulated:load.json", "--seconds", "1", "--output", "full"), "new or empty"),
        (
            ("run", "mine.toml", "--directory", "run", "--meter", "simulated:load.json?interval=0"),
            "not a valid interval",
        ),
        (("run", "mine.toml", "--directory", "run", "--rest", "5"), "belong to --meter"),
        (("energy", "of", "none.parquet"), "no such file"),
        (("energy", "of", "mine.toml"), "not a Parquet file"),
        (("energy", "check", "mine.toml"), "unknown key"),
        (("facility", "example", "mine.toml"), "new or empty"),
        (("facility", "example", "/proc/none/x"), "make the folder"),
        (("facility", "of", "none.toml"), "facility example"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_is_refused_with_what_where_and_the_next_step(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    write(tmp_path)
    typo = {"load": {"t_s": [0], "w": [1]}, "channels": [{**NODE, "truth": {"refresh": 1}}]}
    (tmp_path / "typo.json").write_text(json.dumps(typo))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    done = shakedown(*words, cwd=tmp_path)
    assert done.returncode in (2, 3) and said in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert "next:" in done.stderr and done.stdout == ""
    assert not (tmp_path / "run").exists()


def test_a_facilitys_window_may_end_so_many_seconds_after_it_begins(tmp_path: Path) -> None:
    made = called("facility", "example", tmp_path / "plant")
    assert made.returncode == 0
    begin = json.loads(called("facility", tmp_path / "plant" / "plant.toml", "--json").stdout)
    both = ("--begin", "+3600", "--end", "+7200")
    part = called("facility", tmp_path / "plant" / "plant.toml", *both, "--json")
    assert part.returncode in (0, 1, 4), part.stderr
    whole, found = begin["whole"], json.loads(part.stdout)["whole"]
    assert found["begin_ns"] == whole["begin_ns"] + 3600 * 10**9
    assert found["end_ns"] == found["begin_ns"] + 7200 * 10**9
