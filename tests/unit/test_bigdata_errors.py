"""What is said of a Spark that did not start, ended or had no room: lines of its logs, without Spark."""

from __future__ import annotations

import pytest

from shakedown.errors import CannotMeasure
from shakedown.functional_tests.spark import logs, told
from shakedown.functional_tests.spark.cluster import Nodes
from shakedown.functional_tests.spark.node import Rendezvous

BOUND = """12:00:01 INFO Master: Registered signal handler for TERM
12:00:02 ERROR SparkUncaughtExceptionHandler: Uncaught exception in thread Thread[main,5,main]
java.net.BindException: Address already in use: Service 'sparkMaster' failed after 16 retries (starting from 21000)!
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
"""
THROWN = """12:00:02 ERROR SparkUncaughtExceptionHandler: Uncaught exception in thread Thread[main,5,main]
java.lang.IllegalArgumentException: requirement failed: startPort should be between 1024 and 65535 (inclusive)
\tat scala.Predef$.require(Predef.scala:337)
"""


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (BOUND, "java.net.BindException: Address already in use"),
        (THROWN, "java.lang.IllegalArgumentException: requirement failed"),
        ("12:00:02 ERROR Worker: all is lost\n", "12:00:02 ERROR Worker: all is lost"),
        ("one\ntwo\n", "two"),
        ("", "it printed nothing"),
    ],
)
def test_a_log_gives_the_line_that_says_why(log: str, said: str) -> None:
    assert logs.said(log).startswith(said)


def test_a_full_scratch_folder_is_named_with_what_is_free_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(Rendezvous(("127.0.0.1",), 1, "", "t"))
    line = f"java.nio.file.FileSystemException: /{'x' * 300}/shuffle_0: No space left on device"
    found = {"a": {"errors": ["ERROR first", line], "free_bytes": 2**30, "free_files": 0}}
    monkeypatch.setattr(nodes, "ask", lambda words, do: found)
    error = told.explained(CannotMeasure("the application of Spark ended"), nodes)
    assert "1 GiB and 0 files are free" in error.what and error.what.endswith("No space left on device")
    assert len(error.what) < 400 and error.where == "a" and "scratch=" in error.hint
