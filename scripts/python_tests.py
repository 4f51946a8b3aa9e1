"""Runs files of Python tests, each in a process of its own, but those that passed before with the same sources.

    python scripts/python_tests.py [FILES] [--marked EXPRESSION] [--at-once N] [--anew]

What a file's tests read of this checkout is noted while they run (``reads.py``): modules, recordings, pages, folders; what
a program that they start could read counts too. A file is left out where it passed and all of that is as it was, and so are
the native programs, the libraries, the machine and the settings (``passed.py``). A process for each file is what makes the
notes right: nothing that it uses was loaded, read or made by the tests of another. They begin as copies of this one, which
has the libraries in memory already.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import heapq
import importlib
import json
import os
import re
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]
# Before a library reads it; tests/conftest.py says why.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest  # noqa: E402
import reads  # noqa: E402
from _pytest.config import default_plugins  # noqa: E402
from hypothesis.internal.constants_ast import is_local_module_file  # noqa: E402
from passed import Checkout, Notes, Passed, imports, names_of, reached, unseen  # noqa: E402

from support.processor_time import ProcessorTime, lines, used_s  # noqa: E402

#: What many tests import and what takes long to load; none of them starts a thread then.
LIBRARIES: tuple[str, ...] = (
    *(
        "numpy",
        "scipy.optimize",
        "scipy.stats",
        "duckdb",
        "msgspec",
        "typer",
        "rich.table",
        "jinja2",
        "httpx",
        "rasterio",
    ),
    *("hypothesis.internal.conjecture.providers", "xml.etree.ElementTree", "asyncio", "unittest.mock"),
)
#: One file in one process keeps no cache and needs no workers.
NO_PLUGINS = ("-p", "no:cacheprovider", "-p", "no:xdist")


class Ended(NamedTuple):
    """How the tests of a file ended."""

    code: int
    counts: dict[str, int]
    skips: list[str]
    times_s: list[tuple[str, float]]
    processor_s: float


class Outcomes:
    """A plugin of pytest that counts how the tests of a file end, and keeps why some were skipped. What pytest itself looks
    at to find them is no reading of theirs."""

    def __init__(self, file: Path, reading: reads.Reads) -> None:
        self.file = file
        self.reading = reading
        self.reading.asked = False
        self.counts: Counter[str] = Counter()
        self.skips: list[str] = []

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Its neighbours, which pytest would look at otherwise."""
        wanted = self.file.is_relative_to(collection_path) or collection_path.name == "__init__.py"
        return None if wanted else True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """A module is imported when it is collected."""
        self.reading.asked = isinstance(collector, pytest.Module | pytest.Class)
        try:
            return (yield)
        finally:
            self.reading.asked = False

    def pytest_collection_finish(self) -> None:
        self.reading.asked = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.counts["failed"] += 1
        elif report.skipped:
            kind = "expected to fail" if hasattr(report, "wasxfail") else "skipped"
            self.counts[kind] += 1
            if kind == "skipped":
                self.skips.append(f"{report.nodeid}: {_why(report)}")
        elif report.when == "call":
            self.counts["passed"] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.counts["skipped"] += 1
            self.skips.append(f"{report.nodeid}: {_why(report)}")


def _why(report: Any) -> str:
    return report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)


# ----------------------------------------------------------------------------------------------------- one file's process


