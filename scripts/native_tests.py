"""The native tests of a build folder: those run whose objects, or whose link, are not what passed before.

What a test does is decided by the objects that it, the programs that it starts and the fakes that it loads are linked
from, by how they are linked, by the files of the source tree that it reads, and by the machine. A test that passed with all
of these is not run again; the commit, which one object alone knows, is none of them. Needs ninja; without it all run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
#: The object that knows the commit.
OF_THE_COMMIT = "build_info.cpp.o"


def printed(*command: str) -> str:
    """What a command prints; one that fails ends all with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"native_tests: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def data_files(root: Path) -> list[Path]:
    """The files outside native/ that a CMakeLists.txt there names, or that lie in a folder so named: tests read them."""
    named = {
        root / path
        for text in (file.read_text() for file in (root / "native").rglob("CMakeLists.txt"))
        for path in re.findall(r"\$\{CMAKE_SOURCE_DIR\}/((?!native\b)[\w./-]+)", text)
    }
    inside = (path.rglob("*") if path.is_dir() else [path] for path in named)
    return sorted(file for paths in inside for file in paths if file.is_file())


def digest(parts: Iterable[bytes]) -> str:
    """One word for these parts, in their order."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:32]


def key_of(build: Path, test: Mapping[str, object], words: Sequence[str]) -> str:
    """One word for all that decides how a test ends: ``words`` say what is alike for all tests of this tree, ``test`` is
    what ctest knows of it."""
    name = str(test["name"])
    inputs = printed("ninja", "-C", str(build), "-t", "inputs", name).splitlines()
    objects = [build / path for path in inputs if path.endswith(".o") and not path.endswith(OF_THE_COMMIT)]
    commands = printed("ninja", "-C", str(build), "-t", "commands", name)
    started = json.dumps([name, test.get("command"), test.get("properties")], sort_keys=True)
    return digest([*(word.encode() for word in (*words, started, commands)), *(file.read_bytes() for file in objects)])


def run(build: Path, tests: Sequence[str], at_once: int) -> tuple[bool, set[str]]:
    """Whether these tests pass, and those that did."""
    results = build / "results.xml"
    results.unlink(missing_ok=True)
    words = ["--output-on-failure", "--no-tests=error", "--output-junit", str(results)]
    chosen = f"^({'|'.join(map(re.escape, tests))})$"
    done = subprocess.run(
        ["ctest", "--test-dir", str(build), "-j", str(at_once), "-R", chosen, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print("\n".join(done.stdout.splitlines()[-25:]), flush=True)
    if not results.exists():
        return False, set()
    cases = ElementTree.parse(results).getroot().iter("testcase")
    return done.returncode == 0, {case.attrib["name"] for case in cases if case.get("status") == "run"}


def main() -> int:
    """Exit code 1 where a test fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="a build folder with its tests built")
    parser.add_argument("passed", type=Path, help="where what passed is noted")
    parser.add_argument("machine", help="one word for the machine, the compiler and what else is alike for all tests")
    parser.add_argument("--at-once", type=int, default=1, help="so many tests beside each other")
    parser.add_argument("--anew", action="store_true", help="run those that passed before too")
    asked = parser.parse_args()
    build = asked.build.resolve()
    listed = json.loads(printed("ctest", "--test-dir", str(build), "--show-only=json-v1"))["tests"]
    tests = [test["name"] for test in listed]
    keys: dict[str, Path] = {}
    if (build / "build.ninja").exists() and shutil.which("ninja"):
        alike = [asked.machine, os.path.basename(build), *(digest([file.read_bytes()]) for file in data_files(ROOT))]
        keys = {test["name"]: asked.passed / key_of(build, test, alike) for test in listed}
    todo = [test for test in tests if asked.anew or test not in keys or not keys[test].exists()]
    if not tests or todo:
        good, ended = run(build, todo, asked.at_once)
        for test in ended & keys.keys():
            keys[test].touch()
    else:
        good = True
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{len(todo)} of {len(tests)} tests were run in {used.ru_utime + used.ru_stime:.0f} s of processor time; "
        f"{len(tests) - len(todo)} passed before with the same objects"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
