"""The watcher goes before the program, wherever the launcher's options end."""

from __future__ import annotations

import pytest

from shakedown.errors import BadInput
from shakedown.placement.command_line import prologue, watched

W = ("W", "--")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mpirun -n 4 ./a.out -n 7", "mpirun -n 4 W -- ./a.out -n 7"),
        ("mpirun ./a.out", "mpirun W -- ./a.out"),
        ("/opt/mpi/bin/mpiexec.hydra -genvall -n 2 -ppn 1 a", "/opt/mpi/bin/mpiexec.hydra -genvall -n 2 -ppn 1 W -- a"),
        ("mpirun.openmpi --mca btl tcp --oversubscribe a b", "mpirun.openmpi --mca btl tcp --oversubscribe W -- a b"),
        ("mpirun --allow-run-as-root --bind-to none -x A a", "mpirun --allow-run-as-root --bind-to none -x A W -- a"),
        ("mpirun -n 2 -- a -- b", "mpirun -n 2 W -- a -- b"),
        ("mpiexec -genv A b -n 2 a", "mpiexec -genv A b -n 2 W -- a"),
        ("mpirun -n 1 a x : -n 2 b y", "mpirun -n 1 W -- a x : -n 2 W -- b y"),
        ("mpirun --odd -n 2 -- a", "mpirun --odd -n 2 W -- a"),
        ("srun -n4 -N 2 --cpu-bind=cores --mpi=pmix a -c 3", "srun -n4 -N 2 --cpu-bind=cores --mpi=pmix W -- a -c 3"),
        ("srun -l --exclusive --ntasks 4 a :", "srun -l --exclusive --ntasks 4 W -- a :"),
        ("flux run -n 4 -x a", "flux run -n 4 -x W -- a"),
        ("jsrun -n 4 -a1 a", "jsrun -n 4 -a1 W -- a"),
        ("aprun -n 4 -q a", "aprun -n 4 -q W -- a"),
    ],
)  # fmt: skip
def test_it_goes_before_the_program(command: str, expected: str) -> None:
    assert watched(command.split(), W) == tuple(expected.split())


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("./a.out 4", "not a launcher"),
        ("", "empty command"),
        ("bash run.sh", "bash is not a launcher"),
        ("flux submit a", "flux is not a launcher"),
        ("mpirun -n 4", "no program"),
        ("mpirun -n 4 --", "no program"),
        ("mpirun -n 1 a : -n 2", "no program"),
        ("mpirun -n 1 : a", "no program"),
    ],
)
def test_a_command_without_launcher_or_program_is_refused_with_the_next_step(command: str, what: str) -> None:
    with pytest.raises(BadInput, match=what) as caught:
        watched(command.split(), W)
    assert "shakedown" in caught.value.hint


def test_the_words_of_the_watcher() -> None:
    assert prologue("/p", "/f") == ("/p", "--to", "/f", "--")
    assert prologue("/p", "/f", arrange="spread", threads=2)[3:] == ("--arrange", "spread", "--threads", "2", "--")
