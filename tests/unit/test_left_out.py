"""What the tests leave out: on a developer's machine it is said, where CI is set it is a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


#: A test -> whether what it leaves out could be installed.
TESTS_LIKE = {
    "def test_x() -> None:\n    pytest.skip('needs a program: sudo apt-get install program')\n": True,
    "def test_x() -> None:\n    pytest.importorskip('no_such_module')\n": True,
    "pytest.importorskip('no_such_module')\ndef test_x() -> None: ...\n": True,
    "@pytest.mark.needs('no-such-program')\ndef test_x() -> None: ...\n": True,
    "def test_x() -> None:\n    pytest.skip('this machine has such GPUs')\n": False,
    "@pytest.mark.xfail\ndef test_x() -> None:\n    raise ValueError\n": False,
    "def test_x() -> None: ...\n": False,
}


@pytest.mark.parametrize("ci", ["", "true"])
def test_with_ci_nothing_is_left_out_that_could_be_installed(tmp_path: Path, ci: str) -> None:
    (tmp_path / "tests/unit").mkdir(parents=True)
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    shutil.copy(TESTS.parent / "pyproject.toml", tmp_path)
    for number, body in enumerate(TESTS_LIKE):
        (tmp_path / f"tests/unit/test_{number}.py").write_text(f"import pytest\n{body}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "--continue-on-collection-errors", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    summary = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    failed = [any(f"test_{number}.py" in line for line in summary) for number in range(len(TESTS_LIKE))]
    assert failed == [bool(ci) and could for could in TESTS_LIKE.values()], done.stdout
    assert done.stdout.count("left out, with CI set: ") >= sum(failed)
