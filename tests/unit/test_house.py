"""The house is kept: rooms without circles, private things left alone, nothing longer than can be read at once.

Each rule is first held against a small tree that breaks it: a check that cannot fail is none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from support import house
from support.house import House

TOP = Path(__file__).parents[2]
#: Files that may be longer for now, with how long at most; whoever makes one shorter takes it out.
GRANTED: dict[str, int] = {}


@cache
def ours() -> House:
    return House(TOP / "src/shakedown")


def sources() -> list[Path]:
    return [path for folder in ("src/shakedown", "scripts", "tests") for path in sorted((TOP / folder).rglob("*.py"))]


def built(folder: Path, files: dict[str, str]) -> House:
    """A small tree: ``a/b.py`` -> its text. Folders are packages that say what lives in them unless the tree says else."""
    root = folder / "tree"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for place in {root, *(path for path in root.rglob("*") if path.is_dir())}:
        if not (place / "__init__.py").exists():
            (place / "__init__.py").write_text('"""What lives here."""\n')
    return House(root)


RULES: list[Callable[[House], list[str]]] = [
    house.circles_of_rooms,
    house.circles_of_modules,
    house.foreign_privates,
    house.crowded_top,
    house.silent_rooms,
]


@pytest.mark.parametrize("rule", RULES)
def test_our_house_keeps_the_rule(rule: Callable[[House], list[str]]) -> None:
    assert rule(ours()) == []


def test_no_function_of_ours_is_too_long() -> None:
    assert house.long_functions(sources()) == []


def test_no_file_of_ours_is_too_long() -> None:
    assert house.long_files(sources(), GRANTED) == []


# ------------------------------------------------------------------------------------------------ the rules themselves

LAZY = "def f() -> None:\n    from ..b import y\n"
CHECKED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..b import y\n"


@pytest.mark.parametrize("back", ["from ..b import y\n", "from ..b.y import z\n", LAZY, "import tree.b.y\n"])
def test_rooms_that_import_each_other_are_found(tmp_path: Path, back: str) -> None:
    broken = built(tmp_path, {"a/x.py": back, "a/u.py": "", "b/y.py": "from ..a import u\nz = 1\n"})
    assert house.circles_of_rooms(broken) == ["a <-> b"]
    assert house.circles_of_modules(broken) == [], "the modules themselves do not"


def test_what_only_a_type_checker_reads_makes_no_circle(tmp_path: Path) -> None:
    fine = built(tmp_path, {"a/x.py": CHECKED, "b/y.py": "from ..a import x\n"})
    assert house.circles_of_rooms(fine) == [] and house.circles_of_modules(fine) == []
    with_else = built(tmp_path, {"a/x.py": CHECKED + "else:\n    from ..b import y\n"})
    assert house.circles_of_rooms(with_else) == ["a <-> b"]


@pytest.mark.parametrize(
    "files",
    [
        {"a/x.py": "from . import y\n", "a/y.py": "from .x import f\n"},
        {"a/x.py": "from . import y\n", "a/y.py": "def f():\n    from . import x\n"},
        {"a/__init__.py": '"""What lives here."""\nfrom .x import f\n', "a/x.py": "from . import g\n"},
        {"a/x.py": "from . import y\n", "a/y.py": "from . import z\n", "a/z.py": "import tree.a.x\n"},
    ],
)
def test_modules_that_import_each_other_are_found(tmp_path: Path, files: dict[str, str]) -> None:
    broken = built(tmp_path, files)
    assert len(house.circles_of_modules(broken)) == 1 and house.circles_of_rooms(broken) == []


@pytest.mark.parametrize(
    "line",
    [
        "from ..b import _y",
        "from ..b._y import f",
        "from ..b.y import _f",
        "import tree.b._y",
        "def g():\n    from ..b._y import f",
        "from ..b import y\ny._f()",
        "from ..b._deep import y",
    ],
)
def test_what_is_private_to_another_folder_is_found(tmp_path: Path, line: str) -> None:
    files = {"b/_y.py": "f = 1\n", "b/y.py": "_f = 1\n", "b/_deep/y.py": ""}
    assert len(house.foreign_privates(built(tmp_path, {**files, "a/x.py": f"{line}\n"}))) == 1
    fine = "from . import _y\nfrom ._y import f\nfrom .y import _f\nfrom . import y\ny._f\nfrom ..a import __doc__\n"
    assert house.foreign_privates(built(tmp_path, {**files, "a/x.py": "", "b/z.py": fine})) == []
    assert house.foreign_privates(built(tmp_path, {**files, "b/in/z.py": "from .._y import f\n"})) == []


def test_a_long_function_is_found(tmp_path: Path) -> None:
    def file(lines: int) -> Path:
        path = tmp_path / "x.py"
        path.write_text("class A:\n    @property\n    def f(self):\n" + "        pass\n" * lines)
        return path

    assert house.long_functions([file(house.LONGEST_FUNCTION - 1)]) == []
    (found,) = house.long_functions([file(house.LONGEST_FUNCTION)])
    assert "f has 61 lines" in found


def test_a_long_file_is_found_and_a_long_table_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("f()\n" * house.LONGEST_FILE)
    assert house.long_files([path]) == []
    path.write_text("f()\n" * house.LONGEST_FILE + "T = {\n" + "    1: 2,\n" * 50 + "}\n")
    assert house.long_files([path]) == []
    path.write_text("f()\n" * (house.LONGEST_FILE + 1))
    assert len(house.long_files([path])) == 1
    assert house.long_files([path], {"x.py": 401}) == [] and len(house.long_files([path], {"y.py": 401})) == 1


def test_too_many_modules_at_the_top_are_found(tmp_path: Path) -> None:
    files = {f"m{number}.py": "" for number in range(house.MOST_AT_TOP)}
    assert house.crowded_top(built(tmp_path, {**files, "a/x.py": ""})) == []
    assert len(house.crowded_top(built(tmp_path, {"one_more.py": ""}))) == 1


@pytest.mark.parametrize("text", ["", '"""Things"""\n', "x = 1\n"])
def test_a_room_that_says_nothing_is_found(tmp_path: Path, text: str) -> None:
    assert len(house.silent_rooms(built(tmp_path, {"a/__init__.py": text, "b/x.py": ""}))) == 1
