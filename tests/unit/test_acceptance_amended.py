"""A plan that is amended, and what a report says was accepted: nothing that was shown is lost, nothing is hidden."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown.acceptance import (
    accepted,
    amending,
    directory,
    evaluating,
    evidence,
    journal,
    page,
    page_accepted,
    pdf,
    running,
)
from shakedown.acceptance.plan import CommandTest, RunTest
from shakedown.errors import BadInput
from shakedown.records import Cpu, Host, Memory
from shakedown.run import session
from shakedown.run.observer import Lines
from shakedown.run.session import How
from support.acceptances import TWO_REQUIREMENTS


def host(name: str, **more: Any) -> Host:
    cpu = Cpu(model="EPYC 9654", vendor="v", architecture="x86_64", microarchitecture="Zen 4", sockets=2)
    return Host(name=name, cpu=cpu, memory=Memory(total_bytes=2**34), **more)


PLAN = f"""{TWO_REQUIREMENTS}[[test]]
id = "slot"
requirements = ["b"]
kind = "command"
command = []
exit_code = 0
awaits = "the site's command"
"""


FILLED = PLAN.replace("command = []", 'command = ["true"]').replace('awaits = "the site\'s command"\n', "")


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    root = tmp_path / "A"
    directory.begin(root, str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)
    do(root, "say")
    return root


def do(root: Path, name: str) -> None:
    test = directory.open_(root).plan.test(name)
    assert isinstance(test, CommandTest)
    running.run_command(root, test, lambda text: None)


def states(root: Path) -> dict[str, str]:
    return {one.id: one.state for one in evaluating.evaluate(directory.open_(root)).tests}


def amend(root: Path, text: str) -> journal.Amended:
    path = root.parent / "next.toml"
    path.write_text(text)
    return amending.amend(root, str(path), by="Ann", reason="as agreed on Monday")


def test_a_slot_that_is_filled_in_later_loses_no_evidence(begun: Path) -> None:
    assert states(begun) == {"say": "met", "slot": "not measured"}
    assert amend(begun, FILLED).tests == ("slot",)
    assert states(begun) == {"say": "met", "slot": "not measured"}
    do(begun, "slot")
    result = evaluating.evaluate(directory.open_(begun))
    assert result.state == "met" and not result.faults
    (change,) = result.amendments
    assert change.by == "Ann" and change.changed == ("test slot: what it waited for was filled in",)
    assert "amended 1 time" in " ".join(page.lead(result))


def test_what_a_changed_test_had_shown_stays_in_the_record_and_counts_no_more(begun: Path) -> None:
    amend(begun, PLAN.replace('expect = ["fine"]', 'expect = ["better"]'))
    result = evaluating.evaluate(directory.open_(begun))
    say = result.tests[0]
    assert say.state == "not measured" and len(say.attempts) == 1 and say.attempts[0].state == "met"
    assert "the plan was amended" in say.rounds[0].reason
    amend(begun, PLAN)  # and back: it has to be shown again
    assert states(begun)["say"] == "not measured"


def test_a_test_that_was_taken_out_is_named_with_what_was_done_of_it(begun: Path) -> None:
    text = FILLED.replace('command = ["echo", "fine"]', 'command = ["false"]').replace('id = "say"', 'id = "other"')
    amend(begun, text)
    result = evaluating.evaluate(directory.open_(begun))
    assert result.amendments[0].dropped == ("say: attempts in evidence/say/1",)
    assert "say, attempt 1, no longer in the plan" in [one.owner for one in result.evidence]


def test_an_amendment_has_a_reason_to_be_and_cannot_be_undone_by_hand(begun: Path) -> None:
    with pytest.raises(BadInput, match="as it is"):
        amend(begun, PLAN)
    amend(begun, FILLED)
    (begun / "plan-2.toml").write_text(PLAN)
    with pytest.raises(journal.Tampered):
        directory.open_(begun)
    (begun / "plan-2.toml").write_text(FILLED)
    with directory.writing(begun) as (_, book):
        book.append(journal.Session(folder="runs/1", tests=("say",)), time.time_ns())
    with pytest.raises(BadInput, match="under way"):
        amend(begun, FILLED + "\n")


def test_what_was_given_up_is_told(begun: Path) -> None:
    with directory.writing(begun) as (_, book):
        book.append(journal.Session(folder="runs/1", tests=("say",)), time.time_ns())
        book.append(journal.Abandoned(folder="runs/1", reason="Ann: slow", runs=11), time.time_ns())
    result = evaluating.evaluate(directory.open_(begun))
    assert "11 results" in " ".join(page.rounds_of(result.tests[0]))
    assert "1 session with 11 results were given up." in page_accepted.sentences(result)


def fact(found: Sequence[Host]) -> str:
    return accepted.rehearsal(found)


def test_a_rehearsal_is_told_from_a_cluster() -> None:
    one = [host(f"node{i}", boot_id="b1", virtualisation="kvm") for i in range(1, 5)]
    assert fact(one) == "4 hosts (node[1-4]) are one virtual machine (kvm)"
    assert fact([host(f"node{i}", boot_id=f"b{i}", virtualisation="kvm") for i in range(1, 5)]) == ""
    assert fact([host("vm", boot_id="b", virtualisation="kvm")]) == "made on one virtual machine (kvm)"
    assert fact([host("n1", boot_id="b1"), host("n2", boot_id="b1")]).endswith("are one machine")
    assert fact([host("n1"), host("n2")]) == "" == fact([])


def test_evidence_of_a_run_is_its_own_folder() -> None:
    entry = journal.Attempt(test="t", folder="runs/2", begin_ns=0, end_ns=1, runs=("abc", "def"))
    assert evidence.folders(entry) == ("runs/2/runs/abc", "runs/2/runs/def")


def session_in(folder: Path) -> tuple[Path, Path]:
    """An acceptance whose run was made within one host; it and its plan."""
    text = """
