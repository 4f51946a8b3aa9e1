"""shakedown meter, as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from shakedown.cli.meter import app
from shakedown.errors import BadInput
from shakedown.metering import sampler
from support.waiting import until

COMMAND = [sys.executable, "-c", "from shakedown.cli.meter import app; app(prog_name='meter')"]


def called(*words: str | Path) -> Result:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def load(tmp_path: Path) -> str:
    """A target with a channel of power, a counter and one that its device does not have."""
    channels = [
        {"id": "simulated/node", "truth": {"refresh_s": 0.05, "window_s": 0.05}},
        {
            "id": "simulated/package",
            "quantity": "energy",
            "unit": "J",
            "scope": "counter",
            "place": "component",
            "most_w": 500,
            "truth": {"refresh_s": 0.001, "modulus": 262144},
        },
        {"id": "simulated/rail", "place": "component", "truth": {"refresh_s": 1}},
    ]
    script = {
        "load": {"t_s": [-10], "w": [200]},
        "channels": channels,
        "faults": [{"kind": "refused", "begin_s": -1, "channel": "simulated/rail"}],
    }
    path = tmp_path / "load.json"
    path.write_text(json.dumps(script))
    return f"simulated:{path}"


def test_list_has_every_meter_and_why_it_is_not_here() -> None:
    from shakedown.metering import meters

    found = json.loads(called("list", "--json").stdout)
    assert [one["name"] for one in found] == list(meters.names())
    for one in found:
        assert one.get("here") or one.get("why_not") or "FILE" in one["address"] or "://" in one["address"], one
    text = called("list").stdout
    assert all(one["address"] in text or one.get("here") for one in found)
    assert "simulated:FILE.json" in text


def test_read_shows_values_states_and_what_they_stand_for(load: str) -> None:
    done = called("read", load)
    assert done.exit_code == 0
    node, package, rail = done.stdout.splitlines()[2:]
    assert node.split()[:4] == ["simulated/node", "200", "W", "ok"] or "200.00 W" in node
    assert "wraps at 262 kJ" in package and "refused" in rail and " - " in rail


def test_read_as_json_and_what_could_not_be_opened(load: str) -> None:
    done = called("read", load, "csv:/nowhere.csv", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert told["channels"][0]["value"] == pytest.approx(200) and told["channels"][2]["value"] is None
    assert "cannot be read" in told["refused"][0]["why"]
    assert called("read", "csv:/nowhere.csv").exit_code == 3
    with pytest.raises(BadInput, match="cannot be read"):
        called("read", load, "simulated:/nowhere.json")


def test_a_word_that_is_no_meter_is_named_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="unknown meter 'simulate'") as refused:
        called("read", "simulate:x")
    assert "simulated" in refused.value.hint


def test_record_sums_up(load: str, tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    done = called("record", load, "--seconds", "1.2", "--interval", "0.02", "--output", folder, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    node, package, rail = told["channels"]
    assert node["readings"] > 30 and not node["without_value"]
    assert node["power"]["value"] == pytest.approx(200, rel=1e-6)
    seconds = (package["last_ns"] - package["first_ns"]) * 1e-9
    assert package["energy"]["value"] == pytest.approx(200 * seconds, rel=0.05)
    assert rail["without_value"] == {"refused": rail["readings"]} and rail.get("power") is None
    assert told["sampler"]["why"] == "stopped"
    assert (folder / sampler.TRACE_FILE).exists()
    with pytest.raises(BadInput, match="holds readings"):
        called("record", load, "--seconds", "1", "--output", folder)


def test_record_says_in_words_what_was_lost(load: str, tmp_path: Path) -> None:
    done = called("record", load, "--seconds", "0.5", "--interval", "0.02", "--output", tmp_path / "out")
    assert "refused" in done.stdout and "simulated/node" in done.stdout
    assert str(tmp_path / "out" / sampler.TRACE_FILE) in done.stderr


def test_nothing_that_opens_is_nothing_recorded(tmp_path: Path) -> None:
    done = called("record", "simulated:/nowhere.json", "--seconds", "1", "--output", tmp_path / "out")
    assert done.exit_code == 3 and "cannot be read" in done.stderr and "nothing was recorded" in done.stderr


def test_ctrl_c_keeps_everything(load: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    child = subprocess.Popen(
        [*COMMAND, "record", load, "--interval", "0.02", "--output", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    raw = folder / "00-simulated.raw"
    try:
        until(lambda: child.poll() is not None or (raw.exists() and raw.stat().st_size > 2000), every_s=0.02)
        assert child.poll() is None
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=300)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    assert child.returncode == 0, err
    assert "simulated/package" in out
    assert len(sampler.collect(folder)[0]) > 10


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, shakedown.cli.meter; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "duckdb", "scipy", "shakedown.metering.sampler"} & set(done.stdout.split())
