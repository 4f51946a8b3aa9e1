"""Verdicts: from evidence alone, undecided where an interval straddles a limit, and never met by what is missing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shakedown.acceptance import run_verdict
from shakedown.acceptance import verdict as judging
from shakedown.acceptance.plan import (
    RunTest,
)
from shakedown.acceptance.results import Point
from shakedown.acceptance.run_verdict import Measured
from shakedown.records import (
    Absent,
    Finding,
    Peak,
)
from support.acceptance_sessions import GB, measured, session
from support.acceptances import limit, run_test


def state(test: RunTest, found: Measured, runs: tuple[str, ...] = ("r1",)) -> str:
    return judging.worst(point.state for point in run_verdict.points(test, runs, found))


STEADY = [40 * GB] * 5
SPREAD = [38 * GB, 39 * GB, 40 * GB, 41 * GB, 42 * GB]


@pytest.mark.parametrize(
    ("rates", "bound", "wanted"),
    [
        (STEADY, "40 GB/s", "met"),
        (STEADY, "40.1 GB/s", "not met"),
        (SPREAD, "30 GB/s", "met"),
        (SPREAD, "40 GB/s", "undecided"),
        (SPREAD, "50 GB/s", "not met"),
    ],
)
def test_an_absolute_limit_is_judged_by_the_interval(rates: list[float], bound: str, wanted: str) -> None:
    assert state(run_test(limit(at_least=bound)), session(measured({"n1": rates}))) == wanted


def test_a_fraction_of_a_peak() -> None:
    found = session(measured({"n1": STEADY}))  # 40 of 100 GB/s
    assert state(run_test(limit(at_least=0.40, of="memory.bandwidth")), found) == "met"
    assert state(run_test(limit(at_least=0.41, of="memory.bandwidth")), found) == "not met"
    assert state(run_test(limit(at_least="39 %", of="memory.bandwidth")), found) == "met"
    assert state(run_test(limit(at_least=0.1, of="l7.bandwidth")), found) == "undecided"  # such a peak is not known


def test_a_peak_that_was_measured_is_no_limit_for_what_measured_it() -> None:
    found = session(measured({"n1": STEADY}))
    own = Peak(name="memory.bandwidth", scope="node", value=40 * GB, unit="B/s", kind="measured", basis="b")
    circular = found._replace(peaks={"n1": (own,)})
    points = run_verdict.points(run_test(limit(at_least=0.7, of="memory.bandwidth")), ("r1",), circular)
    assert [point.state for point in points] == ["undecided"] and "not judged by itself" in points[0].found
    stated = msgspec.structs.replace(own, kind="stated", value=50 * GB)
    assert state(run_test(limit(at_least=0.7, of="memory.bandwidth")), found._replace(peaks={"n1": (stated,)})) == "met"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"lvel": "memory"}, ("'lvel'", "did you mean 'level'?", "level, ")),
        ({"level": "memry"}, ("level = memry", "there are memory")),
        ({"threads": 7}, ("threads = 7", "there are 2")),
    ],
)
def test_a_limit_that_speaks_of_no_case_says_which_there_are(params: dict[str, Any], words: tuple[str, ...]) -> None:
    point = run_verdict.points(
        run_test(limit(at_least="1 GB/s", params=params)), ("r1",), session(measured({"n": STEADY}))
    )[0]
    assert point.state == "not measured" and all(word in point.found for word in words), point.found


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("8 Gbit/s", "at least 8 Gbit/s (1.00 GB/s)"),
        ("1 GB/s", "at least 1.00 GB/s"),
        ("0.5 TB/s", "at least 0.5 TB/s (500 GB/s)"),
    ],
)
def test_a_limit_is_worded_as_the_plan_words_it(bound: str, words: str) -> None:
    points = run_verdict.points(run_test(limit(at_least=bound)), ("r1",), session(measured({"n1": STEADY})))
    assert points[0].criterion.endswith(words)


def test_a_pair_of_nodes_is_its_own_place() -> None:
    def places(*pairs: tuple[str, int, str, int, int]) -> list[str]:
        found = [
            Finding(
                metric="pingpong.latency",
                unit="s",
                better="lower",
                workload="pingpong",
                host="n[1-3]",
                value=1.0,
                params={"host_a": a, "rank_a": i, "host_b": b, "rank_b": j, "bytes": size},
            )
            for a, i, b, j, size in pairs
        ]
        points = [Point(criterion="c", found="f", state="met")] * len(found)
        return [one.where for one in run_verdict._placed(points, found)]

    assert places(("n1", 0, "n2", 1, 8), ("n1", 0, "n3", 2, 8)) == ["n1 to n2", "n1 to n3"]
    sizes = places(("n1", 0, "n2", 1, 8), ("n1", 0, "n3", 2, 8), ("n1", 0, "n2", 1, 64), ("n1", 0, "n3", 2, 64))
    assert sizes == ["n1 to n2 (8 B)", "n1 to n3 (8 B)", "n1 to n2 (64 B)", "n1 to n3 (64 B)"]
    assert places(("n1", 0, "n2", 2, 8), ("n1", 1, "n2", 3, 8)) == [
        "n1 to n2 (rank a 0, rank b 2)",
        "n1 to n2 (rank a 1, rank b 3)",
    ]


def test_every_node_against_the_median_of_the_fleet() -> None:
    values = {f"n{index}": [40 * GB] * 5 for index in range(9)}
    slow = {**values, "n9": [37.9 * GB] * 5}
    test = run_test(limit(at_least=0.95, of="fleet median"), nodes="each")
    assert state(test, session(measured(values))) == "met"
    points = run_verdict.points(test, ("r1",), session(measured(slow)))
    assert [point.where.split()[0] for point in points if point.state == "not met"] == ["n9"]
    assert sum(point.state == "met" for point in points) == 9
    assert "median of 10 hosts" in points[0].criterion


def test_a_median_of_two_hosts_decides_nothing() -> None:
    found = session(measured({"a": STEADY, "b": STEADY}))
    assert state(run_test(limit(at_least=0.95, of="fleet median"), nodes="each"), found) == "undecided"


def test_a_node_without_a_value_is_not_met_by_the_others() -> None:
    values = {f"n{index}": STEADY for index in range(4)}
    test = run_test(limit(at_least="1 GB/s"), nodes="each")
    points = run_verdict.points(test, ("r1",), session(measured(values), hosts=5))
    assert [point.where for point in points if point.state == "not measured"] == ["extra0"]


def test_a_limit_relative_to_another_metric_takes_its_interval() -> None:
    one = measured({"n1": STEADY})
    other = measured({"n1": SPREAD}, run="r2")
    copies = [
        msgspec.structs.replace(
            record, cases=tuple(msgspec.structs.replace(case, kernel="copy") for case in record.cases)
        )
        for record in other
    ]
    found = session([*one, *copies])

    def relative(fraction: float) -> str:
        return state(run_test(limit(at_least=fraction, of_metric="stream.copy.bandwidth")), found)

    assert relative(0.9) == "met"  # 0.9 x 42 is below 40
    assert relative(1.0) == "undecided"  # between 38 and 42
    assert relative(1.1) == "not met"  # 1.1 x 38 is above 40
    absent = limit(at_least=0.5, of_metric="stream.read.bandwidth")
    assert state(run_test(absent), found) == "undecided"


def test_what_other_tests_of_the_session_measured_does_not_count() -> None:
    found = session([*measured({"n1": STEADY}), *measured({"n1": [90 * GB] * 5}, run="r2")])
    test = run_test(limit(at_least="80 GB/s"))
    assert state(test, found, ("r1",)) == "not met"
    assert state(test, found, ("r2",)) == "met"


def test_every_case_counts_unless_the_plan_asks_for_the_best() -> None:
    base = measured({"n1": STEADY})
    few = msgspec.structs.replace(
        base[0],
        repeat=2,
        cases=(
            msgspec.structs.replace(base[0].cases[0], params={"level": "memory", "threads": 1}, seconds=(0.1,) * 5),
        ),
    )
    found = session([*base, few])  # 40 GB/s with two threads, 10 with one
    assert state(run_test(limit(at_least="30 GB/s")), found) == "not met"
    assert state(run_test(limit(at_least="30 GB/s", cases="best")), found) == "met"
    assert state(run_test(limit(at_least="30 GB/s", params={"threads": 2})), found) == "met"
    assert state(run_test(limit(at_least="1 GB/s", params={"threads": 7})), found) == "not measured"


@pytest.mark.parametrize(
    ("ended", "wanted"),
    [
        ("wrong", "not met"),
        ("failed", "not met"),
        ("crashed", "not met"),
        ("timeout", "not met"),
        ("garbage", "not measured"),
        ("unavailable", "not measured"),
        ("interrupted", "not measured"),
    ],
)
def test_a_run_that_did_not_end_well_shows_nothing_good(ended: str, wanted: str) -> None:
    found = session(measured({"n1": STEADY}, state=ended))
    assert state(run_test(limit(at_least="1 GB/s")), found) == wanted


def test_one_bad_repeat_among_good_ones_is_not_met() -> None:
    bad = msgspec.structs.replace(measured({"n1": STEADY}, state="wrong")[0], repeat=2)
    assert state(run_test(limit(at_least="1 GB/s")), session([*measured({"n1": STEADY}), bad])) == "not met"


def test_fewer_repeats_than_asked_are_not_enough() -> None:
    test = run_test(limit(at_least="1 GB/s"), times=3)
    assert state(test, session(measured({"n1": STEADY}, repeats=2))) == "undecided"
    assert state(test, session(measured({"n1": STEADY}, repeats=3))) == "met"


def test_a_run_that_was_skipped_says_why() -> None:
    skipped = (Absent(what="stream", why="no memory"),)
    points = run_verdict.points(run_test(limit(at_least="1 GB/s")), (), session([], skipped=skipped))
    assert points[0].state == "not measured" and points[0].found == "no memory"
