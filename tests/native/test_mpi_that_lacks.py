"""An MPI without threads, and one without UCX: one line each that says what it lacks and what to do. (One without one-sided
operations: test_onesided.)"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shakedown.machine.mpi import OPEN_MPI
from shakedown.results.outcome import lacking, last_line
from shakedown.workloads.common import rails
from support.natives import here, run_ranks

# Ranks that share a CPU give way to all else at each message: on a busy machine they hardly end.
needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs that this process may use")

# An MPI that allows no threads says so in what MPI_Init_thread gives back.
_NO_THREADS = """
int PMPI_Init_thread(int*, char***, int, int*);
int MPI_Init_thread(int* argc, char*** argv, int wanted, int* offered) {
  int code = PMPI_Init_thread(argc, argv, wanted, offered);
  *offered = 0;
  return code;
}
"""


@pytest.fixture
def no_threads(tmp_path: Path) -> dict[str, str]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a compiler for C: sudo apt-get install gcc")
    source, library = tmp_path / "no_threads.c", tmp_path / "no_threads.so"
    source.write_text(_NO_THREADS)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return {"LD_PRELOAD": str(library)}


@pytest.mark.parametrize("program", ["hydro", "multicast"])
def test_an_mpi_without_threads_is_one_error_where_they_are_needed(no_threads: dict[str, str], program: str) -> None:
    code, found, err = run_ranks(program, 2, env=no_threads).told()
    assert code == 3 and not found.cases
    assert err.count(f"{program}: ") == 1
    said = last_line(err.encode())
    assert "this MPI allows no threads" in said and "next:" in said


@needs_two_cpus
def test_what_needs_no_threads_runs_with_such_an_mpi(no_threads: dict[str, str]) -> None:
    words = ("--kernels", "latency", "--sizes", "8", "--samples", "2", "--sample-us", "1", "--budget-s", "0.1")
    code, found, err = run_ranks("multi_pair", 2, *words, env=no_threads).told()
    assert code == 0 and found.ended, err


@pytest.fixture
def without_ucx(tmp_path: Path) -> dict[str, str]:
    """What makes this Open MPI one that was built without UCX: a folder of its other components."""
    info = shutil.which("ompi_info")
    if info is None or not any(one.name == OPEN_MPI and one.version.startswith("4.") for one in here().software):
        pytest.skip("needs Open MPI 4 with its tools (sudo apt-get install openmpi-bin)")
    told = subprocess.run(
        [info, "--path", "pkglibdir", "--parsable"], capture_output=True, text=True, check=True
    ).stdout
    there = sorted(Path(told.strip().rpartition(":")[2]).glob("mca_*.so"))
    if not there:
        pytest.skip("needs an Open MPI whose components are files: it can be left without some")
    folder = tmp_path / "components"
    folder.mkdir()
    for one in there:
        if "ucx" not in one.name:
            (folder / one.name).symlink_to(one)
    return {"OMPI_MCA_mca_base_component_path": str(folder)}


@needs_two_cpus
def test_an_mpi_without_ucx_says_so_where_ucx_is_asked_for_and_works_where_it_is_not(
    without_ucx: dict[str, str],
) -> None:
    words = ("--kernels", "latency", "--sizes", "8", "--samples", "2", "--sample-us", "1", "--budget-s", "0.1")
    told = rails.environment(OPEN_MPI, ("mlx5_0:1",))
    for _ in range(
        40
    ):  # in one launch of four mpirun of Open MPI 4.1 loses what its ranks say, and complains of itself
        ended = run_ranks("multi_pair", 2, *words, env={**without_ucx, **told})
        assert ended.code != 0 and not ended.told()[1].cases
        if lacking(ended.err.encode()) or "show_help.c" not in ended.err:
            break
    assert lacking(ended.err.encode()) == (
        "this Open MPI has no component ucx for pml, which OMPI_MCA_pml asks for (next: use an Open MPI that was built with "
        "UCX; between nodes without it messages go by TCP: rails=eth0,eth1)"
    )
    ended = run_ranks("multi_pair", 2, *words, env=without_ucx)
    assert ended.code == 0 and lacking(ended.err.encode()) == ""


def test_what_other_programs_say_is_not_taken_for_it() -> None:
    assert lacking(b"hydro: this MPI allows no threads\n") == ""
    none = b"No available spml components were found!\n"
    assert "has no component for spml" in lacking(none) and "needs UCX" in lacking(none)
