"""Applications of a site: how they are found and started, their generated inputs, and what their errors mean in words.

Programs here are stand-ins that print a recording of the real ones again."""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.functional_tests import alignment, application
from shakedown.hosts import process
from shakedown.records import Host, Machine, Params
from shakedown.results.outcome import last_line
from shakedown.workloads import gromacs, openfoam, quantum_espresso
from shakedown.workloads.common import application as common
from shakedown.workloads.common.application import Recipe
from shakedown.workloads.common.grid import near_cubic
from support.applications import RECORDED, parts, player
from support.machines import OPEN_MPI, host, machine
from support.waiting import until

APPLICATIONS = tuple(RECORDED)
#: Parameters under which a job is that of the recording, on one rank and without an MPI.
ALONE: dict[str, Params] = {
    "raxml": {"threads": 2},
    "examl": {"ranks": 1},
    "quantum_espresso": {"ranks": 1},
    "neuron": {"ranks": 1, "reference": "yes"},
    "gromacs": {"ranks": 1},
    "openfoam": {"ranks": 1},
}


def resolved(name: str, given: Params, on: Machine | None = None) -> Params:
    workload = workloads.get(name)
    (found,) = workload.resolve(workloads.check_params(workload, given), on or machine(4))
    return found


def recipe(name: str, params: Params, on: Host) -> Recipe:
    files = workloads.get(name).command(params, on).files
    return msgspec.json.decode(files["recipe.json"], type=Recipe)


def begin(folder: Path, name: str, params: Params, path: Path) -> subprocess.CompletedProcess[str]:
    """A job of an application in a folder, with the programs of one folder before those of the system."""
    folder.mkdir(exist_ok=True)
    command = workloads.get(name).command(params, host(4))
    for file, text in command.files.items():
        (folder / file).write_text(text)
    environment = {**os.environ, **command.env, "PATH": f"{path}:{os.environ['PATH']}"}
    return subprocess.run(command.argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def stand_ins(folder: Path, name: str, text: str) -> None:
    """A program for each step of a recipe that is not the system's, which prints what the recording has of that step."""
    found = parts(text, name)
    params = resolved(name, ALONE[name])
    job = recipe(name, params, host(4))
    told: dict[str, str] = {}
    files: dict[str, dict[str, str]] = {}
    for step in job.steps:
        program = step.argv[0]
        if step.name in found and program not in ("cat",) and (program != "python" or name == "neuron"):
            told[program] = told.get(program, "") + (found[step.name].text if program not in told else "")
            files.setdefault(program, {}).update(found[step.name].files)
    if name == "raxml":  # one program, two steps: both are in what it prints
        told["raxml"] = found["search"].text + found["truth"].text[found["truth"].text.index("Final GAMMA") :]
    one_rank = {
        "neuron": ("network: 2 ranks", "network: 1 ranks"),
        "quantum_espresso": ("running on     2 processors", "running on     1 processors"),
        "gromacs": ("Using 2 MPI processes", "Using 1 MPI process"),
        "openfoam": ("nProcs : 2", "nProcs : 1"),
    }.get(name, ("", ""))
    for program, printed in told.items():
        called = Path(job.programs[program][0]).name
        texts = {path: text.replace(*one_rank) for path, text in files.get(program, {}).items()}
        player(folder, called, printed.replace(*one_rank), texts)


@pytest.mark.parametrize("name", ["raxml", "quantum_espresso", "neuron", "gromacs", "openfoam"])
def test_a_job_runs_its_steps_and_leaves_a_transcript(name: str, tmp_path: Path, recordings: Path) -> None:
    stand_ins(tmp_path / "bin", name, (recordings / RECORDED[name][0]).read_text())
    params = resolved(name, ALONE[name])
    done = begin(tmp_path / "job", name, params, tmp_path / "bin")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"shakedown: begin {name}\n") and done.stdout.endswith("shakedown: end\n")
    # A stand-in ends at once, and what it prints took longer: this is the very thing that must not be taken for a time.
    with pytest.raises(workloads.Garbage, match="of another run"):
        workloads.get(name).parse(done.stdout, params)  # type: ignore[misc]
    slow = "\n".join(
        line.replace(line.split(" after ")[1].split(" s ")[0], "999.000000") if " ended after " in line else line
        for line in done.stdout.split("\n")
    )
    cases = workloads.get(name).parse(slow, params)  # type: ignore[misc]
    assert all(case.residual is None or case.residual.passed for case in cases), [case.residual for case in cases]


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_program_that_is_absent_is_named_with_what_brings_it(name: str) -> None:
    job = recipe(name, resolved(name, ALONE[name]), host(4))
    with pytest.raises(Unavailable) as raised:
        application.find(job, "/nowhere")
    assert "not on PATH" in raised.value.what and ("apt-get install" in raised.value.hint or "pip" in raised.value.hint)


