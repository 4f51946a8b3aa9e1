"""Verdicts: from evidence alone, undecided where an interval straddles a limit, and never met by what is missing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.acceptance import forms, results, run_verdict
from shakedown.acceptance import verdict as judging
from shakedown.acceptance import words as words_of
from shakedown.acceptance.plan import (
    AttachmentEntry,
    CommandTest,
    FieldEntry,
    LimitEntry,
    ManualTest,
    Requirement,
    RunTest,
    ValueEntry,
)
from shakedown.acceptance.plan import Plan as AcceptancePlan
from shakedown.acceptance.results import Point, Round, Tried, Waiver
from shakedown.acceptance.run_verdict import Measured
from shakedown.acceptance.running import Ended
from shakedown.errors import BadInput
from shakedown.records import (
    Absent,
    Analysis,
    Case,
    Cpu,
    Finding,
    Host,
    Machine,
    Measurement,
    Memory,
    Metric,
    Peak,
    Plan,
)
from shakedown.workloads import stream

GB = 1e9


def host(name: str) -> Host:
    cpu = Cpu(model="m", vendor="v", architecture="x86_64", microarchitecture="unknown")
    return Host(name=name, cpu=cpu, memory=Memory(total_bytes=1))


def measured(
    values: dict[str, list[float]], *, repeats: int = 1, state: str = "ok", run: str = "r1"
) -> list[Measurement]:
    """Measurements of STREAM triad: on each host the samples of its rates in B/s."""
    return [
        Measurement(
            run=run,
            repeat=repeat,
            workload="stream",
            params={},
            host=name,
            state=state,  # type: ignore[arg-type]
            reason="" if state == "ok" else "it broke",
            cases=(
                Case(
                    kernel="triad",
                    params={"level": "memory", "threads": 2},
                    work={"bytes": GB, "bytes_moved": GB},
                    seconds=tuple(GB / rate for rate in rates),
                ),
            ),
            begin_ns=1,
            end_ns=2,
        )
        for repeat in range(1, repeats + 1)
        for name, rates in values.items()
    ]


def session(measurements: list[Measurement], *, hosts: int | None = None, skipped: tuple[Absent, ...] = ()) -> Measured:
    names = sorted({one.host for one in measurements})
    names += [f"extra{index}" for index in range((hosts or len(names)) - len(names))]
    machine = Machine(hosts=tuple(host(name) for name in names), discovered_ns=0, version="0")
    from shakedown.analysis import derive, table

    metrics: tuple[Metric, ...] = stream.WORKLOAD.metrics
    found = derive.findings(table.from_measurements(measurements), {"stream": metrics})
    analysis = Analysis(
        name="a",
        campaign="c",
        title="t",
        created_ns=0,
        version="0",
        machine=machine,
        metrics=metrics,
        findings=tuple(found),
    )
    peak = Peak(name="memory.bandwidth", scope="node", value=100 * GB, unit="B/s", kind="derived", basis="b")
    plan = Plan(campaign="c", title="t", runs=(), skipped=skipped)
    return Measured(plan, analysis, measurements, dict.fromkeys(names, (peak,)))


def run_test(*limits: LimitEntry, **more: Any) -> RunTest:
    return RunTest(id="t", requirements=("r",), kind="run", workload="stream", limits=limits, **more)


def limit(**more: Any) -> LimitEntry:
    return LimitEntry(metric="stream.triad.bandwidth", **more)


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
    assert [point.state for point in points] == ["undecided"] and "cannot be its own limit" in points[0].found
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


# ------------------------------------------------------------------------------------------------------------- commands


def command(**more: Any) -> CommandTest:
    return CommandTest(id="t", requirements=("r",), kind="command", command=("x",), **more)


def ended(**more: Any) -> Ended:
    return Ended(
        **{"test": "t", "argv": ("x",), "program": "/x", "host": "h", "exit_code": 0, "begin_ns": 1, "end_ns": 2} | more
    )


def command_state(test: CommandTest, end: Ended, output: str) -> str:
    return judging.worst(point.state for point in judging.command_points(test, end, output))


def test_exit_code_and_patterns_of_a_command() -> None:
    test = command(expect=(r"^all \d+ nodes$",), refuse=("(?i)error",))
    assert command_state(test, ended(), "start\nall 12 nodes\n") == "met"
    assert command_state(test, ended(), "all nodes\n") == "not met"
    assert command_state(test, ended(), "all 12 nodes\nERROR\n") == "not met"
    assert command_state(test, ended(exit_code=1), "all 12 nodes\n") == "not met"
    assert command_state(command(exit_code=3), ended(exit_code=3), "") == "met"
    assert command_state(command(exit_code=0), ended(exit_code=None, signal=11), "") == "not met"
    assert command_state(command(exit_code=0), ended(exit_code=None, timed_out=True), "") == "not met"
    assert command_state(command(exit_code=0), ended(lost="disk full"), "") == "not measured"


@pytest.mark.parametrize(
    ("output", "wanted"),
    [("EL = 97.0", "met"), ("EL = 96.99", "not met"), ("nothing", "not measured"), ("EL = 9.9.9", "not measured")],
)
def test_a_number_in_the_output(output: str, wanted: str) -> None:
    value = ValueEntry(name="EL", pattern=r"EL = ([\d.]+)", unit="%", at_least="97 %")
    assert command_state(command(values=(value,)), ended(), output) == wanted


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0, 100))
def test_a_number_is_met_exactly_between_its_bounds(value: float, one: float, two: float) -> None:
    low, high = min(one, two), max(one, two)
    entry = ValueEntry(name="v", pattern="(.)", at_least=low, at_most=high)
    assert judging.within(value, entry) == ("met" if low <= value <= high else "not met")
    assert judging.within(float("nan"), entry) == "not met"


# ---------------------------------------------------------------------------------------------------------------- forms

MANUAL = ManualTest(
    id="m",
    requirements=("r",),
    kind="manual",
    steps=("Look.",),
    fields=(
        FieldEntry(name="seen", title="Seen", type="yes-no", expect="yes"),
        FieldEntry(name="power", title="Power", type="number", unit="kW", at_most="3 kW"),
        FieldEntry(name="when", title="When", type="time", required=False),
        FieldEntry(name="side", title="Side", type="choice", choices=("left", "right"), required=False),
    ),
    attachments=(AttachmentEntry(name="photo", title="Photo", required=True),),
)


def form(given: dict[str, str], attached: dict[str, str] | None = None) -> forms.Form:
    files = {"photo": "photo.jpg"} if attached is None else attached
    answers = forms.answers(MANUAL, given)
    return forms.Form(test="m", by="Ann", observed_ns=1, answers=answers, attachments=files)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"seen": "yes", "power": "2.9"}, "met"),
        ({"seen": "Y", "power": "3000 W"}, "met"),
        ({"seen": "no", "power": "1"}, "not met"),
        ({"seen": "yes", "power": "3.1 kW"}, "not met"),
    ],
)
def test_a_form_is_judged_by_its_criteria(given: dict[str, str], wanted: str) -> None:
    assert judging.worst(one.state for one in judging.form_points(MANUAL, form(given))) == wanted


def test_a_form_without_what_must_be_attached_is_not_measured() -> None:
    points = judging.form_points(MANUAL, form({"seen": "yes", "power": "1"}, {}))
    assert judging.worst(one.state for one in points) == "not measured"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seen": "yes"}, "not filled in: power"),
        ({"seen": "perhaps", "power": "1"}, "neither yes nor no"),
        ({"seen": "yes", "power": "much"}, "not a number"),
        ({"seen": "yes", "power": "3 GB"}, "not a number"),
        ({"seen": "yes", "power": "nan"}, "not a number"),
        ({"seen": "yes", "power": "1", "when": "yesterday"}, "not a valid time"),
        ({"seen": "yes", "power": "1", "when": "2026-11-20T15:45"}, "no zone"),
        ({"seen": "yes", "power": "1", "side": "top"}, "not one of its choices"),
        ({"seen": "yes", "powr": "1"}, "no field 'powr'"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        forms.answers(MANUAL, given)


# --------------------------------------------------------------------------------------------------- tests, requirements


def tried(state_: Any, *, number: int = 1, round_: int = 1, day: float = 0, **more: Any) -> Tried:
    ns = int(day * 86400e9)
    return Tried(number=number, entry=number, round=round_, state=state_, reason="why", begin_ns=ns, end_ns=ns, **more)


def verdict(test: Any, *attempts: Tried, rounds: tuple[Round, ...] = ()) -> results.Tested:
    return judging.tested(test, attempts, rounds)


def test_a_test_is_met_when_it_succeeded_often_enough() -> None:
    test = command(exit_code=0, times=2)
    assert verdict(test).state == "not measured"
    assert verdict(test, tried("met")).state == "undecided"
    assert verdict(test, tried("met"), tried("met", number=2)).state == "met"
    assert verdict(test, tried("met"), tried("met", number=2), tried("not met", number=3)).state == "not met"


def test_successes_must_span_the_time_that_is_asked_for() -> None:
    test = command(exit_code=0, times=3, over="2 d")
    early = [tried("met", number=index, day=index / 10) for index in (1, 2, 3)]
    assert "span" in verdict(test, *early).reason and verdict(test, *early).state == "undecided"
    assert verdict(test, *early, tried("met", number=4, day=2.1)).state == "met"
    assert judging.left_to_do(test, verdict(test, *early)) == 1


def test_every_subject_must_be_seen() -> None:
    test = msgspec.structs.replace(MANUAL, subjects=("left", "right"), times=2)
    left = [tried("met", number=index, subject="left") for index in (1, 2)]
    right = [tried("met", number=index, subject="right") for index in (3, 4)]
    assert verdict(test, *left, right[0]).state == "undecided"
    assert verdict(test, *left, *right).state == "met"


def test_a_failure_counts_until_a_person_says_that_it_was_not_the_systems() -> None:
    test = command(exit_code=0)
    for failure, wanted in (
        ("", "not met"),
        ("system", "not met"),
        ("application", "not met"),
        ("user", "met"),
        ("test bug", "met"),
    ):
        found = verdict(test, tried("not met", failure=failure), tried("met", number=2))
        assert found.state == wanted, failure
    aside = verdict(test, tried("not met", failure="user"))
    assert aside.state == "not measured" and judging.left_to_do(test, aside) == 1


def test_the_verdict_rests_on_the_last_round() -> None:
    test = command(exit_code=0)
    again = (Round(by="Ann", reason="repaired", time_ns=1),)
    found = verdict(test, tried("not met"), tried("met", number=2, round_=2), rounds=again)
    assert found.state == "met" and len(found.attempts) == 2
    assert verdict(test, tried("met"), rounds=again).state == "not measured"


def test_an_undecided_attempt_is_not_made_good_by_trying_again() -> None:
    test = run_test(limit(at_least="1 GB/s"))
    found = verdict(test, tried("undecided"), tried("met", number=2))
    assert found.state == "undecided" and judging.left_to_do(test, found) == 0
    assert judging.left_to_do(test, verdict(test, tried("not measured"))) == 1


REQUIREMENT = Requirement(id="r", clause="1", text="R.")


def required(*states: tuple[str, str], waiver: Waiver | None = None) -> Any:
    tests = tuple(
        CommandTest(id=f"t{index}", requirements=("r",), kind="command", command=("x",), severity=severity)  # type: ignore[arg-type]
        for index, (_, severity) in enumerate(states)
    )
    plan = AcceptancePlan(name="p", title="P", requirements=(REQUIREMENT,), tests=tests)
    base = verdict(command(exit_code=0))
    judged = {
        f"t{index}": msgspec.structs.replace(base, id=f"t{index}", state=state_, severity=severity)  # type: ignore[arg-type]
        for index, (state_, severity) in enumerate(states)
    }
    return judging.required(plan, REQUIREMENT, judged, waiver)


def test_a_requirement_is_as_its_worst_mandatory_test() -> None:
    must, may = "mandatory", "desirable"
    assert required(("met", must), ("met", must)).state == "met"
    assert required(("met", must), ("undecided", must)).state == "undecided"
    assert required(("undecided", must), ("not measured", must)).state == "not measured"
    assert required(("not met", must), ("not measured", must)).state == "not met"
    assert required(("met", must), ("not met", may)).state == "met"
    only = required(("not met", may))
    assert only.state == "not met" and only.severity == "desirable"


def test_a_waiver_keeps_what_the_tests_show() -> None:
    found = required(("not met", "mandatory"), waiver=Waiver(by="Ann", reason="later", time_ns=1))
    assert (found.state, found.shown) == ("waived", "not met")
    assert judging.whole([found]) == "met"


def test_the_whole_is_the_worst_of_what_is_mandatory() -> None:
    met, missed = required(("met", "mandatory")), required(("not met", "mandatory"))
    wished = required(("not met", "desirable"))
    assert judging.whole([met, wished]) == "met"
    assert judging.whole([met, missed]) == "not met"
    assert judging.whole([wished]) == "not met"
    assert judging.whole([]) == "not measured"


@given(st.lists(st.sampled_from(judging.WORST)))
def test_nothing_is_met_unless_all_is(states: list[Any]) -> None:
    assert (judging.worst(states) == "met") == (bool(states) and set(states) == {"met"})


def test_the_reason_names_the_points_that_are_not_met() -> None:
    points = [
        Point(criterion="A", found="1", state="met"),
        Point(criterion="B", found="2", state="not met", where="n7"),
        Point(criterion="C", found="3", state="undecided"),
    ]
    assert judging.reason_of(points) == "B on n7: 2"
    assert judging.reason_of(points[:1]) == ""


def test_the_reason_says_once_what_many_hosts_have_in_common() -> None:
    gone = [
        Point(criterion="cuda ends successfully", found="no driver", state="not measured", where=f"n{i}")
        for i in range(4)
    ]
    assert judging.reason_of(gone) == "cuda ends successfully (4 of 4 not measured): no driver"
    slow = [
        Point(criterion="Latency: at most 3 us", found=f"{i} us", state="not met", where=f"n{i}", value=float(i))
        for i in (5, 9, 7)
    ]
    assert judging.reason_of(slow) == "Latency: at most 3 us (3 of 3 not met) on n9: 9 us"  # the worst of them


def test_a_parameter_that_is_left_open_is_said_to_be() -> None:
    assert "target = (to be filled in)" in words_of.how(run_test(limit(at_least="1 GB/s"), params={"target": ""}))
