"""Fixtures and the rules of skipping: a test that needs what is not here says what, and how to get it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Small fits on a busy machine wait for numpy's threads most of the time. Our own programs set theirs themselves.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

#: Program -> the Debian package that brings it.
PACKAGES = {
    "hpcc": "hpcc",
    "fio": "fio",
    "chromium": "chromium",
    "likwid-bench": "likwid",
    "mpicxx": "libopenmpi-dev",
    "mpirun": "openmpi-bin",
    "unshare": "util-linux",
    "mount": "mount",
    "cmake": "cmake",
}


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts the tests in the background ignores Ctrl-C for them, and what they start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # CI tries the same examples each time; a developer's run tries new ones.
    hypothesis.settings.register_profile("ci", derandomize=True)
    if os.environ.get("CI"):
        hypothesis.settings.load_profile("ci")
    config.addinivalue_line(
        "markers", "needs(*programs): skipped, with the command that enables it, where one is absent"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for program in mark.args:
            if program == "root":
                if os.geteuid() != 0:
                    pytest.skip("needs root: sudo make test")
            elif shutil.which(program) is None:
                package = PACKAGES.get(program, program)
                pytest.skip(f"needs {program}: sudo apt-get install {package}")


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded output and machines."""
    return Path(__file__).parent / "recordings"