def test_an_absent_program_ends_the_job_as_unavailable(tmp_path: Path) -> None:
    params = resolved("quantum_espresso", {"ranks": 1, "program": "no-such-pw.x"})
    done = begin(tmp_path / "job", "quantum_espresso", params, tmp_path)
    assert done.returncode == 3 and "no-such-pw.x" in done.stderr
    assert "apt-get install quantum-espresso" in last_line(done.stderr.encode())


def test_a_container_needs_its_runtime_and_its_image(tmp_path: Path) -> None:
    job = msgspec.structs.replace(
        recipe("openfoam", resolved("openfoam", ALONE["openfoam"]), host(4)), container="/no.sif"
    )
    with pytest.raises(Unavailable, match="apptainer"):
        application.find(job, str(tmp_path))
    player(tmp_path, "apptainer", "")
    with pytest.raises(BadInput, match="is not there"):
        application.find(job, str(tmp_path))
    (tmp_path / "a.sif").write_text("")
    found = application.find(msgspec.structs.replace(job, container=str(tmp_path / "a.sif")), str(tmp_path))
    assert found["pisoFoam"] == (str(tmp_path / "apptainer"), "exec", str(tmp_path / "a.sif"), "pisoFoam")


@pytest.mark.parametrize(
    ("name", "printed", "said"),
    [
        (
            "quantum_espresso",
            " Error in routine readpp (1):\n   file ./Au.pz.UPF not found",
            "no pseudopotential ./Au.pz.UPF",
        ),
        ("quantum_espresso", "     convergence NOT achieved after 100 iterations: stopping", "within 100 iterations"),
        ("quantum_espresso", " Error in routine cdiaghg (12):\n  S matrix", "cdiaghg (12): S matrix"),
        ("neuron", "ModuleNotFoundError: No module named 'neuron'", "has no NEURON"),
        ("openfoam", "Could not find mandatory etc entry (mode=ugo)", "folder etc"),
        (
            "openfoam",
            "number of processor directories = 2 is not equal to the number of processors = 3",
            "parted for 2 ranks, and 3 were started",
        ),
        ("gromacs", "Fatal error:\nThere is no domain decomposition for 7 ranks that", "parted for 7 ranks"),
        ("examl", "There are not enough slots available in the system", "more ranks were requested"),
        ("examl", "mpirun has detected an attempt to run as root.", "as root"),
        ("examl", 'It looks like MPI_Init failed\n  ompi_mpi_init: Returned "Error" (-1)', "another MPI"),
        ("raxml", "Out of memory", "more memory"),
    ],
)
def test_what_went_wrong_is_said_in_words(name: str, printed: str, said: str) -> None:
    job = recipe(name, resolved(name, ALONE[name]), host(4))
    error = application.in_words(job.complaints, printed)
    assert error is not None and said in error.what and error.hint
    absent = "pseudopotential" in said or "no NEURON" in said
    assert isinstance(error, Unavailable) is absent, "what can be brought leaves a run unavailable, the rest has failed"
    assert application.in_words(job.complaints, "all is well") is None


def test_a_step_that_fails_ends_the_job_with_words(tmp_path: Path) -> None:
    player(tmp_path / "bin", "pw.x", " Error in routine readpp (1):\n   file ./H.UPF not found\n", ends=1)
    done = begin(tmp_path / "job", "quantum_espresso", resolved("quantum_espresso", {"ranks": 1}), tmp_path / "bin")
    assert done.returncode == 3 and "no pseudopotential ./H.UPF" in last_line(done.stderr.encode()), "it can be brought"
    assert not done.stdout.endswith("shakedown: end\n")


