"""User-facing text keeps to the field's words: what has a better word does not come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import wording

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/shakedown"
NATIVE = ROOT / "native"
#: Patterns of whole words, and what to write instead.
BETTER = {
    r"(?<!there )(?:is|are|was|were) no (?!longer|more|less|better|worse|other|different)\w+": "is not a (valid) ...",
    r"mend(?:s|ed|ing)?": "fix, repair, correct",
    r"told": "reported, given; told apart: distinguished",
    r"tells?": "reports, shows, says; tells apart: distinguishes",
    r"asked for": "requested, required",
    r"(?<!-)anew": "again",
    r"(?:go|goes|going|gone) on with": "continue",
    r"stretch(?:es)?": "segment, window, time",
    r"ended? well|ends well": "succeed, end successfully",
    r"says? no \w+": "gives no, has no",
    r"said nothing": "printed nothing",
    r"any more": "no longer",
    r"for ever": "forever",
    r"held against": "compared with",
    r"reckon(?:s|ed)?": "expect, compute",
    r"further words|extra words|list of words|its words": "arguments, options",
    r"relays?": "agent",
    r"gangs?": "group of threads",
    r"nought|lest|thereof|wherein|whilst|amiss|the dearest": "plain modern English",
}
#: Values of records and formats of 0.1.0, which stay as they are.
KEPT = {"not told apart"}


def _in_sources() -> list[wording.Found]:
    paths = sorted(SOURCE.rglob("*.py"))
    assert paths
    return [one for path in paths for one in wording.search(wording.of_source(path), BETTER) if one.at.text not in KEPT]


def _in_pages() -> list[wording.Found]:
    pages = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return [one for path in pages for one in wording.search(wording.of_page(path), BETTER)]


def _in_native() -> list[wording.Found]:
    paths = sorted(path for path in NATIVE.rglob("*") if path.suffix in (".cpp", ".hpp", ".cu"))
    assert paths
    return [one for path in paths for one in wording.search(wording.of_native(path), BETTER)]


def test_messages_and_help_have_no_word_with_a_better_one() -> None:
    found = _in_sources()
    assert not found, "\n" + "\n".join(map(str, found))


def test_pages_have_no_word_with_a_better_one() -> None:
    found = _in_pages()
    assert not found, "\n" + "\n".join(map(str, found))


def test_messages_of_native_programs_have_no_word_with_a_better_one() -> None:
    found = _in_native()
    assert not found, "\n" + "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('raise BadInput(f"{text!r} is no list of hosts", hint="mend it")\n', ["is no list", "mend"]),
        ('raise BadInput(f"{text!r} is not a valid host list", hint="fix it")\n', []),
        ('"""A module that tells nothing."""\nsay("4 nodes were "\n    f"asked for by {user}")\n', ["asked for"]),
        ('def f():\n    """Told to developers only."""\n    return "told"\n', []),
        ('say(f"there is no such {kind}; it is no longer read")\n', []),
        ('db.execute("select anew from told")\n', []),
    ],
)
def test_a_bad_string_is_found(tmp_path: Path, source: str, found: list[str]) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert [one.word for one in wording.search(wording.of_source(path), BETTER)] == found


def test_the_help_of_a_verb_counts_and_its_helpers_do_not(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    path = tmp_path / "cli/verb.py"
    verb = '@app.command()\ndef verb() -> None:\n    """Mend a node."""\n'
    path.write_text(verb + '\n\ndef _helper() -> None:\n    """Tell of a node."""\n')
    (one,) = wording.search(wording.of_source(path), BETTER)
    assert (one.word, one.at.line) == ("Mend", 3) and "fix, repair" in str(one)


def test_a_bad_line_of_a_page_is_found(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("# Page\n\nThis is no list, and there is no other.\n")
    assert [(one.at.line, one.word) for one in wording.search(wording.of_page(path), BETTER)] == [(3, "is no list")]


def test_a_bad_string_of_a_native_program_is_found(tmp_path: Path) -> None:
    path = tmp_path / "main.cpp"
    path.write_text(
        '#include "mend it.hpp"\n// "asked for" in a comment\nthrow usage("\'" + word + "\' is no probe",\n'
        '            "known: "\n            "all");  // is no string\n'
    )
    assert [(one.at.line, one.word) for one in wording.search(wording.of_native(path), BETTER)] == [(3, "is no probe")]
