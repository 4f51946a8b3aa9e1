"""The main job, through the command: run, interrupt, resume, report, compare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import called, shakedown
from support.waiting import until

EMPTY = """
name = "mine"
title = "Mine"
[[run]]
workload = "empty"
params = { seconds = 0.8 }
sweep = { tag = [1, 2, 3, 4, 5] }
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_resumes_and_repeats_nothing_that_is_whole(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "mine.toml").write_text(EMPTY)
    run = tmp_path / "run"
    child = subprocess.Popen(
        [sys.executable, "-m", "shakedown", "run", tmp_path / "mine.toml", "--directory", run, "--no-report"],
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: len(list(run.glob("runs/*/1/measurement.json"))) >= 2, every_s=0.02)
    os.kill(child.pid, how)
    said = child.communicate(timeout=300)[1]
    kept = {path: path.read_bytes() for path in run.glob("runs/*/1/measurement.json")}
    assert 2 <= len(kept) < 5
    if how == signal.SIGINT:
        assert child.returncode == 130 and f"--resume {run}" in said and "Traceback" not in said
    done = shakedown("run", "--resume", run, "--no-report")
    assert done.returncode == 0, done.stderr
    assert len(list(run.glob("runs/*/1/measurement.json"))) == 5
    assert all(path.read_bytes() == data for path, data in kept.items())


def test_the_whole_way_through_gives_every_report(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EMPTY + '[[limit]]\nmetric = "empty.time"\nat_most = "1 s"\n')
    done = shakedown("run", tmp_path / "mine.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = next((tmp_path / "runs").iterdir())
    assert {path.suffix for path in run.glob("report.*")} == {".html", ".md", ".csv", ".json"}
    assert f"report: runs/{run.name}/report.html" in done.stdout
    assert (run / "measurements.parquet").exists()
    before = (run / "report.json").read_bytes()
    assert shakedown("report", cwd=tmp_path).returncode == 0  # the newest, made again: the same
    assert (run / "report.json").read_bytes() == before


@pytest.mark.parametrize(("limit", "code"), [('at_most = "1 s"', 0), ('at_most = "1 ms"', 1)])
def test_the_exit_code_says_whether_the_limits_are_met(tmp_path: Path, limit: str, code: int) -> None:
    (tmp_path / "mine.toml").write_text(
        EMPTY.replace("[1, 2, 3, 4, 5]", "[1]") + f'[[limit]]\nmetric = "empty.time"\n{limit}\n'
    )
    done = shakedown("run", tmp_path / "mine.toml", "--format", "json", cwd=tmp_path)
    assert done.returncode == code, done.stderr


def test_a_run_that_has_no_result_is_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EMPTY.replace("seconds = 0.8", 'behaviour = "crash"'))
    done = shakedown("run", tmp_path / "mine.toml", "--format", "json", cwd=tmp_path)
    assert done.returncode == 3 and "SIGSEGV" in done.stderr


def job_starts(*words: object, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What a job's script starts, and what those of version 0.1.0 started."""
    entry = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(entry, capture_output=True, text=True, timeout=300, env={**os.environ, **env})


@pytest.mark.parametrize(
    ("entry", "behaviour", "measured"),
    [
        (("shakedown.run.batch",), "", "ok"),
        (("shakedown.run.batch",), "crash", "crashed"),
        (("shakedown", "run", "--inside"), "", "ok"),
    ],
)
def test_the_job_of_a_session_that_is_whole_ends_well_whatever_came_out(
    tmp_path: Path, entry: tuple[str, ...], behaviour: str, measured: str
) -> None:
    """What a batch engine starts, in the environment of an LSF job on this host."""
    run = tmp_path / "run"
    run.mkdir()
    params = f'behaviour = "{behaviour}"' if behaviour else "seconds = 0.01"
    (run / "campaign.toml").write_text(EMPTY.replace("seconds = 0.8", params).replace("[1, 2, 3, 4, 5]", "[1]"))
    job = {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": f"{os.uname().nodename} 2"}
    done = job_starts(*entry, run, env=job)
    assert done.returncode == 0 and f"\n  {measured} " in done.stderr, done.stderr
    (record,) = run.glob("runs/*/1/measurement.json")
    assert json.loads(record.read_text())["state"] == measured
    record.unlink()
    (run / "campaign.toml").write_text("")  # the plan is made; a job that cannot do its part has failed
    done = job_starts(*entry, run, env={**job, "LSB_MCPU_HOSTS": "elsewhere 2"})
    assert done.returncode != 0


def test_reports_over_many_run_directories_keep_hosts_apart(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EMPTY.replace("0.8", "0.01"))
    for name in ("a", "b"):
        assert (
            shakedown("run", tmp_path / "mine.toml", "--directory", tmp_path / name, "--format", "json").returncode == 0
        )
    for path in (tmp_path / "b").rglob("*.json"):
        path.write_text(path.read_text().replace(os.uname().nodename, "othernode"))
    for made in ("measurements.parquet", "outcomes.json"):
        (tmp_path / "b" / made).unlink()
    done = shakedown("report", tmp_path / "a", tmp_path / "b", "--output", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    analysis = json.loads(done.stdout)
    assert {host["name"] for host in analysis["machine"]["hosts"]} == {os.uname().nodename, "othernode"}
    assert {one["host"] for one in analysis["findings"]} == {os.uname().nodename, "othernode"}
    assert len(analysis["outcomes"]) == 10


def test_every_verb_answers_in_json(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EMPTY)
    assert json.loads(called("plan", tmp_path / "mine.toml", "--json").stdout)["runs"]
    assert json.loads(called("list", "--json").stdout)["workloads"]
    assert json.loads(called("compare", "tsubame", "castorc", "--json").stdout)["rows"]
    assert json.loads(shakedown("machine", "--no-probe", "--json").stdout)["hosts"]
