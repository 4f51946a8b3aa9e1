"""The report: the same from the same evidence, whole in every format, and nothing from outside is taken for markup."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from shakedown.acceptance import checking, directory, evaluating, journal, page, plan, reporting, running, sealing
from shakedown.acceptance import words as words_of
from shakedown.acceptance.plan import CommandTest, ManualTest
from shakedown.acceptance.results import Point
from shakedown.cli import _accept
from shakedown.errors import BadInput

HOSTILE = '<script>alert(1)</script> #eval("1+1") $x$ *b* [link](x) | "q" \\ `code` @ref'
PLAN = f"""
name = "p"
title = "P"
document = "The contract, 2026"
signatories = ["buyer", "vendor"]
[[requirement]]
id = "a"
clause = "1.1"
text = '''{HOSTILE}'''
page = "p. 6"
[[requirement]]
id = "b"
clause = "2.2"
text = "Somebody looks."
[[requirement]]
id = "c"
clause = "3.3"
text = "It is fast."
[[test]]
id = "say"
requirements = ["a", "b"]
kind = "command"
command = ["echo", '''{HOSTILE}''']
expect = ["script"]
[[test]]
id = "look"
requirements = ["b"]
kind = "manual"
steps = ["Look at it.", "Say so."]
[[test.field]]
name = "seen"
title = "Seen"
type = "yes-no"
expect = "yes"
[[test.field]]
name = "remark"
title = "Remark"
[[test]]
id = "slot"
requirements = ["c"]
kind = "command"
command = []
exit_code = 0
awaits = "the site's own command"
"""


def quiet(text: str) -> None:
    del text


@pytest.fixture
def done(tmp_path: Path) -> directory.Acceptance:
    """An acceptance with one requirement met, one not, and one waived."""
    (tmp_path / "plan.toml").write_text(PLAN)
    root = tmp_path / "A"
    parties = {"buyer": "A. Buyer & Sons", "vendor": "V. Endor"}
    plan = directory.begin(root, str(tmp_path / "plan.toml"), system=f"Box {HOSTILE}", parties=parties, now_ns=1).plan
    say, look = plan.test("say"), plan.test("look")
    assert isinstance(say, CommandTest) and isinstance(look, ManualTest)
    running.run_command(root, say, quiet)
    form, files = running.filled(look, {"seen": "no", "remark": HOSTILE}, [], subject="", by="Ann", witness="Bob")
    running.record(root, look, form, files)
    with directory.writing(root) as (_, book):
        book.append(journal.Waived(requirement="c", by="Chief", reason="shown elsewhere"), 5)
    return directory.open_(root)


def test_the_result_says_everything(done: directory.Acceptance) -> None:
    result = evaluating.evaluate(done)
    assert [one.state for one in result.requirements] == ["met", "not met", "waived"]
    assert result.state == "not met" and result.counts() == {"met": 1, "not met": 1, "waived": 1}
    assert result.requirements[2].shown == "not measured" and result.requirements[2].waiver is not None
    assert [one.owner for one in result.evidence] == ["say, attempt 1", "look, attempt 1"]
    assert evaluating.exit_code(result) == 1


def test_every_format_is_written_sealed_and_made_again_alike(done: directory.Acceptance) -> None:
    pytest.importorskip("typst")
    _, paths = reporting.write(done, reporting.FORMATS)
    assert [path.suffix for path in paths] == [".html", ".pdf", ".md", ".json"]
    before = {path: path.read_bytes() for path in paths}
    again = directory.open_(done.path)
    assert sealing.verify(done.path, again.read, again.plan) == []
    reporting.write(again, reporting.FORMATS)
    assert {path: path.read_bytes() for path in paths} == before
    paths[1].write_bytes(b"%PDF-forged")
    last = directory.open_(done.path)
    assert [one.path for one in sealing.verify(done.path, last.read, last.plan)] == ["report/report.pdf"]


def test_every_format_holds_the_hash_of_the_content_and_of_the_journal(done: directory.Acceptance) -> None:
    result = evaluating.evaluate(done)
    data = reporting.content(result)
    sha256 = hashlib.sha256(data).hexdigest()
    assert json.loads(data)["head"] == done.read.head.sha256
    for name in ("html", "md"):
        page = reporting.render(result, name).decode()
        assert sha256 in page and result.head in page and result.plan_sha256 in page


def test_a_report_does_not_move_the_head_that_it_names(done: directory.Acceptance) -> None:
    first, _ = reporting.write(done, ("json",))
    second, _ = reporting.write(directory.open_(done.path), ("json",))
    assert first == second


def test_html_takes_nothing_from_outside_for_markup(done: directory.Acceptance) -> None:
    page = reporting.render(evaluating.evaluate(done), "html").decode()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)  # it needs no network


def test_a_format_that_there_is_not_is_refused_before_anything_is_written(done: directory.Acceptance) -> None:
    with pytest.raises(BadInput, match="docx"):
        reporting.write(done, ("json", "docx"))
    assert not list((done.path / "report").iterdir())


def test_verdicts_on_evidence_that_was_changed_are_undecided(done: directory.Acceptance) -> None:
    path = done.path / "evidence/say/1/stdout"
    path.write_text("script, they say")
    result = evaluating.evaluate(directory.open_(done.path))
    assert [one.state for one in result.requirements] == ["undecided", "not met", "waived"]
    assert "clauses 1.1, 2.2" in result.faults[0].clauses
    assert evaluating.exit_code(result) == 1
    assert "not as sealed" in reporting.render(result, "md").decode()


def text_of(pdf: bytes, path: Path) -> list[str]:
    path.write_bytes(pdf)
    done = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True)
    return done.stdout.split("\f")[:-1]


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext: sudo apt-get install poppler-utils")
def test_the_pdf_is_numbered_hashed_and_holds_what_outside_said_as_text(
    done: directory.Acceptance, tmp_path: Path
) -> None:
    pytest.importorskip("typst")
    result = evaluating.evaluate(done)
    pages = text_of(reporting.render(result, "pdf"), tmp_path / "r.pdf")
    sha256 = hashlib.sha256(reporting.content(result)).hexdigest()
    for number, text in enumerate(pages, 1):
        assert f"{number} of {len(pages)}" in text and sha256 in text
    whole = "\n".join(pages)
    assert '#eval("1+1") $x$ *b*' in whole and "Waived by Chief" in whole
    assert "Buyer: A. Buyer & Sons" in whole and "Signature" in whole and "Reservations" in whole
    assert all(file.sha256 in whole for one in result.evidence for file in one.files)
    assert result.plan_sha256 in pages[0] and result.head in pages[0] and "Not met" in pages[0]


def test_page_one_says_what_is_open_and_who_waived(done: directory.Acceptance, tmp_path: Path) -> None:
    pytest.importorskip("typst")
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext: sudo apt-get install poppler-utils")
    first, *_, last = text_of(reporting.render(evaluating.evaluate(done), "pdf"), tmp_path / "r.pdf")
    assert "Not met (1)" in first and "2.2" in first and "Somebody looks." in first
    assert "Waived (1)" in first and "by Chief: shown elsewhere" in first and re.search(r"Signatures\s+page \d", first)
    assert "Not met (1)" not in last


def test_open_requirements_are_told_apart_by_what_keeps_them(done: directory.Acceptance) -> None:
    with directory.writing(done.path) as (_, book):
        book.append(journal.Waived(requirement="c", by="Chief", reason="no", withdrawn=True), 6)
    result = evaluating.evaluate(directory.open_(done.path))
    groups = {title: [one.id for one in named] for title, named in page.open_groups(result)}
    assert groups == {"Not met": ["b"], "Waiting for what is missing": ["c"]}
    words = page.lead(result)
    assert words[0] == "3 requirements: 1 met, 1 not met, 1 not measured." and "Not met: clause 2.2." in words


def test_hosts_that_say_the_same_are_one_row_and_numbers_are_not() -> None:
    same = [Point(criterion="c", found="no driver", state="not measured", where=f"node{i}") for i in (1, 2, 3)]
    numbers = [Point(criterion="c", found="1 s", state="met", where=f"node{i}", value=1.0) for i in (1, 2)]
    shown = page.merged([*same, *numbers])
    assert [one.where for one in shown] == ["node[1-3]", "node1", "node2"]


def test_a_reason_is_shortened_between_words() -> None:
    assert page.short("alpha beta gamma", 15) == "alpha beta ..." and page.short("alpha", 15) == "alpha"
    assert len(page.short("word " * 100)) <= 240


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_shows_all_of_a_plan_and_no_line_is_too_long(width: int) -> None:
    for name in plan.names():
        found = checking.load(name)[0]
        lines = _accept.plan_lines(found, width)
        shown = " ".join(" ".join(lines).split())
        for one in found.requirements:
            assert " ".join(one.text.split()) in shown
        for test in found.tests:
            assert all(" ".join(words.split()) in shown for words in words_of.criteria(test))
        assert all(len(line) <= width or len(line.split()) == 1 for line in lines), max(lines, key=len)


def test_the_last_column_of_a_table_is_folded_and_goes_below_where_it_is_narrow() -> None:
    rows = [("a", "word " * 20), ("b", "short")]
    wide = _accept.table(("id", "why"), rows, 60)
    assert max(map(len, wide)) <= 60 and sum("word" in line for line in wide) > 1 and wide[-1].split() == ["b", "short"]
    narrow = _accept.table(("a long first column", "why"), rows, 44)
    assert max(map(len, narrow)) <= 44 and narrow[2].strip() == "a" and narrow[-1].split() == ["b", "short"]


def test_control_characters_that_a_command_printed_do_no_harm(tmp_path: Path) -> None:
    pytest.importorskip("typst")
    plan = PLAN.replace('expect = ["script"]', r"""expect = ['(?s).*']""").replace('"echo"', '"printf"')
    (tmp_path / "plan.toml").write_text(
        plan.replace(f"'''{HOSTILE}'''\nexpect", '"a\\\\000b\\\\033[31m\\\\377"\nexpect')
    )
    root = tmp_path / "A"
    found = directory.begin(root, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1).plan
    say = found.test("say")
    assert isinstance(say, CommandTest)
    running.run_command(root, say, quiet)
    result = evaluating.evaluate(directory.open_(root))
    assert result.requirements[0].state == "met"
    for name in reporting.FORMATS:
        assert reporting.render(result, name)
