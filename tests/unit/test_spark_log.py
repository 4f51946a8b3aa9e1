"""Spark's event log: recordings of real runs, logs that are cut, broken or hostile, tasks that held their stage back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.report import bigdata as page
from shakedown.workloads import Garbage
from shakedown.workloads.common import spark_log
from shakedown.workloads.common.spark_log import Log, Stage, Task
from support.command import shakedown

RECORDING = Path(__file__).parents[1] / "recordings/spark/two-cores-4.3.0.jsonl"
LINES = RECORDING.read_bytes().splitlines(keepends=True)


def read(*lines: bytes) -> Log:
    return spark_log.read(lines)


def test_a_real_log_gives_what_its_application_moved() -> None:
    log = read(*LINES)
    assert (log.version, set(log.hosts.values()), log.lost) == ("4.3.0", {"127.0.0.1"}, ())
    sort = log.of("sort")
    assert sum(one.total("written") for one in sort) == sum(one.total("read_local") for one in sort) > 0
    assert sort[-1].total("output_bytes") == 100_000 * 100, "all rows of 100 bytes"
    assert log.of("write")[0].total("output_bytes") == 19_988_785
    assert sum(one.seconds for one in log.stages) < log.seconds
    assert len(page.stage_rows(log)) == len(log.stages) == 7


@pytest.mark.parametrize("kept", range(len(LINES)))
def test_a_log_that_is_cut_gives_no_time(kept: int) -> None:
    with pytest.raises(Garbage):
        read(*LINES[:kept])
    with pytest.raises(Garbage):
        read(*LINES[:kept], LINES[kept][: len(LINES[kept]) // 2])


@given(
    st.integers(0, len(LINES) - 1), st.sampled_from([b"{", b"[]", b'{"Event":1}', b"\xff\xfe", b'"' * 50, b"[" * 10000])
)
def test_a_line_that_is_not_sparks_makes_the_log_void(at: int, hostile: bytes) -> None:
    with pytest.raises(Garbage, match=f"line {at + 1}|first line"):
        read(*LINES[:at], hostile + b"\n", *LINES[at + 1 :])


def spoiled(event: str, *path: str, value: Any) -> list[bytes]:
    """The recording with one value of the first event of a kind replaced."""
    lines = list(LINES)
    for place, line in enumerate(lines):
        found = json.loads(line)
        if found["Event"] == event:
            inner = found
            for name in path[:-1]:
                inner = inner[name]
            inner[path[-1]] = value
            lines[place] = json.dumps(found).encode() + b"\n"
            return lines
    raise AssertionError(event)


@pytest.mark.parametrize(
    "lines",
    [
        spoiled("SparkListenerTaskEnd", "Task Info", "Finish Time", value=1),
        spoiled("SparkListenerTaskEnd", "Task Info", "Finish Time", value=-5),
        spoiled("SparkListenerTaskEnd", "Task Info", "Launch Time", value="soon"),
        spoiled("SparkListenerTaskEnd", "Task Metrics", "Executor CPU Time", value=2**63),
        spoiled("SparkListenerTaskEnd", "Task Metrics", "Executor CPU Time", value=1e300),
        spoiled("SparkListenerStageCompleted", "Stage Info", "Completion Time", value=1),
        spoiled("SparkListenerStageCompleted", "Stage Info", "Number of Tasks", value=5),
        spoiled("SparkListenerApplicationEnd", "Timestamp", value=3),
    ],
)
def test_times_and_numbers_that_cannot_be_are_refused(lines: list[bytes]) -> None:
    with pytest.raises(Garbage):
        read(*lines)


def test_events_that_are_not_needed_may_be_of_any_kind() -> None:
    extra = b'{"Event":"org.apache.spark.sql.SomethingOfTomorrow","x":[1,{"y":null}]}\n'
    assert read(LINES[0], extra, *LINES[1:]) == read(*LINES)


def test_a_lost_executor_and_a_task_that_was_tried_again_are_told() -> None:
    failed = json.loads(next(line for line in LINES if b"SparkListenerTaskEnd" in line))
    failed["Task End Reason"] = {"Reason": "ExecutorLostFailure", "Executor ID": "0"}
    del failed["Task Metrics"]
    lost = {"Event": "SparkListenerExecutorRemoved", "Timestamp": 1, "Executor ID": "0", "Removed Reason": "killed"}
    log = read(*LINES[:-1], json.dumps(failed).encode(), json.dumps(lost).encode(), LINES[-1])
    assert log.lost == (spark_log.Lost("0", "127.0.0.1", "killed"),)
    said = " ".join(page.sentences(log))
    assert "Executor 0 on 127.0.0.1 was lost: killed" in said and "1 task failed (ExecutorLostFailure)" in said


def task(number: int, seconds: float = 1.0, **other: Any) -> Task:
    usual = {
        "attempt": 0, "host": "a", "executor": "0", "ok": True, "why": "", "begin_ms": 0, "end_ms": 0, "run_s": seconds,
        "cpu_s": seconds, "gc_s": 0.0, "wait_s": 0.0, "input_bytes": 100, "output_bytes": 0, "read_local": 0,
        "read_remote": 0, "written": 0, "spilled": 0,
    }  # fmt: skip
    return Task(number=number, seconds=seconds, **{**usual, **other})


def stage(*tasks: Task) -> Stage:
    return Stage(1, 0, "sort", "sort", 9.0, 0, 9000, "", tasks)


@pytest.mark.parametrize(
    ("late", "why"),
    [
        ({"input_bytes": 300}, "more data: 3.0 times the median"),
        ({"gc_s": 3.0}, "collection of garbage"),
        ({"wait_s": 3.5}, "waiting for blocks"),
        ({"spilled": 5}, "spilled to disk"),
        ({"cpu_s": 1.2}, "did not compute"),
        ({"first": True}, "Java still compiled"),
        ({}, "not shown by the log"),
    ],
)
def test_a_straggler_is_named_with_what_is_unlike_in_it(late: dict[str, Any], why: str) -> None:
    (found,) = spark_log.stragglers(stage(*(task(number) for number in range(5)), task(5, 5.0, **late)))
    assert found.task.number == 5 and found.median_s == 1.0 and why in found.why


def test_a_slow_host_is_told_from_a_slow_task() -> None:
    tasks = (
        *(task(number, host="a") for number in range(6)),
        *(task(6 + number, 4.0, host="b") for number in range(2)),
    )
    assert {one.why for one in spark_log.stragglers(stage(*tasks))} == {"its host: all its 2 tasks there took long"}


@pytest.mark.parametrize("seconds", [(1.0, 1.1, 1.2, 1.4), (1.0, 1.0, 9.0), (0.01, 0.01, 0.01, 0.4)])
def test_tasks_alike_too_few_or_short_are_no_stragglers(seconds: tuple[float, ...]) -> None:
    assert spark_log.stragglers(stage(*(task(number, each) for number, each in enumerate(seconds)))) == []


def test_the_verb_takes_a_log_apart_and_refuses_what_is_none(tmp_path: Path) -> None:
    done = shakedown("bigdata", "--log", RECORDING)
    assert done.returncode == 0 and "Spark 4.3.0" in done.stdout and "generate" in done.stdout, done.stderr
    cut = tmp_path / "log"
    cut.write_bytes(b"".join(LINES[:-1]))
    done = shakedown("bigdata", "--log", cut)
    assert done.returncode == 3 and "before the application did" in done.stderr
    cut.write_bytes(b"\x28\xb5\x2f\xfd1234")
    assert "zstd -d" in shakedown("bigdata", "--log", cut).stderr
    done = shakedown("bigdata", "--log", tmp_path)
    assert done.returncode == 2 and "no event log of Spark in it" in done.stderr
