"""A program that was written for FTI, on this library: killed, restarted, its files kept and removed, its disk full.

Of the three defects of FTI 1.6 that are known to lose a run (a kill during a commit, files over 2 GiB, a full disk) the
first is checkpoint_kills_test, each operation of a commit the last; the second checkpoint_large_test."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from shakedown.checkpoint import installed

EXAMPLE = Path(__file__).parents[2] / "examples/checkpoint/heat_fti.c"
pytestmark = pytest.mark.needs("mpicc", "mpirun")
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "SHAKEDOWN_CKPT_SYNCHRONOUS": "1",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folders, built = installed.folders(), tmp_path_factory.mktemp("fti") / "heat_fti"
    words = [
        "mpicc",
        "-std=c99",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{folders.include}",
        str(EXAMPLE),
        "-o",
        str(built),
    ]
    link = [f"-L{folders.lib}", "-lshakedown_checkpoint", f"-Wl,-rpath,{folders.lib}"]
    done = subprocess.run([*words, *link], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return built


def config(folder: Path, *, keep: int = 0) -> Path:
    """As FTI's users write it, with keys that are of no use here."""
    file = folder / "config.fti"
    file.write_text(
        f"[Basic]\nhead = 0\nnode_size = 1\nCkpt_dir = {folder / 'local'} # of a node\nglbl_dir={folder / 'global'}\n"
        f"meta_dir = {folder / 'meta'}\nckpt_l1 = 3\nckpt_l2 = 0\ngroup_size = 4\nkeep_last_ckpt = {keep}\n\n"
        "[Restart]\nfailure = 0\nexec_id = 2018-09-17_09-50-30\n\n[Advanced]\nlocal_test = 1\n"
    )
    return file


def command(program: Path, file: Path, steps: int) -> list[str]:
    ranks = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4"]
    return [*ranks, str(program), str(file), "2000", str(steps), "5"]


def run(program: Path, file: Path, steps: int = 40) -> tuple[int, str, str]:
    done = subprocess.run(
        command(program, file, steps), capture_output=True, text=True, timeout=300, check=False, env=ENVIRONMENT
    )
    return done.returncode, done.stdout, done.stderr


def kill(session: int) -> None:
    """SIGKILL for mpirun and all ranks, until none is left: each rank has a process group of its own."""

    def alive() -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) == session and fields[0] != "Z":
                        found.append(int(entry.name))
        return found

    while left := alive():
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def heat(out: str) -> str:
    return out.rsplit("heat ", 1)[1]


def test_a_ported_program_is_killed_and_goes_on(program: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    code, undisturbed, errors = run(program, config(whole))
    assert code == 0, errors
    assert undisturbed.count("saved step") == 8 and not list(whole.rglob("gen-*")), "all levels; nothing is kept"
    file = config(tmp_path)
    before = file.read_bytes()
    with subprocess.Popen(
        command(program, file, 10**9), stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True
    ) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if line.startswith("saved step 20"):
                break
        kill(job.pid)
        job.wait()
    began = 0
    for _ in range(2):  # what is recovered once can be recovered again
        code, out, errors = run(program, config(tmp_path, keep=1), 0)
        assert code == 0, errors
        began = int(out.split("begins at step ")[1].split()[0])
        assert began >= 20 and began % 5 == 0
    assert file.read_bytes() == before.replace(b"keep_last_ckpt = 0", b"keep_last_ckpt = 1"), "the file is the user's"
    code, out, errors = run(program, file, began + 40)
    code, again, errors = run(program, config(whole), began + 40)
    assert heat(out) == heat(again), "bit for bit what an undisturbed run has"


def test_keep_last_is_restored_from_the_shared_folder_alone(program: Path, tmp_path: Path) -> None:
    code, out, errors = run(program, config(tmp_path, keep=1), 20)
    assert code == 0, errors
    (tmp_path / "local").rename(tmp_path / "gone")
    code, more, errors = run(program, config(tmp_path), 20)
    assert code == 0 and "begins at step 20" in more and heat(more) == heat(out), errors


@pytest.mark.needs("root", "unshare", "mount")
def test_a_full_disk_ends_no_program(program: Path, tmp_path: Path) -> None:
    """FTI 1.6 ends there by a double free. Levels 1 to 3 fail, level 4 holds, and the result is the same."""
    file, full = config(tmp_path), tmp_path / "local"
    full.mkdir()
    code, undisturbed, errors = run(program, file)
    assert code == 0, errors
    script = 'mount -t tmpfs -o size=200k tmpfs "$0" || exit 77; exec "$@"'
    words = ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, str(full)]
    done = subprocess.run(
        [*words, *command(program, file, 40)], capture_output=True, text=True, timeout=300, check=False, env=ENVIRONMENT
    )
    if done.returncode == 77:
        pytest.skip(f"this machine mounts nothing here: {done.stderr}")
    assert heat(done.stdout) == heat(undisturbed) and done.returncode == 0, done.stderr
    assert "No space left" in done.stderr and "goes on without" in done.stderr


def test_a_configuration_that_is_not_there_is_one_line(program: Path, tmp_path: Path) -> None:
    code, _, errors = run(program, tmp_path / "none.fti")
    assert code == 3 and errors.count("the configuration cannot be read") == 1
