"""Every mistake gives one clear error that says what, where and what next, the right exit code, and no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command import called, shakedown

GOOD = """
name = "mine"
title = "Mine"
[[run]]
workload = "empty"
"""


def campaign(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def assert_clear(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, (word, done.stderr)
    assert done.stderr.count("shakedown: ") == 1, done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("title", "titel"), ("mine.toml", "'titel'", "did you mean 'title'")),
        (GOOD.replace('"empty"', '"stram"'), ("unknown workload 'stram'", "'stream'")),
        (GOOD.replace('"empty"', '"stream"\nparams = { sizes = "8 PiB" }'), ("next:",)),
        (GOOD.replace('"empty"', '"stream"\nparams = { threads = 0 }'), ("threads",)),
        (GOOD.replace('"empty"', '"pingpong"\nparams = { ranks = 0 }'), ("ranks",)),
        (GOOD.replace('"empty"', '"gemm"\nparams = { sizes = "10000000" }'), ("next:",)),
        (GOOD.replace('"empty"', '"empty"\nparams = { behavior = "ok" }'), ("did you mean 'behaviour'",)),
        ("name = ", ("is not TOML",)),
        ('name = "a"\ntitle = "b"\nrun = []\n', ("there is no [[run]]",)),
    ],
)
def test_a_mistake_in_a_campaign(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    assert_clear(called("run", campaign(tmp_path, text), cwd=tmp_path), 2, *words)
    assert not (tmp_path / "runs").exists(), "something was begun"


def test_unknown_names_name_the_nearest(tmp_path: Path) -> None:
    assert_clear(called("run", "qick"), 2, "unknown campaign 'qick'", "'quick'")
    assert_clear(called("compare", "bsc2", "comet"), 2, "unknown system 'bsc2'", "'bsc-2'")
    assert_clear(called("list", "workload"), 2, "'workloads'")
    assert_clear(called("report", tmp_path / "nothing"), 3, "no such run directory")
    assert_clear(called("run", tmp_path / "missing.toml"), 2, "No such file")
    assert_clear(called("compare", "bsc-2"), 2, "one system alone cannot be compared")


def test_an_unknown_option_is_a_usage_error() -> None:
    done = called("run", "--resum", "x")
    assert done.returncode == 2 and "--resume" in done.stderr


def test_a_report_format_that_is_none_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert shakedown("run", campaign(tmp_path, GOOD), "--directory", run, "--no-report").returncode == 0
    assert_clear(called("report", run, "--format", "htm"), 2, "'html'")
    assert not list(run.glob("report.*"))


def test_without_mpi_the_rest_is_measured(tmp_path: Path) -> None:
    """A machine without MPI: the ping-pong is skipped with its reason, and what can run does."""
    text = GOOD + '[[run]]\nworkload = "pingpong"\n'
    bare = tmp_path / "bin"
    bare.mkdir()
    empty_native = tmp_path / "native"
    empty_native.mkdir()
    env = {"PATH": str(bare), "SHAKEDOWN_NATIVE": str(empty_native)}
    done = shakedown("run", campaign(tmp_path, text), "--directory", tmp_path / "run", "--no-report", env=env)
    assert done.returncode == 0, done.stderr
    assert "not here" in done.stderr and "pingpong" in done.stderr
    strict = text.replace('workload = "pingpong"', 'workload = "pingpong"\noptional = false')
    done = shakedown("run", campaign(tmp_path, strict), "--directory", tmp_path / "run2", "--no-report", env=env)
    assert_clear(done, 3, "next:")


def test_a_directory_that_is_in_use_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("precious")
    assert_clear(called("run", campaign(tmp_path, GOOD), "--directory", tmp_path / "run"), 2, "not empty")
    assert (tmp_path / "run" / "thesis.tex").read_text() == "precious"


def test_a_half_written_run_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "run" / "runs").mkdir(parents=True)
    for verb in (["report"], ["run", "--resume"]):
        assert_clear(called(*verb, tmp_path / "run"), 3, "cut short before its plan")


def test_a_damaged_measurement_is_named_recovered_and_the_rest_reported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert shakedown("run", campaign(tmp_path, GOOD), "--directory", run, "--no-report").returncode == 0
    path = next(run.glob("runs/*/1/measurement.json"))
    path.write_bytes(path.read_bytes()[:60])
    done = shakedown("report", run, "--format", "json")
    assert_clear(done, 3, str(path), "recovered from the program's output")
    assert (run / "report.json").exists()


@pytest.mark.needs("root", "mount")
def test_a_disk_that_fills_up_keeps_what_was_measured(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this container may not mount: run the tests on a machine or VM as root")
    try:
        text = GOOD + f"[run.sweep]\ntag = {list(range(200))}\n"
        done = shakedown("run", campaign(tmp_path, text), "--directory", disk / "run", "--no-report")
        assert_clear(done, 3, "No space left", "--resume")
        before = len(list(disk.glob("run/runs/*/1/measurement.json")))
        assert 0 < before < 200
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        done = shakedown("run", "--resume", disk / "run", "--no-report")
        assert done.returncode == 0, done.stderr
        assert len(list(disk.glob("run/runs/*/1/measurement.json"))) == 200
    finally:
        subprocess.run(["umount", disk], check=True)


def test_output_without_a_reader_is_no_crash(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m shakedown list published | head -1", shell=True, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "storage", "directory="), ("storage.directory = '' is empty", "a folder")),
        (("run", "filesystem", "directory="), ("filesystem.directory = '' is empty", "a folder")),
        (("placement", "no-such-run"), ("no-such-run: there is no such folder, and no command", "mpirun")),
    ],
)
def test_what_names_nothing_is_refused_before_anything_is_done(
    tmp_path: Path, words: tuple[str, ...], said: tuple[str, ...]
) -> None:
    assert_clear(called(*words, cwd=tmp_path), 2, *said)
    assert not list(tmp_path.iterdir())
