"""Sessions: who runs what where, and that a session is sealed once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown.acceptance import directory, running
from shakedown.acceptance.journal import Attempt, Sealed
from shakedown.acceptance.plan import RunTest
from shakedown.campaign import plan
from shakedown.errors import BadInput, Interrupted, ShakedownError
from shakedown.files import atomic
from shakedown.hosts.access import ReplayHost
from shakedown.records import Measurement
from shakedown.run import harness, schedule, session
from shakedown.run.batch import submission
from shakedown.run.batch.options import BatchOptions
from shakedown.run.observer import Lines
from shakedown.run.session import How
from shakedown.schedulers import JobRecord

PLAN = """
name = "p"
title = "P"
[[requirement]]
id = "r"
clause = "1"
text = "It runs."
[[test]]
id = "inside"
requirements = ["r"]
kind = "run"
workload = "empty"
[[test.limit]]
metric = "empty.time"
at_most = "1 s"
[[test]]
id = "outside"
requirements = ["r"]
kind = "run"
workload = "empty"
outside = true
params = { tag = 2 }
[[test.limit]]
metric = "empty.time"
at_most = "1 s"
"""


@pytest.fixture
def begun(tmp_path: Path) -> directory.Acceptance:
    (tmp_path / "plan.toml").write_text(PLAN)
    return directory.begin(tmp_path / "A", str(tmp_path / "plan.toml"), system="S", parties={}, now_ns=1)


def runs_of(acceptance: directory.Acceptance) -> list[RunTest]:
    return [one for one in acceptance.plan.tests if isinstance(one, RunTest)]


def test_without_a_job_all_runs_are_one_session_and_with_one_those_outside_come_after(
    begun: directory.Acceptance,
) -> None:
    here, job = How(back="again"), How(batch=BatchOptions(engine="slurm"), detach=True, back="again")
    tests = runs_of(begun)
    assert running.groups(tests, here) == [(tests, here)]
    assert running.groups(tests, job) == [(tests[:1], job), (tests[1:], here)]
    assert running.groups(tests[1:], job) == [(tests[1:], here)]
    assert running.groups([], job) == []
    assert running.is_outside(begun.plan.tests, ["outside"])
    assert not running.is_outside(begun.plan.tests, ["inside", "outside"])


def test_a_session_that_two_calls_watch_is_sealed_once(
    begun: directory.Acceptance, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = runs_of(begun)
    carried = session.begin_or_go_on

    def watched_by_another(*words: Any) -> Any:
        ran = carried(*words)
        monkeypatch.setattr(session, "begin_or_go_on", lambda *words: ran)
        assert running.run_session(begun.path, (), How(), Lines())  # the other call is first
        return ran

    monkeypatch.setattr(session, "begin_or_go_on", watched_by_another)
    assert running.run_session(begun.path, tests, How(), Lines())
    entries = directory.open_(begun.path).entries
    assert sum(isinstance(one, Sealed) for one in entries) == 1
    assert [one.test for one in entries if isinstance(one, Attempt)] == ["inside", "outside"]


@pytest.mark.parametrize("error", [Interrupted("the job goes on"), BadInput("no such engine")])
def test_a_session_that_a_person_leaves_stays_open_and_one_without_a_plan_is_given_up(
    begun: directory.Acceptance, monkeypatch: pytest.MonkeyPatch, error: ShakedownError
) -> None:
    def fails(*words: Any) -> None:
        raise error

    monkeypatch.setattr(session, "begin_or_go_on", fails)
    with pytest.raises(type(error)):
        running.run_session(begun.path, runs_of(begun), How(), Lines())
    left = directory.open_session(directory.open_(begun.path).entries)
    assert (left is not None) == isinstance(error, Interrupted)


def test_what_failed_is_left_to_do_only_where_it_is_asked_for(tmp_path: Path) -> None:
    text = (
        'name = "c"\ntitle = "C"\n[[run]]\nworkload = "empty"\nparams = { behaviour = "fail" }\nrepeat = { max = 1 }\n'
    )
    opened = harness.new(tmp_path / "R", text, "c", None)
    harness.carry_out(opened, Lines())
    assert schedule.next_step(opened.plan(), {}, 0.0) is not None and isinstance(opened.plan(), plan.Plan)
    assert not submission.left(tmp_path / "R") and submission.left(tmp_path / "R", retry_failed=True)


def test_a_result_that_was_measured_again_arrives_again(tmp_path: Path) -> None:
    path = tmp_path / "runs/r/1/measurement.json"
    path.parent.mkdir(parents=True)
    record = Measurement(run="r", repeat=1, workload="empty", params={}, host="h", state="failed", begin_ns=1, end_ns=2)
    atomic.write_record(path, record)
    os.utime(path, ns=(0, 0))  # long ago
    arrived = submission.Results(tmp_path)
    assert arrived.new() == []
    atomic.write_record(path, msgspec.structs.replace(record, state="ok", end_ns=3))
    assert [one.state for one in arrived.new()] == ["ok"] and arrived.new() == []


@pytest.mark.parametrize(("state", "words"), [("cancelled", False), ("node_fail", False), ("failed", True)])
def test_a_job_without_a_plan_says_what_helps(tmp_path: Path, state: str, words: bool) -> None:
    record = JobRecord(engine="slurm", id="7", state=state, source="accounting", hosts=("n1", "n2"))  # type: ignore[arg-type]
    ask = ("sinfo", "--noheader", "--list-reasons", "--nodes=n1,n2", "--format=%n: %E")
    door = ReplayHost(tmp_path, commands={ask: "n1: No space left on device\n"})
    error = submission.why_nothing(tmp_path, record, "shakedown accept run A", door)
    assert "n1: No space left on device" in error.what, "a node with a full spool ends its jobs without a word"
    assert "shakedown accept run A" in error.hint and ("first node must see" in error.hint) == words
