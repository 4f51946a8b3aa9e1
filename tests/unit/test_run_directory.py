"""Run directories: whole or not at all, and a clear word about every other state."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shakedown.errors import BadInput, StoreFailed
from shakedown.files import atomic
from shakedown.records import Job, Plan
from shakedown.results import run_directory
from support.machines import machine

MANIFEST = run_directory.Manifest(schema=run_directory.SCHEMA, campaign="t", created_ns=1, version="test", host="node1")
PLAN = Plan(campaign="t", title="T", runs=())


def create(path: Path) -> run_directory.RunDirectory:
    return run_directory.RunDirectory.create(path, manifest=MANIFEST, campaign_toml="", machine=machine(), plan=PLAN)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    create(tmp_path / "run")
    opened = run_directory.RunDirectory.open(tmp_path / "run")
    assert (opened.plan(), opened.machine(), opened.manifest()) == (PLAN, machine(), MANIFEST)
    assert not list(tmp_path.rglob("*.tmp"))


def test_what_an_attempt_cut_short_left_is_gone_with_its_folders(tmp_path: Path) -> None:
    """Records of witnesses lie in a folder: those of a launch that was killed would be counted with those of the next."""
    opened = create(tmp_path / "run")
    job = Job(run="a", repeat=1, argv=("x",), host="node1")
    folder = opened.begin(job)
    (folder / "witness").mkdir()
    (folder / "witness" / "inside-7-0.json").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    assert opened.begin(job) == folder and [one.name for one in folder.iterdir()] == ["job.json"]
    assert (tmp_path / "elsewhere").is_dir(), "what a link leads to is not the run's"


def test_a_folder_with_something_in_it_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    with pytest.raises(BadInput, match="not empty") as caught:
        create(tmp_path)
    assert "--resume" in caught.value.hint
    assert (tmp_path / "precious").read_text() == "data"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such run directory"),
        (lambda path: path.mkdir(), "not a run directory"),
        (lambda path: (path / "runs").mkdir(parents=True), "cut short before its plan"),
    ],
)
def test_what_is_no_run_directory_is_said(tmp_path: Path, make: object, message: str) -> None:
    assert callable(make)
    make(tmp_path / "run")
    with pytest.raises(StoreFailed, match=message) as caught:
        run_directory.RunDirectory.open(tmp_path / "run")
    assert caught.value.hint


@pytest.mark.parametrize("name", ["plan.json", "machine.json", "manifest.json"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    create(tmp_path / "run")
    (tmp_path / "run" / name).write_text('{"half": ')
    with pytest.raises(StoreFailed, match="is damaged") as caught:
        opened = run_directory.RunDirectory.open(tmp_path / "run")
        opened.plan()
        opened.machine()
    assert name in caught.value.where


def test_another_layout_is_refused_by_name(tmp_path: Path) -> None:
    create(tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"schema": 1', '"schema": 99'))
    with pytest.raises(StoreFailed, match="layout 99"):
        run_directory.RunDirectory.open(tmp_path / "run")


def test_a_full_device_is_one_clear_error() -> None:
    with pytest.raises(StoreFailed, match="cannot write"):
        atomic.write(Path("/proc/shakedown-cannot-write-here"), b"x")


@pytest.mark.needs("root", "mount")
def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this container may not mount: run the tests on a machine or VM as root")
    try:
        opened = create(disk / "run")
        with pytest.raises(StoreFailed) as caught:
            atomic.write(opened.path / "big", b"x" * 2**20)
        assert "No space" in caught.value.what and "--resume" in caught.value.hint
        assert not list(opened.path.glob(".big*")), "half a file was left"
        assert opened.plan() == PLAN
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.needs("root", "mount")
def test_a_read_only_disk_is_said(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,ro", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("this container may not mount: run the tests on a machine or VM as root")
    try:
        with pytest.raises(StoreFailed, match="Read-only") as caught:
            create(tmp_path / "run")
        assert "another directory" in caught.value.hint and caught.value.exit_code == 3
    finally:
        subprocess.run(["umount", tmp_path], check=True)
