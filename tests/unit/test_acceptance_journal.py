"""The record of an acceptance: whatever is changed, removed, moved or added shows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shakedown.acceptance import directory, journal, running, sealing
from shakedown.acceptance.journal import Tampered
from shakedown.acceptance.plan import CommandTest, ManualTest
from shakedown.errors import BadInput, CannotMeasure
from support.acceptances import LOOK, TWO_REQUIREMENTS

PLAN = TWO_REQUIREMENTS + LOOK % "b"


def quiet(text: str) -> None:
    del text


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """An acceptance with one command and one form done."""
    (tmp_path / "plan.toml").write_text(PLAN)
    root = tmp_path / "A"
    directory.begin(root, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)
    plan = directory.open_(root).plan
    say, look = plan.test("say"), plan.test("look")
    assert isinstance(say, CommandTest) and isinstance(look, ManualTest)
    running.run_command(root, say, quiet)
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(b"a photo")
    form, files = running.filled(look, {"seen": "yes"}, [str(photo)], subject="", by="Ann")
    running.record(root, look, form, files)
    return root


def faults(root: Path) -> list[sealing.Fault]:
    opened = directory.open_(root)
    return sealing.verify(root, opened.read, opened.plan)


def test_what_was_not_touched_verifies(begun: Path) -> None:
    assert faults(begun) == []
    assert [type(entry).__name__ for entry in directory.open_(begun).entries] == ["Begun", "Attempt", "Attempt"]


@pytest.mark.parametrize(
    ("change", "what", "clause"),
    [
        (lambda root: (root / "evidence/say/1/stdout").write_text("Fine\n"), "changed", "1.1"),
        (lambda root: (root / "evidence/say/1/command.json").unlink(), "missing", "1.1"),
        (lambda root: (root / "evidence/look/1/attachments/photo.jpg").write_bytes(b"A photo"), "changed", "2.2"),
        (lambda root: (root / "evidence/look/1/more.txt").write_text(""), "added", "2.2"),
        (
            lambda root: (root / "evidence/say/2").mkdir() or (root / "evidence/say/2/stdout").write_text(""),
            "added",
            "1.1",
        ),
        (lambda root: (root / "runs/7/runs").mkdir(parents=True) or (root / "runs/7/x").write_text(""), "added", ""),
    ],
)
def test_evidence_that_was_tampered_with_is_named_with_its_clause(
    begun: Path, change: Callable[[Path], object], what: str, clause: str
) -> None:
    change(begun)
    found = faults(begun)
    assert len(found) == 1 and found[0].what.startswith(what)
    assert clause in found[0].clauses


def test_a_file_replaced_by_a_link_to_the_same_content_is_found(begun: Path, tmp_path: Path) -> None:
    path = begun / "evidence/say/1/stdout"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert [one.path for one in faults(begun)] == ["evidence/say/1/stdout"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_changed_byte_of_the_journal_is_found(begun: Path, data: st.DataObject) -> None:
    path = begun / journal.JOURNAL
    good = path.read_bytes()
    index = data.draw(st.integers(0, len(good) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != good[index]))
    path.write_bytes(good[:index] + bytes([other]) + good[index + 1 :])
    try:
        with pytest.raises(Tampered) as caught:
            directory.open_(begun)
        assert caught.value.exit_code == 1
    finally:
        path.write_bytes(good)
    directory.open_(begun)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(order=st.permutations([0, 1, 2]), count=st.integers(1, 3))
def test_entries_that_are_moved_or_removed_are_found(begun: Path, order: list[int], count: int) -> None:
    path = begun / journal.JOURNAL
    good = path.read_bytes()
    lines = good.splitlines(keepends=True)
    kept = order[:count]
    if kept == [0, 1, 2]:
        return
    path.write_bytes(b"".join(lines[index] for index in kept))
    try:
        with pytest.raises(Tampered):
            directory.open_(begun)
    finally:
        path.write_bytes(good)


def test_an_entry_with_its_hashes_made_again_is_found_by_the_head(begun: Path) -> None:
    """Whoever rewrites an entry and chains the rest anew is betrayed by the head file, or by the head on the report."""
    path = begun / journal.JOURNAL
    signed = directory.open_(begun).read.head.sha256
    entries = [json.loads(line) for line in path.read_bytes().splitlines()]
    entries[2]["by"] = "Somebody else"
    lines: list[bytes] = []
    previous = "0" * 64
    for entry in entries:
        line = json.dumps({**entry, "previous": previous}, separators=(",", ":")).encode()
        previous = journal.line_hash(line)
        lines.append(line)
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(Tampered, match=r"journal\.head"):
        directory.open_(begun)
    (begun / journal.HEAD).write_text(json.dumps({"entries": 3, "sha256": previous}))
    assert signed not in directory.open_(begun).read.hashes


def test_entries_cut_off_together_with_the_head_leave_evidence_that_nobody_names(begun: Path) -> None:
    path = begun / journal.JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)[:2]
    path.write_bytes(b"".join(lines))
    (begun / journal.HEAD).write_text(json.dumps({"entries": 2, "sha256": journal.line_hash(lines[1][:-1])}))
    assert {one.path.split("/")[1] for one in faults(begun)} == {"look"}


def test_a_crash_while_an_entry_was_written_loses_nothing_before_it(begun: Path) -> None:
    path = begun / journal.JOURNAL
    good = path.read_bytes()
    path.write_bytes(good + b'{"kind":"attempt","numb')
    opened = directory.open_(begun)
    assert opened.read.cut and len(opened.entries) == 3
    with directory.writing(begun) as (_, book):
        book.append(journal.Waived(requirement="a", by="Ann", reason="so"), 5)
    found = directory.open_(begun)
    assert len(found.entries) == 4 and not found.read.cut and path.read_bytes().startswith(good)


def test_a_crash_between_the_entry_and_the_head_is_mended(begun: Path) -> None:
    head = (begun / journal.HEAD).read_bytes()
    with directory.writing(begun) as (_, book):
        book.append(journal.Waived(requirement="a", by="Ann", reason="so"), 5)
    (begun / journal.HEAD).write_bytes(head)
    assert len(directory.open_(begun).entries) == 4


def test_a_changed_plan_is_refused(begun: Path) -> None:
    path = begun / sealing.PLAN
    path.write_text(path.read_text().replace("fine", "fino"))
    with pytest.raises(Tampered, match="plan was changed"):
        directory.open_(begun)


def test_a_path_that_leads_out_of_the_directory_is_a_fault(begun: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    sha256, size = sealing.digest(tmp_path / "secret")
    with directory.writing(begun) as (_, book):
        file = journal.File(path="../secret", sha256=sha256, bytes=size)
        book.append(journal.Attempt(test="say", folder="evidence/say/9", begin_ns=1, end_ns=2, files=(file,)), 5)
    assert [one.what for one in faults(begun)] == ["lies outside of the acceptance directory"]


def test_two_writers_exclude_each_other(begun: Path) -> None:
    with directory.writing(begun), pytest.raises(CannotMeasure, match="another"), directory.writing(begun):
        pass


def test_a_directory_that_others_write_to_starts_nothing(begun: Path) -> None:
    test = directory.open_(begun).plan.test("say")
    assert isinstance(test, CommandTest)
    for path in (begun, begun / sealing.PLAN, begun / sealing.EVIDENCE):
        mode = path.stat().st_mode
        path.chmod(mode | 0o020)
        with pytest.raises(BadInput, match="others can write"):
            running.run_command(begun, test, quiet)
        path.chmod(mode)
    running.run_command(begun, test, quiet)


def test_a_directory_begun_under_an_open_umask_is_closed(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    before = os.umask(0)
    try:
        directory.begin(tmp_path / "A", str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)
    finally:
        os.umask(before)
    directory.refuse_if_others_write(tmp_path / "A")


def test_a_program_that_everybody_can_replace_is_not_started(tmp_path: Path) -> None:
    program = tmp_path / "check"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    assert directory.program((str(program),)) == str(program)
    program.chmod(0o757)
    with pytest.raises(BadInput, match="everyone can write"):
        directory.program((str(program),))
    with pytest.raises(BadInput, match="is not there"):
        directory.program((str(tmp_path / "absent"),))


def test_a_folder_that_is_no_acceptance_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not an acceptance directory"):
        directory.open_(tmp_path)
    (tmp_path / "x").write_text("")
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(BadInput, match="not empty"):
        directory.begin(tmp_path, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)
