"""The Fortran modules with MPI: ranks save an array without its ghost layers, other numbers of ranks restore it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shakedown.checkpoint import installed

pytestmark = pytest.mark.needs("gfortran", "mpif90", "mpirun")
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folders, built = installed.folders(), tmp_path_factory.mktemp("ranks")
    modules = [folders.fortran, folders.include / "shakedown/shakedown_checkpoint_mpi.f90"]
    sources = [*map(str, modules), str(Path(__file__).with_name("ranks.f90"))]
    link = [f"-L{folders.lib}", "-lshakedown_checkpoint", f"-Wl,-rpath,{folders.lib}"]
    argv = ["mpif90", "-Wall", "-O1", f"-J{built}", "-o", str(built / "ranks"), *sources, *link]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return built / "ranks"


def run(program: Path, ranks: int, *words: str) -> list[str]:
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    argv = [*MPIRUN, "-n", str(ranks), str(program), *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **allowed})
    assert done.returncode == 0, done.stderr
    return sorted(line.strip() for line in done.stdout.splitlines())


@pytest.mark.parametrize("ranks", [1, 3])
def test_other_numbers_of_ranks_restore_what_two_saved(program: Path, tmp_path: Path, ranks: int) -> None:
    folder = str(tmp_path / "global")
    assert run(program, 2, folder, "save") == [f"saved on rank {rank}, error 0" for rank in range(2)]
    assert run(program, ranks, folder, "restore") == [f"restored on rank {rank}, error 0" for rank in range(ranks)]
