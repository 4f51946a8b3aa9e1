"""A file of Python tests that passed is not run again, and is as soon as anything changes that its tests read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import shakedown
from support import scripts
from support.house import House

passed = scripts.load("passed")
reads = scripts.load("reads")

FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "scripts/build/key": "#!/bin/sh\nexec cat native/key\n",
    "native/key": "1\n",
    "src/shakedown/__init__.py": "",
    "src/shakedown/used.py": "def later():\n    from .seldom import value\n    return value\n",
    "src/shakedown/seldom.py": "from . import deep\nvalue = 1\n",
    "src/shakedown/deep.py": "",
    "src/shakedown/other.py": "value = 2\n",
    "src/shakedown/child.py": "from pathlib import Path\nprint(Path('data/told').read_text())\n",
    "src/shakedown/grandchild.py": "",
    "data/page": "page\n",
    "data/told": "told\n",
    "data/sized": "sized\n",
    "data/handed": "handed\n",
    "data/more/below": "below\n",
    "data/beside/near": "near\n",
    "data/beside/untold": "untold\n",
    "data/shell": "shell\n",
    "data/setting": "setting\n",
    "data/headers/own.h": "",
    "tests/recordings/kind/run": "recorded\n",
    "tests/recordings/other/run": "recorded\n",
    "docs/page.md": "",
    "tests/support/__init__.py": "",
    "tests/test_reading.py": """
import os, subprocess, sys
from pathlib import Path
from shakedown import used
WORDS = [*Path("data").iterdir()]
def test_page(): assert Path("data/page").read_text() == "page\\n" and "recordings/kind"
def test_sought(): assert not Path("data/absent").exists() and Path("data/sized").stat().st_size == 6
def test_child():
    assert "told" in subprocess.run([sys.executable, "-m", "shakedown.child"], stdout=subprocess.PIPE, text=True).stdout
def test_grandchild():
    done = subprocess.run(["sh", "-c", f"exec {sys.executable} -m shakedown.grandchild"], env={**os.environ, "A": "b"})
    assert done.returncode == 0
def test_handed(): assert subprocess.run(["cat", "data/handed"], capture_output=True).stdout == b"handed\\n"
def test_below(): assert subprocess.run(["ls", "data/more"], capture_output=True).stdout == b"below\\n"
def test_beside(): assert subprocess.run(["cat", "near"], cwd="data/beside", capture_output=True).stdout == b"near\\n"
def test_shell(): assert subprocess.run("cat data/shell >/dev/null", shell=True).returncode == 0
def test_setting():
    given = {**os.environ, "PAGE": os.path.abspath("data/setting")}
    assert subprocess.run(["sh", "-c", 'cat "$PAGE"'], env=given, capture_output=True).stdout == b"setting\\n"
def test_option(): assert subprocess.run(["true", "-Idata/headers"]).returncode == 0
""",
    "tests/test_other.py": "from shakedown import other\ndef test_two(): assert other.value == 2\n",
    "tests/test_lost.py": """
