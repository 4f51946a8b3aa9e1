"""The programs with every MPI of this machine: Open MPI beside Debian's MPICH, which keep out of each other's way."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown import launchers, programs
from shakedown.hosts.access import LocalHost
from shakedown.launchers import Command
from shakedown.machine import mpi
from shakedown.programs import events
from support import natives
from support.command import shakedown

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpirun.mpich", "mpicxx.mpich", "mpirun")]


def interfaces() -> dict[str, Any]:
    found = programs.build().get("mpi_builds", {})
    if set(found) < {"open_mpi", "mpich"}:
        pytest.skip("needs programs of two interfaces: scripts/setup builds them where libmpich-dev is installed")
    return dict(found)


def test_each_program_of_the_comparison_is_built_for_each_interface_and_linked_to_its_library() -> None:
    folder = programs.folder()
    for name, built in interfaces().items():
        for program in ("pingpong", "collectives", "multi_pair", "onesided", "hydro"):
            path = folder / built["folder"] / program
            assert path.exists(), path
            linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
            wanted, other = ("libmpi.so.40", "libmpi.so.12") if name == "open_mpi" else ("libmpi.so.12", "libmpi.so.40")
            assert wanted in linked and other not in linked and "not found" not in linked, linked


def test_every_mpi_runs_in_turn_and_the_report_lays_them_side_by_side(tmp_path: Path) -> None:
    interfaces()
    words = ["kernels=latency", "sizes=8", "samples=3", "repeat=2"]
    where = tmp_path / "run"
    done = shakedown(
        "run", "pingpong", *words, "--mpi", "open mpi 4,mpich 4.0", "--directory", where, "--format", "json,md"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((where / "report.json").read_text())
    runs = {one["id"]: one["mpi"] for one in json.loads((where / "plan.json").read_text())["runs"]}
    found = list(runs.values())
    assert len(found) == 2 and found[0].startswith("Open MPI") and found[1].startswith("MPICH")
    assert len(report["outcomes"]) == 4
    for one in report["outcomes"]:
        assert not mpi.is_another(runs[one["run"]], one["provenance"]["facts"]["mpi"]), one
    (one,) = [each for each in report["mpis"] if each["metric"] == "pingpong.latency"]
    assert [(each["mpi"], each["launches"]) for each in one["values"]] == [(found[0], 2), (found[1], 2)]
    assert one["values"][1]["ratio"] > 0 and one["values"][1]["level"] == 0.5
    latencies = [each for each in report["findings"] if each["metric"] == "pingpong.latency"]
    assert {each["params"]["mpi"] for each in latencies} == set(found), "never taken together"
    assert f"{found[1]} over {found[0]}" in (where / "report.md").read_text()
    columns = shakedown("compare", where, "--mpi", "all")
    assert columns.returncode == 0 and f"run, {found[1]}" in columns.stdout, columns.stdout + columns.stderr


def test_a_program_under_the_launcher_of_another_mpi_is_one_error() -> None:
    """Each of its ranks is a job of one, and the program says so."""
    built = interfaces()
    program = programs.folder() / built["mpich"]["folder"] / "collectives"
    start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", program, "--world-size", "2"]
    done = subprocess.run(start, capture_output=True, text=True, check=False, timeout=natives.LIMIT_S)
    assert done.returncode == 3
    assert "1 rank where 2 were started" in done.stderr and "use that MPI's own mpirun" in done.stderr


def test_one_rank_alone_is_of_the_mpi_that_was_asked_for() -> None:
    interfaces()
    here = natives.here()
    software = mpi.mpi(LocalHost())
    label = next(name for name in mpi.labels(software) if name.startswith("MPICH"))
    asked = msgspec.structs.replace(here, software=mpi.only(software, label))
    command = Command(argv=(programs.path("hydro"), "--n", "16", "--samples", "1", "--seconds", "0"))
    argv, env = launchers.wrap(command, asked)
    done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, check=False, timeout=natives.LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert not mpi.is_another(label, str(events.parse(done.stdout).provenance["facts"]["mpi"]))
