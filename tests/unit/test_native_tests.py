"""Native tests that passed are not run again, and are as soon as anything changes that decides how they end."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support import scripts

native_tests = scripts.load("native_tests")

pytestmark = pytest.mark.needs("cmake", "ninja")

#: Objects are shell scripts, and a program is linked from them by laying one behind the other.
RULES = """
rule compile
  command = cp $in $out
rule link
  command = cat $in > $out && chmod +x $out
build one.cpp.o: compile one
build two.cpp.o: compile two
build fake.cpp.o: compile three
build native/build_info.cpp.o: compile commit
build fake: link fake.cpp.o
build test_one: link one.cpp.o native/build_info.cpp.o || fake
build test_two: link two.cpp.o native/build_info.cpp.o
"""


class Tree:
    """A build folder of two tests, of which one loads a fake, below a source tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.build = folder / "build"
        self.passed = folder / "passed"
        self.machine = "machine"
        for path in (self.build, self.passed, folder / "native" / "a", folder / "data"):
            path.mkdir(parents=True)
        (folder / "native/a/CMakeLists.txt").write_text('set(VECTORS "${CMAKE_SOURCE_DIR}/data")\n')
        (folder / "data/vectors").write_text("1 2 3\n")
        (self.build / "build.ninja").write_text(RULES)
        for name in ("one", "two"):
            (self.build / name).write_text(f"echo {name} >>{folder}/ran\n")
        (self.build / "three").write_text("# a fake\n")
        (self.build / "commit").write_text("# 1\n")
        self.tests("", "")

    def tests(self, *environments: str) -> None:
        """What ctest knows of both."""
        lines = []
        for name, value in zip(("test_one", "test_two"), environments, strict=True):
            lines.append(f'add_test({name} "sh" "{self.build}/{name}")\n')
            lines.append(f'set_tests_properties({name} PROPERTIES ENVIRONMENT "X={value}")\n')
        (self.build / "CTestTestfile.cmake").write_text("".join(lines))

    def run(self, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, list[str]]:
        """The exit code, and the tests that were run."""
        subprocess.run(["ninja", "-C", self.build], check=True, stdout=subprocess.DEVNULL)
        ran = self.folder / "ran"
        ran.unlink(missing_ok=True)
        monkeypatch.setattr(native_tests, "ROOT", self.folder)
        monkeypatch.setattr("sys.argv", ["native_tests", str(self.build), str(self.passed), self.machine, *words])
        code = native_tests.main()
        return code, sorted(ran.read_text().split()) if ran.exists() else []


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_what_passed_is_not_run_again_but_when_asked(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tree.run(monkeypatch) == (0, ["one", "two"])
    assert tree.run(monkeypatch) == (0, [])
    assert tree.run(monkeypatch, "--anew") == (0, ["one", "two"])
    shutil.rmtree(tree.passed)
    tree.passed.mkdir()
    assert tree.run(monkeypatch, "--at-once", "2") == (0, ["one", "two"])


def test_another_commit_alone_runs_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.run(monkeypatch)
    (tree.build / "commit").write_text("# 2\n")
    assert tree.run(monkeypatch) == (0, [])
    assert (tree.build / "test_one").read_text().endswith("# 2\n"), "it is linked anew all the same"


def test_an_object_a_fake_and_a_link_run_the_tests_that_they_decide(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.run(monkeypatch)
    with (tree.build / "two").open("a") as two:
        two.write("# more\n")
    assert tree.run(monkeypatch) == (0, ["two"])
    (tree.build / "three").write_text("# another\n")
    assert tree.run(monkeypatch) == (0, ["one"])
    rules = (tree.build / "build.ninja").read_text()
    (tree.build / "build.ninja").write_text(rules.replace("chmod +x", "chmod 755"))
    assert tree.run(monkeypatch) == (0, ["one", "two"])
    tree.tests("", "other")
    assert tree.run(monkeypatch) == (0, ["two"])


def test_data_and_the_machine_run_all(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.run(monkeypatch)
    (tree.folder / "data/vectors").write_text("1 2 4\n")
    assert tree.run(monkeypatch) == (0, ["one", "two"])
    tree.machine = "another machine"
    assert tree.run(monkeypatch) == (0, ["one", "two"])


def test_a_failure_is_one_each_time_and_takes_nothing_with_it(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tree.build / "one").open("a") as one:
        one.write("exit 1\n")
    assert tree.run(monkeypatch) == (1, ["one", "two"])
    assert tree.run(monkeypatch) == (1, ["one"])


def test_a_tree_without_tests_has_not_passed(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.build / "CTestTestfile.cmake").write_text("\n")
    assert tree.run(monkeypatch)[0] == 1