def _run(file: str, marked: str, folder: Path) -> None:
    """The tests of a file, in a process that is there for them alone; ends it."""
    out = os.open(folder / "out", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
        os.dup2(descriptor, target)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    code = 3
    try:
        os.environ[reads.VARIABLE] = f"{folder / 'reads'}:{ROOT}"
        outcomes, times = Outcomes(ROOT / file, reads.begin(str(folder / "reads"), str(ROOT))), ProcessorTime(0)
        words = [file, "-q", "--color=no", *NO_PLUGINS, f"--basetemp={folder / 't'}"]
        words += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
        code = int(pytest.main([*words, *(("-m", marked) if marked else ())], plugins=[outcomes, times]))
        ended = Ended(code, outcomes.counts, outcomes.skips, times.times_s, used_s())
        (folder / "ended").write_text(json.dumps(ended))
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _ended(folder: Path) -> Ended:
    try:
        return Ended(*json.loads((folder / "ended").read_text()))
    except (OSError, ValueError):
        return Ended(-1, {}, [], [], 0.0)


# ------------------------------------------------------------------------------------------------------------- all files


def _opened(path: str) -> str:
    return reads.OPENED + os.path.relpath(path, ROOT)


class Runner:
    """Runs files beside each other, says how each ended, and notes what passed."""

    def __init__(self, notes: Notes, marked: str, folder: Path) -> None:
        self.notes = notes
        self.marked = marked
        self.folder = folder
        self.running: dict[int, tuple[str, Path, float]] = {}
        self.ended: dict[str, Ended] = {}
        self.begun = 0
        # What this process has loaded is opened by none of its copies.
        loaded = (getattr(module, "__file__", None) or "" for module in list(sys.modules.values()))
        environment = str(ROOT / ".venv")
        self.own = {_opened(path) for path in loaded if path.startswith(str(ROOT)) and not path.startswith(environment)}

    @cached_property
    def edges(self) -> dict[str, set[str]]:
        """What each module of the package imports, by the names of notes."""
        found = imports(Path(importlib.import_module("shakedown").__path__[0]))
        return {_opened(path): {_opened(other) for other in others} for path, others in found.items()}

    def start(self, file: str) -> None:
        self.begun += 1
        folder = self.folder / str(self.begun)
        folder.mkdir()
        began = time.time()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _run(file, self.marked, folder)
        self.running[child] = (file, folder, began)

    def wait(self) -> None:
        """Until one file has ended."""
        child, _ = os.wait()
        if child not in self.running:
            return
        file, folder, began = self.running.pop(child)
        ended = self.ended[file] = _ended(folder)
        counts = ", ".join(f"{number} {kind}" for kind, number in ended.counts.items()) or "no tests"
        print(f"[{len(self.ended)}] {file}: {counts}, {ended.processor_s:.1f} s", flush=True)
        if ended.code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            print((folder / "out").read_text(errors="replace"), flush=True)
        elif not ended.skips or os.environ.get(
            "CI"
        ):  # with CI set, a skip that something installed would end has failed
            with open(folder / "reads", encoding="utf-8", errors="surrogateescape") as noted:
                told = [line.rstrip("\n") for line in noted]
            if (folder / f"reads{reads.MISSING}").exists():
                told.append(f"{reads.ANYTHING}could not be noted")
            names = reached(self.own | names_of(told), self.edges)
            names |= set(unseen(names, ROOT))
            tests = sum(ended.counts.values())
            passed = Passed(time.strftime("%F %T"), ended.processor_s, tests)
            self.notes.keep(f"{file} {self.marked}", names, passed, began)
        shutil.rmtree(folder, ignore_errors=True)

    def run(self, files: Sequence[str], at_once: int) -> None:
        """All of them; those that took long begin first."""
        size = {file: self.notes.last_s(f"{file} {self.marked}") or Path(file).stat().st_size / 2000 for file in files}
        todo = [(-size[file], file) for file in files]
        heapq.heapify(todo)
        while todo or self.running:
            while todo and len(self.running) < at_once:
                self.start(heapq.heappop(todo)[1])
            self.wait()

    def stop(self) -> None:
        """Those that run are told to end, and are waited for."""
        for child in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        for child in list(self.running):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)

    def good(self) -> bool:
        return all(ended.code in (0, pytest.ExitCode.NO_TESTS_COLLECTED) for ended in self.ended.values())


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """For what the tests write; its name is short, since Unix sockets lie below it, and others may pass through it."""
    folder = Path(tempfile.mkdtemp(prefix="sdt-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _preload() -> None:
    """Everything that each copy of this process would load and look at again."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in default_plugins:
        importlib.import_module(f"_pytest.{name}")
    for module in list(sys.modules.values()):
        if path := getattr(module, "__file__", None):
            is_local_module_file(path)  # hypothesis asks it of each, and remembers
    gc.collect()
    gc.freeze()
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        sys.exit(f"python_tests: {threads} threads after loading libraries, and a copy of a process has but one")


def _summary(runner: Runner, left_out: dict[str, Passed], most: int) -> None:
    counts: Counter[str] = Counter()
    for ended in runner.ended.values():
        counts.update(ended.counts)
    for reason, number in Counter(
        re.sub(r"^.*?::\S+: ", "", skip) for ended in runner.ended.values() for skip in ended.skips
    ).items():
        print(f"skipped {number}: {reason}")
    for line in lines([one for ended in runner.ended.values() for one in ended.times_s], most) if most else ():
        print(line)
    for file, ended in runner.ended.items():
        if ended.code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            print(f"FAILED {file}" + (" (its process was ended)" if ended.code < 0 else ""))
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())) or "no tests"
    print(
        f"{told}, of {len(runner.ended)} files in {sum(ended.processor_s for ended in runner.ended.values()):.0f} s of "
        f"processor time; {sum(passed.tests for passed in left_out.values())} tests of {len(left_out)} files passed before "
        f"with the same sources, which took {sum(passed.processor_s for passed in left_out.values()):.0f} s"
    )


def main() -> int:
    """Exit code 1 where a test fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="all below tests/ where none is named")
    parser.add_argument("--marked", default="", help="which tests of the files, as pytest's -m has it")
    parser.add_argument("--at-once", type=int, default=1, help="so many files beside each other")
    parser.add_argument("--anew", action="store_true", help="run those that passed before too")
    parser.add_argument("--processor-time", type=int, default=0, help="show so many that took most processor time")
    parser.add_argument("--passed", type=Path, help="where what passed is noted")
    asked = parser.parse_args()
    os.chdir(ROOT)
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # a shell that starts this in the background ignores the first for it
        signal.signal(number, signal.default_int_handler)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shakedown"
    notes = Notes(asked.passed or caches / "python-tests", Checkout(ROOT))
    files = sorted(
        {str(Path(file).resolve().relative_to(ROOT)) for file in asked.files or (ROOT / "tests").rglob("test_*.py")}
    )
    found = {} if asked.anew else {file: notes.find(f"{file} {asked.marked}") for file in files}
    left_out = {file: passed for file, passed in found.items() if passed}
    todo = [file for file in files if file not in left_out]
    with _folder() as folder:
        if todo:
            reads.hook(sysconfig.get_path("purelib"))
            _preload()
        runner = Runner(notes, asked.marked, folder)
        try:
            runner.run(todo, asked.at_once)
        finally:
            runner.stop()
    _summary(runner, left_out, asked.processor_time)
    return 0 if runner.good() else 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # at once: some libraries complain at length of what is kept in memory for the copies
