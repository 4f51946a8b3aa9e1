"""A meter's character once for real: the native load, driven and sampled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown import programs
from shakedown.energy.characterise import driving, session
from shakedown.energy.characterise.experiments import Experiment
from shakedown.errors import CannotMeasure, Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.metering import sampler
from shakedown.metering.meters import parse_target

# ------------------------------------------------------------------------------------------------------------ once for real


def _script(path: Path, schedule: list[tuple[float, float]], start_ns: int, truth: dict[str, float]) -> None:
    edges = np.cumsum([0.0, *(seconds for seconds, _ in schedule)])
    load = {"t_s": edges[:-1].tolist(), "w": [100 + 300 * level for _, level in schedule]}
    channel = {"id": "simulated/node", "truth": truth}
    path.write_text(json.dumps({"start_ns": start_ns, "load": load, "channels": [channel]}))


def _native() -> str:
    try:
        return programs.path("load")
    except Unavailable as error:
        pytest.skip(f"needs the native programs: {error.hint}")


@pytest.mark.timing
def test_a_driven_load_and_a_sampled_meter_give_its_character(tmp_path: Path) -> None:
    """The native load and the sampler, against the clock: the simulated meter sees the load that was asked for."""
    program = _native()
    schedule = [(0.6, 0.0), (0.7, 1.0), (0.45, 0.0), (0.9, 1.0), (0.65, 0.0)]
    start_ns = time.time_ns() + 1_500_000_000
    _script(tmp_path / "meter.json", schedule, start_ns, {"refresh_s": 0.02, "window_s": 0.1, "noise": 0.5})
    place = tmp_path / "01-step-1"
    place.mkdir()
    (place / "schedule.txt").write_text("".join(f"{seconds} {level}\n" for seconds, level in schedule))
    target = parse_target(f"simulated:{tmp_path / 'meter.json'}")
    with sampler.start([target], place / "power", interval_s=0.003):
        argv = (program, "--schedule", str(place / "schedule.txt"), "--threads", "1", "--start", str(start_ns))
        driving.drive(argv, place / "load.jsonl", 30)
    step = Experiment(name="step-1", kind="step", schedule=tuple(schedule), interval_s=0.003)
    (place / "experiment.json").write_bytes(msgspec.json.encode(step))
    recorded = session.read(tmp_path)
    found = session.analyse(recorded)
    assert found.fit is not None and found.refresh.period_s is not None
    assert found.refresh.period_s.value == pytest.approx(0.02, rel=0.01)
    assert found.fit.window_s.value == pytest.approx(0.1, abs=0.02)
    assert found.fit.delay_s.value == pytest.approx(0.0, abs=0.02)


def test_the_recorder_leaves_a_whole_experiment(tmp_path: Path) -> None:
    _native()
    _script(tmp_path / "meter.json", [(1.0, 0.0)], time.time_ns(), {"refresh_s": 0.05, "noise": 1.0})
    target = parse_target(f"simulated:{tmp_path / 'meter.json'}?interval=2")
    step = Experiment(name="step-1", kind="step", schedule=((0.2, 0.0), (0.3, 1.0), (0.2, 0.0)), interval_s=0.01)
    place = tmp_path / "01-step-1"
    place.mkdir()
    (place / "schedule.txt").write_text("0.2 0\n0.3 1\n0.2 0\n")
    driving.recorder([target], LocalHost())(step, place)
    (place / "experiment.json").write_bytes(msgspec.json.encode(step))
    (one,) = session.read(tmp_path)
    assert one.levels == (0.0, 1.0, 0.0) and len(one.edges_ns) == 4
    assert len(one.trace) > 5  # at the experiment's rate, not at the target's own
    script = tmp_path / "load.sh"
    script.write_text(f'#!/bin/sh\nexec {programs.path("load")} --threads 1 "$@"\n')
    script.chmod(0o755)
    other = tmp_path / "02-step-2"
    other.mkdir()
    (other / "schedule.txt").write_text("0.1 0\n0.1 1\n")
    driving.recorder([target], LocalHost(), load=str(script))(step, other)
    assert "load_work" in (other / "load.jsonl").read_text()
    third = tmp_path / "03"
    third.mkdir()
    with pytest.raises(CannotMeasure, match="cannot be started"):
        driving.recorder([target], LocalHost(), load="/nonexistent")(step, third)
    missing = parse_target(f"simulated:{tmp_path / 'none.json'}")
    with pytest.raises(CannotMeasure, match="cannot be read"):
        driving.recorder([missing], LocalHost())(step, tmp_path / "02")


def test_it_imports_nothing_heavy_for_help() -> None:
    code = "import shakedown.cli.meter_characterise, sys; sys.exit('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0