def test_a_harness_that_is_killed_takes_the_job_along(tmp_path: Path) -> None:
    """Also what the job started in a session of its own."""
    program = player(tmp_path / "bin", "pw.x", "")
    program.write_text(
        f'#!/bin/sh\necho $$ > "{tmp_path}/part" && mv "{tmp_path}/part" "{tmp_path}/pid"\nexec sleep 1000\n'
    )
    command = workloads.get("quantum_espresso").command(resolved("quantum_espresso", {"ranks": 1}), host(4))
    for file, text in command.files.items():
        (tmp_path / file).write_text(text)
    env = {**os.environ, **command.env, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    with open(tmp_path / "out", "wb") as out:
        words = ("/bin/sh", "-c", '"$@" & wait', "harness", *command.argv)
        harness = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=out, stderr=out)
    try:
        until((tmp_path / "pid").exists)
    finally:
        harness.kill()
        harness.wait()
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not process.alive(pid, process.start_ticks(pid) or 0))


def test_what_only_a_file_of_the_run_says_is_read(tmp_path: Path) -> None:
    """Of two ranks that pw.x ends, neither may come to print why: as Quantum ESPRESSO 6.7 left it."""
    told = """ %%%%
     task #         1
     from readpp : error #         4
     file /usr/share/espresso/pseudo/Au.pz-rrkjus_aewfc.UPF not found
 %%%%
"""
    player(tmp_path / "bin", "pw.x", "     Reading input from slab.in\n", {"CRASH": told}, ends=1)
    done = begin(tmp_path / "job", "quantum_espresso", resolved("quantum_espresso", {"ranks": 1}), tmp_path / "bin")
    assert done.returncode == 3 and "no pseudopotential /usr/share" in last_line(done.stderr.encode())


def test_the_folder_of_pseudopotentials_is_the_sites_unless_it_is_named() -> None:
    auto, named = (
        recipe("quantum_espresso", resolved("quantum_espresso", {"ranks": 1, **given}), host(4))
        for given in ({}, {"pseudo_dir": "/opt/pseudo"})
    )
    assert "pseudo_dir" not in auto.files["slab.in"] and "ESPRESSO_PSEUDO" in auto.unset
    assert "pseudo_dir = '/opt/pseudo', " in named.files["slab.in"]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("quantum_espresso", {"ranks": 6, "pools": 4}, "does not divide"),
        ("quantum_espresso", {"size": "large", "ranks": 1}, "atoms need"),
        ("quantum_espresso", {"ranks": 1, "pseudo_dir": "/a b"}, "space"),
        ("openfoam", {"size": "large", "ranks": 1}, "cells need"),
        ("gromacs", {"size": "large", "ranks": 1}, "atoms need"),
        ("examl", {"size": "large", "ranks": 1}, "taxa and sites need"),
        ("neuron", {"cells": 100, "ranks": 1}, "multiple of 16"),
        ("neuron", {"cells": 16_000_000, "ranks": 1}, "compartments need"),
        ("raxml", {"threads": 5}, "spin"),
        ("neuron", {"ranks": 65}, "neuron.ranks = 65 on 4 cores"),
        ("openfoam", {"ranks": 64, "n": 2, "span": 1}, "too few for 64 ranks"),
        ("lammps", {"cells": 3000, "ranks": 1}, "atoms of the melt need"),
        ("lammps", {"ranks": 100000}, "wait for each other"),
    ],
)
def test_what_cannot_be_is_refused_before_it_runs(name: str, given: Params, said: str) -> None:
    with pytest.raises(BadInput) as raised:
        resolved(name, given, machine(4, software=(OPEN_MPI,)))
    assert said in raised.value.what + raised.value.where and raised.value.hint


@pytest.mark.parametrize("name", APPLICATIONS)
def test_sizes_grow_and_weak_scaling_grows_with_the_ranks(name: str) -> None:
    workload = workloads.get(name)
    many = machine(4, software=(OPEN_MPI,), memory_bytes=2**50)
    amounts = []
    for size in ("smoke", "small", "medium", "large"):
        (found,) = workload.resolve(workloads.check_params(workload, {**ALONE[name], "size": size}), many)
        amounts.append(workload.estimate_s(found, many.hosts[0]))
    assert amounts == sorted(amounts) and len(set(amounts)) == 4
    count = "threads" if name == "raxml" else "ranks"
    strong, weak = (resolved(name, {count: 2, "weak": flag}, many) for flag in (False, True))
    grown = [one for one in strong if one != "weak" and strong[one] != weak[one]]
    assert len(grown) == 1 and weak[grown[0]] == 2 * int(strong[grown[0]])


def test_several_ranks_need_an_mpi() -> None:
    with pytest.raises(Unavailable):
        resolved("openfoam", {"ranks": 2}, machine(4))


# ------------------------------------------------------------------------------------------------------- generated inputs


