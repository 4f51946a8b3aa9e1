"""clang-tidy over many sources at a time: which can stand together, and that nothing is lost by it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support import scripts

tidy = scripts.load("tidy")

DIVIDES = """namespace a {
namespace {
int f(int n) {
  const int zero = n - n;
  return 4 / zero;
}
}
int g(int n) { return f(n); }
}
"""
POINTS = """namespace b {
static int* f() { return 0; }
int* g() { return f(); }
}
"""
MAIN = """namespace {
int f(int n) { int* p = nullptr; if (n > 2) p = &n; return *p; }
}
int main(int n, char**) { return f(n); }
"""
FLAGGED = """namespace c {
int f(int n) {
#ifdef BAD
  int* p = 0;
  if (p == nullptr) ++n;
#endif
  return n;
}
}
"""
SOUND = "namespace {\nint f() { return 0; }\n}\nint main() { return f(); }\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty native tree, with the rules of this one."""
    shutil.copy(scripts.FOLDER.parent / ".clang-tidy", tmp_path)
    (tmp_path / "native").mkdir()
    monkeypatch.setattr(tidy, "NATIVE", tmp_path / "native")
    return tmp_path


def built(tree: Path, *sources: tuple[str, str, str]) -> Path:
    """The sources (name, flags, text) and how they are compiled."""
    entries = []
    for name, flags, text in sources:
        file = tree / "native" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        command = f"g++ -I{tree / 'native'} -std=c++20 {flags} -o {name}.o -c {file}"
        entries.append({"directory": str(tree), "file": str(file), "command": command})
    (tree / "compile_commands.json").write_text(json.dumps(entries))
    return tree


def together(tree: Path) -> list[list[str]]:
    parts = tidy.parts_of(tidy.sources_of(tree, []))
    return [sorted(one.file.name for one in part.sources) for part in parts]


def test_names_are_those_outside_of_functions_and_classes() -> None:
    code = """
    namespace shakedown::x {
    namespace { struct Held { int inner; }; constexpr int most = 3; int helped(int n) { int local = n; return local; } }
    using Word = int;  // namespace { struct Commented {}; }
    void Known::method() {}
    double shown(const char* text) { return text == nullptr ? 64'000 : '}' + 0xA'B - held(2'500, 64); }
    }
    extern "C" { int entry(); }
    """
    found = list(tidy.names_in(code))
    space = "shakedown::x"
    assert found[:5] == [
        (space, "Held", True),
        (space, "most", True),
        (space, "helped", True),
        (space, "Word", True),
        (space, "shown", False),
    ]
    assert ("", "entry", False) in found and not {"inner", "local", "Commented", "method"} & {
        name for _, name, _ in found
    }


def test_what_calls_different_things_the_same_stays_apart(tree: Path) -> None:
    built(tree, ("a.cpp", "", DIVIDES), ("b.cpp", "", POINTS), ("c.cpp", "", DIVIDES), ("d.cpp", "-mavx2", POINTS))
    assert together(tree) == [["a.cpp", "b.cpp"], ["c.cpp"], ["d.cpp"]]


def test_programs_stand_together_each_in_a_namespace(tree: Path) -> None:
    built(tree, ("one.cpp", "", SOUND), ("two.cpp", "", SOUND), ("three.cpp", "-DUNSAID", MAIN))
    assert together(tree) == [["one.cpp", "three.cpp", "two.cpp"]]


def test_a_source_is_looked_at_as_often_as_the_macros_that_it_speaks_of_differ(tree: Path) -> None:
    built(tree, ("a.cpp", "-DBAD", FLAGGED), ("a.cpp", "-DOTHER", FLAGGED), ("a.cpp", "-DTHIRD", FLAGGED))
    assert together(tree) == [["a.cpp"], ["a.cpp"]]


@pytest.mark.needs("clang-tidy", "g++")
def test_what_is_wrong_is_found_wherever_it_stands(tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """On paths through functions, in a namespace and in none, behind a macro of one source: each by its own line."""
    built(tree, ("sound.cpp", "", SOUND), ("two/sound.cpp", "", SOUND))
    assert tidy.check(tree, [], 2)
    built(
        tree,
        ("divides.cpp", "", DIVIDES),
        ("points.cpp", "", POINTS),
        ("sound.cpp", "", SOUND),
        ("main.cpp", "", MAIN),
        ("flagged.cpp", "-DBAD", FLAGGED),
    )
    assert together(tree) == [["divides.cpp", "flagged.cpp", "main.cpp", "points.cpp", "sound.cpp"]]
    assert not tidy.check(tree, [], 2)
    said = capfd.readouterr().out
    for place, rule in (
        ("divides.cpp:5:", "clang-analyzer-core.DivideZero"),
        ("main.cpp:2:", "clang-analyzer-core.NullDereference"),
        ("points.cpp:2:", "modernize-use-nullptr"),
        ("flagged.cpp:4:", "modernize-use-nullptr"),
    ):
        assert any(place in line and rule in line for line in said.splitlines()), said
    assert "sound.cpp" not in said


@pytest.mark.needs("clang-tidy", "g++")
def test_what_does_not_compile_together_is_parted(tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A macro of the compiler's own line, say, that no reading of the text foresees."""
    clash = "#define MADE(name) int name() { return 1; }\nnamespace q {\nMADE(same)\n}\n"
    built(tree, ("a.cpp", "", clash), ("b.cpp", "", clash), ("c.cpp", "", POINTS))
    assert together(tree) == [["a.cpp", "b.cpp", "c.cpp"]]
    assert not tidy.check(tree, [], 2)
    assert "c.cpp:2:" in capfd.readouterr().out


@pytest.mark.needs("clang-tidy", "g++")
def test_what_was_found_clean_is_looked_at_again_when_anything_that_decides_it_changes(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = tmp_path_factory.mktemp("passed")
    looked: list[int] = []
    look = tidy.look

    def counted(folder: Path, part: object) -> object:
        looked.append(1)
        return look(folder, part)

    def looks() -> tuple[bool, int]:
        looked.clear()
        tidy.digest.cache_clear()
        return tidy.check(tree, [], 2, passed), len(looked)

    monkeypatch.setattr(tidy, "look", counted)
    header = tree / "native" / "h.hpp"
    header.write_text("inline int h() { return 0; }\n")
    with_header = '#include "h.hpp"\n' + SOUND
    built(tree, ("one.cpp", "", with_header), ("two.cpp", "-mavx2", SOUND))
    assert (looks(), looks()) == ((True, 2), (True, 0))
    header.write_text("inline int h() { return 1; }\n")
    assert (looks(), looks()) == ((True, 1), (True, 0)), "the part that reads the header alone"
    (tree / ".clang-tidy").write_text((tree / ".clang-tidy").read_text() + "# other checks\n")
    assert (looks(), looks()) == ((True, 2), (True, 0))
    header.write_text("inline int* h() { return 0; }\n")
    assert (looks(), looks()) == ((False, 1), (False, 1)), "what has a finding is never noted"
