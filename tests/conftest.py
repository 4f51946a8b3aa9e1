"""Fixtures and the rules of skipping: a test that needs what is not here says what, and how to get it."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import signal
import sys
from collections.abc import Generator, Iterable
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
    "iperf3": "iperf3",
    "ucx_perftest": "ucx-utils",
    "/usr/sbin/bonnie++": "bonnie++",
    "lmp": "lammps",
    "/usr/lib/examl/bin/examl-sse3": "examl",
    "parse-examl": "examl",
    "java": "openjdk-17-jre-headless",
    "chromium": "chromium",
    "likwid-bench": "likwid",
    "mpicxx": "libopenmpi-dev",
    "mpif90": "libopenmpi-dev",
    "mpirun": "openmpi-bin",
    "mpicxx.mpich": "libmpich-dev",
    "mpirun.mpich": "mpich",
    "unshare": "util-linux",
    "bwrap": "bubblewrap",
    "ch-run": "charliecloud-runtime",
    "mount": "mount",
    "ip": "iproute2",
    "cmake": "cmake",
    "ping": "iputils-ping",
    "/usr/sbin/babeld": "babeld",
    "nsenter": "util-linux",
    "fsfreeze": "util-linux",
    "mkfs.ext4": "e2fsprogs",
}

#: Folder -> the mark of its tests: each worker that runs one of `cluster` has a cluster of its own, `timing` runs alone.
MARKS = {"cluster": "cluster", "meters": "timing"}

#: Why a test may be left out where CI is set: something of the machine that no package and no setting of ours changes.
CIRCUMSTANCE = re.compile(
    r"this (machine|container|file system|kernel) |the kernel |anybody may read |the journal of this machine |"
    r"scontrol needs a configuration here: |no FUSE file system can be mounted |needs /dev/fuse|needs two CPUs|"
    r"no multicast over IPv6 here"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor-time", type=int, default=0, help="show so many tests that took most processor time")


def pytest_configure(config: pytest.Config) -> None:
    if most := config.getoption("--processor-time"):
        from support.processor_time import ProcessorTime

        config.pluginmanager.register(ProcessorTime(most))
    # A shell that starts the tests in the background ignores Ctrl-C for them, and what they start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # CI tries the same examples each time; a developer's run tries new ones. Neither they nor how long they take to draw is
    # timed: the machine may be busy.
    untimed = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
    hypothesis.settings.register_profile("ci", derandomize=True, **untimed)
    hypothesis.settings.register_profile("here", **untimed)
    hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")
    config.addinivalue_line(
        "markers", "needs(*programs): skipped, with the command that enables it, where one is absent"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in MARKS:
            item.add_marker(MARKS[folder])
        elif found := {mark.name for mark in item.iter_markers()} & set(MARKS.values()):
            _speaks_of(item.path, found)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text()


def _speaks_of(path: Path, marks: Iterable[str]) -> None:
    """scripts/test gives pytest the files of a marked group alone: the mark stands in each."""
    for mark in marks:
        if not re.search(rf"mark\.{mark}\b", _text(path)):
            raise pytest.UsageError(
                f"{path}: has tests marked {mark}, but not by mark.{mark}, as scripts/test finds it"
            )


def _left_out(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Where CI is set, leaving out what could be installed is a failure."""
    if not report.skipped or hasattr(report, "wasxfail") or not os.environ.get("CI"):
        return
    why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    why = why.removeprefix("Skipped: ")
    if not CIRCUMSTANCE.match(why):
        report.outcome = "failed"
        report.longrepr = f"left out, with CI set: {why}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _left_out(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _left_out(report)
    return report


def pytest_collection_finish() -> None:
    """What collecting has made stays to the end: nobody need look for garbage among it, test after test."""
    gc.collect()
    gc.freeze()


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
