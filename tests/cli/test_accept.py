"""An acceptance through the command: begin, run, record, waive, classify, verify, report."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import called, shakedown
from support.waiting import until

PLAN = """
name = "mini"
title = "Mini"
signatories = ["buyer", "vendor"]
[[requirement]]
id = "runs"
clause = "1"
text = "It runs."
[[requirement]]
id = "answers"
clause = "2"
text = "It answers."
[[requirement]]
id = "seen"
clause = "3"
text = "Somebody looks."
[[test]]
id = "empty"
requirements = ["runs"]
kind = "run"
workload = "empty"
params = { seconds = 0.05 }
sweep = { tag = [1, 2] }
times = 2
[[test.limit]]
metric = "empty.time"
at_most = "10 s"
[[test]]
id = "say"
requirements = ["answers"]
kind = "command"
command = ["echo", "availability 98.5"]
[[test.value]]
name = "Availability"
pattern = 'availability ([\\d.]+)'
unit = "%"
at_least = "97 %"
[[test]]
id = "look"
requirements = ["seen"]
kind = "manual"
steps = ["Look."]
[[test.field]]
name = "seen"
title = "Seen"
type = "yes-no"
expect = "yes"
"""


def begin(place: Path, text: str = PLAN) -> Path:
    (place / "plan.toml").write_text(text)
    done = called("accept", "begin", place / "plan.toml", "--directory", place / "A", "--system", "Box")
    assert done.returncode == 0, done.stderr
    return place / "A"


def states(root: Path) -> dict[str, str]:
    done = called("accept", "status", root, "--json")
    return {one["id"]: one["state"] for one in json.loads(done.stdout)["requirements"]}


def test_the_whole_way_through(tmp_path: Path) -> None:
    pytest.importorskip("typst")
    root = begin(tmp_path)
    assert shakedown("accept", "status", root).returncode == 4
    ran = shakedown("accept", "run", root)
    assert ran.returncode == 0, ran.stderr
    assert states(root) == {"runs": "met", "answers": "met", "seen": "not measured"}
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(b"a photo")
    words = ("accept", "record", root, "look", "--set", "seen=yes", "--attach", photo, "--by", "Ann")
    assert shakedown(*words).returncode == 0
    assert shakedown("accept", "status", root).returncode == 0
    again = shakedown("accept", "run", root)
    assert again.returncode == 0 and "nothing is left" in again.stderr
    assert shakedown("accept", "report", root).returncode == 0
    assert {path.suffix for path in (root / "report").iterdir()} == {".html", ".pdf", ".md", ".json"}
    assert shakedown("accept", "verify", root).returncode == 0
    head = json.loads((root / "report/report.json").read_text())["head"]
    assert shakedown("accept", "verify", root, "--head", head).returncode == 0
    lost = shakedown("accept", "verify", root, "--head", "0" * 64)
    assert lost.returncode == 1 and "restore" in lost.stderr
    _done_again(tmp_path, root)


def _done_again(place: Path, root: Path) -> None:
    """The same acceptance, held against the first."""
    done = called("accept", "begin", "--against", root, "--directory", place / "B", "--system", "Box", "--keep", "50 %")
    assert done.returncode == 0, done.stderr
    plan = (place / "B/plan.toml").read_text()
    assert 'at_most = "200 %"' in plan and 'of = "acceptance"' in plan and 'name = "again-mini"' in plan
    assert shakedown("accept", "run", place / "B", "--test", "empty").returncode in (0, 1, 4)  # as long as it took
    assert called("accept", "report", place / "B", "--format", "pdf,html,json").returncode in (1, 3, 4)
    report = json.loads((place / "B/report/report.json").read_text())
    assert report["before"]["folder"] == str(root) and {one["id"] for one in report["before"]["tests"]} == {
        "empty",
        "say",
        "look",
    }
    empty = next(one for one in report["tests"] if one["id"] == "empty")
    assert [point["then"]["value"] > 0 for point in empty["attempts"][0]["points"]] == [True]
    html = (place / "B/report/report.html").read_text()
    assert "Figures then and now" in html and "1 figure compared with the acceptance of Box" in html
    mine = place / "mine.toml"
    mine.write_text(called("accept", "show", "--against", root, "--test", "say").stdout)
    done = called("accept", "begin", mine, "--against", root, "--directory", place / "C", "--system", "Box")
    assert done.returncode == 0 and "empty" not in (place / "C/plan.toml").read_text()
    for wrong in (("--keep", "3"), ("--test", "nothing"), ("--keep", "x")):
        done = called("accept", "begin", "--against", root, "--directory", place / "D", "--system", "Box", *wrong)
        assert done.returncode == 2 and not (place / "D").exists(), done.stderr
    assert called("accept", "begin", "--directory", place / "D", "--system", "Box").returncode == 2
    assert called("accept", "select", root).returncode == 3


def test_tampered_evidence_ends_in_exit_code_1_and_names_the_clause(tmp_path: Path) -> None:
    root = begin(tmp_path)
    shakedown("accept", "run", root)
    path = next(root.glob("runs/1/runs/*/1/measurement.json"))
    path.write_text(path.read_text().replace('"work"', ' "work"', 1) + " ")
    (root / "evidence/say/1/note.txt").write_text("added later")
    done = called("accept", "begin", "--against", root, "--directory", tmp_path / "B", "--system", "Box")
    assert done.returncode == 1 and "not as it was sealed" in done.stderr and not (tmp_path / "B").exists()
    done = called("accept", "verify", root)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "changed" in done.stderr and "clause 1" in done.stderr
    assert "added" in done.stderr and "clause 2" in done.stderr
    assert states(root) == {"runs": "undecided", "answers": "undecided", "seen": "not measured"}


def test_reports_of_a_run_directory_are_no_tampering(tmp_path: Path) -> None:
    root = begin(tmp_path)
    shakedown("accept", "run", root)
    assert shakedown("report", root / "runs/1").returncode in (0, 3)
    assert called("accept", "verify", root).returncode == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_session_is_gone_on_with(tmp_path: Path, how: signal.Signals) -> None:
    slow = (
        PLAN.replace("seconds = 0.05", "seconds = 0.4")
        .replace("[1, 2]", "[1, 2, 3, 4]")
        .replace("times = 2", "times = 1")
    )
    root = begin(tmp_path, slow)
    child = subprocess.Popen([sys.executable, "-m", "shakedown", "accept", "run", root], stderr=subprocess.PIPE)
    until(lambda: list(root.glob("runs/1/runs/*/1/measurement.json")), every_s=0.02)
    os.kill(child.pid, how)
    child.communicate(timeout=300)
    kept = {path: path.read_bytes() for path in root.glob("runs/1/runs/*/1/measurement.json")}
    assert 1 <= len(kept) < 4
    done = shakedown("accept", "run", root)
    assert done.returncode == 0, done.stderr
    assert "continuing runs/1" in done.stderr and not (root / "runs/2").exists()
    assert all(path.read_bytes() == data for path, data in kept.items())
    assert states(root)["runs"] == "met" and states(root)["answers"] == "met"


def test_a_session_that_is_under_way_is_said(tmp_path: Path) -> None:
    root = begin(tmp_path, PLAN.replace("seconds = 0.05", "seconds = 5"))
    child = subprocess.Popen(
        [sys.executable, "-m", "shakedown", "accept", "run", root], stderr=subprocess.PIPE, text=True
    )
    until(lambda: list(root.glob("runs/1/runs/*/1/job.json")), every_s=0.02)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=300)[1]
    assert child.returncode == 130 and f"next: shakedown accept run {root}" in said
    assert "under way in runs/1: empty" in called("accept", "status", root).stderr


def test_a_program_that_is_not_there_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    extra = (
        '[[test]]\nid = "gone"\nrequirements = ["answers"]\nkind = "command"\n'
        'command = ["/opt/no/such"]\nexit_code = 0\n'
    )
    root = begin(tmp_path, PLAN.replace('[[test]]\nid = "say"', f'{extra}[[test]]\nid = "say"'))
    done = shakedown("accept", "run", root)
    assert done.returncode == 3 and "test 'gone' (clause 2)" in done.stderr and "not there" in done.stderr
    tests = {one["id"]: one["state"] for one in json.loads(called("accept", "status", root, "--json").stdout)["tests"]}
    assert tests["say"] == "met" and tests["gone"] == "not measured"


def test_an_engine_that_is_not_there_leaves_nothing_in_the_journal(tmp_path: Path) -> None:
    root = begin(tmp_path)
    before = (root / "journal.jsonl").read_bytes()
    done = shakedown("accept", "run", root, "--on", "slrum")
    assert done.returncode == 2 and "did you mean 'slurm'" in done.stderr
    assert (root / "journal.jsonl").read_bytes() == before and not list((root / "runs").iterdir())


def test_a_failed_test_is_classified_before_it_is_done_again(tmp_path: Path) -> None:
    flag = tmp_path / "repaired"
    root = begin(tmp_path, PLAN.replace('["echo", "availability 98.5"]', f'["cat", "{flag}"]'))
    assert shakedown("accept", "run", root, "--test", "say").returncode == 1
    flag.write_text("availability 99\n")
    decided = shakedown("accept", "run", root, "--test", "say")
    assert decided.returncode == 2 and "is decided" in decided.stderr and "clause 2" in decided.stderr
    again = ("accept", "run", root, "--test", "say", "--again", "--by", "Ann", "--reason", "disk replaced")
    refused = called(*again)
    assert refused.returncode == 2 and "classify" in refused.stderr
    words = ("accept", "classify", root, "say", "--as", "system", "--by", "Bob", "--reason", "broken disk")
    assert called(*words).returncode == 0
    assert states(root)["answers"] == "not met"  # a failure of the system counts until it is done again
    assert shakedown(*again).returncode == 0
    assert states(root)["answers"] == "met"
    found = json.loads(called("accept", "status", root, "--json").stdout)
    attempts = next(one for one in found["tests"] if one["id"] == "say")["attempts"]
    assert [one["state"] for one in attempts] == ["not met", "met"] and attempts[0]["failure"] == "system"


def test_a_waiver_has_a_name_and_a_reason(tmp_path: Path) -> None:
    root = begin(tmp_path)
    assert called("accept", "waive", root, "seen", "--by", "Ann").returncode == 2
    assert called("accept", "waive", root, "saen", "--by", "Ann", "--reason", "x").returncode == 2
    assert called("accept", "waive", root, "3", "--by", "Ann", "--reason", "no time").returncode == 0
    assert states(root)["seen"] == "waived"
    words = ("accept", "waive", root, "seen", "--withdraw", "--by", "Ann", "--reason", "there is time")
    assert shakedown(*words).returncode == 0
    assert states(root)["seen"] == "not measured"


def test_a_form_without_a_terminal_never_waits(tmp_path: Path) -> None:
    root = begin(tmp_path)
    done = shakedown("accept", "record", root, "look")
    assert done.returncode == 2 and "--by" in done.stderr
    done = shakedown("accept", "record", root, "look", "--by", "Ann")
    assert done.returncode == 2 and "--set seen=" in done.stderr
    assert not (root / "evidence/look").exists()
    done = shakedown("accept", "record", root, "look", "--by", "Ann", "--set", "seen=no")
    assert done.returncode == 1 and states(root)["seen"] == "not met"


def test_a_form_on_a_terminal_asks_until_the_answer_fits(tmp_path: Path) -> None:
    root = begin(tmp_path)
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "shakedown", "accept", "record", root, "look"],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        close_fds=True,
    )
    os.close(theirs)
    os.write(ours, b"perhaps\nyes\nAnn\n\n")
    said = child.communicate(timeout=300)[0]
    os.close(ours)
    assert child.returncode == 0 and b"met" in said
    assert states(root)["seen"] == "met"


def test_a_limit_that_is_missed_is_exit_code_1_and_what_cannot_run_is_3(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    slow = begin(tmp_path / "a", PLAN.replace('at_most = "10 s"', 'at_most = "1 ms"'))
    assert shakedown("accept", "run", slow).returncode == 1
    crash = begin(tmp_path / "b", PLAN.replace("seconds = 0.05", 'seconds = 0.01, behaviour = "crash"'))
    assert shakedown("accept", "run", crash, "--test", "empty").returncode == 1
    absent = PLAN.replace('workload = "empty"', 'workload = "pingpong"').replace(
        "{ seconds = 0.05 }", '{ ranks = "hosts" }'
    )
    absent = absent.replace("sweep = { tag = [1, 2] }\n", "").replace("empty.time", "pingpong.latency")
    (tmp_path / "c").mkdir()
    root = begin(tmp_path / "c", absent)
    done = shakedown("accept", "run", root, "--test", "empty")
    assert done.returncode == 3, done.stderr
    status = called("accept", "status", root)
    assert status.returncode in (3, 4) and "nothing came of it" in status.stdout


def test_check_names_everything_and_show_prints_a_plan_that_can_be_used(tmp_path: Path) -> None:
    for name in ("thufir", "generic-gpu-cluster"):
        assert called("accept", "check", name).returncode == 0
        (tmp_path / "mine.toml").write_text(called("accept", "show", name).stdout)
        assert json.loads(called("accept", "check", tmp_path / "mine.toml", "--json").stdout)["requirements"]
    (tmp_path / "bad.toml").write_text(PLAN.replace("empty.time", "empty.tine").replace('expect = "yes"\n', ""))
    done = called("accept", "check", tmp_path / "bad.toml")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "clause 1" in done.stderr and "empty.time" in done.stderr and "clause 3" in done.stderr
    assert called("accept", "check", "thufr").returncode == 2


def test_a_directory_that_others_write_to_runs_nothing(tmp_path: Path) -> None:
    root = begin(tmp_path)
    root.chmod(0o777)
    done = shakedown("accept", "run", root)
    assert done.returncode == 2 and "others can write" in done.stderr
    assert not list((root / "evidence").iterdir()) and not list((root / "runs").iterdir())


def test_a_command_is_no_shell_and_is_ended_at_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    words = '["echo", "availability 99; touch hacked", "$(touch hacked)", "`touch hacked`"]'
    root = begin(tmp_path / "a", PLAN.replace('["echo", "availability 98.5"]', words))
    assert shakedown("accept", "run", root, "--test", "say").returncode == 0
    assert not list(tmp_path.rglob("hacked"))
    slow = PLAN.replace('["echo", "availability 98.5"]', '["sleep", "60"]\ntime_limit = "300 ms"')
    root = begin(tmp_path / "b", slow)
    assert shakedown("accept", "run", root, "--test", "say").returncode == 1
    assert "time limit" in called("accept", "status", root).stdout