name = "p"
title = "P"
[[requirement]]
id = "net"
clause = "1"
text = "The network."
[[test]]
id = "pairs"
requirements = ["net"]
kind = "run"
workload = "empty"
{hosts}
[[test.limit]]
metric = "empty.time"
at_most = "1 s"
"""
    (folder / "plan.toml").write_text(text.format(hosts="hosts = 2"))
    root = folder / "A"
    directory.begin(root, str(folder / "plan.toml"), system="S", parties={}, now_ns=1)
    return root, folder / "plan.toml"


def test_the_report_of_a_run_says_what_was_accepted_and_whose_folder_is_whose(tmp_path: Path) -> None:
    root, plan_file = session_in(tmp_path)
    tests = [one for one in directory.open_(root).plan.tests if isinstance(one, RunTest)]
    assert running.run_session(root, tests, How(), Lines())
    result = evaluating.evaluate(directory.open_(root))
    (attempt,) = result.tests[0].attempts
    assert result.state == "not measured" and "within one host" in result.requirements[0].reason
    assert attempt.folders[0].startswith("runs/1/runs/") and attempt.runs >= 1
    found = {one.what: one.found for one in result.accepted.facts}
    assert found["Processor"] and found["Kernel"] and found["Memory"] and "none" in found["Batch engine"]
    document = page.document(result, "0" * 64)
    assert [one.id for one in document.sections[:2]] == ["summary", "what"]
    plan_file.write_text(plan_file.read_text().replace("hosts = 2", "hosts = 1"))
    amending.amend(root, str(plan_file), by="Ann", reason="a box of one")
    assert evaluating.evaluate(directory.open_(root)).state == "not measured", "what was shown before counts no more"


def test_a_session_that_is_given_up_is_sealed_with_its_results(tmp_path: Path) -> None:
    root, _ = session_in(tmp_path)
    with directory.writing(root) as (_, book):
        book.append(journal.Session(folder="runs/1", tests=("pairs",)), time.time_ns())
    text = 'name = "c"\ntitle = "C"\n[[run]]\nworkload = "empty"\n'
    session.begin(text, "c", root / "runs" / "1", How(), Lines())
    running.abandon(root, "Ann: it was too slow")
    result = evaluating.evaluate(directory.open_(root))
    (gone,) = result.tests[0].given_up
    assert gone.runs >= 1 and "given up" in result.evidence[-1].owner and not result.faults
    (root / result.evidence[-1].files[0].path).write_text("other")
    assert evaluating.evaluate(directory.open_(root)).faults


def test_a_mark_of_rehearsal_stands_on_every_page_of_the_pdf(begun: Path, tmp_path: Path) -> None:
    pytest.importorskip("typst")
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext: sudo apt-get install poppler-utils")
    result = evaluating.evaluate(directory.open_(begun))
    told = msgspec.structs.replace(result.accepted, rehearsal="4 hosts are one machine", runs=11, disturbed=11)
    (tmp_path / "r.pdf").write_bytes(pdf.render(msgspec.structs.replace(result, accepted=told), "0" * 64))
    text = subprocess.run(["pdftotext", "-layout", tmp_path / "r.pdf", "-"], capture_output=True, text=True, check=True)
    pages = text.stdout.split("\f")[:-1]
    assert len(pages) > 3 and all("REHEARSAL: 4 hosts are one machine" in one for one in pages)
    assert "11 of 11 runs were disturbed" in pages[0] and "What was accepted" in pages[1]
