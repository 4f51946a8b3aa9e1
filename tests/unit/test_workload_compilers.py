"""Compilers: suites told apart by what they say, results compared bit for bit, and compilers that are wrong in one way."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.functional_tests import _modules, _suites, compilers
from shakedown.functional_tests._expected import expected
from shakedown.programs import events
from shakedown.records import Params, Value
from shakedown.workloads import compilers as workload
from support.machines import host, machine
from support.shims import shim
from support.workloads import params_of

WORKLOAD = workload.WORKLOAD

#: What compilers print of themselves, and whose they are.
VERSIONS = [
    ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.", "gnu", "12.2.0"),
    ("GNU Fortran (GCC) 13.1.0\nCopyright (C) 2023 Free Software Foundation, Inc.", "gnu", "13.1.0"),
    ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu", "llvm", "14.0.6"),
    ("flang-new version 17.0.6\nTarget: x86_64", "llvm", "17.0.6"),
    ("AMD clang version 16.0.3 (CLANG: AOCC_4.1.0-Build#270 2023_07_10)", "aocc", "16.0.3"),
    ("Intel(R) oneAPI DPC++/C++ Compiler 2024.0.2 (2024.0.2.20231213)", "intel", "2024.0.2"),
    ("ifx (IFX) 2024.0.2 20231213\nCopyright (C) 1985-2023 Intel Corporation.", "intel", "2024.0.2"),
    ("icc (ICC) 2021.6.0 20220226\nCopyright (C) 1985-2022 Intel Corporation.", "intel", "2021.6.0"),
    ("\nnvc 24.5-1 64-bit target on x86-64 Linux -tp znver3\nNVIDIA Compilers and Tools", "nvidia", "24.5-1"),
    ("\nnvfortran 23.11-0 64-bit target on x86-64 Linux", "nvidia", "23.11-0"),
    ("\npgcc (aka pgcc18) 19.10-0 LLVM 64-bit target on x86-64 Linux", "nvidia", "19.10-0"),
    ("Cray clang version 16.0.1  (abc)\nTarget: x86_64", "cray", "16.0.1"),
    ("Cray Fortran : Version 16.0.1", "cray", "16.0.1"),
    ("Arm C/C++/Fortran Compiler version 23.10 (build number 36)", "arm", "23.10"),
]


@pytest.mark.parametrize(("text", "suite", "version"), VERSIONS)
def test_a_compiler_belongs_to_the_suite_that_it_says(text: str, suite: str, version: str) -> None:
    assert [name for name, one in _suites.SUITES.items() if _suites.belongs(one, text)] == [suite]
    assert _suites.version_of(_suites.version_line(text)) == version


def test_the_workload_knows_the_suites_and_features_of_the_demonstration() -> None:
    params = workload.TABLE.params
    assert params["suite"].choices == ("any", "all", *_suites.SUITES)
    assert tuple(sorted(compilers.FEATURES)) == tuple(sorted(params["require"].items))
    assert params["languages"].items == _suites.LANGUAGES


def test_what_is_expected_is_what_arithmetic_gives() -> None:
    wanted = expected("numerics", "c")
    assert wanted["rounding"] == struct.pack(">d", 0.30000000000000004).hex()
    assert wanted["subnormal"] == f"{2**42:016x}"
    assert wanted["compensated"] == struct.pack(">d", 10000.0).hex(), "Kahan's sum of 100000 tenths"
    assert (wanted["divide"], wanted["infinity"]) == ("-201", "7ff0000000000000")
    exact = struct.unpack(">d", bytes.fromhex(wanted["sum"]))[0]
    assert exact == pytest.approx(12.090146129863428, rel=1e-15)
    for program in compilers.PROGRAMS:
        assert len(expected(program.name, program.language)) >= 3


def test_a_wrong_value_is_named_and_facts_are_told_apart() -> None:
    wrong, facts = compilers.compare("a 1\nfact_x y z\nB 2\n\n", {"a": "1", "B": "3", "c": "0"})
    assert wrong == ("B is 2, not 3", "c is not printed, not 0")
    assert facts == {"fact_x": "y z"}
    assert compilers.compare("bits 3FD3", {"bits": "3fd3"})[0] == ()


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(), given)


@pytest.mark.parametrize(
    "given", [{"suite": "intl"}, {"languages": "c,fortan"}, {"languages": " , "}, {"require": "omp"}]
)
def test_what_is_not_known_is_refused(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_the_command_says_all_that_was_asked_for() -> None:
    params = resolve(suite="nvidia", languages="c, fortran", require="", modules="nvhpc/24.5")
    argv = WORKLOAD.command(params, host()).argv
    given = dict(zip(argv[3::2], argv[4::2], strict=True))
    assert given == {"--suite": "nvidia", "--languages": "c,fortran", "--require": "", "--modules": "nvhpc/24.5"}


# ------------------------------------------------------------------------------------------------ with a compiler


def demonstrate(
    folder: Path, *words: str, path: str = "", **env: str
) -> tuple[subprocess.CompletedProcess[bytes], events.Events]:
    done = subprocess.run(
        [sys.executable, "-m", "shakedown.functional_tests.compilers", *words],
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PATH": path or os.environ["PATH"], **env},
        timeout=300,
        check=False,
    )
    return done, events.parse(done.stdout)


GCC = "gcc (Test) 12.2.0 Free Software Foundation"


def test_a_name_whose_version_is_another_s_is_no_compiler_of_the_suite(tmp_path: Path) -> None:
    shim(tmp_path, "icx", GCC)
    shim(tmp_path, "ifx", "ifx (IFX) 2024.0.2", "true")
    found = _suites.find(_suites.SUITES["intel"], ("c", "fortran"), path=str(tmp_path))
    assert list(found.compilers) == ["fortran"]
    assert "says that it is" in found.absent["c"] and GCC in found.absent["c"]


def test_a_suite_that_is_not_there_is_unavailable_with_the_names_looked_for(tmp_path: Path) -> None:
    done, _ = demonstrate(tmp_path, "--suite", "nvidia", path=str(tmp_path))
    assert done.returncode == 3
    assert b"none of nvfortran, pgfortran, pgf90 is on PATH" in done.stderr and b"next:" in done.stderr


def test_any_is_the_suite_with_most_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable):
        compilers.choose("any", ("c", "c++"))
    shim(tmp_path, "gcc", GCC)
    shim(tmp_path, "icx", "Intel(R) oneAPI DPC++/C++ Compiler 2024.0.2")
    shim(tmp_path, "icpx", "Intel(R) oneAPI DPC++/C++ Compiler 2024.0.2")
    assert list(compilers.choose("any", ("c", "c++"))) == ["intel"]
    assert set(compilers.choose("all", ("c", "c++"))) == {"intel", "gnu"}


def test_the_recorded_run_is_what_a_whole_suite_gives(recordings: Path) -> None:
    found = events.parse((recordings / "demonstrations" / "compilers-gnu-12.jsonl").read_bytes())
    programs = [case for case in found.cases if case.kernel == "program"]
    assert {case.params["language"] for case in programs} == set(_suites.LANGUAGES)
    wanted = sum(len(program.levels) for program in compilers.PROGRAMS)
    assert len(programs) == wanted and all(case.residual and case.residual.passed for case in programs)


# ------------------------------------------------------------------------------------------------ modules


LMOD = """import os
os.environ["PATH"] = "/opt/icc/bin:/usr/bin"
os.environ['LOADEDMODULES'] = 'gcc/12:icc/2024';
del os.environ["OLD"]
_mlstatus = True
"""


def test_what_modules_print_is_read_and_never_executed() -> None:
    assert _modules.settings(LMOD) == {"PATH": "/opt/icc/bin:/usr/bin", "LOADEDMODULES": "gcc/12:icc/2024", "OLD": None}
    evil = "import os\nos.system('touch /tmp/pwned')\nos.environ['A'] = open('/etc/passwd').read()\nos.environ['B'] = 'b'\n"
    assert _modules.settings(evil) == {"B": "b"}
    for failed in ("_mlstatus = False\n", "False\n", "false\n", "no python {"):
        assert _modules.settings(failed) is None


def test_modules_are_loaded_into_an_environment(tmp_path: Path) -> None:
    command = tmp_path / "lmod"
    command.write_text(
        f'#!/bin/sh\n[ "$1 $2" = \'python load\' ] || exit 1\n[ "$3" = icc ] || {{ echo unknown module $3 >&2; '
        f"echo false; exit 0; }}\ncat <<'E'\n{LMOD}E\n"
    )
    command.chmod(0o755)
    environment = {"LMOD_CMD": str(command), "OLD": "1", "PATH": os.environ["PATH"]}
    assert _modules.load(["icc"], environment) == ("gcc/12", "icc/2024")
    assert environment["PATH"] == "/opt/icc/bin:/usr/bin" and "OLD" not in environment
    environment = {"LMOD_CMD": str(command), "PATH": os.environ["PATH"]}
    with pytest.raises(CannotMeasure, match="unknown module pgi"):
        _modules.load(["pgi"], environment)
    with pytest.raises(CannotMeasure, match="not a valid module name"):
        _modules.load(["--help"], environment)
    with pytest.raises(CannotMeasure, match="no module command"):
        _modules.load(["icc"], {"PATH": str(tmp_path / "empty")})
    assert _modules.load([], {}) == ()
