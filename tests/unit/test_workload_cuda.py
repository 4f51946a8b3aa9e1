"""The CUDA demonstration: a fake driver that computes right, wrong or not at all, the kernels, the refusals."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shakedown import workloads
from shakedown.errors import BadInput
from shakedown.functional_tests import cuda
from shakedown.programs import events
from support.machines import host

KERNELS = Path(cuda.__file__).parent / "sources" / "cuda"
SOURCE = Path(__file__).parent.parent / "recordings" / "demonstrations" / "fake_cuda.c"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake driver."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler: sudo apt-get install gcc")
    target = tmp_path_factory.mktemp("cuda") / "libcuda.so.1"
    words = [compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(target), str(SOURCE), "-lm"]
    subprocess.run(words, check=True, timeout=300)
    return target


def demonstrate(
    library: Path, folder: Path, fault: str = "", *more: str
) -> tuple[subprocess.CompletedProcess[bytes], events.Events]:
    words = ("--library", str(library), "--nvcc", "off", "--bodies", "512", "--elements", "5000", "--samples", "2")
    done = subprocess.run(
        [sys.executable, "-m", "shakedown.functional_tests.cuda", *words, "--together", "0.02", *more],
        capture_output=True,
        cwd=folder,
        env={**os.environ, "FAKE_CUDA": fault},
        timeout=300,
        check=False,
    )
    return done, events.parse(done.stdout)


def test_devices_that_compute_right_are_counted_alone_and_together(library: Path, tmp_path: Path) -> None:
    done, found = demonstrate(library, tmp_path)
    assert done.returncode == 0, done.stderr
    assert found.ended and not found.garbage
    count = next(case for case in found.cases if case.kernel == "devices")
    assert count.work == {"devices": 2} and count.params == {"asked": 2}
    places = [
        (case.kernel, case.params["index"], case.params["pattern"]) for case in found.cases if "pattern" in case.params
    ]
    assert places == [
        ("triad", 0, "alone"),
        ("nbody", 0, "alone"),
        ("triad", 1, "alone"),
        ("nbody", 1, "alone"),
        ("nbody", 0, "together"),
        ("nbody", 1, "together"),
    ]
    facts = found.provenance["facts"]
    assert facts["cuda"] == "12.4" and facts["devices"][1]["capability"] == "9.0"
    for case in found.cases:
        if case.kernel == "nbody":
            assert case.work["flop"] % (20 * 512**2) == 0 and case.residual and 0 < (case.residual.value or 0) < 4
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize(
    ("fault", "failing"), [("wrong_triad", {"triad"}), ("wrong_bodies", {"nbody"}), ("unwritten", {"triad", "nbody"})]
)
def test_a_wrong_result_fails_and_counts_nothing(library: Path, tmp_path: Path, fault: str, failing: set[str]) -> None:
    done, found = demonstrate(library, tmp_path, fault)
    assert done.returncode == 1
    assert {case.kernel for case in found.cases if case.residual and not case.residual.passed} == failing
    assert next(case for case in found.cases if case.kernel == "devices").work == {"devices": 0}


def test_a_device_that_fails_only_beside_another_is_found(library: Path, tmp_path: Path) -> None:
    done, found = demonstrate(library, tmp_path, "lost_together")
    assert done.returncode == 1
    failed = [case for case in found.cases if case.residual and not case.residual.passed]
    assert [(case.params["index"], case.params["pattern"]) for case in failed] == [(1, "together")]
    assert next(case for case in found.cases if case.kernel == "devices").work == {"devices": 1}
    assert any("CUDA_ERROR_LAUNCH_FAILED (719)" in notice.text for notice in found.notices)
    assert demonstrate(library, tmp_path, "lost_together", "--together", "0")[0].returncode == 0


def test_a_driver_that_refuses_the_kernels_says_why(library: Path, tmp_path: Path) -> None:
    done, found = demonstrate(library, tmp_path, "no_module")
    assert done.returncode == 1
    assert any("UNSUPPORTED_PTX_VERSION" in notice.text for notice in found.notices)


@pytest.mark.parametrize(
    ("fault", "words"),
    [("no_init", b"does not start"), ("no_device", b"shows no device"), ("error_100", b"shows no device")],
)
def test_without_a_device_it_is_unavailable_with_the_next_step(
    library: Path, tmp_path: Path, fault: str, words: bytes
) -> None:
    done, found = demonstrate(library, tmp_path, fault)
    assert done.returncode == 3 and words in done.stderr and b"next:" in done.stderr
    assert not found.cases


def test_without_a_driver_it_is_unavailable(tmp_path: Path) -> None:
    done, _ = demonstrate(tmp_path / "libcuda.so.1", tmp_path)
    assert done.returncode == 3 and b"no CUDA driver" in done.stderr


def test_an_nvcc_that_fails_fails_the_run(library: Path, tmp_path: Path) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("#!/bin/sh\necho 'nvcc fatal: Unsupported gpu architecture' >&2\nexit 1\n")
    nvcc.chmod(0o755)
    done, found = demonstrate(library, tmp_path, "", "--nvcc", str(nvcc))
    assert done.returncode == 1
    assert any("Unsupported gpu architecture" in notice.text for notice in found.notices)
    assert next(case for case in found.cases if case.kernel == "devices").work == {"devices": 0}


def test_the_kernels_brought_along_are_those_of_the_source() -> None:
    source, ptx = (KERNELS / "kernels.cu").read_bytes(), (KERNELS / "kernels.ptx").read_text()
    assert hashlib.sha256(source).hexdigest() in ptx.splitlines()[0], "kernels.ptx must be made again: see its README"
    assert ".version 4.0" in ptx and ".target sm_50" in ptx
    assert ".visible .entry triad(" in ptx and ".visible .entry bodies(" in ptx


def test_a_gpu_that_goes_or_whose_memory_fails_makes_the_run_worse() -> None:
    before = cuda.Health("550", {"0000:01": 0, "0000:02": 3, "0000:03": None})
    assert cuda.worsened(before, before) == []
    assert cuda.worsened(before, cuda.Health("550", {"0000:01": 0, "0000:02": 3, "0000:03": 1})) == []
    gone = cuda.worsened(before, cuda.Health("550", {"0000:01": 2, "0000:03": None}))
    assert any("0000:02 no longer answers" in text for text in gone)
    assert any("0000:01 has 2 new" in text for text in gone)
    assert cuda.worsened(before, "Driver/library version mismatch")


def test_nvcc_is_looked_for_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "nvcc"
    program.parent.mkdir()
    program.touch(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert cuda.find_nvcc("off", {}) == ""
    assert cuda.find_nvcc("auto", {"CUDA_HOME": str(tmp_path)}) == str(program)
    with pytest.raises(BadInput):
        cuda.find_nvcc(str(tmp_path / "absent"), {})


def test_the_workload_starts_the_demonstration() -> None:
    workload = workloads.get("cuda")
    params = workloads.check_params(workload, {"together": 3.0})
    argv = workload.command(params, host()).argv
    assert argv[1:3] == ("-m", "shakedown.functional_tests.cuda")
    assert dict(zip(argv[3::2], argv[4::2], strict=True))["--together"] == "3.0"
