"""What runs next, what is repeated, and what becomes of runs that fail, hang, crash, lie or are cut short."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import msgspec
import pytest

from shakedown import campaign
from shakedown.campaign import plan
from shakedown.errors import CannotMeasure, StoreFailed
from shakedown.files import atomic
from shakedown.hosts.access import LocalHost
from shakedown.records import Job, Measurement, Plan, Run
from shakedown.results import run_directory
from shakedown.run import loop, schedule
from shakedown.run.observer import Lines
from shakedown.run.schedule import Done
from shakedown.schedulers import Allocation
from support.machines import machine
from support.waiting import until


def run(name: str, **details: object) -> Run:
    fields: dict[str, object] = {
        "id": name,
        "workload": "empty",
        "params": {},
        "label": name,
        "estimate_s": 1.0,
        "limit_s": 10.0,
    }
    return Run(**(fields | details))  # type: ignore[arg-type]


def sequence(made: Plan, results: dict[str, list[float]], spent_each: float = 1.0) -> list[tuple[str, int]]:
    """The order in which a plan runs when each run gives these medians, repeat by repeat."""
    done: dict[tuple[str, int], Done] = {}
    order = []
    while step := schedule.next_step(made, done, spent_each * len(order)):
        medians = results[step.run.id]
        done[step.run.id, step.repeat] = Done("ok", (medians[step.repeat - 1],)) if medians else Done("failed", ())
        order.append((step.run.id, step.repeat))
        assert len(order) < 100
    return order


def test_every_run_happens_once_before_any_is_repeated() -> None:
    made = Plan(
        campaign="c", title="c", runs=(run("a", repeat_max=2, repeat_min=2), run("b", repeat_max=2, repeat_min=2))
    )
    assert sequence(made, {"a": [1, 1], "b": [1, 1]}) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_repeats_end_when_they_agree() -> None:
    made = Plan(
        campaign="c",
        title="c",
        runs=(
            run("steady", repeat_min=2, repeat_max=5, repeat_interval=0.05),
            run("noisy", repeat_min=2, repeat_max=5, repeat_interval=0.05),
        ),
    )
    order = sequence(made, {"steady": [1.0, 1.01, 1, 1, 1], "noisy": [1.0, 2.0, 1.0, 2.0, 1.0]})
    assert [name for name, _ in order].count("steady") == 2
    assert [name for name, _ in order].count("noisy") == 5


def test_no_repeat_begins_past_the_budget_but_everything_runs_as_often_as_it_must() -> None:
    made = Plan(
        campaign="c",
        title="c",
        budget_s=3.5,
        runs=tuple(run(name, repeat_min=1, repeat_max=9, repeat_interval=0.01) for name in "abc"),
    )
    noisy = [1.0, 2.0] * 5
    assert sequence(made, {"a": noisy, "b": noisy, "c": noisy}) == [("a", 1), ("b", 1), ("c", 1)]
    assert len(sequence(made, {"a": noisy, "b": noisy, "c": noisy}, spent_each=0.5)) == 6


def test_a_run_that_failed_is_not_repeated_and_does_not_stop_the_rest() -> None:
    made = Plan(campaign="c", title="c", runs=(run("bad", repeat_min=3, repeat_max=3), run("good")))
    assert sequence(made, {"bad": [], "good": [1.0]}) == [("bad", 1), ("good", 1)]


def test_what_does_not_fit_into_the_time_is_passed_over_and_named() -> None:
    made = Plan(
        campaign="c",
        title="c",
        runs=(run("long", estimate_s=1000.0), run("short", estimate_s=10.0, repeat_min=2, repeat_max=2)),
    )
    assert schedule.next_step(made, {}, 0.0, left_s=100.0) == schedule.Step(made.runs[1], 1), "the next that fits"
    assert schedule.next_step(made, {}, 0.0, left_s=5.0) is None
    done = {("short", 1): Done("ok", (1.0,))}
    assert schedule.missing(made, done) == [schedule.Step(made.runs[0], 1), schedule.Step(made.runs[1], 2)]
    assert schedule.missing(made, {("short", 1): Done("failed", ()), ("long", 1): Done("ok", (1.0,))}) == []


TOML = """
name = "t"
title = "T"
[[run]]
workload = "empty"
[run.sweep]
behaviour = [{behaviours}]
"""


def directory(tmp_path: Path, behaviours: str, limit: str = "") -> tuple[run_directory.RunDirectory, Plan]:
    text = TOML.format(behaviours=", ".join(f'"{word}"' for word in behaviours.split()))
    if limit:
        text = text.replace('workload = "empty"', f'workload = "empty"\nlimit = "{limit}"')
    found = machine()
    made = plan.make(campaign.parse(text, "t"), found)
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="t", created_ns=1, version="test", host="node1"
    )
    opened = run_directory.RunDirectory.create(
        tmp_path / "run", manifest=manifest, campaign_toml=text, machine=found, plan=made
    )
    return opened, made


def carry_out(opened: run_directory.RunDirectory, made: Plan) -> dict[str, Measurement]:
    records = loop.execute(opened, made, opened.machine(), LocalHost())
    return {str(record.params["behaviour"]): record for record in records}


def test_a_run_over_more_hosts_than_there_are_is_not_measured_on_fewer(tmp_path: Path) -> None:
    """A plan that was made over two hosts, and goes on where there is one."""
    opened, made = directory(tmp_path, "ok")
    wide = msgspec.structs.replace(made, runs=(msgspec.structs.replace(made.runs[0], nodes=2),))
    alone = Allocation(engine="slurm", job="1", hosts=("node1",))
    (record,) = loop.execute(opened, wide, opened.machine(), LocalHost(), allocation=alone)
    assert record.state == "unavailable" and not record.cases
    assert "goes over 2 hosts, and there is 1" in record.reason and "--nodes 2" in record.reason


def test_every_kind_of_failure_is_recorded_with_its_reason_and_the_rest_goes_on(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "fail crash hang garbage cut silent wrong ok", limit="0.6 s")
    records = carry_out(opened, made)
    states = {name: record.state for name, record in records.items()}
    assert states == {
        "fail": "unavailable",
        "crash": "crashed",
        "hang": "timeout",
        "garbage": "garbage",
        "cut": "garbage",
        "silent": "garbage",
        "wrong": "wrong",
        "ok": "ok",
    }
    assert "no such device" in records["fail"].reason
    assert "SIGSEGV" in records["crash"].reason
    assert "0.6 s" in records["hang"].reason
    assert "not an event at all" in records["garbage"].reason
    assert "ends before" in records["cut"].reason and len(records["cut"].cases) == 1
    assert "2 above 1" in records["wrong"].reason
    again = run_directory.RunDirectory.open(opened.path).load()
    assert {one.run: one for one in again.measurements} == {one.run: one for one in records.values()}


def test_no_run_is_begun_that_would_outlast_the_allocation(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "ok fail")
    said: list[str] = []
    ends = Allocation(engine="", job="", hosts=("node1",), end_s=time.time() + loop.END_S)
    records = loop.execute(opened, made, opened.machine(), LocalHost(), Lines(said.append), allocation=ends)
    assert records == [] and len(said) == 2
    assert all("not begun" in one and one.endswith("the allocation ends before it would") for one in said)


def test_a_hanging_run_takes_its_children_with_it(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "hang", limit="0.3 s")
    carry_out(opened, made)
    job = atomic.read_record(opened.folder(made.runs[0].id, 1) / "job.json", Job)
    assert job.pid is not None
    group = job.pid

    def gone() -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    until(gone, what="a process of the run is still there", every_s=0.02)


def test_resume_repeats_nothing_that_is_whole(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "ok fail")
    first = carry_out(opened, made)
    kept = {path: path.stat().st_mtime_ns for path in opened.path.rglob("measurement.json")}
    assert carry_out(opened, made) == first
    assert {path: path.stat().st_mtime_ns for path in opened.path.rglob("measurement.json")} == kept


def test_resume_does_what_was_cut_short_and_ends_what_still_runs(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "ok silent")
    import subprocess

    child = subprocess.Popen(["sleep", "100"], start_new_session=True)
    from shakedown.hosts.process import start_ticks

    job = Job(
        run=made.runs[0].id,
        repeat=1,
        argv=("sleep", "100"),
        host=os.uname().nodename,
        pid=child.pid,
        pid_start=start_ticks(child.pid),
        env={"SHAKEDOWN_HARNESS": "1073741:1"},
    )
    opened.begin(job)
    records = carry_out(opened, made)
    assert records["ok"].state == "ok"
    assert child.wait(300) in (-signal.SIGTERM, -signal.SIGKILL)


def test_two_harnesses_do_not_share_a_run_directory(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "ok")
    from shakedown.hosts.process import start_ticks

    parent = os.getppid()
    opened.begin(
        Job(
            run=made.runs[0].id,
            repeat=1,
            argv=(),
            host=os.uname().nodename,
            pid=1,
            env={"SHAKEDOWN_HARNESS": f"{parent}:{start_ticks(parent)}"},
        )
    )
    with pytest.raises(CannotMeasure, match="another harness"):
        carry_out(opened, made)


def test_a_damaged_measurement_is_made_again_from_the_output(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "ok")
    record = carry_out(opened, made)["ok"]
    path = opened.folder(made.runs[0].id, 1) / "measurement.json"
    path.write_bytes(path.read_bytes()[:100])
    loaded = opened.load()
    assert loaded.measurements[0].cases == record.cases
    assert "is damaged" in loaded.damaged[0].why and "1 cases were recovered" in loaded.damaged[0].why


def test_a_damaged_measurement_without_output_is_said_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "ok silent")
    carry_out(opened, made)
    folder = opened.folder(made.runs[0].id, 1)
    (folder / "measurement.json").write_bytes(b"\x00" * 50)
    (folder / "stdout").unlink()
    loaded = opened.load()
    assert len(loaded.measurements) == 1
    assert "--resume after removing the file" in loaded.damaged[0].why


def test_a_result_that_cannot_be_kept_is_saved_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, made = directory(tmp_path, "ok")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(elsewhere))

    def full(self: run_directory.RunDirectory, job: Job, record: Measurement) -> None:
        raise atomic.failed(OSError(28, "No space left on device"), Path("x"), "write")

    monkeypatch.setattr(run_directory.RunDirectory, "finish", full)
    with pytest.raises(StoreFailed, match="the result was saved") as caught:
        carry_out(opened, made)
    assert "free some space" in caught.value.hint
    saved = next(elsewhere.glob("shakedown-rescue-*.json"))
    assert msgspec.json.decode(saved.read_bytes(), type=Measurement).state == "ok"


def test_the_harness_says_what_it_costs(tmp_path: Path) -> None:
    opened, made = directory(tmp_path, "ok")
    record = carry_out(opened, made)["ok"]
    assert record.harness_s is not None and record.harness_s > 0
    assert record.disturbance.other_cpu_fraction is None or 0 <= record.disturbance.other_cpu_fraction <= 1


def test_the_time_left_counts_what_must_run_and_repeats_within_the_budget() -> None:
    runs = (run("a", repeat_min=2, repeat_max=4, repeat_interval=0.01), run("b"))
    open_end = Plan(campaign="c", title="c", runs=runs)
    assert schedule.left_s(open_end, {}, 0) == 5.0
    assert schedule.left_s(open_end, {("a", 1): Done("failed", ())}, 1) == 1.0  # it is not repeated
    assert schedule.left_s(open_end, {("b", 1): Done("ok", (1.0,))}, 1) == 4.0
    settled = {("a", 1): Done("ok", (1.0,)), ("a", 2): Done("ok", (1.0,)), ("b", 1): Done("ok", (1.0,))}
    assert schedule.left_s(open_end, settled, 3) == 0.0
    tight = Plan(campaign="c", title="c", runs=runs, budget_s=4)
    assert schedule.left_s(tight, {}, 0) == 4.0
    assert schedule.left_s(tight, {}, 10) == 3.0  # what must run does, whatever the budget says


@pytest.mark.parametrize("step_s", [-3600.0, 7200.0])
def test_a_clock_that_is_set_during_a_run_costs_no_time_and_is_said(tmp_path: Path, step_s: float) -> None:
    class Set(LocalHost):
        """A host whose clock is set after its first look."""

        looks = 0

        def now_ns(self) -> int:
            self.looks += 1
            return time.time_ns() + (int(step_s * 1e9) if self.looks > 1 else 0)

    opened, made = directory(tmp_path, "ok")
    (record,) = loop.execute(opened, made, opened.machine(), Set())
    assert record.state == "ok" and 0 <= record.end_ns - record.begin_ns < 5e9
    (said,) = [one for one in record.notices if one.code == "clock-jump"]
    assert f"{step_s:+.0f}"[:5] in said.text
