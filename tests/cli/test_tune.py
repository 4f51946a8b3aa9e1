"""shakedown tune hpl as a user calls it: mistakes, and a small real tuning run, cut short and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shakedown import programs
from support.command import called, shakedown
from support.waiting import until

needs_program = pytest.mark.skipif(
    not os.access(programs.folder() / "hpl", os.X_OK), reason="the native program hpl was not built"
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--n", "many"], "'many' is not a"),
        (["--n", "4000", "--fix", "nbb=192"], "did you mean 'nb'"),
        (["--n", "4000", "--fix", "nb"], "is not NAME=VALUE"),
        (["--n", "4000", "--fix", "nb=0"], "not a valid block size"),
        (["--n", "4000", "--fix", "nb=5000"], "not a valid block size"),
        (["--n", "4000", "--fix", "bcast=3ring"], "3ring"),
        (["--n", "4000", "--fix", "p=97"], "no grid fits"),
        (["--n", "4000", "--windows", "1,2"], "shares of N"),
        (["--n", "4000", "--budget-min", "0"], "leaves no time"),
        (["--n", "4000", "--nodes", "0"], "there must be one"),
        (["--n", "4000", "--space", "missing.toml"], "cannot be read"),
        (["--n", "4000", "--probes", "missing.jsonl"], "cannot be read"),
        (["--n", "4000", "--memory-share", "2", "--library", "nolib"], "nolib"),
    ],
)
def test_a_mistake_is_said_before_anything_runs(tmp_path: Path, words: list[str], said: str) -> None:
    done = called("tune", "hpl", "out", *words, cwd=tmp_path)
    assert done.returncode in (2, 3), done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (tmp_path / "out" / "trials.jsonl").exists() or not (tmp_path / "out" / "trials.jsonl").read_bytes()


FIXED = ("nb=32,64", "layout=1x1", "nbmin=8", "pages=base", "trsm=recursive", "depth=1")
SMALL = ["--n", "600", *(word for one in FIXED for word in ("--fix", one))]


@needs_program
def test_a_small_tuning_run_and_its_files(tmp_path: Path) -> None:
    done = shakedown("tune", "hpl", "out", *SMALL, "--budget-min", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out"
    result = json.loads(done.stdout)
    assert result["chosen"]["point"]["nb"] in (32, 64) and result["explanation"]
    assert result == json.loads((folder / "result.json").read_text())
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    assert all(trial["residual"]["value"] < 16 for trial in trials if trial["state"] == "ok")
    assert len(trials) == result["runs"]
    assert "HPLinpack" in (folder / "HPL.dat").read_text()
    assert "<svg" in (folder / "report.html").read_text()
    assert any("hpl" in line for line in result["launch"])
    again = shakedown("tune", "hpl", "out", "--budget-min", "1", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "Chosen at N = 600" in again.stdout
    assert len((folder / "trials.jsonl").read_text().splitlines()) == len(trials), "what was known was run again"
    other = called("tune", "hpl", "out", "--n", "700", cwd=tmp_path)
    assert other.returncode == 2 and "this folder tunes N = 600" in other.stderr


@needs_program
def test_an_interrupt_keeps_what_was_measured(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "shakedown", "tune", "hpl", "out", *SMALL, "--budget-min", "1"]
    child = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    path = tmp_path / "out" / "trials.jsonl"
    until(lambda: child.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") >= 2), every_s=0.01)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=300)
    assert child.returncode == 130, said
    assert "next: shakedown tune hpl" in said
    kept = path.read_bytes().splitlines()
    done = shakedown("tune", "hpl", "out", *SMALL, "--budget-min", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = path.read_bytes().splitlines()
    assert after[: len(kept)] == kept
    keys = [json.loads(line)["key"] for line in after]
    assert len(keys) == len(set(keys))
