"""shmem with real PEs: every operation, faults of a library in front of the real one, a PE that is silent, bad input."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from shakedown import launchers, programs
from shakedown.launchers import Command
from shakedown.programs import events
from shakedown.programs.events import Events
from shakedown.records import Case
from support.natives import Ended, end, here, path

QUICK = ("--samples", "3", "--budget-s", "0.01", "--sample-us", "1", "--contended", "50", "--allow-oversubscribe")
ATOMICS = {
    "fetch_add": "fadd",
    "add": "add",
    "fetch_inc": "finc",
    "inc": "inc",
    "swap": "swap",
    "compare_swap": "cswap",
    "set": "set",
    "fetch": "fetch",
}
#: What fetches nothing has a quiet of its own, too.
SILENT = ("add", "inc", "set")
SOURCE = Path(__file__).parents[1] / "support" / "wrong_shmem.c"


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that stands in front of the real one."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler: sudo apt-get install gcc")
    library = tmp_path_factory.mktemp("wrong") / "libwrong_shmem.so"
    made = ["-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run([compiler, *made], check=True, capture_output=True)
    return library


def _ended(*words: str, pes: int = 2, env: dict[str, str] | None = None) -> Ended:
    path("shmem")
    argv, launched = launchers.wrap(Command(argv=(programs.path("shmem"), *words), ranks=pes, site_mpi=True), here())
    process = subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **launched, **(env or {})},
        start_new_session=True,
    )
    return end(process)


def _run(*words: str, pes: int = 2, env: dict[str, str] | None = None) -> tuple[int, Events, str]:
    return _ended(*QUICK, *words, pes=pes, env=env).told()


def _whole(found: tuple[int, Events, str]) -> tuple[Case, ...]:
    code, told, err = found
    assert (code, told.ended, told.garbage) == (0, True, ""), err
    for case in told.cases:
        assert case.seconds and case.residual is not None and case.residual.value == 0, case.kernel
    return told.cases


@functools.cache
def _open_mpi_4_1_4() -> bool:
    """Whose compare-and-swap of 4 bytes ends the program (open-mpi#11257)."""
    found = launchers.site_mpi(here().software)
    return found.name == "Open MPI" and found.version == "4.1.4"


def test_puts_and_gets_are_right_of_every_size() -> None:
    cases = _whole(_run("--operations", "put,get", "--sizes", "1,8,13,4096", "--in-flight", "3"))
    kernels = {"shmem_put", "shmem_put_fence", "shmem_put_rate", "shmem_put_nbi", "shmem_get", "shmem_get_nbi"}
    assert {case.kernel for case in cases} == kernels
    for case in cases:
        assert case.work["bytes"] == case.work["messages"] * float(case.params["bytes"])
        flying = case.kernel.endswith(("_rate", "_nbi"))
        assert case.params.get("in_flight") == (3 if flying else None)
        assert case.work["messages"] % (3 if flying else 1) == 0
    assert {case.params["bytes"] for case in cases if case.kernel == "shmem_get"} == {1, 8, 13, 4096}


@pytest.mark.parametrize("bytes_", [4, 8])
def test_atomic_operations_are_right_and_have_osus_names(bytes_: int) -> None:
    names = [one for one in ATOMICS if not (one == "compare_swap" and bytes_ == 4 and _open_mpi_4_1_4())]
    cases = _whole(_run("--operations", ",".join(names), "--atomic-bytes", str(bytes_)))
    word = "int" if bytes_ == 4 else "longlong"
    told = {(case.kernel, case.params["case"]) for case in cases}
    assert told == {("shmem_atomic", f"shmem_{word}_{ATOMICS[one]}") for one in names} | {
        ("shmem_atomic_quiet", f"shmem_{word}_{one}") for one in SILENT
    }
    assert all(case.work["op"] == case.work["messages"] and case.work["op"] % 500 == 0 for case in cases)


@pytest.mark.parametrize("pes", [2, 3])
def test_operations_of_all_pes_are_right(pes: int) -> None:
    cases = _whole(_run("--operations", "barrier,broadcast,fcollect,sum,alltoall", "--sizes", "8,4096", pes=pes))
    assert len(cases) == 9 and {case.params["ranks"] for case in cases} == {pes}
    assert all(min(case.seconds) > 0 for case in cases)


@pytest.mark.parametrize(
    ("fault", "operation", "pe", "element"),
    [
        *(("lost", "add", 1, ""), ("lost", "inc", 1, ""), ("twice", "fetch_add", 0, "")),
        *(("put", "put", 1, "124"), ("get", "get", 0, "124")),  # the last word of 4 bytes of 500
    ],
)
def test_what_a_library_does_wrong_fails_the_check_and_is_named(
    wrong: Path, fault: str, operation: str, pe: int, element: str
) -> None:
    words = ("--operations", operation, "--sizes", "500", "--in-flight", "1", "--atomic-bytes", "8")
    code, found, err = _run(*words, env={"LD_PRELOAD": str(wrong), "WRONG_SHMEM": fault})
    assert code == 1 and found.ended, err
    assert any(case.residual is not None and not case.residual.passed for case in found.cases)
    texts = [one.text for one in found.notices if one.code == "wrong-element"]
    assert any(f"memory of PE {pe} on " in one and f"element {element}" in one for one in texts), texts


def test_a_crash_ends_its_own_launch(wrong: Path) -> None:
    env = {"LD_PRELOAD": str(wrong), "WRONG_SHMEM": "crash"}
    code, found, _ = _run("--operations", "swap", env=env)
    assert code not in (0, 1, 2) and not found.ended and found.cases == ()
    assert _whole(_run("--operations", "add", env=env))


def test_a_pe_that_is_silent_ends_the_job(wrong: Path) -> None:
    env = {"LD_PRELOAD": str(wrong), "WRONG_SHMEM": "silent"}
    code, found, err = _run("--operations", "put", "--sizes", "8", "--silent-s", "4", env=env)
    assert code == 1
    (dead,) = found.cases
    assert dead.residual is not None and dead.residual.value is None and dead.seconds == ()
    assert "no answer in" in err


@pytest.mark.parametrize(
    ("words", "pes", "code", "said"),
    [
        (("--operations", "putt"), 2, 2, "known: put,get"),
        (("--operations", "put", "--atomic-bytes", "16"), 2, 2, "of 4 or 8 bytes"),
        (("--operations", "put", "--world-size", "3"), 2, 3, "2 PEs where 3 were started"),
        (("--operations", "put", "--sampels", "4"), 2, 2, "did you mean --samples"),
        (("--operations", "put"), 3, 2, "3 PEs and measures between two"),
        (("--operations", "sum", "--sizes", "12"), 2, 2, "not a whole number of 64-bit words"),
        (("--operations", "put", "--sizes", "1099511627776"), 2, 3, "the symmetric heap of a PE need"),
    ],
)
def test_what_cannot_be_is_said_once(words: Sequence[str], pes: int, code: int, said: str) -> None:
    found = _run(*words, pes=pes)
    assert found[0] == code and not found[1].cases
    assert said in found[2] and found[2].count("shmem: ") == 1


def test_a_heap_that_is_too_small_names_the_variable() -> None:
    words = ("--operations", "put", "--sizes", "1048576", "--in-flight", "256")
    code, found, err = _run(*words, env={"SHMEM_SYMMETRIC_HEAP_SIZE": "268435456", "SHMEM_SYMMETRIC_SIZE": "268435456"})
    assert code == 3 and not found.cases
    assert "the symmetric heap has no room" in err and "SHMEM_SYMMETRIC_SIZE" in err


def test_the_build_says_what_it_was_built_with() -> None:
    path("shmem")
    known = json.loads((programs.folder() / "build.json").read_text())
    assert known["openshmem"]["version"].startswith("1.") and "shmem_absent" not in known


def test_events_are_those_of_the_contract() -> None:
    ended = _ended(*QUICK, "--operations", "get", "--sizes", "8")
    told = events.parse(ended.out)
    assert "OpenSHMEM 1." in told.provenance["facts"]["openshmem"] and len(told.provenance["facts"]["ranks"]) == 2
