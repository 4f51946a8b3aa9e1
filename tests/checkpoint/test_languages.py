"""The example program in C, C++, Fortran and Python: killed, and continued by each other to the same result, bit for bit."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from shakedown.checkpoint import installed
from shakedown.checkpoint.library import paths

EXAMPLES = Path(__file__).parents[2] / "examples/checkpoint"
ROWS, COLUMNS, STEPS, EVERY = "14", "23", 60, 10
LANGUAGES = ("c", "cpp", "f90", "py")
pytestmark = pytest.mark.needs("cc", "c++", "gfortran")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Each example as a user builds it: against what the package installs."""
    built, folders = tmp_path_factory.mktemp("examples"), installed.folders()
    common = ["-O1", "-ffp-contract=off", "-Wall", "-Werror", f"-I{folders.include}", "-o"]
    link = [f"-L{folders.lib}", "-lshakedown_checkpoint", f"-Wl,-rpath,{folders.lib}"]
    commands = {
        "c": ["cc", "-std=c99", *common, str(built / "c"), str(EXAMPLES / "heat.c"), *link],
        "cpp": ["c++", "-std=c++20", *common, str(built / "cpp"), str(EXAMPLES / "heat.cpp"), *link],
        "f90": [
            # without -fno-backtrace it takes SIGXFSZ for itself, also where that is ignored
            *("gfortran", "-std=f2018", "-fno-backtrace", f"-J{built}", *common, str(built / "f90")),
            *(str(folders.fortran), str(EXAMPLES / "heat.f90"), *link),
        ],
    }
    running = {name: subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for name, words in commands.items()}
    for name, process in running.items():
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, f"{name}: {errors}"
    return {**{name: [str(built / name)] for name in commands}, "py": [sys.executable, str(EXAMPLES / "heat.py")]}


class Run(NamedTuple):
    """Where a run began, the steps that it saved, and the heat that was left; None where it was killed."""

    began: int
    saved: list[int]
    heat: float | None


def lines(text: str) -> Run:
    words = [line.split() for line in text.splitlines()]
    heats = [float(line[1]) for line in words if line[0] == "heat"]
    saved = [int(line[2]) for line in words if line[0] == "saved"]
    return Run(int(words[0][3]), saved, heats[0] if heats else None)


def run(program: Sequence[str], folder: Path, steps: int = STEPS) -> Run:
    argv = [*program, str(folder), ROWS, COLUMNS, str(steps), str(EVERY)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return lines(done.stdout)


def killed(program: Sequence[str], folder: Path, after: int) -> None:
    """SIGKILL when it has saved that step: while it computes, or while the library writes."""
    argv = [*program, str(folder), ROWS, COLUMNS, str(10**9), str(EVERY)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.split()[0] == "saved" and int(line.split()[2]) >= after:
                break
        process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def undisturbed(programs: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> float:
    heats = {name: run(program, tmp_path_factory.mktemp("whole") / "job") for name, program in programs.items()}
    assert len({found.heat for found in heats.values()}) == 1, f"the same arithmetic in each language: {heats}"
    assert all(found.began == 0 and found.saved == list(range(EVERY, STEPS + 1, EVERY)) for found in heats.values())
    heat = heats["c"].heat
    assert heat is not None and heat > 0
    return heat


@pytest.mark.parametrize(("writer", "reader"), list(itertools.product(LANGUAGES, LANGUAGES)))
def test_one_is_killed_and_another_continues(
    programs: dict[str, list[str]], undisturbed: float, tmp_path: Path, writer: str, reader: str
) -> None:
    whole = run(programs[writer], tmp_path / "job", steps=30)
    assert whole.began == 0 and whole.saved == [10, 20, 30]
    found = run(programs[reader], tmp_path / "job")
    assert found == Run(30, [40, 50, 60], undisturbed)


@pytest.mark.parametrize("writer", LANGUAGES)
def test_a_killed_run_is_continued_by_every_language(
    programs: dict[str, list[str]], tmp_path: Path, writer: str
) -> None:
    killed(programs[writer], tmp_path / "job", after=40)
    began = set()
    for reader in LANGUAGES:
        found = run(programs[reader], tmp_path / "job", steps=0)
        began.add(found.began)
    (step,) = began
    assert step >= 30 and step % EVERY == 0, "of what was saved at most the last is lost"


@pytest.mark.parametrize("language", LANGUAGES)
def test_another_shape_and_a_folder_that_cannot_be_are_errors(
    programs: dict[str, list[str]], tmp_path: Path, language: str
) -> None:
    run(programs[language], tmp_path / "job", steps=10)
    for folder, columns, words in (
        (tmp_path / "job", "24", "another shape"),
        (Path("/proc/none"), COLUMNS, "/proc/none"),
    ):
        argv = [*programs[language], str(folder), ROWS, columns, "20", "10"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 3 and words in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and "begins" not in done.stdout


def test_the_library_needs_neither_mpi_nor_python_and_offers_its_interface_alone() -> None:
    library = installed.folders().library
    needed = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    names = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    assert names <= {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", _loader()}, names
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    symbols = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert symbols and all(name.startswith("shakedown_ckpt_") for name in symbols), symbols


def test_a_program_that_holds_the_library_needs_none_beside_it(tmp_path: Path, undisturbed: float) -> None:
    """By the line that `shakedown checkpoint paths --static` prints."""
    line = paths().compile_static.replace("cc program.c", f"cc -O1 -ffp-contract=off {EXAMPLES / 'heat.c'}")
    subprocess.run([*shlex.split(line), "-o", str(tmp_path / "heat")], check=True, timeout=300)
    needed = subprocess.run(
        ["readelf", "-d", str(tmp_path / "heat")], capture_output=True, text=True, check=True
    ).stdout
    assert "libshakedown" not in needed
    program = [str(tmp_path / "heat")]
    assert run(program, tmp_path / "job", steps=30).saved == [10, 20, 30]
    assert run(program, tmp_path / "job") == Run(30, [40, 50, 60], undisturbed)


def _loader() -> str:
    return {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}[os.uname().machine]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_could_not_be_written_is_not_called_saved(
    programs: dict[str, list[str]], tmp_path: Path, language: str
) -> None:
    """The state of one rank has 2.5 KiB, and a file may have 1 KiB: as on a full disk, the run goes on without."""
    limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 2; exec "$@"', "sh"]
    argv = [*limited, *programs[language], str(tmp_path / "job"), ROWS, COLUMNS, "20", "10"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0 and "after step 20" in " ".join(done.stdout.split()), (done.stdout, done.stderr)
    assert "saved" not in done.stdout and done.stderr.count("goes on without") == 2, (done.stdout, done.stderr)