import subprocess, sys
def test_lost(): subprocess.run([sys.executable, "-m", "shakedown.child"], env={"PYTHONPATH": "src"}, check=True)
""",
    "tests/test_failing.py": "def test_fails(): assert False\n",
    "tests/test_skipped.py": "import pytest\ndef test_skips(): pytest.skip('needs a program')\n",
}


class Tree:
    """A checkout whose tests have run once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.passed = root.with_name("passed")
        for name, text in FILES.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in ("scripts/reads.py", "scripts/passed.py", "tests/support/processor_time.py"):
            (root / name).write_text((scripts.FOLDER.parent / name).read_text())
        # Without the libraries that only save time.
        runner = (scripts.FOLDER / "python_tests.py").read_text()
        quick, count = re.subn(r"(?s)^LIBRARIES: (.*?) = \(.*?^\)", r"LIBRARIES: \1 = ()", runner, flags=re.MULTILINE)
        assert count == 1
        (root / "scripts/python_tests.py").write_text(quick)
        (root / "scripts/build/key").chmod(0o755)
        # Python of this environment, under the name by which the checkout knows its own.
        (root / ".venv").symlink_to(Path(sys.prefix))
        self.python = str(root / ".venv/bin/python")
        self.out = self.run()

    def run(self, *words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src")}
        environment.pop("CI", None)
        argv = [self.python, "scripts/python_tests.py", "--passed", self.passed, *words]
        done = subprocess.run(argv, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def differs(self, test: str) -> set[str]:
        """What is not as it was when the tests of this file passed."""
        notes = [json.loads(path.read_text()) for path in self.passed.glob("*/*.json")]
        (read,) = (note["read"] for note in notes if note["test"].strip() == f"tests/test_{test}.py")
        checkout = passed.Checkout(self.root)
        return {name for name, word in read.items() if name != passed.ALIKE and checkout.word(name) != word}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def changing(tree: Tree) -> Iterator[Callable[[str], None]]:
    """Changes a file, adds it, or takes it away, until the test ends."""
    before: dict[Path, str | None] = {}

    def change(name: str) -> None:
        path = tree.root / name.removeprefix("-")
        before[path] = path.read_text() if path.exists() else None
        if name.startswith("-"):
            path.unlink()
        else:
            path.write_text((before[path] or "") + "# changed\n")

    yield change
    for path, text in before.items():
        if text is None:
            path.unlink()
        else:
            path.write_text(text)


@pytest.mark.parametrize(
    "name",
    [
        "src/shakedown/used.py",  # imported
        "src/shakedown/seldom.py",  # imported by a function that did not run
        "src/shakedown/deep.py",  # by that
        "src/shakedown/child.py",  # a Python that it starts
        "src/shakedown/grandchild.py",  # a Python that a shell starts which it starts
        "data/page",
        "-data/page",
        "data/told",  # read by the child
        "data/sized",
        "data/absent",  # which is there now
        "data/new",  # in a folder that was listed
        "data/handed",  # named to a program that is not followed
        "data/more/new",
        "data/beside/near",  # named to one that runs beside it
        "data/beside/untold",  # which could read this too
        "data/shell",  # within a line of a shell
        "data/setting",  # named by a variable
        "data/headers/own.h",  # named within an option
        "tests/recordings/kind/run",  # a library might have opened it
        "tests/test_reading.py",
        "pyproject.toml",
        "scripts/passed.py",
    ],
)
def test_what_a_test_reads_runs_it_again(tree: Tree, changing: Callable[[str], None], name: str) -> None:
    assert not tree.differs("reading")
    changing(name)
    assert tree.differs("reading")


@pytest.mark.parametrize(
    "name",
    [
        "src/shakedown/other.py",
        "src/shakedown/new.py",
        "docs/page.md",
        "tests/recordings/other/run",
        "tests/test_new.py",
        "tests/support/new.py",
        "native/key",
    ],
)
def test_what_it_does_not_read_does_not(tree: Tree, changing: Callable[[str], None], name: str) -> None:
    changing(name)
    assert not tree.differs("reading")


def test_a_python_that_is_not_followed_may_read_anything(tree: Tree, changing: Callable[[str], None]) -> None:
    assert not tree.differs("lost")
    changing("docs/page.md")
    assert tree.differs("lost")


def test_what_passed_is_left_out_and_all_else_runs(tree: Tree) -> None:
    assert "FAILED tests/test_failing.py" in tree.out
    assert "12 passed" in tree.out.splitlines()[-1], tree.out
    again = tree.run()
    assert "1 failed, 1 skipped, of 2 files" in again, again
    assert "12 tests of 3 files passed before with the same sources" in again
    assert "12 passed" in tree.run("--anew", "tests/test_reading.py", "tests/test_other.py", "tests/test_lost.py")


@pytest.mark.parametrize(
    "name", ["OPENBLAS_CORETYPE", "MPICH_INTERFACE_HOSTNAME", "UCX_TLS", "TMPDIR", "NEW_LIBRARY_MODE"]
)
def test_a_variable_that_a_library_may_read_counts(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name, raising=False)
    before = passed.Checkout(tree.root).word(passed.ALIKE)
    monkeypatch.setenv(name, "other")
    assert passed.Checkout(tree.root).word(passed.ALIKE) != before


def test_a_variable_that_a_library_sets_for_itself_does_not(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    before, checkout = passed.Checkout(tree.root).word(passed.ALIKE), passed.Checkout(tree.root)
    monkeypatch.setenv("GDAL_DATA_OF_A_WHEEL", "/somewhere")
    assert checkout.word(passed.ALIKE) == before


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SHLVL", "OLDPWD", "SHAKEDOWN_ALL", "CI_JOB_ID"])
def test_a_variable_of_the_session_alone_does_not(tree: Tree, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name, raising=False)
    before = passed.Checkout(tree.root).word(passed.ALIKE)
    monkeypatch.setenv(name, "other")
    assert passed.Checkout(tree.root).word(passed.ALIKE) == before


@pytest.mark.parametrize("name", ["Odata/page", "Bdata/more", "Ldata", passed.ANYTHING])
@pytest.mark.parametrize("replaced", [False, True])
def test_nothing_is_kept_of_what_changed_meanwhile(tree: Tree, tmp_path: Path, name: str, replaced: bool) -> None:
    """Also where the other file has an old time (``mv``, ``cp -p``)."""
    notes, ended = passed.Notes(tmp_path / "notes", passed.Checkout(tree.root)), passed.Passed("today", 1.0, 1)
    path = tree.root / {"Odata/page": "data/page"}.get(name, "data/more/below" if name[0] == "B" else "data/one")
    before = path.read_text() if path.exists() else None
    since_s = time.time()
    try:
        time.sleep(0.02)  # a clock of files may be coarse
        path.write_text("another\n")
        if replaced:
            os.utime(path, (1, 1))
        assert not notes.keep("a", [name], ended, since_s)
    finally:
        path.unlink() if before is None else path.write_text(before)


def test_nothing_is_kept_of_what_changed_before_it_began_and_after_it_was_looked_at(tree: Tree, tmp_path: Path) -> None:
    checkout = passed.Checkout(tree.root)
    checkout.word("Odata/page")
    before = (tree.root / "data/page").read_text()
    try:
        time.sleep(0.02)
        (tree.root / "data/page").write_text("another\n")
        time.sleep(0.02)
        notes, ended = passed.Notes(tmp_path / "notes", checkout), passed.Passed("today", 1.0, 1)
        assert not notes.keep("a", ["Odata/page"], ended, time.time())
    finally:
        (tree.root / "data/page").write_text(before)


def test_a_note_that_is_damaged_is_none(tree: Tree, tmp_path: Path) -> None:
    notes = passed.Notes(tmp_path, passed.Checkout(tree.root))
    assert notes.keep("a", ["Odata/told"], passed.Passed("today", 1.0, 1), time.time() + 1) and notes.find("a")
    (note,) = tmp_path.glob("*/*.json")
    note.write_text(note.read_text()[:40])
    assert notes.find("a") is None and notes.last_s("a") is None


def test_what_a_process_reads_is_told_by_its_names() -> None:
    lines = [
        "Osrc/shakedown/__pycache__/units.cpython-311.pyc",
        "O.venv/lib/python3.11/site-packages/shakedown/units.py",
        "O.venv/lib/python3.11/site-packages/shakedown/native/bin/stream",
        "O.venv/lib/python3.11/site-packages/numpy/__init__.py",
        "Obuild/native-plain/peers/stream",
        "Sdocs/run.md",
        "Atold",
        "O.hypothesis/constants/1",
    ]
    assert passed.names_of(lines) == {
        "Osrc/shakedown/units.py",
        "O.venv/lib/python3.11/site-packages/shakedown/units.py",
        passed.NATIVE,
        "Odocs/run.md",
        passed.ANYTHING,
    }


def test_the_imports_of_the_text_are_those_of_the_syntax_and_more() -> None:
    package = Path(shakedown.__file__).parent
    house = House(package)
    found = passed.imports(package)
    paths = {name: str(module.path) for name, module in house.modules.items()}
    assert found.keys() == set(paths.values())
    for name, imports in house.imports.items():
        assert {paths[one.module] for one in imports} <= found[paths[name]], name