def test_a_slab_has_its_atoms_apart() -> None:
    found = list(quantum_espresso.atoms(3, 2, 4, 1))
    assert sum(atom[0] == "Au" for atom in found) == 2 * 3 * 2 * 4 and len(found) == 48 + 3 + 6
    places = np.array([atom[1:] for atom in found])
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2) + 9 * np.eye(len(found))
    assert apart.min() > 0.9
    gold = np.array([atom[1:] for atom in found if atom[0] == "Au"])
    near = np.linalg.norm(gold[:, None] - gold[None, :], axis=2) + 9 * np.eye(len(gold))
    assert near.min() == pytest.approx(4.06 / math.sqrt(2), abs=1e-6)
    assert found != list(quantum_espresso.atoms(3, 2, 4, 2)) and found == list(quantum_espresso.atoms(3, 2, 4, 1))


def test_water_is_rigid_and_in_columns() -> None:
    lines = gromacs.box(3).splitlines()
    assert lines[1] == "1536" and len(lines) == 1536 + 3
    places = np.array([[float(line[20 + 9 * one : 29 + 9 * one]) for one in range(3)] for line in lines[2:-1]])
    bonds = np.linalg.norm(places[1::3] - places[::3], axis=1)
    assert np.abs(bonds - 0.1).max() < 2e-4
    assert np.abs(np.linalg.norm(places[1::3] - places[2::3], axis=1) - 0.1633).max() < 2e-4


def test_a_mesh_is_halved_until_it_is_small_enough_for_one_rank() -> None:
    assert [openfoam._refinements(n) for n in (2, 24, 46, 92)] == [0, 0, 1, 2]


def test_ranks_are_parted_near_to_a_cube() -> None:
    for count in (1, 2, 7, 8, 12, 64, 97, 2048):
        shape = near_cubic(count, 3)
        assert math.prod(shape) == count and sorted(shape, reverse=True) == list(shape)
    assert near_cubic(64, 3) == (4, 4, 4) and near_cubic(7, 3) == (7, 1, 1)


def test_the_likelihood_of_a_tree_is_the_sum_over_all_its_inner_letters() -> None:
    """Five leaves, three inner nodes: 64 ways, summed one by one."""
    draw = np.random.Generator(np.random.PCG64(5))
    tree = alignment.tree(5, draw)
    moves = [alignment.transitions(float(length)) for length in tree.lengths]
    for move in moves:
        assert np.allclose(move.sum(axis=2), 1.0)
    column = np.array([[0], [1], [1], [3], [2]], dtype=np.uint8)
    total = 0.0
    for rate in range(4):
        for ways in np.ndindex(4, 4, 4):
            state = [*column[:, 0], *ways]
            chance = alignment.FREQUENCIES[state[7]] / 4
            for node in range(7):
                chance *= moves[node][rate, state[tree.parents[node]], state[node]]
            total += chance
    found = alignment.log_likelihood(tree, moves, column, np.array([3]))
    assert found == pytest.approx(3 * math.log(total), rel=1e-12)


def test_an_alignment_is_made_again_from_its_seed(tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        value = alignment.write(tmp_path / name, 12, 300, seed)
        text = (tmp_path / name / "A.phy").read_text()
        made.append((value, text, (tmp_path / name / "true.tree").read_text()))
        rows = text.splitlines()
        assert rows[0] == "12 300" and {len(row.split()[1]) for row in rows[1:]} == {300}
        assert made[-1][2].count("(") == made[-1][2].count(")") == 10 and made[-1][2].count("t") == 12
    assert made[0] == made[1] and made[0] != made[2]
    assert made[0][0] < 0


def test_letters_are_as_frequent_as_the_model_says() -> None:
    draw = np.random.Generator(np.random.PCG64(9))
    tree = alignment.tree(8, draw)
    letters = alignment.evolve(tree, [alignment.transitions(float(one)) for one in tree.lengths], 20000, draw)
    for letter, share in enumerate(alignment.FREQUENCIES):
        assert (letters == letter).mean() == pytest.approx(share, abs=0.015)


def test_the_driver_takes_recipes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("", "{}", "[1]", "not json"):
        (tmp_path / "recipe.json").write_text(text)
        assert application.main() == 2
        assert "no job in this folder" in capsys.readouterr().err


def test_a_program_that_the_user_names_takes_the_place_of_the_first() -> None:
    found = common.with_program({"pw": ("pw.x",), "cat": ("cat",)}, "/opt/pw")
    assert found == {"pw": ("/opt/pw",), "cat": ("cat",)} and common.with_program(found, "auto") == found
