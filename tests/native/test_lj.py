"""The native Lennard-Jones program: whole runs, a force that is wrong, refusals, and the same fluid in LAMMPS."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from shakedown.programs.events import Events
from support import natives

SMALL = ("--particles", "1000", "--threads", "1", "--samples", "2", "--steps", "20", "--equilibrate", "60")


def run(*words: str) -> tuple[int, Events, str, str]:
    ended = natives.run("lj", *words)
    return *ended.told(), ended.out.decode()


@pytest.mark.parametrize("isa", ["auto", "plain"])
@pytest.mark.parametrize("start", ["fcc", "random"])
def test_a_run_is_whole_and_right(isa: str, start: str) -> None:
    code, found, err, _ = run(*SMALL, "--precision", "mixed,fp64", "--isa", isa, "--start", start)
    assert (code, found.ended, found.garbage) == (0, True, ""), err
    assert [case.params["precision"] for case in found.cases] == ["mixed", "fp64"]
    for case in found.cases:
        assert case.work["particle_steps"] == 20 * 1000 and len(case.seconds) >= 2
        assert case.residual is not None and case.residual.passed
        for word in ("forces", "energy", "momentum"):
            assert word in case.residual.kind


def test_a_force_that_is_a_tenth_of_a_per_mille_too_large_is_found() -> None:
    code, found, _, _ = run(*SMALL, "--break-force", "0.0001")
    assert code == 1 and found.ended
    (case,) = found.cases
    assert case.residual is not None and not case.residual.passed


def test_bad_input_is_one_error_with_the_next_step() -> None:
    for words, code, part in (
        (("--particles", "50"), 2, "at least 100"),
        (("--particles", "150", "--threads", "1"), 2, "too small"),
        (("--start", "liquid"), 2, "known: fcc, random"),
        ((*SMALL, "--write", "/nowhere/data"), 2, "cannot write"),
    ):
        got, _, err, _ = run(*words)
        assert got == code and part in err and err.startswith("lj: "), err


@pytest.mark.system
def test_lammps_finds_the_same_temperature_energy_and_pressure(tmp_path: Path) -> None:
    lammps = shutil.which("lmp")
    if lammps is None:
        pytest.skip("needs LAMMPS (Debian: apt-get install lammps)")
    code, _, err, text = run(*SMALL, "--precision", "fp64", "--write", str(tmp_path / "data"))
    assert code == 0, err
    facts = [json.loads(line) for line in text.splitlines() if '"fluid of ' in line]
    (ours,) = facts[0]["facts"].values()
    (tmp_path / "in").write_text(
        "units lj\natom_style atomic\nread_data data\npair_style lj/cut 3.0\npair_coeff 1 1 1.0 1.0 3.0\n"
        "neighbor 0.3 bin\nthermo_modify norm yes\nrun 0\n"
        'print "FOUND $(temp:%.15g) $(pe:%.15g) $(press:%.15g)"\n'
    )
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [lammps, "-in", "in", "-log", "none"],
        cwd=tmp_path,
        env={**os.environ, **root},
        capture_output=True,
        text=True,
        timeout=natives.LIMIT_S,
    )
    found = re.search(r"^FOUND (\S+) (\S+) (\S+)", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout + done.stderr
    theirs = tuple(map(float, found.groups()))
    assert (ours["temperature"], ours["potential_each"], ours["pressure"]) == pytest.approx(theirs, rel=1e-10)
